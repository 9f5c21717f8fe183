"""What saves a judge's time changes no verdict: calls that travel together, and answers of the reference that are remembered."""

import pytest
import torch
from torch import nn

from autograder.exercise import reading as exercises
from autograder.judging.answers import answers, known_learner, reference_learner, trusted_learner
from autograder.judging.remembered import RememberedLearner
from autograder.judging.session import Session
from autograder.judging.verdicts import findings
from autograder.kit.forbidden import NoGuard
from autograder.kit.learner import local
from autograder.kit.outcome import Raised
from autograder.kit.suite import failure
from autograder.sandbox.client import Worker

MODULE = """
class Scale(torch.nn.Module):
    def __init__(self, by):
        super().__init__()
        self.by = torch.nn.Parameter(torch.tensor(float(by)))
    def forward(self, x):
        if x.sum() > 100: raise ValueError("too large")
        return x * self.by
def set_weights(module, by):
    module.by.data.fill_(by.item())
def SingleHeadAttention(by):
    return Scale(by)
def padding_mask(x):
    return None
"""


@pytest.fixture
def scale(zygote, single_head):
    """Yield a learner in a worker, and the list of what is sent to it."""
    sent = []
    with Session(zygote, single_head, answers(single_head) | {"answer-module": MODULE}) as session:
        session.learner.causal_mask(1)  # the worker is there, and its cells have run
        ask = session._ask

        def watched(request: dict, seconds=None, way=Worker.ask):
            sent.append(request)
            return ask(request, seconds, way)

        session._ask = watched
        yield session.learner, sent


def test_calls_without_an_answer_travel_with_the_next(scale):
    learner, sent = scale
    module = learner.SingleHeadAttention.later(3)
    learner.set_weights.later(module, torch.tensor(5.0))
    module.double()
    module.eval()
    assert not sent
    assert module(torch.ones(2)).tolist() == [5.0, 5.0]
    assert [request["do"] for request in sent] == ["together"]
    assert [call["do"] for call in sent[0]["calls"]] == ["later", "later", "double", "switch", "call"]
    assert module(torch.ones(1)).tolist() == [5.0] and sent[1]["do"] == "call"


def test_an_error_names_the_call_that_raised_it(scale):
    learner, _ = scale
    module = learner.SingleHeadAttention.later(3)
    learner.set_weights.later(module, "five")
    with pytest.raises(Raised, match="item"):
        module(torch.ones(2))
    assert learner.last_call.startswith("set_weights(SingleHeadAttention(...), ")
    with pytest.raises(Raised, match="too large"):
        learner.SingleHeadAttention.later(3)(101 * torch.ones(1))
    assert learner.last_call.startswith("SingleHeadAttention(...)(")
    with pytest.raises(Raised, match="float"):
        learner.SingleHeadAttention.later("three")(torch.ones(1))
    assert learner.last_call == "SingleHeadAttention('three')"


@pytest.mark.parametrize("at", [-1, 2, 10**30, "0", None, [0], 0.0])
def test_a_worker_may_say_anything_of_where_it_was(at):
    learner = local({"it": lambda: None}, NoGuard())

    def send(*question, **more):
        error = Raised("ValueError", "no")
        error.at = at
        raise error

    learner._send, learner._together = send, True
    learner.it.later("first")
    with pytest.raises(Raised):
        learner.it("last")
    assert learner.last_call == "it('last')"


def test_what_a_test_did_not_wait_for_is_not_done_in_the_next(scale):
    learner, sent = scale
    learner.SingleHeadAttention.later("three")
    learner.end_test()
    assert learner.causal_mask(1).tolist() == [[True]] and len(sent) == 1


@pytest.mark.parametrize("here", [True, False], ids=["in this process", "in a worker"])
def test_what_is_no_module_is_no_answer_in_either_front_end(here, scale):
    learner = local({"padding_mask": lambda x: None}, NoGuard()) if here else scale[0]
    with pytest.raises(Raised, match="'NoneType' object is not callable"):
        learner.padding_mask.later(1)(torch.ones(1))


