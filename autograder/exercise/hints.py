"""Three hints for learners who are stuck: written below the cell that they help with, opened one by one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nbformat import NotebookNode

from ..errors import AuthorError
from ..kit.cells import ANSWER, CHECK, Cell
from .places import Place

HINTS = "hints"  # the tag of such a cell, and its kind
COUNT = 3
FORM = f'`# %% [markdown] tags=["{HINTS}"]` and, below it, a list: 1. a question, 2. a direction, 3. nearly the line'


@dataclass(frozen=True)
class Hints:
    """Three hints, the cell below which they stand, and the checks that they help with."""

    cell: str
    checks: tuple[str, ...]
    texts: tuple[str, ...]


def is_hints(cell: NotebookNode) -> bool:
    return cell.cell_type == "markdown" and HINTS in cell.metadata.get("tags", [])


def hints_of(cells: list[Cell], places: list[Place]) -> tuple[Hints, ...]:
    """Return the hints of an exercise; raises `AuthorError` where a check has none.

    Below an answer they serve all its checks, below a check only that one.
    """
    below = {_above(cells, number, place): place for number, place in enumerate(places) if cells[number].kind == HINTS}
    texts = {cell: _texts(place) for cell, place in below.items()}
    served: dict[str, list[str]] = {}
    answer = ""
    for cell, place in zip(cells, places):
        answer = cell.id if cell.kind == ANSWER else answer
        if cell.kind == CHECK:
            helped = cell.id if cell.id in texts else answer
            if helped not in texts:
                raise AuthorError(f"{place}: no hints help with this check; below its answer, or below itself, it needs {FORM}")
            served.setdefault(helped, []).append(cell.id)
    if idle := sorted(set(texts) - set(served)):
        raise AuthorError(f"{below[idle[0]]}: these help with no check; every check of the answer above has hints of its own")
    return tuple(Hints(cell, tuple(checks), texts[cell]) for cell, checks in served.items())


def _above(cells: list[Cell], number: int, place: Place) -> str:
    """Return the cell that the hints in a cell help with: the one above."""
    if number == 0 or cells[number - 1].kind not in (ANSWER, CHECK):
        raise AuthorError(f"{place}: hints stand right below an answer or a check, and here is neither")
    return cells[number - 1].id


def _texts(place: Place) -> tuple[str, ...]:
    written = "\n".join(line.removeprefix("#").removeprefix(" ") for line in place.text[1:])
    texts = [" ".join(text.split()) for text in re.split(r"^\d\. +", written, flags=re.MULTILINE)]
    if texts.pop(0) or len(texts) != COUNT or not all(texts):
        raise AuthorError(f"{place}: {len(texts)} hints where {COUNT} are asked for; they are {FORM}")
    if not texts[0].endswith("?"):
        raise AuthorError(f"{place}: the first hint is not a question; a learner who is stuck must find the next step alone")
    return tuple(texts)
