"""The judge's side of the sandbox: getting a zygote, talking to workers, ending them."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ..kit.cost import Cost
from ..kit.outcome import Ended, Forbidden, MemoryLimit, NoAnswer, Raised, Stopped, TimeLimit
from ..limits import Limits
from . import wire
from .forkserver import ForkServer
from .levels import Level, Unavailable, required

START_SECONDS = 120  # importing torch from a cold disk is slow
HOUSEKEEPING_SECONDS = 30  # forking and ending, on a busy machine
IDLE = 0.75  # of the seconds of a request; an endless loop on a busy machine is idle for less
LONGEST_WORDS = 1000  # of an error
OTHERS: dict[str, type[Stopped]] = {kind.__name__: kind for kind in (NoAnswer, Forbidden, MemoryLimit)}


class Zygote:
    """A process that has imported torch and forks workers, locked in at some level; `close` ends it.

    It comes from the fork server at the other end of `forkserver_link`, or from one of its own. Raises `Unavailable` where the level cannot be had, or is not the fork server's.
    """

    def __init__(self, level: Level | None = None, forkserver_link: socket.socket | None = None):
        self.level = required() if level is None else level
        self._prepared = False
        self.forkserver = own = ForkServer(self.level) if forkserver_link is None else None
        self._link, theirs = socket.socketpair()
        try:
            self._begin(own.link if own else forkserver_link, theirs)
        except (ConnectionError, TimeoutError) as error:
            reason = (own.rootfs.last_words() if own else "") or str(error)
            self.close()
            raise Unavailable(self.level, reason) from None
        except BaseException:
            self.close()
            raise

    def _begin(self, forkserver_link: socket.socket | None, theirs: socket.socket) -> None:
        """Come to life, fork a worker and end it: a level is there only when the whole of it works."""
        assert forkserver_link is not None
        with theirs:
            socket.send_fds(forkserver_link, [b"."], [theirs.fileno()])
        there = wire.receive(self._link, time.monotonic() + START_SECONDS)["level"]
        if there != self.level.name:
            raise Unavailable(self.level, f"who was asked for it is at the level {there}")
        self.fork(Limits()).end()

    def __enter__(self) -> Zygote:
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def close(self) -> None:
        self._link.close()
        if self.forkserver is not None:
            self.forkserver.close()

    def fork(self, limits: Limits) -> Worker:
        """Return a fresh worker, locked in."""
        mine, theirs = socket.socketpair()
        with theirs:
            wire.send(self._link, {"do": "fork", "limits": limits.as_message()})
            socket.send_fds(self._link, [b"."], [theirs.fileno()])
        worker = Worker(self, mine, _answer(self._link)["pid"], limits)
        _answer(mine)  # it is locked in
        worker.born = worker.use()
        return worker

    def prepare_for_trials(self) -> None:
        """Have everything imported that learners' tests are likely to use, once."""
        if not self._prepared:
            wire.send(self._link, {"do": "prepare"})
            wire.receive(self._link, time.monotonic() + START_SECONDS)
            self._prepared = True

    def end(self, pid: int) -> dict:
        return self._tell("end", pid)

    def use(self, pid: int) -> dict:
        return self._tell("use", pid)

    def _tell(self, do: str, pid: int) -> dict:
        wire.send(self._link, {"do": do, "pid": pid})
        return _answer(self._link)


@dataclass
class Worker:
    """One forked process with a learner's code in it."""

    zygote: Zygote
    link: socket.socket
    pid: int
    limits: Limits
    alive: bool = True
    born: dict = field(default_factory=dict)  # what it had used before it ran anything of a learner's
    waited: float = 0.0  # seconds in which its answers were waited for
    was_idle: bool = False  # it ran out of time, and did not compute for most of it: it slept, was stopped, or found no processor free

    def ask(self, request: dict, seconds: float, reply: Callable[[object], dict] | None = None):
        """Return the worker's answer, which may take so many seconds.

        `reply` is asked what to say when the worker asks back meanwhile; without it, no question is taken for one.

        Raises a `Stopped`; where that is a limit or a death, the worker is ended and gone.
        """
        begin = time.monotonic()
        until = begin + seconds
        try:
            self.link.settimeout(seconds)
            wire.send(self.link, request)
            answer = wire.receive(self.link, until)
            while reply is not None and "ask" in answer:
                self._say(reply(answer["ask"]), until)
                answer = wire.receive(self.link, until)
        except TimeoutError:
            self.was_idle = self.waited + seconds - self.end()["cpu_seconds"] > IDLE * seconds
            raise TimeLimit(f"no answer after {seconds:g} seconds") from None
        except wire.BadFrame as error:
            self.end()
            raise Ended(f"what came back is no answer: {error}") from None
        except wire.Closed:
            raise self._death() from None
        self.waited += time.monotonic() - begin
        return _value(answer)

    def _say(self, message: dict, until: float) -> None:
        """Send a message by `until`; raises `TimeoutError`, also where questions come faster than the clock is looked at."""
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.link.settimeout(left)
        wire.send(self.link, message)

    def use(self) -> dict:
        """Return the seconds and the peak of memory that the kernel has counted; raises `Ended` if the worker is gone."""
        used = self.zygote.use(self.pid)
        if "gone" in used:
            raise self._death()
        return used

    def cost(self, request: dict, seconds: float) -> tuple[object, Cost]:
        """Return the worker's answer, and what the kernel has counted until it was there.

        Memory counts from birth on: what was put aside before the call was held all the same.
        """
        before = self.use()
        value = self.ask(request, seconds)
        after = self.use()
        return value, Cost(after["peak_bytes"] - self.born["peak_bytes"], after["cpu_seconds"] - before["cpu_seconds"])

    def end(self) -> dict:
        """End the worker; return how it ended."""
        if not self.alive:
            return {}
        self.alive = False
        self.link.close()
        return self.zygote.end(self.pid)

    def _death(self) -> Stopped:
        how = self.end()
        status = how["status"]
        if how["cpu_seconds"] >= self.limits.cpu_seconds - 1:
            return TimeLimit(f"more than {self.limits.cpu_seconds} seconds of computing")
        if os.WIFSIGNALED(status) and how["own"]:
            return Ended(f"the process died of {signal.Signals(os.WTERMSIG(status)).name}")
        return Ended("the process ended while the judge waited for an answer")


def _answer(link: socket.socket) -> dict:
    """Return what the zygote, or a worker that has run nothing yet, says; a failure there is ours."""
    answer = wire.receive(link, time.monotonic() + HOUSEKEEPING_SECONDS)
    if "failed" in answer:
        raise wire.Closed(answer["failed"])
    return answer


def _value(answer: dict):
    """Return what the worker answers; raises the error that it tells of, whatever it makes of telling."""
    if "error" not in answer:
        return answer.get("value")
    words = answer.get("words")
    if not (isinstance(words, list) and words and all(isinstance(word, str) for word in words)):
        words = [""]
    words = [word[:LONGEST_WORDS] for word in words]
    if answer["error"] == Raised.__name__ and len(words) == 3:
        raise Raised(*words)
    kind = OTHERS.get(answer["error"]) if isinstance(answer["error"], str) else None
    raise Raised("error", words[0]) if kind is None else kind(words[0])


def offered() -> Level:
    """Return the best level above none that this machine offers, by having it; raises `Unavailable`."""
    for level in (Level.bubblewrap, Level.landlock):
        try:
            Zygote(level).close()
            return level
        except Unavailable as error:
            last = error
    raise last
