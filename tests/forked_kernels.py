"""Jupyter kernels that need not import torch: forks of one process that has imported it, for tests that start many.

`with lent():` starts that process, and meanwhile Jupyter finds a kernel that runs this file. It asks for a fork, passes on the signals that it gets,
and ends with the fork, as the fork does with it. Nothing is computed before the fork, so a kernel finds what it would find after importing
these packages itself.

No package does this: those that keep kernels ready (Voilà, Jupyter's kernel gateway) start a process for each, which imports everything again.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

ADDRESS = "FORKED_KERNELS"  # in the environment: where to ask
SPECIFICATION = {"argv": [sys.executable, __file__, "{connection_file}"], "display_name": "Python 3", "language": "python"}
# A kernel chooses this when it starts, and matplotlib asks for it when it is imported, which is earlier here.
INLINE = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}
QUIET = "--log-level=ERROR"


@contextmanager
def lent() -> Iterator[None]:
    """Have the kernels that this process starts meanwhile be forks."""
    with TemporaryDirectory(prefix="kernels-") as folder, socket.socket(socket.AF_UNIX) as listening:
        address, found = Path(folder, "ask"), Path(folder, "kernels", "python3", "kernel.json")
        found.parent.mkdir(parents=True)
        found.write_text(json.dumps(SPECIFICATION))
        listening.bind(str(address))
        listening.listen()
        until_closed, held = os.pipe()  # nothing is written to it, and it is closed however this process ends
        descriptors = listening.fileno(), until_closed
        server = subprocess.Popen([sys.executable, __file__, "serve", *map(str, descriptors)], pass_fds=descriptors, start_new_session=True)
        os.close(until_closed)
        with patch.dict(os.environ, {ADDRESS: str(address), "JUPYTER_PATH": folder}):
            yield
        os.close(held)
        server.wait()


def be_a_kernel(connection_file: str) -> None:
    """Be the kernel of this connection file, by way of a fork."""
    wanted = {"file": connection_file, "folder": os.getcwd(), "environment": dict(os.environ)}
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(os.environ[ADDRESS])
        socket.send_fds(link, [b"."], [0, 1, 2])
        link.sendall(json.dumps(wanted).encode() + b"\n")
        kernel = int(link.recv(20))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, frame: os.kill(kernel, number))
        link.recv(1)  # nothing comes: the kernel has ended


def serve(listening: socket.socket, until_closed: int) -> None:
    """Fork for each kernel that is asked for, until the process that lends them closes its end of the pipe or is gone."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a kernel has ended
    while True:
        ready, _, _ = select.select([listening, until_closed], [], [])
        if until_closed in ready:
            return
        import_what_notebooks_import()
        link, _ = listening.accept()
        with link:
            if os.fork() == 0:
                listening.close()
                return run_kernel(link)


def import_what_notebooks_import() -> None:
    os.environ.update(INLINE)
    import torch  # noqa: F401


def run_kernel(link: socket.socket) -> None:
    """Let this fork be the kernel that is asked for through `link`, for as long as whoever asks is there."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, descriptors, _, _ = socket.recv_fds(link, 1, 3)
    wanted = json.loads(link.makefile().readline())
    for standard, descriptor in enumerate(descriptors):
        os.dup2(descriptor, standard)
        os.close(descriptor)
    link = link.dup()
    link.sendall(str(os.getpid()).encode())
    threading.Thread(target=end_with, args=[link], daemon=True).start()
    os.environ.clear()
    os.environ.update(wanted["environment"])
    os.chdir(wanted["folder"])
    from ipykernel import kernelapp

    # It looks by itself whether its parent is still there, and where it knows of none it tells how else to end it.
    kernelapp.launch_new_instance(argv=[QUIET, f"--IPKernelApp.parent_handle={os.getppid()}", "-f", wanted["file"]])


def end_with(link: socket.socket) -> None:
    """End this process when the other end of the link is closed."""
    link.recv(1)
    os._exit(1)


if __name__ == "__main__":
    del sys.path[0]  # of this folder, which is no kernel's business
    if sys.argv[1] == "serve":
        serve(socket.socket(fileno=int(sys.argv[2])), int(sys.argv[3]))
    else:
        be_a_kernel(sys.argv[1])
