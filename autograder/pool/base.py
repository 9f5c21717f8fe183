"""What all judges have in common, wherever they run: a task in as text, verdicts out as text."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Collection
from concurrent.futures import FIRST_COMPLETED, Future, wait

import psutil

JUDGE_BYTES = 2 << 30  # a judge, its zygote, and a worker that takes all it may
LOOK_SECONDS = 10.0  # nothing has been done for so long: time to ask why
AHEAD = 3  # submissions in hand for each judge, so that none waits for the gradebook


def default_jobs() -> int:
    """Return how many judges this machine has cores and memory for."""
    return max(1, min(len(os.sched_getaffinity(0)), psutil.virtual_memory().available // JUDGE_BYTES))


class JudgeDied(Exception):
    """The process that judged a submission is gone, and the verdicts with it."""


class Judges(ABC):
    """Those who judge. `close` ends them when they have done what they were given, `end` at once."""

    @property
    def ahead(self) -> int:
        """Return how many submissions they should have in hand."""
        return 0

    @abstractmethod
    def judge(self, task: str) -> Future[str]:
        """Return the verdicts on a `Task`, when they are there; the future raises `CannotGoOn`, or whatever ended its judge."""

    @abstractmethod
    def close(self) -> None:
        """End when all that was given is done."""

    def end(self) -> None:
        """End at once, whatever is at work."""
        self.close()

    def look(self) -> None:  # noqa: B027  (most have nothing to say)
        """Is called while nothing happens: whoever knows why says so."""

    def wait_for(self, futures: Collection[Future[str]]) -> None:
        """Wait until one of them is done, and look whenever nothing is for a while."""
        while not wait(futures, LOOK_SECONDS, FIRST_COMPLETED).done:
            self.look()
