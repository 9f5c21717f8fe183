"""The marks of a class, as the gradebook has them: all pages and tables read them here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from nbgrader.api import Assignment, BaseCell, Comment, Grade, Gradebook, GradeCell, SubmittedAssignment, SubmittedNotebook
from sqlalchemy import select

from .entry import total


@dataclass
class Marks:
    """What the gradebook has on one submission: points by check (None: a person or the judge has still to give them), what a
    person wrote, and what is taken off because it was late."""

    points: dict[str, float | None] = field(default_factory=dict)
    most: dict[str, float] = field(default_factory=dict)  # that each check is worth
    comments: dict[str, str] = field(default_factory=dict)
    by_hand: bool = False  # whether a person changed a mark or gave extra credit
    penalty: float = 0.0
    at: datetime | None = None  # when it was handed in, in UTC
    seconds_late: float = 0.0

    @property
    def total(self) -> float | None:
        """Return what counts: the points less the penalty; None where some are still to come."""
        points = total(self.points.values()) if self.points else None
        return None if points is None else max(0.0, points - self.penalty)


def read_marks(gradebook: Gradebook, exercise: str, learners: Iterable[str] | None = None) -> dict[tuple[str, str], Marks]:
    """Return the marks of those who handed in an exercise, or of these learners alone, by learner and exercise."""
    session, found = gradebook.db, {}
    for row in session.execute(_of(_submissions(), exercise, learners)):
        seconds = seconds_late(row.timestamp, row.duedate, row.extension)
        found[row.student_id] = Marks(penalty=row.late_submission_penalty or 0.0, at=row.timestamp, seconds_late=seconds)
    for row in session.execute(_of(_grades(), exercise, learners)):
        _add(found[row.student_id], row)
    for row in session.execute(_of(_comments(), exercise, learners)):
        found[row.student_id].comments[row.name] = row.manual_comment
    return {(learner, exercise): marks for learner, marks in found.items()}


def seconds_late(at: datetime | None, due: datetime | None, extension: timedelta | None) -> float:
    """Return by how much that is after the deadline; 0 where there is none, or nobody knows when it was handed in."""
    if at is None or due is None:
        return 0.0
    return max(0.0, (at - due - (extension or timedelta())).total_seconds())


def _add(marks: Marks, row) -> None:
    """Add one check's points, as nbgrader adds them up in its own `score`."""
    given = row.auto_score if row.manual_score is None else row.manual_score
    extra = row.extra_credit or 0.0
    marks.points[row.name] = None if given is None and not extra else (given or 0.0) + extra
    marks.most[row.name] = row.max_score
    marks.by_hand |= row.manual_score is not None or bool(extra)


def _of(query, exercise: str, learners: Iterable[str] | None):
    query = query.where(Assignment.name == exercise)
    return query if learners is None else query.where(SubmittedAssignment.student_id.in_(list(learners)))


def _submissions():
    submission = SubmittedAssignment
    columns = (
        submission.student_id,
        submission.timestamp,
        submission.extension,
        Assignment.duedate,
        SubmittedNotebook.late_submission_penalty,
    )
    return (
        select(*columns)
        .join(Assignment, submission.assignment_id == Assignment.id)
        .join(SubmittedNotebook, SubmittedNotebook.assignment_id == submission.id)
    )


def _grades():
    columns = (
        SubmittedAssignment.student_id,
        GradeCell.name,
        GradeCell.max_score,
        Grade.auto_score,
        Grade.manual_score,
        Grade.extra_credit,
    )
    return _of_cells(Grade, GradeCell, *columns)


def _comments():
    return _of_cells(Comment, BaseCell, SubmittedAssignment.student_id, BaseCell.name, Comment.manual_comment).where(
        Comment.manual_comment.is_not(None), Comment.manual_comment != ""
    )


def _of_cells(kind: type[Grade] | type[Comment], cell: type[BaseCell] | type[GradeCell], *columns):
    return (
        select(*columns)
        .select_from(kind)
        .join(cell, kind.cell_id == cell.id)
        .join(SubmittedNotebook, kind.notebook_id == SubmittedNotebook.id)
        .join(SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
    )
