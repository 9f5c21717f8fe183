"""Marks and feedback in the forms in which learning platforms take them back."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable

from ..records.results import Result
from .table import as_csv


def marks_for(platform: str, results: list[Result]) -> str | None:
    """Return the marks as CSV in the form that the platform imports; None where it has no form of its own."""
    return as_csv(ROWS[platform](results), []) if platform in ROWS else None


def feedback_archive(platform: str, pages: dict[str, str]) -> bytes:
    """Return a zip archive of learners' feedback pages, by learner, with the names under which Moodle takes such an archive back."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for learner, page in sorted(pages.items()):
            archive.writestr(f"{learner}_assignsubmission_file/feedback.html" if platform == "moodle" else f"{learner}/feedback.html", page)
    return file.getvalue()


def _moodle(results: list[Result]) -> list[dict]:
    """Return the rows of a grading worksheet of Moodle's, which finds a submission by its identifier."""
    return [
        {
            "Identifier": f"Participant {number}",
            "Full name": name,
            "Grade": result.marks.total,
            "Maximum grade": sum(result.marks.most.values()),
        }
        for result, name, number in _known(results)
    ]


def _canvas(results: list[Result]) -> list[dict]:
    """Return the rows of Canvas's gradebook, which finds a learner by number and has a column for each assignment."""
    theirs: dict[str, dict] = {}
    for result, name, number in _known(results):
        row = theirs.setdefault(number, {"Student": name, "ID": number, "SIS User ID": "", "SIS Login ID": "", "Section": ""})
        row[result.exercise] = result.marks.total
    most = {result.exercise: sum(result.marks.most.values()) for result in results if result.marks.most}
    return [{"Student": "    Points Possible", **most}, *theirs.values()] if theirs else []


def _known(results: list[Result]) -> list[tuple[Result, str, str]]:
    """Return the results of learners whom the platform knows by a number, with their names and these."""
    found = ((result, *result.learner.rpartition("_")[::2]) for result in results if result.marks.total is not None)
    return [each for each in found if each[1] and each[2].isdecimal()]


ROWS: dict[str, Callable[[list[Result]], list[dict]]] = {"moodle": _moodle, "canvas": _canvas}
