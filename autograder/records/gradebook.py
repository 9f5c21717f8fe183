"""nbgrader's gradebook, written by one process and in nbgrader's own schema."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from nbformat import NotebookNode
from nbgrader.api import (
    Base,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    GradeCell,
    MissingEntry,
    Notebook,
    SolutionCell,
    SourceCell,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.preprocessors import ComputeChecksums, LockCells, NbGraderPreprocessor, SaveCells
from sqlalchemy import Row, bindparam, insert, select, tuple_, update

from ..errors import MarksByHand
from ..exercise.model import Exercise
from ..exercise.notebook import source_notebook
from ..kit.cells import SETUP
from .database import add_indexes, whole
from .entry import Entry
from .late import Late
from .marks import Marks, read_marks
from .settings import Settings

Of = tuple[str, str]  # a learner and an exercise


def prepare(gradebook: Gradebook, url: str, exercise: Exercise, settings: Settings | None = None) -> None:
    """Enter the exercise with its cells and points, as `nbgrader generate_assignment` does, and its deadline if the course sets one.

    Raises `MarksByHand` if the exercise has lost a cell that a person has marked.
    """
    resources = {"nbgrader": {"notebook": exercise.name, "assignment": exercise.name, "db_url": url}}
    settings = settings or Settings()
    notebook = source_notebook(exercise.worth(settings.points.get(exercise.name)))
    with whole(gradebook):
        add_indexes(gradebook)
        gradebook.update_or_create_assignment(exercise.name)
        set_deadline(gradebook, exercise.name, settings)
        _follow_changes(gradebook, exercise)
        for step in (LockCells(), ComputeChecksums(), SaveCellsHere(gradebook)):
            notebook, resources = step.preprocess(notebook, resources)


def set_deadline(gradebook: Gradebook, exercise: str, settings: Settings) -> None:
    """Enter an exercise's deadline if the course sets one; else the one of the formgrader stays."""
    if exercise in settings.deadlines:
        gradebook.find_assignment(exercise).duedate = settings.deadlines[exercise]
        gradebook.db.commit()


class SaveCellsHere(SaveCells):
    """nbgrader's step, on a gradebook that is open already: its own would be another transaction."""

    def __init__(self, gradebook: Gradebook):
        super().__init__()
        self.gradebook = gradebook

    def preprocess(self, notebook: NotebookNode, resources: dict):
        self.notebook_id = self.assignment_id = resources["nbgrader"]["assignment"]
        for cells in ("new_grade_cells", "new_solution_cells", "new_task_cells", "new_source_cells"):
            setattr(self, cells, {})
        NbGraderPreprocessor.preprocess(self, notebook, resources)
        self._create_notebook(notebook)
        return notebook, resources


def _follow_changes(gradebook: Gradebook, exercise: Exercise) -> None:
    """Give the gradebook the cells that the exercise has now. nbgrader refuses to do that once there are marks."""
    try:
        notebook = gradebook.find_notebook(exercise.name, exercise.name)
    except MissingEntry:
        return
    answers, setup = [c.id for c in exercise.answers], [c.id for c in exercise.cells if c.kind == SETUP]
    _set_cells(gradebook, exercise, notebook, notebook.grade_cells, GradeCell, list(exercise.checks), max_score=0, cell_type="code")
    _set_cells(gradebook, exercise, notebook, notebook.solution_cells, SolutionCell, answers)
    _set_cells(gradebook, exercise, notebook, notebook.source_cells, SourceCell, [*exercise.checks, *answers, *setup], cell_type="code")
    gradebook.db.flush()
    gradebook.db.expire_all()


def _set_cells(gradebook: Gradebook, exercise: Exercise, notebook: Notebook, cells: list, kind: type, names: list[str], **more) -> None:
    """Delete the cells of one kind that the exercise no longer has, and add those that are new."""
    for cell in [c for c in cells if c.name not in names]:
        for row in _emptied(exercise, cell):
            gradebook.db.delete(row)
        gradebook.db.delete(cell)
    for name in set(names) - {c.name for c in cells}:
        gradebook.db.add(kind(name=name, notebook=notebook, **more))


def _emptied(exercise: Exercise, cell: BaseCell | SourceCell) -> list[Grade | Comment]:
    """Return the rows that go with a cell; raises `MarksByHand` if a person wrote into one."""
    if isinstance(cell, SourceCell):
        return []
    by_hand = [g for g in cell.grades if g.manual_score is not None or g.extra_credit] + [c for c in cell.comments if c.manual_comment]
    if by_hand:
        raise MarksByHand(exercise.name, cell.name, sorted({row.student.id for row in by_hand}))
    return [*cell.grades, *cell.comments]


