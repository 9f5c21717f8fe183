"""Judging on a real dask scheduler with two real workers, started and ended here."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from distributed import Client

from autograder.errors import CannotGoOn
from autograder.grading import grade
from autograder.intake.submission import Submission
from autograder.judging.answers import answers
from autograder.judging.task import Task, verdicts_from_text
from autograder.kit.outcome import Outcome
from autograder.limits import Limits
from autograder.pool.choose import chosen_judges
from autograder.pool.cluster import Cluster
from tests.marks import everything, small_class

DASK = str(Path(sys.executable).parent / "dask")


@dataclass
class Scheduler:
    """A scheduler and its workers, each in a process of its own, in a folder that is not this project's."""

    folder: Path
    started: list[subprocess.Popen] = field(default_factory=list)
    address: str = ""

    def start(self, *words, **environment) -> subprocess.Popen:
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT}
        self.started.append(subprocess.Popen([DASK, *words], cwd=self.folder, env={**os.environ, **environment}, **streams))
        return self.started[-1]

    def worker(self, *words, **environment) -> subprocess.Popen:
        here = ("--host", "127.0.0.1", "--no-dashboard", "--local-directory", str(self.folder))
        return self.start(
            "worker", "--scheduler-file", str(self.folder / "scheduler.json"), *here, *(words or ("--nthreads", "1")), **environment
        )

    def wait_for(self, number: int) -> list[str]:
        """Return the workers' addresses when there are so many."""
        with Client(scheduler_file=str(self.folder / "scheduler.json"), timeout=120) as client:
            self.address = client.scheduler.address
            until = time.monotonic() + 120
            while len(client.nthreads()) != number:
                assert time.monotonic() < until, client.nthreads()
                time.sleep(0.2)
            return list(client.nthreads())


@pytest.fixture
def scheduler(tmp_path, level):
    it = Scheduler(tmp_path)
    it.start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(tmp_path / "scheduler.json"))
    yield it
    for process in it.started:
        _end(process)


@pytest.fixture
def workers(scheduler):
    """Two workers that fit."""
    started = [scheduler.worker(), scheduler.worker()]
    scheduler.wait_for(2)
    return started


@pytest.fixture
def cluster(scheduler, workers, level):
    it = Cluster(scheduler.address, level, 1)
    yield it
    it.close()


def _end(process: subprocess.Popen) -> None:
    family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)] if process.poll() is None else []
    process.terminate()
    _, alive = psutil.wait_procs(family, timeout=20)
    for one in alive:
        one.kill()
    process.wait()


@pytest.fixture
def undisturbed(tmp_path):
    from autograder.records.course import Course

    course = Course(tmp_path / "undisturbed")
    small_class(course)
    grade(course, ["single_head"])
    return course


@pytest.fixture
def task(single_head, level) -> str:
    """A right answer, of which one check is to be judged."""
    return Task(Submission("ada", "single_head", answers(single_head)), ("causal",), 1, Limits(), level).as_text()


def test_a_cluster_gives_the_same_marks_though_a_worker_is_killed(course, undisturbed, scheduler, workers):
    small_class(course)
    (course.root / "seed").write_text((undisturbed.root / "seed").read_text())
    judged = []
    with chosen_judges(0, None, scheduler.address) as found:

        def disturb(entry):
            judged.append(entry.learner)
            if len(judged) == 1:
                _kill(workers[0])

        grade(course, ["single_head"], judges=found, seen=disturb)
    assert sorted(judged) == ["ada", "alan", "barbara", "claude"]  # each of them once
    assert everything(course) == everything(undisturbed)


def _grade(course, address: str) -> None:
    with chosen_judges(0, None, address) as found:
        grade(course, ["single_head"], judges=found)


def _kill(worker: subprocess.Popen) -> None:
    """End a worker at once, and its nanny, which would start it again."""
    for process in [psutil.Process(worker.pid), *psutil.Process(worker.pid).children()]:
        process.send_signal(signal.SIGKILL)


def test_what_a_worker_lacks_is_reported_and_nothing_is_judged(course, scheduler, workers, monkeypatch, hand_in, single_head):
    hand_in("ada", single_head)
    monkeypatch.setattr("torch.__version__", "2.0.0")
    with pytest.raises(
        CannotGoOn,
        match=r"^dask worker tcp://127.*: it has Python .* and here are Python .* and torch 2.0.0: .*Install the same requirements.txt there",
    ):
        _grade(course, scheduler.address)
    assert not list(course.root.glob("verdicts/*/*"))


