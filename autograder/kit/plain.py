"""Plain values: all that an answer may hand back, and what stands for everything else."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

MOST_BITS = 256  # of a whole number; those that are counted in exercises have 60
MOST_NUMBERS = 1 << 23  # of all tensors that come back: a test may make 64 bits, and more than one copy, of each
DTYPES = (
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
    *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool),
)


@dataclass(frozen=True)
class Handle:
    """A number that stands for an object kept beside the learner's code."""

    number: int


@dataclass(frozen=True)
class Object:
    """A returned thing that has no plain form: only the name of its class, or a few words about it, are handed on."""

    kind: str

    def __repr__(self) -> str:
        return self.kind


def plain(value) -> Tensor | None | bool | int | float | str | Object:
    """Return a value that has no parts in plain form; what can't be compared is described."""
    if isinstance(value, Tensor):
        with torch._C.DisableTorchFunctionSubclass():  # a subclass must not influence what comes back
            return _plain_tensor(value)
    if type(value) is int and value.bit_length() > MOST_BITS:
        return Object(f"an int of {value.bit_length()} bits")
    return value if value is None or type(value) in (bool, int, float, str) else Object(type(value).__name__)


def _plain_tensor(value: Tensor) -> Tensor | Object:
    """Return a copy of a tensor on the CPU, if it has numbers there that can be compared."""
    if value.layout is not torch.strided or value.is_nested or value.dtype not in DTYPES:
        return Object(f"a tensor of {value.dtype}, {'nested' if value.is_nested else value.layout}")
    if value.numel() > MOST_NUMBERS:
        return Object(f"a tensor of shape {tuple(value.shape)}, which nothing here needs")
    try:
        return value.detach().as_subclass(Tensor).to("cpu").contiguous().clone()
    except NotImplementedError:  # which would stand for an answer that was not given
        return Object("a tensor without numbers")
