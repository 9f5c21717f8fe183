"""single_head as a course for stock nbgrader: the same answers, tests in cells as its documentation teaches."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from autograder.exercise import reading as exercises
from autograder.exercise.notebook import source_notebook

EXERCISE = "single_head"
CONFIG = 'c = get_config()\nc.CourseDirectory.course_id = "stock"\n'
CHECKS = {
    "softmax": """weights = softmax(torch.tensor([0.0, math.log(2), math.log(3)]))
assert isinstance(weights, torch.Tensor), f"a tensor was expected, and this came: {weights!r:.200}"
assert torch.allclose(weights, torch.tensor([1.0, 2.0, 3.0]) / 6), f"{weights}"
### BEGIN HIDDEN TESTS
assert torch.allclose(softmax(torch.tensor([1000.0, 1001.0])), torch.tensor([0.268941, 0.731059]))
### END HIDDEN TESTS""",
    "causal": """mask = causal_mask(3)
assert isinstance(mask, torch.Tensor), f"a tensor was expected, and this came: {mask!r:.200}"
assert torch.equal(mask, torch.tensor([[True, False, False], [True, True, False], [True, True, True]])), f"{mask}"
### BEGIN HIDDEN TESTS
assert causal_mask(5).dtype == torch.bool
assert torch.equal(causal_mask(5).sum(dim=1), torch.arange(1, 6))
### END HIDDEN TESTS""",
    "padding": """mask = padding_mask(torch.tensor([2, 3]), 3)
assert isinstance(mask, torch.Tensor), f"a tensor was expected, and this came: {mask!r:.200}"
assert torch.equal(mask, torch.tensor([[[True, True, False]], [[True, True, True]]])), f"{mask}"
### BEGIN HIDDEN TESTS
assert padding_mask(torch.tensor([1, 5, 2]), 7).sum() == 8
### END HIDDEN TESTS""",
}


def notebook(answers: dict[str, str]) -> NotebookNode:
    """Return the learner's notebook with these answers and stock tests, hidden ones still in."""
    made = source_notebook(exercises.load(EXERCISE))
    made.cells = [cell for cell in made.cells if not cell.metadata.get("nbgrader", {}).get("grade")]
    for cell in made.cells:
        cell.source = answers.get(cell.id, cell.source.replace("from check import check, hint", "").rstrip())
    made.cells += [_check(name, source) for name, source in CHECKS.items()]
    return made


def handed_in(answers: dict[str, str]) -> NotebookNode:
    """Return the notebook as a learner hands it in: without hidden tests."""
    made = notebook(answers)
    for cell in made.cells:
        head, _, tail = cell.source.partition("### BEGIN HIDDEN TESTS")
        cell.source = head.rstrip() + tail.partition("### END HIDDEN TESTS")[2]
    return made


def write_course(folder: Path, answers: dict[str, str]) -> None:
    """Lay out a course with its gradebook, as `nbgrader generate_assignment` makes it."""
    source = folder / "source" / EXERCISE / f"{EXERCISE}.ipynb"
    source.parent.mkdir(parents=True)
    source.write_text(nbformat.writes(notebook(answers)), encoding="utf-8")
    (folder / "nbgrader_config.py").write_text(CONFIG)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command = [sys.executable, "-m", "nbgrader", "generate_assignment", EXERCISE]
    subprocess.run(command, cwd=folder, env={**os.environ, "PATH": path}, check=True, capture_output=True)


def _check(name: str, source: str) -> NotebookNode:
    marks = {"grade": True, "grade_id": name, "locked": True, "points": 1, "schema_version": 3, "solution": False, "task": False}
    return new_code_cell(source, id=f"check-{name}", metadata={"nbgrader": marks})
