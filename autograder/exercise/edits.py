"""A cell's source with some definitions replaced."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


def replace_definitions(source: str, new: dict[str, str]) -> str:
    """Return a cell's source with its top-level definitions replaced by those in `new`, by name."""
    lines = source.splitlines()
    for node in reversed(ast.parse(source).body):
        if getattr(node, "name", None) in new:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            lines[first - 1 : node.end_lineno] = new[node.name].splitlines()
    return "\n".join(lines)


def replace_bodies(source: str, new: dict[str, str]) -> str:
    """Return a cell's source with the bodies of its functions replaced by name; signatures and docstrings stay."""
    lines = source.splitlines()
    for node in reversed(ast.parse(source).body):
        if getattr(node, "name", None) in new:
            other = new[node.name].splitlines()
            lines[_body(node, lines)] = other[_body(ast.parse(new[node.name]).body[0], other)]
    return "\n".join(lines)


def _body(function: ast.FunctionDef, lines: list[str]) -> slice:
    """Return where a function's body lies, without its docstring and with the comments around it."""
    first = function.body[0]
    begin = first.end_lineno if ast.get_docstring(function) is not None else first.lineno - 1
    end = function.end_lineno
    while end < len(lines) and re.match(r"\s+#", lines[end]):
        end += 1
    return slice(begin, end)
