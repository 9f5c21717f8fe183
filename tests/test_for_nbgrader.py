"""nbgrader and its formgrader read what our intake has written, whatever a learner's folder holds; one learner's folder costs nobody else."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path

import nbformat
import pytest
from nbconvert.filters import Highlight2HTML

from autograder.errors import CannotGoOn, Refused
from autograder.grading import grade
from autograder.intake.submission import Submission
from autograder.plugins.for_nbgrader import EMPTY, lay_out
from autograder.records import handed_in as handed_in_files
from autograder.records.course import Course, there
from autograder.records.handed_in import handed_in_at
from autograder.records.notebooks import LONGEST_BLANK, LONGEST_LINE, MOST_SHOWN, annotated, rebuilt
from tests.conftest import ROOT
from tests.formgrader_server import ask, server  # noqa: F401  (a fixture)

GARBAGE = [{"a": 1}] * 250_000  # outputs of no kind; nbformat took 10 GB to complain of them


@pytest.fixture
def attacked(course, hand_in, single_head):
    """A course in which each of several learners does something else to whoever reads the folder."""
    for learner in ("ada", "zoe"):
        hand_in(learner, single_head)
    path = hand_in("outputs", single_head)
    notebook = json.loads(path.read_text())
    next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")["outputs"] = GARBAGE
    path.write_text(json.dumps(notebook))
    for learner in ("new\nline", "back\\slash", "[ab]", "*"):
        hand_in(learner, single_head)
    beside = {name: hand_in(name, single_head).parent for name in ("device", "pipe", "tree", "time", "endless_time", "time_pipe", "script")}
    (beside["device"] / "data.bin").symlink_to("/dev/zero")
    os.mkfifo(beside["pipe"] / "data.bin")
    (beside["tree"] / "all").symlink_to("/")
    (beside["time"] / "timestamp.txt").write_text("yesterday\n")
    (beside["endless_time"] / "timestamp.txt").symlink_to("/dev/zero")
    os.mkfifo(beside["time_pipe"] / "timestamp.txt")
    (beside["script"] / "single_head.ipynb").rename(beside["script"] / "notebook.txt")
    (beside["script"] / "single_head.py").write_text("# %%\n")
    (course.submitted / "linked").symlink_to(course.submitted / "zoe")
    (course.submitted / "fifo" / "single_head").mkdir(parents=True)
    os.mkfifo(course.submitted / "fifo" / "single_head" / "single_head.ipynb")
    return course


def test_nothing_of_a_learners_but_the_time_is_laid_out(attacked):
    (attacked.submitted / "ada" / "single_head" / "timestamp.txt").write_text("2026-11-22 08:30:00 +0100\n")
    lay_out(attacked)
    found = {str(p.relative_to(attacked.for_nbgrader)): p.read_text() for p in attacked.for_nbgrader.rglob("*") if p.is_file()}
    learners = "ada device endless_time fifo linked outputs pipe script time time_pipe tree zoe".split()
    assert sorted(found) == sorted([*(f"{name}/single_head/single_head.ipynb" for name in learners), "ada/single_head/timestamp.txt"])
    time = found.pop("ada/single_head/timestamp.txt")
    assert time.startswith("2026-11-22 0") and time.endswith(" UTC\n") and set(found.values()) == {EMPTY}
    assert nbformat.validate(nbformat.reads(EMPTY, 4)) is None

    shutil.rmtree(attacked.submitted / "zoe")
    (attacked.submitted / "ada" / "single_head" / "timestamp.txt").unlink()
    lay_out(attacked)
    assert not any((attacked.for_nbgrader / "zoe").glob("*")) and [
        p.name for p in (attacked.for_nbgrader / "ada" / "single_head").iterdir()
    ] == ["single_head.ipynb"]


TIMES = [
    "",
    "yesterday",
    "2026-11-22",
    "2026-99-99 00:00:00 UTC",
    "9999-12-31 23:59:59 -1200",
    "2026-11-22 08:30:00 UTC\n\x1b[2J",
    "1" * 5000,
    "2026-11-22 08:30:00 /dev/zero",
    "\0",
]


@pytest.mark.parametrize("text", TIMES, ids=range(len(TIMES)))
def test_a_time_that_is_none_is_not_read_and_told_once_on_one_line(course, hand_in, single_head, caplog, monkeypatch, text):
    monkeypatch.setattr(handed_in_files, "_told", set())
    path = hand_in("ada", single_head).with_name("timestamp.txt")
    path.write_text(text)
    assert handed_in_at(course, "ada", "single_head") is None and handed_in_at(course, "ada", "single_head") is None
    (record,) = caplog.records
    assert "ada/single_head: timestamp.txt was not read" in record.getMessage() and record.getMessage().isprintable()


@pytest.mark.parametrize(
    "text", ["2015-02-02 15:58:23.948203 UTC", "2015-02-02T15:58:23Z", "2015-02-02 15:58:23", "2015-02-02 15:58:23+00:00"]
)
def test_times_that_nbgrader_and_platforms_write_are_read(course, hand_in, single_head, text):
    hand_in("ada", single_head).with_name("timestamp.txt").write_text(f"{text}\n")
    assert handed_in_at(course, "ada", "single_head").replace(microsecond=0) == datetime(2015, 2, 2, 15, 58, 23)


def test_nbgrader_goes_on_past_everything_and_judges_the_rest(attacked, command):
    command("nbgrader", "generate_assignment", "single_head", f"--CourseDirectory.release_directory={attacked.root / 'release'}")
    first = command("nbgrader", "autograde", "single_head", code=1)  # of those that were refused nbgrader makes errors
    done = {path.parts[-3] for path in attacked.root.glob("autograded/*/*/single_head.ipynb")}
    assert done == {"ada", "zoe", "outputs", "device", "pipe", "tree", "time", "endless_time", "time_pipe", "script"}, first.stderr
    for name in done:
        ours = {path.name for path in (attacked.root / "source" / "single_head").iterdir()}
        assert {path.name for path in (attacked.root / "autograded" / name / "single_head").iterdir()} == ours
    assert "Not judged: linked/single_head: linked/single_head: the folder is a link" in first.stderr
    assert "Not judged: fifo/single_head: single_head.ipynb: it is not a plain file" in first.stderr
    assert r"'new\nline' in the folder of submissions is not a learner's name" in first.stderr and "\nline" not in first.stderr
    command("nbgrader", "autograde", "single_head", code=1)  # without --force it reads the times of all


def test_the_formgrader_shows_the_class_past_everything(server, attacked, command):  # noqa: F811
    command("nbgrader", "generate_assignment", "single_head", f"--CourseDirectory.release_directory={attacked.root / 'release'}")
    shown = {each["student"]: each for each in json.loads(ask(server, "/formgrader/api/submissions/single_head"))}
    assert len(shown) == 12 and {"zoe", "time", "time_pipe"} < set(shown) and not any(each["timestamp"] for each in shown.values())
    assert json.loads(ask(server, "/formgrader/api/submission/single_head/outputs/autograde", "POST"))["success"]
    assert len(json.loads(ask(server, "/formgrader/api/students"))) == 12


LONG = {
    "dots": "." * 100_000,
    "blank lines": " \n" * 50_000,
    "tabs": "x\n" + "\t" * 99_000,
    "lines of dots": ("." * 9_999 + "\n") * 10,
    "very many lines": "x = 1\n" * 16_000,
}


@pytest.mark.parametrize("source", LONG.values(), ids=LONG)
def test_what_pages_colour_has_no_long_line_or_blank(single_head, source):
    notebook = annotated(rebuilt(single_head, Submission("ada", "single_head", {"answer-masks": source})), [])
    (shown,) = (cell.source for cell in notebook.cells if cell.id == "answer-masks")
    assert len(shown) < 2 * MOST_SHOWN and max(map(len, shown.split("\n"))) < LONGEST_LINE + 40 and " more characters" in shown
    assert max(map(len, re.findall(r"\s+", shown)), default=0) <= LONGEST_BLANK + 2
    Highlight2HTML()(shown)  # before, a minute or more


def test_answers_of_people_are_shown_as_they_are(single_head):
    for cell in annotated(rebuilt(single_head, Submission("ada", "single_head", {c.id: c.source for c in single_head.answers})), []).cells:
        assert " more characters" not in cell.source


def test_collect_and_zip_collect_write_to_the_learners_folders(course, command, single_head, tmp_path):
    inbound = tmp_path / "exchange" / "school" / "inbound" / "ada+single_head+2026-01-02 10:00:00 UTC+x"
    inbound.mkdir(parents=True)
    for folder in (inbound, *inbound.parents[:3]):
        folder.chmod(0o777)
    (inbound / "single_head.ipynb").write_text("{}")
    (inbound / "timestamp.txt").write_text("2026-01-02 10:00:00 UTC")
    command("nbgrader", "collect", "single_head", "--course", "school", f"--Exchange.root={tmp_path / 'exchange'}")
    assert (course.submitted / "ada" / "single_head" / "single_head.ipynb").exists() and not (course.for_nbgrader / "ada").exists()


def _closed(monkeypatch, *paths: Path) -> None:
    """Let these folders be closed to this process, as mode 000 does to any but root."""

    def closing(really):
        def looked_at(path, *more, **by_name):
            if isinstance(path, (str, Path)) and any(closed in Path(path).parents for closed in paths):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            return really(path, *more, **by_name)

        return looked_at

    for name in ("lstat", "stat", "open"):
        monkeypatch.setattr(os, name, closing(getattr(os, name)))


def test_a_closed_folder_costs_its_learner_only_and_is_told(course, hand_in, single_head, monkeypatch):
    for learner in ("ada", "bob", "zoe"):
        hand_in(learner, single_head)
    _closed(monkeypatch, course.submitted / "bob", course.submitted / "ada" / "single_head")
    entries = {entry.learner: entry for entry in grade(course, ["single_head"]).entries}
    assert [learner for learner, entry in entries.items() if not entry.refused] == ["zoe"]
    assert all("it cannot be opened (Permission denied)" in entries[learner].refused for learner in ("ada", "bob"))
    lay_out(course)


CLOSED = """
import os
import sys
from pathlib import Path
from autograder.records.course import Course
from autograder.intake.reading import file_bytes
from autograder.errors import Refused
if os.getuid() == 0:  # what is needed is imported; root's own Python may be closed to others
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
course = Course(Path(sys.argv[1]))
print(course.submissions(["single_head"]))
for learner in course.learners():
    try:
        print(learner, len(file_bytes(course.handed_in(learner, "single_head"))))
    except Refused as refusal:
        print(learner, refusal.what)
