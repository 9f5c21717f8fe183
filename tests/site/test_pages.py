"""Every page, on a desk and on a phone, by day and by night."""

from dataclasses import dataclass, field
from itertools import product

import pytest

from tests.site.site_layout import WIDTHS, page_names

pytestmark = pytest.mark.browser

THEMES = ["light", "dark"]

LOOK = """() => ({
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    bad_formulas: [...document.querySelectorAll('.katex-error')].map(node => node.textContent),
    cut_formulas: [...document.querySelectorAll('.bd-article .katex-display')]
        .filter(node => node.scrollWidth > node.clientWidth + 1 && node.clientWidth > 0)
        .map(node => [node.querySelector('annotation')?.textContent, node.scrollWidth - node.clientWidth]),
    images: [...document.querySelectorAll('.bd-article img')].map(image => ({
        alt: image.alt, drawn: image.naturalWidth > 0,
        too_wide: image.getBoundingClientRect().width > image.closest('.bd-article').clientWidth,
    })),
    description: document.querySelector('meta[name=description]')?.content,
    theme: document.documentElement.dataset.theme,
    raw_tex: [...document.querySelectorAll('.bd-article :is(p, li, th, td, dd, h1, h2, h3)')]
        .filter(node => !node.querySelector('code')).map(node => node.innerText)
        .filter(text => /\\$\\S.*\\$|\\\\(begin|frac|sqrt|mathbb)\\b/.test(text)),
})"""


@dataclass
class Visit:
    """What one visit of one page showed."""

    foreign: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)
    seen: dict = field(default_factory=dict)


def _listen(page, visit: Visit, address: str):
    """Write down what goes over the wire and what the console says."""

    def asked(request):
        if not request.url.startswith((address, "data:", "blob:")):
            visit.foreign.append(request.url)

    def answered(response):
        if response.status >= 400:
            visit.failed.append(f"{response.status} {response.url}")

    def said(message):
        if message.type in ("error", "warning"):
            visit.console.append(message.text)

    page.on("request", asked)
    page.on("requestfailed", lambda request: visit.failed.append(request.url))
    page.on("response", answered)
    page.on("console", said)
    page.on("pageerror", lambda error: visit.console.append(str(error)))


def _visit(context, address: str, name: str) -> Visit:
    visit, page = Visit(), context.new_page()
    _listen(page, visit, address)
    page.goto(f"{address}/{name}.html", wait_until="load")
    visit.seen = page.evaluate(LOOK)
    page.close()
    return visit


@pytest.fixture(scope="module", params=product(WIDTHS, THEMES), ids="-".join)
def reader(request, browser):
    """Return a browser window with this width and this preference, and the theme to expect in it."""
    width, theme = request.param
    size = {"width": WIDTHS[width], "height": 900}
    context = browser.new_context(viewport=size, color_scheme=theme)
    yield context, theme
    context.close()


@pytest.fixture(scope="module", params=page_names())
def visit(request, reader, address):
    """Visit one page once; each test below looks at one side of that visit."""
    context, theme = reader
    result = _visit(context, address, request.param)
    result.seen["expected_theme"] = theme
    return result


def test_nothing_comes_from_another_host(visit):
    assert visit.foreign == []


def test_every_request_is_answered(visit):
    assert visit.failed == []


def test_the_console_is_silent(visit):
    assert visit.console == []


def test_nothing_sticks_out_sideways(visit):
    assert visit.seen["overflow"] == 0


def test_every_formula_is_drawn(visit):
    assert visit.seen["bad_formulas"] == []
    assert visit.seen["raw_tex"] == []


def test_every_formula_is_whole_without_scrolling(visit):
    assert visit.seen["cut_formulas"] == []


def test_every_image_is_drawn_described_and_fits(visit):
    for image in visit.seen["images"]:
        # The path of the file is what myst-nb writes where an author gave no words.
        assert image["alt"].strip() and "_images/" not in image["alt"], image
        assert image["drawn"] and not image["too_wide"], image


def test_the_page_says_what_it_is_about(visit):
    assert len(visit.seen["description"] or "") > 20


def test_the_theme_follows_the_system(visit):
    assert visit.seen["theme"] == visit.seen["expected_theme"]
