"""Every attack of the corpus against every level that the machine offers; nothing gets through."""

from pathlib import Path

import pytest

from autograder.limits import Limits
from autograder.machine.attacks import Surroundings, attack, corpus, descendants
from autograder.sandbox.client import Zygote
from autograder.sandbox.levels import Level, Unavailable

CASES = [(at, one) for at in Level for one in corpus() if one.level <= at]


@pytest.fixture(scope="module")
def zygotes():
    """Return a zygote at a level, started once; a level that the machine lacks skips with its reason."""
    started = {}

    def at(level: Level) -> Zygote:
        if level not in started:
            try:
                started[level] = Zygote(level)
            except Unavailable as error:
                started[level] = error
        if isinstance(started[level], Unavailable):
            pytest.skip(str(started[level]))
        return started[level]

    yield at
    for zygote in started.values():
        if isinstance(zygote, Zygote):
            zygote.close()


@pytest.fixture(scope="module")
def around():
    with Surroundings() as one:
        yield one


@pytest.mark.parametrize("at, one", CASES, ids=[f"{at.name}-{one.name}" for at, one in CASES])
def test_attack_is_stopped(zygotes, around, at, one):
    assert attack(one, zygotes(at), around) == []


def test_corpus_sees_a_success(zygotes, around):
    """What only the walls stop does succeed without them: the corpus is not blind."""
    harmless = ("environment", "processes_of_others", "files_of_the_course", "sockets_of_all_kinds", "programs", "lock_for_the_next")
    for one in corpus():
        if one.name in harmless and one.level > Level.none:
            assert attack(one, zygotes(Level.none), around), one.name


@pytest.mark.parametrize("at", Level, ids=lambda at: at.name)
def test_nothing_is_left_behind_when_the_zygote_ends(at):
    try:
        zygote = Zygote(at)
    except Unavailable as error:
        pytest.skip(str(error))
    with zygote.fork(Limits()).link:  # and never ended
        family, folder = descendants(zygote.forkserver.pid) | {zygote.forkserver.pid}, zygote.forkserver.rootfs.path
        zygote.close()
    assert not [pid for pid in family if Path(f"/proc/{pid}/exe").exists()] and not folder.exists()
