"""What the chapter on positional encoding claims holds for seeds that it did not use."""

import numpy as np
import pytest
import torch

SEEDS = range(100, 105)
seeds = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture(scope="module")
def clocks(functions):
    """Return what the chapter on positional encoding defines."""
    return functions("07_positional_encoding")


@seeds
def test_attention_without_places_cannot_tell_order(clocks, seed):
    x = np.random.default_rng(seed).normal(size=(5, 3))
    assert clocks["largest_gap"](clocks["attend"], x) < 1e-12


@seeds
def test_attention_with_places_can(clocks, seed):
    x = np.random.default_rng(seed).normal(size=(5, 4))
    assert clocks["largest_gap"](clocks["with_places"], x) > 0.1


@pytest.mark.parametrize("d_model", [2, 6, 14])
def test_a_place_is_what_the_formula_says(clocks, d_model):
    vectors = clocks["place_vectors"](range(11), clocks["speeds"](d_model))
    assert vectors.shape == (11, d_model)
    for place in range(11):
        for i in range(d_model // 2):
            angle = place / 10000 ** (2 * i / d_model)
            assert vectors[place, 2 * i : 2 * i + 2] == pytest.approx([np.sin(angle), np.cos(angle)])


@pytest.mark.parametrize("offset", [-70, -3, 0, 1, 2, 55])
def test_an_offset_is_one_turn_from_every_place(clocks, offset):
    hands, places = clocks["speeds"](26), np.arange(300)
    turn = clocks["turn"](offset, hands)
    vectors = clocks["place_vectors"](places, hands)
    assert vectors @ turn == pytest.approx(clocks["place_vectors"](places + offset, hands), abs=1e-12)
    assert turn @ turn.T == pytest.approx(np.eye(26), abs=1e-12)


@pytest.mark.parametrize("d_model", [6, 8, 12])
def test_an_exponent_for_each_column_loses_the_turn(clocks, d_model):
    misfit, right = clocks["misfit"], clocks["place_vectors"](range(200), clocks["speeds"](d_model))
    assert misfit(right) < 1e-9
    assert misfit(clocks["slipped"](range(200), d_model)) > 0.3


@seeds
def test_a_head_set_by_hand_reads_every_place(clocks, seed):
    said = np.random.default_rng(seed).integers(8, size=400)
    assert np.array_equal(clocks["by_turning"](said)[3:], said[:-3])


@seeds
def test_a_learned_table_works_as_far_as_it_goes(clocks, seed):
    head = clocks["train"](seed, "table")
    assert clocks["share_right"](head, 16).mean() > 0.98
    with pytest.raises(IndexError):
        head(torch.zeros(1, 17, dtype=torch.long))


@seeds
def test_trained_on_sixteen_places_a_head_fails_at_the_next(clocks, seed):
    right = clocks["share_right"](clocks["train"](seed), 96)
    assert right[:13].mean() > 0.98
    assert right[13] < 0.5 and right[13:].mean() < 0.6


@seeds
def test_the_failure_moves_with_the_places_seen(clocks, seed):
    right = clocks["share_right"](clocks["train"](seed, starts=48, steps=700), 96)
    assert right[:60].mean() > 0.95
    assert right[60:].mean() < 0.7


@seeds
def test_a_causal_mask_tells_something_of_order(seed):
    x = torch.randn(1, 5, 3, generator=torch.Generator().manual_seed(seed))
    attend = torch.nn.functional.scaled_dot_product_attention
    for causal, told in ((False, False), (True, True)):
        ahead, back = (attend(y, y, y, is_causal=causal) for y in (x, x.flip(1)))
        assert (float((ahead - back.flip(1)).abs().max()) > 0.1) == told
