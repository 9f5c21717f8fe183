"""Grading: every submission of a course, from the file handed in to the gradebook."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass, replace
from logging import getLogger

from nbformat.v4 import writes_json
from nbgrader.api import Gradebook

from . import exercise as exercises
from . import gradebook as books
from . import journal
from .course import Course
from .errors import CannotGoOn, Refused
from .exercise import Exercise
from .feedback import feedback_page
from .files import remove_half_written, write_all
from .jobs import Here, Judges, judges
from .journal import Entry
from .kit.outcome import Verdict
from .limits import Limits
from .lock import held
from .notebooks import annotated, rebuilt
from .sandbox.levels import Level, required
from .submission import Submission, check_learner, is_learner, read
from .task import Task, judged_text, our_failure

log = getLogger("autograder")
LOCK_SECONDS = 20.0  # nbgrader's command holds the lock for one submission at a time
AT_ONCE = 50  # submissions in one transaction, so that a statement has not more values than a database takes
TRIES = 3  # a judge's process that dies takes with it what it was at, and what the others were at


@dataclass(frozen=True)
class Change:
    """A mark that is another one than before."""

    learner: str
    exercise: str
    check: str
    before: float | None
    after: float | None
    reason: str


@dataclass
class Work:
    """A submission on its way: what is known of it, and what is being judged."""

    submission: Submission
    keys: dict[str, str]
    known: Entry | None
    reasons: dict[str, str]  # of the checks that are being judged again
    task: Task | None = None
    future: Future | None = None


class Grader:
    """Judges submissions of one course, by the executor that it is given, or in this process."""

    def __init__(
        self, course: Course, limits: Limits = Limits(), again: bool = False, level: Level | None = None, executor: Judges | None = None
    ):
        self.course, self.limits, self.again = course, limits, again
        self.level = required() if level is None else level  # of the sandbox
        self.seed = course.seed()
        self.executor = executor or Here()

    def __enter__(self) -> Grader:
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def close(self) -> None:
        """End the judges."""
        self.executor.shutdown()

    def entry(self, submission: Submission) -> Entry:
        """Return what the judge says; from the journal where it has said so before."""
        return self.finish(self.begin(submission))

    def begin(self, submission: Submission) -> Work:
        """Hand to a judge what the journal does not tell of a submission."""
        exercise = exercises.load(submission.exercise)
        work = self._known(submission, exercise)
        if work.reasons:
            checks = tuple(check for check in exercise.checks if check in work.reasons)
            work.task = Task(submission, checks, self.seed, self.limits, self.level)
            work.future = self.executor.submit(judged_text, work.task.as_text())
        return work

    def _known(self, submission: Submission, exercise: Exercise) -> Work:
        known = journal.read(self.course, submission.learner, exercise.name)
        keys = journal.keys_of(submission, exercise, self.seed, self.limits, self.level)
        checks = list(exercise.checks)
        if known is None or known.refused:
            return Work(submission, keys, None, dict.fromkeys(checks, "it is new"))
        reasons = dict.fromkeys(checks, "it was asked for") if self.again else journal.affected(known, keys, checks)
        return Work(submission, keys, known, reasons)

    def is_known(self, submission: Submission) -> bool:
        """Return whether the journal tells all of this very submission."""
        return not self._known(submission, exercises.load(submission.exercise)).reasons

    def finish(self, work: Work) -> Entry:
        """Return the entry when its judge is done, and keep it."""
        entry = self.decided(work)
        if entry is not work.known:
            write_all([journal.file(self.course, entry)])
        return entry

    def decided(self, work: Work) -> Entry:
        """Return the entry when its judge is done."""
        if work.task is None and work.known.keys == work.keys:
            return work.known
        exercise = exercises.load(work.submission.exercise)
        new = {v.check: _noted(v, work.submission, exercise) for v in self._verdicts(work)}
        old = {v.check: v for v in work.known.verdicts} if work.known else {}
        verdicts = tuple((old | new)[check] for check in exercise.checks)
        entry = Entry(work.submission.learner, exercise.name, work.keys, verdicts)
        if not entry.settled and work.known and work.known.settled and work.known.keys == work.keys:
            return work.known  # a failure of ours takes nothing away
        return entry

    def _verdicts(self, work: Work) -> list[Verdict]:
        if work.task is None:
            return []
        for number in range(TRIES):
            self.executor.wait_for([work.future])
            try:
                return [journal.verdict_of(told) for told in json.loads(work.future.result())]
            except CannotGoOn:
                raise
            except Exception as error:  # the process that judged it died
                reason = f"{type(error).__name__}: {error}"
                work.future = self.executor.submit(judged_text, work.task.as_text()) if number < TRIES - 1 else None
        return our_failure(work.task, reason)


def changes(work: Work, entry: Entry) -> list[Change]:
    """Return the marks that are others than before, where there were any."""
    before = {v.check: v.score for v in work.known.verdicts} if work.known else {}
    new = {v.check: v.score for v in entry.verdicts}
    return [
        Change(entry.learner, entry.exercise, check, before[check], new[check], work.reasons.get(check, ""))
        for check in new
        if check in before and before[check] != new[check]
    ]


def grade(
    course: Course,
    names: list[str],
    limits: Limits = Limits(),
    again: bool = False,
    level: Level | None = None,
    executor: Judges | None = None,
    changed: list[Change] | None = None,
) -> Iterator[tuple[str, str, Entry | None]]:
    """Grade all that was handed in, by the judges of an executor, or in this process.

    Yields (learner, exercise, None) before and (learner, exercise, entry) after each; with several
    judges in the order in which they are done. Adds to `changed` what is another mark than before.
    Raises `CannotGoOn`; what was judged until then is in the journal.
    """
    with (
        held(course.lock, "python -m autograder grade", LOCK_SECONDS),
        judges(1, level) if executor is None else nullcontext(executor) as executor,
        books.opened(course.gradebook_url) as gradebook,
    ):
        remove_half_written(course.root, *course.written)
        submissions = course.submissions(names)
        for name in dict.fromkeys(name for _, name in submissions):
            books.prepare(gradebook, course.gradebook_url, exercises.load(name))
        grader, waiting = Grader(course, limits, again, level, executor), []
        for learner, name in submissions:
            yield learner, name, None
            if (work := _begin(grader, learner, exercises.load(name))) is not None:
                waiting.append(work)
            yield from _done(grader, gradebook, waiting, executor.ahead, changed)
        yield from _done(grader, gradebook, waiting, 0, changed)


def _done(
    grader: Grader, gradebook: Gradebook, waiting: list[Work | Entry], most: int, changed: list[Change] | None
) -> Iterator[tuple[str, str, Entry]]:
    """Enter the submissions that are judged, and wait for some until so many are left."""
    while waiting:
        ready = [work for work in waiting if isinstance(work, Entry) or work.future is None or work.future.done()]
        if not ready and len(waiting) <= most:
            return
        if not ready:
            grader.executor.wait_for([work.future for work in waiting])
        ready = ready[:AT_ONCE]
        for work in ready:
            waiting.remove(work)
        for work, entry in zip(ready, _finish(grader, gradebook, ready)):
            if changed is not None and isinstance(work, Work):
                changed += changes(work, entry)
            yield entry.learner, entry.exercise, entry


def judged_before(course: Course, names: list[str], limits: Limits = Limits(), level: Level | None = None) -> int:
    """Return how many of the submissions need no judging: the journal has a verdict on each check."""
    with Grader(course, limits, level=level) as grader:
        return sum(_is_known(grader, *each) for each in course.submissions(names))


def _is_known(grader: Grader, learner: str, name: str) -> bool:
    if not grader.course.journal(learner, name).exists():
        return False
    try:
        return grader.is_known(read(grader.course.handed_in(learner, name), learner, exercises.load(name)))
    except Refused:
        return False


def _begin(grader: Grader, learner: str, exercise: Exercise) -> Work | Entry | None:
    """Return a submission on its way to a judge, or why it is not; None if it went away since it was listed."""
    try:
        check_learner(learner)
        return grader.begin(read(grader.course.handed_in(learner, exercise.name), learner, exercise))
    except Refused as error:
        if (grader.course.submitted / learner / exercise.name).exists():
            return Entry(learner, exercise.name, {}, refused=str(error))
        log.warning("%s/%s went away while the class was graded; its marks stay as they were.", learner, exercise.name)
        return None


def _finish(grader: Grader, gradebook: Gradebook, works: list[Work | Entry]) -> list[Entry]:
    """Write what became of submissions: journal, marks, notebooks, feedback. Return their entries.

    As many at once as are ready: most of it is waiting for the disk.
    """
    course = grader.course
    entries: list[Entry] = []
    try:
        for work in works:
            entries.append(grader.decided(work) if isinstance(work, Work) else work)
    finally:  # whatever stops this: what was judged stays
        named = [
            (work, entry) for work, entry in zip(works, entries) if is_learner(entry.learner)
        ]  # nothing is written under a name that is no name
        write_all([journal.file(course, entry) for work, entry in named if not isinstance(work, Work) or entry is not work.known])
    by_hand = books.record(gradebook, [entry for _, entry in named])
    notebooks = [(course.autograded(*entry.of), _notebook(work, entry)) for work, entry in named if isinstance(work, Work)]
    pages = [(course.feedback(*entry.of), feedback_page(entry, exercises.load(entry.exercise), *by_hand[entry.of])) for _, entry in named]
    write_all(notebooks + pages)
    return entries


def _notebook(work: Work, entry: Entry) -> str:
    # Not by nbformat.writes, which checks all that stands in it: most of it was written at release.
    return writes_json(annotated(rebuilt(exercises.load(entry.exercise), work.submission), list(entry.verdicts))) + "\n"


def _noted(verdict: Verdict, submission: Submission, exercise: Exercise) -> Verdict:
    """Return the verdict with what was noticed about the answer cell that it asks about."""
    note = submission.notes.get(_answer_before(exercise, verdict.check), "")
    return replace(verdict, note=note) if note else verdict


def _answer_before(exercise: Exercise, check: str) -> str:
    """Return the answer cell above a check: the one that the check is about."""
    ids = [cell.id for cell in exercise.cells]
    above = set(ids[: ids.index(check)])
    return [cell.id for cell in exercise.answers if cell.id in above][-1]
