"""What cross-attention looks at while it translates, where the right alignment is known: the tables and the weights that the chapter on alignment reads.

A small language is made up, with the verb at the end of a sentence, adjectives behind their nouns, and words that become two. Transformers
learn to translate into it, with a causal mask in the decoder and without one. On new sentences each head of cross-attention is scored by
the alignment error rate. Then recurrent networks translate longer and longer sentences, with attention and from one state alone.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import click
import numpy as np
import torch
import torch.nn.functional as F
from rich.console import Console
from rich.progress import track
from torch import Tensor

from .chains import ARMS, CHAIN_STEPS, by_length
from .made_up import TESTED, Pair, corpus, numbered, unseen
from .tables import say
from .translators import HEADS, LAYERS, STEPS, Translator, trained

SEEDS = range(5)
KEPT = 0  # the seed of the two models whose weights are kept


@dataclass(frozen=True)
class Found:
    """How well the map of one head agrees with the true alignment, and what its model can do."""

    seed: int
    causal: int
    layer: int
    head: int  # -1: the mean of the layer's heads
    earlier: float  # alignment error rates: the row one before the row in which the word is predicted,
    predicted: float  # that row itself,
    read: float  # and the next, in which the word has been read
    later: float
    begins: float  # of `predicted`, words that begin a translation alone
    goes_on: float  # and second words of a translation alone
    hidden: float  # of the model: a word is linked with the word whose hiding hurts it most
    kept_begins: float  # of the model: mean probability of the right word when the word it comes from is hidden, at first words
    kept_goes_on: float  # and at second words
    training_loss: float
    loss: float  # on new sentences
    right: float  # share of new sentences that are translated without a mistake


@torch.no_grad()
def measure(model: Translator, seed: int, pairs: list[Pair] | None = None) -> list[Found]:
    """Return what is found of each head, on sentences that are the same for all models."""
    pairs = pairs or unseen()
    source, target = numbered(pairs)
    logits, maps = model.decode(model.encode(source), source > 0, target[:, :-1])
    known_source, known_target = numbered(corpus(seed, TESTED))
    about_model = {
        **_by_hiding(model, pairs[:100]),
        "training_loss": float(model.loss(known_source, known_target)),
        "loss": float(model.loss(source, target)),
        "right": _share_right(model.write(source), target),
    }
    found = []
    for layer in range(LAYERS):
        for head in (*range(HEADS), -1):
            weights = maps[layer].mean(1) if head < 0 else maps[layer][:, head]
            rates = dict(zip(("earlier", "predicted", "read", "later"), (rate_of(weights, pairs, shift) for shift in (-1, 0, 1, 2))))
            halves = {name: rate_of(weights, pairs, only=name) for name in ("begins", "goes_on")}
            found.append(Found(seed, int(model.causal), layer, head, **rates, **halves, **about_model))
    return found


def rate_of(weights: Tensor, pairs: list[Pair], shift: int = 0, only: str = "") -> float:
    """Return the error rate of linking each word with the largest weight in its row, or in one `shift` rows later.

    A row is named by the word that it predicts. `only` takes the words that begin a translation, or those that go on with it.
    """
    counts = np.zeros(4)
    best = weights.argmax(-1).tolist()
    for row, pair in zip(best, pairs):
        wanted = _words(pair, only)
        links = {(row[place + shift], place) for place in wanted if 0 <= place + shift <= len(pair.target)}
        sure, possible = ({link for link in each if link[1] in wanted} for each in (pair.sure, pair.possible))
        counts += len(links & sure), len(links & possible), len(links), len(sure)
    return 1 - (counts[0] + counts[1]) / (counts[2] + counts[3])


def _words(pair: Pair, only: str) -> set[int]:
    """Return the places of the words of a translation that count."""
    every = set(range(len(pair.target)))
    second = {word for word in every - {0} if pair.origin[word] == pair.origin[word - 1]}
    return {"": every, "goes_on": second, "begins": every - second}[only]


def _by_hiding(model: Translator, pairs: list[Pair]) -> dict[str, float]:
    """Return how well words can be aligned by hiding one row after another from cross-attention, and what is left when the right one is hidden."""
    counts = np.zeros(4)
    left: dict[str, list[float]] = {"begins": [], "goes_on": []}
    for pair in pairs:
        chance = hidden_one_by_one(model, pair)
        links = {(int(chance[:, place].argmin()), place) for place in range(len(pair.target))}
        counts += len(links & pair.sure), len(links & pair.possible), len(links), len(pair.sure)
        for name, found in left.items():
            found += [float(chance[pair.origin[place], place]) for place in _words(pair, name)]
    rate = 1 - (counts[0] + counts[1]) / (counts[2] + counts[3])
    return {"hidden": rate, "kept_begins": float(np.mean(left["begins"])), "kept_goes_on": float(np.mean(left["goes_on"]))}


def hidden_one_by_one(model: Translator, pair: Pair) -> Tensor:
    """Return the probability of each right word when a row of the sentence is hidden from cross-attention: (hidden place, word)."""
    source, target = numbered([pair])
    words = len(pair.source)
    memory = model.encode(source).expand(words, -1, -1)
    logits, _ = model.decode(memory, ~torch.eye(words, dtype=torch.bool), target[:, :-1].expand(words, -1))
    return logits.softmax(-1)[:, torch.arange(len(pair.target)), target[0, 1:-1]]


def _share_right(written: Tensor, target: Tensor) -> float:
    width = max(written.shape[1], target.shape[1])
    written, target = (F.pad(rows, (0, width - rows.shape[1])) for rows in (written, target))
    return float((written == target).all(1).float().mean())


@click.command(help=__doc__)
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), help="Write the table of heads as comma-separated values, too.")
@click.option(
    "--lengths", type=click.Path(path_type=Path, dir_okay=False), help="Write the table of lengths as comma-separated values, too."
)
@click.option("--weights", type=click.Path(path_type=Path, dir_okay=False), help="Write the weights of two models as NumPy's .npz, too.")
def main(page: Path | None, lengths: Path | None, weights: Path | None) -> None:
    torch.set_num_threads(1)
    console = Console(stderr=True)
    pairs = [(seed, causal) for causal in (True, False) for seed in SEEDS]
    models = {pair: trained(*pair) for pair in track(pairs, "translators", console=console)}
    heads = [asdict(found) for (seed, _), model in models.items() for found in measure(model, seed)]
    say(heads, f"{STEPS} steps, {len(SEEDS)} seeds", page, ".4f")
    if weights:
        np.savez(weights, **models[KEPT, True].arrays())
        np.savez(weights.with_stem(f"{weights.stem}_peeking"), **models[KEPT, False].arrays())
    chains = [(arm, seed) for arm in ARMS for seed in SEEDS]
    found = [asdict(row) for chain in track(chains, "chains", console=console) for row in by_length(*chain)]
    say(found, f"{CHAIN_STEPS} steps, {len(SEEDS)} seeds", lengths, ".4f")


if __name__ == "__main__":
    main()
