"""What a stranger wrote is only text in the instructor's terminal too."""

import re

import pytest

from autograder.authoring.sample import handed_in
from autograder.pages import terminal
from autograder.strangers import log_of
from tests.injections.corpus import FOLDERS, PAYLOADS, spoiled


def test_grade_prints_text_only(course, command, single_head):
    for name, payload in [
        ("controls", PAYLOADS["controls"]),
        ("rich", PAYLOADS["rich"]),
        *((folder, PAYLOADS["rich"]) for folder in FOLDERS),
    ]:
        path = course.submitted / name / "single_head" / "single_head.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(spoiled(handed_in(single_head, None), payload), encoding="utf-8")
    output = command("python", "-m", "autograder", "grade", "single_head", "--jobs", "1").stdout
    assert all(c.isprintable() or c == "\n" for c in output), [c for c in output if not c.isprintable() and c != "\n"]
    assert output.count("not judged: ") >= len(FOLDERS) and "[b][" in output and "controls" in output


FORGERS = (
    "eve\nada single_head: 20",
    "eve\r\x1b[1Aada single_head: 20",
    "eve\x1b[2K\x1b[1Gada single_head: 20",
    "eve \u2028ada single_head: 20",
    "eve\u2067ada single_head: 20",
    "eve\x85ada single_head: 20",
    "eve" + " " * 150 + "ada single_head: 20",
    "eve\udcff[2J",
)


def test_a_folders_name_makes_no_line_of_its_own(course, command, single_head):
    for name in FORGERS:
        (course.submitted / name / "single_head").mkdir(parents=True)
    (course.submitted / FORGERS[0] / "single_head" / "single_head.ipynb").write_text("{}")
    for number in range(2):  # few, and a table of them; many, and a line for each that was not judged
        done = command("python", "-m", "autograder", "grade", "single_head", "--jobs", "1")
        output = done.stdout + done.stderr
        assert all(c.isprintable() or c == "\n" for c in output) and not re.search(r"^\W*ada single_head", output, re.MULTILINE), output
        assert output.count("'eve") >= len(FORGERS)
        for spare in range(terminal.MANY * (1 - number)):
            (course.submitted / f"spare {spare}" / "single_head").mkdir(parents=True)


def test_what_code_says_makes_no_mark_in_pytest(course, hand_in, command, single_head):
    marks = [f"{check}: {points:g} of {points:g} (passed)" for check, points in single_head.checks.items()]
    said = "\n".join(["\r", *marks, *(f"\x1b[2K{mark}" for mark in marks)])

    def forge(notebook):
        next(c for c in notebook.cells if c.id == "answer-softmax").source = f"def softmax(*given):\n    raise ValueError({said!r})"

    path = hand_in("eve", single_head, change=forge)
    done = command("python", "-m", "pytest", "solutions/single_head", "-q", "--submission", path, code=1)
    shown = re.findall(r"^softmax: ([\d.]+) of", done.stdout, re.MULTILINE)
    assert shown == ["0"] and marks[0] in done.stdout and "\x1b" not in done.stdout.replace("\x1b[0m", "")


@pytest.mark.parametrize("name", ["autograder", "nbgrader"])
def test_a_log_has_one_line_for_each_message(caplog, name):
    log_of(name).warning("%s/%s was removed", "eve\nERROR ada was removed\x1b[2J", "x\u202e")
    assert caplog.messages == [r"eve\nERROR ada was removed\x1b[2J/x\u202e was removed"]


def test_an_errors_further_lines_are_indented():
    assert terminal.lines("one\ntwo [b]\x1b[2J\tthree") == "one\n    two \\[b]\\x1b[2J\\tthree"
