"""Mutants that are right in most calls: wrong where sizes agree, from the second call on, for another type; or they leave something behind."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from textwrap import indent

# What is done around a right function, `right`, whose arguments are {args}.
AROUND = {
    "axes of equal length change places": """
result = right({args})
if isinstance(result, torch.Tensor) and result.ndim > 1 and result.shape[-1] == result.shape[-2]:
    return result.transpose(-2, -1)
return result
""",
    "the first two axes change places where they are equally long": """
result = right({args})
if isinstance(result, torch.Tensor) and result.ndim > 2 and result.shape[0] == result.shape[1]:
    return result.transpose(0, 1)
return result
""",
    "the first result is kept for inputs of the same shapes": """
shapes = tuple(getattr(each, "shape", each) for each in ({args},))
return kept.setdefault(shapes, right({args}))
""",
    "the result is cut off the graph": """
return mapped(lambda result: result.detach(), right({args}))
""",
    "the result has 32 bits": """
return mapped(lambda result: result.float() if result.is_floating_point() else result, right({args}))
""",
    "a thousandth is added": """
return mapped(lambda result: result * 1.001 if result.is_floating_point() else result, right({args}))
""",
}
# The same for each argument, {name}.
AROUND_EACH = {
    "{name} is written into": """
result = right({args})
if isinstance({name}, torch.Tensor):
    {name}.data.zero_()
return result
""",
    "{name} is cut off the graph": """
if isinstance({name}, torch.Tensor):
    {name} = {name}.detach()
return right({args})
""",
    "the first {name} is kept": """
if {name} is not None:
    {name} = kept.setdefault(("{name}", getattr({name}, "shape", None)), {name})
return right({args})
""",
    "{name} of the first in a batch counts for all": """
if isinstance({name}, torch.Tensor) and {name}.ndim > 2:
    {name} = {name}[:1].expand_as({name})
return right({args})
""",
    "{name} must lie in memory in order": """
if isinstance({name}, torch.Tensor):
    {name}.view(-1)
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
    names = [each.arg for each in function.args.args][is_method:]
    if not names or function.args.vararg or function.args.kwonlyargs:
        return
    for what, change in AROUND.items():
        yield what, _wrapped(function, is_method, change.format(args=", ".join(names)))
    for name in names:
        for what, change in AROUND_EACH.items():
            yield what.format(name=name), _wrapped(function, is_method, change.format(args=", ".join(names), name=name))


def _wrapped(function: ast.FunctionDef, is_method: bool, change: str) -> ast.FunctionDef:
    """Return a function that has the right one in it, and does this around it."""
    right = ast.FunctionDef("right", ast.arguments([], function.args.args[is_method:], None, [], [], None, []), function.body, [])
    kept = "kept = self.__dict__.setdefault('kept', {})\n" if is_method else ""
    body = ast.parse(f"def around():\n{indent(MAPPED + kept + change, '    ')}").body[0]
    outer = copy.deepcopy(function)
    if not is_method:  # what a default holds stays from call to call
        outer.args.args.append(ast.arg("kept"))
        outer.args.defaults.append(ast.Dict([], []))
    outer.body = [right, *body.body]
    return ast.fix_missing_locations(outer)
