"""Which of a learner's submissions to an exercise counts: the last one, or the best of them, as the course has it.

The journal's entry is that of the submission that counts, so gradebook, pages and tables need not ask. With it, in the same file, the
journal keeps one `other`:

- Where the last submission counts, the best one before it, for it may be worth more once tests, points or a deadline change.
- Where an earlier one counts, the last, so that it is judged once only.

One file is written whole or not at all, so whenever a run is killed, one of these two is there, and the next run compares again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from nbgrader.api import Assignment, Gradebook, GradeCell, SubmittedAssignment

from ..exercise.model import Exercise
from ..intake.reading import read_submission
from ..intake.submission import Submission, is_learner
from .course import Course
from .database import whole
from .entry import Entry
from .gradebook import points_of
from .handed_in import time_as_text
from .journal import may_have_later, read_entry
from .late import Late
from .marks import seconds_late

Worth = Callable[[Sequence[Entry]], list[float | None]]  # what submissions of one learner to one exercise would count


def submission_that_counts(course: Course, learner: str, exercise: Exercise) -> Submission:
    """Return the earlier submission that counts, or else what lies in the learner's folder; raises `Refused`."""
    entry = read_entry(course, learner, exercise.name) if is_learner(learner) else None
    if entry and entry.later and entry.submission:
        return entry.submission
    return read_submission(course.handed_in(learner, exercise.name), learner, exercise)


def time_that_counts(course: Course, learner: str, exercise: str, handed_in: str | None) -> str | None:
    """Return, as timestamp.txt has it, when the submission that counts was handed in, where what was `handed_in` at that time has been judged.

    The formgrader takes a submission whose time is not the gradebook's for one that is still to be graded.
    """
    if course.settings.resubmissions != "best" or not may_have_later(course, learner, exercise):
        return handed_in
    entry = read_entry(course, learner, exercise)
    known = entry is not None and entry.later and time_as_text(handed_in_last(entry).at) == handed_in
    return time_as_text(entry.at) if entry and known else handed_in


def alone(entry: Entry) -> Entry:
    """Return an entry without the other one that it was kept with."""
    return replace(entry, other=None, later="")


def handed_in_last(entry: Entry) -> Entry:
    """Return the entry of the later one of the two submissions."""
    return entry.other if entry.later and entry.other else alone(entry)


def kept(entry: Entry) -> Entry | None:
    """Return the entry of the earlier one of the two submissions."""
    return alone(entry) if entry.later else entry.other


def judged_before(entry: Entry, submission: Submission) -> Entry:
    """Return the entry whose verdicts may still hold for a submission: of the same answers, or else of those handed in last."""
    return next((each for each in (handed_in_last(entry), kept(entry)) if each and each.submission == submission), handed_in_last(entry))


def earlier_ones(entry: Entry | None, submission: Submission | None, at: datetime | None) -> list[Entry]:
    """Return the entries of what was handed in before this submission, in that order, as far as they can be judged again."""
    known = [still_kept(entry, submission, at), handed_in_last(entry)] if entry else []
    return [each for each in known if each and each.submission and not _is(each, submission, at)]


def still_kept(entry: Entry | None, submission: Submission | None, at: datetime | None) -> Entry | None:
    """Return the entry that is kept beside the one of this submission, unless they are the same."""
    each = kept(entry) if entry else None
    return None if each is None or _is(each, submission, at) else each


def _is(entry: Entry, submission: Submission | None, at: datetime | None) -> bool:
    """Return whether that is the submission of this entry. A time that was not known before makes no other one of it."""
    return entry.submission == submission and entry.at in (None, at)


def worth(gradebook: Gradebook, late: Late, consequences: float, entries: Sequence[Entry]) -> list[float | None]:
    """Return what submissions of one learner to one exercise would count if nobody changed a mark by hand: the points that the judge
    gives, less the penalty for late work; None where not all of it is judged."""
    learner, exercise = entries[0].of
    with whole(gradebook):
        notebook = gradebook.find_notebook(exercise, exercise)
        most = dict(gradebook.db.query(GradeCell.name, GradeCell.max_score).filter_by(notebook_id=notebook.id).all())
        due = gradebook.db.query(Assignment.duedate).filter_by(id=notebook.assignment_id).scalar()
        mine = gradebook.db.query(SubmittedAssignment.extension).filter_by(assignment_id=notebook.assignment_id, student_id=learner)
        extension = mine.scalar()
    found: list[float | None] = []
    for entry in entries:
        points = sum(filter(None, points_of(entry, most, consequences).values()))
        penalty = late.penalty(learner, points, seconds_late(entry.at, due, extension))
        found.append(round(points - penalty, 6) if entry.settled else None)  # sums of other points in another order are the same
    return found


def the_best(last: Entry, earlier: Sequence[Entry], worth_of: Worth) -> Entry:
    """Return the entry of the best submission, of two that are worth the same the later one, with the other one that is kept.

    What could not be read, or is still to be judged, is never better than what is judged.
    """
    order = [*earlier, last]
    worths = {id(entry): each for entry, each in zip(order, worth_of(order))}

    def rank(entry: Entry) -> float:
        each = worths[id(entry)]
        return each if each is not None else -2.0 if entry.refused else -1.0

    best = max(reversed(earlier), key=rank)  # of equals, max takes the first
    if rank(last) >= rank(best):
        return replace(last, other=best)
    return replace(best, other=last, later=_told(last, worths[id(last)], worths[id(best)]))


def not_compared(last: Entry, earlier: Sequence[Entry], before: Entry) -> Entry:
    """Return what is kept where nobody can say what each is worth: the submission that counted `before` does so until the next run."""
    if _is(before, last.submission, last.at):
        return replace(last, other=earlier[-1])
    counted = next((each for each in earlier if _is(before, each.submission, each.at)), earlier[-1])
    return replace(
        counted, other=last, later="What was handed in later has still to be compared, so the earlier submission counts until then."
    )


def _told(last: Entry, worth_of_last: float | None, worth_of_best: float | None) -> str:
    """Return why an earlier submission counts, in a sentence for people."""
    when = f" ({last.at:%Y-%m-%d %H:%M} UTC)" if last.at else ""
    if last.refused:
        return f"What was handed in later{when} could not be read, so the earlier submission counts: {last.refused.partition(': ')[2]}"
    if worth_of_last is None or worth_of_best is None:
        return f"What was handed in later{when} has still to be judged, which is our fault, so the earlier submission counts until then."
    less = worth_of_best - worth_of_last
    return f"What was handed in later{when} is worth {worth_of_last:g} points, {less:g} less than the earlier submission, so the earlier one counts."
