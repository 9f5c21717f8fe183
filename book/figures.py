"""The one look of every plot in the book: `import figures; figures.use_style()` in a chapter's first cell."""

import sys
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
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
    "savefig.pad_inches": 0.02,  # the page draws a frame of its own around it
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


def grid(rows: int, columns: int, height: float, **places) -> tuple[Figure, np.ndarray]:
    """Return a figure of the book's width and its axes in rows and columns; `places` is for matplotlib's GridSpec.

    Not laid out by the solver: on many axes its last digits differ from run to run, and with them the file.
    """
    margins = {"left": 0.15, "right": 1, "bottom": 0, "top": 0.94}
    return plt.subplots(rows, columns, figsize=(WIDTH, height), gridspec_kw=margins | places)


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


def cells(ax: Axes, values: np.ndarray, at: tuple[float, float], color: str, form: str = "{:g}") -> None:
    """Draw a small matrix as tinted unit squares with their numbers, the upper left corner at `at`.

    For pictures in which several matrices meet in one pair of axes.
    """
    for (row, column), value in np.ndenumerate(values):
        left, top = at[0] + column, at[1] - row
        ax.add_patch(plt.Rectangle((left, top - 1), 1, 1, facecolor=color, alpha=0.25, edgecolor="none"))
        ax.add_patch(plt.Rectangle((left, top - 1), 1, 1, fill=False, edgecolor=PAPER, linewidth=2))
        ax.text(left + 0.5, top - 0.5, form.format(value), ha="center", va="center")


def note(ax: Axes, text: str, at: tuple[float, float], color: str, **keywords) -> None:
    """Write a line's name beside it, in its colour: no legend to look up."""
    ax.annotate(text, at, color=color, **keywords)


LARGE, BEYOND_WORDS = ((1e9, "billion"), (1e6, "million")), 1e12


def powers(axis: Axis) -> None:
    """Write a logarithmic axis in letters of one size: the exponents of powers of ten would be too small for a phone."""
    axis.set_major_formatter(FuncFormatter(lambda number, _: _power(number, in_words=axis.get_view_interval()[1] < BEYOND_WORDS)))


def _power(number: float, in_words: bool) -> str:
    for size, word in LARGE:
        if in_words and number >= size:
            return f"{number / size:g} {word}"
    return f"{number:,.10g}" if number == 0 or 5e-4 < number < 1e6 else f"{number:.0e}".replace("e-0", "e-").replace("e+", "e")


# Where each stage of attention stands in the picture of the whole: its words, column, and row from the top.
STAGES = {
    "words": ("words", 0, 0),
    "embedding": ("embedding", 1, 0),
    "position": ("+ position", 2, 0),
    "project": ("query,\nkey, value", 3, 0),
    "compare": ("query · key", 0, 1),
    "scale": ("÷ √d\u2096", 1, 1),
    "softmax": ("mask,\nsoftmax", 2, 1),
    "average": ("average of\nvalues", 3, 1),
    "merge": ("heads,\njoined", 3, 2),
    "feed_forward": ("feed-\nforward", 2, 2),
    "output": ("output", 1, 2),
}
COLUMN, ROW, BOX = 1.3, 1.0, (1.06, 0.6)


def pipeline(*lit: str, height: float = 2.5) -> None:
    """Show attention from words to output, with the stages named in `lit` filled in.

    Raises KeyError for a name that is not in `STAGES`.
    """
    if strange := set(lit) - set(STAGES):
        raise KeyError(f"no such stage: {', '.join(sorted(strange))}")
    fig, ax = plt.subplots(figsize=(WIDTH, height), layout="constrained")
    for name, (label, *_) in STAGES.items():
        x, y = _place(name)
        fill, ink = (PAPER, INK) if name not in lit else (BLUE, PAPER)
        corner, edge = (x - BOX[0] / 2, y - BOX[1] / 2), FAINT if name not in lit else BLUE
        ax.add_patch(plt.Rectangle(corner, *BOX, facecolor=fill, edgecolor=edge, linewidth=1.2, zorder=2))
        ax.text(x, y, label, ha="center", va="center", color=ink, linespacing=1.1, zorder=3)
    _arrows(ax)
    ax.set(xlim=(-0.6, 3 * COLUMN + 0.6), ylim=(-2 * ROW - 0.4, 0.4))
    ax.axis("off")
    plt.show()


def _place(name: str) -> tuple[float, float]:
    _, column, row = STAGES[name]
    return column * COLUMN, -row * ROW


def _arrows(ax: Axes) -> None:
    """Draw the way from stage to stage; queries and keys go round to be compared, while values wait for their weights."""
    style = {"arrowstyle": "-|>", "color": FAINT, "lw": 1.2, "shrinkA": 0, "shrinkB": 1}
    for one, other in zip(STAGES, list(STAGES)[1:]):
        (x, y), (to_x, to_y) = _place(one), _place(other)
        if y == to_y:
            side = BOX[0] / 2 if to_x > x else -BOX[0] / 2
            ax.annotate("", (to_x - side, y), (x + side, y), arrowprops=style)
        elif x == to_x:
            ax.annotate("", (x, to_y + BOX[1] / 2), (x, y - BOX[1] / 2), arrowprops=style)
        # From the end of the first row to the beginning of the second the way is drawn below.
    (right, top), (left, below) = _place("project"), _place("compare")
    turn = (top + below) / 2
    ax.plot([right - 0.3, right - 0.3, left, left], [top - BOX[1] / 2, turn, turn, turn - 0.02], color=FAINT, lw=1.2)
    ax.annotate("", (left, below + BOX[1] / 2), (left, turn), arrowprops=style)
    ax.annotate("", (right, below + BOX[1] / 2), (right, top - BOX[1] / 2), arrowprops=style)
    ax.text(right + 0.06, turn, "values", va="center")
    ax.text(1.5 * COLUMN, turn, "queries and keys", ha="center", va="center", backgroundcolor=PAPER)
