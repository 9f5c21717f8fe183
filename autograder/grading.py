"""Grading: every submission of a course, from the file handed in to the gradebook."""
from __future__ import annotations

from dataclasses import replace
from typing import Iterator

import nbformat
from nbgrader.api import Gradebook

from . import exercise as exercises
from . import gradebook as books
from . import journal
from .course import Course, write_whole
from .errors import Refused
from .exercise import Exercise
from .feedback import feedback_page
from .journal import Entry
from .judge import Session, judge
from .kit.outcome import Outcome, Verdict
from .limits import Limits
from .notebooks import annotated, rebuilt
from .sandbox.host import Zygote
from .submission import Submission, check_learner, read


class Grader:
    """Judges submissions of one course; starts the sandbox when the first one needs it."""

    def __init__(self, course: Course, limits: Limits = Limits(), again: bool = False):
        self.course, self.limits, self.again = course, limits, again
        self.seed = course.seed()
        self._zygote: Zygote | None = None

    def __enter__(self) -> Grader:
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def close(self) -> None:
        """End the sandbox, if one was started."""
        if self._zygote is not None:
            self._zygote.close()
        self._zygote = None

    def entry(self, submission: Submission) -> Entry:
        """Return what the judge says; from the journal if it has said so before."""
        exercise = exercises.load(submission.exercise)
        key = journal.key_of(submission, exercise, self.seed, self.limits)
        known = journal.read(self.course, submission.learner, submission.exercise)
        if known and known.key == key and known.settled and not self.again:
            return known
        verdicts = self._judge(exercise, submission)
        entry = Entry(submission.learner, exercise.name, key, tuple(_noted(v, submission, exercise) for v in verdicts))
        journal.write(self.course, entry)
        return entry

    def _judge(self, exercise: Exercise, submission: Submission) -> list[Verdict]:
        if self._zygote is None:
            self._zygote = Zygote()
        try:
            with Session(self._zygote, exercise, submission.answers, self.limits, submission.lost_names) as session:
                return judge(exercise, session.learner, self.seed)
        except Exception as error:  # ours, whatever it is: the learner's errors have become verdicts
            self.close()
            reason = f"{type(error).__name__}: {error}"
            return [Verdict(check, Outcome.JUDGE_FAILED, points, reason=reason) for check, points in exercise.checks.items()]


def grade(course: Course, names: list[str], limits: Limits = Limits(), again: bool = False) -> Iterator[tuple[str, str, Entry | None]]:
    """Grade all that was handed in, one submission after the other.

    Yields (learner, exercise, None) before and (learner, exercise, entry) after each.
    """
    with Grader(course, limits, again) as grader, books.opened(course.gradebook_url) as gradebook:
        for name in names:
            books.prepare(gradebook, course.gradebook_url, exercises.load(name))
        for learner, name in handed_in(course, names):
            yield learner, name, None
            yield learner, name, _grade_one(grader, gradebook, learner, exercises.load(name))


def handed_in(course: Course, names: list[str]) -> list[tuple[str, str]]:
    """Return (learner, exercise) for everything in submitted/, readable or not."""
    return [(learner, name) for learner in course.learners() for name in names if (course.submitted / learner / name).exists()]


def _grade_one(grader: Grader, gradebook: Gradebook, learner: str, exercise: Exercise) -> Entry:
    course = grader.course
    try:
        check_learner(learner)
    except Refused as error:  # nothing is written under a name that is no name
        return Entry(learner, exercise.name, "", refused=str(error))
    try:
        submission = read(course.handed_in(learner, exercise.name), learner, exercise)
    except Refused as error:
        entry = Entry(learner, exercise.name, "", refused=str(error))
        journal.write(course, entry)
    else:
        entry = grader.entry(submission)
        notebook = annotated(rebuilt(exercise, submission), list(entry.verdicts))
        write_whole(course.autograded(learner, exercise.name), nbformat.writes(notebook) + "\n")
    books.record(gradebook, entry)
    write_whole(course.feedback(learner, exercise.name), feedback_page(entry, exercise))
    return entry


def _noted(verdict: Verdict, submission: Submission, exercise: Exercise) -> Verdict:
    """Return the verdict with what was noticed about the answer cell that it asks about."""
    note = submission.notes.get(_answer_before(exercise, verdict.check), "")
    return replace(verdict, note=note) if note else verdict


def _answer_before(exercise: Exercise, check: str) -> str:
    """Return the answer cell above a check: the one that the check is about."""
    ids = [cell.id for cell in exercise.cells]
    above = set(ids[: ids.index(check)])
    return [cell.id for cell in exercise.answers if cell.id in above][-1]
