"""Offer to run a page: below the title of each page that has cells, a folded line that says how; `make serve` puts its buttons there.

Where no script runs, no cell could, so the line is not shown (`site.css`).
"""

from pathlib import Path

import yaml
from chapter_downloads import FOLDER, is_chapter
from docutils import nodes
from exercise_downloads import leave_out
from sphinx.util.osutil import relative_uri

LINE = """\
<details class="run-page"><summary>Run this page</summary>
<p>To change this page’s code and run it on your own machine, type <code>make serve</code> in the folder of {course}: every cell then has a button <em>Run</em>.{notebook}</p>
</details>
"""
NOTEBOOK = ' Or take <a href="{href}" download>this chapter’s code</a> as a notebook.'


class RunPage(nodes.Element):
    """The line in the document."""


def add_to_page(app, doctree):
    """Put the line below the title of a page with cells; a learner's notebook is run where it is solved."""
    title = doctree.next_node(nodes.title)
    path = Path(app.env.doc2path(app.env.docname))
    if title is not None and path.suffix == ".md" and any("cell_input" in each["classes"] for each in doctree.findall(nodes.container)):
        title.parent.insert(title.parent.index(title) + 1, RunPage(chapter=is_chapter(path)))


def visit_line(translator, node):
    """Write the line as HTML."""
    builder = translator.builder
    repository = yaml.safe_load((Path(builder.srcdir) / "_config.yml").read_text(encoding="utf-8")).get("repository", {}).get("url")
    course = f'<a href="{repository}">the course</a>' if repository else "the course"
    page = builder.current_docname
    href = relative_uri(builder.get_target_uri(page), f"{FOLDER}/{Path(page).name}.zip")
    translator.body.append(LINE.format(course=course, notebook=NOTEBOOK.format(href=href) if node["chapter"] else ""))
    raise nodes.SkipNode


def setup(app):
    """Register the line."""
    app.add_node(RunPage, html=(visit_line, None), latex=(leave_out, None), text=(leave_out, None))
    app.connect("doctree-read", add_to_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
