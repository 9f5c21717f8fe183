# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: Compare, normalise, average
#     chapter: self_attention
#     difficulty: easy
#     minutes: 30
#     forbidden: [attention]
# ---

# %% [markdown]
# # Compare, normalise, average
#
# Every attention does three things: it compares a query with each key, turns the scores into shares of one, and averages
# the values by these shares. You write two ways to compare, the average, and then attention that works with any way to
# compare. The chapter *self-attention* has the ideas.
#
# Write your answer where `not answered yet` stands, run the cell, then run the check below it.
# Where you are stuck, `hint("dot")` opens the first of three hints for that check. Hints cost nothing.
# Inside an answer you may write as you like; the names and what they take and return are fixed.
# Only the answer cells are handed in, so keep your helpers in them.
# What your functions and modules are given may lie in memory in any order, as it does after `transpose`, and they leave it as it was.
# Inputs have 32 or 64 bits, and so has what comes back. Nothing depends on which sizes happen to be equal, nor on the call before.
#
# A signature tells the shapes: `*batch` stands for any axes before the last two, also none.
# `torch.softmax` is yours to use here. Attention is not to be taken ready-made.

# %%
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from check import check, hint

# %% [markdown]
# ## Compare by dot product
#
# The score of a query and a key is their dot product: multiply number by number, and add. The scores of all pairs make a
# table, with a row for each query and a column for each key.
#
# * Example: the query $(1, 2)$ scores the keys $(3, 0)$ and $(0, -1)$ with $3$ and $-2$.
# * A query twice as long scores twice as high. Nothing is divided out here.
#
# ```shapes
# query [1 query, 2 d_k] {1 2} , key [2 keys, 2 d_k] {3 0 / 0 -1} -dot products-> scores [1 query, 2 keys] {3 -2}
# ```


# %% answer="dot"
def dot_product_scores(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*batch keys d_k"],
) -> Float[Tensor, "*batch queries keys"]:
    """Return the dot product of every query with every key."""
    ### BEGIN SOLUTION
    return query @ key.transpose(-2, -1)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Three queries and five keys: how many numbers must come out, and which two rows make the number in row 1, column 2?
# 2. A product of two matrices takes rows of the first and columns of the second. The keys stand in rows, so something has
#    to be turned before they can be multiplied.
# 3. Turn the last two axes of the keys, counted from the end so that a batch stays where it is. Then multiply with the
#    queries on the left.

# %% check="dot" points=3
check("dot")

# %% [markdown]
# ## Compare by a small network
#
# The additive score of a query $q$ and a key $k$ is $w \cdot \tanh(q W_q + k W_k)$. Two matrices bring both to the same
# width, and $w$ weighs what $\tanh$ leaves of each number of their sum.
#
# * Queries and keys need not be equally wide.
# * Example: $\tanh(\ln 2) = 3/5$. So with $q = (0)$, $k = (\ln 2)$, $W_q = W_k = (1)$ and $w = (5)$ the score is $3$.
# * $W_q$, $W_k$ and $w$ are learnt, so a gradient must come back to them, as to queries and keys.
#
# ```shapes
# query [2 queries, 3 d_query] , key [5 keys, 7 d_key] -additive-> scores [2 queries, 5 keys]
# ```


# %% answer="additive"
def additive_scores(
    query: Float[Tensor, "*batch queries d_query"],
    key: Float[Tensor, "*batch keys d_key"],
    w_query: Float[Tensor, "d_query hidden"],
    w_key: Float[Tensor, "d_key hidden"],
    w: Float[Tensor, "hidden"],
) -> Float[Tensor, "*batch queries keys"]:
    """Return the additive score of every query with every key."""
    ### BEGIN SOLUTION
    asked, offered = query @ w_query, key @ w_key
    # An axis of length 1 in each lets broadcasting form all pairs.
    pairs = asked.unsqueeze(-2) + offered.unsqueeze(-3)
    return torch.tanh(pairs) @ w
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. A query and a key are added here, not multiplied. How can one sum make a row of numbers for *every pair*?
# 2. Bring both to the same width first, each by its own matrix. Broadcasting then stretches an axis of length 1: the
#    queries' part needs one where keys are counted, the keys' part one where queries are counted.
# 3. The parts have the shapes (queries, 1, hidden) and (1, keys, hidden), so their sum is (queries, keys, hidden). After
#    tanh, a product with `w` takes the last axis away.

# %% check="additive" points=3
check("additive")

# %% check="widths" points=2
check("widths")

# %% [markdown] tags=["hints"]
# 1. A query has 5 numbers and a key has 7. After which step of your code are the two equally wide?
# 2. Only the two matrices can bring them to one width. `w_query` has a row for each number of a query, `w_key` has one
#    for each number of a key, and both have a column for each hidden number. Whatever needs equal widths must come
#    later.
# 3. Multiply each of the two by its own matrix first, and form the pairs from what you get. If you prefer to join each
#    query with each key in one long vector, stack the two matrices in the same order.

# %% check="batch" points=2
check("batch")

# %% [markdown] tags=["hints"]
# 1. It works for one sentence. Which axis does your code count from the front?
# 2. With any number of axes before the last two, only places counted from the end mean the same thing: -1, -2, -3. That
#    goes for swapping axes, for adding one, and for a product written with letters.
# 3. In einsum, `...` stands for all axes that are carried along. With `unsqueeze`, find the two negative numbers that put
#    an axis of length 1 before the last axis, and before the last two.

