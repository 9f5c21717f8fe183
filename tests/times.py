"""A plugin that says what each file of tests costs: `python -m pytest -p tests.times`, as root and where control groups can be written to.

CPU seconds are counted by the kernel, for all processes that a test has started, whatever becomes of them: on a busy machine they are still right.
The other seconds are those on the clock; what a file waits for is their difference, if the machine is idle.
"""

import os
import time
from collections import Counter
from pathlib import Path

import pytest

GROUPS = Path("/sys/fs/cgroup")
# By the folder: where usage stands, and in which parts of a second.
KINDS = {GROUPS / "cpuacct": ("cpuacct.usage", 1e9), GROUPS: ("cpu.stat", 1e6)}
METER = pytest.StashKey["Meter"]()


class Meter:
    """Counts for one process of pytest and all that come from it, file by file."""

    def __init__(self):
        self.clock, self.cpu = Counter(), Counter()
        parent = next(folder for folder in KINDS if folder.is_dir())
        name, self._part = KINDS[parent]
        group = parent / f"tests-{os.getpid()}"
        group.mkdir()
        (group / "cgroup.procs").write_text(str(os.getpid()))
        self._usage = group / name
        self._before = self._now()

    def _now(self) -> tuple[float, float]:
        return time.monotonic(), float(self._usage.read_text().removeprefix("usage_usec").split()[0]) / self._part

    def count(self, file: str) -> None:
        """Give a file what has been used since the last one was given anything."""
        now = self._now()
        self.clock[file] += now[0] - self._before[0]
        self.cpu[file] += now[1] - self._before[1]
        self._before = now


def pytest_configure(config):
    config.stash[METER] = Meter()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    done = yield
    if nextitem is None or nextitem.path != item.path:
        item.config.stash[METER].count(item.nodeid.split("::")[0])
    return done


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):  # one of xdist's processes, which hands on what it has counted
        meter = session.config.stash[METER]
        session.config.workeroutput["spent"] = dict(meter.clock), dict(meter.cpu)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    meter, (clock, cpu) = node.config.stash[METER], node.workeroutput["spent"]
    meter.clock.update(clock)
    meter.cpu.update(cpu)


def pytest_terminal_summary(terminalreporter, config):
    meter = config.stash[METER]
    terminalreporter.section("seconds and CPU seconds")
    for file, spent in meter.cpu.most_common():
        terminalreporter.line(f"{meter.clock[file]:6.0f} {spent:6.1f}  {file}")
    terminalreporter.line(f"{meter.clock.total():6.0f} {meter.cpu.total():6.1f}")
