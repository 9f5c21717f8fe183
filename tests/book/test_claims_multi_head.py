"""What the chapter on multi-head attention claims holds for seeds that it did not use."""

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

SEEDS = range(100, 105)
seeds = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture(scope="module")
def many(functions):
    """Return what the chapter defines."""
    return functions("multi_head")


def error_of(many, seed, first):
    """Return the error on unseen sentences after training, and how far the heads came apart."""
    rng = np.random.default_rng(seed)
    parameters, _, apart = many["train"](rng, first(rng))
    return many["unseen_error"](parameters, seed), apart


@seeds
def test_one_head_fails_where_two_succeed(many, seed):
    one, _ = error_of(many, seed, lambda rng: many["start"](rng, 1))
    two, _ = error_of(many, seed, lambda rng: many["start"](rng, 2))
    assert 0.3 < one < 0.5 and two < 0.01
    assert one > 100 * two


@seeds
def test_one_head_finds_five_of_eight_directions(many, seed):
    rng = np.random.default_rng(seed)
    parameters, *_ = many["train"](rng, many["start"](rng, 1))
    missed = many["directions_missed"](parameters)
    assert missed[2] > 0.7 and missed[3] < 0.3


@seeds
def test_equal_heads_stay_equal_and_work_as_one(many, seed):
    error, apart = error_of(many, seed, many["copies"])
    assert apart.max() == 0 and 0.4 < error < 0.6


@seeds
def test_a_small_difference_parts_the_heads(many, seed):
    error, apart = error_of(many, seed, lambda rng: many["copies"](rng, nudge=1e-6))
    assert apart[0] < 1e-5 and apart[-1] > 0.5 and error < 0.05


@seeds
def test_output_rows_of_their_own_part_the_heads(many, seed):
    error, _ = error_of(many, seed, lambda rng: many["copies"](rng, own_output=True))
    assert error < 0.05


@pytest.mark.parametrize("num_heads", [1, 2])
def test_gradients_are_the_slopes_of_the_loss(many, num_heads):
    rng = np.random.default_rng(0)
    parameters, batch = many["start"](rng, num_heads), many["sentences"](rng, 5)
    _, slopes = many["gradients"](parameters, *batch)
    for matrix, slope in zip(parameters, slopes):
        for place in [tuple(rng.integers(size) for size in matrix.shape) for _ in range(5)]:
            kept = matrix[place]
            errors = []
            for matrix[place] in (kept + 1e-6, kept - 1e-6):
                errors.append(many["gradients"](parameters, *batch)[0])
            matrix[place] = kept
            assert (errors[0] - errors[1]) / 2e-6 == pytest.approx(slope[place], abs=1e-8)


@seeds
def test_answers_belong_to_the_tags(many, seed):
    tagged, answer = many["sentences"](np.random.default_rng(seed), 7)
    for words, expected in zip(tagged, answer):
        who, what = (words[words[:, role] == 1, 4:][0] for role in (0, 1))
        assert np.array_equal(expected, np.concatenate([who, what]))


@seeds
def test_one_head_with_identity_is_a_single_head(many, seed):
    rng = np.random.default_rng(seed)
    asks, answers, matrices = rng.normal(size=(3, 11)), rng.normal(size=(5, 11)), rng.normal(size=(3, 11, 11))
    for other in (asks, answers):
        single = many["attend"](asks @ matrices[0], other @ matrices[1], other @ matrices[2])
        assert many["multi_head"](asks, other, *matrices, np.eye(11), 1) == pytest.approx(single, abs=1e-14)


@seeds
def test_agrees_with_torch(many, seed):
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    x, matrices = rng.normal(size=(5, 12)), rng.normal(size=(4, 12, 12))
    module = torch.nn.MultiheadAttention(12, 3, bias=False, dtype=torch.float64)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.tensor(np.concatenate([w.T for w in matrices[:3]])))
        module.out_proj.weight.copy_(torch.tensor(matrices[3].T))
        expected = module(*[torch.tensor(x)] * 3)[0].numpy()
    assert many["multi_head"](x, x, *matrices, 3) == pytest.approx(expected, abs=1e-10)


@seeds
def test_a_bare_reshape_keeps_words_apart(many, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(4, 512))
    changed = rows.copy()
    changed[2] += rng.normal(size=512)
    moved = {way: np.abs(many[way](changed) - many[way](rows))[3].max() for way in ("blind", "seeing")}
    assert moved["blind"] == 0 and moved["seeing"] > 0.01


@pytest.mark.parametrize(("num_heads", "d_head"), [(1, 48), (8, 6), (3, 10)])
def test_the_bill_is_what_a_machine_counts(many, num_heads, d_head):
    tokens, d_model, width = 7, 48, num_heads * d_head
    x, w_output = torch.ones(tokens, d_model), torch.ones(width, d_model)
    into = torch.ones(3, d_model, width)
    with FlopCounterMode(display=False) as counter:
        query, key, value = ((x @ w).reshape(tokens, num_heads, d_head).transpose(0, 1) for w in into)
        output = torch.softmax(query @ key.transpose(1, 2), dim=-1) @ value
        output.transpose(0, 1).reshape(tokens, width) @ w_output
    parameters, products, _ = many["bill"](tokens, num_heads, d_head, d_model)
    assert products == counter.get_total_flops() // 2
    assert parameters == into.numel() + w_output.numel()


@pytest.mark.parametrize("num_heads", [2, 8])
def test_heads_that_share_a_width_multiply_no_more_but_raise_e_to_more_powers(many, num_heads):
    one, several = many["bill"](1000, 1, 512), many["bill"](1000, num_heads, 512 // num_heads)
    assert several[:2] == one[:2]
    assert several[2] == num_heads * one[2]


@pytest.mark.parametrize("axis", [0, 1])
def test_only_side_by_side_fits_the_output_matrix(many, axis):
    tables = many["split"](np.ones((4, 12)), 3)
    joined = np.concatenate(list(tables), axis=axis)
    assert (joined.shape == (4, 12)) == (axis == 1)
