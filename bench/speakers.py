"""A small language whose grammar is known, and decoders with rotary positions that learn to speak it."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

# Each word is about half as likely as the one before it, so that there are rare words for a sampler to lose.
NAMES = ("humpty", "dumpty", "jack", "jill")
NOUNS = ("wall", "king", "horse", "egg", "hill", "crown")
KINDS = ("old", "small", "red")
VERBS = ("sat", "fell", "slept", "sang", "stood")
PLACES = ("on", "under", "by", "behind")
ARTICLES = ("a", "the")
END, AND = "(end)", "and"
WORDS = (END, AND, *ARTICLES, *NAMES, *NOUNS, *KINDS, *VERBS, *PLACES)

SENTENCES, TESTED, TEST_SEED = 4_000, 1_000, 10_000
D_MODEL, HEADS, D_HEAD, D_FF, LAYERS = 32, 4, 8, 64, 2
THETA, LONGEST = 10_000.0, 24  # words; no sentence of the language has more than 17 with its end
BATCH, STEPS, RATE = 64, 500, 0.004


def _any(words: tuple[str, ...]) -> str:
    return "(?:" + "|".join(words) + ")"


# Who was named first is named again after "and": the one thing for which a speaker has to look back.
_WHO = f"(?:{_any(NAMES)}|{_any(ARTICLES)}(?: {_any(KINDS)})? {_any(NOUNS)})"
_FIRST = f"(?:(?P<name>{_any(NAMES)})|{_any(ARTICLES)}(?: {_any(KINDS)})? (?P<noun>{_any(NOUNS)}))"
GRAMMAR = re.compile(f"{_FIRST} {_any(VERBS)}(?: {_any(PLACES)} {_WHO}){{0,2}}(?: {AND} (?:(?P=name)|the (?P=noun)) {_any(VERBS)})?")


class Spoken:
    """A sentence as it is spoken, and how probable it was."""

    def __init__(self, rng: np.random.Generator):
        self.rng, self.words, self.log_probability = rng, [], 0.0
        again = self.someone()
        self.one_of(VERBS)
        for _ in range(self.choice((0.25, 0.5, 0.25))):
            self.one_of(PLACES)
            self.someone()
        if self.choice((0.5, 0.5)):
            self.words += [AND, *again]
            self.one_of(VERBS)

    def choice(self, shares: Any) -> int:
        shares = np.array(shares) / np.sum(shares)
        chosen = int(self.rng.choice(len(shares), p=shares))
        self.log_probability += math.log(shares[chosen])
        return chosen

    def one_of(self, words: tuple[str, ...]) -> None:
        self.words.append(words[self.choice(0.5 ** np.arange(len(words)))])

    def someone(self) -> list[str]:
        """Speak of someone; return by which words it is named again."""
        if self.choice((0.5, 0.5)):
            self.one_of(NAMES)
            return self.words[-1:]
        self.words.append(ARTICLES[self.choice((0.5, 0.5))])
        if self.choice((0.6, 0.4)):
            self.one_of(KINDS)
        self.one_of(NOUNS)
        return ["the", self.words[-1]]


def corpus(seed: int, count: int) -> list[Spoken]:
    rng = np.random.default_rng(seed)
    return [Spoken(rng) for _ in range(count)]


def numbered(sentences: list[Spoken]) -> tuple[Tensor, Tensor]:
    """Return the sentences between two ends, filled up to one length, and where a word is to be guessed."""
    rows = [torch.tensor([WORDS.index(word) for word in (END, *each.words, END)]) for each in sentences]
    real = [torch.ones(len(row) - 1, dtype=torch.bool) for row in rows]
    pad = torch.nn.utils.rnn.pad_sequence
    return pad(rows, batch_first=True), pad(real, batch_first=True)


def is_possible(tokens: list[int]) -> bool:
    """Say whether the language has such a sentence; the end and what comes after it don't count."""
    words = [WORDS[token] for token in tokens]
    return END in words and GRAMMAR.fullmatch(" ".join(words[: words.index(END)])) is not None


def rotate(x: Tensor) -> Tensor:
    """Return queries or keys (..., token, d_head), rotated by the angles of their positions."""
    tokens, width = x.shape[-2:]
    angles = torch.arange(tokens, dtype=torch.float64)[:, None] * THETA ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    turned = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous()) * torch.polar(torch.ones_like(angles), angles).to(torch.complex64)
    return torch.view_as_real(turned).flatten(-2)


