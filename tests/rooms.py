"""Which room each file of tests belongs to, and the CPU seconds that it takes, as the map in README.md says.

`python -m tests.rooms` prints what `make quick` runs, `python -m tests.rooms sandbox` the files of one room.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
ROW = re.compile(r"^\| `(\w+)` \|.*\| (`[^|]+) \|$", re.MULTILINE)
FILE = re.compile(r"`([\w./]+)` (\d+)(\*?)")
QUICK = 3  # CPU seconds: `make quick` runs a file that takes no longer, whatever its room is


class File(NamedTuple):
    """A file of tests, or a folder of them, whose path begins at the project's folder."""

    path: str
    seconds: int
    needs_site: bool


def rooms() -> dict[str, list[File]]:
    """Return the files of each room."""
    rows = ROW.findall((HERE / "README.md").read_text(encoding="utf-8"))
    return {room: [File(_path(name), int(seconds), bool(star)) for name, seconds, star in FILE.findall(files)] for room, files in rows}


def _path(name: str) -> str:
    return (HERE / name).resolve().relative_to(ROOT).as_posix()


def seconds() -> dict[Path, int]:
    """Return the CPU seconds of each file or folder."""
    return {ROOT / file.path: file.seconds for files in rooms().values() for file in files}


def chosen(room: str = "") -> list[str]:
    """Return all files of a room, or of all rooms what is done at once without the site; raises SystemExit where there is no such room."""
    known = rooms()
    if room and room not in known:
        raise SystemExit(f"There is no room {room}; there are {', '.join(known)}.")
    return [file.path for file in known[room]] if room else [path for files in known.values() for path in _quick(files)]


def _quick(files: list[File]) -> list[str]:
    alone = [file for file in files if not file.needs_site]
    limit = max(QUICK, min(file.seconds for file in alone))  # of every room there is something
    return [file.path for file in alone if file.seconds <= limit]


if __name__ == "__main__":
    print(*chosen(*sys.argv[1:]))
