"""Bad input: each a typed refusal with what, where and what to do; the batch goes on."""
import json
import os

import jupytext
import nbformat
import pytest

from autograder.errors import Refused
from autograder.judge import answers
from autograder.kit.outcome import Outcome
from autograder.grading import grade
from autograder.sample import handed_in
from autograder.submission import MOST_BYTES, read


@pytest.fixture
def notebook(single_head):
    return handed_in(single_head, None)


@pytest.fixture
def written(tmp_path):
    def write(content) -> object:
        path = tmp_path / "single_head.ipynb"
        path.write_bytes(content if isinstance(content, bytes) else (content if isinstance(content, str) else nbformat.writes(content)).encode())
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
}


@pytest.mark.parametrize("content", NO_NOTEBOOK.values(), ids=NO_NOTEBOOK)
def test_what_is_no_notebook_is_refused(written, single_head, content):
    with pytest.raises(Refused) as error:
        read(written(content), "ada", single_head)
    assert error.value.where == "single_head.ipynb" and error.value.what and error.value.todo


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


@pytest.mark.parametrize("content", ODD.values(), ids=ODD)
def test_odd_notebooks_are_read_as_unanswered(written, single_head, content):
    assert read(written(json.dumps(content)), "ada", single_head).answers == {}


def test_500_megabytes_are_refused_without_reading_them(tmp_path, single_head):
    path = tmp_path / "single_head.ipynb"
    with open(path, "wb") as file:
        file.truncate(500 << 20)
    with pytest.raises(Refused, match="500 MB"):
        read(path, "ada", single_head)


def test_just_within_the_limit_is_read(written, single_head, notebook):
    notebook.metadata["filling"] = "x" * (MOST_BYTES - len(nbformat.writes(notebook)) - 100)
    assert read(written(notebook), "ada", single_head).answers == answers(single_head)


def test_links_pipes_and_folders_are_refused(tmp_path, single_head, notebook):
    real = tmp_path / "real.ipynb"
    real.write_text(nbformat.writes(notebook))
    os.symlink(real, tmp_path / "link.ipynb")
    os.mkfifo(tmp_path / "pipe.ipynb")
    (tmp_path / "folder.ipynb").mkdir()
    for name in ("link", "pipe", "folder", "absent"):
        with pytest.raises(Refused):
            read(tmp_path / f"{name}.ipynb", "ada", single_head)


@pytest.mark.parametrize("name", ["..", ".", "a/b", "../../etc", "-rf", ".hidden", "a b", "a\nb", "x" * 65, "", "a..b", "ada\0"])
def test_names_that_are_paths_are_refused(written, single_head, notebook, name):
    with pytest.raises(Refused):
        read(written(notebook), name, single_head)


def test_deleted_cell_is_no_answer_and_noted(written, single_head, notebook):
    notebook.cells = [c for c in notebook.cells if c.id != "answer-masks"]
    found = read(written(notebook), "ada", single_head)
    assert "answer-masks" not in found.answers and "not in the notebook" in found.notes["answer-masks"]


def test_duplicated_cell_counts_as_last_answered(written, single_head, notebook):
    place = next(n for n, c in enumerate(notebook.cells) if c.id == "answer-masks")
    for text in ("def causal_mask(length):\n    return 'second'", notebook.cells[place].source.replace("tril", "triu")):
        copy = nbformat.from_dict(json.loads(json.dumps(notebook.cells[place])))
        copy.source, copy.id = text, f"{copy.id}-{len(notebook.cells)}"
        notebook.cells.append(copy)
    found = read(written(notebook), "ada", single_head)
    assert "triu" in found.answers["answer-masks"] and "more than once" in found.notes["answer-masks"]


def test_stub_pasted_below_does_not_hide_the_answer(written, single_head, notebook):
    from autograder.release import released_notebook

    stub = next(c for c in released_notebook(single_head).cells if c.id == "answer-masks")
    stub.id = "pasted"  # JupyterLab gives a pasted cell an id of its own and leaves nbgrader's mark
    notebook.cells.append(stub)
    assert read(written(notebook), "ada", single_head).answers == answers(single_head)


def test_retitled_cell_is_found_by_its_function(written, single_head, notebook):
    for cell in notebook.cells:
        cell.metadata.pop("nbgrader", None)
        cell.id = "lost-" + cell.id
    found = read(written(notebook), "ada", single_head)
    assert found.answers == answers(single_head) and "name of its function" in found.notes["answer-softmax"]


def test_helpers_outside_the_answers_are_remembered(written, single_head, notebook):
    notebook.cells.insert(2, nbformat.v4.new_code_cell("import numpy as np\ndef helper(x):\n    return x"))
    lost = read(written(notebook), "ada", single_head).lost_names
    assert set(lost) == {"helper", "np"} and "move it into the answer" in lost["helper"]


def test_metadata_tags_outputs_and_given_cells_are_not_taken_over(written, single_head, notebook):
    from autograder.notebooks import rebuilt

    for cell in notebook.cells:
        cell.metadata["tags"] = ["skip-execution"]
        if not cell.id.startswith("answer-"):
            cell.source = "<script>alert(1)</script>"
        cell.metadata.setdefault("nbgrader", {})["points"] = 1000
    clean = nbformat.writes(rebuilt(single_head, read(written(notebook), "ada", single_head)))
    assert "script" not in clean and "skip-execution" not in clean and "1000.0" not in clean and '"points": 1000' not in clean


def test_older_formats_are_read(written, single_head, notebook):
    cells = [{"cell_type": c.cell_type, "metadata": dict(c.metadata), "input": c.source, "language": "python", "outputs": []} for c in notebook.cells if c.cell_type == "code"]
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": cells}]}
    assert read(written(json.dumps(old)), "ada", single_head).answers == answers(single_head)


def test_percent_script_is_read(tmp_path, single_head, notebook):
    path = tmp_path / "single_head.py"
    path.write_text(jupytext.writes(notebook, fmt="py:percent"), encoding="utf-8")
    assert read(path, "ada", single_head).answers == answers(single_head)


def test_batch_goes_on_past_everything(course, hand_in, single_head):
    hand_in("zoe", single_head)
    for learner, content in NO_NOTEBOOK.items():
        path = course.submitted / learner.replace(" ", "_") / "single_head" / "single_head.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    for learner in ("bad name", "empty_folder"):
        (course.submitted / learner / "single_head").mkdir(parents=True)
    (course.submitted / "linked").symlink_to(course.submitted / "zoe")
    entries = {learner: entry for learner, _, entry in grade(course, ["single_head"]) if entry}
    assert len(entries) == len(NO_NOTEBOOK) + 4
    assert [learner for learner, entry in entries.items() if not entry.refused] == ["zoe"]
    assert {v.outcome for v in entries["zoe"].verdicts} == {Outcome.PASSED}
    assert all(entry.score is None for entry in entries.values() if entry.refused)
    assert not (course.root / "feedback" / "bad name").exists()
    assert "not judged" in course.feedback("empty", "single_head").read_text()
