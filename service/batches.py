"""Texts that arrive one by one and are answered together.

`padding`, `chosen` and `ready` decide who goes with whom and when. They know no clock, and the chapter on serving shows them as they stand.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from .model import Answer, Job


def padding(lengths):
    """Return the share of a batch that is filled up."""
    return 1 - sum(lengths) / (len(lengths) * max(lengths))


def chosen(lengths, most, share):
    """Return who in the line goes next: the oldest, and those nearest to its length."""
    batch = [0]
    others = range(1, len(lengths))
    for place in sorted(others, key=lambda place: abs(lengths[place] - lengths[0])):
        wider = [*batch, place]
        if len(wider) <= most and padding([lengths[each] for each in wider]) <= share:
            batch = wider
    return batch


def ready(arrived, most, patience):
    """Return when a batch may go: when it is full, or its oldest has waited enough."""
    latest = arrived[0] + patience
    return min(latest, arrived[most - 1]) if len(arrived) >= most else latest


@dataclass(frozen=True)
class Rules:
    """How texts become batches."""

    most: int = 16  # texts in a batch
    patience: float = 0.0  # seconds that a text waits for others while the model has nothing to do
    share: float = 0.5  # of a batch that may be filled up
    room: int = 64  # texts that may wait


class Full(Exception):
    """There is no room for another text."""

    def __init__(self, seconds: int):
        super().__init__(f"too many texts are waiting; try again in {seconds} s")
        self.seconds = seconds


@dataclass
class Counts:
    """What has become of what was asked. At the end, what was accepted is the sum of the next three."""

    accepted: int = 0
    answered: int = 0
    failed: int = 0
    gone: int = 0  # whoever asked didn't wait
    refused: int = 0
    batches: int = 0
    texts: int = 0  # in all batches
    computed: float = 0.0  # places, padding included
    useful: float = 0.0
    seconds: float = 0.0  # that the model took


@dataclass(eq=False)
class Ticket:
    """A text that waits."""

    job: Job
    arrived: float
    answer: asyncio.Future[Answer] = field(repr=False)


class Batcher:
    """A line in front of a model. `answer` is given the jobs of a batch and returns their answers in the same order."""

    def __init__(self, answer: Callable[[list[Job]], Awaitable[Sequence[Answer]]], rules: Rules):
        self.rules, self.counts = rules, Counts()
        self._answer, self._news, self._closed = answer, asyncio.Event(), False
        self._line: list[Ticket] = []

    @property
    def waiting(self) -> int:
        return len(self._line)

    async def ask(self, jobs: Sequence[Job]) -> list[Answer]:
        """Return the answers to some jobs; raises Full, and then none of them was accepted. Whoever cancels this gives the places back."""
        if self._closed or len(self._line) + len(jobs) > self.rules.room:
            self.counts.refused += 1
            raise Full(self._seconds_to_wait())
        loop = asyncio.get_running_loop()
        tickets = [Ticket(job, loop.time(), loop.create_future()) for job in jobs]
        self._line += tickets
        self.counts.accepted += 1
        self._news.set()
        try:
            answers = await asyncio.gather(*(ticket.answer for ticket in tickets))
        except asyncio.CancelledError:
            self.counts.gone += 1
            raise
        except Exception:
            self.counts.failed += 1
            raise
        finally:
            self._line = [ticket for ticket in self._line if ticket not in tickets]
        self.counts.answered += 1
        return answers

    async def work(self) -> None:
        """Answer whatever is asked, until the line is closed and empty."""
        while self._line or not self._closed:
            seconds = self._seconds_to_go()
            if seconds == 0:
                await self._settle(self._next())
                continue
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._news.wait()

    def close(self) -> None:
        """Accept nothing more, and let nobody wait for company."""
        self._closed = True
        self._news.set()

    def _seconds_to_go(self) -> float | None:
        """Return how long it takes until a batch may go, None where nobody waits."""
        if not self._line:
            return None
        go = ready([ticket.arrived for ticket in self._line], self.rules.most, self.rules.patience)
        return 0 if self._closed else max(0, go - asyncio.get_running_loop().time())

    def _next(self) -> list[Ticket]:
        batch = [self._line[place] for place in chosen([ticket.job.length for ticket in self._line], self.rules.most, self.rules.share)]
        self._line = [ticket for ticket in self._line if ticket not in batch]
        return batch

    async def _settle(self, batch: list[Ticket]) -> None:
        """Give each ticket of a batch its answer. A job that the model fails at costs no other: all are asked again, one by one."""
        begin = asyncio.get_running_loop().time()
        try:
            answers = await self._answer([ticket.job for ticket in batch])
        except Exception as failure:
            if len(batch) > 1:
                for ticket in batch:
                    await self._settle([ticket])
            elif not batch[0].answer.done():
                batch[0].answer.set_exception(failure)
            return
        for ticket, answer in zip(batch, answers, strict=True):
            self.counts.computed += answer.computed
            self.counts.useful += answer.useful
            if not ticket.answer.done():  # whoever asked may have gone
                ticket.answer.set_result(answer)
        self.counts.batches += 1
        self.counts.texts += len(batch)
        self.counts.seconds += asyncio.get_running_loop().time() - begin

    def _seconds_to_wait(self) -> int:
        """Return after how many seconds there should be room again."""
        if not self.counts.texts:
            return 1
        return max(1, math.ceil(self.waiting * self.counts.seconds / self.counts.texts))
