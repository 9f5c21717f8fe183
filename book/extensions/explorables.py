"""Wrap figures of chapters in custom elements that a reader can move, and publish the one script in which these are.

The directive `{explorable}` names a figure of its page. In the page the figure's picture stays what it is; where scripts run, the element
takes the picture's place. The figure may be another page's: then this page shows a copy of it, and is written again whenever a page is read.
The sources are in `book/explorables/`, one file for each element; only pages that have one load the bundle.
"""

import csv
import json
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

SOURCES = Path(__file__).parents[1] / "explorables"
SHARED = "core"
SCRIPT, STYLE = "explore.js", "explore.css"
NOTE = "borrows_figures"  # where a page notes that it shows a figure of another

log = logging.getLogger(__name__)


class Explorable(nodes.General, nodes.Element):
    """A figure, and what is needed to move something in it."""


class Words(nodes.General, nodes.Element):
    """What to try and what can be seen then; of no use without a script."""


class Data(nodes.General, nodes.Element):
    """Measured numbers, in the page itself: a script must not fetch anything from file://."""


def element_names() -> list[str]:
    """Return the names that the directive knows."""
    return sorted(path.stem for path in SOURCES.glob("*.js") if path.stem != SHARED)


class ExplorableDirective(SphinxDirective):
    """`{explorable} NAME`: the element of that name takes the place of the picture of a figure, of this page or of another."""

    required_arguments = 1
    has_content = True
    option_spec = {
        "figure": directives.unchanged_required,
        "page": directives.unchanged_required,
        "table": directives.unchanged_required,
        "columns": lambda words: directives.unchanged_required(words).split(),
    }

    def run(self):
        """Return the element without its figure, which is put in when the page has been read, or when the other has."""
        name = self.arguments[0]
        if name not in element_names():
            raise self.error(f"no explorable is called {name}; there are {', '.join(element_names())}")
        words = Words()
        self.state.nested_parse(self.content, self.content_offset, words)
        figure, page = self.options.get("figure", ""), self.options.get("page", "")
        if page:
            self.env.metadata[self.env.docname][NOTE] = True
            page = self.env.relfn2path(page)[0]
        explorable = Explorable("", words, element=f"explore-{name}", figure=figure, page=page)
        if "table" in self.options:
            explorable += Data(json=self._numbers())
        self.set_source_info(explorable)
        return [explorable]

    def _numbers(self) -> str:
        """Return some columns of a measured table; its first line says when that was."""
        path = Path(self.env.doc2path(self.env.docname)).parent / self.options["table"]
        self.env.note_dependency(str(path))
        with path.open(encoding="utf-8") as file:
            next(file)
            rows = [[_value(row[name]) for name in self.options["columns"]] for row in csv.DictReader(file)]
        return json.dumps({"columns": self.options["columns"], "rows": rows}, separators=(",", ":")).replace("<", r"\u003c")


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def figure_of(doctree, explorable: Explorable) -> nodes.figure | None:
    """Return the figure of a document that an explorable names."""
    return next((each for each in doctree.findall(nodes.figure) if explorable["figure"] in each["names"]), None)


def take_figures(app, doctree):
    """Put each explorable around its figure, where the figure stands; one that names another page waits for that."""
    for explorable in [each for each in doctree.findall(Explorable) if not each["page"]]:
        figure = figure_of(doctree, explorable)
        explorable.parent.remove(explorable)
        if figure is None:
            log.warning("this page has no figure called %r", explorable["figure"], location=explorable)
            continue
        figure.replace_self(explorable)
        explorable.insert(0, figure)


class BorrowFigures(SphinxPostTransform):
    """Copy the figure of another page into an explorable; by now every page has been read."""

    default_priority = 3  # before myst-nb chooses one of the forms that an output has

    def run(self, **options):
        """Fill each explorable that waits; one whose figure is not there is worth a warning, and left out."""
        for explorable in [each for each in self.document.findall(Explorable) if each["page"]]:
            page, figure = explorable["page"], None
            if page in self.env.all_docs:
                figure = figure_of(self.env.get_doctree(page), explorable)
            if figure is None:
                log.warning("the page %s has no figure called %r", page, explorable["figure"], location=explorable)
                explorable.parent.remove(explorable)
                continue
            explorable.insert(0, figure.deepcopy())


def pages_that_borrow(app, env) -> list[str]:
    """Return the pages to write again when any page was read again."""
    return sorted(page for page, notes in env.metadata.items() if NOTE in notes)


def bundle(language: str) -> str:
    """Return the script: the labels of a language, what all share, and each element in a block of its own."""
    labels = json.loads((SOURCES / f"labels.{language}.json").read_text(encoding="utf-8"))
    constant = f"const LABELS = {json.dumps(labels, ensure_ascii=False, separators=(',', ':'))};"
    blocks = [f"{{\n{_code(name)}\n}}" for name in element_names()]
    return "\n".join(["(() => {", '"use strict";', constant, _code(SHARED), *blocks, "})();", ""])


def _code(name: str) -> str:
    """Return a source without its indentation and without the lines that only comment."""
    lines = (line.strip() for line in (SOURCES / f"{name}.js").read_text(encoding="utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def publish(app):
    """Write script and style before the pages, which name them with a digest of what is in them."""
    if app.builder.format == "html":
        static = Path(app.outdir) / "_static"
        static.mkdir(parents=True, exist_ok=True)
        (static / SCRIPT).write_text(bundle(app.config.language), encoding="utf-8")
        (static / STYLE).write_bytes((SOURCES / STYLE).read_bytes())


def load_where_needed(app, pagename, templatename, context, doctree):
    """Have a page with an explorable load script and style."""
    if doctree is not None and next(doctree.findall(Explorable), None) is not None:
        app.add_js_file(SCRIPT, loading_method="defer")
        app.add_css_file(STYLE)


def visit_explorable(translator, node):
    """Open the element."""
    translator.body.append(f'<{node["element"]} class="explorable">\n')


def depart_explorable(translator, node):
    """Close the element."""
    translator.body.append(f"</{node['element']}>\n")


def visit_words(translator, node):
    """Open what the element's script unhides."""
    translator.body.append('<div class="explorable-words" hidden>\n')


def depart_words(translator, node):
    """Close it."""
    translator.body.append("</div>\n")


def visit_data(translator, node):
    """Write the numbers where the element finds them."""
    translator.body.append(f'<script type="application/json">{node["json"]}</script>\n')
    raise nodes.SkipNode


def nothing(translator, node):
    """Leave the figure alone, where nothing can be moved."""


def skip(translator, node):
    """Leave out what needs a script."""
    raise nodes.SkipNode


def setup(app):
    """Register the directive, and what HTML and other formats make of it."""
    app.add_node(Explorable, html=(visit_explorable, depart_explorable), latex=(nothing, nothing), text=(nothing, nothing))
    app.add_node(Words, html=(visit_words, depart_words), latex=(skip, None), text=(skip, None))
    app.add_node(Data, html=(visit_data, None), latex=(skip, None), text=(skip, None))
    app.add_directive("explorable", ExplorableDirective)
    app.add_post_transform(BorrowFigures)
    app.connect("doctree-read", take_figures)
    app.connect("env-updated", pages_that_borrow)
    app.connect("builder-inited", publish)
    app.connect("html-page-context", load_where_needed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
