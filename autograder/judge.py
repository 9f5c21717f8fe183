"""The judge: tests on one side, a learner's code behind a wall on the other, verdicts out."""
from __future__ import annotations

import re
from functools import lru_cache

import torch

from . import exercise as exercises
from .exercise import Exercise, replace_definitions
from .kit import fingerprint
from .kit.cells import ANSWER, Cell, defined_names, refused, run_here
from .kit.forbidden import NoGuard
from .kit.learner import Learner, local
from .kit.outcome import Ended, JudgeFailed, Outcome, Raised, Stopped, TimeLimit, Verdict
from .kit.suite import VISIBLE_SEED, Test, failure, judge_check
from .known import Known
from .limits import Limits
from .sandbox.host import Worker, Zygote

# The tensors of tests are small: threads would wait for each other longer than they compute.
torch.set_num_threads(1)

UNDEFINED = re.compile(r"name '(\w+)' is not defined")


def judge(exercise: Exercise, learner: Learner, seed: int) -> list[Verdict]:
    """Return the verdict on every check, in the notebook's order."""
    reference = reference_learner(exercise.name)
    found = [
        judge_check(check, counted(exercise, check), learner, seed, reference, points)
        for check, points in exercise.checks.items()
    ]
    failed = {verdict.check for verdict, _, _ in found if verdict.outcome is not Outcome.PASSED}
    return [name_mistake(exercise, *each, failed, seed) for each in found]


def counted(exercise: Exercise, check: str) -> list[Test]:
    """Return the tests that decide a check: a mark is the same with a GPU and without."""
    return [test for test in exercise.tests if test.check == check and not test.gpu]


def name_mistake(exercise: Exercise, verdict: Verdict, test: Test | None, error, failed: set[str], seed: int) -> Verdict:
    """Return the verdict with the name of the known mistake that explains it, if there is one."""
    print_ = fingerprint.of(error) if error else None
    if print_ is None:
        return verdict
    known = [
        {"name": m.name, "title": m.title, "hint": m.hint, "fails": m.fails, "prints": {test.name: print_of(exercise.name, m.name, test.name, seed if test.hidden else VISIBLE_SEED)}}
        for m in exercise.mistakes
        if verdict.check in m.fails
    ]
    return verdict.named(fingerprint.recognise(verdict.check, test.name, print_, lambda: failed, known))


@lru_cache(maxsize=4096)
def print_of(exercise_name: str, mistake: str, test_name: str, seed: int) -> dict | None:
    """Return the fingerprint that a known mistake leaves in a test, or None if it passes."""
    exercise = exercises.load(exercise_name)
    test = next(t for t in exercise.tests if t.name == test_name)
    error = failure(test, known_learner(exercise_name, mistake), seed, reference_learner(exercise_name))
    return fingerprint.of(error) if error else None


@lru_cache
def reference_learner(exercise_name: str) -> Learner:
    """Return the reference answer, run in this process: the only code there that may be."""
    return own_learner(exercises.load(exercise_name), None)


@lru_cache(maxsize=1024)
def known_learner(exercise_name: str, known: str) -> Learner:
    """Return a known mistake or variant, run in this process."""
    exercise = exercises.load(exercise_name)
    return own_learner(exercise, next(k for k in exercise.mistakes + exercise.variants if k.name == known))


def own_learner(exercise: Exercise, known: Known | None) -> Learner:
    cells = [Cell(c.id, c.kind, answers(exercise, known).get(c.id, c.source)) for c in exercise.code]
    namespace, missing = run_here(cells, exercise.promised, [])
    return local(namespace, NoGuard(), missing)


