"""What the chapter on sparse attention claims holds for seeds and lengths that it did not use."""

import numpy as np
import pytest

SEEDS = range(100, 105)
seeds = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture(scope="module")
def chapter(functions):
    """Return what the chapter defines."""
    return functions("sparse")


@seeds
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_a_product_of_masks_tells_whose_output_changes(chapter, seed, depth):
    for mask in (chapter["window"](19), chapter["window"](19, gap=2), chapter["strided"](19, 4), chapter["star"](19)):
        heard = chapter["first_heard"]([mask] * depth) >= 0
        assert np.array_equal(chapter["changed"]([mask] * depth, seed), heard)


def test_masks_that_differ_are_multiplied_in_order(chapter):
    masks = [np.tri(5, dtype=bool), chapter["window"](5, 1)]
    assert np.array_equal(chapter["changed"](masks, SEEDS[0]), chapter["first_heard"](masks) >= 0)


@pytest.mark.parametrize("n", [7, 20, 33])
def test_news_travels_as_far_as_the_window_in_each_layer(chapter, n):
    for width in (1, 2, 5):
        late = chapter["first_heard"]([chapter["window"](n, width)] * n)
        distance = abs(np.subtract.outer(np.arange(n), np.arange(n)))
        assert np.array_equal(late, -(-distance // width))
    assert chapter["first_heard"]([chapter["strided"](n, 4)] * n).max() == 2
    assert chapter["first_heard"]([chapter["star"](n)] * n).max() == 2
    assert chapter["star"](n).sum() == 5 * n - 1


def test_gaps_that_never_change_leave_half_of_all_pairs_apart(chapter):
    for n in (10, 40):
        late = chapter["first_heard"]([chapter["window"](n, gap=2)] * n)
        odd = np.add.outer(np.arange(n), np.arange(n)) % 2 == 1
        assert np.array_equal(late < 0, odd)
        mixed = [chapter["window"](n, gap=2 if layer % 2 else 1) for layer in range(n)]
        assert chapter["first_heard"](mixed).min() == 0


def test_only_two_places_of_a_star_lead_across_the_middle(chapter):
    described = chapter["described"]
    assert [described(chapter[name](64))[2] for name in ("window", "strided", "star")] == [2, 32, 2]


def test_one_layer_of_the_model_can_be_local_and_the_other_cannot(chapter):
    def share(first, second):
        return np.mean([chapter["right"](seed, first, second) for seed in SEEDS[:3]])

    whole = share(40, 40)
    assert whole > 0.85 and share(1, 40) > 0.75 > 0.2 > share(0, 40)
    assert share(40, 4) < 0.06
    assert 0.3 < share(40, 12) < 0.6 < 0.75 < share(40, 19) < whole


def test_most_of_what_fits_into_the_window_is_right(chapter):
    """Where the second layer sees 12 words back, it is right about as often as the last time is in reach, and not more often."""
    for seed in SEEDS:
        _, repeated, length = chapter["texts"](seed)
        fits = np.repeat(length <= 13, 40, axis=1)[repeated].mean()
        assert 0.6 * fits < chapter["right"](seed, 40, 12) < 1.05 * fits


def test_torch_makes_all_scores_under_any_mask(chapter):
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    text, counts = torch.zeros(1, 256, 32), []
    for width in (256, 3):
        with FlopCounterMode(display=False) as counter:
            torch.nn.functional.scaled_dot_product_attention(text, text, text, torch.tensor(chapter["window"](256, width)))
        counts.append(counter.get_total_flops() // 2)
    assert counts == [2 * 256 * 256 * 32] * 2
