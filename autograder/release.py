"""From solutions/ to exercises/: everything that a learner receives, and nothing else."""
from __future__ import annotations

import ast
import itertools
import json
import math
import re
import shutil
from copy import deepcopy
from pathlib import Path
from typing import Callable, Iterable, Iterator

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.preprocessors import ClearOutput, ClearSolutions, ComputeChecksums, LockCells
from traitlets.config import Config

from . import ROOT, exercise as exercises
from .exercise import Exercise, chapter_title, digest, kept, read
from .kit.cells import ANSWER, CHECK, SETUP, TEXT, TRY, Cell
from .shapes import drawings, with_pictures
from .sources import needed

EXERCISES = ROOT / "exercises"
HANDOUT = ROOT / "autograder" / "handout"
KIT = ROOT / "autograder" / "kit"
STUB = 'raise NotImplementedError("not answered yet")'
NEEDED = ("ipykernel", "jaxtyping", "jupyterlab", "jupytext", "numpy", "pytest", "torch")
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def stub_config() -> Config:
    """Return the settings with which answers are cut out; nbgrader_config.py uses the same."""
    config = Config()
    config.ClearSolutions.code_stub = {"python": STUB}
    return config


def write_exercises(target: Path = EXERCISES, watch: Callable[[Iterable[str]], Iterable[str]] = iter) -> list[Path]:
    """Bring `target` in step with solutions/; return the files that were written or removed. Each exercise passes through `watch`."""
    changed = [path for name, text in handout().items() if (path := _write(target / name, text))]
    wanted: set[Path] = set()
    for name in watch(exercises.all_names()):
        files = {target / name / file: text for file, text in learner_files(exercises.load(name)).items()}
        changed += [path for file, text in files.items() if (path := _write(file, text))]
        wanted |= set(files)
    return changed + _remove_others(target, wanted | {target / name for name in handout()})


def write_sources(target: Path) -> None:
    """Write the notebooks with answers, and what goes along, where nbgrader looks for sources.

    Every nbgrader command asks for this, so it ends at once when nothing has changed, and takes
    the fingerprints, which are slow to make, from exercises/.
    """
    facts = {name: _released_facts(name) for name in exercises.all_names()}
    stamp, now = target / "made-from", "\n".join([digest(exercises.SOLUTIONS), digest(ROOT / "autograder"), *facts.values()])
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == now:
        return
    for name, told in facts.items():
        exercise = exercises.load(name)
        files = {**learner_files(exercise, told), f"{name}.ipynb": _text(source_notebook(exercise))}
        for file, text in files.items():
            _write(target / name / file, text)
    _write(stamp, now)


def _released_facts(name: str) -> str:
    """Return an exercise's facts as they were released, made now if they were not."""
    path = EXERCISES / name / "exercise.json"
    return path.read_text(encoding="utf-8") if path.is_file() else _one_line_each(about(exercises.load(name)))


def handout() -> dict[str, str]:
    """Return the files that stand beside the exercises, by path."""
    files = {f.name: f.read_text(encoding="utf-8") for f in sorted(HANDOUT.iterdir()) if f.is_file() and f.name != "check.py"}
    files |= {f"kit/{f.name}": f.read_text(encoding="utf-8") for f in sorted(KIT.glob("*.py"))}
    return {**files, "requirements.txt": learner_requirements()}


def learner_requirements() -> str:
    """Return the pins of what the exercises import, taken from the one file that has them all."""
    pins = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return "\n".join(pin for pin in pins if re.split("[=<> ]", pin)[0] in NEEDED) + "\n"


def learner_files(exercise: Exercise, facts: str | None = None) -> dict[str, str]:
    """Return one exercise's files, by name; `facts` is the text of exercise.json where it is known."""
    return {
        f"{exercise.name}.ipynb": _text(released_notebook(exercise)),
        f"test_{exercise.name}.py": visible_tests(exercise),
        "exercise.json": facts or _one_line_each(about(exercise)),
        "check.py": (HANDOUT / "check.py").read_text(encoding="utf-8"),
        **dict(zip(_picture_files(), pictures(exercise))),
    }


def pictures(exercise: Exercise) -> list[str]:
    """Return the pictures of an exercise's shapes, in order."""
    return [drawn for cell in exercise.cells if cell.kind == TEXT for drawn in drawings(cell.source)]


def _picture_files() -> Iterator[str]:
    return (f"shapes_{number}.svg" for number in itertools.count(1))


def source_notebook(exercise: Exercise) -> NotebookNode:
    """Return the notebook with its answers, or the mistakes that are handed out in their place, and nbgrader's marks."""
    files = _picture_files()
    cells = [_notebook_cell(exercise.as_handed_out(cell), files) for cell in exercise.cells]
    title = cells[0].source.split("\n", 1)
    cells[0].source = "\n".join([title[0], "", told_before(exercise), *title[1:]])
    facts = {"title": exercise.title, "chapter": exercise.chapter}
    return new_notebook(cells=cells, metadata={"kernelspec": KERNEL, "language_info": {"name": "python"}, "exercise": facts})


def told_before(exercise: Exercise) -> str:
    """Return the line that says what an exercise takes and what it counts."""
    points = f"{len(exercise.checks)} checks, {sum(exercise.checks.values()):g} points"
    return f"**{exercise.difficulty.capitalize()}** · about {exercise.minutes} minutes · {points} · chapter *{chapter_title(exercise.chapter)}*"


