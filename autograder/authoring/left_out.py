"""How far names can be trusted: each known mistake is judged as if nobody had ever seen it.

What is named then is some other mistake, and misleading. Those that do the same in every test are left out together: no test
could tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..exercise import reading as exercises
from ..exercise.known import KnownAnswer
from ..exercise.model import Exercise
from ..judging.answers import known_learner
from ..judging.naming import suspect_of
from ..judging.verdicts import verdicts_on
from ..kit.fingerprint import same
from ..kit.outcome import Outcome


@dataclass(frozen=True)
class LeftOut:
    """What became of a mistake that nobody knew: the checks with a wrong answer, and the names that some of these were given."""

    mistake: str
    wrong: list[str]
    named: dict[str, str]


def left_out(name: str, seed: int) -> Iterator[LeftOut]:
    """Yield what each mistake of an exercise is named when it is not among the known ones."""
    exercise = exercises.load(name)
    for mistake in exercise.mistakes:
        others = [each for each in exercise.mistakes if each is not mistake and not _twins(exercise, each, mistake, seed)]
        verdicts = verdicts_on(exercise, known_learner(name, mistake.name), seed, mistakes=others)
        yield LeftOut(
            mistake.name,
            [verdict.check for verdict in verdicts if verdict.outcome is Outcome.WRONG],
            {verdict.check: verdict.mistake.name for verdict in verdicts if verdict.mistake},
        )


def _twins(exercise: Exercise, one: KnownAnswer, other: KnownAnswer, seed: int) -> bool:
    """Return whether two mistakes do the same in all tests that do not measure."""
    if one.fails != other.fails:
        return False
    here, there = suspect_of(exercise, one, seed).left, suspect_of(exercise, other, seed).left
    tests = [t.name for t in exercise.tests if t.check in one.fails and not (t.gpu or t.measures)]
    return all(here(test) == there(test) or same(here(test), there(test)) for test in tests)
