"""Every file of tests has its room in the map of README.md, and `make quick` finds it there."""

import subprocess
import sys

import pytest

from tests.rooms import ROOT, chosen, rooms

ELSEWHERE = {ROOT / "tests" / "peers"}  # `make peers` runs them


def test_every_file_of_tests_belongs_to_one_room():
    files = {path for path in (ROOT / "tests").rglob("test_*.py") if not ELSEWHERE & set(path.parents)}
    listed = [ROOT / file.path for found in rooms().values() for file in found]
    assert len(listed) == len(set(listed)) and set(listed) == files | {ROOT / "solutions"}


def test_every_room_of_the_autograder_has_tests():
    folders = {path.parent.name for path in (ROOT / "autograder").glob("*/__init__.py")}
    assert folders - set(rooms()) == set() and len(folders) == 11


def test_quick_runs_a_room_or_of_every_room_what_is_done_at_once():
    assert chosen("sandbox") == [file.path for file in rooms()["sandbox"]] and "tests/test_attacks.py" in chosen("sandbox")
    files = {file.path: file for found in rooms().values() for file in found}
    quick = [files[path] for path in chosen()]
    assert all(set(quick) & set(found) for found in rooms().values())
    assert not any(file.needs_site for file in quick) and "tests/test_wire.py" in chosen() and "tests/test_attacks.py" not in chosen()
    assert sum(file.seconds for file in quick) < 120  # on two cores, with lint before it, less than 90 seconds


def test_a_room_that_is_not_there_runs_nothing():
    done = subprocess.run([sys.executable, "-m", "tests.rooms", "cellar"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == "" and done.stderr.startswith("There is no room cellar; there are sandbox, ")


@pytest.mark.parametrize("room", rooms())
def test_a_room_says_what_each_of_its_files_costs(room):
    assert all((ROOT / file.path).exists() and file.seconds >= 1 for file in rooms()[room])
