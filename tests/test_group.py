"""Two instructors, who are two Unix users of one group, work in one course folder, as README.md sets it up; a learner's user sees nothing of it.

As root only, who can give commands as others.
"""

import json
import os
import pwd
import re
import shlex
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
import pytest

from autograder.authoring.sample import handed_in
from autograder.records.course import Course
from tests.conftest import ROOT
from tests.formgrader_server import ask, serving
from tests.users import words_as

GROUP = 61_000
USERS = {"carol": 61_001, "dave": 61_002, "mallory": 61_003}  # the group has the first two
LEARNERS = ("games", "news")  # nbgrader looks up learners' names, so these are users that every Debian has
FOR_THE_GROUP = re.compile(r"let its folder be their group's: `([^`]+)`")


class Person:
    """A Unix user, with a home and a group of its own, as most systems make them."""

    def __init__(self, top: Path, name: str, course: Course, groups: tuple[int, ...] = ()):
        self.name, self.uid = name, USERS.get(name) or pwd.getpwnam(name).pw_uid
        self.home, self.course = top / name, course
        self.before = words_as(self.uid, self.uid, groups)
        self.home.mkdir(mode=0o700)
        os.chown(self.home, self.uid, self.uid)
        self.environment = {
            **os.environ,
            "HOME": str(self.home),
            "USER": name,
            "JUPYTER_CONFIG_DIR": str(self.home),
            "TMPDIR": str(self.home),
            "ATTENTION_COURSE": str(course.root),
            "COLUMNS": "200",
        }

    def run(self, *words, code: int | None = 0, folder: Path = ROOT):
        first, *rest = map(str, words)
        tool = Path(sys.executable).parent / first
        words = [sys.executable] if first == "python" else [str(tool)] if tool.exists() else [first]
        done = subprocess.run(
            [*self.before, "sh", "-c", 'umask 022; exec "$0" "$@"', *words, *rest],
            cwd=folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert code is None or done.returncode == code, f"{self.name}: {done.stdout}{done.stderr}"
        return done

    def hands_in(self, learner: str, exercise, known=None) -> None:
        """Put a notebook into the course, as somebody who has it from a platform."""
        text = self.home / "notebook.ipynb"
        text.write_text(nbformat.writes(handed_in(exercise, known)), encoding="utf-8")
        text.chmod(0o644)
        folder = self.course.submitted / learner / exercise.name
        self.run("mkdir", "-p", folder)
        self.run("cp", text, folder / f"{exercise.name}.ipynb")

    def marks(self, learner: str, check: str, changes: dict) -> None:
        """Give a mark by hand, in a formgrader of one's own."""
        with serving(ROOT, self.environment, self.before) as (base, _):
            (one,) = (
                each
                for each in json.loads(ask(base, "/formgrader/api/submitted_notebooks/single_head/single_head"))
                if each["student"] == learner
            )
            grades = json.loads(ask(base, f"/formgrader/api/grades?submission_id={one['id']}"))
            (grade,) = (each for each in grades if each["name"] == check)
            ask(base, f"/formgrader/api/grade/{grade['id']}", "PUT", changes)
            (comment, *_) = json.loads(ask(base, f"/formgrader/api/comments?submission_id={one['id']}"))
            ask(base, f"/formgrader/api/comment/{comment['id']}", "PUT", {"manual_comment": f"{self.name} has seen it"})
            assert json.loads(ask(base, f"/formgrader/api/submission/single_head/{learner}/autograde", "POST"))["success"]


@pytest.fixture
def top():
    """A folder that every user can pass, and nobody else write to."""
    with tempfile.TemporaryDirectory(prefix="group-") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.fixture
def shared(top):
    """The folder of a course after the command of README.md."""
    course = Course(top / "_course", None)
    course.root.mkdir()
    (command,) = FOR_THE_GROUP.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert "GROUP" in shlex.split(command)
    subprocess.run(command.replace("GROUP", str(GROUP)), shell=True, check=True, cwd=top)
    return course


@pytest.fixture
def people(top, shared):
    """Two instructors, and a learner."""
    return [Person(top, "carol", shared, (GROUP,)), Person(top, "dave", shared, (GROUP,)), Person(top, "mallory", shared)]


def not_the_groups(course: Course, *owners: Person) -> list[str]:
    """Return what one of the group might not be able to change, of what these own."""
    owned = {owner.uid for owner in owners} | {0}
    found = []
    for path in [course.root, *course.root.rglob("*")]:
        about = path.lstat()
        wanted = stat.S_IRGRP | stat.S_IWGRP | (stat.S_IXGRP | stat.S_ISGID if path.is_dir() else 0)
        if about.st_gid != GROUP or about.st_uid in owned and about.st_mode & wanted != wanted:
            found.append(f"{path} {about.st_uid}:{about.st_gid} {stat.filemode(about.st_mode)}")
    return found


@pytest.mark.nightly
def test_two_instructors_share_a_course_of_which_a_learner_sees_nothing(people, shared, single_head):
    carol, dave, mallory = people
    carol.hands_in("ada", single_head, single_head.mistakes[0])
    dave.hands_in("bob", single_head)
    assert "ada single_head: 4" in carol.run("python", "-m", "autograder", "grade", "single_head").stdout
    assert not not_the_groups(shared, carol)
    dave.hands_in("ada", single_head, single_head.mistakes[1])
    bobs = shared.journal("bob", "single_head").stat().st_mtime_ns
    dave.run("python", "-m", "autograder", "grade", "single_head")
    assert shared.journal("bob", "single_head").stat().st_mtime_ns == bobs  # what one has judged, the other does not judge again
    carol.run("python", "-m", "autograder", "grade", "single_head", "--again")

    carol.marks("ada", "softmax", {"manual_score": 0.5})
    dave.marks("ada", "scale", {"extra_credit": 1.5})
    carol.run("nbgrader", "autograde", "single_head", "--force")
    dave.run("nbgrader", "autograde", "single_head", "--force")
    for person in (carol, dave):
        person.run("nbgrader", "generate_feedback", "single_head")
        person.run("nbgrader", "export", "--to", shared.root / "marks.csv")
        person.run("python", "-m", "autograder", "report")
        person.run("python", "-m", "autograder", "handback")
        person.run("python", "-m", "autograder", "similar", "single_head")
        assert "dave has seen it" in shared.feedback("ada", "single_head").read_text(encoding="utf-8")
    assert not not_the_groups(shared, carol, dave)

    assert mallory.run("ls", shared.root, code=None).returncode and "Permission denied" in mallory.run("ls", shared.root, code=None).stderr
    for path in (shared.root / "gradebook.db", shared.journal("ada", "single_head"), shared.root / "seed", shared.root / "report.html"):
        assert path.is_file() and mallory.run("cat", path, code=None).returncode
    assert "MayNotWrite" in mallory.run("python", "-m", "autograder", "grade", code=None).stdout


KILLED = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("pragma cache_size = 1")  # so that what is changed gets into the file before the end
connection.execute("begin immediate")
connection.execute("update grade set manual_score = 99")
connection.execute("create table large (text)")
connection.executemany("insert into large values (?)", [("x" * 5000,)] * 200)
os._exit(1)
"""


def test_what_one_leaves_when_killed_the_other_takes_back(people, shared, single_head):
    carol, dave, _ = people
    carol.hands_in("ada", single_head)
    carol.run("python", "-m", "autograder", "grade", "single_head")
    carol.run("python", "-c", KILLED, shared.root / "gradebook.db", code=1)
    assert (shared.root / "gradebook.db-journal").stat().st_size
    assert not not_the_groups(shared, carol, dave)
    dave.hands_in("bob", single_head)
    assert "bob single_head: 20" in dave.run("python", "-m", "autograder", "grade", "single_head").stdout
    dave.run("nbgrader", "export", "--to", shared.root / "marks.csv")
    assert "99" not in (shared.root / "marks.csv").read_text(encoding="utf-8")


def test_without_the_groups_rights_an_instructor_is_told_what_to_do(top, people, single_head):
    carol, dave, _ = people
    own = Course(top / "own", None)
    own.root.mkdir(mode=0o755)
    os.chown(own.root, carol.uid, carol.uid)
    for person in (carol, dave):
        person.course, person.environment["ATTENTION_COURSE"] = own, str(own.root)
    carol.hands_in("ada", single_head)
    carol.run("python", "-m", "autograder", "grade", "single_head")
    told = dave.run("python", "-m", "autograder", "grade", "single_head", code=None)
    assert told.returncode and "MayNotWrite" in told.stdout and "chgrp -R GROUP" in told.stdout and "Traceback" not in told.stderr


@pytest.fixture
def exchange(top, people, shared):
    """An exchange that root has made for all, as nbgrader's documentation asks for, and what each user is told of it."""
    root = top / "exchange"
    root.mkdir()
    root.chmod(0o777)
    (shared.root / "nbgrader_config.py").write_text(f"c.Exchange.root = {str(root)!r}\n")
    os.chown(shared.root / "nbgrader_config.py", people[0].uid, GROUP)
    (shared.root / "nbgrader_config.py").chmod(0o660)
    return root


@pytest.fixture
def learners(top, exchange, shared):
    found = [Person(top, name, shared) for name in LEARNERS]
    for one in found:
        settings = one.home / "nbgrader_config.py"
        settings.write_text(
            "c = get_config()\n"
            f"c.Exchange.root = {str(exchange)!r}\n"
            f"c.Exchange.cache = {str(one.home / 'cache')!r}\n"
            'c.CourseDirectory.course_id = "attention-by-hand"\n'
        )
        settings.chmod(0o644)
    return found


def submits(learner: Person, exercise, known=None) -> None:
    text = learner.home / "single_head" / "single_head.ipynb"
    text.write_text(nbformat.writes(handed_in(exercise, known)), encoding="utf-8")
    learner.run("nbgrader", "submit", "single_head", folder=learner.home)


@pytest.mark.nightly
def test_two_instructors_and_two_learners_meet_in_an_exchange(people, learners, exchange, shared, single_head):
    (carol, dave, _), (first, second) = people, learners
    carol.run("nbgrader", "release_assignment", "single_head")
    dave.run("nbgrader", "release_assignment", "single_head", "--force")
    for learner, known in ((first, None), (second, single_head.mistakes[0])):
        learner.run("nbgrader", "fetch_assignment", "single_head", folder=learner.home)
        submits(learner, single_head, known)
    dave.run("nbgrader", "collect", "single_head")
    carol.run("nbgrader", "autograde", "single_head")
    submits(second, single_head)
    carol.run("nbgrader", "collect", "single_head", "--update")
    told = dave.run("python", "-m", "autograder", "grade", "single_head").stdout
    assert f"{first.name} single_head: 20" in told and f"{second.name} single_head: 20" in told
    for instructor in (carol, dave):
        instructor.run("nbgrader", "generate_feedback", "single_head")
        instructor.run("nbgrader", "release_feedback", "single_head")
    assert not not_the_groups(shared, carol, dave)

    for learner in learners:
        learner.run("nbgrader", "fetch_feedback", "single_head", folder=learner.home)
        pages = sorted((learner.home / "single_head" / "feedback").rglob("*.html"))
        assert pages and "20 of 20 points" in pages[-1].read_text(encoding="utf-8")
    for folder in ("inbound", "feedback"):  # learners leave work, or take what they know the name of; they see nobody else's
        assert first.run("ls", exchange / "attention-by-hand" / folder, code=None).returncode
    assert first.run("ls", shared.root, code=None).returncode
