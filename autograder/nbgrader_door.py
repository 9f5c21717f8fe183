"""Our two steps in nbgrader's own pipeline: the ordinary command and button, and our judge.

*Rebuild* stands among the sanitizing steps: of what was handed in it keeps the answers' sources.
*Judge* stands where nbgrader would execute the notebook: it enters verdicts and marks.
"""
from __future__ import annotations

import atexit
from functools import lru_cache
from logging import getLogger
from pathlib import Path

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from . import exercise as exercises
from . import gradebook as books
from .course import Course, write_whole
from .errors import Refused
from .feedback import feedback_page
from .grading import Grader
from .notebooks import annotated, rebuilt
from .submission import read

log = getLogger("nbgrader")


def refuse_early(assignment: str, student: str, notebooks: list[str]) -> None:
    """Take unreadable notebooks out of a submission before nbgrader opens them, and say why.

    nbgrader's pre-convert hook. nbgrader then leaves this submission out and goes on.
    """
    for path in list(notebooks):
        learner, name = Path(path).parts[-3:-1]
        try:
            read(Path(path), learner, exercises.load(name))
        except Refused as error:
            log.error("Not judged: %s/%s: %s", learner, name, error)
            notebooks.remove(path)


class Rebuild(NbGraderPreprocessor):
    """Replaces the notebook by the released one with the learner's answers in it."""

    def preprocess(self, notebook: NotebookNode, resources: dict):
        submission = _submission(resources)
        return rebuilt(exercises.load(submission.exercise), submission), resources


class Judge(NbGraderPreprocessor):
    """Judges the answers in the sandbox and writes the marks into the gradebook."""

    def preprocess(self, notebook: NotebookNode, resources: dict):
        submission, course = _submission(resources), _course(resources)
        exercise = exercises.load(submission.exercise)
        entry = _grader(course).entry(submission)
        with books.opened(resources["nbgrader"]["db_url"]) as gradebook:
            books.record(gradebook, entry)
        write_whole(course.feedback(entry.learner, entry.exercise), feedback_page(entry, exercise))
        return annotated(notebook, list(entry.verdicts)), resources


@lru_cache
def _grader(course: Course) -> Grader:
    """Return the one grader of this process: its sandbox is started once, not for each learner."""
    grader = Grader(course)
    atexit.register(grader.close)
    return grader


def _course(resources: dict) -> Course:
    """Return the course that nbgrader's gradebook belongs to."""
    return Course(Path(resources["nbgrader"]["db_url"].removeprefix("sqlite:///")).parent)


def _submission(resources: dict):
    about, course = resources["nbgrader"], _course(resources)
    exercise = exercises.load(about["assignment"])
    return read(course.handed_in(about["student"], exercise.name), about["student"], exercise)
