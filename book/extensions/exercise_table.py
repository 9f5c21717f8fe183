"""Draw the table of the exercises: what each takes, what it counts, and which chapter it belongs to.

The facts come from `exercises/*/exercise.json`, which learners receive too; the order is that of `_toc.yml`.
"""

import json
import re
from pathlib import Path

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

HEAD = ["exercise", "chapter", "difficulty", "minutes", "checks", "points"]
NUMBERS = slice(3, None)  # these columns are aligned to the right

log = logging.getLogger(__name__)


def _cell(content: nodes.Node, is_number: bool) -> nodes.entry:
    return nodes.entry("", nodes.paragraph("", "", content), classes=["number"] if is_number else [])


def _row(contents: list[nodes.Node]) -> nodes.row:
    numbers = contents[NUMBERS]
    return nodes.row("", *(_cell(content, content in numbers) for content in contents))


def _table(rows: list[list[nodes.Node]]) -> nodes.table:
    columns = [nodes.colspec(colwidth=1) for _ in HEAD]
    head = nodes.thead("", _row([nodes.Text(word) for word in HEAD]))
    body = nodes.tbody("", *map(_row, rows))
    return nodes.table("", nodes.tgroup("", *columns, head, body, cols=len(HEAD)), classes=["exercise-table"])


class ExerciseTable(SphinxDirective):
    """`{exercise-table}`: a row for each exercise that the book names, and a last one for all together."""

    def run(self):
        """Return the table, or nothing with a warning if no exercise is there."""
        toc = Path(self.env.srcdir) / "_toc.yml"
        self.env.note_dependency(str(toc))
        names = re.findall(r"exercises/(\w+)/", toc.read_text(encoding="utf-8"))
        facts = [self._facts(name) for name in names]
        if not facts:
            log.warning("no exercise is named in _toc.yml", location=self.get_location())
            return []
        return [_table([*map(self._row_of, facts), self._together(facts)])]

    def _facts(self, name: str) -> dict:
        path = Path(self.env.srcdir) / "exercises" / name / "exercise.json"
        self.env.note_dependency(str(path))
        return json.loads(path.read_text(encoding="utf-8"))

    def _row_of(self, facts: dict) -> list[nodes.Node]:
        name, points = facts["name"], facts["points"].values()
        chapter = f"{self._subject(facts['chapter'])} </book/{facts['chapter']}>"
        links = self._words(f"{{doc}}`/exercises/{name}/{name}`"), self._words(f"{{doc}}`{chapter}`")
        return [*links, *map(nodes.Text, (facts["difficulty"], str(facts["minutes"]), str(len(points)), f"{sum(points):g}"))]

    def _subject(self, chapter: str) -> str:
        """Return a chapter's title without the question in it, which is too long for a phone."""
        path = Path(self.env.srcdir) / "book" / f"{chapter}.md"
        self.env.note_dependency(str(path))
        return re.search(r"^# ([^:\n]+)", path.read_text(encoding="utf-8"), re.MULTILINE)[1]

    def _together(self, facts: list[dict]) -> list[nodes.Node]:
        minutes = sum(each["minutes"] for each in facts)
        points = [points for each in facts for points in each["points"].values()]
        return [*map(nodes.Text, ("all together", "", "", str(minutes), str(len(points)), f"{sum(points):g}"))]

    def _words(self, text: str) -> nodes.inline:
        found, _ = self.state.inline_text(text, self.lineno)
        return nodes.inline("", "", *found)


def setup(app):
    """Register the directive."""
    app.add_directive("exercise-table", ExerciseTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
