"""A real JupyterHub, set up by the words of book/hub.md in folders that only its own processes see, with Unix users of its own.

`/srv`, `/home`, and the lists of users and groups are other ones for these processes, in a mount namespace that goes with them; as root only.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest

from tests.conftest import ROOT
from tests.users import opened

PAGE = ROOT / "book" / "hub.md"
ENVIRONMENT = ROOT / "_build" / "hub-venv"
USERS = {"ada": (61_101, "learners"), "bob": (61_102, "learners"), "ina": (61_103, "instructors"), "eve": (61_104, None)}
GROUPS = {"learners": 61_201, "instructors": 61_202}
PASSWORD = "for-this-test-only"
TOKEN = "a-token-for-this-test-only"
SETTINGS = """
from jupyterhub.auth import LocalAuthenticator

load_subconfig("jupyterhub_config.py", path="/srv/hub")  # as it was copied
c = get_config()


class OnePassword(LocalAuthenticator):
    '''All have the same one; who may log in is still for the groups to say.'''

    async def authenticate(self, handler, data):
        return data["username"] if data["password"] == {password!r} else None


c.JupyterHub.authenticator_class = OnePassword
c.JupyterHub.bind_url, c.JupyterHub.hub_port, c.ConfigurableHTTPProxy.api_url = {url!r}, {hub}, {api!r}
c.JupyterHub.services = [{{"name": "test", "api_token": {token!r}}}]
scopes = ["admin:users", "servers", "access:servers", "users:activity"]
c.JupyterHub.load_roles = [{{"name": "test", "services": ["test"], "scopes": scopes}}]
c.Spawner.env_keep = ["PATH", "LANG", "ATTENTION_LEVEL"]
c.Spawner.http_timeout = c.Spawner.start_timeout = 240  # seconds; a machine that does other work starts servers slowly
"""


def block_of_page(first: str) -> str:
    """Return the block of commands on the page that begins so."""
    (block,) = (
        each for each in re.findall(r"^```bash\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE) if each.startswith(first)
    )
    return block


class Machine:
    """What looks to some processes like a machine of its own."""

    def __init__(self, top: Path):
        if os.getuid():
            pytest.skip("only root can start servers as other users")
        self.top = top
        for name, at in (("passwd", "/etc/passwd"), ("group", "/etc/group")):
            (top / name).write_text(Path(at).read_text() + _lines(name))
        project = top / "project"  # as `git clone` makes it
        names = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
        )
        for name in filter(None, names.stdout.split("\0")):
            if (ROOT / name).is_file():
                (project / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, project / name)
        homes = " ".join(USERS)
        owned = "; ".join(f"chown {uid}:{uid} /home/{name}" for name, (uid, _) in USERS.items())
        self.script = f"""umask 022
exec 3< {top}
{opened("/home", "/srv")}
cd /home; mkdir {homes}; {owned}
cp -r /proc/self/fd/3/project /srv/attention
mount --no-canonicalize --bind /proc/self/fd/3/passwd /etc/passwd; mount --no-canonicalize --bind /proc/self/fd/3/group /etc/group
exec 3<&-
{block_of_page("cd /srv/attention")}
"""

    def start(self, *words: str, **more) -> psutil.Popen:
        """Start the machine's first process, which makes its folders."""
        words = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", f'{self.script}\nexec "$@"', "sh", *words]
        return psutil.Popen(words, cwd="/", **more)

    def run_as(self, first: psutil.Popen, user: str, *words: str) -> subprocess.CompletedProcess:
        """Run a command as a user of that machine, as in a terminal on the hub."""
        uid = USERS[user][0]
        inside = ["nsenter", f"--mount=/proc/{first.pid}/ns/mnt", "--wd=/", "setpriv", f"--reuid={uid}", f"--regid={uid}", "--init-groups"]
        terminal = {"PATH": f"{ENVIRONMENT / 'bin'}:{os.environ['PATH']}", "JUPYTER_CONFIG_PATH": "/srv/hub", "LANG": "C.UTF-8"}
        level = {name: os.environ[name] for name in ("ATTENTION_LEVEL",) if name in os.environ}
        own = {"HOME": f"/home/{user}", "USER": user, **terminal, **level}
        return subprocess.run([*inside, *words], capture_output=True, text=True, timeout=600, env=own)


