"""The judge: tests on one side, a learner's code behind a wall on the other, verdicts out."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial

import torch

from . import exercise as exercises
from .exercise import Exercise, kept, replace_definitions
from .kit import fingerprint
from .kit.cells import ANSWER, Cell, defined_names, refused, run_here
from .kit.cost import Cost
from .kit.forbidden import NoGuard
from .kit.learner import Learner, local
from .kit.outcome import Ended, JudgeFailed, MemoryLimit, Named, Outcome, Raised, Stopped, TimeLimit, Verdict
from .kit.suite import VISIBLE_SEED, Test, failure, judge_check
from .known import Known
from .limits import Limits
from .pairs import pairs_that_fail, together
from .sandbox.host import Worker, Zygote

# The tensors of tests are small: threads would wait for each other longer than they compute.
torch.set_num_threads(1)

PLACE = re.compile(r"(?:in <?(\w+)>?, )?line (\d{1,5})", re.ASCII)
WORD = re.compile(r"\w+")
UNDEFINED = re.compile(r"name '(\w+)' is not defined")


def judge(exercise: Exercise, learner: Learner, seed: int, checks: Collection[str] | None = None) -> list[Verdict]:
    """Return the verdict on every check, or on these, in the notebook's order.

    Mistakes are named by all that fails: to judge some checks only, give all those that may fail.
    """
    reference = reference_learner(exercise.name)
    found: dict[str, tuple] = {}
    # The visible tests of all checks come first: what a learner's code says there is shown, and it has seen nothing hidden yet.
    for hidden in (False, True):
        for check, points in exercise.checks.items():
            if (checks is None or check in checks) and (check not in found or found[check][0].outcome is Outcome.PASSED):
                tests = [test for test in counted(exercise, check) if test.hidden is hidden]
                found[check] = _with_print(*judge_check(check, tests, learner, seed, reference, points))
    return _named(exercise, list(found.values()), seed)


def _named(exercise: Exercise, found: list[tuple[Verdict, Test | None, dict | None]], seed: int) -> list[Verdict]:
    """Return the verdicts with the mistakes that explain them; each comes with the test that failed, and its print."""
    failed = {verdict.check for verdict, _, _ in found if verdict.outcome is not Outcome.PASSED}
    named = [name_mistake(exercise, *each, failed, seed) for each in found]
    seen = [verdict.mistake.name for verdict in named if verdict.mistake]
    return [_two_at_once(exercise, verdict, *why, failed, seen, seed) for verdict, (_, *why) in zip(named, found)]


def counted(exercise: Exercise, check: str) -> list[Test]:
    """Return the tests that decide a check: a mark is the same with a GPU and without."""
    return [test for test in exercise.tests if test.check == check and not test.gpu]


def _with_print(verdict: Verdict, test: Test | None, error: Exception | None) -> tuple[Verdict, Test | None, dict | None]:
    """Return the error as its fingerprint: the answer in it may be of 64 MB, and there are as many as checks."""
    return verdict, test, fingerprint.of(error) if error else None


def name_mistake(exercise: Exercise, verdict: Verdict, test: Test | None, print_: dict | None, failed: set[str], seed: int) -> Verdict:
    """Return the verdict with the name of the known mistake that explains it, if there is one."""
    if print_ is None:
        return verdict
    drawn = seed if test.hidden else VISIBLE_SEED
    known = [
        {
            "name": m.name,
            "title": m.title,
            "hint": m.hint,
            "fails": m.fails,
            "prints": {test.name: print_of(exercise.name, m.name, test.name, drawn)},
        }
        for m in exercise.mistakes
        if verdict.check in m.fails
    ]
    return verdict.named(fingerprint.recognise(verdict.check, test.name, print_, lambda: failed, known))


def _two_at_once(
    exercise: Exercise, verdict: Verdict, test: Test | None, print_: dict | None, failed: set[str], seen: list[str], seed: int
) -> Verdict:
    """Return the verdict with the names of two known mistakes that together explain it, if no single one does."""
    # An error is that of one of the two; a measurement leaves no print of what came, and takes a second.
    if verdict.mistake or verdict.outcome is not Outcome.WRONG or test.measures:
        return verdict
    for pair in pairs_that_fail(exercise, verdict.check, failed, seen):
        theirs = failure(test, _pair_learner(exercise.name, *pair.name.split("+")), seed, reference_learner(exercise.name))
        if theirs and fingerprint.same(print_, fingerprint.of(theirs)):
            return verdict.named(Named(pair.name, pair.title, pair.hint))
    return verdict


@kept(256)
def _pair_learner(exercise_name: str, one: str, other: str) -> Learner:
    exercise = exercises.load(exercise_name)
    known = {mistake.name: mistake for mistake in exercise.mistakes}
    return own_learner(exercise, together(exercise, known[one], known[other]))


@kept(4096)
def print_of(exercise_name: str, mistake: str, test_name: str, seed: int) -> dict | None:
    """Return the fingerprint that a known mistake leaves in a test, or None if it passes."""
    exercise = exercises.load(exercise_name)
    test = next(t for t in exercise.tests if t.name == test_name)
    error = failure(test, known_learner(exercise_name, mistake), seed, reference_learner(exercise_name))
    return fingerprint.of(error) if error else None


@kept()
def reference_learner(exercise_name: str) -> Learner:
    """Return the reference answer, run in this process: the only code there that may be."""
    return own_learner(exercises.load(exercise_name), None)


@kept(1024)
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

    def __init__(
        self,
        zygote: Zygote,
        exercise: Exercise,
        answers: dict[str, str],
        limits: Limits = Limits(),
        lost_names: dict[str, str] | None = None,
    ):
        self._zygote, self._exercise, self._limits = zygote, exercise, limits.allowing(exercise.seconds)
        self._cells = [_answered(cell, answers) for cell in exercise.code]
        self._lost_names = lost_names or {}
        self._broken: dict[str, Stopped] = {}
        self._worker: Worker | None = None
        self._times_up = 0  # calls that did not end
        self._spent = 0.0  # seconds in which the learner's code was waited for
        self.doubts = 0  # workers that ended by themselves, or that somebody else ended or kept from computing
        self.learner = Learner(self._send)

    def close(self) -> None:
        """End the worker; the next call gets a fresh one."""
        worker, self._worker = self._worker, None
        if worker is not None:
            with _ours():
                worker.end()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def _send(self, operation: str, target, args: tuple, kwargs: dict, ask=None, **more):
        """Return what the worker makes of an operation; `ask` answers what it asks back meanwhile."""
        if operation == "measured":
            return self._measured(target, args, kwargs)
        request = {"do": operation, "target": target, "args": args, "kwargs": kwargs, **more}
        return self._called(Worker.ask, request) if ask is None else self._on_trial(request, ask)

    def _on_trial(self, request: dict, ask):
        """Return what the worker answers, which may ask back: it is a worker of its own.

        What is learnt from an implementation is gone before the next one, or any other check, is looked at.
        """
        self.close()
        try:
            with _ours():
                self._zygote.prepare_for_trials()
            return self._called(partial(Worker.ask, reply=ask), request)
        finally:
            self.close()

    def _measured(self, target, calls: tuple, kwargs: dict) -> tuple[tuple[object, Cost], ...]:
        """Return results and costs of several calls, made by a worker that has done nothing before."""
        self.close()
        self._load(measured=True)
        requests = [{"do": "call", "target": target, "args": args, "kwargs": kwargs} for args in calls]
        return tuple(self._called(Worker.cost, request) for request in requests)

    def _called(self, way, request: dict):
        """Return what the worker answers to a call, asked in one of the ways that there are."""
        self._load()
        if isinstance(request["target"], str) and request["target"] in self._missing:
            raise self._missing[request["target"]]
        try:
            return self._ask(request, self._limits.patience(self._times_up), way)
        except TimeLimit as error:
            self._times_up += 1
            raise TimeLimit(f"{request['target']}: {error}" if isinstance(request["target"], str) else str(error)) from None
        except MemoryLimit:
            self.close()  # what it still holds would be missing in the next check
            raise
        except Raised as error:
            raise self._reason(error) from None

    def _load(self, measured: bool = False) -> None:
        """Bring up a worker with all cells run, leaving out those that kill it."""
        self._left()  # before a worker is started in vain
        while self._worker is None:
            self._worker = self._forked()
            self._ask({"do": "begin", "forbidden": self._exercise.forbidden, "measured": measured})
            for cell in self._cells:
                if cell.id not in self._broken:
                    self._run(cell)
                if self._worker is None:
                    break

    def _forked(self) -> Worker:
        with _ours():
            return self._zygote.fork(self._limits)

    def _run(self, cell: Cell) -> None:
        refusal = refused(cell, self._exercise.forbidden)
        try:
            if refusal:
                raise refusal
            self._ask({"do": "cell", "source": cell.source})
        except Stopped as error:
            self._broken[cell.id] = error

    @property
    def _missing(self) -> dict[str, Stopped]:
        """Why names that answer cells were to define may not be there."""
        promised = self._exercise.promised
        return {name: error for cell, error in self._broken.items() for name in promised.get(cell, ())}

    def _ask(self, request: dict, seconds: float | None = None, way=Worker.ask):
        left, seconds, begin = self._left(), seconds or self._limits.request_seconds, time.monotonic()
        try:
            with _ours():
                return way(self._worker, request, min(seconds, left))
        except Ended:
            self.doubts += 1
            raise
        except TimeLimit as error:
            self.doubts += self._worker.was_idle
            raise self._all_spent() if time.monotonic() - begin >= left else error from None
        finally:
            self._spent += time.monotonic() - begin
            if not self._worker.alive:
                self._worker = None

    def _left(self) -> float:
        """Return the seconds that are left for this submission; raises `TimeLimit` where none are."""
        if self._spent >= self._limits.submission_seconds:
            raise self._all_spent()
        return self._limits.submission_seconds - self._spent

    def _all_spent(self) -> TimeLimit:
        return TimeLimit(
            f"the cells and calls of this notebook together took {self._limits.submission_seconds:g} seconds, which is all that they may take"
        )

    def _reason(self, error: Raised) -> Stopped:
        """Return the error, or why the name that it misses is not there."""
        match = UNDEFINED.search(error.text) if error.kind == "NameError" else None
        name = match.group(1) if match else ""
        if name in self._missing:
            return self._missing[name]
        if name in self._lost_names:
            return Raised(error.kind, self._lost_names[name])
        return Raised(error.kind, error.text, self._place(error.where))

    def _place(self, where: str) -> str:
        """Return where an error was raised, if the learner's cells have such a place: a worker can send any text."""
        match, source = PLACE.fullmatch(where), "\n".join(cell.source for cell in self._cells)
        is_there = (
            match and int(match[2]) <= len(source.splitlines()) and (match[1] or "lambda") in {"module", "lambda", *WORD.findall(source)}
        )
        return where if is_there else ""


@contextmanager
def _ours() -> Iterator[None]:
    """Turn whatever breaks in the sandbox into a failure of ours: a test must not take it for an answer."""
    try:
        yield
    except (Stopped, JudgeFailed):
        raise
    except Exception as error:
        raise JudgeFailed(f"{type(error).__name__}: {error}") from error


def _answered(cell: Cell, answers: dict[str, str]) -> Cell:
    if cell.kind != ANSWER:
        return cell
    absent = f'raise NotImplementedError("the cell {cell.id} is not in the notebook")'
    return Cell(cell.id, ANSWER, answers.get(cell.id, absent))
