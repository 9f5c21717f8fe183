"""An exercise's folder in solutions/, read and checked."""

from __future__ import annotations

import ast
import hashlib
import re
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import jupytext
from nbformat import NotebookNode

from . import ROOT
from .errors import AuthorError, UnknownExercise
from .form import Place, check_form, check_header, places_of
from .hints import HINTS, Hints, hints_of, is_hints
from .kit.cells import ANSWER, CHECK, SETUP, TEXT, TRY, Cell
from .kit.forbidden import names
from .kit.source import defined_names
from .known import Known, read_known

if TYPE_CHECKING:
    from .kit.suite import Test

SOLUTIONS = ROOT / "solutions"
_kept: list = []
_seen: list = []  # what tells one state of the files in solutions/ from another
BOOK = ROOT / "book"
NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Exercise:
    """Everything that one folder holds."""

    folder: Path
    title: str
    chapter: str
    difficulty: str
    minutes: int
    forbidden_lists: tuple[str, ...]
    cells: tuple[Cell, ...]
    hints: tuple[Hints, ...]
    handed_out: dict[str, str] = field(default_factory=dict)  # by answer cell: the mistake that stands in it when learners get it
    seconds: float | None = None  # that a cell or a call may take, where the usual limit is too short

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def forbidden(self) -> list[str]:
        return names(list(self.forbidden_lists))

    @cached_property
    def checks(self) -> dict[str, float]:
        """The points of each check, in the notebook's order."""
        return {cell.id: cell.points for cell in self.cells if cell.kind == CHECK}

    @property
    def answers(self) -> list[Cell]:
        return [cell for cell in self.cells if cell.kind == ANSWER]

    @property
    def code(self) -> list[Cell]:
        """The cells that run before any check: imports, given code and answers."""
        return [cell for cell in self.cells if cell.kind in (ANSWER, SETUP)]

    def as_handed_out(self, cell: Cell) -> Cell:
        """Return a cell with the mistake in it that its learner is to find, if there is one."""
        if cell.id not in self.handed_out:
            return cell
        mistake = next(m for m in self.mistakes if m.name == self.handed_out[cell.id])
        return replace(cell, source=replace_bodies(cell.source, mistake.definitions))

    @cached_property
    def promised(self) -> dict[str, set[str]]:
        """The names that each answer cell is to define."""
        return {cell.id: defined_names(cell.source) for cell in self.answers}

    @cached_property
    def tests(self) -> list[Test]:
        from .kit.suite import load_tests, tests_of  # these need torch, and whoever only enters marks does not

        return tests_of(load_tests(self.folder / f"test_{self.name}.py"))

    @cached_property
    def mistakes(self) -> list[Known]:
        return read_known(self.folder / "mistakes.py")

    @cached_property
    def variants(self) -> list[Known]:
        return read_known(self.folder / "variants.py")


