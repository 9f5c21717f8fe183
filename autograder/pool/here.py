"""A judge in this process."""

from __future__ import annotations

from concurrent.futures import Future
from types import ModuleType

from ..sandbox.forkserver import ForkServer
from .base import Judges


class Here(Judges):
    """Judges in this process, while it is asked to."""

    def __init__(self, forkserver: ForkServer | None = None):
        self._forkserver = forkserver
        self._judging: ModuleType | None = None  # it needs torch, and is imported for the first submission

    def judge(self, task: str) -> Future[str]:
        if self._judging is None:
            from ..judging import one

            self._judging = one
            one.use_forkserver(self._forkserver.link if self._forkserver else None)
        future: Future[str] = Future()
        try:
            future.set_result(self._judging.judged_text(task))
        except Exception as error:
            future.set_exception(error)
        return future

    def close(self) -> None:
        if self._judging is not None:
            self._judging.use_forkserver(None)
            self._judging.close()
