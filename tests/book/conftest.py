"""Chapters as the tests see them: as text, executed, and as a set of functions to call again."""

from functools import cache

import nbformat
import pytest

from tests.book.chapters import CHAPTERS, read
from tests.book.definitions import Definitions
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
    """Return a function that returns what a chapter defines, in this process."""
    return cache(Definitions)
