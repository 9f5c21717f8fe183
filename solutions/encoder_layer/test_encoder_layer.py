"""Tests of encoder_layer. A docstring is the question that a learner reads when the test fails.

Everything in a layer meets everything else, so one mistake would cost every check. Two things keep
them apart. A word that has mean 0 and variance 1 already is not changed by a norm that adds
nothing. And where the residual is not the question, the sublayers are *loud*: what they return is a
million times as large as what is added to it, and a norm brings the sum back to size.
"""
import itertools

import torch
from torch import nn
from torch.nn import functional as F

from autograder.kit import Anew, expect, expect_device, expect_gradients, expect_learning, expect_trained, gpu, hidden, visible
from autograder.kit.outcome import known_by

LOUD = 2.0**20  # a power of two: no digit is lost
STEPS = torch.tensor([3.0, 1.0, -1.0, -3.0]) / 5**0.5  # mean 0, variance 1
FAR = 16.0  # so far above zero that a ReLU lets everything pass


@visible("mean")
def test_each_word_by_itself(learner):
    """Each word has a mean of its own, whatever the other words are like. Along which axis do the numbers of one word lie?"""
    _expect_shifted(learner, torch.tensor([[1.0, 3.0, 2.0], [10.0, 20.0, 60.0]]))


@visible("mean")
def test_as_many_words_as_numbers(learner):
    """Two words of two numbers each make a square. Which way do the numbers of one word lie in it, and in what comes back?"""
    _expect_shifted(learner, torch.tensor([[[1.0, 3.0], [40.0, 10.0]], [[5.0, 2.0], [0.0, 1.0]]]))


@visible("mean")
def test_two_axes_before_the_tokens(learner, draw):
    """The numbers of a word lie along the last axis, however many axes come before it. How do you say "the last" without counting from the front?"""
    _expect_shifted(learner, draw(2, 3, 5, 7))


@visible("mean")
def test_one_word_of_two_numbers(learner):
    """The word (1, 3) has mean 2, and its numbers lie one below and one above. Which mean is it that has to go?"""
    _expect_shifted(learner, torch.tensor([1.0, 3.0]))


@visible("mean")
def test_words_in_another_order_in_memory(learner, draw):
    """A transposed tensor has its entries in another order in memory. Which operation of yours does not take it as it is?"""
    words = draw(2, 3, 7)
    came = learner.layer_norm.strided(words, torch.ones(7), torch.zeros(7))
    expect(_to_size(came), _to_size(_shifted(words)), "words, each brought to mean square 1")


@hidden("mean")
def test_fresh_words_by_themselves(learner, draw):
    """Each word is shifted by the mean of its own numbers, which lie along the last axis. Is it right for any number of axes before that?"""
    for shape in ((11,), (7, 5), (3, 2, 7), (2, 3, 5, 7), (5, 5), (3, 3, 7), (3, 3, 3)):
        _expect_shifted(learner, draw(*shape) + draw(*shape[:-1], 1) * 5)


@visible("variance")
def test_words_of_two_numbers(learner):
    """Both distances from the mean of (1, 3) are 1, so their squares have the mean 1. How many squares are there, and by how many do you divide their sum?"""
    words = torch.tensor([[[1.0, 3.0], [16.0, 0.0]]])
    expect(_norm(learner, words), torch.tensor([[[-1.0, 1.0], [1.0, -1.0]]]), "words")


@visible("variance")
def test_words_as_torch_normalises_them(learner, draw):
    """Each word is divided by a root of its own, the standard deviation of its own numbers. Over which numbers is the variance taken, and by how many is it divided?"""
    words = draw(2, 3, 7, scale=5.0)
    expect(_norm(learner, words), F.layer_norm(words, (7,)), "words")


@hidden("variance")
def test_fresh_variances(learner, reference, draw):
    """Each word has variance 1 afterwards: the mean of the squared distances, taken over its own numbers. By how many do you divide their sum?"""
    for shape in ((2, 3, 2), (5, 2, 11)):
        words = _words(draw, *shape) * 5 + draw(*shape[:-1], 1)
        expect(_norm(learner, words), _norm(reference, words), "words")


@visible("eps")
def test_distances_of_a_thousandth(learner):
    """The variance is a millionth and eps is 4, so each distance is divided by 2. Is eps added to the variance, or to its root?"""
    words = torch.tensor([[[1.0, -1.0], [-1.0, 1.0]]]) / 1000
    came = learner.layer_norm(words, torch.full((2,), 1000.0), torch.zeros(2), 4.0)
    expect(came, torch.tensor([[[0.5, -0.5], [-0.5, 0.5]]]), "words")


@visible("eps")
def test_eps_that_nobody_named(learner):
    """The distances are a hundred thousandth, and no eps is handed over. Which one does the signature promise, and is the variance anything beside it?"""
    words, gain = torch.tensor([[[1e-5, -1e-5], [-1e-5, 1e-5]]]), torch.full((2,), 1e5 * 1e-5**0.5)
    expect(learner.layer_norm(words, gain, torch.zeros(2)), torch.tensor([[[1.0, -1.0], [-1.0, 1.0]]]), "words")


@hidden("eps")
def test_fresh_words_without_an_eps(learner, reference, draw):
    """No eps is handed over. Which one does the signature promise?"""
    inputs = draw(2, 3, 5, scale=1e-5), torch.full((5,), 100.0), torch.zeros(5)
    expect(learner.layer_norm(*inputs), reference.layer_norm(*inputs), "words")


