"""Recurrent networks that translate longer and longer sentences, from one state alone or with attention."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .made_up import PLACES, SOURCE, TARGET, TEST_SEED, by_rule, corpus, numbered, spoken
from .translators import D_MODEL, SENTENCES, greedy, train

CHAIN_MOST = 6  # phrases of place in the longest sentences of training
CHAIN_TESTED = 200  # sentences of each number of phrases
CHAIN_PHRASES = range(9)  # the last two are longer than any of training
CHAIN_STEPS = 1_200
CHAIN_LONGEST = 64
ARMS = {"one state": 64, "one wider state": 128, "attention": 64}


@dataclass(frozen=True)
class Length:
    """How well sentences of one length are translated."""

    arm: str
    seed: int
    phrases: int
    words: float  # mean of the sentences
    right_words: float
    right: float  # whole sentences
    written: float  # mean number of phrases of place in the translations
    parameters: int


class Recurrent(nn.Module):
    """A chain reads and a chain writes. The writer gets the reader's last state at each word, or an average of all its states by attention."""

    def __init__(self, width: int, attention: bool):
        super().__init__()
        self.attention = attention
        self.source, self.target = nn.Embedding(len(SOURCE), D_MODEL), nn.Embedding(len(TARGET), D_MODEL)
        self.reader, self.writer = (nn.GRU(D_MODEL, width, batch_first=True) for _ in range(2))
        self.to_query = nn.Linear(width, width, bias=False)
        self.to_word = nn.Linear(2 * width, len(TARGET))

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Return the states of the reader, and the one that it ends with."""
        states, _ = self.reader(self.source(source))
        ends = (source > 0).sum(1) - 1
        return states, states[torch.arange(len(source)), ends]

    def decode(self, states: Tensor, last: Tensor, seen: Tensor, written: Tensor) -> Tensor:
        """Return the logits after each word that is written."""
        rows, _ = self.writer(self.target(written), last[None])
        if self.attention:
            scores = self.to_query(rows) @ states.mT / math.sqrt(states.shape[-1])
            context = scores.masked_fill(~seen[:, None], -math.inf).softmax(-1) @ states
        else:
            context = self.to_query(last)[:, None].expand_as(rows)  # the same matrix, so that both have as many parameters
        return self.to_word(torch.cat([rows, context], dim=-1))

    def loss(self, source: Tensor, target: Tensor) -> Tensor:
        logits = self.decode(*self.encode(source), source > 0, target[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=0)

    @torch.no_grad()
    def write(self, source: Tensor, longest: int) -> Tensor:
        states, last = self.encode(source)
        return greedy(lambda written: self.decode(states, last, source > 0, written)[:, -1], len(source), longest)


def by_length(arm: str, seed: int, steps: int = CHAIN_STEPS) -> list[Length]:
    """Return how well one recurrent network translates sentences of each length."""
    torch.manual_seed(seed)
    model = Recurrent(ARMS[arm], arm == "attention")
    source, target = numbered(corpus(seed, SENTENCES, CHAIN_MOST))
    train(model, list(model.parameters()), source, target, torch.Generator().manual_seed(seed), steps, steps)
    size = sum(parameter.numel() for parameter in model.parameters())
    rng = np.random.default_rng(TEST_SEED)
    found = []
    for phrases in CHAIN_PHRASES:
        source, target = numbered([by_rule(spoken(rng, phrases)) for _ in range(CHAIN_TESTED)])
        wrote = model.write(source, CHAIN_LONGEST)
        places = torch.isin(wrote, torch.tensor([TARGET.index(word) for word in PLACES.values()])).sum(1)
        written = F.pad(wrote, (0, CHAIN_LONGEST))[:, : target.shape[1]]
        hits, real = (written == target)[:, 1:], target[:, 1:] > 0
        whole = float((hits | ~real).all(1).float().mean())
        words = float((source > 0).sum(1).float().mean())
        right_words, mean_places = float(hits[real].float().mean()), float(places.float().mean())
        found.append(Length(arm, seed, phrases, words, right_words, whole, mean_places, size))
    return found
