"""What exact attention takes in memory and in time, with a table of all scores and in blocks: the two tables of the chapter on blocks.

Each call is made in two fresh processes. In one the kernel's high-water mark says how much memory it took beyond its inputs; there the
allocator of the C library gives back at once what is freed, so that its thrift doesn't count. In the other the seconds are counted. One
thread, one head, numbers of 32 bits. In a round every way takes its turn, so that ratios can be taken within a round.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median

import click
import torch
import torch.nn.functional as F
from rich.console import Console
from rich.progress import track
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile

from .calls import computing, elsewhere, most_held
from .tables import write

WIDTH, BLOCK = 64, 256
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
BLOCKS, AT_LENGTH = (4, 16, 64, 256, 1024, 4096), 4096  # several sizes of a block, at one length
ROUNDS = range(5)
ABOUT = f"one thread, {len(ROUNDS)} rounds"
Inputs = tuple[Tensor, Tensor, Tensor]
BACKENDS = {"math": SDPBackend.MATH, "flash": SDPBackend.FLASH_ATTENTION}


@dataclass(frozen=True)
class Call:
    """What one call took."""

    way: str
    words: int
    block: int  # keys at a time; 0 where a way has none
    round: int
    bytes: int  # the most that was held beyond the inputs
    seconds: float  # of computing
    kept: int  # bytes that the way back would need, besides the inputs


@dataclass(frozen=True)
class Step:
    """One line of the profiler's table."""

    backend: str
    name: str
    calls: int
    bytes: int  # asked for by this step itself
    share: float  # of the seconds of the whole call, without the steps that it calls


PAGE = click.Path(path_type=Path, dir_okay=False)


@click.command(help=__doc__)
@click.option("--calls", type=PAGE, help="Measure memory and seconds, and write them here as comma-separated values.")
@click.option("--steps", type=PAGE, help="Profile both of torch's ways, and write here what their steps take.")
def main(calls: Path | None, steps: Path | None) -> None:
    torch.set_num_threads(1)
    if calls:
        rounds = track(list(product(ROUNDS, cases())), "calls", console=Console(stderr=True))
        write([taken(way, words, block, number) for number, (way, words, block) in rounds], calls, ABOUT)
    if steps:
        write([step for backend in BACKENDS for step in profiled(backend)], steps, ABOUT)


def cases() -> Iterator[tuple[str, int, int]]:
    """Yield what is measured in a round: a way, a number of words, and the size of a block."""
    for words in LENGTHS:
        yield from ((way, words, 0) for way in ("table", *BACKENDS))
        yield "blocks", words, BLOCK
    yield from (("blocks", AT_LENGTH, block) for block in BLOCKS if block != BLOCK)


def with_table(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Return the output of attention, from a table of all scores."""
    return (query / math.sqrt(query.shape[-1]) @ key.mT).softmax(dim=-1) @ value


def in_blocks(query: Tensor, key: Tensor, value: Tensor, block: int) -> Tensor:
    """Return the same, from the scores of `block` keys at a time."""
    query = query / math.sqrt(query.shape[-1])
    highest = query.new_full((len(query), 1), -math.inf)
    total, output = torch.zeros_like(highest), query.new_zeros(len(query), value.shape[-1])
    for some_keys, some_values in zip(key.split(block), value.split(block)):
        scores = query @ some_keys.mT
        # Any number may be taken off a row of scores, so no gradient has to come through this one.
        higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
        powers, shrink = (scores - higher).exp_(), (highest - higher).exp()
        total = total * shrink + powers.sum(dim=-1, keepdim=True)
        output = output * shrink + powers @ some_values
        highest = higher
    return output / total


def by_torch(query: Tensor, key: Tensor, value: Tensor, backend: str) -> Tensor:
    """Return the same from torch's own operator, which takes a fast way only where there are axes for batch and heads."""
    with sdpa_kernel(BACKENDS[backend]):
        return F.scaled_dot_product_attention(query[None, None], key[None, None], value[None, None])[0, 0]


def attend(way: str, inputs: Inputs, block: int) -> Tensor:
    if way == "table":
        return with_table(*inputs)
    return in_blocks(*inputs, block) if way == "blocks" else by_torch(*inputs, way)


def drawn(words: int, seed: int) -> Inputs:
    query, key, value = torch.randn(3, words, WIDTH, generator=torch.Generator().manual_seed(seed))
    return query, key, value


def taken(way: str, words: int, block: int, seed: int) -> Call:
    """Return what one call takes."""
    most, seconds, saved = (elsewhere(measure, way, words, block, seed) for measure in (held, timed, kept_by))
    return Call(way, words, block, seed, int(most), seconds, int(saved))


def held(way: str, words: int, block: int, seed: int) -> int:
    """Return the most bytes that this process holds during a call, beyond those that it held before."""
    inputs = drawn(words, seed)
    return most_held(lambda: attend(way, drawn(64, 0), min(block, 64)), lambda: attend(way, inputs, block))


def timed(way: str, words: int, block: int, seed: int) -> float:
    """Return the seconds that a call computes."""
    inputs = drawn(words, seed)
    return computing(lambda: attend(way, drawn(64, 0), min(block, 64)), lambda: attend(way, inputs, block))


def kept_by(way: str, words: int, block: int, seed: int) -> int:
    return kept(way, drawn(words, seed), block)


def kept(way: str, inputs: Inputs, block: int) -> int:
    """Return how many bytes autograd keeps for the gradients of the inputs, besides these."""
    known = {each.requires_grad_().untyped_storage().data_ptr() for each in inputs}
    found: dict[int, torch.UntypedStorage] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        # Several steps may keep the same numbers: what lies at one address is counted once.
        if storage.data_ptr() not in known:
            found[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        attend(way, inputs, block)
    return sum(storage.nbytes() for storage in found.values())


def profiled(backend: str) -> list[Step]:
    """Return the steps of one of torch's ways, what takes longest first; of the seconds, the median share of all rounds."""
    found: dict[str, list[tuple[int, int, float]]] = {}
    for seed in ROUNDS:
        inputs = drawn(AT_LENGTH, seed)
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
            by_torch(*inputs, backend)
        steps = [step for step in seen.key_averages() if step.key.startswith("aten::")]
        whole = sum(step.self_cpu_time_total for step in steps)
        for step in steps:
            found.setdefault(step.key, []).append((step.count, step.self_cpu_memory_usage, step.self_cpu_time_total / whole))
    rows = [Step(backend, name, *each[0][:2], median(share for *_, share in each)) for name, each in found.items()]
    return sorted(rows, key=lambda row: -row.share)


if __name__ == "__main__":
    main()
