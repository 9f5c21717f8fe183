"""What differs is said so that it can be seen, and what rounding alone changes does not differ."""

import pytest
import torch

from autograder.kit import expect
from autograder.kit.outcome import Wrong
from autograder.kit.values import told_apart


@pytest.mark.parametrize("off", [1e-2, 1e-4, 1e-6, 1e-8])
def test_a_message_never_has_the_same_number_on_both_sides(off):
    one, other = torch.tensor([3.0, 1000.0 + 1000 * off], dtype=torch.float64), torch.tensor([3.0, 1000.0], dtype=torch.float64)
    for came, expected in ((one, other), (one[1], other[1])):
        with pytest.raises(Wrong) as wrong:
            expect(came, expected)
        here, there = wrong.value.reason.rsplit(": ")[-1].removesuffix(" was expected").split(" where ")
        assert here != there
        assert len(set(told_apart(came, expected))) == 2


def test_numbers_are_as_short_as_they_can_be():
    assert told_apart(torch.tensor([1 / 3]), torch.tensor([2 / 3])) == ("[0.3333]", "[0.6667]")
    assert told_apart(None, torch.tensor([1.0])) == ("", "[1.0]")


def test_size_of_the_numbers_on_the_way_widens_what_is_allowed():
    """exp(-1000 + 1000.5) by way of the logarithm of a sum near 1000, in 32 bits."""
    exact = torch.tensor([0.5], dtype=torch.float64).exp().float()
    rounded = (torch.tensor([1000.5]) - torch.tensor([1000.0]) * (1 + torch.finfo(torch.float32).eps)).exp()
    with pytest.raises(Wrong):
        expect(rounded, exact)
    expect(rounded, exact, size=1000.0)
    with pytest.raises(Wrong):
        expect(rounded * 1.002, exact, size=1000.0)
