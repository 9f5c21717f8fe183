"""A checked submission: the sources of known answer cells and nothing else."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field

from ..errors import Refused

LONGEST_NAME, MOST_BYTES_OF_A_NAME = 64, 200  # a folder's name has at most 255 bytes, and files are made beside
LETTERS = ("L", "M", "N")  # kinds of characters, of any script: letters, marks that belong to them, numbers
BETWEEN = "_.@-' "


@dataclass(frozen=True)
class Submission:
    """What one learner answered in one exercise."""

    learner: str
    exercise: str
    answers: dict[str, str]
    notes: dict[str, str] = field(default_factory=dict)  # by answer cell: how it was found
    lost_names: dict[str, str] = field(default_factory=dict)  # defined in cells that are not taken, with what to do about it


def is_learner(name: str) -> bool:
    """Return whether this is a learner's name, in any script, and not, say, a path or text that a terminal would obey."""
    return (
        0 < len(name) <= LONGEST_NAME
        and all(letter in BETWEEN or unicodedata.category(letter)[0] in LETTERS for letter in name)
        and (name[0] in "_@" or unicodedata.category(name[0])[0] in ("L", "N"))
        and name == unicodedata.normalize("NFC", name)  # else two names would look the same
        and not (".." in name or "  " in name or name.endswith(" "))
        and len(name.encode()) <= MOST_BYTES_OF_A_NAME
    )


def check_learner(name: str) -> str:
    """Return the learner's name; raises `Refused` if it is not one."""
    if not is_learner(name):
        raise Refused(
            f"learner {name[:80]!r}",
            "this is not a learner's name",
            "Use up to 64 letters and digits of any script, single spaces and _ . @ - ', without .. and beginning with a letter or digit",
        )
    return name
