"""The first command on a fresh machine: what it cannot do, it says in one sentence."""

import hashlib
import os
import shutil
import subprocess
import sys
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


def test_no_network_is_reported_in_the_last_line(tmp_path):
    (tmp_path / "autograder" / "machine").mkdir(parents=True)
    shutil.copy(ROOT / "autograder" / "machine" / "environment.py", tmp_path / "autograder" / "machine")
    (tmp_path / "requirements.txt").write_text("numpy==2.4.6\n")
    # No index at all is what a machine without a network sees, only sooner.
    alone = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    done = subprocess.run(
        [sys.executable, "autograder/machine/environment.py"], cwd=tmp_path, env=alone, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("The requirements could not be installed: is the package index within reach?")
    assert not (tmp_path / ".venv" / "installed").exists()


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
