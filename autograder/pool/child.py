"""A judge's process: tasks in and verdicts out, as text through a pipe, until that is closed."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import socket
import threading
from multiprocessing.connection import Connection

from ..errors import CannotGoOn
from ..sandbox.confine import libc
from ..sandbox.levels import Level

DIE_WITH_PARENT = 1  # of prctl


def main(link: Connection, level: Level, forkserver: socket.socket) -> None:
    """Judge the tasks that come through the link. Its zygote is forked as soon as this process runs."""
    from ..judging import judge  # here, in the judge: torch has been imported there

    libc.prctl(DIE_WITH_PARENT, signal.SIGKILL)  # when the process that forked it ends
    threading.Thread(target=_end_with_the_run, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that grades, which ends this one
    signal.signal(signal.SIGTERM, _leave)
    judge.use_forkserver(forkserver)
    try:
        judge.own_zygote(level)
    except CannotGoOn:
        pass  # the first task reports it
    while True:
        try:
            task = link.recv_bytes()
        except EOFError:
            return judge.close()
        link.send_bytes(_answer(judge.verdicts_on_text, task.decode()))


def _answer(verdicts_on_text, task: str) -> bytes:
    """Return the answer to a task as one object of JSON: its verdicts, or why there are none."""
    try:
        answer = {"verdicts": verdicts_on_text(task)}
    except CannotGoOn as error:
        answer = {"cannot_go_on": str(error)}
    except Exception as error:
        answer = {"failed": f"{type(error).__name__}: {error}"}
    return json.dumps(answer).encode()


def answer_of(data: bytes) -> str:
    """Return the verdicts in an answer; raises `CannotGoOn`, or RuntimeError where judging itself broke."""
    answer = json.loads(data)
    if "cannot_go_on" in answer:
        raise CannotGoOn(answer["cannot_go_on"])
    if "failed" in answer:
        raise RuntimeError(answer["failed"])
    return answer["verdicts"]


def _end_with_the_run() -> None:
    """End this process when the one that it judges for is gone, however that ended: this one may be in the middle of a long task."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def _leave(*about_the_signal) -> None:
    from ..judging import judge

    judge.close()
    os._exit(0)
