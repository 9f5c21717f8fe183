"""One visit to a page: it is loaded once, and looked at in each width and theme while it stays open."""

from contextlib import suppress
from dataclasses import dataclass, field

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, TimeoutError

from tests.site.site_layout import WIDTHS, page_names

# What is too wide or in a wrong place shows on a phone first. So by day each page is read on one, dark and light in turn, and on a desk as well if it is
# the page of its kind that has most on it; at night each has all four readers.
EACH_KIND = {"book/intro", "book/map", "book/softmax", "book/matrix", "book/glossary", "exercises/single_head/single_head"}
THEMES = ["dark", "light"]

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
    said_twice: ['title', 'meta[name=viewport]', 'meta[name=description]', 'link[rel=canonical]'].filter(each => document.head.querySelectorAll(each).length > 1),
    raw_tex: [...document.querySelectorAll('.bd-article :is(p, li, th, td, dd, h1, h2, h3)')]
        .filter(node => !node.querySelector('code')).map(node => node.innerText)
        .filter(text => /\\$\\S.*\\$|\\\\(begin|frac|sqrt|mathbb)\\b/.test(text)),
})"""

# Colours change by and by when the theme does, and fonts are fetched when a letter first needs them.
SETTLED = """theme => document.documentElement.dataset.theme === theme && document.fonts.status === 'loaded'
    && !document.getAnimations().some(each => each instanceof CSSTransition && each.playState === 'running')"""

# preload: axe would fetch the style sheets once more, from the wrong folder.
OPTIONS = {"resultTypes": ["violations"], "preload": False}

# The tables of mistakes have ten thousand cells, of a few kinds: marked up alike, and so looking alike, for nothing else gives them
# their looks. axe takes a minute for all of them. So a row in which every cell is like one of the rows before it is taken out meanwhile.
ALIKE = "table.mistake-matrix tbody tr"
TAKE_OUT_THE_ALIKE = """rows => {
    const seen = new Set();
    window.takenOut = [];
    const kind = cell => cell.outerHTML.replace(/>[^<>]+</g, '> <');
    for (const row of document.querySelectorAll(rows)) {
        const kinds = [...row.cells].map(cell => row.className + kind(cell));
        if (kinds.every(each => seen.has(each))) {
            const place = document.createComment('');
            row.replaceWith(place);
            window.takenOut.push([place, row]);
        }
        kinds.forEach(each => seen.add(each));
    }
}"""
PUT_BACK = "() => window.takenOut.forEach(([place, row]) => place.replaceWith(row))"


@dataclass
class Visit:
    """What one visit to one page showed: over the wire, on the console, and to each reader."""

    foreign: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)
    seen: dict[tuple[str, str], dict] = field(default_factory=dict)
    barriers: dict[tuple[str, str], list[dict]] = field(default_factory=dict)

    def each(self, what: str) -> dict:
        """Return one side of what each reader saw."""
        return {reader: seen[what] for reader, seen in self.seen.items()}


def readers(name: str, at_night: bool) -> list[tuple[str, str]]:
    """Return the widths and themes in which a page is looked at; the first of them is in place when it is loaded."""
    theme, other = THEMES if page_names().index(name) % 2 else THEMES[::-1]
    by_day = [("phone", theme), *([("desk", other)] if name in EACH_KIND else [])]
    return (
        by_day if not at_night else [(width, each) for width in ("desk", "phone") for each in (other, theme) if (width, each) not in by_day]
    )


class Visitor:
    """A window that goes from page to page."""

    def __init__(self, page: Page, address: str):
        self._page, self._address, self._visit, self._axe = page, address, Visit(), Axe()
        page.on("request", self._asked)
        page.on("requestfailed", lambda request: self._visit.failed.append(request.url))
        page.on("response", self._answered)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self._visit.console.append(str(error)))

    def _asked(self, request) -> None:
        if not request.url.startswith((self._address, "data:", "blob:")):
            self._visit.foreign.append(request.url)

    def _answered(self, response) -> None:
        if response.status >= 400:
            self._visit.failed.append(f"{response.status} {response.url}")

    def _said(self, message) -> None:
        if message.type in ("error", "warning"):
            self._visit.console.append(message.text)

    def visit(self, name: str, at_night: bool = False) -> Visit:
        """Load a page once and let its readers look at it; what stands in their way takes axe as long as all the rest, so by day it looks once."""
        self._page.goto("about:blank")  # what the page before has not finished, it gives up now
        self._visit = Visit()
        for reader in readers(name, at_night):
            self._become(*reader)
            if not self._visit.seen:
                self._page.goto(f"{self._address}/{name}.html", wait_until="load")
            self._look(reader)
            if at_night or not self._visit.barriers:
                self._visit.barriers[reader] = self._examined()
        return self._visit

    def _become(self, width: str, theme: str) -> None:
        self._page.set_viewport_size({"width": WIDTHS[width], "height": 900})
        self._page.emulate_media(color_scheme=theme)

    def _look(self, reader: tuple[str, str]) -> None:
        with suppress(TimeoutError):  # then what is seen is not right, and a test says so
            self._page.wait_for_function(SETTLED, arg=reader[1], timeout=10_000)
        self._visit.seen[reader] = self._page.evaluate(LOOK)

    def _examined(self) -> list[dict]:
        """Return the barriers that axe finds on the page as it is."""
        self._page.evaluate(TAKE_OUT_THE_ALIKE, ALIKE)
        found = self._axe.run(self._page, options=OPTIONS).response["violations"]
        self._page.evaluate(PUT_BACK)
        return found
