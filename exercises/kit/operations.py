"""What can be done with a learner's names: call them, differentiate them, count their weights.

The same few operations serve the notebook's own process and the judge's worker, so a test
means the same in every front end. Values come back plain: detached tensors without subclasses,
numbers, text, tuples, and handles for everything that has to stay where it is.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import torch
from torch import Tensor, nn

from .classify import classify
from .cost import Cost, measure
from .devices import META, OneDevice
from .outcome import NoAnswer, Stopped
from .plain import Handle, plain
from .proxy import ImplementationProxy

DEEPEST = 8
REENTRANT = "use_reentrant"  # in torch's words: checkpointing of that kind works in a whole backward pass only


class Operations:
    """The learner's namespace, and the objects that calls have left behind."""

    def __init__(self, namespace: dict, guard, missing: dict[str, Stopped] | None = None):
        self._namespace = namespace
        self._kept: dict[int, object] = {}  # by the numbers of their handles
        self._guard = guard
        self._one_device = OneDevice()
        self._missing = missing or {}  # names that a cell should have defined, with the reason why it did not

    def call(self, target, args: tuple, kwargs: dict, device: str | None = None):
        """Return what the target returns, in plain form."""
        with self._watched(), self._one_device if device == META else nullcontext():
            return self._plain(self._run(target, args, kwargs, device))

    def later(self, target, args: tuple, kwargs: dict, number: int, device: str | None = None) -> None:
        """Keep what the target returns, whatever it is, under a number that whoever asks has chosen."""
        with self._watched(), self._one_device if device == META else nullcontext():
            self._kept[number] = self._run(target, args, kwargs, device)

    def unchanged(self, target, args: tuple, kwargs: dict, device: str | None = None) -> tuple[object, tuple[str, ...]]:
        """Return what the target returns, in plain form, and the names of the inputs that it wrote into.

        In a worker this is a claim of the learner's process. Nobody gains by a false one: what is asked for is to leave something alone.
        """
        with self._watched():
            opened, named = self._opened(args, kwargs, device)
            result = self._plain(self._compute(target, opened, named, device))
        handed, kept = names_of(args, kwargs), names_of(opened, named)
        return result, tuple(name for name, value in handed.items() if isinstance(value, Tensor) and not _same(value, kept[name]))

    def strided(self, target, args: tuple, kwargs: dict, device: str | None = None):
        """Return, in plain form, what the target returns for inputs whose axes lie in memory in the opposite order.

        The wire lays every tensor out anew, so it has to be done on this side.
        """
        return self.call(target, tuple(map(_turned, args)), {name: _turned(each) for name, each in kwargs.items()}, device)

    def measured(self, target, args: tuple, kwargs: dict) -> tuple[tuple[object, Cost], ...]:
        """Return, for one call after the other, what the target returns and what the call cost; `args` holds the arguments of each."""
        return tuple(measure(lambda: self.call(target, each, kwargs)) for each in args)

    def gradients(self, target, args: tuple, kwargs: dict, wrt: list, pick: int | None, against: Tensor, device: str | None = None):
        """Return the gradients, in the order of `wrt`, of (part `pick` of) the result, each number of which counts as `against` says.

        `wrt` names keyword arguments, or says at which place an argument stands; a gradient that does not arrive is None.
        """
        leaves = {name: (args[name] if isinstance(name, int) else kwargs[name]).clone().requires_grad_() for name in wrt}
        args = tuple(leaves.get(place, value) for place, value in enumerate(args))
        kwargs = {name: leaves.get(name, value) for name, value in kwargs.items()}

        def run():
            result = self._run(target, args, kwargs, device)
            return result[pick] if isinstance(result, (tuple, list)) and pick is not None else result

        with self._watched(), torch.enable_grad():
            found = _differentiated(run, list(leaves.values()), weigh=lambda result: against)
        return tuple(self._plain(grad) for grad in found)

    def trained(self, target, args: tuple, kwargs: dict, device: str | None = None):
        """Return how many numbers of the module learn, and how many of those get a gradient, from one backward pass."""
        module = self._object(target)
        with self._watched(), torch.enable_grad():
            parameters = [p for p in module.parameters() if p.requires_grad]
            found = _differentiated(lambda: self._run(target, args, kwargs, device), parameters, weigh=_slopes)
        reached = [p.numel() for p, grad in zip(parameters, found) if grad is not None and bool((grad != 0).any())]
        return sum(p.numel() for p in parameters), sum(reached)

    def stepped(self, target, args: tuple, kwargs: dict, against: Tensor, size: float, device: str | None = None) -> None:
        """Take a step of gradient descent with all that a module learns: down the result, each number of which counts as `against` says."""
        with self._watched(), torch.enable_grad():
            parameters = [p for p in self._object(target).parameters() if p.requires_grad]
            found = _differentiated(lambda: self._run(target, args, kwargs, device), parameters, weigh=lambda result: against)
            for parameter, grad in zip(parameters, found):
                parameter.data -= size * (0.0 if grad is None else grad)

    def numbers(self, target, args: tuple, kwargs: dict) -> tuple[Tensor, ...]:
        """Return all tensors that a module would be saved as, in its own order."""
        with self._watched():
            return tuple(self._plain(each) for each in _saved(self._object(target)))

    def take(self, target, args: tuple, kwargs: dict) -> bool:
        """Give a module the numbers of another one, as `numbers` returned them; return False where they don't fit."""
        with self._watched(), torch.no_grad():
            own = _saved(self._object(target))
            fits = [each.shape for each in own] == [each.shape for each in args[0]]
            for mine, other in zip(own, args[0] if fits else ()):
                mine.copy_(other)
        return fits

    def restart(self, target, args: tuple, kwargs: dict) -> None:
        """Do nothing; in a judge the worker ends here, and the next call is made by one that has been asked nothing."""

    def shake(self, target, args: tuple, kwargs: dict, scale: float) -> None:
        """Add a random number to each parameter of the module: what must hold, must hold after any training."""
        with self._watched(), torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(0)
            for parameter in self._object(target).parameters():
                parameter += torch.randn_like(parameter) * scale

    def wipe(self, target, args: tuple, kwargs: dict) -> None:
        """Forget the gradients that the parameters of the module hold."""
        with self._watched():
            for parameter in self._object(target).parameters():
                parameter.grad = None

    def switch(self, target, args: tuple, kwargs: dict, training: bool) -> None:
        """Put a module into training mode, or into evaluation mode."""
        with self._watched():
            self._object(target).train(training)

    def double(self, target, args: tuple, kwargs: dict) -> None:
        """Hold all numbers of a module in 64 bits."""
        with self._watched():
            self._object(target).double()

    def mutation_test(self, target, args: tuple, kwargs: dict, ask: Callable[[dict], dict]) -> str | None:
        """Return the text with which a learner's test refuses an implementation, or None if it lets it pass.

        `args` names the implementation; `ask` sends a question to where it is (see `ImplementationProxy`).
        """
        (name,) = args
        proxy = ImplementationProxy(name.kind, self._unguarded(ask), self._plain)
        with self._watched():
            try:
                self._run(target, (proxy,), {}, None)
            except AssertionError as refusal:
                return " ".join(str(refusal).split())[:300]
            finally:
                proxy.end()
        return None

    def _unguarded(self, ask: Callable[[dict], dict]) -> Callable[[dict], dict]:
        """Return `ask` with the guard off while it runs: in the notebook it runs code of ours, which may use what it likes."""

        def asking(question: dict) -> dict:
            self._guard.off()
            try:
                return ask(question)
            finally:
                self._guard.on()

        return asking

    def forget(self) -> None:
        """Drop the modules that calls have left behind; their handles are no longer valid."""
        self._kept.clear()

    def _run(self, target, args: tuple, kwargs: dict, device: str | None):
        return self._compute(target, *self._opened(args, kwargs, device), device)

    def _opened(self, args: tuple, kwargs: dict, device: str | None) -> tuple[tuple, dict]:
        return tuple(self._open(a, device) for a in args), {name: self._open(a, device) for name, a in kwargs.items()}

    def _compute(self, target, args: tuple, kwargs: dict, device: str | None):
        function = self._object(target)
        # What an answer draws at random is the same each time: a mistake that starts with random numbers can
        # be recognised, and no answer is right by luck. Random numbers outside a call are not affected.
        with torch.random.fork_rng(devices=[]):
            # torch.manual_seed records the stack for each kind of device, which costs more than the rest of a call.
            torch.default_generator.manual_seed(0) if device in (None, META) else torch.manual_seed(0)
            result = function(*args, **kwargs)
        if device == META:
            self._one_device.settled(result)
        return result.to(device) if device and isinstance(result, nn.Module) else result

    def _object(self, target):
        if isinstance(target, Handle):
            return self._kept[target.number]
        if target in self._missing:
            raise self._missing[target]
        if target not in self._namespace:
            raise NoAnswer(f"{target} is not defined")
        return self._namespace[target]

    def _open(self, value, device: str | None):
        if isinstance(value, Handle):
            return self._kept[value.number]
        if isinstance(value, Tensor):
            # A copy: what a learner writes into an input must not change the test's own tensors.
            copy = value if value.requires_grad else value.clone()
            return copy.to(device) if device else copy
        return value

    def _plain(self, value, depth: int = 0):
        """Return a result in plain form; a module stays here, and a handle stands for it."""
        if isinstance(value, (tuple, list)) and depth < DEEPEST:
            return tuple(self._plain(part, depth + 1) for part in value)
        if isinstance(value, nn.Module):
            number = len(self._kept)
            self._kept[number] = value
            return Handle(number)
        return plain(value)

    def _watched(self):
        return _Watch(self._guard, self._missing)


