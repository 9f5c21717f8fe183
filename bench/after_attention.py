"""How much a state of fixed size recalls, beside attention: the table of the chapter on what may come after it.

In `recall` a word names a key and its value at once; after some of them a key is asked for, alone. Every model has one mixing layer, and all of one width
have the same number of parameters, but for what computes a decay. In `forget` one word of the text says that nothing before it counts any more: the
questions are for keys stated since then (`fresh`), and for others that were stated only before (`stale`), for which the answer is "nothing".
In `order` keys and values are words of their own, one after the other, and the models have two layers. No model has position vectors.

A layer is computed in its second form, by a table of who hears whom, for all words at once. The seeds are trained side by side as one stack:
each has parameters and texts of its own, and Adam treats each parameter alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import click
import torch
import torch.nn.functional as F
from rich.console import Console
from rich.progress import track
from torch import Tensor, nn

from .tables import write

SEEDS = range(5)
KEYS, VALUES, D_MODEL, D_V = 64, 16, 64, 16
WIDTHS, PAIRS = (4, 8, 16), (4, 8, 16)
SLOTS, SPOKEN = 24, 0.4  # words of a text with one that says "forget", and keys that it may be about; and how many of the words are pairs
ORDERED = (4, 8)
TESTED, RATE = 64, 0.01
STEPS = {"recall": 500, "forget": 800, "order": 900}
BATCH = {"recall": 8, "forget": 16, "order": 8}

ONE_LAYER = ("attention", "features", "linear", "selective")
FORGETTING = ("selective", "fixed", "linear", "attention")
TWO_LAYERS = ("selective attention", "selective selective", "attention attention")
BLANK, FORGET = KEYS + VALUES, KEYS + VALUES + 1
NOTHING = VALUES  # the answer for a key that doesn't count


@dataclass(frozen=True)
class Recalled:
    """What one model got right."""

    task: str
    layers: str
    d_k: int
    parameters: int
    asked: str  # pairs before the question, or which keys were asked for
    seed: int
    right: float


class Texts(NamedTuple):
    """What is told, in one or two names a word; what is asked; the answers; and which of them count, by the kind of question."""

    told: Tensor
    asked: Tensor
    answer: Tensor
    counts: dict[str, Tensor]


@click.command(help=__doc__)
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), required=True, help="Where to write the table.")
def main(page: Path) -> None:
    torch.set_num_threads(1)
    rows: list[Recalled] = []
    for case in track(list(cases()), "models", console=Console(stderr=True)):
        rows += recalled(*case)
        write(rows, page, f"one thread, {len(SEEDS)} seeds")


def cases() -> Iterator[tuple[str, str, int]]:
    """Yield what is trained: task, layers and width of the keys."""
    yield from (("forget", layers, 16) for layers in FORGETTING)
    yield from (("order", layers, 8) for layers in TWO_LAYERS)
    yield from (("recall", layers, d_k) for d_k in WIDTHS for layers in ONE_LAYER)


def recalled(task: str, layers: str, d_k: int, start: int = 0, steps: int | None = None) -> list[Recalled]:
    """Return what models learnt, a row for each seed and kind of question; `start` begins another stack of seeds."""
    torch.manual_seed(start)
    model = Model(len(SEEDS), layers.split(), d_k)
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE)
    steps = steps or STEPS[task]
    rates = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps, pct_start=0.1)
    for step in range(steps):
        texts = told(task, BATCH[task], sizes(task)[step % len(sizes(task))])
        guess = model(texts)
        which = torch.stack(list(texts.counts.values())).any(dim=0)
        # A sum over seeds, so that no seed's gradient depends on how many others there are.
        loss = len(SEEDS) * F.cross_entropy(guess[which], texts.answer[which])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        rates.step()
    parameters = sum(each.numel() for each in model.parameters()) // len(SEEDS)
    found = []
    for size in sizes(task):
        with torch.no_grad():
            texts = told(task, TESTED, size)
            right = (model(texts).argmax(dim=-1) == texts.answer).float()
        for asked, which in texts.counts.items():
            shares = (right * which).sum(dim=(1, 2)) / which.sum(dim=(1, 2))
            found += [Recalled(task, layers, d_k, parameters, asked, start + seed, share) for seed, share in enumerate(shares.tolist())]
    return found


def sizes(task: str) -> tuple[int, ...]:
    """Return how many pairs the texts of a task have."""
    return {"recall": PAIRS, "forget": (SLOTS,), "order": ORDERED}[task]


def told(task: str, batch: int, pairs: int) -> Texts:
    """Return new texts, a batch for each seed."""
    shape = len(SEEDS), batch
    if task == "forget":
        return with_forgetting(shape)
    key = torch.rand(*shape, KEYS).argsort(dim=-1)[..., :pairs]
    value = torch.randint(VALUES, (*shape, pairs))
    words = torch.stack([key, KEYS + value], dim=-1)
    if task == "order":
        words = words.flatten(-2)[..., None]
    return Texts(words, key[..., None], value, {str(pairs): torch.ones_like(key, dtype=torch.bool)})


def with_forgetting(shape: tuple[int, int]) -> Texts:
    """Return texts in which many words are blank, and one says that nothing before it counts."""
    before, after = torch.rand(2, *shape, SLOTS).argsort(dim=-1)
    value = torch.randint(VALUES, (*shape, SLOTS))
    spoken = torch.rand(*shape, SLOTS) < SPOKEN
    place = torch.arange(SLOTS).expand(*shape, SLOTS)
    end = torch.randint(SLOTS // 4, SLOTS - SLOTS // 4, (*shape, 1))
    key = torch.where(place < end, before, after)
    words = torch.stack([key, KEYS + value], dim=-1)
    words = torch.where(spoken[..., None], words, BLANK)
    words = torch.where((place == end)[..., None], FORGET, words)
    stated = F.one_hot(key, SLOTS).bool() & spoken[..., None]
    since, until = (stated & side[..., None] for side in (place > end, place < end))
    fresh = since.any(dim=-2)
    answer = torch.where(fresh, (since * value[..., None]).sum(dim=-2), NOTHING)
    asked = torch.arange(SLOTS).expand(*shape, SLOTS)[..., None]
    return Texts(words, asked, answer, {"fresh": fresh, "stale": until.any(dim=-2) & ~fresh})


class Model(nn.Module):
    """A stack of models, one for each seed, that share nothing but the program."""

    def __init__(self, seeds: int, layers: list[str], d_k: int):
        super().__init__()
        self.embedding = nn.Parameter(torch.randn(seeds, FORGET + 1, D_MODEL))
        self.layers = nn.ModuleList(Layer(seeds, kind, d_k) for kind in layers)
        self.out = drawn(seeds, D_MODEL, VALUES + 1)

    def forward(self, texts: Texts) -> Tensor:
        told, asked = (self.embed(each) for each in (texts.told, texts.asked))
        for layer in self.layers[:-1]:
            told, asked = layer(told, asked).split([told.shape[-2], asked.shape[-2]], dim=-2)
        return norm(self.layers[-1](told, asked, alone=True)) @ self.out[:, None]

    def embed(self, words: Tensor) -> Tensor:
        seeds, size, width = self.embedding.shape
        first = size * torch.arange(seeds)[:, None, None, None]
        return F.embedding(first + words, self.embedding.reshape(seeds * size, width)).sum(dim=-2)


class Layer(nn.Module):
    """One mixing layer: `attention`, by `features`, or a recurrence that is `linear`, with a `fixed` decay, or `selective`."""

    def __init__(self, seeds: int, kind: str, d_k: int):
        super().__init__()
        self.kind, self.d_k = kind, d_k
        self.project = drawn(seeds, D_MODEL, 2 * d_k + D_V)
        self.merge = drawn(seeds, D_V, D_MODEL)
        if kind == "selective":
            self.decide = nn.Parameter(torch.zeros(seeds, D_MODEL, 1))
        if kind in ("selective", "fixed"):
            self.bias = nn.Parameter(torch.full((seeds, 1, 1, 1), -3.0))  # at first, 5 percent are forgotten at each word

    def forward(self, told: Tensor, asked: Tensor, alone: bool = False) -> Tensor:
        """Return told and asked words, or the asked ones `alone`, with what they heard: all that was told before them; nobody hears a question."""
        n, x = told.shape[-2], norm(told)
        asking = norm(asked) if alone else torch.cat([x, norm(asked)], dim=-2)
        to_query, rest = self.project[:, None].split([self.d_k, self.d_k + D_V], dim=-1)
        key, value = (x @ rest).split([self.d_k, D_V], dim=-1)
        last = torch.cat([torch.arange(0 if alone else n), torch.full((asked.shape[-2],), n - 1)])
        may_look = torch.arange(n) <= last[:, None]
        weights = self.weights(asking @ to_query, key, may_look, self.kept(x), last)
        heard = norm(weights @ value) @ self.merge[:, None]
        return heard + (asked if alone else torch.cat([told, asked], dim=-2))

    def kept(self, x: Tensor) -> Tensor | None:
        """Return the logarithm of what is left of the state at each word, from the beginning."""
        if not hasattr(self, "bias"):
            return None
        pressure = self.bias if self.kind == "fixed" else x @ self.decide[:, None] + self.bias
        return -F.softplus(pressure).expand(*x.shape[:-1], 1)[..., 0].cumsum(dim=-1)

    def weights(self, query: Tensor, key: Tensor, may_look: Tensor, kept: Tensor | None, last: Tensor) -> Tensor:
        if self.kind == "features":
            query, key = F.elu(query) + 1, F.elu(key) + 1
        scores = query @ key.mT
        if self.kind == "attention":
            return (scores / self.d_k**0.5).masked_fill(~may_look, -torch.inf).softmax(dim=-1)
        scores = scores * may_look
        if self.kind == "features":
            return scores / scores.sum(dim=-1, keepdim=True)
        if kept is not None:
            scores = scores * (kept[..., last, None] - kept[..., None, :]).clamp(max=0).exp()
        return scores


def drawn(seeds: int, rows: int, columns: int) -> nn.Parameter:
    """Return a matrix for each seed."""
    return nn.Parameter(torch.randn(seeds, rows, columns) / rows**0.5)


def norm(x: Tensor) -> Tensor:
    return F.rms_norm(x, x.shape[-1:], eps=1e-6)


if __name__ == "__main__":
    main()
