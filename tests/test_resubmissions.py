"""Where a learner hands in again, the last submission counts or the best, as course.toml has it; nothing of either is lost."""

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta

import nbformat
import pytest

from autograder.authoring.sample import handed_in
from autograder.errors import GradebookBusy
from autograder.exercise import cache
from autograder.exercise import reading as exercises
from autograder.grader import Grader
from autograder.grading import grade
from autograder.records import database, journal
from autograder.records.course import Course
from autograder.records.resubmissions import the_best
from tests.conftest import ROOT
from tests.formgrader_server import ask, server  # noqa: F401  (a fixture)
from tests.marks import everything
from tests.test_gradebook import held_by_another
from tests.test_marks import by_hand, marks_of, shown
from tests.test_regrade import asked, own  # noqa: F401  (fixtures)

FIRST, SECOND, THIRD = "2026-11-20 10:00:00 UTC", "2026-11-21 10:00:00 UTC", "2026-11-22 10:00:00 UTC"
AT = {text: datetime.fromisoformat(text.removesuffix(" UTC")) for text in (FIRST, SECOND, THIRD)}
BEST = 'resubmissions = "best"\n'
# Mistakes by what they leave: 19, 18 and 17 points of 20.
OF_19, OF_18, OF_17 = "causal_without_itself", "one_row_forgotten", "nothing_gives_nan"


@pytest.fixture
def settings(course, monkeypatch):
    """Write the course's settings; return the course, which reads them once."""
    monkeypatch.setenv("ATTENTION_COURSE", str(course.root))  # nbgrader's settings for late work are read there

    def write(text: str) -> Course:
        course.root.mkdir(exist_ok=True)
        (course.root / "course.toml").write_text(text, encoding="utf-8")
        return Course(course.root)

    return write


@pytest.fixture
def submit(hand_in, single_head):
    """Hand in for ada: the reference answer or a mistake by its name, at a time."""

    def write(known: str | None, at: str | None, learner: str = "ada"):
        path = hand_in(learner, single_head, next((m for m in single_head.mistakes if m.name == known), None))
        path.with_name("timestamp.txt").unlink(missing_ok=True)
        if at:
            path.with_name("timestamp.txt").write_text(at)
        return path

    return write


def graded(course):
    return grade(Course(course.root), ["single_head"])


def counts(course, learner: str = "ada") -> tuple:
    """Return what counts in the gradebook, and the time of it."""
    each = marks_of(course)[learner]
    return each.total, each.at


def page(course) -> str:
    return course.feedback("ada", "single_head").read_text(encoding="utf-8")


def answer(course, cell: str) -> str:
    """Return an answer in the notebook that the formgrader shows."""
    notebook = nbformat.read(course.autograded("ada", "single_head"), 4)
    return next(each.source for each in notebook.cells if each.id == cell)


def test_the_last_counts_where_the_course_says_nothing(course, submit):
    submit(None, FIRST)
    graded(course)
    submit(OF_17, SECOND)
    graded(course)
    assert counts(course) == (17, AT[SECOND]) and "handed in later" not in page(course)


