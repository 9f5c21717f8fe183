"""What the layers of the chapter on complexity take by the clock and in memory: the table that it draws.

Each call is made in a fresh process, in PyTorch, on one thread, with numbers of 32 bits: `seconds` are those of computing the output of one
layer, and `bytes` the most that is held beyond layer and words while an output is computed and the gradient goes all the way back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import click
import torch
from rich.console import Console
from rich.progress import track
from torch import Tensor, nn

from .calls import computing, elsewhere, most_held
from .tables import write

WIDTH, WINDOW = 512, 3
LENGTHS = (32, 64, 128, 256, 512, 1024, 2048, 4096)
ROUNDS = range(5)
Layer = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Measured:
    """What one layer took for a text of so many words."""

    layer: str
    words: int
    round: int
    seconds: float
    bytes: int


@click.command(help=__doc__)
@click.option(
    "--page", required=True, type=click.Path(path_type=Path, dir_okay=False), help="Where to write the values, separated by commas."
)
def main(page: Path) -> None:
    torch.set_num_threads(1)
    cases = list(product(ROUNDS, LENGTHS, LAYERS))
    rows = [measured(layer, words, number) for number, words, layer in track(cases, "calls", console=Console(stderr=True))]
    write(rows, page, f"width {WIDTH}, one thread, {len(ROUNDS)} rounds")


def measured(layer: str, words: int, seed: int) -> Measured:
    return Measured(layer, words, seed, elsewhere(seconds, layer, words, seed), int(elsewhere(held, layer, words, seed)))


def seconds(name: str, words: int, seed: int) -> float:
    """Return the seconds in which a layer computes its output."""
    layer, x = made(name, seed), text(words, seed)
    with torch.no_grad():
        return computing(lambda: layer(text(16, 0)), lambda: layer(x))


def held(name: str, words: int, seed: int) -> int:
    """Return the most bytes held while a layer computes its output and the gradient of it."""
    layer, x = made(name, seed), text(words, seed).requires_grad_()
    return most_held(lambda: layer(text(16, 0).requires_grad_()).sum().backward(), lambda: layer(x).sum().backward())


def text(words: int, seed: int) -> Tensor:
    return torch.randn(words, WIDTH, generator=torch.Generator().manual_seed(seed))


def made(name: str, seed: int) -> Layer:
    """Return a layer with random weights."""
    torch.manual_seed(seed)
    return LAYERS[name]()


def looking() -> Layer:
    """Return attention without projections, with its table of weights."""
    return lambda x: torch.softmax(x @ x.mT / WIDTH**0.5, dim=-1) @ x


def attention() -> Layer:
    """Return one head with all four projections."""
    query, key, value, output = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
    return lambda x: output(torch.softmax(query(x) @ key(x).mT / WIDTH**0.5, dim=-1) @ value(x))


def recurrence() -> Layer:
    layer = nn.RNN(WIDTH, WIDTH, bias=False)
    return lambda x: layer(x)[0]


def convolution() -> Layer:
    layer = nn.Conv1d(WIDTH, WIDTH, WINDOW, padding=WINDOW // 2, bias=False)
    return lambda x: layer(x.mT[None])[0].mT


LAYERS: dict[str, Callable[[], Layer]] = {
    "looking": looking,
    "attention": attention,
    "recurrence": recurrence,
    "convolution": convolution,
}


if __name__ == "__main__":
    main()
