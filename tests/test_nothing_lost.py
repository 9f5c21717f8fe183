"""Whatever happens to a run, the next one ends with the marks of an undisturbed one."""

import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from autograder.errors import CourseBusy, NoSpace
from autograder.files import HALF_WRITTEN, beside_of, remove_half_written, write_whole
from autograder.grading import Grader, grade
from autograder.intake.reading import read_submission
from autograder.judging import judge as this_judge
from autograder.kit.outcome import Outcome
from autograder.plugins import autograde
from autograder.records.course import Course
from autograder.records.lock import held
from tests.marks import everything, files, marks, small_class

SMALL_DISK = """
set -e
mount -t tmpfs -o size=2m none "$1"
cp -r "$2"/submitted "$2"/verdicts "$2"/seed "$1"
for kilobytes in 0 400; do
    dd if=/dev/zero of="$1"/filler bs=1k 2>/dev/null || true
    truncate --size=-${kilobytes}k "$1"/filler
    "$3" -m autograder grade single_head --jobs 1 && echo "ended well with $kilobytes" || echo "ended with $?"
done
rm "$1"/filler
"$3" -m autograder grade single_head --jobs 1
cp -r "$1"/. "$4"
"""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A small class, graded in peace."""
    course = Course(tmp_path_factory.mktemp("undisturbed"))
    small_class(course)
    assert len(grade(course, ["single_head"]).entries) == 4
    return course


@pytest.fixture
def graded(course, undisturbed):
    """A copy of it, to be spoilt."""
    shutil.copytree(undisturbed.root, course.root)
    return course


def test_a_write_that_finds_no_space_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "entry.json"
    write_whole(path, "old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(NoSpace, match=r"no space left to write .*entry\.json. Nothing is lost: free some"):
            write_whole(path, "new" * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["entry.json"]


@pytest.mark.skipif(
    subprocess.run(["unshare", "-Urm", "true"], capture_output=True).returncode != 0, reason="this machine lets nobody mount a small disk"
)
def test_a_full_disk_is_reported_and_loses_nothing(undisturbed, tmp_path, command):
    small, after = tmp_path / "course", tmp_path / "after"
    small.mkdir()
    after.mkdir()
    (tmp_path / "script").write_text(SMALL_DISK)
    done = command(shutil.which("unshare"), "-Urm", "bash", tmp_path / "script", small, undisturbed.root, sys.executable, after)
    assert done.stdout.count("ended with 2") == 2, done.stdout + done.stderr
    assert done.stdout.count("Nothing is lost: free some space") == 2 and "Traceback" not in done.stderr
    assert everything(Course(after)) == everything(undisturbed)


@pytest.mark.parametrize("damage", ["cut short", "empty", "zeros", "other JSON"])
def test_a_power_cut_is_repaired(graded, undisturbed, damage):
    spoilt = [*graded.root.glob("verdicts/*/*"), *graded.root.glob("autograded/*/*/*"), *graded.root.glob("feedback/*/*/*")]
    assert len(spoilt) == 12
    for path in spoilt:
        data = path.read_bytes()
        path.write_bytes(
            {"cut short": data[: len(data) // 2], "empty": b"", "zeros": bytes(len(data)), "other JSON": b'{"verdicts": [3]}'}[damage]
        )
    grade(graded, ["single_head"])
    assert everything(graded) == everything(undisturbed)


def test_a_transaction_that_the_power_cut_off_is_rolled_back(graded, undisturbed):
    pid = os.fork()
    if pid == 0:
        database = sqlite3.connect(graded.root / "gradebook.db")
        database.execute("pragma cache_size = 1")  # so that it writes into the file before the commit
        database.execute("update grade set auto_score = 99, manual_score = 99")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    assert (graded.root / "gradebook.db-journal").stat().st_size > 0
    grade(graded, ["single_head"])
    assert everything(graded) == everything(undisturbed)


def test_what_a_killed_process_left_half_written_is_removed(graded, undisturbed):
    pid = os.fork()
    if pid == 0:
        for folder in (graded.root, graded.root / "verdicts", graded.root / "feedback" / "ada"):
            beside_of(folder / "page.html").write_text("half")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    mine = beside_of(graded.root / "verdicts" / "mine.json")
    mine.write_text("a living process is at it")
    left = remove_half_written(graded.root, *graded.written)
    assert len(left) == 3 and all(f".page.html.{pid}-" in str(path) for path in left)
    mine.unlink()
    assert everything(graded) == everything(undisturbed)


def test_one_run_at_a_time_and_a_message_says_which(course, monkeypatch, caplog):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        with held(course.lock, "a long grading", 1):
            os.write(writer, b".")
            time.sleep(60)
        os._exit(0)
    os.read(reader, 1)
    monkeypatch.setattr("autograder.grading.LOCK_SECONDS", 0.3)
    with pytest.raises(CourseBusy, match=rf"marks are being written by a long grading, process {pid}, since 2.*Wait until it ends"):
        grade(course, ["single_head"])
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert not caplog.text
    assert grade(course, ["single_head"]).entries == []
    assert f"An earlier run was cut off: a long grading, process {pid}" in caplog.text
    caplog.clear()
    assert grade(course, ["single_head"]).entries == [] and not caplog.text


def test_what_is_changed_or_taken_away_while_the_class_is_graded(graded, undisturbed, hand_in, single_head, caplog):
    def disturb(entry):
        if entry.learner == "ada":
            shutil.rmtree(graded.submitted / "alan" / "single_head")
            hand_in("barbara", single_head)

    entries = grade(graded, ["single_head"], seen=disturb).entries
    assert [entry.learner for entry in entries] == ["ada", "barbara", "claude"] and "alan/single_head was removed" in caplog.text
    assert [row for row in marks(graded)[0] if row[0] != "barbara"] == [row for row in marks(undisturbed)[0] if row[0] != "barbara"]
    assert sum(row[2] for row in marks(graded)[0] if row[0] == "barbara") == sum(single_head.checks.values())


def test_a_run_that_goes_on_says_so(graded, command):
    (graded.root / "verdicts" / "ada" / "single_head.json").unlink()
    assert (
        "3 of 4 were judged before, and nothing has changed for them"
        in command("python", "-m", "autograder", "grade", "single_head", "--jobs", "1").stdout
    )


def test_our_failure_takes_away_no_mark(graded, single_head, monkeypatch):
    class Broken:
        def __init__(self, *given):
            raise OSError("no more processes")

    monkeypatch.setattr("autograder.judging.judge.Session", Broken)
    submission = read_submission(graded.handed_in("ada", "single_head"), "ada", single_head)
    before = files(graded, "verdicts")
    with Grader(graded, again=True) as grader:
        assert grader.entry(submission).score == sum(single_head.checks.values())
    assert files(graded, "verdicts") == before


@pytest.mark.parametrize("moment", ["at a cell", "at a call"])
@pytest.mark.parametrize("victim", ["worker", "zygote"])
def test_a_process_that_somebody_else_kills_is_held_against_nobody(course, hand_in, single_head, monkeypatch, victim, moment):
    submission, killed = read_submission(hand_in("ada", single_head), "ada", single_head), []

    class Killing(this_judge.Session):
        """A session whose worker or zygote is killed from outside, once."""

        def _ask(self, request, *more):
            if not killed and (request["do"] == "cell") == (moment == "at a cell"):
                killed.append(request)
                os.kill(_pid_of(self, victim), signal.SIGKILL)
            return super()._ask(request, *more)

    monkeypatch.setattr(this_judge, "Session", Killing)
    with Grader(course) as grader:
        entry = grader.entry(submission)
    assert killed and entry.score == sum(single_head.checks.values())


def _pid_of(session, victim: str) -> int:
    import psutil

    tree = psutil.Process(session._zygote.forkserver.pid)
    return max(tree.children(recursive=True), key=lambda p: (p.create_time(), p.pid)).pid if victim == "worker" else tree.pid


def test_a_process_that_dies_every_time_is_the_learners(course, hand_in, single_head):
    def leave(notebook):
        cell = next(c for c in notebook.cells if c.id == "answer-masks")
        cell.source = "import os\ndef causal_mask(length):\n    os._exit(0)\n"

    submission = read_submission(hand_in("eve", single_head, change=leave), "eve", single_head)
    with Grader(course) as grader:
        entry = grader.entry(submission)
    assert Outcome.ENDED in {v.outcome for v in entry.verdicts} and entry.settled


def test_what_a_killed_nbgrader_left_is_taken_back(graded):
    finished = graded.autograded("ada", "single_head")
    pid = os.fork()
    if pid == 0:
        notebook = json.loads(finished.read_text())
        notebook["metadata"][autograde.BEING_JUDGED] = autograde.process_name()
        graded.autograded("alan", "single_head").write_text(json.dumps(notebook))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    graded.autograded("barbara", "single_head").write_text("{")
    graded.autograded("claude", "single_head").unlink()
    assert sorted(f.parent.name for f in autograde.take_back(graded)) == ["alan", "barbara", "claude"]
    assert finished.exists() and autograde.take_back(graded) == []


def test_a_notebook_that_was_cut_off_anywhere_is_taken_for_no_whole_one(graded):
    path = graded.autograded("ada", "single_head")
    whole = path.read_text()
    for end in [brace.end() for brace in re.finditer("}", whole)][:-1]:
        path.write_text(whole[:end])
        assert autograde._left(path.parent), whole[:end][-80:]
    notebook = json.loads(whole)
    notebook["cells"][0]["source"] = f"a learner writes {autograde.BEING_JUDGED}"
    path.write_text(json.dumps(notebook))
    assert not autograde._left(path.parent)


def test_nothing_hidden_is_left_in_a_graded_course(undisturbed):
    assert not [path for path in undisturbed.root.rglob(".*") if HALF_WRITTEN.fullmatch(path.name)]
    assert undisturbed.lock.read_text() == ""
