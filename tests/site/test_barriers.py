"""What stands in the way of somebody who reads with a keyboard or a screen reader, as axe-core sees it."""

from itertools import product

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.site.site_layout import WIDTHS, page_names

pytestmark = pytest.mark.browser

# Contrast depends on the theme and boxes on the width, not on both at once: each value of both comes once.
READERS = [("phone", "dark"), ("desk", "light")]

# What axe reports though nobody is kept out by it.
ALLOWED = {
    # A heading that is one formula has its words in MathML, which screen readers read and axe does not.
    "empty-table-header",
}

# preload: axe would fetch the style sheets once more, from the wrong folder.
OPTIONS = {"resultTypes": ["violations"], "preload": False}


@pytest.mark.parametrize(("reader", "name"), product(READERS, page_names()))
def test_no_barrier(browser, address, reader, name):
    width, theme = reader
    page = browser.new_page(viewport={"width": WIDTHS[width], "height": 900}, color_scheme=theme)
    page.goto(f"{address}/{name}.html")
    found = Axe().run(page, options=OPTIONS).response["violations"]
    page.close()
    assert [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in found if rule["id"] not in ALLOWED] == []
