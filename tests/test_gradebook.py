"""The gradebook: a submission is in it whole or not at all, and what a person wrote stays."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import event, text

from autograder.errors import GradebookBusy, MarksByHand
from autograder.grading import Grader, grade
from autograder.kit.cells import CHECK, Cell
from autograder.kit.outcome import Outcome, Verdict
from autograder.records import database as databases
from autograder.records import gradebook as gradebooks
from autograder.records.entry import Entry
from autograder.records.journal import read_entry
from tests.conftest import ROOT
from tests.marks import marks

HOLD = "import sqlite3, sys, time; d = sqlite3.connect(sys.argv[1], isolation_level=None); d.execute('begin exclusive'); print('held', flush=True); time.sleep(float(sys.argv[2]))"


class Power(Exception):
    """The power goes."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory, single_head):
    """A gradebook with the exercise in it; nbgrader takes seconds to make one."""
    path = tmp_path_factory.mktemp("gradebook") / "gradebook.db"
    with databases.opened(f"sqlite:///{path}") as one:
        gradebooks.prepare(one, f"sqlite:///{path}", single_head)
    return path


@pytest.fixture
def book(course, prepared):
    course.root.mkdir()
    shutil.copyfile(prepared, course.root / "gradebook.db")
    with databases.opened(course.gradebook_url) as one:
        yield one


