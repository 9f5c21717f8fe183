"""A draft of a known mistake, made from the work of a learner whose mistake has no name yet.

A learner's work is judged behind the wall here too: each function that differs from the reference answer's is put into
the reference answer by itself, and those that fail a check alone are the mistakes.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

from ..errors import AuthorError
from ..exercise.edits import definitions, lines_of, replace_definitions
from ..exercise.model import Exercise
from ..files import write_whole
from ..intake.submission import Submission
from ..judging.task import Task, verdicts_from_text
from ..kit.outcome import Outcome, Verdict
from ..limits import Limits, asked_limits
from ..pool.base import Judges
from ..pool.choose import chosen_judges
from ..records.course import Course
from ..records.resubmissions import submission_that_counts
from ..records.results import called, unknown
from ..sandbox.levels import Level, required

WARNING = """# Drafted from what a learner handed in. Read it before you put it into solutions/{exercise}/mistakes.py: known mistakes are run
# outside the sandbox when the tests are proven. Then write what the mistake is, and a hint that leads on, and run
# `python -m autograder matrix {exercise}`.
"""
DRAFT = '''
class what_is_it_called:
    """What was done instead of what?"""

    fails = {fails}
    hint = "Which question leads on?"

{source}
'''


@dataclass(frozen=True)
class _Work:
    """A learner's definitions and imports, beside those of the reference answer."""

    different: dict[str, str]  # by name, those that the reference answer defines too
    more: list[str]  # imports, and what the reference answer does not define


def write_draft(course: Course, exercise: Exercise, shown: str) -> Path:
    """Write known mistakes drafted from the work of the learner whom the course shows under that name; return the file."""
    learner, level = called(course, shown), required()
    if (learner, exercise.name) not in course.submissions([exercise.name]):
        raise unknown(course, exercise.name, shown)
    submission = submission_that_counts(course, learner, exercise)
    with chosen_judges(1, level) as judges:
        text = drafts(exercise, submission, course.seed(), asked_limits(), level, judges)
    path = course.root / "drafts" / f"{exercise.name}-{shown}.py"
    write_whole(path, text)
    return path


def drafts(exercise: Exercise, submission: Submission, seed: int, limits: Limits, level: Level, judges: Judges) -> str:
    """Return known mistakes as Python source, one for each function that is wrong by itself; raises `AuthorError` where none is."""
    work = _work(exercise, submission)

    def draft_of(new: dict[str, str]) -> list[str]:
        task = Task(_put_in(exercise, submission.learner, new, work.more), tuple(exercise.checks), seed, limits, level)
        verdicts = verdicts_from_text(judges.submit(task.as_text()).result())
        failed = [v for v in verdicts if v.outcome is not Outcome.PASSED]
        return [_draft(new, work.more, failed)] if failed else []

    found = [text for name, source in work.different.items() for text in draft_of({name: source})]
    found = found or (draft_of(work.different) if len(work.different) > 1 else [])  # some are wrong only together
    if not found:
        raise AuthorError(f"{submission.learner}/{exercise.name}: nothing that differs from the reference answer fails a check")
    return WARNING.format(exercise=exercise.name) + "\n".join(found)


def _work(exercise: Exercise, submission: Submission) -> _Work:
    reference = {node.name: ast.dump(node) for cell in exercise.answers for node in definitions(cell.source)}
    different, more = {}, []
    for source in submission.answers.values():
        for node in _statements(source):
            text = "\n".join(source.splitlines()[lines_of(node)])
            name = getattr(node, "name", "")
            if name not in reference:
                more.append(text)
            elif ast.dump(node) != reference[name]:
                different[name] = text
    return _Work(different, more)


def _statements(source: str) -> list[ast.stmt]:
    """Return the statements of a cell; none where it cannot be parsed, which is a mistake that has a name."""
    try:
        return ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _put_in(exercise: Exercise, learner: str, new: dict[str, str], more: list[str]) -> Submission:
    """Return the reference answer with these definitions in place of its own, as if a learner had handed it in."""
    answers = {cell.id: replace_definitions(cell.source, new) for cell in exercise.answers}
    first = next((cell.id for cell in exercise.answers if answers[cell.id] != cell.source), exercise.answers[0].id)
    answers[first] = "\n\n\n".join([*more, answers[first]])
    return Submission(learner, exercise.name, answers)


def _draft(new: dict[str, str], more: list[str], failed: list[Verdict]) -> str:
    used = [text for text in more if _is_used(text, "\n".join([*new.values(), *more]))]
    source = "\n\n".join([*used, *new.values()])
    return DRAFT.format(fails="[" + ", ".join(f'"{v.check}"' for v in failed) + "]", source=indent(source, "    "))


def _is_used(text: str, by: str) -> bool:
    """Return whether a name that a statement makes stands anywhere else."""
    node = ast.parse(text).body[0]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        names = [(alias.asname or alias.name).split(".")[0] for alias in node.names]
    else:
        names = [getattr(node, "name", "")]
    return any(len(re.findall(rf"\b{re.escape(name)}\b", by)) > 1 for name in filter(None, names))
