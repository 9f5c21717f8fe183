"""What the chapter on precision claims holds for seeds and sizes that it did not use, and its tables are what their program makes."""

from statistics import median

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from bench import precision as bench
from tests.book.chapters import BOOK
from tests.book.measured import rows_of

SEEDS = range(100, 105)
seeds = pytest.mark.parametrize("seed", SEEDS)
FLOAT32, FLOAT16, BFLOAT16 = torch.float32, torch.float16, torch.bfloat16
halves = pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16])


@pytest.fixture(scope="module")
def chapter(functions):
    """Return what the chapter defines."""
    return functions("precision")


@pytest.fixture(scope="module")
def trained() -> dict[tuple[str, str, int, int, float], list[float]]:
    """Return the shares of right answers by contest, dtype, scaling, shift and rate."""
    found = {}
    for row in rows_of("precision"):
        case = row["contest"], row["dtype"], int(row["scaled"]), int(row["shift"]), float(row["rate"])
        found.setdefault(case, []).append(float(row["right"]))
    return found


@pytest.fixture(scope="module")
def costs() -> dict[int, dict[str, np.ndarray]]:
    """Return the columns of the second table by the number of segments."""
    rows = rows_of("checkpoints")
    return {
        segments: {name: np.array([float(row[name]) for row in rows if row["segments"] == str(segments)]) for name in rows[0]}
        for segments in bench.SEGMENTS
    }


# Numbers


@halves
@seeds
def test_the_bits_are_those_of_the_number(chapter, dtype, seed):
    torch.manual_seed(seed)
    for number in torch.randn(20).mul(100).tolist():
        sign, exponent, fraction = chapter["stored"](number, dtype)
        assert len(sign + exponent + fraction) == 16 and len(exponent) == (5 if dtype is FLOAT16 else 8)
        lead = 1 + int(fraction, 2) / 2 ** len(fraction)
        value = (-1) ** int(sign) * lead * 2.0 ** (int(exponent, 2) - 2 ** (len(exponent) - 1) + 1)
        assert value == torch.tensor(number, dtype=dtype).item()


@pytest.mark.parametrize(("dtype", "stop"), [(FLOAT16, 2048), (BFLOAT16, 256)])
def test_a_sum_stops_where_the_steps_outgrow_its_terms(chapter, dtype, stop):
    for size in (1, 8):
        terms = torch.full((3000,), float(size))
        assert chapter["running"](terms, dtype) == size * stop and chapter["running"](terms, FLOAT32) == 3000 * size
        assert terms[:2048].to(dtype).sum() == terms[:2048].to(dtype) @ torch.ones(2048, dtype=dtype) == 2048 * size


