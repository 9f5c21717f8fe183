"""What nbgrader reads in place of what was handed in: for each submission an empty notebook and what says when it was handed in, all written here.

nbgrader's commands and the formgrader walk a learner's folder, copy what they find in it, follow links, parse all of a notebook and believe
timestamp.txt; and a name that they don't expect stops them for everybody. So that folder is kept from them. The
answers get into the notebook by way of our intake (`autograde.RebuildNotebook`).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from ..files import Looks, Remembered, looks, process_name
from ..intake.submission import is_learner
from ..records.course import Course
from ..records.handed_in import SECRET, TIMESTAMP, beside, tell
from ..records.resubmissions import time_that_counts
from ..strangers import quoted

EMPTY = '{\n "cells": [],\n "metadata": {},\n "nbformat": 4,\n "nbformat_minor": 5\n}\n'
_laid: Remembered[bool] = Remembered()  # a server comes here at each request


def lay_out(course: Course) -> None:
    """Bring the folder in step with what was handed in. Nothing of that is opened but timestamps, and none of them twice while it looks the same."""
    named = {learner for learner in course.learners() if _has_name(learner)}
    wanted = {(learner, name) for learner, name in course.submissions(list(course.settings.exercises)) if learner in named}
    there = _laid_out(course)
    _remove(course, there - wanted)
    looks_of = _looking_at(course)
    for of in sorted(wanted):
        now = looks_of(*of)
        if of not in there or not _laid.known((course.root, *of), *now):
            _lay(course, *of)
            _laid.keep((course.root, *of), True, *now)


def _lay(course: Course, learner: str, name: str) -> None:
    folder = course.for_nbgrader / learner / name
    _put(course, folder / f"{name}.ipynb", EMPTY)
    files = beside(course, learner, name)
    files[TIMESTAMP] = time_that_counts(course, learner, name, files[TIMESTAMP])
    for file, text in files.items():
        _put(course, folder / file, text)


def _looking_at(course: Course) -> Callable[[str, str], tuple[Looks, ...]]:
    """Return a function that says how all of that looks on which a laid out submission depends."""
    submitted, journal = str(course.submitted), str(course.root / "verdicts")
    best, looks_of_learner = course.settings.resubmissions == "best", lru_cache(looks)

    def looks_of(learner: str, name: str) -> tuple[Looks, ...]:
        mine = f"{submitted}/{learner}/{name}"
        return (
            looks_of_learner(f"{submitted}/{learner}"),
            looks(mine),
            looks(f"{mine}/{TIMESTAMP}"),
            looks(f"{mine}/{SECRET}"),
            looks(f"{journal}/{learner}/{name}.json") if best else None,
        )

    return looks_of


def _has_name(learner: str) -> bool:
    if not is_learner(learner):
        tell(f"{quoted(learner)} in the folder of submissions is not a learner's name, and nbgrader is not shown it")
    return is_learner(learner)


def _laid_out(course: Course) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    with suppress(OSError), os.scandir(course.for_nbgrader) as learners:
        for learner in learners:
            with suppress(OSError), os.scandir(learner) as folders:
                found |= {(learner.name, folder.name) for folder in folders}
    return found


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
