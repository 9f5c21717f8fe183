"""How strong the wall around a learner's code is: three levels, and what each needs."""

from __future__ import annotations

import os
from enum import IntEnum

from ..errors import CannotGoOn


class Level(IntEnum):
    """From nothing to everything; a higher one promises more (README.md says what)."""

    none = 0
    landlock = 1
    bubblewrap = 2


HOW_TO_GET = {
    Level.bubblewrap: "Install bubblewrap (on Debian: sudo apt-get install bubblewrap) and allow user namespaces (sysctl user.max_user_namespaces > 0; on Ubuntu also kernel.apparmor_restrict_unprivileged_userns=0). Or ask for less: ATTENTION_LEVEL=landlock.",
    Level.landlock: "Use Linux 5.13 or later with Landlock switched on (lsm=landlock,... on the kernel's command line) and libseccomp (on Debian: sudo apt-get install libseccomp2).",
    Level.none: "",
}


NOT_PROMISED = {
    Level.bubblewrap: "",
    Level.landlock: "learners' code can guess names of paths and numbers of processes on this machine, and its threads are bounded by memory only. For strangers' work, install bubblewrap.",
    Level.none: "learners' code can do what you can: read the hidden tests and other learners' work, change marks, use the network. It is for work that you trust as your own.",
}


class Unavailable(CannotGoOn):
    """This machine does not offer a level."""

    def __init__(self, level: Level, reason: str):
        super().__init__(
            f"the sandbox level {level.name!r} is not available here: {reason.strip() or 'no reason was given'}. {HOW_TO_GET[level]}".strip()
        )
        self.level = level


def required(trust: bool = False, name: str | None = None) -> Level:
    """Return the level at which everything is judged: the one named, or by ATTENTION_LEVEL, or bubblewrap.

    Raises `CannotGoOn` for the level none unless the submissions are to be trusted.
    """
    level = level_of(name or os.environ.get("ATTENTION_LEVEL", Level.bubblewrap.name))
    if level is Level.none and not trust:
        raise CannotGoOn(
            "the sandbox level is none, which keeps a learner's code from nothing. For work that you trust as your own, give --trust-submissions as well"
        )
    return level


def level_of(name: str) -> Level:
    """Return the level of this name; raises `CannotGoOn`."""
    try:
        return Level[name]
    except KeyError:
        raise CannotGoOn(f"there is no sandbox level {name!r}; there are {', '.join(level.name for level in Level)}") from None
