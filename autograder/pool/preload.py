"""The process that judges are forked from. It imports torch once for all of them, while the command that began it imports nbgrader and what else enters marks.

So this module, and whatever is imported before it is asked, must not import torch.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext


def context() -> ForkServerContext:
    """Start that process if it does not run; return the context in which it forks."""
    # Not by a fork of this process: it may have threads.
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["autograder.judging.judge"])
    forkserver.ensure_running()
    return found
