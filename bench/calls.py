"""What one call takes, measured in a process of its own: memory, by the kernel's high-water mark, and seconds of computing."""

from __future__ import annotations

import ctypes
import multiprocessing
import re
import time
from collections.abc import Callable
from pathlib import Path

M_MMAP_THRESHOLD, PIECE = -3, 1 << 16  # of malloc.h; larger pieces than this go back to the kernel when they are freed


def elsewhere(measure: Callable[..., float], *of: object) -> float:
    """Return a measure of one call, taken in a process of its own."""
    # A copy of this process: torch is there, and nothing has computed yet.
    fork = multiprocessing.get_context("fork")
    here, there = fork.Pipe(duplex=False)
    child = fork.Process(target=lambda: there.send(measure(*of)))
    child.start()
    there.close()
    try:
        return here.recv()
    finally:
        child.join()


def most_held(small: Callable[[], object], call: Callable[[], object]) -> int:
    """Return the most bytes that this process holds during a call, beyond those that it held before; `small` is the same in small."""
    ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, PIECE)
    small()  # who is called first loads code that stays
    # The kernel forgets the high-water mark that came before (man 5 proc_pid_clear_refs).
    Path("/proc/self/clear_refs").write_text("5")
    before = _memory("VmRSS")
    call()
    return _memory("VmHWM") - before


def computing(small: Callable[[], object], call: Callable[[], object]) -> float:
    """Return the seconds that a call computes."""
    small()
    begin = time.process_time()
    call()
    return time.process_time() - begin


def _memory(name: str) -> int:
    """Return what the kernel says of this process's memory, in bytes."""
    (found,) = re.findall(rf"{name}:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return 1024 * int(found)
