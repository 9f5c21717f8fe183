"""A module is put into training and into use, behind the notebook's door and the judge's."""
import torch
from torch import nn

from autograder.judge import Session, answers
from autograder.kit.forbidden import NoGuard
from autograder.kit.learner import local


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