def released_notebook(exercise: Exercise) -> NotebookNode:
    """Return the notebook without its answers, made by nbgrader's own steps."""
    return deepcopy(_released_notebook(exercise.folder))


@kept()
def _released_notebook(folder: Path) -> NotebookNode:
    notebook = source_notebook(read(folder))
    for step in (LockCells, ClearSolutions, ClearOutput, ComputeChecksums):
        notebook, _ = step(config=stub_config()).preprocess(notebook, {})
    return notebook


def about(exercise: Exercise) -> dict:
    """Return what `check()` and `hint()` know of an exercise; known mistakes by fingerprint."""
    return {
        "name": exercise.name,
        "title": exercise.title,
        "chapter": exercise.chapter,
        "difficulty": exercise.difficulty,
        "minutes": exercise.minutes,
        "forbidden": list(exercise.forbidden_lists),
        "points": exercise.checks,
        "hints": [{"cell": h.cell, "checks": list(h.checks), "texts": list(h.texts)} for h in exercise.hints],
        "mistakes": [
            {"name": m.name, "title": m.title, "hint": m.hint, "fails": list(m.fails), "prints": _visible_prints(exercise, m.name)}
            for m in exercise.mistakes
        ],
    }


def _one_line_each(facts: dict) -> str:
    """Return JSON with one line for each fact, each hint and each mistake, so that a change shows as one line."""
    return "{\n " + ",\n ".join(f'"{key}": {_lines(value)}' for key, value in facts.items()) + "\n}\n"


def _lines(value) -> str:
    if not (isinstance(value, list) and value and isinstance(value[0], dict)):
        return json.dumps(value, ensure_ascii=False)
    return "[\n  " + ",\n  ".join(json.dumps(each, ensure_ascii=False) for each in value) + "\n ]"


def _visible_prints(exercise: Exercise, mistake: str) -> dict:
    from .judge import print_of  # it needs torch, and whoever only enters marks does not
    from .kit.suite import VISIBLE_SEED

    tests = [t.name for t in exercise.tests if not t.hidden]
    prints = {name: print_of(exercise.name, mistake, name, VISIBLE_SEED) for name in tests}
    return {name: print_ for name, print_ in prints.items() if print_}


def visible_tests(exercise: Exercise) -> str:
    """Return the test file with only the visible tests and what these need."""
    path = exercise.folder / f"test_{exercise.name}.py"
    text = path.read_text(encoding="utf-8")
    body = ast.parse(text).body
    hidden = {test.name for test in exercise.tests if test.hidden}
    kept = needed([node for node in body if getattr(node, "name", None) not in hidden])
    lines = text.splitlines()
    for node in reversed(body):
        if node not in kept:
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            del lines[first - 1 : node.end_lineno]
    return _one_gap(re.sub(r"^from autograder\.(kit[.\w]*) import (.*)$", lambda m: _kit_import(m, kept), "\n".join(lines), flags=re.MULTILINE))


def _kit_import(found: re.Match, kept: list[ast.stmt]) -> str:
    """Return an import from our kit as one from the learner's, with only the names that are left."""
    module, offered = found.groups()
    used = {n.id for node in kept for n in ast.walk(node) if isinstance(n, ast.Name)}
    return f"from {module} import {', '.join(name for name in offered.split(', ') if name in used)}"


def _one_gap(text: str) -> str:
    return re.sub(r"\n{4,}", "\n\n\n", text).rstrip() + "\n"


def _notebook_cell(cell: Cell, files: Iterator[str]) -> NotebookNode:
    if cell.kind == TEXT:
        return new_markdown_cell(with_pictures(cell.source, files), id=cell.id)
    if cell.kind == TRY:  # without an answer it raises an error, which must not keep the cells below from running
        return new_code_cell(cell.source, id=cell.id, metadata={"tags": [TRY, "raises-exception"]})
    marks = {"grade": cell.kind == CHECK, "grade_id": cell.id, "locked": cell.kind in (CHECK, SETUP), "schema_version": 3, "solution": cell.kind == ANSWER, "task": False}
    if cell.kind == CHECK:
        marks["points"] = cell.points
    return new_code_cell(cell.source, id=cell.id, metadata={"nbgrader": marks})


def _text(notebook: NotebookNode) -> str:
    return nbformat.writes(notebook) + "\n"


def _write(path: Path, text: str) -> Path | None:
    """Write a file if its content changes; return its path if it did."""
    if path.is_file() and same_text(path.name, path.read_text(encoding="utf-8"), text):
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def same_text(name: str, one: str, other: str) -> bool:
    """Return whether two files say the same; fingerprints may differ in their last digit."""
    if one == other or name != "exercise.json":
        return one == other
    return _about_equal(json.loads(one), json.loads(other))


def _about_equal(one, other) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-3, abs_tol=1e-3)
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(_about_equal(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_about_equal, one, other))
    return one == other


def _remove_others(target: Path, wanted: set[Path]) -> list[Path]:
    """Remove what an earlier release left behind, and nothing that a person may have put there."""
    left = [f for f in target.rglob("*") if f.is_file() and f not in wanted and f.name in ("exercise.json", "check.py")]
    stale = {f.parent for f in left}
    for folder in stale:
        shutil.rmtree(folder)
    modules = {f for f in (target / "kit").glob("*.py") if f not in wanted}
    for module in modules:
        module.unlink()
    return sorted(stale | modules)
