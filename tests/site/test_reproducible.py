"""The same sources give the same site, byte for byte, also elsewhere and when every chapter is executed again."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.book.chapters import CHAPTERS
from tests.book.executions import CACHE, ELSEWHERE, Execution, remember
from tests.site.site_layout import ROOT


def build(folder: Path, **environment: str) -> dict[str, str]:
    """Build the site below a folder, with the outputs that lie ready there, and return the digest of each of its files."""
    command = [Path(sys.executable).with_name("jupyter-book"), "build", ROOT, "--path-output", folder, "-q"]
    done = subprocess.run(command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    site = folder / "_build" / "html"
    assert (site / "index.html").exists(), done.stdout
    files = sorted(file for file in site.rglob("*") if file.is_file())
    return {file.relative_to(site).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.fixture(scope="module")
def two_builds(tmp_path_factory, once):
    """Build from the outputs that `make site` left, and from others: in another folder, time zone and language."""
    here, elsewhere = tmp_path_factory.mktemp("here"), tmp_path_factory.mktemp("elsewhere")
    shutil.copytree(ROOT / CACHE, here / CACHE)
    remember({chapter: Execution.again(chapter, once) for chapter in CHAPTERS}, elsewhere)
    return build(here), build(elsewhere, **ELSEWHERE)


@pytest.mark.nightly
def test_two_builds_have_the_same_files(two_builds):
    first, second = two_builds
    assert first.keys() == second.keys()


@pytest.mark.nightly
def test_two_builds_have_the_same_bytes(two_builds):
    first, second = two_builds
    assert [name for name in first if first[name] != second.get(name)] == []


def test_no_page_names_the_machine(site):
    """A path of this checkout in a page would differ on the next machine, and tell about this one."""
    pages = [*site.rglob("*.html"), *site.rglob("*.js"), *site.rglob("*.svg")]
    assert [page.name for page in pages if str(ROOT) in page.read_text(encoding="utf-8")] == []
