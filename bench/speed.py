"""A class graded by this project, by stock nbgrader and by Otter: the same submissions, the same tests, the same marks.

Each way is a whole command, from its start to its end, gradebook or scores on disk. Within a round the ways take turns in an order
drawn anew, and ratios are taken within a round. Otter judges one notebook a command, so it gets only the first few, and its
time is told for each of them.
"""
from __future__ import annotations

import json
import logging
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Iterator

import click
import nbformat
import psutil
from distributed import LocalCluster
from nbformat.v4 import new_code_cell
from rich.console import Console
from rich.table import Table

from autograder import ROOT, exercise as exercises
from autograder.exercise import Exercise
from autograder.judge import answers
from autograder.known import Known
from autograder.sample import handed_in

from .machine import busy, machine, told, versions

EXERCISE = "single_head"
OURS = "ours"
CLUSTER = 2  # workers
SEED = 7
BIN = Path(sys.executable).parent
THEIRS = ROOT / "_build" / "bench-venv" / "bin"
# In a stock notebook a graded cell holds this: the same tests as ours, run by the learner's own kernel.
CELL = 'import sys\nsys.path.insert(0, {root!r})\nfrom bench.checks import insist\ninsist({check!r}, globals(), {seed})'
STOCK_CONFIG = 'c = get_config()\nc.CourseDirectory.course_id = "stock"\nc.CourseDirectory.root = {root!r}\nc.ExecutePreprocessor.timeout = 120\n'
console = Console(stderr=True)


@click.command(help=__doc__)
@click.option("--size", "sizes", multiple=True, default=["30"], show_default=True, help="Submissions in a class, or as 300x1 with how many rounds; may be given more than once.")
@click.option("--rounds", default=3, show_default=True)
@click.option("--otter", "few", default=3, show_default=True, help="Submissions that Otter judges in each round.")
@click.option("--jobs", default=len(os.sched_getaffinity(0)), show_default="the cores")
@click.option("--alone", multiple=True, type=int, help="Submissions in a class that only this project grades, once, with its memory watched; may be given more than once.")
@click.option("--json", "target", type=click.Path(path_type=Path, dir_okay=False), help="Write the results to this file, too.")
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), help="Write them as a part of a page of the book, too.")
def main(sizes: tuple[str, ...], rounds: int, few: int, jobs: int, alone: tuple[int, ...], target: Path | None, page: Path | None) -> None:
    found = {"exercise": EXERCISE, "machine": machine(), "versions": versions(), "jobs": jobs, "classes": [], "alone": []}
    for told_size in sizes:
        size, _, own = told_size.partition("x")
        with tempfile.TemporaryDirectory(prefix="speed-") as folder, _cluster(folder) as address:
            found["classes"].append(_race(Path(folder), int(size), int(own or rounds), few, jobs, address))
    for size in alone:
        with tempfile.TemporaryDirectory(prefix="speed-") as folder:
            found["alone"].append(_alone(Path(folder), size, jobs))
    _show(found)
    if page:
        page.write_text(as_page(found), encoding="utf-8")
    if target:
        target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


@contextmanager
def _cluster(folder: str) -> Iterator[str]:
    """Yield the address of a dask scheduler with workers: it is there before the race begins."""
    with LocalCluster(n_workers=CLUSTER, threads_per_worker=1, dashboard_address=None, local_directory=folder, silence_logs=logging.CRITICAL) as cluster:
        yield cluster.scheduler_address


def _race(folder: Path, size: int, rounds: int, few: int, jobs: int, cluster: str) -> dict:
    """Return the seconds of each way in each round; raises `RuntimeError` where the marks differ."""
    exercise = exercises.load(EXERCISE)
    known = _class(exercise, size)
    ways = {
        OURS: _ours(folder / "ours", exercise, known, "--jobs", jobs),
        f"ours, on dask with {CLUSTER} workers": _ours(folder / "cluster", exercise, known, "--cluster", cluster),
        "nbgrader's command with our judge": _door(folder, exercise, known),
        "stock nbgrader": _stock(folder, exercise, known),
    }
    if few and (THEIRS / "otter").exists():
        ways["otter"] = _otter(folder, exercise, known[:few])
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    load = []
    for number in range(rounds):
        marks = {}
        for name in random.sample(list(ways), len(ways)):
            console.print(f"{size} submissions, round {number + 1} of {rounds}: {name}")
            prepare, run, read = ways[name]
            prepare()
            begin = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - begin)
            marks[name] = read()
        load.append(busy())
        _agree(marks)
    return {"size": size, "rounds": rounds, "otter": few, "load": load, "seconds": {name: [round(s, 2) for s in each] for name, each in seconds.items()}}


