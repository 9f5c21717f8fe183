"""Whatever a learner's code raises, as one of the closed list of outcomes."""

from __future__ import annotations

import traceback

from .forbidden import Used
from .outcome import Forbidden, MemoryLimit, NoAnswer, Raised, Stopped

GPU_IS_FULL = "OutOfMemoryError"  # torch's class, by name because this module does without torch
MEMORY_IS_FULL = "can't allocate memory"  # torch's words
NO_MORE_THREADS = "can't start new thread"  # Python's


def classify(error: BaseException) -> Stopped:
    """Return the exception that stands for the outcome of an error in the learner's code; raises KeyboardInterrupt where it was that."""
    if isinstance(error, Used):
        return Forbidden(str(error))
    if isinstance(error, Stopped):
        return error
    if isinstance(error, NotImplementedError):
        return NoAnswer(str(error) or "the answer is still the one that was handed out")
    if isinstance(error, MemoryError) or type(error).__name__ == GPU_IS_FULL or MEMORY_IS_FULL in str(error):
        return MemoryLimit("more memory was asked for than a check may use")
    if NO_MORE_THREADS in str(error):
        return MemoryLimit("more threads were started than a check may use")
    if isinstance(error, KeyboardInterrupt):
        raise error
    return Raised(type(error).__name__, " ".join(str(error).split())[:300], _place(error))


def _place(error: BaseException) -> str:
    """Return the last line of learner's code that the error passed through."""
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    mine = [f for f in frames if is_learners(f.filename)]
    return f"in {mine[-1].name}, line {mine[-1].lineno}" if mine else ""


def place_of(error: BaseException) -> str:
    """Return the learner's line where this arose, to follow a word; "" where it was none of theirs."""
    place = _place(error)
    return f" {place}" if place else ""


def is_learners(filename: str) -> bool:
    """Return whether code from this file is a learner's: a cell, and no file."""
    return "ipykernel" in filename or filename.startswith("<")
