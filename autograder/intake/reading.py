"""From untrusted bytes to a checked submission, which holds the sources of known answer cells and nothing else."""

from __future__ import annotations

import os
import stat
from dataclasses import asdict
from pathlib import Path

from ..errors import Refused
from ..exercise.model import Exercise
from ..exercise.notebook import stubs
from .matching import Wanted
from .reader import reader
from .submission import Submission, check_learner

MOST_BYTES = 8 << 20
MOST_SCRIPT = 128 << 10  # a script is code alone, and answers have a few kB


def read_submission(path: Path, learner: str, exercise: Exercise, found_in=reader.found_in) -> Submission:
    """Return the submission in a notebook (.ipynb) or a percent or light script (.py); raises `Refused`."""
    data = file_bytes(path)
    found = found_in(data, path.name, wanted_of(exercise))
    return Submission(check_learner(learner), exercise.name, **asdict(found))


def wanted_of(exercise: Exercise) -> Wanted:
    """Return what the reader has to know of an exercise."""
    promised = {cell: sorted(names) for cell, names in exercise.promised.items()}
    return Wanted(exercise.name, stubs(exercise), promised, [cell.id for cell in exercise.cells])


def file_bytes(path: Path) -> bytes:
    """Return the bytes of a plain file; raises `Refused` for links, pipes and devices, and for too many bytes."""
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
