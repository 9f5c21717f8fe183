"""Behind the wall: the fork server imports torch once and forks a zygote for each judge, which forks a worker for each submission.

A zygote reads requests from its judge on one socket. Neither it nor the fork server ever runs a tensor operation: a process
that has used torch's thread pool cannot be forked safely. They hold no secret.
"""

from __future__ import annotations

import gc
import os
import re
import resource
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import jaxtyping  # noqa: F401  (every notebook imports it: once here, not in each worker)
import torch

from ..kit import forbidden
from . import confine, wire, worker

HIGH_WATER = re.compile(rb"^VmHWM:\s*(\d+) kB", re.MULTILINE)  # at the head of a line: the name of a process is its own to choose

torch.set_num_threads(1)
# Torch reads what the processor can do from files that no worker sees; without that it refuses to compute in 16 bits.
torch.cpu.get_capabilities()


def main(config: dict) -> None:
    """Fork a zygote for each judge that sends a socket, until no judge is left, or none has come for a while.

    `config` is what `rootfs.py` says about the files around this process.
    """
    requests = socket.socket(fileno=config["link"])
    config["filter"] = Path(config["filter"]).read_bytes() if config["filter"] else b""
    config["megabytes_at_rest"] = _address_space()
    shell = _shell()
    forbidden.prepare()
    gc.collect()
    gc.enable()
    gc.freeze()  # a worker's garbage collector would touch every object here, and so copy every page
    confine.adopt_orphans()
    zygotes: set[int] = set()
    child_ended = _ChildSignal()
    for link in _judges_that_ask(requests, child_ended, zygotes, config["idle_seconds"]):

        def run_zygote() -> None:
            child_ended.restore()
            requests.close()
            serve(link, shell, config)

        try:
            zygotes.add(_fork_once(run_zygote))
        except OSError:  # no more processes, or no memory: the judge sees its link end, and starts a fork server of its own
            pass
        link.close()
    for zygote in zygotes:  # each ends its worker, and then itself
        os.waitpid(zygote, 0)
    _end_orphans()
    os._exit(0)  # nothing needs cleaning up, and an orderly end of torch takes a tenth of a second


def _judges_that_ask(requests: socket.socket, child_ended: _ChildSignal, zygotes: set[int], idle_seconds: float) -> Iterator[socket.socket]:
    """Yield the sockets that judges send; meanwhile end what dead zygotes have left."""
    while True:
        ready, _, _ = select.select([requests, child_ended.ready], [], [], None if zygotes else idle_seconds)
        if not ready:
            return
        if child_ended.ready in ready:
            child_ended.ready.recv(4096)
            _end_orphans(zygotes)
        if requests in ready:
            message, links, _, _ = socket.recv_fds(requests, 1, 1)
            if not message:
                return
            yield from (socket.socket(fileno=link) for link in links)


class _ChildSignal:
    """Something to select on that is ready when a child has ended."""

    def __init__(self):
        self.ready, self._wakeup = socket.socketpair()
        self._wakeup.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *about_the_signal: None)
        signal.set_wakeup_fd(self._wakeup.fileno(), warn_on_full_buffer=False)

    def restore(self) -> None:
        """Restore the default handling of signals."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.ready.close()
        self._wakeup.close()


def serve(judge_link: socket.socket, shell, config: dict) -> None:
    """Fork workers for one judge until it closes the link; then end what is left of them."""
    confine.adopt_orphans()
    wire.send(judge_link, {"ready": os.getpid(), "level": config["level"]})
    while True:
        try:
            request = wire.receive(judge_link)
            wire.send(judge_link, _do(judge_link, shell, config, **request))
        except wire.Closed:
            return _end_orphans()


def _do(judge_link: socket.socket, shell, config: dict, do: str, **rest) -> dict:
    if do == "fork":
        guard = _guard(tuple(rest.pop("forbidden")))
        return _fork(judge_link, partial(worker.serve, shell=shell, guard=guard, config=config, **rest), config)
    return _prepare(config) if do == "prepare" else {"use": _use, "end": _end}[do](**rest)


def _prepare(config: dict) -> dict:
    """Import what `torch.testing.assert_close` imports when it is first called: each mutation test has a fresh worker, and would pay for it."""
    import torch.distributed.tensor  # noqa: F401

    gc.freeze()
    config["megabytes_at_rest"] = _address_space()
    return {"ready": os.getpid()}


def _shell():
    """Return IPython without history: it would own a thread and a file."""
    from IPython.core.history import HistoryManager
    from IPython.core.interactiveshell import InteractiveShell

    class Shell(InteractiveShell):
        def showtraceback(self, *args, **kwargs) -> None:
            """Show nothing: errors are sent to the judge."""

        showsyntaxerror = showtraceback

        def enable_gui(self, gui=None) -> None:
            """Do nothing, as in a notebook: `%matplotlib inline` is no error."""

        def system(self, command) -> None:
            """Run no program: `!pip install ...` has done its work on the learner's machine."""

    HistoryManager.enabled = False  # type: ignore[assignment]  # a trait, which takes plain values
    shell = Shell.instance(colors="NoColor", history_length=0)
    shell.run_cell("pass", store_history=False, silent=True)  # what the first cell imports is there for every worker then
    return shell


