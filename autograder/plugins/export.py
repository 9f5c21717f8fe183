"""Marks as CSV that a spreadsheet reads as text and numbers, and never as formulas.

nbgrader's own exporter writes no quotes, lets spreadsheets compute what begins with `=`, and gives only the sum.
"""

from __future__ import annotations

from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import ExportPlugin

from ..files import write_whole
from ..pages.table import as_csv

ABOUT = ["assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"]
MARKS = ["raw_score", "late_submission_penalty", "score", "max_score", "state"]


class SafeCsv(ExportPlugin):
    """Writes one row for each learner and exercise: nbgrader's columns, then one for each check."""

    def export(self, gradebook: Gradebook) -> None:
        target = Path(self.to or "grades.csv")
        wanted = [a for a in gradebook.assignments if not self.assignment or a.name in map(str, self.assignment)]
        learners = [s for s in gradebook.students if not self.student or s.id in map(str, self.student)]
        rows = [_row(gradebook, exercise, learner) for exercise in wanted for learner in learners]
        write_whole(target, as_csv(rows, [*ABOUT, *MARKS]))
        self.log.info("Marks written to %s: %s rows", target, len(rows))


def _row(gradebook: Gradebook, exercise, learner) -> dict:
    row = {"assignment": exercise.name, "duedate": exercise.duedate, "student_id": learner.id, "max_score": exercise.max_score}
    row |= {name: getattr(learner, name) for name in ("last_name", "first_name", "email")}
    try:
        submission = gradebook.find_submission(exercise.name, learner.id)
    except MissingEntry:
        return row | {"raw_score": 0.0, "late_submission_penalty": 0.0, "score": 0.0, "state": "nothing handed in"}
    checks = {grade.name: grade.score for notebook in submission.notebooks for grade in notebook.grades if _is_marked(grade)}
    return row | {"timestamp": submission.timestamp, **_sums(submission), **checks}


def _is_marked(grade) -> bool:
    return grade.auto_score is not None or grade.manual_score is not None


def _sums(submission) -> dict:
    """Return the sums; none where a check waits for a mark, because that is not a zero."""
    if not all(_is_marked(grade) for notebook in submission.notebooks for grade in notebook.grades):
        return {"state": "to be marked"}
    penalty = submission.late_submission_penalty or 0.0
    return {
        "raw_score": submission.score,
        "late_submission_penalty": penalty,
        "score": max(0.0, submission.score - penalty),
        "state": "marked",
    }
