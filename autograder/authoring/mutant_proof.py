"""The proof of the tests by mutants: each one is refused, or comes to the same as the answer that it was made of.

Which ones do, and why, an author says in `solutions/NAME/equivalent.toml`, by the name of the mutant. Such a claim is tried, with
inputs drawn anew many times: one that is refused even once is no longer equivalent.
"""

from __future__ import annotations

import resource
import signal
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

from ..errors import AuthorError
from ..exercise import reading as exercises
from ..exercise.known import KnownAnswer
from ..exercise.model import Exercise
from ..judging.answers import reference_learner, trusted_learner
from ..judging.verdicts import counted, verdict_of
from ..kit.learner import Learner
from ..kit.outcome import Outcome
from ..kit.suite import failure
from .kept import kept
from .mutants import mutants
from .reach import checks_that_see
from .side_by_side import side_by_side

SEED = 3  # of the inputs that every mutant meets
SEEDS = range(100, 120)  # of those that mutants meet which are said to be equivalent
FEW_SEEDS = SEEDS[:2]  # where an answer trains for seconds, in each of them
OF_VARIANTS = "variants"  # the table of their reasons; those of the reference stand above it
CHECK_SECONDS = 10  # of the processor, however busy the machine is; after these a check that does not end is refused, as the judge does
CHECK_BYTES = 6 << 30  # of addresses, those of torch among them; a mutant that asks for all there is must not take it from others


@dataclass
class Proof:
    """What became of an exercise's mutants: by check how many it refused, and by name those that none did."""

    mutants: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    equivalent: dict[str, str] = field(default_factory=dict)
    accepted: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)  # said to be equivalent, and refused, or not made any more

    @property
    def holds(self) -> bool:
        return not self.accepted and not self.stale


def proofs(names: list[str], watch: Callable[[Iterable[Proof]], Iterable[Proof]] = iter) -> dict[str, Proof]:
    """Return what became of the mutants of each exercise's reference answer; what is done passes through `watch`."""
    return dict(zip(names, watch(side_by_side(_kept_proof, names))))


def _kept_proof(name: str) -> Proof:
    return Proof(**kept("mutants", name, lambda: asdict(proof(name)), str(reasons_of(exercises.load(name)))))


def proof(name: str) -> Proof:
    """Return what became of the mutants of one exercise; raises `AuthorError`."""
    exercise = exercises.load(name)
    reasons, found = reasons_of(exercise), Proof(refused=dict.fromkeys(exercise.checks, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of code that nobody wrote
        if checks := [check for check in exercise.checks if _is_refused(exercise, check, reference_learner(name), SEED)]:
            raise AuthorError(f"{name}: the reference answer itself fails {', '.join(checks)}")
        for mutant in mutants(exercise):
            _judge(exercise, mutant, reasons, found)
    found.stale = [each for each in reasons if each not in found.equivalent]
    return found


def reasons_of(exercise: Exercise) -> dict[str, str]:
    """Return why mutants of the reference are said to be equivalent, by name; raises `AuthorError`."""
    return {name: reason for name, reason in _said(exercise).items() if name != OF_VARIANTS}


def reasons_of_variants(exercise: Exercise) -> dict[str, str]:
    """Return why mutants of variants are said to be equivalent, by how their names begin; raises `AuthorError`."""
    return _said(exercise).get(OF_VARIANTS, {})


def _said(exercise: Exercise) -> dict:
    path = exercise.folder / "equivalent.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise AuthorError(f"{exercise.name}/{path.name}: {error}") from None


def _judge(exercise: Exercise, mutant: KnownAnswer, reasons: dict[str, str], found: Proof) -> None:
    found.mutants += 1
    checks = list(refusing(exercise, mutant, SEED))
    for check in checks:
        found.refused[check] += 1
    if checks:
        return
    if mutant.name not in reasons:
        found.accepted.append(mutant.name)
    elif not any(_refused_in_fresh_inputs(exercise, mutant, seed) for seed in (FEW_SEEDS if exercise.seconds else SEEDS)):
        found.equivalent[mutant.name] = reasons[mutant.name]


def refusing(exercise: Exercise, mutant: KnownAnswer, seed: int, base: KnownAnswer | None = None) -> Iterator[str]:
    """Yield the checks that refuse a mutant of the reference, or of `base`; all of them where its cells already raise an error."""
    try:
        learner = trusted_learner(exercise, mutant)
    except Exception:
        yield from exercise.checks
        return
    yield from (check for check in checks_that_see(exercise, mutant, seed, base) if _is_refused(exercise, check, learner, seed))


def _is_refused(exercise: Exercise, check: str, learner: Learner, seed: int) -> bool:
    try:
        with within_limits(exercise):
            outcome = verdict_of(exercise, check, learner, seed).outcome
    except TooLong:
        return True
    if outcome is Outcome.JUDGE_FAILED:
        raise AuthorError(f"{exercise.name}: the check {check} failed on a mutant, where it should have refused it")
    return outcome is not Outcome.PASSED


def _refused_in_fresh_inputs(exercise: Exercise, mutant: KnownAnswer, seed: int) -> bool:
    learner, reference = trusted_learner(exercise, mutant), reference_learner(exercise.name)
    tests = [test for check in exercise.checks for test in counted(exercise, check) if test.hidden and not test.measures]
    return any(failure(test, learner, seed, reference) for test in tests)


class TooLong(BaseException):
    """A mutant does not end; no test must take this for an error of an answer."""


@contextmanager
def within_limits(exercise: Exercise) -> Iterator[None]:
    """Raise `TooLong` where a check takes too much of the processor's time; where a mutant asks for too much memory, it does not get it."""

    def stop(*about_the_signal):
        raise TooLong

    before, (most, hard) = signal.signal(signal.SIGPROF, stop), resource.getrlimit(resource.RLIMIT_AS)
    signal.setitimer(signal.ITIMER_PROF, CHECK_SECONDS + (exercise.seconds or 0))
    resource.setrlimit(resource.RLIMIT_AS, (CHECK_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
