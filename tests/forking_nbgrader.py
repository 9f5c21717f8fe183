"""nbgrader's commands for tests, each in a process of its own that need not import anything: to import takes most of them longer than to run.

`python -m tests.forking_nbgrader LEVEL` reads one command a line, as JSON, and writes a line with the number that it ended with. It imports what
nbgrader and our plugins do, reads the exercises, starts a fork server, and forks for each command. What a command finds in its process is what it
would have imported and read itself.
"""

import gc
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


class ForkingNbgrader:
    """The process that forks, started when the first command comes; `close` ends it."""

    def __init__(self, level: str):
        self._words = [sys.executable, "-m", "tests.forking_nbgrader", level]
        self._process: subprocess.Popen | None = None

    def run(self, words: tuple[str, ...], environment: dict[str, str]) -> subprocess.CompletedProcess:
        """Run one command; return the finished process."""
        if self._process is None:
            self._process = subprocess.Popen(self._words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin and self._process.stdout
        with TemporaryDirectory() as folder:
            out, err = Path(folder, "out"), Path(folder, "err")
            asked = {"words": words, "environment": {**os.environ, **environment}, "out": str(out), "err": str(err)}
            print(json.dumps(asked), file=self._process.stdin, flush=True)
            code = int(self._process.stdout.readline())
            return subprocess.CompletedProcess(words, code, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8"))

    def close(self) -> None:
        if self._process is not None:
            self._process.communicate()


@dataclass
class LentForkServer:
    """The fork server of the process above, which ends it."""

    level: Any
    link: Any
    alive: bool = True

    def close(self) -> None:
        """Leave it to whoever has lent it."""


def _serve(level: str) -> bool:
    """Fork for each command that comes. Return whether this process is such a fork, which is to run its command now."""
    from autograder.authoring.release import write_sources
    from autograder.exercise import reading as exercises
    from autograder.exercise.cache import clear_if_changed
    from autograder.judging import judge  # noqa: F401  (torch with it)
    from autograder.plugins.autograde import _Runs
    from autograder.sandbox.forkserver import ForkServer
    from autograder.sandbox.levels import Level

    server = ForkServer(Level[level], idle_seconds=3600)
    clear_if_changed(exercises.SOLUTIONS)
    with TemporaryDirectory() as folder:  # the exercises are read then, and what our settings write is made
        write_sources(Path(folder))
    gc.freeze()
    _Runs.forkserver = LentForkServer(server.level, server.link)  # type: ignore[assignment]
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _become(**json.loads(line))
            return True
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
    server.close()
    return False


def _become(words: list[str], environment: dict[str, str], out: str, err: str) -> None:
    """Let this process be one that was started with these words."""
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = words
    for descriptor, path in ((0, os.devnull), (1, out), (2, err)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), descriptor)


if __name__ == "__main__":
    import nbgrader.server_extensions.formgrader.handlers  # noqa: F401  (our settings import it)
    from nbgrader.apps.nbgraderapp import main

    if _serve(sys.argv[1]):
        sys.exit(main())
