"""A cell as Python: without IPython's own commands, which were obeyed when the learner ran it."""

from __future__ import annotations

import ast

PYTHON_BELOW = {"time", "capture", "prun"}  # commands whose text is Python that stays in force, as without them


def without_magics(source: str) -> str:
    """Return a cell's source as Python, with as many lines; where it is none even so, the source as it is.

    IPython finds its commands, such as `%%time`, `%matplotlib inline` and `!pip`, and writes them as calls; these are taken out.
    """
    try:
        from IPython.core.inputtransformer2 import TransformerManager

        changed = TransformerManager().transform_cell(source)
        calls = [node for node in ast.walk(ast.parse(changed)) if isinstance(node, ast.Expr) and _command(node)[0]]
    except (ImportError, SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    lines = changed.splitlines()
    for node in calls:
        command, arguments = _command(node)
        text = arguments[-1] if arguments and arguments[0] in PYTHON_BELOW else ""
        if command == "run_cell_magic":
            return "\n" + without_magics(text)  # it is all of the cell, below its first line
        lines[node.lineno - 1 : node.end_lineno] = [" " * node.col_offset + (text or "pass")]
    return "\n".join(lines)


def _command(node: ast.Expr) -> tuple[str, list]:
    """Return which of IPython's commands a statement calls, and with what; ("", []) where it is none."""
    call = node.value
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call)):
        return "", []
    shell = call.func.value.func
    if not (isinstance(shell, ast.Name) and shell.id == "get_ipython"):
        return "", []
    return call.func.attr, [each.value for each in call.args if isinstance(each, ast.Constant)]