"""


def test_the_mode_of_a_folder_closes_it_to_who_is_not_root():
    """What `_closed` pretends, by a process that has no more rights than others."""
    with tempfile.TemporaryDirectory() as folder:
        course = Course(Path(folder) / "course")
        for learner in ("ada", "bob", "zoe"):
            path = course.submitted / learner / "single_head" / "single_head.ipynb"
            path.parent.mkdir(parents=True)
            path.write_text("{}")
        for path in (Path(folder), course.root, course.submitted):
            path.chmod(0o755)
        (course.submitted / "bob").chmod(0)
        (course.submitted / "ada" / "single_head").chmod(0)
        done = subprocess.run([sys.executable, "-c", CLOSED, str(course.root)], cwd=ROOT, capture_output=True, text=True)
        for path in (course.submitted / "bob", course.submitted / "ada" / "single_head"):
            path.chmod(0o755)
        assert done.stdout.splitlines() == [
            "[('ada', 'single_head'), ('bob', 'single_head'), ('zoe', 'single_head')]",
            "ada it cannot be opened (Permission denied)",
            "bob it cannot be opened (Permission denied)",
            "zoe 2",
        ], done.stderr


def test_where_no_folder_can_be_listed_that_is_said(course, monkeypatch):
    course.submitted.mkdir(parents=True)
    course.submitted.rmdir()
    course.submitted.write_text("")
    with pytest.raises(CannotGoOn, match="cannot be opened"):
        list(course.learners())
    assert not there(course.submitted / "ada") and there(course.submitted)
    with pytest.raises(Refused):
        course.handed_in("ada", "single_head")