@hidden("eps")
def test_fresh_eps(learner, reference, draw):
    """eps is added to the variance, and the root is taken of the sum. Is it the eps that was handed over?"""
    for eps in (0.25, 9.0):
        inputs = draw(2, 3, 5, scale=1e-3), torch.full((5,), 1000.0), torch.zeros(5)
        expect(learner.layer_norm(*inputs, eps=eps), reference.layer_norm(*inputs, eps=eps), "words")


@visible("gain")
def test_word_of_equal_numbers_becomes_the_bias(learner):
    """Shifted to mean 0, a word of equal numbers is a word of zeros. Times gain it still is. What comes last?"""
    words = torch.tensor([[[7.0, 7.0, 7.0], [0.0, 0.0, 0.0]]])
    came = learner.layer_norm(words, torch.tensor([2.0, 3.0, 4.0]), torch.tensor([10.0, 20.0, 30.0]))
    expect(came, torch.tensor([[[10.0, 20.0, 30.0]] * 2]), "words")


@visible("gain")
def test_each_number_has_a_gain_of_its_own(learner):
    """There is a gain for each place in a word. By what is the second number of each word multiplied?"""
    words, gain = torch.tensor([[[1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]]]), torch.tensor([1.0, 2.0, 3.0, 4.0])
    came = learner.layer_norm(words, gain, torch.zeros(4))
    expect(_to_size(came), _to_size(words * gain), "words, each brought to mean square 1")


@visible("gain")
def test_gain_and_bias_stay_as_they_were(learner):
    """The next word is normalised with the same gain and the same bias. Which line of your code writes into them, or into the words?"""
    words, bias = torch.full((1, 2, 3), 7.0), torch.tensor([10.0, 20.0, 30.0])
    expect(learner.layer_norm.unchanged(words, gain=torch.tensor([2.0, 3.0, 4.0]), bias=bias), bias.repeat(1, 2, 1), "words")


@hidden("gain")
def test_fresh_gains_and_biases(learner, draw):
    """Each place of a word has a gain and a bias of its own. In which order are they applied?"""
    words, gain, bias = draw(2, 3, 5, scale=5.0), draw(5), draw(5)
    expect(_to_size(learner.layer_norm(words, gain, torch.zeros(5))), _to_size(F.layer_norm(words, (5,)) * gain), "words, each brought to mean square 1")
    expect(learner.layer_norm(torch.ones(2, 3, 5) * 4, gain, bias), bias.expand(2, 3, 5).contiguous(), "words of equal numbers")


@visible("precision")
def test_half_precision_of_hundreds(learner):
    """The largest number of 16 bits is 65504, and 300 times 300 is more. With how many bits are your squares computed?"""
    words = torch.tensor([[[300.0, -300.0, 600.0, -600.0]]], dtype=torch.float16)
    expect(_to_size(_norm(learner, words)), _to_size(words), "words, each brought to mean square 1")


@visible("precision")
def test_double_precision_stays(learner):
    """A third has no end, and 64 bits hold more of it than 32. Where does your code turn its input into something else, or lose digits on the way?"""
    words = torch.tensor([[[1.0, -2.0, 4.0, -3.0]]], dtype=torch.float64) / 3 + 0.1
    expect(_to_size(_norm(learner, words)), _to_size(words - words.mean(-1, keepdim=True)), "words, each brought to mean square 1")


@visible("precision")
def test_words_far_from_zero(learner):
    """Both words have the same distances from their means, so both come out equally large. What is left of a distance of 1, if numbers of 100 million are subtracted from each other?"""
    words = torch.tensor([[[-2.0, -1.0, 0.0, 1.0, 2.0]], [[9998.0, 9999.0, 10000.0, 10001.0, 10002.0]]])
    _expect_equal_sizes(learner, words)


@hidden("precision")
def test_fresh_precision(learner, draw):
    """The words come in 16, 32 or 64 bits, and may lie far from zero. Where are digits lost, and where is a number too large to be squared?"""
    half = (draw(2, 3, 5) * 400).half()
    half[..., 0], half[..., 1] = 900.0, -800.0
    expect(_to_size(_norm(learner, half)), _to_size(_shifted(half)), "words, each brought to mean square 1")
    double = draw(2, 3, 5, dtype=torch.float64)
    expect(_to_size(_norm(learner, double)), _to_size(_shifted(double)), "words, each brought to mean square 1")
    near = draw.integers(2, 9, 3).float()
    word = torch.cat([near, -near, torch.zeros(1)])  # its mean is exactly zero
    _expect_equal_sizes(learner, torch.stack([word, word + 8000, word - 12000])[None])


@visible("attention")
def test_attention_in_the_layer(learner, draw):
    """Three heads look at five words. How wide is one head, and which matrix comes before the scores, which after the heads are merged?"""
    x, weights = _words(draw, 1, 5, 6), _attending(draw, 6)
    expect(_layer(learner, weights, 3)(x), _by_torch(x, weights, 3), "output")


@visible("attention")
def test_as_many_words_as_numbers_in_the_layer(learner, draw):
    """There are six words of six numbers each. Which of the two axes are the words on, in all your steps?"""
    x, weights = _words(draw, 1, 6, 6), _attending(draw, 6)
    expect(_layer(learner, weights, 3)(x), _by_torch(x, weights, 3), "output")


@visible("attention")
def test_layer_for_words_in_another_order_in_memory(learner, draw):
    """Transposed words have their entries in another order in memory. Which operation of yours does not take them as they are?"""
    x, weights = _words(draw, 2, 5, 6), _attending(draw, 6)
    expect(_layer(learner, weights, 3).strided(x), _by_torch(x, weights, 3), "output")


