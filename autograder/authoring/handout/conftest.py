"""`python -m pytest` runs the visible checks on the notebooks as they stand on disk."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from kit.notebook import learner_from  # noqa: E402  (the kit is found only now)
from kit.outcome import NoAnswer  # noqa: E402
from kit.suite import VISIBLE_SEED, test_of  # noqa: E402


@pytest.fixture(scope="module")
def learner(request):
    return learner_from(request.path.parent)


@pytest.fixture
def draw(request):
    return test_of(request.function).draw(VISIBLE_SEED)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    try:
        return (yield)
    except NoAnswer as silence:
        pytest.skip(f"no answer given: {silence}")
