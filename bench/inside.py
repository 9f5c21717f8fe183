"""Runs inside the throw-away world: starts `nbgrader autograde` there and says what became of it.

Takes its orders as JSON in the first argument and prints one line of JSON. What it starts is another
user where that is possible, so that an attack can end nbgrader but not the one who reports on it.
"""

import json
import os
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections import deque
from pathlib import Path
from threading import Thread

GIVEN, HOME = Path("/given"), Path("/home/learner")
COURSE, SECRET = HOME / "course", Path("/tmp/secret")
COMMAND = ["nbgrader", "autograde", "single_head"]
PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/run", str(HOME), str(COURSE))
MARK = "attention-loot"
LAY_OUT = "import shutil; shutil.copytree('/given/course', '/home/learner/course', symlinks=True); shutil.copytree('/given/handed', '/home/learner/course/submitted', symlinks=True)"
MARKS = """select submitted_assignment.student_id, base_cell.name, grade.auto_score, grade.manual_score
 from grade join submitted_notebook on grade.notebook_id = submitted_notebook.id
 join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id
 join base_cell on grade.cell_id = base_cell.id order by 1, 2"""


heard: deque[bytes] = deque(maxlen=20)


def main(orders: dict) -> None:
    user = {"user": orders["user"], "group": orders["user"], "extra_groups": []} if orders["user"] else {}
    canary = lay_secret()
    listener = socket.create_server(("127.0.0.1", orders["port"]))
    listener.setblocking(False)
    subprocess.run([sys.executable, "-c", LAY_OUT], check=True, **user)
    status, seconds = autograde(orders, user)
    time.sleep(0.5)  # for what ends by itself when nbgrader has gone
    left = processes()
    print(
        json.dumps(
            {
                "status": status,
                "seconds": round(seconds, 1),
                "marks": marks(),
                "words": words(),
                "hidden": hidden_tests_at(COURSE / "autograded"),
                "damage": damage(canary, listener) + ([f"{len(left)} processes go on"] if left else []),
                "log": b"".join(heard)[-3000:].decode(errors="replace"),
            }
        )
    )


def lay_secret() -> Path:
    SECRET.mkdir(mode=0o777)
    SECRET.chmod(0o777)
    canary = SECRET / "canary"
    canary.write_text("secret")
    canary.chmod(0o666)
    return canary


def autograde(orders: dict, user: dict) -> tuple:
    """Return nbgrader's exit status (None if it had to be killed) and the seconds that it took."""

    def limit() -> None:
        for what, most in ((resource.RLIMIT_AS, orders["memory"]), (resource.RLIMIT_NPROC, orders["processes"]), (resource.RLIMIT_CORE, 0)):
            resource.setrlimit(what, (most, most))

    begin = time.monotonic()
    process = subprocess.Popen(
        COMMAND,
        cwd=COURSE,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=limit,
        **user,
    )
    Thread(target=listen, args=[process.stdout], daemon=True).start()
    try:
        return process.wait(orders["seconds"]), time.monotonic() - begin
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None, time.monotonic() - begin


def listen(pipe) -> None:
    """Keep the last of what nbgrader and its kernels say; some say it by the gigabyte."""
    while text := pipe.read1(1 << 16):
        heard.append(text.replace(b"\0", b"")[-4000:])


def marks() -> list:
    """Return (learner, check, automatic mark, mark by hand) from the gradebook; a line of text where it cannot be read."""
    try:
        with sqlite3.connect(f"file:{COURSE}/gradebook.db?mode=ro", uri=True) as database:
            return database.execute(MARKS).fetchall()
    except sqlite3.Error as error:
        return [f"the gradebook cannot be read: {error}"]


def words() -> dict:
    """Return the last words of each failed check, as nbgrader's notebook of the attacker has them."""
    try:
        cells = json.loads((COURSE / "autograded/ada/single_head/single_head.ipynb").read_text())["cells"]
    except (OSError, ValueError):
        return {}
    found = {}
    for cell in cells:
        errors = [output for output in cell.get("outputs", []) if output["output_type"] == "error"]
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        if errors and name:
            found[name] = f"{errors[-1]['ename']}: {errors[-1]['evalue']}"[:400]
    return found


def hidden_tests_at(folder: Path) -> bool:
    return any("HIDDEN TESTS" in path.read_text(errors="replace") for path in folder.rglob("ada/*/*.ipynb"))


def damage(canary: Path, listener: socket.socket) -> list:
    found = [] if canary.read_text() == "secret" else ["the canary was changed"]
    try:
        listener.accept()[0].close()
        found.append("somebody has called")
    except BlockingIOError:
        pass
    left = [path for folder in PLACES for path in Path(folder).glob(f"{MARK}*")]
    left += [path for path in (COURSE / "autograded").rglob(f"{MARK}*")]
    free = [shutil.disk_usage(folder).free >> 20 for folder in ("/tmp", HOME, "/dev/shm")]
    full = ["a disk is full"] if min(free) == 0 else []
    return found + full + ([f"{len(left)} files were left"] if left else [])


def processes() -> list:
    """Return the processes that live on although nbgrader has ended."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, fields = int(stat.parent.name), stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if pid not in (1, os.getpid(), os.getppid()) and fields[0] != "Z":
            found.append(pid)
    return found


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
