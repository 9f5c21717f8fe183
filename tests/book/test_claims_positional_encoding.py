"""What the chapter on positional encoding claims holds for seeds that it did not use."""

import numpy as np
import pytest
import torch

SEEDS = range(100, 105)
seeds = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture(scope="module")
def chapter(functions):
    """Return what the chapter on positional encoding defines."""
    return functions("positional_encoding")


@seeds
def test_attention_without_positions_cannot_tell_order(chapter, seed):
    x = np.random.default_rng(seed).normal(size=(5, 3))
    assert chapter["largest_gap"](chapter["attend"], x) < 1e-12


@seeds
def test_attention_with_positions_can(chapter, seed):
    x = np.random.default_rng(seed).normal(size=(5, 4))
    assert chapter["largest_gap"](chapter["with_positions"], x) > 0.1


@pytest.mark.parametrize("d_model", [2, 6, 14])
def test_a_position_is_what_the_formula_says(chapter, d_model):
    vectors = chapter["position_vectors"](range(11), chapter["frequencies_for"](d_model))
    assert vectors.shape == (11, d_model)
    for position in range(11):
        for i in range(d_model // 2):
            angle = position / 10000 ** (2 * i / d_model)
            assert vectors[position, 2 * i : 2 * i + 2] == pytest.approx([np.sin(angle), np.cos(angle)])


@pytest.mark.parametrize("offset", [-70, -3, 0, 1, 2, 55])
def test_an_offset_is_one_rotation_from_every_position(chapter, offset):
    frequencies, positions = chapter["frequencies_for"](26), np.arange(300)
    rotation = chapter["rotation"](offset, frequencies)
    vectors = chapter["position_vectors"](positions, frequencies)
    assert vectors @ rotation == pytest.approx(chapter["position_vectors"](positions + offset, frequencies), abs=1e-12)
    assert rotation @ rotation.T == pytest.approx(np.eye(26), abs=1e-12)


@pytest.mark.parametrize("d_model", [6, 8, 12])
def test_an_exponent_for_each_column_loses_the_rotation(chapter, d_model):
    misfit, right = chapter["misfit"], chapter["position_vectors"](range(200), chapter["frequencies_for"](d_model))
    assert misfit(right) < 1e-9
    assert misfit(chapter["slipped"](range(200), d_model)) > 0.3


@seeds
def test_a_head_set_by_hand_reads_every_position(chapter, seed):
    said = np.random.default_rng(seed).integers(8, size=400)
    assert np.array_equal(chapter["by_rotation"](said)[3:], said[:-3])


@seeds
def test_a_learned_table_works_as_far_as_it_goes(chapter, seed):
    head = chapter["train"](seed, "table")
    assert chapter["share_right"](head, 16).mean() > 0.98
    with pytest.raises(IndexError):
        head(torch.zeros(1, 17, dtype=torch.long))


@seeds
def test_trained_on_sixteen_positions_a_head_fails_at_the_next(chapter, seed):
    right = chapter["share_right"](chapter["train"](seed), 96)
    assert right[:13].mean() > 0.98
    assert right[13] < 0.5 and right[13:].mean() < 0.6


@seeds
def test_the_failure_moves_with_the_positions_seen(chapter, seed):
    right = chapter["share_right"](chapter["train"](seed, starts=48, steps=700), 96)
    assert right[:60].mean() > 0.95
    assert right[60:].mean() < 0.7


@seeds
def test_a_causal_mask_tells_something_of_order(seed):
    x = torch.randn(1, 5, 3, generator=torch.Generator().manual_seed(seed))
    attend = torch.nn.functional.scaled_dot_product_attention
    for causal, told in ((False, False), (True, True)):
        ahead, back = (attend(y, y, y, is_causal=causal) for y in (x, x.flip(1)))
        assert (float((ahead - back.flip(1)).abs().max()) > 0.1) == told
