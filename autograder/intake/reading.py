"""From untrusted bytes to a checked submission, which holds the sources of known answer cells and nothing else."""

from __future__ import annotations

import json
import os
import re
import stat
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import jupytext
import numpy as np

from ..errors import Refused
from ..exercise.model import Exercise
from ..exercise.notebook import stubs
from ..kit.source import defined_names, imported_names
from .submission import Submission, check_learner

MOST_BYTES = 8 << 20
MOST_SCRIPT = 128 << 10  # jupytext's reader takes a second for these, and longer than linearly for more
MOST_CELLS = 2000
LONGEST_CELL = 100_000
MOST_SOURCE = 1_000_000  # characters of code in all; Python's parser takes some seconds for the worst
DEEPEST = 200
# An unclosed text runs to the end of the file: otherwise the search for its end, from each quote in it, would take hours.
TEXT = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)


@dataclass(frozen=True, eq=False)
class _Loose:
    """A code cell of the submission, with the name that it claims."""

    name: str
    source: str

    @cached_property
    def defines(self) -> set[str]:
        return defined_names(self.source)


def read_submission(path: Path, learner: str, exercise: Exercise) -> Submission:
    """Return the submission in a notebook (.ipynb) or a py:percent script (.py); raises `Refused`."""
    cells = _code_cells(_bytes(path), path)
    return _match(cells, check_learner(learner), exercise)


def _bytes(path: Path) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise Refused(str(path.name), f"it cannot be opened ({error.strerror})", "Hand in the notebook file itself") from None
    try:
        _check_file(os.fstat(fd), path)
        with os.fdopen(fd, "rb", closefd=False) as file:
            data = file.read(MOST_BYTES + 1)
    finally:
        os.close(fd)
    _check_size(len(data), path)  # it may have grown since it was measured
    return data


