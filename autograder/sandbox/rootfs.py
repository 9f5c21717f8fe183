"""The root file system of the fork server: the files that it may see, and the command that starts it there."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

from ..files import alive, process_name
from . import seccomp
from .confine import HOME, SCRATCH
from .levels import Level, Unavailable

PREFIX = "learner-"
PACKAGE = Path(__file__).resolve().parents[1]
WALLS = ("--hostname", "sandbox", "--die-with-parent", "--new-session")
# No user namespace for root: in one, bubblewrap would leave it every capability.
ROOTS_WALLS = "--unshare-pid --unshare-ipc --unshare-net --unshare-uts --unshare-cgroup-try --cap-drop ALL --cap-add CAP_SETUID --cap-add CAP_SETGID".split()
OURS = ("__init__.py", "kit", "sandbox/__init__.py", "sandbox/confine.py", "sandbox/wire.py", "sandbox/worker.py", "sandbox/zygote.py")
DEVICES = ("null", "zero", "full", "random", "urandom")
NOBODY = 60719  # a user that no system has; bubblewrap started by root would leave the fork server root
START = """
import gc, json, sys
gc.disable()  # until all is imported: nothing of that is garbage, and to look takes a fifth of the time
config = json.loads(sys.argv[1])
sys.path[:0] = config["paths"]
from autograder.sandbox import confine
if config["user"]: confine.become(config["user"])
from autograder.sandbox import zygote
zygote.main(config)
"""


class RootFs:
    """A folder that holds our modules for the inside and nothing else; `close` removes it."""

    def __init__(self, level: Level):
        self.level = level
        _clear_old_folders()
        self._folder = tempfile.TemporaryDirectory(prefix=f"{PREFIX}{process_name()}-", ignore_cleanup_errors=True)
        self.path = Path(self._folder.name)
        self._copy_modules()
        self.errors = open(self.path / "errors", "w+b")

    def close(self) -> None:
        self.errors.close()
        self._folder.cleanup()

    def _copy_modules(self) -> None:
        for name in OURS:
            target = self.path / "autograder" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if (PACKAGE / name).is_dir() else shutil.copyfile
            copy(PACKAGE / name, target)
        for path in (self.path, *self.path.rglob("*")):  # the fork server may be another user
            path.chmod(0o755 if path.is_dir() else 0o644)

    def command(self, link: int, idle_seconds: float) -> list[str]:
        """Return the command that starts the fork server with its end of a link; it ends after `idle_seconds` without a zygote.

        Raises `Unavailable`.
        """
        if self.level is not Level.bubblewrap:
            site = [*dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))]
            config = self._config(link, idle_seconds, [str(self.path), *site], readable=_libraries() if self.level else None)
            return [sys.executable, "-I", "-c", START, json.dumps(config)]
        bubblewrap = shutil.which("bwrap")
        if bubblewrap is None:
            raise Unavailable(self.level, "there is no bwrap command")
        root = os.getuid() == 0
        config = self._config(link, idle_seconds, ["/modules", "/opt/site"], unshared=True, user=NOBODY if root else None)
        return [
            bubblewrap,
            *(ROOTS_WALLS if root else ("--unshare-all",)),
            *WALLS,
            *self._files(),
            "--",
            _inside(_interpreter()),
            "-I",
            "-c",
            START,
            json.dumps(config),
        ]

    def error_output(self) -> str:
        """Return the end of what the fork server has written to its standard error."""
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace").strip()[-600:]

    def environment(self) -> dict[str, str]:
        """Return the fork server's environment: one thread everywhere, so that forking is safe, and little memory reserved for a learner's threads."""
        home = HOME if self.level is Level.bubblewrap else str(self.path)
        threads = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
        libraries = {"LD_LIBRARY_PATH": "/opt/python/lib"} if self.level is Level.bubblewrap and not _of_the_system() else {}
        return {
            "HOME": home,
            "IPYTHONDIR": home,
            "MPLCONFIGDIR": home,
            "MPLBACKEND": "agg",
            "PATH": "/usr/bin:/bin",
            "MALLOC_ARENA_MAX": "2",
            **threads,
            **libraries,
        }

    def _config(
        self,
        link: int,
        idle_seconds: float,
        paths: list[str],
        unshared: bool = False,
        readable: list[str] | None = None,
        user: int | None = None,
    ) -> dict:
        """Return what the fork server must know about its surroundings; writes the seccomp filter into the folder."""
        config = {
            "level": self.level.name,
            "link": link,
            "idle_seconds": idle_seconds,
            "paths": paths,
            "unshared": unshared,
            "readable": readable,
            "user": user,
            "filter": None,
        }
        if self.level is not Level.none:
            try:
                program = seccomp.program(unshared=unshared)
            except (ImportError, OSError, RuntimeError) as error:
                raise Unavailable(self.level, f"libseccomp cannot be used ({error})") from None
            (self.path / "filter").write_bytes(program)
            config["filter"] = f"{paths[0]}/filter"
        return config

    def _files(self) -> list[str]:
        """Return bubblewrap's arguments for the files inside: libraries, Python and our modules, all read-only."""
        binds = {path: path for path in ("/usr/lib", "/usr/lib64", "/etc/ld.so.cache") if os.path.exists(path)}
        binds |= (
            {str(_interpreter()): str(_interpreter()), "/usr/local/lib": "/usr/local/lib"}
            if _of_the_system()
            else {sys.base_prefix: "/opt/python"}
        )
        binds |= {sysconfig.get_path("purelib"): "/opt/site", str(self.path): "/modules"}
        inside = sorted({str(parent) for path in (*binds.values(), *SCRATCH) for parent in Path(path).parents} - {"/"})
        arguments = [word for folder in inside for word in ("--perms", "0755", "--dir", folder)]
        arguments += [word for source, target in binds.items() if os.path.exists(source) for word in ("--ro-bind", source, target)]
        for name in ("lib", "lib64"):
            arguments += (
                ["--symlink", f"usr/{name}", f"/{name}"] if os.path.islink(f"/{name}") else ["--ro-bind-try", f"/{name}", f"/{name}"]
            )
        for name in DEVICES:  # and no terminals, which all workers would share
            arguments += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
        return arguments + ["--proc", "/proc", *_scratch(), "--chdir", HOME, "--remount-ro", "/"]


def _clear_old_folders() -> None:
    """Remove the folders of judges that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        owner = folder.name.removeprefix(PREFIX).rpartition("-")[0]
        if re.fullmatch(r"\d+-\d+", owner) and not alive(owner):
            shutil.rmtree(folder, ignore_errors=True)


def _scratch() -> list[str]:
    arguments = []
    for folder in SCRATCH:
        arguments += ["--perms", "0777", "--size", str(16 << 20), "--tmpfs", folder]
    return arguments


def _interpreter() -> Path:
    return Path(sys.executable).resolve()


def _of_the_system() -> bool:
    """Return whether Python lies under /usr, where it stays inside too; any other one appears as /opt/python."""
    return Path(sys.base_prefix).is_relative_to("/usr")


def _inside(interpreter: Path) -> str:
    return str(interpreter) if _of_the_system() else str(Path("/opt/python", interpreter.relative_to(Path(sys.base_prefix).resolve())))


def _libraries() -> list[str]:
    """Return the folders that a worker may read where only Landlock keeps it from others."""
    wanted = {"/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache", "/dev/null", "/dev/urandom", "/dev/random", "/dev/zero"}
    wanted |= {sysconfig.get_path("purelib"), sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    return sorted(path for path in wanted if os.path.exists(path))
