# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: Long sequences
#     chapter: blocks
#     difficulty: hard
#     minutes: 75
#     forbidden: [attention]
# ---

# %% [markdown]
# # Long sequences
#
# Attention makes a table of all queries by all keys. You write it three times without the table: once with the same result,
# once looking at less, once with another similarity. The chapter *complexity* says what the table costs, *attention in blocks*, *sparse attention* and
# *low rank and kernels* work out the three ways; here the checks measure what your functions take.
#
# Write your answer where `not answered yet` stands, run the cell, then run the check below it.
# Where you are stuck, `hint("exact")` opens the first of three hints for that check. Hints cost nothing.
# Inside an answer you may write as you like; the names and what they take and return are fixed.
# Only the answer cells are handed in, so keep your helpers in them.
#
# You may use softmax and log-sum-exp. Attention itself may not be taken ready-made.
#
# What your functions are given may lie in memory in any order, as it does after `transpose`, and they leave it as it was.
# It may lie on another device than the CPU, too, and what they make lies there then. The check `device`, the last one, needs no GPU.

# %%
import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from check import check, hint

# %% [markdown]
# ## The same, in pieces
#
# `chunked_attention` returns what attention returns, exactly, but it looks at no more than `chunk` keys at a time. The trouble is
# softmax: its maximum and its sum run over all keys, and the last ones have not been seen when the first are weighed.
# What was found so far has to be put right as each chunk comes (Milakov and Gimelshein 2018; Rabe and Staats 2021; Dao et al. 2022).
#
# * `chunk` is 1 or more. It need not divide the number of keys, and may be larger.
# * The scores are divided by the square root of `d_k`; `d_v`, the width of the values, is free.
# * `mask` is True where a query may look; None means everywhere. An axis of length 1 holds for all, and so does
#   one that is missing at the front. A query that may look at nothing gets zeros.
# * Scores of any size are allowed, also very negative ones, and a hidden key may match far better than those that are seen.
# * The output has the dtype of the inputs. With inputs of 16 bits, sums are kept in 32 bits at least: in bfloat16, 256 + 1 is 256.
#   The chapter *fewer bits, less memory* measures what is lost otherwise.
# * Query, key and value get their gradient, and it is a number everywhere.
# * While no gradient is asked for, there are at any moment scores for `chunk` keys, or a few times as many, and never for all. So a
#   thousand chunks take hardly more memory than one. A mask of one row for all queries stays one row.
#
# Example: a query with the scores $0$, $\ln 2$, $\ln 3$ and $\ln 4$, and a chunk of 2. After the first chunk the weights are $1/3$
# and $2/3$; at the end the four weights are $1/10$, $2/10$, $3/10$ and $4/10$.


# %% answer="chunked"
def chunked_attention(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*batch keys d_k"],
    value: Float[Tensor, "*batch keys d_v"],
    chunk: int,
    mask: Bool[Tensor, "... #queries #keys"] | None = None,
) -> Float[Tensor, "*batch queries d_v"]:
    """Return the output of attention, made from `chunk` keys at a time."""
    ### BEGIN SOLUTION
    keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
    scaled = query.to(dtype) / math.sqrt(query.shape[-1])
    highest = scaled.new_full((*query.shape[:-1], 1), -math.inf)
    total, output = torch.zeros_like(highest), scaled.new_zeros(*query.shape[:-1], value.shape[-1])
    mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
    for start in range(0, keys, chunk):
        here = slice(start, start + chunk)
        scores = scaled @ key[..., here, :].to(dtype).transpose(-2, -1)
        if mask is not None:
            scores = scores.masked_fill(~mask[..., here], -math.inf)
        # Any number may be taken off a row of scores, so no gradient has to come through this one.
        higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
        # While nothing has been seen it is -inf, and -inf minus itself is no number.
        base = higher.masked_fill(higher == -math.inf, 0.0)
        parts, shrink = (scores - base).exp(), (highest - base).exp()
        total = total * shrink + parts.sum(dim=-1, keepdim=True)
        output = output * shrink + parts @ value[..., here, :].to(dtype)
        highest = higher
    return (output / total.masked_fill(total == 0, 1.0)).to(query.dtype)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. The first two of four keys have shared out all the weight, 1/3 and 2/3. What else must you know about them, so that