# %% [markdown]
# ## Average
#
# Each row of `matches` says how well one query matches each key. Matches are not negative, and one at least in each row is
# above zero, but a row need not add up to 1. Turn each row into shares of one, then average the values by them.
#
# * Example: matches of $1$, $2$ and $3$ average the values $0$, $6$ and $12$ to $8$.
# * A row that adds up to 1 already is averaged as it stands. Only the shares count: matches may all be as small as $10^{-20}$.
#
# ```shapes
# matches [1 query, 3 keys] {1 2 3} -shares-> shares [1 query, 3 keys] {0.17 0.33 0.5}
# shares [1 query, 3 keys] {0.17 0.33 0.5} @ value [3 keys, 1 d_v] {0 6 12} = output [1 query, 1 d_v] {8}
# ```


# %% answer="average"
def weighted_average(
    matches: Float[Tensor, "*batch queries keys"],
    value: Float[Tensor, "*batch keys d_v"],
) -> Float[Tensor, "*batch queries d_v"]:
    """Return for each row of matches the average of the values by its shares."""
    ### BEGIN SOLUTION
    shares = matches / matches.sum(dim=-1, keepdim=True)
    return shares @ value
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Matches of 1, 2 and 3 add up to 6. What share of the whole is the match of 2?
# 2. Each row is divided by a sum of its own, along the axis of the keys. Which shape must the sums have, so that the
#    division lines up row by row?
# 3. `keepdim=True` keeps the axis of the keys in the sums, with length 1. What is left to do is a product: shares on the
#    left, values on the right.

# %% check="average" points=2
check("average")

# %% [markdown]
# ## Attention with any score
#
# `score` is a function that is given query and key and returns the scores of all pairs: one of your two, or any other.
# Take it as it is, turn each query's scores into weights by softmax, and average the values.
#
# * Scores may be of any size: $-1000$ and $-2000$ are scores too.
# * Return the output alone.
#
# `Nearness` is a third way to compare: a key scores the higher the nearer it lies. The checks use it. A module is called
# like a function, so `attend(query, key, value, Nearness())` works, as does `attend(query, key, value, dot_product_scores)`.
#
# Example: keys at the distances $0$, $\ln 2$ and $\ln 3$ from a query get the weights $6/11$, $3/11$ and $2/11$.


# %%
class Nearness(nn.Module):
    """Scores by how near a key lies to a query: minus their distance."""

    def forward(
        self,
        query: Float[Tensor, "*batch queries d_k"],
        key: Float[Tensor, "*batch keys d_k"],
    ) -> Float[Tensor, "*batch queries keys"]:
        return -torch.cdist(query, key)


# %% answer="attend"
def attend(
    query: Float[Tensor, "*batch queries d_query"],
    key: Float[Tensor, "*batch keys d_key"],
    value: Float[Tensor, "*batch keys d_v"],
    score: Callable[[Tensor, Tensor], Tensor],
) -> Float[Tensor, "*batch queries d_v"]:
    """Return for each query the average of the values, weighted by softmax of the scores."""
    ### BEGIN SOLUTION
    weights = torch.softmax(score(query, key), dim=-1)
    return weighted_average(weights, value)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Which of the three steps are the same for every way to compare, and which one is handed to you?
# 2. `score` is called like a function, whatever it is. It gives a table with a row for each query; softmax turns every
#    row into shares of one.
# 3. Call `score` with query and key, take `torch.softmax` along the axis of the keys, and let the average that you have
#    written do the rest.

# %% check="attend" points=3
check("attend")

# %% check="large_scores" points=2
check("large_scores")

# %% [markdown] tags=["hints"]
# 1. What is $e^{-1000}$ in 32 bits, and what becomes of a row in which every number is that?
# 2. It is 0, and 0 / 0 is not a number. `torch.softmax` shifts each row before it takes powers of $e$. Does your code
#    take them itself?
# 3. Hand the scores to `torch.softmax` as they come from `score`. No `exp` of your own is needed, and no sum.

# %% check="gradient" points=2
check("gradient")

# %% [markdown] tags=["hints"]
# 1. On its way from the query to the output a small change passes through every step of your code. Which step stops it?
# 2. `.item()`, `.tolist()`, `.detach()`, `torch.no_grad()` and a new `torch.tensor(...)` made of old numbers all cut the
#    graph that autograd follows.
# 3. Keep whole tensors from `score` to the last product, and build no tensor by copying numbers into it one by one.

# %% [markdown]
# ## What only one of them can do
#
# A dot product can be as large as you like: stretch the query, and the scores draw apart until one key gets nearly all.
# An additive score can't: $\tanh$ stays within $\pm 1$.
#
# But let queries and keys be single numbers, and look for the key *in the middle*. The dot product of one query with a key
# is a straight line over the keys, and a line is highest at an end. An additive score need not be a line.
#
# Choose $W_q$, $W_k$ and $w$ so that the query $(1)$ scores the key $(0)$ higher than every key at $1$ or above and every
# key at $-1$ or below: higher by $0.1$ at least. How many hidden numbers you take is up to you.


# %% answer="middle"
def prefer_the_middle() -> tuple[Float[Tensor, "1 hidden"], Float[Tensor, "1 hidden"], Float[Tensor, "hidden"]]:
    """Return w_query, w_key and w with which the query (1) prefers the key (0)."""
    ### BEGIN SOLUTION
    # tanh(1 + k) falls on the left of 0 more than tanh(1 - k) rises there, and the other way round on the right.
    w_query, w_key = torch.tensor([[1.0, 1.0]]), torch.tensor([[1.0, -1.0]])
    return w_query, w_key, torch.ones(2)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Over the keys, $\tanh(q + k)$ is a step that rises. Which two steps, added up, make a hill?
# 2. One that rises on the left of the hill and one that falls on its right. With which sign must the key enter the second
#    one?
# 3. Two hidden numbers do. The query enters both with the same sign and moves the steps apart; the key enters one with
#    plus and one with minus; `w` adds them up.

# %% check="middle" points=2
check("middle")
