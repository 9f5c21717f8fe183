"""The closed list of outcomes, and the verdict on one check."""
from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from .source import printable


class Outcome(str, Enum):
    """Everything that can become of a check. The value is what a person reads."""

    PASSED = "passed"
    WRONG = "wrong answer"
    RAISED = "your code raised an error"
    TIME = "time limit"
    MEMORY = "memory limit"
    ENDED = "your code ended the process"
    NO_ANSWER = "no answer given"
    FORBIDDEN = "used something this exercise asks you to write"
    JUDGE_FAILED = "the judge failed"


class Stopped(Exception):
    """A test could not go on; `outcome` says why. Subclasses say it in their name."""

    outcome = Outcome.JUDGE_FAILED


class Raised(Stopped):
    """The learner's code raised an error of its own."""

    outcome = Outcome.RAISED

    def __init__(self, kind: str, text: str, where: str = ""):
        super().__init__(f"{kind}: {text}" + (f" ({where})" if where else ""))
        self.kind, self.text, self.where = kind, text, where


class NoAnswer(Stopped):
    """There is nothing to judge yet."""

    outcome = Outcome.NO_ANSWER


class Forbidden(Stopped):
    """The learner's code called what the exercise asks for."""

    outcome = Outcome.FORBIDDEN


class JudgeFailed(Stopped):
    """Something of ours broke; the learner's work was not judged."""


class TimeLimit(Stopped):
    outcome = Outcome.TIME


class MemoryLimit(Stopped):
    outcome = Outcome.MEMORY


class Ended(Stopped):
    outcome = Outcome.ENDED


class Wrong(AssertionError):
    """An answer differs from what was expected.

    `came` and `expected` are plain values (tensors, numbers, text); `what` names the thing
    compared, in the words of the notation page; `reason` says in one line how they differ.
    """

    outcome = Outcome.WRONG

    def __init__(self, what: str, reason: str, came=None, expected=None):
        super().__init__(f"{what}: {reason}")
        self.what, self.reason, self.came, self.expected = what, reason, came, expected


@dataclass(frozen=True)
class Named:
    """A known mistake that was recognised."""

    name: str
    title: str
    hint: str


@dataclass(frozen=True)
class Verdict:
    """What the judge saw of one check.

    `question` leads on; `reason`, `given`, `expected` and `came` are the evidence, as text that
    is small enough to read. `score` is None when the judge itself failed: nothing is held
    against the learner then, and the check is judged again.
    """

    check: str
    outcome: Outcome
    max_points: float = 0.0
    test: str = ""
    question: str = ""
    reason: str = ""
    given: str = ""
    expected: str = ""
    came: str = ""
    mistake: Named | None = None
    note: str = ""

    def __post_init__(self) -> None:
        for name in ("reason", "given", "expected", "came", "note"):  # these quote what a learner's code says
            object.__setattr__(self, name, printable(getattr(self, name)))

    @property
    def score(self) -> float | None:
        if self.outcome is Outcome.JUDGE_FAILED:
            return None
        return self.max_points if self.outcome is Outcome.PASSED else 0.0

    def named(self, mistake: Named | None) -> Verdict:
        return replace(self, mistake=mistake)
