"""The judge of Attention by Hand: from an exercise's source to a trustworthy mark."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]  # the project's folder


def course_root() -> Path:
    """Return the folder of the learners' files: _course/, or what ATTENTION_COURSE names."""
    return Path(os.environ.get("ATTENTION_COURSE", ROOT / "_course")).absolute()
