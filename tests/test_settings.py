"""A course of one's own: course.toml says which exercises count, what they are worth, until when, and what is shown."""

import csv
import os
import re
from datetime import datetime

import pytest

from autograder.errors import CannotGoOn
from autograder.exercise import reading as exercises
from autograder.files import GROUP_MAY_WRITE
from autograder.records import database
from autograder.records.course import Course
from autograder.records.marks import read_marks
from autograder.records.results import shown_as
from autograder.records.settings import Settings, read_settings

THREE = """
title = "Attention in three evenings"
exercises = ["single_head", "similarity", "feed_forward"]
late = "zero"

[deadlines]
single_head = 2026-11-20T23:00:00+01:00
similarity = 2026-11-21

[points]
single_head = 10

[feedback]
reference = "after the deadline"

[report]
names = false
"""


@pytest.fixture
def settings(course):
    def write(text: str) -> Course:
        course.root.mkdir(exist_ok=True)
        (course.root / "course.toml").write_text(text, encoding="utf-8")
        return Course(course.root)

    return write


def test_a_course_without_the_file_has_all_exercises_and_shows_names(course):
    assert read_settings(course.root) == Settings(exercises=tuple(exercises.all_names()))


def test_what_the_file_says_is_what_is_read(settings):
    found = settings(THREE).settings
    assert found.exercises == ("single_head", "similarity", "feed_forward") and found.points == {"single_head": 10}
    assert found.deadlines == {"single_head": datetime(2026, 11, 20, 22), "similarity": datetime(2026, 11, 21, 23, 59, 59)}
    assert found.shows_reference("single_head", datetime(2026, 11, 20, 23)) and not found.shows_reference(
        "single_head", datetime(2026, 11, 20, 21)
    )
    assert not found.shows_reference("feed_forward", datetime(2030, 1, 1))  # it has no deadline that could be past


@pytest.mark.parametrize(
    "text, message",
    [
        ("title = \nlate = 1", r"course\.toml is not TOML: .*line 1"),
        ("exercise = []", r"no setting `exercise` \(did you mean `exercises`\?\)"),
        ('exercises = ["single_haed"]', r"'single_haed', and no exercise is called so \(did you mean `single_head`\?\)"),
        ("exercises = []", "is empty"),
        ("title = 3", "`title` is 3 and must be text"),
        ("[deadlines]\nsingle_head = 3", "must be a moment, such as"),
        ("[points]\nsingle_head = 0", "a number of points above 0"),
        ("[points]\nsingle_head = true", "a number of points above 0"),
        ("deadlines = 3", r"begins with the line \[deadlines\]"),
        ("consequences = 2", "a share from 0 to 1"),
        ('resubmissions = "first"', "one of 'last', 'best'"),
        ('late = "half"', "one of 'none', 'zero'"),
        ('[feedback]\nreference = "soon"', "one of 'never', 'after the deadline', 'always'"),
        ("[report]\nname = false", r"`report\.name` \(did you mean `names`\?\)"),
    ],
)
def test_a_slip_in_the_file_is_named(settings, command, text, message):
    with pytest.raises(CannotGoOn, match=message):
        read_settings(settings(text).root)


def test_commands_say_what_is_wrong_with_the_file_without_a_traceback(settings, command):
    settings("title = 3")
    result = command("python", "-m", "autograder", "grade", code=2)
    assert "must be text" in result.stdout and "Traceback" not in result.stdout + result.stderr


