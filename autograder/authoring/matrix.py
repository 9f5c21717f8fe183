"""The proof of the tests: every known mistake and variant against every check, and whether the judge says which mistake it is.

Only those checks are judged that can see what an answer changes (`reach.py`); the others it passes as the reference does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..exercise import reading as exercises
from ..exercise.known import KnownAnswer
from ..exercise.model import Exercise
from ..judging.answers import known_learner
from ..judging.naming import with_mistakes_named
from ..judging.verdicts import findings
from ..kit.learner import Learner
from ..kit.outcome import Outcome, Verdict
from ..kit.recognise import Finding
from .reach import checks_that_see
from .side_by_side import side_by_side

ONLY_FOR_PROBLEMS = ("why", "named")  # what quotes hidden tests, and what is said already where it is as it should be


def matrix(names: list[str], seed: int, watch: Callable[[Iterable[dict]], Iterable[dict]] = iter) -> dict:
    """Return which checks each known answer fails, and the problems that this shows; what is done passes through `watch`."""
    found = [exercises.load(name) for name in names]
    rows = dict(zip(names, list(watch(side_by_side(_rows, names, seed)))))
    mistakes, variants = ({name: each[kind] for name, each in rows.items()} for kind in ("mistakes", "variants"))
    problems = _problems(found, mistakes, variants)
    for row in (row for kind in (mistakes, variants) for each in kind.values() for row in each.values()):
        for each in ONLY_FOR_PROBLEMS:
            del row[each]
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
    found = _findings(exercise, known, learner, seed)
    failed = [v for v in with_mistakes_named(exercise, found, learner, seed, exercise.mistakes) if v.outcome is not Outcome.PASSED]
    visible = {test.name for test in exercise.tests if not test.hidden}
    return {
        "title": known.title,
        "fails": {v.check: v.outcome.value for v in failed},
        "left": {each.verdict.check: [each.test, each.print] for each in found if each.test in visible},
        "named": {v.check: v.mistake.name if v.mistake else "" for v in failed if v.mistake or v.outcome is Outcome.WRONG},
        "why": {v.check: f"{v.test}: {v.in_full or v.reason}" for v in failed},
    }


def _findings(exercise: Exercise, known: KnownAnswer, learner: Learner, seed: int) -> list[Finding]:
    """Return what is found of every check."""
    found = {each.verdict.check: each for each in findings(exercise, learner, seed, checks_that_see(exercise, known, seed))}
    return [found.get(check) or Finding(Verdict(check, Outcome.PASSED, points)) for check, points in exercise.checks.items()]


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
    names = {check: called for check, called in row["named"].items() if called != name}
    misnamed = [
        f"{exercise}: the mistake {name} is given {f'the name {called}' if called else 'no name'} in {c}" for c, called in names.items()
    ]
    return missed + extra + broken + misnamed + [f"{exercise}: the mistake {name} names an unknown check {c}" for c in sorted(unknown)]
