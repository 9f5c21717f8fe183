"""What the chapter on blocks claims holds for seeds and sizes that it did not use, and its tables are what their program makes."""

import subprocess
import sys

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from bench.blocks import AT_LENGTH, BLOCK, BLOCKS, LENGTHS, ROUNDS, WIDTH, attend, cases, drawn, kept
from tests.book.chapters import BOOK
from tests.book.measured import rows_of

SEEDS = range(100, 105)
seeds = pytest.mark.parametrize("seed", SEEDS)
TABLE = 4 * AT_LENGTH**2  # bytes


@pytest.fixture(scope="module")
def blocks(functions):
    """Return what the chapter defines."""
    return functions("blocks")


@pytest.fixture(scope="module")
def calls() -> dict[tuple[str, int, int], dict[str, np.ndarray]]:
    """Return the columns of the first table, an entry for each round, by way, words and block."""
    found = {}
    for row in rows_of("blocks"):
        found.setdefault((row["way"], int(row["words"]), int(row["block"])), []).append(row)
    return {key: {name: np.array([float(row[name]) for row in rows]) for name in rows[0] if name != "way"} for key, rows in found.items()}


def softmax_of(scores: np.ndarray, value: np.ndarray) -> np.ndarray:
    return (torch.tensor(scores).softmax(-1) @ torch.tensor(value)).numpy()


def random_inputs(seed: int, queries: int, keys: int, d_k: int, d_v: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in ((queries, d_k), (keys, d_k), (keys, d_v))]


# The output


@seeds
@pytest.mark.parametrize("size", [1, 2, 5, 12, 13, 14, 100])
def test_blocks_of_any_size_are_the_whole_softmax(blocks, seed, size):
    query, key, value = random_inputs(seed, 3, 13, 5, 7)
    expected = softmax_of(query @ key.T / 5**0.5, value)
    for absorb in (blocks["absorb"], blocks["absorb_any"]):
        assert blocks["attend_in_blocks"](query, key, value, size, absorb=absorb) == pytest.approx(expected, abs=1e-14)
    assert blocks["attend"](query, key, value) == pytest.approx(expected, abs=1e-14)


@seeds
@pytest.mark.parametrize("size", [1, 2, 3, 13])
def test_under_a_mask_also_where_whole_blocks_are_hidden(blocks, seed, size):
    query, key, value = random_inputs(seed, 11, 13, 5, 7)
    rng = np.random.default_rng(seed)
    mask = rng.random((11, 13)) < 0.3
    mask[:, rng.integers(13)] = True
    mask[0] = np.arange(13) == 12  # for the first query all but the last key are hidden
    expected = softmax_of(np.where(mask, query @ key.T / 5**0.5, -np.inf), value)
    assert blocks["attend_in_blocks"](query, key, value, size, mask, blocks["absorb_any"]) == pytest.approx(expected, abs=1e-14)
    with np.errstate(invalid="ignore"):
        simple = blocks["attend_in_blocks"](query, key, value, size, mask)
    assert np.isnan(simple[0]).all() == (size < 13)


def test_a_query_that_sees_nothing_ends_with_two_sums_of_zero(blocks):
    query, key, value = random_inputs(SEEDS[0], 2, 6, 3, 4)
    _, total, summed = blocks["read"](query, key, value, 2, np.zeros((2, 6), bool), blocks["absorb_any"])
    assert not total.any() and not summed.any()


@seeds
@pytest.mark.parametrize("steps", [(-900, 800, 4000, 0), (-3000, -4000, -3500, -5000), (4000, 3000, 2000, 1000)])
def test_scores_of_thousands_in_32_bits(blocks, seed, steps):
    rng = np.random.default_rng(seed)
    # Eighths, which 32 bits hold however large they are.
    key = (rng.integers(-20, 20, 12) / 8 + np.repeat(steps, 3))[:, None]
    value = rng.normal(size=(12, 5))
    inputs = [each.astype(np.float32) for each in (np.ones((1, 1)), key, value)]
    for size in (1, 3, 5):
        found = blocks["attend_in_blocks"](*inputs, size)
        assert found.dtype == np.float32 and found == pytest.approx(softmax_of(key.T, value), abs=1e-5)


@seeds
def test_the_order_of_blocks_does_not_matter(blocks, seed):
    query, key, value = random_inputs(seed, 3, 12, 5, 7)
    order = np.random.default_rng(seed).permutation(4)
    moved = (order[:, None] * 3 + np.arange(3)).ravel()
    there, here = (blocks["attend_in_blocks"](query, key[which], value[which], 3) for which in (moved, np.arange(12)))
    assert there == pytest.approx(here, abs=1e-14)


