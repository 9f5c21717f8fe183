"""What a class's results say about its learners, and about the checks: figures for the report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import StatisticsError, correlation, mean, median

from ..exercise.model import Exercise
from ..kit.outcome import Outcome, Verdict
from ..records.entry import Entry
from ..records.history import Step
from ..records.results import Result

BARS = 10  # of the histogram
MOST_MOMENTS = 40  # of a trend
FEW = 10  # learners, below which a correlation says nothing
WITHOUT_A_NAME = (Outcome.WRONG, Outcome.RAISED)


@dataclass(frozen=True)
class Check:
    """How a class fared with one check."""

    name: str
    points: float
    passed: int
    judged: int
    discrimination: float | None  # correlation of passing it with the points of all other checks; None where it is not defined

    @property
    def share(self) -> float:
        return self.passed / self.judged if self.judged else 0.0

    @property
    def concern(self) -> str:
        """Return what an instructor may want to look at, or ""."""
        if self.judged >= FEW and self.discrimination is not None and self.discrimination < 0:
            return "those who do well elsewhere miss it more often: look at the check"
        return "" if self.judged < FEW or 0 < self.share else "nobody passes it"


@dataclass(frozen=True)
class Group:
    """Learners who share something: a mistake by its name, or the same wrong answer that has none."""

    title: str
    learners: list[str]
    checks: list[str]
    verdict: Verdict | None = None  # evidence, of a wrong answer without a name


@dataclass(frozen=True)
class Learner:
    """How one learner stands over all exercises."""

    name: str
    points: float
    most: float  # of what has been judged
    handed_in: int
    waiting: int  # submissions that nobody could judge
    missed: int  # checks
    late: int

    @property
    def share(self) -> float:
        return self.points / self.most if self.most else 0.0


@dataclass(frozen=True)
class Moment:
    """How the class stood with an exercise after a run."""

    at: datetime
    mean: float  # of the points of those who had any
    learners: int


@dataclass(frozen=True)
class Change:
    """A step in the history of one submission, with what it counted before."""

    learner: str
    exercise: str
    step: Step
    before: Step


def moments_of(histories: Sequence[Sequence[Step]]) -> list[Moment]:
    """Return how the class stood whenever something had changed; of many changes on a day the last, where there are more than can be shown."""
    now: dict[int, float | None] = {}
    found: dict[datetime, Moment] = {}
    steps = [(step.at, number, step.points) for number, mine in enumerate(histories) for step in mine]
    for at, number, points in sorted(steps, key=lambda each: each[0]):  # those of the same second as they came
        now[number] = points
        known = [each for each in now.values() if each is not None]
        if known:
            found[at] = Moment(at, mean(known), len(known))
    moments = list(found.values())
    return moments if len(moments) <= MOST_MOMENTS else list({moment.at.date(): moment for moment in moments}.values())[-MOST_MOMENTS:]


def changes_of(steps: Mapping[tuple[str, str], Sequence[Step]]) -> list[Change]:
    """Return all steps but each submission's first, the latest first."""
    found = [Change(*of, after, before) for of, mine in steps.items() for before, after in zip(mine, mine[1:])]
    return sorted(found, key=lambda change: (change.step.at, change.exercise, change.learner), reverse=True)


def checks_of(points: dict[str, float], entries: list[Entry]) -> list[Check]:
    """Return how the class fared with each check; `points` by check."""
    judged = [{v.check: v for v in entry.verdicts} for entry in entries if entry.settled and not entry.refused]
    return [_check(check, worth, [each for each in judged if check in each]) for check, worth in points.items()]


def _check(check: str, points: float, judged: list[dict[str, Verdict]]) -> Check:
    passed = sum(each[check].outcome is Outcome.PASSED for each in judged)
    return Check(check, points, passed, len(judged), _discrimination(check, judged))


def _discrimination(check: str, judged: list[dict[str, Verdict]]) -> float | None:
    """Return the item-rest correlation: of passing this check with the points in all others."""
    passed = [float(each[check].outcome is Outcome.PASSED) for each in judged]
    rest = [sum(v.score or 0.0 for name, v in each.items() if name != check) for each in judged]
    try:
        return correlation(passed, rest) if len(judged) >= FEW else None
    except StatisticsError:  # all or nobody passed, or all have as many points
        return None


def histogram(totals: list[float], most: float) -> list[int]:
    """Return how many learners have points in each tenth of the scale, full marks in the last."""
    counts = [0] * BARS
    for total in totals:
        counts[min(BARS - 1, int(total / most * BARS)) if most else 0] += 1
    return counts


def summary(totals: list[float]) -> str:
    """Return mean and median in words, or "" where nobody has a mark."""
    return f"mean {mean(totals):.1f}, median {median(totals):g}" if totals else ""


def mistakes(exercise: Exercise, entries: list[Entry]) -> list[Group]:
    """Return the named mistakes with the learners who made them, the commonest first.

    A mistake that was handed out, to be found and repaired, was made by nobody.
    """
    handed_out = set(exercise.handed_out.values())
    learners: defaultdict[str, dict[str, None]] = defaultdict(dict)  # sets that keep their order
    checks: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for entry in entries:
        for check, mistake in ((v.check, v.mistake) for v in entry.verdicts if v.mistake):
            title = f"Not repaired: {mistake.title}" if mistake.name in handed_out else mistake.title
            learners[title].setdefault(entry.learner)
            checks[title].setdefault(check)
    groups = [Group(title, list(names), list(checks[title])) for title, names in learners.items()]
    return sorted(groups, key=lambda g: (-len(g.learners), g.title))


def unnamed(entries: list[Entry]) -> list[Group]:
    """Return wrong answers that no known mistake explains, grouped by what came back; the commonest first.

    All learners of a course answer the same questions, so those who made the same mistake got the same numbers.
    Where the same learners share what they returned in several checks, that is one group.
    """
    who: defaultdict[tuple, list[str]] = defaultdict(list)
    evidence: dict[tuple, Verdict] = {}
    for entry in entries:
        for verdict in entry.verdicts:
            if verdict.mistake is None and verdict.outcome in WITHOUT_A_NAME:
                key = verdict.check, verdict.test, verdict.in_full or verdict.reason, verdict.came
                who[key].append(entry.learner)
                evidence.setdefault(key, verdict)
    together = defaultdict(list)
    for key, learners in who.items():
        together[tuple(learners)].append(key)
    groups = [
        Group(_title(evidence[keys[0]]), list(learners), [key[0] for key in keys], evidence[keys[0]]) for learners, keys in together.items()
    ]
    return sorted(groups, key=lambda g: (-len(g.learners), -len(g.checks), g.checks))


def _title(verdict: Verdict) -> str:
    return (verdict.in_full or verdict.reason).split("\n")[0][:160]


def learners_of(results: list[Result], points: dict[str, float]) -> list[Learner]:
    """Return how each learner stands, those who need help first; `points` by exercise."""
    theirs = defaultdict(list)
    for result in results:
        theirs[result.learner].append(result)
    found = [
        Learner(
            name,
            points=sum(r.marks.total or 0.0 for r in mine),
            most=sum(points[r.exercise] for r in mine if r.marks.total is not None),
            handed_in=len(mine),
            waiting=sum(r.marks.total is None for r in mine),
            missed=sum(v.outcome is not Outcome.PASSED for r in mine for v in r.entry.verdicts),
            late=sum(r.marks.seconds_late > 0 for r in mine),
        )
        for name, mine in theirs.items()
    ]
    return sorted(found, key=lambda each: (not each.waiting, each.share, each.name))
