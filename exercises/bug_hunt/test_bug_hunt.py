"""Tests of bug_hunt. A docstring is the question that a learner reads when the test fails.

Each bug has two checks: one for the repaired function, one for the learner's test. The latter is tried on
the implementations below, which never leave this side (see autograder/kit/mutation.py).
"""
import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from kit import Contract, expect, expect_gradients, expect_pass, expect_refusal, visible


def merge_heads(x: Float[Tensor, "batch heads tokens d_head"]):
    """What a test may hand over; the same below."""


def attention_weights(query: Float[Tensor, "batch queries d_model"], key: Float[Tensor, "batch keys d_model"], num_heads: int):
    pass


def attend(query: Float[Tensor, "queries d_k"], key: Float[Tensor, "keys d_k"], value: Float[Tensor, "keys d_v"], mask: Bool[Tensor, "queries keys"]):
    pass


def masked_softmax(scores: Float[Tensor, "queries keys"], mask: Bool[Tensor, "queries keys"]):
    pass


def scaled_scores(query: Float[Tensor, "queries d_k"], key: Float[Tensor, "keys d_k"]):
    pass


def random_mask(queries: int, keys: int):
    pass


def attention_layer(x: Float[Tensor, "tokens d_model"], mask: Bool[Tensor, "tokens tokens"] | None = None):
    pass


def feed_forward(
    x: Float[Tensor, "tokens d_model"], w1: Float[Tensor, "d_model d_ff"], b1: Float[Tensor, "d_ff"],
    w2: Float[Tensor, "d_ff d_model"], b2: Float[Tensor, "d_model"], smooth: bool = False,
):
    pass


def _uneven(query, key, num_heads):
    if num_heads < 1 or query.shape[-1] % num_heads:
        return f"{num_heads} heads can't have equal shares of width {query.shape[-1]}"


def _blind(mask):
    if mask is not None and not mask.any(-1).all():
        return "the mask leaves a query without a key"


def _too_large(query, key):
    if not (_exact_scores(query, key).abs() <= torch.finfo(query.dtype).max).all():
        return f"a score does not fit {query.dtype}"


def _too_few(queries, keys):
    if min(queries, keys) < 1:
        return "a mask has at least one query and one key"


LOOKING_BACK = torch.ones(3, 3).tril().bool()  # some queries have a choice, so scores have a gradient

MERGE = Contract(merge_heads)
WEIGHTS = Contract(attention_weights, _uneven)
ATTEND = Contract(attend, lambda query, key, value, mask: _blind(mask))
SOFTMAX = Contract(masked_softmax)
SCORES = Contract(scaled_scores, _too_large)
CHANCE = Contract(random_mask, _too_few)
LAYER = Contract(attention_layer, lambda x, mask: _blind(mask))
FORWARD = Contract(feed_forward)


@visible("merge")
def test_two_heads_of_two_words(learner):
    """The first word has 1, 2 in head 0 and 5, 6 in head 1. Which axis must stand next to the numbers of a head before the two can become one?"""
    heads = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]])
    expect(learner.merge_heads(heads), torch.tensor([[[1.0, 2.0, 5.0, 6.0], [3.0, 4.0, 7.0, 8.0]]]), "words")


@visible("merge")
def test_heads_that_others_still_need(learner, draw):
    """Tensors of 64 bits were transposed, and others still need them, and their gradients. Where are digits lost, which of your steps minds the order in memory or writes into an input, and does anything depend on sizes that agree?"""
    _expect_care(learner.merge_heads, _merge_word_by_word, draw, ["x"], [[draw(4, 2, 4, 2, dtype=torch.float64)] for _ in range(2)])


@visible("merge_test")
def test_merge_test_on_a_right_one(learner):
    """Your test was given a `merge_heads` that is right. What does it ask for that the contract does not, or what does it compare with?"""
    expect_pass(learner.test_merge, MERGE, _merge_word_by_word)


@visible("merge_test")
def test_merge_test_on_the_bug(learner):
    """Your test was given the bug, and had nothing to say. For which input, and in which numbers of the output, do the bug and a right `merge_heads` differ?"""
    expect_refusal(learner.test_merge, MERGE, lambda x: x.reshape(len(x), x.shape[2], -1), "a merge by reshape alone", _merge_word_by_word)


