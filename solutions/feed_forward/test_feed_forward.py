"""Tests of feed_forward. A docstring is the question that a learner reads when the test fails.

Where the ReLU is not the question, every unit is on; where biases are not the question, they are
zero; where the outputs' sign is not the question, they are positive; where other words are not the
question, a sentence has one word; where only digits are the question, everything is one number wide.
So one mistake costs one check.
"""
import torch
from torch import nn

from autograder.kit import Anew, expect, expect_device, expect_gradients, expect_learning, expect_trained, gpu, hidden, visible

# For words without negative numbers every unit of this network is on.
ALL_ON = {
    "w1": torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]]),
    "b1": torch.tensor([1.0, 2.0, 3.0]),
    "w2": torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 2.0]]),
    "b2": torch.tensor([10.0, 20.0]),
}
# Without its biases it is then one matrix.
NO_BIASES = {**ALL_ON, "b1": torch.zeros(3), "b2": torch.zeros(2)}
ONE_MATRIX = torch.tensor([[3.0, 4.0], [1.0, 3.0]])

# Two layers that fold to a matrix which is not its own transpose.
TWO_LAYERS = {
    "w1": torch.tensor([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0]]),
    "b1": torch.tensor([1.0, -2.0, 3.0]),
    "w2": torch.tensor([[1.0, 0.0], [2.0, -1.0], [0.0, 3.0]]),
    "b2": torch.tensor([10.0, 20.0]),
}

# Three words and five units: for the last word every unit is off, and for every word the last two.
WORDS = torch.tensor([[2.0, 1.0], [-1.0, 2.0], [0.0, 0.0]])
KEYS = torch.tensor([[1.0, -1.0, 1.0, 0.0, 2.0], [-1.0, 1.0, 1.0, -1.0, 0.0]])
BIASES = torch.tensor([0.0, 0.0, -2.0, 0.0, -6.0])


@visible("output")
def test_one_word_through_three_units(learner):
    """The word (1, 2) makes the three units hold 2, 4 and 7. Which rows of W2 are added then, how many times each, and what comes on top?"""
    expect(_network(learner, ALL_ON)(torch.tensor([[[1.0, 2.0]]])), torch.tensor([[[19.0, 38.0]]]), "output")


@hidden("output")
def test_fresh_words_through_units_that_are_on(learner, reference, draw):
    """Each word is multiplied by a matrix and gets a bias, twice. Which matrix comes first, and is anything else done to the word?"""
    for batch, d_model, d_ff in ((2, 5, 7), (3, 2, 11), (1, 7, 3), (3, 3, 3)):
        x, weights = draw(batch, 1, d_model).abs(), _positive(draw, d_model, d_ff)
        _expect_same(learner, reference, x, weights)


@visible("relu")
def test_two_of_three_units_are_off(learner):
    """The word (-1, 2) makes the units hold -3, 3 and -1 (the last was 1 until its bias of -2 came). Which of them add their row, and where is that decided?"""
    weights = {
        "w1": torch.tensor([[1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]]),
        "b1": torch.tensor([0.0, 0.0, -2.0]),
        "w2": torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        "b2": torch.zeros(2),
    }
    expect(_network(learner, weights)(torch.tensor([[[-1.0, 2.0]]])), torch.tensor([[[9.0, 12.0]]]), "output")


@hidden("relu")
def test_fresh_units_on_and_off(learner, reference, draw):
    """Some units are negative when the word and the bias have come together. What becomes of those, and what of the others?"""
    for batch, d_model, d_ff in ((2, 5, 7), (3, 2, 11)):
        weights = {**_without_biases(_positive(draw, d_model, d_ff)), "w1": draw(d_model, d_ff), "b1": draw(d_ff)}
        _expect_same(learner, reference, draw(batch, 1, d_model), weights)


