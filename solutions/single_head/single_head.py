# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: Single-head attention
#     chapter: softmax
#     difficulty: medium
#     minutes: 75
#     forbidden: [softmax, attention]
# ---

# %% [markdown]
# # Single-head attention
#
# You write attention for one head, from scores to a module that can be trained.
# The chapters *self-attention* and *softmax* have the ideas.
#
# Write your answer where `not answered yet` stands, run the cell, then run the check below it.
# Where you are stuck, `hint("softmax")` opens the first of three hints for that check. Hints cost nothing.
# Inside an answer you may write as you like; the names and what they take and return are fixed.
# Only the answer cells are handed in, so keep your helpers in them.
# What your functions and modules are given may lie in memory in any order, as it does after `transpose`, and they leave it as it was.
# Nothing depends on which sizes happen to be equal, nor on the call before.
#
# Two things are yours to write here and may not be taken ready-made: softmax and attention. `logsumexp` is allowed: what you do with it is
# yours.

# %%
import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from check import check, hint

# %% [markdown]
# ## Softmax
#
# Turn each row of scores (the last axis) into weights that are positive and add up to 1.
#
# * Example: scores of $0$, $\ln 2$ and $\ln 3$ give weights $1/6$, $2/6$ and $3/6$.
# * It holds for scores of any size: 1000 and 1001 are scores too.
# * A row in which every score is $-\infty$ has nothing to choose from: its weights are zeros.


# %% answer="softmax"
def softmax(scores: Float[Tensor, "*batch keys"]) -> Float[Tensor, "*batch keys"]:
    """Return the weights of each row of scores; a row of -inf gets zeros."""
    ### BEGIN SOLUTION
    highest = scores.amax(dim=-1, keepdim=True)
    # A row without anything to see has the maximum -inf, and -inf minus itself is no number.
    shifted = scores - highest.masked_fill(highest == -math.inf, 0.0)
    parts = shifted.exp()
    total = parts.sum(dim=-1, keepdim=True)
    return parts / total.masked_fill(total == 0, 1.0)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. How do the scores 0, ln 2 and ln 3 become 1, 2 and 3, and how do these become 1/6, 2/6 and 3/6?
# 2. `exp` makes every number positive, and dividing by the sum makes shares of one. Both happen along the last axis,
#    however many axes come before it.
# 3. A sum over `dim=-1` loses its axis, and the division lines up with the wrong one. `keepdim=True` keeps the axis, with
#    length 1.

# %% check="softmax" points=2
check("softmax")

# %% check="stable" points=1
check("stable")

# %% [markdown] tags=["hints"]
# 1. If the same number is taken from every score of a row, what happens to the ratio of two powers of $e$?
# 2. Nothing. So each row may be shifted as you like. What should its *largest* score become, so that no power of $e$ is
#    too large?
# 3. Take from each row its own maximum (`amax` along the last axis, with the axis kept) before you call `exp`.

# %% check="nothing_to_see" points=1
check("nothing_to_see")

# %% [markdown] tags=["hints"]
# 1. In a row of nothing but $-\infty$, what is the maximum, and what is $-\infty$ minus $-\infty$?
# 2. Two things go wrong in such a row: the shift is not a number, and the sum of the powers of $e$ is 0. For these rows
#    alone, put a harmless number in the place of each.
# 3. Shift by 0 where the maximum is $-\infty$, and divide by 1 where the sum is 0. `masked_fill` and `torch.where` can
#    both do that.

