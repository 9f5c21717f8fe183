"""Grading: every submission of a course, from the file handed in to the gradebook."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from time import monotonic

from nbgrader.api import Gradebook

from .exercise import reading as exercises
from .exercise.model import Exercise
from .files import remove_half_written, write_all
from .grader import Change, Grader, Work
from .intake.submission import is_learner
from .limits import Limits
from .pool.base import Judges
from .pool.choose import chosen_judges
from .records import database, journal
from .records import gradebook as gradebooks
from .records.course import Course, there
from .records.entry import Entry
from .records.history import noted
from .records.lock import held
from .records.marks import Marks
from .records.results import Result
from .sandbox.levels import Level
from .strangers import log_of
from .writing import files_of

log = log_of("autograder")
LOCK_SECONDS = 20.0  # to wait: nbgrader's command holds the lock for one submission at a time
AT_ONCE = 50  # submissions in one transaction: a database takes only so many values in a statement
ENTER_SECONDS = 0.4  # between two transactions: most of what one takes does not depend on how many submissions are in it


@dataclass(frozen=True)
class Graded:
    """What one run has done: an entry for each submission, in the order in which they were entered, what the gradebook then had on
    each, and the marks that changed."""

    entries: list[Entry] = field(default_factory=list)
    marks: dict[tuple[str, str], Marks] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    new: int = 0  # entries of what had never been judged
    unchanged: int = 0  # entries that needed no judging: the journal had valid verdicts on all checks


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
        self._entered_at = 0.0  # by the monotonic clock
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
        work = self._grader.begin(learner, exercise)
        if work.refused and not there(self._grader.course.submitted / learner / exercise.name):
            log.warning("%s/%s was removed while the class was graded; its marks stay as they were.", learner, exercise.name)
            return
        self._waiting.append(work)

    def _enter_ready(self, most: int) -> None:
        """Enter the submissions that are judged; wait for judges until no more than `most` are at work."""
        while self._waiting:
            ready = [work for work in self._waiting if not work.awaited]
            at_work = [each for work in self._waiting for each in work.awaited]
            nothing_else = not at_work and not most
            if ready and (nothing_else or len(ready) >= AT_ONCE or monotonic() - self._entered_at >= ENTER_SECONDS):
                self._enter(ready[:AT_ONCE])
            elif len(at_work) <= most:
                return
            else:
                self._grader.judges.wait_for(at_work)

    def _enter(self, ready: list[Work]) -> None:
        self._entered_at = monotonic()
        self._waiting = [work for work in self._waiting if work not in ready]
        entries, marks = finished(self._grader, self._gradebook, ready)
        self._marks |= marks
        for work, entry in zip(ready, entries):
            self._entries.append(entry)
            self._changes += work.changes(entry)
            self._new += work.is_new(entry)
            self._unchanged += work.is_unchanged(entry)
            self._seen(Result(entry, marks.get(entry.of, Marks())))


def finished(grader: Grader, gradebook: Gradebook, works: list[Work]) -> tuple[list[Entry], dict[tuple[str, str], Marks]]:
    """Write the results of submissions (journal, marks, notebooks, feedback); return their entries, and what the gradebook then has on each.

    All that are ready are written together, because most of it is waiting for the disk.
    """
    course = grader.course
    judged: list[list[Entry]] = []
    entries: list[Entry] = []
    try:
        for work in works:
            judged.append(grader.judged(work))
        entries = [grader.counted(work, each, grader.worth_in(gradebook)) for work, each in zip(works, judged)]
    finally:  # what was judged stays, whatever stops this
        kept = entries or [grader.until_compared(work, each) for work, each in zip(works, judged)]
        named = [
            (work, entry) for work, entry in zip(works, kept) if is_learner(entry.learner)
        ]  # only a learner's name may become part of a path
        write_all([journal.entry_file(course, entry) for work, entry in named if entry != work.before])
    times = {entry.of: entry.at for _, entry in named}
    marks = gradebooks.record(gradebook, [entry for _, entry in named], times, grader.late, course.settings.consequences)
    written = [file for _, entry in named for file in files_of(course, entry, marks[entry.of])]
    write_all([*written, *noted(course, [Result(entry, marks[entry.of]) for _, entry in named], grader.began)])
    return entries, marks
