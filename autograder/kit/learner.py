"""The `learner` that tests talk to: a proxy whose attributes are the learner's names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count

import torch
from torch import Tensor

from .devices import META
from .operations import Operations, names_of
from .outcome import Raised, Sentence, Stopped, Wrong, undefined
from .plain import Handle, Object
from .values import call


@dataclass(frozen=True)
class Excuse:
    """A wrong answer that one test lets pass, since it costs one of the checks `charged`, or any where that names none."""

    wrong: Wrong
    charged: frozenset[str]


@dataclass(frozen=True)
class Call:
    """An operation on the learner's code, as it is sent, and the call as a learner would have typed it."""

    operation: str
    target: object
    args: tuple
    kwargs: dict
    more: dict
    typed: tuple[str, tuple, dict]


@dataclass
class Waiting:
    """The calls of which no answer is needed: they are sent with the next one of which one is."""

    calls: list[Call] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: count(-1, -1))  # of what they make; those that `Operations` gives count from 0

    def taken(self) -> tuple[Call, ...]:
        """Return the calls, which wait no longer."""
        calls = tuple(self.calls)
        self.calls.clear()
        return calls

    def clear(self) -> None:
        """Forget the calls, and count anew: in each test the same numbers stand for the same."""
        self.calls.clear()
        self.numbers = count(-1, -1)


# Of these nothing comes back.
SILENT = {"later", "stepped", "shake", "wipe", "switch", "double"}


class Learner:
    """Sends calls to the learner's code, wherever that runs, and returns plain values.

    `send(operation, *arguments)` goes to `Operations` in the notebook, and to a worker in a judge. Where it takes several calls at once, as
    `before`, those of which nothing comes back go together with the next one: each way to a worker and back costs as much as a short call.
    """

    def __init__(
        self,
        send,
        device: str | None = None,
        calls: list | None = None,
        forget=lambda: None,
        excuses: list | None = None,
        devices: Sequence[str] = (META,),
        waiting: Waiting | None = None,
        together: bool = False,
    ):
        self._send = send
        self._device = device
        self._calls = [("", (), {})] if calls is None else calls
        self._drop = forget  # what the calls of a test have left behind
        self._excuses: list[Excuse] = [] if excuses is None else excuses
        self._devices = devices  # other than the CPU, to which the code can be asked to go
        self._waiting = Waiting() if waiting is None else waiting
        self._together = together

    @property
    def last_call(self) -> str:
        """Return the latest call as text, as a learner would have typed it."""
        title, args, kwargs = self._calls[-1]
        return call(title, tuple(map(_shown, args)), {name: _shown(a) for name, a in kwargs.items()}) if title else ""

    def on(self, device: str) -> Learner:
        """Return the same learner with inputs and modules on `device`."""
        return Learner(self._send, device, self._calls, self._drop, self._excuses, self._devices, self._waiting, self._together)

    def asked_through(self, ask: Callable) -> Learner:
        """Return the same learner whose calls go through `ask(send, operation, target, args, kwargs, **more)`, one at a time."""
        return Learner(partial(ask, self._send), forget=self._drop, devices=self._devices, waiting=self._waiting)

    def for_test(self, test: str, seed: int) -> Learner:
        """Return the learner that a test of this name talks to, with this seed: this one, where nothing is remembered."""
        return self

    def end_test(self) -> None:
        """Drop what the calls of a test have left behind, and those that it did not wait for."""
        self._waiting.clear()
        self._drop()

    def excuse(self, wrong: Wrong, *charged: str) -> None:
        """Let a wrong answer pass because one of these checks says that it is wrong, or any other one where none is named.

        Where no such check fails, the judge takes the excuse back: `suite.run_check` hands it on.
        """
        self._excuses.append(Excuse(wrong, frozenset(charged)))

    def _excused(self) -> tuple[Excuse, ...]:
        """Return what was excused since this was last asked."""
        found = tuple(self._excuses)
        self._excuses.clear()
        return found

    def __getattr__(self, name: str) -> Callee:
        if name.startswith("_"):
            raise AttributeError(name)
        return Callee(self, name, name)

    def _ask(self, operation: str, callee: Callee, args: tuple, kwargs: dict, **more):
        typed = callee.title, args[-1] if operation == "measured" else args, kwargs
        sent = tuple(_target(a) for a in args), {name: _target(a) for name, a in kwargs.items()}
        call = Call(operation, callee.target, *sent, more, typed)
        if self._together and operation in SILENT:
            return self._waiting.calls.append(call)
        return self._wrap(self._answer(self._waiting.taken(), call), callee)

    def _answer(self, before: tuple[Call, ...], call: Call):
        """Return the answer to a call; those before it are made first, and if one of them raises an error, that is the latest call."""
        self._calls[-1] = call.typed
        first = {"before": before} if before else {}  # only who takes several calls at once gets them
        try:
            return self._send(call.operation, call.target, call.args, call.kwargs, **call.more, **first)
        except Stopped as error:
            if isinstance(error.at, int) and 0 <= error.at < len(before):  # a worker says so, and may say anything
                self._calls[-1] = before[error.at].typed
            raise

    def _wrap(self, value, callee: Callee):
        if isinstance(value, Handle):
            return Callee(self, value, f"{callee.title}(...)")
        if isinstance(value, tuple):
            return tuple(self._wrap(part, callee) for part in value)
        return value


