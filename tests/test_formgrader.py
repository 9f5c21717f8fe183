"""nbgrader's own formgrader, in a real Jupyter server: its buttons reach our judge."""

import csv
import json
import os
import re
from contextlib import suppress

import psutil
import pytest

from autograder.grading import grade
from autograder.sandbox.rootfs import PREFIX
from tests.conftest import ROOT
from tests.formgrader_server import ask, server, serving  # noqa: F401  (a fixture)


def test_button_gives_the_mark_and_pages_show_it(server, course, hand_in, command, single_head):  # noqa: F811
    hand_in("ada", single_head, single_head.mistakes[0])
    command("nbgrader", "generate_assignment", "single_head", f"--CourseDirectory.release_directory={course.root / 'release'}")
    assert "single_head" in {a["name"] for a in json.loads(ask(server, "/formgrader/api/assignments"))}
    answer = json.loads(ask(server, "/formgrader/api/submission/single_head/ada/autograde", "POST"))
    assert answer["success"], answer

    (mine,) = json.loads(ask(server, "/formgrader/api/submissions/single_head"))
    (entry,) = grade(course, ["single_head"]).entries
    assert mine["score"] == entry.score < mine["max_score"] == sum(single_head.checks.values())

    (notebook,) = json.loads(ask(server, "/formgrader/api/submitted_notebooks/single_head/single_head"))
    page = ask(server, f"/formgrader/submissions/{notebook['id']}/?index=0")
    assert single_head.mistakes[0].title in page and re.search(r"wrong answer", page)
    assert ask(server, "/formgrader/manage_assignments")

    command("nbgrader", "export", "--to", course.root / "grades.csv")
    (row,) = csv.DictReader((course.root / "grades.csv").read_text(encoding="utf-8").splitlines())
    assert (row["student_id"], float(row["score"])) == ("ada", entry.score)
    command("nbgrader", "generate_feedback", "single_head", "--force")
    assert single_head.mistakes[0].title in course.feedback("ada", "single_head").read_text()


@pytest.fixture
def busy_server(course, tmp_path):
    """A server, its process, and the folder for what it makes on its way."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    scratch.chmod(0o755)  # the sandbox's user has to pass
    with serving(ROOT, {**os.environ, "ATTENTION_COURSE": str(course.root), "TMPDIR": str(scratch)}) as (base, process):
        yield base, process, scratch


def _click(base: str, learner: str) -> None:
    answer = json.loads(ask(base, f"/formgrader/api/submission/single_head/{learner}/autograde", "POST"))
    assert answer["success"], answer


def test_a_click_finds_what_the_one_before_has_started(busy_server, course, hand_in, command, single_head):
    base, process, scratch = busy_server
    for learner in ("ada", "alan", "barbara"):
        hand_in(learner, single_head, single_head.mistakes[0])
    command("nbgrader", "generate_assignment", "single_head", f"--CourseDirectory.release_directory={course.root / 'release'}")

    _click(base, "ada")
    started = process.children(recursive=True)
    assert started and len(list(scratch.glob(f"{PREFIX}*"))) == 1
    _click(base, "alan")
    assert process.children(recursive=True) == started

    for one in started:  # none is there any more: another has to be started
        with suppress(psutil.NoSuchProcess):  # some go with those that were killed before them
            one.kill()
    _click(base, "barbara")
    assert not set(process.children()) & set(started)

    marks = {each["student"]: each["score"] for each in json.loads(ask(base, "/formgrader/api/submissions/single_head"))}
    assert len(marks) == 3 and len(set(marks.values())) == 1 and 0 < marks["ada"] < sum(single_head.checks.values())
    left = process.children(recursive=True)
    process.terminate()
    process.wait(30)
    assert not psutil.wait_procs(left, timeout=30)[1] and not list(scratch.glob(f"{PREFIX}*"))
