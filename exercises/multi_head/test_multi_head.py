"""Tests of multi_head. A docstring is the question that a learner reads when the test fails."""
import torch
from torch.nn import functional as F

from kit import Anew, expect, expect_device, expect_gradients, expect_ratio, expect_trained, visible
from kit.outcome import Raised, Stopped, Wrong

MATRICES = ("w_query", "w_key", "w_value", "w_output")

# As a multiple of the same work on whole tensors (see `_expect_fast`), in seconds of computing, with two cores or ten times
# as much to do: right answers in every style took 1 to 4; a loop over queries or keys took 240 to 310 in the notebook
# and 64 to 68 across the wire.
MOST_TIMES_AS_LONG = 12
MANY, FEW, TRIES = 8192, 7, 3


@visible("split")
def test_two_words_for_three_heads(learner):
    """Head 0 gets the first two numbers of every word, head 1 the next two. Which axis has to be cut in two, and which axes change places after that?"""
    words = torch.arange(1.0, 13.0).reshape(1, 2, 6)
    expected = [[[[1.0, 2.0], [7.0, 8.0]], [[3.0, 4.0], [9.0, 10.0]], [[5.0, 6.0], [11.0, 12.0]]]]
    expect(learner.split_heads(words, 3), torch.tensor(expected), "heads")


@visible("split")
def test_words_in_another_order_in_memory(learner):
    """A transposed tensor has its entries in another order in memory. Which operation of yours does not take it as it is?"""
    words = torch.arange(1.0, 25.0).reshape(2, 2, 6)
    expect(learner.split_heads.strided(words, 3), torch.stack(words.split(2, dim=-1), dim=1), "heads")


@visible("merge")
def test_three_heads_side_by_side(learner):
    """Each word gets its shares back from all heads. What must stand next to a head's share before the two axes can become one?"""
    heads = torch.tensor([[[[1.0, 2.0], [7.0, 8.0]], [[3.0, 4.0], [9.0, 10.0]], [[5.0, 6.0], [11.0, 12.0]]]])
    expect(learner.merge_heads(heads), torch.arange(1.0, 13.0).reshape(1, 2, 6), "words")


@visible("merge")
def test_heads_in_another_order_in_memory(learner, draw):
    """After a split the heads have their entries in another order in memory. Which operation of yours does not take them as they are?"""
    heads = draw(2, 3, 5, 7)
    expect(learner.merge_heads.strided(heads), torch.cat(heads.unbind(dim=1), dim=-1), "words")


@visible("uneven")
def test_three_heads_for_a_width_of_four(learner):
    """Three heads can't have equal shares of four numbers. Which error says that a value is not one that can be used?"""
    words = torch.arange(8.0).reshape(1, 2, 4)
    expect(_error_of(lambda: learner.split_heads(words, 3)), "ValueError", "error")


@visible("scale")
def test_match_of_four_in_each_of_three_heads(learner):
    """Every head has a width of 4, so a match of 4 must reach softmax as a score of 2. How many terms does a dot product in one head have?"""
    query = torch.tensor([[[2.0, 0.0, 0.0, 0.0] * 3]])
    key = torch.tensor([[[2.0, 0.0, 0.0, 0.0] * 3, [0.0, 2.0, 0.0, 0.0] * 3]])
    value = torch.tensor([[[1.0, 0.0, 0.0, 0.0] * 3, [0.0, 1.0, 0.0, 0.0] * 3]])
    one, other = torch.softmax(torch.tensor([2.0, 0.0]), 0).tolist()
    expect(_attend(learner, query, key, value, _eyes(12), 3), torch.tensor([[[one, other, 0.0, 0.0] * 3]]), "output")


@visible("softmax")
def test_shares_of_one_query_in_one_head(learner):
    """Every key matches equally well, so each query takes the mean of the values in each head. With four axes now, along which one do the shares of one query lie?"""
    query, key = torch.zeros(1, 2, 4), torch.zeros(1, 3, 4)
    value = torch.tensor([[[3.0, 0.0, 0.0, 6.0], [0.0, 3.0, 0.0, 6.0], [0.0, 0.0, 3.0, 6.0]]])
    expect(_attend(learner, query, key, value, _eyes(4), 2), torch.tensor([[[1.0, 1.0, 1.0, 6.0]] * 2]), "output")


