"""The judge's side of the sandbox: it gets a zygote, talks to workers and ends them."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from ..kit.cost import Cost
from ..kit.outcome import Ended, Forbidden, MemoryLimit, NoAnswer, Raised, Stopped, TimeLimit
from ..limits import Limits
from . import wire
from .forkserver import ForkServer
from .levels import Level, Unavailable, required

START_SECONDS = 120  # importing torch from a cold disk is slow
HOUSEKEEPING_SECONDS = 30  # forking and ending, on a busy machine
MOST_GRANTED = 10  # times the seconds of a request, where others have the processors
LEAST_GRANTED = 0.05  # of the seconds of a request; less is what every process waits
LAST_SECONDS = 0.5  # a process closes its link some time before it is gone
IDLE = 0.75  # share of a request's seconds without computing; an endless loop on a busy machine stays below it
LONGEST_TEXT = 1000  # of an error
OTHERS: dict[str, type[Stopped]] = {kind.__name__: kind for kind in (NoAnswer, Forbidden, MemoryLimit)}


class Zygote:
    """A process that has imported torch and forks workers, locked in at some level; `close` ends it.

    It is forked by the fork server at the other end of `forkserver_link`, or by one of its own. Raises `Unavailable` where this
    machine does not offer the level, or the fork server has another one.
    """

    def __init__(self, level: Level | None = None, forkserver_link: socket.socket | None = None):
        self.level = required() if level is None else level
        self._prepared = False
        self.forkserver = own = ForkServer(self.level) if forkserver_link is None else None
        self._link, theirs = socket.socketpair()
        try:
            self._connect(own.link if own else forkserver_link, theirs)
        except (ConnectionError, TimeoutError) as error:
            reason = (own.rootfs.error_output() if own else "") or str(error)
            self.close()
            raise Unavailable(self.level, reason) from None
        except BaseException:
            self.close()
            raise

    def _connect(self, forkserver_link: socket.socket | None, theirs: socket.socket) -> None:
        """Get a zygote, fork a worker and end it: a level is there only when all of it works."""
        assert forkserver_link is not None
        with theirs:
            socket.send_fds(forkserver_link, [b"."], [theirs.fileno()])
        there = wire.receive(self._link, wire.Deadline(START_SECONDS))["level"]
        if there != self.level.name:
            raise Unavailable(self.level, f"the fork server is at the level {there}")
        self.fork(Limits()).end()

    def __enter__(self) -> Zygote:
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def close(self) -> None:
        self._link.close()
        if self.forkserver is not None:
            self.forkserver.close()

    def fork(self, limits: Limits, forbidden: Sequence[str] = (), measured: bool = False) -> Worker:
        """Return a fresh worker, locked in, whose learner's code may not use what is forbidden; `measured` tells that its memory will be."""
        mine, theirs = socket.socketpair()
        with ExitStack() as in_vain:
            in_vain.callback(mine.close)
            with theirs:
                wire.send(self._link, {"do": "fork", "limits": limits.as_message(), "forbidden": list(forbidden), "measured": measured})
                socket.send_fds(self._link, [b"."], [theirs.fileno()])
            worker = Worker(self, mine, _answer(self._link)["pid"], limits)
            _answer(mine)  # that it is locked in
            worker.born = worker.use()
            in_vain.pop_all()
        return worker

    def prepare_for_mutation_tests(self) -> None:
        """Import in the zygote, once, what learners' tests are likely to use."""
        if not self._prepared:
            wire.send(self._link, {"do": "prepare"})
            wire.receive(self._link, wire.Deadline(START_SECONDS))
            self._prepared = True

    def end(self, pid: int, patience: float = 0.0) -> dict:
        return self._request(do="end", pid=pid, patience=patience)

    def use(self, pid: int) -> dict:
        return self._request(do="use", pid=pid)

    def _request(self, **request) -> dict:
        wire.send(self._link, request)
        return _answer(self._link)


