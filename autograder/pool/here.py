"""A judge in this process."""

from __future__ import annotations

from concurrent.futures import Future
from types import ModuleType

from ..sandbox.forkserver import ForkServer
from .base import Judges


class Here(Judges):
    """This process as the only judge: `submit` returns when the task is judged."""

    def __init__(self, forkserver: ForkServer | None = None):
        self._forkserver = forkserver
        self._judge: ModuleType | None = None  # it imports torch, so not before the first task

    def submit(self, task: str) -> Future[str]:
        if self._judge is None:
            from ..judging import judge

            self._judge = judge
            judge.use_forkserver(self._forkserver.link if self._forkserver else None)
        future: Future[str] = Future()
        try:
            future.set_result(self._judge.verdicts_on_text(task))
        except Exception as error:
            future.set_exception(error)
        return future

    def close(self) -> None:
        if self._judge is not None:
            self._judge.use_forkserver(None)
            self._judge.close()