@visible("softmax")
def test_scores_of_two_hundred(learner):
    """exp(200) is too large for a float of 32 bits, exp(-200) too small. Which number can be taken from a whole row of scores without changing its weights?"""
    query, key = torch.tensor([[[200.0, -200.0]]]), torch.tensor([[[1.0, 1.0], [1.0, 1.0]]])
    value = torch.tensor([[[2.0, 10.0], [4.0, 30.0]]])
    expect(_attend(learner, query, key, value, _eyes(2), 2), torch.tensor([[[3.0, 20.0]]]), "output", size=200.0)


@visible("output")
def test_word_that_looks_at_itself(learner):
    """With a single key each head gives back its value, and the merged heads are multiplied by w_output. Where is that done, and on which side does the matrix stand?"""
    word, weights = torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]), _eyes(4)
    # Each column picks one number of the merged heads: a matrix that is not its own transpose.
    weights["w_output"] = torch.eye(4)[:, [1, 2, 3, 0]]
    expect(_attend(learner, word, word, word, weights, 2), torch.tensor([[[2.0, 3.0, 4.0, 1.0]]]), "output")


@visible("attention")
def test_heads_agree_with_torch(learner, draw):
    """Each head compares its own part of the projected queries with its own part of the projected keys. Which matrix makes which, and which part goes to which head?"""
    query, key, value, weights = draw(1, 5, 6), draw(1, 7, 6), draw(1, 7, 6), _weights(draw, 6)
    expect(_attend(learner, query, key, value, weights, 2), _by_torch(query, key, value, weights, 2), "output")


@visible("attention")
def test_sentences_stay_apart(learner, draw):
    """Three sentences are worked on at once, and each looks at its own words only. Which axis is the batch, and does it keep its place to the end?"""
    query, key, value, weights = draw(3, 2, 5), draw(3, 7, 5), draw(3, 7, 5), _weights(draw, 5)
    expect(_attend(learner, query, key, value, weights, 5), _by_torch(query, key, value, weights, 5), "output")


@visible("attention")
def test_one_head_is_a_head(learner, draw):
    """With one head and w_output = I nothing is left of the many. Does your code give back the attention of a single head?"""
    query, key, value = draw(1, 2, 3), draw(1, 5, 3), draw(1, 5, 3)
    weights = {**_weights(draw, 3), "w_output": torch.eye(3)}
    expect(_attend(learner, query, key, value, weights, 1), _by_torch(query, key, value, weights, 1), "output")


@visible("attention")
def test_all_sizes_agree(learner, draw):
    """There are three sentences, three queries, three keys and three heads, each three wide. Which axis is which, and does anything depend on their sizes?"""
    query, key, value, weights = draw(3, 3, 9), draw(3, 3, 9), draw(3, 3, 9), _weights(draw, 9)
    expect(_attend(learner, query, key, value, weights, 3), _by_torch(query, key, value, weights, 3), "output")


@visible("attention")
def test_inputs_in_another_order_in_memory(learner, draw):
    """Transposed tensors have their entries in another order in memory. Which operation of yours does not take them as they are?"""
    query, key, value, weights = draw(2, 5, 6), draw(2, 7, 6), draw(2, 7, 6), _weights(draw, 6)
    came = learner.multi_head_attention.strided(query, key, value, **weights, num_heads=2)
    expect(came, _by_torch(query, key, value, weights, 2), "output")


@visible("mask")
def test_hidden_key_weighs_nothing(learner):
    """The mask is True where a query may look, and the weights that are left must add up to 1. When is the mask to be applied?"""
    query, key = torch.ones(1, 2, 4), torch.ones(1, 3, 4)
    value = torch.tensor([[[1.0, 2.0, 3.0, 4.0], [50.0, 60.0, 70.0, 80.0], [3.0, 4.0, 5.0, 6.0]]])
    mask = torch.tensor([[True, False, True], [False, False, True]])
    expected = torch.tensor([[[2.0, 3.0, 4.0, 5.0], [3.0, 4.0, 5.0, 6.0]]])
    expect(_attend(learner, query, key, value, _eyes(4), 2, mask), expected, "output")


@visible("mask")
def test_visible_key_that_matches_badly(learner):
    """The first key may be seen and matches badly, the second matches well and is hidden. Can any match, however good, outweigh your mask?"""
    query, key = torch.tensor([[[10.0, 10.0]]]), torch.tensor([[[-8.0, -8.0], [8.0, 8.0]]])
    value, mask = torch.tensor([[[1.0, 2.0], [50.0, 60.0]]]), torch.tensor([[True, False]])
    expect(_attend(learner, query, key, value, _eyes(2), 2, mask), torch.tensor([[[1.0, 2.0]]]), "output")


