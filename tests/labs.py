"""JupyterLab for tests: a real server in a learner's folder, and a window of a real browser in it."""

import os
import re
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.conftest import ROOT

PATIENCE = 40_000  # milliseconds; a machine that does other work starts kernels slowly
TRIES = 8  # of one key


@contextmanager
def serving(folder: Path):
    """Serve JupyterLab in a folder as `make lab` does; yield its address and the token that it asks for."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token, home = secrets.token_hex(8), folder.parent / "home"
    home.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "HOME": str(home),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_CONFIG_PATH": str(ROOT / "autograder" / "authoring" / "lab"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
    }
    words = [
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={token}",
    ]
    log = (folder.parent / "lab.log").open("w")
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyter", "lab", f"--ServerApp.root_dir={folder}", *words],
        env=environment,
        cwd=folder,
        stdout=log,
        stderr=log,
    )
    try:
        _wait_for(f"http://127.0.0.1:{port}/api/status?token={token}", server)
        yield f"http://127.0.0.1:{port}", token
    finally:
        server.terminate()
        server.wait(60)
        log.close()


def _wait_for(address: str, server: subprocess.Popen) -> None:
    for _ in range(PATIENCE // 250):
        assert server.poll() is None, "JupyterLab ended"
        try:
            with urllib.request.urlopen(address, timeout=10):
                return
        except OSError:
            time.sleep(0.25)
    raise AssertionError("JupyterLab did not answer")


class Lab:
    """One notebook in JupyterLab, for somebody who clicks."""

    def __init__(self, page: Page, address: str, token: str, path: str):
        self.page = page
        page.set_default_timeout(PATIENCE)
        page.goto(f"{address}/lab/tree/{path}?token={token}&reset")
        page.locator(".jp-NotebookPanel:visible .jp-Cell").first.wait_for()
        # What is asked of a kernel that is still starting may be lost.
        page.locator(".jp-NotebookPanel:visible .jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for()

    def cell(self, text: str) -> Locator:
        """Return the first code cell with this text in it; JupyterLab draws those that are in sight."""
        found = self.page.locator(
            ".jp-NotebookPanel:visible .jp-CodeCell", has=self.page.locator(".jp-InputArea-editor", has_text=re.compile(re.escape(text)))
        )
        return found.first

    def run(self, cell: Locator) -> None:
        """Run a cell, and wait until it has run."""
        prompt = cell.locator(".jp-InputPrompt")
        before = prompt.inner_text()
        for _ in range(TRIES):  # JupyterLab loses a key that is pressed while it still sets up the page
            self._into(cell)
            self.page.keyboard.press("Control+Enter")
            with suppress(AssertionError):
                expect(prompt).not_to_have_text(before, timeout=PATIENCE // TRIES)
                break
        expect(prompt).to_have_text(re.compile(r"\[\d+\]:"), timeout=PATIENCE)

    def press(self, cell: Locator, name: str, shown: str | re.Pattern) -> Locator:
        """Press a button below a cell, and return the place where this is shown then."""
        cell.get_by_role("button", name=name, exact=True).click()
        place = cell.locator(".jp-OutputArea").first
        expect(place).to_contain_text(shown, timeout=PATIENCE)
        return place

    def _into(self, cell: Locator) -> None:
        cell.scroll_into_view_if_needed()
        cell.locator(".cm-content").click()
        expect(cell.locator(".cm-content")).to_be_focused(timeout=PATIENCE)

    def write(self, cell: Locator, source: str) -> None:
        """Put a source into a cell, in the place of what is there."""
        self._into(cell)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(source)

    def save(self) -> None:
        self.page.keyboard.press("Control+s")
        expect(self.page.locator(".lm-TabBar-tab.lm-mod-current.jp-mod-dirty")).to_have_count(0, timeout=PATIENCE)
