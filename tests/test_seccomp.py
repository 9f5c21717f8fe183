"""The filter of system calls: a list of what is allowed, so that a call nobody has heard of is refused."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter

import pytest

from autograder.sandbox import seccomp
from tests.conftest import ROOT

# Linux 6.18 has about 470; the others stand for those to come. The two left out (uretprobe, uprobe on x86-64) are the kernel's own trampoline:
# no filter sees them, and any other caller dies.
EVERY_CALL = set(range(1024)) - {335, 336}
# Everything that is asked for must fail in the filter, before the kernel looks at the arguments.
ASK_FOR_ALL = """
import ctypes, json, sys
from autograder.sandbox import confine
if sys.argv[1]:
    confine.filter_calls(bytes.fromhex(sys.argv[1]))
found = {}
for number in json.loads(sys.argv[2]):
    ctypes.set_errno(0)
    answer = confine.libc.syscall(ctypes.c_long(number), *[ctypes.c_long(-1)] * 6)
    found[number] = ctypes.get_errno() if answer == -1 else 0
print(json.dumps(found))
"""
REFUSED = {1, 38}  # EPERM, ENOSYS
# Calls that hurt or end the process that makes them, even with arguments that make no sense.
DEADLY = "exit exit_group pause rt_sigreturn rt_sigsuspend vhangup reboot vfork fork clone sync restart_syscall".split()
NEW = {
    457: "statmount",
    458: "listmount",
    463: "setxattrat",
    469: "file_setattr",
    451: "cachestat",
    206: "io_setup",
    221: "fadvise64",
    27: "mincore",
}


@pytest.fixture(scope="module")
def library():
    return pytest.importorskip("pyseccomp", exc_type=(ImportError, RuntimeError))


def _number(library, name: str) -> int:
    return library.resolve_syscall(library.Arch.NATIVE, name)


def _listed(library, unshared: bool) -> set[int]:
    names = [*seccomp.LISTS, seccomp.OF_ITSELF, "clone socketpair", *(name for name, _, _ in seccomp.SOME_OF)]
    names += [seccomp.WHERE_UNSHARED] if unshared else []
    return {_number(library, name) for each in names for name in each.split()}


def _answers(numbers, program: bytes) -> dict[int, int]:
    command = [sys.executable, "-c", ASK_FOR_ALL, program.hex(), json.dumps(sorted(numbers))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return {int(number): error for number, error in json.loads(done.stdout).items()}


@pytest.mark.parametrize("unshared", [True, False])
def test_a_call_that_is_not_listed_is_refused(library, unshared):
    """Also one that Linux does not have yet."""
    numbers = EVERY_CALL - _listed(library, unshared) - {_number(library, name) for name in DEADLY}
    answers = _answers(numbers, seccomp.program(unshared))
    assert len(answers) > 800
    assert {number: error for number, error in answers.items() if error not in REFUSED} == {}


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86-64")
def test_what_linux_added_lately_is_refused(library):
    """Whatever this kernel has of it: the list is what refuses it, and no missing feature."""
    there = {number for number, error in _answers(NEW, b"").items() if error not in REFUSED}
    assert there, "this kernel has none of them, so nothing is shown"
    assert set(_answers(there, seccomp.program(unshared=True)).values()) <= REFUSED


def _calls_of_workers(trace: str) -> Counter:
    """Return how often a worker made a call that failed as one that is refused does; `trace` is what strace has written."""
    inside, refused = set(), Counter()
    for line in trace.splitlines():
        found = re.match(r"(\d+) +(\w+)\((.*)", line)
        if found and found[2] == "prctl" and found[3].startswith("PR_SET_SECCOMP"):
            inside.add(found[1])
        elif found and found[1] in inside:
            child = re.search(r"= (\d+)$", found[3]) if found[2] == "clone" else None
            inside |= {child[1]} if child else set()
            refused[found[2]] += bool(re.search(r"= -1 (EPERM|ENOSYS)", found[3]))
    assert inside, "no worker was traced"
    return +refused


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_nothing_that_a_class_needs_is_refused(tmp_path):
    """A whole class, its right, wrong and odd answers, makes no call that the filter refuses, but for a socket that asks who the user is."""
    environment = {**os.environ, "ATTENTION_COURSE": str(tmp_path / "course")}
    for command in (["sample"], ["grade", "--jobs", "1"]):
        traced = ["strace", "-f", "-qq", "-o", str(tmp_path / "calls"), sys.executable, "-m", "autograder", *command]
        done = subprocess.run(traced, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stdout + done.stderr
    assert _calls_of_workers((tmp_path / "calls").read_text(errors="replace")).keys() <= {"socket"}
