"""Every chapter runs alone, and prints the same numbers when it runs again."""

import os
import subprocess
import sys

import nbformat

from tests.book.chapters import BOOK

CPU_SECONDS = 60


def test_runs_alone_and_cheaply(executed):
    _, seconds = executed
    assert seconds < CPU_SECONDS


def test_prints_no_warning(executed):
    notebook, _ = executed
    noise = [out.text for cell in notebook.cells if cell.cell_type == "code" for out in cell.outputs if out.get("name") == "stderr"]
    assert not noise


def test_no_printed_line_ends_in_a_space(executed):
    """Such a space comes and goes on the page with the moments at which a kernel sends what it prints."""
    notebook, _ = executed
    printed = [out.text for cell in notebook.cells if cell.cell_type == "code" for out in cell.outputs if out.output_type == "stream"]
    assert [line for text in printed for line in text.splitlines() if line != line.rstrip()] == []


def test_shows_no_path_of_this_machine(executed):
    notebook, _ = executed
    assert str(BOOK.parent) not in nbformat.writes(notebook)


def test_every_printed_number_comes_out_again(chapter, executed, tmp_path):
    notebook = nbformat.from_dict(executed[0])
    for cell in notebook.cells:
        if _draws(cell):
            # What is drawn is also computed and printed; the last digit of a coordinate is no claim.
            cell.metadata["tags"] = [*cell.metadata.get("tags", []), "nbval-ignore-output"]
    file = tmp_path / f"{chapter}.ipynb"
    nbformat.write(notebook, file)
    result = _nbval(file)
    assert result.returncode == 0, result.stdout


def _draws(cell) -> bool:
    outputs = cell.get("outputs", [])
    return any(mime.startswith("image/") for out in outputs for mime in out.get("data", {}))


def _nbval(file):
    (file.parent / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "--nbval", "-c", "pytest.ini", "-p", "no:cacheprovider", file.name]
    places = {**os.environ, "PYTHONPATH": str(BOOK)}
    return subprocess.run(command, cwd=file.parent, env=places, capture_output=True, text=True)
