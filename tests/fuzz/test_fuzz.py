"""Damaged notebooks are read or refused, and nothing else ever happens to the reader."""

import os
import shutil
import stat

import pytest

from tests.fuzz import folders, mutants


def test_300_mutants_are_read_or_refused(tmp_path):
    seen = mutants.fuzz(300, 20, tmp_path)
    assert sum(seen.values()) == 300
    assert 30 < seen["read"] < 270 and len(seen) > 4, seen  # the damage is neither idle nor all the same


@pytest.mark.parametrize("error", [ValueError, RecursionError, MemoryError, UnicodeEncodeError])
def test_the_fuzzer_tells_and_keeps_the_mutant(tmp_path, error):
    def breaks(path, learner, exercise):
        raise error(*(("utf-8", "x", 0, 1, "y") if error is UnicodeEncodeError else ()))

    with pytest.raises(error) as caught:
        mutants.fuzz(1, 0, tmp_path, reader=breaks)
    assert "mutant 0 of seed 0" in caught.value.__notes__[0] and list(tmp_path.glob("mutant-0-0.*"))


def test_the_deadline_is_counted_in_steps(tmp_path, single_head):
    def endless(path, learner, exercise):
        while True:
            mutants.read_here(tmp_path / "single_head.ipynb", learner, exercise)

    (tmp_path / "single_head.ipynb").write_text('{"nbformat": 4}')
    with pytest.raises(mutants.Deadline):
        mutants.outcome(tmp_path / "single_head.ipynb", single_head, endless)


def test_20_classes_and_archive_folders_are_read_or_refused(tmp_path):
    seen = folders.fuzz(20, 20, tmp_path)
    assert min(seen["read"], seen["shown to nbgrader"], seen["collected"], seen["not collected"]) > 10 and len(seen) > 6, seen
    assert not os.path.exists("/tmp/pwned")


def test_the_fuzzer_of_folders_sees_what_breaks_a_rule(tmp_path, monkeypatch):
    monkeypatch.setattr(
        folders, "lay_out", lambda course: shutil.copytree(course.submitted, course.for_nbgrader, symlinks=True, ignore=_pipes)
    )
    with pytest.raises(AssertionError) as caught:
        folders.fuzz(1, 0, tmp_path)
    assert "class 0 of seed 0" in caught.value.__notes__[0] and list(tmp_path.glob("class-0-0"))


def _pipes(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if stat.S_ISFIFO(os.lstat(os.path.join(folder, name)).st_mode)]
