"""The proxy that a learner's test gets in place of an implementation: a call to it is answered by whatever process has the code.

In the sandbox that is the judge, across the wire; in the notebook it is the same process. The same
rules hold in both: data goes there, and plain data or an ordinary error comes back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import torch
from torch import Tensor

MOST_AXES = 6
LONGEST_AXIS = 512  # two of these span a table of scores, which the other side has to hold
MOST_NUMBERS = 1 << 16  # in one question
DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.bool)
# What a question may end with; anything else comes back as a RuntimeError.
ERRORS = {
    kind.__name__: kind
    for kind in (TypeError, ValueError, RuntimeError, IndexError, KeyError, AttributeError, NameError, UnboundLocalError, ZeroDivisionError)
}


class ImplementationProxy:
    """For a test it is the implementation: it takes arguments and returns the result for them."""

    def __init__(self, name: str, ask: Callable[[dict], dict], plain: Callable):
        self._name, self._ask, self._plain = name, ask, plain
        self._over = False
        self._turn = threading.Lock()  # one question at a time, whichever thread asks

    def __call__(self, *args, **kwargs):
        """Return what the implementation returns, as plain values, which carry no gradient; raises what it raises."""
        args, kwargs = self._plain(args), {name: self._plain(value) for name, value in kwargs.items()}
        check_handed([*args, *kwargs.values()])
        with self._turn:
            if self._over:
                raise RuntimeError(f"the test is over, and {self._name} can't be called any more")
            reply = self._ask({"args": args, "kwargs": kwargs})
        if "error" in reply:
            raise ERRORS.get(reply["error"], RuntimeError)(reply["text"])
        return reply["value"]

    def __repr__(self) -> str:
        return self._name

    def end(self) -> None:
        """Let no further question through, once the one that is under way has been answered."""
        with self._turn:
            self._over = True


def check_handed(values: list) -> None:
    """Return None if all values may be handed over; raises TypeError or ValueError, saying why not."""
    for value in values:
        _check_tensor(value) if isinstance(value, Tensor) else _check_other(value)
    count = sum(value.numel() for value in values if isinstance(value, Tensor))
    if count > MOST_NUMBERS:
        raise ValueError(f"{count} numbers are more than one call may hand over ({MOST_NUMBERS}); a smaller example tells as much")


def _check_tensor(tensor: Tensor) -> None:
    if tensor.layout is not torch.strided or tensor.dtype not in DTYPES:
        raise TypeError(f"a tensor of {str(tensor.dtype).removeprefix('torch.')} ({tensor.layout}) can't be handed over")
    if tensor.ndim > MOST_AXES or not all(1 <= size <= LONGEST_AXIS for size in tensor.shape):
        raise ValueError(
            f"a tensor of shape {tuple(tensor.shape)} can't be handed over: up to {MOST_AXES} axes, each of length 1 to {LONGEST_AXIS}"
        )


def _check_other(value) -> None:
    if value is not None and type(value) not in (bool, int, float):
        kind = getattr(value, "kind", type(value).__name__)
        raise TypeError(f"{kind} can't be handed over: only tensors, numbers, True, False and None can")
    if type(value) is int and abs(value) > LONGEST_AXIS:
        raise ValueError(f"a number above {LONGEST_AXIS} can't be handed over; a smaller example tells as much")
