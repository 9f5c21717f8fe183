"""A class of any size that was judged and marked, made without judging: the files and rows that grading leaves, with verdicts drawn at random."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timedelta

from autograder.exercise import reading as exercises
from autograder.exercise.model import Exercise
from autograder.intake.submission import Submission
from autograder.judging.answers import answers
from autograder.kit.outcome import Outcome, Verdict
from autograder.records import database, gradebook
from autograder.records.course import Course
from autograder.records.entry import Entry
from autograder.records.handed_in import TIMESTAMP, time_as_text
from autograder.records.journal import entry_file
from autograder.writing import files_of

from .ways import name_of

NOTEBOOK = '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}\n'  # the formgrader never reads what was handed in
HANDED_IN = datetime(2026, 11, 20, 12)


def marked_class(course: Course, learners: int, names: Sequence[str], seed: int = 0) -> None:
    """Let a course have so many learners, each with a marked submission to each of these exercises."""
    rng = random.Random(seed)
    with database.opened(course.gradebook_url) as opened:
        for name in names:
            exercise = exercises.load(name)
            gradebook.prepare(opened, course.gradebook_url, exercise, course.settings)
            entries = [_entry(exercise, name_of(number), number, rng) for number in range(learners)]
            marks = gradebook.record(opened, entries, {entry.of: entry.at for entry in entries})
            for entry in entries:
                _handed_in(course, entry)
                for path, text in [entry_file(course, entry), *files_of(course, entry, marks[entry.of])]:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text, encoding="utf-8")


def _entry(exercise: Exercise, learner: str, number: int, rng: random.Random) -> Entry:
    """Return an entry in which each check was passed by two of three."""
    outcomes = {check: rng.choice([Outcome.PASSED, Outcome.PASSED, Outcome.WRONG]) for check in exercise.checks}
    verdicts = [Verdict(check, outcome, exercise.checks[check], reason="drawn at random") for check, outcome in outcomes.items()]
    submission = Submission(learner, exercise.name, answers(exercise))
    return Entry(learner, exercise.name, {}, tuple(verdicts), submission=submission, at=HANDED_IN + timedelta(minutes=number))


def _handed_in(course: Course, entry: Entry) -> None:
    folder = course.submitted / entry.learner / entry.exercise
    folder.mkdir(parents=True)
    (folder / f"{entry.exercise}.ipynb").write_text(NOTEBOOK, encoding="utf-8")
    (folder / TIMESTAMP).write_text(time_as_text(entry.at) or "", encoding="utf-8")
