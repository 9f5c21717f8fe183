"""What a module learns is counted as an optimiser would."""

import pytest
import torch
from torch import nn

from autograder.kit import fingerprint
from autograder.kit.compare import expect_trained
from autograder.kit.forbidden import NoGuard
from autograder.kit.learner import local
from autograder.kit.outcome import Wrong


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


class OnACircle(nn.Module):
    """Puts each number on a circle: the squares of its two coordinates add up to 1 whatever went in, as those of a norm do."""

    def forward(self, x):
        return torch.stack([x.cos(), x.sin()])


@pytest.mark.parametrize("last", [OnACircle(), nn.LayerNorm(5, eps=0.0, elementwise_affine=False), nn.Softmax(-1), nn.Identity()], ids=repr)
def test_what_learns_is_reached_even_where_squares_stay_the_same(last):
    """Their gradient is zero, or a little beside it, as the processor rounds."""
    torch.manual_seed(0)
    learner = local({"module": lambda: nn.Sequential(nn.Linear(3, 5), last)}, NoGuard())
    assert learner.module().trained(torch.arange(6.0).reshape(2, 3)) == (20, 20)


def test_numbers_that_are_too_many_are_known_by_their_count_alone():
    expect_trained((5, 5), 5)
    with pytest.raises(Wrong, match="numbers that a gradient reaches from the next piece: 4 where 5 was expected"):
        expect_trained((5, 4), 5, " from the next piece")
    prints = []
    for reached in (5, 6):
        with pytest.raises(Wrong, match="numbers that can learn: 6 where 5 was expected") as error:
            expect_trained((6, reached), 5)
        prints.append(fingerprint.of(error.value))
    assert prints[0] == prints[1]
