"""`python -m autograder`: the commands of an instructor and an author."""
from __future__ import annotations

import json
import shutil
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

import click
from rich.markup import escape

from . import ROOT, forking
from .errors import AuthorError, CannotGoOn, Refused, UnknownExercise
from .terminal import console, plain, print_attacks, print_changes, print_marks, print_matrix, short, watched, with_progress

if TYPE_CHECKING:
    from .course import Course
    from .grading import Change
    from .journal import Entry
    from .limits import Limits
    from .sandbox.levels import Level


@click.group()
def main() -> None:
    """Release, judge and report the exercises of Attention by Hand."""


@main.command()
def release() -> None:
    """Bring exercises/ in step with solutions/."""
    from .release import write_exercises

    changed = write_exercises(watch=watched("reading the exercises"))
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

    names = list(exercise) or all_names()
    found = prove(names, seed, watched("proving the exercises", len(names)))
    if as_json:
        click.echo(json.dumps(found, indent=1, ensure_ascii=False))
    else:
        print_matrix(found)
    sys.exit(1 if found["problems"] else 0)


@main.command()
def sample() -> None:
    """Lay out a sample class under _course/submitted/."""
    from .course import Course
    from .sample import write_sample

    course = Course()
    console.print(f"{short(course.submitted)}: {write_sample(course)} new submissions")


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
    from .sandbox.levels import offered, required
    from .sandbox.mother import Mother

    sandbox = offered() if level == "best" else required(trust_submissions, level)
    with nullcontext() if cluster else Mother(sandbox) as mother:
        if jobs != 1 and not cluster:
            forking.begin()
        # Torch is being imported, behind the wall and for the judges. What else is needed is imported meanwhile.
        from .grading import grade as run
        from .jobs import judges, room

        course, names, limits, count = _asked(exercise, seconds, db)
        jobs, changed = min(jobs or room(), count), []
        with judges(jobs, sandbox, cluster, mother) as executor:
            if not again:
                _say_what_is_left(course, names, limits, sandbox, count)
            where = f"the cluster at {cluster}" if cluster else f"{jobs} {'judge' if jobs == 1 else 'judges'}"
            console.print(f"sandbox: {sandbox.name}, {where}")
            entries = with_progress(run(course, names, limits, again, sandbox, executor, changed), count)
    _conclude(course, entries, changed)


def _asked(exercise: tuple[str, ...], seconds: float | None, db: str | None) -> tuple[Course, list[str], Limits, int]:
    """Return the course, the exercises to be graded in it, the limits, and how many submissions that are; without any, end."""
    from .course import Course
    from .exercise import all_names, load
    from .limits import Limits, asked_limits

    course = Course(database=db) if db else Course()
    names = [load(name).name for name in exercise] or all_names()
    count = len(course.submissions(names))
    if not count:
        console.print(f"Nothing to grade: put notebooks under {short(course.submitted)}/LEARNER/EXERCISE/EXERCISE.ipynb")
        sys.exit(1)
    return course, names, Limits(request_seconds=seconds) if seconds else asked_limits(), count


def _say_what_is_left(course: Course, names: list[str], limits: Limits, sandbox: Level, count: int) -> None:
    from .grading import judged_before

    if before := judged_before(course, names, limits, sandbox):
        console.print(f"{before} of {count} were judged before; {count - before} to judge")


def _conclude(course: Course, entries: list[Entry], changed: list[Change]) -> None:
    from .files import write_whole
    from .report import report_page

    print_marks(entries)
    print_changes(changed)
    report = course.root / "report.html"
    write_whole(report, report_page(entries))
    console.print(f"the class: {short(report)}")


@main.command()
@click.argument("name")
def new(name: str) -> None:
    """Begin an exercise: write solutions/NAME/, which passes every check of form already."""
    from .new import write_exercise

    for path in write_exercise(name):
        console.print(f"  {path.relative_to(ROOT)}")
    console.print(f"Now make it yours, and run `python -m autograder matrix {name}` until it finds no problem; then `python -m autograder release`.")


@main.command()
def work() -> None:
    """Copy exercises/ to _course/desk/, where a learner may write; answers there are kept."""
    from .course import Course

    source, target = ROOT / "exercises", Course().root / "desk"
    for path in sorted(p for p in source.rglob("*") if p.is_file()):
        copy = target / path.relative_to(source)
        if any(part.startswith((".", "__pycache__")) for part in path.relative_to(source).parts):
            continue  # a tool's, or somebody's progress here
        if path.suffix == ".ipynb" and copy.exists():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    console.print(f"the exercises to work on: {short(target)}")


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
        moods |= {BAD} if print_attacks(attack_all(wanted), wanted.name) else set()
    sys.exit(1 if BAD in moods else 0)


def run() -> None:
    """Run the command; errors that a person can mend are one sentence, not a traceback."""
    try:
        main(standalone_mode=False)
    except (AuthorError, CannotGoOn, Refused, UnknownExercise) as error:
        console.print(f"[red]{type(error).__name__}[/red] {plain(str(error))}", highlight=False)
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        console.print("stopped; what was judged so far is kept")
        sys.exit(130)


if __name__ == "__main__":
    run()
