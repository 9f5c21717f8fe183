"""Our checks for a kernel that runs a learner's notebook as stock graders do: in one process with it."""

from autograder.exercise import reading as exercises
from autograder.judging.answers import reference_learner
from autograder.judging.verdicts import counted
from autograder.kit.forbidden import NoGuard
from autograder.kit.learner import local
from autograder.kit.outcome import Outcome
from autograder.kit.suite import run_check

EXERCISE = "single_head"


def insist(check: str, namespace: dict, seed: int) -> None:
    """Raise `AssertionError` unless the answers pass a check."""
    exercise = exercises.load(EXERCISE)
    verdict = run_check(check, counted(exercise, check), local(namespace, NoGuard()), seed, reference_learner(EXERCISE)).verdict
    assert verdict.outcome is Outcome.PASSED, verdict.reason