@dataclass
class Worker:
    """One forked process with a learner's code in it."""

    zygote: Zygote
    link: socket.socket
    pid: int
    limits: Limits
    alive: bool = True
    born: dict = field(default_factory=dict)  # what it had used before it ran any of a learner's code
    waited: float = 0.0  # seconds for which its answers were waited for
    granted: float = 0.0  # seconds of these in which it could have computed, and had no processor
    _starved: float = 0.0  # what the kernel has counted of such seconds, when it was last asked
    was_idle: bool = False  # it ran out of time and did not compute for most of it: it slept, was stopped, or got no processor

    def ask(self, request: dict, seconds: float, reply: Callable[[object], dict] | None = None):
        """Return the worker's answer, which may take so many seconds.

        The time in which it would have computed, and the kernel had no processor for it, does not count, so that a busy machine makes
        nobody late. `reply` answers the questions that the worker asks back meanwhile; without it, a question counts as an answer.

        Raises a `Stopped`; where that is a limit or a death, the worker is ended.
        """
        started, until = time.monotonic(), wire.Deadline(seconds, self._granted(seconds))
        try:
            self._say(request, until)
            answer = wire.receive(self.link, until)
            while reply is not None and "ask" in answer:
                self._say(reply(answer["ask"]), until)
                answer = wire.receive(self.link, until)
        except TimeoutError:
            taken = time.monotonic() - started
            self.was_idle = self.waited + taken - self.end()["cpu_seconds"] > IDLE * taken
            raise TimeLimit(f"no answer after {seconds:g} seconds") from None
        except wire.BadFrame as error:
            self.end()
            raise Ended(f"what came back is no answer: {error}") from None
        except wire.Closed:
            raise self._death() from None
        self.waited += time.monotonic() - started
        return _value(answer)

    def _say(self, message: dict, until: wire.Deadline) -> None:
        """Send a message by `until`; raises `TimeoutError`, also where questions come too fast for a receive to time out."""
        self.link.settimeout(until.left())
        wire.send(self.link, message)

    def _granted(self, seconds: float) -> Callable[[], float]:
        """Return a function that grants the seconds for which the worker has waited for a processor since the last grant.

        All grants together are at most `MOST_GRANTED` times the seconds of the request: threads of a learner's may wait for each other.
        """
        most = self.granted + MOST_GRANTED * seconds

        def more() -> float:
            starved = self.use()["starved_seconds"]
            extra = min(starved - self._starved, most - self.granted)
            if extra < LEAST_GRANTED * seconds:
                return 0.0
            self._starved, self.granted = starved, self.granted + extra
            return extra

        return more

    def use(self) -> dict:
        """Return the seconds and the peak of memory that the kernel has counted; raises `Ended` if the worker is gone."""
        used = self.zygote.use(self.pid)
        if "gone" in used:
            raise self._death()
        return used

    def cost(self, request: dict, seconds: float) -> tuple[object, Cost]:
        """Return the worker's answer, and what the kernel has counted until it was there.

        Memory counts from birth on: what was allocated before the call is held during it too.
        """
        before = self.use()
        value = self.ask(request, seconds)
        after = self.use()
        return value, Cost(after["peak_bytes"] - self.born["peak_bytes"], after["cpu_seconds"] - before["cpu_seconds"])

    def end(self, patience: float = 0.0) -> dict:
        """End the worker, or let it end by itself within so many seconds; return how it ended."""
        if not self.alive:
            return {}
        self.alive = False
        try:
            return self.zygote.end(self.pid, patience)
        finally:
            self.link.close()  # afterwards: a worker that sees it closed ends by itself

    def _death(self) -> Stopped:
        how = self.end(LAST_SECONDS)
        status = how["status"]
        if how["cpu_seconds"] >= self.limits.cpu_seconds - 1:
            return TimeLimit(f"more than {self.limits.cpu_seconds} seconds of computing")
        if os.WIFSIGNALED(status) and how["by_itself"]:
            died = Ended(f"the process died of {signal.Signals(os.WTERMSIG(status)).name}")
            # A worker may send no signal, or is the first of its namespace, which is safe from its own.
            died.from_outside = os.WTERMSIG(status) == signal.SIGKILL and self.zygote.level is not Level.none
            return died
        return Ended("the process ended while the judge waited for an answer")


def _answer(link: socket.socket) -> dict:
    """Return the answer of the zygote, or of a worker that has run nothing yet; a failure there is ours."""
    answer = wire.receive(link, wire.Deadline(HOUSEKEEPING_SECONDS))
    if "failed" in answer:
        raise wire.Closed(answer["failed"])
    return answer


def _value(answer: dict):
    """Return the value in a worker's answer; raises the error in it, however badly formed that is."""
    if "error" not in answer:
        return answer.get("value")
    texts = answer.get("texts")
    if not (isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts)):
        texts = [""]
    error = _error(answer["error"], [text[:LONGEST_TEXT] for text in texts])
    error.at = answer.get("at")
    raise error


def _error(kind: object, texts: list[str]) -> Stopped:
    if kind == Raised.__name__ and len(texts) == 3:
        return Raised(*texts)
    other = OTHERS.get(kind) if isinstance(kind, str) else None
    return Raised("error", texts[0]) if other is None else other(texts[0])


def offered() -> Level:
    """Return the best level above none that works on this machine; raises `Unavailable`."""
    for level in (Level.bubblewrap, Level.landlock):
        try:
            Zygote(level).close()
            return level
        except Unavailable as error:
            last = error
    raise last
