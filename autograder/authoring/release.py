"""From solutions/ to exercises/: everything that a learner receives, and nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from .. import ROOT
from ..exercise import reading as exercises
from ..exercise.cache import cached, digest
from ..exercise.notebook import source_notebook
from .facts import facts_of_all
from .learner_files import FOLDER, afterwards, afterwards_file, facts_of, handout, learner_files, notebook_text

EXERCISES = ROOT / "exercises"


def write_exercises(
    target: Path = EXERCISES, watch: Callable[[Iterable[str]], Iterable[str]] = iter, with_answers: bool = True
) -> list[Path]:
    """Bring `target` up to date with solutions/; return the files that were written or removed. Each exercise passes through `watch`.

    `with_answers` says whether right answers go along, packed, for who has passed all checks.
    """
    changed = [path for name, text in handout().items() if (path := _write(target / name, text))]
    wanted: set[Path] = set()
    names = exercises.all_names()
    for name, facts in zip(watch(names), facts_of_all(names)):
        exercise = exercises.load(name)
        files = {target / name / file: text for file, text in learner_files(exercise, facts).items()}
        if with_answers:
            files[target / afterwards_file(name)] = afterwards(exercise)
        changed += [path for file, text in files.items() if (path := _write(file, text))]
        wanted |= set(files)
    return changed + _remove_others(target, wanted | {target / name for name in handout()})


def write_sources(target: Path, points: Mapping[str, float] | None = None) -> None:
    """Write the notebooks with answers, and what goes along, where nbgrader looks for sources; `points` of a whole exercise, where they are set.

    Every nbgrader command asks for this, so it ends at once when nothing has changed, and takes
    the fingerprints, which are slow to make, from exercises/.
    """
    facts = {name: _released_facts(name) for name in exercises.all_names()}
    points, stamp = points or {}, target / "made-from"
    now = "\n".join([digest(exercises.SOLUTIONS), digest(ROOT / "autograder"), str(sorted(points.items())), *facts.values()])
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == now:
        return
    for name, text_of_facts in facts.items():
        for file, text in _source_files(name, text_of_facts, points.get(name)).items():
            _write(target / name / file, text)
    _write(stamp, now)


@cached(64)
def _source_files(name: str, facts: str, points: float | None) -> dict[str, str]:
    """Return the notebook with answers, and what goes along, by the names of their files."""
    exercise = exercises.load(name)
    return {**learner_files(exercise, facts), f"{name}.ipynb": notebook_text(source_notebook(exercise.worth(points)))}


def _released_facts(name: str) -> str:
    """Return an exercise's facts as they were released, made now if they were not."""
    path = EXERCISES / name / "exercise.json"
    return path.read_text(encoding="utf-8") if path.is_file() else facts_of(exercises.load(name))


def _write(path: Path, text: str) -> Path | None:
    """Write a file if its content changes; return its path if it did."""
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def _remove_others(target: Path, wanted: set[Path]) -> list[Path]:
    """Remove what an earlier release left behind, and nothing that a person may have put there."""
    left = [f for f in target.rglob("*") if f.is_file() and f not in wanted and f.name in ("exercise.json", "check.py")]
    stale = {f.parent for f in left}
    for folder in stale:
        shutil.rmtree(folder)
    others = {f for f in [*(target / "kit").glob("*.py"), *(target / FOLDER).glob("*.txt")] if f not in wanted}
    for other in others:
        other.unlink()
    return sorted(stale | others)


def write_desk(target: Path) -> None:
    """Copy exercises/ to where a learner may write; notebooks that are there already are kept, with the answers in them."""
    for path in sorted(p for p in EXERCISES.rglob("*") if p.is_file()):
        inside = path.relative_to(EXERCISES)
        if any(part.startswith((".", "__pycache__")) for part in inside.parts):
            continue  # a tool's, or the progress of a learner in this folder
        if path.suffix == ".ipynb" and (target / inside).exists():
            continue
        (target / inside).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target / inside)
