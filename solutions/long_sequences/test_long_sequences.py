"""Tests of long_sequences. A docstring is the question that a learner reads when the test fails.

Where the scale is not the question, queries and keys are one number wide. Where the size of the scores
is not the question, they are small. Where the features are not the question, the inputs are positive.
What is measured is compared with what the same call takes for a shorter text, with room for noise.
"""
import math

import torch
from torch import Tensor
from torch.nn import functional as F

from autograder.kit import expect, expect_device, expect_gradients, expect_in_step, expect_memory, expect_slope, hidden, visible
from autograder.kit.outcome import Wrong, known_by

VERY_LONG = 98_304  # words: a square of them takes some ten seconds, the slowest loop over them one
NEAREST = torch.tensor([[1.0], [2.0], [3.0], [4.0]]).log()  # scores whose weights are 1/10 to 4/10


@visible("exact")
def test_four_scores_in_two_chunks(learner):
    """Two more keys come when all weight has been shared out, 1/3 and 2/3. What must happen to those shares?"""
    output = learner.chunked_attention(torch.ones(1, 1), NEAREST, torch.eye(4), chunk=2)
    expect(output, torch.tensor([[1.0, 2.0, 3.0, 4.0]]) / 10, "output")


@visible("exact")
def test_two_chunks_are_as_good_as_one(learner, draw):
    """In pieces or at once, the output is the same. What of the first chunk has to change when the second has a larger maximum, and what when it has not?"""
    query, key, value = draw(5, 1), draw(6, 1), draw(6, 3)
    expect(learner.chunked_attention(query, key, value, chunk=3), _full(query, key, value), "output")


@hidden("exact")
def test_chunks_of_fresh_keys(learner, draw):
    """In pieces or at once, the output is the same. Which three things must be known of the chunks before, and how does a new maximum change each of them?"""
    for keys, chunk in ((12, 6), (12, 3), (12, 2), (1, 1)):
        query, key, value = draw(7, 1), draw(keys, 1), draw(keys, 5)
        expect(learner.chunked_attention(query, key, value, chunk=chunk), _full(query, key, value), "output")


@visible("chunk_sizes")
def test_last_chunk_is_short(learner, draw):
    """Seven keys in chunks of three: the last chunk has a single key. Is it there, and is anything with it that is no key?"""
    query, key, value = draw(2, 1), draw(7, 1), draw(7, 3)
    expect(learner.chunked_attention(query, key, value, chunk=3), _full(query, key, value), "output")


@visible("chunk_sizes")
def test_chunk_larger_than_the_text(learner, draw):
    """There are five keys, and a chunk would have room for eleven. How many chunks are there?"""
    query, key, value = draw(2, 1), draw(5, 1), draw(5, 3)
    expect(learner.chunked_attention(query, key, value, chunk=11), _full(query, key, value), "output")


@hidden("chunk_sizes")
def test_chunks_of_every_size(learner, draw):
    """The chunk need not divide the number of keys, and may be larger. Where do your chunks begin and end?"""
    query, key, value = draw(3, 1), draw(13, 1), draw(13, 5)
    for chunk in (*range(1, 15), 1000):
        expect(learner.chunked_attention(query, key, value, chunk=chunk), _full(query, key, value), "output")


@visible("scale")
def test_match_of_four(learner):
    """The match of 4 is a score of 2, for d_k is 4. What is each match divided by, and how often?"""
    query, key = torch.tensor([[2.0, 0.0, 0.0, 0.0]]), torch.tensor([[2.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]])
    expect(learner.chunked_attention(query, key, torch.eye(2), chunk=1), torch.tensor([[2.0, 0.0]]).softmax(-1), "output")


@hidden("scale")
def test_scale_for_fresh_widths(learner, draw):
    """Every chunk has the same scale. Which width does it come from?"""
    for d_k, d_v in ((2, 3), (11, 5)):
        query, key, value = draw(3, d_k), draw(8, d_k), draw(8, d_v)
        expect(learner.chunked_attention(query, key, value, chunk=2), _full(query, key, value), "output")


@visible("stable")
def test_scores_that_fall_by_thousands(learner):
    """The largest score comes first. What do the later ones weigh?"""
    _expect_weights(learner, [[2001.0, 2000.0, 1000.0, 0.0]])


@visible("stable")
def test_scores_that_rise_by_thousands(learner):
    """Each chunk has scores a thousand above those before. Which number do you take off, and is it still the largest?"""
    _expect_weights(learner, [[0.0, 1000.0, 2000.0, 2001.0]])


@visible("stable")
def test_scores_far_below_zero(learner):
    """All scores are near -1000, and their weights are shares like any other. With which maximum do you begin, before there is a score?"""
    _expect_weights(learner, [[-1000.0, -1001.0, -1002.0, -1001.0]])


@visible("stable")
def test_rows_far_apart(learner):
    """One query has scores near 0, the other near 1000. Whose maximum is taken off whose scores?"""
    query, key, value = torch.tensor([[1.0], [1000.0]]), torch.tensor([[0.0], [1.0], [2.0], [1.0]]), torch.eye(4)
    expect(learner.chunked_attention(query, key, value, chunk=2), _full(query, key, value), "output")


