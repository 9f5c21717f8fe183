"""What the chapter on the encoder layer claims holds for seeds that it did not use, and its tables are what their program makes."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from bench.depth import (
    ARMS,
    CONTEST_ARMS,
    CONTEST_DEPTHS,
    CONTEST_RATES,
    CONTEST_RISES,
    DEPTHS,
    STEPS,
    WORDS,
    Encoders,
    by_depth,
    contested,
)
from bench.depth import SEEDS as MEASURED_SEEDS
from tests.book.chapters import BOOK
from tests.book.measured import rows_of

SEEDS = range(100, 105)
seeds = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture(scope="module")
def layer(functions):
    """Return what the chapter defines."""
    return functions("encoder_layer")


@pytest.fixture(scope="module")
def gradients() -> dict[tuple[str, int, int], dict[str, np.ndarray]]:
    """Return the columns of the first table, an entry for each seed, by arm, depth and steps."""
    found = {}
    for row in rows_of("depth"):
        found.setdefault((row["arm"], int(row["depth"]), int(row["steps"])), []).append(row)
    return {key: {name: np.array([float(row[name]) for row in rows]) for name in rows[0] if name != "arm"} for key, rows in found.items()}


@pytest.fixture(scope="module")
def contest() -> dict[tuple[str, int, float, int], np.ndarray]:
    """Return the shares of right words, one for each seed, by arm, depth, rate and rise."""
    found = {}
    for row in rows_of("warmup"):
        found.setdefault((row["arm"], int(row["depth"]), float(row["rate"]), int(row["rise"])), []).append(float(row["right"]))
    return {key: np.array(shares) for key, shares in found.items()}


# What is worked by hand


@seeds
def test_the_norm_of_the_page_is_that_of_torch(layer, seed):
    rows = 10 * np.random.default_rng(seed).normal(size=(3, 5)) + 7
    expected = F.layer_norm(torch.tensor(rows), (5,)).numpy()
    assert layer["normalise"](rows) == pytest.approx(expected, abs=1e-9)
    assert layer["normalise"](10 * rows) == pytest.approx(expected, abs=1e-4)


@seeds
def test_two_numbers_keep_nothing_but_which_is_larger(layer, seed):
    rows = np.random.default_rng(seed).normal(size=(20, 2))
    assert np.abs(layer["normalise"](rows, eps=0)) == pytest.approx(1)


# What comes down through random layers


def median(layer, seeds, depth, around, number) -> float:
    return float(np.median([number(layer["climb"](seed, depth, around)) for seed in seeds]))


@pytest.mark.parametrize(
    ("around", "least", "most"),
    [("neither", 0, 1e-4), ("norm alone", 0.03, 3), ("residual alone", 1e6, 1e11), ("post-norm", 0.1, 10), ("pre-norm", 2, 20)],
)
def test_what_comes_down_through_32_layers(layer, around, least, most):
    assert least < median(layer, SEEDS, 32, around, lambda climbed: layer["reached"](climbed)) < most


def test_which_word_is_which_is_lost_without_residuals_and_later_with_post_norm(layer):
    def alike(depth, around):
        return median(layer, SEEDS, depth, around, lambda climbed: layer["alike"](climbed[1]))

    assert min(alike(2, around) for around in ("neither", "norm alone")) > 0.97
    assert max(alike(2, around) for around in ("post-norm", "pre-norm")) < 0.6
    assert alike(8, "post-norm") > 0.9 > 0.8 > alike(8, "pre-norm")
    assert alike(32, "post-norm") > 0.99 > 0.95 > alike(32, "pre-norm")


def test_the_feed_forward_network_returns_less_than_it_gets(layer):
    torch.manual_seed(SEEDS[0])
    _, think = layer["sublayers"]()
    rows = torch.randn(500, 32).double()
    assert 0.5 < (think(rows).norm() / rows.norm()).item() < 0.9


# The tables


def test_the_tables_are_complete_and_say_where_they_were_measured(gradients, contest):
    assert set(gradients) == {(arm, depth, steps) for arm in ARMS for depth in DEPTHS for steps in (0, STEPS)}
    assert set(contest) == {
        (arm, depth, rate, rise) for arm in CONTEST_ARMS for depth in CONTEST_DEPTHS for rate in CONTEST_RATES for rise in CONTEST_RISES
    }
    assert {len(each["seed"]) for each in gradients.values()} == {len(each) for each in contest.values()} == {len(MEASURED_SEEDS)}
    for name in ("depth", "warmup"):
        first = (BOOK / "measured" / f"{name}.csv").read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith("# Measured on 20") and "torch" in first and "5 seeds" in first


def test_the_start_comes_out_again(gradients):
    """Two models of each kind, as the program makes them."""
    for arm, depth in (("post", 4), ("pre", 2), ("neither", 4)):
        found = by_depth(arm, depth, seeds=(0, 3), after=(0,))
        for row in found:
            kept = gradients[arm, depth, 0]
            for name in ("first", "last", "alike", "heard", "loss"):
                assert getattr(row, name) == pytest.approx(kept[name][row.seed], rel=0.01)


def test_post_norm_vanishes_after_some_training_and_pre_norm_does_not(gradients):
    first, right = ({key: np.median(each[name]) for key, each in gradients.items()} for name in ("first", "right"))
    assert all(0.1 < first[arm, depth, 0] < 3 for arm in ("post", "pre") for depth in DEPTHS)
    assert all(0.1 < first["pre", depth, STEPS] < 1 for depth in DEPTHS)
    assert gradients["post", 64, STEPS]["first"].max() < 1e-4 and first["post", 32, STEPS] < 0.01
    assert first["norm", 32, 0] > 0.1 and first["norm", 64, STEPS] < 1e-8  # the norm alone does it at the start, and not for long
    assert first["neither", 64, 0] < 1e-8 and first["residual", 64, 0] > 1e15
    lost = {depth: np.isnan(gradients["residual", depth, STEPS]["first"]).mean() for depth in DEPTHS}
    assert lost[16] == 0 and lost[32] > 0.5 and lost[64] == 1
    post, pre = (gradients[arm, 64, STEPS]["heard"] for arm in ("post", "pre"))
    assert gradients["post", 64, 0]["heard"].min() > 1e-3 > 1e-4 > post.max() and pre.min() > 0.1
    assert gradients["post", 64, 0]["alike"].min() > 0.999
    assert right["pre", 64, STEPS] > 0.2 and right["post", 64, STEPS] < 0.08
    assert right["pre", 4, STEPS] > right["post", 4, STEPS] > 0.15


def test_a_warm_up_moves_the_limit_of_post_norm_a_little_and_pre_norm_needs_none(contest):
    right = {key: np.median(shares) for key, shares in contest.items()}
    slow, middle, fast = CONTEST_RATES
    warm = CONTEST_RISES[1]
    assert right["post", 4, fast, 0] < 0.2 and right["post", 4, fast, warm] > 0.98
    assert min(right["post", 4, rate, 0] for rate in (slow, middle)) > 0.98
    assert right["post", 8, middle, 0] < 0.15 < 0.2 < right["post", 8, middle, warm] < 0.5
    assert max(right["post", 16, rate, rise] for rate in CONTEST_RATES for rise in CONTEST_RISES) < 0.2
    assert min(shares.min() for (arm, *_), shares in contest.items() if arm == "pre") > 0.85


@pytest.mark.nightly
def test_four_layers_of_post_norm_at_a_high_rate_need_a_warm_up_from_other_starts_too():
    at_once, warm = ([row.right for row in contested("post", 4, 0.01, rise, SEEDS)] for rise in CONTEST_RISES)
    assert np.median(at_once) < 0.3 and np.median(warm) > 0.95


@pytest.mark.nightly
@pytest.mark.parametrize(("arm", "least", "most"), [("post", 0, 1e-4), ("pre", 0.1, 1)])
def test_other_starts_end_as_the_table_says(arm, least, most):
    assert all(least < row.first < most for row in by_depth(arm, 64, seeds=SEEDS[:3], after=(STEPS,)))


@pytest.mark.nightly
def test_what_training_makes_comes_out_again(gradients):
    for row in by_depth("pre", 8, after=(STEPS,)):
        kept = gradients["pre", 8, STEPS]
        assert row.first == pytest.approx(kept["first"][row.seed], rel=0.2)
        assert row.right == pytest.approx(kept["right"][row.seed], abs=0.05)


def test_models_side_by_side_are_models_alone():
    tokens = torch.randint(WORDS, (2, 3, 8), generator=torch.Generator().manual_seed(1))
    both = Encoders("pre", 3, (4, 9)).losses(tokens)[0]
    alone = [Encoders("pre", 3, (seed,)).losses(text[None])[0].item() for seed, text in zip((4, 9), tokens)]
    assert both.tolist() == pytest.approx(alone, rel=1e-5)


@pytest.mark.parametrize("norm_first", [False, True])
def test_the_program_stacks_the_layers_of_torch(norm_first):
    """One layer of the program and torch's own, with the same numbers in them."""
    models = Encoders("pre" if norm_first else "post", 1, (0,))
    w_in, w_output, w1, _, w2, *_ = (each.detach()[0] for each in models.layers[0])
    theirs = nn.TransformerEncoderLayer(32, 4, 64, dropout=0, batch_first=True, norm_first=norm_first).eval()
    with torch.no_grad():
        # Both cut the columns into queries, keys and values first, then into heads.
        for ours, place in ((w_in, theirs.self_attn.in_proj_weight), (w_output, theirs.self_attn.out_proj.weight)):
            place.copy_(ours.T)
        for ours, place in ((w1, theirs.linear1), (w2, theirs.linear2)):
            place.weight.copy_(ours.T)
            place.bias.zero_()
        theirs.self_attn.in_proj_bias.zero_()
        theirs.self_attn.out_proj.bias.zero_()
        tokens = torch.randint(WORDS, (1, 3, 8), generator=torch.Generator().manual_seed(1))
        rows = models.embedding[0][tokens[0]] + models.position[0]
        assert torch.allclose(models.read(tokens)[1][0], theirs(rows), atol=1e-5)


