# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: Bug hunt
#     chapter: multi_head
#     difficulty: hard
#     minutes: 100
# ---

# %% [markdown]
# # Bug hunt
#
# Eight functions, each with a bug that was published and read by many. Most return the right shape, and so nobody looked twice.
# You repair each one, and you write **the test that would have caught it**.
# The chapters *softmax* and *multi-head attention* have the ideas.
#
# The function stands in the answer cell, bug and all: edit it in place. Below it stands the frame of its test, with
# `not answered yet` in it. Run the cell, then run the two checks below it.
# Where you are stuck, `hint("merge")` opens the first of three hints for that check. Hints cost nothing.
# Inside an answer you may write as you like; the names and what they take and return are fixed.
# Only the answer cells are handed in, so keep your helpers, and what else you import, in them.
# What your functions are given has 32 or 64 bits, if nothing else is said, and so has what they return. It may lie in memory in
# any order, as it does after `transpose`; it stays as it was, and it gets its gradient.
#
# A test is given an implementation and calls it as often as it needs to. It raises an `AssertionError` if the implementation
# is wrong (`assert`, or `torch.testing.assert_close`), and returns if it is right. Your tests will be tried on right
# implementations in several styles, which they must let pass, and on wrong ones, the bug among them, which they must refuse.
#
# * A test may ask for what the contract says and for nothing else. Two right answers may differ in their last digits.
# * An error that the implementation raises by itself counts as refused, as it does in pytest.
# * Small examples suffice. The limits are 200 calls, axes of up to 512, and 65,536 numbers a call. Results carry no gradients.

# %%
import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from check import check, hint

# %% [markdown]
# ## The heads side by side
#
# Attention is done, and the heads are to be merged. The shape that comes back is right, the training loss falls, and still
# the words have been shuffled among each other.
#
# * The word at place $t$ gets the numbers that head 0 has for it, then those of head 1, and so on.
# * Example: two heads that hold $(1, 2)$ and $(3, 4)$ for a word make it $(1, 2, 3, 4)$.


# %% answer="merge" handed_out="merge_by_reshape"
def merge_heads(x: Float[Tensor, "batch heads tokens d_head"]) -> Float[Tensor, "batch tokens d_model"]:
    """Return the words with the shares of all heads side by side."""
    ### BEGIN SOLUTION
    return x.transpose(1, 2).flatten(start_dim=2)
    ### END SOLUTION


def test_merge(merge_heads):
    """Raise AssertionError unless `merge_heads` keeps its contract."""
    ### BEGIN SOLUTION
    x = torch.arange(24.0).reshape(1, 2, 3, 4)
    assert torch.equal(merge_heads(x), torch.cat([x[:, 0], x[:, 1]], dim=-1))
    ### END SOLUTION


# %% check="merge" points=1
check("merge")

# %% [markdown] tags=["hints"]
# 1. In which order do heads and tokens stand in `x`, and whose numbers does a reshape put side by side?
# 2. A reshape reads the numbers in their order and moves none. Before two axes become one, the head must stand next to
#    its own numbers, the tokens before both.
# 3. Swap heads and tokens with `transpose`. Then make one axis of the last two: by `flatten`, or by the reshape that
#    stands there already.

# %% check="merge_test" points=2
check("merge_test")

# %% [markdown] tags=["hints"]
# 1. For how many heads, and for how many tokens, does the bug return the very same numbers as a right merge?
# 2. With one head, or one token, nothing can be in the wrong place. Take two heads, several tokens, heads wider than 1,
#    and numbers that are all different, so that each one tells where it came from.
# 3. `torch.arange` makes such numbers. Build what you expect by another way than the function's: `x[:, 0]` is head 0
#    with all its tokens, and `torch.cat` sets the heads side by side along the last axis. Compare every number.

# %% [markdown]
# ## Weights that are too even
#
# With one head all is well. With eight, every query looks at everything a little, and training is slow.
#
# * Each head gets its share of the numbers of every word: head 0 the first ones, head 1 the next, and so on. `num_heads` divides
#   `d_model`.
# * The weights of a head are the softmax of its scaled dot products. Example: with `d_model` 12 and 3 heads, a match of $4$ is a score of $2$.


