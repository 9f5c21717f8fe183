"""Tests of single_head. A docstring is the question that a learner reads when the test fails.

Where the scale is not the question, queries and keys are one number wide: the square root of 1
is 1, so one mistake in the scale costs one check. Where the weights are not the question, they are
seen through the output.
"""
import math

import torch
from torch.nn import functional as F

from autograder.kit import Anew, expect, expect_device, expect_gradients, expect_learning, expect_trained, gpu, hidden, visible

NEAREST = torch.tensor([1.0, 2.0, 3.0]).log()  # scores whose weights are 1/6, 2/6 and 3/6


@visible("softmax")
def test_weights_of_three_scores(learner):
    """Every weight is a share of its row, also where there is one row only. What do the shares of a row add up to?"""
    expect(learner.softmax(NEAREST), torch.tensor([1.0, 2.0, 3.0]) / 6, "weights")


@visible("softmax")
def test_weights_of_two_rows(learner):
    """Every row is divided by a sum of its own. Along which axis do the shares of one row lie?"""
    scores = torch.stack([NEAREST, NEAREST.flip(0)])
    expect(learner.softmax(scores), torch.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]) / 6, "weights")


@visible("softmax")
def test_weights_of_a_batch(learner, draw):
    """The last axis holds the keys, however many axes come before it. Which axis is summed over?"""
    scores = draw(2, 3, 5)
    expect(learner.softmax(scores), torch.softmax(scores, -1), "weights")


@visible("softmax")
def test_scores_stay_as_they_were(learner, draw):
    """Whoever called still holds the scores, and may need them. Which line of your code writes into them?"""
    scores = draw(3, 5)
    expect(learner.softmax.unchanged(scores), torch.softmax(scores, -1), "weights")


@visible("softmax")
def test_scores_in_another_order_in_memory(learner, draw):
    """A transposed tensor has its entries in another order in memory. Which operation of yours does not take it as it is?"""
    scores = draw(2, 3, 5)
    expect(learner.softmax.strided(scores), torch.softmax(scores, -1), "weights")


@hidden("softmax")
def test_softmax_on_fresh_scores(learner, reference, draw):
    """Every weight is a share of its row. What do the shares of one row add up to, and along which axis do they lie?"""
    for shape in ((7,), (3, 5), (2, 5, 3, 7)):
        scores = draw(*shape, scale=2.0)
        expect(learner.softmax(scores), reference.softmax(scores), "weights")


@visible("stable")
def test_scores_of_a_thousand(learner):
    """exp(1001) is too large for any float. Which number can be taken from a whole row of scores without changing its weights?"""
    scores = torch.tensor([[1000.0, 1001.0], [-1000.0, -1001.0]])
    one, other = torch.softmax(torch.tensor([0.0, 1.0]), 0)
    expect(learner.softmax(scores), torch.stack([one, other, other, one]).reshape(2, 2), "weights", size=1001.0)


@hidden("stable")
def test_fresh_scores_of_any_size(learner, reference, draw):
    """exp(1001) is too large for any float. Which number can be taken from a whole row of scores without changing its weights?"""
    # In 64 bits: near 4000, neighbours in 32 bits lie so far apart that right answers disagree.
    scores = draw(5, 7, dtype=torch.float64) + torch.tensor([-3000.0, -800.0, 0.0, 800.0, 4000.0])[:, None]
    expect(learner.softmax(scores), reference.softmax(scores), "weights")


@visible("nothing_to_see")
def test_row_of_minus_infinity(learner):
    """In the second row there is nothing to choose from. What is 0 / 0 there, and what should stand in its place?"""
    scores = torch.tensor([[0.0, -math.inf], [-math.inf, -math.inf]])
    expect(learner.softmax(scores), torch.tensor([[1.0, 0.0], [0.0, 0.0]]), "weights")


@hidden("nothing_to_see")
def test_fresh_rows_of_minus_infinity(learner, reference, draw):
    """Some rows hold nothing but -inf. What is 0 / 0 there, and what should stand in its place?"""
    scores = draw(3, 5, 7).masked_fill(~draw.mask(3, 5, 7, blind=2), -math.inf)
    expect(learner.softmax(scores), reference.softmax(scores), "weights")


@visible("scale")
def test_matches_of_four_and_eight(learner):
    """Matches of 4 and 8 must reach softmax as scores of 2 and 4, for d_k is 4. What is the square root of d_k for?"""
    query = torch.tensor([[2.0, 0.0, 0.0, 0.0], [0.0, 4.0, 0.0, 0.0]])
    key = torch.tensor([[2.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]])
    # Each value has a 1 in a column of its own, so the output shows the weights.
    output, _ = learner.scaled_dot_product_attention.pair(query, key, torch.eye(2, 3))
    expect(output, torch.softmax(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), -1) @ torch.eye(2, 3), "output")


