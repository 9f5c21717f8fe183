"""The drawing helpers: same file twice, and nothing written where nothing may be seen."""

import io
import sys

import matplotlib
import numpy as np
import pytest

from tests.book.chapters import BOOK


@pytest.fixture
def figures(monkeypatch):
    """Return the book's drawing module, in its style."""
    matplotlib.use("Agg")
    monkeypatch.syspath_prepend(str(BOOK))
    import figures

    with matplotlib.rc_context(figures.STYLE):
        yield figures
    matplotlib.pyplot.close("all")
    sys.modules.pop("figures")


def drawn(figures) -> bytes:
    """Return one annotated matrix as an SVG file."""
    fig, ax = figures.panels()
    weights, hidden = np.array([[1.0, 0.0], [0.25, 0.75]]), np.array([[False, True], [False, False]])
    figures.matrix(ax, weights, ["sat", "on"], ["sat", "on"], hidden=hidden)
    file = io.BytesIO()
    fig.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return file.getvalue()


def test_the_same_figure_is_the_same_file(figures):
    assert drawn(figures) == drawn(figures)


def test_text_stays_text_and_hidden_cells_show_no_number(figures):
    picture = drawn(figures).decode()
    assert "0.75" in picture and "×" in picture
    assert "0.00" not in picture


def test_cells_show_their_numbers_in_their_own_squares(figures):
    fig, ax = figures.panels()
    figures.cells(ax, np.array([[1, 2, 3], [5, 7, 11]]), (10, 4), figures.BLUE)
    places = {text.get_text(): text.get_position() for text in ax.texts}
    assert places == {"1": (10.5, 3.5), "2": (11.5, 3.5), "3": (12.5, 3.5), "5": (10.5, 2.5), "7": (11.5, 2.5), "11": (12.5, 2.5)}
    squares = {patch.get_xy() for patch in ax.patches}
    assert squares == {(x - 0.5, y - 0.5) for x, y in places.values()}


def test_a_grid_stays_where_it_is_put_whatever_is_written_beside_it(figures):
    fig, axes = figures.grid(2, 3, height=2, left=0.25)
    before = [ax.get_position().bounds for ax in axes.flat]
    axes[0, 0].set_ylabel("a label\nof several\nlines")
    fig.canvas.draw()
    assert [ax.get_position().bounds for ax in axes.flat] == before and before[0][0] == 0.25


def stages(figures, monkeypatch, *lit: str) -> str:
    """Return the picture of all stages as the text of an SVG file."""
    file = io.StringIO()
    monkeypatch.setattr(matplotlib.pyplot, "show", lambda: matplotlib.pyplot.savefig(file, format="svg", metadata={"Date": None}))
    figures.pipeline(*lit)
    return file.getvalue()


def test_the_whole_shows_every_stage_and_lights_those_asked_for(figures, monkeypatch):
    for lit in ((), ("softmax",), ("compare", "average")):
        picture = stages(figures, monkeypatch, *lit)
        assert picture.count(f"fill: {figures.BLUE.lower()}") == len(lit)
        assert all(line in picture for label, *_ in figures.STAGES.values() for line in label.split("\n"))


def test_nothing_is_written_smaller_than_the_rest(figures, monkeypatch):
    fig, ax = figures.panels()
    figures.note(ax, "undivided", (0.5, 0.5), figures.RED)
    monkeypatch.setattr(matplotlib.pyplot, "show", lambda: None)
    figures.pipeline("softmax")
    written = [text for number in matplotlib.pyplot.get_fignums() for ax in matplotlib.pyplot.figure(number).axes for text in ax.texts]
    words = {text.get_text(): text.get_fontsize() for text in written if text.get_text()}
    # A phone shows a figure at about the size that it has in points, and below 11 pixels words are hard to read.
    assert {"undivided", "values", "queries and keys"} < set(words) and min(words.values()) >= 11


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (0, "0"),
        (1e-8, "1e-8"),
        (1e-15, "1e-15"),
        (0.001, "0.001"),
        (0.5, "0.5"),
        (1, "1"),
        (1e5, "100,000"),
        (1e8, "100 million"),
        (1e10, "10 billion"),
        (1e20, "1e20"),
    ],
)
def test_powers_of_ten_are_written_in_letters_of_one_size(figures, number, written):
    _, ax = figures.panels()
    figures.powers(ax.yaxis)
    ax.set_ylim(1, max(10, number))
    assert ax.yaxis.get_major_formatter()(number, 0) == written


def test_a_stage_that_does_not_exist_is_refused(figures, monkeypatch):
    with pytest.raises(KeyError, match="soft_max"):
        stages(figures, monkeypatch, "soft_max")


def test_words_can_be_read_on_their_background(figures):
    for color in (figures.INK, figures.BLUE, figures.RED):
        assert contrast(color, figures.PAPER) >= 4.5


def contrast(one: str, other: str) -> float:
    """Return the ratio of luminances as WCAG 2.2 defines it."""

    def luminance(color):
        channels = np.array(matplotlib.colors.to_rgb(color))
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
