"""Attention and convolution on handwritten digits: the tables and the weights that the chapter on vision reads.

Small Vision Transformers and convolutions of about as many parameters learn from 50 to 1,200 images, as they are and with all pixels moved
by one permutation. Then Vision Transformers read larger images than they have learnt from, with positions that are interpolated, or
not, or none. The learning rate was chosen on other seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from rich.console import Console
from rich.progress import track
from torch import Tensor

from .pictures import (
    POOL,
    SIDE,
    STEPS,
    Convolution,
    Patches,
    digits,
    enlarged,
    in_order,
    parameters_of,
    share_right,
    stretched,
    strips,
    train,
)
from .tables import say

SEEDS = range(5)
AMOUNTS = 50, 150, 500, POOL
KEPT = 0  # the seed of the model whose weights are kept
SIDES, TUNED = (SIDE, 12, 16), 60  # pixels along an edge of larger images, and as they are; steps of training on them
ABOUT = f"{STEPS} steps, {len(SEEDS)} seeds"
MODELS: dict[str, Callable[[torch.Generator], Any]] = {
    "convolution": Convolution,
    "dense end": lambda random: Convolution(random, dense=True),
    "patches": Patches,
    "near": lambda random: Patches(random, local=True),
    "strips": lambda random: Patches(random, cut=strips),
    "pixels": lambda random: Patches(random, size=1),
}
# Tokens of one pixel are sixteen times as much work for attention as patches of four.
RUNS = [
    *((arm, shuffled, images) for arm in ("patches", "convolution") for shuffled in (False, True) for images in AMOUNTS),
    *(("near", False, images) for images in AMOUNTS),
    ("strips", False, POOL),
    *((arm, shuffled, images) for arm in ("dense end", "pixels") for shuffled in (False, True) for images in (150, POOL)),
]


@dataclass(frozen=True)
class Found:
    """What one model can do."""

    arm: str
    shuffled: int
    images: int  # that it has learnt from
    seed: int
    parameters: int
    right: float  # share of the images that are left


@dataclass(frozen=True)
class Larger:
    """What one Vision Transformer makes of larger images."""

    seed: int
    side: int
    table: str  # of positions: interpolated, in order, zeros; without: the model has learnt without positions
    right: float
    tuned: float  # after a little training on larger images


def learnt(arm: str, shuffled: bool, images: int, seed: int) -> Any:
    """Return a trained model."""
    random = torch.Generator().manual_seed(seed)
    model = MODELS[arm](random)
    pixels, labels = digits(seed, shuffled)
    train(model, pixels[:images], labels[:images], random)
    return model


def tested(model: Any, arm: str, shuffled: bool, images: int, seed: int) -> Found:
    """Return what the model makes of images that it hasn't learnt from."""
    pixels, labels = digits(seed, shuffled)
    with torch.no_grad():
        logits = model.logits(pixels[POOL:])
    return Found(arm, int(shuffled), images, seed, parameters_of(model), share_right(logits, labels[POOL:]))


def nearest(images: int, seed: int) -> Found:
    """Return how often the most similar image that was learnt shows the same digit. No permutation of the pixels changes that."""
    pixels, labels = digits(seed)
    most_similar = torch.cdist(pixels[POOL:].flatten(1), pixels[:images].flatten(1)).argmin(1)
    right = float((labels[most_similar] == labels[POOL:]).float().mean())
    return Found("neighbour", 0, images, seed, 0, right)


def without_places(seed: int) -> Patches:
    """Return a Vision Transformer that has learnt without positions."""
    random = torch.Generator().manual_seed(seed)
    model = Patches(random)
    model.parameters["place"] = torch.zeros_like(model.parameters["place"])
    pixels, labels = digits(seed)
    train(model, pixels[:POOL], labels[:POOL], random)
    return model


def larger(model: Patches, without: Patches, seed: int) -> list[Larger]:
    """Return what becomes of trained models on larger images, and on those as they are, at once and after `TUNED` steps."""
    pixels, labels = digits(seed)
    found = []
    for side in SIDES:
        images, grid = enlarged(pixels, side), side // model.size
        place, none = model.parameters["place"].detach(), torch.zeros(grid * grid, model.parameters["place"].shape[1])
        tables = {"interpolated": stretched(place, grid), "in order": in_order(place, grid), "zeros": none, "without": none}
        for name, table in tables.items():
            reader = copy_of(without if name == "without" else model, table, fixed=name in ("zeros", "without"))
            before = right_of(reader, images, labels)
            train(reader, images[:POOL], labels[:POOL], torch.Generator().manual_seed(seed), steps=TUNED, rate=model.rate / 5)
            found.append(Larger(seed, side, name, before, right_of(reader, images, labels)))
    return found


def copy_of(model: Patches, table: Tensor, fixed: bool = False) -> Patches:
    """Return a model of the same weights with another table of positions, which training leaves as it is if it is `fixed`."""
    copy = Patches(torch.Generator(), model.size)
    copy.parameters = {name: value.detach().clone().requires_grad_() for name, value in model.parameters.items()}
    copy.parameters["place"] = table.clone().requires_grad_(not fixed)
    return copy


@torch.no_grad()
def right_of(model: Patches, images: Tensor, labels: Tensor) -> float:
    return share_right(model.logits(images[POOL:]), labels[POOL:])


@click.command(help=__doc__)
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), help="Write the table of models as comma-separated values, too.")
@click.option("--enlarged", "sizes", type=click.Path(path_type=Path, dir_okay=False), help="Write the table of larger images, too.")
@click.option("--weights", type=click.Path(path_type=Path, dir_okay=False), help="Write the weights of one model as NumPy's .npz, too.")
def main(page: Path | None, sizes: Path | None, weights: Path | None) -> None:
    torch.set_num_threads(1)
    console = Console(stderr=True)
    models, found = {}, [nearest(images, seed) for images in AMOUNTS for seed in SEEDS]
    for run in track([(*run, seed) for run in RUNS for seed in SEEDS], "models", console=console):
        models[run] = learnt(*run)
        found.append(tested(models[run], *run))
    say([asdict(row) for row in found], ABOUT, page, ".4f")
    pairs = [(models["patches", False, POOL, seed], without_places(seed), seed) for seed in SEEDS]
    enlarged = [asdict(row) for pair in track(pairs, "larger images", console=console) for row in larger(*pair)]
    say(enlarged, ABOUT, sizes, ".4f")
    if weights:
        np.savez(weights, **models["patches", False, POOL, KEPT].arrays())


if __name__ == "__main__":
    main()
