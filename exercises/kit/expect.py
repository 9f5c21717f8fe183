"""Comparisons that say what differs, and where."""
from __future__ import annotations

import time
from contextlib import contextmanager
from typing import Callable

import torch
from torch import Tensor

from .operations import Object
from .outcome import Wrong

FEWEST_TRIES = 4
PATIENCE_SECONDS = 0.5

# Generous to the order of summation, far below what any known mistake changes.
TOLERANCE = {torch.float64: 1e-9, torch.float32: 2e-5, torch.float16: 1e-2, torch.bfloat16: 5e-2}


def expect(came, expected, what: str = "output") -> None:
    """Return None if `came` is what was expected.

    Raises `Wrong`, naming the first thing that differs: kind, shape, dtype, then value.
    """
    if isinstance(expected, Tensor):
        _expect_tensor(came, expected, what)
    elif type(came) is not type(expected) or came != expected:
        raise Wrong(what, f"{came!r} where {expected!r} was expected", came, expected)


def _expect_tensor(came, expected: Tensor, what: str) -> None:
    if not isinstance(came, Tensor):
        raise Wrong(what, f"{_kind(came)} where a tensor was expected", came, expected)
    if came.shape != expected.shape:
        raise Wrong(what, f"shape {tuple(came.shape)} where {tuple(expected.shape)} was expected", came, expected)
    if came.dtype != expected.dtype:
        raise Wrong(what, f"dtype {_dtype(came)} where {_dtype(expected)} was expected", came, expected)
    off = ~_close(came, expected)
    if off.any():
        raise Wrong(what, _first_difference(came, expected, off), came, expected)


def _close(came: Tensor, expected: Tensor) -> Tensor:
    if not expected.dtype.is_floating_point:
        return came == expected
    tolerance = TOLERANCE[expected.dtype]
    return torch.isclose(came.double(), expected.double(), rtol=tolerance, atol=tolerance)


def _first_difference(came: Tensor, expected: Tensor, off: Tensor) -> str:
    if expected.ndim == 0:
        return f"{came.item():.4g} where {expected.item():.4g} was expected"
    place = tuple(off.nonzero()[0].tolist())
    return (
        f"{int(off.sum())} of {off.numel()} entries differ; the first at {list(place)}: "
        f"{_number(came[place])} where {_number(expected[place])} was expected"
    )


def expect_ratio(mine: Callable[[], object], plain: Callable[[], object], at_most: float, what: str) -> None:
    """Return None if `mine` took at most `at_most` times as long as `plain`.

    Raises `Wrong` with the ratio of their best times when it never did.
    """
    with _one_thread():
        # The best of several: a yardstick taken while another process had the core would let anything pass.
        fastest_plain = min(_seconds(plain) for _ in range(FEWEST_TRIES * 2))
        fastest_mine = _best(mine, at_most * fastest_plain)
    ratio = fastest_mine / fastest_plain
    if ratio > at_most:
        raise Wrong(what, f"{ratio:.0f} times as long as the same work on whole tensors (at most {at_most:.0f} times)")


def _best(work: Callable[[], object], enough: float) -> float:
    """Return the best time of some tries, the last of which was short enough, or used up our patience.

    So right work gets many tries on a busy machine, and slow work does not keep anybody waiting.
    """
    times: list[float] = []
    while len(times) < FEWEST_TRIES or sum(times) < PATIENCE_SECONDS:
        times.append(_seconds(work))
        if times[-1] <= enough:
            break
    return min(times)


@contextmanager
def _one_thread():
    """Let torch use one thread, as the judge's worker does.

    Where other processes keep the cores busy, threads wait for each other: a tenth of a
    millisecond of work was seen to take 35, which hides a slow loop or invents one.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _number(value: Tensor) -> str:
    return str(value.item()) if not value.dtype.is_floating_point else f"{value.item():.4g}"


def _dtype(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _kind(value) -> str:
    return value.kind if isinstance(value, Object) else "None" if value is None else type(value).__name__