@hidden("stable")
def test_fresh_scores_of_any_size(learner, draw):
    """Some scores are thousands apart. Which number is taken off a row, and what happens to what was found when it changes?"""
    query, value = torch.ones(1, 1), draw(12, 5)
    for steps in ((900.0, 0.0, -900.0, 850.0), (-900.0, 800.0, 4000.0, 0.0), (-3000.0, -4000.0, -3500.0, -5000.0)):
        # Eighths: no right answer rounds such a score, however large it is.
        key = draw.integers(-20, 20, 12, 1) / 8 + torch.tensor(steps).repeat_interleave(3)[:, None]
        expect(learner.chunked_attention(query, key, value, chunk=3), _full(query, key, value), "output")


@visible("mask")
def test_hidden_key_weighs_nothing(learner, draw):
    """The mask is True where a query may look. Which part of it belongs to a chunk, and what is the score of a key that is hidden?"""
    query, key, value = draw(3, 1), draw(6, 1), draw(6, 2)
    mask = torch.tensor([[1, 1, 0, 1, 0, 1], [1, 0, 1, 1, 0, 0], [0, 1, 1, 0, 1, 1]]).bool()
    expect(learner.chunked_attention(query, key, value, chunk=2, mask=mask), _full(query, key, value, mask), "output")


@visible("mask")
def test_first_chunk_is_hidden(learner, draw):
    """A query sees nothing of the first chunk, and something later. What is its maximum meanwhile, and what is -inf minus -inf?"""
    query, key, value = draw(2, 1), draw(6, 1), draw(6, 2)
    mask = torch.tensor([[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]]).bool()
    expect(learner.chunked_attention(query, key, value, chunk=3, mask=mask), _full(query, key, value, mask), "output")


@visible("mask")
def test_one_column_for_all_keys(learner, draw):
    """The mask has one column, which holds for all keys. What is left of it if the second chunk is cut out?"""
    query, key, value = draw(3, 1), draw(4, 1), draw(4, 2)
    mask = torch.ones(3, 1, dtype=torch.bool)
    expect(learner.chunked_attention(query, key, value, chunk=2, mask=mask), _full(query, key, value), "output")


@hidden("mask")
def test_fresh_masks(learner, draw):
    """An axis of the mask may have length 1 and then holds for all. Which part of it belongs to a chunk?"""
    query, key, value = draw(5, 1), draw(8, 1), draw(8, 7)
    for mask in (draw.mask(5, 8), draw.mask(1, 8), torch.ones(1, 1).bool(), torch.ones(5, 1).bool()):
        expect(learner.chunked_attention(query, key, value, chunk=2, mask=mask), _full(query, key, value, mask), "output")


@visible("mask")
def test_hidden_keys_far_above(learner, draw):
    """A hidden key in each chunk matches a thousand times better than those that are seen. Is it gone before you look for the maximum?"""
    key, mask = torch.tensor([[0.0], [1000.0], [1.0], [2.0], [3000.0], [0.0]]), torch.tensor([[1, 0, 1, 1, 0, 1]]).bool()
    query, value = torch.ones(2, 1), draw(6, 2)
    expect(learner.chunked_attention.unchanged(query, key, value, chunk=3, mask=mask), _full(query, key, value, mask), "output")


@hidden("mask")
def test_fresh_hidden_keys_above_very_low_scores(learner, draw):
    """Scores may lie far below zero, and hidden ones far above them. Is there a number between the two that you hide with?"""
    query, value, seen = torch.ones(3, 1), draw(8, 5), draw.mask(8)
    key = torch.where(seen[:, None], draw(8, 1), 1e5)
    expect(learner.chunked_attention(query, key, value, chunk=2, mask=seen[None]), _full(query, key, value, seen[None]), "output")
    # So far apart that rounding can't matter. How low scores are is asked by another check, so they are compared with themselves.
    key = torch.where(seen[:, None], -1e5 - 1000 * draw(8, 1).argsort(0), 1e5)
    alone = learner.chunked_attention(query, key[seen], value[seen], chunk=int(seen.sum()))
    expect(learner.chunked_attention(query, key, value, chunk=8, mask=seen[None]), alone, "output where hidden keys match far better")


@hidden("mask")
def test_fresh_keys_and_queries_in_another_order(learner, draw):
    """Keys have changed places together with their values, and so the chunks that they are in; queries have, among themselves; the mask went along. What in your code depends on a place?"""
    query, key, value, mask = draw(5, 1), draw(8, 1), draw(8, 7), draw.mask(5, 8)
    queries, keys = draw(5).argsort(), draw(8).argsort()
    value[0], mask[:, 0] = 1e30, False  # of which a hidden key hands on nothing
    mask[:, 1] = True
    came = learner.chunked_attention(query[queries], key[keys], value[keys], chunk=2, mask=mask[queries][:, keys])
    expect(came, _full(query, key, value, mask)[queries], "output")


@hidden("mask")
def test_fresh_chunks_of_which_nothing_is_seen(learner, draw):
    """Whole chunks are hidden here, before and behind keys that match badly. What stands for the maximum of a chunk of which nothing is seen?"""
    query, value, low = torch.ones(3, 1), draw(6, 5), draw(2, 1) - 1000
    alone = learner.chunked_attention(query, low, value[2:4], chunk=2)
    key, seen = torch.cat([draw(2, 1), low, draw(2, 1)]), torch.tensor([[False, False, True, True, False, False]])
    expect(learner.chunked_attention(query, key, value, chunk=2, mask=seen), alone, "output where whole chunks are hidden")


