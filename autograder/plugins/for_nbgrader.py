"""What nbgrader reads in place of what was handed in: for each submission an empty notebook and what says when it was handed in, all written here.

nbgrader's commands and the formgrader walk a learner's folder, copy what they find in it, follow links, parse all of a notebook and believe
timestamp.txt; and a name that they don't expect stops them for everybody. So that folder is kept from them. The
answers get into the notebook by way of our intake (`autograde.RebuildNotebook`).
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ..files import process_name
from ..intake.submission import is_learner
from ..records.course import Course
from ..records.handed_in import TIMESTAMP, beside, tell
from ..records.resubmissions import time_that_counts
from ..strangers import quoted

EMPTY = '{\n "cells": [],\n "metadata": {},\n "nbformat": 4,\n "nbformat_minor": 5\n}\n'


def lay_out(course: Course) -> None:
    """Bring the folder in step with what was handed in. Nothing of that is opened but timestamps."""
    wanted = {(learner, name) for learner, name in course.submissions(list(course.settings.exercises)) if _has_name(learner)}
    _remove(course, _laid_out(course) - wanted)
    for learner, name in sorted(wanted):
        folder = course.for_nbgrader / learner / name
        _put(course, folder / f"{name}.ipynb", EMPTY)
        files = beside(course, learner, name)
        files[TIMESTAMP] = time_that_counts(course, learner, name, files[TIMESTAMP])
        for file, text in files.items():
            _put(course, folder / file, text)


def _has_name(learner: str) -> bool:
    if not is_learner(learner):
        tell(f"{quoted(learner)} in the folder of submissions is not a learner's name, and nbgrader is not shown it")
    return is_learner(learner)


def _laid_out(course: Course) -> set[tuple[str, str]]:
    return {path.parts[-2:] for path in course.for_nbgrader.glob("*/*")}  # type: ignore[misc]  # two parts, as in the pattern


def _remove(course: Course, submissions: set[tuple[str, str]]) -> None:
    for learner, name in submissions:
        shutil.rmtree(course.for_nbgrader / learner / name, ignore_errors=True)


def _put(course: Course, path: Path, text: str | None) -> None:
    """Let the file have that text, or be away. Another process may do the same just now."""
    if text is None:
        path.unlink(missing_ok=True)
    elif not path.exists() or path.suffix == ".txt" and path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        half = course.for_nbgrader / f".{process_name()}"
        half.write_text(text, encoding="utf-8")
        os.replace(half, path)
