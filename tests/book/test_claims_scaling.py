"""What the chapter on scaling claims of its experiments holds for seeds that it did not use."""

import math

import numpy as np
import pytest
import torch

from bench.scaling import RATES, Case, Models, measure
from tests.book.chapters import BOOK
from tests.book.measured import rows_of

SEEDS = range(100, 105)
seeds = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture(scope="module")
def scaling(functions):
    """Return what the chapter on scaling defines."""
    return functions("scaling")


@pytest.fixture(scope="module")
def measured():
    """Return the rows of the map that the chapter draws, by arm and place."""
    return {(*(row[name] for name in ("task", "optimiser", "start", "keys", "d_k", "arm")),): row for row in rows_of("scaling")}


@seeds
@pytest.mark.parametrize("d_k", [4, 64, 256])
def test_the_variance_of_a_dot_product_is_its_width(scaling, seed, d_k):
    assert scaling["variance"](seed, d_k) == pytest.approx(d_k, rel=0.15)


@pytest.mark.parametrize("d_k", [1, 2, 5, 8])
def test_the_variance_of_coins_is_their_number(scaling, d_k):
    assert scaling["coin_variance"](d_k) == d_k


@seeds
def test_the_jacobian_is_the_slope_of_softmax(scaling, seed):
    softmax, scores = scaling["softmax"], np.random.default_rng(seed).normal(size=5)
    nudges = 1e-6 * np.eye(5)
    slopes = [(softmax(scores + nudge) - softmax(scores - nudge)) / 2e-6 for nudge in nudges]
    assert scaling["jacobian"](softmax(scores)) == pytest.approx(np.transpose(slopes), abs=1e-8)


@seeds
def test_softmax_halves_every_gradient_at_least(scaling, seed):
    rng = np.random.default_rng(seed)
    for size in (0.1, 1, 10):
        weights = scaling["softmax"](rng.normal(0, size, (100, 7)))
        assert max(np.linalg.norm(scaling["jacobian"](row), ord=2) for row in weights) <= 0.5 + 1e-12
    assert np.linalg.norm(scaling["jacobian"](np.array([0.5, 0.5, 0])), ord=2) == pytest.approx(0.5)


@pytest.mark.parametrize("divisor", [1, 3])
def test_what_reaches_the_query_is_its_gradient(scaling, divisor):
    """Torch finds the same for the same random numbers."""
    rng = np.random.default_rng(7)
    query, key = (torch.tensor(math.sqrt(0.5) * rng.normal(size=(6, many, 9))) for many in (1, 5))
    query.requires_grad_()
    weights = (query @ key.mT / divisor).softmax(-1)
    weights.backward(torch.tensor(rng.normal(size=(6, 5)))[:, None])
    found, reached = scaling["attention"](7, 5, 9, divisor, variance=0.5, queries=6)
    assert found == pytest.approx(weights.detach().numpy()[:, 0])
    assert reached == pytest.approx(query.grad.norm(dim=-1).numpy()[:, 0])


@seeds
@pytest.mark.parametrize("keys", [4, 64])
def test_undivided_softmax_saturates_with_width_and_divided_does_not(scaling, seed, keys):
    attention, entropy = scaling["attention"], scaling["entropy"]
    undivided, divided = (attention(seed, keys, 64, divisor)[0] for divisor in (1, 8))
    assert undivided.max(axis=1).mean() > 0.75 and entropy(undivided) < 0.2 * math.log2(keys)
    assert divided.max(axis=1).mean() < 0.6 and entropy(divided) > 0.75 * math.log2(keys)
    assert attention(seed, keys, 256, 1)[0].max(axis=1).mean() > 0.85
    narrow = attention(seed, keys, 4, 2)[0].max(axis=1).mean()
    assert divided.max(axis=1).mean() == pytest.approx(narrow, abs=0.08)


@pytest.mark.parametrize(
    ("keys", "variance", "least", "most"), [(4, 1, 0, 0.6), (64, 1, 3, 9), (256, 1, 6, 20), (4, 1 / 3, 2, 6), (64, 1 / 3, 8, 30)]
)
def test_the_gradient_at_the_query_depends_on_keys_and_start(scaling, keys, variance, least, most):
    undivided, divided = (
        np.median([np.median(scaling["attention"](seed, keys, 64, divisor, variance)[1]) for seed in SEEDS]) for divisor in (1, 8)
    )
    assert least < undivided / divided < most


