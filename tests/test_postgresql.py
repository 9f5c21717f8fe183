"""The gradebook on a real PostgreSQL server, started and ended here; it listens on a socket in a folder of its own."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from autograder.errors import CannotGoOn
from autograder.grading import grade
from autograder.records import database as databases
from autograder.records.course import Course
from tests.marks import files, small_class

COMMANDS = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name), default=None)


def _postgres(*words: str) -> None:
    """Run a command of PostgreSQL's, which refuses to run as root."""
    first = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"] if os.getuid() == 0 else []
    subprocess.run([*first, str(COMMANDS / words[0]), *words[1:]], check=True, capture_output=True, cwd="/", timeout=120)


@pytest.fixture(scope="module")
def server():
    """The URL of a server without databases, but for the place of one's name."""
    if COMMANDS is None:
        pytest.fail("no PostgreSQL here: install Debian's package postgresql", pytrace=False)
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # a socket's path must be short
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
    _postgres("initdb", "--pgdata", f"{folder}/data", "--auth", "trust", "--username", "instructor", "--no-sync")
    _postgres(
        "pg_ctl",
        "start",
        "--wait",
        "--pgdata",
        f"{folder}/data",
        "--log",
        f"{folder}/log",
        "--options",
        f"-c listen_addresses='' -k {folder} -F",
    )
    yield f"postgresql+psycopg://instructor@/{{}}?host={folder}"
    _postgres("pg_ctl", "stop", "--mode", "immediate", "--pgdata", f"{folder}/data")
    shutil.rmtree(folder)


@pytest.fixture
def database(server, request):
    import psycopg

    name = request.node.name[:60]
    with psycopg.connect(server.format("postgres").replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f'create database "{name}"')
    return server.format(name)


@pytest.fixture(scope="module")
def on_a_file(tmp_path_factory):
    course = Course(tmp_path_factory.mktemp("file"))
    small_class(course)
    grade(course, ["single_head"])
    return course


def _marks(url: str) -> list[tuple]:
    book = databases.opened(url)
    try:
        submissions = book.assignment_submissions("single_head")
        return sorted(
            (s.student.id, g.name, g.auto_score, g.needs_manual_grade) for s in submissions for n in s.notebooks for g in n.grades
        )
    finally:
        book.close()


def test_marks_are_those_of_a_file(course, database, on_a_file, command):
    shutil.copytree(on_a_file.submitted, course.submitted)
    shutil.copy(on_a_file.root / "seed", course.root / "seed")
    there = Course(course.root, database)
    grade(there, ["single_head"])
    assert _marks(database) == _marks(on_a_file.gradebook_url) and _marks(database)
    assert not list(course.root.glob("gradebook.db*"))
    assert files(course, "feedback") == files(on_a_file, "feedback")

    shutil.rmtree(course.root / "autograded")
    shutil.rmtree(course.root / "verdicts")
    before = dict(os.environ)
    os.environ["ATTENTION_DB"] = database
    try:
        command(
            "nbgrader", "generate_assignment", "single_head", "--force", f"--CourseDirectory.release_directory={course.root / 'release'}"
        )
        command("nbgrader", "autograde", "single_head")
    finally:
        os.environ.clear()
        os.environ.update(before)
    assert _marks(database) == _marks(on_a_file.gradebook_url)
    assert not list(course.root.glob("gradebook.db*"))


def test_a_mark_by_hand_stays(course, database, hand_in, single_head):
    hand_in("ada", single_head, single_head.mistakes[0])
    there = Course(course.root, database)
    grade(there, ["single_head"])
    book = databases.opened(database)
    book.find_grade("scale", "single_head", "single_head", "ada").manual_score = 1.5
    book.db.commit()
    book.close()
    hand_in("ada", single_head)
    grade(there, ["single_head"])
    book = databases.opened(database)
    mark = book.find_grade("scale", "single_head", "single_head", "ada")
    assert (mark.auto_score, mark.manual_score, mark.needs_manual_grade) == (2.0, 1.5, True)
    book.close()


def test_a_server_that_is_away_is_reported(course, hand_in, single_head, tmp_path):
    hand_in("ada", single_head)
    with pytest.raises(CannotGoOn, match="the gradebook at .*postgresql.* cannot be reached"):
        grade(Course(course.root, f"postgresql+psycopg://instructor:secret@/course?host={tmp_path}"), ["single_head"])
