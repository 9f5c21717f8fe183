"""One page for one learner: the verdict on each check, and a question or hint that leads on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..exercise.model import Exercise
from ..exercise.right import right_answers
from ..kit.outcome import Named
from ..kit.show import evidence
from ..kit.source import printable
from ..records.entry import Entry
from ..records.marks import Marks


@lru_cache
def templates() -> Environment:
    """Return the page templates; they escape everything that is put in."""
    folder = FileSystemLoader(Path(__file__).parent / "templates")
    return Environment(loader=folder, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def feedback_page(entry: Entry, exercise: Exercise, marks: Marks, course: str = "Attention by Hand", reference: bool = False) -> str:
    """Return the page as HTML that needs no other file. `marks` is what the gradebook has; with `reference` it ends with right answers."""
    most = exercise.checks | marks.most
    return (
        templates()
        .get_template("feedback.html")
        .render(
            entry=entry,
            exercise=exercise,
            course=course,
            marks=marks,
            most=most,
            points=sum(most.values()),
            given={check: marks.points.get(check) for check in exercise.checks},
            late=in_words(marks.seconds_late),
            evidence=evidence,
            roots=roots(entry),
            comments={name: printable(text) for name, text in marks.comments.items()},
            right=right_answers(exercise) if reference else [],
        )
    )


@dataclass(frozen=True)
class Root:
    """A known mistake, all the checks that it fails, and the first of them, where it is shown."""

    mistake: Named
    checks: list[str]

    @property
    def first(self) -> str:
        return self.checks[0]


def roots(entry: Entry) -> dict[str, Root]:
    """Return the named mistakes of a submission by name: each is told once, with all the checks that it fails."""
    found: dict[str, Root] = {}
    for check, mistake in ((v.check, v.mistake) for v in entry.verdicts if v.mistake):
        found.setdefault(mistake.name, Root(mistake, [])).checks.append(check)
    return found


def in_words(seconds: float) -> str:
    """Return a length of time to the day, the hour or the minute."""
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            count = round(seconds / length)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return "less than a minute" if seconds else ""
