"""Judges on a cluster that is there already: a dask scheduler and its workers, of one thread each.

Dask workers need the packages of requirements.txt and the sandbox. This project's own files, the hidden
tests among them, travel from here to them; submissions and verdicts travel as text.
"""

from __future__ import annotations

import inspect
import io
import tarfile
import time
from concurrent.futures import Future

from distributed import Client
from distributed.diagnostics.plugin import WorkerPlugin

from .. import ROOT
from ..errors import CannotGoOn
from ..sandbox.levels import Level
from ..strangers import log_of
from .base import Judges

log = log_of("autograder")
CONNECT_SECONDS = 30
COUNT_SECONDS = 1.0
PACKED = ("autograder", "solutions", "book", "_toc.yml")


class Cluster(Judges):
    """A judge on every dask worker of a scheduler; raises `CannotGoOn` where one that is there at the start does not fit."""

    def __init__(self, address: str, level: Level, ahead: int):
        self._address, self._deserted = address, False
        self._for_each, self._counted = ahead, 0.0
        try:
            self._client = Client(address, timeout=CONNECT_SECONDS)
        except OSError as error:
            raise CannotGoOn(f"the scheduler at {address} cannot be reached ({error}). Is `dask scheduler` running there?") from None
        try:
            workers = self._client.nthreads()
            if not workers:
                raise CannotGoOn(f"the scheduler at {address} has no dask workers. Start some: dask worker {address} --nthreads 1")
            self._workers = len(workers)
            self._client.subscribe_topic(JudgePlugin.name, _log_misfit)
            self._client.register_plugin(JudgePlugin(_packed(), level.name, JudgePlugin.versions()))
        except BaseException as error:
            self._client.close()
            if isinstance(error, RuntimeError):  # a worker's `JudgePlugin` does not fit
                raise CannotGoOn(str(error)) from None
            raise
        self._there = self._client.get_executor(pure=False)

    def submit(self, task: str) -> Future[str]:
        """Hand a task to a dask worker; raises `CannotGoOn` where the scheduler is gone, and all that it was given with it."""
        if self._client.status != "running":
            raise self._gone()
        # As text: the scheduler unpickles what is submitted, and could not import a function of ours.
        call = f"__import__('distributed').get_worker().plugins[{JudgePlugin.name!r}].verdicts(task)"
        return self._there.submit(eval, call, {"task": task})

    @property
    def ahead(self) -> int:
        """Return how many tasks to have in hand: so many for each dask worker that is there now, since a batch system gives and takes them."""
        if self._client.status == "running" and time.monotonic() > self._counted + COUNT_SECONDS:
            self._workers = self._client.scheduler_info(n_workers=0).get("n_workers", self._workers)
            self._counted = time.monotonic()
        return self._for_each * max(1, self._workers)

    def look(self) -> None:
        """Log, once each time, that no dask worker is there, and that one is back; raises `CannotGoOn` where the scheduler is gone."""
        if self._client.status != "running":
            raise self._gone()
        try:
            deserted = not self._client.nthreads()
        except OSError:
            raise self._gone() from None
        if deserted and not self._deserted:
            log.warning(
                "The scheduler at %s has no dask worker left. Grading waits for one: dask worker %s --nthreads 1",
                self._address,
                self._address,
            )
        if self._deserted and not deserted:
            log.warning("The scheduler at %s has a dask worker again. Grading goes on.", self._address)
        self._deserted = deserted

    def _gone(self) -> CannotGoOn:
        return CannotGoOn(
            f"the scheduler at {self._address} is gone. Nothing is lost: start it and its dask workers, and run the same command again"
        )

    def close(self) -> None:
        self._client.close()


def _log_misfit(event: tuple[float, str]) -> None:
    log.warning("%s. It was sent away and has judged nothing; grading goes on without it.", event[1])


