"""Recognising a known mistake by what came out of it.

A fingerprint keeps a shape and four sums over the entries, weighted at random: enough to
recognise an output, too little to rebuild it, let alone the code behind it.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from .outcome import Raised, Wrong
from .values import small

SUMS = 4
TOLERANCE = 1e-3  # of numbers, relative and absolute: no two machines round alike
DIGITS, PLACES = 5, 6  # of numbers: significant ones, and behind the point
MOST_PARTS = 8  # of a tuple, and of one within it
MOST_ENTRIES = 1 << 20  # of an answer with more, so many at most are summed, evenly spaced: 64 MB of bytes would else take gigabytes
NAN, INFINITY, MINUS_INFINITY = 7.7, 5e3, -3e3  # numbers in their place, so that these leave a print too
LARGEST = 1e200  # of numbers of 64 bits, so that their sums are numbers too


def of(error: Exception) -> dict | None:
    """Return the fingerprint of a failed test's error, or None where there is none to take."""
    if isinstance(error, Raised):
        return {"raised": error.kind, "text": error.text}
    if isinstance(error, Wrong):
        return {"what": error.what, **_of_value(error.came if error.known_by is None else error.known_by)}
    return None


def _of_value(value, depth: int = 2) -> dict:
    if isinstance(value, Tensor):
        return _of_tensor(value)
    if isinstance(value, tuple) and depth:
        return {"length": len(value), "parts": [_of_value(part, depth - 1) for part in value[:MOST_PARTS]]}
    is_number = type(value) is float and math.isfinite(value)
    return {"number": _short(value)} if is_number else {"value": small(value)}


def _of_tensor(tensor: Tensor) -> dict:
    some = tensor.flatten()[:: -(-tensor.numel() // MOST_ENTRIES) or 1]
    flat = torch.nan_to_num(some.double(), NAN, INFINITY, MINUS_INFINITY).clamp(-LARGEST, LARGEST).numpy()
    weights = np.random.default_rng(len(flat)).normal(size=(SUMS, len(flat)))
    # A product of matrices would add in an order of the processor's own.
    sums = [math.fsum(row * flat) for row in weights]
    return {"shape": list(tensor.shape), "dtype": str(tensor.dtype), "sums": [_short(x) for x in sums]}


def _short(number: float) -> float:
    return round(float(f"{number:.{DIGITS}g}"), PLACES) + 0.0  # which is never -0.0


def same(one, other, tolerance: float = TOLERANCE) -> bool:
    """Return whether two fingerprints were left by the same output; what is None was left by nothing."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key], tolerance) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(*pair, tolerance) for pair in zip(one, other))
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= tolerance * (1 + abs(other))
    return one is not None and one == other