class Callee:
    """A function, class or module of the learner's."""

    def __init__(self, learner: Learner, target, title: str):
        self.learner, self.target, self.title = learner, target, title

    def __call__(self, *args, **kwargs):
        return self.learner._ask("call", self, args, kwargs, device=self.learner._device)

    def later(self, *args, **kwargs) -> Callee:
        """Return what the call makes, such as a module. It may be made only with the next call that has an answer, so an error comes with that one."""
        made = Handle(next(self.learner._waiting.numbers))
        self.learner._ask("later", self, args, kwargs, number=made.number, device=self.learner._device)
        return Callee(self.learner, made, f"{self.title}(...)")

    def pair(self, *args, **kwargs) -> tuple[Tensor, Tensor]:
        """Return the two tensors that the call must return; raises `Wrong` for anything else."""
        result = self(*args, **kwargs)
        if not (isinstance(result, tuple) and len(result) == 2):
            raise Wrong.plainly("what is returned", Sentence.PAIR, result)
        return result

    def unchanged(self, *args, **kwargs):
        """Return what the call returns; raises `Wrong` if it wrote into one of its inputs."""
        result, claimed = self.learner._ask("unchanged", self, args, kwargs, device=self.learner._device)
        written = [name for name in names_of(args, kwargs) if name in claimed]  # names of ours, whatever text a worker sends
        if written:
            reason = f"{' and '.join(written)} changed in place, where whoever called may still need what was there"
            raise Wrong("inputs", reason, ", ".join(written), "all as they were", Sentence.WRITTEN)
        return result

    def strided(self, *args, **kwargs):
        """Return what the call returns for the same inputs where their entries lie in memory in another order, as after a transpose."""
        return self.learner._ask("strided", self, args, kwargs, device=self.learner._device)

    def gradients(self, *args, wrt: Sequence[str | int], against: Tensor, pick: int | None = None, **kwargs):
        """Return the gradients with respect to the named arguments, or to those at these places; `against` says how much each number counts.

        They are claims: `gradients.expect_gradients` compares them with what is true.
        """
        return self.learner._ask("gradients", self, args, kwargs, wrt=wrt, pick=pick, against=against, device=self.learner._device)

    def measured(self, *calls: tuple, **kwargs) -> tuple:
        """Return, for one call after the other, the result and its `Cost`; `calls` holds the arguments of each.

        In a judge a fresh worker makes all of them, and the kernel says what they cost: objects made before are gone.
        """
        return self.learner._ask("measured", self, calls, kwargs)

    def trained(self, *args, **kwargs) -> tuple[int, int]:
        """Return how many numbers of a module can learn, and how many one backward pass reaches.

        These are claims: `gradients.expect_learning` looks at what learning does.
        """
        return self.learner._ask("trained", self, args, kwargs, device=self.learner._device)

    def stepped(self, *args, against: Tensor, size: float, **kwargs) -> None:
        """Have a module take a step of gradient descent, down its output, each number of which counts as `against` says."""
        self.learner._ask("stepped", self, args, kwargs, against=against, size=size, device=self.learner._device)

    def mutation_test(self, name: str, ask):
        """Return the text with which a learner's test refuses the implementation called `name`, or None if it lets it pass.

        `ask` answers what the test asks of it, as `mutation.Asked` does.
        """
        return self.learner._ask("mutation_test", self, (Object(name),), {}, ask=ask)

    def numbers(self) -> tuple:
        """Return all tensors that a module would be saved as, in its own order, or what came in their place: a claim, as all that a worker says."""
        return self.learner._ask("numbers", self, (), {})

    def saved(self, make: Callable[[], Callee]) -> Callee:
        """Return what `make` makes in a process that has been asked nothing before, with all the numbers of this module and nothing else of it.

        All other modules are gone then, but for in a notebook, which has one process. Raises `Wrong` where the numbers don't fit.
        """
        numbers = self.numbers()
        self.learner._ask("restart", self, (), {})
        other = make()
        if self.learner._ask("take", other, (numbers,), {}) is not True:
            raise Wrong.plainly("numbers of the model", "those of the trained model don't fit into a new one of the same sizes")
        return other

    def shake(self, scale: float) -> None:
        """Add random numbers of this size to all parameters of a module, as if it had been trained."""
        self.learner._ask("shake", self, (), {}, scale=scale)

    def wipe(self) -> None:
        """Forget the gradients that a training has left in a module."""
        self.learner._ask("wipe", self, (), {})

    def double(self) -> None:
        """Have a module hold its numbers in 64 bits, whichever it was made with."""
        self.learner._ask("double", self, (), {})

    def train(self) -> None:
        """Put a module into training mode, as it is when it is made."""
        self.learner._ask("switch", self, (), {}, training=True)

    def eval(self) -> None:
        """Put a module into evaluation mode: what happens in training only must stop."""
        self.learner._ask("switch", self, (), {}, training=False)


