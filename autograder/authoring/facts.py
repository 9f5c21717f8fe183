"""What learners' notebooks know of an exercise, fingerprints of mistakes among it. It takes long to find out, and is kept until something that it rests on changes."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator
from importlib.metadata import version

from .. import ROOT
from ..exercise import reading as exercises
from ..exercise.cache import digest
from ..files import write_whole
from .learner_files import facts_of, page_address
from .side_by_side import side_by_side

KEPT = ROOT / "_build" / "facts"
LIBRARIES = ("numpy", "torch")  # which compute what fingerprints are taken of


def facts_of_all(names: list[str]) -> Iterator[str]:
    """Yield the text of each exercise's exercise.json."""
    kept = {name: _kept(name) for name in names}
    made = side_by_side(_made, [name for name in names if not kept[name]])
    for name in names:
        yield kept[name] or _keep(name, next(made))


def _made(name: str) -> str:
    return facts_of(exercises.load(name))


def _kept(name: str) -> str:
    """Return the facts that were found the last time, or nothing if they may be others now."""
    path = KEPT / f"{name}.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return found["facts"] if found.get("rests on") == _rests_on(name) else ""


def _keep(name: str, facts: str) -> str:
    KEPT.mkdir(parents=True, exist_ok=True)
    write_whole(KEPT / f"{name}.json", json.dumps({"rests on": _rests_on(name), "facts": facts}))
    return facts


def _rests_on(name: str) -> list[str]:
    sources = [digest(exercises.SOLUTIONS / name), digest(ROOT / "autograder")]
    return [*sources, page_address(""), platform.python_version(), platform.machine(), *map(version, LIBRARIES)]
