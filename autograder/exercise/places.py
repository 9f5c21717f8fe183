"""Where the cells of a file are, so that an error can name the line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import AuthorError

if TYPE_CHECKING:
    pass

CELL = "# %%"


@dataclass(frozen=True)
class Place:
    """Where a cell is: its file, its first line there and its name; with its lines as they are written."""

    file: str
    line: int
    cell: str
    text: tuple[str, ...]

    def __str__(self) -> str:
        return self.at(self.line)

    def at(self, line: int) -> str:
        return f'{self.file}, line {line}, cell "{self.cell}"'

    def numbered(self):
        """Return the cell's lines with their numbers in the file."""
        return enumerate(self.text, self.line)


def places_of(path: Path, cells: list[str]) -> list[Place]:
    """Return the places of a file's cells, whose names are given in order."""
    lines = path.read_text(encoding="utf-8").splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith(CELL)]
    if len(starts) != len(cells):
        raise AuthorError(f"{path.name}: there is text before the first cell; a cell begins with a line `{CELL}`")
    return [
        Place(path.name, start + 1, cell, tuple(lines[start:end])) for start, end, cell in zip(starts, [*starts[1:], len(lines)], cells)
    ]
