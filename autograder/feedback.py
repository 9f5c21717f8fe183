"""One page for one learner: what the judge saw of each check, and what leads on."""
from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from .exercise import Exercise
from .journal import Entry
from .kit.show import evidence


@lru_cache
def templates() -> Environment:
    """Return the page templates; they escape everything that is put in."""
    folder = FileSystemLoader(Path(__file__).parent / "templates")
    return Environment(loader=folder, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def feedback_page(entry: Entry, exercise: Exercise) -> str:
    """Return the page as HTML that needs nothing but itself."""
    page = templates().get_template("feedback.html")
    points = sum(exercise.checks.values())
    return page.render(entry=entry, exercise=exercise, points=points, evidence=evidence)
