"""What the chapter on low rank and kernels claims holds for seeds that it did not use."""

import numpy as np
import pytest

SEEDS = range(100, 105)
seeds = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture(scope="module")
def chapter(functions):
    """Return what the chapter defines."""
    return functions("approximations")


# Features


@seeds
def test_both_orders_are_one_attention(chapter, seed):
    query, key, value = chapter["drawn"](seed, 1, n=11, d=5)
    table = chapter["one_up"](query) @ chapter["one_up"](key).T
    expected = table @ value / table.sum(axis=1, keepdims=True)
    assert chapter["by_features"](query, key, value, chapter["one_up"]) == pytest.approx(expected)


@seeds
def test_the_features_of_the_formula_never_get_sharp(chapter, seed):
    found, attend, kernel = chapter["weight_found"], chapter["attend"], chapter["kernel"]
    assert found(seed, 4, attend) > 0.95
    assert max(found(seed, times, kernel) for times in (1, 8, 1e4)) < 0.07
    assert found(seed, 1e4, kernel) == pytest.approx(found(seed, 1e6, kernel), rel=1e-3)
    assert found(seed, 8, kernel, n=4) < 0.5


@pytest.mark.parametrize("recipe", ["positive", "waves"])
@pytest.mark.parametrize("match", [-2, 0, 2])
def test_random_features_are_right_on_average_and_as_far_off_as_the_formula_says(chapter, recipe, match):
    found = chapter["estimates"](match, chapter[recipe], seed=SEEDS[0], count=1)
    both, apart = np.exp(8 + 2 * match), 8 - 2 * match  # |q + k|² is 8 + 2 match, |q - k|² is 8 - 2 match
    if recipe == "waves":
        spread = np.exp(4) * (1 - np.exp(-apart)) / np.sqrt(2)
        assert found.std() == pytest.approx(spread, rel=0.1)
    else:
        spread = np.exp(match) * np.sqrt(both - 1)
        assert np.median(found) < 0.2 * np.exp(match)  # most draws are too small
        assert (found > 0).all()
    assert abs(found.mean() - np.exp(match)) < 5 * spread / np.sqrt(len(found))


def test_positive_features_are_better_where_little_is_wanted_and_worse_where_much_is(chapter):
    spread = {
        (name, match): chapter["estimates"](match, chapter[name], seed=SEEDS[0]).std()
        for name in ("positive", "waves")
        for match in (-2, 2)
    }
    assert spread["positive", -2] < 0.2 < 4 < spread["waves", -2]
    assert spread["positive", 2] > 2 * spread["waves", 2]
    assert spread["waves", 2] == pytest.approx(spread["waves", -2], rel=0.1)


@seeds
def test_the_weight_of_the_best_key_is_lost_on_average_where_attention_is_sharp(chapter, seed):
    query, key, _ = chapter["drawn"](seed, 1)
    true = chapter["attend"](query, key, np.eye(128))
    row, column = np.unravel_index(true.argmax(), true.shape)
    inputs = query[[row]], key, np.eye(128)[:, [column]]
    tries = [chapter["randomly"](*inputs, chapter["positive"], 64, each).item() for each in range(1000, 1100)]
    assert np.mean(tries) < 0.6 * true.max()


@pytest.mark.parametrize("spread", [0.25, 1])
def test_orthogonal_vectors_make_little_difference(chapter, spread):
    def orthogonal(rng):
        turned = [np.linalg.qr(rng.normal(size=(16, 16)))[0] for _ in range(4)]
        return np.concatenate([each * np.sqrt(rng.chisquare(16, size=(16, 1))) for each in turned])

    def error(seed, draw):
        query, key, value = chapter["drawn"](seed, spread)
        w = draw(np.random.default_rng([seed, 64]))
        estimate = chapter["by_features"](query / 2, key / 2, value, lambda x: chapter["positive"](x, w))
        return chapter["error"](estimate, chapter["attend"](query, key, value))

    plain, better = (
        np.mean([error(seed, draw) for seed in range(100, 120)]) for draw in (lambda rng: rng.normal(size=(64, 16)), orthogonal)
    )
    assert 0.8 < better / plain < 1.2


