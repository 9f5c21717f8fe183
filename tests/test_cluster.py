"""Judging on a real dask scheduler with two real workers, started and ended here."""
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from distributed import Client

from autograder.errors import CannotGoOn
from autograder.grading import grade
from tests.marks import everything, small_class

DASK = str(Path(sys.executable).parent / "dask")


@pytest.fixture
def scheduler(tmp_path, level):
    """The address of a scheduler, and its two workers' processes. None of them starts in this project's folder."""
    started = []

    def start(*words) -> subprocess.Popen:
        started.append(subprocess.Popen([DASK, *words], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT))
        return started[-1]

    told = tmp_path / "scheduler.json"
    start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(told))
    here = ("--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard", "--local-directory", str(tmp_path))
    workers = [start("worker", "--scheduler-file", str(told), *here, "--name", name) for name in ("one", "two")]
    with Client(scheduler_file=str(told), timeout=120) as client:
        client.wait_for_workers(2, timeout=120)
        address = client.scheduler.address
    yield address, workers
    for process in started:
        _end(process)


def _end(process: subprocess.Popen) -> None:
    family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)] if process.poll() is None else []
    process.terminate()
    _, alive = psutil.wait_procs(family, timeout=20)
    for one in alive:
        one.kill()
    process.wait()


@pytest.fixture
def undisturbed(tmp_path):
    from autograder.course import Course

    course = Course(tmp_path / "undisturbed")
    small_class(course)
    list(grade(course, ["single_head"]))
    return course


def test_a_cluster_gives_the_same_marks_though_a_worker_is_killed(course, undisturbed, scheduler):
    address, workers = scheduler
    small_class(course)
    (course.root / "seed").write_text((undisturbed.root / "seed").read_text())
    judged = []
    for learner, _, entry in grade(course, ["single_head"], cluster=address):
        if entry is not None:
            judged.append(learner)
            if len(judged) == 1:
                _kill(workers[0])
    assert sorted(judged) == ["ada", "alan", "barbara", "claude"]  # each of them once
    assert everything(course) == everything(undisturbed)


def _kill(worker: subprocess.Popen) -> None:
    """End a worker at once, and its nanny, which would start it again."""
    for process in [psutil.Process(worker.pid), *psutil.Process(worker.pid).children()]:
        process.send_signal(signal.SIGKILL)


def test_what_a_worker_lacks_is_said_and_nothing_is_judged(course, scheduler, monkeypatch, hand_in, single_head):
    hand_in("ada", single_head)
    monkeypatch.setattr("autograder.cluster.torch.__version__", "2.0.0")
    with pytest.raises(CannotGoOn, match=r"worker tcp://127.* has Python and torch .*Install the same requirements.txt there"):
        list(grade(course, ["single_head"], cluster=scheduler[0]))
    assert not list(course.root.glob("verdicts/*/*"))


def test_a_scheduler_that_is_not_there_is_said(course, hand_in, single_head, monkeypatch):
    hand_in("ada", single_head)
    monkeypatch.setattr("autograder.cluster.CONNECT_SECONDS", 1)
    begun = time.monotonic()
    with pytest.raises(CannotGoOn, match="scheduler at tcp://127.0.0.1:9 cannot be reached"):
        list(grade(course, ["single_head"], cluster="tcp://127.0.0.1:9"))
    assert time.monotonic() - begun < 60