@hidden("mask")
def test_fresh_masks_of_many_queries(learner, draw):
    """There are far more queries than keys, and each has a row of the mask. Which row does your code take for which query, and which column for which key?"""
    for queries, keys, chunk in ((600, 6, 2), (3, 2, 1)):
        query, key, value, mask = draw(queries, 1), draw(keys, 1), draw(keys, 3), draw.mask(queries, keys)
        expect(learner.chunked_attention(query, key, value, chunk=chunk, mask=mask), _full(query, key, value, mask), "output")


@hidden("batch")
def test_fresh_batches_of_many_queries(learner, draw):
    """There are far more queries than keys in each text, and a mask for each text. Along which axis do you go through the queries?"""
    query, key, value = draw(2, 600, 1), draw(2, 6, 1), draw(2, 6, 3)
    for mask in (None, draw.mask(2, 600, 6)):
        expect(learner.chunked_attention(query, key, value, chunk=2, mask=mask), _full(query, key, value, mask), "output")


@visible("blind_row")
def test_query_that_sees_nothing(learner, draw):
    """The second query may look at nothing, in any chunk. What do its weights add up to, and what should stand in its row?"""
    query, key, value = draw(2, 1), draw(4, 1), draw(4, 2)
    mask = torch.tensor([[1, 1, 1, 1], [0, 0, 0, 0]]).bool()
    expect(learner.chunked_attention(query, key, value, chunk=2, mask=mask), _full(query, key, value, mask), "output")


@hidden("blind_row")
def test_fresh_blind_rows(learner, draw):
    """A query that may look at nothing gets zeros. What are you dividing by there?"""
    query, key, value = draw(5, 1), draw(6, 1), draw(6, 3)
    mask = torch.ones(5, 6, dtype=torch.bool)
    mask[draw.integers(0, 5, 1)] = False
    expect(learner.chunked_attention(query, key, value, chunk=3, mask=mask), _full(query, key, value, mask), "output")


@visible("batch")
def test_axes_before_the_last_two(learner, draw):
    """Only the last two axes take part; the others are carried along. Which axis holds the keys?"""
    query, key, value = draw(2, 3, 7, 1), draw(2, 3, 6, 1), draw(2, 3, 6, 5)
    expect(learner.chunked_attention(query, key, value, chunk=2), _full(query, key, value), "output")


@hidden("batch")
def test_fresh_batches(learner, draw):
    """Only the last two axes take part; the others are carried along. Which axis holds the keys, and which shape do your sums have?"""
    for batch in ((3,), (2, 5), (2, 3, 5)):
        query, key, value = draw(*batch, 7, 1), draw(*batch, 4, 1), draw(*batch, 4, 11)
        expect(learner.chunked_attention(query, key, value, chunk=2), _full(query, key, value), "output")


@hidden("batch")
def test_masks_for_a_batch(learner, draw):
    """A mask may have all axes of the batch, some, or none; what is missing or 1 long holds for all. To which axes does yours have to fit?"""
    query, key, value = draw(2, 3, 5, 1), draw(2, 3, 8, 1), draw(2, 3, 8, 7)
    for shape in ((5, 8), (3, 5, 8), (2, 1, 5, 8), (2, 1, 1, 8)):
        mask = draw.mask(*shape)
        expect(learner.chunked_attention(query, key, value, chunk=2, mask=mask), _full(query, key, value, mask), "output")


@visible("batch")
def test_tensors_that_were_transposed(learner, draw):
    """The numbers of a transposed tensor lie in memory in another order than its axes. Which of your steps minds?"""
    query, key, value, mask = draw(2, 3, 5, 1), draw(2, 3, 4, 1), draw(2, 3, 4, 7), draw.mask(2, 3, 5, 4)
    expect(learner.chunked_attention.strided(query, key, value, chunk=2, mask=mask), _full(query, key, value, mask), "output")


@hidden("batch")
def test_sizes_that_agree(learner, draw):
    """Axes may be equally long without being the same axis. Which one does your code recognise by its length?"""
    query, key, value = draw(3, 3, 3, 1), draw(3, 3, 3, 1), draw(3, 3, 3, 3)
    for shape in ((3, 3), (3, 3, 3), (3, 1, 3, 3), (3, 3, 3, 3)):
        mask = draw.mask(*shape)
        expect(learner.chunked_attention(query, key, value, chunk=3, mask=mask), _full(query, key, value, mask), "output")
    expect(learner.chunked_attention(query, key, value, chunk=3), _full(query, key, value), "output")


@visible("dtype")
def test_double_precision_stays(learner, draw):
    """The inputs have 64 bits. Where does your code turn them into something else, or lose digits on the way?"""
    query, key, value = (draw(*shape, dtype=torch.float64) for shape in ((3, 1), (6, 1), (6, 2)))
    expect(learner.chunked_attention(query, key, value, chunk=2), _full(query, key, value), "output")


@hidden("dtype")
def test_fresh_double_precision(learner, draw):
    """The inputs have 64 bits. Which of the tensors that your code makes itself has fewer?"""
    query, key, value = (draw(*shape, dtype=torch.float64) for shape in ((5, 1), (8, 1), (8, 3)))
    expect(learner.chunked_attention(query, key, value, chunk=4), _full(query, key, value), "output")


@visible("half")
def test_many_keys_in_bfloat16(learner):
    """Half of 600 equal keys have the value 1, the others 3. A sum of ones in bfloat16 stays at 256. In what do you keep your sums?"""
    _expect_half(learner, torch.bfloat16, 300, 1.0, 3.0)


