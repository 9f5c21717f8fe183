"""What judges and learners share: tests, messages and the ways to reach an answer.

This package is copied as it is into `exercises/kit`, so it imports nothing from the rest of
the autograder and holds nothing that a learner may not read.
"""

from importlib import import_module

MODULES = {
    "cost": ["expect_in_step", "expect_memory", "expect_ratio", "expect_slope"],
    "devices": ["expect_device"],
    "draw": ["Draw"],
    "compare": ["expect", "expect_trained"],
    "gradients": ["expect_gradients", "expect_learning"],
    "learner": ["Anew", "Learner"],
    "outcome": ["Outcome", "Verdict", "Wrong"],
    "suite": ["gpu", "hidden", "visible"],
    "mutation": ["Contract", "expect_pass", "expect_refusal"],
}
__all__ = [name for names in MODULES.values() for name in names]


def __getattr__(name: str):
    """Return what a test imports from here, imported only now: most of it needs torch, and a process that only reads verdicts does without."""
    for module, names in MODULES.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
