"""The committed tables of measurements, as the claims of chapters read them."""

import csv

from tests.book.chapters import BOOK

MEASURED = BOOK / "measured"


def rows_of(name: str) -> list[dict[str, str]]:
    """Return the rows of a table, which says when it was measured."""
    with (MEASURED / f"{name}.csv").open(encoding="utf-8") as file:
        assert next(file).startswith("# Measured on 20")
        return list(csv.DictReader(file))


def numbers_of(name: str, *words: str) -> list[dict]:
    """Return the rows of a table with numbers in all columns but those of `words`."""
    return [{key: each if key in words else float(each) for key, each in row.items()} for row in rows_of(name)]
