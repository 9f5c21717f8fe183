"""Values and calls as text that is small enough to read."""

from __future__ import annotations

import reprlib

import torch
from torch import Tensor

MOST_NUMBERS = 40
MOST_LETTERS = 200
DECIMALS = (4, 6, 9, 12)  # of the numbers of a tensor; more than the first only where that tells two apart


class _Brief(reprlib.Repr):
    """Renders only the first parts of a container: a stranger may have put any number into it."""

    def __init__(self):
        super().__init__()
        self.maxlevel = 3
        self.maxtuple = self.maxlist = self.maxdict = 10
        self.maxstring = self.maxlong = self.maxother = MOST_LETTERS

    def repr_Tensor(self, value: Tensor, level: int) -> str:
        return small(value)


BRIEF = _Brief()


def told_apart(one, other) -> tuple[str, str]:
    """Return two values as short text, with as many decimals as it takes to tell them apart."""
    for decimals in DECIMALS:
        texts = small(one, decimals), small(other, decimals)
        if texts[0] != texts[1]:
            break
    return texts


def small(value, decimals: int = DECIMALS[0]) -> str:
    """Return a value as short text: a small tensor whole, a large one by its shape."""
    if value is None:
        return ""
    if not isinstance(value, Tensor):
        return BRIEF.repr(value)[:MOST_LETTERS]
    if value.numel() > MOST_NUMBERS:
        return f"tensor of shape {tuple(value.shape)}"
    return _numbers(value, decimals)


def _numbers(value: Tensor, decimals: int) -> str:
    shown = value.to(torch.float64).round(decimals=decimals) if value.dtype.is_floating_point else value
    text = str(shown.tolist())
    # Axes of length one need no lines of their own; the nesting of brackets keeps the shape.
    return text.replace("], [", "],\n [") if value.ndim > 1 and len(text) > 60 else text


def call(name: str, args: tuple, kwargs: dict) -> str:
    """Return a call as a learner would have typed it."""
    parts = [small(a) or "None" for a in args] + [f"{key} = {small(a) or 'None'}" for key, a in kwargs.items()]
    return f"{name}({', '.join(parts)})" if sum(map(len, parts)) < 60 else f"{name}(\n  " + ",\n  ".join(parts) + ")"
