"""Errors that a person reads: what was wrong, where, and what to do."""


class AuthorError(Exception):
    """An exercise's source breaks a rule; the text names file, cell and line."""


class UnknownExercise(Exception):
    """There is no exercise of that name."""


class Refused(Exception):
    """A submission cannot be read at all; it is not judged, and nothing is held against it."""

    def __init__(self, where: str, what: str, todo: str):
        super().__init__(f"{where}: {what}. {todo}")
        self.where, self.what, self.todo = where, what, todo
