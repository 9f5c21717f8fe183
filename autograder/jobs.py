"""Where submissions are judged: in this process, in several of this machine, or on a cluster. All are executors."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import threading
import weakref
from collections.abc import Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from multiprocessing.process import BaseProcess
from multiprocessing.util import Finalize

import psutil

from . import forking
from .errors import CannotGoOn
from .sandbox.confine import libc
from .sandbox.levels import Level, required
from .sandbox.mother import Mother

DIE_WITH_PARENT = 1  # of prctl
STARTS = 3
JUDGE_BYTES = 2 << 30  # a judge, its zygote, and a worker that takes all it may
LOOK_SECONDS = 10.0  # nothing has been done for so long: time to ask why
LEAVE_SECONDS = 10  # for a judge that is asked to go
AHEAD = 3  # submissions in hand for each judge, so that none waits for the gradebook


def room() -> int:
    """Return how many judges this machine has cores and memory for."""
    return max(1, min(len(os.sched_getaffinity(0)), psutil.virtual_memory().available // JUDGE_BYTES))


@contextmanager
def judges(jobs: int, level: Level | None, cluster: str | None = None, mother: Mother | None = None) -> Iterator[Judges]:
    """Return an executor of so many judges, or of a cluster's; they end with the block, at once if it ends in an error.

    Zygotes come from `mother`, if she has been started already, and else from one that is started and ended here.
    """
    level = required() if level is None else level
    with nullcontext(mother) if cluster or mother else Mother(level) as mother:
        executor = _on(cluster, level) if cluster else Here(mother) if jobs == 1 else Pool(jobs, mother)
        try:
            yield executor
        except BaseException:
            executor.end()
            raise
        executor.shutdown()


def _on(address: str, level: Level) -> Judges:
    from .cluster import Cluster  # dask takes a second to import

    return Cluster(address, level, AHEAD)


class Judges(Executor):
    """An executor that judges."""

    ahead = 0  # submissions that it should have in hand

    def look(self) -> None:
        """Is asked for while nothing happens: who knows why says so."""

    def wait_for(self, futures: Collection[Future]) -> None:
        """Wait until one of them is done, and look whenever nothing is for a while."""
        while not wait(futures, LOOK_SECONDS, FIRST_COMPLETED).done:
            self.look()

    def end(self) -> None:
        """End at once, whatever is at work."""
        self.shutdown()


class Here(Judges):
    """Judges in this process, while it is asked to."""

    def __init__(self, mother: Mother | None = None):
        self._mother = mother
        self._judging = None  # what needs torch: imported for the first submission

    def submit(self, function, *args) -> Future:
        if self._judging is None:
            from . import judging

            self._judging = judging
            judging.begin(self._mother and self._mother.door)
        future: Future = Future()
        try:
            future.set_result(function(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if self._judging is not None:
            self._judging.begin(None)
            self._judging.close()


class Pool(Judges):
    """Judges in processes of their own, started anew when one of them dies."""

    def __init__(self, jobs: int, mother: Mother):
        self.ahead = AHEAD * jobs
        self._jobs, self._mother = jobs, mother
        self._pool: ProcessPoolExecutor | None = None
        self._given: weakref.WeakSet[Future] = weakref.WeakSet()
        self._start()

    def _start(self) -> None:
        """Start the judges; raises `CannotGoOn` where that fails time after time."""
        for _ in range(STARTS):
            try:
                return self._try_to_start()
            except (BrokenProcessPool, EOFError, OSError) as error:  # what starts them was itself ended
                reason = f"{type(error).__name__}: {error}"
                self.end()
        raise CannotGoOn(
            f"the judges' processes cannot be started ({reason}). Nothing is lost: run the same command again, with --jobs 1 if this lasts"
        )

    def _try_to_start(self) -> None:
        self._pool = ProcessPoolExecutor(self._jobs, forking.begin(), _begin, (self._mother.level, self._mother.door))
        for _ in range(self._jobs):
            self._pool.submit(os.getpid)  # starts a process, which asks for its zygote while others are busy

    def submit(self, function, *args) -> Future:
        try:
            future = self._pool.submit(function, *args)
        except (BrokenProcessPool, EOFError, OSError):
            self.end()
            self._start()
            future = self._pool.submit(function, *args)
        self._given.add(future)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the judges, when what was given them is done if that is asked for.

        The library's own end gives each judge a word to go, through a queue whose lock they share: whichever is killed while
        it holds that lock keeps all others, and us, waiting for ever.
        """
        if wait and not cancel_futures:
            for future in list(self._given):
                self.wait_for([future])
        self.end()

    def look(self) -> None:
        """Start anew if a judge is gone: it left half a result in the queue, and the library waits for the other half."""
        if any(not process.is_alive() for process in self._processes()):
            self.end()
            self._start()

    def _processes(self) -> list[BaseProcess]:
        return list((self._pool._processes or {}).values())  # no public name before Python 3.14

    def end(self) -> None:
        if self._pool is None:
            return
        processes, calls, results = self._processes(), self._pool._call_queue, self._pool._result_queue
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        for process in processes:
            process.join(LEAVE_SECONDS)
            if process.is_alive():  # stopped, or asked in the moment before it began to wait for that lock
                process.kill()
                process.join()
        if results is not None:
            # The last open ends: threads of the library wait there, to be rid of a large submission (before Python 3.11.5), or for the rest of a result.
            calls._reader.close()
            results._writer.close()


def _begin(level: Level, door: socket.socket) -> None:
    """Make a judge of a fresh process: it gets its zygote, which ends with it."""
    from . import judging  # here, in the judge: torch has been imported there

    libc.prctl(DIE_WITH_PARENT, signal.SIGKILL)  # with the server that forked it
    threading.Thread(target=_end_with_the_run, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that was interrupted ends us
    signal.signal(signal.SIGTERM, _leave)
    Finalize(None, judging.close, exitpriority=10)
    judging.begin(door)
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
    from . import judging

    judging.close()
    os._exit(0)
