"""List every box that corrects a claim, with its chapter, in the book's order.

The directive `{corrections}` leaves a mark in its page. When the page is written, all chapters have been read, and
the mark becomes the list. Nothing is kept between: the boxes are looked up in the chapters as they were read.
"""

import re

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

LABEL = re.compile(r"correction-(e\d\d)")
# Where a page notes that it holds the list. Sphinx keeps such notes together when it reads with several processes.
NOTE = "lists_corrections"

log = logging.getLogger(__name__)


class Corrections(nodes.General, nodes.Element):
    """The place of the list in a page."""


class ListCorrections(SphinxDirective):
    """`{corrections}`: the list of all correction boxes."""

    def run(self):
        """Return the mark."""
        self.env.metadata[self.env.docname][NOTE] = True
        mark = Corrections()
        self.set_source_info(mark)
        return [mark]


def label_of(box: nodes.admonition) -> re.Match | None:
    """Return the label of a correction box; None for other boxes, and for one that only shows what such a box is."""
    if "correction" not in box["classes"]:
        return None
    return next(filter(None, map(LABEL.fullmatch, box["ids"])), None)


class FillCorrections(SphinxPostTransform):
    """Put the list where the mark is."""

    default_priority = 5

    def run(self, **options):
        """Replace each mark; a book without a box is worth a warning."""
        for mark in list(self.document.findall(Corrections)):
            items = [item for chapter in self.env.collect_relations() if (item := self._chapter(chapter))]
            if not items:
                log.warning("no chapter has a correction box with a label like correction-e01", location=mark)
            mark.replace_self([nodes.definition_list("", *items, classes=["corrections"])] if items else [])

    def _chapter(self, chapter: str) -> nodes.definition_list_item | None:
        """Return the chapter's title with its boxes below, or None if it has none."""
        boxes = [box for box in self.env.get_doctree(chapter).findall(nodes.admonition) if label_of(box)]
        if not boxes:
            return None
        title = nodes.term("", "", self._link(chapter, "", self.env.titles[chapter]))
        entries = [nodes.list_item("", self._entry(chapter, box)) for box in boxes]
        return nodes.definition_list_item("", title, nodes.definition("", nodes.bullet_list("", *entries)))

    def _entry(self, chapter: str, box: nodes.admonition) -> nodes.paragraph:
        label = label_of(box)
        number = nodes.inline("", label[1].upper(), classes=["correction-number"])
        link = self._link(chapter, label[0], box.next_node(nodes.title))
        return nodes.paragraph("", "", number, nodes.Text(" "), link)

    def _link(self, chapter: str, label: str, title: nodes.title) -> nodes.reference:
        words = nodes.inline("", "", *(child.deepcopy() for child in title.children))
        return make_refnode(self.app.builder, self.env.docname, chapter, label, words)


def pages_with_the_list(app, env) -> list[str]:
    """Return the pages to write again when any page was read again."""
    return sorted(page for page, notes in env.metadata.items() if NOTE in notes)


def setup(app):
    """Register the directive."""
    app.add_node(Corrections)
    app.add_directive("corrections", ListCorrections)
    app.add_post_transform(FillCorrections)
    app.connect("env-updated", pages_with_the_list)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