@contextmanager
def held_by_another(course, seconds: float):
    """Let another process hold the gradebook."""
    words = [sys.executable, "-c", HOLD, str(course.root / "gradebook.db"), str(seconds)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        try:
            yield
        finally:
            process.kill()


def judged(exercise, learner: str, outcome=Outcome.PASSED) -> Entry:
    return Entry(learner, exercise.name, {}, tuple(Verdict(check, outcome, points) for check, points in exercise.checks.items()))


def by_hand(book, learner: str, check: str) -> None:
    """Do what an instructor does in the formgrader."""
    mark = book.find_grade(check, "single_head", "single_head", learner)
    mark.manual_score, mark.extra_credit, mark.needs_manual_grade = 0.5, 0.25, False
    comment = book.find_submission_notebook("single_head", "single_head", learner).comments[0]
    comment.manual_comment = "Well argued."
    book.db.commit()


def written_by_hand(course) -> list:
    grades, comments = marks(course)
    return [(*row[:2], row[3], row[4]) for row in grades if row[3] is not None] + [row for row in comments if row[3]]


def test_a_submission_and_an_exercise_are_one_commit_each(book, course, single_head):
    commits = []
    event.listen(book.engine, "commit", commits.append)
    gradebooks.record(book, [judged(single_head, "ada")])
    assert len(commits) == 1
    gradebooks.prepare(book, course.gradebook_url, single_head)
    assert len(commits) == 2
    assert len(marks(course)[0]) == len(single_head.checks)


@pytest.mark.parametrize("what", ["a new learner", "a second grading", "a changed exercise"])
def test_an_error_between_any_two_statements_leaves_all_as_it_was(book, course, single_head, what):
    def change():
        if what == "a changed exercise":
            gradebooks.prepare(book, course.gradebook_url, _with_points(single_head, 7.0))
        else:
            gradebooks.record(book, [judged(single_head, "ada")])

    if what == "a second grading":
        gradebooks.record(book, [judged(single_head, "ada", Outcome.WRONG)])
    before, tries = _rows(course), 0
    while _breaks(book, change, after=tries):
        assert _rows(course) == before
        tries += 5 if what == "a changed exercise" else 1  # that one has a hundred statements
    assert tries > 4 and _rows(course) != before


def _breaks(book, change, after: int) -> bool:
    """Do it, with an error after so many statements; return whether it got that far."""
    count = [after]

    def fail(*of_statement):
        count[0] -= 1
        if count[0] < 0:
            raise Power

    event.listen(book.engine, "before_cursor_execute", fail)
    try:
        change()
    except Power:
        return True
    finally:
        event.remove(book.engine, "before_cursor_execute", fail)
    return False


@pytest.mark.parametrize("spill", [False, True], ids=["in memory", "half of it on disk"])
def test_kill_between_any_two_statements_leaves_all_or_nothing(book, course, single_head, spill):
    gradebooks.record(book, [judged(single_head, "ada", Outcome.WRONG)])
    book.close()
    before, tries, hot = _rows(course), 0, 0
    while _is_killed(course, judged(single_head, "ada"), after=tries, spill=spill):
        hot += (course.root / "gradebook.db-journal").exists()
        assert _rows(course) == before
        tries += 1
    assert tries > 4 and hot > 0 and _rows(course) != before
    assert {row[2] for row in marks(course)[0]} == set(single_head.checks.values())


def _is_killed(course, entry: Entry, after: int, spill: bool) -> bool:
    """Enter the marks in a process that is killed after so many statements, the commit among them."""
    pid = os.fork()
    if pid == 0:
        try:
            book, count = databases.opened(course.gradebook_url), [after]

            def kill(connection, *of_statement):
                count[0] -= 1
                if count[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

            if spill:  # SQLite then writes into the file before the commit
                event.listen(book.engine, "connect", lambda connection, record: connection.execute("pragma cache_size = 1"))
                book.engine.dispose()
            event.listen(book.engine, "before_cursor_execute", kill)
            event.listen(book.engine, "commit", kill)  # all is written then, and nothing is entered
            gradebooks.record(book, [entry])
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def _rows(course) -> list:
    """Return all that the gradebook holds, read from a second connection as anybody would."""
    with closing(sqlite3.connect(course.root / "gradebook.db")) as database:
        return list(database.iterdump())


def test_sqlite_waits_for_the_disk(book):
    with book.engine.connect() as connection:
        assert connection.execute(text("pragma synchronous")).scalar() == 2
        assert connection.execute(text("pragma journal_mode")).scalar() == "delete"


def test_a_gradebook_cut_off_while_it_was_made_is_made_anew(course, single_head):
    course.root.mkdir()
    pid = os.fork()
    if pid == 0:
        event.listen(
            databases.Engine, "before_cursor_execute", lambda *of: "CREATE TABLE grade" in of[2] and os.kill(os.getpid(), signal.SIGKILL)
        )
        try:
            databases.opened(course.gradebook_url)
        finally:
            os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    assert not (course.root / "gradebook.db").exists()
    databases.opened(course.gradebook_url).close()
    with closing(sqlite3.connect(course.root / "gradebook.db")) as database:
        assert database.execute("select count(*) from alembic_version").fetchone() == (1,)


def test_a_locked_gradebook_is_waited_for_and_reported(book, course, single_head, caplog, monkeypatch):
    monkeypatch.setattr(databases, "WARN_AFTER", 0.2)
    with held_by_another(course, seconds=1.5):
        gradebooks.record(book, [judged(single_head, "ada")])
    assert "in use by another program" in caplog.text
    assert len(marks(course)[0]) == len(single_head.checks)


def test_gradebook_locked_for_too_long_loses_nothing(course, hand_in, single_head, monkeypatch):
    monkeypatch.setattr(databases, "PATIENCE", 0.5)
    hand_in("ada", single_head)
    held = ExitStack()
    whole = Grader.decided

    def decided(grader, work):
        entry = whole(grader, work)
        held.enter_context(held_by_another(course, seconds=60))  # it is judged, and not entered yet
        return entry

    with held, monkeypatch.context() as patch, pytest.raises(GradebookBusy, match="close that program and run the same command again"):
        patch.setattr(Grader, "decided", decided)
        grade(course, ["single_head"])
    assert read_entry(course, "ada", "single_head").settled and marks(course) == ([], [])
    monkeypatch.setattr("autograder.judging.judge.Zygote", lambda: pytest.fail("something was judged again"))
    assert [entry.score for entry in grade(course, ["single_head"]).entries] == [sum(single_head.checks.values())]
    assert {row[2] for row in marks(course)[0]} == set(single_head.checks.values())


def test_nbgraders_own_commands_wait_too(book, course, hand_in, single_head):
    hand_in("ada", single_head)
    words = [Path(sys.executable).parent / "nbgrader", "autograde", "single_head"]
    environment = {**os.environ, "ATTENTION_COURSE": str(course.root)}
    with subprocess.Popen(words, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True) as nbgrader:
        with held_by_another(course, seconds=300):
            assert any("Creating/updating student" in line for line in nbgrader.stderr)
            with pytest.raises(subprocess.TimeoutExpired):  # five seconds is what it waits by itself
                nbgrader.wait(8)
        output = nbgrader.communicate(timeout=300)[1]
    assert nbgrader.returncode == 0, output
    assert {row[2] for row in marks(course)[0]} == set(single_head.checks.values())


def test_what_a_person_wrote_survives_every_regrade(course, hand_in, single_head, command):
    hand_in("ada", single_head, single_head.mistakes[0])
    grade(course, ["single_head"])
    with databases.opened(course.gradebook_url) as book:
        by_hand(book, "ada", "scale")
    written = written_by_hand(course)
    assert len(written) == 2

    grade(course, ["single_head"], again=True)
    assert written_by_hand(course) == written
    assert "Well argued." in course.feedback("ada", "single_head").read_text()
    command("nbgrader", "autograde", "single_head", "--force")
    assert written_by_hand(course) == written
    path = hand_in("ada", single_head)
    grade(course, ["single_head"])
    assert written_by_hand(course) == written
    path.write_text("no notebook any more")
    (refused,) = grade(course, ["single_head"]).entries
    assert refused.refused and written_by_hand(course) == written


def test_a_changed_exercise_keeps_what_a_person_wrote(book, course, single_head):
    gradebooks.record(book, [judged(single_head, "ada")])
    by_hand(book, "ada", "scale")
    written = written_by_hand(course)
    first = single_head.cells.index(next(c for c in single_head.cells if c.kind == CHECK))
    more = replace(single_head, cells=(*reversed(single_head.cells), Cell("another", CHECK, "", 3.0)))
    less = replace(
        single_head,
        cells=tuple(c for c in single_head.cells if c.id != single_head.cells[first + 1].id and c.id != _last_check(single_head)),
    )
    for changed in (more, less, single_head):
        gradebooks.prepare(book, course.gradebook_url, changed)
        gradebooks.record(book, [judged(changed, "ada")])
        gradebooks.record(book, [judged(changed, "alan")])
        assert written_by_hand(course) == written
        for learner in ("ada", "alan"):
            assert {row[1]: row[2] for row in marks(course)[0] if row[0] == learner} == changed.checks


def test_a_check_that_a_person_has_marked_is_not_taken_away(book, course, single_head):
    gradebooks.record(book, [judged(single_head, "ada")])
    by_hand(book, "ada", "scale")
    before = _rows(course)
    without = replace(single_head, cells=tuple(c for c in single_head.cells if c.id != "scale"))
    with pytest.raises(MarksByHand, match=r'single_head: the cell "scale" is gone .*\(ada\)'):
        gradebooks.prepare(book, course.gradebook_url, without)
    assert _rows(course) == before


def _last_check(exercise) -> str:
    return list(exercise.checks)[-1]


def _with_points(exercise, points: float):
    return replace(exercise, cells=tuple(replace(c, points=points) if c.kind == CHECK else c for c in exercise.cells))
