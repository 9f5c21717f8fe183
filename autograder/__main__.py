"""`python -m autograder`: the commands of an instructor and an author."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

import click
from rich.markup import escape

from . import ROOT, course_root
from .errors import AuthorError, CannotGoOn, MayNotWrite, Refused, UnknownExercise, UnknownLearner
from .imports import without_collecting
from .pages.terminal import (
    console,
    lines,
    print_attacks,
    print_changes,
    print_history,
    print_marks,
    print_matrix,
    print_mutants,
    print_taken,
    progress,
    short,
    watched,
)
from .pool import preload

if TYPE_CHECKING:
    from .grading import Graded
    from .limits import Limits
    from .records.course import Course
    from .sandbox.levels import Level


@click.group()
def main() -> None:
    """Release, judge and report the exercises of Attention by Hand."""
    from .files import follow_group, give_to_group

    follow_group(course_root())
    give_to_group(course_root())


@main.command()
def release() -> None:
    """Bring exercises/ up to date with solutions/."""
    from .authoring.release import write_exercises
    from .records.course import Course

    changed = write_exercises(watch=watched("reading the exercises"), with_answers=Course().settings.reveals is not False)
    for path in changed:
        console.print(f"  {path.relative_to(ROOT)}")
    console.print(f"exercises/: {len(changed)} files changed" if changed else "exercises/: up to date")


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print the matrix for machines.")
@click.option("--seed", default=1, show_default=True, help="What the hidden tests draw from.")
@click.argument("exercise", nargs=-1)
def matrix(exercise: tuple[str, ...], seed: int, as_json: bool) -> None:
    """Prove the tests: every mistake and variant against every check. Exits 1 on a problem."""
    from .authoring.matrix import matrix as prove
    from .exercise.reading import all_names

    names = list(exercise) or all_names()
    found = prove(names, seed, watched("proving the exercises", len(names)))
    if as_json:
        click.echo(json.dumps(found, indent=1, ensure_ascii=False))
    else:
        print_matrix(found)
    sys.exit(1 if found["problems"] else 0)


@main.command()
@click.option("--variants", is_flag=True, help="Change the variants, not the reference answer; takes most of an hour.")
@click.argument("exercise", nargs=-1)
def mutants(exercise: tuple[str, ...], variants: bool) -> None:
    """Prove the tests with answers in which one thing was changed by rule. Takes minutes; exits 1 where one was accepted."""
    from .authoring.mutant_proof import proofs
    from .authoring.variant_proof import proofs_of_variants
    from .exercise.reading import all_names

    names, prove = list(exercise) or all_names(), proofs_of_variants if variants else proofs
    found = prove(names, watched("judging mutants", len(names)))
    print_mutants(found)
    sys.exit(0 if all(each.holds for each in found.values()) else 1)


@main.command()
def sample() -> None:
    """Lay out a sample class under _course/submitted/."""
    from .authoring.sample import write_sample
    from .records.course import Course

    course = Course()
    console.print(f"{short(course.submitted)}: {write_sample(course)} new submissions")


@main.command()
@click.option("--again", is_flag=True, help="Judge everything again, also where nothing has changed.")
@click.option(
    "--level",
    default=None,
    help="Level of the sandbox: bubblewrap, landlock, none, or best for the best that this machine offers.  [default: ATTENTION_LEVEL, else bubblewrap]",
)
@click.option("--trust-submissions", is_flag=True, help="Allow the level none, for work that you trust as if it were yours.")
@click.option("--seconds", default=None, type=float, help="Time limit of one cell or call.  [default: ATTENTION_SECONDS, else 6]")
@click.option(
    "--jobs",
    default=None,
    type=click.IntRange(1),
    help="Number of judges at work at the same time.  [default: the number of cores, with 2 GiB of memory for each]",
)
@click.option("--cluster", default=None, help="The address of a dask scheduler whose workers judge, such as tcp://10.0.0.5:8786.")
@click.option(
    "--db",
    default=None,
    help="The gradebook's URL, such as postgresql+psycopg://user@host/course.  [default: ATTENTION_DB, else a file in the course]",
)
@click.argument("exercise", nargs=-1)
def grade(
    exercise: tuple[str, ...],
    again: bool,
    level: str | None,
    trust_submissions: bool,
    seconds: float | None,
    jobs: int | None,
    cluster: str | None,
    db: str | None,
) -> None:
    """Judge everything under _course/submitted/ and write marks, feedback and a report."""
    from .sandbox.forkserver import ForkServer
    from .sandbox.levels import NOT_PROMISED, required

    sandbox = _best_level() if level == "best" else required(trust_submissions, level)
    with nullcontext() if cluster else ForkServer(sandbox) as forkserver:
        if jobs != 1 and not cluster:
            preload.context()
        # While torch is imported behind the wall and for the judges, import here what else is needed.
        with without_collecting():
            from .grading import grade as run
            from .pool.base import default_jobs
            from .pool.choose import chosen_judges
            from .records.results import with_names_as_shown

        course, names, limits, count = _asked(exercise, seconds, db)
        jobs = min(jobs or default_jobs(), count)
        with chosen_judges(jobs, sandbox, cluster, forkserver) as judges:
            where = f"the cluster at {cluster}" if cluster else f"{jobs} {'judge' if jobs == 1 else 'judges'}"
            console.print(f"sandbox: {sandbox.name}, {where}")
            if NOT_PROMISED[sandbox]:
                console.print(f"[red]The level {sandbox.name} does not promise everything:[/red] {NOT_PROMISED[sandbox]}", highlight=False)
            with progress(count) as seen:
                graded = run(course, names, limits, again, sandbox, judges, lambda result: seen(*with_names_as_shown(course, [result])))
    _conclude(course, graded)


def _best_level() -> Level:
    from .sandbox.client import offered  # it imports torch, which grading in this process otherwise does without

    return offered()


def _asked(exercise: tuple[str, ...], seconds: float | None, db: str | None) -> tuple[Course, list[str], Limits, int]:
    """Return the course, the exercises to be graded, the limits, and the number of submissions; ends the command where there are none."""
    from .exercise.reading import load
    from .limits import Limits, asked_limits
    from .records.course import Course

    course = Course(database=db) if db else Course()
    names = [load(name).name for name in exercise] or list(course.settings.exercises)
    count = len(course.submissions(names))
    if not count:
        console.print(f"Nothing to grade: put notebooks under {short(course.submitted)}/LEARNER/EXERCISE/EXERCISE.ipynb")
        sys.exit(1)
    return course, names, Limits(request_seconds=seconds) if seconds else asked_limits(), count


def _conclude(course: Course, graded: Graded) -> None:
    from .records.marks import Marks
    from .records.results import Result, with_names_as_shown
    from .writing import changes_as_shown, write_report

    results = [Result(entry, graded.marks.get(entry.of, Marks())) for entry in graded.entries]
    print_marks(with_names_as_shown(course, results))
    print_changes(changes_as_shown(course, graded.changes))
    if graded.unchanged:
        console.print(f"{graded.unchanged} of {len(graded.entries)} were judged before, and nothing has changed for them")
    _say_where(write_report(course, graded.entries, graded.changes, graded.new))


def _say_where(files: list) -> None:
    (page, _), (table, _) = files
    console.print(f"the class: {short(page)}, and as a table {short(table)}")


@main.command()
def report() -> None:
    """Write the report on the class anew: verdicts as they were judged, marks as the gradebook has them now."""
    from .records.course import Course
    from .writing import write_report

    _say_where(write_report(Course()))


@main.command()
@click.argument("exercise")
def similar(exercise: str) -> None:
    """Show pairs of submissions that are more alike than known answers are, side by side: a reason to look, never a verdict."""
    from .exercise.reading import load
    from .records.course import Course
    from .writing import write_similar

    page, pairs, count = write_similar(Course(), load(exercise))
    console.print(f"{short(page)}: {pairs} {'pair' if pairs == 1 else 'pairs'} of {count} submissions")


@main.command()
@click.argument("exercise")
@click.argument("learner")
def history(exercise: str, learner: str) -> None:
    """Show what a learner was given for an exercise since it was first graded, and why that changed."""
    from .exercise.reading import load
    from .intake.submission import check_learner
    from .records.course import Course
    from .records.history import read_steps
    from .records.results import called, unknown

    course, name = Course(), load(exercise).name
    steps = read_steps(course, check_learner(called(course, learner)), name)
    if not steps:
        raise unknown(course, name, learner)
    print_history(steps)


@main.command()
@click.option("--dry-run", is_flag=True, help="Only say what would be taken away.")
@click.argument("exercise")
@click.argument("learner")
def reset(exercise: str, learner: str, dry_run: bool) -> None:
    """Take away what a learner has handed in for an exercise, with its marks and pages, so that it can be handed in anew. All of it is kept aside."""
    from .exercise.reading import load
    from .records.course import Course
    from .records.reset import reset as take_away
    from .records.results import called
    from .writing import write_report

    course, name = Course(), load(exercise).name
    taken = take_away(course, name, called(course, learner), dry_run)
    print_taken(taken, dry_run)
    if not dry_run:
        _say_where(write_report(course))


@main.command()
@click.argument("exercise", nargs=-1)
def handback(exercise: tuple[str, ...]) -> None:
    """Write marks and feedback under _course/handback/ in the form that the course's learning platform takes."""
    from .exercise.reading import load
    from .records.course import Course
    from .writing import hand_back

    for path in hand_back(Course(), [load(name).name for name in exercise]):
        console.print(f"  {short(path)}")


