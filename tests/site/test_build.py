"""Building the book is quiet, and nothing that went wrong is."""

import contextlib
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.site.site_layout import ROOT

EXTENSIONS = ROOT / "book" / "extensions"
CONFIG = f"""\
title: A book
execute: {{execute_notebooks: cache}}
sphinx:
  local_extensions: {{ahead: {EXTENSIONS}, freshness: {EXTENSIONS}, progress: {EXTENSIONS}}}
  config: {{nb_execution_timeout: 20}}
"""
TOC = "format: jb-book\nroot: index\nchapters:\n  - file: chapter\n"
HEADER = """\
---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {name: python3, display_name: Python 3}
---
"""
BUILD = [sys.executable, str(EXTENSIONS / "build.py")]


def cell(code: str, tags: str = "") -> str:
    return f"```{{code-cell}}\n{tags}{code}\n```\n"


@pytest.fixture
def book(tmp_path) -> Path:
    """A book of a page and a chapter whose code runs."""
    for name, text in {"_config.yml": CONFIG, "_toc.yml": TOC, "index.md": "# Book\n\nText.\n"}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "chapter.md").write_text(f"{HEADER}# Chapter\n\n{cell('print(6 * 7)')}")
    return tmp_path


def build(book: Path) -> subprocess.CompletedProcess:
    return subprocess.run([*BUILD, book], capture_output=True, text=True, timeout=300)


def test_a_build_says_what_it_ran_and_nothing_else(book):
    done = build(book)
    assert (done.returncode, done.stderr) == (0, "")
    ran, pages, where = done.stdout.splitlines()
    assert ran.startswith("1 of 2  chapter ran in ")
    assert pages == "pages: 2 read, 1 of them run, 2 written"
    assert where == "the book: _build/html/index.html"
    assert "42" in (book / "_build" / "html" / "chapter.html").read_text()


def test_a_chapter_from_the_cache_was_not_run(book):
    build(book)
    (book / "chapter.md").write_text((book / "chapter.md").read_text() + "\nMore text.\n")
    assert build(book).stdout.startswith("pages: 1 read, 0 of them run, ")


@pytest.mark.parametrize("tags", ["", ":tags: [remove-cell]\n"])
def test_a_cell_that_raises_is_shown_last_with_file_and_line(book, tags):
    chapter = book / "chapter.md"
    chapter.write_text(f"{HEADER}# Chapter\n\n{cell('1 + 1')}\n{cell('half = 1 / 0', tags)}\nSee {{ref}}`nowhere`.\n")
    done = build(book)
    lines = chapter.read_text().splitlines()
    begins = len(lines) - lines[::-1].index("```{code-cell}") + 1  # the line below the last fence that opens a cell
    assert done.returncode == 1
    assert "1 of 2  chapter stopped: CellExecutionError" in done.stdout
    warnings, shown = done.stderr.split(f"{chapter}:{begins}: this cell raised an error\n")
    assert f"chapter.md:{len(lines)}: WARNING: undefined label: 'nowhere'" in warnings
    assert "----> 1 half = 1 / 0" in shown and "ZeroDivisionError: division by zero" in shown
    assert "\x1b" not in done.stdout + done.stderr  # colours are for terminals


def test_a_warning_fails_the_build_also_when_nothing_has_changed_since(book):
    (book / "index.md").write_text("# Book\n\n[words](elsewhere.md)\n")
    for _ in range(2):
        done = build(book)
        assert done.returncode == 1 and "index.md:3: WARNING: 'myst' cross-reference target not found" in done.stderr
        assert done.stderr.endswith("then run this again.\n")


def test_a_cell_that_takes_too_long_is_shown(book):
    (book / "_config.yml").write_text(CONFIG.replace("timeout: 20", "timeout: 1"))
    (book / "chapter.md").write_text(f"{HEADER}# Chapter\n\n{cell('import time; time.sleep(60)')}")
    done = build(book)
    assert done.returncode == 1 and "CellTimeoutError" in done.stderr and "time.sleep(60)" in done.stderr


def test_what_ends_the_build_is_shown(book):
    (book / "chapter.md").write_text(f"{HEADER}# Chapter\n\n{cell('import os; os._exit(3)')}")
    done = build(book)
    assert done.returncode == 2 and "DeadKernelError" in done.stderr
    assert done.stderr.endswith("The book could not be built; the reason is above.\n")


def test_a_page_that_is_not_there_is_named(book):
    (book / "chapter.md").unlink()
    done = build(book)
    assert done.returncode == 1 and "nonexisting document 'chapter'" in done.stderr


def test_a_config_that_is_no_yaml_is_named_with_its_line(book):
    (book / "_config.yml").write_text("title: [\n")
    done = build(book)
    assert done.returncode == 2 and done.stderr.startswith(f"{book}/_config.yml: ") and "line 2" in done.stderr


def on_a_terminal(book: Path) -> tuple[int, str]:
    """Return the exit status and everything that appeared on the terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen([*BUILD, book], stdout=follower, stderr=follower, env={**os.environ, "TERM": "xterm", "COLUMNS": "100"})
    os.close(follower)
    seen = b""
    while True:
        try:
            seen += os.read(leader, 4096)
        except OSError:  # the other side is closed
            break
    os.close(leader)
    return process.wait(), seen.decode()


def test_a_terminal_shows_a_bar_and_the_warnings_above_it(book):
    (book / "index.md").write_text("# Book\n\n[words](elsewhere.md)\n")
    status, seen = on_a_terminal(book)
    assert status == 1
    assert "running chapter" in seen and "2/2" in seen
    assert "WARNING: 'myst' cross-reference target not found" in seen


def begun(book: Path, **more) -> subprocess.Popen:
    """Start a build that can be interrupted; where these tests run in the background of a shell, Ctrl-C is ignored."""
    return subprocess.Popen(
        [*BUILD, book],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **more,
    )


def interrupted(process: subprocess.Popen) -> str:
    """Return what a build says on Ctrl-C, which reaches its kernel too; nothing of it must be left."""
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    return said


@pytest.mark.parametrize("marker", [".jupyter_cache", "begun"], ids=["while the kernel starts", "while a cell runs"])
def test_ctrl_c_ends_the_build_in_a_word(book, marker):
    code = f"import pathlib, time\npathlib.Path({str(book / '_build' / 'begun')!r}).touch()\ntime.sleep(30)"
    (book / "chapter.md").write_text(f"{HEADER}# Chapter\n\n{cell(code)}")
    process = begun(book)
    while not (book / "_build" / marker).exists():
        time.sleep(0.1)
    assert interrupted(process) == "Interrupted!\n"


def test_ctrl_c_gives_the_terminal_its_cursor_back(book):
    (book / "chapter.md").write_text(f"{HEADER}# Chapter\n\n{cell('import time; time.sleep(30)')}")
    leader, follower = pty.openpty()
    process = begun(book, stdout=follower, env={**os.environ, "TERM": "xterm"})
    os.close(follower)
    shown = b""
    while b"running chapter" not in shown:
        shown += os.read(leader, 4096)
    assert interrupted(process) == "Interrupted!\n"
    with contextlib.suppress(OSError):  # the other side is closed
        while more := os.read(leader, 4096):
            shown += more
    os.close(leader)
    hidden, back = b"\x1b[?25l", b"\x1b[?25h"
    assert shown.rindex(back) > shown.rindex(hidden)
