"""Every chapter runs alone, and prints the same numbers when it runs again."""

import nbformat
import pytest

from tests.book.chapters import BOOK, CHAPTERS
from tests.book.executions import in_the_site

CPU_SECONDS = 60
LONG = {"scaling", "positional_encoding", "precision", "rotary_positions", "sparse"}  # these take as long as all others together
# What others print is compared in `test_shown_code.py`, which runs the cells that are shown; here those that are hidden run again, too.
EVERY_DAY = {"attention", "complexity", "encoder_layer"}


def each_chapter(by_day):
    """Return the mark that has a test run for all chapters, for some of them at night only."""
    chapters = [each if each in by_day else pytest.param(each, marks=pytest.mark.nightly) for each in CHAPTERS]
    return pytest.mark.parametrize("chapter", chapters, indirect=True, scope="session")


once_more = each_chapter(EVERY_DAY)


@once_more
def test_runs_alone_and_cheaply(executed):
    assert executed.seconds < CPU_SECONDS


@once_more
def test_every_number_and_every_figure_comes_out_again(chapter, executed):
    """What the site shows is what the chapter printed and drew when it was executed for it; this is another time."""
    assert outputs(in_the_site(chapter)) == outputs(executed.notebook)


def test_prints_no_warning(chapter):
    assert not [out.text for out in printed(chapter) if out.name == "stderr"]


def test_no_printed_line_ends_in_a_space(chapter):
    """Such a space comes and goes on the page with the moments at which a kernel sends what it prints."""
    assert [line for out in printed(chapter) for line in out.text.splitlines() if line != line.rstrip()] == []


def test_shows_no_path_of_this_machine(chapter):
    assert str(BOOK.parent) not in nbformat.writes(in_the_site(chapter))


def outputs(notebook: nbformat.NotebookNode) -> list[list]:
    """Return what each code cell has shown."""
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


def printed(chapter: str) -> list:
    """Return what a chapter has printed for the site."""
    return [out for shown in outputs(in_the_site(chapter)) for out in shown if out.output_type == "stream"]
