"""What the chapters claim of their experiments holds for seeds that they did not use."""

import numpy as np
import pytest
import torch

SEEDS = range(100, 105)
seeds = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture(scope="module")
def looking_back(functions):
    """Return what the chapter on self-attention defines."""
    return functions("self_attention")


@pytest.fixture(scope="module")
def softmax_chapter(functions):
    """Return what the chapter on softmax defines."""
    return functions("softmax")


@seeds
def test_a_chain_forgets_and_a_match_does_not(looking_back, seed):
    left = looking_back["change_left"](seed, 17)[16]
    match = looking_back["weight_of_match"](seed, 17)
    assert left < 0.01 and match > 0.5
    assert match > 50 * left


@seeds
def test_a_change_explodes_with_large_recurrent_weights(looking_back, seed):
    assert looking_back["change_left"](seed, 33, gain=3.0, change=1e-6)[-1] > 10


@seeds
def test_a_fixed_state_overflows_and_attention_does_not(looking_back, seed):
    errors = looking_back["recall_errors"]
    few, many = errors(seed, 4), errors(seed, 16)
    assert few[0] < 0.1 and many[0] > 0.3
    assert few[1] == 0 and many[1] < 0.01


@seeds
def test_a_better_reader_gets_more_out_of_the_same_state_while_it_is_not_full(looking_back, seed):
    errors = looking_back["errors_of_readers"]
    once, again = errors(seed, 8)
    assert once > 0.15 and again < 0.08
    once, again = errors(seed, 16)
    assert once > 0.3 and again > 0.3


@seeds
def test_how_fast_a_chain_forgets_is_a_matter_of_its_matrices(looking_back, seed):
    change_left = looking_back["change_left"]
    usual, larger = (change_left(seed, 17, gain=gain, change=1e-6)[16] for gain in (1.0, 1.5))
    assert usual < 0.01 and larger > 10 * usual


@seeds
def test_a_model_that_peeks_trains_perfectly_and_speaks_nonsense(looking_back, seed):
    model = looking_back["train"](seed, causal=False)
    assert model[2][-1] < 0.1 * np.log(2)
    assert looking_back["legal_share"](model, causal=False) < 0.25


@seeds
def test_a_model_with_the_mask_reaches_the_honest_limit(looking_back, seed):
    model = looking_back["train"](seed, causal=True)
    assert model[2][-1] == pytest.approx(np.log(2), abs=0.03)
    assert looking_back["legal_share"](model, causal=True) > 0.9


def test_gradients_are_the_slopes_of_the_loss(looking_back):
    gradients, rng = looking_back["gradients"], np.random.default_rng(0)
    one_hot = np.eye(8)[looking_back["texts"](rng, 4, 5)]
    by_distance, w_out = rng.normal(size=9), rng.normal(size=(8, 8))
    for causal in (False, True):
        _, d_by_distance, d_w_out = gradients(by_distance, w_out, one_hot, causal)
        step = np.zeros(9)
        # Distance 0 is seen with and without the mask.
        step[4] = 1e-6
        ahead, behind = (gradients(by_distance + s, w_out, one_hot, causal)[0] for s in (step, -step))
        assert (ahead - behind) / 2e-6 == pytest.approx(d_by_distance[4], abs=1e-8)
        step = np.zeros((8, 8))
        step[2, 3] = 1e-6
        ahead, behind = (gradients(by_distance, w_out + s, one_hot, causal)[0] for s in (step, -step))
        assert (ahead - behind) / 2e-6 == pytest.approx(d_w_out[2, 3], abs=1e-8)


@seeds
def test_additive_scores_are_bounded_and_dot_products_are_not(looking_back, seed):
    rng = np.random.default_rng(seed)
    query, key = rng.normal(size=(3, 2)), rng.normal(size=(5, 2))
    learnt = rng.normal(size=(2, 8)), rng.normal(size=(2, 8)), rng.normal(size=8)
    additive, dot = looking_back["additive"], looking_back["dot"]
    assert np.abs(additive(1e6 * query, key, *learnt)).max() <= np.abs(learnt[2]).sum() + 1e-9
    assert dot(7 * query, key) == pytest.approx(7 * dot(query, key))


@seeds
def test_a_mask_works_before_softmax_only(softmax_chapter, seed):
    softmax, rng = softmax_chapter["softmax"], np.random.default_rng(seed)
    scores, mask = rng.normal(size=(5, 5)), np.tril(np.ones((5, 5), bool))
    louder = np.where(mask, scores, scores + 6)
    before, moved = (softmax(np.where(mask, s, -np.inf)) for s in (scores, louder))
    after, leaked = (np.where(mask, softmax(s), 1e-9) for s in (scores, louder))
    assert before.sum(axis=1) == pytest.approx(1) and np.array_equal(before, moved)
    assert np.all(after[:-1].sum(axis=1) < 1) and np.all(leaked[:-1, 0] < 0.5 * after[:-1, 0])


@seeds
def test_a_random_normal_is_never_false(seed):
    assert np.random.default_rng(seed).standard_normal(100_000, dtype=np.float32).astype(bool).all()


@seeds
def test_only_rows_keep_queries_apart(softmax_chapter, seed):
    shares, scores = softmax_chapter["shares"], np.random.default_rng(seed).normal(size=(4, 4))
    louder = scores.copy()
    louder[3, 2] += 6
    assert np.array_equal(shares(scores, 1)[0], shares(louder, 1)[0])
    assert shares(louder, None)[0].sum() < 0.5 * shares(scores, None)[0].sum()


@pytest.mark.parametrize(("dtype", "shift"), [(np.float16, 20), (np.float32, 100), (np.float64, 800)])
def test_the_naive_formula_overflows_where_the_shifted_one_does_not(softmax_chapter, dtype, shift):
    scores = (np.arange(4) + shift).astype(dtype)
    with np.errstate(all="ignore"):
        assert np.isnan(softmax_chapter["shares"](scores, 0)).any()
    assert softmax_chapter["softmax"](scores).sum() == pytest.approx(1, abs=1e-3)


def test_a_float16_sum_over_many_keys_overflows_and_torch_sums_wider(softmax_chapter):
    keys = int(np.finfo(np.float16).max) + 5_000
    with np.errstate(over="ignore"):
        assert softmax_chapter["softmax"](np.zeros(keys, np.float16)).sum() == 0
    weights = torch.softmax(torch.zeros(keys, dtype=torch.float16), dim=0)
    assert weights.float().sum().item() == pytest.approx(1, rel=0.01)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_minus_infinity_stays_what_it_is_in_wide_types(name):
    assert torch.tensor(-torch.inf).to(getattr(torch, name)).item() == -torch.inf


def test_a_float_of_eight_bits_may_have_no_infinity():
    assert torch.tensor(-torch.inf).to(torch.float8_e4m3fn).item() == -448


@seeds
def test_an_output_lies_between_the_values(softmax_chapter, seed):
    rng = np.random.default_rng(seed)
    scores, value = rng.normal(0, 5, size=(6, 4)), rng.normal(size=(4, 2))
    weights = softmax_chapter["softmax"](scores)
    output = weights @ value
    assert np.all(weights >= 0) and weights.sum(axis=1) == pytest.approx(1)
    assert np.all(output >= value.min(axis=0)) and np.all(output <= value.max(axis=0))
