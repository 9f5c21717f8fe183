"""Ready-made operators of torch's, stopped where their kernels are.

Whatever way leads to an operator, a function, a method, a packet in C++, a thread or another operator, the dispatcher ends at a kernel. One
of our own is put in front of it, which costs nothing unless it is called.
"""

from __future__ import annotations

import fnmatch
import warnings
from collections.abc import Callable, Iterable
from functools import cache

import torch

BACKENDS = "CPU CUDA SparseCPU SparseCUDA NestedTensorCPU".split()
# Of operators that are made of others: these have one kernel before and behind autograd.
WITH_AUTOGRAD = [*BACKENDS, "AutogradCPU", "AutogradCUDA"]


@cache  # filled in the fork server, so that no worker has to look through all 3600 operators
def kernels(pattern: str) -> tuple[tuple[str, str], ...]:
    """Return the kernels of operators whose dotted names fit a pattern: by the operator's name, and the dispatch key."""
    operators = fnmatch.filter(map(_dotted, torch._C._dispatch_get_all_op_names()), pattern)
    return tuple((name, key) for name in map(_written, operators) for key in _keys(name))


def watch(patterns: Iterable[str], ask: Callable[[str], None]) -> None:
    """Have `ask` called with the dotted name of an operator before it runs, if the name fits a pattern; it may raise. This lasts as long as the process."""
    meant = {each for pattern in patterns for each in kernels(pattern)}
    # All of them before the first is replaced: what torch takes behind autograd depends on what there is before it.
    new = {each: torch.library.get_kernel(*each) for each in meant - _asked.keys()}
    for (operator, key), kernel in new.items():
        _asked[operator, key] = []
        _stand_before(operator, key, kernel)
    for each in meant:
        _asked[each].append(ask)


_asked: dict[tuple[str, str], list[Callable[[str], None]]] = {}  # by kernel: one of ours stands before it, for all who watch
_libraries: dict[str, torch.library.Library] = {}  # by namespace: what is registered lasts as long as they do


def _stand_before(operator: str, key: str, kernel) -> None:
    """Register a kernel that asks, and then calls the one that was there."""
    asked, dotted = _asked[operator, key], _dotted(operator)

    def asking(keyset, *args, **kwargs):
        for ask in asked:
            ask(dotted)
        return kernel.call_boxed(keyset, *args, **kwargs)

    namespace, _, name = operator.partition("::")
    if namespace not in _libraries:
        _libraries[namespace] = torch.library.Library(namespace, "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that kernels are replaced, which is the purpose
        _libraries[namespace].impl(name, asking, key, with_keyset=True)


def _keys(operator: str) -> list[str]:
    composite = torch._C._dispatch_has_kernel_for_dispatch_key(operator, "CompositeImplicitAutograd")
    keys = WITH_AUTOGRAD if composite else BACKENDS
    return [key for key in keys if torch._C._dispatch_has_computed_kernel_for_dispatch_key(operator, key)]


def _dotted(operator: str) -> str:
    return f"torch.ops.{operator.replace('::', '.')}"


def _written(dotted: str) -> str:
    """Return an operator's name as the dispatcher writes it."""
    return dotted.removeprefix("torch.ops.").replace(".", "::", 1)
