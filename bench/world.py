"""A throw-away world for stock nbgrader, which runs strangers' code with nothing around it.

bubblewrap gives it namespaces of its own, an empty network, read-only libraries and disks in memory;
`inside.py` runs there and reports. Time, memory and processes are bounded from outside as well: by
control groups where there are any, and what only these can bound is not run without them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from autograder.sandbox.levels import Level
from autograder.sandbox.rootfs import ROOTS_WALLS, WALLS, RootFs, _inside, _interpreter

HERE = Path(__file__).resolve().parent
NOBODY = 60720 + os.getpid() % 1000  # not the judge's own nobody, nor that of a second run: the kernel counts a user's processes
PORT = 4711
MEGABYTE = 1 << 20
DISKS = {"/tmp": 300, "/home/learner": 300, "/dev/shm": 150, "/var/tmp": 50, "/run": 10}
SECONDS, GRACE = 120, 30
ORDERS = {"seconds": SECONDS, "port": PORT, "memory": 3 << 30, "processes": 150}
MOST = {"pids": ("pids.max", 200), "memory": ("memory.limit_in_bytes", 4 << 30)}
SCRIPTS = ("nbgrader", "alembic", "jupyter")  # commands that nbgrader looks for on the path
ROOTS_EXTRA = "--cap-add CAP_KILL".split()


@dataclass(frozen=True)
class Report:
    """What became of one run of `nbgrader autograde` on two submissions."""

    status: int | None = None
    seconds: float = 0.0
    marks: list = field(default_factory=list)
    words: dict = field(default_factory=dict)
    hidden: bool = False
    damage: list = field(default_factory=list)
    log: str = ""


class World:
    """Makes worlds, one for each attack, over one root file system with the libraries; `close` removes it."""

    def __init__(self, given: Path):
        self._given, self._rootfs = given, RootFs(Level.bubblewrap)
        self._root = os.getuid() == 0
        self.bounded = _Group.available()
        _write_commands(given)

    def __enter__(self) -> World:
        return self

    def __exit__(self, *error) -> None:
        self._rootfs.close()

    def autograde(self) -> Report:
        """Run stock nbgrader on what lies in `given`, and end all that it started."""
        group = _Group() if self.bounded else None
        try:
            done = subprocess.run(
                self._command(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=self._environment(),
                timeout=SECONDS + GRACE,
                preexec_fn=lambda: _enter(group),
                start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            return Report(damage=["the world had to be ended from outside"], seconds=SECONDS + GRACE)
        finally:
            if group:
                group.remove()
        try:
            return Report(**json.loads(done.stdout[-200_000:]))
        except ValueError:
            return Report(status=done.returncode, damage=["nobody was left to report"], log=done.stderr.decode(errors="replace")[-2000:])

    def _command(self) -> list[str]:
        walls = [*ROOTS_WALLS, *ROOTS_EXTRA] if self._root else ["--unshare-all"]
        files = [word for folder in ("/usr", "/etc", "/var", "/var/tmp", "/run") for word in ("--perms", "0755", "--dir", folder)]
        files += ["--ro-bind", str(self._given), "/given", "--ro-bind", "/usr/bin", "/usr/bin", "--symlink", "usr/bin", "/bin"]
        files += ["--ro-bind", str(self._given / "passwd"), "/etc/passwd"]
        disks = [word for folder, size in DISKS.items() for word in ("--perms", "1777", "--size", str(size * MEGABYTE), "--tmpfs", folder)]
        orders = json.dumps({**ORDERS, "user": NOBODY if self._root else None})
        return ["bwrap", *walls, *WALLS, *files, *self._rootfs._files(), *disks, "--", _inside(_interpreter()), "/given/inside.py", orders]

    def _environment(self) -> dict[str, str]:
        threads = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
        libraries = {name: value for name, value in self._rootfs.environment().items() if name == "LD_LIBRARY_PATH"}
        return {
            **libraries,
            **threads,
            "HOME": "/home/learner",
            "PATH": "/given/bin:/usr/bin:/bin",
            "PYTHONPATH": "/opt/site",
            "PYTHONDONTWRITEBYTECODE": "1",
            "LANG": "C.UTF-8",
            "USER": "learner",
        }


def _write_commands(given: Path) -> None:
    (given / "bin").mkdir()
    for name in SCRIPTS:
        script = given / "bin" / name
        script.write_text(f'#!/bin/sh\nexec {_inside(_interpreter())} -m {name} "$@"\n')
    (given / "passwd").write_text(f"root:x:0:0::/root:/bin/sh\nlearner:x:{NOBODY}:{NOBODY}::/home/learner:/bin/sh\n")
    shutil.copyfile(HERE / "inside.py", given / "inside.py")
    open_to_all(given)
    for script in (given / "bin").iterdir():
        script.chmod(0o755)


def open_to_all(folder: Path) -> None:
    """Let everybody read a folder: the one who grades in the world may be another user."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)


def _enter(group: _Group | None) -> None:
    os.nice(5)
    if group:
        group.enter()


class _Group:
    """A control group (version 1) for one world, which bounds its memory, its disks' too, and its processes."""

    def __init__(self):
        self._folders = [Path("/sys/fs/cgroup", kind, f"attention-world-{os.getpid()}") for kind in MOST]
        for folder, (name, most) in zip(self._folders, MOST.values()):
            folder.mkdir(exist_ok=True)
            (folder / name).write_text(str(most))

    @staticmethod
    def available() -> bool:
        try:
            group = _Group()
        except OSError:
            return False
        group.remove()
        return True

    def enter(self) -> None:
        for folder in self._folders:
            (folder / "cgroup.procs").write_text("0")

    def remove(self) -> None:
        """Remove the group once its last process has gone."""
        for folder in self._folders:
            until = time.monotonic() + GRACE
            while folder.exists():
                try:
                    folder.rmdir()
                except OSError:
                    if time.monotonic() > until:
                        raise
                    time.sleep(0.1)
