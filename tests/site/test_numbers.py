"""Figures and formulas are numbered within their chapter, so that a new one renumbers no other chapter's."""

import re

import pytest

from tests.book.chapters import CHAPTERS


def numbers(page: str, kind: str) -> list[str]:
    """Return the numbers of a page's figures, formulas or headings."""
    pattern = {
        "figure": r'<span class="caption-number">Figure (.*?) </span>',
        "formula": r'<span class="eqno">\((.*?)\)',
        "heading": r'<h(\d)><span class="section-number">',
    }
    return re.findall(pattern[kind], page)


@pytest.mark.parametrize("kind", ["figure", "formula"])
def test_figures_and_formulas_are_counted_by_chapter(site, kind):
    pages = [(site / "book" / f"{chapter}.html").read_text(encoding="utf-8") for chapter in CHAPTERS]
    for chapter, page in enumerate(pages, 1):
        found = numbers(page, kind)
        assert found == [f"{chapter}.{number}" for number in range(1, len(found) + 1)]
    assert sum(len(numbers(page, kind)) for page in pages) > 15


def test_references_name_the_numbers_that_are_shown(site):
    shown = {}
    for chapter in CHAPTERS:
        page = (site / "book" / f"{chapter}.html").read_text(encoding="utf-8")
        captions = re.findall(r'<span class="caption-number">(Figure .*?) </span>.*?href="#(.*?)"', page, re.DOTALL)
        formulas = re.findall(r'<span class="eqno">(\(.*?\))<a class="headerlink" href="#(.*?)"', page)
        shown |= {(chapter, anchor): number for number, anchor in captions + formulas}
    reference = re.compile(
        r'<a class="reference internal" href="(?:(\w+)\.html)?#([^"]+)">(?:<span class="std std-numref">)?((?:Figure |\()[\d.]+\)?)<'
    )
    named = [
        (number, shown[target or chapter, anchor])
        for chapter in CHAPTERS
        for target, anchor, number in reference.findall((site / "book" / f"{chapter}.html").read_text(encoding="utf-8"))
    ]
    assert len(named) > 20 and [pair for pair in named if pair[0] != pair[1]] == []


def test_chapters_have_a_number_and_their_sections_none(site):
    for chapter in CHAPTERS:
        assert numbers((site / "book" / f"{chapter}.html").read_text(encoding="utf-8"), "heading") == ["1"]
