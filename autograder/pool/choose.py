"""The choice of judges: this process, several on this machine, or a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from ..sandbox.forkserver import ForkServer
from ..sandbox.levels import Level, required
from .base import AHEAD, Judges
from .here import Here
from .processes import Processes


@contextmanager
def chosen_judges(jobs: int, level: Level | None, cluster: str | None = None, forkserver: ForkServer | None = None) -> Iterator[Judges]:
    """Yield `jobs` judges, or those of a cluster; they end with the block, at once if it ends in an error.

    Their zygotes come from `forkserver`, if one runs already, and otherwise from one that is started and ended here.
    """
    level = required() if level is None else level
    if cluster:
        with _ended(_on_cluster(cluster, level)) as found:
            yield found
        return
    with (
        nullcontext(forkserver) if forkserver else ForkServer(level) as server,
        _ended(Here(server) if jobs == 1 else Processes(jobs, server)) as found,
    ):
        yield found


@contextmanager
def _ended(found: Judges) -> Iterator[Judges]:
    try:
        yield found
    except BaseException:
        found.end()
        raise
    found.close()


def _on_cluster(address: str, level: Level) -> Judges:
    from .cluster import Cluster  # dask takes a second to import

    return Cluster(address, level, AHEAD)