#    two more can join?
# 2. Keep three things for each query: the largest score so far, the sum of the powers of $e$, and the sum of the values
#    times these powers. Divide one sum by the other only once, after the last chunk.
# 3. Take the larger of the old maximum and that of the new chunk. Both old sums belong to the old maximum: multiply
#    each by $e$ to the power of old minus new. Then add what the chunk brings.

# %% check="exact" points=2
check("exact")

# %% check="chunk_sizes" points=1
check("chunk_sizes")

# %% [markdown] tags=["hints"]
# 1. There are seven keys and chunks of three. Where does each chunk begin, and how many keys are in the last one?
# 2. The chunks begin at 0 and then every `chunk` keys, as long as there are any. The last chunk may be short. Do not
#    fill it up: a key of zeros has the score 0, and so a weight.
# 3. `range` with three numbers gives the beginnings. A slice that reaches past the end takes what is there and is no
#    error.

# %% check="scale" points=1
check("scale")

# %% [markdown] tags=["hints"]
# 1. The match is 4, and `d_k` is 4. Which score should that be, and is it the same in the first chunk and in the third?
# 2. It is 2 in every chunk. A match is divided by the square root of the width of a key, exactly once, however many
#    chunks there are.
# 3. Either divide the queries before the loop begins, or the scores inside it. Queries that are divided inside the loop
#    become smaller with every round.

# %% check="stable" points=2
check("stable")

# %% [markdown] tags=["hints"]
# 1. All scores are near -1000. With which maximum do you begin, and is every score larger?
# 2. Begin with a maximum that is below any score. Each query has one of its own, and each chunk may raise it. If it is
#    taken off before `exp`, no power of $e$ is larger than 1.
# 3. Begin with $-\infty$, in a column with one place for each query. `torch.maximum` compares it with the `amax` of the
#    chunk along the last axis, with the axis kept.

# %% check="mask" points=2
check("mask")

# %% [markdown] tags=["hints"]
# 1. Which columns of the mask belong to the keys of a chunk, and what is the maximum if all of these are hidden?
# 2. Cut the mask as you cut the keys, and hide the scores before you look for their maximum. A mask with one column has
#    to be made as wide as the keys before it can be cut. While a query has seen nothing, its maximum is $-\infty$, and
#    $-\infty$ minus itself is not a number.
# 3. `expand` widens the last axis without a copy. `masked_fill` fills where it finds True, so turn the piece of the mask
#    over. Where the maximum is still $-\infty$, take off 0 in its place, both from the scores and in the factor for the
#    old sums.

# %% check="blind_row" points=1
check("blind_row")

# %% [markdown] tags=["hints"]
# 1. For a query that sees nothing, what is the sum of the powers of $e$, and what is divided by it?
# 2. Both sums are 0, and 0 / 0 is not a number. The row should be zeros, so divide it by something harmless. If you
#    hide with -1e9, the sum is not 0: hide with $-\infty$.
# 3. Put a 1 wherever the sum is 0 *before* you divide, by `masked_fill` or `torch.where`.

# %% check="batch" points=1
check("batch")

# %% [markdown] tags=["hints"]
# 1. The keys have the shape (2, 3, 7, 4). What does `len(key)` say, and how many keys are there?
# 2. It says 2, and there are 7 keys, on the last axis but one. Everything has to count from the end: where you slice,
#    where you sum, and how a mask lines up with the scores. That two axes are equally long means nothing.
# 3. In a slice, `...` stands for the axes in front, so they need not be folded. Maximum and sum have the shape of the
#    queries with a last axis of length 1. If you fold all the same, `reshape` takes what `view` refuses.

