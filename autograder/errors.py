"""Errors for people: what was wrong, where, and what to do."""

from __future__ import annotations

from pathlib import Path


class AuthorError(Exception):
    """An exercise's source breaks a rule; the text names file, cell and line."""


class UnknownExercise(Exception):
    """There is no exercise of that name."""


class UnknownLearner(Exception):
    """A learner has handed in nothing for an exercise."""

    def __init__(self, learner: str, exercise: str, others: list[str]):
        known = f"; there is work of {', '.join(others)}" if others else ", and neither has anybody else"
        super().__init__(f"{learner!r} has handed in nothing for {exercise}{known}")


class Refused(Exception):
    """A submission cannot be read at all; it is not judged, and nothing is held against the learner."""

    def __init__(self, where: str, what: str, todo: str):
        super().__init__(f"{where}: {what}. {todo}")
        self.where, self.what, self.todo = where, what, todo


class CannotGoOn(Exception):
    """Grading cannot go on just now. Nothing is lost: the next run goes on from here."""

    def __reduce__(self):
        return CannotGoOn, self.args  # from another process it comes with its text alone, whatever it was made of


class NoSpace(CannotGoOn):
    def __init__(self, path: Path):
        super().__init__(f"no space left to write {path}. Nothing is lost: free some space there and run the same command again")


class MayNotWrite(CannotGoOn):
    def __init__(self, path: Path | str):
        super().__init__(
            f"you may not write {path}. Where several people keep a course, let its folder be their group's: "
            "chgrp -R GROUP FOLDER; chmod -R g+rwX,o= FOLDER; find FOLDER -type d -exec chmod g+s {} +"
        )


class GradebookBusy(CannotGoOn):
    def __init__(self, path: str):
        super().__init__(
            f"{path}: another program keeps the gradebook locked (the formgrader, a database shell, a backup). "
            "Nothing is lost: close that program and run the same command again"
        )


class GradebookAway(CannotGoOn):
    def __init__(self, url: str, reason: str):
        super().__init__(
            f"the gradebook at {url} cannot be reached or written ({reason.strip()}). Nothing is lost: see that the server runs and that you may write there, and run the same command again"
        )


class CourseBusy(CannotGoOn):
    def __init__(self, course: Path, holder: str):
        super().__init__(
            f"{course}: marks are being written by {holder or 'another process'}. Wait until it ends, or end it; then run the same command again"
        )


class MarksByHand(CannotGoOn):
    """A cell is gone from an exercise, and a mark or comment that a person gave would go with it."""

    def __init__(self, exercise: str, cell: str, learners: list[str]):
        super().__init__(
            f'{exercise}: the cell "{cell}" is gone from the exercise, but there are marks or comments given by hand for it ({", ".join(learners)}). '
            "Put the cell back under its name, or take these out in the formgrader; then run the same command again"
        )
