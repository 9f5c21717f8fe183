"""The first command on a fresh machine: what it cannot do, it says in one sentence."""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections import namedtuple

import pytest

from autograder.machine import environment
from tests.conftest import ROOT


def test_an_old_python_is_refused_with_what_is_needed(monkeypatch, capsys):
    monkeypatch.setattr(sys, "version_info", (3, 9, 0))
    with pytest.raises(SystemExit) as ended:
        environment.main()
    assert ended.value.code == 1 and "Python 3.11, 3.12 or 3.13 is needed" in capsys.readouterr().err


def test_a_full_disk_is_reported(monkeypatch, capsys, tmp_path):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(1, 1, 2**20))
    monkeypatch.setattr(environment, "STAMP", str(tmp_path / "none"))
    with pytest.raises(SystemExit) as ended:
        environment.main()
    words = capsys.readouterr().err
    assert ended.value.code == 1 and "needs 3 GB" in words and len(words.splitlines()) == 1


@pytest.fixture
def make_environment(tmp_path):
    """Run the command in a folder with these pins; no index at all is what a machine without a network sees, only sooner."""

    def make(*pins: str, **more: str) -> subprocess.CompletedProcess:
        (tmp_path / "autograder" / "machine").mkdir(parents=True)
        shutil.copy(ROOT / "autograder" / "machine" / "environment.py", tmp_path / "autograder" / "machine")
        (tmp_path / "requirements.txt").write_text("# What is needed.\n" + "\n".join(pins) + "\n")
        alone = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, **more}
        command = [sys.executable, "autograder/machine/environment.py"]
        return subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True, timeout=300)

    return make


def test_no_network_is_reported_in_the_last_line_below_pips_own_messages(make_environment, tmp_path):
    done = make_environment("numpy==2.4.6")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("The requirements could not be installed: is the package index within reach?")
    assert "ERROR: No matching distribution found for numpy==2.4.6" in done.stderr
    assert not (tmp_path / ".venv" / "installed").exists()


def test_warnings_of_pips_that_end_well_are_not_ours_to_show(make_environment, tmp_path):
    for name in ("one", "two"):
        with zipfile.ZipFile(tmp_path / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            wheel.writestr(f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{name}-1.0.dist-info/RECORD", "")
    # The first place does not exist, of which pip warns.
    done = make_environment("one==1.0", "two==1.0", PIP_FIND_LINKS=f"{tmp_path / 'nowhere'} {tmp_path}")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["== packages, into .venv", "unpacking all of them", "2 packages installed"]
    assert (tmp_path / ".venv" / "installed").exists()


PINS = ["# first", "one==1.0", "two==2.0  # why", "three==3.0"]


@pytest.mark.parametrize(
    "line, news",
    [
        ("Collecting two==2.0 (from -r /a b/requirements.txt (line 3))", "1 of 3  two==2.0"),
        ("Processing /wheels/two-2.0-py3-none-any.whl (from -r r.txt (line 3))", "1 of 3  two==2.0"),
        ("Collecting four (from two==2.0->-r r.txt (line 3))", None),
        ("  Downloading torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl (527.9 MB)", "torch: 527 MB to download"),
        ("  Downloading click-8.5.1-py3-none-any.whl (126 kB)", None),
        ("WARNING: Retrying (Retry(total=4)) after connection broken", "the package index does not answer; pip tries again"),
        ("WARNING: Location 'file:///nowhere' is ignored", None),
    ],
)
def test_a_terminal_is_told_how_far_pip_is(line, news, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    met = set()
    assert environment.news_in(line + "\n", PINS, met) == news
    assert environment.news_in(line + "\n", PINS, met) == (None if met else news)  # each has one turn


def test_a_package_that_cannot_be_built_is_shown_whole():
    """pip's own account of it is long, and what is wrong stands at its beginning."""
    said = ["Collecting one==1.0\n", "  Building wheel\n", "  error: subprocess-exited-with-error\n", *["  detail\n"] * 40, "note: end\n"]
    assert environment.reason(said) == said
    assert environment.reason(["Collecting\n"] * 30) == ["Collecting\n"] * 15


def test_environment_that_is_right_is_left_alone(monkeypatch):
    monkeypatch.setattr(subprocess, "check_call", lambda *a: pytest.fail("something was installed again"))
    wanted = hashlib.sha256((ROOT / "requirements.txt").read_bytes()).hexdigest()
    monkeypatch.setattr(environment, "installed", lambda: wanted)
    environment.main()


def test_every_version_is_pinned_once():
    lines = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if line and not line.startswith("#")]
    names = [line.split("==")[0] for line in lines]
    assert all("==" in line for line in lines) and len(names) == len(set(names))


def test_syntax_is_one_that_an_old_python_can_read():
    import ast

    ast.parse((ROOT / "autograder" / "machine" / "environment.py").read_text(), feature_version=(3, 4))
