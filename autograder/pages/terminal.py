"""What the commands show in a terminal."""

from __future__ import annotations

import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn, track
from rich.table import Table

from .. import ROOT
from ..intake.submission import is_learner
from ..kit.outcome import Outcome
from ..records.entry import Entry
from ..strangers import one_line, quoted

if TYPE_CHECKING:
    from ..records.history import Step
    from ..records.reset import Taken
    from ..records.results import Result  # nbgrader's modules, which most commands do without

console = Console(soft_wrap=True)
# Above this, a line for each submission is more than anybody reads: what is shown is a line for each exercise.
MANY = 30


def plain(text: str) -> str:
    """Return a stranger's text as one line that the terminal only shows."""
    return escape(one_line(text))


def lines(text: str) -> str:
    """Return text of several lines, such as an error's; those after the first are indented, so that none looks like one of ours."""
    return "\n    ".join(map(plain, text.split("\n")))


def named(learner: str) -> str:
    """Return what was handed in as a learner's name: as it is where it is one, else in quotes."""
    return learner if is_learner(learner) else escape(quoted(learner))


def short(path: Path) -> Path:
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def watched(text: str, count: int | None = None) -> Callable:
    """Return what shows a bar, on a terminal, while things that take long to make pass through it."""
    shown = Console(stderr=True)  # what a command prints may be for machines
    return lambda things: track(things, text, count, console=shown, transient=True, disable=not shown.is_terminal)


