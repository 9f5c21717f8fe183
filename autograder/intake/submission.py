"""A checked submission: the sources of known answer cells and nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..errors import Refused

LEARNER = re.compile(r"[A-Za-z0-9_@][A-Za-z0-9_.@-]{0,63}")


@dataclass(frozen=True)
class Submission:
    """What one learner answered in one exercise."""

    learner: str
    exercise: str
    answers: dict[str, str]
    notes: dict[str, str] = field(default_factory=dict)  # by answer cell: how it was found
    lost_names: dict[str, str] = field(default_factory=dict)  # defined in cells that are not taken, with what to do about it


def is_learner(name: str) -> bool:
    """Return whether this is a learner's name, and not, say, a path."""
    return bool(LEARNER.fullmatch(name)) and ".." not in name


def check_learner(name: str) -> str:
    """Return the learner's name; raises `Refused` if it is not one."""
    if not is_learner(name):
        raise Refused(
            f"learner {name[:80]!r}",
            "this is not a learner's name",
            "Use up to 64 letters, digits and _ . @ -, without .. and not beginning with . or -",
        )
    return name
