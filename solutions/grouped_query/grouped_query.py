# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: Grouped queries (optional)
#     chapter: generation
#     difficulty: medium
#     minutes: 40
#     forbidden: [attention]
# ---

# %% [markdown]
# # Grouped queries
#
# While a text is written, the keys and values of all words so far are kept, for every head. Shazeer (*Fast transformer decoding:
# one write-head is all you need*, 2019) let all heads of queries share one head of keys and values, which is *multi-query
# attention*. Ainslie and others (*GQA*, 2023) let a group of heads share one, so that there is something between one and all.
# You write both at once, for one of them is the other with a single group. The chapter *generation* says what the groups save.
#
# This exercise is optional: no other one needs it. You should have done *multi-head attention* first.
#
# Write your answer where `not answered yet` stands, run the cell, then run the check below it.
# Where you are stuck, `hint("groups")` opens the first of three hints for that check. Hints cost nothing.
# Inside an answer you may write as you like; the names and what they take and return are fixed.
# Only the answer cells are handed in, so keep your helpers in them.
# What your functions and modules are given may lie in memory in any order, as it does after `transpose`, and they leave it as it was.

# %%
import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from check import check, hint

# %% [markdown]
# ## Who shares with whom
#
# There are `num_heads` heads of queries and `num_kv_heads` heads of keys and values; the second number divides the first. Query heads
# that are neighbours form a group: with 6 heads and 2 of keys and values, heads 0, 1 and 2 share the first, 3, 4 and 5 the second.
#
# `grouped_attention` lets every head of queries look at the keys of its group, as in multi-head attention: a dot product, divided
# by the square root of `d_head`, softmax over the keys, the average of the values.
#
# * As many heads of keys as of queries is multi-head attention; one head of keys is multi-query attention.
# * `mask` is True where a query may look at a key. It has the shape (queries, keys) or (batch, queries, keys) and holds for every
#   head. None means everywhere. Every query sees at least one key.
# * Scores of any size are allowed, and a hidden key may match far better than those that are seen.
# * Inputs have 16, 32 or 64 bits, and so has the output.
# * If `num_kv_heads` does not divide `num_heads`, a `ValueError` is raised.
#
# ```shapes
# query [6 num_heads, 2 queries, 4 d_head] , key [2 num_kv_heads, 5 keys, 4 d_head] -> weights [6 num_heads, 2 queries, 5 keys]
# weights [6 num_heads, 2 queries, 5 keys] , value [2 num_kv_heads, 5 keys, 4 d_head] -> output [6 num_heads, 2 queries, 4 d_head]
# ```


# %% answer="attention"
def grouped_attention(
    query: Float[Tensor, "batch num_heads queries d_head"],
    key: Float[Tensor, "batch num_kv_heads keys d_head"],
    value: Float[Tensor, "batch num_kv_heads keys d_head"],
    mask: Bool[Tensor, "queries keys"] | Bool[Tensor, "batch queries keys"] | None = None,
) -> Float[Tensor, "batch num_heads queries d_head"]:
    """Return what each head of queries found among the keys of its group."""
    ### BEGIN SOLUTION
    num_heads, num_kv_heads = query.shape[1], key.shape[1]
    if num_heads % num_kv_heads:
        raise ValueError(f"{num_heads} heads can't share {num_kv_heads} heads of keys in equal parts")
    # A group of its own axis: keys and values are read by every head of it, and never copied.
    grouped = query.unflatten(1, (num_kv_heads, -1))
    scores = grouped @ key.unsqueeze(2).transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask.unflatten(-2, (1, 1, -1)), -math.inf)
    return (torch.softmax(scores, dim=-1) @ value.unsqueeze(2)).flatten(1, 2)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. With 6 heads of queries and 2 of keys, how many groups are there, how many heads has a group, and whose keys does
#    head 2 read?
# 2. Either repeat each head of keys and of values for every head of its group, or give the groups an axis of their own
#    in the queries. The rest is multi-head attention, and as many heads come out as went in.
# 3. Of the heads a, b, `repeat_interleave` makes a, a, b, b, and `repeat` makes a, b, a, b. Without copies: `unflatten`
#    the heads of queries into groups and heads of a group, groups first, and give keys and values an axis of length 1
#    to meet the latter.

# %% check="groups" points=2
check("groups")