@visible("attention")
def test_a_call_leaves_the_next_alone(learner, draw):
    """The same words come a second time. What has changed in your layer in between?"""
    layer, x = _layer(learner, _attending(draw, 6), 2), _words(draw, 2, 5, 6)
    first = layer(x)
    expect(layer(x), first, "output of the second call")


@hidden("attention")
def test_fresh_attention_in_the_layer(learner, reference, draw):
    """How wide is one head, by what are its scores divided, and which matrix comes when?"""
    # None is narrow: what three numbers have in common but their mean may be too little to be loud.
    for batch, tokens, num_heads, d_head in ((2, 3, 2, 5), (2, 3, 7, 1), (2, 3, 1, 11), (3, 3, 3, 3), (2, 10, 2, 5)):
        d_model = num_heads * d_head
        _expect_same(learner, reference, _words(draw, batch, tokens, d_model), _attending(draw, d_model), num_heads)


@visible("feed_forward")
def test_feed_forward_in_the_layer(learner, draw):
    """Attention returns zeros here, and the feed-forward network is added to the words. What happens between its two matrices, and where are b1 and b2?"""
    x, weights = _words(draw, 1, 2, 6), _thinking(draw, 6, 13)
    expect(_layer(learner, weights, 3)(x), _by_torch(x, weights, 3), "output")


@hidden("feed_forward")
def test_fresh_feed_forward_in_the_layer(learner, reference, draw):
    """Attention returns zeros here. What happens between the two matrices of the feed-forward network, and where are b1 and b2?"""
    for d_ff in (17, 5, 6):
        _expect_same(learner, reference, _words(draw, 2, 3, 6), _thinking(draw, 6, d_ff), 3)


@visible("residual")
def test_what_goes_around_attention(learner, draw):
    """Attention returns something as large as the word itself, the feed-forward network returns zeros. To what is each of them added?"""
    x, weights = _words(draw, 1, 1, 4), {**_silent(4), "w_value": draw(4, 4)}
    expect(_layer(learner, weights, 2)(x), _by_torch(x, weights, 2), "output")


@visible("residual")
def test_sublayers_that_return_zeros(learner):
    """Both sublayers return zeros, and the word has mean 0 and variance 1 already. What is zero added to?"""
    expect(_layer(learner, _silent(4), 2)(STEPS.reshape(1, 1, 4)), STEPS.reshape(1, 1, 4), "output")


@visible("residual")
def test_what_goes_around_a_quiet_feed_forward_network(learner, draw):
    """Attention returns zeros, and what the feed-forward network returns is as large as the word itself. What is added to it?"""
    x, weights = _words(draw, 1, 1, 4), {**_silent(4), **_straight(draw(4, 4))}
    expect(_layer(learner, weights, 2)(x), _by_torch(x, weights, 2), "output")


@visible("residual")
def test_words_stay_as_they_were(learner, draw):
    """Whoever called still holds the words, and may need them again. Which line of your code writes into them?"""
    x, weights = _words(draw, 1, 1, 4), {**_silent(4), "w_value": draw(4, 4)}
    expect(_layer(learner, weights, 2).unchanged(x), _by_torch(x, weights, 2), "output")


@hidden("residual")
def test_fresh_residuals(learner, reference, draw):
    """What went into a sublayer is added to what came out of it. Is that so for both, and is it what went into this one?"""
    x, silent = _words(draw, 3, 1, 10), _silent(10)
    for weights in (silent, {**silent, "w_value": draw(10, 10)}, {**silent, **_straight(draw(10, 10, scale=0.5))}):
        _expect_same(learner, reference, x, weights, 5)
    # Each word looks at all alike. Whether what they gather is an average or a sum shows beside the word only: the norm hides it.
    _expect_same(learner, reference, _words(draw, 3, 7, 10), {**silent, "w_value": draw(10, 10)}, 5)


@visible("post_norm")
def test_norm_between_the_sublayers(learner, draw):
    """Attention is so loud that everything else would drown in it, were it not brought to size at once. What does the feed-forward network get, and what is its result added to?"""
    x, weights = _words(draw, 1, 1, 4), _drowning(draw, 4)
    expect(_layer(learner, weights, 2)(x), _by_torch(x, weights, 2), "output")


@hidden("post_norm")
def test_fresh_norms_between_the_sublayers(learner, reference, draw):
    """Post-norm brings the words to size after each of the two sums. What does the feed-forward network get, and what is its result added to?"""
    _expect_same(learner, reference, _words(draw, 3, 1, 10), _drowning(draw, 10), 5)


@visible("norm_first")
def test_nothing_is_normalised_after_the_sum(learner):
    """With norm_first=True, attention returns zeros here and the feed-forward network returns 10, 0, 0, 0. What is that added to, and is anything normalised after it?"""
    weights = {**_silent(4), "b2": torch.tensor([10.0, 0.0, 0.0, 0.0])}
    came = _layer(learner, weights, 2, norm_first=True)(torch.tensor([[[1.0, 5.0, 3.0, 7.0]]]))
    expect(came, torch.tensor([[[11.0, 5.0, 3.0, 7.0]]]), "output")


@visible("norm_first")
def test_sublayers_of_pre_norm(learner, draw):
    """With norm_first=True a sublayer gets normalised words. What does each one get, and to what is its result added?"""
    x, weights = draw(1, 1, 4, scale=3.0), _twice(draw(4, 4))
    expect(_layer(learner, weights, 2, norm_first=True)(x), _by_torch(x, weights, 2, norm_first=True), "output")


