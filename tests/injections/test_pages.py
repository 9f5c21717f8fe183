"""In a real browser: nothing that a learner wrote becomes more than text on anybody's page.

Our feedback and class report, and nbgrader's own pages as this project configures them.
"""

import json
import os
import re
import shutil

import pytest

from autograder.authoring.sample import handed_in
from autograder.grading import grade
from autograder.pages.report import report_page
from autograder.records.course import Course
from autograder.records.results import Result
from tests.formgrader_server import HEADERS, ask, server  # noqa: F401  (a fixture)
from tests.injections.corpus import FOLDERS, HIDDEN, PAYLOADS, spoiled

pytestmark = pytest.mark.browser
EVIL = """() => ({
    pwned: window.pwned === undefined ? null : String(window.pwned),
    elements: [...document.querySelectorAll('[data-pwned]')].map(e => e.outerHTML.slice(0, 80)),
    links: [...document.querySelectorAll('[href],[src],[action]')].map(e => e.getAttribute('href') || e.getAttribute('src') || e.getAttribute('action')).filter(a => /^\\s*javascript:/i.test(a) || a.includes('canary')),
    handlers: [...document.querySelectorAll('*')].flatMap(e => [...e.attributes].filter(a => a.name.startsWith('on') && a.value.includes('pwned')).map(a => a.value)),
    scripts: document.scripts.length,
})"""