# %% check="scale" points=1
check("scale")

# %% [markdown] tags=["hints"]
# 1. Each of several heads is 4 wide, and a query matches a key with 4. Which score should softmax get?
# 2. It should get 2. A dot product runs over the width of one head, whoever shares the keys, and the root of that width
#    is the divisor. Softmax then deals out one whole for each query, among its keys.
# 3. Read the width off the last axis of `query`, and divide the scores by its `math.sqrt`. Whatever axes you have added
#    for groups, the keys are the last axis of the scores, and without a mask none of them is hidden.

# %% check="multi_query" points=1
check("multi_query")

# %% [markdown] tags=["hints"]
# 1. Three heads of queries share a single head of keys and values. How many heads should come out, and may they differ?
# 2. Three come out, and they differ, because each of them asks with its own queries. What is shared is only what they
#    look at.
# 3. No sum, mean or softmax runs along the heads here. With one group, all that happens is that an axis of length 1 in
#    keys and values is stretched over all heads.

# %% check="mask" points=1
check("mask")

# %% [markdown] tags=["hints"]
# 1. The mask may have a batch, but it has no heads. Which axes of the scores would it line up with as it is?
# 2. Shapes are lined up from the right. Where the scores have heads the mask needs an axis of length 1, or two of them
#    if your groups have an axis of their own.
# 3. `unsqueeze(-3)` puts a new axis in front of queries and keys, for both kinds of mask; call it once or twice. Then
#    hide, before softmax, where the mask is *not* True. If there is no mask, leave all of this out.

# %% check="uneven" points=1
check("uneven")

# %% [markdown] tags=["hints"]
# 1. Four heads of queries are to share three of keys. How many heads has each group?
# 2. There is no answer, and the caller should hear so in plain words. Ask before anything is computed: torch would
#    complain about sizes, or not at all.
# 3. The remainder (`%`) of one number of heads by the other is 0 where they can be shared out. For every other
#    remainder, raise a `ValueError` that names both numbers.

# %% [markdown]
# ## The module
#
# `GroupedQueryAttention(d_model, num_heads, num_kv_heads)` keeps four matrices, which are trained, without a bias. A head is
# `d_head = d_model / num_heads` wide, for queries, keys and values alike. So the matrices of keys and values
# have columns for `num_kv_heads` heads only, and that is what is saved.
#
# * Example: with `d_model` 12, 6 heads and 2 of keys and values, all matrices together have 384 numbers.
# * `forward(x, mask)` is self-attention: project, split each projection into heads (neighbouring columns are a head),
#   attend in groups, set the heads side by side again, multiply by `w_output`.
# * Each call has a mask of its own, or none. A gradient goes back to `x`, too.
# * A module that `module.double()` has turned to 64 bits takes words of 64 bits, and gives as many back.
# * A module that is moved to another device, as by `module.to("cuda")`, works on words that lie there, and so does your function: what
#   they make or keep lies where their inputs do. The check `device` needs no GPU.
#
# `set_weights` tells the checks where your module keeps its matrices. As it stands it fits four layers with the names that it
# uses; if you keep them in another way, change it along.


