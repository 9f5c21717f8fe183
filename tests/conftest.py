"""What most tests need: a course of their own, the sandbox's zygote, ways to hand something in."""

import gc
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import nbformat
import pytest
from filelock import FileLock
from playwright.sync_api import sync_playwright

from autograder import grading
from autograder.authoring.sample import handed_in
from autograder.exercise import reading as exercises
from autograder.files import write_whole
from autograder.pool.choose import chosen_judges
from autograder.records.course import Course
from autograder.sandbox.client import Zygote, offered
from autograder.sandbox.forkserver import ForkServer
from autograder.sandbox.levels import Level, required
from tests.commands import OURS, WIDTH, run_alone, run_here
from tests.forked_kernels import lent
from tests.forking_nbgrader import ForkingNbgrader
from tests.rooms import seconds

ROOT = Path(__file__).resolve().parents[1]


@pytest.hookimpl(trylast=True)  # pytest itself puts together what shares a fixture
def pytest_collection_modifyitems(items):
    """Put the files that take longest first: where several processes take them in turn, none has to wait for one at the end."""
    spent = seconds()

    def place(item) -> int:
        return -next((spent[path] for path in (item.path, *item.path.parents) if path in spent), 0)

    items.sort(key=place)


def pytest_collection_finish():
    """Spare the garbage collector what has been imported and collected: none of it is garbage, and it would look again and again."""
    gc.freeze()


@pytest.fixture(scope="session")
def once(tmp_path_factory):
    """Return a function that has a text made by whichever of xdist's processes asks for it first, once in a run of the tests."""
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder  # the parent is of all processes, and of this run

    def text(name: str, make: Callable[[], str]) -> str:
        path = folder / f"{name}.txt"
        with FileLock(f"{path}.lock"):
            if not path.exists():
                write_whole(path, make())
        return path.read_text(encoding="utf-8")

    return text


@pytest.fixture(scope="session", autouse=True)
def level(once) -> Level:
    """Have everything judged at the best level that this machine offers, commands included."""
    if "ATTENTION_LEVEL" not in os.environ:
        os.environ["ATTENTION_LEVEL"] = once("level", lambda: offered().name)
    return required()


@pytest.fixture(scope="session")
def forkserver(level):
    """What has imported torch behind the wall, for all tests of this process that do not ask how it begins or ends."""
    with ForkServer(level, idle_seconds=3600) as one:
        yield one


@pytest.fixture(scope="session", autouse=True)
def grading_starts_no_forkserver(level, forkserver):
    """Let `grade` in this process take its zygotes from there, as it does where a command has started one for it; several judges start their own."""

    def chosen(jobs: int, wanted: Level | None):
        return chosen_judges(jobs, wanted, forkserver=forkserver if wanted in (None, level) else None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grading, "chosen_judges", chosen)
        yield


@pytest.fixture(scope="session")
def zygote(level, forkserver):
    with Zygote(level, forkserver.link) as one:
        yield one


@pytest.fixture
def course(tmp_path):
    return Course(tmp_path / "course")


@pytest.fixture(scope="session")
def single_head():
    return exercises.load("single_head")


@pytest.fixture
def hand_in(course):
    """Write a submission; `known` is a mistake or variant, None the reference answer."""

    def write(learner: str, exercise, known=None, change=None) -> Path:
        notebook = handed_in(exercise, known)
        if change:
            change(notebook)
        path = course.submitted / learner / exercise.name / f"{exercise.name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(nbformat.writes(notebook), encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def nbgrader(level):
    with closing(ForkingNbgrader(level.name)) as one:
        yield one


@pytest.fixture
def command(course, level, forkserver, nbgrader):
    """Run a command of the project's environment on this test's course; return the finished process.

    Unless a test asks for it to be `alone`, our own run in this process, and nbgrader's in one that has imported what they need: to start anew
    takes most of them longer than all the rest.
    """

    def run(*words, code: int | None = 0, alone: bool = False, **more):
        words = tuple(map(str, words))
        environment = {"ATTENTION_COURSE": str(course.root), "COLUMNS": WIDTH}
        if words[:3] == OURS and not alone:
            done = run_here(words[3:], environment, level, forkserver)
        elif words[0] == "nbgrader" and not alone:
            done = nbgrader.run(words, environment)
        else:
            done = run_alone(words, environment, **more)
        assert code is None or done.returncode == code, done.stdout + done.stderr
        return done

    return run


@pytest.fixture(scope="module")
def forked_kernels():
    """Have the kernels of a file of tests be forks of one process that has imported torch: most of them take longer to start than to run."""
    with lent():
        yield


@pytest.fixture(scope="session")
def browser():
    """Start the system's Chromium, once for all tests of this process: a second one could not be."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.fail("no `chromium` on the PATH: install Debian's package of that name", pytrace=False)
    with sync_playwright() as playwright:
        # Its sandbox needs rights that root and most containers don't have; the pages are our own.
        yield playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
