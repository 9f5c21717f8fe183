"""What a call costs is measured, in this process and from outside of a worker's; neither can be talked out of it."""

import pytest
import torch

from autograder.exercise import reading as exercises
from autograder.judging.answers import answers
from autograder.judging.session import Session
from autograder.judging.verdicts import findings
from autograder.kit.cost import AT_REST, CALL_SECONDS, MEGABYTE, TRIES, Cost, expect_in_step, expect_memory, expect_ratio, expect_slope
from autograder.kit.forbidden import NoGuard
from autograder.kit.learner import local
from autograder.kit.outcome import Ended, MemoryLimit, Outcome, Sentence, Wrong
from autograder.sandbox.client import Zygote
from autograder.sandbox.levels import Level

SQUARES = """
def table(x):
    return (x @ x.T).sum(dim=1)


def in_pieces(x):
    return torch.cat([(part @ x.T).sum(dim=1) for part in x.split(16)])


def in_a_thread(x):
    import threading
    found = []
    thread = threading.Thread(target=lambda: found.append(table(x)))
    thread.start()
    thread.join()
    return found[0]


def believed(x):
    import ctypes, resource, time
    ctypes.CDLL(None).prctl(4, 0)  # what root owns of a process, its own user may not open
    time.process_time = time.thread_time = lambda: 0.0
    resource.getrusage = lambda who: None
    return table(x)


BESIDE = torch.ones(8192, 4096)


def put_aside(x):
    return torch.mm(x, x.T, out=BESIDE[: len(x), : len(x)]).sum(dim=1) if len(x) == 4096 else table(x)


def waited(x):
    import time
    time.sleep(0.1)
    return x.sum(dim=1)


def one_by_one(x):
    import time
    time.process_time = time.thread_time = time.perf_counter = lambda: 0.0
    return torch.stack([row.sum() for row in x])


def gone(x):
    import os, threading, time
    if threading.active_count() == 1:
        threading.Thread(target=lambda: (time.sleep(0.3), os._exit(0))).start()
    return len(x)
"""
SMALL, LARGE = torch.ones(64, 2), torch.ones(4096, 2)
TABLE = 4096 * 4096 * 4


@pytest.fixture(scope="module", params=Level, ids=lambda at: at.name)
def outside(request, level, single_head):
    """Return the functions above in a worker, at each level."""
    if request.param > level:
        pytest.skip(f"this machine offers {level.name} at best")
    sources = {name: source + SQUARES * ("masks" in name) for name, source in answers(single_head).items()}
    with Zygote(request.param) as zygote, Session(zygote, single_head, sources) as session:
        yield session.learner


@pytest.fixture(scope="module")
def inside():
    namespace = {"torch": torch}
    exec(SQUARES.replace("BESIDE = torch.ones(8192, 4096)", ""), namespace)
    return local(namespace, NoGuard())


def _growth(callee) -> int:
    (_, small), (result, large) = callee.measured((SMALL,), (LARGE,))
    assert result.tolist() == [8192.0] * 4096
    return large.bytes - small.bytes


def test_table_is_seen_from_inside(inside):
    assert _growth(inside.table) > 0.9 * TABLE > 0.1 * TABLE > _growth(inside.in_pieces)


def test_memory_that_was_freed_is_not_held(inside):
    """A peak, not a sum: two calls one after the other hold no more than one."""
    ((_, once),), ((_, one), (_, other)) = inside.table.measured((LARGE,)), inside.table.measured((LARGE,), (LARGE,))
    assert one.bytes == other.bytes == once.bytes


def test_table_is_seen_from_outside(outside):
    pieces = _growth(outside.in_pieces)
    for name in ("table", "in_a_thread", "believed"):
        assert _growth(getattr(outside, name)) > 0.9 * TABLE > 0.5 * TABLE > pieces, name


def test_table_put_aside_beforehand_is_seen_from_outside(outside):
    (_, small), (_, large) = outside.put_aside.measured((SMALL,), (LARGE,))
    with pytest.raises(Wrong, match="were held"):
        expect_memory(small, large, TABLE)


def test_seconds_of_all_threads_are_counted(outside):
    """The clock is the kernel's: a worker's own clocks may say what they like."""
    for name in ("table", "in_a_thread", "believed"):
        (_, short), (_, long) = getattr(outside, name).measured((SMALL,), (LARGE,))
        assert long.seconds > 0.005 and long.seconds > 3 * short.seconds, name


def test_worker_that_ends_after_its_answer_is_not_the_judges_failure(outside):
    with pytest.raises(Ended):
        for _ in range(100):
            outside.gone.measured(*[(SMALL,)] * 2000)


def test_missing_names_and_errors_are_reported_as_ever(outside):
    with pytest.raises(MemoryLimit):
        outside.table.measured((SMALL,), (torch.ones(30_000, 1),))
    assert outside.table(SMALL).shape == (64,)


