"""An exercise as a notebook: with its answers, and as learners get it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.preprocessors import ClearOutput, ClearSolutions, ComputeChecksums, LockCells
from traitlets.config import Config

from ..exercise.cache import cached
from ..exercise.model import Exercise
from ..exercise.reading import chapter_title, read_exercise, site_settings
from ..exercise.shapes import drawings, with_pictures
from ..kit.cells import ANSWER, CHECK, SETUP, TEXT, TRY, Cell

# On Colab a notebook is opened alone. Nothing is defined here, and beside its files it does nothing.
FETCH = """\
# Alone, as on Colab, this notebook lacks its checks: run this cell first, and it fetches them. Beside them it does nothing.
if not __import__("pathlib").Path("check.py").exists():
    %pip install --quiet jaxtyping
    !git clone --quiet --depth 1 {url} attention-by-hand
    %cd -q attention-by-hand/exercises/{name}
    if not __import__("pathlib").Path("check.py").exists():
        print("The checks could not be fetched from {url}: is there a connection to it?")"""
STUB = 'raise NotImplementedError("not answered yet")'
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def stub_config() -> Config:
    """Return the settings for cutting out answers; nbgrader_config.py uses them too."""
    config = Config()
    config.ClearSolutions.code_stub = {"python": STUB}
    return config


def pictures(exercise: Exercise) -> list[str]:
    """Return the pictures of an exercise's shapes, in order."""
    return [drawn for cell in exercise.cells if cell.kind == TEXT for drawn in drawings(cell.source)]


def picture_files() -> Iterator[str]:
    """Yield the names of the files that hold an exercise's pictures, in order."""
    return (f"shapes_{number}.svg" for number in itertools.count(1))


def source_notebook(exercise: Exercise) -> NotebookNode:
    """Return the notebook with its answers, or the mistakes that are handed out in their place, and nbgrader's metadata."""
    files = picture_files()
    cells = [_notebook_cell(exercise.as_handed_out(cell), files) for cell in exercise.cells]
    title = cells[0].source.split("\n", 1)
    cells[0].source = "\n".join([title[0], "", summary(exercise), *title[1:]])
    if address := site_settings().get("repository", {}).get("url"):
        cells.insert(1, fetching(address, exercise.name))
    facts = {"title": exercise.title, "chapter": exercise.chapter}
    return new_notebook(cells=cells, metadata={"kernelspec": KERNEL, "language_info": {"name": "python"}, "exercise": facts})


def fetching(address: str, name: str) -> NotebookNode:
    """Return the cell with which a notebook that is alone gets what it needs."""
    return new_code_cell(FETCH.format(url=address, name=name), id="fetch", metadata={"tags": ["remove-cell"]})


def summary(exercise: Exercise) -> str:
    """Return the line that says how hard an exercise is, how long it takes and how many points it has."""
    points = f"{len(exercise.checks)} checks, {sum(exercise.checks.values()):g} points"
    return f"**{exercise.difficulty.capitalize()}** · about {exercise.minutes} minutes · {points} · chapter *{chapter_title(exercise.chapter)}*"


def released_notebook(exercise: Exercise) -> NotebookNode:
    """Return the notebook without its answers, made by nbgrader's own steps."""
    return deepcopy(_released_notebook(exercise.folder))


def stubs(exercise: Exercise) -> dict[str, str]:
    """Return the source of every answer cell as learners get it."""
    return _stubs(exercise.folder)


@cached()
def _stubs(folder: Path) -> dict[str, str]:
    exercise = read_exercise(folder)
    files = picture_files()
    notebook = new_notebook(cells=[_notebook_cell(exercise.as_handed_out(cell), files) for cell in exercise.answers])
    notebook, _ = ClearSolutions(config=stub_config()).preprocess(notebook, {})
    return {cell.id: cell.source for cell in notebook.cells}


@cached()
def _released_notebook(folder: Path) -> NotebookNode:
    notebook = source_notebook(read_exercise(folder))
    for step in (LockCells, ClearSolutions, ClearOutput, ComputeChecksums):
        notebook, _ = step(config=stub_config()).preprocess(notebook, {})
    return notebook


def _notebook_cell(cell: Cell, files: Iterator[str]) -> NotebookNode:
    if cell.kind == TEXT:
        return new_markdown_cell(with_pictures(cell.source, files), id=cell.id)
    if cell.kind == TRY:  # without an answer it raises an error, after which the cells below must still run
        return new_code_cell(cell.source, id=cell.id, metadata={"tags": [TRY, "raises-exception"]})
    nbgrader = {
        "grade": cell.kind == CHECK,
        "grade_id": cell.id,
        "locked": cell.kind in (CHECK, SETUP),
        "schema_version": 3,
        "solution": cell.kind == ANSWER,
        "task": False,
    }
    if cell.kind == CHECK:
        nbgrader["points"] = cell.points
    return new_code_cell(cell.source, id=cell.id, metadata={"nbgrader": nbgrader})
