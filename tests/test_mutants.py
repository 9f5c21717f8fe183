"""Every answer in which one thing was changed by rule is refused, or comes to the same for a reason."""

import ast
from dataclasses import replace

import pytest
import torch

from autograder.authoring import kept, mutant_proof, variant_proof
from autograder.authoring.mutant_proof import CHECK_BYTES, Proof, proof, reasons_of, reasons_of_variants, within_limits
from autograder.authoring.mutants import mutants
from autograder.authoring.variant_proof import Likeness, _judge, likeness, proof_of_some, proof_of_variants
from autograder.errors import AuthorError
from autograder.exercise import reading as exercises
from autograder.exercise.known import KnownAnswer
from autograder.judging.answers import trusted_learner

AT_ONCE = ["similarity", "single_head", "cross_attention"]  # the others are proven at night
SOME = 10  # mutants of one variant of each exercise; all of all of them are judged at night


@pytest.mark.parametrize(
    "name", [name if name in AT_ONCE else pytest.param(name, marks=pytest.mark.nightly) for name in exercises.all_names()]
)
def test_no_mutant_is_accepted(name):
    found = proof(name)
    assert found.accepted == [] and found.stale == [] and found.holds
    assert found.mutants > 50 and all(count > 0 for count in found.refused.values())


@pytest.mark.parametrize("name", AT_ONCE)
def test_some_mutants_of_a_variant(name):
    found = proof_of_some(name, SOME)
    assert found.accepted == [] and 0 < found.mutants <= SOME
    assert found.mutants == sum(found.refused.values()) + len(found.equivalent)


@pytest.mark.nightly
@pytest.mark.parametrize("name", exercises.all_names())
def test_no_mutant_of_a_variant_is_accepted(name):
    found = proof_of_variants(name)
    assert found.accepted == [] and found.stale == [] and found.holds
    assert found.mutants == sum(found.refused.values()) + len(found.equivalent) > 500


def became_of(exercise: str, variant: str, old: str, new: str, reasons: dict[str, str]) -> str:
    """Return what became of a variant in which one thing is written in another way: "refused", "accepted" or a reason."""
    found = Proof(refused=dict.fromkeys(exercises.load(exercise).checks, 0))
    right = next(each for each in exercises.load(exercise).variants if each.name == variant)
    changed = {name: text.replace(old, new) for name, text in right.definitions.items()}
    assert changed != right.definitions
    _judge(exercises.load(exercise), right, replace(right, name="a mutant", definitions=changed), {}, reasons, found)
    became = ["refused"] * sum(found.refused.values()) + ["accepted"] * len(found.accepted) + list(found.equivalent.values())
    assert found.mutants == len(became) == 1
    return became[0]


REASON = {"with_logsumexp: *": "So it is.", "*: a mutant": "Any hill will do."}


@pytest.mark.parametrize(
    "new, expected", [(".exp().clone()", "bit for bit"), (".exp() * (1 + 1e-12)", "but for rounding"), (".exp() * 1.01", "refused")]
)
def test_what_comes_to_the_same_needs_no_reason(new, expected):
    assert expected in became_of("single_head", "with_logsumexp", ".exp()", new, REASON)


def test_what_does_not_come_to_the_same_needs_a_reason():
    change = "similarity", "difference_of_two_rising", "3.0", "6.0"
    assert became_of(*change, {}) == "accepted" and became_of(*change, REASON) == "Any hill will do."


def test_a_reason_is_not_enough_where_fresh_inputs_refuse_a_mutant(monkeypatch):
    monkeypatch.setattr(variant_proof, "refusing", lambda *about: iter(()))  # as if the first inputs had let it pass
    assert became_of("single_head", "with_logsumexp", ".exp()", ".exp() * 1.01", REASON) == "accepted"


def test_likeness_of_results():
    one = torch.tensor([1.0, torch.nan])
    assert likeness([(one, 3)], [(one.clone(), 3)]) is Likeness.SAME
    assert likeness(one[:1], one[:1] * (1 + 1e-6)) is Likeness.ROUNDED
    others = one * 2, one.double(), one[:1], None, torch.tensor([1.0, 2.0])
    assert {likeness(one, other) for other in others} == {Likeness.OTHER}
    assert likeness([one], [one, one]) is likeness((one,), (one, one)) is Likeness.OTHER and likeness(1, True) is Likeness.OTHER


def test_a_mutant_can_not_take_all_memory(single_head):
    with pytest.raises(RuntimeError), within_limits(single_head):
        torch.empty(CHECK_BYTES, dtype=torch.uint8)


def test_what_was_found_is_kept_until_something_that_it_rests_on_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "KEPT", tmp_path)
    asked = []

    def found(*rests_on: str, of: str = "") -> dict:
        return kept.kept("proofs", "single_head", lambda: asked.append(of) or {"mutants": len(asked)}, *rests_on, of=of)

    assert found("a reason") == found("a reason") == {"mutants": 1} and kept.is_kept("proofs", "single_head", "a reason")
    assert found(of="a variant") == found(of="a variant") == {"mutants": 2}
    assert not kept.is_kept("proofs", "single_head", "another reason") and found("another reason") == {"mutants": 3}
    assert len(list(tmp_path.rglob("*.json"))) == 2


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
    (tmp_path / "equivalent.toml").write_text('"a" = "b"\n[variants]\n"c: *" = "d"\n')
    read = replace(single_head, folder=tmp_path)
    assert reasons_of(read) == {"a": "b"} and reasons_of_variants(read) == {"c: *": "d"}


def test_a_reason_for_a_mutant_that_is_refused_is_stale():
    assert not Proof(stale=["softmax: x"]).holds and not Proof(accepted=["softmax: x"]).holds and Proof().holds
