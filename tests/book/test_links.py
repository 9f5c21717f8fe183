"""Every link of the built site leads somewhere, and every address of a paper has the form of one. Nothing is fetched."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pytest
from pybtex.database import parse_file

from tests.book.chapters import BOOK
from tests.site.site_layout import ADDRESS, SITE, page_names

PAPERS = parse_file(BOOK / "references.bib").entries
DOI = re.compile(r"10\.\d{4,9}/[^\s{}]+")
# Both forms of arXiv's numbers, without a version: the reader gets the newest.
ARXIV = re.compile(r"https://arxiv\.org/abs/(\d{4}\.\d{4,5}|[a-z-]+/\d{7})")
OTHER = re.compile(r"https://(?!arxiv\.org|(?:dx\.)?doi\.org)[\w-]+(\.[\w-]+)+/[^\s{}]+")


class Link(NamedTuple):
    """A link and the line of the page that holds it."""

    target: str
    line: int


class Page(HTMLParser):
    """A page's anchors, and what it links to."""

    def __init__(self, file: Path):
        super().__init__()
        self.anchors, self.links = set(), []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        """Note what the tag names and what it asks for."""
        given = dict(attrs)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        self.links += [Link(given[name], self.getpos()[0]) for name in ("href", "src") if given.get(name)]


@pytest.fixture(scope="module")
def pages() -> dict[Path, Page]:
    """Return every page of the site."""
    if not (SITE / "index.html").exists():
        pytest.fail("the site isn't built: run `make site` first", pytrace=False)
    return {file: Page(file) for file in sorted(SITE.rglob("*.html"))}


def is_internal(link: Link) -> bool:
    """Say whether the link stays on this site."""
    return not urlsplit(link.target).scheme and not urlsplit(link.target).netloc


def is_lost(file: Path, link: Link, pages: dict[Path, Page]) -> bool:
    """Say whether the link asks for a file or an anchor that isn't there."""
    parts = urlsplit(link.target)
    # Only where the site knows its address does a page, the one for missing pages, name others from the root of their host.
    root = urlsplit(ADDRESS).path.rstrip("/") + "/"
    path = f"{SITE}/{parts.path.removeprefix(root)}" if ADDRESS and parts.path.startswith("/") else parts.path
    target = (file.parent / unquote(path)).resolve() if path else file
    if not target.is_file():
        return True
    return bool(parts.fragment) and target in pages and unquote(parts.fragment) not in pages[target].anchors


def test_every_page_of_the_contents_is_built(pages):
    assert {SITE / f"{name}.html" for name in page_names()} <= set(pages)


def test_every_internal_link_and_anchor_resolves(pages):
    lost = [
        f"{file.relative_to(SITE)}:{link.line}: {link.target}"
        for file, page in pages.items()
        for link in page.links
        if is_internal(link) and is_lost(file, link, pages)
    ]
    assert lost == []


def test_a_lost_link_is_noticed(tmp_path):
    here, there = tmp_path / "here.html", tmp_path / "there.html"
    here.write_text('<a href="there.html#a"></a><a href="there.html#b"></a><a href="#c"></a>\n<img src="no.svg">')
    there.write_text('<p id="a">')
    pages = {file: Page(file) for file in (here, there)}
    lost = [link for link in pages[here].links if is_lost(here, link, pages)]
    assert lost == [("there.html#b", 1), ("#c", 1), ("no.svg", 2)]


def test_every_outgoing_link_is_a_secure_address(pages):
    outgoing = {link.target for page in pages.values() for link in page.links if not is_internal(link)}
    assert not [target for target in outgoing if not target.startswith(("https://", "data:", "mailto:"))]


@pytest.mark.parametrize("key", sorted(PAPERS))
def test_addresses_of_papers_are_well_formed(key):
    fields = PAPERS[key].fields
    # `in` and `[]` of an entry also look at the entry that it refers to; there are none here.
    if "doi" in fields:
        assert DOI.fullmatch(fields["doi"]), "a bare DOI, such as 10.1109/72.279181"
    if "url" in fields:
        assert ARXIV.fullmatch(fields["url"]) or OTHER.fullmatch(fields["url"]), "arXiv's abstract, or an https address"
