"""What judge and learner share: tests, messages and the ways to reach an answer.

This package is copied as it is into `exercises/kit`, so it imports nothing from the rest of
the autograder and holds nothing that a learner may not read.
"""
from .cost import expect_memory, expect_slope
from .draw import Draw
from .expect import expect, expect_ratio
from .learner import Learner
from .outcome import Outcome, Verdict, Wrong
from .suite import gpu, hidden, visible
from .trial import Contract, expect_pass, expect_refusal

__all__ = [
    "Contract", "Draw", "Learner", "Outcome", "Verdict", "Wrong",
    "expect", "expect_memory", "expect_pass", "expect_ratio", "expect_refusal", "expect_slope", "gpu", "hidden", "visible",
]
