"""The table of attacks as a page in Markdown."""

from __future__ import annotations

from collections import Counter

from .outcomes import HARMLESS, LOOT, LOST, NOT_RUN, REFUSED, RIGHT, STOLEN, STOPPED, Row
from .world import DISKS, ORDERS, SECONDS

COMMAND = ".venv/bin/python -m bench.stock --seen FILE"
MEANING = {
    STOLEN: "full points with a wrong answer, or marks written",
    LOOT: "it got what the sandbox is there to deny (a secret, a power), or left something behind",
    LOST: "a mark that was due is not there: its own, for the other checks, or the next learner's",
    HARMLESS: "the check got 0, and all else was marked as it should be",
    RIGHT: "there was nothing to be had, and the answer got the marks due to it",
    NOT_RUN: "it could have taken the machine along",
}


def page(rows: list[Row], machine: dict, versions: dict, seconds: float) -> str:
    head = [
        f"# Attacks: stock nbgrader {versions['nbgrader']} and this judge",
        f"Made by `{COMMAND}` on {machine['date']}, {seconds / 60:.0f} minutes of nbgrader in all: "
        + ", ".join(f"{name} {number}" for name, number in versions.items())
        + f", Linux {machine['kernel']}, {machine['cores']} cores.",
        f"Stock is nbgrader's default pipeline with tests in its cells, hidden ones among them, that check type and values (`bench/stock_course.py`). "
        f"It runs in a throw-away world: no network, a user without rights, disks of {DISKS['/tmp']} MB, {ORDERS['memory'] >> 30} GiB of memory a process, {ORDERS['processes']} processes, {SECONDS} seconds; what these bounds stop is not nbgrader's merit. "
        "Its waits are by the wall's clock, so that what ends by them (a `CellTimeoutError`, no mark at all) may end otherwise on a machine with more or less to do. "
        "Two learners hand in, one who attacks and after it one who is right. "
        "Ours is the level bubblewrap, on the same machine. "
        "Where the level matters, the last column names each layer without which alone the attack gets through; the others it would still meet.",
        _counts(rows),
    ]
    corpus, forms = [row for row in rows if not row.of_stock], [row for row in rows if row.of_stock]
    tables = [
        "## The corpus (`tests/attacks/`)",
        _table(corpus),
        "## The notebook's form, and stock nbgrader's folders (`bench/mutations.py`)",
        _table(forms),
    ]
    return "\n\n".join(head + tables) + "\n"


def _counts(rows: list[Row]) -> str:
    stock, ours = Counter(row.stock for row in rows), Counter(row.ours for row in rows)
    lines = [
        "| stock | attacks | meaning |",
        "|---|---|---|",
        *(f"| {kind} | {stock[kind]} | {meaning} |" for kind, meaning in MEANING.items() if stock[kind]),
    ]
    said = ", ".join(f"{ours[kind]} {kind}" for kind in (STOPPED, REFUSED, LOOT) if ours[kind])
    return "\n".join(lines) + f"\n\nOurs, of {len(rows)}: {said}. A row names the worst that happened; all of it stands behind."


def _table(rows: list[Row]) -> str:
    lines = ["| attack | stock | ours | what stops it |", "|---|---|---|---|"]
    return "\n".join(lines + [_line(row) for row in rows])


def _line(row: Row) -> str:
    stock = f"**{row.stock}**: {row.stock_detail}" if row.stock in (STOLEN, LOOT, LOST) else f"{row.stock}: {row.stock_detail}"
    cells = (f"`{row.name}`: {row.title.rstrip('.')}", stock, f"{row.ours}; {row.ours_detail}", row.layer)
    return "| " + " | ".join(cell.replace("|", "/").replace("\n", " ") for cell in cells) + " |"
