"""From what was seen to what is said: one row of the table."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from autograder.machine.attacks import Attack
from autograder.records.course import Course
from autograder.records.entry import Entry
from autograder.sandbox.levels import Level

from .mutations import MARKS, WRONG, Mutation
from .stock_course import CHECKS
from .world import SECONDS, Report

STOLEN, LOOT, LOST, HARMLESS, RIGHT, NOT_RUN = "marks stolen", "got through", "submission lost", "no marks", "nothing got", "not run"
STOPPED, REFUSED = "stopped", "refused"
ANSWERS = {"softmax": "softmax", "causal": "causal_mask", "padding": "padding_mask"}
OTHERWISE = r"\w+: (time limit|memory limit|your code ended the process) \("
CAME = "and this came: "
BY_VERDICT = {
    "time limit": "the judge's clock",
    "memory limit": "rlimits",
    "your code ended the process": "a process of its own, and the wire's caps",
    "used something this exercise asks you to write": "the guard in the worker",
    "wrong answer": "comparing outside the worker",
    "your code raised an error": "the worker catches it",
    "passed": "nothing of the judge's is in the worker",
}


@dataclass(frozen=True)
class Row:
    """One attack: what became of it here and there."""

    name: str
    title: str
    of_stock: bool  # known to work on stock nbgrader; our autograder takes only sources
    stock: str
    stock_detail: str
    ours: str
    ours_detail: str
    layer: str


def row_of(one: Attack | Mutation, report: Report | None, ours: tuple[str, str, str]) -> Row:
    stock = stock_of(one, report) if report else (NOT_RUN, "no control group bounds it on this machine")
    return Row(one.name, one.title, isinstance(one, Mutation), *stock, *ours)


def stock_of(one: Attack | Mutation, report: Report) -> tuple[str, str]:
    """Return the worst that became of it, and all of it in words."""
    found = {STOLEN: _stolen(one, report), LOOT: _loot(one, report), LOST: _lost(one, report)}
    details = "; ".join(text for texts in found.values() for text in texts)
    worst = next((kind for kind, texts in found.items() if texts), None)
    if worst:
        return worst, details
    if _marks(report, "ada")["causal"]:
        return RIGHT, "the answer is right and so are its marks"
    if not _is_due(one):
        return HARMLESS, "no mark at all, and none was due"
    reason = report.words.get("causal", "something on stderr").partition(":")[0]
    return HARMLESS, f"0 for `causal` ({reason}), the others right"


def _marks(report: Report, learner: str) -> dict[str, float | None]:
    """Return the mark of each check, None where there is none."""
    found = {mark[1]: mark[2] for mark in report.marks if not isinstance(mark, str) and mark[0] == learner}
    return {check: found.get(check) for check in CHECKS}


def _wrong_answers(one: Attack | Mutation) -> set[str]:
    """Return the checks whose answer in the notebook is wrong, or not the learner's own, whatever is to be had."""
    if isinstance(one, Mutation):
        return {"causal"} if one.answer in (WRONG, MARKS) else set()
    return set() if "RIGHT(" in one.source else {check for check, name in ANSWERS.items() if f"def {name}(" in one.source}


def _is_due(one: Attack | Mutation) -> bool:
    return isinstance(one, Attack) or one.due


def _due(one: Attack | Mutation) -> set[str]:
    """Return the other checks that are right, and marked right by our autograder."""
    return {check for check in CHECKS if check != "causal" and (isinstance(one, Mutation) or one.expected(check) == ("passed",))}


def _stolen(one: Attack | Mutation, report: Report) -> list[str]:
    by_hand = {mark[0] for mark in report.marks if not isinstance(mark, str) and mark[3] is not None}
    marks = _marks(report, "ada")
    wrong = [check for check in CHECKS if check in _wrong_answers(one) and marks[check]]
    found = [f"full points for a wrong `{check}`" for check in wrong]
    return found + (["marks by hand written for " + " and ".join(sorted(by_hand))] if by_hand else [])


def _loot(one: Attack | Mutation, report: Report) -> list[str]:
    said = report.words.get("causal", "")
    came = said.partition(CAME)[2] if "causal" not in _wrong_answers(one) else ""
    alone = report.status is None or report.status < 0  # a kernel outlives an nbgrader that was killed, whoever did it
    damage = [what for what in report.damage if not (alone and what.endswith("processes go on"))]
    return ([f"came back with `{_short(came)}`"] if came else []) + damage


def _lost(one: Attack | Mutation, report: Report) -> list[str]:
    marks, others = _marks(report, "ada"), _marks(report, "zoe")
    found = [f"nbgrader did not end in {SECONDS} s"] if report.status is None else []
    found += [mark for mark in report.marks if isinstance(mark, str)]
    missing = [f"`{check}`" for check, mark in marks.items() if mark is None and _is_due(one)]
    found += [f"no mark for {', '.join(missing)}" if len(missing) < len(CHECKS) else "no mark at all"] if missing else []
    found += [f"0 for the right `{check}`" for check in sorted(_due(one)) if marks[check] == 0]
    if any(not mark for mark in others.values()):
        found.append("and the next learner has no marks")
    return found


def _short(text: str, most: int = 60) -> str:
    line = " ".join(text.split()).replace("`", "'").replace("|", "/")
    return line if len(line) <= most else line[: most - 1] + "…"


def ours_of_attack(one: Attack, problems: list[str], stops: Callable[[Attack], str]) -> tuple[str, str, str]:
    """Return what our autograder made of it, in words, and what stops it."""
    if problems and all(re.match(OTHERWISE, problem) for problem in problems):  # on a busy machine one limit is hit before another
        return STOPPED, "otherwise than expected: " + "; ".join(_short(problem, 120) for problem in problems), "the limits"
    if problems:
        return LOOT, "; ".join(_short(problem, 120) for problem in problems), ""
    said = "; ".join(f"`{check}`: {' or '.join(verdicts)}" for check, verdicts in one.verdicts.items() if check != "*")
    return STOPPED, said, stops(one) if one.level > Level.none else _judges_own(one)


def _judges_own(one: Attack) -> str:
    """Return what stops an attack even where no wall stands."""
    likeliest = [verdicts[0] for verdicts in one.verdicts.values()]
    return BY_VERDICT[next((verdict for verdict in likeliest if verdict != "passed"), "passed")]


def ours_of_mutation(one: Mutation, entries: dict[str, Entry], course: Course) -> tuple[str, str, str]:
    entry, found = entries[one.name], []
    if any(verdict.outcome.value != "passed" for verdict in entries["zoe"].verdicts):
        found.append("the next learner has lost marks")
    with sqlite3.connect(course.root / "gradebook.db") as database:
        if database.execute("select count(*) from grade where manual_score is not null").fetchone()[0]:
            found.append("marks by hand were written")
    if entry.refused and not found:
        return REFUSED, _short(entry.refused.replace(str(course.root), ""), 120), "reading"
    said = {verdict.check: verdict.outcome.value for verdict in entry.verdicts}
    found += ["a wrong `causal` passed"] if said["causal"] == "passed" and "causal" in _wrong_answers(one) else []
    found += [f"`{check}`: {value}" for check, value in said.items() if check != "causal" and value != "passed"]
    if found:
        return LOOT, "; ".join(found), ""
    return STOPPED, f"`causal`: {said['causal']}", "only answers are read" if one.answer == WRONG else "the sandbox"