@pytest.mark.nightly
def test_a_worker_with_two_threads_is_refused(scheduler, level):
    """Threads share torch's random numbers: an answer that draws some would get others than by itself."""
    scheduler.worker("--nthreads", "2")
    (worker,) = scheduler.wait_for(1)
    with pytest.raises(CannotGoOn, match=f"^dask worker {worker}: it has 2 threads, .*--nthreads 1"):
        Cluster(scheduler.address, level, 1)


@pytest.mark.nightly
def test_a_worker_that_joins_later_and_does_not_fit_judges_nothing(scheduler, workers, cluster, task, caplog):
    (scheduler.folder / "late").mkdir()
    (scheduler.folder / "late" / "sitecustomize.py").write_text(
        "import platform\nplatform.python_version_tuple = lambda: ('3', '99', '0')\n"
    )
    before = scheduler.wait_for(2)
    late = scheduler.worker(PYTHONPATH=str(scheduler.folder / "late"))
    (misfit,) = set(scheduler.wait_for(3)) - set(before)
    cluster._client.get_task_stream()  # from now on the scheduler notes who did what
    until = time.monotonic() + 120
    while late.poll() is None and time.monotonic() < until:  # it is given nothing before it has started
        for result in [cluster.submit(task) for _ in range(9)]:
            assert all(verdict.outcome is Outcome.PASSED for verdict in verdicts_from_text(result.result(60)))
    done_by = {record["worker"] for record in cluster._client.get_task_stream()}
    assert done_by and done_by <= set(before) and late.poll() == 0 and scheduler.wait_for(2) == before
    (message,) = [record.getMessage() for record in caplog.records if record.name == "autograder"]
    assert (
        message.startswith(f"dask worker {misfit}: it has Python 3.99 and torch ") and "Install the same requirements.txt there" in message
    )


@pytest.mark.nightly
def test_workers_that_join_later_get_their_share(scheduler, workers, cluster):
    assert cluster.ahead == 2
    scheduler.worker()
    scheduler.wait_for(3)
    until = time.monotonic() + 60
    while cluster.ahead != 3:
        assert time.monotonic() < until
        time.sleep(0.1)
    for worker in workers:
        _kill(worker)
    scheduler.wait_for(1)
    while cluster.ahead != 1:
        assert time.monotonic() < until + 60
        time.sleep(0.1)


@pytest.mark.nightly
def test_a_cluster_without_workers_is_reported_once_and_waited_for(scheduler, workers, cluster, task, caplog):
    cluster.look()
    assert not caplog.records
    for worker in workers:
        _kill(worker)
    scheduler.wait_for(0)
    result = cluster.submit(task)
    cluster.look()
    cluster.look()
    (message,) = [record.getMessage() for record in caplog.records]
    assert (
        message
        == f"The scheduler at {scheduler.address} has no dask worker left. Grading waits for one: dask worker {scheduler.address} --nthreads 1"
    )
    scheduler.worker()
    assert verdicts_from_text(result.result(120))[0].outcome is Outcome.PASSED  # the new one has what the others had got
    cluster.look()
    cluster.look()
    assert [record.getMessage() for record in caplog.records][1:] == [
        f"The scheduler at {scheduler.address} has a dask worker again. Grading goes on."
    ]


@pytest.mark.nightly
def test_a_scheduler_that_goes_away_is_reported(scheduler, workers, cluster, task):
    result = cluster.submit(task)
    scheduler.started[0].kill()
    with pytest.raises(CancelledError):
        result.result(60)
    for again in (cluster.look, lambda: cluster.submit(task)):
        with pytest.raises(CannotGoOn, match=f"^the scheduler at {scheduler.address} is gone. Nothing is lost"):
            again()


def test_a_scheduler_that_is_not_there_is_reported(course, hand_in, single_head, monkeypatch):
    hand_in("ada", single_head)
    monkeypatch.setattr("autograder.pool.cluster.CONNECT_SECONDS", 1)
    with pytest.raises(CannotGoOn, match="scheduler at tcp://127.0.0.1:9 cannot be reached"):
        _grade(course, "tcp://127.0.0.1:9")
