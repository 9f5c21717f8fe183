"""No right answer is refused for how it rounds: the room that a tolerance leaves is some times what single precision can be off by.

Each right answer is computed in Monte Carlo arithmetic (`authoring/jitter.py`): every operation on the way is off by up to `TIMES` as much as
that of any machine may be. The reference that it is compared with is computed as always.
"""

from contextlib import suppress

import pytest

from autograder.authoring.jitter import KEYS, SPAN, Jitter, Trains
from autograder.exercise import reading as exercises
from autograder.judging.answers import known_learner, reference_learner
from autograder.judging.verdicts import counted
from autograder.kit.learner import Learner
from autograder.kit.suite import failure

TIMES = 2
SEED = 11
EACH_TIME = {"single_head", "multi_head"}
RIGHT = [
    pytest.param(name, known and known.name, marks=[] if name in EACH_TIME else pytest.mark.nightly)
    for name in exercises.all_names()
    for known in (None, *exercises.load(name).variants)
]


def roughly(learner: Learner, key: int) -> Learner:
    """Return a learner whose own operations are off; what comes back is rounded no further."""

    def ask(send, *what, **more):
        with Jitter(key, TIMES * SPAN):
            return send(*what, **more)

    return learner.asked_through(ask)


def refused(name: str, known: str | None) -> dict[str, str]:
    """Return what each test says that refuses a right answer; those that train or measure compare no numbers that were computed once."""
    exercise = exercises.load(name)
    learner = known_learner(name, known) if known else reference_learner(name)
    tests = [test for check in exercise.checks for test in counted(exercise, check) if not test.measures]
    rough, errors = roughly(learner, KEYS[0]), {}
    for test in tests:
        with suppress(Trains):
            errors[test.name] = failure(test, rough, SEED, reference_learner(name))
    return {test: str(error) for test, error in errors.items() if error}


@pytest.mark.parametrize("name, known", RIGHT)
def test_right_answers_pass_however_they_round(name, known):
    assert refused(name, known) == {}
