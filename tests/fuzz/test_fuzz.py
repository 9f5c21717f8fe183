"""Damaged notebooks are read or refused, and nothing else ever happens to the reader."""

import pytest

from tests.fuzz import mutants


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
