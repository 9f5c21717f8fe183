"""What a judge is given: one submission, and how it is to be judged. Known without torch, which only the judge needs."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from . import exercise as exercises
from .kit.outcome import Outcome, Verdict
from .limits import Limits
from .sandbox.levels import Level
from .submission import Submission


@dataclass(frozen=True)
class Task:
    """One submission, the checks of it that are to be judged, and how."""

    submission: Submission
    checks: tuple[str, ...]
    seed: int
    limits: Limits
    level: Level | None = None  # of the sandbox; None: the one that every command asks for

    def as_text(self) -> str:
        return json.dumps({**asdict(self), "level": None if self.level is None else self.level.name})

    @classmethod
    def of(cls, text: str) -> Task:
        told = json.loads(text)
        submission, level = Submission(**told["submission"]), told["level"]
        return cls(submission, tuple(told["checks"]), told["seed"], Limits(**told["limits"]), None if level is None else Level[level])


def our_failure(task: Task, reason: str) -> list[Verdict]:
    """Return verdicts that say that we failed; they are no zeros."""
    points = exercises.load(task.submission.exercise).checks
    return [Verdict(check, Outcome.JUDGE_FAILED, points[check], reason=reason) for check in task.checks]


def judged_text(text: str) -> str:
    """Return the verdicts on a task, as text; raises `CannotGoOn`."""
    from .judging import judged

    return json.dumps([asdict(verdict) for verdict in judged(Task.of(text))])
