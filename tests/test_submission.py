"""Bad input: each a typed refusal with what, where and what to do; the batch goes on."""

import json
import os
import sys

import jupytext
import nbformat
import pytest

from autograder.authoring.sample import handed_in
from autograder.errors import Refused
from autograder.grading import grade
from autograder.intake.reading import MOST_BYTES, MOST_SCRIPT, read_submission
from autograder.judging.answers import answers
from autograder.kit.cells import ANSWER, Cell, refused
from autograder.kit.outcome import Outcome


@pytest.fixture
def notebook(single_head):
    return handed_in(single_head, None)


@pytest.fixture
def written(tmp_path):
    def write(content) -> object:
        path = tmp_path / "single_head.ipynb"
        path.write_bytes(
            content if isinstance(content, bytes) else (content if isinstance(content, str) else nbformat.writes(content)).encode()
        )
        return path

    return write


NO_NOTEBOOK = {
    "empty": b"",
    "cut off": b'{"cells": [',
    "not UTF-8": b"\xff\xfe\x00{",
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "a number": b"5",
    "a list": b"[]",
    "JSON of something else": b'{"name": "x"}',
    "of the future": b'{"nbformat": 99, "cells": []}',
    "format 1": b'{"nbformat": 1, "cells": []}',
    "nested without end": b"[" * 200_000 + b"]" * 200_000,
    "a number without end": b'{"nbformat": ' + b"9" * 10_000 + b"}",
    "8 MB of brackets": b"[" * MOST_BYTES,
    "8 MB of objects": b'{"a":' * (MOST_BYTES // 5),
    "8 MB of quotes in a text without end": b'"' + b'\\"' * (MOST_BYTES // 2 - 1),
    "8 MB of one number": b"9" * MOST_BYTES,
    "just too deep": b'{"nbformat": 4, "cells": ' + b"[" * 200 + b"]" * 200 + b"}",
    "a format that is markup": b'{"nbformat": "[/b]\\u001b[2J"}',
    "too many cells": b'{"nbformat": 4, "cells": [' + b",".join([b'{"cell_type": "code"}'] * 2001) + b"]}",
    "too long a cell": b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": "' + b"x" * 100_001 + b'"}]}',
    "too much code": b'{"nbformat": 4, "cells": [' + b",".join([b'{"cell_type": "code", "source": "' + b"x" * 90_000 + b'"}'] * 12) + b"]}",
}


@pytest.mark.parametrize("content", NO_NOTEBOOK.values(), ids=NO_NOTEBOOK)
def test_what_is_no_notebook_is_refused(written, single_head, content):
    with pytest.raises(Refused) as error:
        read_submission(written(content), "ada", single_head)
    assert error.value.where == "single_head.ipynb" and error.value.what and error.value.todo
    assert str(error.value).isprintable() and "[/b]" not in str(error.value)


ODD = {
    "no cells": {"nbformat": 4},
    "cells that are no list": {"nbformat": 4, "cells": {"a": 1}},
    "cells that are no objects": {"nbformat": 4, "cells": [1, None, "x", []]},
    "metadata that is a list": {"nbformat": 4, "cells": [{"cell_type": "code", "metadata": [], "source": "x"}]},
    "marks that are text": {"nbformat": 4, "cells": [{"cell_type": "code", "metadata": {"nbgrader": "x"}, "source": "x"}]},
    "source that is a number": {"nbformat": 4, "cells": [{"cell_type": "code", "metadata": {}, "source": 5}]},
    "an id that is an object": {"nbformat": 4, "cells": [{"cell_type": "code", "metadata": {}, "id": {}, "source": ["x", 5]}]},
    "NUL in the source": {"nbformat": 4, "cells": [{"cell_type": "code", "metadata": {}, "source": "def softmax(x):\0"}]},
    "nested source": {"nbformat": 4, "cells": [{"cell_type": "code", "metadata": {}, "source": "(" * 5000}]},
}


# Each once made a parser raise something that nobody expected, or is near one that did.
NO_CODE = {
    "minus signs": "-" * 90_000 + "1",
    "nots": "not " * 20_000 + "x",
    "powers": "1" + "**1" * 30_000,
    "lambdas": "lambda:" * 14_000 + "1",
    "attributes": "x" + ".a" * 1_400,
    "many attributes": "\n".join(["x" + ".a" * 900] * 50),
    "calls": "x" + "()" * 40_000,
    "comparisons": "1" + "<1" * 49_000,
    "elifs": "if 1:\n pass\n" + "elif 1:\n pass\n" * 6_000,
    "brackets": "(" * 90_000,
    "comprehensions": "[" * 150 + "x" + " for x in x]" * 150,
    "NUL": "def f():\0",
    "digits": "9" * 90_000,
    "half a character in a comment": "# \ud800",
    "indents": "".join(" " * n + "if 1:\n" for n in range(400)),
}


@pytest.mark.parametrize("source", NO_CODE.values(), ids=NO_CODE)
def test_sources_that_strain_a_parser_are_answers_or_refused(written, single_head, notebook, source):
    for cell in notebook.cells:
        if cell.id == "answer-masks":
            cell.source = source
    notebook.cells.append(nbformat.v4.new_code_cell(source))
    text = json.dumps(notebook)  # nbformat would not write half a character
    if "\ud800" in source:
        with pytest.raises(Refused, match="cell answer-masks: line 1 has half of a character"):
            read_submission(written(text), "ada", single_head)
        return
    found = read_submission(written(text), "ada", single_head)
    assert found.answers["answer-masks"] == source
    calls = _calls(lambda: refused(Cell("answer-masks", ANSWER, source), single_head.forbidden))
    assert calls < 4_000_000  # one look at each of its parts, and not at each from each


def _calls(function) -> int:
    """Return how many Python functions were called."""
    count = 0

    def step(*about) -> None:
        nonlocal count
        count += 1

    sys.settrace(step)
    try:
        function()
    finally:
        sys.settrace(None)
    return count


def test_a_chain_of_names_is_still_seen_through(single_head):
    for source in (
        "y = F.softmax.__wrapped__.__call__",
        "import torch.nn.functional as G\nG.softmax",
        "x" + ".a" * 1_400 + "\ny = torch.softmax",
    ):
        assert refused(Cell("answer-masks", ANSWER, source), single_head.forbidden), source
    assert not refused(Cell("answer-masks", ANSWER, "self.one.two.three.softmax(x)"), single_head.forbidden)


def test_batch_goes_on_past_strange_sources_and_errors(course, hand_in, single_head):
    """Sources that strain parsers, and errors that say what no file can hold, get verdicts."""
    errors = {
        "surrogate": "raise ValueError('\\ud800')",
        "escapes": "raise ValueError('\\x1b[2J\\u202e' * 9999)",
        "markup": "raise ValueError('[/b]')",
    }
    for name, source in {**errors, "minus": "-" * 9_000 + "1", "attributes": "x" + ".a" * 1_400}.items():

        def spoil(notebook, source=source):
            next(c for c in notebook.cells if c.id == "answer-masks").source = source

        hand_in(name, single_head, change=spoil)
    entries = {entry.learner: entry for entry in grade(course, ["single_head"]).entries}
    assert len(entries) == 5
    for entry in entries.values():
        verdicts = {v.check: v for v in entry.verdicts}
        assert (
            not entry.refused
            and verdicts["causal"].outcome in (Outcome.RAISED, Outcome.MEMORY)
            and verdicts["softmax"].outcome is Outcome.PASSED
        )
        assert all(len(v.reason) < 5000 and v.reason.replace("\n", "").isprintable() for v in entry.verdicts)
    assert any(r"\ud800" in v.reason for v in entries["surrogate"].verdicts)


@pytest.mark.parametrize("content", ODD.values(), ids=ODD)
def test_odd_notebooks_are_read_as_unanswered(written, single_head, content):
    assert read_submission(written(json.dumps(content)), "ada", single_head).answers == {}


def test_500_megabytes_are_refused_without_reading_them(tmp_path, single_head):
    path = tmp_path / "single_head.ipynb"
    with open(path, "wb") as file:
        file.truncate(500 << 20)
    with pytest.raises(Refused, match="500 MB"):
        read_submission(path, "ada", single_head)


def test_just_within_the_limit_is_read(written, single_head, notebook):
    notebook.metadata["filling"] = "x" * (MOST_BYTES - len(nbformat.writes(notebook)) - 100)
    assert read_submission(written(notebook), "ada", single_head).answers == answers(single_head)


def test_links_pipes_and_folders_are_refused(tmp_path, single_head, notebook):
    real = tmp_path / "real.ipynb"
    real.write_text(nbformat.writes(notebook))
    os.symlink(real, tmp_path / "link.ipynb")
    os.mkfifo(tmp_path / "pipe.ipynb")
    (tmp_path / "folder.ipynb").mkdir()
    for name in ("link", "pipe", "folder", "absent"):
        with pytest.raises(Refused):
            read_submission(tmp_path / f"{name}.ipynb", "ada", single_head)


@pytest.mark.parametrize("name", ["..", ".", "a/b", "../../etc", "-rf", ".hidden", "a  b", "a\nb", "x" * 65, "", "a..b", "ada\0"])
def test_names_that_are_paths_are_refused(written, single_head, notebook, name):
    with pytest.raises(Refused):
        read_submission(written(notebook), name, single_head)


def test_deleted_cell_is_no_answer_and_noted(written, single_head, notebook):
    notebook.cells = [c for c in notebook.cells if c.id != "answer-masks"]
    found = read_submission(written(notebook), "ada", single_head)
    assert "answer-masks" not in found.answers and "not in the notebook" in found.notes["answer-masks"]


def test_duplicated_cell_counts_as_last_answered(written, single_head, notebook):
    place = next(n for n, c in enumerate(notebook.cells) if c.id == "answer-masks")
    for text in ("def causal_mask(length):\n    return 'second'", notebook.cells[place].source.replace("tril", "triu")):
        copy = nbformat.from_dict(json.loads(json.dumps(notebook.cells[place])))
        copy.source, copy.id = text, f"{copy.id}-{len(notebook.cells)}"
        notebook.cells.append(copy)
    found = read_submission(written(notebook), "ada", single_head)
    assert "triu" in found.answers["answer-masks"] and "more than once" in found.notes["answer-masks"]


def test_stub_pasted_below_does_not_hide_the_answer(written, single_head, notebook):
    from autograder.exercise.notebook import released_notebook

    stub = next(c for c in released_notebook(single_head).cells if c.id == "answer-masks")
    stub.id = "pasted"  # JupyterLab gives a pasted cell an id of its own and leaves nbgrader's mark
    notebook.cells.append(stub)
    assert read_submission(written(notebook), "ada", single_head).answers == answers(single_head)


def test_retitled_cell_is_found_by_its_function(written, single_head, notebook):
    for cell in notebook.cells:
        cell.metadata.pop("nbgrader", None)
        cell.id = "lost-" + cell.id
    found = read_submission(written(notebook), "ada", single_head)
    assert found.answers == answers(single_head) and "name of its function" in found.notes["answer-softmax"]


def test_helpers_outside_the_answers_are_remembered(written, single_head, notebook):
    notebook.cells.insert(2, nbformat.v4.new_code_cell("import numpy as np\ndef helper(x):\n    return x"))
    lost = read_submission(written(notebook), "ada", single_head).lost_names
    assert set(lost) == {"helper", "np"} and "move it into the answer" in lost["helper"]


def test_metadata_tags_outputs_and_given_cells_are_not_taken_over(written, single_head, notebook):
    from autograder.records.notebooks import rebuilt

    for cell in notebook.cells:
        cell.metadata["tags"] = ["skip-execution"]
        if not cell.id.startswith("answer-"):
            cell.source = "<script>alert(1)</script>"
        cell.metadata.setdefault("nbgrader", {})["points"] = 1000
    clean = nbformat.writes(rebuilt(single_head, read_submission(written(notebook), "ada", single_head)))
    assert "script" not in clean and "skip-execution" not in clean and "1000.0" not in clean and '"points": 1000' not in clean


def test_older_formats_are_read(written, single_head, notebook):
    cells = [
        {"cell_type": c.cell_type, "metadata": dict(c.metadata), "input": c.source, "language": "python", "outputs": []}
        for c in notebook.cells
        if c.cell_type == "code"
    ]
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": cells}]}
    assert read_submission(written(json.dumps(old)), "ada", single_head).answers == answers(single_head)


def test_percent_script_is_read(tmp_path, single_head, notebook):
    path = tmp_path / "single_head.py"
    path.write_text(jupytext.writes(notebook, fmt="py:percent"), encoding="utf-8")
    assert read_submission(path, "ada", single_head).answers == answers(single_head)


HOSTILE_SCRIPTS = {
    "too large": "#" * (MOST_SCRIPT + 1),
    "too many cells": "# %%\n" * 20_000,
    "header without end": "# ---\n# a: " + "[" * 20_000 + "\n# ---\n",
    "metadata nested": "# %% " + '{"a":' * 20_000,
    "options": "# %% " + "a=1 " * 30_000,
    "equals": "# %% x=" + "=" * 120_000,
    "objects in YAML": "# ---\n# jupyter: !!python/object/apply:os.system [touch /tmp/pwned]\n# ---\n",
    "NUL": "# %%\n\0",
}


@pytest.mark.parametrize("text", HOSTILE_SCRIPTS.values(), ids=HOSTILE_SCRIPTS)
def test_hostile_scripts_are_unanswered_or_refused(tmp_path, single_head, text):
    path = tmp_path / "single_head.py"
    path.write_text(text)
    try:
        assert read_submission(path, "ada", single_head).answers == {}
    except Refused as error:
        assert error.where == "single_head.py" and error.what and error.todo
    assert not os.path.exists("/tmp/pwned")


def test_duplicate_keys_and_odd_numbers_read_as_jupyter_reads_them(written, single_head):
    cell = (
        '{"cell_type": "code", "id": "answer-masks", "metadata": {"x": NaN, "y": -Infinity, "z": 1e999, "w": '
        + "9" * 6_000
        + '}, "source": "first", "source": "last"}'
    )
    assert read_submission(written('{"nbformat": 4, "cells": [' + cell + "]}"), "ada", single_head).answers == {"answer-masks": "last"}


def test_batch_goes_on_past_everything(course, hand_in, single_head):
    hand_in("zoe", single_head)
    for learner, content in NO_NOTEBOOK.items():
        path = course.submitted / learner.replace(" ", "_") / "single_head" / "single_head.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    for learner in ("-bad name", "empty_folder"):
        (course.submitted / learner / "single_head").mkdir(parents=True)
    (course.submitted / "linked").symlink_to(course.submitted / "zoe")
    entries = {entry.learner: entry for entry in grade(course, ["single_head"]).entries}
    assert len(entries) == len(NO_NOTEBOOK) + 4
    assert [learner for learner, entry in entries.items() if not entry.refused] == ["zoe"]
    assert {v.outcome for v in entries["zoe"].verdicts} == {Outcome.PASSED}
    assert all(entry.score is None for entry in entries.values() if entry.refused)
    assert not (course.root / "feedback" / "-bad name").exists()
    assert "not judged" in course.feedback("empty", "single_head").read_text()
