"""Old addresses lead to new ones, and a site that knows its own address says so."""

import functools
import http.server
import re
import struct
import subprocess
import sys
import threading
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import pytest
import sharing
import yaml

from tests.site.site_layout import ADDRESS, ROOT, WIDTHS

EXTENSIONS = ROOT / "book" / "extensions"
MOVED = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["sphinx"]["config"]["moved"]
OLD_PAGES = [old for old in MOVED if "#" not in old]
ORIGIN, BELOW = "https://example.org", "/a/course"
BUILD = [sys.executable, str(EXTENSIONS / "build.py")]
CONFIG = f"""\
title: Attention & more
execute: {{execute_notebooks: 'off'}}
html: {{baseurl: {ORIGIN}{BELOW}/}}
sphinx:
  local_extensions: {{moved: {EXTENSIONS}, sharing: {EXTENSIONS}, polish: {EXTENSIONS}}}
  config:
    moved: {{old/deep/page: new/page, was: new/page#second, new/page#first: new/page#second}}
"""
PAGES = {
    "_config.yml": CONFIG,
    "_toc.yml": "format: jb-book\nroot: index\nparts:\n- caption: A part\n  numbered: 1\n  chapters: [{file: new/page}]\n",
    "index.md": "# Book\n\nWords & *more* of them.\n",
    "new/page.md": "# Page: what is new?\n\nThe first paragraph.\n\n" + "Text.\n\n" * 60 + "## Second\n\nText.\n",
}


