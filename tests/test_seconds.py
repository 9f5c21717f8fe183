"""An exercise may say how long a call takes that trains; all front ends then wait so long, and a notebook may hold cells to try."""

import json
from dataclasses import replace

import pytest

from autograder.authoring.release import EXERCISES
from autograder.errors import AuthorError
from autograder.exercise import reading as exercises
from autograder.exercise.notebook import released_notebook
from autograder.intake.submission import Submission
from autograder.judging.answers import answers
from autograder.judging.session import Session
from autograder.kit.cells import TRY
from autograder.kit.notebook import learner_from
from autograder.kit.outcome import TimeLimit
from autograder.limits import Limits
from autograder.records import journal
from autograder.sandbox.levels import Level

ENDLESS = "def train(model, sequences, steps, begin=1):\n    while True:\n        pass"


@pytest.fixture
def capstone():
    return exercises.load("capstone")


def test_exercise_asks_for_longer_calls_and_an_instructor_for_longer_still(capstone):
    assert Limits().allowing(None) == Limits()
    assert Limits().allowing(capstone.seconds).request_seconds == capstone.seconds > Limits().request_seconds
    assert Limits().allowing(capstone.seconds).cpu_seconds > 4 * capstone.seconds
    assert Limits(request_seconds=90.0).allowing(capstone.seconds).request_seconds == 90.0


def test_seconds_are_in_the_name_of_a_verdict(capstone):
    keys = {
        journal.keys_of(Submission("ada", "capstone", {}), replace(capstone, seconds=seconds), 1, Limits(), Level.bubblewrap)["limits"]
        for seconds in (None, 20, 30)
    }
    assert len(keys) == 3


def test_training_that_does_not_end_is_named(zygote, capstone):
    quick = replace(capstone, seconds=None)
    with Session(zygote, quick, {**answers(capstone), "answer-train": ENDLESS}, Limits(request_seconds=2.0)) as session:
        with pytest.raises(TimeLimit, match="^train: no answer after 2 seconds"):
            session.learner.train(None, None, 1)


@pytest.mark.parametrize("seconds", ["soon", "-3"])
def test_an_author_hears_of_seconds_that_are_none(tmp_path, capstone, seconds):
    folder = tmp_path / "capstone"
    folder.mkdir()
    for file in capstone.folder.glob("*.py"):
        (folder / file.name).write_text(file.read_text().replace("seconds: 30", f"seconds: {seconds}"))
    with pytest.raises(AuthorError, match="header: `seconds` is"):
        exercises.read_exercise(folder)


def test_cells_to_try_are_released_and_never_run_by_a_judge(capstone, tmp_path):
    tries = [cell for cell in capstone.cells if cell.kind == TRY]
    assert tries and not set(tries) & set(capstone.code)
    released = {cell.id: cell for cell in released_notebook(capstone).cells}
    for cell in tries:
        assert released[cell.id].source == cell.source and "nbgrader" not in released[cell.id].metadata
    folder = tmp_path / "capstone"
    folder.mkdir()
    notebook = json.loads((EXERCISES / "capstone" / "capstone.ipynb").read_text())
    for cell in notebook["cells"]:
        if TRY in cell["metadata"].get("tags", []):
            cell["source"] = "was_run = lambda: 1"
    (folder / "capstone.ipynb").write_text(json.dumps(notebook))
    (folder / "exercise.json").write_text((EXERCISES / "capstone" / "exercise.json").read_text())
    with pytest.raises(Exception, match="was_run is not defined"):
        learner_from(folder).was_run()