@visible("negative")
def test_output_below_zero(learner):
    """All three units are on, and the rows of W2 add up to numbers below zero. Does anything of yours come after the second matrix?"""
    weights = {**NO_BIASES, "w2": torch.tensor([[1.0, 0.0], [0.0, -7.0], [-1.0, 2.0]])}
    expect(_network(learner, weights)(torch.tensor([[[1.0, 2.0]]])), torch.tensor([[[-3.0, -6.0]]]), "output")


@hidden("negative")
def test_fresh_outputs_of_either_sign(learner, reference, draw):
    """All units are on, and what comes out has either sign. Does anything of yours come after the second matrix?"""
    for batch, d_model, d_ff in ((2, 5, 7), (3, 11, 2)):
        weights = {**_without_biases(_positive(draw, d_model, d_ff)), "w2": draw(d_ff, d_model)}
        _expect_same(learner, reference, draw(batch, 1, d_model).abs(), weights)


@visible("batch")
def test_sentence_without_a_batch(learner):
    """One sentence comes by itself, as a table of words. Which axis does your code count on that is not there?"""
    x = torch.tensor([[4.0, 1.0]])
    expect(_network(learner, NO_BIASES)(x), x @ ONE_MATRIX, "output")


@visible("batch")
def test_two_axes_before_the_words(learner):
    """Two axes stand before the words, and come out as they went in. Which axis is the only one that the network works on?"""
    x = torch.arange(12.0).reshape(2, 3, 1, 2)
    expect(_network(learner, NO_BIASES)(x), x @ ONE_MATRIX, "output")


@visible("batch")
def test_words_that_were_transposed(learner):
    """The words are what they were, but they lie in memory in another order. Which of your steps minds?"""
    x = torch.arange(12.0).reshape(2, 3, 1, 2)
    expect(_network(learner, NO_BIASES).strided(x), x @ ONE_MATRIX, "output")


@hidden("batch")
def test_fresh_words_that_were_transposed(learner, reference, draw):
    """The words are what they were, but they lie in memory in another order. Which of your steps minds?"""
    weights, x = _without_biases(_positive(draw, 3, 5)), draw(3, 3, 1, 3).abs()
    expect(_network(learner, weights).strided(x), _network(reference, weights)(x), "output")


@hidden("batch")
def test_fresh_axes_before_the_words(learner, reference, draw):
    """There may be any axes before the words, also none, and they come out as they went in. Which axis is the only one that the network works on?"""
    weights = _without_biases(_positive(draw, 11, 13))
    for batch in ((), (5, 2), (2, 3, 5), (7,)):
        _expect_same(learner, reference, draw(*batch, 1, 11).abs(), weights)


@visible("alone")
def test_one_word_of_five_is_changed(learner):
    """Only the third of five words was changed, by (1, 1). Which rows of the output may move, and how could a word hear of another?"""
    network, before = _network(learner, ALL_ON), torch.arange(10.0).reshape(1, 5, 2)
    after, expected = before.clone(), torch.zeros(1, 5, 2)
    after[0, 2] += 1
    expected[0, 2] = torch.tensor([4.0, 7.0])
    expect(network(after) - network(before), expected, "change of the output")


@visible("alone")
def test_as_many_words_as_numbers(learner):
    """There are two words of two numbers each. Which of the two axes does your network work on, and which does it leave alone?"""
    x = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]])
    expect(_network(learner, NO_BIASES)(x), x @ ONE_MATRIX, "output")


@visible("alone")
def test_words_stay_as_they_were(learner):
    """Others still need the words that were handed over. Does your code write into them?"""
    network, x = _network(learner, ALL_ON), torch.arange(10.0).reshape(1, 5, 2)
    expect(network.unchanged(x), network(x), "output")


@hidden("alone")
def test_fresh_words_in_another_order(learner, reference, draw):
    """As many words as numbers have changed places. Do the rows of the output go along, each as it was?"""
    weights, x, order = _without_biases(_positive(draw, 5, 7)), draw(5, 5, 5).abs(), draw(5).argsort()
    expect(_network(learner, weights)(x[:, order]), _network(reference, weights)(x)[:, order], "output")