@hidden("scale")
def test_scale_for_fresh_widths(learner, reference, draw):
    """The scores are as wide apart as they should be only if they are divided by the right number. Which width does it come from?"""
    for d_k in (2, 11):
        query, key, value = draw(3, d_k), draw(5, d_k), draw(5, 7)
        output, _ = learner.scaled_dot_product_attention.pair(query, key, value)
        expect(output, reference.scaled_dot_product_attention(query, key, value)[0], "output")


@hidden("scale")
def test_scale_where_all_sizes_agree(learner, reference, draw):
    """There are as many queries as keys, and all are as wide as the values. Which number is the scale made of, and does anything else depend on sizes?"""
    query, key, value = draw(3, 3), draw(3, 3), draw(3, 3)
    output, _ = learner.scaled_dot_product_attention.pair(query, key, value)
    expect(output, reference.scaled_dot_product_attention(query, key, value)[0], "output")


@visible("weights")
def test_weights_of_each_query_add_up_to_one(learner):
    """The weights come second, and each query shares out one whole among the keys. Do the rows of what came add up to 1?"""
    query, key = torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([[1.0], [-1.0]])
    _, weights = learner.scaled_dot_product_attention.pair(query, key, torch.eye(2))
    expect(weights, torch.softmax(query @ key.T, -1), "weights")


@hidden("weights")
def test_fresh_weights(learner, reference, draw):
    """The weights come second, one row for each query. Are they the weights after softmax, and do their rows add up to 1?"""
    query, key, value = draw(5, 1), draw(7, 1), draw(7, 3)
    _, weights = learner.scaled_dot_product_attention.pair(query, key, value)
    expect(weights, reference.scaled_dot_product_attention(query, key, value)[1], "weights")


@visible("output")
def test_output_is_the_average_of_the_values(learner):
    """One key matches as well as the other, so the output lies halfway between their values. What is averaged, and by what?"""
    query, key = torch.tensor([[1.0]]), torch.tensor([[3.0], [3.0]])
    value = torch.tensor([[0.0, 10.0], [4.0, 20.0]])
    output, _ = learner.scaled_dot_product_attention.pair(query, key, value)
    expect(output, torch.tensor([[2.0, 15.0]]), "output")


@hidden("output")
def test_fresh_outputs(learner, reference, draw):
    """The output has a row for each query, also for a single one: an average of the values. What is averaged, and by what?"""
    for queries, keys in ((1, 5), (5, 3), (2, 1)):
        query, key, value = draw(queries, 1), draw(keys, 1), draw(keys, 7)
        output, _ = learner.scaled_dot_product_attention.pair(query, key, value)
        expect(output, reference.scaled_dot_product_attention(query, key, value)[0], "output")


@visible("output")
def test_output_for_matches_of_one_and_three_thousand(learner):
    """The matches are 1000 and 3000, and their powers of e too large for any float. Does your attention take its weights from your softmax?"""
    query, key, value = torch.tensor([[100.0]]), torch.tensor([[10.0], [30.0]]), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    output, _ = learner.scaled_dot_product_attention.pair(query, key, value)
    expect(output, torch.tensor([[3.0, 4.0]]), "output")


@hidden("output")
def test_output_for_matches_of_thousands(learner, reference, draw):
    """The matches are in the thousands, and their powers of e too large for any float. Does your attention take its weights from your softmax?"""
    # So far apart that rounding cannot matter: the second key gets everything.
    query, key, value = draw(1, 1).abs() + 100, torch.tensor([[10.0], [30.0], [20.0], [0.0], [-10.0]]), draw(5, 7)
    output, _ = learner.scaled_dot_product_attention.pair(query, key, value)
    expect(output, reference.scaled_dot_product_attention(query, key, value)[0], "output")


@visible("batch")
def test_two_axes_before_the_last_two(learner, draw):
    """Only the last two axes take part; the others are carried along. Which axes does your code swap, by what number?"""
    query, key, value = draw(2, 3, 7, 1), draw(2, 3, 11, 1), draw(2, 3, 11, 5)
    output, weights = learner.scaled_dot_product_attention.pair(query, key, value)
    expect(output, F.scaled_dot_product_attention(query, key, value), "output")
    expect(tuple(weights.shape), (2, 3, 7, 11), "shape of the weights")


