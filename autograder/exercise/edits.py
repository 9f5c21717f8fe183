"""A cell's source with some definitions replaced."""

from __future__ import annotations

import ast
import re

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def definitions(source: str) -> list[Definition]:
    """Return what a source defines at its top level, in order."""
    return [node for node in ast.parse(source).body if isinstance(node, Definition)]


def lines_of(node: ast.stmt) -> slice:
    """Return where a statement stands among its source's lines, decorators included."""
    return slice(min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]) - 1, node.end_lineno)


def replace_definitions(source: str, new: dict[str, str]) -> str:
    """Return a cell's source with its top-level definitions replaced by those in `new`, by name."""
    lines = source.splitlines()
    for node in reversed(definitions(source)):
        if node.name in new:
            lines[lines_of(node)] = new[node.name].splitlines()
    return "\n".join(lines)


def replace_bodies(source: str, new: dict[str, str]) -> str:
    """Return a cell's source with the bodies of its functions replaced by name; signatures and docstrings stay."""
    lines = source.splitlines()
    for node in reversed(definitions(source)):
        if node.name in new:
            other = new[node.name].splitlines()
            lines[_body(node, lines)] = other[_body(definitions(new[node.name])[0], other)]
    return "\n".join(lines)


def _body(node: Definition, lines: list[str]) -> slice:
    """Return where a definition's body lies, without its docstring and with the comments around it."""
    first, end = node.body[0], node.end_lineno or len(lines)
    begin = first.lineno - 1 if ast.get_docstring(node) is None else first.end_lineno
    while end < len(lines) and re.match(r"\s+#", lines[end]):
        end += 1
    return slice(begin, end)
