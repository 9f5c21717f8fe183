"""Two known mistakes in one answer: the reference with both in it, unless they change the same lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, islice

from merge3 import Merge3

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
    fitting = [
        pair
        for pair in combinations(exercise.mistakes, 2)
        if check in pair[0].fails + pair[1].fails and {*pair[0].fails, *pair[1].fails} >= failed
    ]
    fitting.sort(key=lambda pair: (not {pair[0].name, pair[1].name} & set(seen), len({*pair[0].fails, *pair[1].fails} - failed)))
    yield from islice(filter(None, (together(exercise, *pair) for pair in fitting)), MOST)


def together(exercise: Exercise, one: Known, other: Known) -> Known | None:
    """Return two mistakes as one answer; None where they change the same lines of the reference."""
    fails = tuple(check for check in exercise.checks if check in one.fails + other.fails)
    preamble = "\n".join(dict.fromkeys(filter(None, [one.preamble, other.preamble])))
    title, hint = f"Two things at once. {one.title} And: {other.title}", f"{one.hint} {other.hint}"
    right = _definitions("\n\n".join(cell.source for cell in exercise.answers))
    common = one.definitions.keys() & other.definitions.keys()
    merged = {name: _merged(right.get(name), one.definitions[name], other.definitions[name]) for name in common}
    if None in merged.values():
        return None
    return Known(f"{one.name}+{other.name}", title, hint, fails, one.definitions | other.definitions | merged, preamble)


def _merged(right: str | None, one: str, other: str) -> str | None:
    """Return a definition with the changes of both, or None where they meet."""
    if right is None:  # a helper that only mistakes have
        return None
    texts = [_plain(text).splitlines(keepends=True) for text in (right, one, other)]
    merge = Merge3(*texts)
    if any(region[0] == "conflict" for region in merge.merge_regions()):
        return None
    both = list(merge.merge_lines())
    return None if both in texts else "".join(both)


@lru_cache
def _definitions(source: str) -> dict[str, str]:
    return {node.name: ast.unparse(node) for node in ast.parse(source).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


@lru_cache(maxsize=1024)
def _plain(definition: str) -> str:
    """Return a definition with nothing in it but what it does, a statement a line."""
    tree = ast.parse(definition)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
    return ast.unparse(tree) + "\n"
