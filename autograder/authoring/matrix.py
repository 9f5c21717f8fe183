"""The proof of the tests: every known mistake and variant against every check."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..exercise import reading as exercises
from ..exercise.known import KnownAnswer
from ..exercise.model import Exercise
from ..judging.answers import known_learner
from ..judging.verdicts import verdict_of
from ..kit.outcome import Outcome
from .side_by_side import side_by_side


def matrix(names: list[str], seed: int, watch: Callable[[Iterable[dict]], Iterable[dict]] = iter) -> dict:
    """Return which checks each known answer fails, and the problems that this shows; what is done passes through `watch`."""
    found = [exercises.load(name) for name in names]
    rows = dict(zip(names, list(watch(side_by_side(_rows, names, seed)))))
    mistakes, variants = ({name: each[kind] for name, each in rows.items()} for kind in ("mistakes", "variants"))
    problems = _problems(found, mistakes, variants)
    for row in (row for kind in (mistakes, variants) for each in kind.values() for row in each.values()):
        del row["why"]  # it quotes hidden tests, and the rest is for a page
    return {"mistakes": mistakes, "variants": variants, "problems": problems}


def _rows(name: str, seed: int) -> dict:
    exercise = exercises.load(name)
    return {
        "mistakes": {mistake.name: _mistake_row(exercise, mistake, seed) for mistake in exercise.mistakes},
        "variants": {variant.name: _row(exercise, variant, seed) for variant in exercise.variants},
    }


def _mistake_row(exercise: Exercise, known: KnownAnswer, seed: int) -> dict:
    return {**_row(exercise, known, seed), "hint": known.hint, "expected": list(known.fails), "checks": list(exercise.checks)}


def _row(exercise: Exercise, known: KnownAnswer, seed: int) -> dict:
    learner = known_learner(exercise.name, known.name)
    verdicts = [verdict_of(exercise, check, learner, seed) for check in exercise.checks]
    failed = [v for v in verdicts if v.outcome is not Outcome.PASSED]
    why = {v.check: f"{v.test}: {v.in_full or v.reason}" for v in failed}
    return {"title": known.title, "fails": {v.check: v.outcome.value for v in failed}, "why": why}


def _problems(found: list[Exercise], mistakes: dict, variants: dict) -> list[str]:
    problems = []
    for exercise in found:
        rows = mistakes[exercise.name]
        problems += [p for name, row in rows.items() for p in _mistake_problems(exercise.name, name, row)]
        problems += [
            f"{exercise.name}: the right answer {name} fails {check} ({row['why'][check]})"
            for name, row in variants[exercise.name].items()
            for check in row["fails"]
        ]
        caught = {check for row in rows.values() for check in row["fails"]}
        problems += [f"{exercise.name}: no mistake fails {check}" for check in exercise.checks if check not in caught]
    return problems


def _mistake_problems(exercise: str, name: str, row: dict) -> list[str]:
    fails, expected = set(row["fails"]), set(row["expected"])
    if not fails:
        return [f"{exercise}: the mistake {name} fails no check"]
    unknown = expected - set(row["checks"])
    missed = [f"{exercise}: the mistake {name} passes {check}" for check in sorted(expected - fails - unknown)]
    extra = [f"{exercise}: the mistake {name} fails {check} too ({row['why'][check]})" for check in sorted(fails - expected)]
    broken = [f"{exercise}: the judge failed on {name} in {c}" for c, o in row["fails"].items() if o == Outcome.JUDGE_FAILED.value]
    return missed + extra + broken + [f"{exercise}: the mistake {name} names an unknown check {c}" for c in sorted(unknown)]
