"""The result of one submission."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from ..intake.submission import Submission
from ..kit.outcome import Outcome, Verdict


def total(scores: Iterable[float | None]) -> float | None:
    """Return the sum; None where one of them is still to come."""
    known = list(scores)
    return None if None in known else sum(score for score in known if score is not None)


@dataclass(frozen=True)
class Entry:
    """One submission's verdicts and what they rest on, or the reason why it could not be read.

    Where a learner has handed in more than once, it is the submission that counts, and `other` is one that does not (`resubmissions.py`).
    """

    learner: str
    exercise: str
    keys: dict[str, str]  # what a verdict depends on, by name; `tests:CHECK` for one check alone
    verdicts: tuple[Verdict, ...] = ()
    refused: str = ""
    submission: Submission | None = None  # what was judged; None where it could not be read
    at: datetime | None = None  # when it was handed in, in UTC
    other: Entry | None = None  # of the same learner: handed in before this one, or after it where `later` says so
    later: str = ""  # why this one counts although `other` was handed in later, in a sentence for people

    @property
    def of(self) -> tuple[str, str]:
        """Return the learner and the exercise."""
        return self.learner, self.exercise

    @property
    def scores(self) -> dict[str, float | None]:
        """Return the points by check; None where it is still to be judged."""
        return {verdict.check: verdict.score for verdict in self.verdicts}

    def shares(self, consequences: float = 0.0) -> dict[str, float | None]:
        """Return the share of its points that each check got; None where it is still to be judged.

        `consequences` is what a check gets that fails for a named mistake that has cost another check its points already.
        """
        shares: dict[str, float | None] = {}
        paid: set[str] = set()
        for verdict in self.verdicts:
            share = None if verdict.score is None else float(verdict.score > 0)
            if verdict.mistake and share == 0.0:
                share = consequences if verdict.mistake.name in paid else 0.0
                paid.add(verdict.mistake.name)
            shares[verdict.check] = share
        return shares

    @property
    def score(self) -> float | None:
        """Return the points in all; None if it was refused or a check is still to be judged."""
        return None if self.refused else total(self.scores.values())

    @property
    def settled(self) -> bool:
        """Return whether all of it is judged, and none of it has to be judged again."""
        return bool(self.verdicts) and all(v.outcome is not Outcome.JUDGE_FAILED for v in self.verdicts)
