"""Which of the cells that were handed in answer what. The reader does this too: names are found by parsing a stranger's code."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from ..errors import Refused
from ..kit.source import OF_ITS_OWN, imported_names
from .cells import Loose, code_cells


@dataclass(frozen=True)
class Wanted:
    """What the reader has to know of an exercise."""

    exercise: str
    stubs: dict[str, str]  # each answer cell as learners get it
    promised: dict[str, list[str]]  # the names that each answer cell must define
    given: list[str]  # all the cells of the exercise

    def as_message(self) -> dict:
        return asdict(self)


@dataclass(frozen=True)
class Found:
    """What a submission holds; see `Submission`."""

    answers: dict[str, str]
    notes: dict[str, str]
    lost_names: dict[str, str]


def found_in(data: bytes, name: str, wanted: Wanted) -> Found:
    """Return the answers in a notebook or script of that name; raises `Refused`."""
    cells = code_cells(data, name)
    answers: dict[str, str] = {}
    notes: dict[str, str] = {}
    taken: set[Loose] = set()
    for cell, stub in wanted.stubs.items():
        found = [c for c in cells if c.name == cell]
        if not found:
            found = [c for c in cells if c.name not in wanted.stubs and not c.defines.isdisjoint(wanted.promised[cell])]
            notes |= {cell: "found by the name of its function: the cell had lost its mark"} if found else {}
        if not found:
            notes[cell] = "this answer cell is not in the notebook"
            continue
        taken |= set(found)
        answers[cell] = _whole(_last_answered(found, stub), cell, wanted)
        if len({c.source for c in found}) > 1:
            notes[cell] = "the notebook has this answer cell more than once; the last answered one was judged"
    return Found(answers, notes, _lost([c for c in cells if c not in taken and c.name not in wanted.given], wanted))


def _last_answered(found: list[Loose], stub: str) -> str:
    return next((c.source for c in reversed(found) if c.source.strip() != stub.strip()), stub)


def _whole(source: str, cell: str, wanted: Wanted) -> str:
    """Return the source; raises `Refused` where half a character is in it, which no file can hold."""
    try:
        source.encode("utf-8")
    except UnicodeEncodeError as error:
        line = source.count("\n", 0, error.start) + 1
        raise Refused(
            f"{wanted.exercise}, cell {cell}",
            f"line {line} has half of a character in it (a lone surrogate)",
            "Type that line anew, save and hand in again",
        ) from None
    return source


def _lost(cells: list[Loose], wanted: Wanted) -> dict[str, str]:
    """Return the names that are defined only in cells that are not taken, with what to do about it."""
    promised = {name for names in wanted.promised.values() for name in names}
    names = {name for cell in cells for name in cell.defines | imported_names(cell.source)} - promised
    return {name: OF_ITS_OWN.format(name) for name in sorted(names)}
