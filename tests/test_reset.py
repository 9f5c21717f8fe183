"""A learner's exercise is taken away so that it can be handed in anew; nothing of it is lost, and its history says what it counted."""

import json
import os
import shutil
from datetime import timedelta

import nbformat
import pytest

from autograder.authoring.sample import handed_in
from autograder.errors import Refused, UnknownLearner
from autograder.grading import grade
from autograder.records import database, history
from autograder.records.course import Course
from autograder.records.history import noted, read_steps
from autograder.records.reset import reset, taken_at
from autograder.writing import write_report
from tests.marks import files, marks

AT = "2026-11-20 10:00:00 UTC"


@pytest.fixture(scope="module")
def marked(tmp_path_factory, single_head):
    """Ada and bob have handed in; a person has marked ada's work, commented on it and granted her a day more."""
    course = Course(tmp_path_factory.mktemp("graded"))
    for learner in ("ada", "bob"):
        folder = course.submitted / learner / "single_head"
        folder.mkdir(parents=True)
        (folder / "single_head.ipynb").write_text(nbformat.writes(handed_in(single_head, single_head.mistakes[0])), encoding="utf-8")
        (folder / "timestamp.txt").write_text(AT)
    grade(course, ["single_head"])
    by_hand(course, "ada")
    return course


@pytest.fixture
def graded(course, marked):
    shutil.copytree(marked.root, course.root)
    return course


def by_hand(course, learner: str) -> None:
    with database.opened(course.gradebook_url) as gradebook:
        gradebook.find_grade("softmax", "single_head", "single_head", learner).manual_score = 1.5
        submission = gradebook.find_submission("single_head", learner)
        submission.extension = timedelta(days=1)
        submission.notebooks[0].comments[0].manual_comment = "well begun"
        gradebook.db.commit()


def test_a_reset_takes_one_submission_away_and_keeps_all_of_it(graded, command):
    before = files(graded, "submitted", "verdicts", "autograded", "feedback")
    rows = marks(graded)
    looked = command("python", "-m", "autograder", "reset", "--dry-run", "single_head", "ada").stdout
    assert "This would be taken away" in looked and "by hand: 1, comments: 1, an extension of 1 days" in looked and "kept in" not in looked
    assert files(graded, "submitted", "verdicts", "autograded", "feedback") == before and marks(graded) == rows
    assert not (graded.root / "taken_away").exists()

    told = command("python", "-m", "autograder", "reset", "single_head", "ada").stdout
    (kept,) = (graded.root / "taken_away" / "ada" / "single_head").iterdir()
    assert "Taken away:" in told and str(kept) in told.replace("\n", "")
    left = files(graded, "submitted", "verdicts", "autograded", "feedback")
    assert left == {path: text for path, text in before.items() if "/ada/" not in path}
    mine = {path: text for path, text in before.items() if path not in left}
    assert sorted(mine.values()) == sorted(p.read_bytes() for p in kept.rglob("*") if p.is_file() and p.name != "gradebook.json")
    assert marks(graded) == tuple([row for row in part if row[0] != "ada"] for part in rows)
    was = json.loads((kept / "gradebook.json").read_text())
    assert was["grades"]["softmax"]["by_hand"] == 1.5 and list(was["comments"].values()) == ["well begun"]
    assert was["extension_in_seconds"] == 86400 and was["handed_in"] == AT.removesuffix(" UTC")
    assert "ada" not in (graded.root / "report.csv").read_text()


def test_after_a_reset_it_is_handed_in_anew_and_the_history_goes_on(graded, hand_in, single_head, command):
    reset(graded, "single_head", "ada")
    hand_in("ada", single_head)
    result = grade(graded, ["single_head"])
    assert {entry.learner: entry.score for entry in result.entries} == {"ada": 20, "bob": 4} and result.new == 1
    assert [(step.points, step.why.partition(",")[0]) for step in read_steps(graded, "ada", "single_head")] == [
        (4.0, "it was handed in"),
        (None, "it was taken away"),
        (20.0, "it was handed in"),
    ]
    told = command("python", "-m", "autograder", "history", "single_head", "ada").stdout
    assert "4 of 20" in told and "20 of 20" in told and "taken_away/ada/single_head" in told
    reset(graded, "single_head", "ada")
    assert len(list((graded.root / "taken_away" / "ada" / "single_head").iterdir())) == 2