@seeds
def test_states_of_two_halves_join_as_the_formula_says(blocks, seed):
    query, key, value = random_inputs(seed, 3, 12, 5, 7)
    (m_a, l_a, u_a), (m_b, l_b, u_b) = (blocks["read"](query, key[half], value[half], 2) for half in (slice(5), slice(5, 12)))
    m = np.maximum(m_a, m_b)
    total, summed = (np.exp(m_a - m) * a + np.exp(m_b - m) * b for a, b in ((l_a, l_b), (u_a, u_b)))
    assert summed / total == pytest.approx(blocks["attend"](query, key, value), abs=1e-14)


# What is broken on purpose


@seeds
def test_what_is_forgotten_shows_only_while_the_maximum_rises(blocks, seed):
    rng = np.random.default_rng(seed)
    scores, values = np.sort(rng.normal(size=6)), rng.normal(size=6)

    def output(order, values, *forgotten):
        inputs = np.ones((1, 1)), scores[order, None], values[order, None]
        return blocks["attend_in_blocks"](*inputs, 1, absorb=blocks["forgetting"](*forgotten)).item()

    rising, falling, right = np.arange(6), np.arange(6)[::-1], softmax_of(scores[None], values[:, None]).item()
    for forgotten in ((), ("sum",), ("values",), ("sum", "values")):
        assert output(falling, values, *forgotten) == pytest.approx(right)
        assert (output(rising, values, *forgotten) == pytest.approx(right)) == (forgotten == ())
        ones = output(rising, np.ones(6), *forgotten)
        assert (ones == pytest.approx(1)) == (len(forgotten) != 1)


@seeds
def test_blocks_averaged_evenly_are_wrong(blocks, seed):
    assert 0.1 < blocks["averaged"](seed) < 0.5


# What is moved


