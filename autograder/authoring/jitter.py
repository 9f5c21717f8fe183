"""What known mistakes leave in tests, the same on every machine.

Processors and libraries round differently: one takes a sum in another order than the next, and an exponential ends in another
digit. So what is written of a known mistake is not what this machine's own arithmetic makes of it. Each of torch's operations
is computed in double precision, moved by as much as single precision could be off, and rounded to the type that was asked for.
Double precision errs too little to be seen in the result, and the moves, random to look at, are made from the digits of the
number itself: they are the same everywhere, and nothing that is computed twice comes out in two ways.

That is done twice, with other moves. A print that does not come twice rests on rounding, not on the mistake, and is left out:
nobody would be recognised by it elsewhere. What a call costs, and what a training comes to, is not looked at in this way:
tests tell it in words, which leave much room on either side. (Monte Carlo arithmetic: Parker, Pierce and Eggert, Computing in Science &
Engineering 2(4), 2000.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode

from ..judging.answers import known_learner, reference_learner
from ..kit import fingerprint
from ..kit.recognise import left
from ..kit.suite import VISIBLE_SEED, Test

NARROW = (torch.float32, torch.float16, torch.bfloat16)
SPAN = 2.0**-22  # relative; two of the steps between numbers of 32 bits
HELD = 2.0**-40  # relative; what is as near to a number of 32 bits as this is that number, but for an error of double precision
HALF = 8  # of a block of numbers that torch draws from a normal distribution
KEYS = (-7046029254386353131, -4417276706812531889)  # odd, with bits all over: the golden ratio's, and a prime's


def steady_print(exercise_name: str, mistake: str, test: Test) -> dict | None:
    """Return the fingerprint that a known mistake leaves in a visible test on any machine.

    None where it passes, and {} where it fails and leaves none, or not the same one each time.
    """
    measured = print_here(exercise_name, mistake, test) if test.measures else None
    if test.measures and _in_words(measured):
        return measured
    try:
        found, was_rounded = _jittered(KEYS[0], exercise_name, mistake, test)
        again, _ = _jittered(KEYS[1], exercise_name, mistake, test) if found and was_rounded else (found, False)
    except Trains:
        found = again = print_here(exercise_name, mistake, test)
        if not _in_words(found):
            return {}
    if found is again is None:
        return None
    if found and "raised" in found:  # in torch's words, which depend on the way that an operation takes; no rounding is in them
        return print_here(exercise_name, mistake, test)
    return found if fingerprint.same(found, again, fingerprint.TOLERANCE / 4) else {}


def _jittered(key: int, *what) -> tuple[dict | None, bool]:
    """Return the print and whether any number on the way to it had to be rounded."""
    with Jitter(key) as jitter:
        return print_here(*what), jitter.has_rounded


def print_here(exercise_name: str, mistake: str, test: Test) -> dict | None:
    """Return what a known mistake leaves in a visible test on this machine: `Suspect.left`."""
    return left(test, known_learner(exercise_name, mistake), VISIBLE_SEED, reference_learner(exercise_name))


def _in_words(print_: dict | None) -> bool:
    """Return whether a print, if there is one, holds no number that was rounded."""
    return print_ is None or "float" not in print_.get("dtype", "") and not {"parts", "number"} & print_.keys()


class Trains(KeyboardInterrupt):
    """A test has begun to train a model: to be gone through all that catches the errors of answers, as Ctrl-C does."""


class Jitter(TorchDispatchMode):
    """Within it, torch computes as no machine does and every machine could: see above. Raises `Trains`.

    What torch draws at random is left as it is: that comes from integers, and is the same everywhere. `span` is by what share of itself a
    number may be moved.
    """

    def __init__(self, key: int, span: float = SPAN):
        super().__init__()
        self._key, self._span = key, span
        self.has_rounded = False

    def __enter__(self):
        self._hook = register_optimizer_step_pre_hook(_stop)
        return super().__enter__()

    def __exit__(self, *error):
        self._hook.remove()
        return super().__exit__(*error)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs, about = kwargs or {}, _about(function)
        if not about.makes:
            return function(*args, **kwargs)
        state = torch.get_rng_state() if about.may_draw else None
        if kwargs.get("generator") is not None:
            return function(*args, **kwargs)
        exact_args, exact_kwargs = _widened(args, about.written), _widened(kwargs, about.written)
        result = function(*args, **kwargs)
        made = about.made(args, kwargs, result)
        if not any(part.dtype in NARROW and part.device.type == "cpu" for part in made):
            return result
        if state is not None and not torch.equal(state, torch.get_rng_state()):
            exact = [_drawn(function, args, part, state) for part in made]
        else:
            exact = about.made(exact_args, exact_kwargs, function(*exact_args, **exact_kwargs))
        for part, wide in zip(made, exact):
            if part.dtype in NARROW:
                part.copy_(self._moved(wide))
        return result

    def _moved(self, exact: Tensor) -> Tensor:
        """Return numbers that 32 bits could have come to in place of the exact ones; where they hold these, the same."""
        near = exact.float()
        lost = (exact - near).abs_() > HELD * exact.abs()
        if not lost.any():
            return near
        self.has_rounded = True
        # The sign has no say: minus x is rounded as x is.
        bits = near.abs().view(torch.int32).long()
        moves = (bits * self._key >> 33).double() / 2**30
        return torch.where(lost, exact * (1 + self._span * moves), near)


def _stop(*about_the_step):
    raise Trains


@dataclass(frozen=True)
class _About:
    """What an operation of torch's does: it writes into arguments, by place and name, makes new tensors as some of its results, or both."""

    written: tuple[tuple[int, str], ...]
    fresh: tuple[bool, ...]
    may_draw: bool

    @property
    def makes(self) -> bool:
        return bool(self.written) or any(self.fresh)

    def made(self, args, kwargs: dict, result) -> list[Tensor]:
        """Return the tensors that were written or made."""
        found = [args[place] if place < len(args) else kwargs.get(name) for place, name in self.written]
        found += [part for part, fresh in zip(result if isinstance(result, tuple) else (result,), self.fresh) if fresh]
        return [part for each in found for part in (each if isinstance(each, (list, tuple)) else (each,)) if isinstance(part, Tensor)]


