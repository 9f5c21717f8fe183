"""The tests are proven: each mistake fails what it names, each right answer passes everything."""

import json

import pytest

from autograder.authoring import matrix as matrices
from autograder.authoring.matrix import matrix
from autograder.authoring.reach import sees
from autograder.exercise import reading as exercises
from autograder.exercise.known import KnownAnswer
from autograder.judging.answers import known_learner, reference_learner
from autograder.judging.verdicts import counted
from autograder.kit.suite import Test, failure

SEED = 1


# The site's page of the matrix is made with seed 1, and is not made when there is a problem.
@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 9))
@pytest.mark.parametrize("name", exercises.all_names())
def test_no_problem_for_any_seed(name, seed):
    if exercises.load(name).seconds and seed > 3:
        pytest.skip("it trains for a minute, at two seeds")
    assert matrix([name], seed)["problems"] == []


@pytest.mark.parametrize("name", exercises.all_names())
def test_enough_mistakes_and_variants(name):
    exercise = exercises.load(name)
    assert len(exercise.mistakes) >= 12
    assert len(exercise.variants) >= 5


def test_mistake_that_passes_a_check_is_a_problem():
    row = {"fails": {"scale": "wrong answer"}, "named": {}, "expected": ["scale", "mask"], "checks": ["scale", "mask"]}
    assert matrices._mistake_problems("x", "m", row) == ["x: the mistake m passes mask"]


def test_mistake_that_fails_more_than_it_names_is_a_problem():
    fails = {"scale": "wrong answer", "mask": "wrong answer"}
    why = {"mask": "test_mask: weights: differ"}
    row = {"fails": fails, "why": why, "named": {}, "expected": ["scale"], "checks": ["scale", "mask"]}
    assert matrices._mistake_problems("x", "m", row) == ["x: the mistake m fails mask too (test_mask: weights: differ)"]


def test_mistake_that_fails_nothing_is_a_problem():
    assert matrices._mistake_problems("x", "m", {"fails": {}, "expected": ["a"], "checks": ["a"]}) == ["x: the mistake m fails no check"]


def test_mistake_that_gets_no_name_or_that_of_another_is_a_problem():
    row = {"fails": dict.fromkeys(["scale", "mask"], "wrong answer"), "expected": ["scale", "mask"], "checks": ["scale", "mask"]}
    assert matrices._mistake_problems("x", "m", {**row, "named": {"scale": "m", "mask": "m"}}) == []
    assert matrices._mistake_problems("x", "m", {**row, "named": {"scale": "", "mask": "n"}}) == [
        "x: the mistake m is given no name in scale",
        "x: the mistake m is given the name n in mask",
    ]


def out_of_sight(name: str) -> list[tuple[KnownAnswer, Test]]:
    """Return which tests the matrix does not run for which known answers."""
    exercise = exercises.load(name)
    tests = [test for check in exercise.checks for test in counted(exercise, check)]
    return [(known, test) for known in exercise.mistakes + exercise.variants for test in tests if not sees(exercise, known, test, SEED)]


@pytest.mark.parametrize(
    "name", [each if each == "kv_cache" else pytest.param(each, marks=pytest.mark.soak) for each in exercises.all_names()]
)
def test_what_a_test_cannot_see_passes_it(name):
    spared = out_of_sight(name)
    assert spared
    for known, test in spared:
        assert failure(test, known_learner(name, known.name), SEED, reference_learner(name)) is None, (known.name, test.name)


def test_a_test_sees_what_its_functions_use(single_head):
    """Attention uses softmax; nobody who asks for softmax asks for attention, and nobody at all for less than the whole of a change."""
    spared = {(known.name, test.name) for known, test in out_of_sight("single_head")}
    tests = {test.name: test.check for test in single_head.tests}
    assert ("no_scale", "test_scores_of_a_thousand") in spared
    (scale,) = [known for known in single_head.mistakes if known.name == "no_scale"]
    assert not [test for test, check in tests.items() if check in scale.fails and (scale.name, test) in spared]
    assert ("softmax_over_everything", "test_fresh_batches") not in spared


def test_variant_that_fails_and_check_that_nobody_fails_are_problems(single_head):
    rows = {"m": {"fails": {"scale": "wrong answer"}, "named": {}, "expected": ["scale"], "checks": list(single_head.checks)}}
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
