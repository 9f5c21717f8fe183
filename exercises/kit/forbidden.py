"""Ready-made functions that an exercise forbids: found in the source, and stopped at run time."""

from __future__ import annotations

import ast
import fnmatch
import functools
import importlib
import re

from .source import tree_of


def _inner(*words: str) -> list[str]:
    """Return patterns for all of torch's private functions that have one of the words in their name."""
    return [f"{way}*{word}*" for word in words for way in ("torch._", "torch.ops.")]


# Dotted names; one with a star in it is a pattern. The logarithm of a sum of powers is no softmax: to subtract it is a way to write one.
SOFTMAX = [
    "torch.softmax",
    "torch.log_softmax",
    "torch.Tensor.softmax",
    "torch.Tensor.log_softmax",
    "torch.special.softmax",
    "torch.special.log_softmax",
    "torch.nn.functional.softmax",
    "torch.nn.functional.log_softmax",
    "torch.nn.functional.softmin",
    "torch.nn.functional.gumbel_softmax",
    "torch.nn.Softmax",
    "torch.nn.LogSoftmax",
    "torch.nn.Softmin",
    "torch.nn.Softmax2d",
    "torch.*.softmax",
    "torch.*.log_softmax",
    "scipy.*softmax",
    "sklearn.*softmax",
    *_inner("softmax"),
]
ATTENTION = [
    "torch.nn.functional.scaled_dot_product_attention",
    "torch.nn.functional.multi_head_attention_forward",
    "torch.nn.MultiheadAttention",
    "torch.nn.TransformerEncoderLayer",
    "torch.nn.TransformerDecoderLayer",
    "torch.nn.Transformer",
    "torch.nn.attention.flex*",
    *_inner("attention", "transformer"),
]
LAYER_NORM = [
    "torch.layer_norm",
    "torch.native_layer_norm",
    "torch.nn.functional.layer_norm",
    "torch.nn.LayerNorm",
    # The other norms do the same along another axis, or after the mean is subtracted.
    "torch.group_norm",
    "torch.nn.functional.group_norm",
    "torch.nn.GroupNorm",
    "torch.instance_norm",
    "torch.nn.functional.instance_norm",
    "torch.nn.InstanceNorm1d",
    "torch.batch_norm",
    "torch.nn.functional.batch_norm",
    "torch.nn.BatchNorm1d",
    "torch.rms_norm",
    "torch.nn.functional.rms_norm",
    "torch.nn.RMSNorm",
    "torch.nn.TransformerEncoderLayer",
    "torch.nn.TransformerDecoderLayer",
    "torch.nn.Transformer",
    *_inner("layer_norm", "group_norm", "instance_norm", "batch_norm", "rms_norm", "transformer"),
]
TRANSFORMER = [
    "torch.nn.Transformer",
    "torch.nn.TransformerEncoder",
    "torch.nn.TransformerDecoder",
    "torch.nn.TransformerEncoderLayer",
    "torch.nn.TransformerDecoderLayer",
    *_inner("transformer"),
]
LISTS = {"softmax": SOFTMAX, "attention": ATTENTION, "layer_norm": LAYER_NORM, "transformer": TRANSFORMER}
HELPERS = {"torch.nn.Transformer.generate_square_subsequent_mask"}  # allowed, though it lives in a forbidden class: it only makes a mask
LONGEST_NAME = 32  # parts; a chain of a thousand, looked at from each of its links, takes minutes


def prepare() -> None:
    """Look up, once for all processes that are forked later, what every list stands for."""
    from .kernels import kernels  # needs torch, without which sources are read

    for name in names([*LISTS]):
        if name.startswith("torch.ops."):
            kernels(name)


class Used(Exception):
    """Something was used that the exercise asks the learner to write."""


def names(lists: list[str]) -> list[str]:
    """Return the dotted names behind the lists' names; raises KeyError for an unknown list."""
    return [name for each in lists for name in LISTS[each]]


def message(dotted: str) -> str:
    return f"{dotted} does what this exercise asks you to write"


def found_in(source: str, dotted_names: list[str]) -> str | None:
    """Return the first forbidden name that the source uses, as written there, or None.

    Methods of tensors are recognised by `x.softmax(...)` on anything but a known module; a
    learner's own function of the same name is never meant.
    """
    return _found_in(source, tuple(dotted_names))