@pytest.mark.parametrize("learner", ["adda", "nobody"])
def test_who_has_handed_in_nothing_is_not_reset(graded, command, learner):
    before = files(graded, "submitted", "verdicts", "autograded", "feedback")
    done = command("python", "-m", "autograder", "reset", "single_head", learner, code=2)
    assert (
        f"UnknownLearner '{learner}' has handed in nothing for single_head; there is work of ada" in done.stdout
        and "Traceback" not in done.stderr
    )
    assert files(graded, "submitted", "verdicts", "autograded", "feedback") == before
    for words in (("history", "single_head", learner), ("draft", "single_head", learner)):
        assert "there is work of ada" in command("python", "-m", "autograder", *words, code=2).stdout


def test_an_exercise_that_is_none_and_a_name_that_is_none_are_refused(graded, command):
    done = command("python", "-m", "autograder", "reset", "single_heads", "ada", code=2)
    assert "UnknownExercise no exercise is called 'single_heads'" in done.stdout
    with pytest.raises(Refused, match="not a learner's name"):
        reset(graded, "single_head", "../ada")
    with pytest.raises(UnknownLearner, match="neither has anybody else"):
        reset(graded, "similarity", "ada")


@pytest.mark.parametrize("moment", ["before the gradebook", "after the gradebook", "between folders"])
def test_a_reset_that_was_cut_off_is_finished_by_the_next_one(graded, monkeypatch, moment):
    from autograder.records import reset as module

    def dies(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if moment == "before the gradebook":
            patch.setattr("nbgrader.api.Gradebook.remove_submission", dies)
        elif moment == "after the gradebook":
            patch.setattr(module.os, "rename", dies)
        else:
            patch.setattr(module.os, "rename", lambda a, b: dies() if "autograded" in str(a) else os.replace(a, b))
        with pytest.raises(KeyboardInterrupt):
            reset(graded, "single_head", "ada")
    reset(graded, "single_head", "ada")
    kept = [path for path in (graded.root / "taken_away").rglob("*") if path.is_file()]
    names = [path.name for path in kept if path.name != "gradebook.json"]
    assert sorted(names) == [
        "single_head.html",
        "single_head.ipynb",
        "single_head.ipynb",
        "timestamp.txt",
        "timestamp.txt",
        "timestamp.txt",
        "verdicts.json",
    ]
    first = min((path for path in kept if path.name == "gradebook.json"), key=str)
    assert json.loads(first.read_text())["grades"]["softmax"]["by_hand"] == 1.5
    assert not [row for row in marks(graded)[0] if row[0] == "ada"]


def test_what_was_taken_away_is_known_by_its_time(graded):
    assert taken_at(graded, "ada", "single_head") is None
    reset(graded, "single_head", "ada")
    assert f"{taken_at(graded, 'ada', 'single_head')} UTC" == AT and taken_at(graded, "bob", "single_head") is None


def test_history_says_what_changed_and_why_and_nothing_where_nothing_did(graded, hand_in, single_head):
    def told() -> list[tuple]:
        return [(step.points, step.why) for step in read_steps(graded, "ada", "single_head")]

    write_report(graded)  # which sees what the person did
    begun = [(4.0, "it was handed in"), (5.5, "a person changed marks")]
    assert told() == begun
    grade(graded, ["single_head"])
    write_report(graded)
    assert told() == begun
    hand_in("ada", single_head)
    grade(graded, ["single_head"])
    assert told()[2:] == [(pytest.approx(20 - single_head.checks["softmax"] + 1.5), "the answers changed")]
    path = graded.submitted / "ada" / "single_head" / "single_head.ipynb"
    path.write_text("{")
    grade(graded, ["single_head"])
    assert told()[3] == (None, "it could not be read") and len(told()) == 4


def test_a_damaged_line_of_a_history_costs_that_line(graded):
    path = graded.history("ada", "single_head")
    path.write_text(path.read_text() + "half a li")
    assert len(read_steps(graded, "ada", "single_head")) == 1
    assert history.with_line(graded, "ada", "single_head", read_steps(graded, "ada", "single_head")[0])[1].startswith(path.read_text())
    assert not noted(graded, [], history.run_begins())