def all_names() -> list[str]:
    """Return the names of all exercises: the folders of solutions/ that hold a notebook, in the book's order."""
    found = {f.name for f in SOLUTIONS.iterdir() if (f / f"{f.name}.py").is_file()}
    order = re.findall(r"exercises/(\w+)/", (ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [name for name in order if name in found] + sorted(found - set(order))


def load(name: str) -> Exercise:
    """Return the exercise; raises `UnknownExercise`, or `AuthorError` if its source breaks a rule."""
    if not (name.isidentifier() and (SOLUTIONS / name / f"{name}.py").is_file()):
        raise UnknownExercise(f"no exercise is called {name!r}; there are: {', '.join(all_names())}")
    return read(SOLUTIONS / name)


def chapter_title(chapter: str) -> str:
    """Return what a chapter of the book is called, without the question that it asks."""
    heading = re.search(r"^# (.*?)(?::.*)?$", (BOOK / f"{chapter}.md").read_text(encoding="utf-8"), re.MULTILINE)
    return heading[1]


def kept(most: int = 128):
    """Keep the last results of a function that rests on the files of solutions/, until `forget`."""

    def keeping(function):
        _kept.append(lru_cache(most)(function))
        return _kept[-1]

    return keeping


def forget() -> None:
    """Let all be read anew."""
    for cache in _kept:
        cache.cache_clear()


def forget_if_changed() -> None:
    """Let all be read anew if a file of solutions/ is another than when this was last asked: a process that has run for days must not judge by exercises of then."""
    global _seen
    now = [
        (path, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
        for path in SOLUTIONS.rglob("*.py")
        for about in [path.stat()]
    ]
    if now != _seen:
        _seen = now
        forget()


@kept()
def read(folder: Path) -> Exercise:
    """Return the exercise in a folder; raises `AuthorError`."""
    path = folder / f"{folder.name}.py"
    notebook = jupytext.read(path, fmt="py:percent")
    about = notebook.metadata.get("exercise", {})
    check_header(about, path.name, BOOK)
    places = places_of(path, _names(notebook.cells))
    cells = [_cell(cell, place) for cell, place in zip(notebook.cells, places)]
    shown, hints = tuple(cell for cell in cells if cell.kind != HINTS), hints_of(cells, places)
    told = {field: about[field] for field in ("title", "chapter", "difficulty", "minutes")}
    lists, handed_out = (
        tuple(about.get("forbidden", [])),
        {f"answer-{c.metadata['answer']}": c.metadata["handed_out"] for c in notebook.cells if "handed_out" in c.metadata},
    )
    exercise = Exercise(
        folder=folder, forbidden_lists=lists, cells=shown, hints=hints, handed_out=handed_out, seconds=about.get("seconds"), **told
    )
    check_form(exercise, places)
    return exercise


def _names(cells: list[NotebookNode]) -> list[str]:
    """Return what each cell is called; hints, which no learner's file has, don't count in the numbers."""
    names, number = [], 0
    for cell in cells:
        names.append(HINTS if is_hints(cell) else _name(cell, number))
        number += not is_hints(cell)
    return names


def _name(cell: NotebookNode, number: int) -> str:
    if cell.cell_type == "markdown":
        return f"text-{number}"
    if "answer" in cell.metadata:
        return f"answer-{cell.metadata['answer']}"
    return f"try-{cell.metadata['try']}" if "try" in cell.metadata else cell.metadata.get("check", f"setup-{number}")


def _cell(cell: NotebookNode, place: Place) -> Cell:
    if cell.cell_type == "markdown":
        return Cell(place.cell, HINTS if is_hints(cell) else TEXT, cell.source)
    if "answer" in cell.metadata:
        return Cell(place.cell, ANSWER, cell.source)
    if "check" in cell.metadata:
        return _check_cell(cell, place)
    return Cell(place.cell, TRY if "try" in cell.metadata else SETUP, cell.source)


def _check_cell(cell: NotebookNode, place: Place) -> Cell:
    points = cell.metadata.get("points")
    if not isinstance(points, (int, float)) or points <= 0:
        raise AuthorError(f'{place}: a check needs points, for example `# %% check="{place.cell}" points=1`')
    return Cell(place.cell, CHECK, cell.source, float(points))


@kept()
def digest(folder: Path) -> str:
    """Return a number that changes with any Python file below a folder."""
    content = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        content.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return content.hexdigest()


def replace_definitions(source: str, new: dict[str, str]) -> str:
    """Return a cell's source with its top-level definitions replaced by those in `new`, by name."""
    lines = source.splitlines()
    for node in reversed(ast.parse(source).body):
        if getattr(node, "name", None) in new:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            lines[first - 1 : node.end_lineno] = new[node.name].splitlines()
    return "\n".join(lines)


def replace_bodies(source: str, new: dict[str, str]) -> str:
    """Return a cell's source with what its functions do replaced by name; signatures and docstrings stay."""
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