# %% answer="scale" handed_out="scale_by_model_width"
def attention_weights(
    query: Float[Tensor, "batch queries d_model"], key: Float[Tensor, "batch keys d_model"], num_heads: int
) -> Float[Tensor, "batch {num_heads} queries keys"]:
    """Return the weights of every head."""
    ### BEGIN SOLUTION
    query, key = (x.unflatten(-1, (num_heads, -1)).transpose(1, 2) for x in (query, key))
    # A dot product within a head has d_head terms, however wide the model is.
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return torch.softmax(scores, dim=-1)
    ### END SOLUTION


def test_scale(attention_weights):
    """Raise AssertionError unless `attention_weights` keeps its contract."""
    ### BEGIN SOLUTION
    query = torch.tensor([[[2.0, 0.0, 0.0, 0.0] * 3]])
    key = torch.tensor([[[2.0, 0.0, 0.0, 0.0] * 3, [0.0, 2.0, 0.0, 0.0] * 3]])
    expected = torch.softmax(torch.tensor([2.0, 0.0]), dim=0).expand(1, 3, 1, 2)
    torch.testing.assert_close(attention_weights(query, key, 3), expected)
    ### END SOLUTION


# %% check="scale" points=1
check("scale")

# %% [markdown] tags=["hints"]
# 1. Once the heads are split, how many numbers of a query take part in one dot product?
# 2. A head has only its share of the width, `d_model` divided by `num_heads`. The scale belongs to a dot product within
#    a head.
# 3. Replace `d_model` under the square root. After the split, the width of one head is the last axis of `query`.

# %% check="scale_test" points=2
check("scale_test")

# %% [markdown] tags=["hints"]
# 1. For how many heads is d_model also the width of a head, and which weights are the same at every scale?
# 2. Take more than one head, and keys of which one matches better than another: equal scores make equal weights,
#    whatever they are divided by. The prompt has an example to begin with.
# 3. Let the query of each of three heads, 4 wide, match one key with 4 and another with 0. The weights are then the
#    softmax of 2 and 0 in every head. `torch.testing.assert_close` forgives the last digits.

# %% [markdown]
# ## A mask that comes late
#
# The hidden words have practically no weight, as they should. The output is still not what attention among the other words gives.
#
# * `mask` is True where a query may look at a key. What a query returns is what it would return if the hidden keys were not there.
# * Every query sees at least one key. Scores of any size are allowed, and a hidden key may match far better than those that are seen.


# %% answer="mask" handed_out="mask_after_softmax"
def attend(
    query: Float[Tensor, "queries d_k"],
    key: Float[Tensor, "keys d_k"],
    value: Float[Tensor, "keys d_v"],
    mask: Bool[Tensor, "queries keys"],
) -> Float[Tensor, "queries d_v"]:
    """Return, for each query, the values that it may see, averaged by how well their keys match."""
    ### BEGIN SOLUTION
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1) @ value
    ### END SOLUTION


def test_mask(attend):
    """Raise AssertionError unless `attend` keeps its contract."""
    ### BEGIN SOLUTION
    query, key, value = torch.randn(2, 3), torch.randn(5, 3), torch.randn(5, 4)
    seen = torch.tensor([True, False, True, True, False])
    alone = attend(query, key[seen], value[seen], torch.ones(2, 3, dtype=torch.bool))
    torch.testing.assert_close(attend(query, key, value, seen.expand(2, 5)), alone)
    ### END SOLUTION


# %% check="mask" points=1
check("mask")

# %% [markdown] tags=["hints"]
# 1. Two keys have the weights 1/2 and 1/2, and one is hidden afterwards. What do the weights add up to, and what should
#    they?
# 2. After softmax a hidden key has taken its share already. Hide it one step earlier, where the others can still share
#    out 1.
# 3. Let `masked_fill` work on the scores, before softmax, and fill in the number whose exponential is exactly 0. The
#    `~mask` may stay as it is.

# %% check="mask_test" points=2
check("mask_test")

