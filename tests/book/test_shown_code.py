"""The code that a page shows runs as it is shown: the archive of a chapter is all that a reader needs, and gives what the page has."""

import zipfile

import chapter_downloads
import nbclient
import nbformat
import pytest

from tests.book.chapters import BOOK, CHAPTERS
from tests.book.executions import in_the_site
from tests.book.test_execution import LONG, each_chapter

pytestmark = pytest.mark.usefixtures("forked_kernels")

by_day = each_chapter({*CHAPTERS} - LONG)


@by_day
def test_shown_cells_alone_give_what_the_page_shows(chapter, tmp_path):
    """In a folder that holds nothing but the archive, in a fresh kernel, from top to bottom."""
    with zipfile.ZipFile(chapter_downloads.write_archive(BOOK / f"{chapter}.md", tmp_path)) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / chapter
    notebook = nbformat.read(folder / f"{chapter}.ipynb", 4)
    nbclient.NotebookClient(notebook, timeout=None, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    on_page = [cell for cell in in_the_site(chapter).cells if cell.cell_type == "code" and not _tags(cell) & chapter_downloads.NOT_SHOWN]
    here = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [_shown(cell) for cell in here] == [_shown(cell) for cell in on_page]


@by_day
def test_every_figure_of_a_page_can_be_drawn(chapter):
    """What is drawn without showing its code is the small picture of the stages, and nothing else."""
    folded_away = [cell for cell in in_the_site(chapter).cells if "remove-input" in _tags(cell)]
    assert all(cell.source.startswith("figures.pipeline(") for cell in folded_away)


@pytest.mark.parametrize("page", ["notation", "glossary", "exercises", "intro"])
def test_other_pages_have_no_archive(page):
    assert not chapter_downloads.is_chapter(BOOK / f"{page}.md")


def _shown(cell: nbformat.NotebookNode) -> list:
    """Return what a cell prints, and which kinds of things it shows beside that."""
    return [
        cell.source,
        "".join(out.text for out in cell.outputs if out.output_type == "stream"),
        [sorted(out.get("data", {})) for out in cell.outputs],
    ]


def _tags(cell: nbformat.NotebookNode) -> set[str]:
    return set(cell.metadata.get("tags", []))
