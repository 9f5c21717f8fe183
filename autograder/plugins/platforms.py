"""How learning platforms name what learners hand in, and the forms in which they take marks and feedback back.

A name here is the path of a file below the folder of what was taken out of the archives. The learner's name is kept together with the
number by which the platform knows the submission: two learners may be called the same, and marks go back by that number.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from ..pages.table import as_csv
from ..records.results import Result


@dataclass(frozen=True)
class Handed:
    """What a platform's name for a file says: whose it is, when it came (UTC, as nbgrader writes it), and whether it was late."""

    learner: str
    at: str = ""
    late: bool = False


@dataclass(frozen=True)
class Platform:
    """One platform: how its names are read, and the rows in which it imports marks."""

    pattern: re.Pattern
    rows: Callable[[list[Result]], list[dict]] | None = None

    def read(self, path: str, zone: str = "UTC") -> Handed | None:
        """Return what a file's path says, or None where it is not as this platform names files."""
        found = self.pattern.fullmatch(path)
        if found is None:
            return None
        fields = found.groupdict()
        learner = "_".join(filter(None, (fields["name"].strip(), fields.get("number"))))
        return Handed(learner, _in_utc(fields.get("at") or "", zone), bool(fields.get("late")))


def _in_utc(text: str, zone: str) -> str:
    """Return a platform's time, such as 2026-11-14-10-11-12, in UTC; raises ValueError where there is no such time."""
    if not text:
        return ""
    moment = datetime.strptime(text, "%Y-%m-%d-%H-%M-%S").replace(tzinfo=ZoneInfo(zone))
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


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


# Before the file's own name, which may be anything: "Ada Lovelace_4711_assignsubmission_file_x.ipynb", or in a folder of that name.
MOODLE = r"(?:.*/)?(?P<name>[^/]+?)_(?P<number>\d+)_assignsubmission_file(?:_[^/]*|_?/.*)"
CANVAS = r"(?:.*/)?(?P<name>[^/_]+)_(?:(?P<late>LATE)_)?(?P<number>\d+)_\d+_[^/]*"
BLACKBOARD = r"(?:.*/)?[^/]*?_(?P<name>[^/_]+)_attempt_(?P<at>\d{4}(?:-\d\d){5})[^/]*"
CLASSROOM = r"(?:.*/)?(?P<name>[^/]+?) - [^/]*"

PLATFORMS = {
    "moodle": Platform(re.compile(MOODLE), _moodle),
    "canvas": Platform(re.compile(CANVAS), _canvas),
    "blackboard": Platform(re.compile(BLACKBOARD)),
    "classroom": Platform(re.compile(CLASSROOM)),
}


def marks_for(platform: str, results: list[Result]) -> str | None:
    """Return the marks as CSV in the form that the platform imports; None where it has no form of its own."""
    rows = PLATFORMS[platform].rows if platform else None
    return as_csv(rows(results), []) if rows else None


def feedback_archive(platform: str, pages: dict[str, str]) -> bytes:
    """Return a zip archive of learners' feedback pages, by learner, with the names under which Moodle takes such an archive back."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for learner, page in sorted(pages.items()):
            archive.writestr(f"{learner}_assignsubmission_file/feedback.html" if platform == "moodle" else f"{learner}/feedback.html", page)
    return file.getvalue()