@hidden("alone")
def test_one_word_of_fresh_sentences_is_changed(learner, reference, draw):
    """One word of one sentence was changed. Which rows of the output may move, and how could a word hear of another?"""
    for place in ((0, 6), (2, 3)):
        weights, before = _positive(draw, 5, 11), draw(3, 7, 5).abs()
        mine, other, after = _network(learner, weights), _network(reference, weights), before.clone()
        after[place] += draw(5).abs() + 1
        expect(mine(after) - mine(before), other(after) - other(before), "change of the output")


@visible("trains")
def test_every_number_learns(learner):
    """From 2 numbers to 3 units and back, with biases, there are 17 numbers to learn. How does a module know which numbers are to be trained, and does a gradient find them?"""
    trained = _network(learner, ALL_ON).trained(torch.arange(1.0, 11.0).reshape(1, 5, 2))
    expect_trained(trained, 17)


@visible("trains")
def test_network_of_64_bits(learner):
    """The network was told to keep 64 bits, and so has the word. What of it stays behind, or comes back with fewer?"""
    network = _network(learner, NO_BIASES)
    network.double()
    came = network(torch.tensor([[[1.0, 2.0]]], dtype=torch.float64))
    expect(getattr(came, "dtype", None) == torch.float64, True, "whether the output has 64 bits")


@visible("trains")
def test_gradient_goes_back_to_the_words(learner, draw):
    """What made the words is to learn as well. Does a gradient get back to them?"""
    expect_gradients(Anew(_network, learner, ALL_ON), ["x"], torch.arange(1.0, 5.0).reshape(1, 2, 2), draw=draw)


@hidden("trains")
def test_fresh_gradient_goes_back_to_the_words(learner, reference, draw):
    """What made the words is to learn as well. Does a gradient get back to them?"""
    weights = _positive(draw, 5, 3)
    network, true = Anew(_network, learner, weights), Anew(_network, reference, weights)
    expect_gradients(network, ["x"], draw(2, 3, 5).abs() + 1, draw=draw, true=true)


@hidden("trains")
def test_every_number_of_a_fresh_network_learns(learner, reference, draw):
    """Every number of the two matrices and the two biases is trained, and nothing else. Which of them does the gradient not reach?"""
    for d_model, d_ff in ((5, 7), (11, 3)):
        count, weights = 2 * d_model * d_ff + d_ff + d_model, _positive(draw, d_model, d_ff)
        network, true = Anew(_network, learner, weights), Anew(_network, reference, weights)
        expect_learning(network, count, draw(2, 3, d_model).abs() + 1, draw=draw, true=true, size=0.001)


@visible("fold")
def test_two_matrices_become_one(learner):
    """`x` meets W1 first, and what comes of it meets W2. In which order do the two stand in their product?"""
    matrix, _ = learner.fold.pair(**TWO_LAYERS)
    expect(matrix, torch.tensor([[5.0, -2.0], [2.0, -4.0]]), "matrix")


@visible("fold")
def test_matrices_in_another_order_in_memory(learner, draw):
    """The layers are transposed, and a gradient is to go back to them. Which of your steps minds, or cuts them off the graph?"""
    expect(learner.fold.strided(**TWO_LAYERS)[0], torch.tensor([[5.0, -2.0], [2.0, -4.0]]), "matrix")
    expect_gradients(learner.fold, ["w1", None, "w2"], *TWO_LAYERS.values(), draw=draw, part=0)


@hidden("fold")
def test_fresh_matrices_in_another_order_in_memory(learner, reference, draw):
    """The layers are transposed, and a gradient is to go back to them. Which of your steps minds, or cuts them off the graph?"""
    for d_model, d_ff in ((5, 7), (3, 3)):
        layers = _layers(draw, d_model, d_ff)
        expect(learner.fold.strided(**layers)[0], reference.fold(**layers)[0], "matrix")
        expect_gradients(learner.fold, ["w1", None, "w2"], *layers.values(), draw=draw, true=reference.fold, part=0)


