"""What takes long to find out of an exercise is kept below `_build/` until something that it rests on changes."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from importlib.metadata import version
from typing import TypeVar

from .. import ROOT
from ..exercise import reading as exercises
from ..exercise.cache import digest
from ..files import write_whole

Found = TypeVar("Found")  # whatever JSON can hold

KEPT = ROOT / "_build"
LIBRARIES = ("numpy", "torch")  # which compute what is compared


def kept(kind: str, exercise: str, find: Callable[[], Found], *rests_on: str, of: str = "") -> Found:
    """Return what `find` returns, or returned the last time: of an exercise, or of a part of it that `of` names.

    It rests on the exercise, on the autograder, on this Python and on whatever `rests_on` says.
    """
    about = _about(exercise, *rests_on)
    path = _path(kind, exercise, of)
    before = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if before.get("rests on") == about:
        return before["found"]
    found = find()
    write_whole(path, json.dumps({"rests on": about, "found": found}, ensure_ascii=False))
    return found


def is_kept(kind: str, exercise: str, *rests_on: str) -> bool:
    """Return whether `kept` would find nothing out."""
    path = _path(kind, exercise)
    return path.is_file() and json.loads(path.read_text(encoding="utf-8")).get("rests on") == _about(exercise, *rests_on)


def _path(kind: str, exercise: str, of: str = ""):
    return KEPT / kind / f"{exercise}{'.' * bool(of)}{of}.json"


def _about(exercise: str, *more: str) -> list[str]:
    sources = [digest(exercises.SOLUTIONS / exercise), digest(ROOT / "autograder")]
    return [*sources, *more, platform.python_version(), platform.machine(), *map(version, LIBRARIES)]
