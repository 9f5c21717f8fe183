"""The reference answer, which is asked the same for each submission of a class: what it answered once it need not compute again.

What a test asks of it follows from the seed, and only rarely from what a learner's answer has returned before. So the questions of a test and
the answers to them are kept; as long as a test asks what it asked before, in that order, it gets what came then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..kit.learner import Learner
from ..kit.plain import Handle

# What measures, or starts something anew, is never remembered.
REMEMBERED = {"call", "later", "unchanged", "strided", "gradients", "trained", "stepped", "switch", "double"}


@dataclass(frozen=True)
class _Question:
    """An operation on the reference answer, as it is sent."""

    asked: tuple
    more: dict

    def same(self, other: _Question) -> bool:
        return _same(self.asked, other.asked) and _same(self.more, other.more)


class RememberedLearner(Learner):
    """An answer of ours, in this process, that remembers what it answered in each test."""

    def __init__(self, learner: Learner):
        super().__init__(learner._send, forget=learner._drop, waiting=learner._waiting)
        self._known: dict[tuple[str, int], list[tuple[_Question, object]]] = {}

    def for_test(self, test: str, seed: int) -> Learner:
        known = self._known.setdefault((test, seed), [])
        return Learner(_Memory(self._send, known), forget=self._drop, waiting=self._waiting)


@dataclass
class _Memory:
    """One run of a test: `known` are the questions and answers of the runs before, of which `asked` have come again."""

    compute: Callable
    known: list[tuple[_Question, object]]
    asked: list[_Question] = field(default_factory=list)
    is_computing: bool = False
    is_new: bool = True  # until something comes that is not remembered

    def __call__(self, *asked, **more):
        question = _Question(asked, more)
        if not self.is_computing:
            if len(self.asked) < len(self.known) and question.same(self.known[len(self.asked)][0]):
                self.asked.append(question)
                return _copied(self.known[len(self.asked) - 1][1])
            self._catch_up()
        answer = self.compute(*asked, **more)
        self._remember(question, answer)
        return answer

    def _catch_up(self) -> None:
        """Compute what was only remembered: from here on, modules are needed as they would be."""
        self.is_computing = True
        for question in self.asked:
            self.compute(*question.asked, **question.more)

    def _remember(self, question: _Question, answer: object) -> None:
        """Add to what is known where this run has gone as far as any; an answer that stands for a module has no meaning in another run."""
        self.is_new &= len(self.asked) == len(self.known) and question.asked[0] in REMEMBERED and not isinstance(answer, Handle)
        if self.is_new:
            self.known.append((_Question(_copied(question.asked), _copied(question.more)), _copied(answer)))
            self.asked.append(question)


def _same(one, other) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(value, other[name]) for name, value in one.items())
    return one == other


def _copied(value):
    """Return a copy that may be written into."""
    if isinstance(value, Tensor):
        return value.clone()
    if isinstance(value, (tuple, list)):
        return type(value)(map(_copied, value))
    return {name: _copied(each) for name, each in value.items()} if isinstance(value, dict) else value
