"""Tests of cross_attention. A docstring is the question that a learner reads when the test fails.

One idea is tested at a time. Where the scale is not the question, the vectors that are matched
are one number wide: the square root of 1 is 1. Where the widths are not the question, both
sequences are equally wide, so that a mistake gives an output to look at and not an error.
"""
import torch
from torch.nn import functional as F

from kit import Anew, expect, expect_device, expect_gradients, expect_trained, visible

NEAREST = torch.tensor([[1.0], [2.0], [3.0]]).log()  # matches of a 1 whose shares are 1/6, 2/6 and 3/6


@visible("who_asks")
def test_context_of_zeros(learner, draw):
    """A context of zeros, times any matrix, has only zeros to give. Where does the rest of your output come from?"""
    attention = _attention(learner, _weights(draw, 2, 2, 1, 5))
    expect(attention(torch.tensor([[1.0, 2.0]]), torch.zeros(3, 2)), torch.zeros(1, 5), "output")


@visible("who_asks")
def test_one_word_reads_three(learner):
    """A single word asks, three words of the context answer with shares of 1, 2 and 3 sixths. Which of the two sequences is averaged?"""
    attention = _attention(learner, {"w_query": torch.eye(2)[:, :1], "w_key": torch.eye(2)[:, :1], "w_value": torch.eye(2)[:, 1:]})
    # The first entry of a word is what it is matched by, the second what it has to give.
    x, context = torch.tensor([[1.0, 100.0]]), torch.cat([NEAREST, torch.tensor([[0.0], [6.0], [12.0]])], dim=1)
    expect(attention(x, context), torch.tensor([[8.0]]), "output")


@visible("who_asks")
def test_a_row_for_each_word_that_asks(learner, draw):
    """Three words read five. How many rows has the output, and which of the matrices belong to the context?"""
    x, context, weights = draw(3, 7), draw(5, 7), _weights(draw, 7, 7, 1, 11)
    expect(_attention(learner, weights)(x, context), _expected(x, context, weights), "output")


@visible("who_asks")
def test_every_word_reads_the_next(learner, draw):
    """All widths and lengths are 5 here, so three matrices are as large as each other. Which of them makes which?"""
    w_value = draw(5, 5)
    expect(_attention(learner, _next_word(w_value))(torch.eye(5), torch.eye(5)), w_value.roll(-1, dims=0), "output")


@visible("who_asks")
def test_a_call_leaves_the_next_alone(learner, draw):
    """The same words come a second time. What has changed in your module in between?"""
    x, context, weights = draw(2, 3, 7), draw(2, 5, 7), _weights(draw, 7, 7, 3, 11)
    attention = _attention(learner, weights)
    first = attention.unchanged(x, context)
    expect(attention(x, context), first, "output of the second call")


@visible("who_asks")
def test_another_context_each_time(learner, draw):
    """One module is called three times, with another x and then with another context of the same size. What does it still know of the calls before?"""
    weights, x, context = _weights(draw, 7, 7, 1, 11), draw(3, 7), draw(5, 7)
    attention = _attention(learner, weights)
    for words, others in ((x, context), (draw(3, 7), context), (x, draw(5, 7))):
        expect(attention(words, others), _expected(words, others, weights), "output")


@visible("who_asks")
def test_matches_of_one_and_three_thousand(learner):
    """The matches are 1000 and 3000, and their powers of e too large for any float. What does a softmax do about that?"""
    one = torch.eye(3)[:, :1]
    attention = _attention(learner, {"w_query": one, "w_key": one, "w_value": torch.eye(3)[:, 1:]})
    x, context = torch.tensor([[100.0, 7.0, 8.0]]), torch.tensor([[10.0, 1.0, 2.0], [30.0, 3.0, 4.0]])
    expect(attention(x, context), torch.tensor([[3.0, 4.0]]), "output")


@visible("scale")
def test_matches_of_four_and_eight(learner):
    """Matches of 4 and 8 must reach softmax as scores of 2 and 4, for d_k is 4. What is the square root of d_k for?"""
    same = torch.eye(4)
    attention = _attention(learner, {"w_query": same, "w_key": same, "w_value": torch.eye(4, 5)})
    x = torch.tensor([[2.0, 0.0, 0.0, 0.0], [0.0, 4.0, 0.0, 0.0]])
    context = 2 * torch.eye(3, 4)
    scores = torch.tensor([[2.0, 0.0, 0.0], [0.0, 4.0, 0.0]])
    expect(attention(x, context), torch.softmax(scores, -1) @ context @ torch.eye(4, 5), "output")


