"""Prepare the site for its own address: what a shared link shows, a map for search engines, a page for addresses that lead nowhere.

All of this needs the address of the site (`html: {baseurl: ...}` in `_config.yml`), and a site that doesn't know its address claims none: then nothing
here is done. The canonical address of each page is Sphinx's own doing, from the same setting.

There are well-kept packages for each part, and together they would take more lines to hold back than this takes: sphinxext-opengraph wants the address
a second time and finds descriptions of its own beside ours, sphinx-sitemap brings another package to date pages by git, and sphinx-notfound-page
writes its page also where no address is known.
"""

import re
import textwrap
import tomllib
from html import escape
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree as xml

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from polish import description

ROOT = Path(__file__).parents[2]
LOGO = ROOT / "book" / "site_static" / "logo.svg"
WORDS = "humpty dumpty sat on".split()  # the rows of the logo
SITEMAP = "sitemap.xml"
CARD, SIZE = "_static/card.png", (1200, 630)  # in pixels, as those who show such pictures ask for
PAPER, INK, QUIET = "#ffffff", "#1f2933", "#52606d"

NOWHERE = "404"
NOWHERE_BODY = """\
<h1>There is no page here</h1>
<p>Perhaps the address was mistyped, or its page is gone. <a href="{first}">The first page</a> leads to all the others,
and so do the contents and the search.</p>
"""
# Attributes of HTML that hold an address relative to the page.
RELATIVE = re.compile(r'((?:href|src|action|data-content_root)=")(?![a-z][a-z0-9+.-]*:|[/#])(?:\./)?')


def address_of(app, file: str) -> str:
    """Return the full address of a file of the site."""
    return f"{app.config.html_baseurl.rstrip('/')}/{file}"


def name_of(app) -> str:
    """Return what the site is called."""
    return app.config.html_title or app.config.project


def tags(app, page: str, doctree) -> list[str]:
    """Return the tags from which others draw a card where someone shares a link to the page."""
    facts = {
        "og:type": "website" if page == app.config.root_doc else "article",
        "og:site_name": name_of(app),
        "og:title": app.env.titles[page].astext(),
        "og:description": description(doctree),
        "og:url": address_of(app, app.builder.get_target_uri(page)),
        "og:image": address_of(app, CARD),
        "og:image:width": SIZE[0],
        "og:image:height": SIZE[1],
        "og:image:alt": f"The words {' '.join(WORDS)}, and which of them each looks at",
    }
    return [f'<meta property="{name}" content="{escape(str(value))}" />' for name, value in facts.items()] + [
        '<meta name="twitter:card" content="summary_large_image" />'
    ]


def add_tags(app, pagename, templatename, context, doctree):
    """Put the tags into each page; a page that stands for all missing ones has no address of its own."""
    if pagename == NOWHERE:
        context["pageurl"] = None
    elif app.config.html_baseurl and doctree is not None:
        context["metatags"] = "\n".join([context.get("metatags", ""), *tags(app, pagename, doctree)])


def card(title: str, subtitle: str) -> Figure:
    """Return the picture of a shared link: the logo with its words, and the title of the site."""
    figure = Figure(figsize=(SIZE[0] / 100, SIZE[1] / 100), dpi=100, facecolor=PAPER)
    FigureCanvasAgg(figure)
    ax = figure.add_axes((0, 0, 1, 1), xlim=(0, SIZE[0]), ylim=(SIZE[1], 0))
    ax.set_axis_off()
    scale, left, top = 7, 200, 91
    for group in xml.parse(LOGO).iter("{http://www.w3.org/2000/svg}g"):
        for rect in group:
            x, y, width, height, radius = (float(rect.get(name)) * scale for name in ("x", "y", "width", "height", "rx"))
            ax.add_patch(
                FancyBboxPatch(
                    (left + x + radius, top + y + radius),
                    width - 2 * radius,
                    height - 2 * radius,
                    boxstyle=f"round,pad={radius},rounding_size={radius}",
                    facecolor=group.get("fill"),
                    alpha=float(rect.get("opacity", 1)),
                    linewidth=0,
                )
            )
    for row, word in enumerate(WORDS):  # the logo's rows are 14 apart, the first from 5 to 17
        ax.text(left + 20, top + (11 + 14 * row) * scale, word, ha="right", va="center", fontsize=24, color=INK)
    ax.text(690, 315, "\n".join(textwrap.wrap(title, 11)), va="bottom", fontsize=44, weight="bold", color=INK)
    ax.text(692, 345, "\n".join(textwrap.wrap(subtitle, 26)), va="top", fontsize=21, color=QUIET, linespacing=1.35)
    return figure


def write_card(path: Path, title: str) -> None:
    """Write the picture; the same words give the same bytes."""
    subtitle = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["description"].split(":")[0]
    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context({"font.family": "DejaVu Sans"}):
        # Software: matplotlib would name its release.
        card(title, subtitle).savefig(path, metadata={"Software": None})


def sitemap(addresses: list[str]) -> str:
    """Return a list of pages in the form of sitemaps.org."""
    entries = "".join(f"<url><loc>{escape(each)}</loc></url>\n" for each in addresses)
    return f'<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</urlset>\n'


def absolute(page: str, base: str) -> str:
    """Return a page of the top folder with addresses that hold wherever it is shown: a server shows it in every folder."""
    return RELATIVE.sub(rf"\g<1>{urlsplit(base).path.rstrip('/')}/", page)


def collect_nowhere(app):
    """Yield the page for addresses that lead nowhere."""
    if app.config.html_baseurl:
        body = NOWHERE_BODY.format(first=app.builder.get_target_uri(app.config.root_doc))
        yield NOWHERE, {"title": "There is no page here", "body": body}, "page.html"


def publish(app, error):
    """Write the files beside the pages, and make the addresses of the page for missing ones absolute; without an address, leave none behind."""
    if error is not None or app.builder.format != "html":
        return
    site, base = Path(app.outdir), app.config.html_baseurl
    picture, pages, nowhere = site / CARD, site / SITEMAP, site / f"{NOWHERE}.html"
    if not base:
        for file in (picture, pages, nowhere):
            file.unlink(missing_ok=True)
        return
    write_card(picture, name_of(app))
    pages.write_text(sitemap([address_of(app, app.builder.get_target_uri(page)) for page in sorted(app.env.found_docs)]), encoding="utf-8")
    nowhere.write_text(absolute(nowhere.read_text(encoding="utf-8"), base), encoding="utf-8")


def setup(app):
    """Listen late: `polish` mends pages first."""
    app.connect("html-collect-pages", collect_nowhere)
    app.connect("html-page-context", add_tags, priority=950)
    app.connect("build-finished", publish, priority=920)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
