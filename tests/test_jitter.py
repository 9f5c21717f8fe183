"""What is written of a known mistake is what it leaves on any machine: what rests on rounding is left out, and everything else is kept."""

import pytest
import torch
from torch import nn

from autograder.authoring import jitter
from autograder.authoring.jitter import KEYS, SPAN, Jitter, steady_print
from autograder.kit import expect, expect_memory, fingerprint, visible
from autograder.kit.cost import MEGABYTE, Cost
from autograder.kit.outcome import Raised, Wrong, known_by
from autograder.kit.suite import test_of

SHARES = [0.1, 0.2, 0.7]


def _zero_but_for_rounding() -> torch.Tensor:
    return torch.tensor([3.3, 1.1, 0.7]).softmax(0).sum() * torch.tensor(SHARES) - torch.tensor(SHARES)


def its_direction(learner):
    noise = _zero_but_for_rounding()
    expect(noise / noise.norm(), torch.zeros(3))


def its_direction_in_words(learner):
    with known_by("a direction"):
        its_direction(learner)


def its_sign(learner):
    expect(_zero_but_for_rounding().tolist(), SHARES)


def a_sum(learner):
    expect(torch.tensor(SHARES).softmax(0) + _zero_but_for_rounding(), torch.zeros(3))


def whole_numbers(learner):
    expect(torch.arange(3.0) @ torch.ones(3) / 4, torch.tensor(1.0))


def an_error(learner):
    raise Raised("ValueError", "the heads don't divide the width")


def nothing_wrong(learner):
    expect(torch.tensor(SHARES).exp().log(), torch.tensor(SHARES))


def a_training(learner):
    weights = nn.Parameter(torch.tensor(SHARES))
    optimizer = torch.optim.SGD([weights], 0.1)
    weights.exp().sum().backward()
    optimizer.step()
    expect(weights.detach(), torch.zeros(3))


def a_training_in_words(learner):
    with known_by("it went down"):
        a_training(learner)


def a_step_whose_errors_are_caught(learner):
    try:
        torch.optim.SGD([nn.Parameter(torch.ones(3))], 0.1).step()
    except Exception as error:
        raise Wrong("training", "it broke") from error


def a_cost(learner):
    expect_memory(Cost(0, 0.0), Cost(9 * MEGABYTE, 0.0), MEGABYTE)


def _left(test) -> dict | None:
    """Return the print that a known mistake leaves in a test; which mistake it is makes no difference to the tests here."""
    return steady_print("similarity", "lengths_divided_out", test_of(visible("any")(test)))


@pytest.mark.parametrize("test, left", [(its_direction, {}), (its_sign, {}), (a_training, {}), (nothing_wrong, None)])
def test_print_that_rests_on_rounding_is_left_out(test, left):
    """That the test fails is kept."""
    assert _left(test) == left


@pytest.mark.parametrize("test", [its_direction_in_words, a_sum, whole_numbers, an_error, a_training_in_words, a_cost])
def test_print_that_comes_out_the_same_each_time_is_kept(test):
    with pytest.raises(Exception) as error:
        test(None)
    assert fingerprint.same(fingerprint.of(error.value), _left(test))


def test_training_is_noticed_whatever_catches_errors():
    """Else the end of the first step would look like an error of the answer's."""
    assert _left(a_step_whose_errors_are_caught) is None


def test_the_second_time_is_spared_where_nothing_was_rounded(monkeypatch):
    asked = []
    monkeypatch.setattr(jitter, "_jittered", lambda *what, right=jitter._jittered: asked.append(what[0]) or right(*what))
    assert _left(whole_numbers) and asked == [KEYS[0]]
    assert _left(a_sum) and asked == [KEYS[0], *KEYS]


def test_numbers_are_moved_by_no_more_than_single_precision_could_be_off():
    x = torch.linspace(-3, 3, 1001)
    with Jitter(KEYS[0]):
        one = x.exp()
    with Jitter(KEYS[1]):
        other = x.exp()
    for each in (one, other):
        off = (each.double() / x.double().exp() - 1).abs()
        assert each.dtype == torch.float32 and 0 < off.max() < 2 * SPAN
    assert (one != other).float().mean() > 0.5


def test_numbers_that_were_not_rounded_stay():
    with Jitter(KEYS[0]) as moved:
        x = torch.arange(-8.0, 8.0)
        came = [x + 0.5, x * x, x @ x, x.half(), x.relu(), x.reshape(4, 4).T, x.double() / 3, x.argmax(), x.clone().mul_(2.0)]
    wanted = [x + 0.5, x * x, x @ x, x.half(), x.relu(), x.reshape(4, 4).T, x.double() / 3, x.argmax(), x * 2]
    assert all(one.dtype == other.dtype and torch.equal(one, other) for one, other in zip(came, wanted)) and not moved.has_rounded


def test_what_is_computed_twice_does_not_come_out_in_two_ways():
    x = torch.linspace(-3, 3, 101)
    with Jitter(KEYS[0]):
        assert torch.equal(x.tanh(), x.tanh()) and torch.equal(x.tanh(), x.flip(0).tanh().flip(0)) and torch.equal(-x.tanh(), (-x).tanh())


DRAWN = {
    "normal, few": lambda: torch.randn(15),
    "normal": lambda: torch.randn(16),
    "normal, with a rest": lambda: torch.randn(3, 7, 2),
    "normal, as another": lambda: torch.randn_like(torch.ones(33)),
    "normal, in place": lambda: torch.empty(40).normal_(3.0, 0.5),
    "normal, by name": lambda: torch.empty(40).normal_(mean=3.0, std=0.5),
    "even": lambda: torch.rand(5, 5),
    "even, in place": lambda: torch.empty(40).uniform_(-2.0, 3.0),
    "even, by name": lambda: nn.init.uniform_(torch.empty(40), a=-2.0, b=3.0),
    "a layer": lambda: nn.Linear(17, 5).weight.detach(),
    "of 64 bits": lambda: torch.randn(20, dtype=torch.float64),
    "dropped": lambda: nn.functional.dropout(torch.ones(100), 0.5),
    "whole": lambda: torch.randint(0, 9, (10,)),
    "an order": lambda: torch.randperm(10),
    "one of several": lambda: torch.multinomial(torch.tensor(SHARES), 20, replacement=True),
    "by a generator of its own": lambda: torch.randn(20, generator=torch.Generator().manual_seed(5)),
}


@pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN)
def test_what_is_drawn_at_random_is_what_torch_draws(draw):
    """And whatever is drawn afterwards, too."""
    with torch.random.fork_rng():
        torch.manual_seed(1)
        wanted, after = draw(), torch.rand(1)
        torch.manual_seed(1)
        with Jitter(KEYS[0]):
            came = draw()
        assert torch.equal(torch.rand(1), after)
    assert came.dtype == wanted.dtype and torch.allclose(came.double(), wanted.double(), rtol=1e-5, atol=1e-6)
