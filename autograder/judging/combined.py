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

MOST_COMBINED = 60  # tried for one check: each runs a test


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


def likely_combinations(exercise: Exercise, check: str, failed: set[str], seen: set[str]) -> Iterator[CombinedMistakes]:
    """Yield two mistakes at a time, combined into one answer, the likeliest first.

    `failed` are the checks that failed, `seen` the mistakes that were recognised in some of them:
    a combination with one of these is likelier.
    """
    if exercise.seconds is not None:  # its tests train: trying combinations would take longer than judging
        return

    def fails(one: KnownAnswer, other: KnownAnswer) -> set[str]:
        return {*one.fails, *other.fails}

    fitting = [two for two in combinations(exercise.mistakes, 2) if check in fails(*two) and fails(*two) >= failed]
    fitting.sort(key=lambda two: (not {two[0].name, two[1].name} & seen, len(fails(*two) - failed)))
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
