"""Results that depend on the files of solutions/, cached until these change."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

_caches: list = []
_seen: list = []  # what the files in solutions/ looked like when they were last checked


def cached(most: int = 128):
    """Cache up to `most` results of a function that depends on the files of solutions/, until `clear`."""

    def caching(function):
        _caches.append(lru_cache(most)(function))
        return _caches[-1]

    return caching


def clear() -> None:
    """Forget all that is cached."""
    for cache in _caches:
        cache.cache_clear()


def clear_if_changed(folder: Path) -> None:
    """Forget all that is cached if a Python file below the folder has changed since the last call.

    A process that has run for days must not judge by the exercises of its first day.
    """
    global _seen
    now = [
        (path, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
        for path in folder.rglob("*.py")
        for about in [path.stat()]
    ]
    if now != _seen:
        _seen = now
        clear()


@cached()
def digest(folder: Path) -> str:
    """Return a digest of all Python files below a folder."""
    content = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        content.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return content.hexdigest()
