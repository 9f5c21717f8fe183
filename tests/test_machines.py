"""What is released comes out the same on every machine, byte for byte, and a mistake is recognised on each.

Other machines are imitated: torch and its libraries can be told to compute as older processors do, and with more threads. They
then add in another order, and have other exponentials.
"""

import json
import os
import platform
import subprocess
import sys

import pytest

from autograder.authoring.release import EXERCISES
from autograder.exercise import reading as exercises
from tests.conftest import ROOT

OLDEST = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE", "ONEDNN_MAX_CPU_ISA": "SSE41"}
YOUNGER = {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"}
MACHINES = {
    "the oldest processor": (OLDEST, 1),
    "the oldest processor, four threads": (OLDEST, 4),
    "a younger processor, four threads": (YOUNGER, 4),
    "this processor, four threads": ({}, 4),
}
QUICK = {
    "the oldest processor": ["encoder_layer", "feed_forward", "kv_cache", "positional_encoding", "rotary", "similarity", "single_head"],
    "a younger processor, four threads": ["feed_forward", "grouped_query", "similarity"],
}


@pytest.mark.parametrize("machine", QUICK)
def test_it_is_the_same_elsewhere(machine, tmp_path):
    _expect_the_same(machine, QUICK[machine], tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("machine", MACHINES)
def test_all_of_it_is_the_same_elsewhere(machine, tmp_path):
    _expect_the_same(machine, exercises.all_names(), tmp_path)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="how others are imitated is known of this kind of processor only")
def test_machines_that_are_imitated_compute_in_another_way():
    """Else the tests above would show nothing."""
    product = "x.T @ x, torch.softmax(x, 1), torch.nn.functional.gelu(x)"
    program = f"import torch; x = torch.arange(1.0, 50002.0).sin().reshape(-1, 7); print([hash(y.numpy().tobytes()) for y in ({product})])"
    here, there = (json.loads(_run(how, "-c", program)) for how in ({}, OLDEST))
    assert not set(here) & set(there)


def _expect_the_same(machine: str, names: list[str], folder) -> None:
    how, threads = MACHINES[machine]
    _run(how, "-m", "tests.elsewhere", folder, str(threads), *names)
    made = {name: (folder / f"{name}.json").read_text(encoding="utf-8") for name in names}
    assert [name for name in names if made[name] != (EXERCISES / name / "exercise.json").read_text(encoding="utf-8")] == []
    strange = {name: json.loads((folder / f"{name}-strange.json").read_text(encoding="utf-8")) for name in names}
    assert strange == {name: [] for name in names}


def _run(how: dict[str, str], *program) -> bytes:
    return subprocess.check_output([sys.executable, *program], cwd=ROOT, env=os.environ | how | {"PYTHONHASHSEED": "0"})