@visible("scale")
def test_match_of_four_in_three_heads(learner):
    """Each of the three heads is 4 wide, so a match of 4 is a score of 2. How many terms does a dot product in one head have?"""
    query, key = torch.tensor([[[2.0, 0.0, 0.0, 0.0] * 3]]), torch.tensor([[[2.0, 0.0, 0.0, 0.0] * 3, [0.0, 2.0, 0.0, 0.0] * 3]])
    expected = torch.softmax(torch.tensor([2.0, 0.0]), 0).repeat(1, 3, 1, 1)
    expect(learner.attention_weights(query, key, 3), expected, "weights")


@visible("scale")
def test_queries_that_others_still_need(learner, draw):
    """Tensors of 64 bits were transposed, and others still need them, and their gradients. Where are digits lost, which of your steps minds the order in memory or writes into an input, and does anything depend on sizes that agree?"""
    _expect_care(learner.attention_weights, _weights_by_torch, draw, ["query", "key"], [[*draw(2, 3, 3, 4, dtype=torch.float64), 2] for _ in range(2)])


@visible("scale_test")
def test_scale_test_on_a_right_one(learner):
    """Your test was given an `attention_weights` that is right. What does it ask for that the contract does not?"""
    expect_pass(learner.test_scale, WEIGHTS, _weights_by_torch)


@visible("scale_test")
def test_scale_test_on_the_bug(learner):
    """Your test was given the bug, and had nothing to say. For how many heads is d_model other than the width of a head?"""
    expect_refusal(learner.test_scale, WEIGHTS, lambda query, key, num_heads: _weights_by_torch(query, key, num_heads, query.shape[-1]), "a scale by d_model", _weights_by_torch)


@visible("mask")
def test_one_of_two_keys_is_hidden(learner):
    """Both keys match equally well, and the second is hidden, so the output is the first value. Do the weights of a query still sum to 1 after your mask?"""
    value, mask = torch.tensor([[4.0, 8.0], [100.0, 200.0]]), torch.tensor([[True, False]])
    expect(learner.attend(torch.zeros(1, 2), torch.zeros(2, 2), value, mask), torch.tensor([[4.0, 8.0]]), "output")


@visible("mask")
def test_hidden_key_matches_better(learner):
    """The scores are -2000, -1000 and 1000, and the best one is hidden. Is it gone before weights are shared out, and lies what it is hidden with below every score?"""
    key, value = torch.tensor([[-2000.0], [-1000.0], [1000.0]]), torch.tensor([[1.0], [3.0], [50.0]])
    expect(learner.attend(torch.ones(1, 1), key, value, torch.tensor([[True, True, False]])), torch.tensor([[3.0]]), "output")


@visible("mask")
def test_hidden_key_matches_far_better(learner):
    """The scores are -102000, -101000 and 100000, and the best one is hidden. Is it gone before weights are shared out, and lies what it is hidden with below every score?"""
    key, value = torch.tensor([[-102_000.0], [-101_000.0], [100_000.0]]), torch.tensor([[1.0], [3.0], [50.0]])
    expect(learner.attend(torch.ones(1, 1), key, value, torch.tensor([[True, True, False]])), torch.tensor([[3.0]]), "output")


@visible("mask")
def test_keys_that_others_still_need(learner, draw):
    """Tensors of 64 bits were transposed, and others still need them, and their gradients. Where are digits lost, which of your steps minds the order in memory or writes into an input, and does anything depend on sizes that agree?"""
    _expect_care(learner.attend, F.scaled_dot_product_attention, draw, ["query", "key", "value"], [[*draw(3, 3, 3, dtype=torch.float64), mask] for mask in (LOOKING_BACK, draw.mask(3, 3))])


@visible("mask_test")
def test_mask_test_on_a_right_one(learner):
    """Your test was given an `attend` that is right. What does it ask for that the contract does not?"""
    expect_pass(learner.test_mask, ATTEND, F.scaled_dot_product_attention)


