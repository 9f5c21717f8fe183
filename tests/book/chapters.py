"""Where the chapters are, and how to read one."""

from pathlib import Path

import jupytext
import nbformat

BOOK = Path(__file__).parents[2] / "book"
CHAPTERS = sorted(path.stem for path in BOOK.glob("[0-9][0-9]_*.md"))


def read(chapter: str) -> nbformat.NotebookNode:
    """Return the chapter as a notebook without outputs."""
    return jupytext.read(BOOK / f"{chapter}.md")


def tags(cell: nbformat.NotebookNode) -> set[str]:
    """Return the cell's tags."""
    return set(cell.metadata.get("tags", []))