@hidden("norm_first")
def test_fresh_sublayers_of_pre_norm(learner, reference, draw):
    """With norm_first=True a sublayer gets normalised words, and its result is added to the words as they were. Is that so for both, and is nothing normalised at the end?"""
    for scale in (3.0, 20.0):
        _expect_same(learner, reference, _words(draw, 3, 1, 10) * scale + draw(3, 1, 1), _twice(draw(10, 10, scale=0.5)), 5, norm_first=True)


@visible("order")
def test_attention_comes_first(learner):
    """Attention swaps the first two numbers of this word, the feed-forward network moves all by one place. Which of them has the first say?"""
    swap, move = torch.eye(4)[[1, 0, 2, 3]], torch.eye(4)[[1, 2, 3, 0]]
    expect(_layer(learner, _one_by_one(swap, move), 2)(STEPS.reshape(1, 1, 4)), (STEPS @ swap @ move).reshape(1, 1, 4), "output")


@hidden("order")
def test_fresh_order(learner, reference, draw):
    """The feed-forward network works on what attention has brought together. Which of them has the first say?"""
    _expect_same(learner, reference, _words(draw, 3, 1, 10), _one_by_one(draw(10, 10), draw(10, 10)), 5)


@visible("norms")
def test_gain_of_the_first_norm_and_bias_of_the_second(learner):
    """The first norm multiplies by 3, 1, 1, 3, the second adds 10, 20, 30, 40. Which gain and bias does each of your two norms take?"""
    weights = {**_passing(4), "gain1": torch.tensor([3.0, 1.0, 1.0, 3.0]), "bias2": torch.tensor([10.0, 20.0, 30.0, 40.0])}
    expected = torch.tensor([[[3.0, -1.0, 1.0, -3.0]]]) / 5**0.5 + weights["bias2"]
    expect(_layer(learner, weights, 2)(torch.tensor([[[1.0, -1.0, 1.0, -1.0]]])), expected, "output")


@visible("norms")
def test_bias_of_the_first_norm_and_gain_of_the_second(learner, draw):
    """The first norm adds a bias, the second multiplies by a gain. Which gain and bias does each of your two norms take?"""
    x, weights = draw(1, 1, 4), {**_passing(4), "bias1": draw(4), "gain2": draw(4)}
    expect(_layer(learner, weights, 2)(x), _by_torch(x, weights, 2), "output")


@hidden("norms")
def test_fresh_norms(learner, reference, draw):
    """There are two norms, and each has a gain and a bias of its own. Which one comes after which sublayer?"""
    for names in (("gain1", "bias2"), ("bias1", "gain2")):
        given = {name: draw(10).abs() + 2 for name in names}
        _expect_same(learner, reference, _words(draw, 3, 1, 10) * 3 + draw(3, 1, 1), {**_passing(10), **given}, 5)


@visible("mask")
def test_first_word_sees_itself_only(learner):
    """True = may look: the first word may look at itself, the second at both. What does the first one gather, and where do you hand the mask on?"""
    x = torch.tensor([[[1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]]])
    expected = torch.tensor([[[1.0, -1.0, 1.0, -1.0], [2**0.5, 0.0, 0.0, -(2**0.5)]]])
    expect(_layer(learner, _passing(4), 2)(x, torch.tensor([[True, False], [True, True]])), expected, "output")


@visible("mask")
def test_mask_for_each_sentence(learner):
    """There is a mask for each of three sentences, and two heads. Which axis of the scores has no partner in the mask, and where does it stand?"""
    words = torch.tensor([[1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]])
    mask = torch.stack([torch.eye(2).bool(), ~torch.eye(2).bool(), torch.tensor([[True, False]] * 2)])
    expected = torch.stack([words, words.flip(0), words[[0, 0]]])
    expect(_layer(learner, _passing(4), 2)(words.repeat(3, 1, 1), mask), expected, "output")


@visible("mask")
def test_visible_word_far_below_all_others(learner):
    """Each word sees its opposite only, and matches it with -200 in one head and with -20000 in the other; itself it matches as well, and may not. Which score lies below every match?"""
    x = torch.tensor([[[1.0, -1.0, 1.0, -1.0], [-1.0, 1.0, -1.0, 1.0]]])
    swap, loud = torch.eye(4)[[1, 0, 2, 3]], torch.diag(torch.tensor([150.0, 150.0, 15000.0, 15000.0]))
    weights = {**_one_by_one(swap, torch.eye(4)), "w_query": loud, "w_key": torch.eye(4)}
    expect(_layer(learner, weights, 2)(x, ~torch.eye(2).bool()), -x @ swap, "output")


@visible("mask")
def test_hidden_word_that_matches_beyond_measure(learner):
    """Each word matches itself, in one head with a number of thirty digits, and may not look at itself. Has it any part in what it gathers?"""
    words = torch.tensor([[[1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]]])
    weights = {**_passing(4), "w_query": torch.diag(torch.tensor([10.0, 10.0, 1e30, 1e30])), "w_key": torch.eye(4)}
    expect(_layer(learner, weights, 2)(words, ~torch.eye(2).bool()), words.flip(1), "output")


@visible("mask")
def test_as_many_words_as_sentences(learner):
    """There are two sentences of two words, and one mask for both. Which of its axes is which?"""
    words = torch.tensor([[1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]])
    second = torch.tensor([2**0.5, 0.0, 0.0, -(2**0.5)])
    came = _layer(learner, _passing(4), 2)(words.repeat(2, 1, 1), torch.tensor([[True, False], [True, True]]))
    expect(came, torch.stack([words[0], second]).repeat(2, 1, 1), "output")


