"""What is known of each submission: the verdicts from the journal, the marks from the gradebook."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from hashlib import blake2b

from nbgrader.api import Gradebook

from ..errors import UnknownLearner
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


def whole_class(course: Course, gradebook: Gradebook, entries: Iterable[Entry] = ()) -> list[Result]:
    """Return the results of everything that was handed in and has been judged, in the exercises' order.

    `entries` are those at hand already; the others are read from the journal.
    """
    names = list(course.settings.exercises)
    at_hand = {entry.of: entry for entry in entries}
    marks = {of: each for name in names for of, each in read_marks(gradebook, name).items()}
    found = []
    for of in sorted(course.submissions(names), key=lambda of: (names.index(of[1]), of[0])):
        entry = at_hand.get(of) or (journal.read_entry(course, *of) if is_learner(of[0]) else None)
        if entry is not None:
            found.append(Result(entry, marks.get(of, Marks())))
    return found


def absent(gradebook: Gradebook, results: list[Result]) -> list[str]:
    """Return the learners in the gradebook who have handed in nothing."""
    return sorted({student.id for student in gradebook.students} - {result.learner for result in results})


def shown_as(course: Course, learner: str) -> str:
    """Return a learner's name, or, where the course withholds names, one that tells nobody whose it is and stays the same."""
    if course.settings.names:
        return learner
    return "learner " + blake2b(learner.encode(errors="replace"), key=str(course.seed()).encode(), digest_size=4).hexdigest()


def called(course: Course, shown: str) -> str:
    """Return the learner whom the course shows under that name; the name itself where it shows nobody so."""
    return next((learner for learner in course.learners() if shown_as(course, learner) == shown), shown)


def unknown(course: Course, exercise: str, learner: str) -> UnknownLearner:
    """Return the error for somebody who has handed in nothing: with those whose names are most like this one, or else the first."""
    names = [shown_as(course, name) for name, _ in course.submissions([exercise])]
    return UnknownLearner(learner, exercise, get_close_matches(learner, names) or names[:10])


def with_names_as_shown(course: Course, results: list[Result]) -> list[Result]:
    """Return results under the names that the course shows."""
    return [replace(result, entry=replace(result.entry, learner=shown_as(course, result.learner))) for result in results]
