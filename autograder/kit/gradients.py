"""Gradients, and steps of gradient descent, judged by what cannot be made up.

What a learner's process says of its gradients is a claim: it could come from anywhere. So the judge draws the cotangent, which says how
much each number of the output counts, and knows what has to come back. Where there is a right answer to compare with, that is its gradient,
number by number. Where there is none, or the output is not the right one, which another check says, the gradient still has to be the slope
of that output in directions that nobody could foresee.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from .compare import expect, expect_trained
from .draw import Draw
from .forbidden import NoGuard
from .learner import Anew, Callee, local
from .outcome import Raised, Sentence, Wrong
from .plain import Handle

NOTHING = 1e-5  # of what output and cotangent measure: a gradient as small as this is what rounding leaves of zero
OFF = 3e-3  # of the largest number: what is as near to a right output as rounding leaves it may change by so much less or more
CAREFUL = (0.01, 0.0001)  # times the step where nobody knows how steep it is, one after the other
SLOPE, NONE, NO_NUMBER = "the slope of the output", "none", "not a number somewhere"


@dataclass(frozen=True)
class _Way:
    """How a slope is found: the bits of the inputs, the length of a step, the part of a slope that may be missing, how many directions are tried."""

    bits: int
    length: float
    missing: float
    directions: int


# In 64 bits a step is so short that it hardly ever crosses the bend of a ReLU. Code that works in 32 needs a longer one, or rounding is all.
FINE, COARSE = _Way(64, 1e-5, 1e-3, 2), _Way(32, 0.01, 0.03, 4)


@dataclass(frozen=True)
class _Question:
    """A call whose gradients are asked for, and the cotangent: how much each number of its output counts."""

    callee: Callee
    inputs: tuple
    part: int | None
    cotangent: Tensor

    def gradients(self, places: list[int]) -> tuple:
        return self.callee.gradients(*self.inputs, wrt=places, pick=self.part, against=self.cotangent)

    def weighed(self) -> float:
        """Return the sum of the output's numbers, as much as each counts; no number where there is no output."""
        try:
            return float((_output(self.callee, self.inputs, self.part).double() * self.cotangent.double()).sum())
        except Raised:  # as where 64 bits meet the 32 of a module's own
            return float("nan")

    def moved(self, place: int, by: Tensor) -> _Question:
        before, it, after = self.inputs[:place], self.inputs[place], self.inputs[place + 1 :]
        return replace(self, inputs=(*before, it + by.to(it.dtype), *after))

    @property
    def ways(self) -> tuple[_Way, _Way]:
        """The ways to find a slope; a module, which holds numbers of its own, is turned to 64 bits only when nothing else helps."""
        return (COARSE, FINE) if isinstance(self.callee.target, Handle) else (FINE, COARSE)

    def in_bits(self, bits: int) -> _Question:
        if bits == 32:
            return self
        if isinstance(self.callee.target, Handle):
            self.callee.double()
        return replace(self, inputs=tuple(map(_doubled, self.inputs)))


def expect_gradients(
    callee: Callee,
    names: Sequence[str | None],
    *inputs,
    draw: Draw,
    true: Callee | Callable | None = None,
    part: int | None = None,
    strict: bool = False,
    elsewhere: Collection[str] = (),
) -> None:
    """Return None if the gradients of a call are right.

    `names` are those of the first inputs, and None for one whose gradient is not asked for. `true` gives the right output: a function or
    module of the reference answer, or one made of torch's operations. `part` says which of several results is meant. Where the output is
    not the right one, which another check says, the gradients may be the slopes of that one, unless `strict`. `elsewhere` has what
    other checks ask for: `NONE`, whether there is a gradient at all, or `NO_NUMBER`, whether the output is a number.
    Raises `Wrong` for a gradient that does not arrive, that is no number somewhere, or that is another than it should be.
    """
    output = _output(callee, inputs, part)
    question = _Question(callee, inputs, part, draw(*output.shape, dtype=output.dtype))
    places = [place for place, name in enumerate(names) if name]
    came = question.gradients(places)
    wanted = [None] * len(places) if true is None else _wanted(_of_the_true(true, question), question, output, places, strict)
    size = float(question.cotangent.double().norm() * output.double().norm())
    for place, gradient, right in zip(places, came, wanted):
        what = f"gradient of {names[place]}"
        if (state := _state_of(gradient)) in elsewhere and not (state == NO_NUMBER and output.isfinite().all()):
            callee.learner.excuse(Wrong(what, f"{state} where {SLOPE} was expected", state, SLOPE, Sentence.VALUES))
            continue
        if right is not None and (strict or gradient is not None):
            _expect_near(gradient, right, what)
        else:
            expect(_state(question, place, gradient, size, draw), SLOPE, what)