def _lines(name: str) -> str:
    if name == "passwd":
        return "".join(f"{user}:x:{uid}:{uid}::/home/{user}:/bin/sh\n" for user, (uid, _) in USERS.items())
    own = "".join(f"{user}:x:{uid}:\n" for user, (uid, _) in USERS.items())
    return own + "".join(
        f"{group}:x:{gid}:{','.join(user for user, (_, g) in USERS.items() if g == group)}\n" for group, gid in GROUPS.items()
    )


class Hub:
    """A hub that runs."""

    def __init__(self, machine: Machine, process: psutil.Popen, url: str):
        self.machine, self.process, self.url = machine, process, url

    def ask(self, path: str, method: str = "GET", sent: dict | None = None) -> object:
        """Return the answer of the hub, or of somebody's server behind it, as JSON."""
        data = None if sent is None else json.dumps(sent).encode()
        request = urllib.request.Request(self.url + quote(path, safe="/?=&"), data, {"Authorization": f"token {TOKEN}"}, method=method)
        with urllib.request.urlopen(request, timeout=300) as answer:
            text = answer.read().decode()
        return json.loads(text) if text else None

    def start_server_of(self, user: str) -> None:
        with suppress(urllib.error.HTTPError):
            self.ask(f"/hub/api/users/{user}", "POST")
        self.ask(f"/hub/api/users/{user}/server", "POST")
        for _ in range(600):
            if self.ask(f"/hub/api/users/{user}")["servers"].get("", {}).get("ready"):
                return
            time.sleep(0.5)
        raise AssertionError(f"the server of {user} did not start")


@contextmanager
def hub(top: Path, level: str) -> Iterator[Hub]:
    """Yield a hub that was set up and started by the page's commands, and that ends with the block."""
    if not (ENVIRONMENT / "bin" / "jupyterhub").is_file():
        pytest.fail("JupyterHub is not here: `make hub` installs it into an environment of its own", pytrace=False)
    machine = Machine(top)
    url, hub_port, api = f"http://127.0.0.1:{_free()}", _free(), f"http://127.0.0.1:{_free()}"
    settings = top / "settings.py"
    settings.write_text(SETTINGS.format(password=PASSWORD, token=TOKEN, url=url, hub=hub_port, api=api))
    command = block_of_page("/opt/hub/bin/jupyterhub").split()
    assert command[1:] == ["--config", "/srv/hub/jupyterhub_config.py"]
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": "/root", "ATTENTION_LEVEL": level, "OMP_NUM_THREADS": "1"}
    with (top / "hub.log").open("w") as log:
        words = [str(ENVIRONMENT / "bin" / "jupyterhub"), "--config", str(settings)]
        process = machine.start(*words, stdout=log, stderr=log, env=environment)
        try:
            _wait_for(url, process)
            yield Hub(machine, process, url)
        except BaseException:
            sys.stderr.write((top / "hub.log").read_text("utf-8", errors="replace")[-8000:])
            raise
        finally:
            _end(process)


def _free() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _wait_for(url: str, process: psutil.Popen) -> None:
    for _ in range(600):
        assert process.poll() is None, "the hub ended"
        with suppress(OSError), urllib.request.urlopen(f"{url}/hub/api/", timeout=10):
            return
        time.sleep(0.5)
    raise AssertionError("the hub did not answer")


def _end(first: psutil.Popen) -> None:
    """End a hub with all that it has started, and look that nothing is left of it."""
    left = _inside(first)
    with suppress(ProcessLookupError):
        first.send_signal(signal.SIGTERM)
    try:
        first.wait(60)
    finally:
        gone, alive = psutil.wait_procs(left, 20)
        for process in alive:
            with suppress(psutil.NoSuchProcess):
                process.kill()
    assert not alive, f"the hub left {alive}"


def _inside(first: psutil.Popen) -> list[psutil.Process]:
    """Return all processes that see the machine of the first one."""
    with suppress(OSError):
        own, found = os.readlink(f"/proc/{first.pid}/ns/mnt"), []
        for process in psutil.process_iter():
            with suppress(OSError):
                found += [process] if os.readlink(f"/proc/{process.pid}/ns/mnt") == own else []
        return found
    return []
