# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: Bug hunt
#     chapter: 05_multi_head
#     difficulty: hard
#     minutes: 100
# ---

# %% [markdown]
# # Bug hunt
#
# Eight functions, each with a bug that was published, read by many and run by some. They return the right shape, or run on the
# author's machine, and so nobody looked twice. You repair each one, and you write **the test that would have caught it**.
# The chapters *softmax* and *multi-head attention* have the ideas.
#
# The function stands in the answer cell, bug and all: edit it in place. Below it stands the frame of its test, with
# `not answered yet` in it. Run the cell, then run the two checks below it.
# Inside an answer you may write as you like; the names and what they take and return are fixed.
# Only the answer cells are handed in, so keep your helpers, and what else you import, in them.
#
# A test is given an implementation and calls it as often as it needs to. It raises an `AssertionError` if the implementation
# is wrong (`assert`, or `torch.testing.assert_close`), and returns if it is right. Your tests will be tried on right
# implementations in several styles, which they must let pass, and on wrong ones, the bug among them, which they must refuse.
#
# * A test may ask for what the contract says and for nothing else. Two right answers may differ in their last digits.
# * An error that the implementation raises by itself counts as refused, as it does in pytest.
# * Small examples suffice: 200 calls, axes of up to 512, 65,536 numbers a call. Results carry no gradients.

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

# %% check="merge_test" points=2
check("merge_test")

# %% [markdown]
# ## Weights that are too even
#
# With one head all is well. With eight, every query looks at everything a little, and training is slow.
#
# * The numbers of each word are dealt out to the heads, neighbours together; `num_heads` divides `d_model`.
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

# %% check="scale_test" points=2
check("scale_test")

# %% [markdown]
# ## A mask that comes late
#
# The hidden words have practically no weight, as they should. The output is still not what attention among the other words gives.
#
# * `mask` is True where a query may look at a key. What a query returns is what it would return if the hidden keys were not there.
# * Every query sees at least one key.


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

# %% check="mask_test" points=2
check("mask_test")

# %% [markdown]
# ## A large negative number
#
# This one masks before softmax. It does so with a number that is only *very* negative. One kind of tensor makes it stop with
# an error, and one kind of row makes it answer where it has nothing to say.
#
# * Hidden keys have the weight 0, the others share out 1. A row that may look at nothing is a row of zeros.
# * Scores come in `float64`, `float32` or `float16`, and the weights have the type of the scores.


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

# %% check="blind_test" points=2
check("blind_test")

# %% [markdown]
# ## Only in float16
#
# In 32 bits no test finds anything wrong here. In 16 bits the same lines return *inf* for words that are not even unusual.
# The largest number of `float16` is 65,504.
#
# * The scores are the dot products, divided by $\sqrt{d_k}$, and have the type of the query.
# * They are right to one part in a hundred wherever the scores themselves fit their type. A dot product may not.


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

# %% check="half_test" points=2
check("half_test")

# %% [markdown]
# ## A mask by chance
#
# An author made a random mask to try out attention, printed the shape of the output, and was content. In that mask nearly
# every entry was True, and the author's True meant *hidden*. The test had looked at nothing.
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

# %% check="chance_test" points=2
check("chance_test")

# %% [markdown]
# ## A mask that nobody takes
#
# The layer hands its mask on to an attention that takes none: an error on the first call, so nobody can have called it.
# Such a bug is the kindest of all, until somebody makes the error go away.
#
# * The output is the input plus what attention finds in it; the words are their own queries, keys and values.
# * `mask` is True where a word may look at a word, and every word sees at least one. None means everywhere.


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

# %% check="layer_test" points=2
check("layer_test")

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

# %% check="names_test" points=2
check("names_test")
