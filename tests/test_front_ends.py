"""Three front ends, one definition of each test: the marks agree, check by check."""

import re
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from filelock import FileLock

from autograder.exercise import reading as exercises
from autograder.grading import grade
from autograder.kit.outcome import Outcome
from solutions.conftest import GPU_LOCK
from tests.conftest import ROOT

# One stands for all; the others ask for what no other does: mutation tests, and at night a module that remembers, costs and long calls.
AT_NIGHT = [pytest.param(name, marks=pytest.mark.nightly) for name in ("kv_cache", "long_sequences", "capstone")]


@pytest.fixture(scope="module", params=["single_head", "bug_hunt", *AT_NIGHT])
def exercise(request):
    return exercises.load(request.param)


@pytest.fixture
def class_(course, hand_in, exercise):
    """Two right answers, some mistakes and no answer; one exercise stands for all with more of them."""
    whole = exercise.name == "single_head"
    hand_in("right", exercise, None)
    hand_in("wrong", exercise, exercise.mistakes[4])
    hand_in("unanswered", exercise, None, change=_empty)
    if whole:
        hand_in("right1", exercise, exercise.variants[0])
        hand_in("wrong1", exercise, exercise.mistakes[-1])
    return exercise


def _empty(notebook):
    for cell in notebook.cells:
        if cell.id.startswith("answer-"):
            cell.source = "# later"


def test_grade_nbgrader_and_pytest_give_the_same_marks(class_, course, command):
    ours = {entry.learner: {v.check: v.score for v in entry.verdicts} for entry in grade(course, [class_.name]).entries}
    most = sum(class_.checks.values())
    assert all((sum(marks.values()) == most) == learner.startswith("right") for learner, marks in ours.items()) and len(ours) >= 3

    (course.root / "gradebook.db").unlink()
    command("nbgrader", "generate_assignment", class_.name, "--force", f"--CourseDirectory.release_directory={course.root / 'release'}")
    command("nbgrader", "autograde", class_.name, "--force")
    assert _gradebook(course) == ours

    learners = list(ours) if class_.name == "single_head" else ["wrong"]
    paths = [course.handed_in(learner, class_.name) for learner in learners]
    done = command("python", "-c", ONE_BY_ONE, f"solutions/{class_.name}", course.seed(), *paths)
    assert [_printed(output) for output in done.stdout.split(ONE_MORE)[1:]] == [ours[learner] for learner in learners]


# What `python -m pytest FOLDER --seed SEED --submission PATH` does, for several paths; to start Python takes longer than to judge.
ONE_MORE = "one more submission"
ONE_BY_ONE = f"""
import sys, pytest
for path in sys.argv[3:]:
    print({ONE_MORE!r}, flush=True)
    pytest.main([sys.argv[1], "--seed", sys.argv[2], "--submission", path, "-q"])
"""
PRETEND = "import sys, torch, pytest; torch.cuda.is_available = lambda: True; sys.exit(pytest.main(sys.argv[1:]))"


def test_tests_for_a_gpu_queue_for_it(single_head):
    """Processes that pretend to have one: the first holds the queue, the second has to wait for it and fails only then, having none."""
    words = [sys.executable, "-c", PRETEND, "solutions/single_head", "-k", "gpu", "-q", "-p", "no:cacheprovider"]
    with FileLock(GPU_LOCK):
        waiting = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(15)
    output = waiting.communicate(timeout=120)[0]
    assert "1 failed" in output and re.search("CUDA|NVIDIA", output), output


def test_no_gpu_test_blames_a_learner_whom_the_sandbox_shows_none(course, hand_in, single_head):
    path = hand_in("ada", single_head)
    words = [
        sys.executable,
        "-c",
        PRETEND,
        "solutions/single_head",
        "-k",
        "gpu",
        "-q",
        "-rs",
        "-p",
        "no:cacheprovider",
        "--submission",
        path,
    ]
    output = subprocess.run(words, cwd=ROOT, capture_output=True, text=True).stdout
    assert "1 skipped" in output and "no worker sees a GPU at this level of the sandbox" in output, output


