"""The names of the mistakes that explain what failed, where they are known ones."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from ..exercise import reading as exercises
from ..exercise.cache import cached
from ..exercise.known import KnownAnswer
from ..exercise.model import Exercise
from ..kit.learner import Learner
from ..kit.outcome import Verdict
from ..kit.recognise import Evidence, Finding, Suspect, explains, fits, left, mistakes_by_check
from ..kit.suite import VISIBLE_SEED
from .answers import known_learner, reference_learner, trusted_learner
from .combined import CombinedMistakes, likely_combinations


def with_mistakes_named(
    exercise: Exercise, findings: list[Finding], learner: Learner, seed: int, mistakes: Iterable[KnownAnswer]
) -> list[Verdict]:
    """Return the verdicts with those of the mistakes that explain them; the learner's answer may be asked for what it does in more tests."""
    evidence = Evidence(findings, exercise.tests, lambda test: left(test, learner, seed, reference_learner(exercise.name)))
    suspects = {mistake: suspect_of(exercise, mistake, seed) for mistake in mistakes}
    found = mistakes_by_check(evidence, suspects.values()) or _two_mistakes(exercise, evidence, suspects, seed)
    return [f.verdict.with_mistake(found[f.verdict.check].named if f.verdict.check in found else None) for f in findings]


def suspect_of(exercise: Exercise, mistake: KnownAnswer, seed: int) -> Suspect:
    """Return a known mistake as it is recognised by what it does with the inputs of a seed."""
    hidden = {test.name for test in exercise.tests if test.hidden}
    return Suspect(
        mistake.name,
        mistake.title,
        mistake.hint,
        list(mistake.fails),
        left=lambda test: _left_by(exercise.name, mistake.name, test, seed if test in hidden else VISIBLE_SEED),
    )


@cached(8192)
def _left_by(exercise: str, mistake: str, test: str, seed: int) -> dict | None:
    (found,) = (each for each in exercises.load(exercise).tests if each.name == test)
    return left(found, known_learner(exercise, mistake), seed, reference_learner(exercise))


def _two_mistakes(exercise: Exercise, evidence: Evidence, suspects: dict[KnownAnswer, Suspect], seed: int) -> dict[str, Suspect]:
    """Return for each check the one or two known mistakes that explain it, where two of them in one answer explain everything."""
    for combined in likely_combinations(exercise, evidence, suspects):
        alone = [suspects[combined.one], suspects[combined.other]]
        both = suspect_of_two(exercise, combined, alone, seed)
        if fits(both, evidence):
            failed = [check for check in both.fails if check in evidence.failed]
            return {check: next((each for each in alone if explains(each, check, evidence)), both) for check in failed}
    return {}


def suspect_of_two(exercise: Exercise, combined: CombinedMistakes, alone: list[Suspect], seed: int) -> Suspect:
    """Return two known mistakes in one answer as they are recognised."""
    both, tests = combined.both, {test.name: test for test in exercise.tests}

    @cache
    def left_by_both(test: str) -> dict | None:
        if tests[test].measures:  # which takes a second, and one mistake is enough to make a call cost too much
            return next(filter(None, (each.left(test) for each in alone)), None)
        learner = _learner_of_two(exercise.name, combined.one.name, combined.other.name)
        return left(tests[test], learner, seed, reference_learner(exercise.name))

    return Suspect(both.name, both.title, both.hint, list(both.fails), left_by_both)


@cached(256)
def _learner_of_two(exercise_name: str, one: str, other: str) -> Learner:
    exercise = exercises.load(exercise_name)
    known = {mistake.name: mistake for mistake in exercise.mistakes}
    combined = CombinedMistakes.of(exercise, known[one], known[other])
    return trusted_learner(exercise, combined.both if combined else None)
