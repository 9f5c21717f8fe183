"""A sample class: right answers, known mistakes and accidents, as learners would hand them in."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle

import nbformat
from nbformat import NotebookNode

from ..exercise import reading as exercises
from ..exercise.known import KnownAnswer
from ..exercise.model import Exercise
from ..intake.submission import Submission
from ..judging.answers import answers
from ..records.course import Course
from ..records.notebooks import rebuilt

ENDLESS = "while True:\n    pass"
HUNGRY = "held = bytearray(1 << 40)"
LEAVING = "import os\nos._exit(0)"
READY_MADE = "from torch.nn.functional import scaled_dot_product_attention as ready_made"


@dataclass(frozen=True)
class Part:
    """One submission of the class: whose it is, of which exercise, and how its text is made."""

    learner: str
    exercise: str
    make: Callable[[Exercise], str]


def sample_class() -> list[Part]:
    """Return the parts of the class, in order."""
    makers = {
        "single_head": [
            _right(0),
            _right(1),
            _mistake(0),
            _mistake(3),
            _mistake(6),
            _two_mistakes(2, 9),
            _unanswered,
            _garbled,
            _first_line(0, ENDLESS),
            _first_line(1, READY_MADE),
        ],
        "cross_attention": [
            _right(0),
            _right(2),
            _mistake(1),
            _mistake(4),
            _first_line(-1, HUNGRY),
            _without_a_cell,
            _with_a_cell_twice,
            _cut_off,
        ],
        "multi_head": [_right(1), _right(3), _mistake(0), _mistake(5), _mistake(8), _first_line(-1, LEAVING), _half_done],
    }
    for name in exercises.all_names():
        makers.setdefault(name, [_right(0), _right(1), _mistake(0), _mistake(5), _half_done])
    names = cycle(LEARNERS)
    return [Part(next(names), exercise, make) for exercise, these in makers.items() for make in these]


LEARNERS = (
    "ada alan amalie barbara claude donald dorothy edsger emmy evelyn frances grace hedy john "
    "julia katherine leslie margaret marian mary maryam radia sofia stephen yan"
).split()


def write_sample(course: Course) -> int:
    """Lay out the class under submitted/; return how many submissions are new. None is overwritten."""
    written = 0
    for part in sample_class():
        path = course.submitted / part.learner / part.exercise / f"{part.exercise}.ipynb"
        if path.exists():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(part.make(exercises.load(part.exercise)), encoding="utf-8")
        written += 1
    return written


def handed_in(exercise: Exercise, known: KnownAnswer | None) -> NotebookNode:
    """Return a notebook as it is handed in with the reference answers, or with a known one."""
    return rebuilt(exercise, Submission("", exercise.name, answers(exercise, known)))


def _text(notebook: NotebookNode) -> str:
    return nbformat.writes(notebook)


def _right(number: int):
    return lambda exercise: _text(handed_in(exercise, exercise.variants[number]))


def _mistake(number: int):
    return lambda exercise: _text(handed_in(exercise, exercise.mistakes[number]))


def _two_mistakes(one: int, other: int):
    def make(exercise: Exercise) -> str:
        both = answers(exercise, exercise.mistakes[one])
        plain = answers(exercise)
        both |= {name: text for name, text in answers(exercise, exercise.mistakes[other]).items() if text != plain[name]}
        return _text(rebuilt(exercise, Submission("", exercise.name, both)))

    return make


def _unanswered(exercise: Exercise) -> str:
    return _text(rebuilt(exercise, Submission("", exercise.name, {})))


def _first_line(number: int, line: str):
    """Put a line before the last line of one answer's last function."""

    def make(exercise: Exercise) -> str:
        notebook = handed_in(exercise, None)
        cell = _answer_cells(notebook)[number]
        lines = cell.source.splitlines()
        place = max(n for n, text in enumerate(lines) if "### END SOLUTION" in text)
        indent = " " * (len(lines[place]) - len(lines[place].lstrip()))
        begin = max(n for n in range(place) if "### BEGIN SOLUTION" in lines[n])
        lines[begin + 1 : begin + 1] = [indent + each for each in line.splitlines()]
        cell.source = "\n".join(lines)
        return _text(notebook)

    return make


def _garbled(exercise: Exercise) -> str:
    """A bracket is missing in the first answer."""
    notebook = handed_in(exercise, None)
    cell = _answer_cells(notebook)[0]
    cell.source = cell.source.replace("):", ":", 1).replace(") ->", " ->", 1)
    return _text(notebook)


def _half_done(exercise: Exercise) -> str:
    """The last answer is still the one that was handed out."""
    done = answers(exercise)
    done.pop(exercise.answers[-1].id)
    return _text(rebuilt(exercise, Submission("", exercise.name, done)))


def _without_a_cell(exercise: Exercise) -> str:
    notebook = handed_in(exercise, None)
    notebook.cells.remove(_answer_cells(notebook)[-1])
    return _text(notebook)


def _with_a_cell_twice(exercise: Exercise) -> str:
    notebook = handed_in(exercise, None)
    check = next(c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade"))
    for number, cell in enumerate((check, _answer_cells(notebook)[0])):
        copy = nbformat.from_dict(json.loads(json.dumps(cell)))
        copy.id = f"pasted-{number}"  # JupyterLab gives a pasted cell an id of its own and leaves nbgrader's mark
        notebook.cells.append(copy)
    return _text(notebook)


def _cut_off(exercise: Exercise) -> str:
    """The upload broke off: what is left is no JSON."""
    text = _text(handed_in(exercise, None))
    return text[: len(text) // 2]


def _answer_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("solution")]
