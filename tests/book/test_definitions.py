"""A chapter's names are made with all that they rest on, and with nothing else."""

import pytest

from tests.book import definitions

CHAPTER = """
import math
shown = 1 / 0
rows = []
rows.append(2)
rows[0] += 1

def scaled(x, shown=1):
    return x * FACTOR * shown / math.pi

FACTOR = sum(rows)
for FACTOR in range(FACTOR, 5): pass
print(shown)
"""


@pytest.fixture
def names(monkeypatch):
    class Cell:
        cell_type, source = "code", CHAPTER

    class Notebook:
        cells = [Cell]

    monkeypatch.setattr(definitions, "read", lambda chapter: Notebook)
    return definitions.Definitions("a_chapter")


def test_a_name_is_made_with_what_it_rests_on(names):
    assert names["scaled"](names["math"].pi) == names["FACTOR"] == 4 and names["rows"] == [3]


def test_what_is_only_shown_is_not_run(names):
    assert "shown" in list(names)
    with pytest.raises(ZeroDivisionError):
        names["shown"]
