# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: Rotary positions (optional)
#     chapter: rotary_positions
#     difficulty: medium
#     minutes: 45
#     forbidden: []
# ---

# %% [markdown]
# # Rotary positions
#
# In the chapter *positional encoding* the step from any position to the one $k$ words later is always the same rotation. Su and
# others (*RoFormer*, 2024) let such rotations do all the work: nothing is added to the words, but each query and each key is rotated by
# the angles of its position. How well two of them match then depends on how far apart they stand, and not on where. The chapter
# *rotary positions* derives this; here you write it for batches, without a matrix for each position.
#
# This exercise is optional: no other one needs it.
#
# Write your answer where `not answered yet` stands, run the cell, then run the check below it.
# Where you are stuck, `hint("turn")` opens the first of three hints for that check. Hints cost nothing.
# Inside an answer you may write as you like; the names and what they take and return are fixed.
# Only the answer cells are handed in, so keep your helpers in them.
# What your functions are given may lie in memory in any order, as it does after `transpose`, and they leave it as it was.

# %%
import math

import torch
from jaxtyping import Float
from torch import Tensor

from check import check, hint

# %% [markdown]
# ## Rotated by its position
#
# The `d_k` numbers of a query or a key are taken as **dimension pairs** of neighbours: columns $2i$ and $2i + 1$ are pair $i$. Each pair
# has a **frequency**, $\theta^{-2i/d_k}$ radians per position. At position $t$, pair $i$ is rotated by the angle
# $\alpha = t \cdot \theta^{-2i/d_k}$, counter-clockwise:
#
# $$
# \begin{aligned}
# a &\mapsto a \cos\alpha - b \sin\alpha \\
# b &\mapsto a \sin\alpha + b \cos\alpha
# \end{aligned}
# $$
#
# * The first word of `x` stands at position `start`, the next at `start + 1`. Example: with `d_k` 2, the words $(1, 0)$ and $(1, 0)$ at
#   positions 0 and 1 become $(1, 0)$ and $(0.5403, 0.8415)$.
# * `*batch` stands for any axes before the last two, also none. `d_k` is even.
# * A gradient goes back to `x`, and `x` itself is not changed.
# * What you make lies on the device of `x`, which need not be the CPU. The check `device` needs no GPU.
# * The result has the dtype of `x`. In 16 bits the thousandth word is rotated correctly too, as far as 16 bits can tell.


# %% answer="rotate"
def rotate(x: Float[Tensor, "*batch tokens d_k"], start: int = 0, theta: float = 10_000.0) -> Float[Tensor, "*batch tokens d_k"]:
    """Return each word with its pairs rotated by the angles of its position."""
    ### BEGIN SOLUTION
    tokens, d_k = x.shape[-2:]
    frequencies = theta ** (-torch.arange(0, d_k, 2, dtype=torch.float64, device=x.device) / d_k)
    positions = torch.arange(start, start + tokens, dtype=torch.float64, device=x.device)
    # Rounded last: bfloat16 has no number 257 to multiply with.
    angles = torch.outer(positions, frequencies)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. By which angle is the first pair rotated at position 0, at position 1 and at position 2, and which two columns are this pair?
# 2. Every position meets every pair: a table of angles, tokens by pairs. Its cosines and sines rotate all pairs at once, if
#    you take the first numbers of all pairs as one tensor and the second numbers as another.
# 3. `torch.outer` makes the table. Steps of two along the last axis pick the first or the second numbers, and `...`
#    stands for any axes before. Make both new numbers from the *old* ones, `stack` them on a new last axis, and
#    `flatten` that into the one before.

# %% check="turn" points=2
check("turn")

# %% check="speeds" points=1
check("speeds")

# %% [markdown] tags=["hints"]
# 1. With `d_k` 4 there are two pairs. To which power is `theta` raised for i = 0, and to which for i = 1?
# 2. The first pair has a frequency of one radian per position, and each pair after it a lower one. Pair $i$ begins in
#    column $2i$, and this column is what is divided by `d_k`.
# 3. A `torch.arange` in steps of two counts the columns 0, 2, 4, and has the 2 of the formula in it already. Divide by
#    `d_k`, mind the minus, and make it the exponent of `theta`.

# %% check="theta" points=1
check("theta")

# %% [markdown] tags=["hints"]
# 1. Which line of your function reads `theta`, and what does another `theta` change about the first pair?
# 2. Nothing: any number to the power 0 is 1. A larger `theta` lowers the frequencies of the later
#    pairs, each by more than the one before it.
# 3. `theta` is what is raised to a power; it doesn't divide the positions. The number 10,000 stands in the signature and
#    nowhere else. If the check `speeds` fails too, begin there.

# %% check="start" points=1
check("start")

# %% [markdown] tags=["hints"]
# 1. Three words come in and `start` is 4. How many words go out, and at which position does the first of them stand?
# 2. `start` picks no words out of `x`: all of them are rotated. It only says from where positions are counted.
# 3. `torch.arange` can begin at `start`. It ends as many positions later as `x` has tokens, and tokens are the last axis
#    but one.