def test_worse_work_takes_nothing_away_and_is_told_everywhere(settings, submit, command, single_head):
    course = settings(BEST + 'platform = "canvas"\n')
    submit(OF_18, FIRST, learner="ada")
    submit(None, FIRST, learner="grace_7")
    command("python", "-m", "autograder", "grade")
    before = answer(course, "answer-softmax"), page(course)
    submit(OF_17, SECOND)
    submit(OF_17, SECOND, learner="grace_7")
    told = (
        "What was handed in later (2026-11-21 10:00 UTC) is worth 17 points, 1 less than the earlier submission, so the earlier one counts."
    )
    output = command("python", "-m", "autograder", "grade").stdout
    assert f"ada single_head: {told}" in output and "Marks that changed" not in output
    assert counts(course) == (18, AT[FIRST]) and counts(course, "grace_7") == (20, AT[FIRST])
    assert (
        answer(course, "answer-softmax") == before[0] and page(course).replace(f"<p>{told}</p>\n", "") == before[1] and told in page(course)
    )
    assert shown(course, command) == [{"ada": 18, "grace_7": 20}] * 3 and told in page(course)
    report = (course.root / "report.html").read_text(encoding="utf-8")
    assert told in report
    with (course.root / "report.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["student_id"] == "ada"]
    assert sum(float(row["points"]) for row in rows) == 18 and {row["timestamp"] for row in rows} == {str(AT[FIRST])}
    command("python", "-m", "autograder", "handback")
    assert ",20" in next(
        line for line in (course.root / "handback" / "single_head.csv").read_text("utf-8-sig").splitlines() if "grace" in line
    )
    with zipfile.ZipFile(io.BytesIO((course.root / "handback" / "single_head.zip").read_bytes())) as archive:
        assert archive.read("ada/feedback.html").decode() == page(course)
    command("python", "-m", "autograder", "draft", "single_head", "ada")  # of the work that counts
    (draft,) = (course.root / "drafts").iterdir()
    assert {check for check in single_head.checks if f'"{check}"' in draft.read_text()} == {"softmax"}


def test_better_work_replaces_it_and_so_does_work_that_is_worth_the_same(settings, submit):
    course = settings(BEST)
    for known, at, total in ((OF_18, FIRST, 18), (OF_19, SECOND, 19), ("causal_one_ahead", THIRD, 19)):
        submit(known, at)
        graded(course)
        assert counts(course) == (total, AT[at]) and "handed in later" not in page(course)


def test_of_three_the_best_counts_and_nothing_is_judged_twice(settings, submit, asked):  # noqa: F811
    course = settings(BEST)
    for known, at in ((OF_19, FIRST), (OF_17, SECOND), (OF_18, THIRD)):
        submit(known, at)
        asked.clear()
        graded(course)
        assert asked and counts(course) == (19, AT[FIRST])
    asked.clear()
    again = graded(course)
    assert not asked and again.unchanged == 1 and again.new == 0 and "is worth 18 points" in again.entries[0].later


def test_two_submissions_between_two_runs_are_one(settings, submit):
    """What was never graded is not known to anybody."""
    course = settings(BEST)
    submit(None, FIRST)
    submit(OF_18, SECOND)
    graded(course)
    assert counts(course) == (18, AT[SECOND])


@pytest.mark.parametrize("for_whom", ["all", "one"])
def test_right_work_that_comes_too_late_does_not_count_until_the_deadline_is_moved(settings, submit, for_whom):
    course = settings(BEST + 'late = "zero"\n[deadlines]\nsingle_head = 2026-11-20T12:00:00Z\n')
    submit(OF_18, FIRST)
    graded(course)
    submit(None, SECOND)
    graded(course)
    assert counts(course) == (18, AT[FIRST]) and "is worth 0 points, 18 less" in page(course) and "after the deadline" not in page(course)
    if for_whom == "all":
        settings(BEST + 'late = "zero"\n[deadlines]\nsingle_head = 2026-11-21T12:00:00Z\n')
    else:
        with database.opened(course.gradebook_url) as gradebook:
            gradebook.find_submission("single_head", "ada").extension = timedelta(days=1)
            gradebook.db.commit()
    graded(course)
    assert counts(course) == (20, AT[SECOND]) and "handed in later" not in page(course)


def test_the_same_work_handed_in_again_too_late_costs_nothing(settings, submit):
    course = settings(BEST + 'late = "zero"\n[deadlines]\nsingle_head = 2026-11-20T12:00:00Z\n')
    for at in (None, FIRST, SECOND):  # that it was handed in first, and when, came to be known only later
        submit(OF_18, at)
        graded(course)
    assert counts(course) == (18, AT[FIRST]) and "is worth 0 points, 18 less" in page(course)


def test_what_cannot_be_read_takes_nothing_away(settings, submit, command):
    course = settings(BEST)
    submit(OF_18, FIRST)
    graded(course)
    submit(None, SECOND).write_text("{")
    output = command("python", "-m", "autograder", "grade").stdout
    told = "What was handed in later (2026-11-21 10:00 UTC) could not be read, so the earlier submission counts: "
    assert f"ada single_head: {told}" in output and told in page(course)
    assert counts(course) == (18, AT[FIRST]) and answer(course, "answer-softmax")
    submit(OF_17, THIRD)
    graded(course)
    assert counts(course) == (18, AT[FIRST]) and "is worth 17 points" in page(course)


def test_our_failure_takes_nothing_away_and_is_judged_again(settings, submit, monkeypatch):
    class Broken:
        def __init__(self, *given):
            raise OSError("no more processes")

    course = settings(BEST)
    submit(OF_18, FIRST)
    graded(course)
    submit(None, SECOND)
    with monkeypatch.context() as patch:
        patch.setattr("autograder.judging.judge.Session", Broken)
        graded(course)
    assert counts(course) == (18, AT[FIRST]) and "has still to be judged, which is our fault" in page(course)
    graded(course)
    assert counts(course) == (20, AT[SECOND]) and "handed in later" not in page(course)


def test_a_gradebook_that_is_locked_keeps_nobody_from_what_was_judged(settings, submit, monkeypatch):
    course = settings(BEST)
    for known, at in ((OF_18, FIRST), (OF_17, SECOND)):
        submit(known, at)
        graded(course)
    submit(OF_19, THIRD)
    held, whole = ExitStack(), Grader.judged

    def judged(grader, work):
        entries = whole(grader, work)
        held.enter_context(held_by_another(course, seconds=60))  # all is judged, and nothing compared yet
        return entries

    with held, monkeypatch.context() as patch, pytest.raises(GradebookBusy):
        patch.setattr(database, "PATIENCE", 0.5)
        patch.setattr(Grader, "judged", judged)
        graded(course)
    kept = journal.read_entry(course, "ada", "single_head")
    assert counts(course) == (18, AT[FIRST]) and kept.at == AT[FIRST] and "has still to be compared" in kept.later
    monkeypatch.setattr("autograder.judging.judge.Zygote", lambda: pytest.fail("something was judged again"))
    graded(course)
    assert counts(course) == (19, AT[THIRD])


def test_a_time_that_comes_to_be_known_makes_no_second_submission(settings, submit):
    course = settings(BEST + 'late = "zero"\n[deadlines]\nsingle_head = 2026-11-20T12:00:00Z\n')
    for at in (None, SECOND):
        submit(OF_18, at)
        graded(course)
    assert counts(course) == (0, AT[SECOND]) and "handed in later" not in page(course)


def test_where_the_tests_change_both_are_judged_anew(settings, submit, own, asked):  # noqa: F811
    cache.clear()
    course = settings('exercises = ["single_head"]\n' + BEST)
    submit(OF_19, FIRST)
    graded(course)
    submit(OF_18, SECOND)
    graded(course)
    assert counts(course) == (19, AT[FIRST])
    path = own / "test_single_head.py"
    text = path.read_text(encoding="utf-8")
    names = "|".join(test.name for test in exercises.load("single_head").tests if test.check == "softmax")
    lenient, count = re.subn(rf"(def (?:{names})\(.*\):\n)", r"\1    '''Is anything right?'''\n    return\n", text)
    assert count == 6
    path.write_text(lenient, encoding="utf-8")
    cache.clear()
    asked.clear()
    changed = graded(course)
    assert "softmax" in asked["ada"] and counts(course) == (20, AT[SECOND]) and "handed in later" not in page(course)
    assert [(change.check, change.before, change.after) for change in changed.changes] == [("causal", 0.0, 1.0)]
    path.write_text(text, encoding="utf-8")
    cache.clear()
    graded(course)
    assert counts(course) == (19, AT[FIRST]) and "is worth 18 points" in page(course)


def test_the_setting_may_change_and_change_back(settings, submit, asked):  # noqa: F811
    course = settings("")
    submit(OF_19, FIRST)
    graded(course)
    settings(BEST)
    submit(OF_18, SECOND)
    graded(course)
    assert counts(course) == (19, AT[FIRST])
    asked.clear()
    settings('resubmissions = "last"\n')
    changes = graded(course).changes
    assert counts(course) == (18, AT[SECOND]) and "handed in later" not in page(course)
    assert {(c.check, c.after, c.reason) for c in changes} == {
        ("causal", 1.0, "another submission counts"),
        ("softmax", 0.0, "another submission counts"),
    }
    settings(BEST)
    graded(course)
    assert counts(course) == (19, AT[FIRST]) and not asked


def test_a_mark_given_by_hand_stays_whichever_counts(settings, submit):
    course = settings(BEST)
    submit(OF_18, FIRST)
    graded(course)
    by_hand(course, "ada", "softmax", manual_score=1.5)
    submit(OF_17, SECOND)
    graded(course)
    assert counts(course) == (19.5, AT[FIRST])
    submit(OF_19, THIRD)  # better than 18, though 1.5 points were given there by hand
    graded(course)
    assert counts(course) == (18.5, AT[THIRD])


def test_the_journal_keeps_answers_as_the_intake_left_them(settings, hand_in, single_head):
    course = settings(BEST)

    def spoil(notebook):
        notebook.metadata["trap"] = "TRAP"
        notebook.cells.append(nbformat.v4.new_code_cell("TRAP", metadata={"trap": "TRAP"}))
        next(c for c in notebook.cells if c.id == "answer-softmax").source += "\n# <script>alert(1)</script> \x1b[2J ü"

    hand_in("ada", single_head, change=spoil)
    graded(course)
    kept = course.journal("ada", "single_head").read_text(encoding="utf-8")
    assert "TRAP" not in kept and "<script>" in kept
    hand_in("ada", single_head, single_head.mistakes[0])
    graded(course)
    notebook = course.autograded("ada", "single_head").read_text(encoding="utf-8")
    assert "alert(1)" in notebook and "TRAP" not in notebook and "alert(1)" not in page(course)


def test_a_journal_of_before_keeps_no_answers_and_is_completed(settings, submit, asked):  # noqa: F811
    course = settings(BEST)
    submit(OF_18, FIRST)
    graded(course)
    path = course.journal("ada", "single_head")
    entry = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({name: entry[name] for name in ("learner", "exercise", "keys", "verdicts", "refused")}), encoding="utf-8")
    asked.clear()
    graded(course)
    assert not asked and json.loads(path.read_text(encoding="utf-8")) == entry