def _check_file(facts: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(facts.st_mode):
        raise Refused(path.name, "it is not a plain file", "Hand in the notebook file itself, not a link or a folder")
    _check_size(facts.st_size, path)


def _check_size(size: int, path: Path) -> None:
    if path.suffix == ".py" and size > MOST_SCRIPT:
        raise Refused(
            path.name,
            f"it has {-(-size >> 10)} kB and of a script at most {MOST_SCRIPT >> 10} are read",
            "Remove what does not belong to the exercise and hand in again",
        )
    if size > MOST_BYTES:
        raise Refused(
            path.name,
            f"it has {-(-size >> 20)} MB and at most {MOST_BYTES >> 20} are read",
            "Clear the outputs (Edit, Clear Outputs of All Cells), save and hand in again",
        )


def _code_cells(data: bytes, path: Path) -> list[_Loose]:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise _unreadable(path, "it is not text in UTF-8") from None
    cells = _of_script(text, path) if path.suffix == ".py" else _of_notebook(_json(text, path), path)
    _check_counts([len(cell.source) for cell in cells], path)
    return cells


def _check_counts(lengths: list[int], path: Path) -> None:
    for what, count, most in (
        ("code cells", len(lengths), MOST_CELLS),
        ("characters in one code cell", max(lengths, default=0), LONGEST_CELL),
        ("characters of code", sum(lengths), MOST_SOURCE),
    ):
        if count > most:
            raise Refused(
                path.name,
                f"it has {count} {what} and at most {most} are read",
                "Remove what does not belong to the exercise and hand in again",
            )


def _json(text: str, path: Path):
    if depth_of(text) > DEEPEST:
        raise _unreadable(path, f"it is nested more than {DEEPEST} deep")
    try:
        return json.loads(text, parse_int=_short_number)
    except ValueError as error:
        raise _unreadable(path, f"it is not JSON: {error}") from None


def depth_of(text: str) -> int:
    """Return how deeply JSON is nested, without parsing it."""
    marks = np.frombuffer(TEXT.sub(b"", text.encode("utf-8")), np.uint8)
    steps = np.isin(marks, list(b"[{")).astype(np.int32) - np.isin(marks, list(b"]}"))
    return int(steps.cumsum().max(initial=0))


def _short_number(digits: str) -> int:
    """Return a number, cut short: only the format's version is ever used, and long numbers are slow, or an error."""
    return int(digits[:9])


def _of_notebook(raw, path: Path) -> list[_Loose]:
    """Return the code cells of a notebook of any format since 2.

    By hand, because only two fields of each cell are wanted, and nbformat converts and validates
    all the rest, which in a stranger's notebook can make it raise any exception.
    """
    version = raw.get("nbformat") if isinstance(raw, dict) else None
    if version == 4:
        cells = _list(raw.get("cells"))
    elif version in (2, 3):
        cells = [cell for sheet in _list(raw.get("worksheets")) if isinstance(sheet, dict) for cell in _list(sheet.get("cells"))]
    else:
        raise _unreadable(
            path, f"it is JSON but not a notebook of a known format (nbformat {version if isinstance(version, int) else 'missing'})"
        )
    code = [cell for cell in cells if isinstance(cell, dict) and cell.get("cell_type") == "code"]
    return [_Loose(_claimed(cell.get("metadata"), cell.get("id")), _joined(cell.get("source", cell.get("input")))) for cell in code]


def _list(value) -> list:
    return value if isinstance(value, list) else []


def _joined(source) -> str:
    return source if isinstance(source, str) else "".join(line for line in _list(source) if isinstance(line, str))


def _of_script(text: str, path: Path) -> list[_Loose]:
    _check_counts([0] * text.count("# %%"), path)  # before jupytext, which is slow for many
    try:
        cells = jupytext.reads(text, fmt="py:percent").cells
    except Exception as error:  # hostile text can make its parser raise anything
        raise _unreadable(path, f"it is not a py:percent script ({type(error).__name__})") from None
    return [_Loose(_claimed(cell.metadata, cell.get("id")), cell.source) for cell in cells if cell.cell_type == "code"]


def _unreadable(path: Path, what: str) -> Refused:
    return Refused(path.name, what, "Open it in JupyterLab, save it there and hand in again")


def _claimed(metadata, identity) -> str:
    marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    name = (marks.get("grade_id") if isinstance(marks, dict) else None) or identity
    return name if isinstance(name, str) else ""


def _match(cells: list[_Loose], learner: str, exercise: Exercise) -> Submission:
    blank = stubs(exercise)
    answers: dict[str, str] = {}
    notes: dict[str, str] = {}
    taken: set[_Loose] = set()
    for name, stub in blank.items():
        found = [c for c in cells if c.name == name]
        if not found:
            found = [c for c in cells if c.name not in blank and c.defines & exercise.promised[name]]
            notes |= {name: "found by the name of its function: the cell had lost its mark"} if found else {}
        if not found:
            notes[name] = "this answer cell is not in the notebook"
            continue
        taken |= set(found)
        answers[name] = _whole(_last_answered(found, stub), name, exercise)
        if len({c.source for c in found}) > 1:
            notes[name] = "the notebook has this answer cell more than once; the last answered one was judged"
    lost = [c for c in cells if c not in taken and not _given(c, exercise)]
    return Submission(learner, exercise.name, answers, notes, _lost(lost, exercise))


def _last_answered(found: list[_Loose], stub: str) -> str:
    return next((c.source for c in reversed(found) if c.source.strip() != stub.strip()), stub)


def _whole(source: str, name: str, exercise: Exercise) -> str:
    """Return the source; raises `Refused` where half a character is in it, which no file can hold."""
    try:
        source.encode("utf-8")
    except UnicodeEncodeError as error:
        line = source.count("\n", 0, error.start) + 1
        raise Refused(
            f"{exercise.name}, cell {name}",
            f"line {line} has half of a character in it (a lone surrogate)",
            "Type that line anew, save and hand in again",
        ) from None
    return source


def _given(cell: _Loose, exercise: Exercise) -> bool:
    return any(cell.name == c.id for c in exercise.cells)


def _lost(cells: list[_Loose], exercise: Exercise) -> dict[str, str]:
    """Return the names that are defined only in cells that are not taken, with what to do about it."""
    promised = set().union(*exercise.promised.values())
    names = {name for cell in cells for name in cell.defines | imported_names(cell.source)} - promised
    return {
        name: f"{name} is defined in a cell of its own, and only answer cells are handed in: move it into the answer"
        for name in sorted(names)
    }