@visible("widths")
def test_context_wider_than_x(learner, draw):
    """A word of x has 2 numbers, a word of the context 7. Which of the three matrices has rows for which?"""
    x, context, weights = draw(3, 2), draw(5, 7), _weights(draw, 2, 7, 1, 11)
    expect(_attention(learner, weights)(x, context), _expected(x, context, weights), "output")


@visible("batch")
def test_two_axes_before_the_last_two(learner, draw):
    """Only the last two axes take part; the others are carried along. Which axes does your code swap, by what number?"""
    x, context, weights = draw(2, 3, 5, 7), draw(2, 3, 11, 7), _weights(draw, 7, 7, 1, 13)
    expect(_attention(learner, weights)(x, context), _expected(x, context, weights), "output")


@visible("batch")
def test_inputs_in_another_order_in_memory(learner, draw):
    """Transposed tensors have their entries in another order in memory. Which operation of yours does not take them as they are?"""
    x, context, weights = draw(2, 3, 5, 7), draw(2, 3, 11, 7), _weights(draw, 7, 7, 1, 13)
    expect(_attention(learner, weights).strided(x, context), _expected(x, context, weights), "output")


@visible("mask")
def test_hidden_word_of_the_context(learner):
    """The mask is True where a word may look, and the shares that are left must add up to 1. When is the mask to be applied?"""
    one = torch.eye(4)[:, :1]
    attention = _attention(learner, {"w_query": one, "w_key": one, "w_value": torch.eye(4)[:, 1:]})
    # Without a mask a match of 1 has the shares 1, 2 and 3 of 6, a match of 2 their squares.
    # With a 1 in each value the output shows them.
    x, context = torch.cat([torch.tensor([[1.0], [2.0], [1.0]]), 5 * torch.eye(3)], dim=1), torch.cat([NEAREST, torch.eye(3)], dim=1)
    mask = torch.tensor([[True, False, True], [False, True, True], [True, False, False]])
    expect(attention(x, context, mask), torch.tensor([[1 / 4, 0.0, 3 / 4], [0.0, 4 / 13, 9 / 13], [1.0, 0.0, 0.0]]), "output")


@visible("mask")
def test_padding_of_a_batch(learner, draw):
    """The context of the second sentence has three words and the rest is filling, for every word that asks. Which axis of the mask has length 1?"""
    x, context, weights = draw(2, 3, 7), draw(2, 5, 7), _weights(draw, 7, 7, 1, 11)
    mask = torch.tensor([[[True, True, True, True, True]], [[True, True, True, False, False]]])
    expect(_attention(learner, weights)(x, context, mask), _expected(x, context, weights, mask), "output")


@visible("mask")
def test_visible_word_far_below_all_others(learner):
    """The first word of the context may be seen and matches with -200 and with -20000, the second with 0 and is hidden. Which score lies below every match?"""
    one = torch.eye(3)[:, :1]
    attention = _attention(learner, {"w_query": one, "w_key": one, "w_value": torch.eye(3)[:, 1:]})
    x, context = torch.tensor([[1.0, 7.0, 8.0], [100.0, 7.0, 8.0]]), torch.tensor([[-200.0, 3.0, 4.0], [0.0, 5e9, 6e9]])
    expect(attention(x, context, torch.tensor([[True, False]] * 2)), torch.tensor([[3.0, 4.0]] * 2), "output")


@visible("mask")
def test_hidden_word_that_matches_beyond_measure(learner):
    """The second word of the context is hidden, and matches with a number of thirty digits. Has it any part in the output?"""
    one = torch.eye(3)[:, :1]
    attention = _attention(learner, {"w_query": one, "w_key": one, "w_value": torch.eye(3)[:, 1:]})
    x, context = torch.tensor([[1.0, 7.0, 8.0], [2.0, 7.0, 8.0]]), torch.tensor([[1.0, 3.0, 4.0], [1e30, 5.0, 6.0]])
    expect(attention(x, context, torch.tensor([[True, False]] * 2)), torch.tensor([[3.0, 4.0]] * 2), "output")


