"""Mutants that are right in most calls: wrong where sizes agree, from the second call on, for another type; or they leave something behind."""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Iterator
from textwrap import indent

# What is done around a right function, `right`, whose arguments are {args}; by what it returns.
OF_ANY_RESULT = {
    "the first result is kept for inputs of the same shapes": """
shapes = tuple(getattr(each, "shape", each) for each in ({args},))
return kept.setdefault(shapes, right({args}))
""",
}
OF_TWO_AXES = {
    "the last two axes change places where they are equally long": """
return mapped(lambda result: result.transpose(-2, -1) if result.ndim > 1 and result.shape[-1] == result.shape[-2] else result, right({args}))
""",
}
OF_THREE_AXES = {
    "the first two axes change places where they are equally long": """
return mapped(lambda result: result.transpose(0, 1) if result.ndim > 2 and result.shape[0] == result.shape[1] else result, right({args}))
""",
}
OF_NUMBERS = {
    "the result is cut off the graph": """
return mapped(lambda result: result.detach(), right({args}))
""",
    "the result has 32 bits": """
return mapped(lambda result: result.float(), right({args}))
""",
    "a thousandth is added": """
return mapped(lambda result: result * 1.001, right({args}))
""",
}
# The same for each argument, {name}, that is a tensor.
OF_ANY_TENSOR = {
    "{name} is written into": """
result = right({args})
if isinstance({name}, torch.Tensor):
    {name}.data.zero_()
return result
""",
    "the first {name} is kept": """
if {name} is not None:
    {name} = kept.setdefault(("{name}", {name}.shape), {name})
return right({args})
""",
}
# One axis is taken by `view` however it lies.
OF_TABLES = {
    "{name} must lie in memory in order": """
if isinstance({name}, torch.Tensor):
    {name}.view(-1)
return right({args})
""",
}
OF_BATCHES = {
    "{name} of the first in a batch counts for all": """
if isinstance({name}, torch.Tensor) and {name}.ndim > 2:
    {name} = {name}[:1].expand_as({name})
return right({args})
""",
}
OF_TENSORS_OF_NUMBERS = {
    "{name} is cut off the graph": """
if isinstance({name}, torch.Tensor):
    {name} = {name}.detach()
return right({args})
""",
}
MAPPED = """
def mapped(change, result):
    if isinstance(result, tuple):
        return tuple(mapped(change, each) for each in result)
    return change(result) if isinstance(result, torch.Tensor) else result
"""


def changed_calls(source: str) -> Iterator[tuple[str, str]]:
    """Yield what is changed, and the source, for each function and each method but the constructor."""
    tree = ast.parse(source).body[0]
    if isinstance(tree, ast.FunctionDef):
        yield from ((what, ast.unparse(new)) for what, new in _around(tree, is_method=False))
    elif isinstance(tree, ast.ClassDef):
        for index, node in enumerate(tree.body):
            if isinstance(node, ast.FunctionDef) and node.name != "__init__":
                for what, new in _around(node, is_method=True):
                    yield f"{node.name}: {what}", ast.unparse(_with(tree, index, new))


def _with(tree: ast.ClassDef, index: int, new: ast.FunctionDef) -> ast.ClassDef:
    return ast.ClassDef(tree.name, tree.bases, tree.keywords, [*tree.body[:index], new, *tree.body[index + 1 :]], tree.decorator_list)


def _around(function: ast.FunctionDef, is_method: bool) -> Iterator[tuple[str, ast.FunctionDef]]:
    arguments = function.args.args[is_method:]
    if not arguments or function.args.vararg or function.args.kwonlyargs:
        return
    args = ", ".join(each.arg for each in arguments)
    if not any(_is(each.annotation, "Tensor") for each in arguments):  # equal numbers always come to the same
        return
    returns_numbers, axes = _is(function.returns, "Float"), _axes(function.returns)
    of_tables = {**(OF_TWO_AXES if axes >= 2 else {}), **(OF_THREE_AXES if axes >= 3 else {})}
    for what, change in {**OF_ANY_RESULT, **of_tables, **(OF_NUMBERS if returns_numbers else {})}.items():
        yield what, _wrapped(function, is_method, change.format(args=args))
    for each in arguments:
        if not _is(each.annotation, "Tensor") or _is(each.annotation, "Callable"):
            continue
        tables = OF_TABLES if _axes(each.annotation) >= 2 else {}
        in_batches = OF_BATCHES if _is(each.annotation, "batch") and _axes(each.annotation) >= 3 else {}
        numbers = OF_TENSORS_OF_NUMBERS if returns_numbers and _is(each.annotation, "Float") else {}
        for what, change in {**OF_ANY_TENSOR, **tables, **in_batches, **numbers}.items():
            yield what.format(name=each.arg), _wrapped(function, is_method, change.format(args=args, name=each.arg))


def _is(annotation: ast.expr | None, word: str) -> bool:
    return annotation is not None and word in ast.unparse(annotation)


def _axes(annotation: ast.expr | None) -> float:
    """Return the most axes that a tensor of this annotation has; without end where it names none, or any number of them.

    What is no tensor has none.
    """
    if not _is(annotation, "Tensor"):
        return 0
    texts = [node.value for node in ast.walk(annotation or ast.Pass()) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return max((math.inf if "*" in text or "..." in text else len(text.split()) for text in texts), default=math.inf)


def _wrapped(function: ast.FunctionDef, is_method: bool, change: str) -> ast.FunctionDef:
    """Return a function that has the right one in it, and does this around it."""
    right = ast.FunctionDef("right", ast.arguments([], function.args.args[is_method:], None, [], [], None, []), function.body, [])
    kept = "kept = self.__dict__.setdefault('kept', {})\n" if is_method else ""
    holder = ast.parse(f"def around():{indent(change, '    ')}").body[0]
    assert isinstance(holder, ast.FunctionDef)
    around = ast.parse(MAPPED + kept).body + holder.body
    outer = copy.deepcopy(function)
    if not is_method:  # what a default holds stays from call to call
        outer.args.args.append(ast.arg("kept"))
        outer.args.defaults.append(ast.Dict([], []))
    outer.body = [right, *around]
    return ast.fix_missing_locations(outer)
