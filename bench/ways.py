"""Ways to grade one and the same class: this project's commands, stock nbgrader, Otter."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell

from autograder import ROOT
from autograder.authoring.sample import handed_in
from autograder.exercise.known import KnownAnswer
from autograder.exercise.model import Exercise
from autograder.judging.answers import answers

EXERCISE = "single_head"
SEED = 7
BIN = Path(sys.executable).parent
THEIRS = ROOT / "_build" / "bench-venv" / "bin"
# In a stock notebook a graded cell holds this: the same tests as ours, run by the learner's own kernel.
CELL = "import sys\nsys.path.insert(0, {root!r})\nfrom bench.checks import insist\ninsist({check!r}, globals(), {seed})"
STOCK_CONFIG = (
    'c = get_config()\nc.CourseDirectory.course_id = "stock"\nc.CourseDirectory.root = {root!r}\nc.ExecutePreprocessor.timeout = 120\n'
)


@dataclass(frozen=True)
class Way:
    """One way to grade a class that lies in its folder: `prepare` makes all as it was before, `run` grades, `marks` returns each learner's."""

    prepare: Callable[[], None]
    run: Callable[[], None]
    marks: Callable[[], dict[str, float]]
    folder: Path = ROOT  # where its commands are given
    environment: dict[str, str] = field(default_factory=dict)


def agree(marks: dict[str, dict]) -> None:
    """Raises `RuntimeError` where a way gave other marks than the first, which graded all."""
    first = next(iter(marks.values()))
    for name, theirs in marks.items():
        wrong = [(who, mark, first.get(who)) for who, mark in theirs.items() if mark != first.get(who)]
        if wrong or not theirs:
            raise RuntimeError(f"{name} gave other marks: {wrong[:5]}")


