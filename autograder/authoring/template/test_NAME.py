"""Tests of NAME. A docstring is the question that a learner reads when the test fails."""

import torch

from autograder.kit import expect, hidden, visible


@visible("twice")
def test_twice_two_numbers(learner):
    """Every number comes back twice as large. What is twice 3, and what is 3 times 3?"""
    expect(learner.twice(torch.tensor([1.0, 3.0])), torch.tensor([2.0, 6.0]))


@hidden("twice")
def test_twice_of_fresh_numbers(learner, reference, draw):
    """Every number comes back twice as large, whatever the shape. What is twice 3, and what is 3 times 3?"""
    for shape in ((2, 3, 5), (7,)):
        x = draw(*shape)
        expect(learner.twice(x), reference.twice(x))