@visible("batch")
def test_inputs_in_another_order_in_memory(learner, draw):
    """Transposed tensors have their entries in another order in memory. Which operation of yours does not take them as they are?"""
    query, key, value = draw(2, 3, 7, 1), draw(2, 3, 11, 1), draw(2, 3, 11, 5)
    output, _ = learner.scaled_dot_product_attention.strided(query, key, value)
    expect(output, F.scaled_dot_product_attention(query, key, value), "output")


@hidden("batch")
def test_fresh_batches(learner, reference, draw):
    """Only the last two axes take part; the others are carried along. Which axes does your code swap, by what number?"""
    for batch in ((3,), (2, 5), (2, 3, 5), ()):
        query, key, value = draw(*batch, 7, 1), draw(*batch, 11, 1), draw(*batch, 11, 13)
        output, weights = learner.scaled_dot_product_attention.pair(query, key, value)
        expect(output, reference.scaled_dot_product_attention(query, key, value)[0], "output")
        expect(tuple(weights.shape), (*batch, 7, 11), "shape of the weights")


@visible("mask")
def test_hidden_key_weighs_nothing(learner):
    """The mask is True where a query may look, and the weights that are left must add up to 1. When is the mask to be applied?"""
    query, key, mask = torch.ones(2, 1), NEAREST[:, None], torch.tensor([[True, False, True], [False, True, True]])
    # Without a mask the shares would be 1, 2 and 3 of 6. With a 1 in each value the output shows them.
    output, _ = learner.scaled_dot_product_attention.pair(query, key, torch.eye(3), mask)
    expect(output, torch.tensor([[1 / 4, 0.0, 3 / 4], [0.0, 2 / 5, 3 / 5]]), "output")


@visible("mask")
def test_mask_of_a_batch(learner, draw):
    """One mask of queries and keys holds for every sentence of the batch. Does it line up with the last two axes?"""
    query, key, value, mask = draw(2, 3, 1), draw(2, 5, 1), draw(2, 5, 7), draw.mask(3, 5)
    output, _ = learner.scaled_dot_product_attention.pair(query, key, value, mask)
    expect(output, F.scaled_dot_product_attention(query, key, value, mask), "output")


@visible("mask")
def test_visible_key_that_matches_badly(learner):
    """The first key may be seen and matches with -200 and with -20000, the second with 0 and is hidden. Which score lies below every match?"""
    query, key, mask = torch.tensor([[1.0], [100.0]]), torch.tensor([[-200.0], [0.0]]), torch.tensor([[True, False]] * 2)
    output, _ = learner.scaled_dot_product_attention.pair(query, key, torch.tensor([[1.0, 2.0], [50.0, 60.0]]), mask)
    expect(output, torch.tensor([[1.0, 2.0]] * 2), "output")


@visible("mask")
def test_hidden_key_that_matches_beyond_measure(learner):
    """The second key is hidden, and matches with a number of thirty digits. Has it any part in the output?"""
    query, key, mask = torch.ones(2, 1), torch.tensor([[1.0], [1e30]]), torch.tensor([[True, False]] * 2)
    output, _ = learner.scaled_dot_product_attention.pair(query, key, torch.tensor([[1.0, 2.0], [50.0, 60.0]]), mask)
    expect(output, torch.tensor([[1.0, 2.0]] * 2), "output")


@visible("mask")
def test_as_many_queries_as_sentences(learner, draw):
    """Three sentences have three queries and three keys each, and one mask holds for all. Which of its axes is which?"""
    query, key, value = torch.zeros(3, 3, 1), torch.zeros(3, 3, 1), draw(3, 3, 3)
    mask = torch.tensor([[True, False, False], [False, True, True], [True, False, True]])
    output, _ = learner.scaled_dot_product_attention.pair(query, key, value, mask)
    expect(output, F.scaled_dot_product_attention(query, key, value, mask), "output")


@visible("mask")
def test_inputs_stay_as_they_were(learner, draw):
    """The next layer is handed the same mask, and may need queries, keys and values again. Which line of your code writes into one of them?"""
    inputs = {"query": draw(2, 3, 1), "key": draw(2, 5, 1), "value": draw(2, 5, 7), "mask": draw.mask(2, 3, 5)}
    output, _ = learner.scaled_dot_product_attention.unchanged(**inputs)
    expect(output, F.scaled_dot_product_attention(*inputs.values()), "output")


