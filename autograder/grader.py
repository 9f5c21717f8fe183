"""One submission on its way to an entry: what the journal still holds, what has to be judged, and which of a learner's submissions counts."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from nbgrader.api import Gradebook

from .errors import CannotGoOn, Refused
from .exercise import reading as exercises
from .exercise.model import Exercise
from .files import write_all
from .intake.reading import read_submission
from .intake.submission import Submission, is_learner
from .judging.task import Task, our_failure, verdicts_from_text
from .kit.outcome import Verdict
from .limits import Limits
from .pool.base import Judges
from .pool.here import Here
from .records import database, journal, resubmissions
from .records.course import Course
from .records.entry import Entry
from .records.handed_in import handed_in_at
from .records.history import run_begins
from .records.late import Late
from .records.resubmissions import Worth
from .sandbox.levels import Level, required

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


@dataclass(eq=False)
class Work:
    """One submission on its way to an entry: what it holds, the entry that it had before, and what is being judged."""

    learner: str
    exercise: str
    submission: Submission | None = None  # None where it was refused
    at: datetime | None = None  # when it was handed in
    refused: str = ""
    keys: dict[str, str] = field(default_factory=dict)
    earlier: Entry | None = None  # from the journal, with verdicts that may still hold
    reasons: dict[str, str] = field(default_factory=dict)  # of the checks that are being judged again
    task: Task | None = None
    verdicts: Future[str] | None = None
    before: Entry | None = None  # the journal's entry of the submission that counted until now
    rivals: list[Work] = field(default_factory=list)  # on what the learner had handed in before, where the best counts

    @property
    def awaited(self) -> list[Future[str]]:
        """Return what judges are still at."""
        return [work.verdicts for work in (self, *self.rivals) if work.verdicts and not work.verdicts.done()]

    def changes(self, entry: Entry) -> list[Change]:
        """Return the marks that differ from those of the entry before, if there was one."""
        before = self.before.scores if self.before else {}
        reasons = next((work.reasons for work in (self, *self.rivals) if work.submission == entry.submission), {})
        return [
            Change(entry.learner, entry.exercise, check, before[check], score, reasons.get(check, "another submission counts"))
            for check, score in entry.scores.items()
            if check in before and before[check] != score
        ]

    def is_new(self, entry: Entry) -> bool:
        """Return whether nothing was judged before."""
        return self.before is None or bool(self.before.refused or entry.refused)

    def is_unchanged(self, entry: Entry) -> bool:
        """Return whether it needed no judging, and nothing has changed."""
        return entry == self.before and not entry.refused and not any(work.task for work in (self, *self.rivals))


class Grader:
    """Has submissions of one course judged, by `judges` or else in this process."""

    def __init__(
        self, course: Course, limits: Limits = Limits(), again: bool = False, level: Level | None = None, judges: Judges | None = None
    ):
        self.course, self.limits, self.again = course, limits, again
        self.level = required() if level is None else level  # of the sandbox
        self.seed = course.seed()
        self.late = Late()
        self.began = run_begins()
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

    def begin(self, learner: str, exercise: Exercise) -> Work:
        """Start on what lies in a learner's folder, be it readable or not."""
        try:
            return self.start(read_submission(self.course.handed_in(learner, exercise.name), learner, exercise))
        except Refused as error:
            return self.refused(learner, exercise.name, error)

    def start(self, submission: Submission) -> Work:
        """Hand to a judge what the journal has no valid verdicts on."""
        of = submission.learner, submission.exercise
        before = journal.read_entry(self.course, *of)
        earlier = resubmissions.judged_before(before, submission) if before else None
        return self._with_rivals(self._started(submission, earlier, handed_in_at(self.course, *of)), before)

    def refused(self, learner: str, exercise: str, error: Refused) -> Work:
        """Return the work on what could not be read."""
        work = Work(learner, exercise, refused=str(error))
        if not is_learner(learner):  # and so no part of a path
            return work
        work.at = handed_in_at(self.course, learner, exercise)
        return self._with_rivals(work, journal.read_entry(self.course, learner, exercise))

    def _with_rivals(self, work: Work, before: Entry | None) -> Work:
        work.before = before
        if self.course.settings.resubmissions == "best":
            earlier = resubmissions.earlier_ones(before, work.submission, work.at)
            work.rivals = [self._started(each.submission, each, each.at) for each in earlier if each.submission]
        return work

    def _started(self, submission: Submission, earlier: Entry | None, at: datetime | None) -> Work:
        exercise = exercises.load(submission.exercise)
        work = self._looked_up(submission, exercise, earlier)
        work.at = at
        if work.reasons:
            checks = tuple(check for check in exercise.checks if check in work.reasons)
            work.task = Task(submission, checks, self.seed, self.limits, self.level)
            work.verdicts = self.judges.submit(work.task.as_text())
        return work

    def _looked_up(self, submission: Submission, exercise: Exercise, earlier: Entry | None) -> Work:
        """Return a submission with the journal's entry on it, and the checks that have to be judged."""
        keys = journal.keys_of(submission, exercise, self.seed, self.limits, self.level)
        work = Work(submission.learner, exercise.name, submission, keys=keys)
        checks = list(exercise.checks)
        if earlier is None or earlier.refused:
            work.reasons = dict.fromkeys(checks, "it is new")
        else:
            work.earlier = earlier
            work.reasons = dict.fromkeys(checks, "it was asked for") if self.again else journal.affected(earlier, keys, checks)
        return work

    def finish(self, work: Work, worth: Worth | None = None) -> Entry:
        """Return the entry of the submission that counts when all is judged, and keep it in the journal.

        `worth` says what each of several would count; without it the course's gradebook is opened for that.
        """
        judged = self.judged(work)
        kept = self.until_compared(work, judged)
        try:
            kept = self.counted(work, judged, worth or self._worth)
        finally:  # what was judged stays, whatever stops this
            if kept != work.before:
                write_all([journal.entry_file(self.course, kept)])
        return kept

    def judged(self, work: Work) -> list[Entry]:
        """Return the entries of all the learner's submissions when they are judged, in the order in which they were handed in."""
        return [self.decided(each) for each in (*work.rivals, work)]

    def counted(self, work: Work, judged: list[Entry], worth: Worth) -> Entry:
        """Return, of the entries of all submissions, that of the one that counts."""
        *earlier, last = judged
        return resubmissions.the_best(last, earlier, worth) if earlier else self.until_compared(work, judged)

    def until_compared(self, work: Work, judged: list[Entry]) -> Entry:
        """Return the entry that counts as long as nobody can say what each submission is worth: as it was before."""
        *earlier, last = judged
        if earlier and work.before:
            return resubmissions.not_compared(last, earlier, work.before)
        return replace(last, other=resubmissions.still_kept(work.before, work.submission, work.at))

    def _worth(self, entries: Sequence[Entry]) -> list[float | None]:
        with database.opened(self.course.gradebook_url) as gradebook:
            return self.worth_in(gradebook)(entries)

    def worth_in(self, gradebook: Gradebook, late: Late | None = None) -> Worth:
        """Return a function that says what submissions would count, as that gradebook has deadlines and points."""
        return partial(resubmissions.worth, gradebook, late or self.late, self.course.settings.consequences)

    def decided(self, work: Work) -> Entry:
        """Return the entry of this very submission when it is judged."""
        if work.submission is None:
            return Entry(work.learner, work.exercise, {}, refused=work.refused, at=work.at)
        same = replace(work.earlier, submission=work.submission, at=work.at) if work.earlier and work.earlier.keys == work.keys else None
        if work.task is None and same:
            return same
        exercise = exercises.load(work.exercise)
        new = {v.check: _noted(v, work.submission, exercise) for v in self._verdicts(work)}
        old = {v.check: v for v in work.earlier.verdicts} if work.earlier else {}
        verdicts = tuple((old | new)[check] for check in exercise.checks)
        entry = Entry(work.learner, exercise.name, work.keys, verdicts, submission=work.submission, at=work.at)
        return same if same and same.settled and not entry.settled else entry  # a failure of ours takes nothing away

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


def _noted(verdict: Verdict, submission: Submission, exercise: Exercise) -> Verdict:
    """Return the verdict with the note on the answer cell that its check is about."""
    note = submission.notes.get(_answer_before(exercise, verdict.check), "")
    return replace(verdict, note=note) if note else verdict


def _answer_before(exercise: Exercise, check: str) -> str:
    """Return the answer cell above a check: the one that the check is about."""
    ids = [cell.id for cell in exercise.cells]
    above = set(ids[: ids.index(check)])
    return [cell.id for cell in exercise.answers if cell.id in above][-1]
