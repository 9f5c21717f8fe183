"""Processes killed at random moments: the next run ends with the marks of an undisturbed run.

ATTENTION_KILL_SEED=... draws the same moment and victim again; ATTENTION_KILLS=... is how many `make soak` draws.
"""

import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from autograder.grading import grade
from autograder.records.course import Course
from tests.conftest import ROOT
from tests.marks import everything, marks, small_class

NBGRADER = str(Path(sys.executable).parent / "nbgrader")
GRADE = [sys.executable, "-m", "autograder", "grade", "single_head", "--jobs"]
FRONT_ENDS = {"grade": [*GRADE, "1"], "several judges": [*GRADE, "2"], "nbgrader": [NBGRADER, "autograde", "single_head"]}
ORPHANS_END = 40  # seconds: a worker notices by itself that its judge is gone, or its CPU time is up


@pytest.fixture(scope="module")
def peace(tmp_path_factory):
    """By front end: a class that is ready to be graded, and the same graded in peace."""
    made = {}

    def of(front_end: str) -> tuple[Course, Course]:
        if front_end not in made:
            fresh, graded = (Course(tmp_path_factory.mktemp(f"{front_end}-{name}")) for name in ("fresh", "graded"))
            _ready(fresh, front_end)
            shutil.copytree(fresh.root, graded.root, dirs_exist_ok=True)
            _finish(graded, front_end)
            made[front_end] = fresh, graded
        return made[front_end]

    return of


def _ready(course: Course, front_end: str) -> None:
    small_class(course)
    (course.root / "seed").write_text("1\n")
    if front_end == "nbgrader":
        _nbgrader(course, "generate_assignment", f"--CourseDirectory.release_directory={course.root / 'release'}")


def _start(course: Course, *words: str) -> subprocess.Popen:
    temporary = course.root.parent / f"{course.root.name}-tmp"
    temporary.mkdir(exist_ok=True)
    environment = {**os.environ, "ATTENTION_COURSE": str(course.root), "TMPDIR": str(temporary)}
    return subprocess.Popen(words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _nbgrader(course: Course, command: str, *more: str) -> None:
    process = _start(course, NBGRADER, command, "single_head", *more)
    output = process.communicate(timeout=300)[0]
    assert process.returncode == 0, output


def _finish(course: Course, front_end: str) -> int | None:
    """Grade the class in an undisturbed run; return how many needed no judging any more, where the command knows."""
    if front_end == "nbgrader":
        _nbgrader(course, "autograde")
        return None
    return grade(course, ["single_head"]).unchanged


def survive(peace, course: Course, front_end: str, seed: str) -> None:
    """Kill a run as the seed says; see that nothing wrong was written and that the next run completes it."""
    fresh, graded = peace(front_end)
    shutil.rmtree(course.root, ignore_errors=True)
    shutil.copytree(fresh.root, course.root)
    where = f"ATTENTION_KILL_SEED={seed} ({front_end}: {_disturb(course, front_end, random.Random(seed))})"
    assert _marks_so_far(course) <= set(marks(graded)[0]), f"{where}: a wrong mark was entered"
    judged = len(_entries(course))
    known = _finish(course, front_end)
    assert known is None or known == judged, f"{where}: what was judged is not known any more"
    assert everything(course) == everything(graded), f"{where}: the next run did not end as an undisturbed one"
    print(where, "as in peace", flush=True)


def _disturb(course: Course, front_end: str, draw: random.Random) -> str:
    """Start a run and kill one of its processes; return what was done."""
    moment, age = draw.choice(("start", "lock", 1, 2, 3, 4)), draw.random()
    wait = draw.uniform(0, {"start": 6.0, "lock": 3.0}.get(moment, 0.3))
    process = _start(course, *FRONT_ENDS[front_end])
    while process.poll() is None and not _has_come(moment, course):
        time.sleep(0.002)
    time.sleep(wait)
    tree = _tree(process)
    victim = int(age * len(tree))
    if tree:
        _kill(tree[victim])
    process.communicate(timeout=300)
    _, alive = psutil.wait_procs(tree, timeout=ORPHANS_END)
    what = f"process {victim} of {len(tree)} killed {wait:.3f} s after {moment}, exit {process.returncode}"
    assert not alive, f"{what}: still there: {alive}"
    return what


def _has_come(moment: str | int, course: Course) -> bool:
    if moment == "lock":
        return course.lock.exists() and bool(course.lock.read_text())
    return moment == "start" or len(_entries(course)) >= moment


def _tree(process: subprocess.Popen) -> list[psutil.Process]:
    """Return the run's processes, the oldest first: the run itself, its judges, their zygotes, workers."""
    try:
        judge = psutil.Process(process.pid)
        return [judge, *sorted(judge.children(recursive=True), key=lambda p: (p.create_time(), p.pid))]
    except psutil.NoSuchProcess:
        return []


def _kill(process: psutil.Process) -> None:
    try:
        process.send_signal(signal.SIGKILL)
    except psutil.NoSuchProcess:
        pass


def _entries(course: Course) -> list[Path]:
    return [path for path in course.root.glob("verdicts/*/*.json") if not path.name.startswith(".")]


def _marks_so_far(course: Course) -> set:
    """Return the marks that a killed run entered, read from a copy: the next run is to find all as it was."""
    copy = Course(course.root.parent / f"{course.root.name}-copy")
    shutil.rmtree(copy.root, ignore_errors=True)
    copy.root.mkdir()
    for path in course.root.glob("gradebook.db*"):
        shutil.copy(path, copy.root)
    return {row for row in marks(copy)[0] if row[2] is not None} if (copy.root / "gradebook.db").exists() else set()


def seeds(count: int) -> list[str]:
    """Return what the kills are drawn from: so many, or the one that a person names."""
    named, base = os.environ.get("ATTENTION_KILL_SEED"), secrets.token_hex(4)
    return [named] if named else [f"{base}-{number}" for number in range(count)]


def test_three_kills(peace, course):
    for seed in seeds(3):
        survive(peace, course, "several judges", seed)


@pytest.mark.soak
@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_many_kills(peace, course, front_end):
    for seed in seeds(int(os.environ.get("ATTENTION_KILLS", 100))):
        survive(peace, course, front_end, seed)
