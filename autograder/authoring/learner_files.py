"""What a learner receives: the files of each exercise, and those beside them."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import asdict

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from .. import ROOT
from ..exercise.edits import lines_of
from ..exercise.known import KnownAnswer
from ..exercise.model import Exercise
from ..exercise.notebook import KERNEL, picture_files, pictures, released_notebook
from ..exercise.reading import all_names, chapter_title, optional_names, site_settings
from ..exercise.right import right_answers
from ..exercise.test_file import needed
from ..kit.afterwards import FOLDER, pack
from ..kit.cells import ANSWER, SETUP, TEXT, Cell

HANDOUT = ROOT / "autograder" / "authoring" / "handout"
KIT = ROOT / "autograder" / "kit"
NEEDED = ("ipykernel", "ipywidgets", "jaxtyping", "jupyterlab", "jupytext", "matplotlib", "numpy", "pytest", "torch")


def handout() -> dict[str, str]:
    """Return the files that stand beside the exercises, by path."""
    files = {
        f.name: f.read_text(encoding="utf-8") for f in sorted(HANDOUT.iterdir()) if f.is_file() and f.name not in ("check.py", "start.md")
    }
    files |= {"course.json": course_list(), "start.ipynb": notebook_text(start())}
    files |= {f"kit/{f.name}": f.read_text(encoding="utf-8") for f in sorted(KIT.glob("*.py"))}
    return {**files, "requirements.txt": learner_requirements()}


def course_list() -> str:
    """Return the exercises in the book's order, each with whether it is optional, as JSON."""
    optional = optional_names()
    return _lines([{"name": name, "optional": name in optional} for name in all_names()]) + "\n"


def start() -> NotebookNode:
    """Return the notebook from which learners set out."""
    text = (HANDOUT / "start.md").read_text(encoding="utf-8")
    cells = [new_markdown_cell(text, id="start"), new_code_cell("from kit.status import status\n\nstatus()", id="status")]
    return new_notebook(cells=cells, metadata={"kernelspec": KERNEL, "language_info": {"name": "python"}})


def learner_requirements() -> str:
    """Return the pins of what the exercises import, taken from the one file that has them all."""
    pins = re.findall(r"^[^\s#]+==\S+", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    return "\n".join(pin for pin in pins if pin.split("==")[0] in NEEDED) + "\n"


def learner_files(exercise: Exercise, facts: str | None = None) -> dict[str, str]:
    """Return one exercise's files, by name; `facts` is the text of exercise.json where it is known."""
    return {
        f"{exercise.name}.ipynb": notebook_text(released_notebook(exercise)),
        f"test_{exercise.name}.py": visible_tests(exercise),
        "exercise.json": facts or facts_of(exercise),
        "check.py": (HANDOUT / "check.py").read_text(encoding="utf-8"),
        **dict(zip(picture_files(), pictures(exercise))),
    }


def about(exercise: Exercise) -> dict:
    """Return what `check()` and `hint()` know of an exercise; known mistakes by fingerprint."""
    return {
        "name": exercise.name,
        "title": exercise.title,
        "chapter": exercise.chapter,
        "reading": {"title": chapter_title(exercise.chapter), "address": page_address(f"book/{exercise.chapter}")},
        "difficulty": exercise.difficulty,
        "minutes": exercise.minutes,
        "forbidden": list(exercise.forbidden_lists),
        "points": exercise.checks,
        "seconds": exercise.seconds or 0,
        "cells": [_known_cell(exercise, cell) for cell in exercise.cells if cell.kind != TEXT],
        "hints": [{"cell": h.cell, "checks": list(h.checks), "texts": list(h.texts)} for h in exercise.hints],
        "mistakes": _suspects(exercise),
    }


def afterwards(exercise: Exercise) -> str:
    """Return the text of the file with right answers, which `check` shows when all checks have passed."""
    return pack([asdict(part) for part in right_answers(exercise)])


def afterwards_file(name: str) -> str:
    """Return where that file lies among the exercises: in no exercise's folder, so that whoever hands out one of these hands out no answers."""
    return f"{FOLDER}/{name}.txt"


def page_address(page: str) -> str:
    """Return where a page of the book is published; "" where `_config.yml` does not say."""
    site = site_settings().get("html", {}).get("baseurl")
    return f"{site.rstrip('/')}/{page}.html" if site else ""


def _known_cell(exercise: Exercise, cell: Cell) -> dict:
    """Return what the notebook has to know of one of its cells, to run the answers as a judge does."""
    more = {"names": sorted(exercise.promised[cell.id])} if cell.kind == ANSWER else {"source": cell.source} if cell.kind == SETUP else {}
    return {"id": cell.id, "kind": cell.kind, **more}


def facts_of(exercise: Exercise) -> str:
    """Return the text of exercise.json."""
    return _one_line_each(about(exercise))


def _one_line_each(facts: dict) -> str:
    """Return JSON with one line for each fact, each hint and each mistake, so that a change shows as one line."""
    return "{\n " + ",\n ".join(f'"{key}": {_lines(value)}' for key, value in facts.items()) + "\n}\n"


def _lines(value) -> str:
    if not (isinstance(value, list) and value and isinstance(value[0], dict)):
        return json.dumps(value, ensure_ascii=False)
    return "[\n  " + ",\n  ".join(json.dumps(each, ensure_ascii=False) for each in value) + "\n ]"


def _suspects(exercise: Exercise) -> list[dict]:
    return [
        {"name": m.name, "title": m.title, "hint": m.hint, "fails": list(m.fails), "prints": _prints(exercise, m)}
        for m in exercise.mistakes
    ]


def _prints(exercise: Exercise, mistake: KnownAnswer) -> dict[str, dict]:
    from .jitter import steady_print  # it needs torch, and whoever only enters marks does not

    # Where it fails no check, as `matrix` has proved, it leaves no print, and most mistakes fail few.
    tests = [test for test in exercise.tests if not test.hidden and test.check in mistake.fails]
    left = {test.name: steady_print(exercise.name, mistake.name, test) for test in tests}
    return {test: print_ for test, print_ in left.items() if print_ is not None}


def visible_tests(exercise: Exercise) -> str:
    """Return the test file with only the visible tests and what these need."""
    path = exercise.folder / f"test_{exercise.name}.py"
    text = path.read_text(encoding="utf-8")
    body = ast.parse(text).body
    hidden = {test.name for test in exercise.tests if test.hidden}
    kept = needed([node for node in body if getattr(node, "name", None) not in hidden])
    lines = text.splitlines()
    for node in reversed(body):
        if node not in kept:
            del lines[lines_of(node)]
    return _one_gap(
        re.sub(
            r"^from autograder\.(kit[.\w]*) import (\([^)]*\)|.*)$", lambda m: _kit_import(m, kept), "\n".join(lines), flags=re.MULTILINE
        )
    )


def _kit_import(found: re.Match, kept: list[ast.stmt]) -> str:
    """Return an import from our kit as one from the learner's, with only the names that are left."""
    module, offered = found[1], re.findall(r"\w+", found[2])
    used = {n.id for node in kept for n in ast.walk(node) if isinstance(n, ast.Name)}
    return f"from {module} import {', '.join(name for name in offered if name in used)}"


def _one_gap(text: str) -> str:
    return re.sub(r"\n{4,}", "\n\n\n", text).rstrip() + "\n"


def notebook_text(notebook: NotebookNode) -> str:
    """Return a notebook as it stands in its file."""
    return nbformat.writes(notebook) + "\n"
