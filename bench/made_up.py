"""A small language whose alignment with English is known, and the alignment error rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

NAMES = {"humpty": "humpo", "dumpty": "dumpo", "jack": "jako", "jill": "jilo"}
NOUNS = {"wall": "muri", "king": "rego", "horse": "balo na", "egg": "ovi", "hill": "kopi", "crown": "koro na"}
KINDS = {"old": "sena", "small": "pika", "red": "rusa"}
VERBS = {"sat": "sedi ka", "fell": "fali", "slept": "domi ka", "sang": "kanti", "stood": "stari ka"}
PLACES = {"on": "sur", "under": "sub", "by": "apu", "behind": "dor"}
LEXICON = NAMES | NOUNS | KINDS | VERBS | PLACES
ARTICLES = ("a", "the")
FILLER, START, END = "(filler)", "(start)", "(end)"
SOURCE = [FILLER, *ARTICLES, *LEXICON]
TARGET = [FILLER, START, END, *dict.fromkeys(" ".join(LEXICON.values()).split())]

TESTED = 500  # sentences
MOST = 3  # phrases of place in a sentence
TEST_SEED = 10_000  # far from those of training

Links = set[tuple[int, int]]


@dataclass(frozen=True)
class Pair:
    """A sentence and its translation."""

    source: list[str]
    target: list[str]
    origin: list[int]  # for each word of the translation the place of the word that it comes from
    possible: Links  # links (source, target) that are not counted as mistakes

    @property
    def sure(self) -> Links:
        return {(place, word) for word, place in enumerate(self.origin)}


def spoken(rng: np.random.Generator, phrases: int) -> list[str]:
    """Return a sentence with so many phrases of place."""
    words = [*_someone(rng), _one_of(rng, VERBS)]
    for _ in range(phrases):
        words += [_one_of(rng, PLACES), *_someone(rng)]
    return words


def _someone(rng: np.random.Generator) -> list[str]:
    if rng.random() < 0.4:
        return [_one_of(rng, NAMES)]
    kind = [_one_of(rng, KINDS)] if rng.random() < 0.4 else []
    return [_one_of(rng, ARTICLES), *kind, _one_of(rng, NOUNS)]


def _one_of(rng: np.random.Generator, words: Any) -> str:
    return list(words)[rng.integers(len(words))]


def by_rule(source: list[str]) -> Pair:
    """Return a sentence with its translation: kinds and places go behind their noun, the verb to the end, and articles have no counterpart."""
    order: list[int] = []
    waiting: list[int] = []
    possible: Links = set()
    verb = next(place for place, word in enumerate(source) if word in VERBS)
    for place, word in enumerate(source):
        if word in KINDS or word in PLACES:
            waiting.append(place)
        elif word in NAMES or word in NOUNS:
            order += [place, *reversed(waiting)]
            waiting = []
    origin = [place for place in (*order, verb) for _ in LEXICON[source[place]].split()]
    target = [part for place in (*order, verb) for part in LEXICON[source[place]].split()]
    for written, place in enumerate(origin):
        possible.add((place, written))
        if source[place] in NOUNS:
            possible.add((place - 2 if source[place - 1] in KINDS else place - 1, written))
    return Pair(source, target, origin, possible)


def corpus(seed: int, count: int, most: int = MOST, least: int = 0) -> list[Pair]:
    """Return sentences with `least` to `most` phrases of place."""
    rng = np.random.default_rng(seed)
    return [by_rule(spoken(rng, int(rng.integers(least, most + 1)))) for _ in range(count)]


def unseen() -> list[Pair]:
    """Return sentences for measuring: with one phrase of place or more there are so many that hardly one has occurred in training."""
    return corpus(TEST_SEED, TESTED, least=1)


def numbered(pairs: list[Pair]) -> tuple[Tensor, Tensor]:
    """Return the sentences and their translations as numbers, filled up to one length each; a translation stands between start and end."""
    sources = [[SOURCE.index(word) for word in pair.source] for pair in pairs]
    targets = [[TARGET.index(word) for word in (START, *pair.target, END)] for pair in pairs]
    return _filled(sources), _filled(targets)


def _filled(rows: list[list[int]]) -> Tensor:
    return nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)


def error_rate(links: Links, sure: Links, possible: Links) -> float:
    """Return the alignment error rate."""
    return 1 - (len(links & sure) + len(links & possible)) / (len(links) + len(sure))
