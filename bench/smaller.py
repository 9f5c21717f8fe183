"""How much smaller a model can be made: the table that the chapter on smaller models reads.

The large models are those of the chapter on real heads, five seeds of two layers. Students with two fifths of their parameters learn from
few or many texts, alone or from a large model's guesses. Large models are pruned by size, by chance, by column and by head, and their
numbers are rounded to 8 bits and fewer, with one scale for each matrix or one for each of its columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import torch
import torch.nn.functional as F
from rich.console import Console
from rich.progress import track
from torch import Tensor

from .heads import BATCH, D_HEAD, SEEDS, TOKENS, WORDS, Model, texts, trained
from .tables import say

D_STUDENT, HEADS_STUDENT = 32, 4
STEPS, RATE = 500, 0.01
# Layers, texts to learn from, and the temperature of the guesses; 0 is for the right word alone.
STUDENTS = [(2, size, temperature) for size in (256, 1024, 4096) for temperature in (0, 1)] + [(2, 1024, 4), (1, 4096, 0), (1, 4096, 1)]
PRUNED = ("w_query", "w_key", "w_value", "w_output")
LEFT = (80, 60, 50, 40, 30, 20, 10)  # percent
AGAIN, AGAIN_STEPS, AGAIN_RATE = (30, 20, 10), 100, 0.002
BITS, FACTORS = (8, 7, 6, 5, 4, 3), (1, 4, 16, 64, 256)
TEST_SEED, RANK_SEED, TESTED = 10_000, 20_000, 100  # texts


@dataclass(frozen=True)
class Found:
    """One model, and its loss in nats a word."""

    what: str
    way: str
    size: int  # texts, percent, bits, or factor
    seed: int
    repeated: float  # where a text repeats itself
    new: float  # elsewhere


@click.command(help=__doc__)
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), help="Write the table as comma-separated values, too.")
def main(page: Path | None) -> None:
    torch.set_num_threads(1)
    rows: list[Found] = []
    for seed in track(SEEDS, "seeds", console=Console(stderr=True)):
        large = trained(seed, 2)
        for part in (rounded, pruned, taught):
            rows += part(large, seed)
    say([asdict(row) for row in rows], f"{len(SEEDS)} seeds", page, ".4f")


@torch.no_grad()
def loss(model: Model, keep: Tensor | None = None, seed: int = TEST_SEED) -> tuple[float, float]:
    """Return the loss at repeated and at new words, on texts that are the same for all models."""
    tokens, repeats = texts(torch.Generator().manual_seed(seed), TESTED)
    found = model.losses(tokens, keep)
    return float(found[repeats].mean()), float(found[~repeats].mean())


def altered(model: Model, change: Callable[[str, Tensor], Tensor], names: tuple[str, ...] = PRUNED) -> Model:
    """Return a copy of a model with some of its parameters changed."""
    other = Model.__new__(Model)
    values = {name: value.detach().clone() for name, value in model.parameters.items()}
    other.parameters = {name: change(name, value) if name in names else value for name, value in values.items()}
    return other


# Distillation


class Student(Model):
    """A narrower model, with half as many heads."""

    def __init__(self, layers: int, random: torch.Generator):
        def normal(*shape: int, width: int) -> Tensor:
            return (torch.randn(shape, generator=random) / math.sqrt(width)).requires_grad_()

        heads = (layers, HEADS_STUDENT // layers)
        self.parameters = {
            "embedding": normal(WORDS, D_STUDENT, width=1),
            "position": normal(TOKENS, D_STUDENT, width=1),
            **{name: normal(*heads, D_STUDENT, D_HEAD, width=D_STUDENT) for name in PRUNED[:3]},
            "w_output": normal(*heads, D_HEAD, D_STUDENT, width=heads[1] * D_HEAD),
            "w_word": normal(D_STUDENT, WORDS, width=D_STUDENT),
        }


def student(large: Model, seed: int, layers: int, size: int, temperature: int, steps: int = STEPS) -> Student:
    """Return a student of `size` texts: of the right words alone, or of a large model's guesses at a temperature."""
    random = torch.Generator().manual_seed(1000 + seed)  # the same texts and start for every way to learn
    tokens, _ = texts(random, size)
    with torch.no_grad():
        guesses = large.read(tokens[:, :-1])[0] / max(1, temperature)
    model = Student(layers, random)
    optimiser = torch.optim.Adam(model.parameters.values(), lr=RATE)
    falling = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: min(1, 2 - 2 * step / steps))
    for _ in range(steps):
        batch = torch.randint(size, (BATCH,), generator=random)
        logits, _ = model.read(tokens[batch, :-1])
        optimiser.zero_grad()
        if temperature:
            # The gradient of softened guesses shrinks with the square of the temperature; undo it.
            soft = F.cross_entropy((logits / temperature).mT, guesses[batch].softmax(-1).mT)
            (temperature**2 * soft).backward()
        else:
            F.cross_entropy(logits.mT, tokens[batch, 1:]).backward()
        optimiser.step()
        falling.step()
    return model


def taught(large: Model, seed: int) -> Iterator[Found]:
    """Yield students of two layers, and of one, which can't copy."""
    yield Found("teacher", "whole", 0, seed, *loss(large))
    for layers, size, temperature in STUDENTS:
        model = student(large, seed, layers, size, temperature)
        yield Found(f"student of {layers}", f"T{temperature}" if temperature else "alone", size, seed, *loss(model))