def test_of_equals_the_later_counts_and_what_is_not_judged_never(course, submit):
    submit(OF_19, FIRST)
    (one,) = graded(course).entries
    first, second, last = (replace(one, learner=name) for name in ("first", "second", "last"))

    def best(*worths):
        return the_best(last, [first, second], lambda entries: list(worths))

    assert best(2, 2, 2).learner == "last" and best(2, 2, 1).learner == "second" and best(3, 2, 1).learner == "first"
    assert best(None, 0, None).learner == "second" and best(None, None, None).learner == "last" and best(0, None, 0).learner == "last"
    assert best(2, 1, 2).other.learner == "first" and best(2, 1, 1).other.learner == "last"


# What the second run does before it is killed: it compares, writes the journal, the gradebook, and what people read.
MOMENTS = {
    "before it compares": "grader.resubmissions.worth",
    "before the journal": "grading.write_all",
    "before the gradebook": "grading.gradebooks.record",
    "before the pages": "grading.files_of",
}
KILLED = """
import operator, os, signal, sys
from autograder import grader, grading
from autograder.records.course import Course
where, name = sys.argv[1].rsplit(".", 1)
place = operator.attrgetter(where)(sys.modules["autograder"])
assert hasattr(place, name)
setattr(place, name, lambda *given: os.kill(os.getpid(), signal.SIGKILL))
grading.grade(Course(), ["single_head"])
"""