@visible("mask")
def test_mask_in_another_order_in_memory(learner):
    """The mask was transposed, and has its entries in another order in memory. Which operation of yours does not take it as it is?"""
    query, key, value = torch.ones(2, 1), torch.ones(3, 1), torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    mask = torch.tensor([[True, False, True], [False, True, True]])
    output, _ = learner.scaled_dot_product_attention.strided(query, key, value, mask)
    expect(output, torch.tensor([[3.0, 4.0], [4.0, 5.0]]), "output")


@hidden("mask")
def test_fresh_masks_in_another_order_in_memory(learner, reference, draw):
    """The mask was transposed, and has its entries in another order in memory. Which operation of yours does not take it as it is?"""
    for queries, keys in ((5, 7), (3, 3)):
        query, key, value, mask = draw(queries, 1), draw(keys, 1), draw(keys, 2), draw.mask(queries, keys)
        output, _ = learner.scaled_dot_product_attention.strided(query, key, value, mask)
        expect(output, reference.scaled_dot_product_attention(query, key, value, mask)[0], "output")


@hidden("mask")
def test_fresh_keys_and_queries_in_another_order(learner, reference, draw):
    """Keys have changed places together with their values, and queries among themselves; the mask went along. What in your code depends on a place?"""
    query, key, value, mask = draw(2, 5, 1), draw(2, 7, 1), draw(2, 7, 3), draw.mask(2, 5, 7)
    queries, keys = draw(5).argsort(), draw(7).argsort()
    output, _ = learner.scaled_dot_product_attention.pair(query[:, queries], key[:, keys], value[:, keys], mask[:, queries][..., keys])
    expect(output, reference.scaled_dot_product_attention(query, key, value, mask)[0][:, queries], "output")


@hidden("mask")
def test_fresh_hidden_keys_that_match_well(learner, reference, draw):
    """The one key that may be seen matches far worse than those that are hidden. Which score lies below every match?"""
    query, key, value = draw(2, 5, 1).abs() + 100, draw(2, 7, 1), draw(2, 7, 3)
    mask = torch.zeros(2, 5, 7, dtype=torch.bool)
    for sentence, seen in enumerate(draw.integers(0, 7, 2).tolist()):
        mask[sentence, :, seen], key[sentence, seen], key[sentence, seen - 1] = True, -1000.0, 1e30
        value[sentence, seen - 2] = 1e30  # of which a hidden key hands on nothing
    output, _ = learner.scaled_dot_product_attention.pair(query, key, value, mask)
    expect(output, reference.scaled_dot_product_attention(query, key, value, mask)[0], "output")


@hidden("mask")
def test_fresh_masks_where_all_sizes_agree(learner, reference, draw):
    """There are as many sentences as queries and keys, and one mask for all of them. Which of its axes is which?"""
    query, key, value = draw(5, 5, 1), draw(5, 5, 1), draw(5, 5, 5)
    for mask in (draw.mask(5, 5), draw.mask(5, 1, 5), draw.mask(1, 5)):
        output, _ = learner.scaled_dot_product_attention.pair(query, key, value, mask)
        expect(output, reference.scaled_dot_product_attention(query, key, value, mask)[0], "output")


@hidden("mask")
def test_fresh_masks(learner, reference, draw):
    """A key that may not be seen weighs nothing, and the others share the whole. When is the mask to be applied, and does it line up with queries and keys?"""
    query, key, value = draw(5, 3, 1), draw(5, 7, 1), draw(5, 7, 2)
    for mask in (draw.mask(5, 3, 7), draw.mask(3, 7), draw.mask(5, 1, 7)):
        output, _ = learner.scaled_dot_product_attention.pair(query, key, value, mask)
        expect(output, reference.scaled_dot_product_attention(query, key, value, mask)[0], "output")
    alone = query[0], key[0], value[0]
    for mask in (draw.mask(1, 7), torch.ones(3, 1, dtype=torch.bool)):
        output, _ = learner.scaled_dot_product_attention.pair(*alone, mask)
        expect(output, reference.scaled_dot_product_attention(*alone, mask)[0], "output")


@visible("blind_row")
def test_query_that_sees_nothing(learner):
    """The second query may look at nothing. Has it anything to average? What should stand in its rows?"""
    mask = torch.tensor([[True, True], [False, False]])
    # The first query matches the second key so badly that the first key gets everything.
    query, key, value = torch.tensor([[100.0], [1.0]]), torch.tensor([[0.0], [-1.0]]), torch.tensor([[3.0, 5.0], [7.0, 9.0]])
    output, weights = learner.scaled_dot_product_attention.pair(query, key, value, mask)
    expect(output, torch.tensor([[3.0, 5.0], [0.0, 0.0]]), "output")
    expect(weights, torch.tensor([[1.0, 0.0], [0.0, 0.0]]), "weights")