@visible("mask_test")
def test_mask_test_on_the_bug(learner):
    """Your test was given the bug, and had nothing to say. The hidden value has next to no weight there; what happened to the weights of the others?"""
    expect_refusal(learner.test_mask, ATTEND, lambda query, key, value, mask: _weights(query, key).masked_fill(~mask, 1e-9) @ value, "a mask after softmax", F.scaled_dot_product_attention)


@visible("blind")
def test_two_of_three_in_16_bits(learner):
    """The smallest number of float16 is -65504. Which number lies below all others, in every type?"""
    scores, mask = torch.zeros(1, 3, dtype=torch.float16), torch.tensor([[True, True, False]])
    expect(learner.masked_softmax(scores, mask), torch.tensor([[0.5, 0.5, 0.0]], dtype=torch.float16), "weights")


@visible("blind")
def test_two_of_three_and_none_of_three(learner):
    """The first query sees two equal scores, the second nothing at all. What are softmax's weights when all numbers of a row are equal, however negative they are?"""
    scores, mask = torch.zeros(2, 3, dtype=torch.float16), torch.tensor([[True, True, False], [False, False, False]])
    expect(learner.masked_softmax(scores, mask), torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]], dtype=torch.float16), "weights")


@visible("blind")
def test_all_scores_far_below_zero(learner):
    """The scores are -60000, -50000 and -60000, and the last one is hidden. Which number lies below all of them, in every type?"""
    for dtype in (torch.float16, torch.float32):
        scores, mask = torch.tensor([[-60_000.0, -50_000.0, -60_000.0]], dtype=dtype), torch.tensor([[True, True, False]])
        expect(learner.masked_softmax(scores, mask), torch.tensor([[0.0, 1.0, 0.0]], dtype=dtype), "weights")


@visible("blind")
def test_hidden_score_far_above(learner):
    """The scores are -60000, -50000 and 60000, and the best one is hidden. Is it gone before weights are shared out, and lies what it is hidden with below every score?"""
    for dtype in (torch.float16, torch.float32):
        scores, mask = torch.tensor([[-60_000.0, -50_000.0, 60_000.0]], dtype=dtype), torch.tensor([[True, True, False]])
        expect(learner.masked_softmax(scores, mask), torch.tensor([[0.0, 1.0, 0.0]], dtype=dtype), "weights")


@visible("blind")
def test_scores_that_others_still_need(learner, draw):
    """Tensors of 64 bits were transposed, and others still need them, and their gradients. Where are digits lost, which of your steps minds the order in memory or writes into an input, and does anything depend on sizes that agree?"""
    _expect_care(learner.masked_softmax, _softmax_of_the_seen, draw, ["scores"], [[draw(3, 3, dtype=torch.float64), mask] for mask in (LOOKING_BACK, draw.mask(3, 3, blind=1))])


@visible("blind_test")
def test_blind_test_on_a_right_one(learner):
    """Your test was given a `masked_softmax` that is right. What does it ask for that the contract does not?"""
    expect_pass(learner.test_blind, SOFTMAX, _softmax_of_the_seen)


@visible("blind_test")
def test_blind_test_on_the_bug(learner):
    """Your test was given the bug, and had nothing to say. For which row, or which type of scores, does it differ from a right one?"""
    expect_refusal(learner.test_blind, SOFTMAX, lambda scores, mask: torch.softmax(scores.masked_fill(~mask, -1e9), -1), "a mask of minus one billion", _softmax_of_the_seen)


@visible("half")
def test_dot_product_above_the_largest_number(learner):
    """64 products of 60 with 60 make 230400, and float16 ends at 65504; the score is 28800. What can be divided before the sum is made?"""
    words = torch.full((1, 64), 60.0, dtype=torch.float16)
    expect(learner.scaled_scores(words, words), torch.tensor([[28_800.0]], dtype=torch.float16), "scores")


@visible("half")
def test_queries_and_keys_that_others_still_need(learner, draw):
    """Tensors of 64 bits were transposed, and others still need them, and their gradients. Where are digits lost, which of your steps minds the order in memory or writes into an input, and does anything depend on sizes that agree?"""
    _expect_care(learner.scaled_scores, _exact_scores, draw, ["query", "key"], [[*draw(2, 3, 4, dtype=torch.float64)] for _ in range(2)])