@cache
def _about(function) -> _About:
    schema, is_empty = function._schema, "empty" in function._schema.name
    written = tuple((n, each.name) for n, each in enumerate(schema.arguments) if each.alias_info and each.alias_info.is_write)
    fresh = tuple(each.alias_info is None and not is_empty for each in schema.returns)
    return _About(written, fresh, torch.Tag.nondeterministic_seeded in function.tags)


def _drawn(function, args, drawn: Tensor, state: Tensor) -> Tensor:
    """Return in double precision what an operation has drawn at random when torch's generator was in this state.

    The generator makes whole numbers, which are the same everywhere; only what is made of them is rounded.
    """
    name, after = function.overloadpacket.__name__, torch.get_rng_state()
    is_normal = name in ("normal_", "randn", "randn_like") and drawn.numel() >= 2 * HALF  # fewer are made in double precision
    if drawn.dtype != torch.float32 or not (is_normal or name == "uniform_"):
        return drawn.double()
    first, second = args[1:3] if name.endswith("_") and len(args) > 2 else (0.0, 1.0)
    torch.set_rng_state(state)
    even = torch.rand(drawn.numel()).double()
    exact = first + second * _normal(even) if is_normal else first + (second - first) * even
    torch.set_rng_state(after)
    return exact.reshape(drawn.shape)


def _normal(even: Tensor) -> Tensor:
    """Return normally distributed numbers, made of evenly distributed ones as torch does it: in blocks, the last of which may need fresh ones."""
    rest = len(even) % (2 * HALF)
    made = _box_muller(even[: len(even) - rest])
    if not rest:
        return made
    return torch.cat([made[: rest - 2 * HALF], _box_muller(torch.rand(2 * HALF).double())])


def _box_muller(even: Tensor) -> Tensor:
    u, v = even.reshape(-1, 2, HALF).unbind(1)
    radius, angle = (-2 * (1 - u).log()).sqrt(), 2 * math.pi * v
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1).flatten()


def _widened(value, copied):
    """Return an argument in double precision, or arguments; `copied` says whether the operation may write into them."""
    if isinstance(value, Tensor):
        return value.double() if value.dtype in NARROW else value.clone() if copied else value
    if isinstance(value, (list, tuple)):
        return [_widened(part, copied) for part in value]
    if isinstance(value, dict):
        return {name: _widened(part, copied) for name, part in value.items()}
    return torch.float64 if value in NARROW else value
