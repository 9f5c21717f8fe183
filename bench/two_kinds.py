"""Pictures of two digits and sentences about them: what two encoders find for each other, and where words and patches look.

Models of several kinds are trained with a contrastive loss, five seeds of each side by side, and tested on new digits: one picture and one
sentence of each meaning. Steps and learning rate were chosen on other seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from rich.console import Console
from rich.progress import track
from torch import Tensor

from .scenes import (
    MEANINGS,
    OTHER,
    STEPS,
    TWIN,
    Kind,
    Model,
    Pairs,
    World,
    apart,
    at_random,
    parameters_of,
    quarter_of_patches,
    together,
    train,
    with_twins,
)
from .tables import say

SEEDS = range(5)
KEPT = 0  # the seed of the models whose weights are kept
NEW = 1_000  # added to a seed, it draws the pairs for testing
ABOUT = f"{STEPS} steps, {len(SEEDS)} seeds"
FEW = 24  # pairs in a batch where each sentence is read with each picture
KINDS = {
    "fours": Kind(),
    "twins": Kind(batch=with_twins),
    "random": Kind(batch=at_random),
    "apart": Kind(batch=apart),
    "bag": Kind(reads=False),
    "one side": Kind(sides=(0,)),
    "soft": Kind(sharpness=1.0),
    "cross": Kind(cross="both", mixes=False, size=FEW),
    "mixed": Kind(cross="text", size=FEW),
}
KEPT_KINDS = ("fours", "cross")


@dataclass(frozen=True)
class Found:
    """What one model makes of new pairs."""

    arm: str
    seed: int
    parameters: int
    compared: str  # "vectors", one of each; or whose rows ask: "text", "image", "both"
    picture_1: float  # share of sentences whose picture is the best of all, and among the best five
    picture_5: float
    sentence_1: float  # share of pictures whose sentence is
    sentence_5: float
    twin: float  # share of pictures that fit their sentence better than one with both digits changed; a tie is half
    relation: float  # than one of the same order in the other relation
    word_own: float  # weight of a digit's name on the quarter of that digit, on that of the other digit
    word_other: float
    patch_own: float  # weight of the patches of a digit's quarter on that digit's name, on the other name
    patch_other: float


def recall(table: np.ndarray, count: int) -> float:
    """Return the share of rows in which the entry on the diagonal is among the largest."""
    return float((np.argsort(np.argsort(-table, axis=1), axis=1).diagonal() < count).mean())


def over(table: np.ndarray, instead: np.ndarray) -> float:
    """Return the share of pictures that fit their own sentence better than another one; a tie is half."""
    better = table.diagonal() - table[instead, np.arange(len(table))]
    return float(np.where(np.abs(better) < 1e-5, 0.5, better > 0).mean())


def tables(model: Model, rows: Tensor, tokens: Tensor, seen: Tensor) -> dict[str, Tensor]:
    """Return how well each sentence fits each picture, by all that a model can compare."""
    if not model.kind.cross:
        return {"vectors": model.by_vectors(rows, tokens, seen)}
    sides = ("text", "image") if model.kind.cross == "both" else (model.kind.cross,)
    found = {side: model.asked(side, rows, tokens, seen)[0] for side in sides}
    return found | ({"both": (found["text"] + found["image"]) / 2} if len(sides) == 2 else {})


def looks(weights: dict[str, np.ndarray], pairs: Pairs) -> dict[str, float]:
    """Return where names and patches look: `weights` are those of each pair, (pair, query, key)."""
    quarter, found = quarter_of_patches(), []
    for pair, number in enumerate(pairs.meanings):
        words = pairs.words[pair].tolist()
        names = [words.index(1 + digit) for digit in MEANINGS[number][:2]]
        for mine, other in ((0, 1), (1, 0)):
            on, off = (quarter == pairs.places[pair][each] for each in (mine, other))
            word, patch = weights["text"][pair, names[mine]], weights["image"][pair, on].mean(0)
            found.append((word[on].sum(), word[off].sum(), patch[names[mine]], patch[names[other]]))
    return dict(zip(("word_own", "word_other", "patch_own", "patch_other"), np.mean(found, axis=0).tolist()))


@torch.no_grad()
def tested(arm: str, model: Model, tests: Sequence[Pairs], seeds: Sequence[int]) -> list[Found]:
    """Return what models make of new pairs, by each way to compare them."""
    pictures, words = together(tests)
    rows, tokens, seen = model.look(pictures), model.read(words), words != 0
    every = range(len(MEANINGS))
    maps = {side: model.asked(side, rows, tokens, seen)[1][:, every, every].numpy() for side in ("text", "image")}
    found = []
    for compared, scores in tables(model, rows, tokens, seen).items():
        for place, seed in enumerate(seeds):
            table = scores[place].numpy()
            shares = {
                f"{name}_{count}": recall(each, count) for name, each in (("picture", table), ("sentence", table.T)) for count in (1, 5)
            }
            shares |= {"twin": over(table, TWIN), "relation": over(table, OTHER)}
            looked = looks({side: each[place] for side, each in maps.items()}, tests[place])
            found.append(Found(arm, seed, parameters_of(model), compared, **shares, **looked))
    return found


def new_pairs(world: World, seed: int) -> Pairs:
    """Return a picture and a sentence of each meaning, of digits that no model has learnt from."""
    return world.pairs(np.random.default_rng(NEW + seed), np.arange(len(MEANINGS)), new=True)


def learnt(arm: str, worlds: Sequence[World], seeds: Sequence[int]) -> Model:
    """Return trained models, one for each seed."""
    model = Model.start(KINDS[arm], seeds)
    train(model, worlds, seeds)
    return model


@click.command(help=__doc__)
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), help="Write the table as comma-separated values, too.")
@click.option("--weights", type=click.Path(path_type=Path, dir_okay=False), help="Write the weights of two models as NumPy's .npz, too.")
def main(page: Path | None, weights: Path | None) -> None:
    torch.set_num_threads(1)
    worlds = [World(seed) for seed in SEEDS]
    tests = [new_pairs(world, seed) for world, seed in zip(worlds, SEEDS)]
    found: list[Found] = []
    kept: dict[str, Any] = {}
    for arm in track(KINDS, "kinds", console=Console(stderr=True)):
        model = learnt(arm, worlds, SEEDS)
        found += tested(arm, model, tests, SEEDS)
        if arm in KEPT_KINDS:
            kept |= {f"{arm}_{name}": array for name, array in model.arrays(KEPT).items()}
    say([asdict(row) for row in found], ABOUT, page, ".4f")
    if weights:
        np.savez(weights, **kept)


if __name__ == "__main__":
    main()
