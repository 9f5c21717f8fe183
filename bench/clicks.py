"""The formgrader's button: submissions graded one click after another, by this project's judge and by stock nbgrader.

Each has a Jupyter server of its own, which has just started. A click is the request that the button sends, from its sending until the
answer; the first one is the slowest, for the server then imports what it needs. Marks must agree.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import click
from rich.console import Console

from autograder.exercise import reading as exercises
from tests.formgrader_server import ask, serving

from .machine import busy, machine, measured_on, versions
from .ways import EXERCISE, Way, agree, class_of, name_of, nbgrader_with_plugins, stock

OURS = "ours"
console = Console(stderr=True)


@click.command(help=__doc__)
@click.option("--clicks", default=30, show_default=True)
@click.option("--rounds", default=3, show_default=True)
@click.option("--json", "target", type=click.Path(path_type=Path, dir_okay=False), help="Write the results to this file, too.")
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), help="Write them as a part of a page of the book, too.")
def main(clicks: int, rounds: int, target: Path | None, page: Path | None) -> None:
    with tempfile.TemporaryDirectory(prefix="clicks-") as folder:
        found = {"machine": machine(), "versions": versions(), "clicks": clicks, **_race(Path(folder), clicks, rounds)}
    text = as_page(found)
    click.echo(text)
    if page:
        page.write_text(text, encoding="utf-8")
    if target:
        target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _race(folder: Path, clicks: int, rounds: int) -> dict:
    """Return the seconds of each click of each way, by round; raises `RuntimeError` where the marks differ."""
    exercise = exercises.load(EXERCISE)
    known = class_of(exercise, clicks)
    ways = {OURS: nbgrader_with_plugins(folder / "plugins", exercise, known), "stock nbgrader": stock(folder / "stock", exercise, known)}
    seconds: dict[str, list[list[float]]] = {name: [] for name in ways}
    load = []
    for number in range(rounds):
        for name in random.sample(list(ways), len(ways)):
            console.print(f"round {number + 1} of {rounds}: {name}")
            ways[name].prepare()
            seconds[name].append(list(_clicked(ways[name], clicks)))
        load.append(busy())
        agree({name: way.marks() for name, way in ways.items()})
    return {"load": load, "seconds": seconds}


def _clicked(way: Way, clicks: int) -> Iterator[float]:
    with serving(way.folder, way.environment) as (base, _):
        ask(base, "/formgrader/api/assignments")  # the page on which the button stands
        for number in range(clicks):
            begin = time.perf_counter()
            answer = json.loads(ask(base, f"/formgrader/api/submission/{EXERCISE}/{name_of(number)}/autograde", "POST"))
            yield round(time.perf_counter() - begin, 3)
            if not answer["success"]:
                raise RuntimeError(f"{name_of(number)}: {answer}")


def as_page(found: dict) -> str:
    """Return the results as Markdown."""
    lines = [
        f"{measured_on(found)}.",
        "",
        f"**{found['clicks']} clicks**, {len(found['load'])} rounds",
        "",
        "| way | first click, seconds | later ones, ms | all, times ours |",
        "|---|---:|---:|---:|",
    ]
    for name, rounds in found["seconds"].items():
        later = median(one for each in rounds for one in each[1:])
        ratios = [sum(each) / sum(mine) for each, mine in zip(rounds, found["seconds"][OURS])]
        lines.append(
            f"| {name} | {median(each[0] for each in rounds):.1f} | {1000 * later:.0f} | {median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f}) |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
