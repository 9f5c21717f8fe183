"""Whether an answer computes where its inputs lie, on a machine that need not have a GPU.

PyTorch's device `meta` stands for one: tensors there say that they lie elsewhere, on every machine. A GPU refuses to compute with tensors of
two devices; meta refuses only some of that (not a product of matrices), so `OneDevice` looks at every operation. It also keeps the numbers
that meta lacks, so that code may ask for them on its way: `.item()`, `nonzero`, a branch.

What a worker says of the devices of its tensors is a claim that nobody can compare with anything. Who forges it gains the points of the
check `device`, which an argument `device=` earns with less work. Values are judged by all the other checks.
What cannot be followed even so is no mistake of a learner's: where the same call succeeds on the CPU, it gets the points.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakIdKeyDictionary

from .classify import is_learners
from .outcome import NoAnswer, Raised, Sentence, Wrong

META = "meta"
CARRIERS = {"copy_", "_to_copy", "copy", "_foreach_copy_"}  # they take numbers from one device to another
INDEXED = {
    "index",
    "index_put",
    "index_put_",
    "_unsafe_index",
    "_unsafe_index_put",
    "_index_put_impl_",
}  # by numbers that may lie on the CPU
ATTENTION_KERNEL = "_fused_sdp_choice"  # torch asks which one to take: a GPU's can't run here, and 0 is the one that every device has
NAMES = {"mm": "matmul", "bmm": "matmul", "addmm": "linear", "lift_fresh": "tensor", "_to_copy": "to"}  # of what a learner has written
PLACES = re.compile(r" \([^)]*\)")
# What torch says, of meta and of a GPU alike, where it looks before any operation is there to be seen.
TORCHS_OWN = re.compile(r"same device|device type tensor to numpy")
TO_NUMPY = "NumPy knows the CPU only, and a tensor that lies elsewhere was handed to it"


class TensorsApart(RuntimeError):
    """A tensor on the CPU and one on another device were to be computed with together."""


@dataclass(frozen=True)
class _Origin:
    """Which of torch's functions made a tensor, on which line of a learner's, and during which call."""

    maker: str
    place: str
    call: int


class _Numbers:
    """The numbers of tensors on meta: for each storage there a tensor on the CPU, by dtype. A view of the one is the same view of the other."""

    def __init__(self):
        self._kept = WeakIdKeyDictionary()

    def of(self, away: Tensor) -> Tensor:
        """Return a tensor on the CPU with the numbers of one on meta: zeros where torch has made it of a list, which is no operation."""
        whole, kept = away.untyped_storage(), self._kept.get(away.untyped_storage(), {}).get(away.dtype)
        if kept is None:
            kept = torch.zeros(whole.nbytes() // away.itemsize, dtype=away.dtype)
            self._kept.setdefault(whole, {})[away.dtype] = kept
        return kept.as_strided(away.size(), away.stride(), away.storage_offset())

    def moved(self, here: Tensor, inputs: list[tuple[Tensor, Tensor]]) -> Tensor:
        """Return a tensor on meta for one on the CPU; `inputs` are pairs of tensors, some of which may share their memory with it."""
        for away, numbers in inputs:
            if here is numbers:  # it was written into
                return away
        address = here.untyped_storage().data_ptr()
        shared = next((a.untyped_storage() for a, numbers in inputs if address and numbers.untyped_storage().data_ptr() == address), None)
        if shared is None:
            whole = torch.empty(here.untyped_storage().nbytes() // here.itemsize, dtype=here.dtype, device=META)
        else:
            whole = torch.empty(0, dtype=here.dtype, device=META).set_(shared)
        self._kept.setdefault(whole.untyped_storage(), {}).setdefault(here.dtype, here)
        return whole.as_strided(here.size(), here.stride(), here.storage_offset())


class _EachOperation:
    """What `OneDevice` does; a class apart, because torch wraps what a mode defines itself, and to call that imports its compiler."""

    def __init__(self):
        super().__init__()
        self._numbers = _Numbers()
        self._origins = WeakIdKeyDictionary()  # by storage, which views share
        self._calls = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name, kwargs = function.overloadpacket.__name__, kwargs or {}
        if name == ATTENTION_KERNEL:
            return 0
        given = list(_tensors((args, tuple(kwargs.values()))))
        behind = _left_behind(name, function._schema.is_mutable, args, given)
        if behind is not None:
            raise TensorsApart(f"{self._about(behind)} meets one on another device in {_plainly(name)}")
        if torch.Tag.inplace_view in function.tags:  # it looks at the same numbers in another way
            return function(*args, **kwargs)
        return self._computed(function, name, args, kwargs, given)

    def _computed(self, function, name: str, args: tuple, kwargs: dict, given: list[Tensor]):
        """Return what an operation returns, computed on the CPU and then put where it belongs."""
        inputs = []

        def here(value):
            if isinstance(value, Tensor) and value.is_meta:
                inputs.append((value, self._numbers.of(value)))
                return inputs[-1][1]
            return torch.device("cpu") if isinstance(value, torch.device) else value

        def there(value):
            return self._numbers.moved(value, inputs) if isinstance(value, Tensor) else value

        result = function(*_mapped(here, args), **{name: _mapped(here, each) for name, each in kwargs.items()})
        asked_for = kwargs.get("device")
        if asked_for.type == META if asked_for else inputs and given[0] is not result:
            return _mapped(there, result)
        self._remember(result, name, given)
        return result

    def settled(self, result):
        """Return a result as it is; raises `TensorsApart` where some of it does not lie where the inputs do."""
        for each in tree_leaves(result):
            if isinstance(each, Tensor) and not each.is_meta:
                raise TensorsApart(f"what comes back lies on the CPU and the inputs do not: it is {self._about(each)}")
        return result

    def _remember(self, result, name: str, given: list[Tensor]) -> None:
        """Keep for each tensor that was made on the CPU where it comes from: from where the first of what it was made of did."""
        for made in _tensors(result):
            if (storage := made.untyped_storage()) not in self._origins:
                inherited = (self._origins.get(each.untyped_storage()) for each in given)
                self._origins[storage] = next(filter(None, inherited), None) or _Origin(_plainly(name), _place(), self._calls)

    def _about(self, tensor: Tensor) -> str:
        origin = self._origins.get(tensor.untyped_storage())
        if origin is None:
            return "a tensor that lay on the CPU before the call"
        place = f" ({origin.place})" if origin.place else ""
        stayed = "" if origin.call == self._calls else ", and that stayed there,"
        return f"a tensor that {origin.maker} made on the CPU{place}{stayed}"


class OneDevice(_EachOperation, TorchDispatchMode):
    """Within it, what a GPU refuses raises `TensorsApart`, with a sentence that says which tensor stayed on the CPU.

    Written by hand: FakeTensorMode of torch knows the same rules but no numbers, and takes 0.9 seconds and 71 MB to import (torch 2.13). The
    first computation on meta itself imports as much, torch's compiler and sympy, which is why nothing is computed there.
    """

    def __enter__(self):
        self._calls += 1
        return super().__enter__()


def _mapped(change: Callable, value):
    """Return arguments or results of an operation, lists and tuples at most, with each changed; `tree_map` takes longer than all the rest."""
    return type(value)([_mapped(change, each) for each in value]) if isinstance(value, (list, tuple)) else change(value)


def _tensors(value) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors(each)


def _left_behind(name: str, is_mutable: bool, args: tuple, given: list[Tensor]) -> Tensor | None:
    """Return a tensor on the CPU that a GPU would not compute with; None where all is well."""
    if name in CARRIERS or not any(each.is_meta for each in given):
        return None
    if name in INDEXED and args[0].is_meta:
        given = [args[0], *(each for each in args[2:3] if isinstance(each, Tensor))]
    # A single number may come from the CPU, if nothing is written into it.
    return next((each for each in given if not each.is_meta and (each.ndim or is_mutable and each is args[0])), None)


def _plainly(name: str) -> str:
    return NAMES.get(name, name.strip("_").removeprefix("native_"))


def _place() -> str:
    """Return the line of a learner's code that is being run, or nothing where it is none of theirs."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and not is_learners(frame.f_code.co_filename):
        frame = frame.f_back
    return f"in {frame.f_code.co_name}, line {frame.f_lineno}" if frame else ""