@visible("mask")
def test_visible_key_far_below_all_others(learner):
    """The first key may be seen and matches with -200 and with -20000, the second with 0 and is hidden. Which score lies below every match?"""
    query, key = torch.tensor([[[1.0, 1.0], [100.0, 100.0]]]), torch.tensor([[[-200.0, -200.0], [0.0, 0.0]]])
    value, mask = torch.tensor([[[1.0, 2.0], [50.0, 60.0]]]), torch.tensor([[True, False]] * 2)
    expect(_attend(learner, query, key, value, _eyes(2), 2, mask), torch.tensor([[[1.0, 2.0]] * 2]), "output")


@visible("mask")
def test_hidden_key_that_matches_beyond_measure(learner):
    """The second key is hidden, and matches with a number of thirty digits. Has it any part in the output?"""
    query, key = torch.ones(1, 2, 2), torch.tensor([[[1.0, 1.0], [1e30, 1e30]]])
    value, mask = torch.tensor([[[1.0, 2.0], [50.0, 60.0]]]), torch.tensor([[True, False]] * 2)
    expect(_attend(learner, query, key, value, _eyes(2), 2, mask), torch.tensor([[[1.0, 2.0]] * 2]), "output")


@visible("mask")
def test_as_many_queries_as_sentences(learner):
    """There are two sentences, two queries and two keys, and one mask for all. Which of its axes is which?"""
    query, value = torch.zeros(2, 2, 2), torch.tensor([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]])
    came = _attend(learner, query, query, value, _eyes(2), 2, torch.tensor([[True, False], [True, True]]))
    expect(came, torch.tensor([[[1.0, 2.0], [2.0, 3.0]], [[5.0, 6.0], [6.0, 7.0]]]), "output")


@visible("mask")
def test_inputs_stay_as_they_were(learner, draw):
    """The next layer is handed the same mask, and may need everything else again. Which line of your code writes into one of its inputs?"""
    words = {"query": torch.zeros(2, 3, 4), "key": draw(2, 5, 4), "value": torch.ones(2, 5, 4)}
    came = learner.multi_head_attention.unchanged(**words, **_eyes(4), num_heads=2, mask=draw.mask(3, 5))
    expect(came, torch.ones(2, 3, 4), "output")


@visible("mask")
def test_mask_in_another_order_in_memory(learner):
    """The mask was transposed, and has its entries in another order in memory. Which operation of yours does not take it as it is?"""
    query, key, value = torch.ones(1, 2, 2), torch.ones(1, 3, 2), torch.tensor([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]])
    mask = torch.tensor([[True, False, True], [False, True, True]])
    came = learner.multi_head_attention.strided(query, key, value, **_eyes(2), num_heads=2, mask=mask)
    expect(came, torch.tensor([[[3.0, 4.0], [4.0, 5.0]]]), "output")


@visible("mask_batch")
def test_mask_for_each_sentence(learner):
    """There is a mask for each of two sentences, and three heads. Which axis of the scores has no partner in the mask, and where does it stand?"""
    query, key, value = torch.ones(2, 1, 3), torch.ones(2, 2, 3), torch.tensor([[[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]]] * 2)
    mask = torch.tensor([[[True, False]], [[True, True]]])
    expect(_attend(learner, query, key, value, _eyes(3), 3, mask), torch.tensor([[[1.0, 2.0, 3.0]], [[3.0, 4.0, 5.0]]]), "output")


@visible("blind_row")
def test_query_that_sees_nothing(learner):
    """The second query may look at nothing. Has it anything to average? What should stand in its row?"""
    query, key = torch.ones(1, 2, 2), torch.ones(1, 2, 2)
    value, mask = torch.tensor([[[3.0, 4.0], [5.0, 6.0]]]), torch.tensor([[True, False], [False, False]])
    expect(_attend(learner, query, key, value, _eyes(2), 2, mask), torch.tensor([[[3.0, 4.0], [0.0, 0.0]]]), "output")


@visible("dtype")
def test_double_precision_stays(learner):
    """A third has no end, and 64 bits hold more of it than 32. Where does your code turn its input into something else, or make a tensor that does not ask for the input's dtype?"""
    word = torch.tensor([[[1.0, 2.0], [1.0, 2.0]]], dtype=torch.float64) / 3
    expect(_attend(learner, word, word, word, _eyes(2, torch.float64), 2), word, "output")


