"""Importing without the garbage collector.

It would look through all that has been imported, again and again, for garbage that no import makes: a fifth of what importing torch takes.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collecting() -> Iterator[None]:
    """Import what the block imports. What is there at its end is never looked through again, and a fork doesn't copy it for that."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
