"""Grading: every submission of a course, from the file handed in to the gradebook."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from nbgrader.api import Gradebook

from .errors import CannotGoOn, Refused
from .exercise import reading as exercises
from .exercise.model import Exercise
from .files import remove_half_written, write_all
from .intake.reading import read_submission
from .intake.submission import Submission, is_learner
from .judging.task import Task, our_failure, verdicts_from_text
from .kit.outcome import Verdict
from .limits import Limits
from .pool.base import Judges
from .pool.choose import chosen_judges
from .pool.here import Here
from .records import database, journal
from .records import gradebook as gradebooks
from .records.course import Course, there
from .records.entry import Entry
from .records.handed_in import handed_in_at
from .records.late import Late
from .records.lock import held
from .records.marks import Marks
from .records.results import Result
from .sandbox.levels import Level, required
from .strangers import log_of
from .writing import files_of

log = log_of("autograder")
LOCK_SECONDS = 20.0  # to wait: nbgrader's command holds the lock for one submission at a time
AT_ONCE = 50  # submissions in one transaction: a database takes only so many values in a statement
TRIES = 3  # with a task: a judge that dies loses the one that it was at


@dataclass(frozen=True)
class Change:
    """A mark that differs from the one before."""

    learner: str
    exercise: str
    check: str
    before: float | None
    after: float | None
    reason: str


@dataclass(frozen=True)
class Graded:
    """What one run has done: an entry for each submission, in the order in which they were entered, what the gradebook then had on
    each, and the marks that changed."""

    entries: list[Entry] = field(default_factory=list)
    marks: dict[tuple[str, str], Marks] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    new: int = 0  # entries of what had never been judged
    unchanged: int = 0  # entries that needed no judging: the journal had valid verdicts on all checks


@dataclass(eq=False)
class Work:
    """One submission on its way to an entry: what it holds, the entry that it had before, and what is being judged."""

    learner: str
    exercise: str
    submission: Submission | None = None  # None where it was refused
    refused: str = ""
    keys: dict[str, str] = field(default_factory=dict)
    earlier: Entry | None = None  # from the journal
    reasons: dict[str, str] = field(default_factory=dict)  # of the checks that are being judged again
    task: Task | None = None
    verdicts: Future[str] | None = None

    @property
    def is_ready(self) -> bool:
        return self.verdicts is None or self.verdicts.done()

    def changes(self, entry: Entry) -> list[Change]:
        """Return the marks that differ from those of the earlier entry, if there was one."""
        before = self.earlier.scores if self.earlier else {}
        return [
            Change(entry.learner, entry.exercise, check, before[check], score, self.reasons.get(check, ""))
            for check, score in entry.scores.items()
            if check in before and before[check] != score
        ]


class Grader:
    """Has submissions of one course judged, by `judges` or else in this process."""

    def __init__(
        self, course: Course, limits: Limits = Limits(), again: bool = False, level: Level | None = None, judges: Judges | None = None
    ):
        self.course, self.limits, self.again = course, limits, again
        self.level = required() if level is None else level  # of the sandbox
        self.seed = course.seed()
        self.late = Late()
        self.judges = judges or Here()

    def __enter__(self) -> Grader:
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def close(self) -> None:
        """End the judges."""
        self.judges.close()

    def entry(self, submission: Submission) -> Entry:
        """Return the entry for a submission, from the journal if that still holds."""
        return self.finish(self.start(submission))

    def start(self, submission: Submission) -> Work:
        """Hand to a judge what the journal has no valid verdicts on."""
        exercise = exercises.load(submission.exercise)
        work = self._looked_up(submission, exercise)
        if work.reasons:
            checks = tuple(check for check in exercise.checks if check in work.reasons)
            work.task = Task(submission, checks, self.seed, self.limits, self.level)
            work.verdicts = self.judges.submit(work.task.as_text())
        return work

    def _looked_up(self, submission: Submission, exercise: Exercise) -> Work:
        """Return a submission with the journal's entry on it, and the checks that have to be judged."""
        earlier = journal.read_entry(self.course, submission.learner, exercise.name)
        keys = journal.keys_of(submission, exercise, self.seed, self.limits, self.level)
        work = Work(submission.learner, exercise.name, submission, keys=keys)
        checks = list(exercise.checks)
        if earlier is None or earlier.refused:
            work.reasons = dict.fromkeys(checks, "it is new")
        else:
            work.earlier = earlier
            work.reasons = dict.fromkeys(checks, "it was asked for") if self.again else journal.affected(earlier, keys, checks)
        return work

    def finish(self, work: Work) -> Entry:
        """Return the entry when it is judged, and keep it in the journal."""
        entry = self.decided(work)
        if entry is not work.earlier:
            write_all([journal.entry_file(self.course, entry)])
        return entry

    def decided(self, work: Work) -> Entry:
        """Return the entry when it is judged."""
        if work.submission is None:
            return Entry(work.learner, work.exercise, {}, refused=work.refused)
        earlier = work.earlier
        if work.task is None and earlier and earlier.keys == work.keys:
            return earlier
        exercise = exercises.load(work.exercise)
        new = {v.check: _noted(v, work.submission, exercise) for v in self._verdicts(work)}
        old = {v.check: v for v in earlier.verdicts} if earlier else {}
        entry = Entry(work.learner, exercise.name, work.keys, tuple((old | new)[check] for check in exercise.checks))
        if not entry.settled and earlier and earlier.settled and earlier.keys == work.keys:
            return earlier  # a failure of ours takes nothing away
        return entry

    def _verdicts(self, work: Work) -> list[Verdict]:
        if work.task is None or work.verdicts is None:
            return []
        reason = ""
        for number in range(TRIES):
            if number:
                work.verdicts = self.judges.submit(work.task.as_text())
            self.judges.wait_for([work.verdicts])
            try:
                return verdicts_from_text(work.verdicts.result())
            except CannotGoOn:
                raise
            except Exception as error:  # the process that judged it died
                reason = f"{type(error).__name__}: {error}"
        return our_failure(work.task, reason)


