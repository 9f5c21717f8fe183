"""A learner's source as a syntax tree, whatever a parser raises on hostile text.

Parsing is safe in our own process, compiling is not: a chain of nested comprehensions overflows
the stack of Python 3.12's and 3.13's compiler and kills the process. Only workers compile.
"""

from __future__ import annotations

import ast
import warnings

OF_ITS_OWN = "{} is defined in a cell of its own, and only answer cells are handed in: move it into the answer"


def tree_of(source: str) -> ast.Module | None:
    """Return the source's tree; None if it is not Python, or nested too deeply for the parser."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's warnings about a stranger's code do not belong in our terminal
        try:
            return ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # ValueError: half a character; MemoryError: `- - - ...`
            return None


def defined_names(source: str) -> set[str]:
    """Return the names that a cell defines at its top level; none if it does not parse."""
    tree = tree_of(source)
    body = tree.body if tree else []
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    functions = {node.name for node in body if isinstance(node, kinds)}
    targets = [t for node in body if isinstance(node, ast.Assign) for t in node.targets]
    return functions | {t.id for t in targets if isinstance(t, ast.Name)}


def imported_names(source: str) -> set[str]:
    """Return the names that a cell imports, anywhere in it; none if it does not parse."""
    nodes = ast.walk(tree_of(source) or ast.Module([], []))
    return {(a.asname or a.name).split(".")[0] for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)) for a in node.names}


def printable(text: str, most: int = 4000) -> str:
    """Return text that is safe to write, show and print anywhere.

    Control characters, marks that turn the direction of writing and halves of characters come
    out as escapes, new lines and tabs as they are.
    """
    shown = (c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text[:most])
    return "".join(shown) + ("..." if len(text) > most else "")
