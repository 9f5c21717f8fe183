"""What the opening page claims of one attention holds for sentences that it does not show."""

import numpy as np
import pytest
import torch

SEEDS = range(100, 105)
seeds = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture(scope="module")
def whole(functions):
    """Return what the opening page defines."""
    return functions("attention")


@pytest.fixture
def parts(seed):
    """Return queries, keys and values of a sentence; every axis has a size of its own."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), rng.normal(size=(5, 2))


@seeds
def test_agrees_with_torch(whole, parts):
    expected = torch.nn.functional.scaled_dot_product_attention(*map(torch.tensor, parts))
    assert whole["attention"](*parts)[1] == pytest.approx(expected.numpy())


def test_the_row_by_hand_is_the_row_of_the_code(whole):
    weights, output = whole["attention"](whole["query"], whole["key"], whole["value"])
    assert whole["shares"] == pytest.approx(weights[3])
    assert whole["shares"] @ whole["value"] == pytest.approx(output[3])


def test_the_root_is_whole(whole):
    assert np.sqrt(whole["query"].shape[1]) == 2


@seeds
def test_shuffled_words_get_the_outputs_they_had(whole, parts, seed):
    order = np.random.default_rng(seed).permutation(5)
    shuffled = whole["attention"](*(part[order] for part in parts))[1]
    assert shuffled == pytest.approx(whole["attention"](*parts)[1][order])


@seeds
def test_one_point_more_makes_a_weight_e_times_as_large(whole, seed):
    scores = np.random.default_rng(seed).normal(size=(1, 4))
    scores[0, 1] = scores[0, 3] + 1
    weights = whole["softmax"](scores)[0]
    assert weights[1] / weights[3] == pytest.approx(np.e)


def test_a_change_to_one_word_changes_every_row(whole):
    x, matrices = whole["x"], (whole["w_query"], whole["w_key"], whole["w_value"])
    changed = x.copy()
    changed[2] += 1
    before, after = (whole["attention"](*(rows @ matrix for matrix in matrices))[1] for rows in (x, changed))
    assert (np.abs(after - before).max(axis=1) > 0.01).all()


def test_without_the_root_the_largest_weight_grows(whole):
    divided = whole["attention"](whole["query"], whole["key"], whole["value"])[0]
    undivided = whole["softmax"](whole["query"] @ whole["key"].T)
    assert (undivided.max(axis=1) > divided.max(axis=1)).all()
