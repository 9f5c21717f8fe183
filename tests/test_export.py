"""`nbgrader export`: quoted, formula-safe, one column a check."""

import csv

from autograder.grading import grade
from autograder.pages.table import as_csv, safe
from autograder.records import database

HOSTILE = {
    '=HYPERLINK("http://127.0.0.1:1/?"&A1)': "'=",
    "+1+cmd|' /C calc'!A0": "'+",
    "-2+3": "'-",
    "@SUM(A1)": "'@",
    "\t=1": "'\t",
    " =1": "' =",
    "＝1+1": "'＝",
    "x;=1+1": "x;'=",
    "x\n=1": "x\n'=",
}


def test_cells_that_would_be_formulas_become_text():
    for text, begins in HOSTILE.items():
        assert safe(text).startswith(begins), text
    for plain in ("Ada", "O'Neill, Grace", 'the "first"', "a-b", "ada@example.org", ""):
        assert safe(plain) == plain
    assert safe(-1.5) == -1.5 and safe(None) == "" and safe("a\x00\x1b[2J\u202eb") == "a\\x00\\x1b[2J\\u202eb"


def test_what_was_written_is_read_back_whole():
    rows = [{"student_id": text, "score": -1.5, "=check": 2} for text in [*HOSTILE, 'quote " and , comma', "two\nlines"]]
    text = as_csv(rows, [])
    back = list(csv.DictReader(text.splitlines(keepends=True)))
    assert len(back) == len(rows) and all(row["score"] == "-1.5" and row["'=check"] == "2" for row in back)
    assert [row["student_id"] for row in back][-2:] == ['quote " and , comma', "two\nlines"]
    assert not any(cell.lstrip().startswith(("=", "+", "@")) for row in back for cell in row.values())


def test_command_writes_marks_by_check(course, hand_in, command, single_head):
    hand_in("ada", single_head)
    hand_in("bob", single_head, single_head.mistakes[0])
    broken = hand_in("eve", single_head)
    broken.write_text("{")
    entries = {entry.learner: entry for entry in grade(course, ["single_head"]).entries}
    with database.opened(course.gradebook_url) as gradebook:
        gradebook.update_or_create_student("ada", last_name='=HYPERLINK("http://127.0.0.1:1")', first_name='Ada, "the first"\n', email="+1")
        gradebook.update_or_create_student("absent", last_name="@x")
    command("nbgrader", "export", "--to", course.root / "grades.csv")
    with (course.root / "grades.csv").open(newline="") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert rows["ada"]["last_name"].startswith("'=") and rows["ada"]["email"] == "'+1" and rows["ada"]["first_name"] == 'Ada, "the first"\n'
    for learner in ("ada", "bob"):
        scores = {verdict.check: verdict.score for verdict in entries[learner].verdicts}
        assert {check: float(rows[learner][check]) for check in scores} == scores
        assert float(rows[learner]["score"]) == entries[learner].score and rows[learner]["state"] == "marked"
    assert (rows["eve"]["score"], rows["eve"]["state"]) == ("", "to be marked")
    assert (float(rows["absent"]["score"]), rows["absent"]["state"], rows["absent"]["last_name"]) == (0.0, "nothing handed in", "'@x")
    command("nbgrader", "export", "--to", course.root / "one.csv", "--student", '["bob"]')
    with (course.root / "one.csv").open(newline="") as file:
        assert [row["student_id"] for row in csv.DictReader(file)] == ["bob"]
