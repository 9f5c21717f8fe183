"""Every page, on a phone and on a desk, in the dark and in the light, and read with a keyboard or a screen reader."""

import pytest

from tests.site.site_layout import page_names
from tests.site.visits import Visit, Visitor

pytestmark = pytest.mark.browser

# What axe reports though nobody is kept out by it.
ALLOWED = {
    # A heading that is one formula has its words in MathML, which screen readers read and axe does not.
    "empty-table-header",
}


@pytest.fixture(scope="module")
def visitor(browser, address):
    """Return a browser window."""
    page = browser.new_page()
    yield Visitor(page, address)
    page.close()


AT_NIGHT = [pytest.param((name, True), marks=pytest.mark.nightly, id=f"{name} at night") for name in page_names()]


@pytest.fixture(scope="module", params=[*(pytest.param((name, False), id=name) for name in page_names()), *AT_NIGHT])
def visit(request, visitor) -> Visit:
    """Visit one page once; each test below looks at one side of that visit."""
    return visitor.visit(*request.param)


def test_nothing_comes_from_another_host(visit):
    assert visit.foreign == []


def test_every_request_is_answered(visit):
    assert visit.failed == []


def test_the_console_is_silent(visit):
    assert visit.console == []


def test_nothing_sticks_out_sideways(visit):
    assert visit.each("overflow") == dict.fromkeys(visit.seen, 0)


def test_every_formula_is_drawn(visit):
    assert visit.each("bad_formulas") == dict.fromkeys(visit.seen, [])
    assert visit.each("raw_tex") == dict.fromkeys(visit.seen, [])


def test_every_formula_is_whole_without_scrolling(visit):
    assert visit.each("cut_formulas") == dict.fromkeys(visit.seen, [])


def test_every_image_is_drawn_described_and_fits(visit):
    for reader, images in visit.each("images").items():
        for image in images:
            # The path of the file is what myst-nb writes where an author gave no words.
            assert image["alt"].strip() and "_images/" not in image["alt"], (reader, image)
            assert image["drawn"] and not image["too_wide"], (reader, image)


def test_the_page_says_what_it_is_about(visit):
    assert all(len(words or "") > 20 for words in visit.each("description").values())


def test_the_head_says_nothing_twice(visit):
    assert visit.each("said_twice") == dict.fromkeys(visit.seen, [])


def test_the_theme_follows_the_system(visit):
    assert visit.each("theme") == {(width, theme): theme for width, theme in visit.seen}


def test_no_barrier(visit):
    """What stands in the way of somebody who reads with a keyboard or a screen reader, as axe-core sees it."""
    found = {
        reader: [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in rules if rule["id"] not in ALLOWED]
        for reader, rules in visit.barriers.items()
    }
    assert found and found == dict.fromkeys(found, [])
