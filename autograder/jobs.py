"""Where submissions are judged: in this process, in several of this machine, or on a cluster. All are executors."""
from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.util import Finalize
from typing import Iterator

import psutil

from . import forking, judging
from .errors import CannotGoOn
from .sandbox.confine import libc
from .sandbox.levels import Level, required

DIE_WITH_PARENT = 1  # of prctl
STARTS = 3
JUDGE_BYTES = 2 << 30  # a judge, its zygote, and a worker that takes all it may
AHEAD = 3  # submissions in hand for each judge, so that none waits for the gradebook


def room() -> int:
    """Return how many judges this machine has cores and memory for."""
    return max(1, min(len(os.sched_getaffinity(0)), psutil.virtual_memory().available // JUDGE_BYTES))


@contextmanager
def judges(jobs: int, level: Level | None, cluster: str | None = None) -> Iterator[Judges]:
    """Return an executor of so many judges, or of a cluster's; they end with the block, at once if it ends in an error."""
    executor = _on(cluster, level) if cluster else Here() if jobs == 1 else Pool(jobs, level)
    try:
        yield executor
    except BaseException:
        executor.end()
        raise
    executor.shutdown()


def _on(address: str, level: Level | None) -> Judges:
    from .cluster import Cluster  # dask takes a second to import

    return Cluster(address, required() if level is None else level, AHEAD)


class Judges(Executor):
    """An executor that judges."""

    ahead = 0  # submissions that it should have in hand

    def look(self) -> None:
        """Is asked for while nothing happens: who knows why says so."""

    def end(self) -> None:
        """End at once, whatever is at work."""
        self.shutdown()


class Here(Judges):
    """Judges in this process, while it is asked to."""

    def submit(self, function, *args) -> Future:
        future: Future = Future()
        try:
            future.set_result(function(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        judging.close()


class Pool(Judges):
    """Judges in processes of their own, started anew when one of them dies."""

    def __init__(self, jobs: int, level: Level | None):
        self.ahead = AHEAD * jobs
        self._jobs, self._level = jobs, level
        self._pool: ProcessPoolExecutor | None = None
        self._start()

    def _start(self) -> None:
        """Start the judges; raises `CannotGoOn` where that fails time after time."""
        for _ in range(STARTS):
            try:
                return self._try_to_start()
            except (BrokenProcessPool, EOFError, OSError) as error:  # what starts them was itself ended
                reason = f"{type(error).__name__}: {error}"
                self.end()
        raise CannotGoOn(f"the judges' processes cannot be started ({reason}). Nothing is lost: run the same command again, with --jobs 1 if this lasts")

    def _try_to_start(self) -> None:
        self._pool = ProcessPoolExecutor(self._jobs, forking.begin(), _begin, (self._level,))
        for _ in range(self._jobs):
            self._pool.submit(os.getpid)  # starts a process, which starts its zygote while others are busy

    def submit(self, function, *args) -> Future:
        try:
            return self._pool.submit(function, *args)
        except (BrokenProcessPool, EOFError, OSError):
            self.end()
            self._start()
            return self._pool.submit(function, *args)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._pool.shutdown(wait, cancel_futures=cancel_futures)

    def end(self) -> None:
        if self._pool is None:
            return
        processes = list((self._pool._processes or {}).values())  # no public name before Python 3.14
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _begin(level: Level | None) -> None:
    """Make a judge of a fresh process: its zygote starts, and ends with it."""
    libc.prctl(DIE_WITH_PARENT, signal.SIGKILL)  # with the server that forked it
    threading.Thread(target=_end_with_the_run, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that was interrupted ends us
    signal.signal(signal.SIGTERM, _leave)
    Finalize(None, judging.close, exitpriority=10)
    try:
        judging.own_zygote(level)
    except CannotGoOn:
        pass  # the first submission will tell


def _end_with_the_run() -> None:
    """End this process when the one that it judges for is gone, however that ended.

    Nothing else would: a judge keeps the server alive, and its own end of the queue of work open.
    """
    multiprocessing.parent_process().join()
    os._exit(1)


def _leave(*about_the_signal) -> None:
    judging.close()
    os._exit(0)
