"""What the judge said of each submission, on disk, so that nothing is judged twice or lost."""
from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from .course import Course
from .exercise import ROOT, Exercise, digest
from .files import write_whole
from .kit.outcome import Named, Outcome, Verdict
from .limits import Limits
from .submission import Submission


@dataclass(frozen=True)
class Entry:
    """One submission's verdicts, or the reason why it could not be read."""

    learner: str
    exercise: str
    key: str
    verdicts: tuple[Verdict, ...] = ()
    refused: str = ""

    @property
    def score(self) -> float | None:
        """Return the points in all; None if it was refused or a check is still to be judged."""
        scores = [verdict.score for verdict in self.verdicts]
        return None if self.refused or None in scores else sum(scores)

    @property
    def settled(self) -> bool:
        """Return whether nothing of it has to be judged again."""
        return bool(self.verdicts) and all(v.outcome is not Outcome.JUDGE_FAILED for v in self.verdicts)


def key_of(submission: Submission, exercise: Exercise, seed: int, limits: Limits) -> str:
    """Return a name for all that a verdict depends on: answers, tests, the judge, seed and limits."""
    parts = [asdict(submission), digest(exercise.folder), digest(ROOT / "autograder"), seed, asdict(limits.allowing(exercise.seconds))]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def write(course: Course, entry: Entry) -> None:
    text = json.dumps(asdict(entry), indent=1, ensure_ascii=False)
    write_whole(course.journal(entry.learner, entry.exercise), text + "\n")


def read(course: Course, learner: str, exercise: str) -> Entry | None:
    """Return the entry, or None where there is none, it is damaged or another version wrote it."""
    try:
        told = json.loads(course.journal(learner, exercise).read_text(encoding="utf-8"))
        return Entry(**{**told, "verdicts": tuple(map(_verdict, told["verdicts"]))})
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _verdict(told: dict) -> Verdict:
    mistake = Named(**told["mistake"]) if told["mistake"] else None
    return Verdict(**{**told, "outcome": Outcome(told["outcome"]), "mistake": mistake})
