"""The one look of every plot in the book: `import figures; figures.use_style()` in a chapter's first cell."""

import sys
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib_inline.backend_inline import set_matplotlib_formats

# Okabe and Ito's colours stay apart for readers with any of the common colour deficiencies.
# Their vermilion is darkened here, so that words written in it can be read.
BLUE, ORANGE, GREEN, RED, PURPLE = "#0072B2", "#E69F00", "#009E73", "#B94F00", "#CC79A7"
INK, FAINT, PAPER = "#1f2933", "#9aa5b1", "#ffffff"

# One hue from pale to deep: order survives a grey print, and no middle value shouts.
SHADES = LinearSegmentedColormap.from_list("attention", ["#eff4fa", "#7fb2d9", "#08457e"])

WHOLE_CELL = 3600.0  # seconds; the end of a cell sends what was printed anyway

# At this width the labels are still readable when a phone shrinks the picture to its screen.
WIDTH = 4.8

STYLE = {
    "figure.figsize": (WIDTH, 3.0),
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    # DejaVu measures the text here; Verdana has the same widths where DejaVu is missing.
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "font.size": 11,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "lines.linewidth": 2,
    # Text stays text (searchable, sharp), and the ids inside the file are the same in every build.
    "svg.fonttype": "none",
    "svg.hashsalt": "attention",
}


def use_style() -> None:
    """Make every plot of this notebook an SVG in the book's style, and each cell's printed text one piece."""
    set_matplotlib_formats("svg", metadata={"Date": None, "Creator": None})
    plt.rcParams.update(STYLE)
    # On a busy machine the kernel sends what was printed in two pieces, and the page gets an empty line between them.
    sys.stdout.flush_interval = WHOLE_CELL


def panels(columns: int = 1, height: float = 3.0, **keywords) -> tuple[Figure, Axes | np.ndarray]:
    """Return a figure of the book's width and its axes, side by side."""
    return plt.subplots(1, columns, figsize=(WIDTH, height), layout="constrained", **keywords)


def matrix(
    ax: Axes,
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    hidden: np.ndarray | None = None,
    form: str = "{:.2f}",
    top: float | None = None,
) -> None:
    """Draw a matrix with a word on each row and column, and its number in each cell.

    `hidden` is True where a cell may not be seen: it is left blank, with a cross. `form` "" writes no numbers.
    `top` is the value with the deepest shade, so that several matrices can share one scale.
    """
    covered = np.zeros(values.shape, bool) if hidden is None else hidden
    top = np.max(values[~covered]) if top is None else top
    ax.imshow(np.where(covered, np.nan, values), cmap=SHADES, vmin=0, vmax=top)
    for (row, column), value in np.ndenumerate(values):
        if covered[row, column]:
            ax.text(column, row, "×", ha="center", va="center", color=FAINT)
        elif form:
            shade = "white" if value > 0.55 * top else INK
            ax.text(column, row, form.format(value), ha="center", va="center", color=shade)
    _words_on_axes(ax, rows, columns)


def _words_on_axes(ax: Axes, rows: Sequence[str], columns: Sequence[str]) -> None:
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    # White gaps between the cells, instead of lines that would compete with the shades.
    ax.set_xticks(np.arange(len(columns) + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(len(rows) + 1) - 0.5, minor=True)
    ax.grid(which="minor", color=PAPER, linewidth=2)
    ax.tick_params(which="minor", length=0)


def note(ax: Axes, text: str, at: tuple[float, float], color: str, **keywords) -> None:
    """Write a line's name beside it, in its colour: no legend to look up."""
    ax.annotate(text, at, color=color, fontsize=10, **keywords)