def expect_device(learner, ask: Callable, shape: tuple[int, ...]) -> None:
    """Return None if what `ask(learner)` asks for can be computed on any device; it must return a tensor of this shape.

    `ask` makes a module, if need be, and calls it: `lambda it: it.Head(6, 3)(x, mask)`. Raises `Wrong` where tensors of two devices meet, or
    the result lies elsewhere than the inputs. In a notebook on a machine with a GPU, it is asked there too; a worker of the judge's sees none.
    """
    for device in learner._devices:
        _expect_on(device, learner, ask, shape)


def _expect_on(device: str, learner, ask: Callable, shape: tuple[int, ...]) -> None:
    try:
        came = ask(learner.on(device))
    except (Raised, NoAnswer) as error:
        if isinstance(error, Raised) and (error.kind == TensorsApart.__name__ or TORCHS_OWN.search(error.text)):
            raise _apart(error) from None
        came = ask(learner)  # raises the error of an answer that is wrong on the CPU too
    found = tuple(came.shape) if isinstance(came, Tensor) else type(came).__name__
    if found != tuple(shape):
        reason = f"{found} came back, and the shape {tuple(shape)} was expected"
        raise Wrong("shape", reason, str(found), str(tuple(shape)), Sentence.SHAPE)


def _apart(error: Raised) -> Wrong:
    text = TO_NUMPY if "numpy" in error.text else error.text
    reason = text + (f" ({error.where})" if error.where else "")
    wrong = Wrong("device", reason, sentence=Sentence.DEVICE)
    wrong.known_by = PLACES.sub("", reason)  # lines are different in every notebook
    return wrong
