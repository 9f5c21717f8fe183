"""Levels of the sandbox: named, asked for, refused with what to do."""

import os
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

from autograder.errors import CannotGoOn
from autograder.exercise import reading as exercises
from autograder.judging.answers import answers
from autograder.judging.session import Session
from autograder.judging.verdicts import verdicts_on
from autograder.kit.outcome import Outcome
from autograder.limits import Limits
from autograder.sandbox import seccomp
from autograder.sandbox.client import Zygote
from autograder.sandbox.levels import Level, Unavailable, level_of, required
from tests.conftest import ROOT


def test_bubblewrap_is_the_default_level(monkeypatch):
    monkeypatch.delenv("ATTENTION_LEVEL", raising=False)
    assert required() is Level.bubblewrap
    monkeypatch.setenv("ATTENTION_LEVEL", "landlock")
    assert required() is Level.landlock


def test_level_none_needs_trust(monkeypatch):
    monkeypatch.setenv("ATTENTION_LEVEL", "none")
    with pytest.raises(CannotGoOn, match="--trust-submissions"):
        required()
    assert required(trust=True) is Level.none


def test_an_unknown_level_is_refused_with_those_that_there_are():
    with pytest.raises(CannotGoOn, match="none, landlock, bubblewrap"):
        level_of("docker")


def test_missing_bubblewrap_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="apt-get install bubblewrap"):
        Zygote(Level.bubblewrap)


def test_bubblewrap_that_fails_is_quoted(monkeypatch, tmp_path):
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(Unavailable, match="No permissions to create new namespace"):
        Zygote(Level.bubblewrap)


def test_worker_that_cannot_be_locked_in_runs_nothing(monkeypatch, level):
    """A filter that the kernel refuses is our failure, found before any learner's code is there."""
    monkeypatch.setattr(seccomp, "program", lambda unshared: b"\xff" * 8)
    with pytest.raises(Unavailable, match="Invalid argument"):
        Zygote(level)


KILLED = """
import os
from autograder.machine.attacks import descendants
from autograder.limits import Limits
from autograder.sandbox.client import Zygote
zygote = Zygote()
worker = zygote.fork(Limits())
from autograder.sandbox import wire
wire.send(worker.link, {"do": "cell", "source": "while True: pass"})
print(zygote.forkserver.rootfs.path, zygote.forkserver.pid, *descendants(zygote.forkserver.pid), flush=True)
os.kill(os.getpid(), 9)
"""


def test_nothing_outlives_a_judge_that_is_killed():
    """Zygote and worker end with it, even an endless one; the next judge clears its folder."""
    done = subprocess.run([sys.executable, "-c", KILLED], cwd=ROOT, capture_output=True, text=True, timeout=60)
    folder, *family = done.stdout.split()
    assert len(family) >= 2 and Path(folder).exists(), done.stderr
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{pid}/exe").exists() for pid in family):
        assert time.monotonic() < deadline, "the sandbox outlives the judge"
        time.sleep(0.05)
    Zygote(Level.landlock).close()
    assert not Path(folder).exists()


ORDINARY = """
import sys
from autograder.machine.attacks import Surroundings, attack, corpus
from autograder.sandbox.client import Zygote
with Zygote() as zygote, Surroundings() as around:
    for one in corpus():
        if one.name in sys.argv[1:]:
            print(one.name, attack(one, zygote, around), flush=True)
"""


