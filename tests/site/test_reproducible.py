"""The same sources give the same site, byte for byte, also elsewhere and when every chapter is executed again."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.book.chapters import CHAPTERS
from tests.book.executions import ELSEWHERE, Execution, remember
from tests.site.site_layout import ROOT


def digests(site: Path) -> dict[str, str]:
    """Return the digest of each file of a site."""
    files = sorted(file for file in site.rglob("*") if file.is_file())
    return {file.relative_to(site).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.fixture(scope="module")
def two_builds(tmp_path_factory, site, once):
    """The site as `make site` left it, and one built in another folder, time zone and language from other executions of the chapters."""
    folder = tmp_path_factory.mktemp("elsewhere")
    remember({chapter: Execution.again(chapter, once) for chapter in CHAPTERS}, folder)
    command = [Path(sys.executable).with_name("jupyter-book"), "build", ROOT, "--path-output", folder, "-q"]
    done = subprocess.run(command, cwd=folder, env={**os.environ, **ELSEWHERE}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    again = folder / "_build" / "html"
    assert (again / "index.html").exists(), done.stdout
    yield digests(site), digests(again)
    shutil.rmtree(folder)


def test_two_builds_have_the_same_files(two_builds):
    first, second = two_builds
    assert first.keys() == second.keys()


def test_two_builds_have_the_same_bytes(two_builds):
    first, second = two_builds
    assert [name for name in first if first[name] != second.get(name)] == []


def test_no_page_names_the_machine(site):
    """A path of this checkout in a page would differ on the next machine, and tell about this one."""
    pages = [*site.rglob("*.html"), *site.rglob("*.js"), *site.rglob("*.svg")]
    assert [page.name for page in pages if str(ROOT) in page.read_text(encoding="utf-8")] == []
