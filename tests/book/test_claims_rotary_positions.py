"""What the chapter on rotary positions claims holds for seeds, widths and places that it did not use."""

import numpy as np
import pytest

SEEDS = range(100, 105)
seeds = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture(scope="module")
def rotary(functions):
    """Return what the chapter defines."""
    return functions("rotary_positions")


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


# What is wanted, and what follows


@seeds
def test_added_positions_leave_four_products_and_a_score_that_wavers(rotary, seed):
    (x, y), w_query, w_key = rotary["drawn"](seed)
    places, A, m = rotary["position_vectors"](150), w_query @ w_key.T, np.arange(147)
    scores = np.sum((x + places[m + 3]) @ A * (y + places[m]), axis=1)
    parts = x @ A @ y, places[m] @ (x @ A), places[m + 3] @ A @ y, np.sum(places[m + 3] @ A * places[m], axis=1)
    assert scores == pytest.approx(sum(parts))
    assert all(np.ptp(part) > 0.1 for part in (scores, *parts[1:]))


@seeds
@pytest.mark.parametrize("distance", [-31, -2, 0, 1, 17, 400])
@pytest.mark.parametrize("width", [2, 6, 20])
def test_a_rotated_score_knows_the_distance_alone(rotary, seed, distance, width):
    assert rotary["gap"](seed, distance, width) < 1e-9


@pytest.mark.parametrize("d_k", [2, 6, 8])
def test_each_step_is_the_same_matrix_again_and_keeps_all_dot_products(rotary, d_k):
    turn, frequencies = rotary["turn"], rotary["frequencies_for"](d_k)
    for position in range(12):
        power = np.linalg.matrix_power(turn(1, frequencies), position)
        assert turn(position, frequencies) == pytest.approx(power)
        assert power @ power.T == pytest.approx(np.eye(d_k)) and np.linalg.det(power) == pytest.approx(1)


@seeds
def test_what_keeps_dot_products_in_two_dimensions_rotates_or_comes_back_after_two_steps(seed):
    matrix, _ = np.linalg.qr(normal(seed, 2, 2))
    for each in (matrix, matrix @ np.diag([1, -1])):
        is_reflection = np.linalg.det(each) < 0
        assert np.allclose(each @ each, np.eye(2)) == is_reflection


@seeds
def test_in_any_even_width_it_is_rotations_in_pairs_along_its_own_axes(seed):
    matrix, _ = np.linalg.qr(normal(seed, 6, 6))
    values = np.linalg.eigvals(matrix)
    assert np.abs(values) == pytest.approx(np.ones(6))
    turning = values[np.abs(values.imag) > 1e-9]
    assert np.sort_complex(turning) == pytest.approx(np.sort_complex(turning.conj()))


def test_counter_clockwise_by_hand(rotary):
    quarter = np.array([np.pi / 2])
    assert rotary["rotated"](np.array([[3, 1]] * 4), quarter) == pytest.approx(np.array([[3, 1], [-1, 3], [-3, -1], [1, -3]]))
    assert rotary["rotated"](np.ones((2, 2)), quarter, 4) == pytest.approx(rotary["rotated"](np.ones((2, 2)), quarter))


@seeds
def test_a_piece_goes_on_where_it_starts(rotary, seed):
    x, frequencies = normal(seed, 9, 6), rotary["frequencies_for"](6)
    assert rotary["rotated"](x[4:], frequencies, 4) == pytest.approx(rotary["rotated"](x, frequencies)[4:])


# What is broken on purpose


@seeds
def test_rotated_values_show_when_the_text_moves_and_in_a_single_word(rotary, seed):
    x, attend = normal(seed, 5, 8), rotary["attend"]
    for with_values in (True, False):
        moved = np.abs(attend(x, 7, with_values) - attend(x, 0, with_values)).max()
        alone = np.abs(attend(x[:1], 7, with_values) - x[:1]).max()
        assert (moved < 1e-9, alone < 1e-9) == (not with_values, not with_values)


@seeds
def test_rotating_before_the_split_passes_the_test_of_distance_and_gives_other_heads(rotary, seed):
    x, rotated, frequencies_for = normal(seed, 4, 8), rotary["rotated"], rotary["frequencies_for"]

    def scores(start, head, first):
        part = slice(4 * head, 4 * head + 4)
        turned = rotated(x, frequencies_for(8), start)[:, part] if first else rotated(x[:, part], frequencies_for(4), start)
        return turned @ turned.T

    for head in (0, 1):
        assert scores(0, head, True) == pytest.approx(scores(11, head, True))
        assert np.abs(scores(0, head, True) - scores(0, head, False)).max() > 1e-3


@seeds
def test_both_pairings_know_the_distance_and_differ_by_an_order_of_columns(rotary, seed):
    x, frequencies = normal(seed, 5, 8), rotary["frequencies_for"](8)
    ways = [rotary[name] for name in ("rotated", "in_halves")]
    scores = [[turned @ turned.T for turned in (way(x, frequencies, start) for start in (0, 5))] for way in ways]
    assert all(here == pytest.approx(there) for here, there in scores)
    assert np.abs(scores[0][0] - scores[1][0]).max() > 0.1
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    assert rotary["in_halves"](x[:, order], frequencies, 3) == pytest.approx(rotary["rotated"](x, frequencies, 3)[:, order])


@seeds
def test_opposite_directions_add_positions(rotary, seed):
    (q, k), turn, frequencies = normal(seed, 2, 6), rotary["turn"], rotary["frequencies_for"](6)

    def score(m, n):
        return q @ turn(m, frequencies) @ turn(-n, frequencies).T @ k

    assert score(3, 8) == pytest.approx(score(9, 2)) and abs(score(3, 8) - score(4, 9)) > 1e-6


# The trained heads


def both_kinds(rotary, seed):
    return [rotary["train"](seed, kind) for kind in (False, True)]


@pytest.mark.parametrize("seed", [100, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in SEEDS[1:])])
def test_a_later_start_is_nothing_new_and_a_distance_is(rotary, seed):
    sinusoids, heads = both_kinds(rotary, seed)
    share_right = rotary["share_right"]
    assert share_right(sinusoids).mean() > 0.99 and share_right(heads).mean() > 0.99
    assert share_right(heads, start=1000).mean() > 0.99 and share_right(sinusoids, start=16).mean() < 0.9
    longer = share_right(heads, 192)
    assert longer[13:29].mean() > 0.8 > longer[-48:].mean()
    assert longer[13:29].mean() > share_right(sinusoids, 32)[13:].mean() + 0.2


@pytest.mark.nightly
def test_twice_the_length_is_no_safe_ground_from_every_start(rotary):
    longer = [rotary["share_right"](rotary["train"](seed, True), 32)[13:].mean() for seed in range(100, 110)]
    assert min(longer) < 0.97 < np.median(longer)
