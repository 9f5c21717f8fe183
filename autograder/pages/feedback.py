"""One page for one learner: the verdict on each check, and a question or hint that leads on."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..exercise.model import Exercise
from ..kit.show import evidence
from ..kit.source import printable
from ..records.entry import Entry
from ..records.marks import Marks


@lru_cache
def templates() -> Environment:
    """Return the page templates; they escape everything that is put in."""
    folder = FileSystemLoader(Path(__file__).parent / "templates")
    return Environment(loader=folder, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def feedback_page(entry: Entry, exercise: Exercise, marks: Marks) -> str:
    """Return the page as HTML that needs no other file. `marks` is what the gradebook has."""
    points = {check: marks.points.get(check) for check in exercise.checks}
    about = {"points": sum(exercise.checks.values()), "given": points, "marks": marks, "late": in_words(marks.seconds_late)}
    texts = {name: printable(text) for name, text in marks.comments.items()}
    return templates().get_template("feedback.html").render(entry=entry, exercise=exercise, evidence=evidence, comments=texts, **about)


def in_words(seconds: float) -> str:
    """Return a length of time to the day, the hour or the minute."""
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            count = round(seconds / length)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return "less than a minute" if seconds else ""
