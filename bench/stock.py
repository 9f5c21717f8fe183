"""Every attack of the corpus against stock nbgrader and against our autograder: autograder/sandbox/attacks.md.

Stock nbgrader runs strangers' code as the user who grades, so all of it happens in a throw-away world
(`world.py`). Two learners hand in: ada, who attacks, and zoe, whose answers are right.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path

import click
import nbformat
from rich.console import Console

from autograder import ROOT
from autograder.authoring.sample import handed_in as handed_in_ours
from autograder.exercise import reading as exercises
from autograder.exercise.edits import replace_definitions
from autograder.grading import grade
from autograder.judging.answers import answers
from autograder.machine.attacks import RIGHT_ANSWER, Attack, Surroundings, _handed_in, attack, corpus
from autograder.records.course import Course
from autograder.sandbox.client import Zygote
from autograder.sandbox.levels import Level

from . import stock_course
from .machine import machine, versions
from .mutations import MUTATIONS, Mutation
from .outcomes import Row, ours_of_attack, ours_of_mutation, row_of
from .page import page
from .stock_course import EXERCISE
from .tell import Teller
from .world import PORT, Report, World, open_to_all

PAGE = ROOT / "autograder" / "sandbox" / "attacks.md"
ONLY_BOUNDED = ("fork_bomb", "memory_in_many_processes", "memory_outside_the_process")
NOT_TRIED = "the sandbox (not tried with a layer out)"
console = Console(stderr=True)


class FactsInside:
    """What an attacker in the throw-away world knows; the judge there is the process that has started the kernel."""

    def facts(self) -> str:
        return f'CANARY = "/tmp/secret/canary"\nCOURSE = "/home/learner/course"\nPORT = {PORT}\nJUDGE = __import__("os").getppid()\n{RIGHT_ANSWER}'


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option(
    "--page",
    "target",
    default=PAGE,
    show_default="autograder/sandbox/attacks.md",
    type=click.Path(path_type=Path),
    help="The table's file; only all attacks together are written.",
)
@click.option(
    "--seen",
    type=click.Path(path_type=Path),
    help="Write what was seen to this file, a line an attack; what it has already is not run again.",
)
def main(names: tuple[str, ...], target: Path, seen: Path | None) -> None:
    attacks = [one for one in corpus() if not names or one.name in names]
    mutations = [one for one in MUTATIONS if not names or one.name in names]
    with tempfile.TemporaryDirectory(prefix="stock-") as folder:
        notes = _Notes(seen)
        with World(_given(Path(folder))) as world:
            rows = _attacks(attacks, world, Path(folder), notes) + _mutations(mutations, world, Path(folder), notes)
    if not names:
        target.write_text(page(rows, machine(), versions(), notes.seconds()), encoding="utf-8")


class _Notes:
    """What was seen of each attack, kept in a file if there is one: a run of half an hour may be cut off."""

    def __init__(self, path: Path | None):
        self._path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path and path.is_file() else []
        self._seen = {note["name"]: note for note in map(json.loads, lines)}

    def seconds(self) -> float:
        return sum(note["report"]["seconds"] for note in self._seen.values() if note["report"])

    def of(self, one: Attack | Mutation, run: Callable[[], Report | None], ours: Callable[[], Sequence[str]]) -> Row:
        """Return the row of an attack: run now, on stock nbgrader and on our autograder, or seen before."""
        if one.name not in self._seen:
            note = {"name": one.name, "ours": ours(), "report": (report := run()) and asdict(report)}
            self._seen[one.name] = note
            if self._path:
                with open(self._path, "a", encoding="utf-8") as file:
                    file.write(json.dumps(note) + "\n")
        note = self._seen[one.name]
        row = row_of(one, Report(**note["report"]) if note["report"] else None, tuple(note["ours"]))
        console.print(
            f"{row.name:28} {note['report']['seconds'] if note['report'] else 0:6.1f} s  {row.stock} [dim]{row.stock_detail}[/]  | {row.ours} {row.ours_detail}",
            highlight=False,
            soft_wrap=True,
        )
        return row


def _given(folder: Path) -> Path:
    """Fill the folder that every world is given; only what was handed in changes from one to the next."""
    stock_course.write_course(folder / "course", answers(exercises.load(EXERCISE)))
    return folder


def _attacks(attacks: list[Attack], world: World, folder: Path, notes: _Notes) -> list[Row]:
    exercise = exercises.load(EXERCISE)

    def run(one: Attack) -> Report | None:
        if one.name in ONLY_BOUNDED and not world.bounded:
            return None
        return _run(world, folder, nbformat.writes(stock_course.handed_in(_handed_in(one, exercise, FactsInside().facts()))))

    with Zygote(Level.bubblewrap) as zygote, Surroundings() as around, Teller(around) as teller:

        def stops(one: Attack) -> str:
            return NOT_TRIED if one.name in ONLY_BOUNDED else teller.stops(one)

        return [notes.of(one, lambda: run(one), lambda: ours_of_attack(one, attack(one, zygote, around), stops)) for one in attacks]


def _mutations(mutations: list[Mutation], world: World, folder: Path, notes: _Notes) -> list[Row]:
    ours = cache(lambda: _ours(mutations))  # one class, judged when the first of it is asked for
    return [
        notes.of(one, lambda: _run(world, folder, one.file(stock_course.handed_in(_answers(one)))), lambda: ours()[one.name])
        for one in mutations
    ]


def _answers(one: Mutation) -> dict[str, str]:
    sources = answers(exercises.load(EXERCISE))
    return {name: replace_definitions(source, {"causal_mask": one.answer}) for name, source in sources.items()}


def _run(world: World, folder: Path, file: str | Path) -> Report:
    handed = folder / "handed"
    shutil.rmtree(handed, ignore_errors=True)
    _hand_in(handed, "ada", file)
    _hand_in(handed, "zoe", nbformat.writes(stock_course.handed_in(answers(exercises.load(EXERCISE)))))
    open_to_all(handed)
    return world.autograde()


def _hand_in(submitted: Path, learner: str, file: str | Path) -> None:
    path = submitted / learner / EXERCISE / f"{EXERCISE}.ipynb"
    path.parent.mkdir(parents=True)
    path.symlink_to(file) if isinstance(file, Path) else path.write_text(file, encoding="utf-8")


def _ours(mutations: list[Mutation]) -> dict[str, Sequence[str]]:
    """Return what our autograder makes of each mutation: one class, in which zoe is right."""
    exercise = exercises.load(EXERCISE)
    with tempfile.TemporaryDirectory(prefix="ours-") as folder:
        course = Course(Path(folder))
        _hand_in(course.submitted, "zoe", nbformat.writes(handed_in_ours(exercise, None)))
        for one in mutations:
            notebook = handed_in_ours(exercise, None)
            for cell in notebook.cells:
                cell.source = _answers(one).get(cell.id, cell.source)
            _hand_in(course.submitted, one.name, one.file(notebook))
        entries = {entry.learner: entry for entry in grade(course, [EXERCISE]).entries}
        return {one.name: ours_of_mutation(one, entries, course) for one in mutations}


if __name__ == "__main__":
    main()
