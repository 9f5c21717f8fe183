"""What strangers hand in is parsed by a process of its own, with little memory and little time; no YAML of theirs is read at all."""

import json
import os
import signal
from pathlib import Path

import jupytext
import nbformat
import pytest

from autograder.authoring.sample import handed_in
from autograder.errors import Refused
from autograder.intake import reader as readers
from autograder.intake.cells import of_script
from autograder.intake.reader import TOO_MUCH, Reader
from autograder.intake.reading import MOST_BYTES, read_submission, wanted_of
from autograder.judging.answers import answers

MEGABYTE = 1 << 20


@pytest.fixture
def read(single_head, tmp_path):
    """Return what reads a file by a reader of its own, which is there as `read.reader`."""
    reader = Reader()

    def run(content: str | bytes, kind: str = ".ipynb"):
        path = tmp_path / f"single_head{kind}"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_submission(path, "ada", single_head, reader.found_in)

    run.reader = reader
    yield run
    reader.close()


def peak(reader: Reader) -> int:
    """Return the most memory that a reader has ever held, in bytes."""
    status = Path(f"/proc/{reader._process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM:")).split()[1]) << 10


def laughs(entry: str, most: int) -> str:
    """Return YAML in which each line names the one before ten times."""
    return "\n".join(
        f"# a{n}: &a{n} " + (entry % {"times": ", ".join([f"*a{n - 1}"] * 10)} if n else "{x: [y, y, y, y]}") for n in range(most)
    )


HEADS = {
    "aliases in lists": laughs("[%(times)s]", 12),
    "aliases in what jupytext looks for": "# jupyter:\n" + laughs("[%(times)s]", 12).replace("# a", "#   a"),
    "aliases merged": laughs("{<<: [%(times)s]}", 12),
    "an alias of itself": "# a: &a [*a, *a]",
    "an object": "# jupyter: !!python/object/apply:os.system [touch /tmp/pwned]",
    "a key of keys": "# ? " + "[" * 5000,
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_the_head_of_a_script_is_read_by_nobody(read, single_head, head):
    script = jupytext.writes(handed_in(single_head, None), fmt="py:percent")
    body = script.split("# ---\n", 2)[2]
    assert read(f"# ---\n{head}\n# ---\n{body}", ".py").answers == answers(single_head)
    assert read(f"{head}\n# %% {head.splitlines()[-1]}\n{body}", ".py").answers == answers(single_head)
    assert peak(read.reader) < 100 * MEGABYTE and not os.path.exists("/tmp/pwned")


@pytest.mark.parametrize("fmt", ["py:percent", "py:light", "py:hydrogen"])
def test_scripts_hold_what_their_notebook_holds(read, single_head, fmt):
    assert read(jupytext.writes(handed_in(single_head, None), fmt=fmt), ".py").answers == answers(single_head)


def test_cells_of_scripts():
    def cells(text: str) -> list[tuple[str, str]]:
        return [(cell.name, cell.source) for cell in of_script(text) if cell.source]

    answer = '{"grade": false, "grade_id": "answer-a", "solution": true}'
    assert cells(f"\ufeff# %% a title nbgrader={answer}\r\nx = 1\r\n\r\n\r\n#%%\ny = 2\n") == [("answer-a", "x = 1"), ("", "y = 2")]
    assert cells(f"# %% [markdown] nbgrader={answer}\n# x\n# %% [raw]\nx\n# %%\ny") == [("", "y")]
    assert cells(f"x\n# + nbgrader={answer}\ny\n\nz\n# -\nv\n# + [markdown]\n# w") == [("", "x"), ("answer-a", "y\n\nz"), ("", "v")]
    assert cells("# In[3]:\n\nx = 1\n\n\n# In[ ]:\n\ny\n") == [("", "\nx = 1"), ("", "\ny")]
    assert cells("x = 1\n# %%no mark\n# a + b\n#-5\ny = '''\n\f'''") == [("", "x = 1\n# %%no mark\n# a + b\n#-5\ny = '''\n\f'''")]


def test_memory_is_limited(single_head):
    small, text = Reader(memory=96 * MEGABYTE), "[" + "[]," * (MOST_BYTES // 3 - 10) + "[]]"
    for content, what in ((text, TOO_MUCH), ('{"nbformat": 5}', "not a notebook of a known format"), (text, TOO_MUCH)):
        with pytest.raises(Refused, match=what):
            small.found_in(content.encode(), "x.ipynb", wanted_of(single_head))
    small.close()


def test_time_is_limited_and_the_next_file_has_as_much(single_head):
    hurried, wanted = Reader(seconds=0), wanted_of(single_head)
    cells = [{"cell_type": "code", "source": "x," * 49_900 + str(n)} for n in range(10)]
    for content, what in ((cells, TOO_MUCH), ([], None), (cells, TOO_MUCH), ([], None)):
        data = json.dumps({"nbformat": 4, "cells": content}).encode()
        if what:
            with pytest.raises(Refused, match=what):
                hurried.found_in(data, "x.ipynb", wanted)
        else:
            assert hurried.found_in(data, "x.ipynb", wanted).answers == {}
    hurried.close()


def test_a_reader_that_somebody_ended_is_nobodys_fault(read, single_head):
    notebook = nbformat.writes(handed_in(single_head, None))
    for sign in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV):
        assert read(notebook).answers == answers(single_head)
        os.kill(read.reader._process.pid, sign)
    assert read(notebook).answers == answers(single_head)


def test_no_file_gets_the_answer_of_the_one_before(read, single_head, monkeypatch):
    def interrupted(*about):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(readers, "_exactly", interrupted)
        with pytest.raises(KeyboardInterrupt):
            read(nbformat.writes(handed_in(single_head, None)))
    assert read('{"nbformat": 4}').answers == {}


def test_a_file_that_always_kills_the_reader_is_refused(read, monkeypatch):
    monkeypatch.setattr(read.reader, "_start", "import sys; sys.stdin.buffer.read(9); sys.exit(1)")
    with pytest.raises(Refused, match=TOO_MUCH):
        read('{"nbformat": 4}')


def test_a_fork_has_a_reader_of_its_own(read, single_head):
    assert read('{"nbformat": 4}').answers == {}
    child = os.fork()
    if not child:
        try:
            os._exit(0 if read(nbformat.writes(handed_in(single_head, None))).answers == answers(single_head) else 1)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert read('{"nbformat": 4}').answers == {}
