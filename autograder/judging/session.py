"""One submission in the sandbox: it carries the calls of tests to workers, and outlives these."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from ..exercise.model import Exercise
from ..kit.cells import ANSWER, Cell, refused
from ..kit.cost import Cost
from ..kit.learner import Call, Learner
from ..kit.outcome import Ended, JudgeFailed, MemoryLimit, Raised, Stopped, TimeLimit, undefined
from ..limits import Limits
from ..sandbox.client import Worker, Zygote

PLACE = re.compile(r"(?:in <?(\w+)>?, )?line (\d{1,5})", re.ASCII)
WORD = re.compile(r"\w+")


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
        self.doubts = 0  # workers that ended by themselves, or that something else ended or kept from computing
        self.own_doing = False  # whether the learner's code may have brought that about
        self.learner = Learner(self._send, together=True)

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

    def _send(self, operation: str, target, args: tuple, kwargs: dict, ask=None, before: Sequence[Call] = (), **more):
        """Return the worker's result of an operation; `ask` answers the questions that the worker asks back meanwhile.

        The calls `before` are made first, by the same worker. What starts another one does without them.
        """
        if operation == "measured":
            return self._measured(target, args, kwargs)
        if operation == "restart":
            return self.close()
        request = {"do": operation, "target": target, "args": args, "kwargs": kwargs, **more}
        if ask is not None:
            return self._mutation_test(request, ask)
        return self._called(Worker.ask, *map(_request, before), request)

    def _mutation_test(self, request: dict, ask):
        """Return what a worker answers that may ask back; it is started for this one mutation test.

        What it learns of an implementation is gone before the next one, or any other check, comes.
        """
        self.close()
        try:
            with _ours():
                self._zygote.prepare_for_mutation_tests()
            return self._called(partial(Worker.ask, reply=ask), request)
        finally:
            self.close()

    def _measured(self, target, calls: tuple, kwargs: dict) -> tuple[tuple[object, Cost], ...]:
        """Return results and costs of several calls, made by a worker that has done nothing before."""
        self.close()
        self._load(measured=True)
        requests = [{"do": "call", "target": target, "args": args, "kwargs": kwargs} for args in calls]
        return tuple(self._called(Worker.cost, request) for request in requests)

    def _called(self, way, *requests: dict):
        """Return the worker's answer to a call, or to the last of several; `way` is the method of `Worker` that asks for it."""
        self._load()
        for at, request in enumerate(requests):
            if isinstance(request["target"], str) and request["target"] in self._missing:
                raise _at(self._missing[request["target"]], at)
        names = [request["target"] for request in requests if isinstance(request["target"], str)]
        try:
            return self._ask(_together(requests), self._limits.patience(self._times_up), way)
        except TimeLimit as error:
            self._times_up += 1
            raise TimeLimit(f"{names[-1]}: {error}" if names else str(error)) from None
        except MemoryLimit:
            self.close()  # what it still holds would be missing in the next check
            raise
        except Raised as error:
            raise _at(self._reason(error), error.at) from None

    def _load(self, measured: bool = False) -> None:
        """Bring up a worker with all cells run, leaving out those that kill it."""
        self._left()  # raises before a worker is started in vain
        while self._worker is None:
            self._worker = self._forked(measured)
            for cell in self._cells:
                if cell.id not in self._broken:
                    self._run(cell)
                if self._worker is None:
                    break

    def _forked(self, measured: bool) -> Worker:
        with _ours():
            return self._zygote.fork(self._limits, self._exercise.forbidden, measured)

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
        """The names that answer cells should have defined and did not, with the reason."""
        promised = self._exercise.promised
        return {name: error for cell, error in self._broken.items() for name in promised.get(cell, ())}

    def _ask(self, request: dict, seconds: float | None = None, way=Worker.ask):
        left, seconds, started = self._left(), seconds or self._limits.request_seconds, time.monotonic()
        worker = self._worker
        assert worker is not None
        granted = worker.granted

        def spent() -> float:
            return time.monotonic() - started - (worker.granted - granted)

        try:
            with _ours():
                return way(worker, request, min(seconds, left))
        except Ended as error:
            self.doubts += 1
            self.own_doing |= not error.from_outside
            raise
        except TimeLimit as error:
            self.doubts += worker.was_idle
            self.own_doing |= worker.was_idle
            raise self._all_spent() if spent() >= left else error from None
        finally:
            self._spent += spent()
            if not worker.alive:
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
        """Return the error, or the reason why a name that it misses is not there."""
        found = undefined(error, self._missing, self._lost_names)
        return Raised(error.kind, error.text, self._place(error.where)) if found is error else found

    def _place(self, where: str) -> str:
        """Return where an error was raised, if the learner's cells have that place; else nothing, for a worker can send any text."""
        match, source = PLACE.fullmatch(where), "\n".join(cell.source for cell in self._cells)
        is_there = (
            match and int(match[2]) <= len(source.splitlines()) and (match[1] or "lambda") in {"module", "lambda", *WORD.findall(source)}
        )
        return where if is_there else ""


def _request(call: Call) -> dict:
    return {"do": call.operation, "target": call.target, "args": call.args, "kwargs": call.kwargs, **call.more}


def _together(requests: tuple[dict, ...]) -> dict:
    return {"do": "together", "calls": list(requests)} if len(requests) > 1 else requests[0]


def _at(error: Stopped, at: object) -> Stopped:
    """Return an error of one of several calls, with the number of that call."""
    error.at = at
    return error


@contextmanager
def _ours() -> Iterator[None]:
    """Raise whatever breaks in the sandbox as a failure of ours: a test must not take it for an answer."""
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
