"""Every chapter runs alone, and prints the same numbers when it runs again."""

import nbformat

from tests.book.chapters import BOOK
from tests.book.executions import in_the_site

CPU_SECONDS = 60


def test_runs_alone_and_cheaply(executed):
    assert executed.seconds < CPU_SECONDS


def test_prints_no_warning(executed):
    noise = [
        out.text for cell in executed.notebook.cells if cell.cell_type == "code" for out in cell.outputs if out.get("name") == "stderr"
    ]
    assert not noise


def test_no_printed_line_ends_in_a_space(executed):
    """Such a space comes and goes on the page with the moments at which a kernel sends what it prints."""
    printed = [
        out.text for cell in executed.notebook.cells if cell.cell_type == "code" for out in cell.outputs if out.output_type == "stream"
    ]
    assert [line for text in printed for line in text.splitlines() if line != line.rstrip()] == []


def test_shows_no_path_of_this_machine(executed):
    assert str(BOOK.parent) not in nbformat.writes(executed.notebook)


def test_every_number_and_every_figure_comes_out_again(chapter, executed):
    """What the site shows is what the chapter printed and drew when it was executed for it; this is another time."""
    shown, again = (
        [cell.outputs for cell in notebook.cells if cell.cell_type == "code"] for notebook in (in_the_site(chapter), executed.notebook)
    )
    assert shown == again