class Speaker:
    """A decoder, pre-norm, without biases, whose heads of queries share `kv_heads` heads of keys and values."""

    def __init__(self, random: torch.Generator, kv_heads: int):
        def normal(*shape: int, width: int) -> Tensor:
            return (torch.randn(shape, generator=random) / math.sqrt(width)).requires_grad_()

        self.parameters = {
            "word": normal(len(WORDS), D_MODEL, width=1),
            "query": normal(LAYERS, HEADS, D_MODEL, D_HEAD, width=D_MODEL),
            **{name: normal(LAYERS, kv_heads, D_MODEL, D_HEAD, width=D_MODEL) for name in ("key", "value")},
            "output": normal(LAYERS, HEADS, D_HEAD, D_MODEL, width=D_MODEL),
            "w1": normal(LAYERS, D_MODEL, D_FF, width=D_MODEL),
            "w2": normal(LAYERS, D_FF, D_MODEL, width=D_FF),
            "next": normal(D_MODEL, len(WORDS), width=D_MODEL),
        }

    def read(self, tokens: Tensor) -> Tensor:
        """Return the logits of the next word, after each word."""
        given = self.parameters
        rows = given["word"][tokens]
        for layer in range(LAYERS):
            query, key, value = (torch.einsum("btm,hmk->bhtk", _norm(rows), given[name][layer]) for name in ("query", "key", "value"))
            share = HEADS // key.shape[1]
            key, value = rotate(key).repeat_interleave(share, 1), value.repeat_interleave(share, 1)
            found = F.scaled_dot_product_attention(rotate(query), key, value, is_causal=True)
            rows = rows + torch.einsum("bhtk,hkm->btm", found, given["output"][layer])
            rows = rows + torch.relu(_norm(rows) @ given["w1"][layer]) @ given["w2"][layer]
        return _norm(rows) @ given["next"]

    def loss(self, tokens: Tensor, real: Tensor) -> Tensor:
        """Return the mean loss of each next word, nats."""
        return F.cross_entropy(self.read(tokens[:, :-1])[real], tokens[:, 1:][real])

    def arrays(self) -> dict[str, Any]:
        return {name: value.detach().numpy() for name, value in self.parameters.items()}


def _norm(rows: Tensor) -> Tensor:
    return F.layer_norm(rows, rows.shape[-1:])


def trained(seed: int, kv_heads: int, steps: int = STEPS) -> Speaker:
    """Return the model after `steps` of the `STEPS` steps."""
    random = torch.Generator().manual_seed(seed)
    model = Speaker(random, kv_heads)
    tokens, real = numbered(corpus(seed, SENTENCES))
    optimiser = torch.optim.Adam(model.parameters.values(), lr=RATE)
    # The rate falls to zero in the second half: what is left at the end is what has been learnt, not the noise of the last steps.
    falling = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: min(1, 2 - 2 * step / STEPS))
    for _ in range(steps):
        batch = torch.randint(len(tokens), (BATCH,), generator=random)
        optimiser.zero_grad()
        model.loss(tokens[batch], real[batch]).backward()
        optimiser.step()
        falling.step()
    return model


def kept(logits: Tensor, method: str, amount: float) -> Tensor:
    """Return the probabilities from which the next word is drawn."""
    if method == "temperature":
        return (logits / amount).softmax(-1)
    shares, order = logits.softmax(-1).sort(descending=True)
    if method == "top-k":
        shares[:, int(amount) :] = 0
    else:  # top-p: a word stays where those before it don't reach p yet
        shares[shares.cumsum(-1) - shares >= amount] = 0
    shares = shares / shares.sum(-1, keepdim=True)
    return torch.zeros_like(shares).scatter(-1, order, shares)


@torch.no_grad()
def speak(model: Speaker, count: int, random: torch.Generator, method: str = "temperature", amount: float = 1.0) -> list[list[int]]:
    """Return sentences, word by word; each is as long as the longest, and what comes after an end doesn't count."""
    text = torch.zeros(count, 1, dtype=torch.long)
    for _ in range(LONGEST - 1):
        shares = kept(model.read(text)[:, -1], method, amount)
        text = torch.cat([text, torch.multinomial(shares, 1, generator=random)], dim=1)
    return text[:, 1:].tolist()
