"""Our steps in nbgrader's own pipeline, so that its ordinary command and button judge in the sandbox.

`RebuildNotebook` is one of the sanitizing steps: of what was handed in it keeps the answers' sources.
`JudgeInSandbox` takes the place of the step that executes the notebook: it enters verdicts and marks.
`FeedbackExporter` takes the place of the one that turns the notebook into feedback: it writes our own page.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import time
from collections.abc import Collection, Sequence
from contextlib import ExitStack, suppress
from functools import lru_cache
from pathlib import Path

from nbconvert.exporters import Exporter
from nbformat import NotebookNode
from nbgrader.api import MissingEntry
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import default

from ..errors import Refused
from ..exercise import reading as exercises
from ..exercise.cache import clear_if_changed
from ..files import Remembered, alive, folders_below, looks, process_name, remove_half_written, write_all
from ..grader import Grader, Work
from ..intake.reading import read_submission
from ..intake.submission import Submission
from ..limits import asked_limits
from ..pool.base import default_jobs
from ..pool.choose import chosen_judges
from ..records import database, journal, resubmissions
from ..records import gradebook as gradebooks
from ..records.course import Course
from ..records.entry import Entry
from ..records.history import noted, run_begins
from ..records.late import Late
from ..records.lock import held
from ..records.marks import read_marks
from ..records.notebooks import annotated, rebuilt
from ..records.resubmissions import Worth
from ..records.results import Result
from ..sandbox.forkserver import ForkServer
from ..sandbox.levels import required
from ..strangers import log_of
from ..writing import page_files, page_of

log = log_of("nbgrader")
LOCK_SECONDS = 60.0
BEING_JUDGED = "being_judged_by"  # in a notebook's metadata, from RebuildNotebook until JudgeInSandbox
WHOLE = (
    b"\n}",
    b"\n}\n",
)  # nbformat indents what stands inside, and JSON breaks no string: a file ends so only where it was written to its end
_finished: Remembered[bool] = Remembered()


def refuse_early(assignment: str, student: str, notebooks: list[str]) -> None:
    """Leave out what is unreadable before nbgrader begins with it, and say why.

    nbgrader's pre-convert hook; `notebooks` are those that `for_nbgrader.py` has written. nbgrader then goes on with the next submission.
    Where the best submission counts and there is an earlier one, that is taken.
    """
    _enter_exercise(Course(), assignment)
    for path in list(notebooks):
        learner, name = Path(path).parts[-3:-1]
        try:
            read_submission(Course().handed_in(learner, name), learner, exercises.load(name))
        except Refused as error:
            log.error("Not judged: %s/%s: %s", learner, name, error)
            if _earlier(Course(), learner, name) is None:
                notebooks.remove(path)


def _enter_exercise(course: Course, name: str) -> None:
    """Enter an exercise that the gradebook doesn't have yet: nbgrader would ask for `generate_assignment` first, which writes what is released already."""
    with suppress(MissingEntry), database.opened(course.gradebook_url) as gradebook:
        gradebook.find_notebook(name, name)
        return
    with held(course.lock, "nbgrader autograde", LOCK_SECONDS), database.opened(course.gradebook_url) as gradebook:
        gradebooks.prepare(gradebook, course.gradebook_url, exercises.load(name), course.settings)


def _earlier(course: Course, learner: str, exercise: str) -> Submission | None:
    """Return a submission that was judged before, where the course lets the best count and one is known."""
    if course.settings.resubmissions != "best":
        return None
    known = resubmissions.earlier_ones(journal.read_entry(course, learner, exercise), None, None)
    return known[0].submission if known else None


