"""How learning platforms name what learners hand in.

A name here is the path of a file below the folder of what was taken out of the archives. The learner's name is kept together with the
number by which the platform knows the submission: two learners may be called the same, and marks go back by that number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo


@dataclass(frozen=True)
class Handed:
    """What a platform's name for a file says: whose it is, when it came (UTC, as nbgrader writes it), and whether it was late."""

    learner: str
    at: str = ""
    late: bool = False


@dataclass(frozen=True)
class Platform:
    """One platform, by the pattern of its names."""

    pattern: re.Pattern

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


# Before the file's own name, which may be anything: "Ada Lovelace_4711_assignsubmission_file_x.ipynb", or in a folder of that name.
MOODLE = r"(?:.*/)?(?P<name>[^/]+?)_(?P<number>\d+)_assignsubmission_file(?:_[^/]*|_?/.*)"
CANVAS = r"(?:.*/)?(?P<name>[^/_]+)_(?:(?P<late>LATE)_)?(?P<number>\d+)_\d+_[^/]*"
BLACKBOARD = r"(?:.*/)?[^/]*?_(?P<name>[^/_]+)_attempt_(?P<at>\d{4}(?:-\d\d){5})[^/]*"
CLASSROOM = r"(?:.*/)?(?P<name>[^/]+?) - [^/]*"

PLATFORMS = {
    "moodle": Platform(re.compile(MOODLE)),
    "canvas": Platform(re.compile(CANVAS)),
    "blackboard": Platform(re.compile(BLACKBOARD)),
    "classroom": Platform(re.compile(CLASSROOM)),
}