@seeds
@pytest.mark.parametrize("keys", [16, 64, 256])
def test_undivided_softmax_is_closed_for_a_given_key(scaling, seed, keys):
    undivided, divided = (scaling["attention"](seed, keys, 64, divisor)[0][:, 0] for divisor in (1, 8))
    assert np.median(undivided * (1 - undivided)) < 1e-4
    assert np.median(divided * (1 - divided)) > 0.4 / keys


@pytest.mark.parametrize(("keys", "divisor", "least", "most"), [(4, 1, 0.85, 0.99), (64, 1, 0.1, 0.4), (64, 8, 0.8, 1), (64, 64, 0.85, 1)])
def test_with_many_keys_the_undivided_model_hardly_learns(scaling, keys, divisor, least, most):
    assert least < np.median([scaling["train"](seed, keys, 64, divisor) for seed in SEEDS[:3]]) <= most


@pytest.mark.nightly
def test_patience_does_not_help(scaling):
    assert scaling["train"](100, 64, 64, 1, rate=0.001, steps=1500) < 0.5


@pytest.mark.nightly
@pytest.mark.parametrize(("start", "least", "most"), [("unit", 0.1, 0.35), ("linear", 0.4, 0.85)])
def test_no_learning_rate_makes_up_for_the_missing_division(start, least, most):
    """Nor do smaller starting values, for 64 keys of width 64."""
    undivided, divided = measure(Case("heart", "adam", start, 64, 64), seeds=SEEDS)
    assert least < undivided.right < most
    assert divided.right > 0.88


@pytest.mark.nightly
def test_a_rule_is_learnt_without_the_division():
    undivided, divided = measure(Case("rule", "adam", "unit", 64, 64), seeds=SEEDS[:3])
    assert undivided.right > 0.97 and divided.right > 0.97
    assert undivided.slope < 1e-5


def test_linear_starts_with_a_third_of_the_variance():
    models = Models(Case("heart", "adam", "linear", 4, 256), range(1))
    w_query = models.parameters[0][0][0, 0]
    ours, torch_own = (w.var().item() for w in (w_query, torch.nn.Linear(64, 256).weight))
    assert ours == pytest.approx(torch_own, rel=0.05)
    assert ours * 64 == pytest.approx(1 / 3, rel=0.05)


def test_the_page_and_the_map_are_of_one_model(scaling, measured):
    """Two programs, one of them for a single model and one for all side by side, come to the same share."""
    for keys, arm, divisor in ((8, "undivided", 1), (8, "divided", 8), (64, "undivided", 1)):
        row = measured["heart", "adam", "unit", str(keys), "64", arm]
        alone = np.median([scaling["train"](seed, keys, 64, divisor, rate=float(row["rate"])) for seed in SEEDS[:3]])
        assert alone == pytest.approx(float(row["right"]), abs=0.08)


def test_the_map_comes_out_again(measured):
    """A square of the committed table is what its program measures."""
    case = Case("heart", "descent", "unit", 16, 16)
    for found in measure(case):
        row = measured[(*map(str, (case.task, case.optimiser, case.start, case.keys, case.d_k)), found.arm)]
        assert found.right == pytest.approx(float(row["right"]), abs=0.05)
        assert math.log10(found.slope) == pytest.approx(math.log10(float(row["slope"])), abs=0.1)


def test_the_map_is_complete_and_says_where_it_was_measured(measured):
    assert {key[:2] for key in measured} == {("heart", "adam"), ("heart", "descent"), ("rule", "adam")}
    assert len(measured) == 3 * 2 * 5 * 4 * 2
    assert len(RATES["adam"]) == 5  # as the chapter says
    first = (BOOK / "measured" / "scaling.csv").read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# Measured on 20") and "torch" in first and "5 seeds" in first


def test_the_slope_at_the_right_key_foretells_who_learns_and_the_gradient_at_the_query_does_not(scaling, measured):
    """Over the forty undivided squares of the map, and for plain descent as well."""
    for optimiser in ("adam", "descent"):
        rows = [row for key, row in measured.items() if key[:2] == ("heart", optimiser) and row["arm"] == "undivided"]
        right, slope = ([float(row[name]) for row in rows] for name in ("right", "slope"))
        felt = [_felt(scaling, row) for row in rows]
        assert scaling["ranks_agree"](slope, right) > 0.75
        assert abs(scaling["ranks_agree"](felt, right)) < 0.35


def _felt(scaling, row) -> float:
    """Return the gradient that reaches the query of an undivided model at its start."""
    variance = scaling["STARTS"][row["start"]]
    return np.median(scaling["attention"](100, int(row["keys"]), int(row["d_k"]), 1, variance, queries=100)[1])