@visible("half_test")
def test_half_test_on_a_right_one(learner):
    """Your test was given `scaled_scores` that are right. What does it ask for that the contract does not?"""
    expect_pass(learner.test_half, SCORES, _scores_in_64_bits)


@visible("half_test")
def test_half_test_on_the_bug(learner):
    """Your test was given the bug, and had nothing to say. Of which type, and how large, must words be so that a dot product does not fit and its score does?"""
    expect_refusal(learner.test_half, SCORES, lambda query, key: query @ key.mT / math.sqrt(query.shape[-1]), "a dot product that overflows before it is divided", _scores_in_64_bits)


@visible("chance")
def test_share_of_three_thousand_entries(learner):
    """About half of 3000 entries should be True. Which numbers become False when they are made boolean, and how often does a normal number equal that?"""
    _expect_even(learner.random_mask(50, 60), 50, 60)


@visible("chance_test")
def test_chance_test_on_a_right_one(learner):
    """Your test was given a `random_mask` that is right, and is different each time it is called. How far may chance go, and does your test ask for more?"""
    expect_pass(learner.test_chance, CHANCE, _mask_by_coins)


@visible("chance_test")
def test_chance_test_on_the_bug(learner):
    """Your test was given the bug, and had nothing to say. How many of its entries are True, and how many should be?"""
    expect_refusal(learner.test_chance, CHANCE, lambda queries, keys: torch.randn(queries, keys).bool(), "a mask of normal numbers made boolean", _mask_by_coins)


@visible("layer")
def test_words_that_see_only_the_first(learner):
    """Each word may look at the first word only, so the first is what is added to each. Who takes the mask, and what is done with it there?"""
    x, mask = torch.tensor([[1.0, 2.0], [8.0, 0.0], [0.0, 8.0]]), torch.tensor([[True, False, False]] * 3)
    expect(learner.attention_layer(x, mask), x + x[0], "output")


@visible("layer")
def test_words_that_match_badly(learner):
    """Each of the words 1, -300 and 400 sees a single one, which matches far worse than those that are hidden. What is added to it, and is x what it was?"""
    x, mask = torch.tensor([[1.0], [-300.0], [400.0]]), torch.tensor([[False, True, False], [True, False, False], [False, True, False]])
    expect(learner.attention_layer.unchanged(x, mask), torch.tensor([[-299.0], [-299.0], [100.0]]), "output")


@visible("layer")
def test_words_that_others_still_need(learner, draw):
    """Tensors of 64 bits were transposed, and others still need them, and their gradients. Where are digits lost, which of your steps minds the order in memory or writes into an input, and does anything depend on sizes that agree?"""
    _expect_care(learner.attention_layer, _layer_by_torch, draw, ["x"], [[draw(3, 3, dtype=torch.float64), mask] for mask in (LOOKING_BACK, draw.mask(3, 3))])


@visible("layer_test")
def test_layer_test_on_a_right_one(learner):
    """Your test was given an `attention_layer` that is right. What does it ask for that the contract does not?"""
    expect_pass(learner.test_layer, LAYER, _layer_by_torch)


@visible("layer_test")
def test_layer_test_on_the_bug(learner):
    """Your test was given the bug, which ends every call with a TypeError. Does your test call the layer, and does it let the error out?"""
    expect_refusal(learner.test_layer, LAYER, _layer_that_ends, "a layer that ends with a TypeError", _layer_by_torch)


@visible("layer_test")
def test_layer_test_on_the_hasty_repair(learner):
    """Somebody made the error go away by leaving the mask out, and your test was content. What comes out of a right layer that must be different without the mask?"""
    expect_refusal(learner.test_layer, LAYER, lambda x, mask: _layer_by_torch(x), "a layer that leaves the mask out", _layer_by_torch)


@visible("names")
def test_both_activations_of_two_words(learner):
    """The same words go through ReLU and through GELU. Which names does each path use, and which line makes each of them known?"""
    x, one, none = torch.tensor([[2.0], [-1.0]]), torch.ones(1, 1), torch.zeros(1)
    for smooth, expected in ((False, F.relu(x)), (True, F.gelu(x))):
        expect(learner.feed_forward(x, one, none, one, none, smooth), expected, "output")


