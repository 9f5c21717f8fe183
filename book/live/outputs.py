"""What a kernel says, as the page shows it; and the colours of code that is being changed."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

MOST_TEXT = 200_000  # characters that a cell may show: a loop that prints for ever must not fill the browser
CUT = "\n… there is more, which is not shown.\n"
ONE_OF_256 = re.compile(r"\x1b\[([34])8;5;(\d+)")
LEXER, FORMATTER = get_lexer_by_name("ipython3", stripnl=False), HtmlFormatter(nowrap=True)  # as Sphinx colours a cell
PICTURES = ("image/svg+xml", "image/png", "image/jpeg", "image/gif")


def coloured(code: str) -> str:
    """Return code as Sphinx writes it into the page, in spans whose colours follow the theme."""
    return "<span></span>" + highlight(code, LEXER, FORMATTER)


class Shown:
    """What one run of a cell shows."""

    def __init__(self) -> None:
        self._left = MOST_TEXT

    def of(self, message: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield what the page shows of a message of the kernel, if anything."""
        content = message["content"]
        match message["msg_type"]:
            case "stream":
                yield from self._text(content["name"], content["text"])
            case "error":
                yield from self._text("error", "\n".join(content["traceback"]))
            case "display_data" | "execute_result":
                yield from self._data(content["data"])
            case "clear_output":
                yield {"kind": "clear"}

    def _data(self, data: dict[str, str]) -> Iterator[dict[str, Any]]:
        """Yield the richest form that a page can show."""
        for kind in PICTURES:
            if kind in data:
                packed = b64encode(data[kind].encode()).decode() if kind == PICTURES[0] else data[kind].replace("\n", "")
                yield {"kind": "picture", "source": f"data:{kind};base64,{packed}"}
                return
        if "text/html" in data:
            yield {"kind": "html", "html": data["text/html"]}
        else:
            yield from self._text("result", data.get("text/plain", "") + "\n")

    def _text(self, kind: str, text: str) -> Iterator[dict[str, Any]]:
        if self._left > 0:
            whole, text = text, text[: self._left]
            self._left -= len(whole)
            yield {"kind": kind, "html": terminal(text)}
            if self._left <= 0 and kind != "error":
                yield {"kind": kind, "html": CUT}
        elif kind == "error":  # why it stopped is worth more than what it said
            yield {"kind": kind, "html": terminal(text[-MOST_TEXT:])}


def terminal(text: str) -> str:
    """Return text with a terminal's colours as HTML, in classes that the page has colours for."""
    from nbconvert.filters.ansi import ansi2html  # takes as long to import as all the rest

    return ansi2html(ONE_OF_256.sub(one_of_8, text))


def one_of_8(code: re.Match) -> str:
    """Return the code of the nearest of a terminal's eight colours: these the page has for both of its themes."""
    number = int(code[2])
    if number < 16:
        return f"\x1b[{code[1]}{number % 8}"
    if number >= 232:
        return f"\x1b[{code[1]}{0 if number < 244 else 7}"
    parts = [(number - 16) // 36, (number - 16) // 6 % 6, (number - 16) % 6]
    bits = [part > 0 and 2 * part > max(parts) for part in parts]
    return f"\x1b[{code[1]}{bits[0] + 2 * bits[1] + 4 * bits[2]}"
