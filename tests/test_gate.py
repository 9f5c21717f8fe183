"""The gate that learners trust is the gate that marks: `check()` and pytest ask the answers that the judge would take, and nothing else.

The notebooks run in real kernels as JupyterLab runs them, which says which cell it is. Validate, which does not, is asked about all right answers in test_walk.py.
"""

import io
import shutil
import subprocess
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell
from nbgrader.validator import Validator

from autograder.authoring.sample import handed_in
from autograder.grading import grade
from autograder.kit.magics import without_magics
from autograder.kit.outcome import Outcome
from tests.conftest import ROOT
from tests.kernels import Kernel

pytestmark = pytest.mark.usefixtures("forked_kernels")

OWN = "def attend(scores):\n    return (scores - scores.max()).exp()\n"
LAYOUTS = {
    "a helper in a cell of its own": lambda cells: _split(cells, "softmax", OWN),
    "an import in a cell of its own": lambda cells: _split(cells, "softmax", "import math as maths", uses="maths.pi"),
    "a number in a cell of its own": lambda cells: _split(cells, "softmax", "SMALL = 1e-9", uses="SMALL"),
    "a helper in the answer": lambda cells: _answer(cells, "softmax", OWN + "\n"),
    "an answer that was redefined below": lambda cells: [*cells, new_code_cell("def softmax(scores):\n    return scores", id="mine")],
    "IPython's commands in an answer": lambda cells: _answer(cells, "softmax", "%matplotlib inline\n!echo hi"),
    "an answer that is timed": lambda cells: _timed(cells, "softmax"),
    "cells run from the bottom": lambda cells: [cells[0], *cells[:0:-1]],
}


def _place(cells: list, name: str) -> int:
    return next(n for n, c in enumerate(cells) if c.metadata.get("nbgrader", {}).get("solution") and f"def {name}(" in c.source)


def _answer(cells: list, name: str, above: str) -> list:
    place = _place(cells, name)
    cells[place].source = above + "\n" + cells[place].source
    return cells


def _timed(cells: list, name: str) -> list:
    place = _place(cells, name)
    cells[place].source = "%%time\n" + cells[place].source
    return cells


def _split(cells: list, name: str, own: str, uses: str = "attend(scores)") -> list:
    """Let an answer use a name that a cell of its own, above it, defines."""
    place = _place(cells, name)
    line = f"def {name}(scores):\n    {uses}"
    cells[place].source = (
        cells[place].source.replace(f"def {name}(", f"def right_{name}(", 1) + f"\n\n\n{line}\n    return right_{name}(scores)\n"
    )
    return [*cells[:place], new_code_cell(own, id="own"), *cells[place:]]


@pytest.fixture
def desk(tmp_path):
    """Return a learner's folder of exercises."""
    shutil.copytree(ROOT / "exercises", tmp_path / "desk", ignore=shutil.ignore_patterns("__pycache__", ".progress.json"))
    return tmp_path / "desk"


def laid_out(exercise, layout):
    notebook = handed_in(exercise, None)
    text = [c for c in notebook.cells if c.cell_type == "markdown"][:1]
    notebook.cells = text + layout([c for c in notebook.cells if c.cell_type == "code"])
    return notebook


