"""Make the finished pages quiet and self-contained: what the theme leaves wrong is put right here.

Every repair below was a console error, a request to another host, or something that a screen reader stumbles over.
The browser tests in tests/site notice when a new release of the theme needs another one.
"""

import html
import re
from pathlib import Path

from docutils import nodes

# Search engines show about this much.
DESCRIPTION_LENGTH = 155

# A term of the glossary in Chinese: without its language named, a screen reader spells it out, or skips it.
CHINESE = re.compile("[\u4e00-\u9fff]")

DARK_BY_SYSTEM = '(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")'
REPAIRS = [
    # 1.5 MB that draws the icons which the icon fonts draw already.
    (re.compile(r"\s*<!-- So that users can add custom icons -->\s*<script[^>]*fontawesome\.js[^>]*></script>"), ""),
    # Sphinx, docutils and the theme each write one; one is enough.
    (re.compile(r'\s*<meta name="viewport" content="width=device-width, initial-scale=1(?:\.0" /|"/)>'), ""),
    # An empty mode is a console warning; an empty theme is a white flash for a reader in dark mode.
    (re.compile(r'(dataset\.mode = localStorage\.getItem\("mode"\) \|\| )""'), r'\1"auto"'),
    (re.compile(r'(dataset\.theme = localStorage\.getItem\("theme"\) \|\| )""'), rf"\1{DARK_BY_SYSTEM}"),
    # Roles of digital publishing that ARIA has withdrawn, in a list that isn't made of list items.
    (re.compile(r' role="(?:doc-biblioentry|doc-backlink)"'), ""),
    (re.compile(r'role="list" (?=class="citation-list")'), ""),
    # A place of the page that a screen reader could not jump to.
    (re.compile(r'(<div id="pst-primary-sidebar") (?=class)'), r'\1 role="region" aria-label="Contents and search" '),
    # A name that hides the visible words from whoever speaks to the browser.
    (re.compile(r' aria-label="Toggle hidden content"'), ""),
]

# What belongs to live cells, which this book doesn't have: the script names a foreign host. And what opens and folds two kinds of boxes, by
# how a page looks that has such a box.
NEVER = "thebe"
FOR_SOME = {
    "toggle": re.compile(r'class="(?:[^"]* )?(?:toggle|dropdown)[ "]'),
    "design-tabs": re.compile(r'class="(?:[^"]* )?sd-tab-set[ "]'),
}


def _is_of_use(asset, body: str) -> bool:
    """Say whether a page with this text needs a script or a style sheet."""
    inline = (getattr(asset, "attributes", None) or {}).get("body") or ""
    named = f"{getattr(asset, 'filename', '')} {inline}".lower()
    return NEVER not in named and all(sign.search(body) for word, sign in FOR_SOME.items() if word in named)


def description(doctree) -> str:
    """Return the beginning of the first paragraph, cut between words."""
    # Not the words of a box or a table: they make no sense alone.
    plain = (node for node in doctree.findall(nodes.paragraph) if isinstance(node.parent, nodes.section))
    text = " ".join(next(plain, nodes.paragraph()).astext().split())
    if len(text) <= DESCRIPTION_LENGTH:
        return text
    return text[:DESCRIPTION_LENGTH].rsplit(" ", 1)[0] + " …"


def prepare_page(app, pagename, templatename, context, doctree):
    """Give the page a description and take the unused assets away, before it is written."""
    for kind in ("script_files", "css_files"):
        context[kind] = [asset for asset in context.get(kind, []) if _is_of_use(asset, context.get("body", ""))]
    metatags = context.get("metatags", "")
    if doctree is not None and 'name="description"' not in metatags:
        content = html.escape(description(doctree))
        context["metatags"] = f'{metatags}\n<meta name="description" content="{content}" />'


def name_language(app, doctree):
    """Mark the Chinese terms of a glossary; docutils makes a `lang` of such a class."""
    for term in doctree.findall(nodes.term):
        if CHINESE.search(term.astext()):
            term["classes"].append("language-zh")


def repaired(page: str) -> str:
    """Return the page with every repair made; a repaired page stays as it is."""
    for pattern, replacement in REPAIRS:
        page = pattern.sub(replacement, page)
    return page


def repair_pages(app, error):
    """Repair every page that has been written."""
    if error is not None or app.builder.format != "html":
        return
    for path in sorted(Path(app.outdir).rglob("*.html")):
        before = path.read_text(encoding="utf-8")
        after = repaired(before)
        if after != before:
            path.write_text(after, encoding="utf-8")


def setup(app):
    """Run late: other extensions add their scripts to a page first."""
    app.connect("doctree-read", name_language)
    app.connect("html-page-context", prepare_page, priority=900)
    app.connect("build-finished", repair_pages, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