# %% [markdown] tags=["hints"]
# 1. In the bug a hidden value has next to no weight. Which weights are wrong all the same?
# 2. Those of the keys that are seen. The contract says what to compare: a query returns what it would return if the
#    hidden keys were not there. You may call the implementation twice.
# 3. Hide the same keys from every query. For the second call, leave these rows out of `key` and `value` (a boolean
#    tensor works as an index) and hand over a mask that is True everywhere. The two outputs agree up to their last
#    digits.

# %% [markdown]
# ## A large negative number
#
# This one masks before softmax. It does so with a number that is only *very* negative. One kind of tensor makes it stop with
# an error, and one kind of row makes it answer where it has nothing to say.
#
# * Hidden keys have the weight 0, the weights of the others add up to 1. A query that may look at nothing gets a row of zeros.
# * Scores come in `float64`, `float32` or `float16`, and the weights have the dtype of the scores. They may be of any size,
#   those of hidden keys too.


# %% answer="blind" handed_out="one_billion_below_zero"
def masked_softmax(
    scores: Float[Tensor, "queries keys"], mask: Bool[Tensor, "queries keys"]
) -> Float[Tensor, "queries keys"]:
    """Return the weights of the keys that each query may see."""
    ### BEGIN SOLUTION
    weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
    # Where everything is hidden the weights are 0 / 0.
    return weights.masked_fill(~mask, 0.0)
    ### END SOLUTION


def test_blind(masked_softmax):
    """Raise AssertionError unless `masked_softmax` keeps its contract."""
    ### BEGIN SOLUTION
    mask = torch.tensor([[True, True, False], [False, False, False]])
    for dtype in (torch.float32, torch.float16):
        expected = torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]], dtype=dtype)
        torch.testing.assert_close(masked_softmax(torch.zeros(2, 3, dtype=dtype), mask), expected)
    ### END SOLUTION


# %% check="blind" points=1
check("blind")

# %% [markdown] tags=["hints"]
# 1. If all scores of a row are the same, however negative, what are its weights? And is there a -1e9 in float16?
# 2. Minus infinity exists in every dtype, and its weight is exactly 0 beside any other score. Only a row of nothing but
#    minus infinity goes wrong then: 0 / 0. That can be put right after softmax.
# 3. Hide the scores with `-math.inf`. Then fill the weights too, with 0 and by the same `~mask`: it reaches every key
#    that is hidden, and so the whole of a row that sees nothing.

# %% check="blind_test" points=2
check("blind_test")

# %% [markdown] tags=["hints"]
# 1. The bug has two faces: an error for one dtype of scores, and weights where there should be none. Which input shows
#    which?
# 2. One mask is enough, with a row that sees some keys and a row that sees none. Try it on scores in `float32` and on
#    scores in `float16`.
# 3. Scores of 0 make the weights easy to know: two keys that are seen get one half each, and a row that sees nothing
#    gets zeros. Write down what you expect in the dtype of the scores, since `assert_close` compares dtypes as well.

# %% [markdown]
# ## Only in float16
#
# In 32 bits no test finds anything wrong here. In 16 bits the same lines return *inf* for words that are not even unusual.
# The largest number of `float16` is 65,504.
#
# * The scores are the dot products, divided by $\sqrt{d_k}$, and have the dtype of the query.
# * They are right to one part in a hundred wherever the scores themselves fit that dtype. The dot products need not fit it.


# %% answer="half" handed_out="overflow_before_the_scale"
def scaled_scores(query: Float[Tensor, "queries d_k"], key: Float[Tensor, "keys d_k"]) -> Float[Tensor, "queries keys"]:
    """Return the score of each query with each key."""
    ### BEGIN SOLUTION
    # Divided beforehand: what fits as a score then fits as a sum too.
    return query / math.sqrt(query.shape[-1]) @ key.transpose(-2, -1)
    ### END SOLUTION


def test_half(scaled_scores):
    """Raise AssertionError unless `scaled_scores` keeps its contract."""
    ### BEGIN SOLUTION
    x = torch.full((1, 64), 60.0, dtype=torch.float16)
    expected = torch.full((1, 1), 28_800.0, dtype=torch.float16)
    torch.testing.assert_close(scaled_scores(x, x), expected, rtol=0.01, atol=0.0)
    ### END SOLUTION


# %% check="half" points=1
check("half")

