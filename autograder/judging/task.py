"""What a judge gets: one submission, and how it is to be judged. This module does without torch, which only judges need."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from ..exercise import reading as exercises
from ..intake.submission import Submission
from ..kit.outcome import Named, Outcome, Verdict
from ..limits import Limits
from ..sandbox.levels import Level


@dataclass(frozen=True)
class Task:
    """One submission, the checks of it that are to be judged, and how."""

    submission: Submission
    checks: tuple[str, ...]
    seed: int
    limits: Limits
    level: Level | None = None  # of the sandbox; None stands for the one that every command uses

    def as_text(self) -> str:
        return json.dumps({**asdict(self), "level": None if self.level is None else self.level.name})

    @classmethod
    def from_text(cls, text: str) -> Task:
        payload = json.loads(text)
        submission, level = Submission(**payload["submission"]), payload["level"]
        return cls(
            submission, tuple(payload["checks"]), payload["seed"], Limits(**payload["limits"]), None if level is None else Level[level]
        )


def our_failure(task: Task, reason: str) -> list[Verdict]:
    """Return verdicts that say that the judge failed, which is no zero."""
    points = exercises.load(task.submission.exercise).checks
    return [Verdict(check, Outcome.JUDGE_FAILED, points[check], reason=reason) for check in task.checks]


def verdicts_as_text(verdicts: list[Verdict]) -> str:
    """Return verdicts as a judge hands them back."""
    return json.dumps([asdict(verdict) for verdict in verdicts])


def verdicts_from_text(text: str) -> list[Verdict]:
    """Return the verdicts that a judge has handed back."""
    return [verdict_from(payload) for payload in json.loads(text)]


def verdict_from(payload: dict) -> Verdict:
    """Return a verdict from what `asdict` made of it."""
    mistake = Named(**payload["mistake"]) if payload["mistake"] else None
    return Verdict(**{**payload, "outcome": Outcome(payload["outcome"]), "mistake": mistake})