def take_back(course: Course) -> list[Path]:
    """Remove what a killed `nbgrader autograde` left in autograded/; return the folders.

    nbgrader takes any folder there for a finished one, and would never judge that submission again.
    """
    remove_half_written(course.root, *course.written)
    folders = [f for f in folders_below(f"{course.root}/autograded", 2) if _left(f)]
    if folders:
        time.sleep(1)  # a living process may be writing just now
    left = [Path(f) for f in folders if _left(f)]
    for folder in left:
        log.warning("A run was cut off at %s/%s; that submission is judged again.", *folder.parts[-2:])
        shutil.rmtree(folder, ignore_errors=True)
    return left


@lru_cache
def take_back_once(course: Course) -> None:
    """Do that when a command or a server begins. A server reads the config at each request, and does it before each run again (`quick.py`)."""
    take_back(course)


def _left(folder: str | Path) -> bool:
    """Return whether the notebook there is not whole, or names a process that is gone as the one that judges it."""
    path = f"{folder}/{os.path.basename(folder)}.ipynb"
    now = looks(path)
    if _finished.known(path, now):
        return False  # the formgrader runs this for a whole class at each click
    try:
        text = Path(path).read_bytes()
        if BEING_JUDGED.encode() not in text and text.endswith(WHOLE):
            _finished.keep(path, True, now)
            return False  # parsing would take too long
        process = json.loads(text)["metadata"].get(BEING_JUDGED)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return True
    return process is not None and not alive(process)


class RebuildNotebook(NbGraderPreprocessor):
    """Replaces the notebook by the released one with the learner's answers in it."""

    def preprocess(self, notebook: NotebookNode, resources: dict):
        read, about = _submission(resources), resources["nbgrader"]
        if isinstance(read, Refused):  # then an earlier one counts, and `JudgeInSandbox` puts that in
            earlier = _earlier(Course(), about["student"], about["assignment"])
            if earlier is None:
                raise read
            read = earlier
        new = rebuilt(exercises.load(read.exercise), read)
        new.metadata[BEING_JUDGED] = process_name()
        return new, resources


class JudgeInSandbox(NbGraderPreprocessor):
    """Judges the answers in the sandbox and writes the marks into the gradebook."""

    def preprocess(self, notebook: NotebookNode, resources: dict):
        about, course, late = resources["nbgrader"], Course(), Late(self.parent)
        of = about["student"], about["assignment"]

        def worth(entries: Sequence[Entry]) -> list[float | None]:
            with database.opened(about["db_url"]) as gradebook:
                gradebooks.set_deadline(gradebook, of[1], course.settings)
                return resubmissions.worth(gradebook, late, course.settings.consequences, entries)

        with held(course.lock, "nbgrader autograde", LOCK_SECONDS):
            entry = _Runs.entry(course, *of, _submission(resources), self.parent.parent.assignments, worth)
            with database.opened(about["db_url"]) as gradebook:
                gradebooks.set_deadline(gradebook, entry.exercise, course.settings)
                marks = gradebooks.record(gradebook, [entry], {of: entry.at}, late, course.settings.consequences)[of]
            write_all([*page_files(course, entry, marks), *noted(course, [Result(entry, marks)], _Runs.began)])
        if entry.later:
            log.warning("%s/%s: %s", *of, entry.later)
        assert entry.submission is not None  # what is refused has ended before
        return annotated(rebuilt(exercises.load(entry.exercise), entry.submission), list(entry.verdicts)), resources


class FeedbackExporter(Exporter):
    """Our feedback page, with the marks and comments that a person gave in the formgrader."""

    @default("file_extension")
    def _html(self) -> str:
        return ".html"

    def from_notebook_node(self, nb: NotebookNode, resources: dict | None = None, **more):
        notebook, resources = super().from_notebook_node(nb, resources, **more)
        about, course = resources["nbgrader"], Course()
        of = about["student"], about["assignment"]
        entry = journal.read_entry(course, *of)
        with database.opened(about["db_url"]) as gradebook:
            marks = read_marks(gradebook, about["assignment"], [about["student"]]).get(of)
        if entry is None or marks is None:
            raise Refused("/".join(of), "it has not been judged yet", "Run `nbgrader autograde` first")
        return page_of(course, entry, marks), resources