@visible("mask")
def test_another_mask_each_time(learner):
    """One layer is called three times: with a mask, with another one, and without. What does it still know of the calls before?"""
    words, layer = torch.tensor([[1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]]), _layer(learner, _passing(4), 2)
    mean = torch.tensor([2**0.5, 0.0, 0.0, -(2**0.5)])
    itself, other = torch.eye(2).bool(), ~torch.eye(2).bool()
    for mask, expected in ((itself, words), (other, words.flip(0)), (None, torch.stack([mean, mean]))):
        expect(layer(words[None], mask), expected[None], "output")


@visible("mask")
def test_mask_stays_as_it_was(learner):
    """The next layer is handed the same mask. Which line of your code writes into it?"""
    x = STEPS.repeat(2, 3, 1)
    expect(_layer(learner, _passing(4), 2).unchanged(x, mask=torch.ones(3, 3).tril().bool()), x, "output")


@visible("mask")
def test_mask_in_another_order_in_memory(learner):
    """The mask was transposed, and has its entries in another order in memory. Which operation of yours does not take it as it is?"""
    x = torch.tensor([[[1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]]])
    expected = torch.tensor([[[1.0, -1.0, 1.0, -1.0], [2**0.5, 0.0, 0.0, -(2**0.5)]]])
    expect(_layer(learner, _passing(4), 2).strided(x, torch.tensor([[True, False], [True, True]])), expected, "output")


@hidden("mask")
def test_fresh_masks_in_another_order_in_memory(learner, reference, draw):
    """The mask was transposed, and has its entries in another order in memory. Which operation of yours does not take it as it is?"""
    x, weights = _words(draw, 1, 5, 6), _passing(6)
    for mask in (draw.mask(5, 5), draw.mask(1, 5, 5)):
        expect(_layer(learner, weights, 3).strided(x, mask), _layer(reference, weights, 3)(x, mask), "output")


@hidden("mask")
def test_fresh_words_that_changed_places(learner, reference, draw):
    """The words have changed places, and the mask went along. Do the rows of the output go along too, each as it was?"""
    x, weights, mask, order = _words(draw, 2, 5, 6), _passing(6), draw.mask(5, 5), draw(5).argsort()
    came = _layer(learner, weights, 3)(x[:, order], mask[order][:, order])
    expect(came, _layer(reference, weights, 3)(x, mask)[:, order], "output")


@hidden("mask")
def test_fresh_masks(learner, reference, draw):
    """A word gathers only from the words that it may look at, in every head. Is it right with one mask for all, with one for each sentence, and with as many sentences as heads?"""
    for batch, num_heads, shape in ((2, 3, (5, 5)), (2, 3, (2, 5, 5)), (3, 3, (3, 5, 5)), (1, 2, (1, 5, 5)), (5, 5, (5, 5))):
        d_model = 4 * num_heads
        _expect_same(learner, reference, _words(draw, batch, 5, d_model), _passing(d_model), num_heads, draw.mask(*shape))


@hidden("mask")
def test_fresh_calls_one_after_the_other(learner, reference, draw):
    """One layer is called with masks, lengths and batches that change. What does it still know of the calls before?"""
    weights = _passing(6)
    mine, other = _layer(learner, weights, 3), _layer(reference, weights, 3)
    for batch, tokens in ((2, 5), (3, 2), (5, 7), (2, 5)):
        x = _words(draw, batch, tokens, 6)
        for mask in (draw.mask(tokens, tokens), draw.mask(batch, tokens, tokens), None):
            expect(mine(x, mask), other(x, mask), "output")


@visible("dropout")
def test_everything_is_dropped(learner, draw):
    """With dropout=1.0 nothing that a sublayer returns arrives. The words have mean 0 and variance 1 already, and each norm adds 1 at the end. What is left? And what must not be dropped?"""
    x, weights = _words(draw, 1, 3, 4), {**_quiet(draw, 4, 11), "bias1": torch.ones(4), "bias2": torch.ones(4)}
    expect(_layer(learner, weights, 2, dropout=1.0)(x), x + 1, "output")


@visible("dropout")
def test_nothing_is_scaled_in_use(learner):
    """After layer.eval() the layer adds what its sublayers return, all of it and as it is. What does dropout=0.5 still do to it?"""
    x = torch.tensor([[[1.0, -1.0, 1.0, -1.0]]])
    # 1 + 2, -1 + 2, 1 - 2 and -1 - 2: STEPS before they are brought to size.
    _expect_in_use(learner, {**_silent(4), "b2": torch.tensor([2.0, 2.0, -2.0, -2.0])}, x, STEPS.reshape(1, 1, 4), dropout=0.5)


@visible("dropout")
def test_nothing_is_dropped_in_use(learner, draw):
    """The layer was put into use by layer.eval(), and still something is dropped. How does a function know that training is over?"""
    x, weights = _words(draw, 1, 3, 4), _one_by_one(draw(4, 4), -torch.eye(4))
    _expect_in_use(learner, weights, x, _by_torch(x, weights, 2), dropout=1.0)


@visible("dropout")
def test_a_quarter_is_dropped(learner):
    """Each number that the feed-forward network returns is dropped, or is divided by 1 - dropout so that sums stay as large as they were. What happens to those that stay?"""
    _expect_one_of_all(learner, torch.tensor([1.0, -1.0, 1.0, -1.0]), torch.tensor([1.0, 2.0, 4.0, 8.0]), dropout=0.25)


