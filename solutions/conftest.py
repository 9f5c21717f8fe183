"""`python -m pytest solutions/NAME --submission FILE`: all tests of an exercise, with pytest as the front end.

Without a file the reference answer is judged. The mark of each check is printed at the end.
"""

import getpass
import secrets
import tempfile
from pathlib import Path
from textwrap import indent

import pytest
import torch
from filelock import FileLock

from autograder.exercise import reading as exercises
from autograder.intake.reading import read_submission
from autograder.judging.answers import reference_learner
from autograder.judging.session import Session
from autograder.judging.verdicts import taken_back
from autograder.kit.outcome import Outcome
from autograder.kit.show import as_text
from autograder.kit.suite import blame, explain, test_of
from autograder.limits import Limits
from autograder.sandbox.client import Zygote
from autograder.sandbox.levels import Level, required

ERRORS = pytest.StashKey[dict]()  # by exercise and check, what its tests ended with
EXCUSES = pytest.StashKey[
    dict
]()  # by exercise, for each test that let a wrong answer pass: its check, those that must fail instead, and the error
GPU_LOCK = Path(tempfile.gettempdir()) / f"attention-gpu-{getpass.getuser()}.lock"  # one queue for whatever processes want a GPU


def pytest_addoption(parser):
    parser.addoption("--submission", type=Path, help="the notebook, or py:percent script, to judge")
    parser.addoption(
        "--trust-submissions", action="store_true", help="allow the level none of the sandbox, for work that you trust as your own"
    )
    parser.addoption("--seed", type=int, help="what the hidden tests draw from; new each time if not given")


def pytest_configure(config):
    # Set as an option, so that the processes of pytest-xdist draw from the same one.
    config.option.seed = config.option.seed or secrets.randbits(63)
    config.stash[ERRORS], config.stash[EXCUSES] = {}, {}
    if config.option.submission:  # no other front end takes a warning for an error, and a mark is the same in all
        config.addinivalue_line("filterwarnings", "default")


def pytest_report_header(config):
    return f"hidden tests draw from --seed {config.option.seed}"


@pytest.fixture(scope="session")
def zygote(request):
    with Zygote(required(request.config.getoption("--trust-submissions"))) as one:
        yield one


@pytest.fixture(scope="module")
def session(request):
    """The submission in the sandbox; None where the reference answer is judged."""
    exercise = exercises.load(request.path.parent.name)
    path = request.config.getoption("--submission")
    if path is None:
        yield None
        return
    submission = read_submission(path, "learner", exercise)
    zygote = request.getfixturevalue("zygote")
    # A GPU's driver reserves more address space than any limit that would mean something.
    limits = Limits(memory_megabytes=0) if torch.cuda.is_available() else Limits()
    with Session(zygote, exercise, submission.answers, limits, submission.lost_names) as session:
        yield session


@pytest.fixture(scope="module")
def learner(request, session):
    return session.learner if session else reference_learner(request.path.parent.name)


@pytest.fixture(autouse=True)
def queue_for_the_gpu(request):
    """Let one test at a time have the GPU. Its worker ends with it: a context that an error has spoilt would fail all tests to come."""
    if not _wants_gpu(request.node):
        yield
        return
    with FileLock(GPU_LOCK):
        yield
    if session := request.getfixturevalue("session"):
        session.close()


@pytest.fixture
def reference(request):
    return reference_learner(request.path.parent.name)


@pytest.fixture
def draw(request):
    return test_of(request.function).draw(request.config.option.seed)


def _wants_gpu(item) -> bool:
    return getattr(item.function, "gpu", False)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if _wants_gpu(item) and not torch.cuda.is_available():
        pytest.skip("there is no GPU here")
    if _wants_gpu(item) and item.config.option.submission and required(item.config.option.trust_submissions) is not Level.none:
        pytest.skip("no worker sees a GPU at this level of the sandbox; with ATTENTION_LEVEL=none and --trust-submissions it does")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    check = getattr(item.function, "check", None)
    if call.when == "call" and check and not _wants_gpu(item):
        errors = item.config.stash[ERRORS].setdefault(item.path.parent.name, {}).setdefault(check, [])
        excuses = item.config.stash[EXCUSES].setdefault(item.path.parent.name, [])
        excuses += [(check, each.charged, each.wrong) for each in item.funcargs["learner"]._excused()]
        if call.excinfo is not None:
            test = test_of(item.function)
            error = blame(test, call.excinfo.value, item.config.option.seed, reference_learner(item.path.parent.name))
            errors.append(error)
            text = as_text(explain(test.check, test, error, item.funcargs["learner"], 0.0))
            report.longrepr = indent(text, "    ", lambda line: True)  # what a learner's code says must not look like a mark
    return report


def pytest_terminal_summary(terminalreporter, config):
    for name, checks in config.stash[ERRORS].items():
        points = exercises.load(name).checks
        first = {check: errors[0] for check, errors in checks.items() if errors}
        first |= taken_back(config.stash[EXCUSES][name], set(first))
        terminalreporter.section(f"marks of {name}")
        for check in checks:
            mark = 0.0 if check in first else points[check]
            outcome = first[check].outcome if check in first else Outcome.PASSED
            terminalreporter.line(f"{check}: {mark:g} of {points[check]:g} ({outcome.value})")
