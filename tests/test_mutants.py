"""Every answer in which one thing was changed by rule is refused, or comes to the same for a reason."""

import ast
from dataclasses import replace

import pytest

from autograder.authoring import mutant_proof
from autograder.authoring.mutant_proof import Proof, proof, reasons_of
from autograder.authoring.mutants import mutants
from autograder.errors import AuthorError
from autograder.exercise import reading as exercises
from autograder.exercise.known import KnownAnswer
from autograder.judging.answers import trusted_learner

AT_ONCE = ["similarity", "single_head", "cross_attention"]  # the others are proven at night


@pytest.mark.parametrize(
    "name", [name if name in AT_ONCE else pytest.param(name, marks=pytest.mark.nightly) for name in exercises.all_names()]
)
def test_no_mutant_is_accepted(name):
    found = proof(name)
    assert found.accepted == [] and found.stale == [] and found.holds
    assert found.mutants > 50 and all(count > 0 for count in found.refused.values())


def texts(source: str) -> dict[str, str]:
    """Return the mutants of a function, by what is changed."""
    exercise = exercises.load("single_head")
    name = ast.parse(source).body[0].name
    return {
        each.name.removeprefix(f"{name}: "): each.definitions[name]
        for each in mutants(exercise, KnownAnswer("", "", "", (), {name: source}, ""))
    }


def test_rules_change_one_thing_each():
    found = texts("def weigh(query, key):\n    return (query @ key.mT / 2).sum(dim=-1)")
    changed = {what: ast.unparse(ast.parse(text).body[0].body[0].value) for what, text in found.items() if "def right" not in text}
    assert {
        "(query @ key.mT / 3).sum(dim=-1)",  # a constant
        "(query @ key.mT / 2).sum(dim=1)",  # a sign
        "(query @ key.mT * 2).sum(dim=-1)",  # an operator
        "(key.mT @ query / 2).sum(dim=-1)",  # two sides
        "(query @ key.mT / 2).sum()",  # an argument
        "query @ key.mT / 2",  # a call
        "(query @ value.mT / 2).sum(dim=-1)",  # a name
        "(query @ key.mT / 2).mean(dim=-1)",  # a function
    } <= set(changed.values())
    assert len(set(found.values())) == len(found)


def test_rules_of_calls_know_what_answers_go_wrong_by():
    # Of a function that is asked for; who else would mind what becomes of what it is given?
    source = """def softmax(query: Float[Tensor, "batch d_k"], mask: Bool[Tensor, "batch d_k"] | None = None) -> Float[Tensor, "batch"]:
    return query.sum(-1)"""
    found = {what for what, text in texts(source).items() if "def right" in text}
    assert {"query is written into", "the first mask is kept", "mask must lie in memory in order", "query is cut off the graph"} <= found
    assert "mask is cut off the graph" not in found


def test_a_mutant_that_does_not_end_is_refused(single_head, monkeypatch):
    """As the judge refuses it, and the proof goes on."""
    endless = KnownAnswer("endless", "", "", (), {"softmax": "def softmax(scores):\n    while True:\n        pass"}, "")
    monkeypatch.setattr(mutant_proof, "CHECK_SECONDS", 0.2)
    assert mutant_proof._is_refused(single_head, "softmax", trusted_learner(single_head, endless), 0)


def test_reasons_that_cannot_be_read_name_their_file(single_head, tmp_path):
    (tmp_path / "equivalent.toml").write_text("no toml")
    with pytest.raises(AuthorError, match="/equivalent.toml"):
        reasons_of(replace(single_head, folder=tmp_path))


def test_a_reason_for_a_mutant_that_is_refused_is_stale():
    assert not Proof(stale=["softmax: x"]).holds and not Proof(accepted=["softmax: x"]).holds and Proof().holds