@visible("mask")
def test_as_many_words_as_sentences(learner, draw):
    """Three sentences of three words read a context each, and one mask holds for all. Which of its axes is which?"""
    x, context, weights, mask = draw(3, 3, 7), draw(3, 5, 7), _weights(draw, 7, 7, 1, 11), draw.mask(3, 5)
    expect(_attention(learner, weights)(x, context, mask), _expected(x, context, weights, mask), "output")


@visible("mask")
def test_another_mask_each_time(learner, draw):
    """One module is called three times: with a mask, with another one, and without. What does it still know of the calls before, and did it write into a mask?"""
    x, context, weights = draw(2, 3, 7), draw(2, 5, 7), _weights(draw, 7, 7, 1, 11)
    attention = _attention(learner, weights)
    for mask in (draw.mask(2, 3, 5), draw.mask(2, 3, 5), None):
        expect(attention.unchanged(x, context, mask=mask), _expected(x, context, weights, mask), "output")


@visible("mask")
def test_mask_in_another_order_in_memory(learner):
    """The mask was transposed, and has its entries in another order in memory. Which operation of yours does not take it as it is?"""
    attention = _attention(learner, {"w_query": torch.zeros(2, 1), "w_key": torch.zeros(2, 1), "w_value": torch.eye(2)})
    x, context = torch.ones(2, 2), torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    came = attention.strided(x, context, torch.tensor([[True, False, True], [False, True, True]]))
    expect(came, torch.tensor([[3.0, 4.0], [4.0, 5.0]]), "output")


@visible("blind_row")
def test_word_that_sees_nothing(learner):
    """The second word may look at nothing. Has it anything to average? What should stand in its row?"""
    one = torch.eye(3)[:, :1]
    attention = _attention(learner, {"w_query": one, "w_key": one, "w_value": torch.eye(3)[:, 1:]})
    # The first word matches the second of the context so badly that the first gets everything.
    x, context = torch.tensor([[100.0, 1.0, 2.0], [1.0, 4.0, 6.0]]), torch.tensor([[0.0, 3.0, 5.0], [-1.0, 7.0, 9.0]])
    mask = torch.tensor([[True, True], [False, False]])
    expect(attention(x, context, mask), torch.tensor([[3.0, 5.0], [0.0, 0.0]]), "output")


@visible("blind_row")
def test_gradient_of_a_word_that_sees_nothing(learner, draw):
    """The second word sees nothing, and not-a-number in its row would spoil every weight in training. Where does 0 / 0 hide, if the output looks right?"""
    mask = torch.tensor([[True, True, True], [False, False, False]])
    attention = Anew(_attention, learner, _indifferent(_weights(draw, 5, 5, 1, 7)))
    expect_gradients(attention, [None, "context"], draw(2, 5), draw(3, 5), mask, draw=draw, elsewhere={"none"})


@visible("trains")
def test_every_weight_learns(learner, draw):
    """A module of this size has 5*2 + 5*2 + 5*3 = 35 numbers to learn. How does a module know that a tensor of its own is to be trained?"""
    attention = _attention(learner, _weights(draw, 5, 5, 2, 3))
    expect_trained(attention.trained(draw(2, 5), draw(3, 5)), 35)


@visible("trains")
def test_module_of_64_bits(learner):
    """The module was told to keep 64 bits, and so have the words. What of it stays behind, or comes back with fewer?"""
    attention = _attention(learner, {"w_query": torch.eye(2, 1), "w_key": torch.eye(2, 1), "w_value": torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 3.0]])})
    attention.double()
    # All words are alike, so the output is their value.
    words = torch.tensor([[1.0, 2.0]] * 2, dtype=torch.float64)
    expect(attention(words, words), torch.tensor([[1.0, 2.0, 8.0]] * 2, dtype=torch.float64), "output")


@visible("trains")
def test_context_can_learn_too(learner, draw):
    """Other layers may have made the words that ask and the context. Does a gradient leave the module for both, or is one cut off on the way?"""
    _expect_gradients_of_words(learner, draw, 3, 5, _weights(draw, 5, 5, 2, 3))


@visible("device")
def test_reading_on_another_device(learner, draw):
    """The module was moved to another device, such as a GPU, and so were words and mask. Which tensor did not move along, or is made on the CPU?"""
    x, context = draw(2, 5, 7), draw(2, 3, 11)
    for masks in ((), (draw.mask(5, 3),)):
        expect_device(learner, lambda there: there.CrossAttention(7, 11, 2, 13)(x, context, *masks), (2, 5, 13))


