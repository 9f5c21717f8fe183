"""What it costs to write word by word, and what a sampler keeps and cuts: the tables and the weights that the chapter on generation reads.

Time: a decoder with random weights makes one word more at the end of texts of several lengths, with keys and values kept from before and
without; then one layer looks back at a long text with its heads of keys and values shared by more and more heads. Seconds are those that
the processor worked, on one thread; in a round every way takes its turn, so that ratios can be taken within a round.

Words: decoders whose heads of queries share fewer and fewer heads of keys and values learn a small language whose grammar is known. Then
they speak, with several samplers, and each sentence is parsed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
import torch.nn.functional as F
from rich.console import Console
from rich.progress import track
from torch import Tensor

from .speakers import D_HEAD, END, LAYERS, TEST_SEED, TESTED, WORDS, Speaker, corpus, is_possible, numbered, speak, trained
from .tables import write

SEEDS, SHARED = range(5), (4, 2, 1)  # heads of keys and values, for four of queries
KEPT = (0, 2)  # the seed, and the heads of keys, of the model whose weights are kept
SAMPLERS = {"temperature": (0.25, 0.5, 0.7, 1.0, 1.3), "top-k": (1, 2, 3, 5), "top-p": (0.5, 0.8, 0.9, 0.95, 0.99)}

WIDTH, WIDE_HEADS, DEEP = 256, 8, 4  # of the decoder whose time is taken
LENGTHS = (16, 32, 64, 128, 256, 512, 1024)
FEWER, LOOKING, AT_LENGTH = (32, 8, 4, 1), (32, 64), 4096  # heads of keys; heads of queries and their width; words
ROUNDS, CALLS, ENOUGH = range(5), 3, 0.1  # so many calls at least, and so many seconds of them


@dataclass(frozen=True)
class Word:
    """What one word more took."""

    way: str  # "cache", "no cache"; or "shared", one layer with a cache
    words: int  # of the text, the new one included
    kv_heads: int
    round: int
    bytes: int  # of the keys and values that are kept
    seconds: float


@dataclass(frozen=True)
class Shared:
    """How well a model learns whose heads share keys and values."""

    seed: int
    kv_heads: int
    bytes: int  # of keys and values, for each word, in numbers of 32 bits
    loss: float  # on new sentences, nats a word
    known: float  # the loss of whoever knows the language, on the same sentences


@dataclass(frozen=True)
class Said:
    """What came of one way to sample."""

    seed: int
    method: str  # "language" is the language itself
    amount: float
    wrong: float  # share of sentences that the language hasn't got
    different: int  # possible sentences among them, each counted once


ABOUT, FORM = "one thread", ".5g"  # how the tables came about, and their floats
PAGE = click.Path(path_type=Path, dir_okay=False)


@click.command(help=__doc__)
@click.option("--times", type=PAGE, help="Measure what a word takes, and write it here as comma-separated values.")
@click.option("--shared", type=PAGE, help="Train, and write here how well the models have learnt.")
@click.option("--said", type=PAGE, help="Train, and write here what the samplers make of the models.")
@click.option("--weights", type=PAGE, help="Train, and write the weights of one model here, as NumPy's .npz.")
def main(times: Path | None, shared: Path | None, said: Path | None, weights: Path | None) -> None:
    torch.set_num_threads(1)
    if times:
        write([word for number in track(ROUNDS, "rounds", console=Console(stderr=True)) for word in measured(number)], times, ABOUT, FORM)
    if shared or said or weights:
        pairs = [(seed, kv_heads) for kv_heads in SHARED for seed in SEEDS]
        models = {pair: trained(*pair) for pair in track(pairs, "models", console=Console(stderr=True))}
        if weights:
            np.savez(weights, **models[KEPT].arrays())
        if shared:
            write([learnt(model, *pair) for pair, model in models.items()], shared, ABOUT, FORM)
        if said:
            write([row for seed in SEEDS for row in sampled(models[seed, KEPT[1]], seed)], said, ABOUT, FORM)


@torch.no_grad()
def learnt(model: Speaker, seed: int, kv_heads: int) -> Shared:
    sentences = corpus(TEST_SEED, TESTED)
    tokens, real = numbered(sentences)
    known = -sum(each.log_probability for each in sentences) / int(real.sum())
    return Shared(seed, kv_heads, 2 * LAYERS * kv_heads * D_HEAD * 4, float(model.loss(tokens, real)), known)


def sampled(model: Speaker, seed: int, samplers: dict[str, Sequence[float]] | None = None) -> list[Said]:
    """Return what comes of each sampler, and of the language itself."""
    itself = [[WORDS.index(word) for word in (*each.words, END)] for each in corpus(TEST_SEED + 1 + seed, TESTED)]
    rows = [judged(itself, seed, "language", 0)]
    for method, amounts in (samplers or SAMPLERS).items():
        for amount in amounts:
            said = speak(model, TESTED, torch.Generator().manual_seed(TEST_SEED + seed), method, amount)
            rows.append(judged(said, seed, method, amount))
    return rows


def judged(said: list[list[int]], seed: int, method: str, amount: float) -> Said:
    possible = [tuple(tokens[: tokens.index(0)]) for tokens in said if is_possible(tokens)]
    return Said(seed, method, amount, 1 - len(possible) / len(said), len(set(possible)))


class Wide:
    """A decoder with random weights, written twice: with a cache, and without. Its words are vectors already."""

    def __init__(self, seed: int):
        random = torch.Generator().manual_seed(seed)
        shapes = ((WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH))
        self.layers = [[torch.randn(shape, generator=random) / math.sqrt(shape[0]) for shape in shapes] for _ in range(DEEP)]

    def __call__(self, rows: Tensor, cache: list[Tensor] | None = None) -> tuple[Tensor, list[Tensor]]:
        """Return the rows of the words that came in, and what the next call needs; with a cache a single word comes in."""
        left = []
        for layer, (project, output, w1, w2) in enumerate(self.layers):
            query, *new = (_norm(rows) @ project).unflatten(-1, (3, WIDE_HEADS, -1)).permute(1, 2, 0, 3)
            both = torch.stack(new)
            if cache is not None:
                both = torch.cat([cache[layer], both], dim=2)
            left.append(both)
            found = F.scaled_dot_product_attention(query[None], both[0][None], both[1][None], is_causal=cache is None)[0]
            rows = rows + found.transpose(0, 1).flatten(1) @ output
            rows = rows + torch.relu(_norm(rows) @ w1) @ w2
        return rows, left


def _norm(rows: Tensor) -> Tensor:
    return F.layer_norm(rows, rows.shape[-1:])


@torch.no_grad()
def measured(number: int) -> list[Word]:
    """Return what a word took in one round."""
    model, found = Wide(number), []
    for words in LENGTHS:
        text = torch.randn(words, WIDTH, generator=torch.Generator().manual_seed(number))
        _, cache = model(text[:-1])
        size = sum(each.nbytes for each in cache)
        found.append(Word("cache", words, WIDE_HEADS, number, size, seconds(lambda: model(text[-1:], cache))))  # noqa: B023 - called at once
        found.append(Word("no cache", words, WIDE_HEADS, number, 0, seconds(lambda: model(text))))  # noqa: B023
    for kv_heads in FEWER:
        query, key, value = looking(number, kv_heads)
        took = seconds(lambda: look_back(query, key, value))  # noqa: B023
        found.append(Word("shared", AT_LENGTH, kv_heads, number, key.nbytes + value.nbytes, took))
    return found


def looking(seed: int, kv_heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return one word's queries, a group of heads for each head of keys, and all words' keys and values."""
    random, (heads, width) = torch.Generator().manual_seed(seed), LOOKING
    key, value = torch.randn(2, kv_heads, AT_LENGTH, width, generator=random)
    return torch.randn(kv_heads, heads // kv_heads, width, generator=random), key, value


def look_back(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return (query @ key.mT / math.sqrt(query.shape[-1])).softmax(-1) @ value


def seconds(call: Callable[[], Any]) -> float:
    """Return the seconds of the processor that a call takes: the least of several, since what else goes on can only add to them."""
    call()  # who is called first loads code that stays
    each: list[float] = []
    while sum(each) < ENOUGH or len(each) < CALLS:
        begin = time.process_time()
        call()
        each.append(time.process_time() - begin)
    return min(each)


if __name__ == "__main__":
    main()