@visible("dtype")
def test_half_precision_with_a_mask(learner):
    """The inputs have 16 bits, and the largest of their numbers is 65504. Does your code put a number into them that they can't hold?"""
    # Both words are alike, so it does not matter here which of them is hidden.
    words = torch.tensor([[[1.0, 2.0], [1.0, 2.0]]]).half()
    came = _attend(learner, words, words, words, _eyes(2, torch.float16), 2, torch.tensor([[True, False], [False, True]]))
    expect(came, words, "output")


@visible("gradient")
def test_gradient_reaches_everything(learner, draw):
    """Training needs a gradient at every input and every matrix. Where does your code leave the graph that autograd follows?"""
    _expect_gradients(learner, draw, 2)


@visible("gradient")
def test_gradient_beside_a_query_that_sees_nothing(learner, draw):
    """One query sees nothing, and a single NaN spoils every matrix. Zero times NaN is NaN: what flows back through the row that you set to zero?"""
    _expect_gradients(learner, draw, 2, blind=1)


@visible("vectorised")
def test_many_queries_at_once(learner, draw):
    """All queries can be compared with all keys in one product of matrices. Which loop goes through the queries one by one?"""
    _expect_fast(learner, draw, queries=MANY, keys=FEW)


@visible("vectorised")
def test_many_keys_at_once(learner, draw):
    """All keys can be compared with all queries in one product of matrices. Which loop goes through the keys one by one?"""
    _expect_fast(learner, draw, queries=FEW, keys=MANY)


@visible("module")
def test_module_with_given_weights(learner, draw):
    """The module keeps four matrices. Which of them makes the queries, which the keys, which the values, and which comes last?"""
    x, weights = draw(1, 5, 6), _weights(draw, 6)
    expect(_module(learner, weights, 3)(x, x, x), _by_torch(x, x, x, weights, 3), "output")


@visible("module")
def test_a_call_leaves_the_next_alone(learner, draw):
    """The same words come a second time. What has changed in your module in between?"""
    module, x = _module(learner, _weights(draw, 6), 2), draw(2, 5, 6)
    first = module.unchanged(x, x, x)
    expect(module(x, x, x), first, "output of the second call")


@visible("module")
def test_other_words_each_time(learner, draw):
    """One module is called with two sentences of two words, and then with others that lie in memory in another order. Does it mind, or still know the first?"""
    weights = _weights(draw, 6)
    module = _module(learner, weights, 3)
    for call in (module, module.strided):
        x = draw(2, 2, 6)
        expect(call(x, x, x), _by_torch(x, x, x, weights, 3), "output")


@visible("defaults")
def test_who_asks_also_answers(learner):
    """Nothing was said about the keys, so the words look at themselves. What do `key` and `value` become when they are None?"""
    x = torch.tensor([[[1.0, 2.0], [3.0, 6.0]]])
    expect(_indifferent(learner, _eyes(2), 2)(x), torch.tensor([[[2.0, 4.0]] * 2]), "output")


@visible("defaults")
def test_keys_are_the_values_too(learner):
    """Nothing was said about the values, and there are as many of them as keys. Which tensor answers, then?"""
    query, key = torch.tensor([[[1.0, 2.0], [3.0, 6.0]]]), torch.tensor([[[10.0, 20.0], [30.0, 50.0]]])
    expect(_indifferent(learner, _eyes(2), 2)(query, key), torch.tensor([[[20.0, 35.0]] * 2]), "output")


@visible("cross")
def test_two_words_ask_three(learner):
    """Two words ask, three others answer, and what they give is not what they are found by. Which of the three inputs says how long the result is, and which what is in it?"""
    query, key = torch.ones(1, 2, 4), torch.ones(1, 3, 4)
    value = torch.tensor([[[3.0, 0.0, 0.0, 6.0], [0.0, 3.0, 0.0, 6.0], [0.0, 0.0, 3.0, 6.0]]])
    expect(_indifferent(learner, _eyes(4), 2)(query, key, value), torch.tensor([[[1.0, 1.0, 1.0, 6.0]] * 2]), "output")


