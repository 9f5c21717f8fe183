"""Two known mistakes in one answer: the reference with both in it, where each is in another definition."""
from __future__ import annotations

from itertools import combinations
from typing import Iterator

from .exercise import Exercise
from .known import Known

MOST = 60  # pairs that are tried for one check: each runs a test


def pairs_that_fail(exercise: Exercise, check: str, failed: set[str], seen: list[str]) -> Iterator[Known]:
    """Yield pairs of mistakes as one answer each, those first that are the likeliest.

    `failed` are the checks that failed, `seen` the mistakes that were recognised in some of them:
    where one of two shows alone, it is one of the pair.
    """
    if exercise.seconds is not None:  # its tests train: to try pairs would take longer than to judge
        return
    apart = [pair for pair in combinations(exercise.mistakes, 2) if not pair[0].definitions.keys() & pair[1].definitions.keys()]
    fitting = [pair for pair in apart if check in pair[0].fails + pair[1].fails and {*pair[0].fails, *pair[1].fails} >= failed]
    fitting.sort(key=lambda pair: (not {pair[0].name, pair[1].name} & set(seen), len({*pair[0].fails, *pair[1].fails} - failed)))
    yield from (together(exercise, *pair) for pair in fitting[:MOST])


def together(exercise: Exercise, one: Known, other: Known) -> Known:
    """Return two mistakes as one answer."""
    fails = tuple(check for check in exercise.checks if check in one.fails + other.fails)
    preamble = "\n".join(dict.fromkeys(filter(None, [one.preamble, other.preamble])))
    title, hint = f"Two things at once. {one.title} And: {other.title}", f"{one.hint} {other.hint}"
    return Known(f"{one.name}+{other.name}", title, hint, fails, {**one.definitions, **other.definitions}, preamble)
