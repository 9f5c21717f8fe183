"""Work on several exercises at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

from ..exercise import reading as exercises
from ..pool import preload
from ..pool.base import default_jobs

Result = TypeVar("Result")


def side_by_side(work: Callable[..., Result], names: list[str], *more: object) -> Iterator[Result]:
    """Yield what `work` returns for each exercise, in their order; a single one is done in this process."""
    if len(names) == 1:
        yield work(names[0], *more)
    if len(names) < 2:
        return
    # One that trains takes longer than all others together: it is begun first, so that no processor waits for it in the end.
    longest_first = sorted(names, key=lambda name: -(exercises.load(name).seconds or 0))
    with ProcessPoolExecutor(default_jobs(), preload.context()) as processes:
        futures = {name: processes.submit(work, name, *more) for name in longest_first}
        for name in names:
            yield futures[name].result()
