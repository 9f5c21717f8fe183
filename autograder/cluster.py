"""Judges on a cluster that is there already: a dask scheduler and its workers.

Workers need the packages of requirements.txt and the sandbox. This project's own files, the hidden
tests among them, travel from here to the workers; submissions and verdicts travel as text.
"""
from __future__ import annotations

import hashlib
import io
import platform
import sys
import tarfile
from concurrent.futures import Executor, Future

import cloudpickle
import torch
from distributed import Client
from distributed.diagnostics.plugin import WorkerPlugin

from .errors import CannotGoOn
from .exercise import ROOT
from .sandbox.levels import Level

CONNECT_SECONDS = 30
CARRIED = ("autograder", "solutions", "book", "_toc.yml")
# A worker cannot import this module before it has unpacked it.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


class Cluster(Executor):
    """Judges on every worker of a scheduler; raises `CannotGoOn` where one cannot do it."""

    def __init__(self, address: str, level: Level, ahead: int):
        try:
            self._client = Client(address, timeout=CONNECT_SECONDS)
        except OSError as error:
            raise CannotGoOn(f"the scheduler at {address} cannot be reached ({error}). Is `dask scheduler` running there?") from None
        try:
            threads = self._client.nthreads()
            if not threads:
                raise CannotGoOn(f"the scheduler at {address} has no workers. Start some: dask worker {address} --nthreads 1")
            self.ahead = ahead * sum(threads.values())
            self._client.register_plugin(Files(_packed()), name="attention-by-hand")
            self._examine(level)
        except BaseException:
            self._client.close()
            raise
        self._there = self._client.get_executor(pure=False)

    def _examine(self, level: Level) -> None:
        """See that every worker has the sandbox, and the versions that are here."""
        mine = (platform.python_version_tuple()[:2], torch.__version__)
        for worker, (versions, trouble) in self._client.run(_fitness, level.name).items():
            if trouble:
                raise CannotGoOn(f"worker {worker}: {trouble}")
            if versions != mine:
                raise CannotGoOn(f"worker {worker} has Python and torch {versions}, and here are {mine}: marks could differ. Install the same requirements.txt there")

    def submit(self, function, *args) -> Future:
        # As words of our own: the scheduler opens what is submitted, and could not import a function of ours.
        call = f"__import__({function.__module__!r}, fromlist=['']).{function.__name__}(*args)"
        return self._there.submit(eval, call, {"args": args})

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._client.close()

    end = shutdown


class Files(WorkerPlugin):
    """Unpacks the project's files on a worker, now and on each that joins later."""

    def __init__(self, packed: bytes):
        self._packed = packed
        self.digest = hashlib.sha256(packed).hexdigest()[:16]

    def setup(self, worker) -> None:
        import os

        folder = os.path.join(worker.local_directory, f"attention-{self.digest}")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with tarfile.open(fileobj=io.BytesIO(self._packed)) as archive:
            archive.extractall(folder, filter="data")
        # What an earlier run brought is forgotten, code and folder.
        sys.path[:] = [path for path in sys.path if "attention-" not in os.path.basename(path)]
        sys.path.insert(0, folder)
        for name in [name for name in sys.modules if name.split(".")[0] == "autograder"]:
            del sys.modules[name]


def _fitness(level: str) -> tuple[tuple, str]:
    """Return a worker's versions, and what keeps it from judging at this level."""
    from autograder.errors import CannotGoOn
    from autograder.sandbox.host import Zygote
    from autograder.sandbox.levels import named

    versions = (platform.python_version_tuple()[:2], torch.__version__)
    try:
        Zygote(named(level)).close()
    except CannotGoOn as error:
        return versions, str(error)
    return versions, ""


def _packed() -> bytes:
    """Return the project's files that judging needs, in one piece."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name in CARRIED:
            archive.add(ROOT / name, arcname=name, filter=_carried)
    return packed.getvalue()


def _carried(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Return what travels: of the book only its chapters, which an exercise's header names."""
    of_the_book = member.isfile() and member.name.startswith("book/") and not member.name.endswith(".md")
    return None if of_the_book or "__pycache__" in member.name else member
