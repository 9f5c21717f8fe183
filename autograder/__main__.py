"""`python -m autograder`: the commands of an instructor and an author."""
from __future__ import annotations

import json
import shutil
import sys
import time
from collections import Counter
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from . import forking
from .errors import AuthorError, CannotGoOn, Refused, UnknownExercise

console = Console(soft_wrap=True)


@click.group()
def main() -> None:
    """Release, judge and report the exercises of Attention by Hand."""


@main.command()
def release() -> None:
    """Bring exercises/ in step with solutions/."""
    from .exercise import ROOT
    from .release import write_exercises

    changed = write_exercises()
    for path in changed:
        console.print(f"  {path.relative_to(ROOT)}")
    console.print(f"exercises/: {len(changed)} files changed" if changed else "exercises/: up to date")


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print the matrix for machines.")
@click.option("--seed", default=1, show_default=True, help="What the hidden tests draw from.")
@click.argument("exercise", nargs=-1)
def matrix(exercise: tuple[str, ...], seed: int, as_json: bool) -> None:
    """Prove the tests: every mistake and variant against every check. Exits 1 on a problem."""
    from .exercise import all_names
    from .matrix import matrix as prove

    found = prove(list(exercise) or all_names(), seed)
    if as_json:
        click.echo(json.dumps(found, indent=1, ensure_ascii=False))
    else:
        _print_matrix(found)
    sys.exit(1 if found["problems"] else 0)


