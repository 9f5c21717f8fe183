"""The proof of the tests by mutants of every variant: what goes wrong where a right answer is written in another style.

There are five times as many as of the references, so a mutant counts as refused with the first check that refuses it. Most of those
that no check refuses come to the same, and a program finds that out by itself: in every test, on inputs drawn anew many times, such a
mutant returns what the variant returns that it was made of. For each of the others an author gives a reason in
`solutions/NAME/equivalent.toml`, in the table `[variants]`, by their names, in which `*` stands for anything: `"two_at_a_time: scores: *"`.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict
from enum import IntEnum

import torch
from torch import Tensor

from ..exercise import reading as exercises
from ..exercise.known import KnownAnswer
from ..exercise.model import Exercise
from ..judging.answers import reference_learner, trusted_learner
from ..judging.verdicts import counted
from ..kit.compare import expect
from ..kit.outcome import Wrong
from ..kit.suite import failure
from .kept import kept
from .mutant_proof import SEED, SEEDS, Proof, TooLong, reasons_of_variants, refusing, within_limits
from .mutants import mutants
from .side_by_side import side_by_side

FRESH = SEEDS[:5]  # of the inputs that a mutant meets before it counts as equivalent
ONE = SEEDS[:1]  # where an answer trains for seconds
Results = list[list]  # of each test: what came back from each call


class Likeness(IntEnum):
    """How far from its variant a mutant goes on fresh inputs."""

    SAME = 0
    ROUNDED = 1
    OTHER = 2
    REFUSED = 3


REASONS = {
    Likeness.SAME: "In every test all that it returns is, bit for bit, what the right answer returns that it was made of.",
    Likeness.ROUNDED: "In every test all that it returns is, but for rounding, what the right answer returns that it was made of.",
}


def proofs_of_variants(names: list[str], watch: Callable[[Iterable[Proof]], Iterable[Proof]] = iter) -> dict[str, Proof]:
    """Return what became of the mutants of each exercise's variants; what is done passes through `watch`."""
    return dict(zip(names, watch(side_by_side(_kept_proof, names))))


def _kept_proof(name: str) -> Proof:
    exercise = exercises.load(name)
    reasons = str(reasons_of_variants(exercise))
    return _in_all(
        exercise,
        [
            Proof(**kept("mutants", name, lambda: asdict(_proof(exercise, variant)), reasons, of=variant.name))
            for variant in exercise.variants
        ],
    )


def proof_of_variants(name: str) -> Proof:
    """Return what became of the mutants of an exercise's variants; raises `AuthorError`."""
    exercise = exercises.load(name)
    return _in_all(exercise, [_proof(exercise, variant) for variant in exercise.variants])


def proof_of_some(name: str, some: int) -> Proof:
    """Return what became of so many mutants of one variant, always the same ones; raises `AuthorError`."""
    exercise = exercises.load(name)
    return _proof(exercise, random.Random(name).choice(exercise.variants), some)


def _in_all(exercise: Exercise, parts: list[Proof]) -> Proof:
    """Return the proofs of all variants as one, in which a reason is stale that none of them needed."""
    found = Proof(refused={check: sum(part.refused[check] for part in parts) for check in exercise.checks})
    for part in parts:
        found.mutants += part.mutants
        found.equivalent |= part.equivalent
        found.accepted += part.accepted
    reasons = reasons_of_variants(exercise)
    needed = {_reason_for(name, reasons) for name, reason in found.equivalent.items() if reason not in REASONS.values()}
    found.stale = [each for each in reasons if each not in needed]
    return found


def _proof(exercise: Exercise, variant: KnownAnswer, some: int | None = None) -> Proof:
    reasons, found = reasons_of_variants(exercise), Proof(refused=dict.fromkeys(exercise.checks, 0))
    right: dict[int, Results] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of code that nobody wrote
        for mutant in _some(mutants(exercise, variant), some):
            _judge(exercise, variant, mutant, right, reasons, found)
    return found


def _some(made: Iterable[KnownAnswer], some: int | None) -> list[KnownAnswer]:
    made = list(made)
    return made if some is None else random.Random(some).sample(made, min(some, len(made)))


def _judge(
    exercise: Exercise, variant: KnownAnswer, mutant: KnownAnswer, right: dict[int, Results], reasons: dict[str, str], found: Proof
) -> None:
    """Enter what became of a mutant."""
    found.mutants += 1
    name = f"{variant.name}: {mutant.name}"
    if check := next(refusing(exercise, mutant, SEED, variant), None):
        found.refused[check] += 1
        return
    likeness, given = _likeness(exercise, variant, mutant, right), _reason_for(name, reasons)
    if likeness in REASONS:
        found.equivalent[name] = REASONS[likeness]
    elif likeness is Likeness.OTHER and given:
        found.equivalent[name] = reasons[given]
    else:
        found.accepted.append(name)


def _reason_for(name: str, reasons: dict[str, str]) -> str | None:
    """Return the first pattern that speaks of a mutant."""
    return next((each for each in reasons if _fits(name, each)), None)


def _fits(name: str, pattern: str) -> bool:
    """Return whether a name is what a pattern says, where `*` stands for anything."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name) is not None


def _likeness(exercise: Exercise, variant: KnownAnswer, mutant: KnownAnswer, right: dict[int, Results]) -> Likeness:
    """Return how far a mutant goes from its variant on any of the fresh inputs; `right` keeps what the variant returned."""
    furthest = Likeness.SAME
    for seed in ONE if exercise.seconds else FRESH:
        if seed not in right:
            right[seed], _ = _results(exercise, variant, seed)
        try:
            came, is_refused = _results(exercise, mutant, seed)
        except TooLong:
            return Likeness.REFUSED
        if is_refused:
            return Likeness.REFUSED
        furthest = max(furthest, likeness(came, right[seed]))
    return furthest


def _results(exercise: Exercise, known: KnownAnswer, seed: int) -> tuple[Results, bool]:
    """Return what an answer returns in each test that measures nothing, and whether one refuses it."""
    plain, is_refused = trusted_learner(exercise, known), False
    results: Results = []

    def ask(send, *question, **more):
        came = send(*question, **more)
        if more.get("device") is None:  # elsewhere the numbers are those of a fresh module, of which nobody asks anything
            results[-1].append(came)
        return came

    learner = plain.asked_through(ask)
    for test in [test for check in exercise.checks for test in counted(exercise, check) if not test.measures]:
        results.append([])
        with within_limits(exercise):
            is_refused |= failure(test, learner, seed, reference_learner(exercise.name)) is not None
    return results, is_refused


def likeness(came: object, right: object) -> Likeness:
    """Return how far apart two results are, or two lists of them."""
    if isinstance(came, (tuple, list)) and isinstance(right, (tuple, list)):
        return max(map(likeness, came, right), default=Likeness.SAME) if len(came) == len(right) else Likeness.OTHER
    if not isinstance(came, Tensor) or not isinstance(right, Tensor):
        return Likeness.SAME if type(came) is type(right) and came == right else Likeness.OTHER
    if came.dtype == right.dtype and torch.equal(came.nan_to_num(), right.nan_to_num()) and torch.equal(came.isnan(), right.isnan()):
        return Likeness.SAME
    try:
        expect(came, right)
    except Wrong:
        return Likeness.OTHER
    return Likeness.ROUNDED
