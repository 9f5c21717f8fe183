"""Files that are written whole or not at all, whatever happens to the process that writes them."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Generic, TypeVar

from .errors import NoSpace

T = TypeVar("T")

GROUP_MAY_WRITE = stat.S_ISGID | stat.S_IWGRP
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
WRITERS = 8
SETTLED = 1.0  # seconds after which another change of a file shows in its times, however coarse the clock of its disk is
HALF_WRITTEN = re.compile(r"\..+\.(\d+(?:-\d+)?)(?:-journal)?")


def write_whole(path: Path, text: str) -> None:
    """Write a file so that at any moment the old or the new one is there, and never half of one.

    Raises `NoSpace`; the old file is still there then.
    """
    beside = beside_of(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(beside, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        put_in_place(beside, path)
    except OSError as error:
        raise (NoSpace(path) if error.errno in FULL else error) from None
    finally:
        beside.unlink(missing_ok=True)


def write_all(files: list[tuple[Path, str]]) -> None:
    """Write files, each of them whole, several at a time since most of it is waiting for the disk. Raises as `write_whole` does."""
    with ThreadPoolExecutor(WRITERS) as writers:
        list(writers.map(write_whole, *zip(*files)) if files else [])


def beside_of(path: Path) -> Path:
    """Return where a file is made before it is put in place: its name says which process makes it."""
    return path.with_name(f".{path.name}.{process_name()}")


def put_in_place(beside: Path, path: Path) -> None:
    """Give a finished file its name, so that a power cut does not take the name away again."""
    os.replace(beside, path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def remove_half_written(top: Path, *below: Path) -> list[Path]:
    """Remove what killed processes left half written in a folder, and anywhere below some others.

    Returns the paths. What a living process is writing stays.
    """
    hidden = [*top.glob(".*"), *(path for folder in below for path in _hidden_below(str(folder)))]
    left = [path for path in hidden if (match := HALF_WRITTEN.fullmatch(path.name)) and not alive(match[1])]
    for path in left:
        path.unlink(missing_ok=True)
    return left


def _hidden_below(folder: str) -> Iterator[Path]:
    """Yield all whose name begins with a dot, anywhere below a folder. A server asks at each request, so a folder without any is listed once."""
    now = looks(folder)
    inner = _without_hidden.known(folder, now)
    if inner is None:
        try:
            with os.scandir(folder) as entries:
                found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        except OSError:
            return
        yield from (Path(folder, name) for name, _ in found if name.startswith("."))
        inner = [name for name, is_folder in found if is_folder]
        if not any(name.startswith(".") for name, _ in found):
            _without_hidden.keep(folder, inner, now)
    for name in inner:
        yield from _hidden_below(f"{folder}/{name}")


def folders_below(folder: str, depth: int) -> list[str]:
    """Return the folders that lie so deep below a folder."""
    try:
        with os.scandir(folder) as entries:
            inner = [entry.path for entry in entries if entry.is_dir()]
    except OSError:
        return []
    return inner if depth == 1 else [each for one in inner for each in folders_below(one, depth - 1)]


Looks = tuple[int, ...] | None


def looks(path: Path | str) -> Looks:
    """Return what tells a file or folder from what it was before a change; None where there is none."""
    try:
        about = os.lstat(path)
    except (OSError, ValueError):
        return None
    return about.st_ino, about.st_mode, about.st_size, about.st_mtime_ns, about.st_ctime_ns


class Remembered(Generic[T]):
    """What was found out about files, for as long as these look as they did then."""

    def __init__(self) -> None:
        self._found: dict[object, tuple[tuple[Looks, ...], T]] = {}

    def known(self, name: object, *now: Looks) -> T | None:
        """Return what was kept under that name, if the files still look so."""
        kept = self._found.get(name)
        return kept[1] if kept and kept[0] == now else None

    def keep(self, name: object, found: T, *now: Looks) -> None:
        """Keep what was found; `now` is how the files looked before they were read."""
        newest = max((each[-1] for each in now if each), default=0)
        if time.time_ns() - newest > SETTLED * 1e9:  # a change within the same tick of the clock could not be seen
            self._found[name] = (tuple(now), found)


_without_hidden: Remembered[list[str]] = Remembered()


@lru_cache
def _name_of(pid: int) -> str:
    return f"{pid}-{_birth(pid)}".rstrip("-")


def process_name() -> str:
    """Return a name for this process that no later process will have, even with the same number."""
    return _name_of(os.getpid())


def alive(name: str) -> bool:
    """Return whether the process of that name still runs."""
    pid, _, birth = name.partition("-")
    return (_birth(int(pid)) == birth) if birth else _exists(int(pid))


def _birth(pid: int) -> str:
    """Return when a process was started, in the kernel's ticks; "" if it is gone or the kernel does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def is_shared(folder: Path) -> bool:
    """Return whether a folder is a group's: what is made there is the group's, and it may write."""
    try:
        return folder.stat().st_mode & GROUP_MAY_WRITE == GROUP_MAY_WRITE
    except OSError:
        return False


def follow_group(folder: Path) -> None:
    """Let the group write what this process writes, where a folder is shared with it."""
    if is_shared(folder):
        os.umask(os.umask(0o077) & ~0o070)


def give_to_group(folder: Path) -> None:
    """Let the group of a shared folder change what this user has put there by other programs, which make files that only their owner may write."""
    if not is_shared(folder):
        return
    for inner, _, files in os.walk(folder):
        for path in [inner, *(os.path.join(inner, file) for file in files)]:
            with suppress(OSError):
                _give_to_group(path)


def _give_to_group(path: str) -> None:
    about = os.lstat(path)
    is_folder = stat.S_ISDIR(about.st_mode)
    wanted = stat.S_IRGRP | stat.S_IWGRP | (stat.S_IXGRP if is_folder else 0)
    if (is_folder or stat.S_ISREG(about.st_mode)) and about.st_uid == os.geteuid() and about.st_mode & wanted != wanted:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            os.fchmod(opened, stat.S_IMODE(about.st_mode) | wanted)
        finally:
            os.close(opened)
