"""From a stranger's bytes to code cells. The reader does this (`reader.py`), under limits of memory and time.

It is done by hand, because two fields of each cell are all that is wanted, and the usual libraries read all the rest too: nbformat
converts and validates outputs, jupytext expands the YAML in a script's head.

    script    lines of text; whatever stands in the head is a comment, and is read by nobody
    percent   `# %%` begins a cell. Behind it may stand a title, `[markdown]` or `[raw]`, and `nbgrader={... "grade_id": "NAME" ...}`
    light     where no line is `# %%`: `# +` begins a cell, with the same behind it, and `# -` ends it
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from ..errors import Refused
from ..kit.source import defined_names

MOST_CELLS = 2000
LONGEST_CELL = 100_000
MOST_SOURCE = 1_000_000  # characters of code in all; Python's parser takes some seconds for the worst
DEEPEST = 200
# An unclosed text runs to the end of the file: otherwise the search for its end, from each quote in it, would take hours.
TEXT = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
NO_BRACKETS = bytes(set(range(256)) - set(STEPS))

PERCENT = re.compile(r"[ \t]*#[ \t]*(?:%%+|In\[[0-9 ]{0,9}\]:?)(?=\s|$)")
LIGHT = re.compile(r"# ?\+(?=\s|$)")
LIGHT_ENDS = ("# -", "#-")
NO_CODE = re.compile(r"\[(?:markdown|md|raw)\]")
GRADE_ID = re.compile(r'"grade_id"\s*:\s*"([^"\\]{1,100})"')


@dataclass(frozen=True, eq=False)
class Loose:
    """A code cell of the submission, with the name that it claims."""

    name: str
    source: str

    @cached_property
    def defines(self) -> set[str]:
        return defined_names(self.source)


def code_cells(data: bytes, name: str) -> list[Loose]:
    """Return the code cells of a notebook, or of a script if the file's name ends in .py; raises `Refused`."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise _unreadable(name, "it is not text in UTF-8") from None
    cells = of_script(text) if name.endswith(".py") else _of_notebook(_json(text, name), name)
    _check_counts([len(cell.source) for cell in cells], name)
    return cells


def _check_counts(lengths: list[int], name: str) -> None:
    for what, count, most in (
        ("code cells", len(lengths), MOST_CELLS),
        ("characters in one code cell", max(lengths, default=0), LONGEST_CELL),
        ("characters of code", sum(lengths), MOST_SOURCE),
    ):
        if count > most:
            raise Refused(
                name,
                f"it has {count} {what} and at most {most} are read",
                "Remove what does not belong to the exercise and hand in again",
            )


def of_script(text: str) -> list[Loose]:
    """Return the code cells of a percent or light script; one cell, if it has no marks."""
    lines = re.split("\r\n?|\n", text.removeprefix("\ufeff"))
    begins = PERCENT if any(map(PERCENT.match, lines)) else LIGHT
    found: list[tuple[str, list[str]]] = [("", [])]
    for line in lines:
        if begin := begins.match(line):
            found.append((line[begin.end() :], []))
        elif begins is LIGHT and line.rstrip() in LIGHT_ENDS:
            found.append(("", []))
        else:
            found[-1][1].append(line)
    return [Loose(_named(mark), "\n".join(body).rstrip("\n")) for mark, body in found if not NO_CODE.search(mark.partition("{")[0])]


def _named(mark: str) -> str:
    found = GRADE_ID.search(mark)
    return found[1] if found else ""


def _json(text: str, name: str):
    if depth_of(text) > DEEPEST:
        raise _unreadable(name, f"it is nested more than {DEEPEST} deep")
    try:
        return json.loads(text, parse_int=_short_number)
    except ValueError as error:
        raise _unreadable(name, f"it is not JSON: {error}") from None


def depth_of(text: str) -> int:
    """Return how deeply JSON is nested, without parsing it."""
    brackets = TEXT.sub(b"", text.encode("utf-8")).translate(None, NO_BRACKETS)
    return max(accumulate(map(STEPS.__getitem__, brackets)), default=0)


def _short_number(digits: str) -> int:
    """Return a number, cut short: only the format's version is ever used, and long numbers are slow, or an error."""
    return int(digits[:9])


def _of_notebook(raw, name: str) -> list[Loose]:
    """Return the code cells of a notebook of any format since 2."""
    version = raw.get("nbformat") if isinstance(raw, dict) else None
    if version == 4:
        cells = _list(raw.get("cells"))
    elif version in (2, 3):
        cells = [cell for sheet in _list(raw.get("worksheets")) if isinstance(sheet, dict) for cell in _list(sheet.get("cells"))]
    else:
        raise _unreadable(
            name, f"it is JSON but not a notebook of a known format (nbformat {version if isinstance(version, int) else 'missing'})"
        )
    code = [cell for cell in cells if isinstance(cell, dict) and cell.get("cell_type") == "code"]
    return [Loose(_claimed(cell.get("metadata"), cell.get("id")), _joined(cell.get("source", cell.get("input")))) for cell in code]


def _list(value) -> list:
    return value if isinstance(value, list) else []


def _joined(source) -> str:
    return source if isinstance(source, str) else "".join(line for line in _list(source) if isinstance(line, str))


def _claimed(metadata, identity) -> str:
    marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    name = (marks.get("grade_id") if isinstance(marks, dict) else None) or identity
    return name if isinstance(name, str) else ""


def _unreadable(name: str, what: str) -> Refused:
    return Refused(name, what, "Open it in JupyterLab, save it there and hand in again")
