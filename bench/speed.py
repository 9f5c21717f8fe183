"""A class graded by this project, by stock nbgrader and by Otter: the same submissions, the same tests, the same marks.

Each way is a whole command, from its start to its end, gradebook or scores on disk. Within a round the ways take turns in an order
drawn anew, and ratios are taken within a round. Otter judges one notebook a command, so it gets only the first few, and its
time is given for each of them.
"""

from __future__ import annotations

import json
import logging
import os
import random
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import click
import psutil
from distributed import LocalCluster
from rich.console import Console
from rich.table import Table

from autograder.exercise import reading as exercises

from .machine import busy, machine, measured_on, versions
from .ways import EXERCISE, THEIRS, agree, class_of, nbgrader_with_plugins, otter, ours, stock

OURS = "ours"
CLUSTER = 2  # workers
console = Console(stderr=True)


@click.command(help=__doc__)
@click.option(
    "--size",
    "sizes",
    multiple=True,
    default=["30"],
    show_default=True,
    help="Submissions in a class, or as 300x1 with how many rounds; may be given more than once.",
)
@click.option("--rounds", default=3, show_default=True)
@click.option("--otter", "few", default=3, show_default=True, help="Submissions that Otter judges in each round.")
@click.option("--jobs", default=len(os.sched_getaffinity(0)), show_default="the cores")
@click.option(
    "--alone",
    multiple=True,
    type=int,
    help="Submissions in a class that only this project grades, once, with its memory watched; may be given more than once.",
)
@click.option("--json", "target", type=click.Path(path_type=Path, dir_okay=False), help="Write the results to this file, too.")
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), help="Write them as a part of a page of the book, too.")
def main(sizes: tuple[str, ...], rounds: int, few: int, jobs: int, alone: tuple[int, ...], target: Path | None, page: Path | None) -> None:
    classes, loners = [], []
    for text in sizes:
        size, _, own = text.partition("x")
        with tempfile.TemporaryDirectory(prefix="speed-") as folder, _cluster(folder) as address:
            classes.append(_race(Path(folder), int(size), int(own or rounds), few, jobs, address))
    for many in alone:
        with tempfile.TemporaryDirectory(prefix="speed-") as folder:
            loners.append(_alone(Path(folder), many, jobs))
    found = {"exercise": EXERCISE, "machine": machine(), "versions": versions(), "jobs": jobs, "classes": classes, "alone": loners}
    _show(found)
    if page:
        page.write_text(as_page(found), encoding="utf-8")
    if target:
        target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


@contextmanager
def _cluster(folder: str) -> Iterator[str]:
    """Yield the address of a dask scheduler with workers: it is there before the race begins."""
    with LocalCluster(
        n_workers=CLUSTER, threads_per_worker=1, dashboard_address=None, local_directory=folder, silence_logs=logging.CRITICAL
    ) as cluster:
        yield cluster.scheduler_address


def _race(folder: Path, size: int, rounds: int, few: int, jobs: int, cluster: str) -> dict:
    """Return the seconds of each way in each round; raises `RuntimeError` where the marks differ."""
    exercise = exercises.load(EXERCISE)
    known = class_of(exercise, size)
    ways = {
        OURS: ours(folder / "ours", exercise, known, "--jobs", jobs),
        f"ours, on dask with {CLUSTER} workers": ours(folder / "cluster", exercise, known, "--cluster", cluster),
        "nbgrader's command with our autograder": nbgrader_with_plugins(folder / "plugins", exercise, known),
        "stock nbgrader": stock(folder / "stock", exercise, known),
    }
    if few and (THEIRS / "otter").exists():
        ways["otter"] = otter(folder / "otter", exercise, known[:few])
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    load = []
    for number in range(rounds):
        marks = {}
        for name in random.sample(list(ways), len(ways)):
            console.print(f"{size} submissions, round {number + 1} of {rounds}: {name}")
            way = ways[name]
            way.prepare()
            begin = time.perf_counter()
            way.run()
            seconds[name].append(time.perf_counter() - begin)
            marks[name] = way.marks()
        load.append(busy())
        agree({name: marks[name] for name in ways})
    return {
        "size": size,
        "rounds": rounds,
        "otter": few,
        "load": load,
        "seconds": {name: [round(s, 2) for s in each] for name, each in seconds.items()},
    }


def _alone(folder: Path, size: int, jobs: int) -> dict:
    """Return the seconds that a class takes, and the most memory that one of the processes held in each tenth of them."""
    exercise = exercises.load(EXERCISE)
    way = ours(folder / "ours", exercise, class_of(exercise, size), "--jobs", jobs)
    way.prepare()
    console.print(f"{size} submissions, alone")
    seen, begin = [], time.perf_counter()
    with ThreadPoolExecutor() as beside:
        running = beside.submit(way.run)
        while not running.done():
            seen.append(max((_resident(one) for one in psutil.Process().children(recursive=True)), default=0))
            time.sleep(0.2)
        running.result()
    tenth = max(1, len(seen) // 10)
    return {
        "size": size,
        "seconds": round(time.perf_counter() - begin, 2),
        "load": busy(),
        "megabytes": [max(seen[at : at + tenth]) >> 20 for at in range(0, tenth * 10, tenth)],
    }


def _resident(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss
    except psutil.NoSuchProcess:
        return 0


def _rows(each: dict) -> Iterator[tuple[str, ...]]:
    """Yield, for each way to grade a class: how many it graded, its name, seconds, milliseconds a submission, and its share of ours."""
    mine = each["seconds"][OURS]
    for name, seconds in each["seconds"].items():
        count = each["otter"] if name == "otter" else each["size"]
        ratios = [one / count / (own / each["size"]) for one, own in zip(seconds, mine)]
        yield (
            str(count),
            name,
            *(f"{of(seconds):.1f}" for of in (min, median, max)),
            f"{1000 * median(seconds) / count:.0f}",
            f"{median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})",
        )


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
    said = f"{measured_on(found)}; {found['jobs']} judges."
    tables = []
    for each in found["classes"]:
        lines = ["| way | seconds | ms each | times ours |", "|---|---:|---:|---:|"]
        lines += [
            f"| {name}{' (first ' + count + ')' if int(count) != each['size'] else ''} | {middle} | {each_ms} | {share} |"
            for count, name, _, middle, _, each_ms, share in _rows(each)
        ]
        rounds = f"{each['rounds']} round" + "s" * (each["rounds"] > 1)
        tables.append(f"**{each['size']} submissions**, {rounds}\n\n" + "\n".join(lines))
    return "\n\n".join([said, *tables, *_lonely(found)]) + "\n"


if __name__ == "__main__":
    main()
