"""What one submission may use."""
from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Limits:
    """Seconds, megabytes and counts; one request is one cell or one call."""

    request_seconds: float = 6.0
    least_seconds: float = 1.0  # each call that does not end halves the patience with the next, down to this
    cpu_seconds: int = 30
    memory_megabytes: int = 1024
    file_megabytes: int = 16
    scratch_megabytes: int = 16  # each of the folders that can be written to, where there are any
    threads: int = 64

    def patience(self, times: int) -> float:
        """Return the seconds that a call may take after `times` calls that did not end."""
        return max(self.request_seconds / 2**times, min(self.least_seconds, self.request_seconds))

    def as_message(self) -> dict:
        return asdict(self)
