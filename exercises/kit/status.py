"""Where a learner stands over all exercises: `status()` in start.ipynb."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from .progress import Progress
from .show import display

COURSE = "course.json"  # the exercises in their order, beside their folders


@dataclass(frozen=True)
class Standing:
    """One exercise, and how many of its points have been reached in the visible checks."""

    name: str
    title: str
    optional: bool
    difficulty: str
    minutes: int
    points: float
    most: float

    @property
    def is_done(self) -> bool:
        return self.points == self.most

    @property
    def link(self) -> str:
        return f"{self.name}/{self.name}.ipynb"


def standings(course: Path) -> list[Standing]:
    """Return where a learner stands in each exercise of a folder, in the course's order; those that are not there are left out."""
    listed = json.loads((course / COURSE).read_text(encoding="utf-8"))
    return [_standing(course / each["name"], each["optional"]) for each in listed if (course / each["name"] / "exercise.json").is_file()]


def _standing(folder: Path, optional: bool) -> Standing:
    about = json.loads((folder / "exercise.json").read_text(encoding="utf-8"))
    points, passed = about["points"], Progress(folder).passed
    reached = sum(points.get(check, 0) for check in passed)
    return Standing(about["name"], about["title"], optional, about["difficulty"], about["minutes"], reached, sum(points.values()))


def next_after(found: list[Standing], name: str = "") -> Standing | None:
    """Return the exercise to go on with: the first after this one that is not done, then any before it; optional ones last."""
    place = next((number for number, each in enumerate(found) if each.name == name), -1)
    open_ones = [each for each in found[place + 1 :] + found[: place + 1] if not each.is_done and each.name != name]
    return next((each for each in open_ones if not each.optional), next(iter(open_ones), None))


def status(folder: str | Path = ".") -> None:
    """Show how far each exercise has come, and which comes next. What counts here is what the visible checks said last."""
    found = standings(Path(folder))
    coming = next_after(found)
    rows = [f"| [{each.title}]({each.link}) | {_bar(each)} | {_note(each)} |" for each in found]
    head = ["| exercise | points | |", "|---|---|---|"]
    total = f"**{sum(e.points for e in found):g} of {sum(e.most for e in found):g} points**"
    go_on = f" Next: [{coming.title}]({coming.link})." if coming else " All of them are done."
    plain = [f"{e.name:<20} {e.points:>3g} of {e.most:<3g} {_note(e)}" for e in found]
    display({"text/markdown": "\n".join([*head, *rows, "", total + "." + go_on]), "text/plain": "\n".join(plain)})


def _bar(each: Standing) -> str:
    full = int(10 * each.points / each.most)
    return f"`{'█' * full}{'·' * (10 - full)}` {each.points:g} of {each.most:g}"


def _note(each: Standing) -> str:
    notes = ["optional"] if each.optional else []
    return ", ".join([*notes, each.difficulty, f"about {each.minutes} minutes"]) + (" ✓" if each.is_done else "")