class Watched:
    """A browser page that remembers what a learner's text would do if it were more than text."""

    def __init__(self, browser):
        self.context = browser.new_context(extra_http_headers=HEADERS)
        self.page, self.events = self.context.new_page(), []
        self.page.on("dialog", lambda dialog: (self.events.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.on("popup", lambda popup: self.events.append("a window"))
        self.context.route(lambda url: not url.startswith(("http://127.0.0.1:", "file:", "data:")), self._stop)

    def _stop(self, route) -> None:
        self.events.append(f"request {route.request.url}")
        route.abort()

    def open(self, url: str) -> dict:
        """Return what is evil on a page after it has settled, and how many scripts it has."""
        self.events.clear()
        self.page.goto(url, wait_until="load")
        self.page.wait_for_load_state("networkidle")
        return {**self.page.evaluate(EVIL), "events": list(self.events), "text": self.page.inner_text("body"), "html": self.page.content()}


@pytest.fixture
def watched(browser):
    one = Watched(browser)
    yield one
    one.context.close()


def harmless(found: dict) -> None:
    assert not found["events"] and found["pwned"] is None, found["events"] or found["pwned"]
    assert not (found["elements"] or found["links"] or found["handlers"]), (found["elements"], found["links"], found["handlers"])
    assert HIDDEN not in found["html"], found["html"][max(0, found["html"].find(HIDDEN) - 300) :][:600]
    assert "1337" not in found["text"]


@pytest.fixture(scope="module")
def attackers(tmp_path_factory, single_head):
    """A class of attackers, one for each payload, judged by the ordinary path, and its entries."""
    course = Course(tmp_path_factory.mktemp("attackers"))
    for name, payload in PAYLOADS.items():
        _write(course, name, spoiled(handed_in(single_head, None), payload))
    for folder in FOLDERS:
        _write(course, folder, spoiled(handed_in(single_head, None), PAYLOADS["image"]))
    entries = grade(course, ["single_head"]).entries
    (course.root / "report.html").write_text(report_page([Result(entry) for entry in entries]), encoding="utf-8")
    return course, {entry.learner: entry for entry in entries}


@pytest.fixture
def marked(attackers, course):
    """Return the entries of the attackers; their class is this test's course."""
    judged, entries = attackers
    shutil.copytree(judged.root, course.root, symlinks=True)
    return entries


def _write(course: Course, learner: str, text: str) -> None:
    folder = course.submitted / learner / "single_head"
    folder.mkdir(parents=True)
    (folder / "single_head.ipynb").write_text(text, encoding="utf-8")
    (folder / "extra.html").write_text(f"<script>{HIDDEN}</script>")
    os.symlink("/etc/hostname", folder / "extra.txt")


@pytest.mark.parametrize("name", ["script", "image", "svg", "frame", "style", "link", "refresh", "attribute"])
def test_the_watch_sees_what_gets_through(watched, tmp_path, name):
    """The corpus is live, and these tests can fail."""
    (tmp_path / "unsafe.html").write_text(
        f'<!doctype html><meta charset=utf-8><input value="{PAYLOADS[name]}">'
        if name == "attribute"
        else f"<!doctype html><body>{PAYLOADS[name]}"
    )
    try:
        found = watched.open(f"file://{tmp_path}/unsafe.html")
    except Exception:  # it was led elsewhere
        found = {"events": watched.events, "pwned": None, "elements": [], "links": [], "handlers": []}
    with pytest.raises(AssertionError):
        harmless(found)


def test_our_pages_show_text_only(watched, marked, course):
    report = watched.open(f"file://{course.root}/report.html")
    harmless(report)
    assert report["scripts"] == 1 and all(name in report["text"] for name in PAYLOADS)
    for name in PAYLOADS:
        page = watched.open(f"file://{course.feedback(name, 'single_head')}")
        harmless(page)
        assert page["scripts"] == 0 and name in page["text"]
        if not marked[name].refused:
            assert page["text"].count("SHOWN") >= 3  # error, class and value are there, as text
    assert [name for name, entry in marked.items() if entry.refused and name in PAYLOADS] == []
    assert all(marked[folder].refused for folder in FOLDERS if folder in marked) and len(marked) == len(PAYLOADS) + len(FOLDERS)
    controls = course.feedback("controls", "single_head").read_text()
    assert not set("\x1b\x07\x00\x08\x7f\x9b\u202e\u2066\u200b") & set(controls) and r"\x1b[2J" in controls


def test_nbgraders_pages_and_commands_show_text_only(watched, marked, server, course, command):  # noqa: F811
    command("nbgrader", "generate_assignment", "single_head", f"--CourseDirectory.release_directory={course.root / 'release'}")
    output = command("nbgrader", "autograde", "single_head", "--force", code=None)
    assert {p.parent.parent.name for p in (course.root / "autograded").rglob("*.ipynb")} == set(PAYLOADS), output.stderr
    assert not list((course.root / "autograded").rglob("extra.*"))

    students = json.loads(ask(server, "/formgrader/api/students"))
    assert {student["id"] for student in students} == set(PAYLOADS)  # of folders nbgrader is shown those that have a learner's name
    for page in (
        "manage_assignments",
        "manage_submissions/single_head",
        "manage_students",
        "gradebook",
        "gradebook/single_head",
        "gradebook/single_head/single_head",
    ):
        harmless(watched.open(f"{server}/formgrader/{page}"))
    seen = 0
    for notebook in json.loads(ask(server, "/formgrader/api/submitted_notebooks/single_head/single_head")):
        found = watched.open(f"{server}/formgrader/submissions/{notebook['id']}/?index=0")
        harmless(found)
        seen += "SHOWN" in found["text"]
        assert not re.search(r"<script[^>]*src=\"(?!/formgrader/)", found["html"])
    assert seen == len(PAYLOADS)

    ours = {name: course.feedback(name, "single_head").read_text() for name in PAYLOADS}
    command("nbgrader", "generate_feedback", "single_head", "--force")
    assert {name: course.feedback(name, "single_head").read_text() for name in PAYLOADS} == ours


def test_outputs_never_show_up_anywhere(marked, course):
    """What the submitted notebooks say they printed or drew is in no file but themselves."""
    files = [p for p in course.root.rglob("*") if p.is_file() and course.submitted not in p.parents]
    assert len(files) > 3 * len(PAYLOADS)
    assert [p for p in files if HIDDEN.encode() in p.read_bytes()] == []