class JudgePlugin(WorkerPlugin):
    """Makes a dask worker a judge, now or when it joins; one that does not fit judges nothing.

    It travels as source, and has its imports, absolute ones, inside its methods: so a dask worker with another Python, or without torch, can say that.
    """

    name = "attention-by-hand"

    def __init__(self, packed: bytes, level: str, versions: str):
        self._arguments = self._packed, self._level, self._versions = packed, level, versions

    def __reduce__(self):
        source = "from distributed.diagnostics.plugin import WorkerPlugin\n" + inspect.getsource(JudgePlugin)
        return eval, (
            "exec(source, names) or names['JudgePlugin'](*arguments)",
            {"source": source, "names": {}, "arguments": self._arguments},
        )

    @staticmethod
    def versions() -> str:
        """Return the versions that marks could depend on."""
        import platform

        torch = "missing"
        try:
            from torch import __version__

            torch = str(__version__)
        except ImportError:
            pass
        return f"Python {'.'.join(platform.python_version_tuple()[:2])} and torch {torch}"

    def setup(self, worker) -> None:
        """Unpack the project's files; raises `RuntimeError` on a dask worker that does not fit, which dask logs there and we log here."""
        self._worker, self._leaving = worker, False
        try:
            self._misfit = self._wrong_kind()
            if not self._misfit:
                self._unpack()
                self._misfit = self._wrong_place()
        except Exception as error:  # a full disk, say
            self._misfit = f"{type(error).__name__}: {error}"
        if self._misfit:
            self._misfit = f"dask worker {worker.address}: {self._misfit}"
            raise RuntimeError(self._misfit)

    def _wrong_kind(self) -> str:
        threads, versions = self._worker.state.nthreads, self.versions()
        if threads > 1:
            return f"it has {threads} threads, which draw from the same random numbers: marks could differ. Start it with --nthreads 1, and with --nworkers {threads} for as many judges"
        if versions != self._versions:
            return f"it has {versions}, and here are {self._versions}: marks could differ. Install the same requirements.txt there"
        return ""

    def _unpack(self) -> None:
        import hashlib
        import io
        import os
        import sys
        import tarfile

        folder = os.path.join(self._worker.local_directory, f"attention-{hashlib.sha256(self._packed).hexdigest()[:16]}")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with tarfile.open(fileobj=io.BytesIO(self._packed)) as archive:
            archive.extractall(folder, filter="data")
        # Forget what an earlier run brought, both code and folder.
        sys.path[:] = [path for path in sys.path if "attention-" not in os.path.basename(path)]
        sys.path.insert(0, folder)
        for name in [name for name in sys.modules if name.split(".")[0] == "autograder"]:
            del sys.modules[name]

    def _wrong_place(self) -> str:
        from autograder.errors import CannotGoOn
        from autograder.sandbox.client import Zygote
        from autograder.sandbox.levels import level_of

        try:
            Zygote(level_of(self._level)).close()
        except CannotGoOn as error:
            return str(error)
        return ""

    def verdicts(self, task: str) -> str:
        """Return the verdicts on a task; a dask worker that does not fit leaves the task to others."""
        from distributed import Reschedule

        if self._misfit:  # it joined later: where one that is there at the start does not fit, nothing is submitted
            self._worker.loop.add_callback(self._leave)
            raise Reschedule
        from autograder.judging.judge import verdicts_on_text

        return verdicts_on_text(task)

    async def _leave(self) -> None:
        if not self._leaving:
            self._leaving = True
            self._worker.log_event(self.name, self._misfit)
            await self._worker.close_gracefully(reason=self._misfit)


def _packed() -> bytes:
    """Return the project's files that judging needs, in one piece."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name in PACKED:
            archive.add(ROOT / name, arcname=name, filter=_packed_member)
    return packed.getvalue()


def _packed_member(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Return a member that travels, else None: of the book only its chapters do, since an exercise's header names one."""
    of_the_book = member.isfile() and member.name.startswith("book/") and not member.name.endswith(".md")
    return None if of_the_book or "__pycache__" in member.name else member
