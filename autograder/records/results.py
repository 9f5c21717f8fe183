"""What is known of each submission: the verdicts from the journal, the marks from the gradebook."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from nbgrader.api import Gradebook

from ..intake.submission import is_learner
from . import journal
from .course import Course
from .entry import Entry
from .marks import Marks, read_marks


@dataclass(frozen=True)
class Result:
    """One submission: what the judge found, and what it counts."""

    entry: Entry
    marks: Marks = field(default_factory=Marks)

    @property
    def learner(self) -> str:
        return self.entry.learner

    @property
    def exercise(self) -> str:
        return self.entry.exercise


def whole_class(course: Course, gradebook: Gradebook, names: list[str], entries: Iterable[Entry] = ()) -> list[Result]:
    """Return the results of everything that was handed in for these exercises and has been judged, in the exercises' order.

    `entries` are those at hand already; the others are read from the journal.
    """
    at_hand = {entry.of: entry for entry in entries}
    marks = {of: each for name in names for of, each in read_marks(gradebook, name).items()}
    found = []
    for of in sorted(course.submissions(names), key=lambda of: (names.index(of[1]), of[0])):
        entry = at_hand.get(of) or (journal.read_entry(course, *of) if is_learner(of[0]) else None)
        if entry is not None:
            found.append(Result(entry, marks.get(of, Marks())))
    return found