@hidden("fold")
def test_fresh_matrices_become_one(learner, reference, draw):
    """`x` meets W1 first, and what comes of it meets W2. In which order do the two stand in their product?"""
    for d_model, d_ff in ((5, 7), (3, 2), (3, 3)):
        layers = _layers(draw, d_model, d_ff)
        expect(learner.fold.pair(**layers)[0], reference.fold(**layers)[0], "matrix")


@visible("fold_bias")
def test_two_biases_become_one(learner):
    """What does the network without its ReLU make of a word of zeros? Through which matrix has each bias gone by then?"""
    _, bias = learner.fold.pair(**TWO_LAYERS)
    expect(bias, torch.tensor([7.0, 31.0]), "bias")


@visible("fold_bias")
def test_layers_stay_as_they_were(learner):
    """The two layers are folded a second time, and what comes out is the same. Does your code write into what it was handed?"""
    came = learner.fold.unchanged(**TWO_LAYERS)
    expect(came[1], torch.tensor([7.0, 31.0]), "bias")


@visible("fold_bias")
def test_gradient_goes_back_to_the_biases(learner, draw):
    """The two layers may be trained by what their fold does. Does a gradient get back to them?"""
    expect_gradients(learner.fold, [None, "b1", "w2", "b2"], *TWO_LAYERS.values(), draw=draw, part=1)


@hidden("fold_bias")
def test_fresh_biases_become_one(learner, reference, draw):
    """What does the network without its ReLU make of a word of zeros? Through which matrix has each bias gone by then?"""
    for d_model, d_ff in ((5, 7), (3, 2), (3, 3)):
        layers = _layers(draw, d_model, d_ff)
        expect(learner.fold.pair(**layers)[1], reference.fold(**layers)[1], "bias")
        expect_gradients(learner.fold, [None, "b1", "w2", "b2"], *layers.values(), draw=draw, true=reference.fold, part=1)


@visible("count")
def test_numbers_of_a_small_network(learner):
    """Between 2 numbers and 3 units there are 6 to learn on the way there and 6 on the way back, and 5 more. Where are those?"""
    expect(learner.parameter_count(2, 3), 17, "parameters")


@visible("count")
def test_numbers_of_the_first_transformer(learner):
    """From 512 to 2048 and back: torch counts 2,099,712 numbers. Which of them does your formula leave out, or count twice?"""
    theirs = nn.Sequential(nn.Linear(512, 2048, device="meta"), nn.ReLU(), nn.Linear(2048, 512, device="meta"))
    expect(learner.parameter_count(512, 2048), sum(p.numel() for p in theirs.parameters()), "parameters")


@hidden("count")
def test_numbers_of_fresh_networks(learner, reference, draw):
    """A network of these widths was made and its numbers counted. Which of them does your formula leave out, or count twice?"""
    for d_model, d_ff in draw.integers(2, 40, 3, 2).tolist():
        counted, _ = reference.FeedForward(d_model, d_ff).trained(draw(2, 3, d_model))
        expect(learner.parameter_count(d_model=d_model, d_ff=d_ff), counted, "parameters")


@visible("weights")
def test_three_words_meet_five_keys(learner):
    """The word (2, 1) matches the five keys with 1, -1, 3, -1 and 4, and the biases are 0, 0, -2, 0 and -6. How many times is each value added, and can it be less than not at all?"""
    expected = torch.tensor([[1.0, 0.0, 1.0, 0.0, 0.0], [0.0, 3.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0]])
    expect(learner.hidden_weights(WORDS, KEYS, BIASES), expected, "weights")


