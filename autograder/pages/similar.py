"""Pairs of submissions that are more alike than work on the same exercise has to be: side by side for a person to judge, and never a verdict.

Right answers to a small exercise are alike anyway. So what was handed out is taken away, and what counts is how much more two learners'
answers resemble each other than either resembles any answer that is known: the reference, its variants, the known mistakes.
"""

from __future__ import annotations

import io
import keyword
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

from ..exercise.model import Exercise
from ..exercise.notebook import stubs
from ..intake.submission import Submission
from ..judging.known_sources import known_sources
from .feedback import templates

LEAST, MARGIN, MOST_PAIRS, SHORTEST = 0.75, 0.08, 30, 40  # alike at all, more than known answers are, how many are shown, in tokens
SKIPPED = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.ENCODING}


@dataclass(frozen=True)
class Pair:
    """Two submissions: how alike they are, and how alike one of them is to the nearest known answer."""

    first: Submission
    second: Submission
    alike: float  # 0 to 1
    anyway: float

    @property
    def excess(self) -> float:
        return self.alike - self.anyway


def similar_pairs(exercise: Exercise, submissions: list[Submission]) -> list[Pair]:
    """Return the pairs that resemble each other more than known answers do, the most striking first."""
    handed_out = set(map(str.strip, "\n".join(stubs(exercise).values()).splitlines()))
    sources = [_own(submission.answers.values(), handed_out) for submission in submissions]
    known = [_own(answer.values(), handed_out) for answer in known_sources(exercise)]
    best: dict[tuple[int, int], Pair] = {}
    for tokens in (_words, _shape):  # the one sees copies, comments among them, the other copies with other names
        alike, anyway = _measured([tokens(s) for s in sources], [tokens(k) for k in known])
        for i, j in combinations(range(len(submissions)), 2):
            pair = Pair(submissions[i], submissions[j], float(alike[i, j]), float(max(anyway[i], anyway[j])))
            if pair.alike >= LEAST and pair.excess >= MARGIN and (before := best.get((i, j), pair)).excess <= pair.excess:
                best[i, j] = max(before, pair, key=lambda each: each.excess)
    return sorted(best.values(), key=lambda pair: -pair.excess)[:MOST_PAIRS]


def _own(sources: Iterable[str], handed_out: set[str]) -> str:
    """Return what a learner wrote: the lines that were not handed out."""
    return "\n".join(line for line in "\n".join(sources).splitlines() if line.strip() not in handed_out)


def _measured(sources: list[list[str]], known: list[list[str]]) -> tuple[np.ndarray, np.ndarray]:
    """Return how alike all sources are to each other, and each to the nearest known one; what is too short is like nothing."""
    numbers = {word: chr(0x100 + number) for number, word in enumerate(dict.fromkeys(w for each in sources + known for w in each))}
    texts = ["".join(numbers[word] for word in each) if len(each) >= SHORTEST else "" for each in sources]
    others = ["".join(numbers[word] for word in each) for each in known]
    alike = cdist(texts, texts, scorer=Indel.normalized_similarity)
    alike[[not text for text in texts]] = 0.0
    return alike, cdist(texts, others, scorer=Indel.normalized_similarity).max(axis=1, initial=0.0)


def _tokens(source: str) -> Iterable[tokenize.TokenInfo]:
    try:
        yield from tokenize.generate_tokens(io.StringIO(source).readline)
    except (tokenize.TokenError, SyntaxError, ValueError):  # what comes before the place that is no Python counts
        return


def _words(source: str) -> list[str]:
    return [token.string for token in _tokens(source) if token.type not in SKIPPED]


def _shape(source: str) -> list[str]:
    """Return the tokens with names, numbers and texts by their kind, and without comments: renaming changes nothing."""
    named = {tokenize.NAME: "name", tokenize.NUMBER: "number", tokenize.STRING: "text"}
    tokens = [t for t in _tokens(source) if t.type not in SKIPPED and t.type != tokenize.COMMENT]
    return [t.string if keyword.iskeyword(t.string) else named.get(t.type, t.string) for t in tokens]


def similar_page(exercise: Exercise, pairs: list[Pair], count: int) -> str:
    """Return the page as HTML that needs no other file; `count` is how many submissions were compared."""
    return templates().get_template("similar.html").render(exercise=exercise, pairs=pairs, count=count)
