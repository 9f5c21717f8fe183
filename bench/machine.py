"""On what a measurement was made: a number without its machine says nothing."""

from __future__ import annotations

import datetime
import os
import platform
import re
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path


def machine() -> dict:
    """Return date, processor, cores, memory and kernel."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "date": datetime.date.today().isoformat(),
        "cpu": _line(Path("/proc/cpuinfo"), r"model name\s*: (.*)") or platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(pages / 2**30),
        "kernel": platform.release(),
        "root": os.getuid() == 0,
    }


def versions() -> dict[str, str]:
    found = {name: version(name) for name in ("torch", "ipython", "nbgrader", "nbclient")}
    return {"python": platform.python_version(), **found, "bubblewrap": _bubblewrap()}


def measured_on(found: dict) -> str:
    """Return where and with what something was measured, as the beginning of a sentence."""
    about, of = found["machine"], found["versions"]
    names = ", ".join(f"{name} {number}" for name, number in of.items())
    return (
        f"Measured on {about['date']}: {about['cpu']}, {about['cores']} cores, {about['memory_gib']} GiB, Linux {about['kernel']}; {names}"
    )


def busy() -> list[float]:
    """Return the load of the last 1, 5 and 15 minutes: how much others ran beside."""
    return [round(load, 2) for load in os.getloadavg()]


def _bubblewrap() -> str:
    if shutil.which("bwrap") is None:
        return "none"
    return subprocess.run(["bwrap", "--version"], capture_output=True, text=True).stdout.split()[-1]


def _line(path: Path, pattern: str) -> str:
    found = re.search(pattern, path.read_text()) if path.is_file() else None
    return found[1].strip() if found else ""