@contextmanager
def progress(count: int) -> Iterator[Callable[[Result], None]]:
    """Yield a function to call with each result when it is there.

    It shows how many there are, at what rate they come, how long it will take, and their results so far. It raises
    KeyboardInterrupt where Ctrl-C was pressed and Python has lost it.
    """
    columns = (
        SpinnerColumn(),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with _ctrl_c() as pressed, Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        yield _Seen(count, bar, pressed)


class _Seen:
    def __init__(self, count: int, bar: Progress, pressed: list):
        self._count, self._bar, self._pressed = count, bar, pressed
        self._task = bar.add_task("starting the judges", total=count, rate="")
        self._kinds: Counter[str] = Counter()
        self._started = time.monotonic()

    def __call__(self, result: Result) -> None:
        if self._pressed:
            raise KeyboardInterrupt
        self._kinds[_kind(result.entry)] += 1
        done, so_far = self._kinds.total(), ", ".join(f"{number} {kind}" for kind, number in self._kinds.items())
        # A narrow terminal is wide enough for the rate or for the counts, not for both.
        rate = f"{done / max(time.monotonic() - self._started, 0.1):.1f} a second" if console.width >= 100 else ""
        self._bar.update(self._task, advance=1, rate=rate, description=so_far)
        if not console.is_terminal and (self._count <= MANY or done % (self._count // 10) == 0):
            console.print(f"{done:>{len(str(self._count))}} of {self._count}  {_line(result) if self._count <= MANY else so_far}")


@contextmanager
def _ctrl_c() -> Iterator[list]:
    """Yield a list that is no longer empty when Ctrl-C was pressed.

    Python raises KeyboardInterrupt wherever it is at that moment. In the callback of a weak reference, of which the
    database has many, it only prints the error and goes on; here the error is kept and not printed.
    """
    pressed: list = []
    handler, hook = signal.getsignal(signal.SIGINT), sys.unraisablehook

    def note(*about) -> None:
        pressed.append(about)
        signal.default_int_handler(*about)

    if handler is signal.default_int_handler:  # else it is ignored, or another handler is set
        signal.signal(signal.SIGINT, note)
    sys.unraisablehook = lambda lost: None if lost.exc_type is KeyboardInterrupt else hook(lost)
    try:
        yield pressed
    finally:
        sys.unraisablehook = hook
        signal.signal(signal.SIGINT, handler)


def _kind(entry: Entry) -> str:
    """Return in a few words what became of a submission."""
    if entry.refused:
        return "not judged"
    if entry.score is None:
        return "to be judged again"
    return "all right" if all(v.outcome is Outcome.PASSED for v in entry.verdicts) else "with mistakes"


def _line(result: Result) -> str:
    return f"{named(result.learner)} {result.exercise}: {_points_of(result)}"


def _points_of(result: Result, most: str = "") -> str:
    """Return what a submission counts, and what is not seen from the number alone."""
    entry, marks = result.entry, result.marks
    if entry.refused and marks.total is None:
        return f"not judged: {plain(entry.refused)}"
    by_hand = "with marks by hand" if marks.by_hand else ""
    late = f"{marks.penalty:g} taken off for lateness" if marks.penalty else "late" if marks.seconds_late else ""
    notes = ", ".join(filter(None, (by_hand, late)))
    return _points(marks.total) + most + (f" ({notes})" if notes else "")


def _points(score: float | None) -> str:
    return "to be judged again" if score is None else f"{score:g}"


def print_marks(results: list[Result]) -> None:
    """Print a line for each submission; where they are many, one for each exercise, and who was not judged. Then, whose earlier one counts."""
    if len(results) > MANY:
        _print_exercises(results)
        for result in (each for each in results if each.marks.total is None):
            console.print(_line(result), highlight=False)
    else:
        _print_each(results)
    _print_later(results)


def _print_each(results: list[Result]) -> None:
    from ..exercise.reading import all_names, load  # jupytext takes a while to import, and most commands do without

    order = all_names()
    table = Table(title="Marks", title_justify="left")
    for column in ("learner", "exercise", "points", "what happened"):
        table.add_column(column)
    for result in sorted(results, key=lambda each: (order.index(each.exercise), each.learner)):
        entry, most = result.entry, sum((result.marks.most or load(result.exercise).checks).values())
        unread = entry.refused and result.marks.total is None
        table.add_row(named(entry.learner), entry.exercise, "" if unread else _points_of(result, f" of {most:g}"), plain(_summary(entry)))
    console.print(table)


def _print_later(results: list[Result]) -> None:
    """Print whose earlier submission counts, and why; where they are many, the first of them, since the report names all."""
    told = sorted((result for result in results if result.entry.later), key=lambda each: (each.exercise, each.learner))
    for result in told[:MANY]:
        console.print(f"{named(result.learner)} {result.exercise}: {plain(result.entry.later)}", highlight=False)
    if len(told) > MANY:
        console.print(f"... and of {len(told) - MANY} more an earlier submission counts; the report says whose")


def _print_exercises(results: list[Result]) -> None:
    from ..exercise.reading import all_names, load

    title = "Marks, by exercise; each learner's are in the report"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for column in ("exercise", "handed in", "right", "mean", "commonest trouble"):
        table.add_column(column, no_wrap=column == "exercise")
    for name in all_names():
        here = [result for result in results if result.exercise == name]
        if not here:
            continue
        these, scores = [result.entry for result in here], [result.marks.total for result in here if result.marks.total is not None]
        most = sum(next((result.marks.most for result in here if result.marks.most), load(name).checks).values())
        average = f"{mean(scores):.1f} of {most:g}" if scores else ""
        right = sum(_kind(entry) == "all right" for entry in these)
        troubles = Counter(trouble for entry in these for trouble in _troubles(entry)).most_common(1)
        commonest = "".join(f"{trouble} ({number})" if number > 1 else trouble for trouble, number in troubles)
        table.add_row(name, str(len(these)), str(right), average, plain(commonest))
    console.print(table)


def _summary(entry: Entry) -> str:
    """Return in a few words what went wrong in a submission: its first troubles."""
    if entry.refused:
        return f"not judged: {entry.refused.split(': ', 1)[1].split('. ')[0]}"
    return ", ".join(_troubles(entry)[:3]) or "all passed"


def _troubles(entry: Entry) -> list[str]:
    """Return what went wrong in the checks, each once: a mistake by its name where it is known, else the outcome."""
    failed = [v for v in entry.verdicts if v.outcome is not Outcome.PASSED]
    return list(dict.fromkeys(v.mistake.name if v.mistake else v.outcome.value for v in failed))


def print_changes(changed: list) -> None:
    """Print whose marks differ from those before, and why."""
    if not changed:
        return
    table = Table(title=f"Marks that changed: {len(changed)}", title_justify="left")
    for column in ("learner", "exercise", "check", "before", "now", "why"):
        table.add_column(column)
    for change in sorted(changed, key=lambda c: (c.exercise, c.learner)):
        table.add_row(named(change.learner), change.exercise, change.check, _points(change.before), _points(change.after), change.reason)
    console.print(table)


def print_history(steps: list[Step]) -> None:
    """Print what a submission counted, and from when on."""
    table = Table(title="What was given, in UTC", title_justify="left")
    for column in ("when", "points", "handed in", "why"):
        table.add_column(column, overflow="fold")
    for step in steps:
        handed_in = f"{step.handed_in:%Y-%m-%d %H:%M}" if step.handed_in else ""
        points = "" if step.points is None else f"{step.points:g} of {step.most:g}"
        table.add_row(f"{step.at:%Y-%m-%d %H:%M}", points, handed_in, plain(step.why))
    console.print(table)


def print_taken(taken: Taken, only_looked: bool) -> None:
    """Print what a reset has taken away, or would."""
    console.print("This would be taken away:" if only_looked else "Taken away:")
    for path in taken.paths:
        console.print(f"  {plain(str(short(path)))}", highlight=False)
    if taken.marks:
        grades = taken.marks["grades"].values()
        by_hand = sum(each["by_hand"] is not None or bool(each["extra_credit"]) for each in grades)
        told = [f"the judge's marks on {len(grades)} checks", f"by hand: {by_hand}", f"comments: {len(taken.marks['comments'])}"]
        extension = taken.marks["extension_in_seconds"]
        told += [f"an extension of {extension / 86400:g} days, which has to be granted again"] if extension else []
        console.print(f"  in the gradebook: {', '.join(told)}", highlight=False)
    if not only_looked:
        console.print(f"kept in {plain(str(short(taken.kept)))}", highlight=False)
        console.print(
            "nbgrader's `collect` does not bring it back from the exchange; `zip_collect` does, while its archive lies under downloaded/."
        )


def print_matrix(found: dict) -> None:
    for exercise, rows in found["mistakes"].items():
        checks = next(iter(rows.values()))["checks"]
        table = Table(
            title=exercise,
            title_justify="left",
            caption=f"x: the check fails, as it should. {len(rows)} mistakes.",
            caption_justify="left",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            collapse_padding=True,
        )
        table.add_column("mistake", no_wrap=True)
        for number, _ in enumerate(checks, 1):
            table.add_column(str(number), justify="center")
        for name, row in rows.items():
            table.add_row(name, *("x" if check in row["fails"] else "" for check in checks))
        console.print(table)
        console.print("  ".join(f"{number} {check}" for number, check in enumerate(checks, 1)))
        right = found["variants"][exercise]
        console.print(
            f"{sum(not row['fails'] for row in right.values())} of {len(right)} right answers pass every check: {', '.join(right)}\n"
        )
    for problem in found["problems"]:
        console.print(f"[red]problem[/red] {problem}")


def print_mutants(found) -> None:
    """Print what became of each exercise's mutants, and by name those that call for a test or a reason."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("exercise")
    for column in ("mutants", "refused", "equivalent", "accepted"):
        table.add_column(column, justify="right")
    for name, each in found.items():
        refused = each.mutants - len(each.equivalent) - len(each.accepted)
        table.add_row(name, *map(str, (each.mutants, refused, len(each.equivalent), len(each.accepted))))
    console.print(table)
    for name, each in found.items():
        for mutant in each.accepted:
            console.print(f"[red]accepted[/red] {name}  {escape(mutant)}", highlight=False)
        for mutant in each.stale:
            console.print(f"[red]not equivalent[/red] {name}  {escape(mutant)}", highlight=False)


def print_attacks(results, level: str, not_promised: str = "") -> int:
    """Print each attack as it ends, and what the level leaves open all the same; return how many have succeeded."""
    console.print(f"\nThe attack corpus against level {level}:")
    count = succeeded = 0
    for title, problems in results:
        count, succeeded = count + 1, succeeded + bool(problems)
        console.print(("[red]succeeded[/red]" if problems else "  [green]stopped[/green]") + f"  {plain(title)}", highlight=False)
        for problem in problems:
            console.print(f"             {lines(problem)}", highlight=False)
    console.print(f"{count - succeeded} of {count} attacks were stopped")
    if not_promised:
        console.print(f"What the level {level} does not promise, whatever was stopped: {not_promised}", highlight=False)
    return succeeded
