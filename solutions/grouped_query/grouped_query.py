# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: Grouped queries (optional)
#     chapter: 08_complexity
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
# You write both at once, for one of them is the other with a single group.
#
# This exercise is optional: no other one needs it. You should have done *multi-head attention* first.
#
# Write your answer where `not answered yet` stands, run the cell, then run the check below it.
# Inside an answer you may write as you like; the names and what they take and return are fixed.
# Only the answer cells are handed in, so keep your helpers in them.

# %%
import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from check import check, hint

# %% [markdown]
# ## Who shares with whom
#
# There are `num_heads` heads of queries and fewer heads of keys and values: `num_kv_heads`, which divides `num_heads`. Query heads
# that are neighbours form a group: with 6 heads and 2 of keys and values, heads 0, 1 and 2 share the first, 3, 4 and 5 the second.
#
# `grouped_attention` lets every head of queries look at the keys of its group, as in multi-head attention: a dot product, divided
# by the square root of `d_head`, softmax over the keys, the average of the values.
#
# * As many heads of keys as of queries is multi-head attention; one head of keys is multi-query attention.
# * `mask` is True where a query may look at a key. It has the shape (queries, keys) or (batch, queries, keys) and holds for every
#   head. None means everywhere. Every query may look at some key.
# * A number of heads that the heads of keys don't divide is a `ValueError`.


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


# %% check="groups" points=2
check("groups")

# %% check="scale" points=1
check("scale")

# %% check="multi_query" points=1
check("multi_query")

# %% check="mask" points=1
check("mask")

# %% check="uneven" points=1
check("uneven")

# %% [markdown]
# ## The module
#
# `GroupedQueryAttention(d_model, num_heads, num_kv_heads)` keeps four matrices, which are trained, without a bias. A head is
# `d_head = d_model / num_heads` wide, for queries, keys and values alike. So the matrices of keys and values
# have only as many columns as there are heads of them: they are what is saved.
#
# * Example: with `d_model` 12, 6 heads and 2 of keys and values, all matrices together have 384 numbers.
# * `forward(x, mask)` is self-attention: project, split each projection into heads (neighbouring columns are a head),
#   attend in groups, set the heads side by side again, multiply by `w_output`.
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


# %% check="module" points=2
check("module")

# %% check="module_mask" points=1
check("module_mask")

# %% check="trains" points=1
check("trains")

# %% [markdown]
# ## From many heads to few
#
# A model that was trained with multi-head attention need not be thrown away. Ainslie and others make each shared head the mean of
# the heads that will share it, and then train a little more. `pool_heads` takes a matrix of keys or of values of multi-head
# attention (used as `x @ weight`) and returns the matrix for `num_kv_heads`.
#
# * The columns of one head are neighbours, and so are the heads of one group.
# * Example: four heads of width 1 with the columns 1, 3, 5 and 9 become two heads with the columns 2 and 7.


# %% answer="pool"
def pool_heads(weight: Float[Tensor, "d_model wide"], num_heads: int, num_kv_heads: int) -> Float[Tensor, "d_model shared"]:
    """Return the matrix in which each group of heads has become their mean."""
    ### BEGIN SOLUTION
    group = num_heads // num_kv_heads
    return weight.unflatten(-1, (num_kv_heads, group, -1)).mean(dim=-2).flatten(-2)
    ### END SOLUTION


# %% check="pool" points=1
check("pool")