def _agree(marks: dict[str, dict]) -> None:
    for name, theirs in marks.items():
        mine = {who: marks[OURS][who] for who in theirs}
        if theirs != mine or not theirs:
            raise RuntimeError(f"{name} gave other marks: {[(who, theirs[who], mine[who]) for who in theirs if theirs[who] != mine[who]][:5]}")


def _class(exercise: Exercise, size: int) -> list[Known | None]:
    """Return whose answer each learner hands in: two of three are right."""
    right, wrong = [None, *exercise.variants], list(exercise.mistakes)
    return [wrong[number // 3 % len(wrong)] if number % 3 == 2 else right[number % len(right)] for number in range(size)]


def _name(number: int) -> str:
    return f"learner{number:05d}"


def _run(*words, **more) -> None:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)
    if done.returncode:
        raise RuntimeError(f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}")


def _lay_out(folder: Path, notebooks: list) -> None:
    for number, notebook in enumerate(notebooks):
        path = folder / "submitted" / _name(number) / EXERCISE / f"{EXERCISE}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(nbformat.writes(notebook), encoding="utf-8")


def _marks(database: Path) -> dict[str, float]:
    with sqlite3.connect(database) as connection:
        rows = connection.execute(
            "select submitted_assignment.student_id, sum(grade.auto_score) from grade join submitted_notebook on grade.notebook_id = submitted_notebook.id"
            " join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id group by 1"
        )
        return dict(rows.fetchall())


def _alone(folder: Path, size: int, jobs: int) -> dict:
    """Return the seconds that a class takes, and the most memory that one of the processes held in each tenth of them."""
    exercise = exercises.load(EXERCISE)
    prepare, run, _ = _ours(folder / "ours", exercise, _class(exercise, size), "--jobs", jobs)
    prepare()
    console.print(f"{size} submissions, alone")
    seen, begin = [], time.perf_counter()
    with ThreadPoolExecutor() as beside:
        running = beside.submit(run)
        while not running.done():
            seen.append(max((_resident(one) for one in psutil.Process().children(recursive=True)), default=0))
            time.sleep(0.2)
        running.result()
    tenth = max(1, len(seen) // 10)
    return {"size": size, "seconds": round(time.perf_counter() - begin, 2), "load": busy(), "megabytes": [max(seen[at : at + tenth]) >> 20 for at in range(0, tenth * 10, tenth)]}


def _resident(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss
    except psutil.NoSuchProcess:
        return 0


def _ours(course: Path, exercise: Exercise, known: list, *how):
    _lay_out(course, [handed_in(exercise, each) for each in known])
    environment = {**os.environ, "ATTENTION_COURSE": str(course)}
    return lambda: _afresh(course), lambda: _run(BIN / "python", "-m", "autograder", "grade", EXERCISE, *how, cwd=ROOT, env=environment), lambda: _marks(course / "gradebook.db")


def _door(folder: Path, exercise: Exercise, known: list):
    course = folder / "door"
    _lay_out(course, [handed_in(exercise, each) for each in known])
    environment = {**os.environ, "ATTENTION_COURSE": str(course)}

    def prepare() -> None:
        _afresh(course)
        _run(BIN / "nbgrader", "generate_assignment", EXERCISE, "--force", f"--CourseDirectory.release_directory={course / 'release'}", cwd=ROOT, env=environment)

    return prepare, lambda: _run(BIN / "nbgrader", "autograde", EXERCISE, cwd=ROOT, env=environment), lambda: _marks(course / "gradebook.db")


def _afresh(course: Path) -> None:
    for path in course.iterdir():
        if path.name != "submitted":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    (course / "seed").write_text(f"{SEED}\n")


def _stock(folder: Path, exercise: Exercise, known: list):
    course = folder / "stock"
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

    return prepare, lambda: _run(command, "autograde", EXERCISE, cwd=course, env=environment), lambda: _marks(course / "gradebook.db")


def _stock_notebook(exercise: Exercise, given: dict[str, str]):
    """Return our notebook with these answers, its checks as stock nbgrader wants them: cells that raise."""
    from autograder.release import source_notebook

    made = source_notebook(exercise)
    for cell in made.cells:
        cell.source = given.get(cell.id, cell.source)
        if cell.id in exercise.checks:
            cell.source = CELL.format(root=str(ROOT), check=cell.id, seed=SEED)
        elif cell.cell_type == "code":
            cell.source = "\n".join(line for line in cell.source.splitlines() if not line.startswith("from check import"))
    return made


def _otter(folder: Path, exercise: Exercise, known: list):
    """One test file for each check, whose one case is the check; no container, as `otter run` works."""
    home = folder / "otter"
    (home / "pack" / "tests").mkdir(parents=True)
    (home / "out").mkdir()
    for check, points in exercise.checks.items():
        code = CELL.format(root=str(ROOT), check=check, seed=SEED).replace("\n", "\n>>> ")
        case = {"code": f">>> {code}", "hidden": False, "locked": False}
        suite = {"name": check, "points": points, "suites": [{"cases": [case], "scored": True, "setup": "", "teardown": "", "type": "doctest"}]}
        (home / "pack" / "tests" / f"{check}.py").write_text(f"OK_FORMAT = True\ntest = {suite!r}\n")
    (home / "pack" / "otter_config.json").write_text(json.dumps({"lang": "python", "show_stdout": False}))
    shutil.make_archive(str(home / "autograder"), "zip", home / "pack")
    for number, each in enumerate(known):
        notebook = _stock_notebook(exercise, answers(exercise, each))
        notebook.cells = [cell for cell in notebook.cells if cell.id not in exercise.checks] + [new_code_cell("pass")]
        (home / f"{_name(number)}.ipynb").write_text(nbformat.writes(notebook), encoding="utf-8")

    def run() -> None:
        for number in range(len(known)):
            out = home / "out" / _name(number)
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            _run(THEIRS / "otter", "run", "-a", home / "autograder.zip", "-o", out, "--no-logo", home / f"{_name(number)}.ipynb", cwd=home)

    return lambda: None, run, lambda: {_name(number): _otter_marks(home / "out" / _name(number)) for number in range(len(known))}


def _otter_marks(out: Path) -> float:
    told = json.loads((out / "results.json").read_text())
    return sum(test["score"] for test in told["tests"] if test.get("max_score"))


def _rows(each: dict) -> Iterator[tuple[str, ...]]:
    """Yield, for each way to grade a class: how many it graded, its name, seconds, milliseconds a submission, and its share of ours."""
    ours = each["seconds"][OURS]
    for name, seconds in each["seconds"].items():
        count = each["otter"] if name == "otter" else each["size"]
        ratios = [one / count / (mine / each["size"]) for one, mine in zip(seconds, ours)]
        yield str(count), name, *(f"{of(seconds):.1f}" for of in (min, median, max)), f"{1000 * median(seconds) / count:.0f}", f"{median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})"


COLUMNS = ("submissions", "way", "seconds: least", "median", "most", "ms each", "times ours (least to most)")


def _show(found: dict) -> None:
    about = found["machine"]
    console = Console(width=None if Console().is_terminal else 130)
    table = Table(title=f"{EXERCISE}, {found['jobs']} judges, on {about['cpu']}, {about['cores']} cores, {about['date']}")
    for column in COLUMNS:
        table.add_column(column, justify="left" if column == "way" else "right")
    for each in found["classes"]:
        for row in _rows(each):
            table.add_row(*row)
        table.add_section()
    console.print(table)
    for line in _lonely(found):
        console.print(line, highlight=False)


def _lonely(found: dict) -> Iterator[str]:
    for each in found["alone"]:
        memory = ", ".join(map(str, each["megabytes"]))
        yield f"{each['size']} submissions, ours alone: {each['seconds']:.0f} seconds, {1000 * each['seconds'] / each['size']:.0f} ms each. The largest process, in tenths of that time: {memory} MiB."


def as_page(found: dict) -> str:
    """Return the results as Markdown."""
    said = f"{told(found)}; {found['jobs']} judges."
    tables = []
    for each in found["classes"]:
        lines = ["| way | seconds | ms each | times ours |", "|---|---:|---:|---:|"]
        lines += [f"| {name}{' (first ' + count + ')' if int(count) != each['size'] else ''} | {middle} | {each_ms} | {share} |" for count, name, _, middle, _, each_ms, share in _rows(each)]
        rounds = f"{each['rounds']} round" + "s" * (each["rounds"] > 1)
        tables.append(f"**{each['size']} submissions**, {rounds}\n\n" + "\n".join(lines))
    return "\n\n".join([said, *tables, *_lonely(found)]) + "\n"


if __name__ == "__main__":
    main()