def expect_learning(callee: Anew, count: int, *inputs, draw: Draw, true: Anew, size: float = 0.01) -> None:
    """Return None if so many numbers of a module learn, and each as it should.

    The judge takes a step of gradient descent, of this size and along a cotangent that it draws. By that the outputs have to change as those
    of `true` do, a module with the same weights. Where they were not the right ones before, which another check says, the step has to lead
    down all the same. Raises `Wrong`.
    """
    expect_trained(callee.fresh().trained(*inputs), count)
    before = _output(callee, inputs)
    cotangent = draw(*before.shape, dtype=before.dtype)
    stayed, right = _outputs(callee, inputs, cotangent, 0.0), []
    if _is_right_or_excused(callee, before, true(*inputs)):
        right = _outputs(true, inputs, cotangent, 0.0)
    if right and all(_is_right_or_excused(callee, *each) for each in zip(stayed, right)):
        pairs = zip(_changes(callee, inputs, cotangent, size, stayed), _changes(true, inputs, cotangent, size, right))
        for change, expected in pairs:
            _expect_near(change, expected, "change of the output in a step of gradient descent")
    else:
        led = any(_leads_down(before, stayed, _changes(callee, inputs, cotangent, times * size, stayed), cotangent) for times in CAREFUL)
        expect(led, count > 0, "whether a step of gradient descent leads down")


def _outputs(module: Anew, inputs: tuple, cotangent: Tensor, size: float) -> list[Tensor]:
    """Return what a new module makes, after a step of gradient descent, of the same inputs in another order, and of these inputs."""
    made, others = module.fresh(), tuple(each.flip(0) if isinstance(each, Tensor) else each for each in inputs)
    made.stepped(*inputs, against=cotangent, size=size)
    return [_output(made, others), _output(made, inputs)]


def _changes(module: Anew, inputs: tuple, cotangent: Tensor, size: float, stayed: list[Tensor]) -> list[Tensor]:
    """Return by how much a step changes the outputs that come after it; `stayed` are those without it."""
    return [after - before for before, after in zip(stayed, _outputs(module, inputs, cotangent, size))]


def _leads_down(before: Tensor, stayed: list[Tensor], changes: list[Tensor], cotangent: Tensor) -> bool:
    """Return whether a step led down, or somewhere at all where the module kept something of the calls before."""
    if stayed[-1].shape == before.shape and torch.allclose(stayed[-1], before):
        return float((changes[-1].double() * cotangent.double()).sum()) < 0
    return any(bool(change.any()) for change in changes)


def _expect_near(came, wanted: Tensor, what: str) -> None:
    """Return None if each number is right, but for what comes of rounding on the way; raises `Wrong`."""
    alike = isinstance(came, Tensor) and (came.shape, came.dtype) == (wanted.shape, wanted.dtype)
    if not (alike and torch.allclose(came, wanted, rtol=0, atol=OFF * float(wanted.abs().max()))):
        expect(came, wanted, what)


def _is_right_or_excused(callee: Callee, came, expected) -> bool:
    """Return whether an output is the right one; if not, another check has to say so."""
    try:
        expect(came, expected)
    except Wrong as wrong:
        callee.learner.excuse(wrong)
        return False
    return True


def _output(callee: Callee, inputs: tuple, part: int | None = None) -> Tensor:
    """Return the output of a call; raises `Wrong` where it is no tensor of floats."""
    result = callee(*inputs)
    output = result[part] if part is not None and isinstance(result, tuple) and part < len(result) else result
    if not isinstance(output, Tensor) or not output.dtype.is_floating_point:
        expect(output, torch.zeros(()), "output")
    return output


def _of_the_true(true: Callee | Callable, question: _Question) -> _Question:
    """Return the same question to what is right; a function of ours gets None in place of the learner's own functions and modules."""
    if isinstance(true, Callee):
        return replace(question, callee=true)
    inputs = tuple(None if isinstance(each, Callee) else each for each in question.inputs)
    return replace(question, callee=local({"true": true}, NoGuard()).true, inputs=inputs)


def _doubled(value):
    return value.double() if isinstance(value, Tensor) and value.dtype.is_floating_point else value


def _wanted(true: _Question, question: _Question, output: Tensor, places: list[int], strict: bool) -> Sequence[Tensor | None]:
    """Return the gradients that belong to a right output; None for each where this one is not right."""
    expected = _output(true.callee, true.inputs, true.part)
    if strict and output.shape != expected.shape:  # the cotangent is none of a right output
        expect(output, expected, "output")
    if not strict and not _is_right_or_excused(question.callee, output, expected):
        return [None] * len(places)
    return true.gradients(places)


def _state(question: _Question, place: int, gradient, size: float, draw: Draw) -> str:
    """Return in words what a gradient is: `SLOPE`, or what is wrong with it."""
    if (state := _state_of(gradient)) or gradient.shape != question.inputs[place].shape:
        return state or NONE
    if not gradient.double().norm() > NOTHING * size:
        return "zero everywhere"
    return SLOPE if any(_is_slope(question, place, gradient, way, draw) for way in question.ways) else "not the slope of the output"


def _state_of(gradient) -> str:
    """Return what can be said of a gradient by itself, if anything."""
    if not isinstance(gradient, Tensor):
        return NONE
    return "" if gradient.isfinite().all() else NO_NUMBER


def _is_slope(question: _Question, place: int, gradient: Tensor, way: _Way, draw: Draw) -> bool:
    """Return whether a gradient says how the output changes in directions drawn at random."""
    asked = question.in_bits(way.bits)
    # What a gradient says of one direction among so many is about this part of its length.
    usual = float(gradient.double().norm()) / gradient.numel() ** 0.5
    for _ in range(way.directions):
        direction = draw(*gradient.shape, dtype=torch.float64)
        direction /= direction.norm()
        ahead, behind = (asked.moved(place, side * way.length * direction).weighed() for side in (1, -1))
        if not abs(float((gradient.double() * direction).sum()) - (ahead - behind) / (2 * way.length)) < way.missing * usual:
            return False
    return True
