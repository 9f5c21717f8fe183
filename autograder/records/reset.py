"""Taking away what one learner has handed in for one exercise, with its marks and pages, so that it can be handed in anew.

All of it is moved to a folder of its own below taken_away/, and what the gradebook had is written there first: nothing is deleted that is not
there. Where the process dies in between, the same command takes away the rest.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry, SubmittedAssignment
from nbgrader.utils import parse_utc

from ..errors import CannotGoOn
from ..files import write_all
from ..intake.submission import check_learner
from . import database
from .course import Course, is_link, there
from .database import whole
from .handed_in import TIMESTAMP
from .history import Step, run_begins, with_line
from .lock import held
from .results import unknown

FOLDER = "taken_away"
LOCK_SECONDS = 20.0


@dataclass(frozen=True)
class Taken:
    """What a reset takes away, or would, and where it is kept then."""

    paths: list[Path] = field(default_factory=list)
    marks: dict = field(default_factory=dict)  # of the gradebook
    kept: Path = Path()


def reset(course: Course, exercise: str, learner: str, only_look: bool = False) -> Taken:
    """Take away a submission with all that was made of it; return what that was. Raises `UnknownLearner` where there is nothing, and `CannotGoOn`."""
    check_learner(learner)
    at = run_begins()
    kept = _new_folder(course.root / FOLDER / learner / exercise, f"{at:%Y-%m-%d_%H-%M-%S}")
    with held(course.lock, "python -m autograder reset", LOCK_SECONDS), database.opened(course.gradebook_url) as gradebook:
        taken = Taken([path for path in _paths(course, learner, exercise) if there(path)], _marks(gradebook, exercise, learner), kept)
        if not (taken.paths or taken.marks):
            raise unknown(course, exercise, learner)
        if is_link(course.submitted / learner):
            raise CannotGoOn(
                f"{course.submitted / learner} is a link, and what is behind it is left alone. Take the link away, and run the same command again"
            )
        if not only_look:
            _take(course, gradebook, exercise, learner, taken, at)
    return taken


def taken_at(course: Course, learner: str, exercise: str) -> datetime | None:
    """Return when the last of what was taken away from a learner had been handed in; None where nobody knows of such work."""
    found = []
    for path in (course.root / FOLDER / learner / exercise).glob(f"*/submitted/{TIMESTAMP}"):
        try:
            found.append(parse_utc(path.read_text("ascii").strip()))
        except (OSError, ValueError, OverflowError):
            continue
    return max(found, default=None)


def _new_folder(parent: Path, name: str) -> Path:
    """Return a folder of that name that is not there yet, with a number behind it where it has to be."""
    folders = (parent / (f"{name}_{number}" if number else name) for number in count())
    return next(folder for folder in folders if not folder.exists())


def _paths(course: Course, learner: str, exercise: str) -> list[Path]:
    folders = [
        course.submitted / learner / exercise,
        course.autograded(learner, exercise).parent,
        course.feedback(learner, exercise).parent,
    ]
    return [*folders, course.journal(learner, exercise)]


def _take(course: Course, gradebook: Gradebook, exercise: str, learner: str, taken: Taken, at: datetime) -> None:
    taken.kept.mkdir(parents=True)
    files = [(taken.kept / "gradebook.json", json.dumps(taken.marks, indent=1, ensure_ascii=False) + "\n")] if taken.marks else []
    why = f"it was taken away, and is kept in {taken.kept.relative_to(course.root)}"
    write_all([*files, with_line(course, learner, exercise, Step(at, None, why))])
    if taken.marks:
        with whole(gradebook):
            gradebook.remove_submission(exercise, learner)
    for path in taken.paths:
        name = path.relative_to(course.root).parts[0]
        os.rename(path, taken.kept / (f"{name}.json" if path.suffix == ".json" else name))
    shutil.rmtree(course.for_nbgrader / learner / exercise, ignore_errors=True)


def _marks(gradebook: Gradebook, exercise: str, learner: str) -> dict:
    """Return all that the gradebook has on a submission, as JSON can hold it; nothing where it has none."""
    with whole(gradebook):
        try:
            found: SubmittedAssignment = gradebook.find_submission(exercise, learner)
        except MissingEntry:
            return {}
        grades = {grade.name: grade for notebook in found.notebooks for grade in notebook.grades}
        comments = {comment.name: comment for notebook in found.notebooks for comment in notebook.comments}
        return {
            "handed_in": found.timestamp and found.timestamp.isoformat(" "),
            "extension_in_seconds": found.extension.total_seconds() if isinstance(found.extension, timedelta) else None,
            "penalty": sum(notebook.late_submission_penalty or 0.0 for notebook in found.notebooks),
            "grades": {
                name: {"judged": g.auto_score, "by_hand": g.manual_score, "extra_credit": g.extra_credit} for name, g in grades.items()
            },
            "comments": {name: comment.manual_comment for name, comment in comments.items() if comment.manual_comment},
        }
