"""Tables as CSV that a spreadsheet reads as text and numbers, and never as formulas."""

from __future__ import annotations

import csv
import io
import re

from ..kit.source import printable

# After a separator too: where the list separator is another one, cells are cut there.
FORMULA = re.compile(r"(^|[,;|\t\r\n])(?=\s*[=+\-@\t\r＝＋－＠])")


def as_csv(rows: list[dict], columns: list[str]) -> str:
    """Return rows as CSV: these columns first, then what else the rows have, in order of appearance."""
    columns = list(dict.fromkeys([*columns, *(key for row in rows for key in row)]))
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(map(safe, columns))
    writer.writerows([safe(row.get(column)) for column in columns] for row in rows)
    return text.getvalue()


def safe(value) -> str | int | float:
    """Return a cell that no spreadsheet computes: numbers as they are, all else as text."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    return FORMULA.sub(r"\1'", printable("" if value is None else str(value)))
