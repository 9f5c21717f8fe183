"""A second grading judges what a change touches, and nothing else; it says whose marks changed, and why."""

import shutil

import pytest

from autograder.errors import CannotGoOn
from autograder.exercise import cache
from autograder.exercise import reading as exercises
from autograder.grading import Change, grade
from autograder.intake.reading import read_submission
from autograder.judging import judge as this_judge
from autograder.limits import asked_limits
from autograder.plugins.autograde import _Runs
from autograder.records import journal
from autograder.sandbox.levels import Level


@pytest.fixture
def asked(monkeypatch):
    """The checks that were judged, by learner."""
    found = {}
    whole = this_judge.verdicts_on_task

    def noted(task):
        found.setdefault(task.submission.learner, set()).update(task.checks)
        return whole(task)

    monkeypatch.setattr(this_judge, "verdicts_on_task", noted)
    return found


@pytest.fixture
def own(tmp_path, monkeypatch):
    """single_head in a copy of solutions/ that a test may change."""
    copy = tmp_path / "solutions"
    shutil.copytree(exercises.SOLUTIONS / "single_head", copy / "single_head")
    monkeypatch.setattr(exercises, "SOLUTIONS", copy)
    monkeypatch.setattr(exercises, "all_names", lambda: ["single_head"])
    yield copy / "single_head"
    cache.clear()


REFUSING = """    '''Does it refuse all?'''
    from autograder.kit.outcome import Wrong
    raise Wrong('the test', 'it refuses all')
"""


def _change(path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    cache.clear()


def _grade(course) -> list[Change]:
    return grade(course, ["single_head"]).changes


def test_only_what_a_change_touches_is_judged_again(own, course, hand_in, asked):
    cache.clear()
    single_head = exercises.load("single_head")
    wrong = next(m for m in single_head.mistakes if set(m.fails) == {"causal"})
    hand_in("ada", single_head)
    hand_in("alan", single_head, wrong)
    assert _grade(course) == [] and set(asked) == {"ada", "alan"}
    asked.clear()

    # Nothing has changed, or nothing that a mark rests on.
    assert _grade(course) == [] and asked == {}
    _change(own / "test_single_head.py", "def test_causal_mask_of_three", "# A comment.\ndef test_causal_mask_of_three")
    assert _grade(course) == [] and asked == {}

    # Another hint: those who made a mistake get it, and nobody is judged who did not.
    _change(own / "mistakes.py", wrong.hint, "A better question?")
    assert _grade(course) == [] and asked == {"alan": {"causal"}}
    assert "A better question?" in course.feedback("alan", "single_head").read_text()
    asked.clear()

    # A test: its check is judged again for all, and what failed, for the names of mistakes rest on all that fails.
    path = own / "test_single_head.py"
    first = next(t for t in single_head.tests if t.check == "padding" and not t.hidden)
    _change(
        path,
        f"def {first.name}(learner):\n",
        f"def {first.name}(learner):\n{REFUSING}",
    )
    changed = _grade(course)
    assert asked == {"ada": {"padding"}, "alan": {"padding", "causal"}}
    assert {(c.learner, c.check, c.after, c.reason) for c in changed} == {
        (who, "padding", 0.0, journal.WHY["tests"]) for who in ("ada", "alan")
    }
    assert all(c.before == single_head.checks["padding"] for c in changed)


def test_a_changed_answer_is_the_reason(course, hand_in, single_head):
    hand_in("ada", single_head, next(m for m in single_head.mistakes if set(m.fails) == {"causal"}))
    assert _grade(course) == []
    hand_in("ada", single_head)
    points = single_head.checks["causal"]
    assert _grade(course) == [Change("ada", "single_head", "causal", 0.0, points, "the answers changed")]


def test_command_prints_whose_marks_changed(course, hand_in, single_head, command):
    wrong = next(m for m in single_head.mistakes if set(m.fails) == {"causal"})
    hand_in("ada", single_head, wrong)
    assert "Marks that changed" not in command("python", "-m", "autograder", "grade", "single_head", "--jobs", "1").stdout
    hand_in("ada", single_head)
    output = command("python", "-m", "autograder", "grade", "single_head", "--jobs", "1").stdout
    assert "Marks that changed: 1" in output and "the answers changed" in output


def test_a_server_that_has_run_for_days_judges_by_the_tests_of_today(own, course, hand_in):
    """The formgrader's button runs nbgrader's command inside the server."""
    cache.clear()
    single_head = exercises.load("single_head")
    hand_in("ada", single_head)

    def pressed():
        submission = read_submission(course.handed_in("ada", "single_head"), "ada", exercises.load("single_head"))
        return _Runs.entry(course, "ada", "single_head", submission, {str(course.root / "submitted" / "ada" / "single_head"): []}).scores

    assert pressed() == single_head.checks
    first = next(t for t in single_head.tests if t.check == "padding" and not t.hidden)
    path = own / "test_single_head.py"
    refusing = (
        '    """Does it refuse all?"""\n    from autograder.kit.outcome import Wrong\n    raise Wrong(\'the test\', \'it refuses all\')\n'
    )
    path.write_text(path.read_text().replace(f"def {first.name}(learner):\n", f"def {first.name}(learner):\n{refusing}"))
    assert pressed() == single_head.checks | {"padding": 0.0}
    assert _Runs.now is None


def test_another_level_or_limit_is_another_verdict(course, hand_in, single_head, asked, monkeypatch):
    hand_in("ada", single_head)
    grade(course, ["single_head"])
    asked.clear()
    submission, keys = (
        read_submission(course.handed_in("ada", "single_head"), "ada", single_head),
        journal.read_entry(course, "ada", "single_head").keys,
    )
    here = {
        name: journal.keys_of(submission, single_head, course.seed(), asked_limits(), level) for name, level in Level.__members__.items()
    }
    assert keys in here.values() and len({keys["level"] for keys in here.values()}) == len(Level)
    monkeypatch.setenv("ATTENTION_SECONDS", "7.5")
    grade(course, ["single_head"], asked_limits())
    assert set(asked) == {"ada"}


@pytest.mark.parametrize("text", ["0", "soon", "-1"])
def test_seconds_that_are_none_are_refused(monkeypatch, text):
    monkeypatch.setenv("ATTENTION_SECONDS", text)
    with pytest.raises(CannotGoOn, match="must be a number of seconds"):
        asked_limits()


def test_a_damaged_seed_is_reported(course):
    course.root.mkdir(exist_ok=True)
    (course.root / "seed").write_text("half a num")
    with pytest.raises(CannotGoOn, match="must hold one number and holds 'half a num'"):
        course.seed()
