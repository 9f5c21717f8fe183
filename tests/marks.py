"""What stands in a course's gradebook and folders, in a form that can be compared."""

import sqlite3
from contextlib import closing
from pathlib import Path

import nbformat

from autograder.authoring.sample import handed_in
from autograder.exercise import reading as exercises
from autograder.intake.submission import Submission
from autograder.records.notebooks import rebuilt

GRADES = """select submitted_assignment.student_id, base_cell.name, grade.auto_score, grade.manual_score, grade.extra_credit, grade.needs_manual_grade
 from grade join submitted_notebook on grade.notebook_id = submitted_notebook.id
 join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id
 join base_cell on grade.cell_id = base_cell.id order by 1, 2"""
COMMENTS = (
    GRADES.replace(
        "grade.auto_score, grade.manual_score, grade.extra_credit, grade.needs_manual_grade", "comment.auto_comment, comment.manual_comment"
    )
    .replace("from grade join", "from comment join")
    .replace("grade.", "comment.")
)


def marks(course) -> tuple[list, list]:
    """Return every grade (learner, check, auto, manual, extra credit, needs a person) and every comment."""
    with closing(sqlite3.connect(course.root / "gradebook.db")) as database:
        return database.execute(GRADES).fetchall(), database.execute(COMMENTS).fetchall()


def files(course, *folders: str) -> dict[str, bytes]:
    """Return the content of every file in these folders of a course, hidden ones too, by path."""
    found = [path for folder in folders for path in sorted((course.root / folder).rglob("*")) if path.is_file()]
    return {str(path.relative_to(course.root)): Path(path).read_bytes() for path in found}


def everything(course) -> tuple:
    """Return all that grading a class leaves behind; two runs that end alike leave the same."""
    return (
        marks(course),
        files(course, "verdicts", "autograded", "feedback"),
        sorted(p.name for p in course.root.glob("*") if not p.name.startswith("report.")),
    )


def small_class(course) -> None:
    """Lay out four submissions: a right answer, two mistakes and an empty one."""
    exercise = exercises.load("single_head")
    known = {"ada": exercise.variants[0], "alan": exercise.mistakes[0], "barbara": exercise.mistakes[3]}
    texts = {learner: handed_in(exercise, each) for learner, each in known.items()}
    texts["claude"] = rebuilt(exercise, Submission("", exercise.name, {}))
    for learner, notebook in texts.items():
        path = course.submitted / learner / exercise.name / f"{exercise.name}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(nbformat.writes(notebook), encoding="utf-8")