@visible("module_mask")
def test_module_with_a_mask(learner):
    """The module is handed a mask. Where does it pass it on?"""
    # Queries and keys are made of the sums 2 + 4 and 5 + 1: every word matches every word equally well.
    weights = {**_eyes(2), "w_query": torch.full((2, 2), 0.1), "w_key": torch.full((2, 2), 0.1)}
    x, mask = torch.tensor([[[2.0, 4.0], [5.0, 1.0]]]), torch.tensor([[True, False], [True, True]])
    expect(_module(learner, weights, 2)(x, x, x, mask), torch.tensor([[[2.0, 4.0], [3.5, 2.5]]]), "output")


@visible("module_mask")
def test_another_mask_each_time(learner):
    """One module is called three times: with a mask, with another one, and without. What does it still know of the calls before?"""
    module, x = _indifferent(learner, _eyes(2), 2), torch.tensor([[[2.0, 4.0], [6.0, 8.0]]])
    first, second = torch.tensor([[True, False], [True, False]]), torch.tensor([[False, True], [False, True]])
    for mask, expected in ((first, [2.0, 4.0]), (second, [6.0, 8.0]), (None, [4.0, 6.0])):
        expect(module(x, x, x, mask), torch.tensor([[expected] * 2]), "output")


@visible("module_mask")
def test_mask_that_others_still_need(learner):
    """Each sentence has a mask of its own, it was transposed, and the next layer is handed the same one. Which line of your module minds, or writes into it?"""
    module, x = _indifferent(learner, _eyes(2), 2), torch.tensor([[[2.0, 4.0], [6.0, 8.0]], [[1.0, 3.0], [5.0, 7.0]]])
    mask = torch.tensor([[[True, False], [True, True]], [[False, True], [True, False]]])
    for call in (module.unchanged, module.strided):
        expect(call(x, x, x, mask), torch.tensor([[[2.0, 4.0], [4.0, 6.0]], [[5.0, 7.0], [1.0, 3.0]]]), "output")


@visible("module_uneven")
def test_module_of_width_four_with_three_heads(learner):
    """Four numbers can't be shared out to three heads. When is it kinder to say so: when the module is made, or when it is first used?"""
    expect(_error_of(lambda: learner.MultiHeadAttention(4, 3)), "ValueError", "error")


@visible("trains")
def test_every_weight_learns(learner, draw):
    """Four matrices of 6 by 6 are 144 numbers to learn. How does a module know that a tensor of its own is to be trained, and does a gradient find it?"""
    module = learner.MultiHeadAttention(d_model=6, num_heads=3)
    expect_trained(module.trained(*[draw(2, 5, 6)] * 3), 144)


@visible("trains")
def test_module_of_64_bits(learner):
    """The module was told to keep 64 bits, and so has its word, which looks at itself. What of it stays behind, or comes back with fewer?"""
    module, word = _module(learner, _eyes(2), 1), torch.tensor([[[1.0, 2.0]]], dtype=torch.float64)
    module.double()
    expect(module(word, word, word), word, "output")


@visible("trains")
def test_words_can_learn_too(learner, draw):
    """Other layers may have made the words that ask and those that answer. Does a gradient leave the module for all of them, or is one cut off on the way?"""
    _expect_gradients_of_words(learner, draw, 3)


@visible("device")
def test_attention_on_another_device(learner, draw):
    """The words, the matrices and the mask lie on another device, such as a GPU. Which tensor does your function make on the CPU all the same?"""
    query, key, weights = draw(2, 3, 6), draw(2, 5, 6), _weights(draw, 6)
    for mask in (None, draw.mask(3, 5)):
        expect_device(learner, lambda there: _attend(there, query, key, key, weights, 3, mask), (2, 3, 6))


@visible("device")
def test_module_on_another_device(learner, draw):
    """The module was moved to another device, such as a GPU, and the words are there too. Which tensor did not move along, or is made on the CPU?"""
    x = draw(2, 5, 6)
    for masks in ({}, {"mask": draw.mask(2, 5, 5)}):
        expect_device(learner, lambda there: there.MultiHeadAttention(6, 3)(x, **masks), (2, 5, 6))


def _weights(draw, d_model: int, scale: float = 0.5) -> dict:
    return {name: draw(d_model, d_model, scale=scale) for name in MATRICES}


def _eyes(d_model: int, dtype: torch.dtype = torch.float32) -> dict:
    """Return four matrices that change nothing, for tests of everything else."""
    return {name: torch.eye(d_model, dtype=dtype) for name in MATRICES}


def _attend(learner, query, key, value, weights: dict, num_heads: int, mask=None):
    matrices = [weights[name] for name in MATRICES]
    masks = [] if mask is None else [mask]
    return learner.multi_head_attention(query, key, value, *matrices, num_heads, *masks)


