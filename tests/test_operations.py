"""A module is put into training and into use, in the notebook and in the judge's worker."""

import inspect

import pytest
import torch
from torch import nn

from autograder.judging.answers import answers
from autograder.judging.session import Session
from autograder.kit.cells import ANSWER, Cell, run_here
from autograder.kit.draw import Draw
from autograder.kit.forbidden import NoGuard
from autograder.kit.gradients import expect_gradients
from autograder.kit.learner import local
from autograder.kit.outcome import Raised, Wrong


class Holds(nn.Module):
    def __init__(self):
        super().__init__()
        self.held = nn.Parameter(torch.zeros(3))
        self.held.grad = torch.ones(3)

    def forward(self):
        return self.held, self.held.grad


def test_parameters_are_shaken_alike_and_gradients_wiped():
    found = []
    for _ in range(2):
        module = local({"Holds": Holds}, NoGuard()).Holds()
        module.shake(0.1)
        found.append(module()[0])
        assert module()[1].tolist() == [1.0, 1.0, 1.0]
        module.wipe()
        assert module()[1] is None
    assert torch.equal(*found) and 0 < found[0].abs().max() < 1


class Multiplies(nn.Module):
    def __init__(self):
        super().__init__()
        self.held = nn.Parameter(torch.ones(2))

    def forward(self, x):
        return x * self.held


def _doubled(learner) -> list:
    module = learner.Multiplies()
    module.double()
    came = module(torch.ones(2, dtype=torch.float64) / 3)
    return [came.dtype, came.tolist()]


def test_module_holds_64_bits_in_this_process():
    assert _doubled(local({"Multiplies": Multiplies}, NoGuard())) == [torch.float64, [1 / 3, 1 / 3]]


def test_module_holds_64_bits_in_a_worker(zygote, single_head):
    sources = {name: f"{source}\n\n{inspect.getsource(Multiplies)}" for name, source in answers(single_head).items()}
    with Session(zygote, single_head, sources) as session:
        assert _doubled(session.learner) == [torch.float64, [1 / 3, 1 / 3]]


class Drops(nn.Module):
    def forward(self, x):
        return x * 0 if self.training else x


def _switched(learner) -> list:
    module, x = learner.Drops(), torch.ones(2)
    found = [module(x).tolist()]
    for switch in (module.eval, module.train):
        switch()
        found.append(module(x).tolist())
    return found


def test_module_is_switched_in_this_process():
    assert _switched(local({"Drops": Drops}, NoGuard())) == [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]


def test_module_is_switched_in_a_worker(zygote, single_head):
    more = "\n\nclass Drops(nn.Module):\n    def forward(self, x):\n        return x * 0 if self.training else x"
    sources = {name: source + more for name, source in answers(single_head).items()}
    with Session(zygote, single_head, sources) as session:
        assert _switched(session.learner) == [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]


MORE = """

def doubled(one, other, into):
    if "one" in into:
        one.mul_(2)
    if "other" in into:
        other.unsqueeze_(0)
    return one + other


def in_one_row(one):
    return one.view(-1)
"""


def _inputs_are_watched(learner) -> None:
    one, other = torch.tensor([1.0, torch.nan, -torch.inf]), torch.tensor([True, False, True])
    came = learner.doubled.unchanged(one, other=other, into="nothing")
    assert came[[0, 2]].tolist() == [2.0, -torch.inf] and came[1].isnan()
    for into, names in (("one", "argument 1"), ("other", "other"), ("one and other", "argument 1 and other")):
        with pytest.raises(Wrong, match=f"inputs: {names} changed in place"):
            learner.doubled.unchanged(one, other=other, into=into)
    assert one[0] == 1 and other.shape == (3,)  # the test's own tensors never change


def _inputs_lie_otherwise(learner) -> None:
    words = torch.arange(6.0).reshape(2, 3)
    assert learner.in_one_row(words).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    with pytest.raises(Raised, match="view size is not compatible"):
        learner.in_one_row.strided(words)
    assert learner.doubled.strided(words, other=words, into="nothing").tolist() == (words * 2).tolist()


@pytest.mark.parametrize("asked", [_inputs_are_watched, _inputs_lie_otherwise])
def test_inputs_in_this_process(asked):
    namespace: dict = {}
    exec(MORE, namespace)
    asked(local(namespace, NoGuard()))


@pytest.mark.parametrize("asked", [_inputs_are_watched, _inputs_lie_otherwise])
def test_inputs_in_a_worker(zygote, single_head, asked):
    sources = {name: source + MORE for name, source in answers(single_head).items()}
    with Session(zygote, single_head, sources) as session:
        asked(session.learner)


CLAIMS = """

from autograder.kit.operations import Operations

Operations.unchanged = lambda self, target, args, kwargs, device=None: (args[0] + 1, (f"{args[0].item()} is what you hide", "argument 1"))
"""


def test_claims_of_a_worker_are_given_in_our_words_only(zygote, single_head):
    """What a worker says was changed may be any text, such as a hidden input."""
    sources = {name: source + CLAIMS for name, source in answers(single_head).items()}
    with Session(zygote, single_head, sources) as session, pytest.raises(Wrong) as error:
        session.learner.softmax.unchanged(torch.tensor(0.125))
    said = f"{error.value} {error.value.came} {error.value.redacted}"
    assert "argument 1 changed in place" in said and "0.125" not in said


@pytest.mark.parametrize(
    "given, missed",
    [
        ("x", None),
        ("x.float()", None),
        ("x.detach()", "none"),
        ("x.detach() + 0 * x", "zero everywhere"),
        ("x.detach() + 1e-9 * x", "zero everywhere"),
        ("x.detach() + 0 * x.abs().sqrt().log().log()", "not a number"),
        ("x[:1].detach() + x - x[:1]", "not the slope"),
        ("x.detach() + 1.1 * (x - x.detach())", "not the slope"),
    ],
)
def test_gradient_is_the_slope_of_the_output_or_is_missed(given, missed):
    """A gradient that should be zero is a little more on some processors, and has not arrived on these either."""
    learner = local({"f": eval(f"lambda x: ({given}).sin().cumsum(0)")}, NoGuard())
    x = torch.arange(1.0, 4.0)
    if missed is None:
        return expect_gradients(learner.f, ["x"], x, draw=Draw(0))
    with pytest.raises(Wrong, match=missed):
        expect_gradients(learner.f, ["x"], x, draw=Draw(0))


def test_gradients_come_through_a_reentrant_checkpoint():
    """It works in a whole backward pass only, which is what a training makes."""
    source = """
import torch
from torch.utils.checkpoint import checkpoint

class Squared(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.by = torch.nn.Parameter(torch.tensor([3.0]))

    def forward(self, words):
        return checkpoint(lambda words: words * self.by, words, use_reentrant=True)

def doubled(words):
    return checkpoint(lambda words: 2 * words, words, use_reentrant=True)
"""
    namespace, missing = run_here([Cell("answer", ANSWER, source)], {}, [])
    learner = local(namespace, NoGuard(), missing)
    assert learner.doubled.gradients(torch.tensor([1.0, 2.0]), wrt=[0], against=torch.tensor([1.0, 3.0]))[0].tolist() == [2.0, 6.0]
    module = learner.Squared()
    assert module.trained(torch.ones(2, requires_grad=True)) == (1, 1) == module.trained(torch.ones(2, requires_grad=True))