@hidden("blind_row")
def test_fresh_blind_rows(learner, reference, draw):
    """Some queries may look at nothing, the others everywhere. Have the former anything to average?"""
    query, key, value = draw(2, 3, 1), draw(2, 5, 1), draw(2, 5, 7)
    mask = draw.mask(2, 3)[..., None].expand(2, 3, 5)
    output, _ = learner.scaled_dot_product_attention.pair(query, key, value, mask)
    expect(output, reference.scaled_dot_product_attention(query, key, value, mask)[0], "output")


@hidden("blind_row")
def test_weights_where_nobody_sees(learner, draw):
    """Here no query may look at anything. What does each of them give to every key?"""
    query, key, value = draw(2, 3, 1), draw(2, 5, 1), draw(2, 5, 7)
    output, weights = learner.scaled_dot_product_attention.pair(query, key, value, torch.zeros(2, 3, 5, dtype=torch.bool))
    expect(output, torch.zeros(2, 3, 7), "output")
    expect(weights, torch.zeros(2, 3, 5), "weights")


@visible("dtype")
def test_double_precision_stays(learner, draw):
    """The inputs have 64 bits. Where does your code turn them into something else, or lose digits on the way?"""
    query, key, value = (draw(*shape, dtype=torch.float64) for shape in ((3, 1), (5, 1), (5, 2)))
    output, _ = learner.scaled_dot_product_attention.pair(query, key, value)
    expect(output, F.scaled_dot_product_attention(query, key, value), "output")


@visible("dtype")
def test_half_precision_with_a_mask(learner):
    """The inputs have 16 bits, and the largest of their numbers is 65504. Does your code put a number into them that they can't hold?"""
    # Both keys match alike and have the same value, so it does not matter here which of them is hidden.
    query, key, mask = torch.ones(3, 1).half(), torch.ones(2, 1).half(), torch.tensor([[True, False]] * 3)
    output, weights = learner.scaled_dot_product_attention.pair(query, key, torch.tensor([[3.0, 5.0]] * 2).half(), mask)
    expect(output, torch.tensor([[3.0, 5.0]] * 3).half(), "output")
    expect(str(weights.dtype), "torch.float16", "dtype of the weights")


@hidden("dtype")
def test_fresh_double_precision(learner, reference, draw):
    """The inputs have 64 bits. Where does your code turn them into something else, or lose digits on the way?"""
    query, key, value = (draw(*shape, dtype=torch.float64) for shape in ((2, 7, 1), (2, 5, 1), (2, 5, 3)))
    output, weights = learner.scaled_dot_product_attention.pair(query, key, value)
    expect(output, reference.scaled_dot_product_attention(query, key, value)[0], "output")
    expect(str(weights.dtype), "torch.float64", "dtype of the weights")


@hidden("dtype")
def test_fresh_half_precision(learner, reference, draw):
    """The inputs have 16 bits. Where does your code turn them into something else, or put a number into them that they can't hold?"""
    query, key, value = (draw(*shape, scale=0.5).half() for shape in ((2, 7, 1), (2, 5, 1), (2, 5, 3)))
    output, weights = learner.scaled_dot_product_attention.pair(query, key, value)
    expect(output, reference.scaled_dot_product_attention(query, key, value)[0], "output")
    expect(str(weights.dtype), "torch.float16", "dtype of the weights")
    alike, only = torch.ones(2, 5, 1).half(), draw(2, 1, 3).half().expand(2, 5, 3).contiguous()
    output, _ = learner.scaled_dot_product_attention.pair(query, alike, only, draw.mask(2, 7, 5))
    expect(output, only[:, :1].expand(2, 7, 3).contiguous(), "output")


@visible("gradient")
def test_gradient_reaches_every_input(learner, draw):
    """Training needs a gradient at query, key and value. Where does your code leave the graph that autograd follows?"""
    _expect_gradients(learner.scaled_dot_product_attention, draw, _right, draw(3, 1), draw(5, 1), draw(5, 2), strict=True)


@visible("gradient")
def test_gradient_of_a_query_that_sees_nothing(learner, draw):
    """The second query sees nothing, and not-a-number in its row would spoil every weight in training. Where does 0 / 0 hide, if the output looks right?"""
    mask = torch.tensor([[True, True, False], [False, False, False]])
    _expect_gradients(learner.scaled_dot_product_attention, draw, _right, draw(2, 1), draw(3, 1), draw(3, 5), mask)


