"""The same sources give the same site, byte for byte, also when every chapter is executed again."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.site.site_layout import ROOT

CACHE = Path("_build") / ".jupyter_cache"


def build(output: Path) -> dict[str, str]:
    """Build the site below `output` and return the digest of each of its files."""
    jupyter_book = Path(sys.executable).with_name("jupyter-book")
    command = [jupyter_book, "build", ROOT, "--path-output", output, "-q"]
    done = subprocess.run(command, cwd=output, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    site = output / "_build" / "html"
    assert (site / "index.html").exists(), done.stdout
    files = sorted(file for file in site.rglob("*") if file.is_file())
    return {file.relative_to(site).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.fixture(scope="module")
def two_builds(tmp_path_factory):
    """Build once with the outputs that `make site` left, if any, and once with nothing."""
    remembered, fresh = tmp_path_factory.mktemp("remembered"), tmp_path_factory.mktemp("fresh")
    if (ROOT / CACHE).exists():
        shutil.copytree(ROOT / CACHE, remembered / CACHE)
    return build(remembered), build(fresh)


def test_two_builds_have_the_same_files(two_builds):
    first, second = two_builds
    assert first.keys() == second.keys()


def test_two_builds_have_the_same_bytes(two_builds):
    first, second = two_builds
    assert [name for name in first if first[name] != second.get(name)] == []


def test_no_page_names_the_machine(two_builds, site):
    """A path of this checkout in a page would differ on the next machine, and tell about this one."""
    pages = [*site.rglob("*.html"), *site.rglob("*.js"), *site.rglob("*.svg")]
    assert [page.name for page in pages if str(ROOT) in page.read_text(encoding="utf-8")] == []
