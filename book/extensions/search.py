"""Let a reader find a page, a section or a term while typing; load nothing for that before it is asked for.

The finished pages are cut into sections, and these go into one classic script, `_static/search-index.js`, because a page from `file://` may not
fetch data. `book/site_static/search.js` gives them to the vendored MiniSearch and shows what that finds. Sphinx's own index is not made: it
finds no Chinese words, knows whole pages only, and its scripts hold up every page that loads them. `book/search.yml` has the other names that readers
type for what the book says.
"""

import json
import keyword
import re
import zlib
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import yaml
from sphinx.util import logging

BOOK = Path(__file__).parents[1]
NAMES = BOOK / "search.yml"
STATIC = BOOK / "site_static"
INDEX = "_static/search-index.js"
PARTS = ("minisearch/minisearch.js", "search-index.js", "search.js")  # below _static, in the order in which they run
PAGE = "search"
OF_THE_COURSE = (None, "Exercises")  # parts of the table of contents whose pages are no chapters, but for learners, except one:
MATRIX = "book/matrix"
# What serves Sphinx's own search and nothing else; the theme loads the first three on each page, before it shows anything.
OF_SPHINX = ("searchindex.js", "_static/searchtools.js", "_static/language_data.js", "_static/sphinx_highlight.js", "_static/doctools.js")
LOADS_THEM = re.compile(r'\s*<script src="[^"]*(?:searchtools|language_data|searchindex)\.js"></script>')

# Until somebody asks, this is all: the field gets the focus by a click, by Ctrl-K (the theme's doing), or by the slash.
ASKED = """\
(root => {
  let done = false;
  const load = () => {
    if (done) return;
    done = true;
    for (const name of %s) {
      const script = document.createElement("script");
      script.src = root + "_static/" + name;
      script.async = false;
      document.head.append(script);
    }
  };
  document.addEventListener("focusin", event => event.target.matches("form.bd-search input") && load());
  document.addEventListener("DOMContentLoaded", () => document.getElementById("search-results") && load());
  document.addEventListener("keydown", event => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [contenteditable]")) return;
    const button = document.querySelector(".search-button__button");
    if (button && !document.querySelector("dialog[open]")) event.preventDefault(), button.click();
  });
})(document.documentElement.dataset.content_root);"""

BODY = """\
<h1>Search</h1>
<noscript><p>The search needs JavaScript, which is switched off here. The contents beside this text list every page, and the
<a href="{glossary}">glossary</a> has every term in English and Chinese.</p></noscript>
<div class="pst-js-only"><form class="bd-search d-flex align-items-center" action="search.html" method="get" role="search">
<i class="fa-solid fa-magnifying-glass"></i>
<input type="search" class="form-control" name="q" placeholder="Search" aria-label="Search the book" autocomplete="off" autocorrect="off" autocapitalize="off" spellcheck="false" autofocus />
</form></div>
<p id="search-count" role="status"></p>
<div id="search-results"></div>
"""