@visible("text_reads")
def test_words_read_patches(learner):
    """Each word shares out one whole among the patches: the first 1/5 and 4/5, the second evenly. What does it average by these shares?"""
    text, image = torch.tensor([[1.0], [0.0], [-1.0]]), torch.tensor([[1.0], [4.0]]).log()
    text_seen, _ = learner.look_both_ways.pair(text, image)
    expect(text_seen, torch.tensor([[4 / 5], [1 / 2], [1 / 5]]) * image[1], "what the text has read")


@visible("text_reads")
def test_as_many_words_as_patches(learner, draw):
    """There are as many words as patches, so the table of scores is square. Along which axis does a word share out its whole?"""
    text, image = draw(3, 1), draw(3, 1)
    text_seen, _ = learner.look_both_ways.pair(text, image)
    expect(text_seen, F.scaled_dot_product_attention(text, image, image), "what the text has read")


@visible("image_reads")
def test_patches_read_words(learner):
    """Each patch shares out one whole among the words. Do the shares of a patch add up to 1, or those of a word, which you have already?"""
    text, image = torch.tensor([[0.0], [1.0]]), torch.tensor([[1.0], [3.0], [9.0]]).log()
    _, image_seen = learner.look_both_ways.pair(text, image)
    expect(image_seen, torch.tensor([[1 / 2], [3 / 4], [9 / 10]]), "what the image has read")


@visible("image_reads")
def test_as_many_patches_as_words(learner, draw):
    """There are as many patches as words, so the table of scores is square. Along which axis does a patch share out its whole?"""
    text, image = draw(3, 1), draw(3, 1)
    _, image_seen = learner.look_both_ways.pair(text, image)
    expect(image_seen, F.scaled_dot_product_attention(image, text, text), "what the image has read")


@visible("both_scale")
def test_match_of_eight(learner):
    """The vectors are 4 wide, so a match of 8 must reach softmax as a score of 4, from either side. By which number is it divided?"""
    text, image = _opposites(torch.tensor([[2.0, 0.0, 0.0, 0.0]])), _opposites(torch.tensor([[4.0, 0.0, 0.0, 3.0]]))
    text_seen, image_seen = learner.look_both_ways.pair(text, image)
    weights = torch.softmax(torch.tensor([[4.0, -4.0], [-4.0, 4.0]]), -1)
    expect(text_seen, weights @ image, "what the text has read")
    expect(image_seen, weights @ text, "what the image has read")


@visible("both_scale")
def test_as_many_words_as_numbers(learner):
    """There are two words and two patches of two numbers each, so all tables are square. Which of them are rows in what comes back?"""
    text, image = _opposites(torch.tensor([[2.0, 0.0]])), _opposites(torch.tensor([[2.0**0.5, 1.0]]))
    text_seen, image_seen = learner.look_both_ways.pair(text, image)
    weights = torch.softmax(torch.tensor([[2.0, -2.0], [-2.0, 2.0]]), -1)
    expect(text_seen, weights @ image, "what the text has read")
    expect(image_seen, weights @ text, "what the image has read")


@visible("both_scale")
def test_text_and_image_stay_as_they_were(learner, draw):
    """Whoever called still holds text and image, and may need them again. Which line of your code writes into one of them?"""
    text, image = _opposites(draw(1, 3)), _opposites(draw(1, 3))
    text_seen, _ = learner.look_both_ways.unchanged(text=text, image=image)
    expect(text_seen, F.scaled_dot_product_attention(text, image, image), "what the text has read")


@visible("both_batch")
def test_a_batch_of_texts_and_images(learner, draw):
    """Only the last two axes take part; the others are carried along. Which axes does your code swap, by what number?"""
    text, image = _opposites(draw(3, 5, 1, 1)), _opposites(draw(3, 5, 1, 1))
    text_seen, image_seen = learner.look_both_ways.pair(text, image)
    expect(text_seen, F.scaled_dot_product_attention(text, image, image), "what the text has read")
    expect(image_seen, F.scaled_dot_product_attention(image, text, text), "what the image has read")


