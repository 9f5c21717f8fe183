"""The glossary is in order and speaks both languages; the notation leads to every definition."""

import re

import pytest

from tests.book.chapters import BOOK

CHINESE = re.compile("[\u4e00-\u9fff]")


@pytest.fixture(scope="module")
def entries() -> list[list[str]]:
    """Return the lines of each entry: English, Chinese, definition."""
    (glossary,) = re.findall(r"^```\{glossary\}\n(.*?)^```$", read("glossary"), flags=re.DOTALL | re.MULTILINE)
    return [entry.splitlines() for entry in glossary.strip().split("\n\n")]


def read(page: str) -> str:
    """Return the source of a page."""
    return (BOOK / f"{page}.md").read_text(encoding="utf-8")


def test_terms_are_in_alphabetical_order(entries):
    terms = [entry[0].casefold() for entry in entries]
    assert terms == sorted(set(terms))


def test_every_term_has_its_chinese_and_a_short_definition(entries):
    for english, chinese, *definition in entries:
        assert CHINESE.search(chinese) and not CHINESE.search(english)
        assert len(definition) == 1 and re.fullmatch(r"  [A-Z].*\.", definition[0])
        assert len(definition[0].split()) <= 30


def test_no_two_terms_share_their_chinese(entries):
    chinese = [entry[1] for entry in entries]
    assert len(set(chinese)) == len(chinese)


def test_every_name_of_the_notation_leads_to_its_definition():
    text, _, addresses = read("notation").partition("\n% Where")
    named = {label or words for words, label in re.findall(r"\[([^\]\n]+)\](?:\[(\w+)\])?(?!\()", text)}
    assert named == set(re.findall(r"^\[(\w+)\]: ", addresses, flags=re.MULTILINE))
    rows = [row for table in re.findall(r"^\|-.*\n((?:\|.*\n)+)", text, flags=re.MULTILINE) for row in table.splitlines()]
    assert rows and all("][" in row for row in rows)