# %% [markdown] tags=["hints"]
# 1. All 64 numbers of a query and of a key are 60. What is their dot product, what is the score, and which of the two
#    fits float16?
# 2. The score fits, the sum before it does not. What is divided before the sum is made never becomes so large.
# 3. Move the division from the product to one of its factors: the scores stay the same. (32 bits on the way help too,
#    if the scores go back to the dtype of the query.)

# %% check="half_test" points=2
check("half_test")

# %% [markdown] tags=["hints"]
# 1. Of which dtype must your words be, and how large, so that a dot product does not fit and its score does?
# 2. With `d_k` 64 a score is an eighth of its dot product. If all numbers of the words are equal, both are quickly
#    worked out: one should lie above 65,504, the other below.
# 3. Words of 60 in `float16` do that. Compare the score itself with the right number, not only with *inf*, in the dtype
#    of the words. One part in a hundred is the `rtol` of `assert_close`, which then wants an `atol` too: 0 will do.

# %% [markdown]
# ## A mask by chance
#
# An author made a random mask to try out attention, printed the shape of the output, and was content. In that mask nearly
# every entry was True, and the author's True meant *hidden*: hardly a key was left to look at.
#
# * The mask is boolean. Each entry, by itself, is True with probability one half.
# * Example: of 10,000 entries, about 5,000 are True; it would be odd if it were exactly as many each time.


# %% answer="chance" handed_out="normal_numbers_as_booleans"
def random_mask(queries: int, keys: int) -> Bool[Tensor, "{queries} {keys}"]:
    """Return a mask in which chance decides on every entry."""
    ### BEGIN SOLUTION
    return torch.rand(queries, keys) < 0.5
    ### END SOLUTION


def test_chance(random_mask):
    """Raise AssertionError unless `random_mask` keeps its contract."""
    ### BEGIN SOLUTION
    mask = random_mask(100, 100)
    assert mask.shape == (100, 100) and mask.dtype == torch.bool
    assert 4_500 < mask.sum() < 5_500
    # Of entries that are drawn one by one, no row and no column is all alike.
    assert mask.any(0).all() and mask.any(1).all() and not mask.all(0).any() and not mask.all(1).any()
    ### END SOLUTION


# %% check="chance" points=1
check("chance")

# %% [markdown] tags=["hints"]
# 1. Which numbers become False when they are made boolean, and how often does `torch.randn` return one of them?
# 2. Only 0 becomes False. A comparison returns booleans as well. Below which number does a random one lie half of the
#    time?
# 3. `torch.rand` lies evenly between 0 and 1, `torch.randn` as often below 0 as above. Draw a number for each entry of the
#    mask, and ask of each whether it is below the middle.

# %% check="chance_test" points=2
check("chance_test")

# %% [markdown] tags=["hints"]
# 1. Of 10,000 entries, how many are True in the bug's mask, how many in a right one, and how far from that may chance
#    lead?
# 2. Count the True in a large mask, and leave room on both sides. Too many is wrong and too few is wrong, but exactly
#    half is more than chance promises.
# 3. Among 10,000 entries the standard deviation of the count is 50. Ten of these to either side of one half let every
#    right mask pass and few others. Ask for the shape and the type as well.

# %% [markdown]
# ## A mask that nobody takes
#
# The layer hands its mask on to an attention that takes none: an error on the first call, so nobody can have called it.
# Such a bug is the kindest of all, until somebody makes the error go away.
#
# * The output is the input plus what attention finds in it; the words are their own queries, keys and values, and the scores are
#   divided by $\sqrt{d_{\text{model}}}$.
# * `mask` is True where a word may look at a word, and every word sees at least one. None means everywhere.
# * A word may match the words that it sees far worse than those that are hidden. `x` itself is not changed.


# %% answer="layer" handed_out="mask_that_nobody_takes"
def attention_layer(
    x: Float[Tensor, "tokens d_model"], mask: Bool[Tensor, "tokens tokens"] | None = None
) -> Float[Tensor, "tokens d_model"]:
    """Return each word with what attention adds to it."""
    ### BEGIN SOLUTION
    scores = x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return x + torch.softmax(scores, dim=-1) @ x
    ### END SOLUTION