@visible("both_batch")
def test_as_many_texts_as_words(learner, draw):
    """There are two texts of two words, so two axes are equally long. Which of them is carried along?"""
    text, image = _opposites(draw(2, 1, 1)), _opposites(draw(2, 1, 1))
    text_seen, image_seen = learner.look_both_ways.pair(text, image)
    expect(text_seen, F.scaled_dot_product_attention(text, image, image), "what the text has read")
    expect(image_seen, F.scaled_dot_product_attention(image, text, text), "what the image has read")


@visible("both_batch")
def test_text_and_image_in_another_order_in_memory(learner, draw):
    """Transposed tensors have their entries in another order in memory. Which operation of yours does not take them as they are?"""
    text, image = _opposites(draw(3, 5, 1, 1)), _opposites(draw(3, 5, 1, 1))
    text_seen, image_seen = learner.look_both_ways.strided(text, image)
    expect(text_seen, F.scaled_dot_product_attention(text, image, image), "what the text has read")
    expect(image_seen, F.scaled_dot_product_attention(image, text, text), "what the image has read")


@visible("both_stable")
def test_matches_of_thousands(learner):
    """One match is 3000, and its power of e is too large for any float. Which number can be taken from all scores of a query without changing their shares?"""
    text, image = torch.tensor([[100.0], [-100.0]]), torch.tensor([[30.0], [-30.0]])
    text_seen, image_seen = learner.look_both_ways.pair(text, image)
    expect(text_seen, image, "what the text has read")
    expect(image_seen, text, "what the image has read")


@visible("both_dtype")
def test_double_precision_stays(learner, draw):
    """The vectors have 64 bits. Where does your code turn them into something else, or lose digits on the way?"""
    text, image = _opposites(draw(1, 1, dtype=torch.float64)), _opposites(draw(1, 1, dtype=torch.float64))
    text_seen, image_seen = learner.look_both_ways.pair(text, image)
    expect(text_seen, F.scaled_dot_product_attention(text, image, image), "what the text has read")
    expect(image_seen, F.scaled_dot_product_attention(image, text, text), "what the image has read")


@visible("both_gradient")
def test_gradient_reaches_text_and_image(learner, draw):
    """Each side asks and is asked, so a gradient comes back to text and image from both results. Where does your code leave the graph?"""
    _expect_gradients(learner, draw, 3, 5)


def _opposites(vector):
    """Return the vector and its opposite, one below the other.

    Where two opposites read two opposites, both sides share alike. So whose shares are used does
    not matter there: that is the question of text_reads and image_reads alone.
    """
    return torch.cat([vector, -vector], dim=-2)


def _weights(draw, d_query: int, d_context: int, d_k: int, d_v: int) -> dict:
    return {"w_query": draw(d_query, d_k), "w_key": draw(d_context, d_k), "w_value": draw(d_context, d_v)}


def _indifferent(weights: dict) -> dict:
    """Return weights with which all scores are zero: a gradient comes back through the values only, but for one that is no number."""
    return {name: torch.zeros_like(weight) if name != "w_value" else weight for name, weight in weights.items()}


def _attention(learner, weights: dict):
    (d_query, d_k), (d_context, d_v) = weights["w_query"].shape, weights["w_value"].shape
    attention = learner.CrossAttention.later(d_query=d_query, d_context=d_context, d_k=d_k, d_v=d_v)
    learner.set_weights.later(attention, **weights)
    return attention


def _expected(x, context, weights: dict, mask=None):
    query, key, value = x @ weights["w_query"], context @ weights["w_key"], context @ weights["w_value"]
    return F.scaled_dot_product_attention(query, key, value, mask)


def _expect_gradients(learner, draw, words: int, patches: int, true=None) -> None:
    text, image = draw(words, 1), draw(patches, 1)
    for part in (0, 1):
        expect_gradients(learner.look_both_ways, ["text", "image"], text, image, draw=draw, true=true, part=part)


def _next_word(w_value) -> dict:
    """Return weights with which a word reads the next one only, if words are the rows of an identity; the scale does not matter."""
    size = len(w_value)
    return {"w_query": 100 * torch.eye(size).roll(1, dims=1), "w_key": torch.eye(size), "w_value": w_value}


def _expect_gradients_of_words(learner, draw, queries: int, keys: int, weights: dict, reference=None) -> None:
    words, true = [draw(size, len(weights["w_query"])) for size in (queries, keys)], reference and Anew(_attention, reference, weights)
    expect_gradients(Anew(_attention, learner, weights), ["x", "context"], *words, draw=draw, true=true)
