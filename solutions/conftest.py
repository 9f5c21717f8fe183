"""`python -m pytest solutions/NAME --submission FILE`: the judge's tests behind pytest's door.

Without a file the reference answer is judged. The mark of each check is printed at the end.
"""
import secrets
from pathlib import Path

import pytest
import torch

from autograder import exercise as exercises
from autograder.judge import Session, reference_learner
from autograder.kit.outcome import Outcome
from autograder.kit.show import as_text
from autograder.kit.suite import blame, explain, test_of
from autograder.limits import Limits
from autograder.sandbox.host import Zygote
from autograder.sandbox.levels import required
from autograder.submission import read

ERRORS = pytest.StashKey[dict]()


def pytest_addoption(parser):
    parser.addoption("--submission", type=Path, help="the notebook, or py:percent script, to judge")
    parser.addoption("--trust-submissions", action="store_true", help="allow the level none of the sandbox, for work that you trust as your own")
    parser.addoption("--seed", type=int, help="what the hidden tests draw from; new each time if not given")


def pytest_configure(config):
    # Set as an option, so that the processes of pytest-xdist draw from the same one.
    config.option.seed = config.option.seed or secrets.randbits(63)
    config.stash[ERRORS] = {}


def pytest_report_header(config):
    return f"hidden tests draw from --seed {config.option.seed}"


@pytest.fixture(scope="session")
def zygote(request):
    with Zygote(required(request.config.getoption("--trust-submissions"))) as one:
        yield one


@pytest.fixture(scope="module")
def learner(request):
    exercise = exercises.load(request.path.parent.name)
    path = request.config.getoption("--submission")
    if path is None:
        yield reference_learner(exercise.name)
        return
    submission = read(path, "learner", exercise)
    zygote = request.getfixturevalue("zygote")
    # A GPU's driver reserves more address space than any limit that would mean something.
    limits = Limits(memory_megabytes=0) if torch.cuda.is_available() else Limits()
    with Session(zygote, exercise, submission.answers, limits, submission.lost_names) as session:
        yield session.learner


@pytest.fixture
def reference(request):
    return reference_learner(request.path.parent.name)


@pytest.fixture
def draw(request):
    return test_of(request.function).draw(request.config.option.seed)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if getattr(item.function, "gpu", False) and not torch.cuda.is_available():
        pytest.skip("there is no GPU here")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    check = getattr(item.function, "check", None)
    if call.when == "call" and check and not getattr(item.function, "gpu", False):
        errors = item.config.stash[ERRORS].setdefault(item.path.parent.name, {}).setdefault(check, [])
        if call.excinfo is not None:
            test = test_of(item.function)
            error = blame(test, call.excinfo.value, item.config.option.seed, reference_learner(item.path.parent.name))
            errors.append(error)
            report.longrepr = as_text(explain(test.check, test, error, item.funcargs["learner"], 0.0))
    return report


def pytest_terminal_summary(terminalreporter, config):
    for name, checks in config.stash[ERRORS].items():
        points = exercises.load(name).checks
        terminalreporter.section(f"marks of {name}")
        for check, errors in checks.items():
            mark = 0.0 if errors else points[check]
            outcome = errors[0].outcome if errors else Outcome.PASSED
            terminalreporter.line(f"{check}: {mark:g} of {points[check]:g} ({outcome.value})")
