"""A real Jupyter server with nbgrader's formgrader, on one test's course."""
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from tests.conftest import ROOT

TOKEN = "for-this-test-only"
HEADERS = {"Authorization": f"token {TOKEN}"}


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
            ask(base, "/api/status")
            return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    pytest.fail("the Jupyter server did not answer")


def ask(base: str, path: str, method: str = "GET") -> str:
    request = urllib.request.Request(base + path, method=method, headers=HEADERS)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return answer.read().decode()
