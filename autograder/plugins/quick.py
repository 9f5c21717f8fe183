"""The formgrader's pages for a large class: what nbgrader's own queries give, from the rows of the exercise or learner that is asked for.

nbgrader adds up the marks of all exercises to show one of them, and goes through the whole class once for each exercise of one learner.
"""

from __future__ import annotations

import os
from collections import defaultdict

from nbgrader.api import (
    Assignment,
    Grade,
    Gradebook,
    GradeCell,
    Notebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
    TaskCell,
)
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from nbgrader.server_extensions.formgrader import base
from nbgrader.utils import temp_attrs
from sqlalchemy import Select, case, func, select
from sqlalchemy.engine import make_url
from sqlalchemy.orm import joinedload, undefer

from ..files import folders_below
from ..records.course import Course
from .autograde import take_back

# The kinds of cells that get marks: the name of nbgrader's columns, the table, the type of cell.
KINDS = (("code", GradeCell, "code"), ("written", GradeCell, "markdown"), ("task", TaskCell, "markdown"))
PERSON = ("first_name", "last_name")


def answer_from_fewer_rows() -> None:
    """Let the formgrader of this process ask these classes."""
    base.Gradebook, base.NbGraderAPI = QuickGradebook, QuickAPI


class QuickGradebook(Gradebook):
    """nbgrader's gradebook, with other queries."""

    def notebook_submissions(self, notebook: str, assignment: str) -> list[SubmittedNotebook]:
        of = select(Notebook.id).join(Assignment).where(Notebook.name == notebook, Assignment.name == assignment)
        at_once = (
            joinedload(SubmittedNotebook.assignment).joinedload(SubmittedAssignment.student),
            undefer(SubmittedNotebook.failed_tests),
        )
        return self.db.query(SubmittedNotebook).options(*at_once).filter(SubmittedNotebook.notebook_id.in_(of)).all()

    def submission_dicts(self, assignment_id: str) -> list[dict]:
        of = {"id": SubmittedAssignment.id, "name": Assignment.name, "timestamp": SubmittedAssignment.timestamp}
        return self._rows(of, Assignment.name == assignment_id)

    def notebook_submission_dicts(self, notebook_id: str, assignment_id: str) -> list[dict]:
        of = {"id": SubmittedNotebook.id, "name": Notebook.name, "flagged": SubmittedNotebook.flagged}
        failed = {"failed_tests": func.max(case((_failed(), 1), else_=0))}
        return self._rows(of, Assignment.name == assignment_id, Notebook.name == notebook_id, **failed)

    def _rows(self, of: dict, *where, **more) -> list[dict]:
        """Return a row for each of these with the sums of its marks, as nbgrader's `to_dict` has them."""
        named = {**of, "student": Student.id, **{name: getattr(Student, name) for name in PERSON}}
        flags = {"needs_manual_grade": func.max(case((Grade.needs_manual_grade, 1), else_=0)), **more}
        query = _of_grades(select(*_labelled(named), *_sums(), *_labelled(flags))).where(*where).group_by(*named.values())
        return [_with_totals(dict(row._mapping), flags) for row in self.db.execute(query)]

    def average_assignment_score(self, assignment_id: str) -> float:
        return sum(self._averages(assignment_id).values())

    def average_assignment_code_score(self, assignment_id: str) -> float:
        return self._averages(assignment_id)["code_score"]

    def average_assignment_written_score(self, assignment_id: str) -> float:
        return self._averages(assignment_id)["written_score"]

    def average_assignment_task_score(self, assignment_id: str) -> float:
        return self._averages(assignment_id)["task_score"]

    def _averages(self, assignment_id: str) -> dict[str, float]:
        count = self.find_assignment(assignment_id).num_submissions
        query = _of_grades(select(*[sums for sums in _sums() if not sums.name.startswith("max_")]))
        row = self.db.execute(query.where(Assignment.name == assignment_id)).one()
        return {name: (points or 0.0) / count if count else 0.0 for name, points in row._mapping.items()}