def record(
    gradebook: Gradebook,
    entries: list[Entry],
    times: Mapping[Of, datetime | None] | None = None,
    late: Late | None = None,
    consequences: float = 0.0,
) -> dict[Of, Marks]:
    """Enter the marks of submissions, all or none; a mark or comment given by hand is never touched.

    What was refused or not judged gets no mark, which is not a zero: it needs a person. `times` says when they were handed in, and
    `late` what is taken off for that; for `consequences` see `Entry.shares`. Returns what the gradebook then has on each submission, by learner and exercise.
    """
    marks: dict[Of, Marks] = {}
    with whole(gradebook):
        for name in {entry.exercise for entry in entries}:
            marks |= _enter(
                gradebook, name, [entry for entry in entries if entry.exercise == name], times or {}, late or Late(), consequences
            )
    return marks


def _enter(
    gradebook: Gradebook, exercise: str, entries: list[Entry], times: Mapping[Of, datetime | None], late: Late, consequences: float
) -> dict[Of, Marks]:
    """Enter submissions of one exercise.

    In nbgrader's tables but without its functions, which query each cell of each row by itself.
    """
    session, notebook = gradebook.db, gradebook.find_notebook(exercise, exercise)
    cells = session.query(BaseCell.id, BaseCell.name, BaseCell.type).filter_by(notebook_id=notebook.id).all()
    checks, answers = ([cell for cell in cells if cell.type == kind] for kind in ("GradeCell", "SolutionCell"))
    _made(session, Student, [{"id": entry.learner} for entry in entries])
    assignments = _made(
        session, SubmittedAssignment, [{"assignment_id": notebook.assignment_id, "student_id": entry.learner} for entry in entries]
    )
    _set(session, SubmittedAssignment, "timestamp", {row.id: times[e.of] for row, e in zip(assignments, entries) if e.of in times})
    mine = _made(session, SubmittedNotebook, [{"notebook_id": notebook.id, "assignment_id": row.id} for row in assignments])
    grades = iter(_made(session, Grade, [{"cell_id": cell.id, "notebook_id": row.id} for row in mine for cell in checks]))
    _made(session, Comment, [{"cell_id": cell.id, "notebook_id": row.id} for row in mine for cell in answers])
    worth = dict(session.query(GradeCell.name, GradeCell.max_score).filter_by(notebook_id=notebook.id).all())
    _mark(session, [(entry, {cell.name: next(grades) for cell in checks}) for entry in entries], worth, consequences)
    marks = read_marks(gradebook, exercise, [entry.learner for entry in entries])
    for entry in entries:
        each = marks[entry.of]
        each.penalty = late.penalty(entry.learner, sum(filter(None, each.points.values())), each.seconds_late)
    _set(session, SubmittedNotebook, "late_submission_penalty", {row.id: marks[e.of].penalty or None for row, e in zip(mine, entries)})
    return marks


def _made(session, kind: type[Base], wanted: list[dict[str, str]]) -> list[Row]:
    """Return the rows that have these values, in their order; those that are missing are added."""
    if not wanted:
        return []
    table = kind.__table__
    names = tuple(wanted[0])
    query = select(table).where(tuple_(*(table.c[name] for name in names)).in_([tuple(row.values()) for row in wanted]))
    have = {tuple(getattr(row, name) for name in names): row for row in session.execute(query)}
    missing = [row for row in wanted if tuple(row.values()) not in have]
    if missing:
        session.execute(insert(table), missing)
        return _made(session, kind, wanted)
    return [have[tuple(row.values())] for row in wanted]


def _mark(session, rows: list[tuple[Entry, dict[str, Row]]], worth: dict[str, float], consequences: float) -> None:
    """Write the marks into rows that are there already: of what each check is `worth`, the share that the judge gave."""
    marks = []
    for entry, grades in rows:
        given = points_of(entry, worth, consequences)
        for check, grade in grades.items():
            score = given[check]
            marks.append({"row": grade.id, "score": score, "person": score is None or grade.manual_score is not None})
    table = Grade.__table__
    changed = (
        update(table).where(table.c.id == bindparam("row")).values(auto_score=bindparam("score"), needs_manual_grade=bindparam("person"))
    )
    session.execute(changed, marks)


def points_of(entry: Entry, worth: dict[str, float], consequences: float) -> dict[str, float | None]:
    """Return the points that the judge gives for each check, of what that is `worth`; None where it gives none."""
    shares = entry.shares(consequences)
    return {check: None if (share := shares.get(check)) is None else share * most for check, most in worth.items()}


def _set(session, kind: type[Base], column: str, values: dict[str, object]) -> None:
    """Write one column of rows, by their ids."""
    table = kind.__table__
    if values:
        changed = update(table).where(table.c.id == bindparam("row")).values({column: bindparam("value")})
        session.execute(changed, [{"row": row, "value": value} for row, value in values.items()])