@visible("names")
def test_weights_that_others_still_need(learner, draw):
    """Tensors of 64 bits were transposed, and others still need them, and their gradients. Where are digits lost, which of your steps minds the order in memory or writes into an input, and does anything depend on sizes that agree?"""
    one, other = ([draw(*shape, dtype=torch.float64) for shape in ((3, 3), (3, 3), (3,), (3, 3), (3,))] for _ in range(2))
    # The first with GELU, of which no gradient is zero; the second with what is taken where nobody says.
    _expect_care(learner.feed_forward, _forward_by_torch, draw, ["x", "w1", "b1", "w2", "b2"], [[*one, True], other])


@visible("names_test")
def test_names_test_on_a_right_one(learner):
    """Your test was given a `feed_forward` that is right. What does it ask for that the contract does not?"""
    expect_pass(learner.test_names, FORWARD, _forward_by_torch)


@visible("names_test")
def test_names_test_on_the_bug(learner):
    """Your test was given the bug, and had nothing to say. Which line of it did your test never run?"""
    expect_refusal(learner.test_names, FORWARD, _forward_that_may_end, "a name that is missing on one path", _forward_by_torch)


def _expect_care(callee, right, draw, names: list[str], inputs: list[list]) -> None:
    """Return None if a function does the right thing to inputs of any kind, one after the other, and leaves them as they were.

    `names` are those of the first inputs, whose gradients are asked for.
    """
    for call, each in zip((callee.strided, callee.unchanged), inputs):
        expect(call(*each), right(*each), "result")
    expect_gradients(callee, names, *inputs[0], draw=draw, true=right)


def _expect_even(mask, queries: int, keys: int) -> None:
    expect(str(mask.dtype), "torch.bool", "type")
    expect(tuple(mask.shape), (queries, keys), "shape")
    # Fifteen and more standard deviations wide for all entries, five for a row or a column of 40.
    expect(_leaning(mask.float().mean(), 0.35), "about half", "share of True")
    expect(_leaning(torch.cat([mask.float().mean(0), mask.float().mean(1)]), 0.08), "about half", "share of True in rows and columns")


def _leaning(shares: Tensor, least: float) -> str:
    if shares.min() >= least and shares.max() <= 1 - least:
        return "about half"
    return "some all alike" if shares.numel() > 1 else "nearly all" if shares > 0.5 else "too few"


def _merge_word_by_word(x):
    return torch.stack([torch.cat(word.unbind(1), dim=-1) for word in x.unbind(2)], dim=1)


def _weights_by_torch(query, key, num_heads, width=None):
    query, key = (x.unflatten(-1, (num_heads, -1)).transpose(1, 2) for x in (query, key))
    identity = torch.eye(key.shape[-2], dtype=key.dtype)
    scale = None if width is None else width**-0.5
    return F.scaled_dot_product_attention(query, key, identity.expand(*key.shape[:2], -1, -1), scale=scale)


def _weights(query, key):
    scores = query * query.shape[-1] ** -0.5 @ key.mT
    parts = (scores - scores.amax(-1, keepdim=True)).exp()
    return parts / parts.sum(-1, keepdim=True)


def _softmax_of_the_seen(scores, mask):
    rows = [torch.zeros_like(row).masked_scatter(seen, torch.softmax(row[seen], 0)) for row, seen in zip(scores, mask)]
    return torch.stack(rows)


def _exact_scores(query, key):
    return query.double() @ key.double().mT / math.sqrt(query.shape[-1])


def _scores_in_64_bits(query, key):
    return _exact_scores(query, key).to(query.dtype)


def _mask_by_coins(queries, keys):
    return torch.bernoulli(torch.full((queries, keys), 0.5)).bool()


def _layer_by_torch(x, mask=None):
    return x + F.scaled_dot_product_attention(x, x, x, mask)


def _layer_that_ends(x, mask):
    raise TypeError("attention takes no mask")


def _forward_by_torch(x, w1, b1, w2, b2, smooth=False):
    return (F.gelu if smooth else F.relu)(x @ w1 + b1) @ w2 + b2


def _forward_that_may_end(x, w1, b1, w2, b2, smooth):
    if smooth:
        raise UnboundLocalError("a name is missing")
    return _forward_by_torch(x, w1, b1, w2, b2, smooth)
