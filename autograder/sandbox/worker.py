"""The worker: runs one learner's cells and answers calls. Nothing in it is trusted.

It has the learner's code and the inputs of the call at hand; no expected value, test or seed.
"""

from __future__ import annotations

import os
import resource
import socket
import sys
from types import CodeType

from ..kit.cells import silence_check
from ..kit.classify import classify
from ..kit.forbidden import Guard
from ..kit.operations import Operations
from ..kit.outcome import Raised, Stopped
from . import confine, wire

MEGABYTE = 1 << 20


def serve(link: socket.socket, shell, guard: Guard, limits: dict, measured: bool, config: dict) -> None:
    """Lock this process in, report that, and answer the judge's requests until it closes the link."""
    if measured:
        confine.give_back_memory()
    _shut_out(link, config)
    try:
        _shut_in(limits, config)
    except Exception as error:
        return wire.send(link, {"failed": f"{type(error).__name__}: {error}"})
    wire.send(link, {"ready": True})
    # No exercise needs it, and what some of them ask for is ready-made there, out of sight of torch's dispatcher.
    sys.modules["scipy"] = None  # type: ignore[assignment]  # Python's own way to refuse an import
    worker = _Worker(shell, link, guard)
    while True:
        try:
            request = wire.receive(link)
        except wire.Closed:
            return
        _send(link, worker.answer(request))


class _Worker:
    def __init__(self, shell, link: socket.socket, guard: Guard):
        self._shell = shell
        self._link = link
        self._operations = Operations(shell.user_ns, guard)
        silence_check()

    def answer(self, request: dict) -> dict:
        try:
            return {"value": self._do(**request)}
        except Stopped as error:
            return _error_message(error)
        except BaseException as error:  # the learner's code may raise anything, even SystemExit
            return _error_message(classify(error))

    def _do(self, do: str, **rest):
        if do == "cell":
            return self._run_cell(rest["source"])
        if do == "together":
            return self._together(**rest)
        if do == "mutation_test":
            rest["ask"] = self._ask_back
        return getattr(self._operations, do)(**rest)

    def _together(self, calls: list[dict]):
        """Return what the last of several calls returns; an error says at which of them it was."""
        for at, call in enumerate(calls):
            try:
                last = self._do(**call)
            except BaseException as error:  # as in `answer`
                stopped = classify(error)
                stopped.at = at
                raise stopped from None
        return last

    def _ask_back(self, question: dict) -> dict:
        """Return the judge's reply to a question of a learner's test, while the judge waits for this worker's answer."""
        wire.send(self._link, {"ask": question})
        return wire.receive(self._link)

    def _run_cell(self, source: str) -> None:
        code = self._compiled(source)
        if code is not None:
            with self._shell.builtin_trap:
                exec(code, self._shell.user_ns)
            return
        result = self._shell.run_cell(source, store_history=False, silent=True)
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            raise error

    def _compiled(self, source: str) -> CodeType | None:
        """Return a cell as code; None where it is no plain Python.

        That has magics, an `await` or an error in it, which are IPython's business. All others take a fraction of the time without it.
        """
        try:
            return self._shell.compile(source, self._shell.compile.cache(source), "exec")
        except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
            return None


def _send(link: socket.socket, answer: dict) -> None:
    """Send an answer; where it cannot be written down, say so: that is an answer too."""
    try:
        wire.send(link, answer)
    except wire.Closed:
        raise
    except Exception as error:
        wire.send(link, _error_message(Raised(type(error).__name__, f"what came back cannot be handed on: {error}")))


def _error_message(error: Stopped | BaseException) -> dict:
    """Return an error as a message: its class and the texts to make it again."""
    texts = [error.kind, error.text, error.where] if isinstance(error, Raised) else [str(error)]
    return {"error": type(error).__name__, "texts": texts, "at": getattr(error, "at", None)}


def _shut_out(link: socket.socket, config: dict) -> None:
    """Leave the worker without a terminal, an environment or any file but its own link."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    keep = link.fileno()
    os.closerange(3, keep)
    os.closerange(keep + 1, 4096)
    os.environ.clear()
    if config["readable"] is not None:
        # With its first optimizer torch imports its compiler, which makes a folder for itself. Where nothing may be written, it gets one that is there.
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = config["paths"][0]


def _shut_in(limits: dict, config: dict) -> None:
    """Put up the wall that `config` describes, in an order in which each part is still allowed."""
    if config["unshared"]:
        confine.mount_scratch(limits["scratch_megabytes"])
    if config["readable"] is not None:
        confine.lock_files(config["readable"])
        confine.scope_signals()
    _limit(limits, config)
    if config["filter"]:
        confine.drop_rights()
        confine.filter_calls(config["filter"])


def _limit(limits: dict, config: dict) -> None:
    """Set what the worker may use; `limits` holds seconds, megabytes and counts."""
    hard = {
        resource.RLIMIT_CPU: limits["cpu_seconds"],
        resource.RLIMIT_FSIZE: limits["file_megabytes"] * MEGABYTE,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 64,
    }
    if config["unshared"]:  # the kernel counts a user's threads in the namespace; without one it would count all that the user runs
        hard[resource.RLIMIT_NPROC] = limits["threads"]
    if limits["memory_megabytes"]:
        hard[resource.RLIMIT_AS] = (config["megabytes_at_rest"] + limits["memory_megabytes"]) * MEGABYTE
    for what, most in hard.items():
        resource.setrlimit(what, (most, most))
