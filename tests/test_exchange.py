"""nbgrader's exchange from end to end: what is released works where it is fetched, and what is graded finds its way back."""

import json
import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from autograder.authoring.sample import handed_in
from tests.conftest import ROOT

PYTHON = str(Path(sys.executable).parent)


@pytest.fixture
def exchange(tmp_path, course):
    """An exchange that instructor and learner share, named in the course's own settings."""
    root = tmp_path / "exchange"
    root.mkdir(mode=0o777)
    root.chmod(0o777)
    course.root.mkdir()
    (course.root / "nbgrader_config.py").write_text(f"c.Exchange.root = {str(root)!r}\n")
    for folder in tmp_path.parents:
        if str(folder).startswith("/tmp/pytest"):
            folder.chmod(0o755)
    tmp_path.chmod(0o755)
    return root


@pytest.fixture
def learner(tmp_path, exchange):
    """Run commands as a learner: another Unix user where these tests may be that and it may run Python, else this one."""
    home = tmp_path / "learner"
    home.mkdir()
    (home / "nbgrader_config.py").write_text(
        f'c = get_config()\nc.Exchange.root = {str(exchange)!r}\nc.CourseDirectory.course_id = "attention-by-hand"\nc.Exchange.cache = {str(home / "cache")!r}\n'
    )
    user = _another_user(home)

    def run(*words, code: int = 0):
        environment = {"PATH": f"{PYTHON}:{os.environ['PATH']}", "HOME": str(home), "JUPYTER_CONFIG_DIR": str(home), "USER": "nobody"}
        done = subprocess.run([*map(str, words)], cwd=home, env=environment, capture_output=True, text=True, **user)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    run.home, run.name = home, pwd.getpwuid(user.get("user", os.getuid())).pw_name
    return run