def test_layer(attention_layer):
    """Raise AssertionError unless `attention_layer` keeps its contract."""
    ### BEGIN SOLUTION
    x = torch.tensor([[1.0, 0.0], [0.0, 4.0], [3.0, 3.0]])
    torch.testing.assert_close(attention_layer(x, torch.eye(3, dtype=torch.bool)), x + x)
    only_the_first = torch.tensor([True, False, False]).expand(3, 3)
    torch.testing.assert_close(attention_layer(x, only_the_first), x + x[0])
    torch.testing.assert_close(attention_layer(torch.ones(3, 2)), torch.full((3, 2), 2.0))
    ### END SOLUTION


# %% check="layer" points=1
check("layer")

# %% [markdown] tags=["hints"]
# 1. How many arguments does the inner `attend` take, how many is it given, and what was the second one meant for?
# 2. Leaving the mask out of the call ends the error, and then every word sees every word. The mask belongs in the
#    function, between scores and softmax.
# 3. Let `attend` take it. Where the mask is False, the scores become minus infinity before softmax; where there is no
#    mask, they stay as they are, since `~None` is an error.

# %% check="layer_test" points=2
check("layer_test")

# %% [markdown] tags=["hints"]
# 1. Somebody makes the error go away by leaving the mask out. For which masks is the output then wrong?
# 2. Choose a mask that leaves each word a single one to look at: then you know the output without working out any
#    weight. What does attention return for such a word?
# 3. It returns the word that is seen. If each sees itself (`torch.eye` makes that mask, once it is boolean), every word
#    comes back doubled; if all see the first, that one is added to each. Call the layer once without a mask, too.

# %% [markdown]
# ## A name that is not there yet
#
# A listing used a name that only a later listing imported. Python looks a name up when its line runs, not before: so there is
# no error as long as nobody comes by.
#
# * The output is `activation(x @ w1 + b1) @ w2 + b2`. The activation is ReLU, or GELU (torch's own default form) if `smooth`.


# %% answer="names" handed_out="import_on_one_path"
def feed_forward(
    x: Float[Tensor, "tokens d_model"],
    w1: Float[Tensor, "d_model d_ff"],
    b1: Float[Tensor, "d_ff"],
    w2: Float[Tensor, "d_ff d_model"],
    b2: Float[Tensor, "d_model"],
    smooth: bool = False,
) -> Float[Tensor, "tokens d_model"]:
    """Return what the two layers make of every word."""
    ### BEGIN SOLUTION
    hidden = x @ w1 + b1
    hidden = torch.nn.functional.gelu(hidden) if smooth else torch.relu(hidden)
    return hidden @ w2 + b2
    ### END SOLUTION


def test_names(feed_forward):
    """Raise AssertionError unless `feed_forward` keeps its contract."""
    ### BEGIN SOLUTION
    x, one, zero = torch.tensor([[1.0], [-1.0]]), torch.ones(1, 1), torch.zeros(1)
    for smooth, activation in ((False, torch.relu), (True, torch.nn.functional.gelu)):
        torch.testing.assert_close(feed_forward(x, one, zero, 3 * one, zero + 5, smooth), 3 * activation(x) + 5)
        torch.testing.assert_close(feed_forward(x, one, zero + 2, one, zero, smooth=smooth), activation(x + 2))
    ### END SOLUTION


# %% check="names" points=1
check("names")

# %% [markdown] tags=["hints"]
# 1. Which line makes the name `nn` known, and does it run if `smooth` is True?
# 2. Only the path of ReLU passes the import. Since it stands inside the function, the name belongs to that function on
#    both paths, and on the other one it has no value yet.
# 3. Let the import stand above the `if`, where both paths pass it; or do without it, for `torch` is there already and
#    has both activations.

# %% check="names_test" points=2
check("names_test")

# %% [markdown] tags=["hints"]
# 1. Which lines of the function did your test run, and which argument leads to the others?
# 2. Call the function with both values of `smooth` and let its errors out: an `except` swallows what you are looking
#    for. Then compare numbers, since a path may run and still be the wrong one.
# 3. If both matrices hold a single 1 and the biases are 0, the output is the activation of the words. Compare it with
#    torch's own ReLU and GELU at a positive and at a negative number, and call again with biases that are not 0.
