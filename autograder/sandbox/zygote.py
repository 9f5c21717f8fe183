"""Behind the wall: the fork server imports torch once and forks a zygote for each judge, which forks a worker for each submission.

A zygote reads requests from its judge on one socket. Neither it nor the fork server ever runs a tensor operation: a process
that has used torch's thread pool cannot be forked safely. They hold nothing worth stealing.
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
from collections.abc import Iterator
from pathlib import Path

import jaxtyping  # noqa: F401  (every notebook imports it: once here, not in each worker)
import torch

from . import confine, wire, worker

HIGH_WATER = re.compile(rb"VmHWM:\s*(\d+) kB")

torch.set_num_threads(1)
# What the processor can do is read from files that no worker sees; without it torch refuses to compute in 16 bits.
torch.cpu.get_capabilities()


def main(config: dict) -> None:
    """Give a zygote, a fork of this process, to each judge that sends a socket, until nobody is left who could, or none has come for long.

    `config` is what `rootfs.py` says of the files around it.
    """
    requests = socket.socket(fileno=config["link"])
    config["filter"] = Path(config["filter"]).read_bytes() if config["filter"] else b""
    config["megabytes_at_rest"] = _address_space()
    shell = _shell()
    gc.collect()
    gc.freeze()  # a worker's garbage collector would touch every object here, and so copy every page
    confine.adopt_orphans()
    zygotes: set[int] = set()
    bell = _Bell()
    for link in _judges_that_ask(requests, bell, zygotes, config["idle_seconds"]):

        def live() -> None:
            bell.put_away()
            requests.close()
            serve(link, shell, config)

        try:
            zygotes.add(_fork_once(live))
        except OSError:  # no more processes, or no memory: the judge sees its link end, and asks for a fork server of its own
            pass
        link.close()
    for zygote in zygotes:  # each ends its worker, and then itself
        os.waitpid(zygote, 0)
    _end_orphans()
    os._exit(0)  # there is nothing to put in order: an orderly end of torch takes a tenth of a second


def _judges_that_ask(requests: socket.socket, bell: _Bell, zygotes: set[int], idle_seconds: float) -> Iterator[socket.socket]:
    """Yield the sockets that judges send; meanwhile end what zygotes that died have left."""
    while True:
        ready, _, _ = select.select([requests, bell.heard], [], [], None if zygotes else idle_seconds)
        if not ready:
            return
        if bell.heard in ready:
            bell.heard.recv(4096)
            _end_orphans(zygotes)
        if requests in ready:
            message, links, _, _ = socket.recv_fds(requests, 1, 1)
            if not message:
                return
            yield from (socket.socket(fileno=link) for link in links)


class _Bell:
    """Rings when a child has ended."""

    def __init__(self):
        self.heard, self._rung = socket.socketpair()
        self._rung.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *about_the_signal: None)
        signal.set_wakeup_fd(self._rung.fileno(), warn_on_full_buffer=False)

    def put_away(self) -> None:
        """Be as any process again."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.heard.close()
        self._rung.close()


def serve(judge: socket.socket, shell, config: dict) -> None:
    """Fork workers for one judge until it closes the link; then end what is left of them."""
    confine.adopt_orphans()
    wire.send(judge, {"ready": os.getpid(), "level": config["level"]})
    while True:
        try:
            request = wire.receive(judge)
            wire.send(judge, _do(judge, shell, config, **request))
        except wire.Closed:
            return _end_orphans()


def _do(judge: socket.socket, shell, config: dict, do: str, **rest) -> dict:
    if do == "fork":
        return _fork(judge, shell, rest["limits"], config)
    return _prepare(config) if do == "prepare" else {"use": _use, "end": _end}[do](rest["pid"])


def _prepare(config: dict) -> dict:
    """Import what `torch.testing.assert_close` imports when it is first called: every trial has a fresh worker, and would pay for it."""
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
            """Show nothing: errors travel on the wire."""

        showsyntaxerror = showtraceback

    HistoryManager.enabled = False  # type: ignore[assignment]  # a trait, which takes plain values
    shell = Shell.instance(colors="NoColor", history_length=0)
    shell.run_cell("pass", store_history=False, silent=True)  # what the first cell imports is there for every worker then
    return shell


def _fork(judge: socket.socket, shell, limits: dict, config: dict) -> dict:
    _, (fd,), _, _ = socket.recv_fds(judge, 1, 1)
    link = socket.socket(fileno=fd)

    def work() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        judge.close()
        worker.serve(link, shell, limits, config)

    try:
        return {"pid": _fork_apart(work) if config["apart"] else _fork_once(work)}
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


def _fork_apart(work) -> int:
    """Fork a process that is the first in namespaces of its own.

    A helper enters them, forks and goes; what it forked is then a child of the zygote, which has adopted it.
    """
    answer_end, tell = os.pipe()
    helper = os.fork()
    if helper == 0:
        try:
            confine.unshare()
            os.write(tell, str(_fork_once(work)).encode())
        except OSError as error:
            os.write(tell, str(error).encode())
        finally:
            os._exit(0)
    os.close(tell)
    with open(answer_end, "rb") as pipe:
        answer = pipe.read(200).decode()
    os.waitpid(helper, 0)
    if not answer.isdigit():
        raise OSError(answer)
    return int(answer)


def _use(pid: int) -> dict:
    """Return what the kernel has counted of a worker up to now: seconds of all its threads, the most memory it held."""
    peak = HIGH_WATER.search(Path(f"/proc/{pid}/status").read_bytes())
    if peak is None:  # it has ended, and nobody has waited for it yet
        return {"gone": True}
    return {"cpu_seconds": time.clock_gettime(confine.clock_of(pid)), "peak_bytes": int(peak[1]) << 10}


def _end(pid: int) -> dict:
    """End a worker and its process group; return how it ended and the CPU seconds it took."""
    # Not reaped before the group is gone, so that the number cannot belong to somebody else.
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    for end in (os.killpg, os.kill):
        try:
            end(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    _, status, usage = os.wait4(pid, 0)  # returns when all of its pid namespace are gone, where it has one
    _end_orphans()
    own = ended is not None
    return {"own": own, "status": status, "cpu_seconds": usage.ru_utime + usage.ru_stime}


def _end_orphans(spared: set[int] | None = None) -> None:
    """End what came to this process from others that died, and reap what has ended.

    At the level bubblewrap a worker leaves nothing, and elsewhere there is one at a time.
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
