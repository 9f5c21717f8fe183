"""What a platform or nbgrader wrote beside a submission: when it was handed in, and the word that leads its learner to the feedback."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

from nbgrader.utils import parse_utc

from ..errors import Refused
from ..intake.reading import file_bytes
from ..strangers import log_of, quoted
from .course import Course, is_link, there

log = log_of("nbgrader")
TIMESTAMP, SECRET = "timestamp.txt", "submission_secret.txt"
# As nbgrader and platforms write it; its parser would take far more for a time, and raises all kinds of errors.
TIME = re.compile(r"(?:19|20)\d\d-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?: ?(?:UTC|Z|[A-Z]{3,4}|[+-]\d\d:?\d\d))?", re.ASCII)
HEXADECIMAL = re.compile(r"[0-9a-f]{32,256}", re.ASCII)
_told: set[str] = set()  # a server comes here at each request


def handed_in_at(course: Course, learner: str, exercise: str) -> datetime | None:
    """Return when that was, in UTC and without a time zone, as the gradebook has it; None where nothing of ours or nbgrader's says so."""
    return _read(course, learner, exercise, TIMESTAMP, TIME, "a time such as 2026-11-22 08:30:00 UTC", parse_utc)


def secret_of(course: Course, learner: str, exercise: str) -> str | None:
    """Return what nbgrader's exchange made up when this was handed in; None where it came by another way."""
    return _read(course, learner, exercise, SECRET, HEXADECIMAL, "what nbgrader writes there", str)


def beside(course: Course, learner: str, exercise: str) -> dict[str, str | None]:
    """Return the files that nbgrader looks for beside a notebook: what they hold, by name; None for those that must be away."""
    return {TIMESTAMP: time_as_text(handed_in_at(course, learner, exercise)), SECRET: secret_of(course, learner, exercise)}


def time_as_text(at: datetime | None) -> str | None:
    """Return what nbgrader writes into timestamp.txt for that time."""
    return f"{at.isoformat(' ')} UTC\n" if at else None


def _read(course: Course, learner: str, exercise: str, name: str, form: re.Pattern, is_named: str, parsed):
    path = course.submitted / learner / exercise / name
    if not there(path):
        return None
    try:
        return parsed(_text(path, form, is_named))
    except Refused as refusal:
        reason = refusal.what
    except (ValueError, OverflowError, OSError) as error:
        reason = str(error)
    tell(f"{learner}/{exercise}: {name} was not read: {reason}")
    return None


def _text(path: Path, form: re.Pattern, is_named: str) -> str:
    if is_link(path.parent) or is_link(path.parent.parent):
        raise Refused(path.name, "its folder is a link", "")
    text = file_bytes(path)[:300].decode("ascii", "replace").strip()
    if not form.fullmatch(text):
        raise Refused(path.name, f"{quoted(text)} is not {is_named}", "")
    return text


def tell(text: str) -> None:
    """Log a warning, once."""
    if text not in _told:
        _told.add(text)
        log.warning("%s", text)