@hidden("dropout")
def test_fresh_dropout(learner, draw):
    """Dropout works on what each sublayer returns, in training and only then. Is it right when training goes on after a pause?"""
    x, weights = _words(draw, 2, 3, 10), _quiet(draw, 10, 7)
    layer = _layer(learner, weights, 5, dropout=1.0)
    layer.eval()
    layer(x)
    layer.train()
    expect(layer(x), x, "output")
    _expect_one_of_all(learner, _words(draw, 6)[0, 0], draw(6, scale=2.0), dropout=0.4)


@hidden("dropout")
def test_fresh_dropout_around_each_sublayer(learner, draw):
    """Two fifths of what a sublayer returns are dropped, of attention as of the network, behind a norm as before it. How many words get nothing from yours?"""
    # A sublayer adds a little to one number of each word, and the norms leave these words as they are: a word stays what it was where that number is dropped.
    x, one, silent = _words(draw, 43, 1, 10).repeat(1, 7, 1), torch.eye(10)[:1] / 100, _silent(10)
    attention = {**silent, "w_value": torch.eye(10), "w_output": draw(10, 1) @ one}
    for weights, norm_first in itertools.product((attention, {**silent, "b2": one[0]}), (False, True)):
        layer = _layer(learner, weights, 5, dropout=0.4, norm_first=norm_first)
        same_in_training = _same_words(layer(x), x)
        layer.eval()
        # Where nothing arrives in use either, other checks say so.
        if not (same_in_use := _same_words(layer(x), x)).all():
            share = same_in_training[~same_in_use].double().mean().item()
            # Of 301 words: six times as far from 0.4 as a share lies by chance.
            expect(abs(share - 0.4) < 0.17, True, "whether about two fifths of the words stay as they were")


@hidden("dropout")
def test_fresh_layers_in_use(learner, reference, draw):
    """After layer.eval() nothing is dropped and nothing is scaled. What does your layer still do?"""
    x, weights = _words(draw, 2, 3, 10), _one_by_one(draw(10, 10), -torch.eye(10))
    _expect_in_use(learner, weights, x, _layer(reference, weights, 5)(x), dropout=1.0)
    weights = {**_silent(10), "b2": draw(10)}
    _expect_in_use(learner, weights, x, _layer(reference, weights, 5)(x), dropout=0.3)


@visible("trains")
def test_gradient_goes_through_the_norm(learner, draw):
    """If a word changes, its mean and its variance change along. Does the gradient of x know that, or are they constants to your code?"""
    _expect_gradients(learner, draw, 1, 2, 3)


@visible("trains")
def test_every_parameter_learns(learner, draw):
    """A layer of this size has 4*6*6 + 2*6*13 + 13 + 6 + 4*6 = 343 numbers to learn. How does a module know that a tensor of its own is to be trained, and does a gradient find it?"""
    layer = _layer(learner, _quiet(draw, 6, 13), 3)
    expect_trained(layer.trained(draw(2, 5, 6)), 343)


@visible("trains")
def test_layer_of_64_bits(learner):
    """The layer was told to keep 64 bits, and so have the words. What of it stays behind, or comes back with fewer?"""
    layer = _layer(learner, _silent(4), 2)
    layer.double()
    came = layer(STEPS.double().reshape(1, 1, 4))
    expect(getattr(came, "dtype", None) == torch.float64, True, "whether the output has 64 bits")


@visible("trains")
def test_words_can_learn_too(learner, draw):
    """Below this layer there may be another one that made the words. Does a gradient go back to it on both ways, around the sublayers and through them?"""
    _expect_gradients_of_words(learner, draw, 2, 4)


@hidden("trains")
def test_every_parameter_of_a_fresh_layer_learns(learner, reference, draw):
    """Every number of the layer must be trained, and nothing else. Which of them does the gradient not reach?"""
    _expect_gradients(learner, draw, 3, 2, 7)
    for num_heads, d_model, d_ff in ((2, 10, 7), (1, 3, 11)):
        count = 4 * d_model**2 + 2 * d_model * d_ff + d_ff + 5 * d_model
        # Norms that are like any other, for after a step they are; and an output of the network that no ReLU in a wrong place makes 0.
        norms = {name: draw(d_model) for name in ("gain1", "bias1", "gain2", "bias2")}
        weights = {**_quiet(draw, d_model, d_ff), **norms, "b2": draw(d_model).abs() + 1}
        layer, true = Anew(_layer, learner, weights, num_heads), Anew(_layer, reference, weights, num_heads)
        expect_learning(layer, count, draw(2, 5, d_model), draw=draw, true=true)


@hidden("trains")
def test_fresh_words_can_learn_too(learner, reference, draw):
    """Below this layer there may be another one that made the words. Does a gradient go back to it on both ways, around the sublayers and through them?"""
    _expect_gradients_of_words(learner, draw, 5, 10)
    weights = _quiet(draw, 10, 7)
    layer, true = Anew(_layer, learner, weights, 5), Anew(_layer, reference, weights, 5)
    expect_gradients(layer, ["x"], _words(draw, 2, 3, 10), draw=draw, true=true)


@visible("device")
def test_layer_on_another_device(learner, draw):
    """The layer was moved to another device, such as a GPU, and so were words and mask. Which tensor did not move along, or is made on the CPU?"""
    x, mask = draw(2, 5, 6), torch.ones(5, 5, dtype=torch.bool).tril()
    for masks, more in (((), {}), ((mask,), {"norm_first": True}), ((mask,), {"dropout": 0.5})):
        expect_device(learner, lambda there: there.EncoderLayer(6, 3, 13, **more)(x, *masks), (2, 5, 6))


