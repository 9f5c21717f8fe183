"""What this machine offers to judges, and whether the sandbox holds: `python -m autograder doctor`."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import torch

from ..limits import Limits
from ..records.course import Course
from ..sandbox.client import Zygote
from ..sandbox.levels import Level, Unavailable
from .attacks import Surroundings, attack, corpus

GOOD, BAD, PLAIN = "good", "bad", "plain"


@dataclass(frozen=True)
class Line:
    """One line of the answer: a subject, what was found, and whether that is as it should be."""

    subject: str
    found: str
    status: str = PLAIN


def examine(required: Level, course: Course) -> Iterator[Line]:
    """Yield all lines about this machine, the levels of the sandbox first."""
    yield from levels(required)
    yield from kernel()
    yield Line("limits", ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in asdict(Limits()).items()))
    yield Line(
        "versions",
        f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy", "nbgrader", "ipython")),
    )
    yield Line("GPU", torch.cuda.get_device_name() if torch.cuda.is_available() else "none; nothing needs one")
    yield from gradebook(course)


def levels(required: Level) -> Iterator[Line]:
    """Yield whether each level works here, by starting a zygote at it."""
    yield Line("grading asks for", f"{required.name} (ATTENTION_LEVEL)", PLAIN if required else BAD)
    for level in sorted(Level, reverse=True):
        if level is Level.none:
            continue
        try:
            Zygote(level).close()
            yield Line(f"level {level.name}", "works here", GOOD)
        except Unavailable as error:
            yield Line(f"level {level.name}", str(error), BAD if level is required else PLAIN)


def kernel() -> Iterator[Line]:
    """Yield what the levels depend on."""
    yield Line("kernel", f"{platform.system()} {platform.release()} ({platform.machine()})")
    yield Line("user namespaces", _first_line("/proc/sys/user/max_user_namespaces") + " at most")
    yield Line("Landlock", _landlock())
    yield Line("seccomp", _first_line("/proc/sys/kernel/seccomp/actions_avail"))
    yield Line("bubblewrap", _output_of(["bwrap", "--version"]) if shutil.which("bwrap") else "not installed")
    yield Line("started by", f"user {os.getuid()}" + (" (root): the sandbox works as a user that owns nothing" if os.getuid() == 0 else ""))
    yield Line("Python", f"{Path(sys.executable).resolve()} in {sys.prefix}")


def gradebook(course: Course) -> Iterator[Line]:
    """Yield where the marks are, and whether the disk has space for more."""
    yield Line("course", f"{course.root}: {len(course.submissions(list(course.settings.exercises)))} submissions")
    yield Line("gradebook", course.gradebook_url if (course.root / "gradebook.db").exists() else f"{course.gradebook_url} (not made yet)")
    free = shutil.disk_usage(next(p for p in (course.root, *course.root.parents) if p.exists())).free / 2**30
    yield Line("free disk", f"{free:.1f} GiB", GOOD if free > 1 else BAD)


def works(level: Level) -> bool:
    """Return whether this machine offers a level."""
    try:
        Zygote(level).close()
    except Unavailable:
        return False
    return True


def attackable(wanted: Level) -> list[Level]:
    """Return the level that is asked for and every other one with a wall that works here, the strongest first."""
    return [level for level in sorted(Level, reverse=True) if level is wanted or level is not Level.none and works(level)]


def attack_all(level: Level) -> Iterator[tuple[str, list[str]]]:
    """Yield each attack that the level should stop, and what it has achieved.

    Raises `Unavailable`.
    """
    zygote = Zygote(level)
    with Surroundings() as around:
        try:
            for one in corpus():
                if one.level > level:
                    continue
                try:
                    yield one.title, attack(one, zygote, around)
                except Exception as error:  # the judge failed: that too is a success of the attack
                    yield one.title, [f"the judge failed: {type(error).__name__}: {error}"]
                    zygote.close()
                    zygote = Zygote(level)
        finally:
            zygote.close()


def _landlock() -> str:
    from landlock import LandlockError, landlock_abi_version

    try:
        return f"version {landlock_abi_version()} of its interface"
    except (LandlockError, OSError) as error:
        return str(error).splitlines()[0]


def _first_line(path: str) -> str:
    try:
        return Path(path).read_text().splitlines()[0]
    except (OSError, IndexError):
        return "unknown"


def _output_of(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()