WARNS = """
import sys, warnings, pytest
class Warns:
    def pytest_pyfunc_call(self):
        warnings.warn("of a learner's numbers")
sys.exit(pytest.main(sys.argv[1:], plugins=[Warns()]))
"""


def test_a_warning_costs_nobody_a_mark(course, hand_in, single_head, command):
    path = hand_in("ada", single_head)
    done = command("python", "-c", WARNS, "solutions/single_head", "--submission", path, "-q")
    assert _printed(done.stdout) == single_head.checks and "of a learner's numbers" in done.stdout


def _gradebook(course) -> dict:
    with closing(sqlite3.connect(course.root / "gradebook.db")) as database:
        rows = database.execute(
            "select submitted_assignment.student_id, base_cell.name, grade.auto_score from grade"
            " join submitted_notebook on grade.notebook_id = submitted_notebook.id"
            " join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id"
            " join base_cell on grade.cell_id = base_cell.id"
        ).fetchall()
    found: dict = {}
    for learner, check, score in rows:
        found.setdefault(learner, {})[check] = score
    return found


def _printed(text: str) -> dict:
    return {check: float(mark) for check, mark in re.findall(r"^(\w+): ([\d.]+) of [\d.]+ \(", text, re.MULTILINE)}


def test_second_grading_gives_the_same_and_judges_nothing_again(course, hand_in, single_head, monkeypatch):
    hand_in("ada", single_head, single_head.mistakes[0])
    first = grade(course, ["single_head"]).entries
    monkeypatch.setattr("autograder.judging.judge.Zygote", lambda: pytest.fail("something was judged again"))
    assert grade(course, ["single_head"]).entries == first


def test_changed_answer_is_judged_again(course, hand_in, single_head):
    hand_in("ada", single_head, single_head.mistakes[0])
    (before,) = grade(course, ["single_head"]).entries
    hand_in("ada", single_head)
    (after,) = grade(course, ["single_head"]).entries
    assert before.score < after.score == sum(single_head.checks.values())


def test_failure_of_the_judge_is_no_zero_and_is_judged_again(course, hand_in, single_head, monkeypatch):
    hand_in("ada", single_head)

    class Broken:
        def __init__(self, *given):
            raise OSError("no more processes")

    with monkeypatch.context() as patch:
        patch.setattr("autograder.judging.judge.Session", Broken)
        (entry,) = grade(course, ["single_head"]).entries
    assert {v.outcome for v in entry.verdicts} == {Outcome.JUDGE_FAILED} and entry.score is None
    assert set(_gradebook(course)["ada"].values()) == {None}
    (again,) = grade(course, ["single_head"]).entries
    assert again.score == sum(single_head.checks.values())


def test_broken_test_of_ours_is_our_failure(single_head):
    from autograder.judging.answers import reference_learner
    from autograder.kit.suite import hidden, run_check, test_of

    def test_that_breaks(learner, reference):
        raise ZeroDivisionError("in the test itself")

    reference = reference_learner("single_head")
    verdict = run_check("scale", [test_of(hidden("scale")(test_that_breaks))], reference, 1, reference, 2.0).verdict
    assert verdict.outcome is Outcome.JUDGE_FAILED and verdict.score is None


def test_mark_given_by_hand_stays(course, hand_in, single_head):
    from autograder.records.database import opened

    hand_in("ada", single_head, single_head.mistakes[0])
    grade(course, ["single_head"])
    with opened(course.gradebook_url) as book:
        book.find_grade("scale", "single_head", "single_head", "ada").manual_score = 1.5
        book.db.commit()
    hand_in("ada", single_head)
    grade(course, ["single_head"])
    with opened(course.gradebook_url) as book:
        grade_ = book.find_grade("scale", "single_head", "single_head", "ada")
        assert (grade_.auto_score, grade_.manual_score, grade_.needs_manual_grade) == (2.0, 1.5, True)