def _by_torch(query, key, value, weights: dict, num_heads: int):
    w_query, w_key, w_value, w_output = (weights[name] for name in MATRICES)
    heads = [(x @ w).unflatten(-1, (num_heads, -1)).transpose(1, 2) for x, w in ((query, w_query), (key, w_key), (value, w_value))]
    return F.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2) @ w_output


def _module(learner, weights: dict, num_heads: int):
    module = learner.MultiHeadAttention.later(d_model=len(weights["w_query"]), num_heads=num_heads)
    learner.set_weights.later(module, **weights)
    return module


def _indifferent(learner, weights: dict, num_heads: int):
    """Return a module whose queries are zero: every visible key gets an equal share, so only who answers matters."""
    return _module(learner, {**weights, "w_query": torch.zeros_like(weights["w_query"])}, num_heads)


def _error_of(work) -> str:
    """Return the name of the error that the learner's code raises, or "no error"."""
    try:
        work()
    except Raised as error:
        return error.kind
    return "no error"


def _expect_gradients(learner, draw, num_heads: int, blind: int | None = None, true=None) -> None:
    """Return None if gradients come back to the words and the matrices; `true` has the right ones, where there is one."""
    d_model, masks = 5 * num_heads, []
    if blind is not None:
        # The other queries see every key: where there is one key only, no gradient reaches the scores.
        masks = [torch.ones(3, 5, dtype=torch.bool)]
        masks[0][blind] = False
    inputs = {"query": draw(2, 3, d_model), "key": draw(2, 5, d_model), "value": draw(2, 5, d_model), **_weights(draw, d_model)}
    right = true and true.multi_head_attention
    expect_gradients(learner.multi_head_attention, list(inputs), *inputs.values(), num_heads, *masks, draw=draw, true=right)


def _expect_gradients_of_words(learner, draw, num_heads: int, reference=None) -> None:
    d_model = 2 * num_heads
    words, weights = [draw(2, 5, d_model) for _ in range(3)], _weights(draw, d_model)
    module, true = _alike(learner, reference, weights, num_heads)
    expect_gradients(module, ["query", "key", "value"], *words, draw=draw, true=true)


def _alike(learner, reference, weights: dict, num_heads: int):
    """Return the learner's module and the reference's, with the same weights; None for the second where there is no reference."""
    return Anew(_module, learner, weights, num_heads), reference and Anew(_module, reference, weights, num_heads)


def _expect_fast(learner, draw, queries: int, keys: int) -> None:
    weights = _weights(draw, 8), 2
    # Asked before the many, so that nothing these leave behind can tell what to answer.
    right, asked, came = _is_right(learner, draw(1, 5, 8), draw(1, 3, 8), draw(1, 3, 8), *weights), [], []

    def by_the_learner():
        # Other words each time: what was kept from the try before is of no use.
        asked[:] = [[draw(1, tokens, 8) for tokens in (queries, keys, keys)] for _ in range(TRIES)]
        came[:] = learner.multi_head_attention.measured(*[(*words, *weights[0].values(), weights[1]) for words in asked])
        return [cost for _, cost in came]

    by_torch = [draw(1, tokens, 8) for tokens in (queries, keys, keys)]
    expect_ratio(by_the_learner, lambda: _by_torch(*by_torch, *weights), MOST_TIMES_AS_LONG, "time")
    for words, (output, _) in zip(asked, came):
        if right:
            expect(output, _by_torch(*words, *weights), "output")
    if not right:
        _expect_use_of_all(learner, draw, asked[-1], weights, came[-1][0])


def _is_right(learner, *inputs) -> bool:
    """Return whether few words get the right output; if not, other checks say so, and it need not be right for many."""
    try:
        expect(_attend(learner, *inputs), _by_torch(*inputs))
    except (Wrong, Stopped) as error:
        learner.excuse(error if isinstance(error, Wrong) else Wrong.plainly("output", "there is none"))
        return False
    return True


def _expect_use_of_all(learner, draw, words: list, weights: tuple, came) -> None:
    """Return None if the output, right or not, is another one for other queries, for other keys, and for other values."""
    for number, what in enumerate(("query", "key", "value")):
        others = [draw(*each.shape) if place == number else each for place, each in enumerate(words)]
        expect(torch.equal(_attend(learner, *others, *weights), came), False, f"whether the output is the same for another {what}")
