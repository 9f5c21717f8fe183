"""Known wrong and right answers: mistakes.py and variants.py, read as text.

Each class in them stands for one answer. The functions and classes in it replace those of the same name in the
reference answer, and whatever else it defines is added. The files are parsed, never imported: what
is judged is the text, as if a learner had typed it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

from ..errors import AuthorError
from .edits import lines_of


@dataclass(frozen=True, eq=False)  # each is itself only
class KnownAnswer:
    """One known answer: its name, what it is, and the definitions that make it."""

    name: str
    title: str
    hint: str
    fails: tuple[str, ...]
    definitions: dict[str, str]
    preamble: str  # imports and helpers that the reference answer does not have
    published: dict[str, str] = field(default_factory=dict)  # of a bug that learners hunt: where it stood, with addresses


def read_known_answers(path: Path) -> list[KnownAnswer]:
    """Return the known answers of a file, in order; raises `AuthorError`."""
    text = path.read_text(encoding="utf-8")
    classes = [node for node in parsed(text, f"{path.parent.name}/{path.name}").body if isinstance(node, ast.ClassDef)]
    return [_known_answer(node, text, path) for node in classes]


def parsed(text: str, file: str) -> ast.Module:
    """Return a source of an author's, parsed; raises `AuthorError` with the line where that is not possible."""
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise AuthorError(f"{file}, line {error.lineno}: this is not Python ({error.msg}): {(error.text or '').strip()}") from None


def _known_answer(node: ast.ClassDef, text: str, path: Path) -> KnownAnswer:
    title = ast.get_docstring(node)
    if not title:
        raise AuthorError(f"{path.parent.name}/{path.name}, class {node.name}: a docstring must say what it is")
    values = {t.id: s.value for s in node.body if isinstance(s, ast.Assign) for t in s.targets if isinstance(t, ast.Name)}
    definitions = {d.name: _source(d, text) for d in node.body if isinstance(d, (ast.FunctionDef, ast.ClassDef))}
    imports = [_source(s, text) for s in node.body if isinstance(s, (ast.Import, ast.ImportFrom))]
    hint = ast.literal_eval(values["hint"]) if "hint" in values else ""
    fails = tuple(ast.literal_eval(values["fails"])) if "fails" in values else ()
    published = ast.literal_eval(values["published"]) if "published" in values else {}
    if path.name == "mistakes.py" and not (hint and fails):
        raise AuthorError(
            f"{path.parent.name}/{path.name}, class {node.name}: `hint` and `fails` must say what leads on and which checks fail"
        )
    return KnownAnswer(node.name, " ".join(title.split()), hint, fails, definitions, "\n".join(imports), published)


def _source(node: ast.stmt, text: str) -> str:
    return dedent("\n".join(text.splitlines()[lines_of(node)]))
