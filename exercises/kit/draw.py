"""Random inputs for tests. NumPy's generators give the same numbers on every machine."""

from __future__ import annotations

import hashlib

import numpy as np
import torch
from torch import Tensor


class Draw:
    """Draws tensors; the same seed and name give the same ones."""

    def __init__(self, seed: int, name: str = ""):
        digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
        self._numbers = np.random.default_rng(int.from_bytes(digest[:16], "little"))

    def __call__(self, *shape: int, dtype: torch.dtype = torch.float32, scale: float = 1.0) -> Tensor:
        """Return normally distributed entries with standard deviation `scale`."""
        return torch.from_numpy(self._numbers.normal(0.0, scale, shape)).to(dtype)

    def integers(self, low: int, high: int, *shape: int) -> Tensor:
        """Return integers from `low` up to and without `high`."""
        return torch.from_numpy(self._numbers.integers(low, high, shape))

    def mask(self, *shape: int, blind: int | None = None) -> Tensor:
        """Return a boolean mask, True = may look, in which every query sees and misses a key.

        Row `blind` of the last but one axis, if named, sees nothing at all.
        """
        flags = self._numbers.random(shape) < 0.5
        see, miss = self._two_places(shape)
        np.put_along_axis(flags, see[..., None], True, -1)
        np.put_along_axis(flags, miss[..., None], False, -1)
        if blind is not None:
            flags[..., blind, :] = False
        return torch.from_numpy(flags)

    def _two_places(self, shape: tuple[int, ...]):
        see = self._numbers.integers(0, shape[-1], shape[:-1])
        step = self._numbers.integers(1, shape[-1], shape[:-1])
        return see, (see + step) % shape[-1]
