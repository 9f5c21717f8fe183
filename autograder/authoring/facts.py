"""What learners' notebooks know of an exercise, fingerprints of mistakes among it."""

from __future__ import annotations

from collections.abc import Iterator

from ..exercise import reading as exercises
from .kept import is_kept, kept
from .learner_files import facts_of, page_address
from .side_by_side import side_by_side

KIND = "facts"


def facts_of_all(names: list[str]) -> Iterator[str]:
    """Yield the text of each exercise's exercise.json."""
    made = dict.fromkeys(name for name in names if not is_kept(KIND, name, page_address("")))
    found = side_by_side(_facts, list(made))
    for name in names:
        yield next(found) if name in made else _facts(name)


def _facts(name: str) -> str:
    return kept(KIND, name, lambda: facts_of(exercises.load(name)), page_address(""))
