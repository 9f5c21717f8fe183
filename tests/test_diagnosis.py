"""A known mistake is named in the notebook, as the judge names it (`make _build/matrix.json` proves that); nothing else gets a name."""

import json
import tracemalloc
from functools import cache

import pytest
import torch

from autograder.authoring.release import EXERCISES
from autograder.exercise import reading as exercises
from autograder.exercise.known import KnownAnswer
from autograder.judging.answers import answers, known_learner, reference_learner, trusted_learner
from autograder.judging.combined import CombinedMistakes
from autograder.judging.verdicts import counted, findings, verdicts_on
from autograder.kit import expect, fingerprint
from autograder.kit.cells import ANSWER, Cell, run_here
from autograder.kit.forbidden import NoGuard
from autograder.kit.learner import local
from autograder.kit.outcome import Outcome, Verdict, Wrong, known_by
from autograder.kit.recognise import Evidence, Finding, Suspect, left, mistakes_by_check
from autograder.kit.suite import VISIBLE_SEED, failure, run_check
from tests.conftest import ROOT

MISTAKES = [(name, m.name) for name in exercises.all_names() for m in exercises.load(name).mistakes]
SEED = 99
VARIANTS = [(name, v.name) for name in exercises.all_names() for v in exercises.load(name).variants]


@cache
def matrix() -> dict:
    """Return what the judge finds of each mistake, which has to be what the mistake says: the site is not built otherwise, nor is it without its name."""
    return json.loads((ROOT / "_build" / "matrix.json").read_text(encoding="utf-8"))["mistakes"]


@cache
def suspects_of_learners(name: str) -> list[Suspect]:
    """Return the mistakes as learners receive them."""
    return [Suspect.from_facts(each) for each in json.loads((EXERCISES / name / "exercise.json").read_text())["mistakes"]]


def found_in_notebook(name: str, mistake: str) -> list[Finding]:
    """Return what visible tests find. The judge runs them first, so it finds what a notebook does."""
    row = matrix()[name][mistake]
    return [
        Finding(Verdict(check, Outcome(row["fails"][check])), *row["left"][check])
        if check in row["left"]
        else Finding(Verdict(check, Outcome.PASSED))
        for check in row["checks"]
    ]


def named_in_notebook(name: str, mistake: str) -> dict[str, Suspect]:
    """Return the mistakes that explain what visible tests see, by check."""
    visible = [test for test in exercises.load(name).tests if not (test.hidden or test.gpu)]
    evidence = Evidence(found_in_notebook(name, mistake), visible, lambda test: left(test, known_learner(name, mistake), VISIBLE_SEED))
    return mistakes_by_check(evidence, suspects_of_learners(name))


@pytest.mark.parametrize("name, mistake", MISTAKES)
def test_notebook_names_what_its_visible_tests_see(name, mistake):
    """By the fingerprints that learners receive, and nothing else."""
    found, named = found_in_notebook(name, mistake), named_in_notebook(name, mistake)
    assert {suspect.name for suspect in named.values()} <= {mistake}
    assert {each.verdict.check for each in found if each.verdict.outcome is Outcome.WRONG} <= named.keys()


@pytest.mark.parametrize("mistake", [m.name for m in exercises.load("single_head").mistakes])
def test_judge_finds_in_visible_tests_what_a_notebook_does(single_head, mistake):
    """Which has no reference answer, and nothing hidden."""
    tests = {check: [t for t in single_head.tests if t.check == check and not t.hidden and not t.gpu] for check in single_head.checks}
    ran = {
        check: Finding.of(run_check(check, these, known_learner("single_head", mistake), VISIBLE_SEED)) for check, these in tests.items()
    }
    hidden = {test.name for test in single_head.tests if test.hidden}
    judged = findings(single_head, known_learner("single_head", mistake), SEED)
    seen = {each.verdict.check: (each.test, each.print) for each in judged if each.test and each.test not in hidden}
    assert seen == {check: (each.test, each.print) for check, each in ran.items() if each.test}


@pytest.mark.nightly  # each time they pass with the seed of the matrix, without which there is no site
@pytest.mark.parametrize("name, variant", VARIANTS)
def test_right_answers_pass_with_other_seeds(name, variant):
    """In the hidden tests: visible ones draw the same whatever the seed is."""
    exercise, learner = exercises.load(name), known_learner(name, variant)
    hidden = [test for check in exercise.checks for test in counted(exercise, check) if test.hidden]
    for seed in range(2, 7 if exercise.seconds is None else 4):  # one that trains takes long
        assert [test.name for test in hidden if failure(test, learner, seed, reference_learner(name))] == []


def test_unknown_mistake_has_no_name(single_head):
    sources = answers(single_head)
    sources["answer-softmax"] = "def softmax(scores):\n    return scores * 0 + 0.123"
    namespace, _ = run_here([Cell(c.id, ANSWER, sources.get(c.id, c.source)) for c in single_head.code], {}, [])
    verdicts = {v.check: v for v in verdicts_on(single_head, local(namespace, NoGuard()), seed=4)}
    assert verdicts["softmax"].outcome is Outcome.WRONG and verdicts["softmax"].mistake is None
    assert verdicts["softmax"].question and verdicts["softmax"].reason