@functools.lru_cache(maxsize=64)  # every worker that starts asks about the same answers
def _found_in(source: str, dotted_names: tuple[str, ...]) -> str | None:
    tree = tree_of(source)
    if tree is None:
        return None
    aliases, forbidden = _aliases(tree), _matcher(dotted_names)
    methods = {name.rsplit(".", 1)[1] for name in dotted_names if name.startswith("torch.Tensor.")} - _own_methods(tree)
    spared = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute) and _expand(_written(node) or "", aliases) in HELPERS
    }
    for node in ast.walk(tree):
        written = None if id(node) in spared else _written(node)
        if written and forbidden(_expand(written, aliases)):
            return written
        if isinstance(node, ast.ImportFrom) and (taken := _imported(node, forbidden)):
            return taken
        if isinstance(node, ast.Call) and (method := _method(node, methods, aliases)):
            return method
    return None


def _matcher(dotted_names: tuple[str, ...]):
    """Return a function that says whether a dotted name is one of these, or fits a pattern among them."""
    return re.compile("|".join(map(fnmatch.translate, dotted_names)) or "(?!)").match


def _aliases(tree: ast.AST) -> dict[str, str]:
    """Return what each imported name stands for, with the notebook's own imports assumed."""
    known = {"torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "Tensor": "torch.Tensor"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known.update({a.asname: a.name for a in node.names if a.asname})
        elif isinstance(node, ast.ImportFrom) and node.module:
            known.update({a.asname or a.name: f"{node.module}.{a.name}" for a in node.names})
    return known


def _own_methods(tree: ast.AST) -> set[str]:
    """Return the names of the methods that the source itself defines."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return {f.name for each in classes for f in each.body if isinstance(f, ast.FunctionDef)}


def _written(node: ast.AST) -> str | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < LONGEST_NAME:
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def _expand(written: str, aliases: dict[str, str]) -> str:
    head, _, rest = written.partition(".")
    return ".".join(filter(None, [aliases.get(head, head), rest]))


def _imported(node: ast.ImportFrom, forbidden) -> str | None:
    return next((f"{node.module}.{a.name}" for a in node.names if forbidden(f"{node.module}.{a.name}")), None)


def _method(node: ast.Call, methods: set[str], aliases: dict[str, str]) -> str | None:
    callee = node.func
    if not isinstance(callee, ast.Attribute) or callee.attr not in methods:
        return None
    owner = _written(callee.value)
    if owner == "self" or (owner and owner.startswith("self.")):
        return None  # a method or a module of the learner's own
    return f"{owner or '(...)'}.{callee.attr}"


class Guard:
    """Stops what is forbidden while the learner's code runs.

    Public functions and classes are wrapped, so that a class is stopped when it is made and a message has the name that people know.
    Everything else ends at an operator, and is stopped there. Installed once, before the learner's first line: an alias taken later is
    guarded too. When it is off, it lets everything through, so a learner may still compare with torch by hand.
    """

    def __init__(self, dotted_names: list[str]):
        from .kernels import watch

        self._active = False
        for dotted in [name for name in dotted_names if "*" not in name]:
            self._wrap(dotted)
        operators = [name for name in dotted_names if name.startswith("torch.ops.")]
        watch(operators, self._ask)
        self._wrap_higher_order(_matcher(tuple(operators)))

    def on(self) -> None:
        self._active = True

    def off(self) -> None:
        self._active = False

    def _wrap(self, dotted: str) -> None:
        owner, name = _owner(dotted)
        thing = getattr(owner, name)
        if isinstance(thing, type):
            thing.__init__ = self._guarded(thing.__init__, dotted)  # type: ignore[misc]  # a class of torch's, and not its subclasses
        else:
            setattr(owner, name, self._guarded(thing, dotted))

    def _wrap_higher_order(self, forbidden) -> None:
        """Wrap the class of the operators that are no kernels, but Python."""
        kind = importlib.import_module("torch._ops").HigherOrderOperator
        call = kind.__call__

        def watched(operator, /, *args, **kwargs):
            if forbidden(f"torch.ops.higher_order.{operator}"):
                self._ask(f"torch.ops.higher_order.{operator}")
            return call(operator, *args, **kwargs)

        kind.__call__ = watched

    def _ask(self, dotted: str) -> None:
        if self._active:
            raise Used(message(dotted))

    def _guarded(self, function, dotted: str):
        @functools.wraps(function)
        def guarded(*args, **kwargs):
            self._ask(dotted)
            return function(*args, **kwargs)

        del guarded.__wrapped__  # which would give the function without its guard
        return guarded


class NoGuard:
    """For our own code, which may use everything."""

    def on(self) -> None:
        pass

    def off(self) -> None:
        pass


def _owner(dotted: str):
    """Return the module or class that holds the last part of a dotted name, and that part."""
    parts = dotted.split(".")
    for end in range(len(parts) - 1, 0, -1):
        try:
            owner = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:-1]:
            owner = getattr(owner, part)
        return owner, parts[-1]
    raise ModuleNotFoundError(dotted)
