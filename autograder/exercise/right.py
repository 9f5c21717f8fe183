"""Right answers as they are to be read: for each answer cell the reference, and other ways in which people write it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from .edits import definitions
from .known import KnownAnswer
from .model import Exercise
from .rules import BEGIN, END

STYLES = 2  # beside the reference
REFERENCE = "The reference"


@dataclass(frozen=True)
class Right:
    """One right answer to a cell."""

    title: str
    source: str


@dataclass(frozen=True)
class RightAnswers:
    """The right answers to one cell, the reference first; and where the bug was published that it was handed out with, as texts and addresses."""

    cell: str
    names: tuple[str, ...]
    answers: tuple[Right, ...]
    published: dict[str, str] = field(default_factory=dict)


def right_answers(exercise: Exercise) -> list[RightAnswers]:
    """Return what there is to read, by answer cell. All of it passes every check, as `matrix` proves."""
    bugs = {mistake.name: mistake for mistake in exercise.mistakes}
    found = []
    for cell in exercise.answers:
        names = tuple(node.name for node in definitions(cell.source) if node.name in exercise.promised[cell.id])
        reference = _without_markers(cell.source)
        others = _others(exercise, names, reference)
        bug = bugs.get(exercise.handed_out.get(cell.id, ""))
        found.append(RightAnswers(cell.id, names, (Right(REFERENCE, reference), *others), bug.published if bug else {}))
    return found


def _without_markers(source: str) -> str:
    return "\n".join(line for line in source.splitlines() if line.strip() not in (BEGIN, END))


def _others(exercise: Exercise, names: tuple[str, ...], reference: str) -> list[Right]:
    """Return the first other styles that differ from the reference and from each other in more than words."""
    found: list[Right] = []
    seen = {_meaning(reference)}
    for variant in exercise.variants:
        own = {name: variant.definitions[name] for name in names if name in variant.definitions}
        meaning = _meaning("\n".join(own.values()))
        if own and meaning not in seen and len(found) < STYLES:
            seen.add(meaning)
            found.append(Right(variant.title, _with_helpers(variant, own, set().union(*exercise.promised.values()))))
    return found


def _with_helpers(variant: KnownAnswer, own: dict[str, str], promised: set[str]) -> str:
    """Return definitions together with the imports and helpers of the same variant that they use."""
    helpers = {name: source for name, source in variant.definitions.items() if name not in promised}
    used, new = dict(own), list(own.values())
    while new:
        called = _names_in(new.pop())
        more = {name: source for name, source in helpers.items() if name in called and name not in used}
        used |= more
        new += more.values()
    kept = [source for name, source in variant.definitions.items() if name in used]
    called = set().union(*map(_names_in, kept))
    imports = [line for line in variant.preamble.splitlines() if _names_in(line) & called]
    return "\n\n\n".join(["\n".join(imports)] * bool(imports) + kept)


def _names_in(source: str) -> set[str]:
    nodes = list(ast.walk(ast.parse(source)))
    imported = {(a.asname or a.name).split(".")[0] for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)) for a in node.names}
    return imported | {node.id for node in nodes if isinstance(node, ast.Name)}


def _meaning(source: str) -> str:
    """Return what a source says without its annotations, docstrings and comments."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            if isinstance(node, ast.FunctionDef):
                node.returns = None
            if ast.get_docstring(node) is not None:
                node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)
