"""A hub as book/hub.md sets it up: who may read what; and an exercise's whole way, from its release to the page that a learner opens."""

import grp
import os
import pwd
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import Browser, Page, expect
from traitlets.config import PyFileConfigLoader

from autograder.authoring.sample import handed_in
from tests.conftest import ROOT
from tests.hubs import PAGE, PASSWORD, Machine, block_of_page, hub

FILES = ROOT / "autograder" / "plugins" / "hub"
COURSE = "attention-by-hand"
PATIENCE = 120_000  # milliseconds
PYTHON_OF_HUB = {"nbgrader": "python -m nbgrader", "python": "python"}  # that command's script is not in an environment made of links


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """The page's folders, without a hub."""
    made = Machine(tmp_path_factory.mktemp("machine"))
    first = made.start("sh", "-c", "echo made; read line", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert first.stdout.readline() == "made\n"
    yield lambda user, *words: made.run_as(first, user, *words)
    first.communicate("\n")


def may(machine, user: str, command: str) -> bool:
    return machine(user, "sh", "-c", command).returncode == 0


def test_each_folder_is_open_to_those_whom_the_page_names(machine):
    hidden, marks, exchange = (
        "/srv/attention/solutions/single_head/test_single_head.py",
        "/srv/attention/_course/submitted",
        "/srv/exchange",
    )
    assert may(machine, "ina", f"head -1 {hidden}") and may(machine, "ina", f"touch {marks}/x /srv/attention/_course/y")
    for other in ("ada", "eve"):
        assert (
            not may(machine, other, f"head -1 {hidden}")
            and not may(machine, other, f"ls {marks}")
            and not may(machine, other, "ls /srv/attention")
        )
    for user in ("ada", "bob", "ina"):
        assert may(machine, user, "cat /srv/hub/nbgrader_config.py") and not may(machine, user, "touch /srv/hub/nbgrader_config.py")
        assert may(machine, user, f"mkdir {exchange}/{user} && touch ~/mine")
    assert may(machine, "ina", f"mkdir -m 2775 {exchange}/{COURSE}")
    for command in (f"mv {exchange}/{COURSE} {exchange}/other", f"rmdir {exchange}/{COURSE}", "ls /home/bob"):
        assert not may(machine, "ada", command), command


def settings(path: Path, monkeypatch) -> object:
    """Return what a file of settings says, on a machine where ada learns and ina teaches."""
    users = {name: SimpleNamespace(pw_gid=number, pw_dir=f"/home/{name}") for number, name in enumerate(("ada", "ina"), 100)}
    monkeypatch.setattr(pwd, "getpwnam", users.__getitem__)
    monkeypatch.setattr(grp, "getgrall", lambda: [SimpleNamespace(gr_name="instructors", gr_gid=1, gr_mem=["ina"])])
    return PyFileConfigLoader(path.name, str(path.parent)).load_config()


def test_servers_begin_where_their_users_work_and_learners_see_no_menu_of_instructors(tmp_path, monkeypatch):
    for path in FILES.glob("*.py"):
        (tmp_path / path.name).write_text(path.read_text("utf-8"))
    spawner = settings(tmp_path / "jupyterhub_config.py", monkeypatch).Spawner
    found = {}
    for name in ("ada", "ina"):
        one = SimpleNamespace(user=SimpleNamespace(name=name))
        spawner.pre_spawn_hook(one)
        found[name] = one.notebook_dir, one.cmd[1], spawner.environment["JUPYTER_CONFIG_PATH"](one).split(os.pathsep)
    assert found["ada"] == ("/home/ada", "--chdir=/home/ada", [str(tmp_path / "learners"), str(tmp_path)])
    assert found["ina"] == ("/srv/attention", "--chdir=/srv/attention", [str(tmp_path)])
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


def test_page_shows_the_settings_and_the_paths_in_them(monkeypatch):
    text = PAGE.read_text("utf-8")
    shown = re.findall(r"```\{literalinclude\} \.\./(\S+)", text)
    assert sorted(shown) == sorted(str(path.relative_to(ROOT)) for path in FILES.glob("*.py"))
    told = settings(FILES / "nbgrader_config.py", monkeypatch)
    assert f"mkdir -m 1777 {told.Exchange.root}" in text and told.CourseDirectory.course_id == COURSE
    own = (ROOT / "nbgrader_config.py").read_text("utf-8")
    assert f'course_id = "{COURSE}"' in own


class Learner:
    """Somebody who clicks, in JupyterLab on the hub."""

    def __init__(self, page: Page, url: str, name: str):
        self.page, self.name = page, name
        page.set_default_timeout(PATIENCE)
        page.goto(f"{url}/hub/login")
        page.get_by_label("Username").fill(name)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("menuitem", name="Nbgrader").click()
        listed = page.get_by_role("menuitem", name="Assignment List")
        listed.wait_for()
        expect(page.get_by_role("menuitem", name=re.compile("Formgrader|Course List"))).to_have_count(0)
        listed.click()

    def press(self, panel: str, button: str) -> None:
        """Press an exercise's button, and wait until the list shows what has become of it."""
        row = self.page.locator(f"#{panel}_assignments_list .list_item", has_text="single_head")
        row.get_by_role("button", name=button, exact=True).first.click()

    def sees(self, panel: str, text: str) -> None:
        expect(self.page.locator(f"#{panel}_assignments_list")).to_contain_text(text, timeout=PATIENCE)


@pytest.mark.nightly
def test_an_exercise_goes_round_on_a_hub(tmp_path, level, single_head, browser: Browser):
    """Ada's steps are requests to her server, bob's are clicks in his browser, and ina presses the buttons of the formgrader."""
    with hub(tmp_path, level.name) as it:
        for user in ("ina", "ada", "bob"):
            it.start_server_of(user)

        def formgrader(what: str) -> None:
            done = it.ask(f"/user/ina/formgrader/api/{what}", "POST", {})
            assert done["success"], done

        def lists(*statuses: str) -> list[dict]:
            return [each for each in it.ask(f"/user/ada/assignments?course_id={COURSE}")["value"] if each["status"] in statuses]

        def does(action: str) -> None:
            done = it.ask(f"/user/ada/assignments/{action}", "POST", {"course_id": COURSE, "assignment_id": "single_head"})
            assert done["success"], done

        def answers(user: str, known=None) -> None:
            work = {"type": "notebook", "format": "json", "content": handed_in(single_head, known)}
            it.ask(f"/user/{user}/api/contents/single_head/single_head.ipynb", "PUT", work)

        formgrader("assignment/single_head/release")
        (released,) = lists("released")
        assert released["assignment_id"] == "single_head"
        does("fetch")
        answers("ada")
        does("submit")

        context = browser.new_context()
        bob = Learner(context.new_page(), it.url, "bob")
        bob.press("released", "Fetch")
        bob.sees("fetched", "single_head")
        answers("bob", single_head.mistakes[0])
        bob.press("fetched", "Submit")
        bob.sees("submitted", "single_head")

        formgrader("assignment/single_head/collect")
        for learner in ("ada", "bob"):
            formgrader(f"submission/single_head/{learner}/autograde")
        formgrader("assignment/single_head/generate_feedback")
        formgrader("assignment/single_head/release_feedback")

        does("fetch_feedback")
        (mine,) = (each for submitted in lists("submitted") for each in submitted["submissions"])
        (page,) = it.ask(f"/user/ada/api/contents/{mine['local_feedback_path']}")["content"]
        assert "20 of 20 points" in it.ask(f"/user/ada/api/contents/{page['path']}?content=1&type=file")["content"]
        bob.press("submitted", "Fetch Feedback")
        bob.sees("submitted", "(view feedback)")
        pages = it.machine.run_as(it.process, "bob", "sh", "-c", "cat /home/bob/single_head/feedback/*/*.html").stdout
        assert single_head.mistakes[0].title in pages and "4 of 20 points" in pages

        answers("bob")
        bob.press("fetched", "Submit")
        for command in block_of_page("nbgrader collect single_head").splitlines():
            done = it.machine.run_as(
                it.process, "ina", "sh", "-c", f"cd /srv/attention && {PYTHON_OF_HUB[command.split()[0]]} {command.partition(' ')[2]}"
            )
            assert done.returncode == 0, done.stdout + done.stderr
        bob.press("submitted", "Fetch Feedback")
        seen = bob.page.locator("#submitted_assignments_list").get_by_text("(view feedback)")
        expect(seen).to_have_count(2, timeout=PATIENCE)
        pages = it.machine.run_as(it.process, "bob", "sh", "-c", "cat /home/bob/single_head/feedback/*/*.html").stdout
        assert "20 of 20 points" in pages
        context.close()

        inbound = f"/srv/exchange/{COURSE}/inbound"
        assert it.machine.run_as(it.process, "ina", "ls", inbound).stdout.count("single_head") == 3
        assert it.machine.run_as(it.process, "bob", "ls", inbound).returncode
        marks = it.machine.run_as(it.process, "ina", "ls", "/srv/attention/_course/verdicts").stdout.split()
        assert sorted(marks) == ["ada", "bob"]
