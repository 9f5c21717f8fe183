"""Mutants: an answer with one thing changed, by rules that know nothing of the exercise.

Known mistakes prove that tests refuse what somebody has thought of; mutants ask about the rest. The rules here change one place
in the code, as mutation tools do; those in `mutants_of_calls.py` know what answers to these exercises go wrong by. Tools that are
made for this (mutmut, cosmic-ray) run a test suite over the files of a package; our answers are cells of a notebook.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator

from ..exercise.edits import definitions
from ..exercise.known import KnownAnswer
from ..exercise.model import Exercise
from ..exercise.notebook import stubs
from .mutants_of_calls import changed_calls

Rule = Callable[[ast.AST], Iterator[ast.AST]]

COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv}
BOOLEANS = {ast.And: ast.Or, ast.Or: ast.And}


def mutants(exercise: Exercise, base: KnownAnswer | None = None) -> Iterator[KnownAnswer]:
    """Yield the mutants of the reference answer, or of a known right one; each is named after what is changed, and where."""
    given = base.definitions if base else {}
    asked_for = {name for stub in stubs(exercise).values() for name in _definitions(stub)}
    for name, source in (given or _answered(exercise)).items():
        seen, alike = {_text(ast.parse(source).body[0])}, Counter[str]()
        # Nobody but the answer itself calls its helpers, so nobody minds what they do to what they are given.
        around = changed_calls(source) if name in asked_for else ()
        for what, text in [*_changed_places(source, RULES_OF_TESTS if name.startswith("test_") else RULES), *around]:
            if text not in seen:
                seen.add(text)
                alike[what] += 1
                label = f"{name}: {what}" + (f" ({alike[what]})" if alike[what] > 1 else "")
                yield KnownAnswer(label, label, "", (), {**given, name: text}, base.preamble if base else "")


def _answered(exercise: Exercise) -> dict[str, str]:
    """Return the reference's definitions that learners write, at least in part, by name."""
    handed_out = {text for stub in stubs(exercise).values() for text in _definitions(stub).values()}
    found = _definitions("\n\n".join(cell.source for cell in exercise.answers))
    return {name: text for name, text in found.items() if text not in handed_out}


def _definitions(source: str) -> dict[str, str]:
    return {node.name: ast.unparse(node) for node in definitions(source)}


def _changed_places(source: str, rules: list[Rule]) -> Iterator[tuple[str, str]]:
    tree = _bare(ast.parse(source).body[0])
    for place, node in enumerate(ast.walk(tree)):
        for rule in rules:
            for new in rule(node):
                yield f"{rule.__name__.strip('_')}: {_short(node)} → {_short(new)}", _text(_with(tree, place, new))


def _with(tree: ast.stmt, place: int, new: ast.AST) -> ast.stmt:
    """Return a copy of a tree with another node at this place of a walk."""
    changed = copy.deepcopy(tree)
    old = list(ast.walk(changed))[place]
    return _Replace(old, new).visit(changed)


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST):
        self._old, self._new = old, new

    def visit(self, node: ast.AST):
        return self._new if node is self._old else super().visit(node)


