"""What a judge does, be it this process or one of several: it takes a task and returns the verdicts.

Tasks hold sources and verdicts hold text: no object of a learner's ever crosses.
"""

from __future__ import annotations

import random
import socket
import threading
from dataclasses import dataclass, replace

from ..errors import CannotGoOn
from ..exercise import reading as exercises
from ..kit.outcome import Outcome, Verdict
from ..sandbox.client import Zygote
from ..sandbox.levels import Level, Unavailable
from .session import Session
from .task import Task, our_failure, verdicts_as_text
from .verdicts import verdicts_on

_of_thread = threading.local()  # a zygote dies with the thread that started it


def verdicts_on_text(text: str) -> str:
    """Return the verdicts on a task, as text; raises `CannotGoOn`."""
    return verdicts_as_text(verdicts_on_task(Task.from_text(text)))


def verdicts_on_task(task: Task) -> list[Verdict]:
    """Return the verdicts on the task's checks; raises `Unavailable`.

    A worker that dies counts against the learner when it dies twice, and so does one that runs out of time without
    computing. Once may be our fault, or caused by something else that ends or stops processes on this machine.

    A worker that ends when it likes may have left what it saw to the next one. So the second time other hidden inputs are drawn, and
    nothing that the learner's code says then is shown: what is shown was said the first time.
    """
    first = _Pass.of(task)
    if not first.doubts:
        return first.verdicts
    again = _Pass.of(replace(task, seed=random.Random(task.seed).getrandbits(63)) if first.own_doing else task)
    if again.doubts >= first.doubts:
        return first.verdicts
    return _as_before(again.verdicts, first.verdicts) if first.own_doing else again.verdicts


def _as_before(verdicts: list[Verdict], before: list[Verdict]) -> list[Verdict]:
    """Return verdicts with the evidence of those before, where these came to the same; elsewhere with none."""
    return [
        old.with_mistake(new.mistake) if (new.outcome, new.test) == (old.outcome, old.test) else new.concealed()
        for new, old in zip(verdicts, before, strict=True)
    ]


@dataclass(frozen=True)
class _Pass:
    """The verdicts on a task, and how many things went wrong that need not be the learner's fault."""

    verdicts: list[Verdict]
    doubts: int
    own_doing: bool  # whether the learner's code may have brought them about

    @classmethod
    def of(cls, task: Task) -> _Pass:
        """Judge a task once. A worker's death may show as another outcome: an answer whose imports died with it raises an error."""
        zygote, submission, doubts, own_doing = own_zygote(task.level), task.submission, 0, False
        exercise = exercises.load(submission.exercise)
        try:
            with Session(zygote, exercise, submission.answers, task.limits, submission.lost_names) as session:
                verdicts = verdicts_on(exercise, session.learner, task.seed, task.checks)
                doubts, own_doing = session.doubts, session.own_doing
        except Exception as error:  # it is our error: those of the learner's code have become verdicts
            verdicts = our_failure(task, f"{type(error).__name__}: {error}")
        failures = sum(v.outcome is Outcome.JUDGE_FAILED for v in verdicts)
        if failures:
            close()
        return cls(verdicts, failures + doubts, own_doing)


def use_forkserver(link: socket.socket | None) -> None:
    """Have the zygotes of this thread forked by the fork server at the other end of a link."""
    _of_thread.forkserver = link


def own_zygote(level: Level | None) -> Zygote:
    """Return the zygote of this thread, started if there is none; raises `CannotGoOn`, `Unavailable` among it."""
    if getattr(_of_thread, "zygote", None) is None:
        try:
            _of_thread.zygote = _from_forkserver(level) or Zygote(level)
        except OSError as error:  # a full disk, no more files or processes: the next submission would fail too
            raise CannotGoOn(
                f"the sandbox cannot be started ({error}). Nothing is lost: see what this machine is short of, and run the same command again"
            ) from None
    return _of_thread.zygote


def _from_forkserver(level: Level | None) -> Zygote | None:
    """Return a zygote from the run's fork server; None where there is none, or none any more."""
    if getattr(_of_thread, "forkserver", None) is None:
        return None
    try:
        return Zygote(level, _of_thread.forkserver)
    except Unavailable:
        _of_thread.forkserver = None
        return None


def close() -> None:
    """End the zygote of this thread, if there is one."""
    zygote, _of_thread.zygote = getattr(_of_thread, "zygote", None), None
    if zygote is not None:
        zygote.close()
