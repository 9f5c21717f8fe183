"""An exercise's folder in solutions/, read and checked."""
from __future__ import annotations

import ast
import hashlib
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import jupytext
from nbformat import NotebookNode

from .errors import AuthorError, UnknownExercise
from .kit.cells import ANSWER, CHECK, SETUP, TEXT, TRY, Cell
from .kit.forbidden import LISTS, names
from .kit.notebook import load_tests
from .kit.source import defined_names
from .kit.suite import Test, tests_of
from .known import Known, read_known

ROOT = Path(__file__).resolve().parents[1]
SOLUTIONS = ROOT / "solutions"
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Exercise:
    """Everything that one folder holds."""

    folder: Path
    title: str
    chapter: str
    forbidden_lists: tuple[str, ...]
    cells: tuple[Cell, ...]
    seconds: float | None = None  # that a cell or a call may take, where the usual limit is too short

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def forbidden(self) -> list[str]:
        return names(list(self.forbidden_lists))

    @property
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

    @property
    def promised(self) -> dict[str, set[str]]:
        """The names that each answer cell is to define."""
        return {cell.id: defined_names(cell.source) for cell in self.answers}

    @cached_property
    def tests(self) -> list[Test]:
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
    if name not in all_names():
        raise UnknownExercise(f"no exercise is called {name!r}; there are: {', '.join(all_names())}")
    return read(SOLUTIONS / name)


@lru_cache
def read(folder: Path) -> Exercise:
    """Return the exercise in a folder; raises `AuthorError`."""
    path = folder / f"{folder.name}.py"
    notebook = jupytext.read(path, fmt="py:percent")
    about = notebook.metadata.get("exercise", {})
    cells = tuple(_cell(cell, place, path.name) for place, cell in enumerate(notebook.cells))
    exercise = Exercise(folder, about.get("title", folder.name), about.get("chapter", ""), tuple(about.get("forbidden", [])), cells, about.get("seconds"))
    _check_form(exercise, path.name)
    return exercise


def _cell(cell: NotebookNode, place: int, file: str) -> Cell:
    if cell.cell_type == "markdown":
        return Cell(f"text-{place}", TEXT, cell.source)
    if "answer" in cell.metadata:
        return Cell(f"answer-{cell.metadata['answer']}", ANSWER, cell.source)
    if "check" in cell.metadata:
        return _check_cell(cell, file)
    if "try" in cell.metadata:
        return Cell(f"try-{cell.metadata['try']}", TRY, cell.source)
    return Cell(f"setup-{place}", SETUP, cell.source)


def _check_cell(cell: NotebookNode, file: str) -> Cell:
    name, points = cell.metadata["check"], cell.metadata.get("points")
    if not isinstance(points, (int, float)) or points <= 0:
        raise AuthorError(f'{file}, cell "{name}": a check needs points, for example `# %% check="{name}" points=1`')
    return Cell(name, CHECK, cell.source, float(points))


def _check_form(exercise: Exercise, file: str) -> None:
    for needed in (f"test_{file}", "mistakes.py", "variants.py"):
        if not (exercise.folder / needed).is_file():
            raise AuthorError(f"solutions/{exercise.name}: {needed} is missing; an exercise has {file}, test_{file}, mistakes.py and variants.py")
    seen: set[str] = set()
    for cell in exercise.cells:
        if cell.id in seen:
            raise AuthorError(f'{file}, cell "{cell.id}": this name stands there twice; give each cell its own')
        seen.add(cell.id)
        _check_markers(cell, file)
    if exercise.seconds is not None and not (isinstance(exercise.seconds, (int, float)) and exercise.seconds > 0):
        raise AuthorError(f"{file}, header: seconds is {exercise.seconds!r}; say how long a call may take, for example `seconds: 30`")
    unknown = set(exercise.forbidden_lists) - set(LISTS)
    if unknown:
        raise AuthorError(f"{file}, header: forbidden list {sorted(unknown)} is unknown; there are {sorted(LISTS)}")
    _check_tests(exercise, file)


def _check_markers(cell: Cell, file: str) -> None:
    where = f'{file}, cell "{cell.id}"'
    inside = False
    for number, line in enumerate(cell.source.splitlines(), 1):
        if BEGIN in line:
            if inside:
                raise AuthorError(f"{where}, line {number}: a second BEGIN SOLUTION before END SOLUTION")
            inside = True
        elif END in line:
            if not inside:
                raise AuthorError(f"{where}, line {number}: END SOLUTION without BEGIN SOLUTION")
            inside = False
    if inside:
        raise AuthorError(f"{where}: BEGIN SOLUTION without END SOLUTION")
    if (BEGIN in cell.source) != (cell.kind == ANSWER):
        raise AuthorError(f"{where}: an answer cell, and no other, holds BEGIN SOLUTION and END SOLUTION")


def _check_tests(exercise: Exercise, file: str) -> None:
    tested = {test.check for test in exercise.tests}
    if orphans := tested - set(exercise.checks):
        raise AuthorError(f"test_{file}: check {sorted(orphans)} has no cell in {file}")
    if untested := set(exercise.checks) - tested:
        raise AuthorError(f'{file}, cell "{sorted(untested)[0]}": no test in test_{file} is marked with this check')


@lru_cache
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