def test_fingerprints_tell_outputs_apart_and_forgive_rounding():
    value = torch.randn(3, 5, generator=torch.Generator().manual_seed(0))
    one = fingerprint.of(Wrong("output", "", value))
    assert fingerprint.same(one, fingerprint.of(Wrong("output", "", value + 1e-6)))
    assert not fingerprint.same(one, fingerprint.of(Wrong("output", "", value + 0.01)))
    assert not fingerprint.same(one, fingerprint.of(Wrong("output", "", value.reshape(5, 3))))
    assert not fingerprint.same(one, fingerprint.of(Wrong("weights", "", value)))
    assert not fingerprint.same(one, None)


def _known_by(came, holds: bool) -> dict:
    with pytest.raises(Wrong) as error, known_by("sizes that differ", holds):
        expect(came, torch.ones(2), "sizes")
    return fingerprint.of(error.value)


def test_mistake_is_known_by_words_where_they_hold():
    """What came is shown all the same."""
    one, other = torch.tensor([0.0, 1.0]), torch.tensor([1.0, 2.0])
    assert fingerprint.same(_known_by(one, True), _known_by(other, True)) and not fingerprint.same(
        _known_by(one, False), _known_by(other, False)
    )
    with pytest.raises(Wrong, match="0 where 1 was expected") as error, known_by("sizes that differ"):
        expect(one, torch.ones(2), "sizes")
    assert error.value.came is one
    with pytest.raises(ZeroDivisionError), known_by("sizes that differ"):
        raise ZeroDivisionError
    with known_by("sizes that differ"):
        expect(torch.ones(2), torch.ones(2), "sizes")


def test_fingerprint_of_the_largest_numbers_is_made_of_numbers():
    """An infinity less another is no number, and would be recognised nowhere."""
    largest = fingerprint.of(Wrong("output", "", torch.full((40,), 1e308, dtype=torch.float64)))
    assert fingerprint.same(largest, json.loads(json.dumps(largest))) and all(abs(x) < 1e300 for x in largest["sums"])
    assert not fingerprint.same(largest, fingerprint.of(Wrong("output", "", torch.full((40,), torch.inf, dtype=torch.float64))))


def test_fingerprint_of_a_large_answer_takes_little_memory():
    answer = torch.zeros(1 << 26, dtype=torch.uint8)
    tracemalloc.start()
    try:
        one = fingerprint.of(Wrong("output", "", answer))
        assert tracemalloc.get_traced_memory()[1] < 100 << 20
    finally:
        tracemalloc.stop()
    assert fingerprint.same(one, fingerprint.of(Wrong("output", "", answer)))
    assert not fingerprint.same(one, fingerprint.of(Wrong("output", "", answer + 1)))
    assert not fingerprint.same(one, fingerprint.of(Wrong("output", "", answer[1:])))


def test_tests_that_look_at_costs_are_recognised():
    measuring = {test.name for test in exercises.load("long_sequences").tests if test.measures}
    assert {"test_memory_for_a_long_text", "test_cost_of_a_window"} < measuring and "test_cost_in_fresh_texts" in measuring
    assert not [test.name for test in exercises.load("single_head").tests if test.measures]


def test_two_mistakes_at_once_are_named_as_such():
    exercise = exercises.load("single_head")
    known = {mistake.name: mistake for mistake in exercise.mistakes}
    both = CombinedMistakes.of(exercise, known["softmax_over_everything"], known["no_scale"]).both
    verdicts = {v.check: v for v in verdicts_on(exercise, trusted_learner(exercise, both), seed=99)}
    assert verdicts["scale"].mistake.name == "softmax_over_everything+no_scale"
    assert verdicts["scale"].mistake.hint == f"{known['softmax_over_everything'].hint} {known['no_scale'].hint}"
    assert verdicts["softmax"].mistake.name == "softmax_over_everything"  # where only one of the two shows, it is that one


def test_two_mistakes_in_one_function_are_named_as_such():
    exercise = exercises.load("single_head")
    known = {mistake.name: mistake for mistake in exercise.mistakes}
    both = CombinedMistakes.of(exercise, known["no_scale"], known["keys_averaged"]).both
    assert set(both.definitions) == {"scaled_dot_product_attention"} and "math.sqrt" not in both.definitions["scaled_dot_product_attention"]
    verdicts = {v.check: v for v in verdicts_on(exercise, trusted_learner(exercise, both), seed=99)}
    assert verdicts["scale"].mistake.name == "no_scale+keys_averaged"
    assert all(v.mistake for v in verdicts.values() if v.outcome is Outcome.WRONG)


def test_two_mistakes_in_one_line_are_not_combined():
    exercise = exercises.load("single_head")
    known = {mistake.name: mistake for mistake in exercise.mistakes}
    assert CombinedMistakes.of(exercise, known["no_scale"], known["scale_by_d_k"]) is None


def test_what_nobody_has_seen_before_gets_no_name():
    exercise = exercises.load("single_head")
    strange = KnownAnswer("strange", "", "", (), {"softmax": "def softmax(scores):\n    return (scores * 1.37).softmax(-1) + 0.011"}, "")
    wrong = [v for v in verdicts_on(exercise, trusted_learner(exercise, strange), seed=99) if v.outcome is Outcome.WRONG]
    assert wrong and not [v.mistake for v in wrong if v.mistake]
    assert any(v.given and v.expected and v.came for v in wrong)  # the smallest input that shows it