# Pruning


def by_size(value: Tensor, left: float) -> Tensor:
    """Return 1 where an entry is among the largest of its matrix of a layer, and 0 elsewhere."""
    return _largest(value.abs().flatten(1), left).view_as(value)


def by_column(model: Model, left: float) -> dict[str, Tensor]:
    """Return a mask for each matrix that keeps whole columns: what a query and a key share, or a value and its way out."""
    norms = {name: model.parameters[name].detach().norm(dim=-1 if name == "w_output" else -2) for name in PRUNED}
    masks = {}
    for one, other in (("w_query", "w_key"), ("w_value", "w_output")):
        product = norms[one] * norms[other]
        kept = _largest(product.flatten(1), left).view_as(product)
        masks[one] = kept[..., None, :]
        masks[other] = kept[..., None, :] if other == "w_key" else kept[..., :, None]
    return masks


def _largest(values: Tensor, left: float) -> Tensor:
    count = round(left * values.shape[1])
    return torch.zeros_like(values).scatter(1, values.topk(count).indices, 1.0)


def head_by_head(model: Model) -> Iterator[Tensor]:
    """Yield which heads are kept, one fewer each time: the one that costs least just then goes next."""
    keep = torch.ones(model.parameters["w_query"].shape[:2])
    while True:
        yield keep.clone()
        if not keep.any():
            return
        costs = _costs(model, keep)
        least = min((tuple(place) for place in keep.nonzero().tolist()), key=costs.__getitem__)
        keep[least] = 0


def _costs(model: Model, keep: Tensor) -> dict[tuple[int, ...], float]:
    costs = {}
    for place in keep.nonzero().tolist():
        without = keep.clone()
        without[tuple(place)] = 0
        costs[tuple(place)] = loss(model, without, RANK_SEED)[0]
    return costs


def masked(model: Model, masks: dict[str, Tensor]) -> Model:
    """Return the model with 0 where a mask has 0."""
    return altered(model, lambda name, value: value * masks[name])


def retrained(model: Model, masks: dict[str, Tensor], seed: int) -> Model:
    """Return a pruned model after some more steps, in which what is pruned stays 0."""
    other = masked(model, masks)
    for value in other.parameters.values():
        value.requires_grad_()
    random = torch.Generator().manual_seed(2000 + seed)
    optimiser = torch.optim.Adam(other.parameters.values(), lr=AGAIN_RATE)
    for _ in range(AGAIN_STEPS):
        optimiser.zero_grad()
        other.losses(texts(random, BATCH)[0]).mean().backward()
        optimiser.step()
        with torch.no_grad():
            for name, mask in masks.items():
                other.parameters[name].mul_(mask)
    return other


def pruned(model: Model, seed: int) -> Iterator[Found]:
    """Yield models of which less and less is left."""
    random = torch.Generator().manual_seed(seed)
    chances = {name: torch.rand(value.shape, generator=random) for name, value in model.parameters.items() if name in PRUNED}
    for left in LEFT:
        columns, sizes = by_column(model, left / 100), {name: by_size(model.parameters[name].detach(), left / 100) for name in PRUNED}
        luck = {name: by_size(chances[name], left / 100) for name in PRUNED}
        for way, masks in (("size", sizes), ("chance", luck), ("columns", columns)):
            yield Found("pruned", way, left, seed, *loss(masked(model, masks)))
        if left in AGAIN:
            yield Found("pruned", "size, trained on", left, seed, *loss(retrained(model, sizes, seed)))
    for keep in head_by_head(model):
        yield Found("pruned", "heads", round(100 * float(keep.mean())), seed, *loss(model, keep))


# Fewer bits


def rounded_to(value: Tensor, bits: int, each_column: bool) -> Tensor:
    """Return the nearest numbers of so many bits times a scale: of a layer's whole matrix, or of each column of each head."""
    axes = (-2,) if each_column else tuple(range(max(0, value.ndim - 3), value.ndim))
    most = 2 ** (bits - 1) - 1
    scale = value.abs().amax(axes, keepdim=True) / most
    return (value / scale).round() * scale


def with_bits(model: Model, bits: int, each_column: bool) -> Model:
    """Return the model with all its parameters rounded."""
    return altered(model, lambda _, value: rounded_to(value, bits, each_column), tuple(model.parameters))


def stretched(model: Model, factor: float) -> Model:
    """Return the same function from other numbers: one column of each query matrix grows, and that of its key shrinks as much."""

    def change(name: str, value: Tensor) -> Tensor:
        value[..., 0] *= factor if name == "w_query" else 1 / factor
        return value

    return altered(model, change, ("w_query", "w_key"))


def rounded(model: Model, seed: int) -> Iterator[Found]:
    """Yield models of fewer bits, and of 8 bits after a column was stretched."""
    for way, each_column in (("matrix", False), ("column", True)):
        for what, of, bits, size in [
            *(("bits", model, bits, bits) for bits in BITS),
            *(("stretched", stretched(model, factor), 8, factor) for factor in FACTORS),
        ]:
            other = with_bits(of, bits, each_column)
            yield Found(what, way, size, seed, *loss(other))


if __name__ == "__main__":
    main()