class KeptGradebook(QuickGradebook):
    """One that stays connected when it is closed, since opening it again takes longer than most queries."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self._known: dict[str, dict[str, float]] = {}  # averages, until it is closed

    def close(self) -> None:
        self._known.clear()
        self.db.remove()

    def _averages(self, assignment_id: str) -> dict[str, float]:
        if assignment_id not in self._known:
            self._known[assignment_id] = super()._averages(assignment_id)
        return self._known[assignment_id]


def _of_grades(query: Select) -> Select:
    """Return the query over all marks, each with its learner, exercise, notebook and cell."""
    grades, tasks = GradeCell.__table__, TaskCell.__table__
    return (
        query.select_from(Assignment)
        .join(SubmittedAssignment, SubmittedAssignment.assignment_id == Assignment.id)
        .join(Student, Student.id == SubmittedAssignment.student_id)
        .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .join(Notebook, Notebook.id == SubmittedNotebook.notebook_id)
        .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
        .outerjoin(grades, grades.c.id == Grade.cell_id)
        .outerjoin(tasks, tasks.c.id == Grade.cell_id)
    )


def _sums() -> list:
    """Return the points, and the most that there could be, for each kind of cell."""
    found = []
    for kind, cells, cell_type in KINDS:
        table = cells.__table__
        for name, value in ((f"{kind}_score", Grade.score), (f"max_{kind}_score", table.c.max_score)):
            found.append(func.sum(case((table.c.cell_type == cell_type, value), else_=0.0)).label(name))
    return found


def _failed():
    cells = GradeCell.__table__
    return (cells.c.cell_type == "code") & (Grade.auto_score < cells.c.max_score)


def _labelled(columns: dict) -> list:
    return [column.label(name) for name, column in columns.items()]


def _with_totals(row: dict, flags: dict) -> dict:
    totals = {f"{most}score": sum(row[f"{most}{kind}_score"] for kind, *_ in KINDS) for most in ("", "max_")}
    return {**row, **totals, **{flag: bool(row[flag]) for flag in flags}}


class QuickAPI(NbGraderAPI):
    """What the formgrader's pages ask for; nbgrader makes one for each request."""

    _opened: dict[tuple, KeptGradebook] = {}  # the one that was asked for last, in this process
    _one: str | None = None  # the learner that is asked for, where it is one
    _listed: dict[str, set[str]] | None = None  # who has handed in what, where all exercises are asked for

    @property
    def gradebook(self) -> KeptGradebook:
        url = self.coursedir.db_url
        name = url, self.course_id, _file_of(url)
        if name not in self._opened:
            while self._opened:
                Gradebook.close(self._opened.popitem()[1])
            opened = KeptGradebook(url, self.course_id)
            self._opened[url, self.course_id, _file_of(url)] = opened  # it may have been made just now
            return opened
        return self._opened[name]

    def autograde(self, *args, **more) -> dict:
        take_back(Course())
        return super().autograde(*args, **more)

    def get_assignments(self) -> list[dict]:
        with temp_attrs(self, _listed=self._all_submitted()):
            return super().get_assignments()

    def get_student_submissions(self, student_id: str) -> list[dict]:
        with temp_attrs(self, _one=student_id):  # as if nobody else were in the class
            return super().get_student_submissions(student_id)

    def get_students(self) -> list[dict]:
        if self._one is None:
            return super().get_students()
        student = self.get_student(self._one)
        return [student] if student else []

    def get_submitted_students(self, assignment_id: str) -> set[str]:
        if self._listed is not None:
            return self._listed.get(assignment_id, set())
        if self._one is None:
            return super().get_submitted_students(assignment_id)
        folder = self.coursedir.format_path(self.coursedir.submitted_directory, self._one, "" if assignment_id == "*" else assignment_id)
        return {self._one} if os.path.isdir(folder) else set()

    def get_autograded_students(self, assignment_id: str) -> set[str]:
        if self._one is None:
            return super().get_autograded_students(assignment_id)
        with self.gradebook as gradebook:
            mine = select(SubmittedAssignment.timestamp).join(Assignment)
            row = gradebook.db.execute(
                mine.where(Assignment.name == assignment_id, SubmittedAssignment.student_id == self._one)
            ).one_or_none()
        folder = self.coursedir.format_path(self.coursedir.autograded_directory, self._one, assignment_id)
        done = row and os.path.isdir(folder) and row.timestamp == self.get_submitted_timestamp(assignment_id, self._one)
        return {self._one} if done else set()

    def _all_submitted(self) -> dict[str, set[str]] | None:
        """Return who has handed in each exercise; None where folders are not named as nbgrader names them without being told."""
        if self.coursedir.directory_structure != CourseDirectory.directory_structure.default_value:
            return None
        listed: dict[str, set[str]] = defaultdict(set)
        top = self.coursedir.format_path(self.coursedir.submitted_directory, ".", ".")
        for folder in folders_below(top, 2):
            learner, exercise = folder.split("/")[-2:]
            listed[exercise].add(learner)
        return listed


def _file_of(url: str) -> int | None:
    """Return what tells a gradebook's file from another one under its name; None where it is no file."""
    path = make_url(url).database if make_url(url).get_backend_name() == "sqlite" else None
    return os.stat(path).st_ino if path and os.path.exists(path) else None
