"""A name is given where the evidence is whole, and nowhere else."""

import pytest

from autograder.authoring.left_out import left_out
from autograder.kit.outcome import JudgeFailed, Outcome, Verdict
from autograder.kit.recognise import Evidence, Finding, Suspect, left, mistakes_by_check
from autograder.kit.suite import test_of as as_test  # so that pytest does not collect it
from autograder.kit.suite import visible


def number(value: float) -> dict:
    return {"what": "output", "number": value}


def error(text: str) -> dict:
    return {"raised": "ValueError", "text": text}


def a_test(check: str, name: str):
    def function(learner):
        pass

    function.__name__ = name
    return as_test(visible(check)(function))


TESTS = [a_test("scale", "one"), a_test("scale", "two"), a_test("mask", "three"), a_test("module", "four")]
PASSES = dict.fromkeys(test.name for test in TESTS)


def suspect(name: str, **left: dict) -> Suspect:
    fails = {test.check: None for test in TESTS if test.name in left}
    return Suspect(name, f"The {name}.", "Why?", list(fails), (PASSES | left).get)


def evidence(**left: dict | Outcome) -> tuple[Evidence, list[str]]:
    """What an answer leaves in these tests, or an outcome that leaves nothing; and the tests that it was asked for later."""
    asked, findings = [], []
    for check in ("scale", "mask", "module"):
        failing = [test.name for test in TESTS if test.check == check and left.get(test.name) is not None]
        came = left[failing[0]] if failing else None
        outcome = came if isinstance(came, Outcome) else Outcome.RAISED if "raised" in (came or ()) else Outcome.WRONG
        printed = {} if isinstance(came, Outcome) else came
        findings.append(Finding(Verdict(check, outcome), failing[0], printed) if failing else Finding(Verdict(check, Outcome.PASSED)))

    def ask(test):
        asked.append(test.name)
        return left.get(test.name)

    return Evidence(findings, TESTS, ask), asked


def names(seen: Evidence, *suspects: Suspect) -> dict[str, str]:
    return {check: each.name for check, each in mistakes_by_check(seen, suspects).items()}


def test_a_mistake_that_does_the_same_in_all_tests_is_named_in_all_checks():
    seen, asked = evidence(one=number(1.0), three=number(3.0))
    assert names(seen, suspect("twin", one=number(1.0), three=number(3.0))) == {"scale": "twin", "mask": "twin"}
    assert asked == ["two"]


def test_a_mistake_that_would_fail_a_check_that_passed_is_not_named():
    seen, asked = evidence(one=number(1.0))
    assert names(seen, suspect("wider", one=number(1.0), three=number(3.0))) == {}
    assert asked == []


@pytest.mark.parametrize("two", [None, number(5.0)])
def test_a_later_test_of_the_same_check_may_contradict(two):
    seen, _ = evidence(one=number(1.0), two=two)
    assert names(seen, suspect("other", one=number(1.0), two=number(2.0))) == {}


def test_nothing_is_named_while_a_wrong_answer_is_left_over():
    seen, _ = evidence(one=number(1.0), three=number(3.0))
    assert names(seen, suspect("half", one=number(1.0))) == {}


def test_two_that_explain_everything_together_are_both_named():
    seen, _ = evidence(one=number(1.0), three=number(3.0))
    assert names(seen, suspect("first", one=number(1.0)), suspect("second", three=number(3.0))) == {"scale": "first", "mask": "second"}


def test_the_one_that_explains_more_is_named():
    seen, _ = evidence(one=number(1.0), three=number(3.0))
    whole, half = suspect("whole", one=number(1.0), three=number(3.0)), suspect("half", one=number(1.0))
    assert names(seen, half, whole) == {"scale": "whole", "mask": "whole"}


def test_an_error_elsewhere_speaks_for_itself():
    seen, _ = evidence(one=number(1.0), four=error("no such file"))
    assert names(seen, suspect("known", one=number(1.0))) == {"scale": "known"}
    # It hides what the mistake would have shown there.
    assert names(seen, suspect("known", one=number(1.0), four=number(4.0))) == {"scale": "known", "module": "known"}
    assert names(seen, suspect("loud", one=number(1.0), four=error("shapes differ"))) == {}


def test_what_is_not_answered_yet_says_nothing():
    seen, _ = evidence(one=number(1.0), three=Outcome.NO_ANSWER)
    assert names(seen, suspect("known", one=number(1.0), three=number(3.0))) == {"scale": "known"}


def test_a_failure_that_leaves_nothing_to_go_by_neither_names_nor_contradicts():
    seen, _ = evidence(one=Outcome.TIME)
    assert names(seen, suspect("endless", one={})) == {}
    seen, _ = evidence(one=number(1.0), two=number(2.0))
    assert names(seen, suspect("noisy", one=number(1.0), two={})) == {"scale": "noisy"}
    seen, _ = evidence(one=number(1.0))
    assert names(seen, suspect("noisy", one=number(1.0), two={})) == {}


def test_a_judge_that_fails_while_it_looks_for_a_name_says_so():
    """The submission is then judged once more, as after any failure of ours."""

    def broken(learner):
        raise JudgeFailed("no worker")

    seen, _ = evidence(one=number(1.0))
    seen._ask = lambda test: left(as_test(visible("scale")(broken)), None, 0)
    with pytest.raises(JudgeFailed):
        mistakes_by_check(seen, [suspect("any", one=number(1.0), two=number(2.0))])


@pytest.mark.parametrize("name", ["single_head", pytest.param("cross_attention", marks=pytest.mark.nightly), "bug_hunt"])
def test_a_mistake_that_nobody_knows_is_hardly_ever_given_a_name(name):
    """At most 2% of them: page "Mistakes against checks" has the figure for all exercises."""
    found = list(left_out(name, seed=5))
    assert sum(bool(each.named) for each in found) <= 0.02 * len(found)