@hidden("gradient")
def test_fresh_gradients(learner, reference, draw):
    """Training needs a gradient at query, key and value. Where does your code leave the graph that autograd follows?"""
    attend, right = learner.scaled_dot_product_attention, reference.scaled_dot_product_attention
    _expect_gradients(attend, draw, right, draw(2, 5, 1), draw(2, 7, 1), draw(2, 7, 3), strict=True)


@hidden("gradient")
def test_fresh_gradients_of_blind_rows(learner, reference, draw):
    """Some queries see nothing, and not-a-number in their rows would spoil every weight in training. Where does 0 / 0 hide, if the output looks right?"""
    attend, right = learner.scaled_dot_product_attention, reference.scaled_dot_product_attention
    _expect_gradients(attend, draw, right, draw(2, 5, 1), draw(2, 7, 1), draw(2, 7, 3), draw.mask(2, 5, 7, blind=3))


def _right(*inputs):
    return F.scaled_dot_product_attention(*inputs), None


def _expect_gradients(attend, draw, right, *inputs, strict: bool = False) -> None:
    """Return None if the gradients of the output are right; the weights, which come second, are nobody's question here."""
    expect_gradients(attend, ["query", "key", "value"], *inputs, draw=draw, true=right, part=0, strict=strict)


@visible("causal")
def test_causal_mask_of_three(learner):
    """Row = query, column = key. May the first word look at the second? May a word look at itself?"""
    expect(learner.causal_mask(3), torch.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]]).bool(), "mask")


@hidden("causal")
def test_fresh_causal_masks(learner, reference, draw):
    """Row = query, column = key. May the first word look at the second? May a word look at itself?"""
    for length in (1, *draw.integers(4, 12, 2).tolist()):
        expect(learner.causal_mask(length), reference.causal_mask(length), "mask")


@visible("padding")
def test_padding_of_two_sentences(learner):
    """The first sentence has three words, the second one word. True is for words, and the middle axis has length 1. What is it for?"""
    expect(learner.padding_mask(torch.tensor([3, 1]), 4), torch.tensor([[[1, 1, 1, 0]], [[1, 0, 0, 0]]]).bool(), "mask")


@visible("padding")
def test_padding_of_one_batch_after_the_other(learner):
    """Two batches of two sentences, one after the other. What does your code still know of the first, and does it write into the lengths?"""
    for lengths, words in (([1, 2], [[1, 0, 0], [1, 1, 0]]), ([3, 0], [[1, 1, 1], [0, 0, 0]])):
        expect(learner.padding_mask.unchanged(torch.tensor(lengths), 3), torch.tensor(words).bool()[:, None], "mask")


@hidden("padding")
def test_fresh_padding(learner, reference, draw):
    """True is for words, False for filling, also where a sentence is empty or fills its row. Where exactly does the filling begin?"""
    lengths = torch.cat([draw.integers(0, 8, 3), torch.tensor([0, 7])])
    for each in (lengths, lengths.flip(0), draw.integers(0, 8, 7)):
        expect(learner.padding_mask.unchanged(each, 7), reference.padding_mask(each, 7), "mask")


@visible("module")
def test_words_of_zeros(learner, draw):
    """Words of zeros, times any matrix, are zeros. What else does your head add to `x @ w`?"""
    expect(_head(learner, _weights(draw, 3, 1, 5))(torch.zeros(2, 3)), torch.zeros(2, 5), "output")


@visible("module")
def test_head_with_given_weights(learner, draw):
    """Queries, keys and values are three projections of the same x. Which matrix makes which, and whose width is in the scale?"""
    x, weights = draw(3, 4), _weights(draw, 4, 1, 5)
    expect(_head(learner, weights)(x), _expected_head(x, weights), "output")


@visible("module")
def test_every_word_looks_at_the_next(learner, draw):
    """All widths are 5 here, and so is the number of words. Three matrices are as large as each other: which makes which?"""
    x, weights = torch.eye(5), _next_word(draw(5, 5))
    expect(_head(learner, weights)(x), weights["w_value"].roll(-1, dims=0), "output")


@visible("module")
def test_a_call_leaves_the_next_alone(learner, draw):
    """The same words come a second time. What has changed in your head in between?"""
    head, x = _head(learner, _weights(draw, 4, 3, 5)), draw(2, 3, 4)
    first = head.unchanged(x)
    expect(head(x), first, "output of the second call")