# Dropout and masks


def test_dropout_is_for_training_only(layer):
    torch.manual_seed(SEEDS[0])
    theirs, words = nn.TransformerEncoderLayer(32, 4, 64, dropout=1.0, batch_first=True, norm_first=True), torch.randn(1, 4, 32)
    assert torch.equal(theirs.train()(words), words)
    assert not torch.allclose(theirs.eval()(words), words)
    dropout = nn.Dropout(0.25)
    assert dropout(torch.ones(100_000)).mean().item() == pytest.approx(1, abs=0.02)
    assert torch.equal(dropout.eval()(torch.ones(8)), torch.ones(8))


def test_the_listing_fails_with_a_mask_and_without(layer):
    broken = layer["Layer"](layer["Attention"](), nn.LayerNorm(8))
    for more in ((), (None,), (torch.ones(1, 2, 2, dtype=torch.bool),)):
        with pytest.raises(TypeError, match="positional arguments"):
            broken(torch.randn(1, 2, 8), *more)


@seeds
def test_filler_is_heard_unless_the_mask_arrives_and_the_norm_is_for_each_word(layer, seed):
    torch.manual_seed(seed)
    right = nn.LayerNorm(8)
    assert layer["heard"](layer["Layer"](layer["Silenced"](), right), seed) > 0.01
    assert layer["heard"](layer["Layer"](layer["Masked"](), right), seed) < 1e-5
    assert layer["heard"](layer["Layer"](layer["Masked"](), layer["over_words"]), seed) > 0.1
