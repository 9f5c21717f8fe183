"""The map of the course shows every chapter and exercise, its paths can be walked, and each topic of the sources has its place."""

import re

import pytest
from course_map import PATHS, drawing, parts_of, summary, taught

from tests.book.chapters import BOOK, CHAPTERS
from tests.site.site_layout import SITE


@pytest.fixture(scope="module")
def stops():
    return [stop for part in parts_of(BOOK.parent) for stop in part.stops]


def test_every_page_is_on_the_map_once(stops):
    exercises = {f"exercises/{path.parent.name}/{path.parent.name}" for path in BOOK.parent.glob("exercises/*/exercise.json")}
    assert [stop.page for stop in stops if not stop.is_exercise] == [f"book/{name}" for name in CHAPTERS]
    assert sorted(stop.page for stop in stops if stop.is_exercise) == sorted(exercises)


def test_nothing_is_built_on_what_comes_later(stops):
    before = set()
    for stop in stops:
        assert before.issuperset(stop.after), stop.page
        before.add(stop.page)


@pytest.mark.parametrize("path", PATHS)
def test_a_path_leaves_out_nothing_that_it_needs(stops, path):
    chapter, walked = None, {stop.page for stop in stops if path in stop.paths}
    for stop in stops:
        chapter = chapter if stop.is_exercise else stop
        if stop.page in walked:
            assert walked.issuperset(stop.after) and chapter.page in walked, stop.page


def test_each_path_holds_the_one_before_and_says_how_long_it_is(stops):
    walked = [{stop.page for stop in stops if path in stop.paths} for path in PATHS]
    assert walked[0] < walked[1] < walked[2] == {stop.page for stop in stops}
    hours = [int(re.search(r"about (\d+) hours", words)[1]) for _, words in summary(parts_of(BOOK.parent), dict.fromkeys(PATHS, ""))]
    assert hours == sorted(hours) and hours[0] <= 4


def test_drawing_shows_and_links_every_page(stops):
    svg = drawing(parts_of(BOOK.parent), lambda page: f"{page}.html")
    assert re.findall(r'href="(.+?)\.html"', svg) == [stop.page for stop in stops]
    page = (SITE / "book" / "map.html").read_text(encoding="utf-8")
    assert all(f">{stop.title.replace(' (optional)', '')}<" in page for stop in stops)


def test_every_topic_and_every_error_of_the_sources_has_its_place():
    places = taught(BOOK.parent)
    rows = {f"S{number:02}" for number in range(1, 35)} | {f"E{number:02}" for number in range(1, 22)}
    assert [row for row in sorted(rows) if not places.get(row)] == [], "write where it is taught"
