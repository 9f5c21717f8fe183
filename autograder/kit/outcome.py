"""The closed list of outcomes, and the verdict on one check."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum

from .source import printable

NUMBER = re.compile(r"-?\d+([.,]\d+)*(e[+-]?\d+)?")
# What a hidden test may say of an error. Of all errors that there are, one could be chosen to say more.
COMMON_ERRORS = (
    "AssertionError AttributeError IndexError KeyError NameError RuntimeError SyntaxError TypeError UnboundLocalError ValueError ZeroDivisionError"
).split()


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
    """The learner's code could not go on; `outcome`, and the name of the subclass, says why.

    `redacted` is what a learner may read of a hidden test. It is one of a closed list of sentences, for whatever a learner's code
    chooses (a text, a line, a length, a signal) may carry the test's inputs to the page.
    """

    outcome: Outcome
    redacted: str
    at: object = None  # which of several calls that were sent together it was, if a worker says so


class Raised(Stopped):
    """The learner's code raised an error of its own."""

    outcome = Outcome.RAISED

    def __init__(self, kind: str, text: str, where: str = ""):
        super().__init__(f"{kind}: {text}" + (f" ({where})" if where else ""))
        self.kind, self.text, self.where = kind, text, where

    @property
    def redacted(self) -> str:  # type: ignore[override]  # the only one of which there is a choice
        kind = self.kind.rpartition(": ")[2]
        return f"{kind if kind in COMMON_ERRORS else 'an error'}, with inputs that are not shown"


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


UNDEFINED = re.compile(r"name '(\w+)' is not defined")


def undefined(error: Raised, missing: Mapping[str, Stopped], lost: Mapping[str, str]) -> Stopped:
    """Return the error, or the reason why a name that it misses is not there: its cell's own error, or that it lives elsewhere."""
    match = UNDEFINED.search(error.text) if error.kind == "NameError" else None
    name = match.group(1) if match else ""
    if name in missing:
        return missing[name]
    return Raised(error.kind, lost[name]) if name in lost else error


class TimeLimit(Stopped):
    outcome = Outcome.TIME
    redacted = "no answer came in time"


class MemoryLimit(Stopped):
    outcome = Outcome.MEMORY
    redacted = "more memory was asked for than a check may use"


class Ended(Stopped):
    outcome = Outcome.ENDED
    redacted = "the process was gone before the answer came"
    from_outside = False  # no learner's code can have done that


class Sentence(StrEnum):
    """All that a hidden test says of how a result differs."""

    NOTHING = "None came back where something was expected"
    KIND = "another kind of thing came back than was expected"
    AXES = "it has another number of axes than was expected"
    SHAPE = "it has another shape than was expected"
    DTYPE = "it has another dtype than was expected"
    VALUES = "the values are not the expected ones"
    UNUSABLE = "it cannot be used as the exercise says"
    WRITTEN = "an input was changed in place, where whoever called may still need what was there"
    COSTLY = "it costs more than the exercise allows"
    DEVICE = "a tensor lies on the CPU, and the inputs lie on another device"
    PAIR = "two things belong together here, and one tuple of two must come back"
    OTHER = "it is not as the exercise says"


class Wrong(AssertionError):
    """An answer differs from what was expected.

    `came` and `expected` are plain values (tensors, numbers, text); `what` names the thing
    compared, in the words of the notation page; `reason` says in one line how they differ.
    `sentence` is what a learner reads of it where the test is hidden. A test's own must be the same whatever came.
    """

    outcome = Outcome.WRONG
    known_by: str | None = None  # what a known mistake is recognised by, if not by what came

    def __init__(self, what: str, reason: str, came=None, expected=None, sentence: str = Sentence.OTHER):
        super().__init__(f"{what}: {reason}")
        self.what, self.reason, self.came, self.expected = what, reason, came, expected
        self.sentence = sentence

    @classmethod
    def plainly(cls, what: str, sentence: str, came=None, expected=None) -> Wrong:
        """Return one whose reason is the same whatever came, so that it may be read of a hidden test too."""
        return cls(what, sentence, came, expected, sentence)

    @property
    def redacted(self) -> str:
        """Return what a learner may read of a hidden test: words of ours, and no number."""
        return f"{NUMBER.sub('…', self.what)}: {self.sentence}"


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
    is small enough to read. Of a hidden test they are concealed, so that its inputs cannot be read from them: there is the
    `redacted` reason only, and `in_full` is the whole one, for instructors. `score` is None when the judge itself failed: nothing is held
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
    redacted: str = ""

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

    def concealed(self) -> Verdict:
        """Return the verdict without any text that a learner's code could have chosen."""
        return replace(self, reason=self.redacted, in_full=self.in_full or self.reason, given="", expected="", came="")