# %% [markdown]
# ## Scaled dot-product attention
#
# Each query asks, each key answers with a score, and the values are averaged by the weights.
#
# * There may be any axes before the last two, also none: `*batch` stands for them.
# * `d_v`, the width of the values, need not be `d_k`.
# * `mask` is True where a query may look at a key; None means everywhere. It may have fewer axes than the scores,
#   and an axis of length 1 (`#queries` in the signature) holds for all.
# * A query that may look at nothing gets weights of zero and an output of zero.
# * Query, key and value get a gradient, and it is a number everywhere, also where a query sees nothing.
# * A hidden key has no part in anything, however well it matches, and however badly those match that may be seen.
# * Return two things: the output, then the weights. Both have the dtype of the inputs: 64 bits, 32, or the 16 of `float16`.
#
# Example: one query $(2, 0, 0, 0)$ and the keys $(2, 0, 0, 0)$ and $(0, 2, 0, 0)$ match with $4$ and $0$, which become
# the scores $2$ and $0$.
#
# ```shapes
# query [1 query, 4 d_k] {2 0 0 0} , key [2 keys, 4 d_k] {2 0 0 0 / 0 2 0 0} -scaled-> scores [1 query, 2 keys] {2 0}
# scores [1 query, 2 keys] {2 0} -softmax-> weights [1 query, 2 keys] {0.88 0.12}
# weights [1 query, 2 keys] {0.88 0.12} @ value [2 keys, 3 d_v] {10 0 5 / 0 10 5} = output [1 query, 3 d_v] {8.81 1.19 5}
# ```


# %% answer="attention"
def scaled_dot_product_attention(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*batch keys d_k"],
    value: Float[Tensor, "*batch keys d_v"],
    mask: Bool[Tensor, "... #queries #keys"] | None = None,
) -> tuple[Float[Tensor, "*batch queries d_v"], Float[Tensor, "*batch queries keys"]]:
    """Return the values averaged for each query, and the weights of the average."""
    ### BEGIN SOLUTION
    # A dot product of d_k unit-variance terms has variance d_k; undo it.
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = softmax(scores)
    return weights @ value, weights
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. With $d_k = 4$, a match of 4 should reach softmax as a score of 2. What did your code do to that 4, and before
#    which step?
# 2. A dot product adds up $d_k$ products, so its usual size grows with the square root of $d_k$. Dividing by that root
#    undoes the growth, but only as long as the numbers are still scores: weights that are divided no longer add up to
#    1.
# 3. `d_k` is the length of the last axis of the queries, which need not be that of the values. Take its root with
#    `math.sqrt`, and divide the product of queries and keys by it, once.

# %% check="scale" points=2
check("scale")

# %% check="weights" points=1
check("weights")

# %% [markdown] tags=["hints"]
# 1. Three queries share out their attention among two keys. What shape does your second result have, and what does each
#    of its rows add up to?
# 2. The second result is what averages the values: the numbers *after* softmax, with a row for each query and a column
#    for each key. Scores are not weights yet, and neither are powers of $e$ that nobody has divided.
# 3. Give what your softmax returns a name, use that name in the product with the values, and return the very same
#    tensor in second place.

# %% check="output" points=1
check("output")

# %% [markdown] tags=["hints"]
# 1. Two keys match a query equally well, and their values are (0, 10) and (4, 20). What should come out for this query?
# 2. What comes out lies halfway between the two. A weight says how much of one *value* the query takes, and keys are
#    only there to be found by. The output has a row for each query, even if there is only one, and matches in the
#    thousands do no harm if the weights come from your own softmax.
# 3. Multiply the weights by the values, with the weights on the left. Call your `softmax` for the weights in place of
#    an `exp` of your own, and squeeze no axis away.

# %% check="batch" points=1
check("batch")

# %% [markdown] tags=["hints"]
# 1. Queries and keys have the shapes (2, 3, 7, 1) and (2, 3, 11, 1). Which two axes take part in their product, and
#    what are the numbers of these axes, counted from the end?
# 2. The last two take part, which are -2 and -1. All the others are carried along by `@`, however many there are, so
#    nothing has to be unpacked or looped over.
# 3. Swap the axes -2 and -1 of the keys; `.T` and `transpose(0, 1)` mean something else as soon as there is a batch. If
#    you do fold the batch, use `reshape`, which takes transposed tensors too, and unfold the weights as well as the
#    output.

# %% check="mask" points=2
check("mask")

# %% [markdown] tags=["hints"]
# 1. A hidden key must weigh nothing, and the other weights must still add up to 1. Is there still time for that after
#    softmax?
# 2. No: hide the scores, before softmax. Which score becomes a weight of exactly 0?
# 3. Fill the scores with minus infinity by `masked_fill`. It fills where it finds True, and your mask is True where a
#    query *may* look, so turn it over first.

# %% check="blind_row" points=1
check("blind_row")