@hidden("half")
def test_many_keys_in_16_bits(learner, draw):
    """The keys are equal, and their values average to something that 16 bits can hold. Can they hold the sums?"""
    _expect_half(learner, torch.bfloat16, 400, *draw.integers(1, 5, 2).add(torch.tensor([0, 9])).tolist())
    # No number of 16 bits is as large as the sum of these.
    _expect_half(learner, torch.float16, 150, *draw.integers(300, 500, 2).tolist())


@visible("gradient")
def test_gradient_reaches_every_input(learner, draw):
    """Training needs a gradient at query, key and value. Where does your code leave the graph that autograd follows, or write over what it needs?"""
    _expect_gradients(learner, draw, draw(3, 1), draw(4, 1), draw(4, 2), 2)


@visible("gradient")
def test_gradient_of_a_query_that_sees_nothing(learner, draw):
    """The second query sees nothing, and not-a-number in its row would spoil every weight in training. Where does 0 / 0 hide, if the output looks right?"""
    mask = torch.tensor([[True, True, False, True], [False, False, False, False]])
    _expect_gradients_of_blind_rows(learner, draw, draw(2, 1), draw(4, 1), draw(4, 5), mask)


@hidden("gradient")
def test_fresh_gradients(learner, draw):
    """Training needs a gradient at query, key and value. Does it come through every chunk, the first one too?"""
    # Larger and larger, up and down in turn: whatever its sign, a query finds its highest score in the last chunk.
    key = draw(9, 1).abs().sort(dim=0).values * torch.tensor([1.0, -1.0]).repeat(5)[:9, None]
    _expect_gradients(learner, draw, draw(5, 1), key, draw(9, 3), 3)
    _expect_gradients_of_blind_rows(learner, draw, draw(5, 1), draw(8, 1), draw(8, 3), draw.mask(5, 8, blind=3))


@visible("memory")
def test_memory_for_a_long_text(learner, draw):
    """1024 words look at each other, and then 4096, whose table of scores has 64 MiB. Which tensor of yours has an axis for all queries and another for all keys?"""
    _expect_held(learner, draw, (1024, 1024), (4096, 4096), chunk=32)


@visible("memory")
def test_memory_for_few_queries(learner, draw):
    """256 queries meet 32768 keys, and before them 2048. Only `chunk` keys are to be looked at in one go. Which tensor of yours has a place for each query and each key?"""
    _expect_held(learner, draw, (256, 2048), (256, 32768), chunk=256)


@visible("memory")
def test_memory_for_a_mask_of_one_row(learner, draw):
    """One row says for all 256 queries which of 32768 keys are words. What becomes of the mask before the first chunk?"""
    _expect_held(learner, draw, (256, 2048), (256, 32768), chunk=256, masked=True)


@hidden("memory")
def test_memory_for_fresh_texts(learner, draw):
    """There are many keys, and only `chunk` of them are to be looked at in one go. Which tensor of yours has a place for each query and each key?"""
    _expect_held(learner, draw, (256, 8192), (256, 131072), chunk=256)


@visible("window")
def test_window_of_one(learner):
    """All scores are equal, so each word gets the average of those that it sees. Which words does the third of five see?"""
    zeros = torch.zeros(5, 1)
    expected = torch.tensor([[3, 3, 0, 0, 0], [2, 2, 2, 0, 0], [0, 2, 2, 2, 0], [0, 0, 2, 2, 2], [0, 0, 0, 3, 3]]) / 6
    expect(learner.local_attention(zeros, zeros, torch.eye(5), window=1), expected, "output")


@visible("window")
def test_window_of_two_in_a_batch(learner, draw):
    """Five words can be seen from the middle of the text, fewer from its ends. Do the words share out their weights among those, and only those?"""
    query, key, value = draw(2, 3, 11, 1), draw(2, 3, 11, 1), draw(2, 3, 11, 5)
    expect(learner.local_attention(query, key, value, window=2), _near(query, key, value, 2), "output")


@visible("window")
def test_scale_in_a_window(learner, draw):
    """The scores are divided here as everywhere. By what?"""
    query, key, value = draw(7, 5), draw(7, 5), draw(7, 3)
    expect(learner.local_attention(query, key, value, window=2), _near(query, key, value, 2), "output")


@hidden("window")
def test_fresh_windows(learner, draw):
    """How far does a word look to each side, and what is there at the ends of the text?"""
    for batch, words, window in (((2,), 13, 3), ((), 17, 5), ((3,), 150, 4), ((7,), 7, 2), ((2, 2), 5, 1)):
        query, key, value = draw(*batch, words, 2), draw(*batch, words, 2), draw(*batch, words, 7)
        expect(learner.local_attention(query, key, value, window=window), _near(query, key, value, window), "output")


@visible("window")
def test_very_low_scores_in_a_window(learner, draw):
    """All words match badly, and one matches very well. Do those that are too far away to see it notice, and is a word out of reach below all others?"""
    query, key, value = torch.ones(7, 1), draw.integers(-20, 20, 7, 1) / 8 - 2e5, draw(7, 3)
    expect(learner.local_attention(query, key, value, window=2), _near(query, key, value, 2), "output")
    key[3] = 1e5
    expect(learner.local_attention(query, key, value, window=2), _near(query, key, value, 2), "output")


