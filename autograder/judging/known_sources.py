"""The sources of all answers that are known: the reference, its variants, the mistakes."""

from __future__ import annotations

from ..errors import AuthorError
from ..exercise.model import Exercise
from .answers import answers


def known_sources(exercise: Exercise) -> list[dict[str, str]]:
    """Return the answer cells of each known answer, by cell, the reference answer's first."""
    found = [answers(exercise)]
    for known in (*exercise.variants, *exercise.mistakes):
        try:
            found.append(answers(exercise, known))
        except AuthorError:  # `matrix` says so, to whoever can mend it
            continue
    return found
