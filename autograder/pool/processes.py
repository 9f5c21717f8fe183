"""Judges in processes of their own: each has a pipe, and a thread of this process that hands it one task after the other.

The standard library's pool of processes will not do: its processes share two queues and their locks, and one that is killed
while it holds a lock keeps all others waiting, or takes their tasks with it. Here a judge that dies costs only its own task.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from queue import SimpleQueue

from ..errors import CannotGoOn
from ..sandbox.forkserver import ForkServer
from . import child, preload
from .base import AHEAD, JudgeDied, Judges

STARTS = 3
LEAVE_SECONDS = 10  # for a judge that is asked to go


@dataclass(frozen=True)
class _PendingTask:
    """A task, and the future that gets its verdicts."""

    task: str
    verdicts: Future[str]


class Processes(Judges):
    """Judges in so many processes, each started anew when it has died."""

    def __init__(self, jobs: int, forkserver: ForkServer):
        self._jobs = jobs
        self._tasks: SimpleQueue[_PendingTask | None] = SimpleQueue()
        self._over = threading.Event()
        self._judges = [_Judge(forkserver, self._tasks, self._over) for _ in range(jobs)]

    @property
    def ahead(self) -> int:
        return AHEAD * self._jobs

    def submit(self, task: str) -> Future[str]:
        pending = _PendingTask(task, Future())
        self._tasks.put(pending)
        return pending.verdicts

    def close(self) -> None:
        self._dismiss()
        for judge in self._judges:
            judge.join()

    def end(self) -> None:
        self._over.set()
        self._dismiss()
        for judge in self._judges:
            judge.stop()
        for judge in self._judges:
            judge.join()

    def _dismiss(self) -> None:
        for _ in self._judges:
            self._tasks.put(None)


class _Judge:
    """One judge: its process, and the thread that talks to it. The process and its zygote start at once."""

    def __init__(self, forkserver: ForkServer, tasks: SimpleQueue[_PendingTask | None], over: threading.Event):
        self._forkserver, self._tasks, self._over = forkserver, tasks, over
        self._lock = threading.Lock()  # guards the process: one thread starts it, another may stop it
        self._process: BaseProcess | None = None
        self._link: Connection | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def join(self) -> None:
        self._thread.join()

    def stop(self) -> None:
        """End the process, in the middle of a task too; its thread sees that and ends."""
        with self._lock:
            process = self._process
        if process is None:
            return
        process.terminate()
        process.join(LEAVE_SECONDS)
        if process.is_alive():  # it has been stopped, and no signal but this one reaches it
            process.kill()
            process.join()

    def _serve(self) -> None:
        try:
            self._start()
        except CannotGoOn:
            pass  # the first task reports it
        while (pending := self._tasks.get()) is not None:
            if pending.verdicts.set_running_or_notify_cancel():
                self._have_judged(pending)
        self._leave()

    def _have_judged(self, pending: _PendingTask) -> None:
        """Have a task judged; the future gets the verdicts, or why there are none."""
        try:
            pending.verdicts.set_result(self._answer(pending.task))
        except Exception as error:
            pending.verdicts.set_exception(error)

    def _answer(self, task: str) -> str:
        """Return the verdicts; raises `CannotGoOn`, `JudgeDied`."""
        link = self._start()
        try:
            link.send_bytes(task.encode())
            return child.answer_of(link.recv_bytes())
        except (EOFError, OSError):
            self._leave()
            raise JudgeDied("the process that judged it ended") from None

    def _start(self) -> Connection:
        """Return the link to the process, started if there is none; raises `CannotGoOn` where that fails again and again."""
        reason = "they end as soon as they have begun"
        for _ in range(STARTS):
            if self._over.is_set():
                raise CannotGoOn("grading was ended")
            if self._link is not None and self._process is not None and self._process.is_alive():
                break
            try:
                self._start_once()
            except (EOFError, OSError) as error:  # the process that it is forked from was ended
                reason = f"{type(error).__name__}: {error}"
        if self._link is not None:
            return self._link
        raise CannotGoOn(
            f"the judges' processes cannot be started ({reason}). Nothing is lost: run the same command again, with --jobs 1 if this lasts"
        )

    def _start_once(self) -> None:
        context = preload.context()
        self._leave()
        mine, theirs = context.Pipe()
        process = context.Process(target=child.main, args=(theirs, self._forkserver.level, self._forkserver.link), daemon=True)
        with theirs, self._lock:
            process.start()
            self._process, self._link = process, mine

    def _leave(self) -> None:
        """End the process: close its link, and stop it."""
        if self._link is not None:
            self._link.close()
        if self._process is not None:
            self.stop()
        with self._lock:
            self._process = self._link = None
