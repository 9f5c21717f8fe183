"""Draw the matrix: every known mistake against every check, one table for each exercise.

The numbers come from `python -m autograder matrix --json`, which ran every mistake and every variant; this page only
draws them, so it can't disagree with the autograder.
"""

import json
from pathlib import Path

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

FILE = "_build/matrix.json"
COMMAND = "python -m autograder matrix --json > _build/matrix.json"

PASSES = "·"
# One letter or sign for each outcome that isn't a pass; colour only repeats what the sign says.
SIGNS = {
    "wrong answer": "✗",
    "your code raised an error": "E",
    "time limit": "T",
    "memory limit": "M",
    "your code ended the process": "X",
    "no answer given": "–",
    "used something this exercise asks you to write": "U",
    "the judge failed": "?",
}

log = logging.getLogger(__name__)


def _cell(content: nodes.Node, *classes: str) -> nodes.entry:
    return nodes.entry("", nodes.paragraph("", "", content), classes=list(classes))


def _verdict_cell(verdict: str | None) -> nodes.entry:
    """Return the cell of one mistake under one check."""
    if verdict is None:
        return _cell(nodes.abbreviation("", PASSES, explanation="passes"), "passes")
    return _cell(nodes.abbreviation("", SIGNS[verdict], explanation=verdict), "fails")


def _row(mistake: dict, checks: list[str], title: nodes.Node) -> nodes.row:
    cells = [_verdict_cell(mistake["fails"].get(check)) for check in checks]
    return nodes.row("", _cell(title), *cells)


def _head(checks: list[str]) -> nodes.thead:
    names = [_cell(nodes.inline("", check.replace("_", " ")), "check") for check in checks]
    return nodes.thead("", nodes.row("", _cell(nodes.Text("mistake")), *names))


def _table(rows: list[nodes.row], checks: list[str]) -> nodes.table:
    """Return the table; its first column holds the headings of the rows."""
    columns = [nodes.colspec(colwidth=1, stub=1), *(nodes.colspec(colwidth=1) for _ in checks)]
    group = nodes.tgroup("", *columns, _head(checks), nodes.tbody("", *rows), cols=len(columns))
    return nodes.table("", group, classes=["mistake-matrix"])


def _legend(mistakes: dict) -> nodes.paragraph:
    """Return the meaning of the signs that this table uses."""
    met = {verdict for mistake in mistakes.values() for verdict in mistake["fails"].values()}
    used = [f"{sign} {verdict}" for verdict, sign in SIGNS.items() if verdict in met]
    return nodes.paragraph("", " \u2002 ".join([*used, f"{PASSES} passes"]), classes=["matrix-legend"])


def _folded(summary: str, content: nodes.Node) -> list[nodes.Node]:
    """Return the content below a line that opens it; a script isn't needed for that."""
    opening = f'<details class="folded"><summary>{summary}</summary>'
    return [nodes.raw("", opening, format="html"), content, nodes.raw("", "</details>", format="html")]


class MistakeMatrix(SphinxDirective):
    """`{mistake-matrix}`: a section for each exercise."""

    def run(self):
        """Return the sections, or nothing with a warning if the numbers are missing."""
        self.env.note_dependency(FILE)
        path = Path(self.env.srcdir) / FILE
        if not path.exists():
            log.warning("%s is missing; make it with: %s", FILE, COMMAND, location=self.get_location())
            return []
        matrix = json.loads(path.read_text(encoding="utf-8"))
        if problems := matrix["problems"]:
            words = "the matrix has %d problem(s), the first: %s; all of them: python -m autograder matrix"
            log.warning(words, len(problems), problems[0], location=self.get_location())
        return [self._section(name, matrix) for name, mistakes in matrix["mistakes"].items() if mistakes]

    def _section(self, exercise: str, matrix: dict) -> nodes.section:
        mistakes, variants = matrix["mistakes"][exercise], matrix["variants"].get(exercise, {})
        checks = next(iter(mistakes.values()))["checks"]
        rows = [_row(mistake, checks, self._words(mistake["title"])) for mistake in mistakes.values()]
        section = nodes.section(ids=[nodes.make_id(f"matrix-{exercise}")], classes=["matrix"])
        section += nodes.title("", exercise.replace("_", " ").capitalize())
        section += [_table(rows, checks), _legend(mistakes)]
        section += self._hints(mistakes)
        section += self._variants(variants)
        return section

    def _words(self, text: str) -> nodes.inline:
        """Return a sentence of an author as inline markup: code and formulas stay what they are."""
        found, _ = self.state.inline_text(text, self.lineno)
        return nodes.inline("", "", *found)

    def _hints(self, mistakes: dict) -> list[nodes.Node]:
        """Return what a learner is told about each mistake, in the order of the table."""
        items = [
            nodes.definition_list_item(
                "",
                nodes.term("", "", self._words(mistake["title"])),
                nodes.definition("", nodes.paragraph("", "", self._words(mistake["hint"]))),
            )
            for mistake in mistakes.values()
        ]
        return _folded("What the learner is told about each", nodes.definition_list("", *items))

    def _variants(self, variants: dict) -> list[nodes.Node]:
        """Return the right answers in other styles."""
        items = [nodes.list_item("", nodes.paragraph("", "", self._words(variant["title"]))) for variant in variants.values()]
        summary = f"{len(items)} right answers in other styles, passed by every check"
        return _folded(summary, nodes.bullet_list("", *items))


def setup(app):
    """Register the directive."""
    app.add_directive("mistake-matrix", MistakeMatrix)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
