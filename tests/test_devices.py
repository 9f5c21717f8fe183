"""The check `device`: what a GPU would refuse is refused on every machine, and named; what it would take passes, in the notebook as in a worker."""

import operator
import subprocess
import sys

import pytest
import torch
from torch.nn import functional as F

from autograder.exercise import reading as exercises
from autograder.judging.answers import answers, trusted_learner
from autograder.judging.session import Session
from autograder.judging.verdicts import verdicts_on
from autograder.kit.devices import META, OneDevice, TensorsApart, expect_device
from autograder.kit.forbidden import NoGuard
from autograder.kit.learner import Learner, local
from autograder.kit.outcome import NoAnswer, Raised, Wrong
from tests.conftest import ROOT

CPU, AWAY = torch.arange(9.0).reshape(3, 3), torch.arange(9.0).reshape(3, 3) + 1
BATCH, TRUE, PLACES = CPU.expand(2, 3, 3), CPU >= 0, torch.tensor([2, 0])


def _written(table, part):
    table[1] = part
    return table


def _put(table, places, part):
    table[places] = part
    return table


# An operation and what it is given; a tensor in a list lies on the other device.
REFUSED = {
    "mm": (operator.matmul, [AWAY], CPU),
    "mm, the other way round": (operator.matmul, CPU, [AWAY]),
    "bmm": (torch.bmm, [BATCH], BATCH),
    "matmul": (operator.matmul, [BATCH], CPU),
    "einsum": (lambda x, y: torch.einsum("ij,jk->ik", x, y), [AWAY], CPU),
    "linear": (F.linear, [AWAY], CPU, CPU[0]),
    "bias": (F.linear, [AWAY], [AWAY], CPU[0]),
    "add": (torch.add, [AWAY], CPU),
    "divide by a row of one": (torch.div, [AWAY], torch.tensor([2.0])),
    "where": (torch.where, TRUE, [AWAY], [AWAY]),
    "other of where": (torch.where, [TRUE], [AWAY], CPU),
    "masked_fill": (torch.masked_fill, [AWAY], TRUE, 0.0),
    "cat": (lambda *each: torch.cat(each), [AWAY], CPU),
    "stack": (lambda *each: torch.stack(each), [AWAY], CPU),
    "in place": (torch.Tensor.add_, CPU, [AWAY]),
    "in place, there": (torch.Tensor.add_, [AWAY], CPU),
    "one number, in place": (torch.Tensor.add_, torch.tensor(0.0), [AWAY[0, 0]]),
    "table on the CPU, places elsewhere": (operator.getitem, CPU, [PLACES]),
    "rows of the CPU put elsewhere": (_put, [AWAY], PLACES, CPU[:2]),
    "rows put into the CPU": (_put, CPU, PLACES, [AWAY[:2]]),
    "embedding": (F.embedding, [PLACES], CPU),
    "index_select": (torch.index_select, [AWAY], 0, PLACES),
    "gather": (torch.gather, [AWAY], 0, TRUE.long()),
    "layer_norm": (F.layer_norm, [AWAY], (3,), CPU[0]),
    "cross_entropy": (F.cross_entropy, [AWAY], torch.tensor([0, 1, 2])),
    "to NumPy": (lambda x: torch.from_numpy(x.numpy()), [AWAY]),
    "a result on the CPU": (lambda x: x.cpu(), [AWAY]),
    "a part of the result": (lambda x: (x, torch.ones(1)), [AWAY]),
}
TAKEN = {
    "one number from the CPU": (torch.mul, [AWAY], torch.tensor(2.0)),
    "one number in where": (torch.where, [TRUE], [AWAY], torch.tensor(-torch.inf)),
    "plain numbers": (lambda x: x.masked_fill(x > 4, -torch.inf) / 2 + 1, [AWAY]),
    "places from the CPU": (operator.getitem, [AWAY], PLACES),
    "mask from the CPU as places": (operator.getitem, [AWAY], TRUE),
    "put by places from the CPU": (_put, [AWAY], PLACES, [CPU[:2]]),
    "a row of the CPU, written": (_written, [AWAY], CPU[0]),
    "moved": (lambda x, y: x + y.to(x.device), [AWAY], CPU),
    "moved and turned": (lambda x, y: x + y.to(x), [AWAY.double()], CPU),
    "made there": (lambda x: x + torch.ones(3, 3, device=x.device).tril() + torch.eye(3).to(x), [AWAY]),
    "made of a list": (lambda x: x + 0 * torch.tensor([1.0, 2.0, 3.0], device=x.device) + 0 * x.new_tensor([2.0]), [AWAY]),
    "made like it": (lambda x: x + torch.zeros_like(x) + x.new_ones(3) + torch.rand_like(x) * 0, [AWAY]),
    "gathered on the CPU, and brought back": (lambda x: _written(torch.zeros(3, 3), x[1]).to(x.device), [AWAY]),
    "views, in place": (lambda x: x.clone().t().unsqueeze_(0).squeeze_(0).mul_(2)[1:].contiguous().view(-1), [AWAY]),
    "other eyes": (lambda x: x.view(torch.int32) + 1, [AWAY]),
    "softmax and norms": (lambda x: F.layer_norm(x.softmax(-1), (3,)), [AWAY]),
    "ready-made attention": (lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), [BATCH]),
    "a number on the way": (lambda x: x * x.amax().item(), [AWAY]),
    "numbers on the way": (lambda x: x[min(row for row in range(3) if x.tolist()[row][0] > 3)], [AWAY]),
    "a branch": (lambda x: x + 1 if x.sum() > 3 and bool(x.all()) else x, [AWAY]),
    "as many as there are": (lambda x: x[x > 4].unique(), [AWAY]),
    "nonzero": (lambda x: x.nonzero(), [AWAY]),
    "equal": (lambda x: x * torch.equal(x, x), [AWAY]),
    "several parts": (lambda x: x.sort(dim=-1, descending=True), [AWAY]),
}