def write_book(folder, **changes):
    for name, text in {**PAGES, **changes}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return subprocess.run([*BUILD, folder], capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Build a small book that knows its address, and return where its pages are."""
    folder = tmp_path_factory.mktemp("published")
    done = write_book(folder)
    assert done.returncode == 0, done.stderr
    return folder / "_build" / "html"


@pytest.fixture(params=[True, False], ids=["with scripts", "without"])
def page(browser, request):
    """Return a page, and whether scripts run on it."""
    context = browser.new_context(java_script_enabled=request.param, viewport={"width": WIDTHS["phone"], "height": 600})
    yield context.new_page(), request.param
    context.close()


@pytest.mark.browser
@pytest.mark.parametrize("old, place", [("book/00_attention", "from-words-to-vectors"), ("book/04_softmax", "fig-stage-04")])
def test_an_old_address_leads_to_the_chapter_from_a_file(page, site, old, place):
    page, runs_scripts = page
    page.goto(f"{(site / old).as_uri()}.html?q=1#{place}")
    new = f"{(site / MOVED[old]).as_uri()}.html"
    page.wait_for_url(f"{new}?q=1#{place}" if runs_scripts else new)
    assert page.locator(f"#{place}").count() == 1


@pytest.mark.browser
def test_a_reader_arrives_at_the_place(page, published):
    page, runs_scripts = page
    new = (published / "new" / "page.html").as_uri()
    page.goto((published / "was.html").as_uri())  # a page that has become a section of another
    page.wait_for_url(f"{new}#second")
    page.goto(f"{new}#first")  # a section with a new name
    page.wait_for_function("scrollY > 0")
    page.goto(f"{(published / 'old' / 'deep' / 'page.html').as_uri()}#first")
    page.wait_for_url(f"{new}#first" if runs_scripts else new)
    if runs_scripts:
        page.wait_for_function("scrollY > 0")


@pytest.mark.parametrize("old", OLD_PAGES)
def test_an_old_page_can_be_left_by_hand_too(site, old):
    text = (site / f"{old}.html").read_text(encoding="utf-8")
    assert f'<a href="{MOVED[old].removeprefix("book/")}.html">' in text


@pytest.mark.parametrize("old", [each for each in MOVED if "#" in each])
def test_a_renamed_place_is_found_by_both_names(site, old):
    page = (site / f"{old.split('#')[0]}.html").read_text(encoding="utf-8")
    assert [page.count(f'id="{each.split("#")[1]}"') for each in (old, MOVED[old])] == [1, 1]


WRONG = {
    "was: nowhere": "was leads to nowhere, and there is no such page",
    "new/page: index": "new/page leads to index, but it is a page of the book",
    "new/page#zeroth: index#book": "new/page#zeroth is a place and must lead to a place on the same page, not to index#book",
    "new/page#half: new/page": "new/page#half is a place and must lead to a place on the same page, not to new/page",
    "new/page#first: new/page#third": "new/page has no place 'third' that could be called 'first' too",
    "new/page#second: new/page#page-what-is-new": "new/page has no place 'page-what-is-new' that could be called 'second' too",
}


def test_each_wrong_line_of_the_table_is_named(tmp_path):
    config = re.sub(r"moved: \{old.*\}", f"moved: {{{', '.join(WRONG)}}}", CONFIG)
    done = write_book(tmp_path, **{"_config.yml": config})
    assert done.returncode == 1
    assert sorted(re.findall("WARNING: moved: (.*)", done.stderr)) == sorted(WRONG.values())


def test_a_site_claims_an_address_only_where_it_knows_one(site):
    page = (site / "book" / "intro.html").read_text(encoding="utf-8")
    claims = [(site / name).exists() for name in ("404.html", sharing.SITEMAP, sharing.CARD)]
    assert [*claims, *(each in page for each in ('rel="canonical"', "og:", "twitter:"))] == [bool(ADDRESS)] * 6


def test_an_address_that_is_forgotten_leaves_nothing_behind(tmp_path):
    for name in ("404.html", sharing.SITEMAP, sharing.CARD):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    config = SimpleNamespace(html_baseurl="")
    sharing.publish(SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=tmp_path, config=config), None)
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []


def properties(page: str) -> dict[str, str]:
    return {name: unescape(value) for name, value in re.findall(r'<meta (?:property|name)="(.*?)" content="(.*?)"', page)}


def test_a_shared_page_says_what_it_is(published):
    page = (published / "new" / "page.html").read_text(encoding="utf-8")
    address = f"{ORIGIN}{BELOW}/new/page.html"
    assert page.count(f'<link rel="canonical" href="{address}" />') == 1
    said = properties(page)
    assert (said["og:type"], said["og:site_name"]) == ("article", "Attention & more")
    assert (said["og:title"], said["og:description"], said["og:url"]) == ("Page: what is new?", "The first paragraph.", address)
    assert (said["og:image"], said["twitter:card"]) == (f"{ORIGIN}{BELOW}/{sharing.CARD}", "summary_large_image")
    first = properties((published / "index.html").read_text(encoding="utf-8"))
    assert (first["og:type"], first["og:description"]) == ("website", "Words & more of them.")


def test_the_picture_of_a_link_is_small_and_the_same_each_time(published, tmp_path):
    picture = (published / sharing.CARD).read_bytes()
    assert struct.unpack(">II", picture[16:24]) == sharing.SIZE and len(picture) < 100_000
    sharing.write_card(tmp_path / "again.png", "Attention & more")
    assert (tmp_path / "again.png").read_bytes() == picture


def test_the_map_for_search_engines_has_the_pages_and_no_old_ones(published):
    text = (published / "sitemap.xml").read_text(encoding="utf-8")
    assert re.findall("<loc>(.*?)</loc>", text) == [f"{ORIGIN}{BELOW}/{page}.html" for page in ("index", "new/page")]


def test_an_old_page_names_the_new_one_as_the_one_to_list(published):
    text = (published / "old" / "deep" / "page.html").read_text(encoding="utf-8")
    assert f'<link rel="canonical" href="{ORIGIN}{BELOW}/new/page.html" />' in text


class Host(http.server.SimpleHTTPRequestHandler):
    """Serve a folder as a static host does: below a path, and with a page of its own for what isn't there."""

    def translate_path(self, path):
        """Return the file of an address."""
        return super().translate_path(path.removeprefix(BELOW) if path.startswith(f"{BELOW}/") else "/not/below")

    def send_error(self, code, message=None, explain=None):
        """Answer with the site's page."""
        body = (Path(self.directory) / "404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Say nothing."""


@pytest.mark.browser
def test_the_page_for_what_is_not_there_works_in_every_folder(published, browser):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Host, directory=str(published)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page, failed, asked = browser.new_page(), [], []
    try:
        page.on("request", lambda request: asked.append(request.url))
        page.on("response", lambda answer: failed.append(answer.url) if answer.status >= 400 else None)
        address = f"http://127.0.0.1:{server.server_port}{BELOW}"
        page.goto(f"{address}/some/deep/folder/page.html", wait_until="load")
        assert page.get_by_role("heading", name="There is no page here").is_visible()
        assert failed == [f"{address}/some/deep/folder/page.html"] and len(asked) > 3
        assert page.locator('link[rel="canonical"]').count() == 0
        contents = page.locator('.bd-sidebar-primary a.reference[href$="new/page.html"]')
        assert contents.evaluate("link => link.href") == f"{address}/new/page.html"
        page.get_by_role("link", name="The first page").click()
        page.wait_for_url(f"{address}/index.html")
    finally:
        page.close()
        server.shutdown()
        server.server_close()
