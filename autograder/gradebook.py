"""nbgrader's gradebook, written by one hand and in nbgrader's own schema."""
from __future__ import annotations

import os
import sys
from pathlib import Path

from nbgrader.api import Gradebook
from nbgrader.preprocessors import ComputeChecksums, LockCells, SaveCells

from .exercise import Exercise
from .journal import Entry
from .release import source_notebook


def find_own_commands() -> None:
    """Put this environment's commands on the path: a new gradebook makes nbgrader call alembic by name."""
    own = str(Path(sys.executable).parent)
    path = os.environ.get("PATH", "")
    if own not in path.split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([own, path])


def opened(url: str) -> Gradebook:
    """Return the gradebook at `url`, made if there is none."""
    find_own_commands()
    return Gradebook(url)


def prepare(gradebook: Gradebook, url: str, exercise: Exercise) -> None:
    """Enter the exercise with its cells and points, as `nbgrader generate_assignment` does."""
    gradebook.update_or_create_assignment(exercise.name)
    about = {"nbgrader": {"notebook": exercise.name, "assignment": exercise.name, "db_url": url}}
    notebook = source_notebook(exercise)
    for step in (LockCells, ComputeChecksums, SaveCells):
        notebook, about = step().preprocess(notebook, about)
    gradebook.db.expire_all()  # SaveCells wrote through a connection of its own


def record(gradebook: Gradebook, entry: Entry) -> None:
    """Enter one submission's marks; a mark or comment given by hand is never touched.

    What was refused or not judged gets no mark, which is not a zero: it needs a person.
    """
    gradebook.update_or_create_student(entry.learner)
    with gradebook.db.no_autoflush:  # nbgrader builds the new rows in an order that a flush disturbs
        gradebook.update_or_create_submission(entry.exercise, entry.learner)
    notebook = gradebook.find_submission_notebook(entry.exercise, entry.exercise, entry.learner)
    scores = {verdict.check: verdict.score for verdict in entry.verdicts}
    for grade in notebook.grades:
        grade.auto_score = scores.get(grade.name)
        grade.needs_manual_grade = grade.auto_score is None or grade.manual_score is not None
    gradebook.db.commit()
