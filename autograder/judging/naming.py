"""The name of the mistake that explains a failed test, where it is a known one, or two of them."""

from __future__ import annotations

from dataclasses import dataclass

from ..exercise import reading as exercises
from ..exercise.cache import cached
from ..exercise.known import KnownAnswer
from ..exercise.model import Exercise
from ..kit import fingerprint
from ..kit.fingerprint import Suspect
from ..kit.learner import Learner
from ..kit.outcome import Named, Outcome, Verdict
from ..kit.suite import VISIBLE_SEED, Test, failure
from .answers import known_learner, reference_learner, trusted_learner
from .combined import CombinedMistakes, likely_combinations


@dataclass(frozen=True)
class Finding:
    """What was found of one check: its verdict and, where a test failed, that test and the fingerprint of its error."""

    verdict: Verdict
    test: Test | None = None
    print: dict | None = None

    @property
    def passed(self) -> bool:
        return self.verdict.outcome is Outcome.PASSED


def with_mistakes_named(exercise: Exercise, findings: list[Finding], seed: int) -> list[Verdict]:
    """Return the verdicts with the mistakes that explain them."""
    failed = {finding.verdict.check for finding in findings if not finding.passed}
    verdicts = [finding.verdict.with_mistake(_mistake(exercise, finding, failed, seed)) for finding in findings]
    seen = {verdict.mistake.name for verdict in verdicts if verdict.mistake}
    return [
        verdict if verdict.mistake else verdict.with_mistake(_two_mistakes(exercise, finding, failed, seen, seed))
        for verdict, finding in zip(verdicts, findings)
    ]


def suspect(mistake: KnownAnswer, prints: dict[str, dict | None]) -> Suspect:
    """Return a known mistake with the fingerprints that it leaves, by test."""
    left = {name: print_ for name, print_ in prints.items() if print_}
    return Suspect(mistake.name, mistake.title, mistake.hint, list(mistake.fails), left)


def _mistake(exercise: Exercise, finding: Finding, failed: set[str], seed: int) -> Named | None:
    """Return the known mistake that explains what was found, or None."""
    if finding.test is None or finding.print is None:
        return None
    check, drawn = finding.verdict.check, seed if finding.test.hidden else VISIBLE_SEED
    test = finding.test.name
    suspects = [suspect(m, {test: print_of(exercise.name, m.name, test, drawn)}) for m in exercise.mistakes if check in m.fails]
    return fingerprint.recognise(check, test, finding.print, lambda: failed, suspects)


def _two_mistakes(exercise: Exercise, finding: Finding, failed: set[str], seen: set[str], seed: int) -> Named | None:
    """Return two known mistakes that together explain what was found, or None."""
    test, print_ = finding.test, finding.print
    # An error comes from one mistake alone; a measurement leaves no fingerprint of a result, and takes a second.
    if test is None or print_ is None or finding.verdict.outcome is not Outcome.WRONG or test.measures:
        return None
    for combined in likely_combinations(exercise, finding.verdict.check, failed, seen):
        if fingerprint.same(print_, _print_of_combined(exercise, combined, test, seed)):
            return Named(combined.both.name, combined.both.title, combined.both.hint)
    return None


def _print_of_combined(exercise: Exercise, combined: CombinedMistakes, test: Test, seed: int) -> dict | None:
    error = failure(test, _combined_learner(exercise.name, combined.one.name, combined.other.name), seed, reference_learner(exercise.name))
    return fingerprint.of(error) if error else None


@cached(256)
def _combined_learner(exercise_name: str, one: str, other: str) -> Learner:
    exercise = exercises.load(exercise_name)
    known = {mistake.name: mistake for mistake in exercise.mistakes}
    combined = CombinedMistakes.of(exercise, known[one], known[other])
    return trusted_learner(exercise, combined.both if combined else None)


@cached(4096)
def print_of(exercise_name: str, mistake: str, test_name: str, seed: int) -> dict | None:
    """Return the fingerprint that a known mistake leaves in a test, or None if it passes."""
    exercise = exercises.load(exercise_name)
    test = next(t for t in exercise.tests if t.name == test_name)
    error = failure(test, known_learner(exercise_name, mistake), seed, reference_learner(exercise_name))
    return fingerprint.of(error) if error else None