@visible("weights")
def test_words_and_keys_that_others_still_need(learner, draw):
    """What you are given was transposed, others still need it, and what made it is to learn. Which of your steps minds the order in memory, writes into it, or cuts it off the graph?"""
    x, keys, biases = WORDS[:2].expand(3, 2, 2), KEYS[:, :3], torch.tensor([10.0, 10.0, -10.0])
    for call in (learner.hidden_weights.strided, learner.hidden_weights.unchanged):
        expect(call(x, keys, biases), torch.tensor([[11.0, 9.0, 0.0], [7.0, 13.0, 0.0]]).expand(3, 2, 3), "weights")
    expect_gradients(learner.hidden_weights, ["x", "w1", "b1"], x, keys, biases, draw=draw)


@hidden("weights")
def test_fresh_words_of_sizes_that_agree(learner, reference, draw):
    """There are as many units as numbers in a word, and as many words. Which axis of W1 are the units on?"""
    x, w1, b1 = draw(3, 3, 3), draw(3, 3), draw(3)
    for call in (learner.hidden_weights.strided, learner.hidden_weights.unchanged):
        expect(call(x, w1, b1), reference.hidden_weights(x, w1, b1), "weights")


@hidden("weights")
def test_fresh_words_meet_fresh_keys(learner, reference, draw):
    """Each word meets each key, and the unit's bias moves the match up or down. How many times is each value added, and can it be less than not at all?"""
    for batch in ((), (3,), (2, 7)):
        x, w1, b1 = draw(*batch, 5, 11), draw(11, 13), draw(13)
        expect(learner.hidden_weights(x, w1, b1), reference.hidden_weights(x, w1, b1), "weights")
        expect_gradients(learner.hidden_weights, ["x", "w1", "b1"], x, w1, b1, draw=draw, true=reference.hidden_weights)


@visible("off")
def test_units_that_no_word_switches_on(learner):
    """Of five units the first three add something to some word. For which units is there no word at all, and what of one that never holds more than 0?"""
    expect(learner.always_off(WORDS, KEYS, BIASES), torch.tensor([False, False, False, True, True]), "units that are off")


@visible("off")
def test_units_that_no_sentence_switches_on(learner):
    """Two sentences, of one word each: (2, 1) and (-1, 2). The second unit is off in one and on in the other. Is it off for all words?"""
    came = learner.always_off(WORDS[:2].reshape(2, 1, 2), KEYS, BIASES)
    expect(came, torch.tensor([False, False, False, True, True]), "units that are off")


@visible("off")
def test_other_words_after_these(learner):
    """First these words, then their opposites, then these again with the opposite keys. What does your code keep, write into, or expect to lie in order?"""
    for call in (learner.always_off.unchanged, learner.always_off.strided):
        expect(call(WORDS, KEYS, BIASES), torch.tensor([False, False, False, True, True]), "units that are off")
        expect(call(-WORDS, KEYS, BIASES), torch.tensor([False, False, True, False, True]), "units that are off")
        expect(call(WORDS, -KEYS, BIASES), torch.tensor([False, False, True, False, True]), "units that are off")


@hidden("off")
def test_other_fresh_words_after_these(learner, reference, draw):
    """One call after the other, with inputs of the same sizes. What does your code keep, write into, or expect to lie in order?"""
    for call in (learner.always_off.unchanged, learner.always_off.strided) * 2:
        x, w1, b1 = draw(3, 5), draw(5, 11), draw(11) - 2
        expect(call(x, w1, b1), reference.always_off(x, w1, b1), "units that are off")


@hidden("off")
def test_fresh_units_on_and_off_for_all(learner, reference, draw):
    """A unit counts as off only if it adds nothing to any word of any sentence. Over which axes has that to be asked, and what of a unit that holds exactly 0?"""
    for batch in ((), (3,), (2, 7)):
        x, w1, b1 = draw(*batch, 5, 11), draw(11, 13), draw(13)
        b1[draw.integers(0, 6, 2)] = -100.0
        w1[:, 7], b1[7] = 0.0, 0.0
        expect(learner.always_off(x, w1, b1), reference.always_off(x, w1, b1), "units that are off")


