"""Recognising a known mistake by what came out of it.

A fingerprint keeps a shape and four sums over the entries, weighted at random: enough to
recognise an output, too little to rebuild it, let alone the code behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .outcome import Named, Raised, Wrong
from .values import small

SUMS = 4
MOST_ENTRIES = 1 << 20  # of an answer with more, so many at most are summed, evenly spaced: 64 MB of bytes would else take gigabytes
NAN, INFINITY, MINUS_INFINITY = 7.7, 5e3, -3e3  # numbers in their place, so that these leave a print too


@dataclass(frozen=True)
class Suspect:
    """A known mistake as it is recognised: the checks that it fails, and by test the fingerprint that it leaves."""

    name: str
    title: str
    hint: str
    fails: list[str]
    prints: dict[str, dict]


def of(error: Exception) -> dict | None:
    """Return the fingerprint of a failed test's error, or None where there is none to take."""
    if isinstance(error, Raised):
        return {"raised": error.kind, "text": error.text}
    if isinstance(error, Wrong):
        return {"what": error.what, **_of_value(error.came)}
    return None


def _of_value(value) -> dict:
    if not isinstance(value, Tensor):
        return {"value": small(value)}
    some = value.flatten()[:: -(-value.numel() // MOST_ENTRIES) or 1]
    flat = torch.nan_to_num(some.double(), NAN, INFINITY, MINUS_INFINITY).numpy()
    sums = np.random.default_rng(len(flat)).normal(size=(SUMS, len(flat))) @ flat
    return {"shape": list(value.shape), "dtype": str(value.dtype), "sums": [float(f"{x:.5g}") for x in sums.tolist()]}


def same(one: dict | None, other: dict | None) -> bool:
    """Return whether two fingerprints were left by the same output."""
    if one is None or other is None or one.keys() != other.keys():
        return False
    if any(one[key] != other[key] for key in one.keys() - {"sums"}):
        return False
    return np.allclose(one.get("sums", 0), other.get("sums", 0), rtol=1e-3, atol=1e-3)


def recognise(check: str, test: str, print_: dict | None, failed: Callable[[], set[str]], suspects: list[Suspect]) -> Named | None:
    """Return the known mistake whose output this was, or None.

    Where several left the same print, the one is named whose list of failed checks agrees best
    with what `failed` says of the submission; it is asked only then, for it may take a while.
    """
    found = [each for each in suspects if check in each.fails and same(print_, each.prints.get(test))]
    if len(found) > 1:
        others = failed()
        found.sort(key=lambda each: len(others ^ set(each.fails)))
    return Named(found[0].name, found[0].title, found[0].hint) if found else None
