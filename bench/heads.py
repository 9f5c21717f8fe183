"""What the heads of a small model learn, and what each is worth to it: the table and the weights that the chapter on real heads reads.

A text is a block of random words, repeated until the page is full. The length of the block is drawn anew for each text, so that no
fixed distance leads back to the word that comes next. Two models learn to guess the next word, with eight heads each and no feed-forward
network: two layers of four heads, or one layer of eight. Then, on new texts, each head is measured and silenced in turn.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
import torch.nn.functional as F
from rich.console import Console
from rich.progress import track
from torch import Tensor

from .tables import say

WORDS, TOKENS, BLOCKS = 32, 40, (6, 20)  # the shortest and the longest block
D_MODEL, HEADS, D_HEAD = 48, 8, 12
BATCH, STEPS, RATE = 32, 1600, 0.004
SEEDS, DEPTHS = range(5), (2, 1)
KEPT = (0, 2)  # the seed and the layers of the model whose weights are kept
TESTED = 1_000  # texts
TEST_SEED = 10_000  # far from those of training


@dataclass(frozen=True)
class Found:
    """What one head does, and what it is worth."""

    seed: int
    layers: int
    layer: int
    head: int
    previous: float  # mean weight on the word before
    followers: float  # mean weight, where the text repeats itself, on the words that followed this word earlier
    loss: float  # of the whole model where the text repeats itself, nats a word
    silenced: float  # the same without this head


@click.command(help=__doc__)
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), help="Write the table as comma-separated values, too.")
@click.option("--weights", type=click.Path(path_type=Path, dir_okay=False), help="Write the weights of one model as NumPy's .npz, too.")
def main(page: Path | None, weights: Path | None) -> None:
    torch.set_num_threads(1)
    pairs = [(seed, layers) for layers in DEPTHS for seed in SEEDS]
    models = {pair: trained(*pair) for pair in track(pairs, "models", console=Console(stderr=True))}
    rows = [asdict(found) for (seed, _), model in models.items() for found in measure(model, seed)]
    say(rows, f"{STEPS} steps, {len(SEEDS)} seeds", page, ".4f")
    if weights:
        np.savez(weights, **models[KEPT].arrays())


def texts(random: torch.Generator, count: int) -> tuple[Tensor, Tensor]:
    """Return texts that are one word longer than a model reads, and where a text repeats itself: (text, token) each."""
    length = torch.randint(BLOCKS[0], BLOCKS[1] + 1, (count, 1), generator=random)
    block = torch.randint(WORDS, (count, BLOCKS[1]), generator=random)
    place = torch.arange(TOKENS + 1)
    return block.gather(1, place % length), place[:-1] >= length


class Model:
    """Attention on attention: each layer adds to every word what its heads have found."""

    def __init__(self, layers: int, random: torch.Generator):
        def normal(*shape: int, width: int) -> Tensor:
            return (torch.randn(shape, generator=random) / math.sqrt(width)).requires_grad_()

        heads = (layers, HEADS // layers)
        self.parameters = {
            "embedding": normal(WORDS, D_MODEL, width=1),
            "position": normal(TOKENS, D_MODEL, width=1),
            **{name: normal(*heads, D_MODEL, D_HEAD, width=D_MODEL) for name in ("w_query", "w_key", "w_value")},
            "w_output": normal(*heads, D_HEAD, D_MODEL, width=heads[1] * D_HEAD),
            "w_word": normal(D_MODEL, WORDS, width=D_MODEL),
        }

    def read(self, tokens: Tensor, keep: Tensor | None = None) -> tuple[Tensor, list[Tensor]]:
        """Return the logits of the next words, and the weights of each layer's heads; `keep` (layer, head) is 0 for a silenced one."""
        given = self.parameters
        keep = torch.ones(given["w_query"].shape[:2]) if keep is None else keep
        later = torch.ones(TOKENS, TOKENS, dtype=torch.bool).triu(1)[: tokens.shape[1], : tokens.shape[1]]
        rows, maps = given["embedding"][tokens] + given["position"][: tokens.shape[1]], []
        for layer, kept in enumerate(keep):
            query, key, value = (torch.einsum("btm,hmk->bhtk", rows, given[name][layer]) for name in ("w_query", "w_key", "w_value"))
            weights = (query @ key.mT / math.sqrt(D_HEAD)).masked_fill(later, -math.inf).softmax(-1)
            parts = kept[:, None, None] * (weights @ value @ given["w_output"][layer])
            rows = rows + parts.sum(1)
            maps.append(weights)
        return rows @ given["w_word"], maps

    def losses(self, tokens: Tensor, keep: Tensor | None = None) -> Tensor:
        """Return the loss at each word, in nats: (text, token)."""
        logits, _ = self.read(tokens[:, :-1], keep)
        return F.cross_entropy(logits.mT, tokens[:, 1:], reduction="none")

    def arrays(self) -> dict[str, Any]:
        return {name: value.detach().numpy() for name, value in self.parameters.items()}


def trained(seed: int, layers: int, steps: int = STEPS) -> Model:
    """Return the model after `steps` of the `STEPS` steps."""
    random = torch.Generator().manual_seed(seed)
    model = Model(layers, random)
    optimiser = torch.optim.Adam(model.parameters.values(), lr=RATE)
    # The rate falls to zero in the second half: what is left at the end is what has been learnt, not the noise of the last steps.
    falling = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: min(1, 2 - 2 * step / STEPS))
    for _ in range(steps):
        tokens, _ = texts(random, BATCH)
        optimiser.zero_grad()
        model.losses(tokens).mean().backward()
        optimiser.step()
        falling.step()
    return model


@torch.no_grad()
def measure(model: Model, seed: int) -> list[Found]:
    """Return what is found of each head, on texts that are the same for all models."""
    tokens, repeats = texts(torch.Generator().manual_seed(TEST_SEED), TESTED)
    _, maps = model.read(tokens[:, :-1])
    loss = float(model.losses(tokens)[repeats].mean())
    layers, heads = model.parameters["w_query"].shape[:2]
    found = []
    for layer in range(layers):
        for head in range(heads):
            keep = torch.ones(layers, heads)
            keep[layer, head] = 0
            silenced = float(model.losses(tokens, keep)[repeats].mean())
            found.append(Found(seed, layers, layer, head, *looks(maps[layer][:, head], tokens[:, :-1], repeats), loss, silenced))
    return found


def looks(weights: Tensor, tokens: Tensor, repeats: Tensor) -> tuple[float, float]:
    """Return the mean weight on the word before, and, where the text repeats itself, on the words that followed this one earlier."""
    previous = weights.diagonal(offset=-1, dim1=-2, dim2=-1).mean()
    before = F.pad(tokens[:, :-1], (1, 0), value=-1)  # nobody stands before the first word
    follows = before[:, None, :] == tokens[:, :, None]  # (text, query, key); a key after its query has no weight
    return float(previous), float((weights * follows).sum(-1)[repeats].mean())


if __name__ == "__main__":
    main()
