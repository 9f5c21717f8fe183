"""Commands of the project, run for a test: in a process of their own, or in this one."""

import os
import subprocess
import sys
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from autograder import __main__ as commands
from autograder.sandbox import forkserver as forkservers
from autograder.sandbox.forkserver import ForkServer
from autograder.sandbox.levels import Level

ROOT = Path(__file__).resolve().parents[1]
OURS = ("python", "-m", "autograder")
WIDTH = "200"
commands.console.width = int(WIDTH)


def run_alone(words: tuple[str, ...], environment: dict[str, str], **more) -> subprocess.CompletedProcess:
    """Run a command as a person would; return the finished process."""
    program = sys.executable if words[0] == "python" else str(Path(sys.executable).parent / words[0])
    environment = {**os.environ, **environment}
    return subprocess.run([program, *words[1:]], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, **more)


def run_here(words: tuple[str, ...], environment: dict[str, str], level: Level, forkserver: ForkServer) -> subprocess.CompletedProcess:
    """Run a command of ours in this process, which has imported all that it needs; its workers are forked by a fork server that runs already."""

    def started(wanted: Level, *more):
        return nullcontext(forkserver) if wanted is level else ForkServer(wanted, *more)

    out, err, umask = StringIO(), StringIO(), os.umask(0o022)
    with (
        patch.dict(os.environ, environment),
        patch.object(sys, "argv", ["autograder", *words]),
        patch.object(forkservers, "ForkServer", started),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = _code_of(commands.run)
    os.umask(umask)  # which a command may set for all that it writes
    return subprocess.CompletedProcess(list(words), code, out.getvalue(), err.getvalue())


def _code_of(run) -> int:
    """Return the number that a command would end with."""
    try:
        run()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0
