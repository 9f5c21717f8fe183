"""One process at a time writes the marks of a course: the one that holds its lock, which says who that is."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import CourseBusy
from ..strangers import log_of

log = log_of("autograder")
WARN_AFTER = 3.0  # seconds


@contextmanager
def held(path: Path, who: str, patience: float) -> Iterator[None]:
    """Hold the lock; raises `CourseBusy` if another process still does after `patience` seconds.

    The kernel frees it when its holder dies. The file's text is for people, and is taken away at
    the end: text in a free lock is left from a run that was cut off.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o664)
    try:
        _take(fd, path, patience)
        if cut_off := _text(fd):
            log.warning("An earlier run was cut off: %s. What it judged is kept, the rest is done now.", cut_off)
        _write(fd, f"{who}, process {os.getpid()}, since {time.strftime('%Y-%m-%d %H:%M:%S')}")
        try:
            yield
        finally:
            _write(fd, "")
    finally:
        os.close(fd)


def _take(fd: int, path: Path, patience: float) -> None:
    started, warned = time.monotonic(), False
    while not _taken(fd):
        waited = time.monotonic() - started
        if waited >= patience:
            raise CourseBusy(path.parent, _text(fd))
        if waited >= WARN_AFTER and not warned:
            log.warning("Waiting for %s", _text(fd))
            warned = True
        time.sleep(0.1)


def _taken(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _text(fd: int) -> str:
    return os.pread(fd, 1000, 0).decode(errors="replace").strip("\0\n ")


def _write(fd: int, text: str) -> None:
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, text.encode(), 0)
    except OSError:  # on a full disk the file can't say who holds it, but it is held
        pass
