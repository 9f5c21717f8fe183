"""Commands as other Unix users than the one who tests, which only root can give."""

import os
import shlex
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

from autograder import ROOT

NEEDED = (sys.base_prefix, sys.prefix, str(ROOT))


def words_as(uid: int, gid: int, groups: tuple[int, ...] = ()) -> tuple[str, ...]:
    """Return the words before a command that make it another user's. Skips the test where that user can't run this Python."""
    words = _words(uid, gid, groups)
    if not _can_run(words):
        pytest.skip("only root can run commands as other users, who have to be able to run this Python")
    return words


def _words(uid: int, gid: int, groups: tuple[int, ...]) -> tuple[str, ...]:
    others = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
    user = shlex.join(["setpriv", "--reuid", str(uid), "--regid", str(gid), *others, "--bounding-set=-all", "--no-new-privs"])
    return "unshare", "--mount", "--propagation", "private", "sh", "-ec", f'{opened()}\nexec {user} "$0" "$@"'


def opened(*covered: str) -> str:
    """Return commands by which nothing of this Python and project lies in a folder that is closed to other users, such as root's home.

    They change what one command sees and nothing else: it gets an empty folder in place of each closed one, with what it needs mounted there again.
    So it does in place of those that are `covered`.
    """
    lines = []
    for closed in sorted({Path(each) for each in covered} | {closed for path in NEEDED if (closed := _closed_above(Path(path)))}):
        inside = [path for path in NEEDED if Path(path).is_relative_to(closed)]
        kept = {path: f"/proc/self/fd/{9 - number}" for number, path in enumerate(dict.fromkeys(inside))}
        lines += [f"exec {fd.rpartition('/')[2]}<{shlex.quote(path)}" for path, fd in kept.items()]
        lines += [f"mount -t tmpfs -o mode=755 tmpfs {shlex.quote(str(closed))}"]
        lines += [f"mkdir -p {shlex.quote(path)}; mount --no-canonicalize --bind {fd} {shlex.quote(path)}" for path, fd in kept.items()]
        lines += [f"exec {fd.rpartition('/')[2]}<&-" for fd in kept.values()]
    return "\n".join(lines)


def _closed_above(path: Path) -> Path | None:
    """Return the topmost folder on the way to a path that other users can't pass."""
    return next((folder for folder in reversed(path.parents) if not folder.stat().st_mode & 0o001), None)


@lru_cache
def _can_run(words: tuple[str, ...]) -> bool:
    if os.getuid():
        return False
    try:
        return subprocess.run([*words, sys.executable, "-c", "import nbgrader"], capture_output=True, cwd="/").returncode == 0
    except OSError:
        return False
