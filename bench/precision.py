"""What training does in 16 bits, and what it costs to compute again instead of keeping: the two tables of the chapter on precision.

The model of the first is that of the chapter on scaling: 64 words wear one of eight colours each, 64 questions ask for a word, and one attention
learns by heart which question means which word. Each arm sees the same sentences and starts alike. The loss is multiplied by a power of two, as it is
when it is averaged over more sentences, and Adam doesn't mind; what differs is which numbers the way back can hold. A second contest keeps the
weights themselves in 16 bits, at several learning rates.

The second table has encoder layers whose insides are forgotten and computed again, in segments. The bytes that autograd holds are counted, and so are
the forward calls; the seconds are those of the processor, the least of fifteen steps, since what else the machine does can only add to them. In a round
every arm takes its turn, so that ratios can be taken within a round.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import click
import torch
import torch.nn.functional as F
from rich.console import Console
from rich.progress import track
from torch import Tensor, nn

from .tables import write

WORDS, COLOURS, BATCH, LAST, SEEDS = 64, 8, 64, 25, range(5)
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
ARMS = (*((name, False) for name in DTYPES), ("float16", True))  # the numbers of the products, and whether the loss is scaled
SHIFTS = range(-24, 29, 4)  # powers of two
RATES = {0.003: 300, 0.001: 900, 0.0003: 3000}  # with the steps that go the same way
PATIENCE = 20  # good steps after which the scale is doubled; torch's own 2,000 are for longer training

WIDTH, TOKENS, TEXTS, LAYERS, ROUNDS, STEPS = 64, 128, 2, 16, range(7), 15
SEGMENTS = (0, 2, 4, 8, 16)  # 0: everything is kept


@dataclass(frozen=True)
class Trained:
    """What one model learnt."""

    contest: str
    dtype: str  # of the products, or of the weights
    scaled: int
    shift: int
    rate: float
    seed: int
    right: float  # the share of right answers in the last steps


@dataclass(frozen=True)
class Cost:
    """What one step of training took."""

    segments: int
    round: int
    held: int  # the most bytes that autograd held at any moment
    calls: int  # of a layer, forward
    seconds: float  # the least of some steps


PAGE = click.Path(path_type=Path, dir_okay=False)


@click.command(help=__doc__)
@click.option("--training", type=PAGE, help="Train the models, and write what they learnt here as comma-separated values.")
@click.option("--checkpoints", type=PAGE, help="Measure layers that are computed again, and write what they cost here.")
def main(training: Path | None, checkpoints: Path | None) -> None:
    torch.set_num_threads(1)
    if training:
        write([trained(*case) for case in track(list(cases()), "models", console=Console(stderr=True))], training, f"{len(SEEDS)} seeds")
    if checkpoints:
        rounds = track(list(product(ROUNDS, SEGMENTS)), "steps", console=Console(stderr=True))
        write([cost(segments, number) for number, segments in rounds], checkpoints, f"one thread, {LAYERS} layers, {len(ROUNDS)} rounds")


def cases() -> Iterator[tuple[str, str, bool, int, float, int]]:
    """Yield what is trained: contest, dtype, whether the loss is scaled, shift, rate and seed."""
    yield from (("products", *arm, shift, 0.003, seed) for arm, shift, seed in product(ARMS, SHIFTS, SEEDS))
    yield from (("weights", dtype, False, 0, rate, seed) for dtype, rate, seed in product(DTYPES, RATES, SEEDS))


def trained(contest: str, dtype: str, scaled: bool, shift: int, rate: float, seed: int) -> Trained:
    """Return what a model learnt."""
    products, weights = (dtype, "float32") if contest == "products" else ("float32", dtype)
    right = train(seed, DTYPES[products], shift, scaled, DTYPES[weights], rate, RATES[rate])
    return Trained(contest, dtype, int(scaled), shift, rate, seed, right)


def train(
    seed: int,
    dtype: torch.dtype,
    shift: int = 0,
    scaled: bool = False,
    kept: torch.dtype = torch.float32,
    rate: float = 0.003,
    steps: int = 300,
) -> float:
    """Return the share of right answers in the last steps of a training whose loss is multiplied by 2 to the power of `shift`."""
    torch.manual_seed(seed)
    x, questions = torch.randn(2, WORDS, WORDS)
    edge = (3 / WORDS) ** 0.5
    model = [nn.Parameter(each) for each in (*torch.empty(2, WORDS, WORDS).uniform_(-edge, edge), 2 * torch.eye(COLOURS))]
    # Adam divides by the size of the gradient, whatever it is, as long as nothing is added to it.
    optimiser = torch.optim.Adam(model, lr=rate, eps=1e-20)
    scaler = torch.amp.GradScaler("cpu", enabled=scaled, growth_interval=PATIENCE)
    right = []
    for _ in range(steps):
        asked, colours = torch.randint(WORDS, (BATCH,)), torch.randint(COLOURS, (BATCH, WORDS))
        answer = colours[torch.arange(BATCH), asked]
        with torch.autocast("cpu", dtype, enabled=dtype is not torch.float32):
            guess = answers(model, x, questions[asked], colours)
            loss = F.cross_entropy(guess, answer)
        optimiser.zero_grad()
        scaler.scale(loss * 2.0**shift).backward()
        scaler.step(optimiser)
        scaler.update()
        with torch.no_grad():
            for each in model:
                each.copy_(each.to(kept))
        right.append(guess.argmax(dim=1) == answer)
    return torch.cat(right[-LAST:]).float().mean().item()


def answers(model: Sequence[Tensor], x: Tensor, question: Tensor, colours: Tensor) -> Tensor:
    """Return the guesses of one attention."""
    w_query, w_key, w_value = model
    scores = question @ w_query @ (x @ w_key).mT / WORDS**0.5
    worn = F.one_hot(colours, COLOURS).float()
    return (scores.softmax(dim=-1)[:, None] @ worn)[:, 0] @ w_value


# Layers that are computed again


class Layer(nn.Module):
    """An encoder layer of one head, with its table of weights."""

    def __init__(self, width: int):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.project = nn.Linear(width, 3 * width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.project(self.norms[0](x)).chunk(3, dim=-1)
        weights = (query @ key.mT / x.shape[-1] ** 0.5).softmax(dim=-1)
        x = x + weights @ value
        return x + self.feed(self.norms[1](x))


class Again(torch.autograd.Function):
    """Forgets what is inside a segment, and computes it again on the way back."""

    @staticmethod
    def forward(ctx, segment: nn.Module, x: Tensor) -> Tensor:
        ctx.segment = segment
        ctx.save_for_backward(x)
        return segment(x)

    @staticmethod
    def backward(ctx, slope: Tensor) -> tuple[None, Tensor | None]:
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            ctx.segment(x).backward(slope)
        return None, x.grad


class Ledger:
    """The bytes that autograd holds for the way back, without the parameters: now, and at most."""

    def __init__(self, model: nn.Module):
        self.now = self.most = 0
        self.users = Counter({each.untyped_storage().data_ptr(): 1 for each in model.parameters()})

    def change(self, tensor: Tensor, users: int) -> None:
        """Note that a step more, or less, needs this tensor. Several may need the same numbers: what lies at one address counts once."""
        storage = tensor.untyped_storage()
        before = self.users[storage.data_ptr()]
        self.users[storage.data_ptr()] = before + users
        self.now += storage.nbytes() * ((before + users > 0) - (before > 0))
        self.most = max(self.most, self.now)


class Kept:
    """A tensor in the ledger, for as long as autograd holds it."""

    def __init__(self, ledger: Ledger, tensor: Tensor):
        self.ledger, self.tensor = ledger, tensor
        ledger.change(tensor, 1)

    def __del__(self):
        self.ledger.change(self.tensor, -1)


def cost(segments: int, number: int) -> Cost:
    """Return what one step of training takes, with so many segments."""
    torch.manual_seed(number)
    layers = nn.ModuleList(Layer(WIDTH) for _ in range(LAYERS))
    x = torch.randn(TEXTS, TOKENS, WIDTH, requires_grad=True)
    seconds = min(timed(layers, x, segments) for _ in range(STEPS))
    ledger = Ledger(layers)
    calls: Counter[str] = Counter()
    for layer in layers:
        layer.register_forward_hook(lambda *_: calls.update(["forward"]))
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: Kept(ledger, tensor), lambda kept: kept.tensor):
        step(layers, x, segments)
    return Cost(segments, number, ledger.most, calls["forward"], seconds)


def timed(layers: nn.ModuleList, x: Tensor, segments: int) -> float:
    """Return the seconds that one step computes."""
    begin = time.process_time()
    step(layers, x, segments)
    return time.process_time() - begin


def step(layers: nn.ModuleList, x: Tensor, segments: int) -> None:
    """Go forward and back."""
    size = len(layers) // segments if segments else 1
    for at in range(0, len(layers), size):
        part = nn.Sequential(*layers[at : at + size])
        x = Again.apply(part, x) if segments else part(x)
    x.sum().backward()


if __name__ == "__main__":
    main()
