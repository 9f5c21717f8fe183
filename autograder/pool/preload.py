"""The process that judges are forked from, which imports torch once for all of them.

Meanwhile the command that started it imports nbgrader and what else it needs to enter marks. So this module, and whatever
is imported before `context` is called, must not import torch.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext


def context() -> ForkServerContext:
    """Return the multiprocessing context that forks from that process, which is started if it does not run."""
    # Not by a fork of this process: it may have threads.
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["autograder.pool.preloaded"])
    forkserver.ensure_running()
    return found
