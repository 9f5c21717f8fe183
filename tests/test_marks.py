"""One truth for marks: what pages, tables and nbgrader show is what the gradebook has, late work and marks by hand included."""

import csv
import re
from datetime import datetime, timedelta

import pytest

from autograder.grading import grade
from autograder.kit.outcome import Outcome
from autograder.records import database
from autograder.records import gradebook as gradebooks
from autograder.records.late import Late
from autograder.records.marks import read_marks

DUE = datetime(2026, 11, 20, 12)
MOST = 20


class Half(Late):
    """Half of the points for every day."""

    def __init__(self):
        super().__init__()
        self._plugin = self

    def late_submission_penalty(self, learner: str, score: float, seconds: float) -> float:
        return score / 2 * (seconds // 86400)


@pytest.fixture
def due(course, single_head):
    with database.opened(course.gradebook_url) as gradebook:
        gradebooks.prepare(gradebook, course.gradebook_url, single_head)
        gradebook.update_or_create_assignment("single_head", duedate=DUE)


@pytest.fixture
def hand_in_at(hand_in, single_head):
    def write(learner: str, at: datetime | None, known=None):
        path = hand_in(learner, single_head, known)
        path.with_name("timestamp.txt").unlink(missing_ok=True)
        if at:
            path.with_name("timestamp.txt").write_text(f"{at} UTC\n")

    return write


def by_hand(course, learner: str, check: str, **marks) -> None:
    with database.opened(course.gradebook_url) as gradebook:
        mark = gradebook.find_grade(check, "single_head", "single_head", learner)
        for column, value in ({"needs_manual_grade": False} | marks).items():
            setattr(mark, column, value)
        gradebook.db.commit()


def marks_of(course):
    with database.opened(course.gradebook_url) as gradebook:
        return {learner: each for (learner, _), each in read_marks(gradebook, "single_head").items()}


def nbgraders(course) -> dict[str, float]:
    """Return what nbgrader's own arithmetic makes of the gradebook."""
    with database.opened(course.gradebook_url) as gradebook:
        found = gradebook.assignment_submissions("single_head")
        return {each.student_id: each.score - (each.late_submission_penalty or 0.0) for each in found}


def shown(course, command) -> list[dict[str, str]]:
    """Return, by learner, the marks that every page and table shows."""
    command("python", "-m", "autograder", "report")
    command("nbgrader", "generate_feedback", "single_head")
    command("nbgrader", "export", "--to", course.root / "grades.csv")
    report = (course.root / "report.html").read_text(encoding="utf-8")
    rows = re.findall(r'<a href="[^"]*"><bdi>(\w+)</bdi></a></td>\n<td data-n="([^"]*)">', report)
    with (course.root / "grades.csv").open(newline="") as file:
        exported = {row["student_id"]: row["score"] for row in csv.DictReader(file)}
    feedback = {
        learner: re.search(r"<p>([\d.]+) of 20 points", course.feedback(learner, "single_head").read_text())[1] for learner in exported
    }
    return [{learner: float(mark) for learner, mark in each.items()} for each in (dict(rows), exported, feedback)]


def test_pages_and_tables_show_what_the_gradebook_has(course, command, due, hand_in_at, single_head):
    for learner, known in (("ada", None), ("alan", single_head.mistakes[0]), ("grace", None)):
        hand_in_at(learner, DUE - timedelta(hours=1), known)
    grade(course, ["single_head"])
    by_hand(course, "alan", "softmax", manual_score=1.5)
    by_hand(course, "grace", "scale", extra_credit=0.5)
    expected = nbgraders(course)
    assert expected["ada"] == MOST and expected["grace"] == MOST + 0.5 and expected["alan"] % 1 == 0.5
    assert shown(course, command) == [expected] * 3
    result = command("python", "-m", "autograder", "grade", "single_head")
    assert f"{expected['alan']:g} of 20 (with marks by hand)" in result.stdout
    assert shown(course, command) == [expected] * 3


def test_late_work_costs_what_nbgraders_plugin_says(course, due, hand_in_at):
    hand_in_at("ada", DUE + timedelta(days=1, hours=2))
    hand_in_at("alan", DUE)
    hand_in_at("grace", None)
    with database.opened(course.gradebook_url) as gradebook:
        entries = grade(course, ["single_head"]).entries
        gradebooks.record(gradebook, entries, {e.of: DUE + timedelta(days=1, hours=2) for e in entries if e.learner == "ada"}, Half())
    found = marks_of(course)
    assert (found["ada"].total, found["ada"].penalty, found["ada"].seconds_late) == (MOST / 2, MOST / 2, 93600)
    assert found["alan"].total == found["grace"].total == MOST and not (found["alan"].seconds_late or found["grace"].seconds_late)
    assert nbgraders(course) == {learner: each.total for learner, each in found.items()}


@pytest.mark.parametrize("front", ["ours", "nbgrader's"])
def test_both_commands_enter_the_time_and_the_penalty_of_nbgraders_settings(course, command, due, hand_in_at, front):
    (course.root / "nbgrader_config.py").parent.mkdir(parents=True, exist_ok=True)
    (course.root / "nbgrader_config.py").write_text('c.LateSubmissionPlugin.penalty_method = "zero"\n')
    hand_in_at("ada", DUE + timedelta(minutes=1))
    hand_in_at("alan", DUE - timedelta(minutes=1))
    run = ("python", "-m", "autograder", "grade") if front == "ours" else ("nbgrader", "autograde")
    command(*run, "single_head")
    found = marks_of(course)
    assert {learner: (each.total, each.penalty) for learner, each in found.items()} == {"ada": (0, MOST), "alan": (MOST, 0)}
    assert found["ada"].at == DUE + timedelta(minutes=1)
    assert shown(course, command) == [{"ada": 0, "alan": MOST}] * 3
    assert "which costs 20 of the points" in course.feedback("ada", "single_head").read_text()
    with database.opened(course.gradebook_url) as gradebook:
        gradebook.update_or_create_assignment("single_head", duedate=DUE + timedelta(days=1))
    hand_in_at("ada", DUE + timedelta(hours=1))
    command(*run, "single_head")
    assert shown(course, command) == [{"ada": MOST, "alan": MOST}] * 3


def test_a_penalty_is_never_more_than_the_points_and_never_less_than_none():
    late = Half()
    assert [late.penalty("ada", 10, seconds) for seconds in (0, 86400, 10 * 86400, -86400 * 5)] == [0, 5, 10, 0]


def test_the_report_keeps_exercises_that_a_run_leaves_out(course, hand_in, command, single_head):
    from autograder.exercise.reading import load

    hand_in("ada", single_head)
    hand_in("ada", load("similarity"))
    command("python", "-m", "autograder", "grade")
    command("python", "-m", "autograder", "grade", "similarity")
    report = (course.root / "report.html").read_text(encoding="utf-8")
    assert 'id="single_head"' in report and 'id="similarity"' in report
    with (course.root / "report.csv").open(newline="") as file:
        assert {row["assignment"] for row in csv.DictReader(file)} == {"single_head", "similarity"}


def test_what_nobody_could_judge_has_no_mark_and_a_person_can_give_it_one(course, hand_in, command, single_head):
    hand_in("ada", single_head).write_text("{")
    (entry,) = grade(course, ["single_head"]).entries
    assert entry.refused and marks_of(course)["ada"].total is None
    for check in single_head.checks:
        by_hand(course, "ada", check, manual_score=1.0)
    assert f"{len(single_head.checks)} of 20 (with marks by hand)" in command("python", "-m", "autograder", "grade", "single_head").stdout
    assert marks_of(course)["ada"].total == len(single_head.checks)
    assert Outcome.JUDGE_FAILED not in {v.outcome for v in entry.verdicts}
