"""A limit of time for what a learner's code does in the notebook."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .outcome import TimeLimit

AGAIN = 1.0  # seconds, after which code that caught the interruption is interrupted once more


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `TimeLimit` where the block takes longer, as `Kernel > Interrupt` would stop it.

    Works in the main thread, on every system. Code inside one call of a library is not stopped before that call returns.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ended, rung = threading.Event(), threading.Event()

    def ring() -> None:
        patience = seconds
        while not ended.wait(patience):
            rung.set()
            _thread.interrupt_main()
            patience = AGAIN

    clock = threading.Thread(target=ring, daemon=True)
    clock.start()
    try:
        try:
            yield
        finally:  # an interruption that is still on its way arrives in here
            ended.set()
            clock.join()
    except KeyboardInterrupt:
        if rung.is_set():
            raise TimeLimit(f"no answer came within {seconds:g} seconds") from None
        raise
