"""Answers of our own, the reference and the known ones, run in this process."""

from __future__ import annotations

import torch

from ..errors import AuthorError
from ..exercise import reading as exercises
from ..exercise.cache import cached
from ..exercise.edits import replace_definitions
from ..exercise.known import KnownAnswer
from ..exercise.model import Exercise
from ..kit.cells import Cell, defined_names, run_here
from ..kit.forbidden import NoGuard
from ..kit.learner import Learner, local
from .remembered import RememberedLearner

# The tensors of tests are small: threads would wait for each other longer than they compute.
torch.set_num_threads(1)


@cached()
def reference_learner(exercise_name: str) -> Learner:
    """Return the reference answer, run in this process."""
    return RememberedLearner(trusted_learner(exercises.load(exercise_name), None))


@cached(1024)
def known_learner(exercise_name: str, known: str) -> Learner:
    """Return a known mistake or variant, run in this process."""
    exercise = exercises.load(exercise_name)
    return trusted_learner(exercise, next(k for k in exercise.mistakes + exercise.variants if k.name == known))


def trusted_learner(exercise: Exercise, known: KnownAnswer | None) -> Learner:
    """Return an answer of ours, run in this process: no other code may run here."""
    cells = [Cell(c.id, c.kind, answers(exercise, known).get(c.id, c.source)) for c in exercise.code]
    namespace, missing = run_here(cells, exercise.promised, [])
    return local(namespace, NoGuard(), missing)


def answers(exercise: Exercise, known: KnownAnswer | None = None) -> dict[str, str]:
    """Return the source of every answer cell as the reference, or a known answer, has it."""
    if known is None:
        return {cell.id: cell.source for cell in exercise.answers}
    touched = [cell for cell in exercise.answers if defined_names(cell.source) & set(known.definitions)]
    if not touched:
        raise AuthorError(
            f"{exercise.name}, class {known.name}: the answers define none of {', '.join(known.definitions) or 'its functions, since it has none'}, so it changes nothing"
        )
    promised = set().union(*exercise.promised.values())
    extra = [known.preamble, *(text for name, text in known.definitions.items() if name not in promised)]
    sources = {cell.id: replace_definitions(cell.source, known.definitions) for cell in exercise.answers}
    sources[touched[0].id] = "\n\n\n".join(filter(None, [*extra, sources[touched[0].id]]))
    return sources
