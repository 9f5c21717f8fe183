"""Tests as ordinary functions: how they are marked, found and run."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from .draw import Draw
from .explained import explained
from .outcome import JudgeFailed, Outcome, Sentence, Stopped, Verdict, Wrong
from .values import told_apart

# Visible tests draw the same inputs everywhere, so that a learner sees one example, not many.
VISIBLE_SEED = 0

COSTS = {"expect_in_step", "expect_memory", "expect_ratio", "expect_slope"}

# No answer makes a test raise these: the machine does, or a broken link to the worker (an OSError).
OURS = (OSError, MemoryError)


def visible(check: str) -> Callable:
    """Mark a test of `check` that learners receive."""
    return lambda function: _mark(function, check=check, hidden=False)


def hidden(check: str) -> Callable:
    """Mark a test of `check` that only the judge has: its inputs are drawn afresh."""
    return lambda function: _mark(function, check=check, hidden=True)


def gpu(function: Callable) -> Callable:
    """Mark a test that needs a GPU. It informs and never changes a mark."""
    return _mark(function, gpu=True)


def _mark(function: Callable, **marks) -> Callable:
    function.__dict__.update(marks)
    return function


@dataclass(frozen=True)
class Test:
    """One test function with its marks."""

    __test__ = False  # not for pytest to collect

    name: str
    check: str
    hidden: bool
    gpu: bool
    question: str
    function: Callable

    def run(self, learner, seed: int, reference=None) -> None:
        """Run the test on `learner`; raises `Wrong` or `Stopped` when it does not pass."""
        have: dict[str, Callable] = {
            "learner": lambda: learner,
            "reference": lambda: reference and reference.for_test(self.name, seed),
            "draw": lambda: self.draw(seed),
        }
        code = self.function.__code__
        self.function(**{name: have[name]() for name in code.co_varnames[: code.co_argcount]})

    def draw(self, seed: int) -> Draw:
        return Draw(seed if self.hidden else VISIBLE_SEED, self.name)

    @cached_property
    def measures(self) -> bool:
        """Return whether the test, or a function that it uses, measures what calls cost, which takes a second."""
        return not COSTS.isdisjoint(_names_used(self.function.__code__, self.function.__globals__))


def _names_used(code: CodeType, around: dict) -> set[str]:
    """Return the names that code uses, and those that functions within it or named by it use."""
    codes = [code]
    for each in codes:  # the list grows meanwhile
        beside = (getattr(around.get(name), "__code__", None) for name in each.co_names)
        codes += [found for found in (*each.co_consts, *beside) if isinstance(found, CodeType) and found not in codes]
    return {name for each in codes for name in each.co_names}


def load_tests(path: Path) -> ModuleType:
    """Return the module of tests at `path`, loaded without a place in sys.modules."""
    loader = SourceFileLoader(f"tests_at_{path.stem}", str(path))
    module = ModuleType(loader.name)
    loader.exec_module(module)
    return module


def tests_of(module: ModuleType) -> list[Test]:
    """Return the module's tests in the order in which they are written."""
    return [test_of(f) for f in vars(module).values() if callable(f) and hasattr(f, "check")]


def test_of(function: Callable) -> Test:
    """Return a function with its marks; raises KeyError where it has none."""
    marks = vars(function)
    return Test(
        name=function.__name__,
        check=marks["check"],
        hidden=marks["hidden"],
        gpu=marks.get("gpu", False),
        question=inspect.getdoc(function) or "",
        function=function,
    )


test_of.__dict__["__test__"] = False


@dataclass(frozen=True)
class CheckResult:
    """The verdict on one check and, if a test failed, that test and its error.

    Of a check that is passed, `instead` has what becomes of it where no check fails that a wrong answer was excused by: for each excuse the
    names of those checks, any where there are none, and the result.
    """

    verdict: Verdict
    test: Test | None = None
    error: Wrong | Stopped | JudgeFailed | None = None
    instead: tuple[tuple[frozenset[str], CheckResult], ...] = ()


def run_check(check: str, tests: list[Test], learner, seed: int, reference=None, max_points: float = 0.0) -> CheckResult:
    """Return the verdict on one check, from its tests.

    The first test that fails decides: one check, one idea, one message.
    """
    instead = []
    for test in tests:
        learner._excused()  # what is left of a test that was run by itself
        error = failure(test, learner, seed, reference)
        if error is not None:
            return CheckResult(explain(check, test, error, learner, max_points), test, error)
        instead += [
            (excuse.charged, CheckResult(explain(check, test, excuse.wrong, learner, max_points), test, excuse.wrong))
            for excuse in learner._excused()
        ]
    return CheckResult(Verdict(check, Outcome.PASSED, max_points), instead=tuple(instead))


def failure(test: Test, learner, seed: int, reference=None) -> Wrong | Stopped | JudgeFailed | None:
    """Return the error that the test ends with, or None if it passes."""
    try:
        test.run(learner, seed, reference)
    except Exception as error:
        return blame(test, error, seed, reference)
    finally:  # known answers are kept for a whole class: the modules that tests have made of them are not
        for each in filter(None, (learner, reference)):
            each.end_test()
    return None


def blame(test: Test, error: Exception, seed: int, reference=None) -> Wrong | Stopped | JudgeFailed:
    """Return an error that a test ended with as the learner's or as ours.

    A test that breaks on what came back, but not on the reference answer, got a wrong answer.
    """
    if isinstance(error, (Wrong, Stopped, JudgeFailed)):
        return error
    if isinstance(error, OURS) or (reference is not None and _breaks(test, seed, reference)):
        return JudgeFailed(f"{test.name}: {type(error).__name__}: {error}")
    reason = f"{Sentence.UNUSABLE} ({type(error).__name__}: {str(error)[:300]})"
    return Wrong("what came back", reason, sentence=Sentence.UNUSABLE)


def _breaks(test: Test, seed: int, reference) -> bool:
    """Return whether a test breaks on the reference answer too."""
    try:
        test.run(reference, seed, reference)
    except Exception:
        return True
    return False


def explain(check: str, test: Test, error: Wrong | Stopped | JudgeFailed, learner, max_points: float) -> Verdict:
    """Return the verdict for a test that ended with `error`."""
    wrong = error if isinstance(error, Wrong) else None
    expected, came = told_apart(wrong.expected, wrong.came) if wrong else ("", "")
    verdict = Verdict(
        check=check,
        outcome=error.outcome,
        max_points=max_points,
        test=test.name,
        question=test.question if wrong else "" if test.hidden else explained(str(error)),  # a learner chooses what an error says
        reason=str(error),
        redacted=error.redacted,
        given=learner.last_call if error.outcome in (Outcome.WRONG, Outcome.RAISED) else "",
        expected=expected,
        came=came,
    )
    return verdict.concealed() if test.hidden else verdict
