"""start.ipynb: where a learner stands over all exercises, and what comes next."""

import json
import shutil

import nbformat
import pytest
from nbclient import NotebookClient

from autograder.exercise import reading as exercises
from autograder.kit.outcome import Outcome, Verdict
from autograder.kit.progress import Progress
from autograder.kit.status import next_after, standings
from tests.conftest import ROOT


@pytest.fixture
def desk(tmp_path):
    shutil.copytree(ROOT / "exercises", tmp_path / "desk", ignore=shutil.ignore_patterns("__pycache__", ".progress.json"))
    return tmp_path / "desk"


def finish(desk, name: str) -> None:
    points = json.loads((desk / name / "exercise.json").read_text())["points"]
    Progress(desk / name).remember([Verdict(check, Outcome.PASSED, most) for check, most in points.items()])


def test_exercises_stand_in_the_books_order_and_the_optional_ones_are_marked(desk):
    found = standings(desk)
    assert [each.name for each in found] == exercises.all_names()
    assert (
        {each.name for each in found if each.optional}
        == exercises.optional_names()
        == {"rotary", "grouped_query", "kv_cache", "patches", "int8"}
    )
    assert all(each.points == 0 and each.most == sum(exercises.load(each.name).checks.values()) for each in found)


def test_what_comes_next_is_the_next_that_is_not_done_and_optional_ones_come_last(desk):
    assert next_after(standings(desk)).name == "similarity"
    finish(desk, "similarity")
    assert next_after(standings(desk)).name == "single_head"
    assert next_after(standings(desk), "capstone").name == "single_head"
    for name in exercises.all_names()[1:]:
        if name not in exercises.optional_names():
            finish(desk, name)
    assert next_after(standings(desk)).name == "rotary"
    for name in exercises.optional_names():
        finish(desk, name)
    assert next_after(standings(desk)) is None


def test_the_notebook_shows_points_and_links_that_lead_somewhere(desk):
    finish(desk, "similarity")
    notebook = nbformat.read(desk / "start.ipynb", as_version=4)
    NotebookClient(notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(desk)}}).execute()
    shown = notebook.cells[-1].outputs[0]["data"]
    most = sum(exercises.load("similarity").checks.values())
    assert f"`██████████` {most:g} of {most:g} | easy" in shown["text/markdown"] and "Next: [" in shown["text/markdown"]
    links = [line.split("](")[1].split(")")[0] for line in shown["text/markdown"].splitlines() if line.startswith("| [")]
    assert len(links) == len(exercises.all_names()) and all((desk / link).is_file() for link in links)
    assert "rotary" in shown["text/plain"] and "optional" in shown["text/plain"]
