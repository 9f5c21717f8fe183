"""What a learner may see when every check of an exercise has passed: the own answers beside the reference and other styles.

It lies packed beside the exercises, so that nobody reads it by accident. That is a curtain and no lock: who unpacks it has it.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from html import escape
from pathlib import Path
from textwrap import fill

from .show import SOFT, TEXT, display

FOLDER = "afterwards"
HEAD = "Right answers, packed so that nobody reads them by accident. check.answers() shows them when all checks have passed."
YOURS = "Yours"
LEAD = (
    "Yours, the reference, and other ways in which people write it. The others pass every check, hidden ones too; yours has passed those that you see. "
    "What stands above a column describes a whole notebook, of which this is one cell."
)


def pack(parts: list[dict]) -> str:
    """Return the text of a file with right answers; the same on every machine, which packing tighter would not be."""
    return f"{HEAD}\n{fill(b64encode(json.dumps(parts, ensure_ascii=False).encode()).decode(), 120)}\n"


def unpack(text: str) -> list[dict]:
    return json.loads(b64decode("".join(text.splitlines()[1:])))


def answers_of(folder: Path) -> list[dict]:
    """Return the right answers to the exercise in a folder, by cell; none where they were not handed out, or the file is damaged."""
    for path in (folder / f"{FOLDER}.txt", folder.parent / FOLDER / f"{folder.name}.txt"):
        try:
            return unpack(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
    return []


def show_answers(parts: list[dict], own: dict[str, str]) -> None:
    """Show right answers side by side; `own` has the learner's, by cell."""
    display({"text/html": as_html(parts, own), "text/plain": as_text(parts)})


def as_text(parts: list[dict]) -> str:
    lines = []
    for part in parts:
        for answer in part["answers"]:
            lines += [f"# {_name(part)}: {answer['title']}", answer["source"], ""]
        lines += [f"# This bug was published: {where} {address}".rstrip() for where, address in part["published"].items()]
    return "\n".join(lines)


def as_html(parts: list[dict], own: dict[str, str]) -> str:
    """Return right answers as HTML, a fold for each cell; everything from an exercise or a learner is escaped."""
    folds = "".join(_fold(part, own.get(part["cell"], ""), is_open=not number) for number, part in enumerate(parts))
    return f"<div style='margin:6px 0;color:{TEXT}'><p style='margin:6px 0'>{LEAD}</p>{folds}</div>"


def _fold(part: dict, own: str, is_open: bool) -> str:
    columns = [{"title": YOURS, "source": own}] * bool(own.strip()) + part["answers"]
    grid = "display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,30em),1fr));gap:10px"
    return (
        f"<details style='margin:6px 0'{' open' * is_open}><summary style='cursor:pointer'><b>{escape(_name(part))}</b></summary>"
        f"<div style='{grid}'>{''.join(map(_column, columns))}</div>{_published(part['published'])}</details>"
    )


def _column(answer: dict) -> str:
    box = f"margin:2px 0;padding:6px 8px;overflow-x:auto;white-space:pre;font-size:90%;border:1px solid;border-color:{SOFT};border-radius:4px;color:{TEXT};background:none"
    return (
        f"<div style='min-width:0'><div style='color:{SOFT};margin-top:6px'>{escape(answer['title'])}</div>"
        f"<pre tabindex='0' style='{box}'>{escape(answer['source'])}</pre></div>"
    )


def _published(places: dict[str, str]) -> str:
    links = [
        f"<a href='{escape(address)}' target='_blank' rel='noopener'>{escape(where)}</a>" if address else escape(where)
        for where, address in places.items()
    ]
    return f"<p style='margin:6px 0'>This bug was published: {'; '.join(links)}.</p>" if links else ""


def _name(part: dict) -> str:
    return ", ".join(part["names"]) or part["cell"]