def _print_matrix(found: dict) -> None:
    for exercise, rows in found["mistakes"].items():
        checks = next(iter(rows.values()))["checks"]
        table = Table(title=exercise, title_justify="left", caption=f"x: the check fails, as it should. {len(rows)} mistakes.", caption_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
        table.add_column("mistake", no_wrap=True)
        for number, _ in enumerate(checks, 1):
            table.add_column(str(number), justify="center")
        for name, row in rows.items():
            table.add_row(name, *("x" if check in row["fails"] else "" for check in checks))
        console.print(table)
        console.print("  ".join(f"{number} {check}" for number, check in enumerate(checks, 1)))
        right = found["variants"][exercise]
        console.print(f"{sum(not row['fails'] for row in right.values())} of {len(right)} right answers pass every check: {', '.join(right)}\n")
    for problem in found["problems"]:
        console.print(f"[red]problem[/red] {problem}")


@main.command()
def sample() -> None:
    """Lay out a sample class under _course/submitted/."""
    from .course import Course
    from .sample import write_sample

    course = Course()
    console.print(f"{_short(course.submitted)}: {write_sample(course)} new submissions")


@main.command()
@click.option("--again", is_flag=True, help="Judge also what has been judged before.")
@click.option("--level", default=None, help="Of the sandbox: bubblewrap, landlock, none, or best for what the machine offers.  [default: ATTENTION_LEVEL, else bubblewrap]")
@click.option("--trust-submissions", is_flag=True, help="Allow the level none: for work that you trust as your own.")
@click.option("--seconds", default=None, type=float, help="Time limit of one cell or call.  [default: ATTENTION_SECONDS, else 6]")
@click.option("--jobs", default=None, type=click.IntRange(1), help="Judges that work at the same time.  [default: the cores, if there are 2 GiB for each]")
@click.option("--cluster", default=None, help="The address of a dask scheduler whose workers judge, such as tcp://10.0.0.5:8786.")
@click.option("--db", default=None, help="The gradebook's URL, such as postgresql+psycopg://user@host/course.  [default: ATTENTION_DB, else a file in the course]")
@click.argument("exercise", nargs=-1)
def grade(
    exercise: tuple[str, ...], again: bool, level: str | None, trust_submissions: bool, seconds: float | None, jobs: int | None, cluster: str | None, db: str | None
) -> None:
    """Judge everything under _course/submitted/ and write marks, feedback and a report."""
    if jobs != 1 and not cluster:
        forking.begin()
    from .course import Course
    from .exercise import all_names, load
    from .files import write_whole
    from .jobs import judges, room
    from .limits import Limits, asked_limits
    from .sandbox.levels import offered, required

    course = Course(database=db) if db else Course()
    names = [load(name).name for name in exercise] or all_names()
    limits = Limits(request_seconds=seconds) if seconds else asked_limits()
    count = len(course.submissions(names))
    if not count:
        console.print(f"Nothing to grade: put notebooks under {_short(course.submitted)}/LEARNER/EXERCISE/EXERCISE.ipynb")
        sys.exit(1)
    sandbox = offered() if level == "best" else required(trust_submissions, level)
    jobs = min(jobs or room(), count)
    changed: list = []
    with judges(jobs, sandbox, cluster) as executor:
        from .grading import grade as run, judged_before  # nbgrader takes a second to import: meanwhile the judges start
        from .report import report_page

        if not again and (before := judged_before(course, names, limits, sandbox)):
            console.print(f"{before} of {count} were judged before; {count - before} to judge")
        where = f"the cluster at {cluster}" if cluster else f"{jobs} {'judge' if jobs == 1 else 'judges'}"
        console.print(f"sandbox: {sandbox.name}, {where}")
        entries = _with_progress(run(course, names, limits, again, sandbox, executor, changed), count)
    _print_marks(entries)
    _print_changes(changed)
    report = course.root / "report.html"
    write_whole(report, report_page(entries))
    console.print(f"the class: {_short(report)}")


def _plain(text: str) -> str:
    """Return a stranger's text so that the terminal shows it and does nothing else."""
    from .kit.source import printable

    return escape(printable(text))


def _short(path: Path) -> Path:
    from .exercise import ROOT

    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def _with_progress(steps, count: int) -> list:
    """Return the entries; show how many there are, at what rate, how long it will take, and what became of them so far."""
    entries, outcomes = [], Counter()
    rate = TextColumn("{task.fields[rate]}")
    columns = (SpinnerColumn(), BarColumn(), MofNCompleteColumn(), rate, TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(), TextColumn("{task.description}"))
    begun = time.monotonic()
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("starting the judges", total=count, rate="")
        for _, _, entry in steps:
            if entry is None:
                continue
            entries.append(entry)
            outcomes[_kind(entry)] += 1
            rate = f"{len(entries) / max(time.monotonic() - begun, 0.1):.1f} a second"
            progress.update(task, advance=1, rate=rate, description=", ".join(f"{number} {kind}" for kind, number in outcomes.items()))
            if not console.is_terminal:
                console.print(f"{len(entries):>{len(str(count))}} of {count}  {_line(entry)}")
    return entries


def _kind(entry) -> str:
    """Return in two words what became of a submission."""
    from .kit.outcome import Outcome

    if entry.refused:
        return "not judged"
    if entry.score is None:
        return "to be judged again"
    return "all right" if all(v.outcome is Outcome.PASSED for v in entry.verdicts) else "with mistakes"


def _print_changes(changed: list) -> None:
    """Print whose marks are others than before, and why."""
    if not changed:
        return
    table = Table(title=f"Marks that changed: {len(changed)}", title_justify="left")
    for column in ("learner", "exercise", "check", "before", "now", "why"):
        table.add_column(column)
    for change in sorted(changed, key=lambda c: (c.exercise, c.learner)):
        table.add_row(_plain(change.learner), change.exercise, change.check, _points(change.before), _points(change.after), change.reason)
    console.print(table)


def _line(entry) -> str:
    return f"{_plain(entry.learner)} {entry.exercise}: " + (f"not judged: {_plain(entry.refused)}" if entry.refused else _points(entry.score))


def _points(score: float | None) -> str:
    return "to be judged again" if score is None else f"{score:g}"


def _print_marks(entries: list) -> None:
    from .exercise import all_names, load

    order = all_names()
    table = Table(title="Marks", title_justify="left")
    for column in ("learner", "exercise", "points", "what happened"):
        table.add_column(column)
    for entry in sorted(entries, key=lambda e: (order.index(e.exercise), e.learner)):
        most = sum(load(entry.exercise).checks.values())
        points = "" if entry.refused else f"{_points(entry.score)} of {most:g}"
        table.add_row(_plain(entry.learner), entry.exercise, points, _plain(_summary(entry)))
    console.print(table)


def _summary(entry) -> str:
    """Return in a few words what became of a submission: its commonest trouble, by name if known."""
    from .kit.outcome import Outcome

    if entry.refused:
        return f"not judged: {entry.refused.split(': ', 1)[1].split('. ')[0]}"
    troubles = [v for v in entry.verdicts if v.outcome is not Outcome.PASSED]
    words = dict.fromkeys(v.mistake.name if v.mistake else v.outcome.value for v in troubles)
    return ", ".join(list(words)[:3]) if words else "all passed"


@main.command()
@click.argument("name")
def new(name: str) -> None:
    """Begin an exercise: write solutions/NAME/, which passes every check of form already."""
    from .exercise import ROOT
    from .new import write_exercise

    for path in write_exercise(name):
        console.print(f"  {path.relative_to(ROOT)}")
    console.print(f"Now make it yours, and run `python -m autograder matrix {name}` until it finds no problem; then `python -m autograder release`.")


@main.command()
def work() -> None:
    """Copy exercises/ to _course/desk/, where a learner may write; answers there are kept."""
    from .course import Course
    from .exercise import ROOT

    source, target = ROOT / "exercises", Course().root / "desk"
    for path in sorted(p for p in source.rglob("*") if p.is_file()):
        copy = target / path.relative_to(source)
        if any(part.startswith((".", "__pycache__")) for part in path.relative_to(source).parts):
            continue  # a tool's, or somebody's progress here
        if path.suffix == ".ipynb" and copy.exists():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    console.print(f"the exercises to work on: {_short(target)}")


@main.command()
@click.option("--attack", "attacked", is_flag=True, help="Run the attack corpus against the sandbox of this machine.")
@click.option("--level", default=None, help="Another level than the one that grading asks for.")
def doctor(attacked: bool, level: str | None) -> None:
    """Say what the sandbox of this machine promises. Exits 1 if that is not enough, or an attack succeeds."""
    from .course import Course
    from .doctor import BAD, GOOD, attack_all, examine
    from .sandbox.levels import required

    wanted = required(trust=True, name=level)
    colours, moods = {GOOD: "green", BAD: "red"}, set()
    for finding in examine(wanted, Course()):
        colour = colours.get(finding.mood, "default")
        console.print(f"{finding.asked:>17}  [{colour}]{escape(finding.found)}[/{colour}]", highlight=False)
        moods.add(finding.mood)
    if attacked:
        moods |= {BAD} if _attacks(attack_all(wanted), wanted.name) else set()
    sys.exit(1 if BAD in moods else 0)


def _attacks(results, level: str) -> int:
    """Print each attack as it ends; return how many have succeeded."""
    console.print(f"\nThe attack corpus against level {level}:")
    count = succeeded = 0
    for title, problems in results:
        count, succeeded = count + 1, succeeded + bool(problems)
        console.print(("[red]succeeded[/red]" if problems else "  [green]stopped[/green]") + f"  {escape(title)}", highlight=False)
        for problem in problems:
            console.print(f"             {escape(problem)}", highlight=False)
    console.print(f"{count - succeeded} of {count} attacks were stopped")
    return succeeded


def run() -> None:
    """Run the command; errors that a person can mend are one sentence, not a traceback."""
    try:
        main(standalone_mode=False)
    except (AuthorError, CannotGoOn, Refused, UnknownExercise) as error:
        console.print(f"[red]{type(error).__name__}[/red] {_plain(str(error))}", highlight=False)
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        console.print("stopped; what was judged so far is kept")
        sys.exit(130)


if __name__ == "__main__":
    run()