def test_ordinary_user_gets_the_same_sandbox(tmp_path, level):
    """Root starts bubblewrap in another way than everybody else; here everybody else's is tried."""
    if level is not Level.bubblewrap:
        pytest.skip(f"this machine offers {level.name} at best")
    names = ("files_of_the_course", "mounts", "network", "processes_of_others", "rights", "threads")
    if os.getuid() != 0:
        pytest.skip("the other tests run as an ordinary user already")
    python = _python_for_all(tmp_path)
    done = subprocess.run(
        [python, "-c", ORDINARY, *names],
        cwd=ROOT,
        user=65534,
        group=65534,
        extra_groups=[],
        env={"PATH": os.environ["PATH"], "HOME": "/"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.splitlines() == [f"{name} []" for name in names], done.stderr


def _python_for_all(folder: Path) -> str:
    """Return an environment with our packages that any user can run; skips where there can be none."""
    for parent in [folder, *folder.parents[:3]]:
        parent.chmod(parent.stat().st_mode | 0o055)
    ours, system = Path(sysconfig.get_path("purelib")), shutil.which("python3", path="/usr/bin:/usr/local/bin")
    if system is None or subprocess.run(
        [system, "-c", "import sys, venv; print(sys.version_info[:2])"], capture_output=True, text=True
    ).stdout.strip() != str(sys.version_info[:2]):
        pytest.skip("there is no system Python of this version to run as another user")
    subprocess.run([system, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    theirs = next((folder / "venv" / "lib").glob("python*/site-packages"))
    theirs.rmdir()
    theirs.symlink_to(ours)
    for path in (ours / "torch" / "__init__.py", ROOT / "autograder" / "attacks.py"):
        if subprocess.run(["test", "-r", path], user=65534, group=65534, extra_groups=[]).returncode:
            pytest.skip("our packages or sources lie where another user may not read")
    return str(folder / "venv" / "bin" / "python")


@pytest.mark.parametrize("wanted", [Level.landlock, Level.bubblewrap], ids=lambda wanted: wanted.name)
def test_worker_has_no_rights_and_can_get_none(level, wanted, single_head):
    if wanted > level:
        pytest.skip(f"this machine offers {level.name} at best")
    from autograder.judging.answers import answers
    from autograder.judging.session import Session

    probe = (
        "def causal_mask(length):\n    import ctypes, resource\n    libc = ctypes.CDLL(None)\n    data = (ctypes.c_uint32 * 6)(*[9] * 6)\n"
        "    libc.capget((ctypes.c_uint32 * 2)(0x20080522, 0), data)\n"
        "    return str((list(data), [n for n in range(41) if libc.prctl(23, n, 0, 0, 0) == 1], libc.prctl(39, 0, 0, 0, 0), libc.prctl(21, 0, 0, 0, 0), resource.getrlimit(resource.RLIMIT_CORE)))"
    )
    with Zygote(wanted) as zygote, Session(zygote, single_head, {**answers(single_head), "answer-masks": probe}, Limits()) as session:
        rights, bounding, no_new, filtered, core = eval(session.learner.causal_mask(3))
    assert rights == [0] * 6 and bounding == [] and (no_new, filtered, core) == (1, 2, (0, 0))


@pytest.mark.parametrize("name, count", [("complexity", None), ("capstone", 1)])
def test_right_answers_pass_where_nothing_may_be_written(name, count):
    """They train, and count operations: both make torch import its compiler, which wants a folder."""
    exercise = exercises.load(name)
    with Zygote(Level.landlock) as zygote:
        for variant in exercise.variants[:count]:
            with Session(zygote, exercise, answers(exercise, variant)) as session:
                failed = {
                    verdict.check: verdict.reason
                    for verdict in verdicts_on(exercise, session.learner, 11)
                    if verdict.outcome is not Outcome.PASSED
                }
            assert not failed, variant.name


SCOPED = """
import os, signal, socket, sys
from autograder.sandbox import confine
outside = socket.socket(socket.AF_UNIX); outside.bind("\\0attention-test-" + str(os.getpid())); outside.listen()
child = os.fork()
if child == 0:
    if not confine.scope_signals():
        os._exit(77)
    refused = 0
    try:
        os.kill(os.getppid(), 0)
    except PermissionError:
        refused += 1
    try:
        socket.socket(socket.AF_UNIX).connect("\\0attention-test-" + str(os.getppid()))
    except PermissionError:
        refused += 1
    os._exit(refused)
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def test_signals_and_abstract_sockets_stay_inside_where_the_kernel_can():
    code = subprocess.run([sys.executable, "-c", SCOPED], cwd=ROOT).returncode
    if code == 77:
        pytest.skip("this kernel's Landlock has no scopes (Linux 6.12 has)")
    assert code == 2
