"""The verdicts on each submission, on disk, so that nothing is judged twice or lost."""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import asdict
from datetime import datetime
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from .. import ROOT
from ..exercise.cache import cached, digest
from ..exercise.model import Exercise
from ..exercise.test_file import needed_by
from ..intake.submission import Submission
from ..judging.task import verdict_from
from ..kit.outcome import Outcome
from ..limits import Limits
from ..sandbox.levels import Level
from .course import Course
from .entry import Entry

CODE = ("kit", "sandbox", "exercise", "judging", "intake/submission.py", "limits.py")  # of this package: what verdicts depend on
LIBRARIES = ("torch", "numpy", "ipython")
NO_LATER = b'\n "later": ""\n}\n'  # the last field; JSON breaks no string, so a file ends so only where it is empty
WHY = {
    "answers": "the answers changed",
    "given": "the exercise's own cells changed",
    "seed": "the course's seed changed",
    "limits": "the limits changed",
    "level": "the sandbox's level changed",
    "autograder": "the autograder changed",
    "tests": "the tests of this check changed",
    "mistakes": "the known mistakes or their hints changed",
}


def keys_of(submission: Submission, exercise: Exercise, seed: int, limits: Limits, level: Level) -> dict[str, str]:
    """Return a digest of each thing that the verdicts depend on, by name."""
    of_exercise = _keys_of_exercise(exercise.folder, digest(exercise.folder))
    limited = asdict(limits.allowing(exercise.seconds))
    return {
        "answers": _digest_of(asdict(submission)),
        "seed": _digest_of(seed),
        "limits": _digest_of(limited),
        "level": level.name,
        "autograder": _autograder(),
        **of_exercise,
    }


@cached()
def _keys_of_exercise(folder, content: str) -> dict[str, str]:
    from ..exercise.reading import read_exercise

    exercise = read_exercise(folder)
    given = [[cell.id, cell.kind, cell.source] for cell in exercise.code]
    tests = {f"tests:{check}": _digest_of([points, needed_by(exercise, check)]) for check, points in exercise.checks.items()}
    return {
        "given": _digest_of([given, exercise.forbidden]),
        "mistakes": _digest_of((folder / "mistakes.py").read_text(encoding="utf-8")),
        **tests,
    }


@lru_cache
def _autograder() -> str:
    here = ROOT / "autograder"
    digests = [digest(here / name) if (here / name).is_dir() else (here / name).read_text(encoding="utf-8") for name in CODE]
    return _digest_of([digests, platform.python_version(), *map(version, LIBRARIES)])


def _digest_of(thing) -> str:
    return hashlib.sha256(json.dumps(thing, sort_keys=True).encode()).hexdigest()[:32]


def affected(earlier: Entry, keys: dict[str, str], checks: list[str]) -> dict[str, str]:
    """Return the checks whose verdicts may no longer hold, each with the reason.

    A mistake is named by all the checks that fail: where one check is judged again, so are those that failed.
    """
    changed = [name for name in keys if earlier.keys.get(name) != keys[name]]
    if common := [name for name in changed if name not in ("mistakes",) and not name.startswith("tests:")]:
        return dict.fromkeys(checks, " and ".join(WHY[name] for name in common))
    verdicts = {verdict.check: verdict for verdict in earlier.verdicts}
    found = {name.removeprefix("tests:"): WHY["tests"] for name in changed if name.startswith("tests:")}
    found |= {check: "it was not judged" for check in checks if check not in verdicts or verdicts[check].outcome is Outcome.JUDGE_FAILED}
    if found or changed:
        found |= {check: WHY["mistakes"] for check in checks if check not in found and verdicts[check].outcome is not Outcome.PASSED}
    return found


def entry_file(course: Course, entry: Entry) -> tuple[Path, str]:
    """Return the file that keeps an entry: its path and its text."""
    return course.journal(*entry.of), json.dumps(asdict(entry), indent=1, ensure_ascii=False, default=datetime.isoformat) + "\n"


def read_entry(course: Course, learner: str, exercise: str) -> Entry | None:
    """Return the entry, or None where there is none, it is damaged or another version wrote it."""
    try:
        return _entry_from(json.loads(course.journal(learner, exercise).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def may_have_later(course: Course, learner: str, exercise: str) -> bool:
    """Return whether the entry may have a later one beside it. The formgrader asks that of a whole class at each click: parsing would take too long."""
    try:
        return not course.journal(learner, exercise).read_bytes().endswith(NO_LATER)
    except OSError:
        return False


def _entry_from(payload: dict) -> Entry:
    entry = Entry(
        **{
            **payload,
            "verdicts": tuple(map(verdict_from, payload["verdicts"])),
            "submission": Submission(**payload["submission"]) if payload.get("submission") else None,
            "at": datetime.fromisoformat(payload["at"]) if payload.get("at") else None,
            "other": _entry_from(payload["other"]) if payload.get("other") else None,
        }
    )
    if not all(isinstance(key, str) for key in entry.keys.values()):
        raise TypeError("a key is not text")
    return entry
