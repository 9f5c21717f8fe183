"""Errors that learners meet, raised by PyTorch itself: each has one plain sentence of ours, and hidden tests say none."""

import pytest
import torch
from torch import nn

from autograder.exercise import reading as exercises
from autograder.judging.verdicts import verdicts_on
from autograder.kit.cells import Cell, run_here
from autograder.kit.explained import SENTENCES, explained
from autograder.kit.forbidden import NoGuard
from autograder.kit.learner import local
from autograder.kit.outcome import Outcome

X, Y = torch.zeros(3, 4), torch.zeros(5, 4)


class Unready(nn.Module):
    def __init__(self):
        self.layer = nn.Linear(2, 2)


def twice_backward():
    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    y.backward()


def changed_in_place():
    x = torch.ones(2, requires_grad=True)
    x += 1


def of_two(x, y):
    return x


ERRORS = {
    "forgotten transpose": (lambda: X @ Y, "as many columns as the second has rows: here 4 and 5"),
    "forgotten transpose in a batch": (lambda: torch.zeros(2, 3, 4) @ torch.zeros(2, 5, 4), "Which two axes should `transpose` exchange"),
    "key.T of three axes": (lambda: torch.zeros(2, 3, 4) @ torch.zeros(2, 3, 4).permute(2, 1, 0), "lined up from their last axes"),
    "mask without an axis for heads": (lambda: torch.zeros(2, 3, 5, 5) + torch.zeros(2, 5, 5)[:, :4], "lined up from their last axes"),
    "view after transpose": (lambda: X.T.view(12), "`view` can't regroup"),
    "view of another size": (lambda: X.view(5, 3), "another number of entries than the 12"),
    "max of a dimension": (lambda: X - X.max(dim=-1, keepdim=True), "`max` returns two tensors"),
    "None returned": (lambda: None + X, "Does one of your functions end without `return`"),
    "None asked for its shape": (lambda: None.shape, "Does one of your functions end without `return`"),
    "one value for two": (lambda: exec("a, b = [1]"), "fewer came back"),
    "None for two": (lambda: exec("a, b = None"), "None where a tensor is needed"),
    "three values for two": (lambda: exec("a, b = X.shape + (1,)", {"X": X}), "2 values are taken here, and more"),
    "kinds of numbers": (lambda: X @ Y.T.double(), "numbers of different kinds"),
    "an axis too many": (lambda: X.sum(dim=2), "There is no axis 2"),
    "if mask": (lambda: bool(X > 0), "one yes or no is needed"),
    "a tensor for a number": (lambda: float(X), "one number is needed"),
    "an index too far": (lambda: X[3], "Axis 0 has 3 entries"),
    "a mask of numbers": (lambda: X.masked_fill(torch.ones(3, 4), 0.0), "True and False"),
    "an argument too few": (lambda: of_two(1), "of_two() is called with other arguments"),
    "an argument too many": (lambda: of_two(1, 2, 3), "of_two() is called with other arguments"),
    "an argument of another name": (lambda: of_two(1, z=2), "of_two() is called with other arguments"),
    "no super().__init__()": (Unready, "first line of its `__init__`"),
    "a name that is not there": (lambda: X.softmacks(0), "There is no `softmacks` here"),
    "a tensor called": (lambda: X(3), "A Tensor is used here"),
    "letters of einsum": (lambda: torch.einsum("ij,jk->ik", X, Y), "the letter j"),
    "changed in place": (changed_in_place, "changed in place"),
    "backward twice": (twice_backward, "kept from an earlier step"),
}  # fmt: skip


@pytest.mark.parametrize("work, sentence", ERRORS.values(), ids=ERRORS)
def test_pytorchs_own_error_is_explained(work, sentence):
    with pytest.raises(Exception) as caught:  # noqa: PT011  (PyTorch's, of any kind)
        work()
    found = explained(f"{type(caught.value).__name__}: {' '.join(str(caught.value).split())}")
    assert sentence in found and "{" not in found and "  " not in found, f"{caught.value!r}: {found!r}"


def test_every_sentence_ends_and_what_is_unknown_has_none():
    assert all(sentence[-1] in ".?" for _, sentence in SENTENCES)
    assert explained("ValueError: something of one's own") == ""


def test_a_visible_test_explains_and_a_hidden_one_does_not(single_head):
    wrong = "\n\ndef scaled_dot_product_attention(query, key, value, mask=None):\n    return softmax(query @ key) @ value, None"
    cells = [Cell(c.id, c.kind, c.source + wrong if "def scaled_dot_product_attention" in c.source else c.source) for c in single_head.code]
    namespace, missing = run_here(cells, single_head.promised, [])
    found = {v.check: v for v in verdicts_on(single_head, local(namespace, NoGuard(), missing), seed=3, mistakes=[])}
    raised = [v for v in found.values() if v.outcome is Outcome.RAISED]
    hidden = {test.name for test in exercises.load("single_head").tests if test.hidden}
    assert len(raised) > 3 and any("columns" in v.question or "transpose" in v.question for v in raised)
    assert not any(v.question for v in raised if v.test in hidden)