@pytest.mark.parametrize("front", ["ours", pytest.param("nbgrader's", marks=pytest.mark.nightly)])
def test_a_course_with_three_of_all_exercises(settings, command, hand_in, front):
    course = settings(THREE)
    for name in ("single_head", "similarity", "kv_cache"):
        exercise = exercises.load(name)
        hand_in("ada", exercise)
        hand_in("Émile", exercise, exercise.mistakes[0]).with_name("timestamp.txt").write_text("2026-11-20 22:30:00 UTC")
    if front == "ours":
        shown = command("python", "-m", "autograder", "grade").stdout
        assert "ada" not in shown and "Émile" not in shown and "learner " in shown
    else:
        for name in ("single_head", "similarity"):
            command("nbgrader", "generate_assignment", name, f"--CourseDirectory.release_directory={course.root / 'release'}")
            command("nbgrader", "autograde", name)
        command("python", "-m", "autograder", "report")
    with database.opened(course.gradebook_url) as gradebook:
        assert {a.name for a in gradebook.assignments} == {"single_head", "similarity"}
        marks = read_marks(gradebook, "single_head") | read_marks(gradebook, "similarity")
    assert marks["ada", "single_head"].total == 10 and sum(marks["ada", "single_head"].most.values()) == pytest.approx(10)
    assert marks["ada", "similarity"].total == sum(exercises.load("similarity").checks.values())
    late = marks["Émile", "single_head"]
    assert late.total == 0 < late.penalty and marks["Émile", "similarity"].penalty == 0
    report = (course.root / "report.html").read_text(encoding="utf-8")
    assert "ada" not in re.sub(r"<style>.*?</style>|<script>.*?</script>", "", report, flags=re.DOTALL) and "Émile" not in report
    assert "<h1>Attention in three evenings: the class</h1>" in report and "kv_cache" not in report
    with (course.root / "report.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len({row["student_id"] for row in rows}) == 2 and all(row["student_id"].startswith("learner ") for row in rows)
    feedback = course.feedback("ada", "single_head").read_text(encoding="utf-8")
    assert "10 of 10 points" in feedback and "Right answers" in feedback  # its deadline is past
    assert "BEGIN SOLUTION" not in feedback and "def softmax" in feedback


def test_what_is_not_past_its_deadline_shows_no_right_answer(settings, command, hand_in, single_head):
    course = settings(THREE.replace("2026-11-20T", "2099-11-20T"))
    hand_in("ada", single_head)
    command("python", "-m", "autograder", "grade")
    feedback = course.feedback("ada", "single_head").read_text(encoding="utf-8")
    assert "Right answers" not in feedback and "def softmax" not in feedback


def test_who_has_handed_in_nothing_is_listed(course, command, hand_in, single_head):
    hand_in("ada", single_head)
    (course.root / "roster.csv").write_text("id,first_name,last_name,email\nada,Ada,L,\ngrace,Grace,H,\n")
    command("nbgrader", "db", "student", "import", course.root / "roster.csv")
    command("python", "-m", "autograder", "grade")
    report = (course.root / "report.html").read_text(encoding="utf-8")
    assert re.search(r"Nothing handed in:</b> <bdi>grace</bdi></p>", report)


def test_a_folder_that_is_shared_with_a_group_stays_so(course, command, hand_in, single_head):
    course.root.mkdir()
    course.root.chmod(0o2775)
    hand_in("ada", single_head)
    command("python", "-m", "autograder", "grade")
    mine = [course.root / name for name in ("gradebook.db", "lock", "seed", "report.html", "verdicts", "verdicts/ada/single_head.json")]
    assert all(path.stat().st_mode & 0o020 for path in mine), [oct(path.stat().st_mode) for path in mine]
    assert (course.root / "verdicts").stat().st_mode & GROUP_MAY_WRITE == GROUP_MAY_WRITE


def test_a_folder_that_is_not_shared_is_not_opened(course, command, hand_in, single_head):
    hand_in("ada", single_head)
    os.chmod(course.root, 0o755)
    command("python", "-m", "autograder", "grade")
    assert not (course.root / "gradebook.db").stat().st_mode & 0o022


def test_what_follows_from_a_mistake_may_cost_less(settings, command, hand_in, single_head):
    course = settings("consequences = 0.5")
    mistake = single_head.mistakes[0]
    hand_in("ada", single_head, mistake)
    command("python", "-m", "autograder", "grade")
    with database.opened(course.gradebook_url) as gradebook:
        points = read_marks(gradebook, "single_head")["ada", "single_head"].points
    first, *others = [check for check in single_head.checks if check in mistake.fails]
    assert points[first] == 0 and [points[check] for check in others] == [single_head.checks[check] / 2 for check in others]
    assert all(points[check] == most for check, most in single_head.checks.items() if check not in mistake.fails)


def test_withheld_names_are_withheld_wherever_learners_are_shown_and_lead_back_for_a_draft(settings, command, hand_in, single_head):
    course = settings("[report]\nnames = false\n")
    peculiar = "\n\n\ndef softmax(scores):\n" + "".join(f"    x{n} = scores.amax(dim=0) + {n}\n" for n in range(30)) + "    return x29\n"

    def spoil(notebook):
        next(c for c in notebook.cells if c.id == "answer-softmax").source += peculiar

    for learner in ("ada", "zoe"):
        hand_in(learner, single_head, change=spoil)
    assert "1 pair of 2" in command("python", "-m", "autograder", "similar", "single_head").stdout
    page = (course.root / "similar-single_head.html").read_text(encoding="utf-8")
    shown = sorted(shown_as(course, learner) for learner in ("ada", "zoe"))
    assert all(name in page for name in shown) and "ada" not in page and "zoe" not in page
    command("python", "-m", "autograder", "draft", "single_head", shown[0])
    assert "def softmax" in (course.root / "drafts" / f"single_head-{shown[0]}.py").read_text()
