"""Chapters as the tests see them: as text, executed, and as a set of functions to call again."""

import os
from pathlib import Path

import matplotlib
import nbformat
import pytest

from tests.book.chapters import BOOK, CHAPTERS, read
from tests.book.executions import Execution


@pytest.fixture(scope="session", params=CHAPTERS)
def chapter(request) -> str:
    """Return the name of each chapter in turn."""
    return request.param


@pytest.fixture(scope="session")
def notebook(chapter) -> nbformat.NotebookNode:
    """Return the chapter as a notebook without outputs."""
    return read(chapter)


@pytest.fixture(scope="session")
def executed(chapter, once) -> Execution:
    """Return the chapter executed once more than `make site` did."""
    return Execution.again(chapter, once)


@pytest.fixture(scope="session")
def functions():
    """Return a function that runs a chapter's cells in this process and returns the names that they define."""
    ran = {}

    def names_of(chapter: str) -> dict:
        if chapter not in ran:
            ran[chapter] = _run_here(chapter)
        return ran[chapter]

    return names_of


def _run_here(chapter: str) -> dict:
    names, back = {}, Path.cwd()
    matplotlib.use("Agg")
    os.chdir(BOOK)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(str(BOOK))
            import figures

            # The style speaks to a notebook's kernel, and there is none here.
            patch.setattr(figures, "use_style", lambda: None)
            for cell in read(chapter).cells:
                if cell.cell_type == "code":
                    exec(compile(cell.source, chapter, "exec"), names)
    finally:
        os.chdir(back)
        matplotlib.pyplot.close("all")
    return names
