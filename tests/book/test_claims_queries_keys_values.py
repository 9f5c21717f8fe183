"""What the chapter on queries, keys and values claims holds for seeds that it did not use."""

import numpy as np
import pytest

SEEDS = range(100, 105)
seeds = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture(scope="module")
def chapter_02(functions):
    """Return what the chapter on queries, keys and values defines."""
    return functions("queries_keys_values")


@seeds
def test_only_queries_and_keys_of_their_own_find_another_word(chapter_02, seed):
    loss = {}
    for kind in ("separate", "shared", "tables"):
        matrices, _ = chapter_02["train"](seed, kind)
        loss[kind] = chapter_02["test_loss"](matrices, kind)
    assert loss["separate"] < 0.05
    assert loss["shared"] > 0.4
    assert loss["tables"] == pytest.approx(1, abs=0.05)


@seeds
def test_each_word_learns_to_look_at_the_next(chapter_02, seed):
    matrices, _ = chapter_02["train"](seed, "separate")
    weights = chapter_02["softmax"](matrices[0][:4] @ matrices[1][:4].T / 2)
    # Now and then a seed answers with the weights instead of the values, as the chapter shows; not these.
    assert np.array_equal(weights.argmax(axis=1), [1, 2, 3, 0])
    assert chapter_02["reads_by_value"](matrices)


def test_one_seed_of_the_chapter_answers_with_its_weights(chapter_02):
    matrices, _ = chapter_02["train"](0, "separate")
    assert not chapter_02["reads_by_value"](matrices)
    ahead, behind = (chapter_02["weights_of_dumpty"](matrices, note) for note in (1, -1))
    assert ahead[2] - behind[2] > 0.1


@seeds
def test_with_query_as_key_the_longest_word_finds_itself(seed):
    parts = np.random.default_rng(seed).normal(size=(6, 4))
    longest = np.linalg.norm(parts, axis=1).argmax()
    assert (parts @ parts[longest]).argmax() == longest


@pytest.mark.parametrize("part", range(3))
def test_slopes_are_the_slopes_of_the_loss(chapter_02, part):
    rng, slopes = np.random.default_rng(0), chapter_02["slopes"]
    # Every axis has a size of its own: 5 queries, 7 keys, d_k = 3, d_v = 2.
    inputs = [rng.normal(size=(2, *shape)) for shape in ((5, 3), (7, 3), (7, 2))]
    target = rng.normal(size=(2, 5, 2))
    analytic = slopes(*inputs, target)[1 + part]
    step = np.zeros_like(inputs[part])
    step[1, 4, 1] = 1e-6
    ahead, behind = (
        slopes(*(tensor + s if place == part else tensor for place, tensor in enumerate(inputs)), target)[0] for s in (step, -step)
    )
    assert (ahead - behind) / 2e-6 == pytest.approx(analytic[1, 4, 1], abs=1e-8)


@seeds
def test_rank_decides_what_is_lost(chapter_02, seed):
    share_lost, words = chapter_02["share_lost"], np.random.default_rng(seed).normal(size=(100, 512))
    square = chapter_02["random_matrix"](np.random.default_rng(seed + 1000), 512, 512)
    assert share_lost(words, square) < 1e-12
    assert share_lost(words, chapter_02["deficient_matrix"](seed)) == pytest.approx(1 - 64 / 512, abs=0.02)
    anywhere, few = chapter_02["losses_by_width"](seed, 64)
    assert anywhere == pytest.approx(1 - 64 / 512, abs=0.02)
    assert few < 1e-12
    assert chapter_02["losses_by_width"](seed, 16)[1] > 0.3


@seeds
def test_dot_products_survive_roughly_and_scores_have_low_rank(chapter_02, seed):
    assert chapter_02["dot_error"](seed) == pytest.approx(1 / np.sqrt(64), rel=0.2)
    assert chapter_02["score_rank"](seed) == 64


@seeds
def test_half_precision_spoils_what_full_rank_promises(chapter_02, seed):
    assert chapter_02["half_error"](seed) > 1e-3