@pytest.fixture(scope="module")
def peace(tmp_path_factory, single_head):
    """A course where three learners have handed in again, worse, better and unreadable work: before the second run, and after it."""
    fresh = Course(tmp_path_factory.mktemp("fresh"))
    (fresh.root / "course.toml").write_text(BEST)
    (fresh.root / "seed").write_text("1\n")
    known = {mistake.name: mistake for mistake in single_head.mistakes}

    def submit(learner: str, name: str, at: str):
        path = fresh.submitted / learner / "single_head" / "single_head.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(nbformat.writes(handed_in(single_head, known[name])), encoding="utf-8")
        path.with_name("timestamp.txt").write_text(at)
        return path

    for learner in ("ada", "alan", "grace"):
        submit(learner, OF_18, FIRST)
    graded(fresh)
    submit("ada", OF_17, SECOND)
    submit("alan", OF_19, SECOND)
    submit("grace", OF_19, SECOND).write_text("{")
    done = Course(tmp_path_factory.mktemp("done"))
    shutil.copytree(fresh.root, done.root, dirs_exist_ok=True)
    graded(done)
    assert {learner: each.total for learner, each in marks_of(done).items()} == {"ada": 18, "alan": 19, "grace": 18}
    return fresh, done


@pytest.mark.parametrize(
    "moment", [each if each == "before the gradebook" else pytest.param(each, marks=pytest.mark.nightly) for each in MOMENTS]
)
def test_a_run_that_is_killed_between_two_steps_loses_nothing(peace, course, moment):
    fresh, done = peace
    shutil.copytree(fresh.root, course.root)
    environment = {**os.environ, "ATTENTION_COURSE": str(course.root)}
    killed = subprocess.run([sys.executable, "-c", KILLED, MOMENTS[moment]], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stdout + killed.stderr
    graded(course)
    assert everything(course) == everything(done)


@pytest.mark.nightly  # each time the formgrader's button, which goes the same way, below
def test_nbgraders_own_command_comes_to_the_same(peace, course, command):
    fresh, done = peace
    shutil.copytree(fresh.root, course.root)
    command("nbgrader", "generate_assignment", "single_head", f"--CourseDirectory.release_directory={course.root / 'release'}")
    output = command("nbgrader", "autograde", "single_head").stderr
    assert marks_of(course) == marks_of(done)
    assert "ada/single_head: What was handed in later (2026-11-21 10:00 UTC) is worth 17 points, 1 less" in output
    assert "Not judged: grace/single_head" in output and "could not be read, so the earlier submission counts" in output
    for learner in ("ada", "alan", "grace"):
        assert journal.read_entry(course, learner, "single_head") == journal.read_entry(done, learner, "single_head")
        mine, ours = (nbformat.read(each.autograded(learner, "single_head"), 4) for each in (course, done))
        assert [cell.source for cell in mine.cells] == [cell.source for cell in ours.cells]
        assert course.feedback(learner, "single_head").read_text() == done.feedback(learner, "single_head").read_text()
    assert "Skipping existing assignment" in command("nbgrader", "autograde", "single_head", "--log-level=INFO").stderr
    command("nbgrader", "autograde", "single_head", "--force")
    command("nbgrader", "generate_feedback", "single_head")
    assert marks_of(course) == marks_of(done) and "is worth 17 points" in page(course)


def test_the_formgrader_takes_nothing_for_not_graded_and_its_button_agrees(peace, course, command, server):  # noqa: F811
    fresh, done = peace
    shutil.copytree(done.root, course.root, dirs_exist_ok=True)
    command("nbgrader", "generate_assignment", "single_head", f"--CourseDirectory.release_directory={course.root / 'release'}")

    def shown_there() -> dict[str, tuple]:
        listed = json.loads(ask(server, "/formgrader/api/submissions/single_head"))
        return {each["student"]: (each["autograded"], each["score"], each["timestamp"]) for each in listed}

    expected = {
        "ada": (True, 18, AT[FIRST].isoformat()),
        "alan": (True, 19, AT[SECOND].isoformat()),
        "grace": (True, 18, AT[FIRST].isoformat()),
    }
    assert shown_there() == expected
    for learner in expected:
        pressed = json.loads(ask(server, f"/formgrader/api/submission/single_head/{learner}/autograde", "POST"))
        assert pressed["success"] and shown_there() == expected
    assert marks_of(course) == marks_of(done)
    (course.submitted / "ada" / "single_head" / "timestamp.txt").write_text(THIRD)  # something newer that nobody has judged yet
    assert shown_there()["ada"][0] is False
