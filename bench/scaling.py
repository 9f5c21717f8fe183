"""Where a model of one attention learns, with the division by the square root of d_k and without it.

Every sentence holds some of 64 words, and each of these wears one of eight colours. One word is asked for: what is its colour?
The model learns W_Q, W_K and W_V in a fixed number of steps. By heart: each of the 64 questions is a vector of its own, and the
model must learn which word is meant. By a rule: the question is the word's own vector, and all vectors are drawn anew at each step.
W_Q and W_K start at random, W_V so that colours can be read from the first step: what is measured is the search for the right word.
Both arms see the same sentences and start alike, and each gets the learning rate that suits it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import click
import torch
import torch.nn.functional as F
from rich.console import Console
from rich.progress import track
from torch import Tensor

from .tables import say

WORDS, D_MODEL, COLOURS, BATCH, STEPS, LAST = 64, 64, 8, 64, 300, 25
SEEDS = range(5)
KEYS, WIDTHS = (4, 8, 16, 32, 64), (4, 16, 64, 256)
# The variance of an entry of a query, for words of variance 1: kept, and as nn.Linear starts.
STARTS = {"unit": 1.0, "linear": 1 / 3}
OPTIMISERS = {"adam": torch.optim.Adam, "descent": torch.optim.SGD}
RATES = {"adam": (0.0003, 0.001, 0.003, 0.01, 0.03), "descent": (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)}
CONTESTS = (("heart", "adam"), ("heart", "descent"), ("rule", "adam"))
LEARNT = 0.9  # the share of right answers from which on a seed counts as one that learns
ARMS = ("undivided", "divided")


@dataclass(frozen=True)
class Case:
    """One square of the map."""

    task: str
    optimiser: str
    start: str
    keys: int
    d_k: int


@dataclass(frozen=True)
class Found:
    """What one arm of a case did over the seeds, with the rate that suits it, and how its attention stood at the start."""

    arm: str
    rate: float
    right: float  # the share of right answers in the last steps: median, least and most
    least: float
    most: float
    learnt: int  # seeds
    spread: float  # standard deviation of the scores of one query
    highest: float  # mean highest weight
    bits: float  # mean entropy of the weights
    slope: float  # p(1 - p) at the word that is meant: its mean over sentences, for the median question


@click.command(help=__doc__)
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), help="Write the table as comma-separated values, too.")
@click.option("--steps", default=STEPS, show_default=True)
def main(page: Path | None, steps: int) -> None:
    torch.set_num_threads(1)
    cases = [Case(*contest, start, keys, d_k) for contest, start, keys, d_k in product(CONTESTS, STARTS, KEYS, WIDTHS)]
    rows = [(case, found) for case in track(cases, "cases", console=Console(stderr=True)) for found in measure(case, steps)]
    say([asdict(case) | asdict(found) for case, found in rows], f"{steps} steps, {len(SEEDS)} seeds", page, ".4g")


def measure(case: Case, steps: int = STEPS, seeds: range = SEEDS) -> list[Found]:
    """Return what both arms did."""
    at_start = Models(case, seeds).at_start()
    right = Models(case, seeds).train(steps)  # (arm, rate, seed)
    found = []
    for place, arm in enumerate(ARMS):
        best = int(right[place].median(dim=1).values.argmax())
        shares = right[place, best]
        middle, least, most = float(shares.median()), float(shares.min()), float(shares.max())
        learnt = int((shares >= LEARNT).sum())
        found.append(Found(arm, RATES[case.optimiser][best], middle, least, most, learnt, **at_start[place]))
    return found


class Models:
    """The models of one case side by side: for each arm, each rate and each seed one."""

    def __init__(self, case: Case, seeds: range):
        self.case = case
        self.random = [torch.Generator().manual_seed(seed) for seed in seeds]
        self.divisor = torch.tensor([1.0, math.sqrt(case.d_k)])[:, None, None, None, None]
        self.words, self.questions = self._normal(), self._normal()
        readable = (2 * torch.eye(COLOURS)).expand(len(seeds), -1, -1)
        first = [self._projection(), self._projection(), readable]
        rates = {rate: [each.repeat(len(ARMS), 1, 1, 1).requires_grad_() for each in first] for rate in RATES[case.optimiser]}
        self.parameters = list(rates.values())
        self.optimiser = OPTIMISERS[case.optimiser]({"params": each, "lr": rate} for rate, each in rates.items())

    def _matrices(self) -> Iterator[Tensor]:
        """Yield W_Q, W_K and W_V of all models: (arm, rate, seed, row, column)."""
        return (torch.stack(each, dim=1) for each in zip(*self.parameters))

    def _normal(self) -> Tensor:
        return torch.stack([torch.randn(WORDS, D_MODEL, generator=one) for one in self.random])

    def _projection(self) -> Tensor:
        """Return a matrix for each seed, uniform as in nn.Linear, that gives queries or keys the variance of the start."""
        edge = math.sqrt(3 * STARTS[self.case.start] / D_MODEL)
        return torch.stack([edge * (2 * torch.rand(D_MODEL, self.case.d_k, generator=one) - 1) for one in self.random])

    def sentences(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return which word is asked for, which words are there (that one stands first), and what they wear."""
        there = torch.stack([torch.rand(BATCH, WORDS, generator=one).argsort(-1)[:, : self.case.keys] for one in self.random])
        colours = torch.stack([torch.randint(COLOURS, (BATCH, self.case.keys), generator=one) for one in self.random])
        return there[:, :, :1], there, colours

    def scores(self, w_query: Tensor, w_key: Tensor, asked: Tensor, there: Tensor) -> Tensor:
        """Return the scores of each sentence's words for its question."""
        if self.case.task == "rule":
            self.words = self.questions = self._normal()
        table = (self.questions @ w_query) @ (self.words @ w_key).transpose(-1, -2) / self.divisor
        places = (asked * WORDS + there).flatten(-2).expand(*table.shape[:3], -1)
        return table.flatten(-2).gather(-1, places).unflatten(-1, there.shape[-2:])

    @torch.no_grad()
    def at_start(self, batches: int = 40) -> list[dict[str, float]]:
        """Return, for each arm, the fields of `Found` that describe the start."""
        drawn = [self.sentences()[:2] for _ in range(batches)]
        asked, there = (torch.cat(each, dim=1) for each in zip(*drawn))
        w_query, w_key, _ = self._matrices()
        scores = self.scores(w_query[:, :1], w_key[:, :1], asked, there)[:, 0]  # rates don't differ yet
        weights = scores.softmax(-1)
        bits = torch.special.entr(weights).sum(-1) / math.log(2)
        slopes = self._by_question(asked.squeeze(-1), weights[..., 0] * (1 - weights[..., 0]))
        return [
            {
                "spread": float(scores[arm].std(-1).mean()),
                "highest": float(weights[arm].amax(-1).mean()),
                "bits": float(bits[arm].mean()),
                "slope": float(slopes[arm].median()),
            }
            for arm in range(len(ARMS))
        ]

    def _by_question(self, asked: Tensor, numbers: Tensor) -> Tensor:
        """Return the mean of the numbers of each question."""
        none = torch.zeros(*numbers.shape[:-1], WORDS)
        asked = asked.expand_as(numbers)
        return none.scatter_add(-1, asked, numbers) / none.scatter_add(-1, asked, torch.ones_like(numbers))

    def train(self, steps: int) -> Tensor:
        """Return the shares of right answers in the last steps: (arm, rate, seed)."""
        shares = []
        for _ in range(steps):
            asked, there, colours = self.sentences()
            w_query, w_key, w_value = self._matrices()
            weights = self.scores(w_query, w_key, asked, there).softmax(-1)
            output = weights[..., None, :] @ F.one_hot(colours, COLOURS).float()
            logits = output.squeeze(-2) @ w_value
            answer = colours[..., 0].expand(logits.shape[:-1])
            loss = F.cross_entropy(logits.flatten(0, -2), answer.flatten(), reduction="none")
            self.optimiser.zero_grad()
            # Models share no parameter, so the gradient of the sum is for each of them that of its own mean.
            (loss.sum() / BATCH).backward()
            self.optimiser.step()
            shares.append((logits.detach().argmax(-1) == answer).float().mean(-1))
        return torch.stack(shares[-LAST:]).mean(0)


if __name__ == "__main__":
    main()