@visible("module")
def test_words_in_another_order_in_memory(learner, draw):
    """Transposed words have their entries in another order in memory. Which operation of yours does not take them as they are?"""
    x, weights = draw(2, 3, 4), _weights(draw, 4, 1, 5)
    expect(_head(learner, weights).strided(x), _expected_head(x, weights), "output")


@visible("module")
def test_head_of_64_bits(learner):
    """The matrices have 64 bits now, and so have the words. Where do fewer come back?"""
    head = _head(learner, {"w_query": torch.eye(2, 1), "w_key": torch.eye(2, 1), "w_value": torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 3.0]])})
    head.double()
    # Both words are alike, so the output is their value.
    words = torch.tensor([[1.0, 2.0]] * 2, dtype=torch.float64)
    expect(head(words), torch.tensor([[1.0, 2.0, 8.0]] * 2, dtype=torch.float64), "output")


@hidden("module")
def test_fresh_words_in_another_order_in_memory(learner, reference, draw):
    """Transposed words have their entries in another order in memory. Which operation of yours does not take them as they are?"""
    for shape in ((5, 3), (2, 5, 3), (3, 3, 3)):
        x, weights = draw(*shape), _weights(draw, 3, 1, 7)
        expect(_head(learner, weights).strided(x), _head(reference, weights)(x), "output")


@hidden("module")
def test_fresh_heads(learner, reference, draw):
    """Queries, keys and values are three projections of the same x. Which matrix makes which, and whose width is in the scale?"""
    for batch, d_model, d_v in (((), 5, 7), ((2,), 7, 3)):
        x, weights = draw(*batch, 5, d_model), _weights(draw, d_model, 1, d_v)
        expect(_head(learner, weights)(x), _head(reference, weights)(x), "output")


@hidden("module")
def test_fresh_heads_where_all_sizes_agree(learner, reference, draw):
    """There are as many sentences as words, and all widths are the same. Three matrices are as large as each other: which makes which?"""
    weights = _next_word(draw(5, 5))
    x = torch.stack([torch.eye(5).roll(shift, dims=0) for shift in draw.integers(0, 5, 5).tolist()])
    expect(_head(learner, weights)(x), _head(reference, weights)(x), "output")


@visible("module_mask")
def test_head_with_a_mask(learner, draw):
    """The head is handed a mask. Where does it pass it on?"""
    x, weights, mask = draw(2, 3, 4), _weights(draw, 4, 1, 5), draw.mask(2, 3, 3)
    expect(_head(learner, weights)(x, mask), _expected_head(x, weights, mask), "output")


@visible("module_mask")
def test_another_mask_each_time(learner, draw):
    """One head is called three times: with a mask, with another one, and without. What does it still know of the calls before?"""
    x, weights = draw(2, 3, 4), _weights(draw, 4, 1, 5)
    head = _head(learner, weights)
    for mask in (draw.mask(2, 3, 3), draw.mask(2, 3, 3), None):
        expect(head(x, mask), _expected_head(x, weights, mask), "output")


@visible("module_mask")
def test_mask_that_others_still_need(learner, draw):
    """The mask was transposed, and the next layer is handed the same one. Which line of your head minds its order in memory, or writes into it?"""
    x, weights, mask = draw(2, 3, 4), _weights(draw, 4, 1, 5), draw.mask(2, 3, 3)
    head = _head(learner, weights)
    for call in (head.unchanged, head.strided):
        expect(call(x, mask), _expected_head(x, weights, mask), "output")


@hidden("module_mask")
def test_fresh_masks_that_others_still_need(learner, reference, draw):
    """The mask was transposed, and the next layer is handed the same one. Which line of your head minds its order in memory, or writes into it?"""
    x, weights, mask = draw(5, 5, 3), _weights(draw, 3, 1, 7), draw.mask(5, 5, 5)
    head, other = _head(learner, weights), _head(reference, weights)
    for call in (head.unchanged, head.strided):
        expect(call(x, mask), other(x, mask), "output")


@hidden("module_mask")
def test_fresh_heads_with_a_mask(learner, reference, draw):
    """The head is handed a mask. Where does it pass it on?"""
    x, weights, mask = draw(2, 5, 3), _weights(draw, 3, 1, 7), draw.mask(2, 5, 5)
    expect(_head(learner, weights)(x, mask=mask), _head(reference, weights)(x, mask), "output")