class Ahead:
    """Judges the next submissions while nbgrader, which takes them one by one, is busy with the present one."""

    def __init__(self, course: Course, folders: Collection[str], forkserver: ForkServer):
        self.folders = folders
        self._learners = [Path(folder).parts[-2] for folder in sorted(folders)]
        self._place = {learner: place for place, learner in enumerate(self._learners)}
        self._started: dict[str, Work] = {}
        self._stack = ExitStack()
        self._judges = self._stack.enter_context(chosen_judges(min(default_jobs(), len(folders)), forkserver.level, forkserver=forkserver))
        self._grader = Grader(course, asked_limits(), level=forkserver.level, judges=self._judges)

    def close(self) -> None:
        self._stack.close()

    def entry(self, learner: str, exercise: str, read: Submission | Refused, worth: Worth | None = None) -> Entry:
        """Return the entry for what was read of one of them; `worth` says what each of several would count."""
        started = self._started.pop(learner, None)
        if isinstance(read, Refused):
            work = self._grader.refused(learner, exercise, read)
            if not work.rivals:
                raise read
        else:
            work = started if started and started.submission == read else self._grader.start(read)
        self._look_ahead(learner, exercise)
        try:
            return self._grader.finish(work, worth)
        except KeyboardInterrupt:
            self._judges.end()  # else the process would wait for all that was started
            raise

    def is_last(self, learner: str) -> bool:
        return learner == self._learners[-1]

    def _look_ahead(self, now: str, exercise: str) -> None:
        place = self._place[now] + 1
        for learner in self._learners[place : place + self._judges.ahead]:
            if learner not in self._started:
                try:
                    path = self._grader.course.handed_in(learner, exercise)
                    self._started[learner] = self._grader.start(read_submission(path, learner, exercises.load(exercise)))
                except Refused:
                    pass  # it is refused when its turn comes


class _Runs:
    """The judges of the present run in this process.

    A server such as the formgrader's has many runs, most of one submission. The fork server stays for the next run, because it needs a second to import torch.
    """

    now: Ahead | None = None
    began = run_begins()  # the run that is present, or was the last
    forkserver: ForkServer | None = None

    @classmethod
    def entry(
        cls, course: Course, learner: str, exercise: str, read: Submission | Refused, folders: Collection[str], worth: Worth | None = None
    ) -> Entry:
        """Return the entry for what was read of a submission; judges start with the first one of a run and end with the last."""
        if cls.now is None or cls.now.folders is not folders:
            cls.close()
            clear_if_changed(exercises.SOLUTIONS)
            cls.began = run_begins()
            cls.now = Ahead(course, folders, cls._forkserver())
        entry = cls.now.entry(learner, exercise, read, worth)
        if cls.now.is_last(learner):
            cls.close()
        return entry

    @classmethod
    def _forkserver(cls) -> ForkServer:
        """Return a fork server that runs, at the level that is asked for now."""
        if cls.forkserver is None or not cls.forkserver.alive or cls.forkserver.level is not required():
            cls.end()
            cls.forkserver = ForkServer(required())
        return cls.forkserver

    @classmethod
    def close(cls) -> None:
        ahead, cls.now = cls.now, None
        if ahead is not None:
            ahead.close()

    @classmethod
    def end(cls) -> None:
        """End all that this process has started."""
        cls.close()
        forkserver, cls.forkserver = cls.forkserver, None
        if forkserver is not None:
            forkserver.close()


atexit.register(_Runs.end)


def _submission(resources: dict) -> Submission | Refused:
    """Return what was handed in, or why it cannot be read."""
    about, course = resources["nbgrader"], Course()
    exercise = exercises.load(about["assignment"])
    try:
        return read_submission(course.handed_in(about["student"], exercise.name), about["student"], exercise)
    except Refused as error:
        return error