@seeds
def test_a_learnt_blend_has_the_last_word_in_every_key(chapter, seed):
    _, key, _ = chapter["drawn"](seed, 1, n=16)
    blend, later = np.random.default_rng(seed).normal(size=(4, 16)), key.copy()
    later[-1] += 1
    assert (blend @ later != blend @ key).any(axis=1).all()


def test_waves_divide_by_negative_numbers_and_leave_the_range_of_the_values(chapter):
    wrong = {name: [(chapter["divisors"](chapter[name], 1, seed) <= 0).mean() for seed in SEEDS] for name in ("waves", "positive")}
    assert np.mean(wrong["waves"]) > 0.05 and max(wrong["positive"]) == 0
    for seed in SEEDS:
        inputs = chapter["drawn"](seed, 1)
        outputs = chapter["randomly"](*inputs, chapter["positive"], 64, seed)
        assert np.abs(outputs).max() <= np.abs(inputs[2]).max() + 1e-9
    far = [np.abs(chapter["randomly"](*chapter["drawn"](seed, 1), chapter["waves"], 64, seed)).max() for seed in SEEDS]
    assert np.median(far) > 10


# Rank


def test_the_picture_says_the_same_for_other_seeds(chapter):
    for spread in chapter["SPREADS"]:
        found = [chapter["all_errors"](spread, seed) for seed in SEEDS]
        medians = {name: np.median([each[name] for each in found], axis=0) for name in found[0]}
        at_32 = {name: errors[list(chapter["COLUMNS"]).index(32)] for name, errors in medians.items()}
        assert at_32["best"] < 0.4 * at_32["mean"] < 0.4 * at_32["positive"]
        # Of the same rank, nothing is closer than the best.
        assert all((medians["best"] <= errors + 1e-9).all() for name, errors in medians.items() if name != "mean")
        assert medians["pooled"][-1] == pytest.approx(0, abs=1e-9)
        assert 0.8 * at_32["mean"] < at_32["pooled"] <= at_32["mean"]
        if spread == 1:
            assert (medians["positive"] > medians["mean"]).all()
        else:
            assert medians["positive"][-1] < medians["mean"][-1]


@seeds
def test_linformer_needs_neighbours_that_are_alike(chapter, seed):
    alike, strange = (
        chapter["error"](chapter["linformer"](*inputs, 16), chapter["attend"](*inputs))
        for inputs in (chapter["alike"](seed, 32), chapter["alike"](seed, 1))
    )
    assert alike < 0.15 < 0.6 < strange


def test_a_line_beside_the_diagonal_has_no_low_rank(chapter):
    sizes = np.linalg.svd(np.eye(128, k=-1), compute_uv=False)
    assert sizes[:-1] == pytest.approx(1) and sizes[-1] == pytest.approx(0)
    assert chapter["lost"](np.eye(128, k=-1), 64) == pytest.approx(np.sqrt(63 / 127))


# What comes later


@seeds
def test_the_future_gets_through_blends_and_not_through_running_sums(chapter, seed):
    def running(query, key, value):
        weights = np.tril(chapter["one_up"](query) @ chapter["one_up"](key).T)
        return weights @ value / weights.sum(axis=1, keepdims=True)

    overheard, finished = chapter["overheard"], chapter["finished"]
    assert overheard(lambda *inputs: chapter["linformer"](*inputs, 4), seed) > 0.01
    assert overheard(finished, seed) == 0 == overheard(running, seed)
    seen = np.abs(finished(*chapter["drawn"](seed, 0.25, n=16))).sum(axis=1) > 0
    assert seen.tolist() == [False] * 3 + [True] * 13
