"""How long nbgrader's formgrader takes for a page, in a real Jupyter server: the page itself and each request that its script sends.

The class is marked and nobody has judged it (`marked.py`): every learner has handed in every exercise.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import click
from rich.console import Console

from autograder import ROOT
from autograder.exercise import reading as exercises
from autograder.records.course import Course
from tests.formgrader_server import ask, serving

from .machine import busy, machine, measured_on, versions
from .marked import marked_class
from .ways import EXERCISE, name_of

console = Console(stderr=True)


@click.command(help=__doc__)
@click.option("--learners", default=500, show_default=True)
@click.option("--exercises", "count", default=len(exercises.all_names()), show_default=True, help="How many each of them has handed in.")
@click.option("--rounds", default=5, show_default=True, help="How often each page is opened after the first time.")
@click.option("--json", "target", type=click.Path(path_type=Path, dir_okay=False), help="Write the results to this file, too.")
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), help="Write them as a part of a page of the book, too.")
def main(learners: int, count: int, rounds: int, target: Path | None, page: Path | None) -> None:
    names = sorted(exercises.all_names(), key=lambda name: name != EXERCISE)[:count]
    with tempfile.TemporaryDirectory(prefix="formgrader-") as folder:
        course = Course(Path(folder) / "course", None)
        console.print(f"{learners} learners, {len(names)} exercises")
        marked_class(course, learners, names)
        seconds: dict[str, list[float]] = {}
        with serving(ROOT, {**os.environ, "ATTENTION_COURSE": str(course.root)}) as (base, _):
            ask(base, "/formgrader/manage_assignments")  # the server imports what it needs
            for title, addresses in pages(base, name_of(learners // 2)).items():
                seconds[title] = [_seconds(base, addresses) for _ in range(rounds + 1)]
                console.print(f"{title}: {seconds[title][0]:.2f} s, then {median(seconds[title][1:]):.2f} s")
        about = {"machine": machine(), "versions": versions(), "load": busy()}
        found = {**about, "learners": learners, "exercises": len(names), "seconds": seconds}
    text = as_page(found)
    click.echo(text)
    if page:
        page.write_text(text, encoding="utf-8")
    if target:
        target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def pages(base: str, learner: str, exercise: str = EXERCISE) -> dict[str, list[str]]:
    """Return, for each page of the formgrader, the addresses that a browser asks for to show it."""
    api = "/formgrader/api"
    submitted = json.loads(ask(base, f"{api}/submitted_notebooks/{exercise}/{exercise}"))
    one = next(each["id"] for each in submitted if each["student"] == learner)
    notebook = f"/formgrader/submissions/{one}"
    return {
        "assignments": ["/formgrader/manage_assignments", f"{api}/assignments"],
        "submissions to an assignment": [f"/formgrader/manage_submissions/{exercise}", f"{api}/submissions/{exercise}"],
        "students": ["/formgrader/manage_students", f"{api}/students"],
        "assignments of a student": [f"/formgrader/manage_students/{learner}", f"{api}/student_submissions/{learner}"],
        "notebooks of a student": [
            f"/formgrader/manage_students/{learner}/{exercise}",
            f"{api}/student_notebook_submissions/{learner}/{exercise}",
        ],
        "marks by hand: assignments": ["/formgrader/gradebook", f"{api}/assignments"],
        "marks by hand: notebooks of an assignment": [f"/formgrader/gradebook/{exercise}", f"{api}/notebooks/{exercise}"],
        "marks by hand: learners": [f"/formgrader/gradebook/{exercise}/{exercise}", f"{api}/submitted_notebooks/{exercise}/{exercise}"],
        "marks by hand: a learner's notebook": [
            f"{notebook}/?index=1",
            f"{api}/grades?submission_id={one}",
            f"{api}/comments?submission_id={one}",
        ],
        "marks by hand: the button *next*": [f"{notebook}/next?index=1"],
        "marks by hand: the button *next incorrect*": [f"{notebook}/next_incorrect?index=1"],
    }


def _seconds(base: str, addresses: list[str]) -> float:
    begin = time.perf_counter()
    for address in addresses:
        ask(base, address)
    return round(time.perf_counter() - begin, 3)


def as_page(found: dict) -> str:
    """Return the results as Markdown."""
    lines: list[str] = [
        f"{measured_on(found)}.",
        "",
        f"**{found['learners']} learners**, {found['exercises']} exercises each",
        "",
        "| page of the formgrader | first time, seconds | later, seconds |",
        "|---|---:|---:|",
        *_rows(found["seconds"]),
    ]
    return "\n".join(lines) + "\n"


def _rows(seconds: dict[str, list[float]]) -> Iterator[str]:
    for title, opened in seconds.items():
        yield f"| {title} | {opened[0]:.2f} | {median(opened[1:]):.2f} |"


if __name__ == "__main__":
    main()
