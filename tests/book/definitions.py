"""The names that a chapter defines, to be called again by tests: made without all that the chapter runs only to show it."""

import ast
import os
import symtable
from collections.abc import Iterator, Mapping
from pathlib import Path

import matplotlib
import pytest

from tests.book.chapters import BOOK, read


class Definitions(Mapping):
    """A chapter's names; each is made when it is first asked for, with what it rests on, by the chapter's own statements in their order."""

    def __init__(self, chapter: str):
        self._chapter, self._names, self._ran = chapter, {}, set()
        code = [cell.source for cell in read(chapter).cells if cell.cell_type == "code"]
        self._statements = [statement for source in code for statement in ast.parse(source).body]
        self._made = [set(_made(statement)) for statement in self._statements]
        self._read = [set(_read(_table(statement))) for statement in self._statements]

    def __getitem__(self, name: str):
        places = [place for place in sorted(self._resting_on(name)) if place not in self._ran]
        _run(ast.Module([self._statements[place] for place in places], []), self._chapter, self._names)
        self._ran.update(places)
        return self._names[name]

    def __iter__(self) -> Iterator[str]:
        return iter(set().union(*self._made))

    def __len__(self) -> int:
        return len(set().union(*self._made))

    def _resting_on(self, name: str) -> set[int]:
        """Return the places of the statements that make a name, or change it, or what these read."""
        found, wanted = set(), [name]
        while wanted:
            one = wanted.pop()
            new = {place for place, made in enumerate(self._made) if one in made} - found
            found |= new
            wanted += [each for place in new for each in self._read[place]]
        return found


def _made(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds, and those whose content it may change: `table[0] = 1`, `rows.append(2)`."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.alias):
            yield (node.asname or node.name).split(".")[0]
        elif isinstance(getattr(node, "ctx", None), ast.Store):
            yield _root(node)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        yield _root(statement.value.func)


def _root(node: ast.AST) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call, ast.Starred)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return getattr(node, "id", "")


def _table(statement: ast.stmt) -> symtable.SymbolTable:
    return symtable.symtable(ast.unparse(statement), "a chapter", "exec")


def _read(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the names of the chapter that are read here, and in what is defined here."""
    is_module = table.get_type() == "module"
    yield from (each.get_name() for each in table.get_symbols() if each.is_referenced() and (is_module or each.is_global()))
    for part in table.get_children():
        yield from _read(part)


def _run(code: ast.Module, chapter: str, names: dict) -> None:
    back = Path.cwd()
    matplotlib.use("Agg")
    os.chdir(BOOK)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(str(BOOK))
            import figures

            # The style speaks to a notebook's kernel, and there is none here.
            patch.setattr(figures, "use_style", lambda: None)
            exec(compile(code, chapter, "exec"), names)
    finally:
        os.chdir(back)
        matplotlib.pyplot.close("all")
