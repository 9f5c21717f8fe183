"""One page for the class: marks by check, and which mistakes learners make."""

from __future__ import annotations

from collections import Counter

from ..exercise import reading as exercises
from ..exercise.model import Exercise
from ..intake.submission import is_learner
from ..kit.outcome import Outcome
from ..kit.source import printable
from ..records.entry import Entry
from .feedback import templates

SIGNS = {
    Outcome.PASSED: "✓",
    Outcome.WRONG: "✗",
    Outcome.RAISED: "E",
    Outcome.TIME: "T",
    Outcome.MEMORY: "M",
    Outcome.ENDED: "D",
    Outcome.NO_ANSWER: "–",
    Outcome.FORBIDDEN: "R",
    Outcome.JUDGE_FAILED: "○",
}


def report_page(entries: list[Entry]) -> str:
    """Return the page as HTML that needs no other file."""
    graded = {entry.exercise for entry in entries}
    names = [name for name in exercises.all_names() if name in graded]
    sections = [_section(name, [e for e in entries if e.exercise == name]) for name in names]
    return templates().get_template("report.html").render(sections=sections, signs=SIGNS, printable=printable, is_learner=is_learner)


def _section(name: str, entries: list[Entry]) -> dict:
    exercise = exercises.load(name)
    return {
        "exercise": exercise,
        "points": sum(exercise.checks.values()),
        "entries": entries,
        "judged": sum(not entry.refused for entry in entries),
        "mistakes": _mistakes(exercise, entries),
        "passed": {check: _passed(check, entries) for check in exercise.checks},
    }


def _mistakes(exercise: Exercise, entries: list[Entry]) -> list[tuple[str, int]]:
    """Return the named mistakes with the number of learners who made them, the commonest first.

    A mistake that was handed out, to be found and repaired, was made by nobody.
    """
    handed_out = set(exercise.handed_out.values())
    made = (
        {f"Not repaired: {v.mistake.title}" if v.mistake.name in handed_out else v.mistake.title for v in entry.verdicts if v.mistake}
        for entry in entries
    )
    return Counter(title for titles in made for title in sorted(titles)).most_common()


def _passed(check: str, entries: list[Entry]) -> int:
    return sum(v.outcome is Outcome.PASSED for entry in entries for v in entry.verdicts if v.check == check)