@visible("dtype")
def test_thirds_in_double_precision(learner):
    """A third has no end, and 64 bits hold more of it than 32. Where does your code turn its input into something else, or make a tensor that does not ask for the input's dtype?"""
    third, nothing, ninth = (torch.tensor([[part]], dtype=torch.float64) for part in (1 / 3, 0.0, 1 / 9))
    expect(learner.hidden_weights(third, third, nothing[0]), ninth, "weights")
    matrix, _ = learner.fold.pair(third, nothing[0], third, nothing[0])
    expect(matrix, ninth, "matrix")


@hidden("dtype")
def test_fresh_double_precision(learner, reference, draw):
    """The inputs have 64 bits. Where does your code turn them into something else, or lose digits on the way?"""
    x, w1, w2 = (draw(1, 1, dtype=torch.float64).sigmoid() for _ in range(3))
    nothing = torch.zeros(1, dtype=torch.float64)
    expect(learner.hidden_weights(x, w1, nothing), reference.hidden_weights(x, w1, nothing), "weights")
    expect(learner.fold.pair(w1, nothing, w2, nothing)[0], reference.fold(w1, nothing, w2, nothing)[0], "matrix")


@visible("device")
def test_network_on_another_device(learner, draw):
    """The network was moved to another device, such as a GPU, and the words are there too. Which tensor did not move along, or is made on the CPU?"""
    expect_device(learner, lambda there: there.FeedForward(5, 7)(draw(2, 3, 5)), (2, 3, 5))


@visible("device")
def test_functions_on_another_device(learner, draw):
    """Words, matrices and biases lie on another device, such as a GPU. Which tensor does your function make on the CPU all the same?"""
    units, layers = (draw(2, 3, 5), draw(5, 7), draw(7)), _layers(draw, 5, 7)
    expect_device(learner, lambda there: there.hidden_weights(*units), (2, 3, 7))
    expect_device(learner, lambda there: there.always_off(*units), (7,))
    for part, shape in enumerate(((5, 5), (5,))):
        expect_device(learner, lambda there: there.fold.pair(**layers)[part], shape)


@gpu
@hidden("output")
def test_network_on_the_gpu(learner, reference, draw):
    """The module is moved to the GPU. Which of its tensors does not move along?"""
    x, weights = draw(2, 3, 5), _layers(draw, 5, 7)
    expect(_network(learner.on("cuda"), weights)(x), _network(reference, weights)(x), "output")


@gpu
@hidden("off")
def test_units_on_the_gpu(learner, reference, draw):
    """On a GPU everything that takes part must be there. Which tensor does your code make on the CPU?"""
    there, inputs, layers = learner.on("cuda"), (draw(2, 3, 5), draw(5, 7), draw(7)), _layers(draw, 5, 7)
    expect(there.hidden_weights(*inputs), reference.hidden_weights(*inputs), "weights")
    expect(there.always_off(*inputs), reference.always_off(*inputs), "units that are off")
    for came, expected in zip(there.fold.pair(**layers), reference.fold(**layers)):
        expect(came, expected, "matrix and bias")


def _layers(draw, d_model: int, d_ff: int) -> dict:
    shapes = {"w1": (d_model, d_ff), "b1": (d_ff,), "w2": (d_ff, d_model), "b2": (d_model,)}
    return {name: draw(*shape, scale=0.5) for name, shape in shapes.items()}


def _positive(draw, d_model: int, d_ff: int) -> dict:
    """Return layers whose units are all on, and whose outputs positive, for words without negative numbers."""
    return {name: part.abs() for name, part in _layers(draw, d_model, d_ff).items()}


def _without_biases(weights: dict) -> dict:
    return {name: torch.zeros_like(part) if part.ndim == 1 else part for name, part in weights.items()}


def _network(learner, weights: dict):
    d_model, d_ff = weights["w1"].shape
    network = learner.FeedForward.later(d_model=d_model, d_ff=d_ff)
    learner.set_weights.later(network, **weights)
    return network


def _expect_same(learner, reference, x, weights: dict) -> None:
    expect(_network(learner, weights)(x), _network(reference, weights)(x), "output")