def outcomes_in(shown: dict[str, str], exercise) -> dict[str, str]:
    return {check: shown[check].split("\n")[0].removeprefix(f"{check}: ") for check in exercise.checks}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_every_front_end_gives_the_judges_verdicts(layout, desk, course, single_head):
    notebook = laid_out(single_head, layout)
    submitted = course.submitted / "ada" / "single_head" / "single_head.ipynb"
    for path in (submitted, desk / "single_head" / "single_head.ipynb"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(nbformat.writes(notebook), encoding="utf-8")
    (entry,) = grade(course, ["single_head"]).entries
    visible = {test.check for test in single_head.tests if not test.hidden}
    judged = {v.check: v.outcome.value for v in entry.verdicts if v.check in visible}
    with Kernel(desk / "single_head") as kernel:
        shown = kernel.notebook(notebook)
        again = {check: kernel.run(f'check("{check}")', check) for check in single_head.checks}
    assert outcomes_in(again, single_head) == judged
    if any("of its own" in v.reason for v in entry.verdicts):
        told = next(v.reason for v in entry.verdicts if "of its own" in v.reason)
        assert told.split(": ", 1)[1] in again["softmax"], again["softmax"]
    assert shown  # the cells ran to the end


# In pytest it does not matter which cells have been run, or in which order: by day one layout that is right, and one that is not.
IN_PYTEST = {"a helper in the answer": True, "a helper in a cell of its own": False}
AT_NIGHT = [pytest.param(name, None, marks=pytest.mark.nightly) for name in LAYOUTS if name not in IN_PYTEST]


@pytest.mark.parametrize("name, is_right", [*IN_PYTEST.items(), *AT_NIGHT])
def test_pytest_gives_the_judges_verdict_too(name, is_right, desk, course, hand_in, single_head):
    notebook = laid_out(single_head, LAYOUTS[name])
    (desk / "single_head" / "single_head.ipynb").write_text(nbformat.writes(notebook), encoding="utf-8")
    tests = subprocess.run([sys.executable, "-m", "pytest", "-q", "-rA", "single_head"], cwd=desk, capture_output=True, text=True).stdout
    hand_in("ada", single_head, change=lambda handed: handed.update(notebook))
    (entry,) = grade(course, ["single_head"]).entries
    all_right = {v.outcome for v in entry.verdicts if any(t.check == v.check and not t.hidden for t in single_head.tests)} == {
        Outcome.PASSED
    }
    assert (" failed" in tests) is not all_right and is_right in (all_right, None), tests[-800:]


def test_validate_finds_what_the_judge_would(desk, single_head):
    for layout, is_right in (("a helper in the answer", True), ("a helper in a cell of its own", False)):
        path = desk / "single_head" / "single_head.ipynb"
        path.write_text(nbformat.writes(laid_out(single_head, LAYOUTS[layout])), encoding="utf-8")
        validator = Validator()
        validator.stream = io.StringIO()
        validator.validate_and_print(str(path))
        assert ("Success" in validator.stream.getvalue()) is is_right, validator.stream.getvalue()[-2000:]


@pytest.fixture
def kernel(desk, single_head):
    """A kernel in which the setup and all right answers of single_head have run."""
    with Kernel(desk / "single_head") as one:
        one.notebook_of = handed_in(single_head, None)
        for cell in one.notebook_of.cells:
            if cell.cell_type == "code" and not cell.metadata.get("nbgrader", {}).get("grade"):
                one.run(cell.source, cell.id)
        yield one


def answer_cell(kernel, name: str):
    cells = [c for c in kernel.notebook_of.cells if c.cell_type == "code"]
    return cells[_place(cells, name)]


def test_an_answer_that_has_not_been_run_is_asked_for(desk):
    with Kernel(desk / "single_head") as kernel:
        kernel.run("import torch\nfrom check import check, hint")
        shown = kernel.run('check("softmax")')
        assert "softmax: no answer given" in shown and "its cell has not been run" in shown


@pytest.mark.parametrize("body", ["pass", "try:\n            pass\n        except Exception:\n            pass"])
def test_what_never_ends_is_stopped(kernel, body):
    kernel.run("check._seconds = 0.5")
    kernel.run(f"def softmax(scores):\n    while True:\n        {body}", answer_cell(kernel, "softmax").id)
    assert "softmax: time limit\nwhat happened: no answer came within 0.5 seconds" in kernel.run('check("softmax")')
    assert kernel.run("print(1 + 1)") == "2\n"


def test_what_catches_one_interruption_is_interrupted_again(kernel):
    kernel.run("check._seconds = 0.5")
    once = "try:\n        while True:\n            pass\n    except BaseException:\n        pass\n    while True:\n        pass"
    kernel.run(f"def softmax(scores):\n    {once}", answer_cell(kernel, "softmax").id)
    assert "time limit" in kernel.run('check("softmax")')


def test_an_interruption_shows_the_learners_line_only(kernel):
    kernel.run("def softmax(scores):\n    raise KeyboardInterrupt", answer_cell(kernel, "softmax").id)
    assert kernel.run('check("softmax")') == "Stopped in softmax, line 2.\n"


def test_points_go_down_when_something_breaks(kernel, single_head):
    most = f"{sum(single_head.checks.values()):g}"
    kernel.run("check()")
    assert f"{most} of {most} points so far" in kernel.run('check("softmax")')
    cell = answer_cell(kernel, "softmax")
    kernel.run(cell.source + "\n# changed", cell.id)
    shown = kernel.run('check("softmax")')
    assert f"{single_head.checks['softmax']:g} of {most} points so far; your answers have changed since stable" in shown
    assert "points so far" not in kernel.run("check()") and f"{most} of {most} points so far" in kernel.run('check("scale")')


def test_prints_of_an_answer_are_seen_once(kernel, single_head):
    cell = answer_cell(kernel, "softmax")
    wrong = "def softmax(scores):\n    print('looking')\n    return scores / scores.sum(dim=-1, keepdim=True)"
    kernel.run(wrong, cell.id)
    visible = [test for test in single_head.tests if not test.hidden and test.check == "softmax"]
    assert 1 <= kernel.run('check("softmax")').count("looking") <= 3 * len(visible)


def test_checks_are_completed_by_name(kernel):
    assert "'softmax'" in kernel.run("print(dir(check))") and "softmax: passed" in kernel.run("check.softmax()")


def test_a_hint_without_a_name_says_what_to_say(kernel):
    assert 'say for which check, such as hint("softmax")' in kernel.run("hint()")


def test_a_mistake_that_fails_many_checks_is_told_once(kernel, single_head):
    wrong = "def softmax(scores):\n    parts = (scores - scores.amax(dim=0, keepdim=True)).exp()\n    return parts / parts.sum(dim=0, keepdim=True)"
    kernel.run(wrong, answer_cell(kernel, "softmax").id)
    shown = kernel.run("check()")
    assert shown.count("first axis instead of the last") <= 1 and shown.count("wrong answer") > 3


@pytest.mark.parametrize(
    "source, python",
    [
        ("%%time\ndef f(x):\n    return x", "\ndef f(x):\n    return x"),
        ("%%capture out\n%time z = 4\nw = 1", "\nz = 4\nw = 1"),
        ("%matplotlib inline\n!echo hi\ndef f(): pass", "pass\npass\ndef f(): pass"),
        ("if x:\n    %time y = 2\nz = 3", "if x:\n    y = 2\nz = 3"),
        ("%%bash\nls", ""),
        ("torch.softmax?\nb = 1", "pass\nb = 1"),
        ("def f(:", "def f(:"),
        ("x = '%time'", "x = '%time'"),
    ],
)
def test_commands_of_ipythons_are_taken_out_and_lines_stay_where_they_were(source, python):
    assert without_magics(source).rstrip() == python