@seeds
@halves
def test_errors_walk_at_random_until_the_terms_are_too_small(chapter, dtype, seed):
    errors, stuck = chapter["errors"], 8192 if dtype is FLOAT16 else 1024
    for n in (4, 16, 64, stuck // 4):
        assert errors(seed, n, dtype, dtype).median() < n**0.5
    assert 3 * stuck**0.5 < errors(seed, stuck, dtype, dtype).min() and errors(seed, stuck, dtype, dtype).max() < stuck - 1


@seeds
@halves
def test_a_sum_in_32_bits_is_rounded_once(chapter, dtype, seed):
    for n in (3, 100, 3000):
        assert chapter["errors"](seed, n, dtype, FLOAT32).max() < 1.01


# Attention


@halves
def test_running_sums_hurt_many_keys_and_a_single_rounding_does_not(chapter, dtype):
    harm, much = chapter["harm"], {FLOAT16: 0.1, BFLOAT16: 1}[dtype]
    for seed in SEEDS[:2]:
        found = {stage: harm(seed, 1, stage, dtype) for stage in ("inputs", "scores", "powers", "total", "weights", "summed", "output")}
        assert found.pop("total") > much and found.pop("summed") > much / 20
        assert max(found.values()) < 0.005


def test_large_scores_hurt_most_in_bfloat16(chapter):
    stages = "inputs", "powers", "total", "weights", "summed", "output"
    middle = {stage: median(chapter["harm"](seed, 8, stage, BFLOAT16) for seed in SEEDS) for stage in (*stages, "scores")}
    assert middle["scores"] > max(middle[stage] for stage in stages)


@pytest.mark.parametrize(("dtype", "off"), [(FLOAT16, 0.008), (BFLOAT16, 0.064)])
def test_half_a_step_near_20_moves_a_weight(dtype, off):
    step = torch.nextafter(torch.tensor(20.0, dtype=dtype), torch.tensor(40.0, dtype=dtype)).item() - 20
    assert np.expm1(step / 2) == pytest.approx(off, rel=0.05)


@seeds
@halves
def test_only_scores_that_never_had_16_bits_help(chapter, dtype, seed):
    found = chapter["ways"](seed, dtype)
    assert found["all in 16 bits"] == found["softmax in 32"]
    assert max(found["scores in 32, too"], found["fused"]) < found["all in 16 bits"] / 3


# Training


def test_a_small_gradient_needs_a_factor_in_float16_alone():
    small = torch.tensor(2.0**-27)
    assert small.to(FLOAT16) == 0 and small.to(BFLOAT16) == small
    assert (small * 2**10).to(FLOAT16).float() / 2**10 == small


@halves
def test_on_a_processor_autocast_leaves_softmax_in_16_bits_and_the_loss_in_32(dtype):
    x = torch.randn(3, 3)
    with torch.autocast("cpu", dtype):
        scores = x @ x
        assert scores.dtype is scores.softmax(-1).dtype is dtype
        assert F.cross_entropy(scores, torch.zeros(3).long()).dtype is FLOAT32


@pytest.mark.parametrize(
    ("dtype", "shift", "scaled"), [(FLOAT32, 0, False), (BFLOAT16, -8, False), (FLOAT16, -16, True), (FLOAT16, -12, False)]
)
def test_page_and_program_train_the_same_model(chapter, dtype, shift, scaled):
    assert chapter["train"](SEEDS[0], dtype, shift, scaled, steps=40) == bench.train(SEEDS[0], dtype, shift, scaled, steps=40)


def test_the_tables_are_complete_and_say_where_they_were_measured(trained, costs):
    assert set(trained) == {case[:-1] for case in bench.cases()} and {len(each) for each in trained.values()} == {len(bench.SEEDS)}
    assert {len(each["round"]) for each in costs.values()} == {len(bench.ROUNDS)}
    for name in ("precision", "checkpoints"):
        first = (BOOK / "measured" / f"{name}.csv").read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith("# Measured on 20") and "torch" in first


def test_float16_alone_has_a_window_and_the_others_have_none(trained):
    def right(dtype, scaled, shift):
        return trained["products", dtype, scaled, shift, 0.003]

    for shift in bench.SHIFTS:
        assert right("float32", 0, shift) == right("float32", 0, 0) and right("bfloat16", 0, shift) == right("bfloat16", 0, 0)
        assert min(right("float16", 1, shift) + right("bfloat16", 0, shift)) > 0.85
        if -4 <= shift <= 16:
            assert median(right("float16", 0, shift)) > 0.93
        elif shift < -8 or shift > 16:
            assert max(right("float16", 0, shift)) < 0.3


def test_small_steps_are_lost_on_weights_in_bfloat16(trained):
    right = {(dtype, rate): trained["weights", dtype, 0, 0, rate] for dtype in bench.DTYPES for rate in bench.RATES}
    assert max(right["bfloat16", 0.0003]) < 0.8 < 0.9 < min(right["float16", 0.0003] + right["float32", 0.0003])
    assert min(min(right[dtype, rate]) for dtype in bench.DTYPES for rate in (0.003, 0.001)) > 0.85


@pytest.mark.nightly
@pytest.mark.parametrize(
    "case",
    [("products", "float16", False, -16, 0.003), ("products", "float16", True, 24, 0.003), ("weights", "bfloat16", False, 0, 0.0003)],
)
def test_models_come_out_again(trained, case):
    found = bench.trained(*case, 0).right
    assert found == pytest.approx(trained[case][0], abs=0.05)


@pytest.mark.nightly
@seeds
def test_other_seeds_train_alike(seed):
    assert bench.train(seed, FLOAT16, -16) < 0.3
    assert min(bench.train(seed, FLOAT16, -16, True), bench.train(seed, BFLOAT16, -16), bench.train(seed, FLOAT32)) > 0.8
    in_32, in_16 = (bench.train(seed, FLOAT32, kept=kept, rate=0.0003, steps=3000) for kept in (FLOAT32, BFLOAT16))
    assert in_32 - in_16 > 0.1


# Computing again


@pytest.mark.parametrize("depth", [9, 36])
def test_what_is_held_follows_the_formula(chapter, depth):
    measured, size = chapter["measured"], 4 * 50 * 24
    for name in ("plain", "Layer"):
        kind, ways = chapter[name], (1, 3, depth)
        each = measured(kind, depth, 0, 50, 24)[0] / depth
        for segments in ways:
            held, calls = measured(kind, depth, segments, 50, 24)
            assert held == pytest.approx(segments * size + depth / segments * each, abs=2 * size + 0.05 * each)
            assert calls == 2 * depth


def test_the_root_is_right_for_small_layers_and_too_few_for_attention(chapter):
    measured, plain, layer = chapter["measured"], chapter["plain"], chapter["Layer"]
    held = {segments: measured(plain, 36, segments)[0] for segments in (2, 6, 18, 36)}
    assert min(held, key=held.get) == 6
    ratio = measured(layer, 36)[0] / 36 / (4 * 64 * 32)
    assert 10 < ratio < 20
    best = chapter["best_number"](36, ratio)
    assert 6 < best < 36 and measured(layer, 36, best)[0] < min(measured(layer, 36, segments)[0] for segments in (3, 6, 12))
    assert chapter["best_number"](8, ratio) == 8 and measured(layer, 8, 8)[0] < min(
        measured(layer, 8, segments)[0] for segments in (1, 2, 4)
    )


@pytest.mark.parametrize("segments", bench.SEGMENTS)
def test_costs_come_out_again_but_for_the_time(costs, monkeypatch, segments):
    monkeypatch.setattr(bench, "STEPS", 1)
    found = bench.cost(segments, 9)
    assert {found.held} == set(costs[segments]["held"]) and {found.calls} == set(costs[segments]["calls"])


def test_computing_again_takes_about_a_third_more_time(costs):
    for segments in (4, 16):
        assert 1.1 < np.median(costs[segments]["seconds"] / costs[0]["seconds"]) < 1.6
    assert 7 < costs[0]["held"][0] / costs[16]["held"][0] < 8


@seeds
def test_another_dropout_is_another_gradient(chapter, seed):
    loss, exact = chapter["gradient"](seed)

    def off(keep):
        other, found = chapter["gradient"](seed, 4, keep)
        assert other == loss
        return ((found - exact).norm() / exact.norm()).item()

    def forgetful(*given):
        return checkpoint(*given, use_reentrant=False, preserve_rng_state=False)

    assert off(chapter["Again"].apply) > 0.15 and off(forgetful) > 0.15
    assert off(chapter["AgainAlike"].apply) == off(lambda *given: checkpoint(*given, use_reentrant=False)) == 0


@seeds
@pytest.mark.parametrize("segments", [1, 2, 4])
def test_without_chance_the_gradients_are_the_same(seed, segments):
    found = []
    for count in (0, segments):
        torch.manual_seed(seed)
        layers, x = torch.nn.ModuleList(bench.Layer(6) for _ in range(4)), torch.randn(2, 5, 6, requires_grad=True)
        bench.step(layers, x, count)
        found.append(torch.cat([each.grad.flatten() for each in (x, *layers.parameters())]))
    assert torch.equal(*found)
