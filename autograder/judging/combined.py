"""Two known mistakes in one answer: the reference with both in it, unless they change the same lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, islice

from merge3 import Merge3

from ..exercise.known import KnownAnswer
from ..exercise.model import Exercise
from ..kit.recognise import Evidence, Suspect, leaves_the_same

MOST_COMBINED = 60  # tried for one answer: each runs a test


@dataclass(frozen=True)
class CombinedMistakes:
    """Two known mistakes, and both as one answer."""

    one: KnownAnswer
    other: KnownAnswer
    both: KnownAnswer

    @classmethod
    def of(cls, exercise: Exercise, one: KnownAnswer, other: KnownAnswer) -> CombinedMistakes | None:
        """Return the two combined; None where they change the same lines of the reference."""
        both = _together(exercise, one, other)
        return None if both is None else cls(one, other, both)


def likely_combinations(exercise: Exercise, evidence: Evidence, suspects: dict[KnownAnswer, Suspect]) -> Iterator[CombinedMistakes]:
    """Yield two mistakes at a time, combined into one answer, that may explain all wrong answers, the likeliest first.

    One that leaves the very result for which a check failed is likelier.
    """
    if exercise.seconds is not None or not evidence.wrong:  # where tests train, trying combinations would take longer than judging
        return

    def fails(one: KnownAnswer, other: KnownAnswer) -> set[str]:
        return {*one.fails, *other.fails}

    seen = {m for m, suspect in suspects.items() if any(leaves_the_same(suspect, failed) for failed in evidence.failed.values())}
    free = [mistake for mistake in suspects if evidence.passed.isdisjoint(mistake.fails)]
    fitting = [two for two in combinations(free, 2) if fails(*two) >= evidence.wrong]
    fitting.sort(key=lambda two: (seen.isdisjoint(two), len(fails(*two) - evidence.failed.keys())))
    yield from islice(filter(None, (CombinedMistakes.of(exercise, *two) for two in fitting)), MOST_COMBINED)


def _together(exercise: Exercise, one: KnownAnswer, other: KnownAnswer) -> KnownAnswer | None:
    fails = tuple(check for check in exercise.checks if check in one.fails + other.fails)
    preamble = "\n".join(dict.fromkeys(filter(None, [one.preamble, other.preamble])))
    title, hint = f"Two things at once. {one.title} And: {other.title}", f"{one.hint} {other.hint}"
    right = _definitions("\n\n".join(cell.source for cell in exercise.answers))
    merged = dict(_merged_definitions(right, one, other))
    if None in merged.values():
        return None
    definitions = {name: text for name, text in (one.definitions | other.definitions | merged).items() if text is not None}
    return KnownAnswer(f"{one.name}+{other.name}", title, hint, fails, definitions, preamble)


def _merged_definitions(right: dict[str, str], one: KnownAnswer, other: KnownAnswer) -> Iterator[tuple[str, str | None]]:
    for name in one.definitions.keys() & other.definitions.keys():
        yield name, _merged(right.get(name), one.definitions[name], other.definitions[name])


def _merged(right: str | None, one: str, other: str) -> str | None:
    """Return a definition with the changes of both, or None where these overlap."""
    if right is None:  # a helper that only mistakes have
        return None
    base, mine, yours = (_plain(text).splitlines(keepends=True) for text in (right, one, other))
    merge = Merge3(base, mine, yours)
    if any(region[0] == "conflict" for region in merge.merge_regions()):
        return None
    both = list(merge.merge_lines())
    return None if both in (base, mine, yours) else "".join(both)


@lru_cache
def _definitions(source: str) -> dict[str, str]:
    return {node.name: ast.unparse(node) for node in ast.parse(source).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


@lru_cache(maxsize=1024)
def _plain(definition: str) -> str:
    """Return a definition without docstrings, annotations and layout, one statement on each line."""
    tree = ast.parse(definition)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
    return ast.unparse(tree) + "\n"