# %% [markdown] tags=["hints"]
# 1. Which row of scores does softmax get for a query that may look at nothing?
# 2. Nothing but $-\infty$, and your own softmax makes zeros of that (the check `nothing_to_see`). Zeros times the values
#    are zeros. Is it your softmax that is called here?
# 3. A large negative number such as -1e9 makes the row look like any other to softmax. Hide with `-math.inf`.

# %% check="dtype" points=1
check("dtype")

# %% [markdown] tags=["hints"]
# 1. Query, key and value come with 16 bits. Which of your steps uses a dtype or a number that doesn't go with that, and
#    do *both* results have 16 bits again?
# 2. `.float()` chooses 32 bits, whatever came in, and so does a new tensor to which nobody gave a dtype. A number that
#    stands for *hidden* must exist in 16 bits as well, and -1e9 doesn't: `float16` ends at -65504.
# 3. Leave such conversions out, or give the output *and* the weights the dtype of the query again. Minus infinity
#    exists in every dtype, so it can hide a score in all of them.

# %% check="gradient" points=1
check("gradient")

# %% [markdown] tags=["hints"]
# 1. Is there a place where 0 / 0 is computed and then thrown away, or where a number leaves the tensors on its way?
# 2. `torch.where` and `nan_to_num` hide a not-a-number in the output, but the gradient still runs through the step that
#    made it. `.item()`, `.detach()` and a new `torch.tensor(...)` stop it altogether.
# 3. Repair what goes *into* the subtraction and the division, the maximum and the sum, so that no not-a-number is ever
#    made.

# %% [markdown]
# ## Two masks
#
# `causal_mask(length)`: a word may look at itself and at what came before. Row = query, column = key.
#
# `padding_mask(lengths, max_length)`: sentence number $b$ of a batch has `lengths[b]` words, and the rest up to `max_length`
# is filling that nobody may look at. The axis of length 1 lets the same mask hold for every query.


# %% answer="masks"
def causal_mask(length: int) -> Bool[Tensor, "length length"]:
    """Return True where a query may look at a key: at itself and at all before it."""
    ### BEGIN SOLUTION
    return torch.ones(length, length, dtype=torch.bool).tril()
    ### END SOLUTION


def padding_mask(lengths: Int[Tensor, "batch"], max_length: int) -> Bool[Tensor, "batch 1 max_length"]:
    """Return True for the words of each sentence, False for its filling."""
    ### BEGIN SOLUTION
    places = torch.arange(max_length, device=lengths.device)
    return places < lengths[:, None, None]
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Draw the table for three words, with a row for each word that looks and a column for each word that is looked at.
#    Which of its nine cells are True?
# 2. The first word sees itself, the second sees two words, and the third sees all three. So the diagonal is True and so
#    is everything below it. The cells hold booleans; ones and zeros are numbers.
# 3. `tril` keeps the lower triangle of a table, and the diagonal with it unless you shift that. All you need is a table
#    of True to begin with.

# %% check="causal" points=1
check("causal")

# %% check="padding" points=1
check("padding")

# %% [markdown] tags=["hints"]
# 1. A sentence of three words is filled up to four places. Which of the places 0, 1, 2 and 3 hold words?
# 2. A place holds a word if its number is *less* than the length of the sentence. A single comparison of all places
#    with all lengths makes the whole mask, as soon as broadcasting lines the two up: sentences first, then an axis of
#    length 1 for the queries, then places.
# 3. Let `torch.arange` count the places on the device of `lengths`. Give `lengths` two new axes of length 1 at its end,
#    and compare; there is no need to write into anything.

