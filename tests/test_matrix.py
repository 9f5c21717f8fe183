"""The tests are proven: each mistake fails what it names, each right answer passes everything."""

import json

import pytest

from autograder.authoring import matrix as matrices
from autograder.authoring.matrix import matrix
from autograder.exercise import reading as exercises


# The site's page of the matrix is made with seed 1, and is not made when there is a problem; test_diagnosis.py has further seeds.
@pytest.mark.soak
@pytest.mark.parametrize("seed", [2, 3])
def test_no_problem_for_any_seed(seed):
    assert matrix(exercises.all_names(), seed)["problems"] == []


@pytest.mark.parametrize("name", exercises.all_names())
def test_enough_mistakes_and_variants(name):
    exercise = exercises.load(name)
    assert len(exercise.mistakes) >= 12
    assert len(exercise.variants) >= 5


def test_mistake_that_passes_a_check_is_a_problem():
    row = {"fails": {"scale": "wrong answer"}, "expected": ["scale", "mask"], "checks": ["scale", "mask"]}
    assert matrices._mistake_problems("x", "m", row) == ["x: the mistake m passes mask"]


def test_mistake_that_fails_more_than_it_names_is_a_problem():
    fails = {"scale": "wrong answer", "mask": "wrong answer"}
    row = {"fails": fails, "why": {"mask": "test_mask: weights: differ"}, "expected": ["scale"], "checks": ["scale", "mask"]}
    assert matrices._mistake_problems("x", "m", row) == ["x: the mistake m fails mask too (test_mask: weights: differ)"]


def test_mistake_that_fails_nothing_is_a_problem():
    assert matrices._mistake_problems("x", "m", {"fails": {}, "expected": ["a"], "checks": ["a"]}) == ["x: the mistake m fails no check"]


def test_variant_that_fails_and_check_that_nobody_fails_are_problems(single_head):
    rows = {"m": {"fails": {"scale": "wrong answer"}, "expected": ["scale"], "checks": list(single_head.checks)}}
    problems = matrices._problems(
        [single_head],
        {"single_head": rows},
        {"single_head": {"v": {"fails": {"mask": "wrong answer"}, "why": {"mask": "test_mask: output: differs"}}}},
    )
    assert "single_head: the right answer v fails mask (test_mask: output: differs)" in problems
    assert "single_head: no mistake fails softmax" in problems
    assert "single_head: no mistake fails scale" not in problems


def test_command_prints_json_and_exits_0(command):
    found = json.loads(command("python", "-m", "autograder", "matrix", "single_head", "feed_forward", "--json").stdout)
    assert set(found) == {"mistakes", "variants", "problems"} and found["problems"] == []
    assert set(found["mistakes"]) == {"single_head", "feed_forward"}


def test_page_has_every_exercise_and_no_problem():
    found = json.loads((exercises.ROOT / "_build" / "matrix.json").read_text(encoding="utf-8"))
    assert set(found["mistakes"]) == set(exercises.all_names()) and found["problems"] == []


def test_command_exits_1_on_a_problem(command, monkeypatch):
    # A seed cannot make a problem, so the command is run with a check that nobody can fail taken as proven.
    script = (
        "import autograder.authoring.matrix as m, sys; real = m._problems; m._problems = lambda *a: real(*a) + ['x: made up'];"
        "sys.argv = ['autograder', 'matrix', 'single_head', '--json']; from autograder.__main__ import run; run()"
    )
    assert json.loads(command("python", "-c", script, code=1).stdout)["problems"] == ["x: made up"]
