"""The notebook that instructors see: the released cells, the learner's answers, the verdicts."""

from __future__ import annotations

import re

from nbformat import NotebookNode, from_dict

from ..exercise.model import Exercise
from ..exercise.notebook import released_notebook
from ..intake.submission import Submission
from ..kit.outcome import Verdict
from ..kit.show import as_html, as_text

# Pages colour what they show, and for long lines and long blanks that takes time that grows with the square of their length.
LONGEST_LINE, LONGEST_BLANK, MOST_SHOWN = 500, 100, 20_000  # characters
LONG = re.compile(rf"(?<![^\n])([^\n]{{{LONGEST_LINE}}})([^\n]+)")
BLANK = re.compile(rf"(\s{{{LONGEST_BLANK}}})(\s+)")


def rebuilt(exercise: Exercise, submission: Submission) -> NotebookNode:
    """Return the released notebook with the submission's answers in it; nothing else is taken over."""
    notebook = released_notebook(exercise)
    for cell in notebook.cells:
        if cell.id in submission.answers:
            cell.source = submission.answers[cell.id]
    return notebook


def annotated(notebook: NotebookNode, verdicts: list[Verdict]) -> NotebookNode:
    """Return the notebook with each verdict as the output of its check, and nothing so long that a page could not show it."""
    by_check = {verdict.check: verdict for verdict in verdicts}
    for cell in notebook.cells:
        cell.source = _cut(cell.source)
        verdict = by_check.get(cell.id)
        if verdict is not None:
            cell.execution_count = None
            shown = {"text/html": as_html(verdict), "text/plain": as_text(verdict)}
            # Not with new_output, which checks each output against the format: the whole notebook is checked once, when it is written.
            cell.outputs = [from_dict({"output_type": "display_data", "metadata": {}, "data": shown})]
    return notebook


def _cut(source: str) -> str:
    """Return source without the ends of very long lines, blanks and cells, and with how much is left out."""
    shown = source[:MOST_SHOWN]
    for kind in (BLANK, LONG):
        shown = kind.sub(lambda found: f"{found[1]}# ... {len(found[2])} more characters\n", shown)
    left = len(source) - MOST_SHOWN
    return f"{shown}\n# ... {left} more characters" if left > 0 else shown