@main.command()
@click.argument("exercise")
@click.argument("learner")
def draft(exercise: str, learner: str) -> None:
    """Draft a known mistake from the work of a learner whose mistake has no name yet."""
    from .authoring.draft import write_draft
    from .exercise.reading import load
    from .records.course import Course

    found = load(exercise)
    path = write_draft(Course(), found, learner)  # not shown here: it is a stranger's text
    console.print(f"{short(path)}: read it, and put what is a mistake into solutions/{found.name}/mistakes.py")


@main.command()
@click.argument("name")
def new(name: str) -> None:
    """Start an exercise: write solutions/NAME/, which follows every rule of form already."""
    from .authoring.new import write_exercise

    for path in write_exercise(name):
        console.print(f"  {path.relative_to(ROOT)}")
    console.print(
        f"Now make it yours, and run `python -m autograder matrix {name}` until it finds no problem; then `python -m autograder release`."
    )


@main.command()
def work() -> None:
    """Copy exercises/ to _course/desk/, where a learner may write; answers there are kept."""
    from .authoring.release import write_desk
    from .records.course import Course

    target = Course().root / "desk"
    write_desk(target)
    console.print(f"the exercises to work on: {short(target)}")


@main.command()
@click.option("--attack", "attacked", is_flag=True, help="Run the attack corpus against the sandbox of this machine.")
@click.option("--level", default=None, help="Examine another level than the one that grading uses; with --attack, attack this one alone.")
def doctor(attacked: bool, level: str | None) -> None:
    """Say what the sandbox promises on this machine. Exits 1 if that is not enough, or an attack succeeds."""
    from .machine.doctor import BAD, GOOD, attack_all, attackable, examine
    from .records.course import Course
    from .sandbox.levels import NOT_PROMISED, required

    wanted = required(trust=True, name=level)
    colours, statuses = {GOOD: "green", BAD: "red"}, set()
    for line in examine(wanted, Course()):
        colour = colours.get(line.status, "default")
        console.print(f"{line.subject:>17}  [{colour}]{escape(line.found)}[/{colour}]", highlight=False)
        statuses.add(line.status)
    if attacked:
        for each in [wanted] if level else attackable(wanted):
            statuses |= {BAD} if print_attacks(attack_all(each), each.name, NOT_PROMISED[each]) else set()
    sys.exit(1 if BAD in statuses else 0)


def run() -> None:
    """Run the command; errors that a person can repair are shown as a sentence, without a traceback."""
    try:
        main(standalone_mode=False)
    except (AuthorError, CannotGoOn, Refused, UnknownExercise, UnknownLearner) as error:
        console.print(f"[red]{type(error).__name__}[/red] {lines(str(error))}", highlight=False)
        sys.exit(2)
    except PermissionError as error:
        console.print(f"[red]MayNotWrite[/red] {lines(str(MayNotWrite(error.filename or 'a file')))}", highlight=False)
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        console.print("stopped; what was judged so far is kept")
        sys.exit(130)


if __name__ == "__main__":
    run()
