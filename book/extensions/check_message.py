"""Show what a check says of a known mistake, as a learner sees it.

The directive `{check-message} EXERCISE MISTAKE CHECK` puts the mistake into the notebook that learners get, runs that down to the check, and
takes over the box that the check shows. So it is what the kit says at the time of the build, and holds what visible tests say and nothing else.
"""

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from docutils import nodes
from nbclient import NotebookClient
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]
EXERCISES = ROOT / "exercises"
KIT = "kit"
OPEN, CLOSE = '<div class="check-message" role="group" aria-label="What the check says">\n', "\n</div>"


class NoMessage(Exception):
    """There is nothing that could be shown."""


class CheckMessage(SphinxDirective):
    """`{check-message} EXERCISE MISTAKE CHECK`: what the check says of the mistake."""

    required_arguments = 3

    def run(self):
        """Return the box as it is; other formats than HTML do without."""
        exercise, mistake, check = self.arguments
        try:
            box = message(exercise, mistake, check)
        except NoMessage as error:
            raise self.error(str(error)) from None
        for file in files_behind(exercise):
            self.env.note_dependency(str(file))
        return [nodes.raw("", f"{OPEN}{box}{CLOSE}", format="html")]


def files_behind(exercise: str) -> list[Path]:
    """Return the files that decide what a check says."""
    folders = EXERCISES / KIT, EXERCISES / exercise, ROOT / "solutions" / exercise
    return sorted(
        file for folder in folders for file in folder.glob("*") if file.suffix in (".py", ".json", ".ipynb") and file.name[0] != "."
    )


def message(exercise: str, mistake: str, check: str) -> str:
    """Return what a check of an exercise shows in a notebook in which somebody has made a known mistake, as HTML."""
    notebook = notebook_with(exercise, mistake, check)
    with TemporaryDirectory() as folder:  # the kit keeps a file of what has passed beside the notebook
        for each in (KIT, exercise):
            shutil.copytree(EXERCISES / each, Path(folder, each), ignore=shutil.ignore_patterns(".*", "__pycache__"))
        client = NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(Path(folder, exercise))}})
        client.execute()
    shown = [output.data.get("text/html") for output in notebook.cells[-1].outputs if output.output_type == "display_data"]
    if not shown or not shown[0] or "wrong answer" not in shown[0]:
        raise NoMessage(f"the check {check} of {exercise} has nothing to say against {mistake}")
    return shown[0]


def notebook_with(exercise: str, mistake: str, check: str) -> nbformat.NotebookNode:
    """Return a learner's notebook with a mistake in its answers, down to a check."""
    sources = answers_with(exercise, mistake)
    notebook = nbformat.read(EXERCISES / exercise / f"{exercise}.ipynb", as_version=4)
    ends = [number for number, cell in enumerate(notebook.cells) if cell.id == check]
    if not ends:
        raise NoMessage(f"the exercise {exercise} has no check {check}")
    notebook.cells = [cell for cell in notebook.cells[: ends[0] + 1] if cell.cell_type == "code"]
    for cell in notebook.cells:
        cell.source = sources.get(cell.id, cell.source)
    return notebook


def answers_with(exercise: str, mistake: str) -> dict[str, str]:
    """Return the sources of all answers, by cell, when somebody has made a known mistake."""
    if str(ROOT) not in sys.path:
        sys.path.append(str(ROOT))
    from autograder.exercise.reading import load  # not needed by builds that find the page as they left it, and slow to import
    from autograder.judging.answers import answers

    known = {each.name: each for each in load(exercise).mistakes}
    if mistake not in known:
        raise NoMessage(f"{exercise} knows no mistake {mistake}; there are {', '.join(known)}")
    return answers(load(exercise), known[mistake])


def setup(app):
    """Register the directive."""
    app.add_directive("check-message", CheckMessage)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
