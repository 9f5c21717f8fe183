"""One page for one learner: the verdict on each check, and a question or hint that leads on."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..exercise.model import Exercise
from ..kit.show import evidence
from ..kit.source import printable
from ..records.entry import Entry, total


@lru_cache
def templates() -> Environment:
    """Return the page templates; they escape everything that is put in."""
    folder = FileSystemLoader(Path(__file__).parent / "templates")
    return Environment(loader=folder, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def feedback_page(entry: Entry, exercise: Exercise, marks: dict[str, float] | None = None, comments: dict[str, str] | None = None) -> str:
    """Return the page as HTML that needs no other file.

    `marks` by check and `comments` by answer cell come from a person, and go before the scores of the verdicts.
    """
    shown = entry.scores | (marks or {})
    about = {"points": sum(exercise.checks.values()), "marks": shown, "total": total(shown.values())}
    texts = {name: printable(text) for name, text in (comments or {}).items()}
    return templates().get_template("feedback.html").render(entry=entry, exercise=exercise, evidence=evidence, comments=texts, **about)