@visible("window")
def test_words_of_16_and_64_bits_in_a_window(learner, draw):
    """Words of 16 bits come in, then words of 64. Which number of yours doesn't exist in 16 bits, and where are digits lost?"""
    for dtype in (torch.float16, torch.float64):
        query, key, value = (draw(5, 1, dtype=dtype) for _ in range(3))
        expect(learner.local_attention(query, key, value, window=1), _near(*(x.double() for x in (query, key, value)), 1).to(dtype), "output")


@visible("window")
def test_window_leaves_its_inputs_as_they_were(learner, draw):
    """What you are given was transposed, and others still need it. Which of your steps minds the order in memory, or writes into it?"""
    query, key, value = draw(2, 3, 5, 2), draw(2, 3, 5, 2), draw(2, 3, 5, 7)
    expect(learner.local_attention.strided(query, key, value, window=1), _near(query, key, value, 1), "output")
    expect(learner.local_attention.unchanged(query, key, value, window=1), _near(query, key, value, 1), "output")


@visible("window")
def test_window_where_sizes_agree(learner, draw):
    """There are three sentences of three words, of three numbers each. Which axis is which, and by what does your code know it?"""
    query, key, value = draw(3, 3, 3), draw(3, 3, 3), draw(3, 3, 3)
    expect(learner.local_attention(query, key, value, window=1), _near(query, key, value, 1), "output")


@visible("window")
def test_gradient_in_a_window(learner, draw):
    """Training needs a gradient at query, key and value. Where does your code leave the graph that autograd follows?"""
    _expect_right_gradients(learner.local_attention, _near, draw, draw(5, 2), draw(5, 2), draw(5, 3), 1)


@hidden("window")
def test_fresh_words_in_a_window(learner, draw):
    """Words of any dtype, of any size, with a gradient for all that made them. Which of these is not so?"""
    _expect_right_gradients(learner.local_attention, _near, draw, draw(7, 7, 7), draw(7, 7, 7), draw(7, 7, 7), 2)
    query, value = torch.ones(11, 1), draw(11, 3)
    for lift in (0.0, 3e5):
        key = draw.integers(-20, 20, 11, 1) / 8 - 2e5 + lift * F.one_hot(draw.integers(0, 11, 1), 11).mT
        expect(learner.local_attention(query, key, value, window=2), _near(query, key, value, 2), "output")
    query, key, value = (draw(5, 1, dtype=torch.float64) for _ in range(3))
    expect(learner.local_attention(query, key, value, window=1), _near(query, key, value, 1), "output")
    halves = [x.half() for x in (query, key, value)]
    expect(learner.local_attention(*halves, window=1), _near(*(x.double() for x in halves), 1).half(), "output")


@visible("edges")
def test_window_of_nothing(learner, draw):
    """With a window of 0 a word sees itself alone. What is its output?"""
    query, key, value = draw(5, 1), draw(5, 1), draw(5, 3)
    expect(learner.local_attention(query, key, value, window=0), value, "output")


@visible("edges")
def test_window_larger_than_the_text(learner, draw):
    """Everything is near. Which attention is this?"""
    query, key, value = draw(5, 1), draw(5, 1), draw(5, 3)
    expect(learner.local_attention(query, key, value, window=7), _full(query, key, value), "output")


@hidden("edges")
def test_fresh_edges(learner, draw):
    """A text may have a single word, a window no width at all, or more than there are words. Where do your slices begin and end?"""
    for words, window in ((1, 0), (1, 3), (7, 0), (7, 6), (7, 7), (7, 40)):
        query, key, value = draw(words, 1), draw(words, 1), draw(words, 3)
        expect(learner.local_attention(query, key, value, window=window), _near(query, key, value, window), "output")


@visible("causal")
def test_window_that_looks_back(learner):
    """With `causal`, a word sees itself and the two before it, as far as there are any. Which words does the first of five see?"""
    zeros = torch.zeros(5, 1)
    expected = torch.tensor([[6, 0, 0, 0, 0], [3, 3, 0, 0, 0], [2, 2, 2, 0, 0], [0, 2, 2, 2, 0], [0, 0, 2, 2, 2]]) / 6
    expect(learner.local_attention(zeros, zeros, torch.eye(5), window=2, causal=True), expected, "output")


@hidden("causal")
def test_fresh_windows_that_look_back(learner, draw):
    """With `causal`, a word sees itself and `window` words before it. Does it see anything after it?"""
    for words, window in ((13, 3), (7, 9), (5, 1), (150, 2)):
        query, key, value = draw(2, words, 1), draw(2, words, 1), draw(2, words, 3)
        expect(learner.local_attention(query, key, value, window=window, causal=True), _near(query, key, value, window, True), "output")


@visible("local_cost")
def test_cost_of_a_window(learner, draw):
    """A word sees 33 words, however long the text. What do you make for the words that it does not see?"""
    _expect_linear(learner.local_attention, draw, _rows_near, window=16)


@hidden("local_cost")
def test_cost_of_a_window_in_fresh_texts(learner, draw):
    """A word sees a few words, however long the text. What do you make for the words that it does not see?"""
    _expect_linear(learner.local_attention, draw, _rows_near, window=16)
    _expect_in_step(learner.local_attention, draw, _rows_near, window=16)


