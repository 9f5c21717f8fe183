"""Mutation tests of what learners write as tests: these must let a right implementation pass and refuse a wrong one.

A test refuses an implementation by an AssertionError. The implementations stay on this side: the test gets a proxy
(`proxy.py`), and each call that it makes is checked here before anything runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

import torch
from jaxtyping import jaxtyped
from torch import Tensor

from .learner import Callee
from .outcome import Raised, Wrong
from .plain import Object
from .proxy import ERRORS, check_handed

MOST_CALLS = 200
MOST_RESULTS = 1 << 20  # numbers in one answer


class Contract:
    """What a function promises to take: the name and the annotations of `promise`, and what `limits` adds.

    `limits` is called like the function and returns a sentence on what goes too far, or None.
    Whatever a contract leaves open is refused here, with the same text for every implementation:
    otherwise a test could tell them apart by the ways in which they break.
    """

    def __init__(self, promise: Callable, limits: Callable[..., str | None] = lambda *args, **kwargs: None):
        self.name, self._limits = promise.__name__, limits
        self._signature = inspect.signature(promise)

    def take(self, args: tuple, kwargs: dict) -> tuple:
        """Return the arguments in order, all of them; raises TypeError or ValueError where they don't fit."""
        bound = self._signature.bind(*args, **kwargs)
        with jaxtyped("context"):  # a word means the same length in all annotations
            for name, value in bound.arguments.items():
                annotation = self._signature.parameters[name].annotation
                if not isinstance(value, annotation):
                    raise TypeError(f"{self.name}: {name} is {_about(value)}, which does not fit {inspect.formatannotation(annotation)}")
        bound.apply_defaults()
        if too_much := self._limits(*bound.args):
            raise ValueError(f"{self.name}: {too_much}")
        return bound.args


class Asked:
    """One implementation and the calls that a test makes to it. No call, and no result of one, raises anything here."""

    def __init__(self, contract: Contract, implementation: Callable):
        self.contract, self._implementation = contract, implementation
        self._random = torch.Generator().manual_seed(0).get_state()
        self.calls = 0
        self.own_errors = 0  # calls that fitted the contract and ended in an error of the implementation
        self.own_error = ""  # the kind of it, if the last call was one of these

    def answer(self, question) -> dict:
        """Return {"value": ...}, or {"error": kind, "text": ...}."""
        self.calls, self.own_error = self.calls + 1, ""
        try:
            given = self._taken(question)
        except Exception as error:
            return _error(_kind(error), str(error)[:500])
        try:
            return {"value": self._run(given)}
        except Exception as error:
            # Its own text could name the code that it comes from; the kind of error is all that a test may know.
            self.own_errors, self.own_error = self.own_errors + 1, _kind(error)
            return _error(self.own_error, f"{self.contract.name}({', '.join(map(_about, given))}) ends with this error")

    def _taken(self, question) -> tuple:
        if self.calls > MOST_CALLS:
            raise RuntimeError(f"{MOST_CALLS} calls are enough for one test")
        if not (isinstance(question, dict) and isinstance(question.get("args"), tuple) and isinstance(question.get("kwargs"), dict)):
            raise TypeError("a call has arguments")
        check_handed([*question["args"], *question["kwargs"].values()])
        return self.contract.take(question["args"], question["kwargs"])

    def _run(self, given: tuple):
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            # Numbers of its own: a test that sets the seed can't foretell them, and gets the same ones each time.
            torch.set_rng_state(self._random)
            result = self._implementation(*given)
            self._random = torch.get_rng_state()
        if result.numel() > MOST_RESULTS:
            raise ValueError("the result is too large")
        return result.detach().clone(memory_format=torch.contiguous_format)


def _kind(error: Exception) -> str:
    return type(error).__name__ if type(error).__name__ in ERRORS else "RuntimeError"


def _error(kind: str, text: str) -> dict:
    return {"error": kind, "text": text}


def _about(value) -> str:
    return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}" if isinstance(value, Tensor) else repr(value)[:40]


def expect_pass(test: Callee, contract: Contract, right: Callable) -> None:
    """Return None if the test lets a right implementation pass; raises `Wrong` if not, `Raised` if it breaks."""
    asked = Asked(contract, right)
    try:
        refusal = _refusal(test, asked)
    except Raised as error:
        raise _broken(error) from None
    if refusal is not None:
        raise _wrong(f"it refuses a right {contract.name}", "it refuses what is right", "it lets pass what is right", refusal)
    if not asked.calls:
        raise _wrong(f"it never calls the {contract.name} that it is given", "it never calls what it is given", "it calls what it is given")


def expect_refusal(test: Callee, contract: Contract, wrong: Callable, title: str, right: Callable) -> None:
    """Return None if the test refuses a wrong implementation; `title` says what is wrong with it.

    Raises `Wrong` if the test lets it pass. What else the test lets pass, made from a `right` one, then shows how little it looks at.
    """
    asked = Asked(contract, wrong)
    if _refuses(test, asked):
        return
    if asked.own_errors:
        seen = "it hears an error and keeps it to itself"
    elif _minds(test, contract, lambda *given: torch.zeros_like(right(*given))):
        seen = f"it misses {title}"
    elif _minds(test, contract, lambda *given: right(*given)[None]):
        seen = "it looks at the shape only"
    else:
        seen = "it lets everything pass"
    raise _wrong(f"it lets pass {title}", seen, "an AssertionError")


def _refuses(test: Callee, asked: Asked) -> bool:
    try:
        return _refusal(test, asked) is not None
    except Raised as error:
        if error.kind == asked.own_error:  # what the function raises and the test lets through has been noticed
            return True
        raise _broken(error) from None


def _minds(test: Callee, contract: Contract, implementation: Callable) -> bool:
    """Return whether a test refuses an implementation, or at least breaks on it."""
    try:
        return _refuses(test, Asked(contract, implementation))
    except Raised:
        return True


def _refusal(test: Callee, asked: Asked) -> str | None:
    """Return the text with which the test refuses an implementation, or None if it lets it pass."""
    refusal = test.mutation_test(asked.contract.name, asked.answer)
    if refusal is None or isinstance(refusal, str):
        return refusal
    raise _wrong("what came back is no outcome of a test", "no outcome", "an outcome")


def _broken(error: Raised) -> Raised:
    return Raised(f"your test breaks: {error.kind}", error.text, error.where)


def _wrong(sentence: str, came: str, expected: str, said: str = "") -> Wrong:
    """Return what is wrong with a test; `said` is the test's own text, and only that could carry anything to a page."""
    return Wrong("your test", f"{sentence}: {said}" if said else sentence, Object(came), Object(expected), sentence)
