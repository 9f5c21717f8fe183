"""One page for the class: who needs help, how each exercise went, which mistakes learners make; and the same as a table for machines."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from ..exercise import reading as exercises
from ..intake.submission import is_learner
from ..kit.outcome import Outcome
from ..kit.show import evidence
from ..kit.source import printable
from ..records.history import Step
from ..records.results import Result
from ..records.settings import Settings
from . import analysis, plots
from .feedback import in_words, templates

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
MOST_CHANGES = 200  # in the table of what has changed
MANY = 30  # submissions, above which their table is folded
SCRIPT = Path(__file__).parent / "templates" / "report.js"


def report_page(
    results: list[Result],
    absent: Sequence[str] = (),
    changes: Sequence = (),
    new: int = 0,
    settings: Settings | None = None,
    steps: Mapping[tuple[str, str], Sequence[Step]] = MappingProxyType({}),
) -> str:
    """Return the page as HTML that needs no other file.

    `absent` are learners who have handed in nothing, `changes` marks that differ from the run before, `new` counts what was not there then.
    `steps` are the histories of submissions, by learner and exercise.
    """
    settings = settings or Settings()
    names = list(dict.fromkeys(result.exercise for result in results))
    sections = [
        _section(name, [r for r in results if r.exercise == name], [mine for of, mine in steps.items() if of[1] == name]) for name in names
    ]
    points = {section["exercise"].name: section["points"] for section in sections}
    script = SCRIPT.read_text(encoding="utf-8")
    return (
        templates()
        .get_template("report.html")
        .render(
            sections=sections,
            title=settings.title,
            links=settings.names,
            absent=absent,
            learners=analysis.learners_of(results, points),
            changes=changes,
            new=new,
            history=analysis.changes_of(steps)[:MOST_CHANGES],
            at=datetime.now(UTC),
            script=script,
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            signs=SIGNS,
            printable=printable,
            is_learner=is_learner,
            evidence=evidence,
            in_words=in_words,
            lean=plots.lean,
            many=MANY,
        )
    )


def _section(name: str, results: list[Result], histories: Sequence[Sequence[Step]]) -> dict:
    exercise, entries = exercises.load(name), [result.entry for result in results]
    worth = next((result.marks.most for result in results if result.marks.most), exercise.checks)
    most = sum(worth.values())
    checks = analysis.checks_of(worth, entries)
    totals = [result.marks.total for result in results if result.marks.total is not None]
    return {
        "exercise": exercise,
        "points": most,
        "results": results,
        "summary": analysis.summary(totals),
        "distribution": plots.distribution(analysis.histogram(totals, most), most) if totals else None,
        "trend": plots.trend(analysis.moments_of(histories), most),
        "checks": checks,
        "check_map": plots.check_map(checks),
        "mistakes": analysis.mistakes(exercise, entries),
        "unnamed": analysis.unnamed(entries),
    }


def report_rows(results: list[Result]) -> list[dict]:
    """Return a row for each learner, exercise and check, for `as_csv`."""
    return [
        {
            "student_id": result.learner,
            "assignment": result.exercise,
            "timestamp": result.marks.at.isoformat(" ") if result.marks.at else "",
            "seconds_late": result.marks.seconds_late,
            "penalty_of_the_exercise": result.marks.penalty,
            "check": verdict.check,
            "outcome": verdict.outcome.value,
            "mistake": verdict.mistake.name if verdict.mistake else "",
            "judged": verdict.score,
            "points": result.marks.points.get(verdict.check),
            "max_points": result.marks.most.get(verdict.check, verdict.max_points),
        }
        for result in results
        for verdict in result.entry.verdicts
    ]