@visible("features")
def test_features_of_five_numbers(learner):
    """Positive numbers go up by one; of the others the power of e is taken. What is the feature of 0, of -1, and of -2?"""
    x = torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0])
    expect(learner.feature_map(x), torch.tensor([math.exp(-2), math.exp(-1), 1.0, 2.0, 3.0]), "features")


@visible("features")
def test_gradient_of_the_features(learner):
    """exp(100) is too large for a float of 32 bits, and 0 times infinity is no number. Does your code take exp of the positive numbers too, and throw it away?"""
    x = torch.tensor([-1.0, 100.0])
    (came,) = learner.feature_map.gradients(x=x, wrt=["x"], against=torch.tensor([1.0, 2.0]))
    expect(came, torch.tensor([math.exp(-1), 2.0]), "gradient of x")


@hidden("features")
def test_features_of_fresh_numbers(learner, draw):
    """Positive numbers go up by one; of the others the power of e is taken. Where do the two pieces meet?"""
    for shape in ((7,), (2, 3, 5), (1, 1)):
        x = draw(*shape, scale=2.0)
        expect(learner.feature_map(x), _features(x), "features")


@visible("features")
def test_features_of_numbers_far_below_zero(learner):
    """The feature of -20 is 2 billionths, and positive. How much of it is left if 1 is taken off and put on again?"""
    _expect_logarithms(learner, torch.tensor([-10.0, -20.0, -30.0, -40.0]))


@hidden("features")
def test_features_of_fresh_numbers_far_below_zero(learner, draw):
    """Down to -40 a feature is the power of e, and positive. In which step are its digits lost?"""
    for dtype in (torch.float32, torch.float64):
        _expect_logarithms(learner, -40 * draw(2, 5, dtype=dtype).sigmoid())


@visible("linear")
def test_linear_by_hand(learner):
    """The features of the query are (2, 1), those of the keys (1, 2) and (2, 3). What are the two dot products, and which shares do they give?"""
    query, key = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0], [1.0, 2.0]])
    expect(learner.linear_attention(query, key, torch.eye(2)), torch.tensor([[4.0, 7.0]]) / 11, "output")


@visible("linear")
def test_linear_in_a_batch(learner, draw):
    """Each query has a sum of similarities of its own, and its weights add up to 1. Over what do your two sums run?"""
    query, key, value = draw(2, 3, 7, 2).abs(), draw(2, 3, 11, 2).abs(), draw(2, 3, 11, 5)
    expect(learner.linear_attention(query, key, value), _linear(query, key, value), "output")


@hidden("linear")
def test_linear_on_fresh_inputs(learner, draw):
    """The similarity is a dot product of features, without exp and without a scale. Of what is each sum made?"""
    for batch, queries, keys in (((), 1, 5), ((2,), 5, 3), ((2, 3), 7, 11)):
        query, key, value = draw(*batch, queries, 3).abs(), draw(*batch, keys, 3).abs(), draw(*batch, keys, 5)
        expect(learner.linear_attention(query, key, value), _linear(query, key, value), "output")


@visible("linear")
def test_linear_with_small_features(learner):
    """All features are some 10,000,000,000,000 times smaller than 1, and the shares are what they always were. What else stands below in your quotient?"""
    _expect_small(learner, torch.tensor([[-31.0, -30.0]]), torch.tensor([[-30.0, -33.0], [-31.0, -32.0]]), torch.eye(2))


@visible("linear")
def test_linear_with_as_many_queries_as_keys(learner, draw):
    """As many queries as keys, and nobody said `causal`. Which keys does the first query see?"""
    query, key, value = draw(3, 3, 3).abs(), draw(3, 3, 3).abs(), draw(3, 3, 3)
    expect(learner.linear_attention(query, key, value), _linear(query, key, value), "output")


@visible("linear")
def test_linear_keeps_digits_and_inputs(learner, draw):
    """What you are given has 64 bits and was transposed, and others still need it. Where are digits lost, and which step minds the order in memory, or writes into it?"""
    _expect_kept(learner, draw, queries=5)


@visible("linear")
def test_gradient_of_the_quotient(learner, draw):
    """A key stands in both sums, above and below. Does its gradient come through both?"""
    _expect_right_gradients(learner.linear_attention, _linear, draw, draw(5, 2).abs(), draw(4, 2).abs(), draw(4, 3))


@hidden("linear")
def test_linear_on_fresh_inputs_of_any_kind(learner, draw):
    """Features may be small, inputs of 64 bits and transposed, and a gradient is needed at each of them. Which of these is not so?"""
    _expect_small(learner, _low(draw, 2, 3, 5), _low(draw, 2, 7, 5), draw(2, 7, 3))
    _expect_kept(learner, draw, queries=7)
    _expect_right_gradients(learner.linear_attention, _linear, draw, draw(7, 3).abs(), draw(5, 3).abs(), draw(5, 2))


@visible("linear_causal")
def test_linear_that_looks_back(learner, draw):
    """The first word sees itself alone, so its output is its value. Do both sums stop at the word that asks?"""
    query, key, value = draw(5, 2).abs(), draw(5, 2).abs(), draw(5, 3)
    expect(learner.linear_attention(query, key, value, causal=True), _linear(query, key, value, True), "output")


