"""An exercise's folder in solutions/, read and checked."""

from __future__ import annotations

import re
from pathlib import Path

import jupytext
import yaml
from nbformat import NotebookNode

from .. import ROOT
from ..errors import AuthorError, UnknownExercise
from ..kit.cells import ANSWER, CHECK, SETUP, TEXT, TRY, Cell
from .cache import cached
from .hints import HINTS, hints_of, is_hints
from .model import Exercise
from .places import Place, places_of
from .rules import check_form, check_header

SOLUTIONS = ROOT / "solutions"
BOOK = ROOT / "book"
NAME = re.compile(r"[a-z][a-z0-9_]*")


def all_names() -> list[str]:
    """Return the names of all exercises: the folders of solutions/ that hold a notebook, in the book's order."""
    found = {f.name for f in SOLUTIONS.iterdir() if (f / f"{f.name}.py").is_file()}
    order = re.findall(r"exercises/(\w+)/", (ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [name for name in order if name in found] + sorted(found - set(order))


def optional_names() -> set[str]:
    """Return the exercises that the book's contents list as optional."""
    text = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    optional = re.search(r"caption: Optional exercises\n(.*?)(?=\n  - caption|\Z)", text, re.DOTALL)
    return set(re.findall(r"exercises/(\w+)/", optional[1])) if optional else set()


def site_settings() -> dict:
    """Return what `_config.yml` says about the site: where it is published, and where its source is; nothing where there is no site."""
    path = ROOT / "_config.yml"
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}


def load(name: str) -> Exercise:
    """Return the exercise; raises `UnknownExercise`, or `AuthorError` if its source breaks a rule."""
    if not (name.isidentifier() and (SOLUTIONS / name / f"{name}.py").is_file()):
        raise UnknownExercise(f"no exercise is called {name!r}; there are: {', '.join(all_names())}")
    return read_exercise(SOLUTIONS / name)


def chapter_title(chapter: str) -> str:
    """Return what a chapter of the book is called, without the question that it asks."""
    heading = re.search(r"^# (.*?)(?::.*)?$", (BOOK / f"{chapter}.md").read_text(encoding="utf-8"), re.MULTILINE)
    return heading[1] if heading else chapter


@cached()
def read_exercise(folder: Path) -> Exercise:
    """Return the exercise in a folder; raises `AuthorError`."""
    path = folder / f"{folder.name}.py"
    notebook = jupytext.read(path, fmt="py:percent")
    about = notebook.metadata.get("exercise", {})
    check_header(about, path.name, BOOK)
    places = places_of(path, _names(notebook.cells))
    cells = [_cell(cell, place) for cell, place in zip(notebook.cells, places)]
    shown, hints = tuple(cell for cell in cells if cell.kind != HINTS), hints_of(cells, places)
    facts = {field: about[field] for field in ("title", "chapter", "difficulty", "minutes")}
    lists, handed_out = (
        tuple(about.get("forbidden", [])),
        {f"answer-{c.metadata['answer']}": c.metadata["handed_out"] for c in notebook.cells if "handed_out" in c.metadata},
    )
    exercise = Exercise(
        folder=folder, forbidden_lists=lists, cells=shown, hints=hints, handed_out=handed_out, seconds=about.get("seconds"), **facts
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
