"""The fork server: the one process behind the wall that imports torch. Each judge gets a fork of it, its zygote."""

from __future__ import annotations

import socket
import subprocess

from .levels import Level
from .rootfs import RootFs

END_SECONDS = 30  # on a busy machine
IDLE_SECONDS = 600.0


class ForkServer:
    """Starts at once and is ready later; for each socket sent through its `link` it forks a zygote. `close` ends it.

    It ends by itself when it has had no zygote for `idle_seconds`, so a server that judges now and then can keep it meanwhile.
    Raises `Unavailable` where a program or library is missing that the level needs; whether the rest of it works is seen when a zygote starts.
    This module and all that it imports do without torch: the process that starts a fork server has other work to do meanwhile.
    """

    def __init__(self, level: Level, idle_seconds: float = IDLE_SECONDS):
        self.level = level
        self.rootfs = RootFs(level)
        self.link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # several judges may send at the same time
        try:
            self._process = subprocess.Popen(
                self.rootfs.command(theirs.fileno(), idle_seconds),
                pass_fds=[theirs.fileno()],
                cwd=self.rootfs.path,
                env=self.rootfs.environment(),
                stdin=subprocess.DEVNULL,
                stderr=self.rootfs.errors,
                start_new_session=True,
            )
        except BaseException:
            self.link.close()
            self.rootfs.close()
            raise
        finally:
            theirs.close()

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(self, *error) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """End it; its zygotes end with their judges."""
        self.link.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.rootfs.close()