def class_of(exercise: Exercise, size: int) -> list[KnownAnswer | None]:
    """Return whose answer each learner hands in: two of three are right."""
    right, wrong = [None, *exercise.variants], list(exercise.mistakes)
    return [wrong[number // 3 % len(wrong)] if number % 3 == 2 else right[number % len(right)] for number in range(size)]


def name_of(number: int) -> str:
    return f"learner{number:05d}"


def _run(*words, **more) -> None:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)
    if done.returncode:
        raise RuntimeError(f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}")


def _lay_out(folder: Path, notebooks: list) -> None:
    for number, notebook in enumerate(notebooks):
        path = folder / "submitted" / name_of(number) / EXERCISE / f"{EXERCISE}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(nbformat.writes(notebook), encoding="utf-8")


def _marks(database: Path) -> dict[str, float]:
    with sqlite3.connect(database) as connection:
        rows = connection.execute(
            "select submitted_assignment.student_id, sum(grade.auto_score) from grade join submitted_notebook on grade.notebook_id = submitted_notebook.id"
            " join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id group by 1"
        )
        return dict(rows.fetchall())


def ours(course: Path, exercise: Exercise, known: list, *how) -> Way:
    _lay_out(course, [handed_in(exercise, each) for each in known])
    environment = {**os.environ, "ATTENTION_COURSE": str(course)}

    def run() -> None:
        _run(BIN / "python", "-m", "autograder", "grade", EXERCISE, *how, cwd=ROOT, env=environment)

    return Way(lambda: _afresh(course), run, lambda: _marks(course / "gradebook.db"))


def nbgrader_with_plugins(course: Path, exercise: Exercise, known: list) -> Way:
    """nbgrader's command, in this project's folder."""
    _lay_out(course, [handed_in(exercise, each) for each in known])
    environment = {**os.environ, "ATTENTION_COURSE": str(course)}

    def prepare() -> None:
        _afresh(course)
        _run(
            BIN / "nbgrader",
            "generate_assignment",
            EXERCISE,
            "--force",
            f"--CourseDirectory.release_directory={course / 'release'}",
            cwd=ROOT,
            env=environment,
        )

    return Way(
        prepare,
        lambda: _run(BIN / "nbgrader", "autograde", EXERCISE, cwd=ROOT, env=environment),
        lambda: _marks(course / "gradebook.db"),
        ROOT,
        environment,
    )


def _afresh(course: Path) -> None:
    for path in course.iterdir():
        if path.name != "submitted":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    (course / "seed").write_text(f"{SEED}\n")


def stock(course: Path, exercise: Exercise, known: list) -> Way:
    """nbgrader as it comes, in a folder of its own."""
    _lay_out(course, [_stock_notebook(exercise, answers(exercise, each)) for each in known])
    source = course / "source" / EXERCISE / f"{EXERCISE}.ipynb"
    source.parent.mkdir(parents=True)
    source.write_text(nbformat.writes(_stock_notebook(exercise, answers(exercise))), encoding="utf-8")
    (course / "nbgrader_config.py").write_text(STOCK_CONFIG.format(root=str(course)))
    command = THEIRS / "nbgrader" if (THEIRS / "nbgrader").exists() else BIN / "nbgrader"
    environment = {**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}"}

    def prepare() -> None:
        for name in ("autograded", "release", "gradebook.db"):
            path = course / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        _run(command, "generate_assignment", EXERCISE, cwd=course, env=environment)

    return Way(
        prepare,
        lambda: _run(command, "autograde", EXERCISE, cwd=course, env=environment),
        lambda: _marks(course / "gradebook.db"),
        course,
        environment,
    )


def _stock_notebook(exercise: Exercise, given: dict[str, str]):
    """Return our notebook with these answers, its checks as stock nbgrader wants them: cells that raise."""
    from autograder.exercise.notebook import source_notebook

    made = source_notebook(exercise)
    for cell in made.cells:
        cell.source = given.get(cell.id, cell.source)
        if cell.id in exercise.checks:
            cell.source = CELL.format(root=str(ROOT), check=cell.id, seed=SEED)
        elif cell.cell_type == "code":
            cell.source = "\n".join(line for line in cell.source.splitlines() if not line.startswith("from check import"))
    return made


def otter(home: Path, exercise: Exercise, known: list) -> Way:
    """One test file for each check, whose one case is the check; no container, as `otter run` works."""
    (home / "pack" / "tests").mkdir(parents=True)
    (home / "out").mkdir()
    for check, points in exercise.checks.items():
        code = CELL.format(root=str(ROOT), check=check, seed=SEED).replace("\n", "\n>>> ")
        case = {"code": f">>> {code}", "hidden": False, "locked": False}
        suite = {
            "name": check,
            "points": points,
            "suites": [{"cases": [case], "scored": True, "setup": "", "teardown": "", "type": "doctest"}],
        }
        (home / "pack" / "tests" / f"{check}.py").write_text(f"OK_FORMAT = True\ntest = {suite!r}\n")
    (home / "pack" / "otter_config.json").write_text(json.dumps({"lang": "python", "show_stdout": False}))
    shutil.make_archive(str(home / "autograder"), "zip", home / "pack")
    for number, each in enumerate(known):
        notebook = _stock_notebook(exercise, answers(exercise, each))
        notebook.cells = [cell for cell in notebook.cells if cell.id not in exercise.checks] + [new_code_cell("pass")]
        (home / f"{name_of(number)}.ipynb").write_text(nbformat.writes(notebook), encoding="utf-8")

    def run() -> None:
        for number in range(len(known)):
            out = home / "out" / name_of(number)
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            _run(
                THEIRS / "otter", "run", "-a", home / "autograder.zip", "-o", out, "--no-logo", home / f"{name_of(number)}.ipynb", cwd=home
            )

    return Way(lambda: None, run, lambda: {name_of(number): _otter_marks(home / "out" / name_of(number)) for number in range(len(known))})


def _otter_marks(out: Path) -> float:
    results = json.loads((out / "results.json").read_text())
    return sum(test["score"] for test in results["tests"] if test.get("max_score"))