def _outcome(operation, *inputs):
    """Return what becomes of an operation within `OneDevice`, as plain values on the CPU."""
    devices = OneDevice()
    with devices:
        args = [each[0].clone().to(META) if isinstance(each, list) else each for each in inputs]
        result = devices.settled(operation(*args))
        return tuple(each.cpu() for each in result) if isinstance(result, tuple) else result.cpu()


def _on_the_cpu(operation, *inputs):
    return operation(*[each[0].clone() if isinstance(each, list) else each for each in inputs])


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_gpu_refuses_is_refused(case):
    with pytest.raises((TensorsApart, TypeError, RuntimeError), match="another device|lies on the CPU|same device|to numpy"):
        _outcome(*REFUSED[case])


@pytest.mark.parametrize("case", TAKEN)
def test_what_a_gpu_takes_is_taken_and_computed(case):
    came, expected = _outcome(*TAKEN[case]), _on_the_cpu(*TAKEN[case])
    for one, other in zip(came, expected) if isinstance(came, tuple) else [(came, expected)]:
        assert one.device.type == "cpu" and torch.equal(one, other)


def test_gradients_are_computed_there_too():
    x = AWAY.clone().requires_grad_()
    (expected,) = torch.autograd.grad((x.softmax(-1)[:, 1:] ** 2).sum(), x)
    with OneDevice():
        away = AWAY.clone().to(META).requires_grad_()
        (came,) = torch.autograd.grad((away.softmax(-1)[:, 1:] ** 2).sum(), away)
        assert came.is_meta and torch.equal(came.cpu(), expected)


NAMESPACE: dict = {"torch": torch, "nn": torch.nn}
exec(
    compile(
        """
class Keeps(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.arange(6.0).reshape(2, 3)

    def forward(self, x):
        half = self.table[:, :3]
        return x + half

def makes(x):
    ones = torch.ones(3)
    twice = ones * 2
    return x * twice

def asks_for_numbers(x):
    return x.new_tensor([max(row) for row in x.tolist()])

def stops_away(x):
    if x.device.type != "cpu":
        raise NotImplementedError("not here")
    return x

def stops(x):
    raise NotImplementedError("not answered yet")

def breaks(x):
    return x @ x

def says_so(x):
    raise RuntimeError("Expected query and key on the same device")
""",
        "<cell>",
        "exec",
    ),
    NAMESPACE,
)