# %% [markdown]
# ## The head as a module
#
# One input `x` plays three parts: it is projected to queries, keys and values by three matrices that are trained,
# without a bias. Rows are words, so the matrices stand on the right: `x @ w_query`.
# `x` gets a gradient too, for whatever made the words. A head whose matrices have 64 bits returns 64 for words of 64.
# A head that is moved to another device, as by `head.to("cuda")`, works on words that lie there, and so do your functions above:
# what they make or keep lies where their inputs do (`causal_mask` has none). The check `device` needs no GPU.
#
# `set_weights` tells the checks where your module keeps its matrices. It fits the `__init__` below;
# if you keep them in another way (one packed matrix, parameters of your own), change it along.
#
# ```shapes
# x [3 tokens, 5 d_model] @ w_query [5 d_model, 2 d_k] = query [3 tokens, 2 d_k]
# x [3 tokens, 5 d_model] @ w_key [5 d_model, 2 d_k] = key [3 tokens, 2 d_k]
# x [3 tokens, 5 d_model] @ w_value [5 d_model, 7 d_v] = value [3 tokens, 7 d_v]
# query [3 tokens, 2 d_k] , key [3 tokens, 2 d_k] , value [3 tokens, 7 d_v] -> output [3 tokens, 7 d_v]
# ```


# %% answer="module"
class SingleHeadAttention(nn.Module):
    """One head of self-attention."""

    def __init__(self, d_model: int, d_k: int, d_v: int):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_k, bias=False)
        self.to_key = nn.Linear(d_model, d_k, bias=False)
        self.to_value = nn.Linear(d_model, d_v, bias=False)

    def forward(
        self,
        x: Float[Tensor, "*batch tokens d_model"],
        mask: Bool[Tensor, "... #tokens #tokens"] | None = None,
    ) -> Float[Tensor, "*batch tokens d_v"]:
        """Return the output of the head for every word of `x`."""
        ### BEGIN SOLUTION
        output, _ = scaled_dot_product_attention(self.to_query(x), self.to_key(x), self.to_value(x), mask)
        return output
        ### END SOLUTION


def set_weights(
    head: SingleHeadAttention,
    w_query: Float[Tensor, "d_model d_k"],
    w_key: Float[Tensor, "d_model d_k"],
    w_value: Float[Tensor, "d_model d_v"],
) -> None:
    """Write the three matrices (used as `x @ w`) to where `head` keeps its own."""
    with torch.no_grad():
        head.to_query.weight.copy_(w_query.T)
        head.to_key.weight.copy_(w_key.T)
        head.to_value.weight.copy_(w_value.T)


# %% [markdown] tags=["hints"]
# 1. There is one input only. Where do query, key and value come from?
# 2. Each of the three layers in `__init__` makes one of them from `x`. The attention that they go through is already
#    written, scale included.
# 3. Call each layer with `x`, hand the results to your function in the order query, key, value, and return only the
#    first of the two things that come back.

# %% check="module" points=1
check("module")

# %% check="module_mask" points=1
check("module_mask")

# %% [markdown] tags=["hints"]
# 1. Your head is called with a mask, then with another one, then with none. Which line of `forward` notices the
#    difference?
# 2. A mask belongs to one call. It comes in beside `x`, your attention function uses it, and the head remembers nothing
#    of it. It also belongs to whoever called, and must look the same afterwards.
# 3. Your function takes a mask as its fourth input, and None means everywhere. Hand on what came, store it in no
#    attribute, and turn it over with `~`, which makes a new tensor.

# %% check="trains" points=1
check("trains")

# %% [markdown] tags=["hints"]
# 1. A head with `d_model` 4, `d_k` 2 and `d_v` 5 has 36 numbers to learn. What does `sum(p.numel() for p in
#    head.parameters())` say of yours?
# 2. A module trains what it holds as an `nn.Parameter` or inside a layer; it doesn't see a plain tensor. If all 36 are
#    there, look for the step that leaves the graph between them, or `x`, and the output.
# 3. Use the three layers without a bias as `__init__` makes them, and let each of them have `x` itself. `no_grad`,
#    `detach` and `.data` have no place in this head.

# %% check="device" points=1
check("device")

# %% [markdown] tags=["hints"]
# 1. The words are on a GPU. Which tensors take part in your code that are neither words, nor a mask, nor matrices?
# 2. What `torch.zeros` or `torch.arange` makes lies on the CPU, unless told otherwise; and a head that is moved takes its parameters
#    and buffers along, not a tensor that it merely keeps in an attribute. Plain numbers work with tensors on any device.
# 3. Make each tensor with the `device=` of an input, or out of one (`new_zeros`, `ones_like`), and keep it with
#    `self.register_buffer`.
