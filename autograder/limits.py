"""What one submission may use."""

from __future__ import annotations

import math
import os
import re
from dataclasses import asdict, dataclass, replace

from .errors import CannotGoOn

LONG_CALLS = 5  # calls of one submission that may each take as long as a call may


@dataclass(frozen=True)
class Limits:
    """Seconds, megabytes and counts; one request is one cell or one call."""

    request_seconds: float = 6.0
    least_seconds: float = 1.0  # each call that does not end halves the time for the next, down to this
    requests: int = (
        10  # all requests of one submission together may take as long as so many at their limit; right answers take a second or two in all
    )
    cpu_seconds: int = 30
    memory_megabytes: int = 1024
    file_megabytes: int = 16
    scratch_megabytes: int = 16  # each of the folders that can be written to, where there are any
    threads: int = 64

    def allowing(self, seconds: float | None) -> Limits:
        """Return the limits of an exercise whose calls may take so many seconds, because they train; None: no more than others."""
        if seconds is None:
            return self
        return replace(
            self, request_seconds=max(self.request_seconds, seconds), cpu_seconds=max(self.cpu_seconds, math.ceil(LONG_CALLS * seconds))
        )

    @property
    def submission_seconds(self) -> float:
        """Return the seconds that all cells and calls of one submission may take together, however often they are run."""
        return self.requests * self.request_seconds

    def patience(self, times: int) -> float:
        """Return the seconds that a call may take after `times` calls that did not end."""
        return max(self.request_seconds / 2**times, min(self.least_seconds, self.request_seconds))

    def as_message(self) -> dict:
        return asdict(self)


def asked_limits() -> Limits:
    """Return the limits that every command grades by: the usual ones, or with ATTENTION_SECONDS for a cell or call."""
    text = os.environ.get("ATTENTION_SECONDS")
    if text is None:
        return Limits()
    if not re.fullmatch(r"\d+(\.\d+)?", text) or not float(text):
        raise CannotGoOn(f"ATTENTION_SECONDS is {text!r} and must be a number of seconds, such as 6 or 0.5")
    return Limits(request_seconds=float(text))
