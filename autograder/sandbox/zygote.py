"""The zygote: imports torch once, then forks one worker for each submission.

It reads requests from the judge on one socket and never runs a tensor operation: a process that
has used torch's thread pool cannot be forked safely. It holds nothing worth stealing.
"""
from __future__ import annotations

import array
import gc
import os
import re
import resource
import signal
import socket
import time
from pathlib import Path

import jaxtyping  # noqa: F401  (every notebook imports it: once here, not in each worker)
import torch

from . import confine, wire, worker

HIGH_WATER = re.compile(rb"VmHWM:\s*(\d+) kB")

torch.set_num_threads(1)
# What the processor can do is read from files that no worker sees; without it torch refuses to compute in 16 bits.
torch.cpu.get_capabilities()


def main(told: dict) -> None:
    """Serve the judge until it closes the link; `told` is what the room's owner says of the room."""
    judge = socket.socket(fileno=told["link"])
    told["filter"] = Path(told["filter"]).read_bytes() if told["filter"] else b""
    told["megabytes_at_rest"] = _address_space()
    confine.adopt_orphans()
    shell = _shell()
    gc.collect()
    gc.freeze()  # a worker's garbage collector would touch every object here, and so copy every page
    wire.send(judge, {"ready": os.getpid()})
    while True:
        try:
            request = wire.receive(judge)
            wire.send(judge, _do(judge, shell, told, **request))
        except wire.Closed:
            return


def _do(judge: socket.socket, shell, told: dict, do: str, **rest) -> dict:
    if do == "fork":
        return _fork(judge, shell, rest["limits"], told)
    return _prepare(told) if do == "prepare" else {"use": _use, "end": _end}[do](rest["pid"])


def _prepare(told: dict) -> dict:
    """Import what `torch.testing.assert_close` imports when it is first called: every trial has a fresh worker, and would pay for it."""
    import torch.distributed.tensor  # noqa: F401

    gc.freeze()
    told["megabytes_at_rest"] = _address_space()
    return {"ready": os.getpid()}


def _shell():
    """Return IPython without history: it would own a thread and a file."""
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.core.history import HistoryManager

    HistoryManager.enabled = False
    shell = InteractiveShell.instance(colors="NoColor", history_length=0)
    shell.showtraceback = lambda *args, **kwargs: None  # errors travel on the wire
    shell.showsyntaxerror = lambda *args, **kwargs: None
    return shell


def _fork(judge: socket.socket, shell, limits: dict, told: dict) -> dict:
    link = _take_socket(judge)

    def work() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        judge.close()
        worker.serve(link, shell, limits, told)

    try:
        return {"pid": _fork_apart(work) if told["apart"] else _fork_once(work)}
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
    told, tell = os.pipe()
    helper = os.fork()
    if helper == 0:
        try:
            confine.part()
            os.write(tell, str(_fork_once(work)).encode())
        except OSError as error:
            os.write(tell, str(error).encode())
        finally:
            os._exit(0)
    os.close(tell)
    with open(told, "rb") as pipe:
        answer = pipe.read(200).decode()
    os.waitpid(helper, 0)
    if not answer.isdigit():
        raise OSError(answer)
    return int(answer)


def _take_socket(judge: socket.socket) -> socket.socket:
    """Return the socket that the judge sends beside its request."""
    size = array.array("i").itemsize
    _, extras, _, _ = judge.recvmsg(1, socket.CMSG_SPACE(size))
    (fd,) = array.array("i", extras[0][2][:size])
    return socket.socket(fileno=fd)


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


def _end_orphans() -> None:
    """End what a worker without a pid namespace has left; there is one worker at a time."""
    while orphans := Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        for orphan in map(int, orphans):
            os.kill(orphan, signal.SIGKILL)
            os.waitpid(orphan, 0)


def _address_space() -> int:
    """Return the megabytes of addresses that torch's libraries take at rest: a worker's budget counts from there."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() >> 20