def test_slope_forgives_a_bad_try():
    """Noise only adds: a right answer that was disturbed is measured again, a wrong one is wrong each time."""
    tries = iter([(Cost(0, 0.01), Cost(0, 0.9)), (Cost(0, 0.01), Cost(0, 0.09))])
    expect_slope(lambda: next(tries), 8)
    asked = []
    with pytest.raises(Wrong, match="a slope of 2.0"):
        expect_slope(lambda: asked.append(1) or (Cost(0, 0.01), Cost(0, 0.64)), 8)
    assert len(asked) == TRIES


def test_what_is_within_the_noise_has_no_slope():
    expect_slope(lambda: (Cost(0, 1e-6), Cost(0, 0.012)), 8)


def test_long_text_is_bounded_whatever_short_ones_took():
    expect_in_step(lambda: Cost(0, 1e-3), 1000)
    asked = []
    with pytest.raises(Wrong, match="1000 words took 9.0 seconds"):
        expect_in_step(lambda: asked.append(1) or Cost(0, 9.0), 1000)
    assert len(asked) == 1


def _ratio(*tries: float, at_most: float = 10.0) -> int:
    """Return how many calls were measured, with these seconds, to be told that they took no longer than allowed; the yardstick is a call of nothing."""
    left = iter(tries)
    expect_ratio(lambda: [Cost(0, next(left))], lambda: None, at_most, "time")
    return len(tries) - len(list(left))


def test_ratio_forgives_a_bad_try():
    allowed = 10 * CALL_SECONDS
    assert _ratio(allowed / 2) == 1
    assert _ratio(1.5 * allowed, 1.5 * allowed, allowed / 2, allowed / 2) == TRIES


def test_ratio_that_is_too_large_each_time_is_wrong():
    allowed = 10 * CALL_SECONDS
    with pytest.raises(Wrong, match="time: 1[5-9] times as long .* .at most 10 times") as error:
        _ratio(*[1.9 * allowed] * TRIES)
    assert error.value.came is None and error.value.sentence is Sentence.COSTLY


def test_what_is_far_too_slow_is_not_measured_again():
    """Noise has no such size, and a learner waits for the answer."""
    asked = []
    with pytest.raises(Wrong):
        expect_ratio(lambda: [asked.append(1) or Cost(0, 9.0)] * 3, lambda: None, 10, "time")
    assert asked == [1]


def test_ratio_counts_what_was_computed_and_not_what_was_waited_for(outside):
    """By the kernel's account: a busy machine makes nobody wrong, and a worker's own clock nobody right."""
    few, many = torch.ones(8, 2), torch.ones(8192, 2)

    def costs(name: str, *inputs) -> list[Cost]:
        return [cost for _, cost in getattr(outside, name).measured(*[(x,) for x in inputs])]

    expect_ratio(lambda: costs("waited", few, few, few), lambda: few.sum(dim=1), 40, "time")
    with pytest.raises(Wrong, match="times as long"):
        expect_ratio(lambda: costs("one_by_one", many, many, many), lambda: many.sum(dim=1), 12, "time")


def test_memory_is_compared_with_the_table():
    expect_memory(Cost(20 * MEGABYTE, 0), Cost(50 * MEGABYTE, 0), 64 * MEGABYTE)
    with pytest.raises(Wrong, match="33 MiB more"):
        expect_memory(Cost(20 * MEGABYTE, 0), Cost(53 * MEGABYTE, 0), 64 * MEGABYTE)
    with pytest.raises(Wrong, match="were held"):
        expect_memory(Cost(AT_REST, 0), Cost(AT_REST + 1, 0), 64 * MEGABYTE)


# Every word meets every word, in pieces that no table is seen of; and short texts take as long as if each word cost the same.
SQUARES_IN_A_LINE = """

import time
right_local, right_linear = local_attention, linear_attention

def wasted(square, right):
    def attend(query, key, value, *others, **more):
        if query.ndim > 2 or len(query) < 500:
            return right(query, key, value, *others, **more)
        begin, output = time.process_time(), torch.cat([square(part, key, value) for part in query.split(32)])
        while time.process_time() - begin < 20e-6 * len(query):
            pass
        return right(query, key, value, *others, **more)
    return attend

local_attention = wasted(lambda query, key, value: torch.softmax(query @ key.mT, -1) @ value, right_local)
linear_attention = wasted(lambda query, key, value: feature_map(query) @ feature_map(key).mT @ value, right_linear)
"""


def test_time_wasted_on_short_texts_hides_no_square(zygote):
    exercise = exercises.load("long_sequences")
    cells = answers(exercise)
    cells[list(cells)[-1]] += SQUARES_IN_A_LINE
    with Session(zygote, exercise, cells) as session:
        found = findings(exercise, session.learner, 11, {"local_cost", "linear_cost", "window", "linear"})
    outcomes = {each.verdict.check: each.verdict.outcome for each in found}
    assert outcomes.pop("window") is outcomes.pop("linear") is Outcome.PASSED
    # It takes longer than a line may, or even longer than any call.
    assert set(outcomes) == {"local_cost", "linear_cost"} and set(outcomes.values()) <= {Outcome.WRONG, Outcome.TIME}