# %% check="dtype" points=1
check("dtype")

# %% [markdown] tags=["hints"]
# 1. Which tensors does your code make by itself, and how many bits has each?
# 2. `torch.zeros` and `torch.full` make 32 bits unless they are told otherwise, and `.float()` makes 32 bits out of 64.
#    Inputs of 64 bits keep all their digits from the first step to the last.
# 3. `zeros_like`, `new_zeros` and `new_full` take the dtype from a tensor that is there. In a mixture of 32 and 64 bits,
#    the digits are lost already.

# %% check="half" points=1
check("half")

# %% [markdown] tags=["hints"]
# 1. In bfloat16, what is 256 plus 1, and what becomes of a sum of 600 ones?
# 2. Compute scores and sums in 32 bits, or in 64 where the inputs have 64. Only the finished output goes back to the
#    dtype of the inputs.
# 3. `torch.promote_types` gives the dtype that holds two others: ask it about that of the query and 32 bits. Turn keys
#    and values into it chunk by chunk, for a copy of all of them takes memory.

# %% check="gradient" points=1
check("gradient")

# %% [markdown] tags=["hints"]
# 1. Which of your steps can autograd not follow, and which of your tensors do you write over?
# 2. `.detach()`, `.item()` and `torch.no_grad()` cut off what came before; only the maximum may be cut off, since it
#    drops out of the result. Writing into a tensor, as `*=` does, destroys what the way back needs. And a not-a-number
#    that is replaced later still spoils the gradient.
# 3. In each chunk make a *new* sum out of the old one and give it the old name. In a row that has seen nothing, repair
#    the maximum before the subtraction and the sum before the division.

# %% [markdown]
# The next check measures the memory that is held at the worst moment, for a few keys and then for many times as many.

# %% check="memory" points=2
check("memory")

# %% [markdown] tags=["hints"]
# 1. Which of your tensors has an axis for all queries and another for all keys, if only for a moment?
# 2. Cut first, compute then: of the keys, the values and the mask only the piece for this chunk takes part. What you
#    keep from chunk to chunk must not grow, so keep no list of results.
# 3. Multiply the queries by a slice of the keys, inside the loop. Turn over the piece of the mask, not the whole, and
#    leave an axis of length 1 as it is: `masked_fill` lets one row hold for all queries.

# %% [markdown]
# ## Looking nearby
#
# In `local_attention` a word looks at itself, at the `window` words before it and at the `window` words after it, as far as there
# are any. If `causal`, it looks at none after it. All the others get no weight at all.
#
# * `window` is 0 or more, and may be larger than the text. With a window of 0 a word gets its own value.
# * Among the words that it sees it is attention as always: the scores are divided by the square root of `d_k`, and the weights add
#   up to 1.
# * Scores may be hundreds of thousands below zero, and a word out of reach may match far better than those that are near.
# * Inputs have 16, 32 or 64 bits, and so has the output. Query, key and value get their gradient.
# * For a given window, work and memory grow in step with the number of words, not with its square.
#
# Example: in a text of five words with a window of 1, the first word looks at 2 words, the second at 3.


# %% answer="local"
def local_attention(
    query: Float[Tensor, "*batch words d_k"],
    key: Float[Tensor, "*batch words d_k"],
    value: Float[Tensor, "*batch words d_v"],
    window: int,
    causal: bool = False,
) -> Float[Tensor, "*batch words d_v"]:
    """Return the output of attention in which a word looks no further than `window` words."""
    ### BEGIN SOLUTION
    words, found = query.shape[-2], []
    block = max(window, 64)  # few large products are faster than many small ones
    for start in range(0, words, block):
        stop = min(start + block, words)
        first, last = max(start - window, 0), min(stop + window, words)
        distance = torch.arange(first, last, device=query.device) - torch.arange(start, stop, device=query.device)[:, None]
        seen = (distance >= -window) & (distance <= (0 if causal else window))
        scores = query[..., start:stop, :] @ key[..., first:last, :].transpose(-2, -1) / math.sqrt(query.shape[-1])
        found.append(scores.masked_fill(~seen, -math.inf).softmax(dim=-1) @ value[..., first:last, :])
    return torch.cat(found, dim=-2)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. If the window is 2, which places does the word at place 7 look at, and how many are they?
