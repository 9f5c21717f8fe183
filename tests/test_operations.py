"""A module is put into training and into use, in the notebook and in the judge's worker."""

import torch
from torch import nn

from autograder.judging.answers import answers
from autograder.judging.session import Session
from autograder.kit.forbidden import NoGuard
from autograder.kit.learner import local


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
