"""Verdicts: the tests on one side, a learner's code behind a wall on the other."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeVar

from ..exercise.known import KnownAnswer
from ..exercise.model import Exercise
from ..kit.learner import Learner
from ..kit.outcome import Outcome, Verdict
from ..kit.recognise import Finding
from ..kit.suite import Test, run_check
from .answers import reference_learner
from .naming import with_mistakes_named

Result = TypeVar("Result")


def verdicts_on(
    exercise: Exercise,
    learner: Learner,
    seed: int,
    checks: Collection[str] | None = None,
    mistakes: Iterable[KnownAnswer] | None = None,
) -> list[Verdict]:
    """Return the verdict on every check, or on these, in the notebook's order; with the names of known mistakes, or only of these.

    Mistakes are named by all the checks that fail: where only some are judged, these must be among them.
    """
    found = findings(exercise, learner, seed, checks)
    return with_mistakes_named(exercise, found, learner, seed, exercise.mistakes if mistakes is None else mistakes)


def findings(exercise: Exercise, learner: Learner, seed: int, checks: Collection[str] | None = None) -> list[Finding]:
    """Return what the tests find of every check, or of these, in the notebook's order; no mistake is named yet."""
    found: dict[str, Finding] = {}
    excuses: list[tuple[str, frozenset[str], Finding]] = []
    # The visible tests of all checks come first: what a learner's code says there is shown, so it must have seen nothing hidden yet.
    for hidden in (False, True):
        for check in exercise.checks:
            if (checks is None or check in checks) and (check not in found or found[check].verdict.outcome is Outcome.PASSED):
                tests = [test for test in counted(exercise, check) if test.hidden is hidden]
                found[check] = _finding(exercise, check, tests, learner, seed)
                excuses += [(check, *each) for each in found[check].instead]
    failed = {check for check, finding in found.items() if finding.verdict.outcome is not Outcome.PASSED}
    return list((found | taken_back(excuses, failed)).values())


def taken_back(excuses: Iterable[tuple[str, Collection[str], Result]], failed: set[str]) -> dict[str, Result]:
    """Return what becomes of each check that passed by an excuse, where no check has failed that says so too.

    Otherwise an answer could be wrong in one check alone, and be excused there by another one that was made for it. Where only some checks
    are judged, all that fail are among them.
    """
    return {
        check: instead
        for check, charged, instead in excuses
        if check not in failed and not (failed.intersection(charged) if charged else failed)
    }


def counted(exercise: Exercise, check: str) -> list[Test]:
    """Return the tests that decide a check: a mark is the same with a GPU and without."""
    return [test for test in exercise.tests if test.check == check and not test.gpu]


def verdict_of(exercise: Exercise, check: str, learner: Learner, seed: int) -> Verdict:
    """Return the verdict on one check by itself; no mistake is named."""
    return _finding(exercise, check, counted(exercise, check), learner, seed).verdict


def _finding(exercise: Exercise, check: str, tests: list[Test], learner: Learner, seed: int) -> Finding:
    return Finding.of(run_check(check, tests, learner, seed, reference_learner(exercise.name), exercise.checks[check]))