@hidden("linear_causal")
def test_linear_that_looks_back_on_fresh_inputs(learner, draw):
    """Both sums run from the first key to the one of the query. Along which axis do they grow?"""
    for batch, words in (((), 1), ((2,), 7), ((2, 3), 11), ((2,), 150)):
        query, key, value = draw(*batch, words, 3).abs(), draw(*batch, words, 3).abs(), draw(*batch, words, 5)
        expect(learner.linear_attention(query, key, value, causal=True), _linear(query, key, value, True), "output")


@hidden("linear_causal")
def test_looking_back_on_fresh_inputs_of_any_kind(learner, draw):
    """Features may be small, inputs of 64 bits and transposed, and a gradient is needed at each of them. Which of these is so only as long as nobody looks back?"""
    _expect_small(learner, _low(draw, 2, 7, 5), _low(draw, 2, 7, 5), draw(2, 7, 3), causal=True)
    _expect_kept(learner, draw, queries=4, causal=True)
    _expect_right_gradients(learner.linear_attention, _linear, draw, draw(5, 3).abs(), draw(5, 3).abs(), draw(5, 2), True)


@visible("linear_cost")
def test_cost_of_the_features(learner, draw):
    """The sum over the keys is the same for all queries. In which order do you multiply the three matrices?"""
    _expect_linear(learner.linear_attention, draw, _rows_linear)


@visible("linear_cost")
def test_cost_of_looking_back(learner, draw):
    """Each word adds one key to the sum of the word before. Which of your tensors has an axis for all queries and another for all keys?"""
    _expect_linear(learner.linear_attention, draw, _rows_linear, causal=True)


@hidden("linear_cost")
def test_cost_in_fresh_texts(learner, draw):
    """The sums over the keys can be made before any query asks. In which order do you multiply?"""
    for how in ({}, {"causal": True}):
        _expect_linear(learner.linear_attention, draw, _rows_linear, **how)
        _expect_in_step(learner.linear_attention, draw, _rows_linear, **how)


@visible("device")
def test_chunks_on_another_device(learner, draw):
    """Queries, keys, values and mask lie on another device, such as a GPU. Which tensor does your function make on the CPU all the same?"""
    inputs = draw(2, 3, 4), draw(2, 5, 4), draw(2, 5, 7)
    for masks in ((), (draw.mask(3, 5),)):
        expect_device(learner, lambda there: there.chunked_attention(*inputs, 2, *masks), (2, 3, 7))


@visible("device")
def test_window_on_another_device(learner, draw):
    """Queries, keys and values lie on another device, such as a GPU. Which tensor does your function make on the CPU all the same?"""
    inputs = draw(2, 5, 4), draw(2, 5, 4), draw(2, 5, 7)
    for causal in (False, True):
        expect_device(learner, lambda there: there.local_attention(*inputs, 2, causal), (2, 5, 7))


@visible("device")
def test_features_on_another_device(learner, draw):
    """Queries, keys and values lie on another device, such as a GPU. Which tensor does your function make on the CPU all the same?"""
    inputs = draw(2, 5, 4), draw(2, 5, 4), draw(2, 5, 7)
    for causal in (False, True):
        expect_device(learner, lambda there: there.linear_attention(*inputs, causal), (2, 5, 7))


