"""A real Jupyter server with nbgrader's formgrader, on one test's course."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from autograder import ROOT

TOKEN = "for-this-machine-only"
HEADERS = {"Authorization": f"token {TOKEN}"}


@pytest.fixture
def server(course):
    with serving(ROOT, {**os.environ, "ATTENTION_COURSE": str(course.root)}) as (base, _):
        yield base


@contextmanager
def serving(folder: Path, environment: dict[str, str], before: tuple[str, ...] = ()) -> Iterator[tuple[str, psutil.Process]]:
    """Yield the address and the process of a server that was started in a folder, and ends with the block.

    The words `before` its command make it, say, another user's.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [
        *before,
        sys.executable,
        "-m",
        "jupyter",
        "server",
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        f"--port={port}",
        f"--IdentityProvider.token={TOKEN}",
    ]
    process = psutil.Popen(words, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    base = f"http://127.0.0.1:{port}"
    try:
        _wait_for(base, process)
        yield base, process
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(timeout=120)


def _wait_for(base: str, process: psutil.Popen) -> None:
    for _ in range(1500):  # a machine that does other work starts a server slowly
        if process.poll() is not None:
            raise RuntimeError("the Jupyter server ended")
        try:
            ask(base, "/api/status")
            return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    raise RuntimeError("the Jupyter server did not answer")


def ask(base: str, path: str, method: str = "GET", sent: dict | None = None) -> str:
    data = None if sent is None else json.dumps(sent).encode()
    request = urllib.request.Request(base + path, data, method=method, headers=HEADERS)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return answer.read().decode()
