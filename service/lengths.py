"""What becomes of a text that is too long: it is refused, cut, or read in chunks."""

from __future__ import annotations

from .model import LONGEST, WORDS

OVERLAP, MOST_CHUNKS = 8, 16  # words that a chunk shares with the one before it; chunks of one request


class Refused(Exception):
    """A text that can't be answered; the message says why, and `about` has the numbers."""

    def __init__(self, message: str, **about: int | str):
        super().__init__(message)
        self.about = about


def numbers_of(text: str) -> tuple[int, ...]:
    """Return the numbers of the words; raises Refused at the first that the model doesn't know."""
    words = text.split()
    for place, word in enumerate(words):
        if word not in WORDS[1:]:
            shown = ascii(word if len(word) <= 20 else word[:20] + "...")
            raise Refused(f"word {place + 1}, {shown}, is none of the {len(WORDS) - 1} that the model knows", known=" ".join(WORDS[1:]))
    return tuple(map(WORDS.index, words))


def fitting(tokens: tuple[int, ...], too_long: str) -> tuple[int, ...]:
    """Return what the model can read at once: all words, or the last ones where that was asked for; raises Refused otherwise."""
    if len(tokens) > LONGEST and too_long == "refuse":
        raise Refused(f"there are {len(tokens)} words, and at most {LONGEST} are read at once", limit=LONGEST, sent=len(tokens))
    return tokens[-LONGEST:]


def chunks(count, longest, overlap):
    """Return where each chunk begins and ends, and its first word that is new."""
    found, new = [], 0  # type: ignore[var-annotated]
    while new < count or not found:
        begin = max(0, new - overlap)
        end = min(begin + longest, count)
        found.append((begin, end, new))
        new = end
    return found


def pieces(lines: list[tuple[int, ...]]) -> list[tuple[tuple[int, ...], int]]:
    """Return what is read of some lines, and how many words of it were read before; raises Refused where that is too much.

    A line is read by itself, as all were when the model was trained. Only where it is too long there is more than one piece of it.
    """
    found = [(line[begin:end], new - begin) for line in lines for begin, end, new in chunks(len(line), LONGEST, OVERLAP)]
    if len(found) > MOST_CHUNKS:
        raise Refused(f"this takes {len(found)} chunks, and at most {MOST_CHUNKS} are read", limit=MOST_CHUNKS, sent=len(found))
    return found
