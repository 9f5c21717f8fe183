"""The folder of a course, _course/, and what is in it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from .. import course_root
from ..errors import CannotGoOn, Refused
from ..files import write_whole
from ..intake.submission import check_learner
from .settings import Settings, read_settings


def there(path: Path | str) -> bool:
    """Return whether something is there, or may be: where a folder cannot be opened, nobody knows."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def is_link(path: Path) -> bool:
    """Return whether it is a link; what nobody can look at is none, and refused when it is opened."""
    try:
        return path.is_symlink()
    except OSError:
        return False


@dataclass(frozen=True)
class Course:
    """The folders of one course; nbgrader_config.py names the same ones."""

    root: Path = field(default_factory=course_root)
    database: str | None = field(default_factory=lambda: os.environ.get("ATTENTION_DB"))  # a URL, where the gradebook is not a file

    @cached_property
    def settings(self) -> Settings:
        return read_settings(self.root)

    @property
    def submitted(self) -> Path:
        return self.root / "submitted"

    @property
    def for_nbgrader(self) -> Path:
        """The folder that nbgrader takes for the learners': what is in it was written by us."""
        return self.root / "for_nbgrader"

    @property
    def gradebook_url(self) -> str:
        return self.database or f"sqlite:///{self.root / 'gradebook.db'}"

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def written(self) -> tuple[Path, ...]:
        """The folders that grading writes to."""
        return tuple(self.root / name for name in ("verdicts", "autograded", "feedback", "history"))

    def autograded(self, learner: str, exercise: str) -> Path:
        return self.root / "autograded" / learner / exercise / f"{exercise}.ipynb"

    def feedback(self, learner: str, exercise: str) -> Path:
        return self.root / "feedback" / learner / exercise / f"{exercise}.html"

    def journal(self, learner: str, exercise: str) -> Path:
        return self.root / "verdicts" / learner / f"{exercise}.json"

    def history(self, learner: str, exercise: str) -> Path:
        return self.root / "history" / learner / f"{exercise}.jsonl"

    def learners(self) -> Iterator[str]:
        """Yield the names of all who have handed something in, in order; raises `CannotGoOn` where their folders cannot be listed."""
        if not there(self.submitted):
            return
        try:
            folders = [folder.name for folder in os.scandir(self.submitted) if folder.is_dir()]
        except OSError as error:
            raise CannotGoOn(
                f"{self.submitted} cannot be opened ({error.strerror}). Make it a folder that you may read, and run the same command again"
            ) from None
        yield from sorted(folders)

    def submissions(self, exercises: list[str]) -> list[tuple[str, str]]:
        """Return (learner, exercise) for everything that was handed in, readable or not.

        Of a learner whose folder cannot be opened nobody can tell what is in it, so these are all the exercises.
        """
        found: list[tuple[str, str]] = []
        for learner in self.learners():
            try:
                names = set(os.listdir(f"{self.submitted}/{learner}"))
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:
                names = set(exercises)
            found += [(learner, name) for name in exercises if name in names]
        return found

    def handed_in(self, learner: str, exercise: str) -> Path:
        """Return the file that a learner handed in, a notebook before a script; raises `Refused`."""
        folder = self.submitted / check_learner(learner) / exercise
        if is_link(folder) or is_link(folder.parent):
            raise Refused(f"{learner}/{exercise}", "the folder is a link", "Hand in the notebook file itself, not a link")
        files = (folder / f"{exercise}{kind}" for kind in (".ipynb", ".py"))
        found = next((f for f in files if there(f)), None)
        if found is None:
            raise Refused(
                f"{learner}/{exercise}", f"there is no {exercise}.ipynb or {exercise}.py", "Hand in the notebook under its own name"
            )
        return found

    def seed(self) -> int:
        """Return the number that all hidden tests of this course draw from: drawn once, then kept.

        It is the same for everybody, so that all answer the same questions, and a second grading
        gives the same marks. Where the file is deleted, a new number is drawn.
        """
        path = self.root / "seed"
        if not path.is_file():
            write_whole(path, f"{secrets.randbits(63)}\n")
        text = path.read_text(encoding="utf-8").strip()
        if not text.isdecimal():
            raise CannotGoOn(
                f"{path} must hold one number and holds {text[:40]!r}. Write the course's number back, or delete the file: then a new one is drawn, and all is judged again"
            )
        return int(text)