# 2. Five, from 5 to 9. The distance from the word to the key decides, to each side. What is too far away is hidden
#    before softmax, below any score, so that the weights that are left add up to 1. The scores are divided by the same
#    root as ever.
# 3. Two `torch.arange`, the places of the keys and those of the words, give all distances by one subtraction if the
#    second gets a new last axis. A distance is near enough from minus `window` up to `window`, both included.

# %% check="window" points=2
check("window")

# %% check="edges" points=1
check("edges")

# %% [markdown] tags=["hints"]
# 1. What does `not window` say if the window is 0, and what does a slice that begins at -3 take?
# 2. A window of 0 is a window too: a word sees the distance 0. Before the first word and after the last there is
#    nothing, neither zeros, which would get a weight, nor words from the other end.
# 3. Keep both ends of a slice of keys within the text: no less than 0, no more than the number of words. `max` and `min`
#    do that.

# %% check="causal" points=1
check("causal")

# %% [markdown] tags=["hints"]
# 1. With `causal` and a window of 2, which words does the first of five see, and which does the last one see?
# 2. The first sees itself, and the last sees itself and the two before it. A word that comes later is out of reach,
#    however near it stands; on the other side nothing changes.
# 3. If a distance is the place of the key minus that of the word, keys that come later have the positive ones. Which is
#    then the largest distance that is near enough, with `causal` and without?

# %% [markdown]
# The next check measures what 8 times as many words take: how much more memory, how many times the seconds of computing?

# %% check="local_cost" points=2
check("local_cost")

# %% [markdown] tags=["hints"]
# 1. The words at places 64 to 127 ask, and the window is 16. Which keys can be near any of them?
# 2. Go through the words in blocks. For each block cut out the keys and values that lie within reach, and make scores
#    for these alone. The size of a block may depend on the window, but not on the number of words.
# 3. The keys of a block begin `window` before its first word and end `window` after its last, within the text. Count the
#    places from the beginning of the *text* to get the distances, and join the outputs along the axis of the words.

# %% [markdown]
# ## Another similarity
#
# If the similarity of a query and a key is a dot product of two *features*, $\phi(q) \cdot \phi(k)$, without $\exp$ around it,
# then the sum over the keys can be made before any query is there (Katharopoulos et al. 2020):
#
# $$
# \frac{\sum_j \left( \phi(q) \cdot \phi(k_j) \right) v_j}{\sum_j \phi(q) \cdot \phi(k_j)}
# = \frac{\phi(q) \sum_j \phi(k_j)^\top v_j}{\phi(q) \sum_j \phi(k_j)^\top}
# $$
#
# `feature_map` is $\phi$, for each number alone: $x + 1$ where $x$ is positive, $e^x$ elsewhere. Its gradient is a number everywhere.
#
# * Example: the features of $(0, 1)$ are $(1, 2)$.
# * A feature is positive, since it will be divided by. The numbers go down to $-40$, where it is $4.2 \cdot 10^{-18}$ and not 0.
#
# `linear_attention` returns the quotient for each query; there is no scale. If `causal`, there are as many queries as keys, and the
# sums for query $i$ run from the first key to key $i$. Work and memory grow in step with the number of words, with `causal` too.
#
# * The quotient is right however small all features are, also where all numbers are near $-40$: nothing is added to it, and it is
#   never 0 / 0.
# * Inputs have 32 or 64 bits, and so has the output. Query, key and value get their gradient.