@pytest.mark.parametrize(("n", "d"), [(64, 8), (96, 32), (50, 16)])
@pytest.mark.parametrize("rows", [1, 7, 16, 200])
def test_the_counter_finds_what_the_formulas_say(blocks, n, d, rows):
    moved = blocks["moved"]
    assert moved(blocks["with_table"], n, d=d) == 4 * n * d + 4 * n * n
    assert moved(blocks["with_blocks"], n, rows, 11, d=d) == 2 * n * d + 2 * n * d * -(-n // rows)


@pytest.mark.parametrize("d", [16, 64])
def test_blocks_of_fewer_queries_than_half_the_width_move_more_than_the_table(blocks, d):
    moved, n = blocks["moved"], 512
    with_table, small, large = moved(blocks["with_table"], n, d=d), *(moved(blocks["with_blocks"], n, rows, d=d) for rows in (d // 4, d))
    assert small > 1.5 * with_table and large < 0.7 * with_table


@seeds
def test_both_counted_versions_are_attention(blocks, seed):
    inputs = [blocks["Slow"](each) for each in np.random.default_rng(seed).normal(size=(3, 13, 5))]
    for fill, sizes in ((blocks["with_table"], ()), (blocks["with_blocks"], (4, 3))):
        output = blocks["Slow"](np.zeros((13, 5)))
        fill(*inputs, output, *sizes)
        assert output.numbers == pytest.approx(blocks["attend"](*(each.numbers for each in inputs)), abs=1e-14)


# The tables


def test_the_tables_are_complete_and_say_where_they_were_measured(calls):
    assert set(calls) == set(cases()) and {len(each["round"]) for each in calls.values()} == {len(ROUNDS)}
    for name in ("blocks", "steps"):
        first = (BOOK / "measured" / f"{name}.csv").read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith("# Measured on 20") and "torch" in first and "5 rounds" in first


def test_memory_grows_with_the_square_with_a_table_and_in_step_without(calls):
    held = {key: np.median(each["bytes"]) for key, each in calls.items()}
    for way, block, least, most in (("table", 0, 15, 17), ("math", 0, 15, 17), ("blocks", BLOCK, 3.5, 4.5), ("flash", 0, 2, 4.5)):
        assert least < held[way, LENGTHS[-1], block] / held[way, LENGTHS[-3], block] < most
    assert held["table", LENGTHS[-1], 0] > 20 * held["blocks", LENGTHS[-1], BLOCK] > 200 * held["flash", LENGTHS[-1], 0]
    assert held["blocks", AT_LENGTH, BLOCKS[0]] < held["blocks", AT_LENGTH, BLOCK] < held["blocks", AT_LENGTH, BLOCKS[-1]]


def test_time_is_saved_by_the_fused_function_and_by_blocks_that_are_neither_small_nor_large(calls):
    def ratio(way, words, block):
        return np.median(calls[way, words, block]["seconds"] / calls["table", words, 0]["seconds"])

    assert all(ratio("flash", words, 0) < 0.6 for words in LENGTHS)
    assert ratio("blocks", LENGTHS[-1], BLOCK) < 0.9
    small, *middle, large = (ratio("blocks", AT_LENGTH, block) for block in BLOCKS)
    assert small > 2 and large > 0.95 and min(middle) < 0.85


def test_autograd_keeps_a_table_of_our_loop_and_none_of_the_fused_function(calls):
    for words in LENGTHS:
        assert calls["blocks", words, BLOCK]["kept"][0] > calls["table", words, 0]["kept"][0] > 4 * words**2
        assert calls["flash", words, 0]["kept"][0] == 4 * words * (WIDTH + 1)


@pytest.mark.parametrize(("way", "block"), [("table", 0), ("math", 0), ("flash", 0), ("blocks", BLOCK)])
def test_what_is_kept_comes_out_again(calls, way, block):
    for words in LENGTHS[:2]:
        assert kept(way, drawn(words, SEEDS[0]), block) == calls[way, words, block]["kept"][0]


@pytest.mark.parametrize(("way", "block"), [("math", 0), ("flash", 0), ("blocks", 32), ("blocks", 1000)])
def test_all_ways_of_the_program_are_one_attention(way, block):
    inputs = drawn(131, SEEDS[0])
    assert torch.allclose(attend(way, inputs, block), attend("table", inputs, 0), atol=1e-5)


def test_the_profile_is_as_the_chapter_reads_it():
    steps = {(row["backend"], row["name"].removeprefix("aten::")): row for row in rows_of("steps")}
    assert (steps["math", "bmm"]["calls"], int(steps["math", "_softmax"]["bytes"])) == ("2", TABLE)
    assert int(steps["math", "bmm"]["bytes"]) == TABLE + 4 * AT_LENGTH * WIDTH
    assert int(steps["math", "isneginf"]["bytes"]) == TABLE / 4
    assert 0.35 < float(steps["math", "bmm"]["share"]) < 0.7
    assert float(steps["flash", "_scaled_dot_product_flash_attention_for_cpu"]["share"]) > 0.95
    assert max(int(row["bytes"]) for (backend, _), row in steps.items() if backend == "flash") < TABLE / 16


@pytest.mark.nightly
@pytest.mark.parametrize(("way", "block"), [("table", 0), ("flash", 0), ("blocks", BLOCK)])
def test_the_memory_of_a_call_comes_out_again(calls, way, block):
    """In a process of its own: the measured one is a copy of it, and must not inherit threads."""
    code = f"import torch; from bench.blocks import taken; torch.set_num_threads(1); print(taken({way!r}, {AT_LENGTH}, {block}, 7).bytes)"
    found = int(subprocess.run([sys.executable, "-c", code], cwd=BOOK.parent, check=True, capture_output=True, text=True).stdout)
    assert found == pytest.approx(np.median(calls[way, AT_LENGTH, block]["bytes"]), rel=0.4)


# PyTorch's backends


def test_shapes_and_options_decide_which_function_runs(blocks):
    ran, x = blocks["ran"], torch.randn(3, 5, 7, 8)
    assert ran(x, x, x) == ran(x, x, x, is_causal=True) == ran(x.double(), x.double(), x.double()) == "flash_attention_for_cpu"
    assert ran(x[0], x[0], x[0]) == ran(x, x, x[..., :5]) == ran(x, x, x, dropout_p=0.5) == "attention_math"


@pytest.mark.filterwarnings("ignore")
def test_a_backend_that_is_named_runs_or_raises():
    x = torch.randn(1, 1, 5, 8)
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION), pytest.raises(RuntimeError, match="No available kernel"):
        F.scaled_dot_product_attention(x, x, x, dropout_p=0.5)


def test_the_backends_differ_in_the_last_digits(blocks):
    torch.manual_seed(SEEDS[0])
    inputs = torch.randn(3, 1, 1, 300, 64)
    math, fused = (blocks["output"](backend, inputs) for backend in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION))
    exact = blocks["output"](SDPBackend.MATH, inputs.double())
    assert all(0 < each.abs().max() < 1e-5 for each in (math - exact, fused - exact, math - fused))


# The way back


@seeds
@pytest.mark.parametrize("size", [1, 5, 100])
@pytest.mark.parametrize("spread", [1, 30])
def test_gradients_from_weights_made_again_are_those_of_the_table(blocks, seed, size, spread):
    *inputs, slope = np.random.default_rng(seed).normal(size=(4, 13, 7))
    inputs[0] *= spread
    found = blocks["way_back"](*inputs, blocks["read"](*inputs, size), slope, size)
    for ours, theirs in zip(found, blocks["by_autograd"](*inputs, slope)):
        assert ours == pytest.approx(theirs, abs=1e-12 * spread**2)


def test_a_sum_in_bfloat16_stops_at_256():
    one = torch.ones((), dtype=torch.bfloat16)
    assert 255 * one + one == 256 * one + one == 256 and 256 * one + 2 * one == 258