# What a reader doesn't read as text, or what is in the page twice.
SKIPPED_TAGS = {"annotation", "script", "style", "svg", "nav", "noscript", "button"}
SKIPPED_CLASSES = {
    *("headerlink", "section-number", "eqno", "katex-html", "katex-display"),
    *("output", "hide", "c1", "downloads", "explorable-words", "matrix-legend", "course-map", "run-page"),
}
CODE = {"highlight"}
VOID = {"area", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
HEADINGS = {"h1", "h2", "h3", "h4"}
# Where one block of text ends another begins, though there may be no space between them.
BLOCKS = {"br", "p", "div", "li", "td", "th", "dd", "dt", "section", "figcaption", "pre", "summary", *HEADINGS}
CELLS, BETWEEN_CELLS = {"td", "th"}, " · "
# What stands between the two parts of a formula, once it is a line of text.
JOINTS = {"msub": "_", "msup": "^", "mfrac": "/", "munder": "_", "mover": ""}
WORD = re.compile(r"[A-Za-z_]\w{2,}")
TABLES = re.compile(
    r'<table class="[^"]*mistake-matrix.*?</table>', re.DOTALL
)  # a megabyte of ticks, which would take as long as all the rest

log = logging.getLogger(__name__)


@dataclass
class Section:
    """A part of a page that can be linked to."""

    anchor: str = ""
    heading: str = ""
    text: str = ""
    code: set[str] = field(default_factory=set)
    is_term: bool = False


class Reader(HTMLParser):
    """Cuts the article of a page into sections; a term of a glossary is one, too."""

    def __init__(self):
        super().__init__()
        self.sections: list[Section] = []
        self._open: list[tuple[str, str]] = []  # tags, and what each of them is: "", "skip", "code", "heading"
        self._joints: list[list] = []  # of the formula that is open: tag, how many children have begun

    def handle_starttag(self, tag, attributes):
        """Take down what begins here."""
        about = dict(attributes)
        classes = set((about.get("class") or "").split())
        if self._joints and self._joints[-1][0] in JOINTS:
            self._joints[-1][1] += 1
            if self._joints[-1][1] == 2:
                self._add(JOINTS[self._joints[-1][0]])
        if tag in BLOCKS:
            self._add(" ")
        if tag in VOID:
            return
        if tag == "section" and about.get("id"):
            self.sections.append(Section(about["id"]))
        elif tag == "dt" and "term-" in (about.get("id") or "") and about.get("lang") is None:
            self.sections.append(Section(about["id"], is_term=True))
        if tag == "math" or self._joints:
            self._joints.append([tag, 0])
        if tag == "msqrt":
            self._add("√")
        self._open.append((tag, self._kind(tag, classes, about)))
        if tag == "dt":  # a second one, in Chinese
            self._add(" ")

    def _kind(self, tag: str, classes: set[str], about: dict) -> str:
        if tag in SKIPPED_TAGS or classes & SKIPPED_CLASSES or "hidden" in about:
            return "skip"
        if classes & CODE:
            return "code"
        is_term = tag == "dt" and self.sections and self.sections[-1].is_term
        return "heading" if tag in HEADINGS or is_term else ""

    def handle_endtag(self, tag):
        """Close the tag, and with it whatever is open inside."""
        if tag not in (name for name, _ in self._open):
            return
        while self._open.pop()[0] != tag:
            pass
        if self._joints:
            self._joints.pop()
        if tag in BLOCKS:
            self._add(BETWEEN_CELLS if tag in CELLS else " ")

    def handle_data(self, data):
        """Add the text to where it belongs."""
        self._add(data)

    def _add(self, text: str):
        kinds = {kind for _, kind in self._open}
        if not self.sections or "skip" in kinds:
            return
        section = self.sections[-1]
        if "code" in kinds:
            section.code |= {word for word in WORD.findall(text) if not keyword.iskeyword(word)}
        elif "heading" in kinds:
            section.heading += text
        else:
            section.text += text


def sections_of(page: str) -> list[Section]:
    """Return the sections of a finished page, the page itself first; none where it has no article."""
    article = re.search(r'<article class="bd-article">(.*?)</article>', TABLES.sub("", page), re.DOTALL)
    if not article:
        return []
    reader = Reader()
    reader.feed(article[1])
    for section in reader.sections:
        section.heading = " ".join(section.heading.split())
        section.text = " ".join(section.text.split()).strip(BETWEEN_CELLS)
    return reader.sections


def kinds_of(contents: dict) -> dict[str, str]:
    """Return what each page of the table of contents is: a chapter, an exercise, another page of the course, or something more."""
    kinds = {contents["root"]: "page"}
    for part in contents["parts"]:
        for name in (page["file"] for page in part["chapters"]):
            if name.startswith("exercises/"):
                kinds[name] = "exercise"
            elif part.get("numbered"):
                kinds[name] = "chapter"
            else:
                kinds[name] = "page" if part.get("caption") in OF_THE_COURSE and name != MATRIX else "more"
    return kinds


def index_of(site: Path, kinds: dict[str, str], names: dict[str, list[str]]) -> dict:
    """Return all sections: of each its page's number, anchor, heading, text, words of code, and other names."""
    pages, sections, unused = [], [], dict(names)
    for number, (page, kind) in enumerate(kinds.items()):
        found = sections_of((site / f"{page}.html").read_text(encoding="utf-8"))
        pages.append([f"{page}.html", found[0].heading if found else page, kind])
        for place, section in enumerate(found):
            # The page's own address is the shortest one, and its title is its heading.
            anchor = section.anchor if place else ""
            address = f"{page}#{anchor}" if anchor else page
            # What is called by a name of its code is found by its text.
            code = sorted(section.code - set(WORD.findall(section.text)))
            called = unused.pop(address, [])
            sections.append(
                [number, anchor, section.heading, section.text, " ".join(code), " | ".join(map(str, called)), int(section.is_term)]
            )
    for address in unused:
        log.warning("%s names %s, and there is no such page or section", NAMES.name, address)
    return {"pages": pages, "sections": sections}


def script_of(index: dict) -> str:
    """Return the index as a classic script; the same index gives the same bytes."""
    return f"globalThis.SEARCH = {json.dumps(index, ensure_ascii=False, separators=(',', ':'))};\n"


def use_this_instead(app):
    """Have Sphinx make no index and no page of its own."""
    app.builder.search = False


def drop_scripts(app, page, template, context, doctree):
    """Take away from each page what Sphinx adds for its own search."""
    context["script_files"] = [each for each in context.get("script_files", []) if getattr(each, "filename", "") not in OF_SPHINX]


def collect_page(app):
    """Yield the page that shows whole results, at the address that Sphinx gives to its own."""
    yield PAGE, {"title": "Search", "body": BODY.format(glossary=app.builder.get_target_uri("book/glossary"))}, "page.html"


def write_index(app, error):
    """Take away what the theme adds for the search of Sphinx; read the finished pages, and write the index beside them."""
    if error is not None or app.builder.format != "html":
        return
    site = Path(app.outdir)
    for path in site.rglob("*.html"):
        before = path.read_text(encoding="utf-8")
        after = LOADS_THEM.sub("", before)
        if after != before:
            path.write_text(after, encoding="utf-8")
    for name in OF_SPHINX:
        (site / name).unlink(missing_ok=True)
    contents = yaml.safe_load((Path(app.srcdir) / "_toc.yml").read_text(encoding="utf-8"))
    names = yaml.safe_load(NAMES.read_text(encoding="utf-8"))
    (site / INDEX).write_text(script_of(index_of(site, kinds_of(contents), names)), encoding="utf-8")


def setup(app):
    """Put what waits for a reader's question on each page. The index is made when the pages are repaired, before it is seen what they ask for."""
    names = [f"{name}?v={zlib.crc32((STATIC / name).read_bytes()):08x}" if (STATIC / name).exists() else name for name in PARTS]
    app.add_js_file(None, body=ASKED % json.dumps(names))
    app.connect("builder-inited", use_this_instead)
    app.connect("html-collect-pages", collect_page)
    app.connect("html-page-context", drop_scripts, priority=900)  # the theme adds scripts to the same list
    app.connect("build-finished", write_index, priority=930)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
