"""How much gradient reaches the first layer of a deep encoder, and what a slow start of the learning rate is worth: the two tables of the
chapter on the encoder layer.

A model reads eight random words and says them backwards, so that each word has to look somewhere else. Its layers differ only in what
stands around the sublayers: residual connections, norms, both, or neither. Models of five seeds are computed side by side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import click
import torch
import torch.nn.functional as F
from rich.console import Console
from rich.progress import track
from torch import Tensor

from .tables import write

WORDS, TOKENS = 16, 8
D_MODEL, HEADS, D_FF = 32, 4, 64
BATCH, TESTED = 8, 64  # texts of a step, texts of a measurement
TEST_SEED = 10_000  # far from those of training
SEEDS = range(5)

# What stands around a sublayer, from nothing to both, in two orders.
ARMS = {
    "neither": lambda rows, sublayer, norm: sublayer(rows),
    "norm": lambda rows, sublayer, norm: norm(sublayer(rows)),
    "residual": lambda rows, sublayer, norm: rows + sublayer(rows),
    "post": lambda rows, sublayer, norm: norm(rows + sublayer(rows)),
    "pre": lambda rows, sublayer, norm: rows + sublayer(norm(rows)),
}
DEPTHS = (2, 4, 8, 16, 32, 64)
STEPS, RATE, RISE = 150, 0.001, 50  # of the models whose gradient is measured again; the rate rises for the first steps

CONTEST_ARMS, CONTEST_DEPTHS = ("post", "pre"), (2, 4, 8, 16)
CONTEST_STEPS, CONTEST_RISES = 500, (0, 150)
CONTEST_RATES = (0.001, 0.003, 0.01)


@dataclass(frozen=True)
class Gradient:
    """The gradient of one model."""

    arm: str
    depth: int
    steps: int  # of training; 0 is the start
    seed: int
    first: float  # norm over all parameters of the first layer
    last: float
    alike: float  # mean cosine between the words of a text, above the last layer
    heard: float  # how far vectors there differ from text to text, as a share of their size
    loss: float  # nats a word
    right: float  # share of words


@dataclass(frozen=True)
class Contest:
    """Where one model has come to."""

    arm: str
    depth: int
    rate: float
    rise: int  # steps in which the learning rate rises from 0
    seed: int
    loss: float
    right: float


PAGE = click.Path(path_type=Path, dir_okay=False)


@click.command(help=__doc__)
@click.option("--gradients", type=PAGE, help="Measure gradients by depth, and write them here as comma-separated values.")
@click.option("--contest", type=PAGE, help="Train with a slow start of the learning rate and without one, and write here what came of it.")
def main(gradients: Path | None, contest: Path | None) -> None:
    torch.set_num_threads(1)
    console = Console(stderr=True)
    if gradients:
        cases = list(product(ARMS, DEPTHS))
        write([row for case in track(cases, "gradients", console=console) for row in by_depth(*case)], gradients, about(STEPS))
    if contest:
        trials = list(product(CONTEST_ARMS, CONTEST_DEPTHS, CONTEST_RATES, CONTEST_RISES))
        write([row for trial in track(trials, "contest", console=console) for row in contested(*trial)], contest, about(CONTEST_STEPS))


def about(steps: int) -> str:
    return f"{steps} steps, {len(SEEDS)} seeds"


class Encoders:
    """Encoders of one kind and depth, one for each seed: every tensor has an axis of seeds in front."""

    def __init__(self, arm: str, depth: int, seeds: Iterable[int]):
        self.around = ARMS[arm]
        self.randoms = [torch.Generator().manual_seed(seed) for seed in seeds]
        self.embedding = self._drawn(WORDS, D_MODEL, width=1)
        self.position = self._drawn(TOKENS, D_MODEL, width=1)
        self.layers = [self._layer() for _ in range(depth)]
        # With pre-norm nothing bounds what the last layer has added up, so one more norm stands before the output.
        self.final: tuple[Tensor, ...] = self._norm() if arm == "pre" else ()
        self.w_word = self._drawn(D_MODEL, WORDS)

    def _drawn(self, *shape: int, width: int | None = None) -> Tensor:
        """Return random matrices that keep numbers near their size."""
        scale = 1 / math.sqrt(width or shape[0])
        return (scale * torch.stack([torch.randn(shape, generator=random) for random in self.randoms])).requires_grad_()

    def _filled(self, number: float, *shape: int) -> Tensor:
        return torch.full((len(self.randoms), *shape), float(number)).requires_grad_()

    def _norm(self) -> tuple[Tensor, Tensor]:
        return self._filled(1, 1, D_MODEL), self._filled(0, 1, D_MODEL)

    def _layer(self) -> tuple[Tensor, ...]:
        attention = self._drawn(D_MODEL, 3 * D_MODEL), self._drawn(D_MODEL, D_MODEL)
        network = self._drawn(D_MODEL, D_FF), self._filled(0, 1, D_FF), self._drawn(D_FF, D_MODEL), self._filled(0, 1, D_MODEL)
        return (*attention, *network, *self._norm(), *self._norm())

    def parameters(self) -> list[Tensor]:
        return [self.embedding, self.position, *(each for layer in self.layers for each in layer), *self.final, self.w_word]

    def double(self) -> Encoders:
        """Return a copy that computes with 64 bits: a gradient may be too small for 32."""
        copy = object.__new__(Encoders)
        copy.around = self.around

        def doubled(tensor: Tensor) -> Tensor:
            return tensor.detach().double().requires_grad_()

        copy.embedding, copy.position, copy.w_word = map(doubled, (self.embedding, self.position, self.w_word))
        copy.layers = [tuple(map(doubled, layer)) for layer in self.layers]
        copy.final = tuple(map(doubled, self.final))
        return copy

    def read(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits of each place, (seed, text, token, word), and the vectors above the last layer, (seed, text, token, width)."""
        seeds, texts, places = tokens.shape
        words = F.one_hot(tokens, WORDS).to(self.embedding.dtype)
        rows = (words.flatten(1, 2) @ self.embedding).unflatten(1, (texts, places)) + self.position[:, None]
        rows = rows.flatten(1, 2)
        for w_in, w_output, w1, b1, w2, b2, *norms in self.layers:

            def look(given: Tensor) -> Tensor:
                heads = (given @ w_in).view(seeds, texts, places, 3, HEADS, -1).permute(3, 0, 1, 4, 2, 5)
                query, key, value = heads
                weights = (query @ key.mT / math.sqrt(query.shape[-1])).softmax(-1)
                return (weights @ value).transpose(2, 3).reshape(seeds, texts * places, -1) @ w_output

            def think(given: Tensor) -> Tensor:
                return (given @ w1 + b1).relu() @ w2 + b2

            for sublayer, its_norm in ((look, norms[:2]), (think, norms[2:])):
                rows = self.around(rows, sublayer, partial(normalised, norm=its_norm))
        logits = (normalised(rows, self.final) if self.final else rows) @ self.w_word
        return logits.unflatten(1, (texts, places)), rows.unflatten(1, (texts, places))

    def losses(self, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return for each model its loss, its share of right words, and the vectors above its last layer."""
        (logits, rows), wanted = self.read(tokens), tokens.flip(-1)
        loss = F.cross_entropy(logits.movedim(-1, 1), wanted, reduction="none").mean((1, 2))
        return loss, (logits.argmax(-1) == wanted).double().mean((1, 2)), rows.detach()


def alike(rows: Tensor) -> Tensor:
    """Return the mean cosine between different words of a text, for each model."""
    unit = F.normalize(rows, dim=-1)
    cosines = unit @ unit.mT
    return (cosines.sum((-1, -2)) - TOKENS).mean(1) / (TOKENS * (TOKENS - 1))


def heard(rows: Tensor) -> Tensor:
    """Return how far the vectors of a place differ from text to text, as a share of their size, for each model."""
    return (rows.var(1).mean((1, 2)) / rows.square().mean((1, 2, 3))).sqrt()


def normalised(rows: Tensor, norm: Sequence[Tensor]) -> Tensor:
    gain, bias = norm
    return F.layer_norm(rows, rows.shape[-1:]) * gain + bias


def trained(arm: str, depth: int, seeds: Sequence[int], steps: int, rate: float, rise: int) -> Encoders:
    """Return models after so many steps, in the first `rise` of which the learning rate grows from 0 to `rate`."""
    models = Encoders(arm, depth, seeds)
    optimiser = torch.optim.Adam(models.parameters(), lr=rate)
    rising = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: min(1, (step + 1) / rise) if rise else 1)
    for _ in range(steps):
        tokens = torch.stack([torch.randint(WORDS, (BATCH, TOKENS), generator=random) for random in models.randoms])
        optimiser.zero_grad()
        models.losses(tokens)[0].sum().backward()
        optimiser.step()
        rising.step()
    return models


def tested(models: Encoders) -> tuple[Tensor, Tensor, Tensor]:
    """Return what `losses` does, on texts that are the same for all."""
    random = torch.Generator().manual_seed(TEST_SEED)
    texts = torch.randint(WORDS, (TESTED, TOKENS), generator=random)
    return models.losses(texts.expand(len(models.embedding), -1, -1))


def measured(models: Encoders) -> list[tuple[float, ...]]:
    """Return for each model the numbers of a row of the first table."""
    exact = models.double()
    loss, right, rows = tested(exact)
    loss.sum().backward()
    first, last = (length(layer) for layer in (exact.layers[0], exact.layers[-1]))
    return list(zip(*(each.tolist() for each in (first, last, alike(rows), heard(rows), loss, right))))


def length(layer: Sequence[Tensor]) -> Tensor:
    """Return the norm of the gradient of all a layer's parameters, for each model."""
    slopes = [each.grad for each in layer if each.grad is not None]  # a norm that is left out has none
    return torch.stack([slope.square().flatten(1).sum(1) for slope in slopes]).sum(0).sqrt()


def by_depth(arm: str, depth: int, seeds: Sequence[int] = SEEDS, after: Sequence[int] = (0, STEPS)) -> list[Gradient]:
    """Return the gradients after so many steps of training."""
    rows = []
    for steps in after:
        found = measured(trained(arm, depth, seeds, steps, RATE, RISE))
        rows += [Gradient(arm, depth, steps, seed, *each) for seed, each in zip(seeds, found)]
    return rows


@torch.no_grad()
def ends(models: Encoders) -> list[tuple[float, float]]:
    loss, right, _ = tested(models)
    return list(zip(loss.tolist(), right.tolist()))


def contested(arm: str, depth: int, rate: float, rise: int, seeds: Sequence[int] = SEEDS) -> list[Contest]:
    """Return where models of all seeds come to, with one learning rate and one rise of it."""
    models = trained(arm, depth, seeds, CONTEST_STEPS, rate, rise)
    return [Contest(arm, depth, rate, rise, seed, *end) for seed, end in zip(seeds, ends(models))]


if __name__ == "__main__":
    main()