# %% answer="module"
class GroupedQueryAttention(nn.Module):
    """Self-attention in which groups of heads share their keys and values."""

    def __init__(self, d_model: int, num_heads: int, num_kv_heads: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.d_head = d_model // num_heads
        self.to_query = nn.Linear(d_model, num_heads * self.d_head, bias=False)
        self.to_key = nn.Linear(d_model, num_kv_heads * self.d_head, bias=False)
        self.to_value = nn.Linear(d_model, num_kv_heads * self.d_head, bias=False)
        self.to_output = nn.Linear(num_heads * self.d_head, d_model, bias=False)
        ### END SOLUTION

    def forward(
        self,
        x: Float[Tensor, "batch tokens d_model"],
        mask: Bool[Tensor, "tokens tokens"] | Bool[Tensor, "batch tokens tokens"] | None = None,
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Return the output for every word."""
        ### BEGIN SOLUTION
        projected = (to(x) for to in (self.to_query, self.to_key, self.to_value))
        heads = (each.unflatten(-1, (-1, self.d_head)).transpose(1, 2) for each in projected)
        return self.to_output(grouped_attention(*heads, mask).transpose(1, 2).flatten(2))
        ### END SOLUTION


def set_weights(
    attention: GroupedQueryAttention,
    w_query: Float[Tensor, "d_model d_model"],
    w_key: Float[Tensor, "d_model shared"],
    w_value: Float[Tensor, "d_model shared"],
    w_output: Float[Tensor, "d_model d_model"],
) -> None:
    """Write the four matrices (used as `x @ w`) to where `attention` keeps its own."""
    with torch.no_grad():
        attention.to_query.weight.copy_(w_query.T)
        attention.to_key.weight.copy_(w_key.T)
        attention.to_value.weight.copy_(w_value.T)
        attention.to_output.weight.copy_(w_output.T)


# %% [markdown] tags=["hints"]
# 1. A head is `d_head` wide for queries, keys and values alike. How many columns has the matrix of the queries, and how
#    many that of the keys?
# 2. Make four linear layers without a bias, with the names that `set_weights` uses. In `forward`, cut the last axis of
#    each projection into heads and width, bring the heads before the tokens, attend, and go the same way back.
# 3. Keys and values have `num_kv_heads` times `d_head` columns. `unflatten` cuts the last axis, heads first, and
#    `transpose` swaps heads and tokens; there, the number of heads can be left to torch as -1. Swap back before you
#    `flatten`, and end with `self.to_output`.

# %% check="module" points=1
check("module")

# %% check="module_mask" points=1
check("module_mask")

# %% [markdown] tags=["hints"]
# 1. The first word may see itself only. If you change the second word, does the first row of your output move?
# 2. If it moves, the mask got lost between `forward` and the scores. If only a second call or a second text comes out
#    wrong, it gets a mask that belongs to another one.
# 3. Give your function the mask of *this* call as its fourth input, and keep none of them in the module. In a mask with
#    three axes, the first one counts texts.

# %% check="trains" points=1
check("trains")

# %% [markdown] tags=["hints"]
# 1. In the example all matrices together have 384 numbers. How many does your module list, and where does the
#    difference come from?
# 2. Queries and output have 12 columns, keys and values have 4 each. Biases would add to that, and so would keys as
#    wide as the queries; a matrix that is listed but never used gets no gradient.
# 3. Check the widths of your layers against `num_kv_heads`, give each `bias=False`, and let the same `x` go into all
#    three projections, undetached, so that what made it learns by each of them.

# %% check="device" points=1
check("device")

# %% [markdown] tags=["hints"]
# 1. What does your code count or fill for itself, and where does that lie when all the rest is on a GPU?
# 2. What `torch.arange` or `torch.ones` makes lies on the CPU, unless told otherwise. If the module keeps a tensor in a
#    plain attribute, that stays behind when the module is moved; parameters and buffers go along.
# 3. Make each tensor with the `device=` of an input, or out of one (`new_ones`, `zeros_like`), and keep it with
#    `self.register_buffer`.

# %% [markdown]
# ## From many heads to few
#
# A model that was trained with multi-head attention need not be thrown away. Ainslie and others make each shared head the mean of
# the heads that will share it, and then train a little more. `pool_heads` takes a matrix of keys or of values of multi-head
# attention (used as `x @ weight`) and returns the matrix for `num_kv_heads`.
#
# * The columns of one head are neighbours, and so are the heads of one group.
# * Example: four heads of width 1 with the columns 1, 3, 5 and 9 become two heads with the columns 2 and 7.
# * The result has the dtype of `weight`.


# %% answer="pool"
def pool_heads(weight: Float[Tensor, "d_model wide"], num_heads: int, num_kv_heads: int) -> Float[Tensor, "d_model shared"]:
    """Return the matrix in which each group of heads has become their mean."""
    ### BEGIN SOLUTION
    group = num_heads // num_kv_heads
    return weight.unflatten(-1, (num_kv_heads, group, -1)).mean(dim=-2).flatten(-2)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Of the columns 1, 3, 5 and 9, which are averaged? And if each head were two columns wide, which columns would meet
#    in one mean?
# 2. A column belongs to a group, to a head in this group, and to a place in this head. Give each of the three an axis
#    of its own, and average over one of them.
# 3. `unflatten` the last axis into groups, heads of a group, and width, in this order. Take the mean over the middle
#    one of the three, and make one axis again of the two that are left.

# %% check="pool" points=1
check("pool")
