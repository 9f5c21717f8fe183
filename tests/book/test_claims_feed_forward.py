"""What the chapter on the feed-forward network claims holds for seeds that it did not use."""

import numpy as np
import pytest

SEEDS = range(100, 105)
seeds = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture(scope="module")
def chapter(functions):
    """Return what the chapter on the feed-forward network defines."""
    return functions("feed_forward")


def small_network(chapter, seed):
    """Return five words of 3 numbers, and a network of 3, 29 and 3 numbers."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(5, 3)), chapter["random_network"](rng, d_model=3, d_ff=29)


@seeds
def test_each_word_goes_through_alone(chapter, seed):
    x, network = small_network(chapter, seed)

    def layer(x):
        return chapter["feed_forward"](x, *network)

    order = np.random.default_rng(seed).permutation(5)
    assert layer(x[order]) == pytest.approx(layer(x)[order])
    moved = chapter["reach"](layer, x)
    assert np.all(np.diag(moved) > 1e-3) and moved[~np.eye(5, dtype=bool)] == pytest.approx(0, abs=1e-12)
    assert np.all(chapter["reach"](chapter["attend"], x) > 1e-3)


@seeds
def test_without_relu_two_layers_are_one(chapter, seed):
    x, (w1, b1, w2, b2) = small_network(chapter, seed)
    one_layer = x @ (w1 @ w2) + (b1 @ w2 + b2)
    assert (x @ w1 + b1) @ w2 + b2 == pytest.approx(one_layer, abs=1e-12)
    assert np.abs(chapter["feed_forward"](x, w1, b1, w2, b2) - one_layer).max() > 0.1


@seeds
def test_adding_up_tells_whether_there_is_a_bend(chapter, seed):
    x, network = small_network(chapter, seed)
    w1, b1, w2, b2 = network
    for layer, bends in ((lambda x: chapter["feed_forward"](x, *network), True), (lambda x: (x @ w1 + b1) @ w2 + b2, False)):
        gap = np.abs(layer(x[0] + x[1]) + layer(0 * x[0]) - layer(x[0]) - layer(x[1])).max()
        assert gap > 1e-3 if bends else gap < 1e-12


@seeds
def test_alone_needs_the_relu(chapter, seed):
    _, without = chapter["train"](seed, relu=False)
    _, bent = chapter["train"](seed, relu=True)
    assert without.max() <= 0.75
    assert bent[-1] == 1


@seeds
def test_without_relu_one_name_drowns_the_rest(chapter, seed):
    perhaps, clear = chapter["half_measure"](seed)
    assert perhaps < 0.1 and clear > 3


@seeds
def test_no_attention_without_a_bend_judges_more_than_three_of_four(chapter, seed):
    rng, (counts, alone) = np.random.default_rng(seed), chapter["every_sentence"]()
    for _ in range(200):
        network = chapter["random_network"](rng, 4, 16)
        parameters = [2 * rng.normal(size=8), rng.normal(size=(8, 4)), *network[:2], network[2][:, 0], rng.normal()]
        assert np.mean((chapter["judge"](parameters, counts, relu=False)[-1] > 0) == alone) <= 0.75


@pytest.mark.parametrize("relu", [True, False])
def test_gradients_of_alone_are_the_slopes_of_the_loss(chapter, relu):
    rng, (counts, alone) = np.random.default_rng(0), chapter["every_sentence"]()
    shapes = [(8,), (8, 4), (4, 16), (16,), (16,), ()]
    parameters = [np.array(rng.normal(size=shape)) for shape in shapes]
    check_slopes(lambda p: chapter["gradients"](p, counts, alone, relu), parameters, rng)


def test_gradients_of_reciting_are_the_slopes_of_the_loss(chapter):
    rng = np.random.default_rng(0)
    vectors, x, answer = rng.normal(size=(7, 4)), rng.normal(size=(5, 4)), np.eye(7)[rng.integers(7, size=5)]
    parameters = [rng.normal(size=(4, 11)), rng.normal(size=11), rng.normal(size=(11, 4))]
    check_slopes(lambda p: chapter["recite_gradients"](p, x, vectors, answer, 0.1), parameters, rng)


def check_slopes(gradients, parameters, rng):
    """Compare each gradient, along a random direction, with a finite difference."""
    _, slopes = gradients(parameters)
    for place, slope in enumerate(slopes):
        step = 1e-6 * rng.normal(size=np.shape(parameters[place]))
        ahead, behind = list(parameters), list(parameters)
        ahead[place], behind[place] = parameters[place] + step, parameters[place] - step
        difference = (gradients(ahead)[0] - gradients(behind)[0]) / 2
        assert difference == pytest.approx(np.sum(slope * step), rel=1e-4, abs=1e-13)


def test_two_thirds_of_a_layer_are_feed_forward(chapter):
    stored = chapter["stored"]
    assert stored["feed-forward"] / sum(stored.values()) == pytest.approx(2 / 3, abs=0.001)
    work = chapter["multiplications"](tokens=13, d_model=5, d_ff=20)
    assert work["feed-forward"] == 2 * work["projections"]
    meeting = chapter["multiplications"](tokens=20, d_model=5, d_ff=20)
    assert meeting["comparing"] == meeting["feed-forward"]


@seeds
def test_hidden_units_are_detectors(chapter, seed):
    thrifty, free = chapter["recite"](seed), chapter["recite"](seed, thrift=0)
    assert chapter["right"](*thrifty).all() and chapter["right"](*free).all()
    agree, chance, fires = chapter["agreement"](*thrifty)
    free_agree, free_chance, free_fires = chapter["agreement"](*free)
    assert agree > 0.7 and chance < 0.15 and fires <= 4
    assert free_fires >= 10 and 3 * free_chance < free_agree < agree


@seeds
def test_silencing_a_detector_costs_its_own_pair(chapter, seed):
    own, others, silenced = chapter["silence"](*chapter["recite"](seed))
    assert own < 0.35 and others > 0.9 and silenced < 6
