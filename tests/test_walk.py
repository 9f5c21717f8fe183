"""A new learner's walk: unpack the release, answer in a real Jupyter kernel, check, validate, submit, get the mark."""

import io
import itertools
import json
import re
import shutil
import zipfile

import nbformat
import pytest
from exercise_downloads import ARCHIVE
from nbclient import NotebookClient
from nbgrader.validator import Validator
from traitlets.config import Config

from autograder.exercise import reading as exercises
from autograder.grading import grade
from autograder.judging.answers import answers
from autograder.kit.outcome import Outcome
from tests.conftest import ROOT
from tests.kernels import Kernel

pytestmark = pytest.mark.usefixtures("forked_kernels")


@pytest.fixture
def unpacked(tmp_path):
    """Return the folder of exercises as the site's download leaves it."""
    archive = ROOT / "_build" / "html" / ARCHIVE
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(tmp_path / "downloads")
    (folder,) = (p.parent for p in (tmp_path / "downloads").rglob("requirements.txt"))
    return folder


def _answer(path, sources: dict[str, str]):
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell.source = sources.get(cell.id, cell.source)
    nbformat.write(notebook, path)


def _run(path):
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}).execute()
    return notebook


def _outputs(notebook) -> dict[str, str]:
    """Return what each check cell shows, as text."""
    checks = [c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade")]
    return {c.id: c.outputs[0]["data"]["text/plain"] for c in checks}


class Kept(Validator):
    """What `nbgrader validate` does with a notebook. It keeps the notebook as it came out of its kernel."""

    def _preprocess(self, notebook):
        self.executed = super()._preprocess(notebook)
        return self.executed


# These have a kernel every day: what the others need beside it, matrix and pytest see each time.
IN_A_KERNEL = {"single_head", "bug_hunt", "multi_head", "capstone"}
SOME_AT_NIGHT = [each if each in IN_A_KERNEL else pytest.param(each, marks=pytest.mark.nightly) for each in exercises.all_names()]


@pytest.mark.parametrize("name", SOME_AT_NIGHT)
def test_walk_of_a_learner_who_gets_it_right(name, unpacked, course):
    exercise, path = exercises.load(name), unpacked / name / f"{name}.ipynb"
    _answer(path, answers(exercise, exercise.variants[0]))
    validator = Kept(config=Config(Execute={"timeout": 120}))
    validator.stream = io.StringIO()
    validator.validate_and_print(str(path))
    assert "Success" in validator.stream.getvalue()
    output, most = _outputs(validator.executed), sum(exercise.checks.values())
    reached = itertools.accumulate(exercise.checks.values())
    assert output == {check: f"{check}: passed\n{points:g} of {most:g} points so far" for check, points in zip(exercise.checks, reached)}

    target = course.submitted / "newcomer" / name / path.name
    target.parent.mkdir(parents=True)
    shutil.copy(path, target)
    (entry,) = grade(course, [name]).entries
    assert entry.score == sum(exercise.checks.values())


def test_command_validates_a_notebook(unpacked, command, single_head):
    path = unpacked / "single_head" / "single_head.ipynb"
    _answer(path, answers(single_head, single_head.variants[0]))
    done = command("nbgrader", "validate", path)
    assert "Success" in done.stdout + done.stderr


# In pytest each time all of them are seen to be unanswered: below.
@pytest.mark.parametrize("name", SOME_AT_NIGHT)
def test_unanswered_notebook_runs_to_the_end_without_a_traceback(name, unpacked):
    exercise, notebook = exercises.load(name), nbformat.read(unpacked / name / f"{name}.ipynb", as_version=4)
    with Kernel(unpacked / name) as kernel:
        shown = kernel.notebook(notebook)
    # An error would be among these.
    lines = {line for cell, text in shown.items() if cell not in exercise.checks for line in text.splitlines()}
    assert {line for line in lines if not line.startswith("Ask it: check.")} <= {"not answered yet"}
    output = {check: shown[check] for check in exercise.checks}
    # Where a bug is handed out to be found, it is answered: wrongly, and with its name.
    bugs = {check: m.title for m in exercise.mistakes if m.name in exercise.handed_out.values() for check in m.fails}
    assert all(bugs[check] in output[check] for check in bugs)
    assert {text.splitlines()[0].split(": ")[1] for check, text in output.items() if check not in bugs} == {Outcome.NO_ANSWER.value}
    assert all(
        "not answered yet" in text and f'hint("{check}") opens the first of 3 hints' in text
        for check, text in output.items()
        if check not in bugs
    )


def test_mistake_is_named_in_the_notebook(unpacked, single_head):
    mistake = single_head.mistakes[0]
    path = unpacked / "single_head" / "single_head.ipynb"
    _answer(path, answers(single_head, mistake))
    notebook = _run(path)
    output = _outputs(notebook)
    first = mistake.fails[0]
    assert output[first].startswith(f"{first}: wrong answer") and mistake.title in output[first] and mistake.hint in output[first]
    html = next(c for c in notebook.cells if c.id == first).outputs[0]["data"]["text/html"]
    assert "put in" in html and "expected" in html and "came" in html
    assert output[first].endswith("points so far") and f'hint("{first}")' in output[first]


def test_ready_made_is_refused_in_the_notebook(unpacked, single_head):
    path = unpacked / "single_head" / "single_head.ipynb"
    for body in ("return torch.softmax(scores, -1)", "return getattr(torch, 'soft' + 'max')(scores, -1)"):
        _answer(path, {**answers(single_head), "answer-softmax": f"def softmax(scores):\n    {body}"})
        output = _outputs(_run(path))
        assert output["softmax"].startswith(f"softmax: {Outcome.FORBIDDEN.value}") and "torch.softmax" in output["softmax"]


def test_torch_may_be_compared_with_outside_the_answer(unpacked, single_head):
    path = unpacked / "single_head" / "single_head.ipynb"
    _answer(path, answers(single_head))
    notebook = nbformat.read(path, as_version=4)
    place = next(n for n, c in enumerate(notebook.cells) if c.id == "softmax")
    notebook.cells.insert(place, nbformat.v4.new_code_cell("torch.softmax(torch.zeros(2), 0).tolist()"))
    nbformat.write(notebook, path)
    assert _run(path).cells[place].outputs[0]["data"]["text/plain"] == "[0.5, 0.5]"


def test_terminal_says_the_same(unpacked, command, single_head):
    unanswered = [unpacked / name for name in exercises.all_names() if not exercises.load(name).handed_out]
    done = command("python", "-m", "pytest", *unanswered, "-q", "-p", "no:cacheprovider")
    assert "skipped" in done.stdout and "passed" not in done.stdout and "failed" not in done.stdout
    _answer(unpacked / "single_head" / "single_head.ipynb", answers(single_head, single_head.mistakes[0]))
    done = command("python", "-m", "pytest", unpacked / "single_head", "-q", "-p", "no:cacheprovider", code=1)
    assert re.search(r"\d+ failed, \d+ passed", done.stdout)


def test_check_of_an_unknown_name_says_which_there_are(unpacked, single_head):
    path = unpacked / "single_head" / "single_head.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[-1].source = 'check("scales")'
    nbformat.write(notebook, path)
    with pytest.raises(Exception, match="there is no check 'scales' here; there are softmax, stable"):
        _run(path)


def test_check_without_a_name_adds_up(unpacked, single_head):
    path = unpacked / "single_head" / "single_head.ipynb"
    _answer(path, answers(single_head))
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("check()"))
    nbformat.write(notebook, path)
    text = json.dumps(_run(path).cells[-1].outputs)
    assert f"{sum(single_head.checks.values()):g} of {sum(single_head.checks.values()):g} points" in text

    # The next day: a kernel that knows nothing, and a notebook in which no answer has been run.
    notebook.cells = [nbformat.v4.new_code_cell("from check import check, hint\ncheck()")]
    nbformat.write(notebook, path)
    text = json.dumps(_run(path).cells[-1].outputs)
    assert "0 of " in text and f"Passed before, and silent now: {', '.join(sorted(single_head.checks))}" in text


def test_hints_open_one_by_one_and_stay_open(unpacked, single_head):
    path, texts = unpacked / "single_head" / "single_head.ipynb", single_head.hints[0].texts
    notebook = nbformat.read(path, as_version=4)
    ask = 'hint("softmax")'
    for calls, opened in ((2, 2), (1, 2), (3, 3)):  # in a new kernel the first call reminds, and opens none
        notebook.cells = [nbformat.v4.new_code_cell(source) for source in ["from check import check, hint", *[ask] * calls]]
        nbformat.write(notebook, path)
        shown = _run(path).cells[-1].outputs[0]["data"]
        assert [text in shown["text/plain"] for text in texts] == [number < opened for number in range(3)]
        assert all(text in shown["text/markdown"] for text in texts[:opened])
