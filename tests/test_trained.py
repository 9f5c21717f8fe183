"""What a module learns is counted as an optimiser would."""

import torch
from torch import nn

from autograder.kit.forbidden import NoGuard
from autograder.kit.learner import local


class HalfFrozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.frozen = nn.Parameter(torch.ones(3), requires_grad=False)
        self.trained, self.unused = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(2))

    def forward(self, x):
        return x * self.trained + self.frozen


def test_frozen_parameter_is_not_counted_as_trained():
    learner = local({"HalfFrozen": HalfFrozen}, NoGuard())
    assert learner.HalfFrozen().trained(torch.ones(3)) == (5, 3)
