"""Who goes with whom and when, and that nothing in the line is lost, under a clock that jumps instead of waiting."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from service.app import Bounded
from service.batches import Batcher, Full, Rules, chosen, padding, ready
from service.model import Answer, Job


@pytest.mark.parametrize("seed", range(5))
def test_the_oldest_always_goes_and_nobody_pads_more_than_may_be(seed):
    rng = np.random.default_rng(seed)
    for share in (0.0, 0.3, 0.5, 1.0):
        lengths = rng.integers(1, 60, rng.integers(1, 40)).tolist()
        batch = chosen(lengths, 16, share)
        assert batch[0] == 0 and len(batch) == len(set(batch)) <= 16 and padding([lengths[each] for each in batch]) <= share
        assert share < 1 or len(batch) == min(16, len(lengths))


def test_a_batch_goes_when_it_is_full_or_its_oldest_has_waited():
    assert ready([3.0], 2, 0.5) == 3.5 and ready([3.0, 3.25], 2, 0.5) == 3.25 and ready([3.0, 9.0], 2, 0.5) == 3.5


class VirtualTime(asyncio.SelectorEventLoop):
    """A loop that never waits: where nothing is to be done before a moment, its clock is set to that moment."""

    def __init__(self):
        super().__init__()
        self.now, select = 0.0, self._selector.select

        def jump(timeout):
            assert timeout is not None, "nobody will ever do anything"
            self.now += timeout
            return select(0)

        self._selector.select = jump

    def time(self) -> float:
        return self.now


def in_virtual_time(test):
    """Return what a coroutine returns. It has a thread of its own, because Playwright leaves a loop running in that of all tests."""

    def run():
        with asyncio.Runner(loop_factory=VirtualTime) as runner:
            return runner.run(test)

    with ThreadPoolExecutor() as pool:
        return pool.submit(run).result()


def line_before(seconds, rules: Rules, fails=lambda job: False):
    """Return a line before a model that takes so long for the lengths of a batch."""

    async def answer(jobs):
        await asyncio.sleep(seconds([job.length for job in jobs]))
        if any(map(fails, jobs)):
            raise ValueError("no answer")
        return [Answer((job.length,), ()) for job in jobs]

    return Batcher(answer, rules)


async def ask_at(line: Batcher, moment: float, job: Job):
    """Return when the answer came, or what was said instead."""
    await asyncio.sleep(moment)
    try:
        (answer,) = await line.ask([job])
    except (Full, ValueError) as problem:
        return problem
    assert answer.surprise == (job.length,)
    return asyncio.get_running_loop().time()


async def asked(line: Batcher, moments, jobs) -> list:
    work = asyncio.create_task(line.work())
    found = await asyncio.gather(*(ask_at(line, *each) for each in zip(moments, jobs)))
    line.close()
    await work
    return found


def test_a_job_that_the_model_fails_at_costs_no_other():
    line = line_before(len, Rules(most=4), fails=lambda job: job.seed == 13)
    found = in_virtual_time(asked(line, [0, 0.5, 0.5, 0.5], [Job((), seed=each) for each in (1, 2, 13, 3)]))
    assert [type(each) for each in found] == [float, float, ValueError, float] and line.counts.failed == 1 and line.counts.answered == 3


def test_whoever_goes_away_gives_the_place_back():
    async def come_and_go():
        line = line_before(lambda lengths: 10, Rules(most=1, room=1))
        work = asyncio.create_task(line.work())
        first, second = (asyncio.create_task(ask_at(line, moment, Job(()))) for moment in (0, 1))
        await asyncio.sleep(2)
        assert line.waiting == 1 and isinstance(await ask_at(line, 0, Job(())), Full)
        second.cancel()
        third = asyncio.create_task(ask_at(line, 1, Job(())))
        found = await first, await third
        line.close()
        await work
        return found, line.counts

    (first, third), counts = in_virtual_time(come_and_go())
    assert (first, third) == (10, 20) and (counts.accepted, counts.answered, counts.gone, counts.refused) == (3, 2, 1, 1)


def test_who_waits_for_company_goes_at_once_when_the_line_is_closed():
    async def close_soon():
        line = line_before(lambda lengths: 1, Rules(most=4, patience=1000))
        work = asyncio.create_task(line.work())
        one = asyncio.create_task(ask_at(line, 0, Job(())))
        await asyncio.sleep(5)
        line.close()
        assert isinstance(await ask_at(line, 0, Job(())), Full)
        return await one, await work

    assert in_virtual_time(close_soon()) == (6, None)


def test_a_body_that_never_comes_is_given_up():
    async def half_a_request():
        sent = []

        async def send(message):
            sent.append(message)

        async def receive():
            await asyncio.sleep(1e6)

        await Bounded(None)({"type": "http", "method": "POST", "headers": []}, receive, send)
        return sent[0]["status"]

    assert in_virtual_time(half_a_request()) == 408
