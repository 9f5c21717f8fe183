"""The zygote: imports torch once, then forks one worker for each submission.

It reads requests from the judge on one socket and never runs a tensor operation: a process that
has used torch's thread pool cannot be forked safely. It holds nothing worth stealing.
"""
from __future__ import annotations

import array
import os
import signal
import socket
import sys

import torch

from . import wire, worker

torch.set_num_threads(1)


def main() -> None:
    judge = socket.socket(fileno=int(sys.argv[1]))
    shell = _shell()
    wire.send(judge, {"ready": os.getpid()})
    while True:
        try:
            request = wire.receive(judge)
            if request["do"] == "fork":
                wire.send(judge, {"pid": _fork(judge, shell, request["limits"])})
            else:
                wire.send(judge, _end(request["pid"]))
        except wire.Closed:
            return


def _shell():
    """Return IPython without history: it would own a thread and a file."""
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.core.history import HistoryManager

    HistoryManager.enabled = False
    shell = InteractiveShell.instance(colors="NoColor", history_length=0)
    shell.showtraceback = lambda *args, **kwargs: None  # errors travel on the wire
    shell.showsyntaxerror = lambda *args, **kwargs: None
    return shell


def _fork(judge: socket.socket, shell, limits: dict) -> int:
    link = _take_socket(judge)
    pid = os.fork()
    if pid:
        link.close()
        return pid
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        judge.close()
        worker.serve(link, shell, limits)
        status = 0
    finally:
        os._exit(status)


def _take_socket(judge: socket.socket) -> socket.socket:
    """Return the socket that the judge sends beside its request."""
    size = array.array("i").itemsize
    _, extras, _, _ = judge.recvmsg(1, socket.CMSG_SPACE(size))
    (fd,) = array.array("i", extras[0][2][:size])
    return socket.socket(fileno=fd)


def _end(pid: int) -> dict:
    """End a worker and its process group; return how it ended and the CPU seconds it took."""
    # Not reaped before the group is gone, so that the number cannot belong to somebody else.
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    for end in (os.killpg, os.kill):
        try:
            end(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    _, status, usage = os.wait4(pid, 0)
    own = ended is not None
    return {"own": own, "status": status, "cpu_seconds": usage.ru_utime + usage.ru_stime}


if __name__ == "__main__":
    main()
