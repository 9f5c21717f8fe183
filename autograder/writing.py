"""What grading leaves in a course's folder for people: pages of learners, the report on the class, what goes back to a platform."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from nbformat.v4 import writes_json

from .errors import Refused
from .exercise import reading as exercises
from .exercise.model import Exercise
from .files import write_all, write_whole
from .intake.submission import is_learner
from .pages.feedback import feedback_page
from .pages.handback import feedback_archive, marks_for
from .pages.report import report_page, report_rows
from .pages.table import as_csv
from .records import database
from .records.course import Course
from .records.entry import Entry
from .records.handed_in import beside
from .records.history import noted, read_steps, run_begins
from .records.marks import Marks
from .records.notebooks import annotated, rebuilt
from .records.resubmissions import submission_that_counts
from .records.results import absent, shown_as, whole_class, with_names_as_shown

Files = list[tuple[Path, str]]  # paths and texts


def files_of(course: Course, entry: Entry, marks: Marks) -> Files:
    """Return what a learner and nbgrader get of one submission: its page and, if it could be read, the notebook with the verdicts."""
    if entry.submission is None:
        return page_files(course, entry, marks)
    path = course.autograded(*entry.of)
    # Not with nbformat.writes, which checks all of it: most of it was checked at release.
    notebook = writes_json(annotated(rebuilt(exercises.load(entry.exercise), entry.submission), list(entry.verdicts))) + "\n"
    return [*page_files(course, entry, marks), (path, notebook), *_told(course, entry, path)]


def page_files(course: Course, entry: Entry, marks: Marks) -> Files:
    """Return a learner's page, and beside it what nbgrader's exchange needs to hand it out."""
    path = course.feedback(*entry.of)
    return [(path, page_of(course, entry, marks)), *_told(course, entry, path)]


def _told(course: Course, entry: Entry, path: Path) -> Files:
    return [(path.with_name(name), text) for name, text in beside(course, *entry.of).items() if text]


def page_of(course: Course, entry: Entry, marks: Marks) -> str:
    """Return the feedback on a submission, as the course's settings have it now."""
    shown = course.settings.shows_reference(entry.exercise, datetime.now(UTC).replace(tzinfo=None))
    return feedback_page(entry, exercises.load(entry.exercise), marks, course.settings.title, shown)


def write_report(course: Course, entries: Iterable[Entry] = (), changes: Sequence = (), new: int = 0) -> Files:
    """Write the report on the whole class, and the same as a table; return both. `entries` are those at hand; `changes` and `new` see there."""
    with database.opened(course.gradebook_url) as gradebook:
        results = whole_class(course, gradebook, entries)
        missing = [shown_as(course, learner) for learner in absent(gradebook, results)]
    write_all(noted(course, results, run_begins()))  # what a person has changed since
    named = [result.entry.of for result in results if is_learner(result.learner)]
    steps = {(shown_as(course, learner), name): read_steps(course, learner, name) for learner, name in named}
    results = with_names_as_shown(course, results)
    page = report_page(results, missing, changes_as_shown(course, changes), new, course.settings, steps)
    files = [(course.root / "report.html", page), (course.root / "report.csv", as_csv(report_rows(results), []))]
    write_all(files)
    return files


def changes_as_shown(course: Course, changes: Sequence) -> list:
    """Return changes of marks under the names that the course shows."""
    return [replace(change, learner=shown_as(course, change.learner)) for change in changes]


def hand_back(course: Course, names: Collection[str] = ()) -> list[Path]:
    """Write feedback and marks of these exercises, or of all, in the form that the course's platform takes; return the files."""
    with database.opened(course.gradebook_url) as gradebook:
        results = whole_class(course, gradebook)
    target, written = course.root / "handback", []
    target.mkdir(parents=True, exist_ok=True)
    for name in names or dict.fromkeys(result.exercise for result in results):
        mine = [result for result in results if result.exercise == name]
        pages = {result.learner: course.feedback(*result.entry.of) for result in mine}
        archive = feedback_archive(
            course.settings.platform, {learner: page.read_text("utf-8") for learner, page in pages.items() if page.is_file()}
        )
        (target / f"{name}.zip").write_bytes(archive)
        written.append(target / f"{name}.zip")
        if (marks := marks_for(course.settings.platform, mine)) is not None:
            (target / f"{name}.csv").write_text(marks, encoding="utf-8-sig")  # the mark by which spreadsheets know UTF-8
            written.append(target / f"{name}.csv")
    return written


def write_similar(course: Course, exercise: Exercise) -> tuple[Path, int, int]:
    """Write the page of answers that are alike; return it, and how many pairs of how many submissions."""
    from .pages.similar import similar_page, similar_pairs  # known answers need torch, and nothing else here does

    submissions = []
    for learner, _ in course.submissions([exercise.name]):
        try:
            submissions.append(submission_that_counts(course, learner, exercise))
        except Refused:
            continue  # grading says so
    shown = [replace(each, learner=shown_as(course, each.learner)) for each in submissions]
    pairs, path = similar_pairs(exercise, shown), course.root / f"similar-{exercise.name}.html"
    write_whole(path, similar_page(exercise, pairs, len(shown)))
    return path, len(pairs), len(shown)