class Anew(Callee):
    """What `make` makes of these arguments, made anew for each call: what one call leaves behind in a module is no business of the next."""

    def __init__(self, make: Callable[..., Callee], *args):
        self._make = partial(make, *args)
        self._made: Callee | None = self._make()
        self._is_double = False
        super().__init__(self._made.learner, self._made.target, self._made.title)

    def fresh(self) -> Callee:
        """Return the module as it is when it has just been made."""
        made, self._made = self._made or self._make(), None
        if self._is_double:
            made.double()
        return made

    def __call__(self, *args, **kwargs):
        return self.fresh()(*args, **kwargs)

    def gradients(self, *args, **kwargs):
        return self.fresh().gradients(*args, **kwargs)

    def double(self) -> None:
        self._is_double = True


def _target(value):
    return value.target if isinstance(value, Callee) else value


def _shown(value):
    return Object(value.title) if isinstance(value, Callee) else value


def local(namespace: dict, guard, missing: dict | None = None, lost: dict | None = None) -> Learner:
    """Return a learner whose code lives in this process; `missing` says why a name is not there, `lost` which ones live elsewhere."""
    operations = Operations(namespace, guard, missing)

    def send(operation: str, target, args: tuple, kwargs: dict, **more):
        try:
            return getattr(operations, operation)(target, args, kwargs, **more)
        except Raised as error:
            raise undefined(error, missing or {}, lost or {}) from None

    return Learner(send, forget=operations.forget, devices=(META, "cuda") if torch.cuda.is_available() else (META,))