# %% answer="linear"
def feature_map(x: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """Return the feature of each number; it is positive."""
    ### BEGIN SOLUTION
    # Not elu(x) + 1: that makes 0 of all below -17, since 32 bits have no number so near to -1.
    return torch.where(x > 0, x + 1, x.clamp(max=0).exp())
    ### END SOLUTION


def linear_attention(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*batch keys d_k"],
    value: Float[Tensor, "*batch keys d_v"],
    causal: bool = False,
) -> Float[Tensor, "*batch queries d_v"]:
    """Return, for each query, the values averaged by the dot products of features."""
    ### BEGIN SOLUTION
    query, key = feature_map(query), feature_map(key)
    if not causal:
        return query @ (key.transpose(-2, -1) @ value) / (query @ key.sum(dim=-2)[..., None])
    products = (key[..., :, None] * value[..., None, :]).cumsum(dim=-3)
    totals = key.cumsum(dim=-2)
    return torch.einsum("...qk,...qkv->...qv", query, products) / (query * totals).sum(dim=-1, keepdim=True)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. On the right side of the formula, which two sums need no query, and which shapes do they have?
# 2. Take the features of the queries and of the keys. The upper sum is a table of `d_k` by `d_v`, the lower one has
#    `d_k` numbers, and both are the same for every query. No small number is added below: features are positive.
# 3. For the upper sum swap the last two axes of the keys' features and multiply by the values; for the lower one add the
#    features along the axis of the keys. Multiply the queries by both, and keep an axis of length 1 at the end of what
#    you divide by.

# %% check="features" points=1
check("features")

# %% [markdown] tags=["hints"]
# 1. What are the features of 0, -1 and -20, and of which numbers do you take the power of $e$?
# 2. Only numbers up to 0 may go into `exp`. `torch.where` chooses the output, but the gradient passes both branches, and
#    0 times infinity is not a number.
# 3. Limit the numbers to at most 0 before `exp`, by `clamp`. ELU, which torch has, is $x$ where $x$ is positive and
#    $e^x - 1$ elsewhere; but far below zero the 1 that it takes off takes all the digits of $e^x$ along.

# %% check="linear" points=2
check("linear")

# %% check="linear_causal" points=2
check("linear_causal")

# %% [markdown] tags=["hints"]
# 1. Which keys are in the two sums of the first word, and what comes in addition for the second?
# 2. Each word has two sums of its own: those of the word before, and one key more. That is a running sum along the axis
#    of the words, above and below.
# 3. `cumsum` makes running sums. For the upper one, first multiply the features of each key by its own values, with new
#    axes, into a table of `d_k` by `d_v`; the words are then the third axis from the end. In `einsum`, `d_k` has the
#    same letter in queries and tables.

# %% check="linear_cost" points=2
check("linear_cost")

# %% [markdown] tags=["hints"]
# 1. Three matrices are multiplied, queries, keys and values. How large is the result in between if you begin with the
#    first two, and how large if you begin with the last two?
# 2. Queries by keys make a table that grows with the square of the number of words. Keys by values make a table of `d_k`
#    by `d_v`, however long the text. With `causal` too, no mask of words by words is needed.
# 3. Put the product of keys and values in brackets. With `causal`, keep one table of `d_k` by `d_v` for each word, a
#    running sum, in place of a row with a number for every key.

# %% check="device" points=1
check("device")

# %% [markdown] tags=["hints"]
# 1. Queries, keys and values are on a GPU. Which tensors do your three functions make for themselves?
# 2. What `torch.arange`, `torch.zeros` or `torch.full` makes lies on the CPU, unless told otherwise: places, sums that begin with 0, a
#    maximum that begins with $-\infty$.
# 3. Make each of them with `device=query.device`, or out of an input: `new_zeros`, `new_full` and `zeros_like` know where it lies, and which
#    dtype it has.
