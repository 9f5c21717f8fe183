"""Comparisons that say what differs, and where."""

from __future__ import annotations

import torch
from torch import Tensor

from .outcome import Sentence, Wrong
from .plain import Object
from .values import small

DIGITS = (4, 6, 9, 17)  # that a message shows of a number; the last are all that 64 bits have

ROUNDINGS = 8  # of a number on the way, that may add up

# Generous to the order of summation, far below what any known mistake changes: some hundred times what a number is rounded by.
TOLERANCE = {torch.float64: 1e-9, torch.float32: 2e-5, torch.float16: 1e-2, torch.bfloat16: 5e-2}


def expect(came, expected, what: str = "output", size: float = 1.0) -> None:
    """Return None if `came` is what was expected.

    `size` is that of the largest numbers which the contract lets an answer add up or subtract on the way: a logarithm of sums of 1000
    is rounded by a thousand times as much as one of 1, and the power of e makes that a share of the result.
    Raises `Wrong`, naming the first thing that differs: kind, shape, dtype, then value.
    """
    if isinstance(expected, Tensor):
        _expect_tensor(came, expected, what, size)
    elif type(came) is not type(expected) or came != expected:
        sentence = Sentence.VALUES if type(came) is type(expected) else _other_kind(came)
        raise Wrong(what, f"{_text(came)} where {_text(expected)} was expected", came, expected, sentence)


def _expect_tensor(came, expected: Tensor, what: str, size: float) -> None:
    if not isinstance(came, Tensor):
        raise Wrong(what, f"{_kind(came)} where a tensor was expected", came, expected, _other_kind(came))
    if came.shape != expected.shape:
        shapes = f"shape {tuple(came.shape)} where {tuple(expected.shape)} was expected"
        raise Wrong(what, shapes, came, expected, Sentence.SHAPE if came.ndim == expected.ndim else Sentence.AXES)
    if came.dtype != expected.dtype:
        raise Wrong(what, f"dtype {_dtype(came)} where {_dtype(expected)} was expected", came, expected, Sentence.DTYPE)
    off = ~_close(came, expected, size)
    if off.any():
        raise Wrong(what, _first_difference(came, expected, off), came, expected, Sentence.VALUES)


def _close(came: Tensor, expected: Tensor, size: float) -> Tensor:
    if not expected.dtype.is_floating_point:
        return came == expected
    tolerance = max(TOLERANCE[expected.dtype], ROUNDINGS * torch.finfo(expected.dtype).eps * size)
    return torch.isclose(came.double(), expected.double(), rtol=tolerance, atol=tolerance)


def _first_difference(came: Tensor, expected: Tensor, off: Tensor) -> str:
    """Return where the two differ, and in what."""
    if expected.ndim == 0:
        return _number_where(came, expected)
    place = tuple(off.nonzero()[0].tolist())
    where = f"{int(off.sum())} of {off.numel()} entries differ; the first at {list(place)}"
    return f"{where}: {_number_where(came[place], expected[place])}"


def expect_trained(trained: tuple[int, int], count: int, whence: str = "") -> None:
    """Return None if so many numbers can learn, and a gradient reaches as many; `trained` is what `Callee.trained` returned.

    One after the other: a gradient that should be zero may come out as a little more or not, and where numbers are too many or too few,
    that is no part of what came.
    """
    can_learn, reached = trained
    expect(can_learn, count, "numbers that can learn")
    expect(reached, count, f"numbers that a gradient reaches{whence}")


def _text(value) -> str:
    return small(value) or "None"


def _number_where(came: Tensor, expected: Tensor) -> str:
    """Return both numbers, with as many digits as it takes to tell them apart."""
    for digits in DIGITS:
        texts = _number(came, digits), _number(expected, digits)
        if texts[0] != texts[1]:
            break
    return f"{texts[0]} where {texts[1]} was expected"


def _number(value: Tensor, digits: int) -> str:
    return str(value.item()) if not value.dtype.is_floating_point else f"{value.item():.{digits}g}"


def _dtype(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _other_kind(came) -> Sentence:
    return Sentence.NOTHING if came is None else Sentence.KIND


def _kind(value) -> str:
    if isinstance(value, Object):
        return value.kind
    return "None" if value is None else type(value).__name__
