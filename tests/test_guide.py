"""The guide for authors, followed to the letter in a copy of the project that has no other exercise."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT

GUIDE = (ROOT / "book" / "author_guide.md").read_text(encoding="utf-8")
STEP = re.compile(
    r"Write `(?P<file>[\w/]+\.py)`:\n\n````python\n(?P<text>.*?)^````$"
    r"|Cut the class `(?P<cut>\w+)` out of `(?P<from>[\w/]+\.py)`"
    r"|Leave out an (?P<broken>end marker)"
    r"|^```console\n\$ (?P<command>python [^\n]*)\n(?P<printed>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


@pytest.fixture
def copy(tmp_path):
    """Return a folder with the autograder and the book's text, and nothing in solutions/ but what every exercise shares."""
    left_out = shutil.ignore_patterns("__pycache__", "site_static", "pictures")
    for folder in ("autograder", "book"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=left_out)
    (tmp_path / "solutions").mkdir()
    for file in ("_toc.yml", "requirements.txt", "solutions/conftest.py"):
        shutil.copy(ROOT / file, tmp_path / file)
    return tmp_path


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def _run(command: str, folder) -> list[str]:
    environment = {**os.environ, "COLUMNS": "160"}
    done = subprocess.run([sys.executable, *command.split()[1:]], cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    return _lines(done.stdout + done.stderr)


def test_guide_leads_where_it_says(copy):
    notebook, commands = copy / "solutions" / "looks" / "looks.py", 0
    for step in STEP.finditer(GUIDE):
        if step["file"]:
            (copy / step["file"]).write_text(step["text"], encoding="utf-8")
        elif step["cut"]:
            file = copy / step["from"]
            kept = re.sub(rf"\n\n\nclass {step['cut']}:\n.*?(?=\n\n\nclass |\Z)", "", file.read_text(), flags=re.DOTALL)
            assert kept != file.read_text()
            file.write_text(kept.rstrip() + "\n")
        elif step["broken"]:
            whole = notebook.read_text()
            notebook.write_text(whole.replace("    ### END SOLUTION\n", ""))
        else:
            output, wanted, commands = _run(step["command"], copy), _lines(step["printed"]), commands + 1
            assert not wanted or output == wanted, "\n".join(output)
            if wanted and wanted[0].startswith("AuthorError"):
                notebook.write_text(whole)
    assert commands == 5
    made = {str(path.relative_to(copy / "exercises" / "looks")) for path in (copy / "exercises" / "looks").iterdir()}
    assert made == {"looks.ipynb", "test_looks.py", "exercise.json", "check.py", "shapes_1.svg"}
