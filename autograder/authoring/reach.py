"""Which tests can see what a known answer changes.

A test asks for some of a learner's functions. Where none of them, and nothing that they use, is changed, the answer does there what the
right one does that it was made of, step by step. Most mistakes and mutants change one function of several, so most tests need not be run
on them.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from ..exercise import reading as exercises
from ..exercise.cache import cached
from ..exercise.edits import Definition
from ..exercise.known import KnownAnswer
from ..exercise.model import Exercise
from ..judging.answers import answers, reference_learner
from ..judging.verdicts import counted
from ..kit.suite import Test, failure

ANYTHING = ""  # stands for all names: what does more than define something may change whatever there is


def checks_that_see(exercise: Exercise, known: KnownAnswer, seed: int, base: KnownAnswer | None = None) -> list[str]:
    """Return the checks that could come to another verdict with a known answer than with the right one that it was made of, the reference or `base`."""
    return [check for check in exercise.checks if any(sees(exercise, known, test, seed, base) for test in counted(exercise, check))]


def sees(exercise: Exercise, known: KnownAnswer, test: Test, seed: int, base: KnownAnswer | None = None) -> bool:
    """Return whether a test could come to another result with a known answer than with the reference, or `base`."""
    changed = _changed(exercise.name, known, base)
    return ANYTHING in changed or not changed.isdisjoint(_asked(exercise.name, test.name, seed))


@cached(8192)
def _asked(exercise: str, test: str, seed: int) -> frozenset[str]:
    """Return the names of the learner's that a test asks for when the reference answers, and whatever else it hands over as text."""
    reference, asked = reference_learner(exercise), set[str]()

    def ask(send, operation: str, target, args: tuple, kwargs: dict, **more):
        asked.update(each for each in (target, *args, *kwargs.values()) if isinstance(each, str))
        return send(operation, target, args, kwargs, **more)

    (found,) = (each for each in exercises.load(exercise).tests if each.name == test)
    error = failure(found, reference.asked_through(ask), seed, reference)
    if error is not None:
        raise AssertionError(f"{exercise}: the reference answer fails {test}: {error}")
    return frozenset(asked)


@lru_cache(256)
def _changed(exercise_name: str, known: KnownAnswer, base: KnownAnswer | None) -> frozenset[str]:
    """Return the names whose meaning may be another one than in the right answer."""
    exercise = exercises.load(exercise_name)
    right, other = (_Sources.of(exercise, each) for each in (base, known))
    if right.more != other.more:
        return frozenset({ANYTHING})
    changed = {name for name in other.meanings.keys() | right.meanings.keys() if other.meanings.get(name) != right.meanings.get(name)}
    while more := {name for name, used in other.uses.items() if name not in changed and not used.isdisjoint(changed)}:
        changed |= more
    return frozenset(changed)


class _Sources:
    """What the code of an answer, with the cells around it, defines: for each name the text of its definition and the names in it."""

    @classmethod
    def of(cls, exercise: Exercise, known: KnownAnswer | None) -> _Sources:
        sources = answers(exercise, known)
        return cls([sources.get(cell.id, cell.source) for cell in exercise.code])

    def __init__(self, sources: list[str]):
        self.meanings: dict[str, str] = {}
        self.uses: dict[str, set[str]] = {}
        self.more: list[str] = []  # what is neither a definition nor an import
        for statement in (each for source in sources for each in ast.parse(source).body):
            self._add(statement)

    def _add(self, statement: ast.stmt) -> None:
        names = _defined(statement)
        if not names and not isinstance(statement, ast.Expr | ast.Pass) or _calls(statement):
            self.more.append(ast.dump(statement))
        for name in names:
            self.meanings[name] = self.meanings.get(name, "") + ast.dump(statement)
            self.uses.setdefault(name, set()).update(_used(statement))


def _defined(statement: ast.stmt) -> list[str]:
    """Return the names that a statement at the top level gives a meaning."""
    if isinstance(statement, Definition):
        return [statement.name]
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [(each.asname or each.name).split(".")[0] for each in statement.names]
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target] if isinstance(statement, ast.AnnAssign) else []
    return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def _calls(statement: ast.stmt) -> bool:
    """Return whether a statement that defines nothing by itself runs something."""
    return isinstance(statement, ast.Expr) and any(isinstance(node, ast.Call) for node in ast.walk(statement))


def _used(statement: ast.stmt) -> set[str]:
    """Return the names in a statement, of attributes too, and texts that may be names."""
    found = set()
    for node in ast.walk(statement):
        found |= {node.id} if isinstance(node, ast.Name) else {node.attr} if isinstance(node, ast.Attribute) else set()
        found |= {node.value} if isinstance(node, ast.Constant) and isinstance(node.value, str) else set()
    return found
