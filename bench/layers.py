"""What a submission costs at each level of the sandbox, and with each layer alone taken out.

The same right submission runs through every variant in each round, in an order drawn anew, so that
what else the machine does hits all alike; ratios are taken within a round. Milliseconds are those of
a clock on the wall; CPU is what judge, zygote and workers computed in all rounds, which others disturb less.
"""

from __future__ import annotations

import json
import os
import random
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table

from autograder.exercise import reading as exercises
from autograder.judging.answers import answers
from autograder.judging.session import Session
from autograder.judging.verdicts import verdicts_on
from autograder.kit.outcome import Outcome
from autograder.machine.attacks import descendants
from autograder.sandbox.client import Zygote
from autograder.sandbox.levels import Unavailable

from .machine import busy, machine, measured_on, versions
from .variants import VARIANTS, Variant, zygote

EXERCISE = "single_head"
BASE = "none"


@click.command(help=__doc__)
@click.option("--rounds", default=30, show_default=True, help="How often every variant is measured.")
@click.option("--warm", default=3, show_default=True, help="Rounds before, which do not count.")
@click.option("--json", "target", type=click.Path(path_type=Path, dir_okay=False), help="Write the results to this file, too.")
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), help="Write them as a part of a page of the book, too.")
def main(rounds: int, warm: int, target: Path | None, page: Path | None) -> None:
    before = busy()
    with ExitStack() as stack:
        zygotes, starts, absent = _start(stack)
        times, cpu = _measure(zygotes, rounds, warm)
    found = {
        "exercise": EXERCISE,
        "rounds": rounds,
        "machine": machine(),
        "versions": versions(),
        "load": [before, busy()],
        "variants": {name: _summary(name, times, cpu[name], starts[name]) for name in times},
        "absent": absent,
    }
    _show(found)
    if page:
        page.write_text(as_page(found), encoding="utf-8")
    if target:
        target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _start(stack: ExitStack) -> tuple[dict[str, Zygote], dict[str, float], dict[str, str]]:
    """Return the zygotes, the seconds in which each was ready, and why some are not there."""
    zygotes, starts, absent = {}, {}, {}
    for variant in track(VARIANTS, "zygotes", console=Console(stderr=True)):
        begin = time.perf_counter()
        try:
            zygotes[variant.name] = stack.enter_context(zygote(variant))
        except Unavailable as error:
            absent[variant.name] = str(error)
        starts[variant.name] = time.perf_counter() - begin
    return zygotes, starts, absent


def _measure(zygotes: dict[str, Zygote], rounds: int, warm: int) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Return, by variant, the milliseconds of a submission in each round, and its CPU milliseconds on average."""
    for name in [*zygotes] * warm:
        _one(zygotes[name])
    times: dict[str, list[float]] = {name: [] for name in zygotes}
    inside = {name: -_computed(zygote) for name, zygote in zygotes.items()}
    judges = dict.fromkeys(zygotes, 0.0)
    for _ in track(range(rounds), "rounds", console=Console(stderr=True)):
        for name in random.sample(list(zygotes), len(zygotes)):
            begin = time.process_time()
            times[name].append(1000 * _one(zygotes[name]))
            judges[name] += time.process_time() - begin
    return times, {name: 1000 * (judges[name] + inside[name] + _computed(zygote)) / rounds for name, zygote in zygotes.items()}


def _computed(zygote: Zygote) -> float:
    """Return the CPU seconds of a zygote and all that came from it, in steps of the kernel's clock."""
    ticks = 0
    top = zygote.forkserver.pid if zygote.forkserver else 0
    for pid in {top} | descendants(top):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))  # its own, and that of children that it has waited for
    return ticks / os.sysconf("SC_CLK_TCK")


def _one(zygote: Zygote) -> float:
    """Return the seconds from the first fork to the last breath of one right submission."""
    exercise = exercises.load(EXERCISE)
    begin = time.perf_counter()
    with Session(zygote, exercise, answers(exercise)) as session:
        verdicts = verdicts_on(exercise, session.learner, seed=7)
    taken = time.perf_counter() - begin
    if any(verdict.outcome is not Outcome.PASSED for verdict in verdicts):
        raise RuntimeError(f"the right answer is not right: {[(v.check, v.outcome.value, v.reason) for v in verdicts]}")
    return taken


def _summary(name: str, times: dict[str, list[float]], cpu: float, start: float) -> dict:
    """Return least, middle and most of a variant's times, of its ratios to level none and of its distances to its own level."""
    whole = next(v for v in VARIANTS if v.name == name).level.name
    ratios = [one / base for one, base in zip(times[name], times[BASE])]
    layer = [level - one for one, level in zip(times[name], times[whole])]
    return {
        "ms": _spread(times[name]),
        "to_none": _spread(ratios),
        "layer_ms": _spread(layer),
        "cpu_ms": round(cpu, 2),
        "start_seconds": round(start, 3),
        "rounds_ms": [round(t, 2) for t in times[name]],
    }


def _spread(numbers: list[float]) -> dict[str, float]:
    return {"min": round(min(numbers), 3), "median": round(median(numbers), 3), "max": round(max(numbers), 3)}


def _show(found: dict) -> None:
    about = found["machine"]
    console = Console(width=None if Console().is_terminal else 130)
    table = Table(
        title=f"One right {EXERCISE}: {found['rounds']} rounds on {about['cpu']}, {about['cores']} cores, load {found['load'][1][0]}"
    )
    table.add_column("the sandbox")
    for name in ("ms: least", "median", "most", "times none", "(least to most)", "the layer, ms", "CPU, ms", "start, s"):
        table.add_column(name, justify="right")
    for variant in VARIANTS:
        if variant.name in found["variants"]:
            table.add_row(*_row(variant, found["variants"][variant.name]), end_section=_is_last(variant))
    console.print(table)
    console.print(
        "[dim]times none and the layer: median over the rounds of what was measured within one round; a layer is what its level costs more with it."
    )
    for name, reason in found["absent"].items():
        console.print(f"{name}: not measured: {reason}")


def _row(variant: Variant, found: dict) -> list[str]:
    ms, ratio = found["ms"], found["to_none"]
    layer = "" if variant.whole else f"{found['layer_ms']['median']:+.1f}"
    name = variant.name if variant.whole else "  " + variant.name.removeprefix(variant.level.name).strip()
    ends = f"{ratio['min']:.2f} to {ratio['max']:.2f}"
    return [
        name,
        *(f"{ms[key]:.1f}" for key in ms),
        f"{ratio['median']:.2f}",
        ends,
        layer,
        f"{found['cpu_ms']:.1f}",
        f"{found['start_seconds']:.2f}",
    ]


def as_page(found: dict) -> str:
    """Return the results as Markdown."""
    lines = ["| the sandbox | ms | times none | the layer, ms | CPU, ms |", "|---|---:|---:|---:|---:|"]
    for variant in VARIANTS:
        if variant.name in found["variants"]:
            _, _, middle, _, share, _, layer, cpu, _ = _row(variant, found["variants"][variant.name])
            lines.append(f"| {variant.name} | {middle} | {share} | {layer} | {cpu} |")
    absent = [f"{name} was not measured: {reason}" for name, reason in found["absent"].items()]
    return "\n\n".join([f"{measured_on(found)}; {found['rounds']} rounds.", "\n".join(lines), *absent]) + "\n"


def _is_last(variant: Variant) -> bool:
    return variant is [v for v in VARIANTS if v.level is variant.level][-1]


if __name__ == "__main__":
    main()
