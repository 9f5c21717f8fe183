"""What grading shows of a class: all of it where it is small, its outline where nobody would read all."""

import pytest

from autograder.kit.outcome import Named, Outcome, Verdict
from autograder.pages import terminal
from autograder.records.entry import Entry
from autograder.records.marks import Marks
from autograder.records.results import Result

WRONG = Verdict("scale", Outcome.WRONG, 2.0, mistake=Named("no_root", "no root", "a hint"))


def entry(number: int, *verdicts: Verdict, refused: str = "", exercise: str = "single_head") -> Result:
    verdicts = verdicts or (Verdict("scale", Outcome.PASSED, 2.0),)
    points = {} if refused else {verdict.check: verdict.score for verdict in verdicts}
    return Result(Entry(f"learner{number}", exercise, {}, verdicts, refused), Marks(points))


@pytest.fixture
def shown(capsys, monkeypatch):
    """Return what grading prints of these entries, line by line."""
    monkeypatch.setattr(terminal.console, "width", 100, raising=False)

    def show(entries: list[Result]) -> list[str]:
        with terminal.progress(len(entries)) as seen:
            for each in entries:
                seen(each)
        terminal.print_marks(entries)
        return capsys.readouterr().out.splitlines()

    return show


def test_a_small_class_has_a_line_for_each_submission(shown):
    lines = shown([entry(number) for number in range(terminal.MANY)])
    assert sum("single_head: 2" in line for line in lines) == sum("all passed" in line for line in lines) == terminal.MANY


def test_a_large_class_has_a_line_for_each_exercise(shown):
    many = [entry(number) for number in range(40)] + [entry(number, WRONG) for number in range(40, 50)]
    lines = shown([*many, *(entry(number, exercise="kv_cache") for number in range(50))])
    assert [line for line in lines if " of 100  " in line] == [
        *(f"{n:>3} of 100  {n} all right" for n in (10, 20, 30, 40)),
        *(f"{n:>3} of 100  {n - 10} all right, 10 with mistakes" for n in range(50, 101, 10)),
    ]
    table = [line.split() for line in lines]
    assert ["single_head", "50", "40", "1.6", "of", "20", "no_root", "(10)"] in table
    assert ["kv_cache", "50", "50", "2.0", "of", "13"] in table
    assert not any("learner" in line and "report" not in line for line in lines)


def test_nobody_without_a_mark_is_lost_in_a_large_class(shown):
    unread = entry(98, refused="single_head.ipynb: it is not JSON: [b]here[/b]. Save it again")
    failed = entry(99, Verdict("scale", Outcome.JUDGE_FAILED, 2.0))
    lines = shown([*(entry(number) for number in range(50)), unread, failed])
    assert lines[-2:] == [
        "learner98 single_head: not judged: single_head.ipynb: it is not JSON: [b]here[/b]. Save it again",
        "learner99 single_head: to be judged again",
    ]


def test_what_is_watched_comes_through_as_it_was_and_prints_nothing_to_a_machine(capfd):
    assert list(terminal.watched("at work")(iter("ab"))) == ["a", "b"]
    assert capfd.readouterr() == ("", "")
