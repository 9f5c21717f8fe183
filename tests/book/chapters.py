"""Where the chapters are, and how to read one."""

from pathlib import Path

import jupytext
import nbformat
import yaml

BOOK = Path(__file__).parents[2] / "book"
PARTS = ("The mechanism", "A whole model", "Long sequences", "Beyond words", "Engineering", "Where it goes")
_CONTENTS = yaml.safe_load((BOOK.parent / "_toc.yml").read_text(encoding="utf-8"))
CHAPTERS = [Path(page["file"]).stem for part in _CONTENTS["parts"] if part.get("caption") in PARTS for page in part["chapters"]]


def read(chapter: str) -> nbformat.NotebookNode:
    """Return the chapter as a notebook without outputs."""
    return jupytext.read(BOOK / f"{chapter}.md")


def tags(cell: nbformat.NotebookNode) -> set[str]:
    """Return the cell's tags."""
    return set(cell.metadata.get("tags", []))
