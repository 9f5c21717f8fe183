"""A file of tests as statements: which of them a set of tests needs."""
from __future__ import annotations

import ast

from .exercise import Exercise


def needed(nodes: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements without the helpers that nothing left uses any more."""
    while True:
        used = {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}
        kept = [n for n in nodes if not _is_idle(n, used)]
        if kept == nodes:
            return nodes
        nodes = kept


def needed_by(exercise: Exercise, check: str) -> str:
    """Return the source of a check's tests and of all that they use; comments and layout do not count."""
    path = exercise.folder / f"test_{exercise.name}.py"
    others = {test.name for test in exercise.tests if test.check != check}
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return "\n".join(map(ast.unparse, needed([node for node in body if getattr(node, "name", None) not in others])))


def _is_idle(node: ast.stmt, used: set[str]) -> bool:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return node.name not in used and not node.decorator_list
    if isinstance(node, ast.Assign):
        return not {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)} & used
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return not {(a.asname or a.name).split(".")[0] for a in node.names} & used
    return False