# %% check="axes" points=1
check("axes")

# %% [markdown] tags=["hints"]
# 1. Words come as (tokens, d_k), and as (batch, heads, tokens, d_k). Which number names the axis of the tokens in both?
# 2. It is -2, counted from the end, and the numbers of a word are always on -1. A table of angles with just these two
#    axes lines up with any batch and any heads.
# 3. Look for an axis that you count from the front, or find by its length, which another axis may share. If your way
#    needs the two numbers of a pair side by side in memory, `.contiguous()` puts them there.

# %% check="dtype" points=1
check("dtype")

# %% [markdown] tags=["hints"]
# 1. What becomes of 257 in `bfloat16`, and which two words share a position then?
# 2. Positions and angles need many digits, cosines and sines few. So everything up to the angles is made in a wide type,
#    whatever the type of `x` is.
# 3. Ask for `torch.float64` where you make the positions and the frequencies. Change over to `x.dtype` when you have cosines
#    and sines, before they are multiplied with `x`; then the result has that type by itself.

# %% check="device" points=1
check("device")

# %% [markdown] tags=["hints"]
# 1. `x` is on a GPU. Where do the angles lie that it is rotated by?
# 2. What `torch.arange` makes lies on the CPU, unless told otherwise, and so does all that is made of it. Plain numbers such as `theta`
#    lie nowhere, and go everywhere.
# 3. `torch.arange` takes `device=x.device`; positions and frequencies both need it. Or move cosines and sines by `.to(x)`, which gives them the
#    dtype too.

# %% [markdown]
# ## Attention that knows distances
#
# `rotary_attention` is attention as you know it (dot products, divided by $\sqrt{d_k}$, softmax over the keys, the average of the
# values), but queries and keys are rotated by their positions before they meet.
#
# * The first query stands at position `query_start`, the first key at `key_start`; `theta` is that of `rotate`.
# * Values are not rotated: what a word says, it says wherever it stands. With a single key, every query gets that key's value.
# * The output has the dtype of the inputs, and values of 64 bits keep their digits. Query, key and value get their gradient, and
#   stay as they were.


# %% answer="attention"
def rotary_attention(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*batch keys d_k"],
    value: Float[Tensor, "*batch keys d_k"],
    query_start: int = 0,
    key_start: int = 0,
    theta: float = 10_000.0,
) -> Float[Tensor, "*batch queries d_k"]:
    """Return, for each query, the values averaged by how well the rotated keys match."""
    ### BEGIN SOLUTION
    query, key = rotate(query, query_start, theta), rotate(key, key_start, theta)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return torch.softmax(scores, dim=-1) @ value
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. There is one key, so every query gets that key's value whole. Which of query, key and value may be rotated, then?
# 2. Queries and keys may be, both in the same direction, and values never. The rest is attention as you know it, with a
#    match divided by the root of `d_k`: a rotation changes no length.
# 3. Call `rotate` for the query and for the key, and pass on `theta`, or else 10,000 is taken. Use the rotated ones for
#    the scores, the value as it came, and write into none of the three.

# %% check="attend" points=2
check("attend")

# %% check="relative" points=2
check("relative")

# %% [markdown] tags=["hints"]
# 1. Queries and keys all move on by five positions. What should change in the output, and what changes in yours?
# 2. Nothing should. In the dot product of two rotated vectors one angle is taken from the other, and only the distance
#    is left. That works if *both* know where they stand; nobody has to compute a distance.
# 3. Each call of `rotate` needs the start that belongs to its tensor: `query_start` for the queries, `key_start` for
#    the keys. If nothing else is wrong, see whether the two have changed places.

# %% [markdown]
# ## Weights from elsewhere
#
# Many libraries pair column $i$ with column $i + d_k/2$: the two halves, where we pair neighbours. Each head learns which columns
# it uses, so neither is better, but a matrix that was trained for one is wrong for the other until its columns change places.
#
# `neighbours_to_halves` takes the matrix of one head that makes queries or keys (`x @ weight`) in pairs of neighbours, and returns
# it with its columns moved, so that it makes them in pairs of halves: the two columns that were pair $i$ become pair $i$ again,
# the first number still first.
#
# * Example: with six columns, the new columns 0 and 1 are the old columns 0 and 2.
# * The result has the dtype of `weight`.


# %% answer="halves"
def neighbours_to_halves(weight: Float[Tensor, "d_model d_k"]) -> Float[Tensor, "d_model d_k"]:
    """Return the matrix with its columns in the order that pairs of halves need."""
    ### BEGIN SOLUTION
    return torch.cat([weight[:, 0::2], weight[:, 1::2]], dim=1)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Write down the new order of six columns. It begins with 0 and 2; how does it go on?
# 2. The left half holds the first number of every pair, the right half the second, both in the order of the pairs. Rows
#    stay where they are.
# 3. A slice with a step of 2 picks every other column, from column 0 on or from column 1 on. `torch.cat` sets the two
#    picks side by side, along the axis of the columns.

# %% check="halves" points=1
check("halves")
