"""Text of strangers (names, paths, messages) for a terminal and for logs, where a line must be what it seems."""

from __future__ import annotations

import logging

from .kit.source import printable

MOST = 1000  # characters; a refusal has some two hundred
LINES = str.maketrans({"\n": "\\n", "\t": "\\t"})


def one_line(text: object, most: int = MOST) -> str:
    """Return a stranger's text as one line: what could end it, hide it, colour it or turn it round comes out as an escape."""
    return printable(str(text), most).translate(LINES)


def quoted(name: str, most: int = 80) -> str:
    """Return a stranger's name in quotes, so that what follows it is not taken for a part of it."""
    return one_line(repr(name[:most]) + ("..." if len(name) > most else ""))


class _OneLine(logging.Filter):
    """Makes one line of each message, whatever was put into it."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = one_line(record.getMessage()), ()
        return True


ONE_LINE = _OneLine()


def log_of(name: str) -> logging.Logger:
    """Return the logger of that name, which writes one line for each message."""
    log = logging.getLogger(name)
    log.addFilter(ONE_LINE)  # again and again the same: it is added once
    return log
