"""What each learner was given for each exercise, and why that changed: one line for each time when it did.

The journal and the gradebook hold what counts now; this holds what counted before. There is one file for each submission, and lines are only
ever added to it. Whoever enters marks adds them, and so does the report, which sees what a person has changed since.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ..intake.submission import is_learner
from .course import Course
from .entry import Entry
from .journal import WHY
from .results import Result


@dataclass(frozen=True)
class Step:
    """What a submission counted from then on."""

    at: datetime  # when the run began that noted it, in UTC
    points: float | None  # less the penalty; None where nothing could be judged, or nothing is there any more
    why: str
    checks: dict[str, float | None] = field(default_factory=dict)  # the points of each
    most: float = 0.0  # that the exercise was worth
    penalty: float = 0.0
    by_hand: bool = False
    handed_in: datetime | None = None
    refused: str = ""
    keys: dict[str, str] = field(default_factory=dict)  # of the entry, for the reason of the next step


def read_steps(course: Course, learner: str, exercise: str) -> list[Step]:
    """Return the history of one submission, the oldest first; a line that cannot be read is left out."""
    return [step for line in _text(course.history(learner, exercise)).splitlines() if (step := _step_from(line))]


def run_begins() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None, microsecond=0)


def noted(course: Course, results: Iterable[Result], at: datetime) -> list[tuple[Path, str]]:
    """Return the files, with their texts, of those whose marks or answers are not what their history ends with.

    `at` is when the run began that has found that out: it is the same for all that a run notes.
    """
    named = [result for result in results if is_learner(result.learner)]
    return [file for result in named for file in _added(course, result, at)]


def with_line(course: Course, learner: str, exercise: str, step: Step) -> tuple[Path, str]:
    """Return the file of a history with one more line."""
    path = course.history(learner, exercise)
    return path, _text(path) + json.dumps(asdict(step), ensure_ascii=False, default=datetime.isoformat) + "\n"


def _added(course: Course, result: Result, at: datetime) -> list[tuple[Path, str]]:
    of, marks, entry = result.entry.of, result.marks, result.entry
    steps = read_steps(course, *of)
    before = steps[-1] if steps else None
    step = Step(
        at=at,
        points=marks.total,
        why=_why(before, result),
        checks=marks.points,
        most=sum(marks.most.values()),
        penalty=marks.penalty,
        by_hand=marks.by_hand,
        handed_in=entry.at,
        refused=entry.refused,
        keys=entry.keys,
    )
    return [] if before and _what_counts(before) == _what_counts(step) else [with_line(course, *of, step)]


def _what_counts(step: Step) -> tuple:
    return step.points, step.checks, step.most, step.penalty, step.refused, step.handed_in, step.keys.get("answers")


def _why(before: Step | None, result: Result) -> str:
    """Return why a submission counts something else than it did."""
    entry, marks = result.entry, result.marks
    if before is None or not (before.keys or before.refused):
        return "it could not be read" if entry.refused else "it was handed in"
    causes = ["it could not be read"] if entry.refused else _causes(before.keys, entry)
    if before.handed_in != entry.at and "the answers changed" not in causes:
        causes.append("it was handed in at another time")
    if before.most != sum(marks.most.values()):
        causes.append("what the exercise is worth changed")
    if not causes and (marks.by_hand or before.by_hand):
        causes.append("a person changed marks")
    if before.penalty != marks.penalty:
        causes.append("the penalty for late work changed")
    return " and ".join(causes) or "it was judged again"


def _causes(before: dict[str, str], entry: Entry) -> list[str]:
    if entry.later:
        return ["an earlier submission counts"]
    changed = [name for name, key in entry.keys.items() if before.get(name) != key]
    tests = [name.removeprefix("tests:") for name in changed if name.startswith("tests:")]
    causes = [WHY[name] for name in changed if name in WHY]
    if before.get("answers") == entry.keys.get("answers"):
        return causes + ([f"the tests of {', '.join(tests)} changed"] if tests else [])
    return ["the answers changed"]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def _step_from(line: str) -> Step | None:
    try:
        read = json.loads(line)
        times = {name: datetime.fromisoformat(read[name]) for name in ("at", "handed_in") if read.get(name)}
        return Step(**read | times)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
