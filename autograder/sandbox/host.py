"""The judge's side of the sandbox: starting the zygote, talking to workers, ending them."""
from __future__ import annotations

import array
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ..kit.outcome import Ended, Forbidden, MemoryLimit, NoAnswer, Raised, Stopped, TimeLimit
from ..limits import Limits
from . import wire

ROOT = Path(__file__).resolve().parents[2]
START = "import sys; sys.path.insert(0, sys.argv[2]); from autograder.sandbox.zygote import main; sys.path.pop(0); main()"
START_SECONDS = 120  # importing torch from a cold disk is slow
TOLD = {kind.__name__: kind for kind in (Raised, NoAnswer, Forbidden, MemoryLimit)}


class Zygote:
    """A process that has imported torch and forks workers; `close` ends it."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="learner-", ignore_cleanup_errors=True)
        self._link, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", START, str(theirs.fileno()), str(ROOT)],
            pass_fds=[theirs.fileno()], cwd=self._folder.name, env=_environment(self._folder.name),
            stdin=subprocess.DEVNULL, start_new_session=True,
        )
        theirs.close()
        wire.receive(self._link, time.monotonic() + START_SECONDS)

    def __enter__(self) -> Zygote:
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def close(self) -> None:
        self._link.close()
        self._process.wait()
        self._folder.cleanup()

    def fork(self, limits: Limits) -> Worker:
        """Return a fresh worker."""
        mine, theirs = socket.socketpair()
        wire.send(self._link, {"do": "fork", "limits": limits.as_message()})
        self._link.sendmsg([b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [theirs.fileno()]))])
        theirs.close()
        return Worker(self, mine, wire.receive(self._link)["pid"], limits)

    def end(self, pid: int) -> dict:
        wire.send(self._link, {"do": "end", "pid": pid})
        return wire.receive(self._link)


@dataclass
class Worker:
    """One forked process with a learner's code in it."""

    zygote: Zygote
    link: socket.socket
    pid: int
    limits: Limits
    alive: bool = True

    def ask(self, request: dict, seconds: float):
        """Return the worker's answer, which may take so many seconds.

        Raises a `Stopped`; where that is a limit or a death, the worker is ended and gone.
        """
        until = time.monotonic() + seconds
        try:
            self.link.settimeout(seconds)
            wire.send(self.link, request)
            answer = wire.receive(self.link, until)
        except TimeoutError:
            self.end()
            raise TimeLimit(f"no answer after {seconds:g} seconds") from None
        except wire.BadFrame as error:
            self.end()
            raise Ended(f"what came back is no answer: {error}") from None
        except wire.Closed:
            raise self._death() from None
        return _value(answer)

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


def _value(answer: dict):
    if "error" not in answer:
        return answer.get("value")
    words = [str(word) for word in answer.get("words") or [""]]
    kind = TOLD.get(answer["error"]) if isinstance(answer["error"], str) else None
    if kind is Raised and len(words) == 3:
        raise Raised(*words)
    raise kind(words[0]) if kind and kind is not Raised else Raised("error", words[0])


def _environment(home: str) -> dict[str, str]:
    """One thread everywhere: the zygote must be safe to fork. Nothing else is passed on."""
    threads = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    return {"HOME": home, "IPYTHONDIR": home, "MPLCONFIGDIR": home, "MPLBACKEND": "agg", "PATH": "/usr/bin:/bin", **threads}