def _differentiated(run: Callable[[], object], leaves: list[Tensor], weigh: Callable[[Tensor], Tensor]) -> list:
    """Return the gradients of the sum of a result, each number of which counts as `weigh` says; None for one that does not arrive."""
    result = run()
    if not isinstance(result, Tensor) or not result.requires_grad or not leaves:
        return [None] * len(leaves)
    try:
        found: list[Tensor | None] = list(torch.autograd.grad((result * weigh(result)).sum(), leaves, allow_unused=True))
    except RuntimeError as error:
        if REENTRANT not in str(error):
            raise
        found = [None]
    # What a checkpoint of that kind hides from autograd.grad arrives in a whole pass, as a training makes it.
    return found if all(grad is not None for grad in found) else _by_a_whole_pass(run, leaves, weigh)


def _by_a_whole_pass(run: Callable[[], object], leaves: list[Tensor], weigh: Callable[[Tensor], Tensor]) -> list:
    """Return the gradients of leaves from a pass that reaches everything; what they held before stays."""
    before = [leaf.grad for leaf in leaves]
    for leaf in leaves:
        leaf.grad = None
    result = run()
    assert isinstance(result, Tensor)
    (result * weigh(result)).sum().backward()
    found = [leaf.grad for leaf in leaves]
    for leaf, grad in zip(leaves, before):
        leaf.grad = grad
    return found


