"""nbgrader's own formgrader, in a real Jupyter server: its buttons reach our judge."""
import csv
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from autograder.grading import grade
from tests.conftest import ROOT

TOKEN = "for-this-test-only"


@pytest.fixture
def server(course):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "jupyter", "server", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}", f"--IdentityProvider.token={TOKEN}"]
    environment = {**os.environ, "ATTENTION_COURSE": str(course.root)}
    process = subprocess.Popen(words, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    base = f"http://127.0.0.1:{port}"
    try:
        _wait_for(base, process)
        yield base
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait_for(base: str, process) -> None:
    for _ in range(300):
        assert process.poll() is None, "the Jupyter server ended"
        try:
            _ask(base, "/api/status")
            return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    pytest.fail("the Jupyter server did not answer")


def _ask(base: str, path: str, method: str = "GET"):
    request = urllib.request.Request(base + path, method=method, headers={"Authorization": f"token {TOKEN}"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return answer.read().decode()


def test_button_gives_the_mark_and_pages_show_it(server, course, hand_in, command, single_head):
    hand_in("ada", single_head, single_head.mistakes[0])
    command("nbgrader", "generate_assignment", "single_head", f"--CourseDirectory.release_directory={course.root / 'release'}")
    assert "single_head" in {a["name"] for a in json.loads(_ask(server, "/formgrader/api/assignments"))}
    answer = json.loads(_ask(server, "/formgrader/api/submission/single_head/ada/autograde", "POST"))
    assert answer["success"], answer

    (mine,) = json.loads(_ask(server, "/formgrader/api/submissions/single_head"))
    entry = [entry for _, _, entry in grade(course, ["single_head"]) if entry][0]
    assert mine["score"] == entry.score < mine["max_score"] == sum(single_head.checks.values())

    (notebook,) = json.loads(_ask(server, "/formgrader/api/submitted_notebooks/single_head/single_head"))
    page = _ask(server, f"/formgrader/submissions/{notebook['id']}/?index=0")
    assert single_head.mistakes[0].title in page and re.search(r"wrong answer", page)
    assert _ask(server, "/formgrader/manage_assignments")

    command("nbgrader", "export", "--to", course.root / "grades.csv")
    (row,) = csv.DictReader((course.root / "grades.csv").open())
    assert (row["student_id"], float(row["score"])) == ("ada", entry.score)
    command("nbgrader", "generate_feedback", "single_head", "--force")
    assert single_head.mistakes[0].title in course.feedback("ada", "single_head").read_text()
