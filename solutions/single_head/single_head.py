# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: Single-head attention
#     chapter: 04_softmax
#     forbidden: [softmax, attention]
# ---

# %% [markdown]
# # Single-head attention
#
# You write attention for one head, from scores to a module that can be trained.
# The chapters *self-attention* and *softmax* have the ideas.
#
# Write your answer where `not answered yet` stands, run the cell, then run the check below it.
# Inside an answer you may write as you like; the names and what they take and return are fixed.
# Only the answer cells are handed in, so keep your helpers in them.
#
# Two things are yours to write here and may not be taken ready-made: softmax and attention.

# %%
import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from check import check

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


# %% check="softmax" points=2
check("softmax")

# %% check="stable" points=1
check("stable")

# %% check="nothing_to_see" points=1
check("nothing_to_see")

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
# * Return two things: the output, then the weights. Both have the dtype of the inputs.
#
# Example: one query $(2, 0, 0, 0)$ and the keys $(2, 0, 0, 0)$ and $(0, 2, 0, 0)$ match with $4$ and $0$, which become
# the scores $2$ and $0$.


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


# %% check="scale" points=2
check("scale")

# %% check="weights" points=1
check("weights")

# %% check="output" points=1
check("output")

# %% check="batch" points=1
check("batch")

# %% check="mask" points=2
check("mask")

# %% check="blind_row" points=1
check("blind_row")

# %% check="dtype" points=1
check("dtype")

# %% check="gradient" points=1
check("gradient")

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


# %% check="causal" points=1
check("causal")

# %% check="padding" points=1
check("padding")

# %% [markdown]
# ## The head as a module
#
# One input `x` plays three parts: it is projected to queries, keys and values by three matrices that are trained,
# without a bias. Rows are words, so the matrices stand on the right: `x @ w_query`.
#
# `set_weights` tells the checks where your module keeps its matrices. It fits the `__init__` below;
# if you keep them in another way (one packed matrix, parameters of your own), change it along.


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


# %% check="module" points=2
check("module")

# %% check="module_mask" points=1
check("module_mask")

# %% check="trains" points=1
check("trains")