@cache
def _guard(dotted_names: tuple[str, ...]) -> forbidden.Guard:
    """Return a guard that every worker inherits, and that is off until one has need of it: to put it up takes as long as a dozen calls."""
    guard = forbidden.Guard(list(dotted_names))
    gc.freeze()
    return guard


def _fork(judge_link: socket.socket, serve_judge: Callable[[socket.socket], None], config: dict) -> dict:
    _, (fd,), _, _ = socket.recv_fds(judge_link, 1, 1)
    link = socket.socket(fileno=fd)

    def work() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        judge_link.close()
        serve_judge(link)

    try:
        return {"pid": _fork_unshared(work) if config["unshared"] else _fork_once(work)}
    except OSError as error:
        return {"failed": str(error)}
    finally:
        link.close()


def _fork_once(work) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        work()
        status = 0
    finally:
        os._exit(status)


def _fork_unshared(work) -> int:
    """Fork a process that is the first in namespaces of its own.

    A helper enters them, forks and exits; the zygote then adopts what it forked.
    """
    answer_end, write_end = os.pipe()
    helper = os.fork()
    if helper == 0:
        try:
            confine.unshare()
            os.write(write_end, str(_fork_once(work)).encode())
        except OSError as error:
            os.write(write_end, str(error).encode())
        finally:
            os._exit(0)
    os.close(write_end)
    with open(answer_end, "rb") as pipe:
        answer = pipe.read(200).decode()
    os.waitpid(helper, 0)
    if not answer.isdigit():
        raise OSError(answer)
    return int(answer)


def _use(pid: int) -> dict:
    """Return what the kernel has counted of a worker up to now.

    That is the seconds that all its threads have computed, the most memory it held, and for how long it was ready to go on while others
    had the processors.
    """
    peak = HIGH_WATER.search(Path(f"/proc/{pid}/status").read_bytes())
    if peak is None:  # it has ended and has not been waited for
        return {"gone": True}
    return {"cpu_seconds": time.clock_gettime(confine.clock_of(pid)), "peak_bytes": int(peak[1]) << 10, "starved_seconds": _starved(pid)}


def _starved(pid: int) -> float:
    """Return the seconds for which the thread of a worker that waited longest had no processor; 0 where the kernel does not count them."""
    try:
        waits = [int(path.read_bytes().split()[1]) for path in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    except (OSError, IndexError):  # a thread has ended meanwhile, or the kernel was built without
        return 0.0
    return max(waits, default=0) / 1e9


def _end(pid: int, patience: float = 0.0) -> dict:
    """End a worker and its process group; return how it ended and the CPU seconds it took. One that is about to end has some seconds to do so."""
    until = time.monotonic() + patience
    # Not reaped before the group is gone, so that no other process can have got the number.
    while (ended := os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is None and time.monotonic() < until:
        time.sleep(0.001)
    for end in (os.killpg, os.kill):
        try:
            end(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    _, status, usage = os.wait4(pid, 0)  # returns when all of its pid namespace are gone, where it has one
    _end_orphans()
    return {"by_itself": ended is not None, "status": status, "cpu_seconds": usage.ru_utime + usage.ru_stime}


def _end_orphans(spared: set[int] | None = None) -> None:
    """End the processes that this one has adopted from dead ones, and reap those that have ended.

    At the level bubblewrap a worker leaves nothing, and at the others there is one worker at a time.
    """
    spared = set() if spared is None else spared
    while orphans := _children() - spared:
        for orphan in orphans:
            os.kill(orphan, signal.SIGKILL)
            os.waitpid(orphan, 0)
    for child in [child for child in spared if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG)]:
        spared.remove(child)


def _children() -> set[int]:
    return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


def _address_space() -> int:
    """Return the megabytes of addresses that torch's libraries take at rest: a worker's budget counts from there."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() >> 20