def _another_user(home: Path) -> dict:
    """Return what makes a process another user's; nothing where that user cannot run this Python."""
    if os.getuid():
        return {}
    nobody = pwd.getpwnam("nobody")
    user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    try:
        subprocess.run([sys.executable, "-c", "import nbgrader"], **user, cwd="/", capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return {}
    shutil.chown(home, nobody.pw_uid)
    return user


def answer(path: Path, exercise, known=None) -> None:
    path.write_text(nbformat.writes(handed_in(exercise, known)), encoding="utf-8")


def test_an_exercise_goes_out_and_its_feedback_comes_back(course, command, exchange, learner, hand_in, single_head):
    command("nbgrader", "release_assignment", "single_head")
    learner("nbgrader", "fetch_assignment", "single_head")
    folder = learner.home / "single_head"
    assert not list(folder.glob(".*")) and (folder / "kit" / "notebook.py").is_file()
    code = "import check; check.check('softmax')"
    unanswered = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert "no answer given" in unanswered.stdout, unanswered.stdout + unanswered.stderr
    shutil.copy(folder / "single_head.ipynb", folder / "before.ipynb")
    (folder / "before.ipynb").unlink()
    answer(folder / "single_head.ipynb", single_head)
    tests = subprocess.run([sys.executable, "-m", "pytest", "-q", "."], cwd=folder, capture_output=True, text=True)
    assert tests.returncode == 0 and " passed" in tests.stdout, tests.stdout

    learner("nbgrader", "submit", "single_head")
    command("nbgrader", "collect", "single_head")
    hand_in("other", single_head)  # came by another way
    result = command("python", "-m", "autograder", "grade", "single_head")
    assert f"{learner.name} single_head: 20" in result.stdout
    released = command("nbgrader", "release_feedback", "single_head")
    assert "'other'" in released.stderr and "Traceback" not in released.stderr
    learner("nbgrader", "fetch_feedback", "single_head")
    (page,) = (folder / "feedback").rglob("*.html")
    assert "20 of 20 points" in page.read_text(encoding="utf-8")


@pytest.mark.nightly
def test_a_second_submission_replaces_the_first_and_marks_by_hand_reach_the_learner(course, command, exchange, learner, single_head):
    from autograder.records import database

    command("nbgrader", "release_assignment", "single_head")
    learner("nbgrader", "fetch_assignment", "single_head")
    notebook = learner.home / "single_head" / "single_head.ipynb"
    answer(notebook, single_head, single_head.mistakes[0])
    learner("nbgrader", "submit", "single_head")
    command("nbgrader", "collect", "single_head")
    command("nbgrader", "generate_assignment", "single_head", f"--CourseDirectory.release_directory={course.root / 'release'}")
    command("nbgrader", "autograde", "single_head")
    answer(notebook, single_head)
    learner("nbgrader", "submit", "single_head")
    command("nbgrader", "collect", "single_head", "--update")
    command("nbgrader", "autograde", "single_head")
    with database.opened(course.gradebook_url) as gradebook:
        mark = gradebook.find_grade("softmax", "single_head", "single_head", learner.name)
        assert mark.auto_score == single_head.checks["softmax"]
        mark.extra_credit = 1.5
        gradebook.db.commit()
    command("nbgrader", "generate_feedback", "single_head")
    command("nbgrader", "release_feedback", "single_head")
    learner("nbgrader", "fetch_feedback", "single_head")
    pages = sorted((learner.home / "single_head" / "feedback").rglob("*.html"))
    assert "21.5 of 20 points" in pages[-1].read_text(encoding="utf-8")


@pytest.mark.nightly
def test_a_worse_second_submission_leaves_the_first_in_force_and_its_learner_is_told(course, command, exchange, learner, single_head):
    (course.root / "course.toml").write_text('resubmissions = "best"\n')
    command("nbgrader", "release_assignment", "single_head")
    learner("nbgrader", "fetch_assignment", "single_head")
    notebook = learner.home / "single_head" / "single_head.ipynb"
    for known in (None, single_head.mistakes[0]):
        answer(notebook, single_head, known)
        learner("nbgrader", "submit", "single_head")
        command("nbgrader", "collect", "single_head", "--update")
        result = command("python", "-m", "autograder", "grade", "single_head")
    assert f"{learner.name} single_head: What was handed in later (" in result.stdout
    command("nbgrader", "generate_feedback", "single_head")
    command("nbgrader", "release_feedback", "single_head")
    learner("nbgrader", "fetch_feedback", "single_head")
    (page,) = (learner.home / "single_head" / "feedback").rglob("*.html")  # under the time of the second
    text = page.read_text(encoding="utf-8")
    assert "20 of 20 points" in text and "is worth 4 points, 16 less" in text


def test_a_folder_without_the_kit_says_what_it_lacks(tmp_path):
    folder = tmp_path / "alone"
    shutil.copytree(ROOT / "exercises" / "single_head", folder)
    done = subprocess.run([sys.executable, "-c", "import check"], cwd=folder, capture_output=True, text=True)
    assert done.returncode and "The folder `kit` is missing beside alone/" in done.stderr
    assert json.loads((folder / "exercise.json").read_text())["name"] == "single_head"


@pytest.mark.nightly
def test_what_a_reset_has_taken_away_is_not_collected_again_and_new_work_is(course, command, exchange, learner, single_head):
    command("nbgrader", "release_assignment", "single_head")
    learner("nbgrader", "fetch_assignment", "single_head")
    notebook = learner.home / "single_head" / "single_head.ipynb"
    answer(notebook, single_head, single_head.mistakes[0])
    learner("nbgrader", "submit", "single_head")
    command("nbgrader", "collect", "single_head")
    command("python", "-m", "autograder", "grade", "single_head")
    command("python", "-m", "autograder", "reset", "single_head", learner.name)
    again = command("nbgrader", "collect", "single_head", "--update")
    assert (
        "Taken away by a reset, and not collected again" in again.stderr and not (course.submitted / learner.name / "single_head").exists()
    )
    answer(notebook, single_head)
    learner("nbgrader", "submit", "single_head")
    command("nbgrader", "collect", "single_head", "--update")
    assert f"{learner.name} single_head: 20" in command("python", "-m", "autograder", "grade", "single_head").stdout