def told(exercise, learner, seed: int) -> list:
    return [(each.verdict, each.test, each.print) for each in findings(exercise, learner, seed)]


@pytest.mark.parametrize("name", ["single_head", "multi_head", "rotary"])
def test_what_is_remembered_is_what_would_be_computed(name, monkeypatch):
    """Right answers and wrong ones, one after the other, in an order in which the wrong ones begin what is remembered."""
    exercise = exercises.load(name)
    learners = [known_learner(name, known.name) for known in (*exercise.mistakes[:6], *exercise.variants[:2])]
    remembering = [told(exercise, each, 3) for each in learners + learners[::-1]]
    monkeypatch.setattr("autograder.judging.verdicts.reference_learner", lambda name: trusted_learner(exercises.load(name), None))
    computing = [told(exercise, each, 3) for each in learners]
    assert remembering == computing + computing[::-1]
    assert any(verdict.outcome != "passed" for each in computing for verdict, *_ in each)


class Counts(nn.Module):
    """A module that is another one after each call."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x + self.calls


@pytest.fixture
def counting():
    asked = []
    plain = local({"Counts": Counts, "twice": lambda x: x * 2}, NoGuard())
    learner = plain.asked_through(lambda send, *question, **more: asked.append(question) or send(*question, **more))
    return RememberedLearner(learner), asked


def test_the_same_questions_are_computed_once(counting):
    remembered, asked = counting
    for _ in range(3):
        it = remembered.for_test("a test", 1)
        module = it.Counts.later()
        assert [module(torch.zeros(1)).item() for _ in range(3)] == [1.0, 2.0, 3.0] and it.twice(torch.ones(1)).item() == 2.0
        remembered.end_test()
        assert len(asked) == 5
    remembered.for_test("a test", 2).twice(torch.ones(1))
    remembered.for_test("another test", 1).twice(torch.ones(1))
    assert len(asked) == 7


def test_another_question_finds_modules_as_they_would_be(counting):
    remembered, asked = counting
    for questions, computed in ((2, 3), (1, 3), (4, 8), (3, 8)):
        module = remembered.for_test("a test", 1).Counts.later()
        assert [module(torch.zeros(1)).item() for _ in range(questions)] == [1.0, 2.0, 3.0, 4.0][:questions]
        remembered.end_test()
        assert len(asked) == computed
    it = remembered.for_test("a test", 1)
    module = it.Counts.later()
    assert module(torch.zeros(1)).item() == 1.0 and module(torch.full((1,), 5.0)).item() == 7.0
    assert it.Counts.later()(torch.zeros(1)).item() == 1.0


def test_who_writes_into_an_answer_spoils_it_for_nobody(counting):
    remembered, _ = counting
    for _ in range(3):
        question = torch.ones(2)
        answer = remembered.for_test("a test", 1).twice(question)
        assert answer.tolist() == [2.0, 2.0]
        answer.zero_()
        question.zero_()
        remembered.end_test()


@pytest.mark.parametrize("other", [torch.ones(1, dtype=torch.float64), torch.ones(1, 1), torch.zeros(1), torch.full((1,), torch.nan)])
def test_only_the_same_tensor_is_the_same_question(counting, other):
    remembered, asked = counting
    remembered.for_test("a test", 1).twice(torch.ones(1))
    remembered.end_test()
    came = remembered.for_test("a test", 1).twice(other)
    assert len(asked) == 2 and came.dtype == other.dtype and came.shape == other.shape


def test_a_module_that_is_handed_out_at_once_is_made_anew_each_time(counting):
    """Its number is given by whoever keeps it, and has no meaning in another run."""
    remembered, _ = counting
    for _ in range(2):
        module = remembered.for_test("a test", 1).Counts()
        assert [module(torch.zeros(1)).item() for _ in range(2)] == [1.0, 2.0]
        remembered.end_test()


def test_the_reference_may_stand_on_both_sides():
    exercise = exercises.load("multi_head")
    reference = reference_learner("multi_head")
    for test in [test for test in exercise.tests if not test.gpu and not test.measures]:
        assert failure(test, reference, 3, reference) is None, test.name