def _verdict(name: str, shape=(2, 3)) -> str:
    learner, x = local(NAMESPACE, NoGuard()), torch.ones(2, 3)
    try:
        expect_device(learner, lambda there: there.Keeps()(x) if name == "Keeps" else getattr(there, name)(x), shape)
    except (Wrong, Raised, NoAnswer) as error:
        return f"{type(error).__name__} {error}"
    return "passed"


def test_message_names_the_lines():
    assert _verdict("makes") == (
        "Wrong device: a tensor that ones made on the CPU (in makes, line 12) meets one on another device in mul (in makes, line 14)"
    )
    assert _verdict("Keeps") == (
        "Wrong device: a tensor that arange made on the CPU (in __init__, line 5), and that stayed there,"
        " meets one on another device in add (in forward, line 9)"
    )
    assert _verdict("says_so").startswith("Wrong device: Expected query and key on the same device")


def test_what_depends_on_numbers_is_not_held_against_anybody():
    assert _verdict("asks_for_numbers", (2,)) == _verdict("stops_away") == "passed"


def test_a_real_gpu_is_asked_too_where_there_is_one():
    learner, x, asked = local({"doubled": lambda x: x * 2}, NoGuard()), torch.ones(2, 3), []
    assert ("cuda" in learner._devices) is torch.cuda.is_available()

    def send(*question, device=None):
        """Answer as a machine does whose GPU has the last word."""
        asked.append(device)
        if device == "cuda":
            raise Raised("RuntimeError", said)
        return learner._send(*question, device=device)

    both = Learner(send, devices=("meta", "cuda"))
    said = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    with pytest.raises(Wrong, match="on the same device"):
        expect_device(both, lambda there: there.doubled(x), (2, 3))
    assert asked == ["meta", "cuda"]
    said = "CUDA out of memory"  # which is nobody's mistake: the CPU has the last word then
    expect_device(both, lambda there: there.doubled(x), (2, 3))
    assert asked[2:] == ["meta", "cuda", None]


def test_what_breaks_everywhere_earns_nothing():
    assert _verdict("stops").startswith("NoAnswer")
    assert _verdict("breaks").startswith("Raised RuntimeError")
    assert _verdict("asks_for_numbers", (3,)) == "Wrong shape: (2,) came back, and the shape (3,) was expected"


def test_no_compiler_is_imported():
    """A fresh process, as a worker and a notebook are: torch's compiler takes a second and 64 MB."""
    code = """
import sys
import torch
from torch.nn import functional as F
from autograder.kit.devices import OneDevice
with OneDevice():
    x = torch.rand(2, 3).to("meta")
    torch.where(x > 0, F.layer_norm(torch.cat([x + 1, ~(x > 2) * x]), (3,)).softmax(-1)[:2], torch.nn.Linear(3, 3).to("meta")(x))
assert "torch._dynamo" not in sys.modules and "sympy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


@pytest.mark.parametrize("known", ["", "mask_of_ones_on_the_cpu", "mask_that_is_no_buffer", "output_on_the_cpu", "list_of_heads"])
def test_worker_and_notebook_agree(zygote, known):
    exercise = exercises.load("multi_head")
    answer = next((each for each in exercise.mistakes + exercise.variants if each.name == known), None)
    cells = answers(exercise, answer)
    here = verdicts_on(exercise, trusted_learner(exercise, answer), 3, ["device"])
    with Session(zygote, exercise, cells) as session:
        there = verdicts_on(exercise, session.learner, 3, ["device"])
    assert here == there
    assert (here[0].outcome.value == "passed") == (answer is None or not answer.fails)