def _saved(module: nn.Module) -> list[Tensor]:
    return [each for each in module.state_dict().values() if isinstance(each, Tensor)]


def _slopes(result: Tensor) -> Tensor:
    """Return a number for each of a result's, no two alike.

    What comes out of a norm has the same sum of squares whatever went in, and what comes out of softmax the same sum: of these
    all gradients are zero, but for rounding. They are not, where each number counts differently.
    """
    return torch.arange(result.numel(), device=result.device).cos().reshape(result.shape).to(result.dtype)


def names_of(args: tuple, kwargs: dict) -> dict[str, object]:
    """Return all arguments by a name: those that were handed over by their place are called `argument 1` and so on."""
    return {f"argument {place}": value for place, value in enumerate(args, 1)} | kwargs


def _same(one: Tensor, other: object) -> bool:
    """Return whether two tensors agree in dtype, shape and every entry, where not-a-number agrees with itself."""
    if not isinstance(other, Tensor):
        return False
    other = other.detach().to("cpu")
    alike = one.dtype == other.dtype and one.shape == other.shape
    return alike and bool(((one == other) | (one.isnan() & other.isnan())).all())


def _turned(value):
    """Return a tensor of the same entries that lies in memory as if all of its axes had been swapped; anything else as it is."""
    if not isinstance(value, Tensor):
        return value
    backwards = tuple(reversed(range(value.ndim)))
    return value.permute(backwards).contiguous().permute(backwards)


class _Watch:
    """Raises whatever the learner's code raises as one of the closed list of outcomes."""

    def __init__(self, guard, missing: dict[str, Stopped]):
        self._guard = guard
        self._missing = missing

    def __enter__(self):
        self._guard.on()

    def __exit__(self, kind, error, trace):
        self._guard.off()
        if error is None:
            return False
        if isinstance(error, NameError) and error.name in self._missing:
            raise self._missing[error.name] from None
        raise classify(error) from None
