# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: Rotary positions (optional)
#     chapter: 07_positional_encoding
#     difficulty: medium
#     minutes: 45
#     forbidden: []
# ---

# %% [markdown]
# # Rotary positions
#
# In the chapter *positional encoding* one turn leads from any place to the place so many words later. Su and others (*RoFormer*,
# 2021) let such turns do all the work: nothing is added to the words, but each query and each key is turned by the angle of its
# place. How well two of them match then depends on how far apart they stand, and not on where.
#
# This exercise is optional: no other one needs it.
#
# Write your answer where `not answered yet` stands, run the cell, then run the check below it.
# Inside an answer you may write as you like; the names and what they take and return are fixed.
# Only the answer cells are handed in, so keep your helpers in them.

# %%
import math

import torch
from jaxtyping import Float
from torch import Tensor

from check import check, hint

# %% [markdown]
# ## Turned by its place
#
# The `d_k` numbers of a query or a key are taken as pairs of neighbours: columns $2i$ and $2i + 1$ are pair $i$. At place $t$,
# pair $i$ is turned by the angle $\alpha = t \cdot \theta^{-2i/d_k}$, counter-clockwise:
#
# $$
# (a, b) \;\mapsto\; (a \cos\alpha - b \sin\alpha,\;\; a \sin\alpha + b \cos\alpha)
# $$
#
# * The first word of `x` stands at place `start`, the next at `start + 1`. Example: with `d_k` 2, the words $(1, 0)$ and $(1, 0)$ at
#   places 0 and 1 become $(1, 0)$ and $(0.5403, 0.8415)$.
# * `*batch` stands for any axes before the last two, also none. `d_k` is even.
# * The result has the dtype of `x`. In 16 bits it is right at the thousandth place too, as far as 16 bits can tell.


# %% answer="rotate"
def rotate(x: Float[Tensor, "*batch tokens d_k"], start: int = 0, theta: float = 10_000.0) -> Float[Tensor, "*batch tokens d_k"]:
    """Return each word with its pairs turned by the angles of its place."""
    ### BEGIN SOLUTION
    tokens, d_k = x.shape[-2:]
    speeds = theta ** (-torch.arange(0, d_k, 2, dtype=torch.float64, device=x.device) / d_k)
    places = torch.arange(start, start + tokens, dtype=torch.float64, device=x.device)
    # Rounded last: in 16 bits there is no place 257 to multiply with.
    angles = torch.outer(places, speeds)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
    ### END SOLUTION


# %% check="turn" points=2
check("turn")

# %% check="speeds" points=2
check("speeds")

# %% check="theta" points=1
check("theta")

# %% check="start" points=1
check("start")

# %% check="axes" points=1
check("axes")

# %% check="dtype" points=1
check("dtype")

# %% [markdown]
# ## Attention that knows distances
#
# `rotary_attention` is attention as you know it (dot products, divided by $\sqrt{d_k}$, softmax over the keys, the average of the
# values), but queries and keys are turned by their places before they meet.
#
# * The first query stands at place `query_start`, the first key at `key_start`; `theta` is that of `rotate`.
# * Values are what a word says, wherever it stands. With a single key, every query gets its value as it is.


# %% answer="attention"
def rotary_attention(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*batch keys d_k"],
    value: Float[Tensor, "*batch keys d_k"],
    query_start: int = 0,
    key_start: int = 0,
    theta: float = 10_000.0,
) -> Float[Tensor, "*batch queries d_k"]:
    """Return, for each query, the values averaged by how well the turned keys match."""
    ### BEGIN SOLUTION
    query, key = rotate(query, query_start, theta), rotate(key, key_start, theta)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return torch.softmax(scores, dim=-1) @ value
    ### END SOLUTION


# %% check="attend" points=2
check("attend")

# %% check="relative" points=2
check("relative")

# %% [markdown]
# ## Weights from elsewhere
#
# Many libraries pair column $i$ with column $i + d_k/2$: the two halves, where we pair neighbours. Each head learns which columns
# it uses, so neither is better, but a matrix that was trained for one is wrong for the other until its columns change places.
#
# `neighbours_to_halves` takes a matrix that makes queries or keys (`x @ weight`) for neighbours, and returns it for halves:
# what was pair $i$ for one must be pair $i$ for the other, with its two numbers in the same order.
#
# * Example: of six columns, the first two new ones are the old ones 0 and 2.


# %% answer="halves"
def neighbours_to_halves(weight: Float[Tensor, "d_model d_k"]) -> Float[Tensor, "d_model d_k"]:
    """Return the matrix with its columns in the order that pairs of halves need."""
    ### BEGIN SOLUTION
    return torch.cat([weight[:, 0::2], weight[:, 1::2]], dim=1)
    ### END SOLUTION


# %% check="halves" points=1
check("halves")
