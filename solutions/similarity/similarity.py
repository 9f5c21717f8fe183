# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: Compare, normalise, average
#     chapter: 01_self_attention
#     forbidden: [attention]
# ---

# %% [markdown]
# # Compare, normalise, average
#
# Every attention does three things: it compares a query with each key, turns the scores into shares of one, and averages
# the values by these shares. You write two ways to compare, the average, and then attention that works with any way to
# compare. The chapter *self-attention* has the ideas. It takes about twenty minutes.
#
# Write your answer where `not answered yet` stands, run the cell, then run the check below it.
# Inside an answer you may write as you like; the names and what they take and return are fixed.
# Only the answer cells are handed in, so keep your helpers in them.
#
# A signature tells the shapes: `*batch` stands for any axes before the last two, also none.
# `torch.softmax` is yours to use here. Attention is not to be taken ready-made.

# %%
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from check import check

# %% [markdown]
# ## Compare by dot product
#
# The score of a query and a key is their dot product: multiply number by number, and add. The scores of all pairs make a
# table, with a row for each query and a column for each key.
#
# * Example: the query $(1, 2)$ scores the keys $(3, 0)$ and $(0, -1)$ with $3$ and $-2$.
# * A query twice as long scores twice as high. Nothing is divided out here.


# %% answer="dot"
def dot_product_scores(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*batch keys d_k"],
) -> Float[Tensor, "*batch queries keys"]:
    """Return the dot product of every query with every key."""
    ### BEGIN SOLUTION
    return query @ key.transpose(-2, -1)
    ### END SOLUTION


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


# %% check="additive" points=3
check("additive")

# %% check="widths" points=2
check("widths")

# %% check="batch" points=2
check("batch")

# %% [markdown]
# ## Average
#
# Each row of `matches` says how well one query matches each key. Matches are not negative, and one at least in each row is
# above zero, but a row need not add up to 1. Turn each row into shares of one, then average the values by them.
#
# * Example: matches of $1$, $2$ and $3$ average the values $0$, $6$ and $12$ to $8$.
# * A row that adds up to 1 already is averaged as it stands.


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


# %% check="attend" points=3
check("attend")

# %% check="large_scores" points=2
check("large_scores")

# %% check="gradient" points=2
check("gradient")

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


# %% check="middle" points=2
check("middle")
