"""What nbgrader reads in place of what was handed in: for each submission an empty notebook and the time, both written here.

nbgrader's commands and the formgrader walk a learner's folder, copy what they find in it, follow links, parse all of a notebook and believe
timestamp.txt; and a name that they don't expect stops them for everybody. So that folder is kept from them. The
answers get into the notebook by way of our intake (`autograde.RebuildNotebook`).
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from nbgrader.exchange.default import ExchangeCollect
from nbgrader.utils import parse_utc, temp_attrs

from ..errors import Refused
from ..exercise import reading as exercises
from ..files import process_name
from ..intake.reading import file_bytes
from ..intake.submission import is_learner
from ..records.course import Course, is_link, there
from ..strangers import log_of, quoted

log = log_of("nbgrader")
EMPTY = '{\n "cells": [],\n "metadata": {},\n "nbformat": 4,\n "nbformat_minor": 5\n}\n'
TIMESTAMP = "timestamp.txt"
# As nbgrader and platforms write it; its parser would take far more for a time, and raises all kinds of errors.
TIME = re.compile(r"(?:19|20)\d\d-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?: ?(?:UTC|Z|[A-Z]{3,4}|[+-]\d\d:?\d\d))?", re.ASCII)
_told: set[str] = set()  # a server comes here at each request


def lay_out(course: Course) -> None:
    """Bring the folder in step with what was handed in. Nothing of that is opened but timestamps."""
    wanted = {(learner, name) for learner, name in course.submissions(exercises.all_names()) if _has_name(learner)}
    _remove(course, _laid_out(course) - wanted)
    for learner, name in sorted(wanted):
        folder = course.for_nbgrader / learner / name
        _put(course, folder / f"{name}.ipynb", EMPTY)
        _put(course, folder / TIMESTAMP, handed_in_at(course, learner, name))


def handed_in_at(course: Course, learner: str, exercise: str) -> str | None:
    """Return when that was, as nbgrader writes it; None where nothing of ours or nbgrader's says so."""
    path = course.submitted / learner / exercise / TIMESTAMP
    if not there(path):
        return None
    try:
        if is_link(path.parent) or is_link(path.parent.parent):
            raise Refused(path.name, "its folder is a link", "")
        text = file_bytes(path)[:100].decode("ascii", "replace").strip()
        if not TIME.fullmatch(text):
            raise Refused(path.name, f"{quoted(text)} is not a time such as 2026-11-22 08:30:00 UTC", "")
        return f"{parse_utc(text).isoformat(' ')} UTC\n"
    except Refused as refusal:
        reason = refusal.what
    except (ValueError, OverflowError, OSError) as error:
        reason = str(error)
    _tell(f"{learner}/{exercise}: the time of handing in was not read: {reason}")
    return None


def _has_name(learner: str) -> bool:
    if not is_learner(learner):
        _tell(f"{quoted(learner)} in the folder of submissions is not a learner's name, and nbgrader is not shown it")
    return is_learner(learner)


def _tell(text: str) -> None:
    if text not in _told:
        _told.add(text)
        log.warning("%s", text)


def _laid_out(course: Course) -> set[tuple[str, str]]:
    return {path.parts[-2:] for path in course.for_nbgrader.glob("*/*")}  # type: ignore[misc]  # two parts, as in the pattern


def _remove(course: Course, submissions: set[tuple[str, str]]) -> None:
    for learner, name in submissions:
        shutil.rmtree(course.for_nbgrader / learner / name, ignore_errors=True)


def _put(course: Course, path: Path, text: str | None) -> None:
    """Let the file have that text, or be away. Another process may do the same just now."""
    if text is None:
        path.unlink(missing_ok=True)
    elif not path.exists() or path.name == TIMESTAMP and path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = course.for_nbgrader / f".{process_name()}"
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)


class Collect(ExchangeCollect):
    """`nbgrader collect`, which writes to the learners' folders."""

    def start(self):
        with temp_attrs(self.coursedir, submitted_directory=str(Course().submitted)):
            return super().start()