def _bare(tree: ast.stmt) -> ast.stmt:
    """Return a definition without docstrings and annotations, and with errors that say nothing: a change there changes no result."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.AnnAssign):  # which must have one
            node.annotation = ast.Name("object", ast.Load())
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            node.exc.args = []
    return tree


def _text(tree: ast.stmt) -> str:
    return ast.unparse(ast.fix_missing_locations(_bare(copy.deepcopy(tree))))


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def another_constant(node: ast.AST) -> Iterator[ast.AST]:
    if not isinstance(node, ast.Constant):
        return
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield from map(ast.Constant, (value + 1, value - 1))
    elif isinstance(value, float):
        yield from map(ast.Constant, (value * 2, value / 2, 0.0))


def other_comparison(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        yield ast.Compare(node.left, [COMPARISONS[type(node.ops[0])](), *node.ops[1:]], node.comparators)


def other_operator(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        yield ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)
    if isinstance(node, ast.AugAssign) and type(node.op) in OPERATORS:
        yield ast.AugAssign(node.target, OPERATORS[type(node.op)](), node.value)
    if isinstance(node, ast.BoolOp):
        yield ast.BoolOp(BOOLEANS[type(node.op)](), node.values)


def one_side_only(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp):
        yield node.left
        yield node.right


def sides_exchanged(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.MatMult, ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)):
        yield ast.BinOp(node.right, node.op, node.left)
    if isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body)


def sign_dropped(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.UnaryOp):
        yield node.operand


def condition_decided(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, (ast.If, ast.IfExp)):
        for value in (True, False):
            changed = copy.copy(node)
            changed.test = ast.Constant(value)
            yield changed


def call_dropped(node: ast.AST) -> Iterator[ast.AST]:
    if not isinstance(node, ast.Call):
        return
    if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value):
        yield node.func.value
    if node.args and not isinstance(node.args[0], ast.Starred):
        yield node.args[0]


def argument_dropped(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call):
        for index in range(len(node.keywords)):
            yield ast.Call(node.func, node.args, node.keywords[:index] + node.keywords[index + 1 :])
        if len(node.args) > 1:
            yield ast.Call(node.func, node.args[:-1], node.keywords)


def arguments_exchanged(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call) and _is_called(node, *SYMMETRIC):
        return
    parts = node.args if isinstance(node, ast.Call) else node.elts if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) else []
    for index in range(len(parts) - 1):
        changed = [*parts[:index], parts[index + 1], parts[index], *parts[index + 2 :]]
        yield ast.Call(node.func, changed, node.keywords) if isinstance(node, ast.Call) else ast.Tuple(changed, ast.Load())


def statement_dropped(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign, ast.Raise)):
        yield ast.Pass()


def demand_dropped(node: ast.AST) -> Iterator[ast.AST]:
    """One thing that a test asks for."""
    if isinstance(node, (ast.Assert, ast.Expr)):
        yield ast.Pass()
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        for index in range(len(node.values)):
            kept = node.values[:index] + node.values[index + 1 :]
            yield ast.BoolOp(node.op, kept) if len(kept) > 1 else kept[0]
    if isinstance(node, ast.Compare) and len(node.ops) == 2:
        yield ast.Compare(node.left, node.ops[:1], node.comparators[:1])
        yield ast.Compare(node.comparators[0], node.ops[1:], node.comparators[1:])


def other_slice(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Slice):
        for part in ("lower", "upper", "step"):
            if getattr(node, part) is not None and not (part == "lower" and _is_zero(node.lower)):  # from where it begins anyway
                changed = copy.copy(node)
                setattr(changed, part, None)
                yield changed


def other_name(node: ast.AST) -> Iterator[ast.AST]:
    """The next of the names that play the same part in attention."""
    for group in NAMES:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in group:
            yield ast.Name(group[(group.index(node.id) + 1) % len(group)], ast.Load())
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr in group:
            yield ast.Attribute(node.value, group[(group.index(node.attr) + 1) % len(group)], ast.Load())


def other_function(node: ast.AST) -> Iterator[ast.AST]:
    for group in FUNCTIONS:
        if isinstance(node, ast.Attribute) and node.attr in group:
            yield ast.Attribute(node.value, group[(group.index(node.attr) + 1) % len(group)], node.ctx)


NAMES = (
    ("query", "key", "value"),
    ("queries", "keys", "values"),
    ("x", "context"),
    ("to_query", "to_key", "to_value"),
    ("w_query", "w_key", "w_value", "w_output"),
    ("d_query", "d_context", "d_k", "d_v"),
    ("batch", "tokens"),
    ("first", "second"),
    ("text", "image"),
)
FUNCTIONS = (
    ("sum", "mean"),
    ("max", "min"),
    ("amax", "amin"),
    ("cos", "sin"),
    ("triu", "tril"),
    ("repeat_interleave", "repeat"),
    ("ones", "zeros"),
    ("floor", "ceil"),
)
# Functions of two arguments that come in any order.
SYMMETRIC = ("transpose", "swapaxes", "maximum", "minimum", "max", "min", "promote_types")
RULES: list[Rule] = [
    another_constant, other_comparison, other_operator, one_side_only, sides_exchanged, sign_dropped, condition_decided,
    call_dropped, argument_dropped, arguments_exchanged, statement_dropped, other_slice, other_name, other_function,
]  # fmt: skip
# Where an answer is a test, other numbers in it make another test, which may be as good. What it asks for it must not lose.
RULES_OF_TESTS: list[Rule] = [demand_dropped]


def _is_module(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in {"torch", "F", "math", "nn", "np"}


def _is_zero(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def _is_called(node: ast.Call, *names: str) -> bool:
    return (node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")) in names
