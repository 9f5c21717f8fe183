"""Where the time of one right submission goes, on its way through one judge, and what every command pays before the first.

Milliseconds are those of a clock on the wall, the middle one of the rounds. The stages are timed around the functions that do them, by this
process; what is left is the judge's own work: drawing inputs, asking the reference answer, comparing.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from unittest.mock import patch

import click

from autograder import ROOT
from autograder.exercise import reading as exercises
from autograder.judging.answers import answers
from autograder.judging.session import Session
from autograder.judging.verdicts import verdicts_on
from autograder.sandbox.client import Zygote

from .layers import EXERCISE
from .machine import machine, measured_on, versions

STAGES = {
    "fork": "a process of its own, shut in",
    "cells": "the notebook's cells",
    "calls": "the calls that the tests make",
    "end": "the process ended, its traces removed",
    "judge": "the judge's own work",
}
STARTS = {
    "torch": "torch",
    "nbgrader.api": "nbgrader and its database",
    "jupytext": "jupytext",
    "autograder.grading": "all that grading imports",
}


@click.command(help=__doc__)
@click.option("--rounds", default=60, show_default=True)
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), help="Write the results as a part of a page of the book, too.")
def main(rounds: int, page: Path | None) -> None:
    found = {
        "machine": machine(),
        "versions": versions(),
        "rounds": rounds,
        "stages": _stages(rounds),
        "imports": {name: _import(name) for name in STARTS},
    }
    text = as_page(found)
    click.echo(text)
    if page:
        page.write_text(text, encoding="utf-8")


def _stages(rounds: int) -> dict[str, float]:
    exercise, seen = exercises.load(EXERCISE), defaultdict(list)
    with Zygote() as zygote:
        for number in range(rounds + 3):
            spent: dict[str, float] = defaultdict(float)
            begin = time.perf_counter()
            with _timed(spent), Session(zygote, exercise, answers(exercise)) as session:
                verdicts_on(exercise, session.learner, seed=7)
            spent["judge"] = time.perf_counter() - begin - sum(spent.values())
            for stage, seconds in spent.items() if number >= 3 else ():  # the first ones fill caches
                seen[stage].append(1000 * seconds)
    return {stage: median(seen[stage]) for stage in STAGES}


@contextmanager
def _timed(spent: dict[str, float]) -> Iterator[None]:
    """Add to `spent` the seconds that pass in the functions that do each stage."""

    def timed(owner: type, name: str, stage):
        function = getattr(owner, name)

        def around(*args, **kwargs):
            begin = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                spent[stage(args)] += time.perf_counter() - begin

        return patch.object(owner, name, around)

    with (
        timed(Zygote, "fork", lambda args: "fork"),
        timed(Zygote, "end", lambda args: "end"),
        timed(Session, "_ask", lambda args: "cells" if args[1]["do"] == "cell" else "calls"),
    ):
        yield


def _import(name: str) -> float:
    """Return the seconds that a fresh Python takes to import something, beyond those that it takes to start."""
    return median(_seconds(f"import {name}") - _seconds("pass") for _ in range(5))


def _seconds(code: str) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    return time.perf_counter() - begin


def as_page(found: dict) -> str:
    """Return the results as Markdown."""
    stages = [f"| {STAGES[stage]} | {ms:.1f} |" for stage, ms in found["stages"].items()]
    imports = [f"| {STARTS[name]} | {seconds:.1f} |" for name, seconds in found["imports"].items()]
    return "\n".join(
        [
            f"{measured_on(found)}; {found['rounds']} rounds.",
            "",
            "| one right submission | ms |",
            "|---|---:|",
            *stages,
            f"| in all | {sum(found['stages'].values()):.1f} |",
            "",
            "| imported at the start | s |",
            "|---|---:|",
            *imports,
            "",
        ]
    )


if __name__ == "__main__":
    main()
