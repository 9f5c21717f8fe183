"""The statements of a test file, and which of them some tests need."""

from __future__ import annotations

import ast
from functools import lru_cache

from .known import parsed
from .model import Exercise


def needed(nodes: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements without the helpers that none of them uses."""
    while True:
        used = {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}
        kept = [n for n in nodes if not _is_idle(n, used)]
        if kept == nodes:
            return nodes
        nodes = kept


def needed_by(exercise: Exercise, check: str) -> str:
    """Return the source of a check's tests and of all that they use; comments and layout do not count."""
    return "\n".join(map(ast.unparse, needed([node for node in _tests(exercise) if _check_of(node) in (None, check)])))


def tested(exercise: Exercise) -> set[str]:
    """Return the checks that an exercise has tests for. The file is parsed and not run, since a process that only enters marks does without torch."""
    return {check for node in _tests(exercise) if (check := _check_of(node))}


def _tests(exercise: Exercise) -> list[ast.stmt]:
    path = exercise.folder / f"test_{exercise.name}.py"
    return _statements(path.read_text(encoding="utf-8"), f"{exercise.name}/{path.name}")


@lru_cache(1)  # each check asks for them, and to parse them takes as long as judging half a submission
def _statements(text: str, file: str) -> list[ast.stmt]:
    return parsed(text, file).body


def without_question(exercise: Exercise) -> list[tuple[str, int]]:
    """Return the tests that ask nothing, by name and line: a test's docstring is the question that a learner reads when it fails."""
    return [
        (node.name, node.lineno)
        for node in _tests(exercise)
        if isinstance(node, ast.FunctionDef) and _check_of(node) and not ast.get_docstring(node)
    ]


def _check_of(node: ast.stmt) -> str | None:
    """Return the check that a statement is a test of, as `@visible("...")` or `@hidden("...")` says; None where it is none."""
    for decorator in getattr(node, "decorator_list", []):
        if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", getattr(decorator.func, "attr", "")) in ("visible", "hidden"):
            name = decorator.args[0] if decorator.args else None
            return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else None
    return None


def _is_idle(node: ast.stmt, used: set[str]) -> bool:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return node.name not in used and not node.decorator_list
    if isinstance(node, ast.Assign):
        return not {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)} & used
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return not {(a.asname or a.name).split(".")[0] for a in node.names} & used
    return False