@gpu
@hidden("mask")
def test_layer_on_the_gpu(learner, reference, draw):
    """The layer is moved to the GPU. Which of its tensors does not move along?"""
    x, mask, weights = _words(draw, 2, 5, 6), draw.mask(2, 5, 5), _quiet(draw, 6, 13)
    expect(_layer(learner.on("cuda"), weights, 3)(x, mask), _layer(reference, weights, 3)(x, mask), "output")


def _norm(learner, words):
    """Return the words after a norm that adds nothing of its own."""
    d_model = words.shape[-1]
    return learner.layer_norm(words, torch.ones(d_model, dtype=words.dtype), torch.zeros(d_model, dtype=words.dtype))


def _shifted(words):
    return (words.double() - words.double().mean(-1, keepdim=True)).to(words.dtype)


def _to_size(words):
    """Return the words with a mean square of 1: which direction they have, however large they came out."""
    exact = words.double()
    return (exact / exact.square().mean(-1, keepdim=True).sqrt()).to(words.dtype)


def _expect_shifted(learner, words) -> None:
    came = _norm(learner, words)
    if getattr(came, "shape", None) != words.shape:
        expect(came, _shifted(words), "words")
    expect(came.mean(-1), torch.zeros(words.shape[:-1]), "mean of each word")
    expect(_to_size(came), _to_size(_shifted(words)), "words, each brought to mean square 1")


def _expect_equal_sizes(learner, words) -> None:
    sizes = _norm(learner, words).double().square().mean(-1).sqrt().flatten()
    # To two decimals: torch's own norm, too, loses some digits so far from zero, and a difference of squares all of them.
    with known_by("sizes that differ"):
        expect((sizes / sizes[0]).half(), torch.ones(len(sizes)).half(), "size of each word, compared with the first")


def _words(draw, *shape):
    """Return words that have mean 0 and variance 1 already, always with three axes."""
    words = draw(*(1,) * (3 - len(shape)), *shape)
    return F.layer_norm(words, words.shape[-1:], eps=0.0)


def _silent(d_model: int) -> dict:
    """Return parameters with which both sublayers return zeros, and both norms add nothing."""
    square, d_ff = torch.zeros(d_model, d_model), 2 * d_model + 1
    attention = {"w_query": square, "w_key": square, "w_value": square, "w_output": torch.eye(d_model)}
    network = {"w1": torch.zeros(d_model, d_ff), "b1": torch.zeros(d_ff), "w2": torch.zeros(d_ff, d_model), "b2": torch.zeros(d_model)}
    norms = {"gain1": torch.ones(d_model), "bias1": torch.zeros(d_model), "gain2": torch.ones(d_model), "bias2": torch.zeros(d_model)}
    return {**attention, **network, **norms}


def _one_by_one(first, second) -> dict:
    """Return parameters with which attention applies one matrix, loudly, and the network another, more loudly.

    Each word looks at all alike. Of the hidden units half get the words and half their opposite,
    so that a ReLU loses nothing.
    """
    d_model = len(first)
    w1 = torch.cat([torch.eye(d_model), -torch.eye(d_model), torch.zeros(d_model, 1)], dim=1)
    w2 = torch.cat([second, -second, torch.zeros(1, d_model)])
    return {**_silent(d_model), "w_value": first, "w_output": torch.eye(d_model) * LOUD, "w1": w1, "w2": w2 * LOUD**2}


def _passing(d_model: int) -> dict:
    """Return parameters with which both sublayers hand on what they get, loudly."""
    return _one_by_one(torch.eye(d_model), torch.eye(d_model))


def _straight(matrix, shift=0.0, volume: float = 1.0) -> dict:
    """Return a network that applies a matrix and adds a shift: its hidden units never come near zero."""
    d_model = len(matrix)
    rest = d_model + 1, d_model
    return {
        "w1": torch.cat([torch.eye(d_model), torch.zeros(rest).T], dim=1),
        "b1": torch.full((2 * d_model + 1,), FAR),
        "w2": torch.cat([matrix, torch.zeros(rest)]) * volume,
        "b2": (shift - FAR * matrix.sum(0)) * volume,
    }


def _twice(matrix) -> dict:
    """Return parameters with which both sublayers do the same, so that their order does not matter."""
    return {**_silent(len(matrix)), "w_value": matrix, **_straight(matrix)}


def _drowning(draw, d_model: int) -> dict:
    """Return parameters with which attention hands on its words, far more loudly than a loud network answers."""
    network = _straight(draw(d_model, d_model), shift=draw(d_model), volume=LOUD)
    return {**_silent(d_model), "w_value": torch.eye(d_model), "w_output": torch.eye(d_model) * LOUD**2, **network}


def _attending(draw, d_model: int) -> dict:
    """Return parameters for attention like any other, only loud, and a network that hands on what it gets."""
    drawn = {name: draw(d_model, d_model, scale=0.5) for name in ("w_query", "w_key", "w_value", "w_output")}
    return {**_passing(d_model), **drawn, "w_output": drawn["w_output"] * LOUD}


def _thinking(draw, d_model: int, d_ff: int) -> dict:
    """Return parameters for a network like any other, behind an attention that returns zeros."""
    return {**_silent(d_model), "w1": draw(d_model, d_ff), "b1": draw(d_ff), "w2": draw(d_ff, d_model), "b2": draw(d_model)}


