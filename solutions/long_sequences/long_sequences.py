# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: Long sequences
#     chapter: 08_complexity
#     difficulty: hard
#     minutes: 75
#     forbidden: [attention]
# ---

# %% [markdown]
# # Long sequences
#
# Attention makes a table of all queries by all keys. You write it three times without the table: once with the same result,
# once looking at less, once with another similarity. The chapter *complexity* says what the table costs; here the checks measure
# what your functions take.
#
# Write your answer where `not answered yet` stands, run the cell, then run the check below it.
# Inside an answer you may write as you like; the names and what they take and return are fixed.
# Only the answer cells are handed in, so keep your helpers in them.
#
# You may use softmax and log-sum-exp. Attention itself may not be taken ready-made.

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
# * `mask` is True where a query may look; None means everywhere. Each of its axes may have length 1, or be missing at the front,
#   and then holds for all. A query that may look at nothing gets zeros.
# * Scores of any size are allowed, also very negative ones.
# * The output has the dtype of the inputs. With inputs of 16 bits, sums are kept in 32 bits at least: in bfloat16, 256 and 1 are 256.
# * Query, key and value get their gradient, and it is a number everywhere.
# * At any moment there are scores for `chunk` keys, or a few times as many, and never for all. So a thousand chunks take hardly more
#   memory than one. A mask of one row for all queries stays one row.
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


# %% check="exact" points=2
check("exact")

# %% check="chunk_sizes" points=1
check("chunk_sizes")

# %% check="scale" points=1
check("scale")

# %% check="stable" points=2
check("stable")

# %% check="mask" points=2
check("mask")

# %% check="blind_row" points=1
check("blind_row")

# %% check="batch" points=1
check("batch")

# %% check="dtype" points=1
check("dtype")

# %% check="half" points=1
check("half")

# %% check="gradient" points=1
check("gradient")

# %% [markdown]
# The next check measures the memory that is held at the worst moment, for a few keys and then for many times as many.

# %% check="memory" points=3
check("memory")

# %% [markdown]
# ## Looking nearby
#
# In `local_attention` a word looks at itself, at the `window` words before it and at the `window` words after it, as far as there
# are any. If `causal`, it looks at none after it. All the others get no weight at all.
#
# * `window` is 0 or more, and may be larger than the text. With a window of 0 a word finds itself.
# * The scores are divided by the square root of `d_k`.
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


# %% check="window" points=2
check("window")

# %% check="edges" points=1
check("edges")

# %% check="causal" points=1
check("causal")

# %% [markdown]
# The next check measures what 8 times as many words take: how much more memory, how many times the seconds of computing?

# %% check="local_cost" points=2
check("local_cost")

# %% [markdown]
# ## Another similarity
#
# If the similarity of a query and a key is a dot product of two *features*, $\phi(q) \cdot \phi(k)$, without $\exp$ around it,
# then the sum over the keys can be made before any query is there (Katharopoulos et al. 2020):
#
# $$
# \frac{\sum_j \left( \phi(q) \cdot \phi(k_j) \right) v_j}{\sum_j \phi(q) \cdot \phi(k_j)}
# = \frac{\phi(q)^\top \sum_j \phi(k_j) v_j^\top}{\phi(q)^\top \sum_j \phi(k_j)}
# $$
#
# `feature_map` is $\phi$, for each number alone: $x + 1$ where $x$ is positive, $e^x$ elsewhere. Its gradient is a number everywhere.
#
# `linear_attention` returns the quotient for each query; there is no scale. If `causal`, there are as many queries as keys, and the
# sums for query $i$ run from the first key to key $i$. Work and memory grow in step with the number of words, with `causal` too.
#
# * Example: the features of $(0, 1)$ are $(1, 2)$.


# %% answer="linear"
def feature_map(x: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """Return the feature of each number; it is positive."""
    ### BEGIN SOLUTION
    return F.elu(x) + 1
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


# %% check="features" points=1
check("features")

# %% check="linear" points=2
check("linear")

# %% check="linear_causal" points=2
check("linear_causal")

# %% check="linear_cost" points=2
check("linear_cost")
