"""Grading: every submission of a course, from the file handed in to the gradebook."""
from __future__ import annotations

from dataclasses import replace
from logging import getLogger
from typing import Iterator

import nbformat
from nbgrader.api import Gradebook

from . import exercise as exercises
from . import gradebook as books
from . import journal
from .course import Course
from .errors import Refused
from .exercise import Exercise
from .feedback import feedback_page
from .files import remove_half_written, write_whole
from .journal import Entry
from .judge import Session, judge
from .kit.outcome import Outcome, Verdict
from .limits import Limits
from .lock import held
from .notebooks import annotated, rebuilt
from .sandbox.host import Zygote
from .sandbox.levels import Level
from .submission import Submission, check_learner, read

log = getLogger("autograder")
LOCK_SECONDS = 20.0  # nbgrader's command holds the lock for one submission at a time


class Grader:
    """Judges submissions of one course; starts the sandbox when the first one needs it."""

    def __init__(self, course: Course, limits: Limits = Limits(), again: bool = False, level: Level | None = None):
        self.course, self.limits, self.again = course, limits, again
        self.level = level  # of the sandbox; None: the one that every command asks for
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
        known = self.known(submission)
        if known and not self.again:
            return known
        verdicts = self._judge_twice(exercise, submission)
        entry = Entry(submission.learner, exercise.name, self._key(submission), tuple(_noted(v, submission, exercise) for v in verdicts))
        if known and not entry.settled:  # a failure of ours takes nothing away
            return known
        journal.write(self.course, entry)
        return entry

    def known(self, submission: Submission) -> Entry | None:
        """Return what the journal says of this very submission, if all of it was judged."""
        known = journal.read(self.course, submission.learner, submission.exercise)
        return known if known and known.key == self._key(submission) and known.settled else None

    def _key(self, submission: Submission) -> str:
        return journal.key_of(submission, exercises.load(submission.exercise), self.seed, self.limits)

    def _judge_twice(self, exercise: Exercise, submission: Submission) -> list[Verdict]:
        """Return the verdicts. A process that died counts against the learner when it dies twice:
        once may be our doing, or that of whoever ends processes on this machine."""
        verdicts, doubts = self._judge(exercise, submission)
        if not doubts:
            return verdicts
        again, left = self._judge(exercise, submission)
        return again if left < doubts else verdicts

    def _judge(self, exercise: Exercise, submission: Submission) -> tuple[list[Verdict], int]:
        """Return the verdicts, and how many things went wrong that need not be the learner's doing.

        A death may show in other words than its own: without its imports an answer raises an error.
        """
        if self._zygote is None:
            self._zygote = Zygote(self.level)
        deaths = 0
        try:
            with Session(self._zygote, exercise, submission.answers, self.limits, submission.lost_names) as session:
                verdicts = judge(exercise, session.learner, self.seed)
                deaths = session.deaths
        except Exception as error:  # ours, whatever it is: the learner's errors have become verdicts
            reason = f"{type(error).__name__}: {error}"
            verdicts = [Verdict(check, Outcome.JUDGE_FAILED, points, reason=reason) for check, points in exercise.checks.items()]
        failures = sum(v.outcome is Outcome.JUDGE_FAILED for v in verdicts)
        if failures:
            self.close()
        return verdicts, failures + deaths


def grade(course: Course, names: list[str], limits: Limits = Limits(), again: bool = False, level: Level | None = None) -> Iterator[tuple[str, str, Entry | None]]:
    """Grade all that was handed in, one submission after the other.

    Yields (learner, exercise, None) before and (learner, exercise, entry) after each. Raises
    `CannotGoOn`; what was judged until then is in the journal.
    """
    with (
        held(course.lock, "python -m autograder grade", LOCK_SECONDS),
        Grader(course, limits, again, level) as grader,
        books.opened(course.gradebook_url) as gradebook,
    ):
        remove_half_written(course.root, *course.written)
        for name in names:
            books.prepare(gradebook, course.gradebook_url, exercises.load(name))
        for learner, name in handed_in(course, names):
            yield learner, name, None
            if entry := _grade_one(grader, gradebook, learner, exercises.load(name)):
                yield learner, name, entry


def judged_before(course: Course, names: list[str], limits: Limits = Limits()) -> int:
    """Return how many of the submissions need no judging: the journal has a verdict on each check."""
    with Grader(course, limits) as grader:
        return sum(_known(grader, *each) for each in handed_in(course, names))


def _known(grader: Grader, learner: str, name: str) -> bool:
    try:
        return grader.known(read(grader.course.handed_in(learner, name), learner, exercises.load(name))) is not None
    except Refused:
        return False


def handed_in(course: Course, names: list[str]) -> list[tuple[str, str]]:
    """Return (learner, exercise) for everything in submitted/, readable or not."""
    return [(learner, name) for learner in course.learners() for name in names if (course.submitted / learner / name).exists()]


def _grade_one(grader: Grader, gradebook: Gradebook, learner: str, exercise: Exercise) -> Entry | None:
    """Return what became of one submission; None if it went away since it was listed."""
    course = grader.course
    try:
        check_learner(learner)
    except Refused as error:  # nothing is written under a name that is no name
        return Entry(learner, exercise.name, "", refused=str(error))
    try:
        submission = read(course.handed_in(learner, exercise.name), learner, exercise)
    except Refused as error:
        if not (course.submitted / learner / exercise.name).exists():
            log.warning("%s/%s went away while the class was graded; its marks stay as they were.", learner, exercise.name)
            return None
        entry = Entry(learner, exercise.name, "", refused=str(error))
        journal.write(course, entry)
    else:
        entry = grader.entry(submission)
        notebook = annotated(rebuilt(exercise, submission), list(entry.verdicts))
        write_whole(course.autograded(learner, exercise.name), nbformat.writes(notebook) + "\n")
    by_hand = books.record(gradebook, entry)
    write_whole(course.feedback(learner, exercise.name), feedback_page(entry, exercise, *by_hand))
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
