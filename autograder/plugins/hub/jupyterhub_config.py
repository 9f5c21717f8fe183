"""JupyterHub for a class: learners and instructors are Unix users of one machine.

It is copied to /srv/hub, where everybody may read it; book/hub.md has all steps.
"""

import os
import sys
from grp import getgrall
from pathlib import Path
from pwd import getpwnam

HERE = Path(__file__).resolve().parent  # /srv/hub
PROGRAMS = Path(sys.executable).parent  # in the hub's environment, which everybody uses
COURSE = "/srv/attention"
LEARNERS, INSTRUCTORS = "learners", "instructors"


def teaches(user: str) -> bool:
    own = getpwnam(user).pw_gid
    theirs = [each for each in getgrall() if user in each.gr_mem or each.gr_gid == own]
    return INSTRUCTORS in [group.gr_name for group in theirs]


def begin_in_their_folder(spawner) -> None:
    """Start servers at home, but those of instructors where the course is.

    There nbgrader and its formgrader find the course's settings.
    """
    user = spawner.user.name
    folder = COURSE if teaches(user) else getpwnam(user).pw_dir
    server = str(PROGRAMS / "jupyterhub-singleuser")
    spawner.notebook_dir, spawner.cmd = folder, ["env", f"--chdir={folder}", server]


def settings_for(spawner) -> str:
    """Return the folders of settings; learners' take instructors' menus away."""
    folders = [HERE] if teaches(spawner.user.name) else [HERE / "learners", HERE]
    return os.pathsep.join(map(str, folders))


c = get_config()  # noqa: F821  (given by JupyterHub)

# For a web server on this machine, which speaks HTTPS to the world.
c.JupyterHub.bind_url = "http://127.0.0.1:8000"
# They log in with their Unix passwords.
c.LocalAuthenticator.allowed_groups = {LEARNERS, INSTRUCTORS}

# The proxy in Python, which needs no Node. It would give up on an answer after
# 20 seconds, and grading may take longer: so it waits an hour, in milliseconds.
PROXY = str(PROGRAMS / "configurable-http-proxy")
c.ConfigurableHTTPProxy.command = [PROXY, "--proxy-timeout=3600000"]

c.Spawner.pre_spawn_hook = begin_in_their_folder
c.Spawner.environment = {
    "JUPYTER_CONFIG_PATH": settings_for,
    # In a terminal, `python` and `nbgrader` are the hub's.
    "PATH": os.pathsep.join([str(PROGRAMS), os.environ["PATH"]]),
}

# What only the hub may read.
STATE = HERE / "state"
STATE.mkdir(mode=0o700, exist_ok=True)
c.JupyterHub.db_url = f"sqlite:///{STATE / 'jupyterhub.sqlite'}"
c.JupyterHub.cookie_secret_file = str(STATE / "cookie_secret")
c.ConfigurableHTTPProxy.pid_file = str(STATE / "proxy.pid")
