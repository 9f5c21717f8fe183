"""The sample class shows every outcome that can occur, and stops no batch."""

import pytest

from autograder.authoring.sample import sample_class, write_sample
from autograder.exercise import reading as exercises
from autograder.grading import grade
from autograder.kit.outcome import Named, Outcome, Verdict
from autograder.pages.report import report_page
from autograder.records.entry import Entry
from autograder.records.results import Result

# These have an accident of every kind among them; what becomes of the others' right and wrong answers, the matrix shows each time.
WITH_ACCIDENTS = ["single_head", "cross_attention", "multi_head"]


@pytest.mark.parametrize(
    "names", [WITH_ACCIDENTS, pytest.param(exercises.all_names(), marks=pytest.mark.nightly)], ids=["accidents", "all"]
)
def test_sample_class_is_graded(course, names):
    assert write_sample(course) == len(sample_class())
    assert write_sample(course) == 0  # what is there is left alone
    entries = grade(course, names).entries
    assert len(entries) == sum(part.exercise in names for part in sample_class()) >= 24
    seen = {v.outcome for entry in entries for v in entry.verdicts}
    assert seen == set(Outcome) - {Outcome.JUDGE_FAILED}
    assert any(entry.refused for entry in entries)
    for name in names:
        most = sum(exercises.load(name).checks.values())
        assert [e.score for e in entries if e.exercise == name].count(most) >= 2
    assert any(v.mistake for entry in entries for v in entry.verdicts)

    page = report_page([Result(entry) for entry in entries])
    for entry in entries:
        assert entry.learner in page and course.feedback(entry.learner, entry.exercise).is_file()


def test_pages_hold_nothing_of_the_learners_markup(course, hand_in, single_head):
    """What code says about itself is text on our pages, in the notebook and for nbgrader."""
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>"

    def spoil(notebook):
        for cell in notebook.cells:
            if cell.id == "answer-masks":
                cell.source = f"def causal_mask(length):\n    raise ValueError({evil!r})\n"
            if cell.cell_type == "markdown":
                cell.source = evil

    hand_in("eve", single_head, change=spoil)
    entries = grade(course, ["single_head"]).entries
    assert any(evil in v.reason for v in entries[0].verdicts)
    pages = [report_page([Result(entry) for entry in entries]), course.feedback("eve", "single_head").read_text()]
    assert all("<script>alert" not in page and "<img" not in page for page in pages)
    assert (
        "<script>alert"
        not in course.autograded("eve", "single_head")
        .read_text()
        .replace("&lt;script", "")
        .split('"text/html"', 1)[1]
        .split('"text/plain"')[0]
    )


def test_bug_that_was_handed_out_is_nobodys_mistake():
    exercise = exercises.load("bug_hunt")
    cell, name = next(iter(exercise.handed_out.items()))
    mistakes = {m.name: m for m in exercise.mistakes}
    own = next(m for m in exercise.mistakes if m.name not in exercise.handed_out.values())
    named = [Named(m.name, m.title, m.hint) for m in (mistakes[name], own)]
    verdicts = tuple(Verdict(check, Outcome.WRONG, 1.0, mistake=each) for check, each in zip(exercise.checks, named))
    page = report_page([Result(Entry("ada", "bug_hunt", {}, verdicts))])
    assert "Not repaired: " in page and page.count("Not repaired: ") == 1