def _full(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return attention as torch does it, with zeros where a query may look at nothing."""
    output = F.scaled_dot_product_attention(query, key, value, mask)
    return output if mask is None else torch.where(mask.any(-1, keepdim=True), output, 0.0)


def _near(query: Tensor, key: Tensor, value: Tensor, window: int, causal: bool = False) -> Tensor:
    """Return attention to the words nearby, by a mask on the whole table."""
    places = torch.arange(query.shape[-2])
    return _full(query, key, value, _is_near(places, len(places), window, causal))


def _is_near(places: Tensor, words: int, window: int, causal: bool) -> Tensor:
    distance = torch.arange(words) - places[:, None]
    return (distance.abs() <= window) & (distance <= (0 if causal else window))


def _features(x: Tensor) -> Tensor:
    return torch.where(x > 0, x + 1, x.clamp(max=0).exp())


def _expect_logarithms(learner, x: Tensor) -> None:
    """Compare the logarithms of features that are too small for any other comparison to see."""
    came = learner.feature_map(x)
    # What is left of digits that were lost is different on every machine, down to the logarithm of zero.
    with known_by("features that are right to six places", holds=torch.allclose(came, x.exp().to(came.dtype), rtol=0, atol=1e-6)):
        expect(came.log(), x, "logarithms of the features")


def _linear(query: Tensor, key: Tensor, value: Tensor, causal: bool = False) -> Tensor:
    """Return the quotient of the two sums, by the whole table of similarities."""
    table = _features(query) @ _features(key).mT
    table = table.tril() if causal else table
    return table @ value / table.sum(-1, keepdim=True)


def _expect_weights(learner, scores: list[list[float]]) -> None:
    """Compare the weights of one row of scores, two in a chunk; each value has a 1 in a column of its own."""
    key = torch.tensor(scores).T
    output = learner.chunked_attention(torch.ones(1, 1), key, torch.eye(len(key)), chunk=2)
    # Logarithms of sums are as large as the scores, and are rounded by as much.
    expect(output, torch.tensor(scores).softmax(-1), "output", size=float(key.abs().max()))


def _expect_half(learner, dtype: torch.dtype, keys: int, one: float, other: float) -> None:
    key, value = torch.zeros(2 * keys, 1, dtype=dtype), torch.tensor([one, other], dtype=dtype).repeat_interleave(keys)[:, None]
    output = learner.chunked_attention(torch.zeros(1, 1, dtype=dtype), key, value, chunk=1)
    expect(output, torch.full((1, 1), (one + other) / 2, dtype=dtype), "output")


def _low(draw, *shape: int) -> Tensor:
    """Return numbers from -38 to -30, whose features are small."""
    return -30 - 8 * draw(*shape).sigmoid()


def _expect_small(learner, query: Tensor, key: Tensor, value: Tensor, causal: bool = False) -> None:
    """Compare the quotient of very small sums, unless the learner's own features are not right: that is asked by another check."""
    if all(torch.allclose(learner.feature_map(x).log(), x) for x in (query, key)):
        expect(learner.linear_attention(query, key, value, causal=causal), _linear(query, key, value, causal), "output")
    else:
        learner.excuse(Wrong.plainly("features", "they are not the right ones"), "features")


def _expect_kept(learner, draw, queries: int, causal: bool = False) -> None:
    """Compare the quotient of inputs that have 64 bits, of inputs that were transposed, and look at what became of inputs."""
    query, key, value = (draw(2, 3, *shape, dtype=torch.float64) for shape in ((queries, 2), (4, 2), (4, 7)))
    query, key, expected = query.abs(), key.abs(), _linear(query.abs(), key.abs(), value, causal)
    for call in (learner.linear_attention.strided, learner.linear_attention.unchanged):
        expect(call(query, key, value, causal=causal), expected, "output")


def _expect_gradients(learner, draw, query: Tensor, key: Tensor, value: Tensor, chunk: int) -> None:
    right = lambda query, key, value, _: F.scaled_dot_product_attention(query, key, value)  # noqa: E731
    _expect_right_gradients(learner.chunked_attention, right, draw, query, key, value, chunk)


def _expect_right_gradients(callee, right, draw, *inputs) -> None:
    expect_gradients(callee, ["query", "key", "value"], *inputs, draw=draw, true=right, strict=True)


def _expect_gradients_of_blind_rows(learner, draw, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> None:
    right = lambda query, key, value, _, mask: _full(query, key, value, mask)  # noqa: E731
    names = ["query", "key", "value"]
    expect_gradients(learner.chunked_attention, names, query, key, value, 2, mask, draw=draw, true=right, elsewhere={"none"})


def _expect_held(learner, draw, *sizes: tuple[int, int], chunk: int, masked: bool = False) -> None:
    """Measure a call for each pair of a number of queries and a number of keys, and look at some rows of the last result."""
    calls = [
        (draw(queries, 1), draw(keys, 1), draw(keys, 2), chunk, torch.ones(1, keys, dtype=torch.bool) if masked else None)
        for queries, keys in sizes
    ]
    (_, small), (output, large) = learner.chunked_attention.measured(*calls)
    query, key, value, *_ = calls[-1]
    rows = draw.integers(0, len(query), 32)
    _expect_rows(output, value.shape[-1], rows, _full(query[rows], key, value), len(query))
    expect_memory(small, large, len(query) * len(key) * output.dtype.itemsize)


def _expect_linear(callee, draw, expected, **how) -> None:
    """Measure calls for 512 words and for 8 times as many, and look at some rows of the last result."""
    times, words = 8, 512
    long = words * times

    def measured():
        calls = [(draw(n, 1).abs(), draw(n, 1).abs(), draw(n, 2)) for n in (words, words, words, long)]
        # The first call finds code that nobody has used yet, and pays for it.
        _, *again, (output, large) = callee.measured(*calls, **how)
        small = min((cost for _, cost in again), key=lambda cost: cost.seconds)
        # The ends of a text are the business of other checks.
        rows = draw.integers(words, long - words, 32)
        _expect_rows(output, 2, rows, expected(rows, *calls[-1], **how), long)
        expect_memory(small, large, long * long * output.dtype.itemsize)
        return small, large

    expect_slope(measured, times)


def _expect_in_step(callee, draw, expected, **how) -> None:
    """Measure a call for a text that no square could be made of in time, and look at some rows of the result."""

    def measured():
        inputs = draw(VERY_LONG, 1).abs(), draw(VERY_LONG, 1).abs(), draw(VERY_LONG, 2)
        ((output, cost),) = callee.measured(inputs, **how)
        rows = draw.integers(100, VERY_LONG - 100, 8)
        # Sums of so many numbers are rounded, more or less as they are added up.
        _expect_rows(output, 2, rows, expected(rows, *inputs, **how), VERY_LONG, size=float(VERY_LONG))
        return cost

    expect_in_step(measured, VERY_LONG)


def _rows_near(rows: Tensor, query: Tensor, key: Tensor, value: Tensor, window: int) -> Tensor:
    return _full(query[rows], key, value, _is_near(rows, len(key), window, False))


def _rows_linear(rows: Tensor, query: Tensor, key: Tensor, value: Tensor, causal: bool = False) -> Tensor:
    table = _features(query[rows]) @ _features(key).T
    table = table * (torch.arange(len(key)) <= rows[:, None]) if causal else table
    return table @ value / table.sum(-1, keepdim=True)


def _expect_rows(output, width: int, rows: Tensor, expected: Tensor, queries: int, size: float = 1.0) -> None:
    """Compare some rows of a long output: what was measured must have been the work."""
    expect(tuple(output.shape) if isinstance(output, Tensor) else output, (queries, width), "shape of the output")
    expect(output[rows], expected, "some rows of the output", size=size)
