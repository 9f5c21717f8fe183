"""What a call costs: the most memory that it held, and the seconds that it computed.

`measure` is for code in this process: a notebook's, or a known answer's. Of code behind the wall
the judge asks the kernel, from outside, and nobody else.
"""

from __future__ import annotations

import math
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakIdKeyDictionary

from .outcome import Sentence, Wrong

MEGABYTE = 1 << 20
LEAST_SECONDS = 0.001  # less is the price of a call, and noise
TRIES = 3
YARDSTICKS = 8  # the first one or two pay for what nobody has used yet
CALL_SECONDS = 0.00025  # of computing, for the way to a learner's code and back
NOISE = 2  # times as long, and more, is not the doing of other processes: they take the processor away, and such seconds don't count
STEEP = 4 / 3  # nearer to 1 than to 2, for the price of each step makes a quadratic answer look flatter than it is
LOOKED_AT = 256  # words, in the loop that a long text is compared with
SLOW = 5.5  # times as long as that loop may an answer take
AT_REST = 96 * MEGABYTE  # a process with all that an answer may have imported


@dataclass(frozen=True)
class Cost:
    """The most bytes held at any moment up to the end of a call, beyond those at rest, and the seconds of computing.

    `followed` says that each tensor was followed meanwhile, which makes small steps several times as slow.
    """

    bytes: int
    seconds: float
    followed: bool = False


def measure(work: Callable[[], object]) -> tuple[object, Cost]:
    """Return what `work` returns and what it cost; of memory, only that of tensors is seen here."""
    begin = time.process_time()
    with one_thread(), _Held() as held:
        result = work()
    return result, Cost(held.most, time.process_time() - begin, followed=True)


@contextmanager
def one_thread():
    """Let torch use one thread, as the judge's worker does.

    Where other processes keep the cores busy, threads wait for each other: a tenth of a
    millisecond of work was seen to take 35, which hides a slow loop or invents one.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _Held(TorchFunctionMode):
    """Follows the memory of every tensor that a function of torch's returns, until it is gone."""

    def __init__(self):
        super().__init__()
        self._now = self.most = 0
        self._known = WeakIdKeyDictionary()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for part in tree_leaves(result):
            if isinstance(part, Tensor):
                self._follow(part.untyped_storage())
        return result

    def _follow(self, storage: torch.UntypedStorage) -> None:
        if storage in self._known:  # views share it
            return
        self._known[storage] = None
        self._add(storage.nbytes())
        weakref.finalize(storage, self._add, -storage.nbytes())

    def _add(self, count: int) -> None:
        self._now += count
        self.most = max(self.most, self._now)


def expect_memory(small: Cost, large: Cost, table: int, what: str = "memory held") -> None:
    """Return None if the memory held for a long text shows no table of `table` bytes.

    `small` is the cost of a text so much shorter that its table does not count. The difference of the
    two leaves out what every call costs; the whole shows memory that was put aside for a table beforehand.
    """
    grown = large.bytes - small.bytes
    if grown > table / 2:
        raise _too_much(
            what, f"the longer input took {_megabytes(grown)} more than the shorter one; a table of all scores has {_megabytes(table)}"
        )
    if large.bytes > max(table, AT_REST):
        raise _too_much(what, f"{_megabytes(large.bytes)} were held; a table of all scores has {_megabytes(table)}")


def expect_slope(measured: Callable[[], tuple[Cost, Cost]], times: int, what: str = "seconds of computing") -> None:
    """Return None if the seconds grew in step with an input that grew so many times, and not with its square.

    `measured` returns the costs for the shorter and for the longer input. Raises `Wrong` when the slope in
    logarithms is too steep at every try. Noise only adds: the best of all tries counts.
    """
    tries: list[tuple[Cost, Cost]] = []
    while len(tries) < TRIES:
        tries.append(measured())
        short, long = (min(cost.seconds for cost in costs) for costs in zip(*tries))
        slope = math.log(max(long, LEAST_SECONDS) / max(short, LEAST_SECONDS), times)
        if slope < STEEP:
            return
    raise _too_much(
        what, f"{times} times the words took {times**slope:.0f} times as long: a slope of {slope:.1f}, where linear is 1 and quadratic 2"
    )


def expect_in_step(measured: Callable[[], Cost], words: int, what: str = "seconds of computing") -> None:
    """Return None if a call for so many words took no longer than a slow loop that looks at each of them once.

    A slope alone is no proof: who wastes time on short texts makes a square look like a line. So a text has to be so long that a square of
    it takes longer than any loop. Raises `Wrong` when the best of all tries took too long.
    """
    seconds, allowed = math.inf, 0.0
    for _ in range(TRIES):
        cost = measured()
        seconds, allowed = min(seconds, cost.seconds), max(allowed, SLOW * words * _seconds_for_one(cost.followed))
        if seconds <= allowed:
            return
        if seconds > NOISE * allowed:
            break
    raise _too_much(what, f"{words} words took {seconds:.1f} seconds, where a slow loop over them would take {allowed:.1f}")


def _seconds_for_one(followed: bool) -> float:
    """Return what such a loop takes for each word, here and in this thread, where every tensor is followed or none."""
    with _Held() if followed else nullcontext():
        return min(_seconds(_look_at_each) for _ in range(YARDSTICKS)) / LOOKED_AT


def _look_at_each() -> None:
    """Do for some words, one after the other, about as much as the slowest right answers do."""
    total, word = torch.zeros(4, 4), torch.ones(4)
    for _ in range(LOOKED_AT):
        for _ in range(4):
            total = total + word @ total


def expect_ratio(measured: Callable[[], Sequence[Cost]], plain: Callable[[], object], at_most: float, what: str) -> None:
    """Return None if a call took at most `at_most` times the seconds of computing that `plain` takes here, in this thread.

    `measured` makes some calls and returns their costs. Raises `Wrong` with the ratio when the best of all tries took more.
    """
    yardstick, seconds = min(_seconds(plain) for _ in range(YARDSTICKS)) + CALL_SECONDS, math.inf
    for _ in range(TRIES):
        seconds = min([seconds, *(cost.seconds for cost in measured())])
        if seconds <= at_most * yardstick:
            return
        if seconds > NOISE * at_most * yardstick:
            break
    raise _too_much(what, f"{seconds / yardstick:.0f} times as long as the same work on whole tensors (at most {at_most:.0f} times)")


def _seconds(work: Callable[[], object]) -> float:
    with one_thread():
        begin = time.thread_time()
        work()
        return time.thread_time() - begin


def _too_much(what: str, reason: str) -> Wrong:
    return Wrong(what, reason, sentence=Sentence.COSTLY)


def _megabytes(count: float) -> str:
    return f"{count / MEGABYTE:.0f} MiB"
