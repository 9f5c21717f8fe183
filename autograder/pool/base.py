"""What all judges have in common, wherever they run: they take a task as text and return its verdicts as text."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Collection
from concurrent.futures import FIRST_COMPLETED, Future, wait

import psutil

JUDGE_BYTES = 2 << 30  # for a judge, its zygote, and a worker that uses all the memory it may
LOOK_SECONDS = 10.0  # when nothing has been done for so long, it is time to ask why
AHEAD = 3  # submissions in hand for each judge, so that none waits for the gradebook


def default_jobs() -> int:
    """Return how many judges this machine has cores and memory for."""
    return max(1, min(len(os.sched_getaffinity(0)), psutil.virtual_memory().available // JUDGE_BYTES))


class JudgeDied(Exception):
    """The process that judged a submission ended before it gave its verdicts."""


class Judges(ABC):
    """Judges that tasks are submitted to. `close` ends them when they have done what they were given, `end` at once."""

    @property
    def ahead(self) -> int:
        """Return how many tasks should be in hand, so that no judge waits."""
        return 0

    @abstractmethod
    def submit(self, task: str) -> Future[str]:
        """Return a future with the verdicts on a `Task`; it raises `CannotGoOn`, or the error that ended its judge."""

    @abstractmethod
    def close(self) -> None:
        """End when all that was given is done."""

    def end(self) -> None:
        """End at once, in the middle of a task too."""
        self.close()

    def look(self) -> None:  # noqa: B027  (most have nothing to report)
        """Report why nothing happens, where that is known; called while nothing does."""

    def wait_for(self, futures: Collection[Future[str]]) -> None:
        """Wait until one of them is done, and `look` whenever none is for a while."""
        while not wait(futures, LOOK_SECONDS, FIRST_COMPLETED).done:
            self.look()