def answers(exercise: Exercise, known: Known | None = None) -> dict[str, str]:
    """Return the source of every answer cell as the reference, or a known answer, has it."""
    if known is None:
        return {cell.id: cell.source for cell in exercise.answers}
    touched = [cell for cell in exercise.answers if defined_names(cell.source) & set(known.definitions)]
    promised = set().union(*exercise.promised.values())
    extra = [known.preamble, *(text for name, text in known.definitions.items() if name not in promised)]
    sources = {cell.id: replace_definitions(cell.source, known.definitions) for cell in exercise.answers}
    sources[touched[0].id] = "\n\n\n".join(filter(None, [*extra, sources[touched[0].id]]))
    return sources


class Session:
    """One submission in the sandbox: starts workers as they are needed, and again when one dies."""

    def __init__(self, zygote: Zygote, exercise: Exercise, answers: dict[str, str], limits: Limits = Limits(), lost_names: dict[str, str] | None = None):
        self._zygote, self._exercise, self._limits = zygote, exercise, limits.allowing(exercise.seconds)
        self._cells = [_answered(cell, answers) for cell in exercise.code]
        self._lost_names = lost_names or {}
        self._broken: dict[str, Stopped] = {}
        self._worker: Worker | None = None
        self._times_up = 0  # calls that did not end
        self.deaths = 0  # workers that ended by themselves, or that somebody else ended
        self.learner = Learner(self._send)

    def close(self) -> None:
        if self._worker is not None:
            self._worker.end()
        self._worker = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def _send(self, operation: str, target, args: tuple, kwargs: dict, **more):
        self._load()
        if isinstance(target, str) and target in self._missing:
            raise self._missing[target]
        request = {"do": operation, "target": target, "args": args, "kwargs": kwargs, **more}
        try:
            return self._ask(request, self._limits.patience(self._times_up))
        except TimeLimit as error:
            self._times_up += 1
            raise TimeLimit(f"{target}: {error}" if isinstance(target, str) else str(error)) from None
        except Raised as error:
            raise self._reason(error) from None

    def _load(self) -> None:
        """Bring up a worker with all cells run, leaving out those that kill it."""
        while self._worker is None:
            self._worker = self._forked()
            self._ask({"do": "begin", "forbidden": self._exercise.forbidden})
            for cell in self._cells:
                if cell.id not in self._broken:
                    self._run(cell)
                if self._worker is None:
                    break

    def _forked(self) -> Worker:
        try:
            return self._zygote.fork(self._limits)
        except Exception as error:
            raise JudgeFailed(f"{type(error).__name__}: {error}") from error

    def _run(self, cell: Cell) -> None:
        refusal = refused(cell, self._exercise.forbidden)
        try:
            if refusal:
                raise refusal
            self._ask({"do": "cell", "source": cell.source})
        except JudgeFailed:
            raise
        except Stopped as error:
            self._broken[cell.id] = error

    @property
    def _missing(self) -> dict[str, Stopped]:
        """Why names that answer cells were to define may not be there."""
        promised = self._exercise.promised
        return {name: error for cell, error in self._broken.items() for name in promised.get(cell, ())}

    def _ask(self, request: dict, seconds: float | None = None):
        try:
            return self._worker.ask(request, seconds or self._limits.request_seconds)
        except Ended:
            self.deaths += 1
            raise
        except Stopped:
            raise
        except Exception as error:  # the sandbox broke: a test must not take that for an answer
            raise JudgeFailed(f"{type(error).__name__}: {error}") from error
        finally:
            if not self._worker.alive:
                self._worker = None

    def _reason(self, error: Raised) -> Stopped:
        """Return the error, or why the name that it misses is not there."""
        match = UNDEFINED.search(error.text) if error.kind == "NameError" else None
        name = match.group(1) if match else ""
        if name in self._missing:
            return self._missing[name]
        return Raised(error.kind, self._lost_names[name]) if name in self._lost_names else error


def _answered(cell: Cell, answers: dict[str, str]) -> Cell:
    if cell.kind != ANSWER:
        return cell
    absent = f'raise NotImplementedError("the cell {cell.id} is not in the notebook")'
    return Cell(cell.id, ANSWER, answers.get(cell.id, absent))

