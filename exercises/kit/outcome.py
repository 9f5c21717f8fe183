"""The closed list of outcomes, and the verdict on one check."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum

from .source import printable

NUMBER = re.compile(r"-?\d+([.,]\d+)*(e[+-]?\d+)?")
PYTHONS_OWN = {name for name, thing in vars(builtins).items() if isinstance(thing, type) and issubclass(thing, BaseException)}


class Outcome(StrEnum):
    """All that can become of a check. The value is what a person reads."""

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
    """The learner's code could not go on; `outcome`, and the name of the subclass, says why."""

    outcome: Outcome

    @property
    def redacted(self) -> str:
        """Return what a learner may read of a hidden test: no text from the learner's code, which may carry the test's inputs."""
        return str(self)


class Raised(Stopped):
    """The learner's code raised an error of its own."""

    outcome = Outcome.RAISED

    def __init__(self, kind: str, text: str, where: str = ""):
        super().__init__(f"{kind}: {text}" + (f" ({where})" if where else ""))
        self.kind, self.text, self.where = kind, text, where

    @property
    def redacted(self) -> str:
        # A class may be named after an input, unless it is Python's own.
        kind = self.kind if self.kind in PYTHONS_OWN else "an error"
        return kind + (f" ({self.where})" if self.where else "")


class NoAnswer(Stopped):
    """There is nothing to judge yet."""

    outcome = Outcome.NO_ANSWER
    redacted = "NotImplementedError, or a name that is not defined"


class Forbidden(Stopped):
    """The learner's code called what the exercise asks for."""

    outcome = Outcome.FORBIDDEN
    redacted = "something that this exercise asks you to write was called"


class JudgeFailed(Exception):
    """Something of ours broke, and the learner's work was not judged.

    It is not a `Stopped`: a test that catches what a learner's code raises must not catch this.
    """

    outcome = Outcome.JUDGE_FAILED
    redacted = "the fault is ours"


class TimeLimit(Stopped):
    outcome = Outcome.TIME


class MemoryLimit(Stopped):
    outcome = Outcome.MEMORY
    redacted = "more memory was asked for than a check may use"


class Ended(Stopped):
    outcome = Outcome.ENDED


class Wrong(AssertionError):
    """An answer differs from what was expected.

    `came` and `expected` are plain values (tensors, numbers, text); `what` names the thing
    compared, in the words of the notation page; `reason` says in one line how they differ.
    `redacted` is what a learner reads where the test is hidden: the reason without what came or was expected. Where none is
    given, it is the reason without its numbers.
    """

    outcome = Outcome.WRONG
    known_by: str | None = None  # what a known mistake is recognised by, if not by what came

    def __init__(self, what: str, reason: str, came=None, expected=None, redacted: str | None = None):
        super().__init__(f"{what}: {reason}")
        self.what, self.reason, self.came, self.expected = what, reason, came, expected
        self._redacted = redacted

    @property
    def redacted(self) -> str:
        """Return what a learner may read of a hidden test."""
        return f"{self.what}: {NUMBER.sub('…', self.reason) if self._redacted is None else self._redacted}"


@contextmanager
def known_by(words: str, holds: bool = True) -> Iterator[None]:
    """Have what is found wrong within recognised by these words, if they hold: rounding decides which numbers come, and the mistake only what they have in common."""
    try:
        yield
    except Wrong as wrong:
        wrong.known_by = words if holds else None
        raise


@dataclass(frozen=True)
class Named:
    """A known mistake that was recognised."""

    name: str
    title: str
    hint: str


@dataclass(frozen=True)
class Verdict:
    """The outcome of one check, with the evidence for it.

    `question` leads on; `reason`, `given`, `expected` and `came` are the evidence, as text that
    is small enough to read. Of a hidden test they are redacted, so that its inputs cannot be read from them;
    `in_full` is then the whole reason, for instructors. `score` is None when the judge itself failed: nothing is held
    against the learner, and the check is judged again.
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
    in_full: str = ""

    def __post_init__(self) -> None:
        for name in ("reason", "given", "expected", "came", "note", "in_full"):  # these quote what a learner's code says
            object.__setattr__(self, name, printable(getattr(self, name)))

    @property
    def score(self) -> float | None:
        if self.outcome is Outcome.JUDGE_FAILED:
            return None
        return self.max_points if self.outcome is Outcome.PASSED else 0.0

    def with_mistake(self, mistake: Named | None) -> Verdict:
        return replace(self, mistake=mistake)