@hidden("module_mask")
def test_fresh_calls_one_after_the_other(learner, reference, draw):
    """One head is called with masks, lengths and batches that change. What does it still know of the calls before?"""
    weights = _weights(draw, 3, 1, 7)
    head, other = _head(learner, weights), _head(reference, weights)
    for batch, tokens in ((2, 5), (3, 2), (5, 7), (2, 5)):
        x, mask = draw(batch, tokens, 3), draw.mask(batch, tokens, tokens)
        expect(head(x, mask), other(x, mask), "output")
        expect(head(x), other(x), "output")


@visible("trains")
def test_every_weight_learns(learner, draw):
    """A head of this size has 4*2 + 4*2 + 4*5 = 36 numbers to learn. How does a module know that a tensor of its own is to be trained?"""
    head = _head(learner, _weights(draw, 4, 2, 5))
    expect_trained(head.trained(draw(2, 3, 4)), 36)


@visible("trains")
def test_words_can_learn_too(learner, draw):
    """Below the head there may be a layer that made these words. Does a gradient leave the head for it, or is it cut off on the way?"""
    weights = _weights(draw, 4, 2, 5)
    expect_gradients(Anew(_head, learner, weights), ["x"], draw(2, 3, 4), draw=draw, true=lambda x: _expected_head(x, weights))


@hidden("trains")
def test_every_weight_of_a_fresh_head_learns(learner, reference, draw):
    """Every number of the three matrices must be trained, and nothing else. Which of them does the gradient not reach?"""
    d_model, d_k, d_v = 3, 5, 2
    weights, count = _weights(draw, d_model, d_k, d_v), d_model * (2 * d_k + d_v)
    expect_learning(Anew(_head, learner, weights), count, draw(2, 7, d_model), draw=draw, true=Anew(_head, reference, weights))


@hidden("trains")
def test_fresh_words_can_learn_too(learner, reference, draw):
    """Below the head there may be a layer that made these words. Does a gradient leave the head for it, or is it cut off on the way?"""
    weights = _weights(draw, 5, 3, 2)
    expect_gradients(Anew(_head, learner, weights), ["x"], draw(3, 7, 5), draw=draw, true=Anew(_head, reference, weights))


@visible("device")
def test_attention_on_another_device(learner, draw):
    """Queries, keys, values and mask lie on another device, such as a GPU. Which tensor does your function make on the CPU all the same?"""
    inputs = draw(2, 3, 4), draw(2, 5, 4), draw(2, 5, 7)
    for masks in ((), (draw.mask(3, 5),)):
        expect_device(learner, lambda there: there.scaled_dot_product_attention.pair(*inputs, *masks)[0], (2, 3, 7))


@visible("device")
def test_lengths_on_another_device(learner):
    """The lengths lie on another device, such as a GPU. Where does what they are compared with lie?"""
    expect_device(learner, lambda there: there.padding_mask(torch.tensor([2, 3]), 5), (2, 1, 5))


@visible("device")
def test_head_on_another_device(learner, draw):
    """The head was moved to another device, such as a GPU, and the words are there too. Which tensor did not move along, or is made on the CPU?"""
    x = draw(2, 5, 4)
    for masks in ((), (draw.mask(5, 5),)):
        expect_device(learner, lambda there: there.SingleHeadAttention(4, 3, 7)(x, *masks), (2, 5, 7))


@gpu
@hidden("module")
def test_head_on_the_gpu(learner, reference, draw):
    """On a GPU everything that takes part must be there. Which tensor does your code make on the CPU?"""
    x, mask, there = draw(2, 5, 4), draw.mask(5, 5, blind=3), learner.on("cuda")
    weights = _weights(draw, 4, 3, 7)
    expect(_head(there, weights)(x, mask), _head(reference, weights)(x, mask), "output")


def _weights(draw, d_model: int, d_k: int, d_v: int) -> dict:
    return {"w_query": draw(d_model, d_k), "w_key": draw(d_model, d_k), "w_value": draw(d_model, d_v)}


def _head(learner, weights: dict):
    d_model, d_k = weights["w_query"].shape
    head = learner.SingleHeadAttention.later(d_model=d_model, d_k=d_k, d_v=weights["w_value"].shape[1])
    learner.set_weights.later(head, **weights)
    return head


def _expected_head(x, weights: dict, mask=None):
    query, key, value = (x @ w for w in weights.values())
    return F.scaled_dot_product_attention(query, key, value, mask)


def _next_word(w_value) -> dict:
    """Return weights with which a word looks at the next one only, if words are the rows of an identity; the scale does not matter."""
    size = len(w_value)
    return {"w_query": 100 * torch.eye(size).roll(1, dims=1), "w_key": torch.eye(size), "w_value": w_value}