def _quiet(draw, d_model: int, d_ff: int) -> dict:
    """Return parameters of an ordinary layer, all different, whose norms keep their words as they are on average."""
    silent = _silent(d_model)
    attention = {name: draw(d_model, d_model, scale=0.5) for name in ("w_query", "w_key", "w_value", "w_output")}
    return {**silent, **_thinking(draw, d_model, d_ff), **attention}


def _layer(learner, weights: dict, num_heads: int, **more):
    d_model, d_ff = weights["w1"].shape
    layer = learner.EncoderLayer.later(d_model=d_model, num_heads=num_heads, d_ff=d_ff, **more)
    learner.set_weights.later(layer, **weights)
    return layer


def _expect_same(learner, reference, x, weights: dict, num_heads: int, mask=None, **more) -> None:
    masks = [] if mask is None else [mask]
    mine, other = (_layer(one, weights, num_heads, **more) for one in (learner, reference))
    expect(mine(x, *masks), other(x, *masks), "output")


def _by_torch(x, weights: dict, num_heads: int, norm_first: bool = False):
    """Return what torch's own layer makes of x, without a mask."""
    d_model, d_ff = weights["w1"].shape
    layer = nn.TransformerEncoderLayer(d_model, num_heads, d_ff, dropout=0.0, batch_first=True, norm_first=norm_first)
    packed = torch.cat([weights["w_query"], weights["w_key"], weights["w_value"]], dim=1)
    of = layer.self_attn
    with torch.no_grad():
        for parameter in (of.in_proj_bias, of.out_proj.bias):
            parameter.zero_()
        for linear, matrix in ((of.out_proj, "w_output"), (layer.linear1, "w1"), (layer.linear2, "w2")):
            linear.weight.copy_(weights[matrix].T)
        of.in_proj_weight.copy_(packed.T)
        layer.linear1.bias.copy_(weights["b1"])
        layer.linear2.bias.copy_(weights["b2"])
        for norm, number in ((layer.norm1, 1), (layer.norm2, 2)):
            norm.weight.copy_(weights[f"gain{number}"])
            norm.bias.copy_(weights[f"bias{number}"])
        return layer(x)


def _expect_one_of_all(learner, word, shift, dropout: float) -> None:
    """Expect of nine words that each is one that can come out if numbers of `shift` are dropped before it is added."""
    d_model = len(word)
    came = _layer(learner, {**_silent(d_model), "b2": shift}, 2, dropout=dropout)(word.repeat(1, 9, 1))
    kept = torch.tensor(list(itertools.product([0.0, 1.0], repeat=d_model)))
    possible = F.layer_norm(word + kept * shift / (1 - dropout), (d_model,))
    if came.shape != (1, 9, d_model):
        expect(came, word.repeat(1, 9, 1), "output")
    nearest = (came[0, :, None] - possible).abs().amax(-1).nan_to_num(9.0).argmin(-1)
    expect(came, possible[nearest][None], "output, compared with the nearest of all that could be")


def _same_words(came, x):
    """Return for each word whether it is what it was; none is, where something else came than words."""
    return (came - x).abs().amax(-1) < 1e-4 if getattr(came, "shape", None) == x.shape else torch.zeros(x.shape[:-1]).bool()


def _expect_in_use(learner, weights: dict, x, expected, dropout: float) -> None:
    layer = _layer(learner, weights, 2 if x.shape[-1] == 4 else 5, dropout=dropout)
    layer.eval()
    expect(layer(x), expected, "output")


def _expect_gradients(learner, draw, *shape: int) -> None:
    d_model = shape[-1]
    inputs = {"x": draw(*shape, scale=5.0), "gain": draw(d_model)}
    bias = torch.zeros(d_model)
    against = draw(*shape)
    came = learner.layer_norm.gradients(**inputs, bias=bias, eps=0.0, wrt=list(inputs), against=against)
    leaves = [tensor.clone().requires_grad_() for tensor in inputs.values()]
    output = F.layer_norm(leaves[0], (d_model,), leaves[1], bias, 0.0)
    for name, mine, wanted in zip(inputs, came, torch.autograd.grad((output * against).sum(), leaves)):
        expect(_direction(mine, wanted), _to_size(wanted.flatten()), f"gradient of {name}, brought to mean square 1")


def _direction(gradient, wanted):
    """Return a gradient with a mean square of 1; zeros, where it is nothing beside the one that is wanted: its direction would be that of rounding errors."""
    if gradient is None:
        return None
    is_nothing = gradient.double().norm() < 1e-4 * wanted.double().norm()
    return torch.zeros(gradient.numel()) if is_nothing else _to_size(gradient.flatten())


def _expect_gradients_of_words(learner, draw, num_heads: int, d_model: int) -> None:
    """Expect a gradient at the words where both sublayers return zeros, and where they drown what goes around them."""
    bias, ways = draw(d_model), []
    for weights in (_silent(d_model), _passing(d_model)):
        layer, words = _layer(learner, {**weights, "bias1": bias, "bias2": bias}, num_heads), _words(draw, 2, 3, d_model)
        (came,) = layer.gradients(x=words, wrt=["x"], against=draw(*words.shape))
        ways.append(came is not None and bool(came.abs().amax() > 1e-3))
    learns, reached = _layer(learner, _quiet(draw, d_model, 7), num_heads).trained(_words(draw, 2, 3, d_model))
    what = "whether a gradient reaches all parameters, the words around the sublayers, and the words through them"
    expect((reached == learns, *ways), (True, True, True), what)
