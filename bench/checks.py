"""Our checks for a kernel that runs a learner's notebook as stock graders do: in one process with it."""

from autograder import exercise as exercises
from autograder.judge import counted, reference_learner
from autograder.kit.forbidden import NoGuard
from autograder.kit.learner import local
from autograder.kit.outcome import Outcome
from autograder.kit.suite import judge_check

EXERCISE = "single_head"


def insist(check: str, namespace: dict, seed: int) -> None:
    """Raise `AssertionError` unless the answers pass a check."""
    exercise = exercises.load(EXERCISE)
    verdict, _, _ = judge_check(check, counted(exercise, check), local(namespace, NoGuard()), seed, reference_learner(EXERCISE))
    assert verdict.outcome is Outcome.PASSED, verdict.reason