def grade(
    course: Course,
    names: list[str],
    limits: Limits = Limits(),
    again: bool = False,
    level: Level | None = None,
    judges: Judges | None = None,
    seen: Callable[[Result], None] = lambda result: None,
) -> Graded:
    """Return what came of grading all submissions to these exercises, by `judges` or else in this process.

    `seen` is called with each result when it is in the gradebook; with several judges that is the order in which they are done.
    An error that it raises ends the run. Raises `CannotGoOn`; what was judged until then is in the journal.
    """
    with (
        held(course.lock, "python -m autograder grade", LOCK_SECONDS),
        chosen_judges(1, level) if judges is None else nullcontext(judges) as judges,
        database.opened(course.gradebook_url) as gradebook,
    ):
        remove_half_written(course.root, *course.written)
        return _Run(Grader(course, limits, again, level, judges), gradebook, seen).grade(course.submissions(names))


class _Run:
    """One run over a class: judges are kept supplied with submissions, and these are entered as they are done."""

    def __init__(self, grader: Grader, gradebook: Gradebook, seen: Callable[[Result], None]):
        self._grader, self._gradebook, self._seen = grader, gradebook, seen
        self._waiting: list[Work] = []
        self._entries: list[Entry] = []
        self._marks: dict[tuple[str, str], Marks] = {}
        self._changes: list[Change] = []
        self._new = self._unchanged = 0

    def grade(self, submissions: list[tuple[str, str]]) -> Graded:
        for name in dict.fromkeys(name for _, name in submissions):
            gradebooks.prepare(self._gradebook, self._grader.course.gradebook_url, exercises.load(name), self._grader.course.settings)
        for learner, name in submissions:
            self._start(learner, exercises.load(name))
            self._enter_ready(self._grader.judges.ahead)
        self._enter_ready(0)
        return Graded(self._entries, self._marks, self._changes, self._new, self._unchanged)

    def _start(self, learner: str, exercise: Exercise) -> None:
        """Start on a submission, unless it has been removed since it was listed."""
        course = self._grader.course
        try:
            work = self._grader.start(read_submission(course.handed_in(learner, exercise.name), learner, exercise))
        except Refused as error:
            if not there(course.submitted / learner / exercise.name):
                log.warning("%s/%s was removed while the class was graded; its marks stay as they were.", learner, exercise.name)
                return
            work = Work(learner, exercise.name, refused=str(error))
        self._waiting.append(work)

    def _enter_ready(self, most: int) -> None:
        """Enter the submissions that are judged; wait for judges until no more than `most` are left."""
        while self._waiting:
            ready = [work for work in self._waiting if work.is_ready][:AT_ONCE]
            if not ready and len(self._waiting) <= most:
                return
            if ready:
                self._enter(ready)
            else:
                self._grader.judges.wait_for([work.verdicts for work in self._waiting if work.verdicts])

    def _enter(self, ready: list[Work]) -> None:
        self._waiting = [work for work in self._waiting if work not in ready]
        entries, marks = finished(self._grader, self._gradebook, ready)
        self._marks |= marks
        for work, entry in zip(ready, entries):
            self._entries.append(entry)
            self._changes += work.changes(entry)
            self._new += work.earlier is None
            self._unchanged += entry is work.earlier
            self._seen(Result(entry, marks.get(entry.of, Marks())))


def finished(grader: Grader, gradebook: Gradebook, works: list[Work]) -> tuple[list[Entry], dict[tuple[str, str], Marks]]:
    """Write the results of submissions (journal, marks, notebooks, feedback); return their entries, and what the gradebook then has on each.

    All that are ready are written together, because most of it is waiting for the disk.
    """
    course = grader.course
    entries: list[Entry] = []
    try:
        for work in works:
            entries.append(grader.decided(work))
    finally:  # what was judged stays, whatever stops this
        named = [
            (work, entry) for work, entry in zip(works, entries) if is_learner(entry.learner)
        ]  # only a learner's name may become part of a path
        write_all([journal.entry_file(course, entry) for work, entry in named if entry is not work.earlier])
    times = {entry.of: handed_in_at(course, *entry.of) for _, entry in named}
    marks = gradebooks.record(gradebook, [entry for _, entry in named], times, grader.late, course.settings.consequences)
    write_all([file for work, entry in named for file in files_of(course, work.submission, entry, marks[entry.of])])
    return entries, marks


def _noted(verdict: Verdict, submission: Submission, exercise: Exercise) -> Verdict:
    """Return the verdict with the note on the answer cell that its check is about."""
    note = submission.notes.get(_answer_before(exercise, verdict.check), "")
    return replace(verdict, note=note) if note else verdict


def _answer_before(exercise: Exercise, check: str) -> str:
    """Return the answer cell above a check: the one that the check is about."""
    ids = [cell.id for cell in exercise.cells]
    above = set(ids[: ids.index(check)])
    return [cell.id for cell in exercise.answers if cell.id in above][-1]
