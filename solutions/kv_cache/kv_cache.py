# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: A cache of keys and values (optional)
#     chapter: generation
#     difficulty: medium
#     minutes: 40
#     forbidden: []
# ---

# %% [markdown]
# # A cache of keys and values
#
# A model that writes a text makes one word, reads all it has so far, and makes the next. The keys and values of the old words are
# the same each time, so they are kept and not computed again (Shazeer, *Fast transformer decoding*, 2019, reckons what it
# costs to read them). You write attention that reads a text in pieces, and sees in each piece what it would have seen in the whole.
# The chapter *generation* keeps keys and values by hand, and measures what that saves.
#
# This exercise is optional: no other one needs it.
#
# Write your answer where `not answered yet` stands, run the cell, then run the check below it.
# Where you are stuck, `hint("whole")` opens the first of three hints for that check. Hints cost nothing.
# Inside an answer you may write as you like; the names and what they take and return are fixed.
# Only the answer cells are handed in, so keep your helpers in them.
# What your functions and modules are given may lie in memory in any order, as it does after `transpose`, and they leave it as it was.

# %%
import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from check import check, hint

# %% [markdown]
# ## The last words look back
#
# There are as many keys and values as words so far, and queries for the last of these words only: one or several. No word may
# look at one that comes after it. Otherwise it is attention as always: a dot product, divided by $\sqrt{d_k}$, softmax over the keys,
# the average of the values.
#
# * Example: with 2 queries and 5 keys, the first query is the fourth word and looks at 4 keys; the second looks at all 5.
# * As many queries as keys is the whole text at once.
# * Scores of any size are allowed, and a later word may match far better than those that are seen.
# * Inputs have 16, 32 or 64 bits, and so has the output.
#
# ```shapes
# query [2 new, 3 d_k] @ keys transposed [3 d_k, 5 all] = scores [2 new, 5 all]
# scores [2 new, 5 all] -mask, softmax-> weights [2 new, 5 all]
# weights [2 new, 5 all] @ values [5 all, 7 d_v] = output [2 new, 7 d_v]
# ```


# %% answer="attention"
def attend_last(
    query: Float[Tensor, "batch new d_k"], keys: Float[Tensor, "batch all d_k"], values: Float[Tensor, "batch all d_v"]
) -> Float[Tensor, "batch new d_v"]:
    """Return the outputs of the last words, each of which looks at itself and at what stands before it."""
    ### BEGIN SOLUTION
    new, total = query.shape[-2], keys.shape[-2]
    # The diagonal ends in the lower right corner: the last query is the last word.
    mask = torch.ones(new, total, dtype=torch.bool, device=query.device).tril(diagonal=total - new)
    scores = query @ keys.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1) @ values
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Three words come at once, their values are 3, 5 and 10, and all scores are equal. What should each of the three
#    get?
# 2. The first gets 3, the second 4, the third 6: each averages its own value and those before. It is the causal
#    attention that you know, with matches divided by the root of `d_k`, and with later words hidden before softmax,
#    below any score there can be.
# 3. With as many queries as keys the mask is the lower triangle, and its diagonal is True. Put minus infinity
#    everywhere else, since it exists in 16 bits too, and make new tensors where you scale or hide: what you were handed
#    is still needed.

# %% check="whole" points=1
check("whole")

# %% check="one" points=1
check("one")

# %% [markdown] tags=["hints"]
# 1. There is one query, and there are five keys. Which word of the text is it, and how many keys may it look at?
# 2. It is the fifth, and it sees all five, itself included. So the mask is one row in which nothing is hidden.
# 3. If your row has a single True, its diagonal begins on the left, as if this were the first word. `tril` takes a
#    `diagonal` by which it can be moved. The scale is the same as for a whole text.

# %% check="piece" points=2
check("piece")

# %% [markdown] tags=["hints"]
# 1. Draw the mask for 2 queries and 5 keys, with a row for each query. Which of the ten cells are False?
# 2. It is the lower part of the causal mask for 5 words, so its diagonal ends in the lower right corner. Without a
#    shift, `tril` begins in the upper left one.
# 3. `tril` takes a `diagonal`: shift it to the right by the number of words that are old, which is how many more keys
#    than queries there are. Hide all else with minus infinity before softmax, and make the mask on the device of the
#    query.

# %% [markdown]
# ## A module that remembers
#
# `CachedAttention(d_model, d_k)` is one head of causal self-attention with three matrices and no bias. `forward(x)` gets the words
# that are new since the last call, as many as there are, and returns their outputs. Fed word by word, in pieces or at once, a text
# gives the same outputs.
#
# * It keeps keys and values, not words: nothing that was computed is computed again. Each module keeps its own.
# * `forget(attention)` makes it ready for another text, which may be of another batch size.
# * Nothing in the cache is trained, and a piece does not train the pieces before it: no gradient goes through what is kept.
#   It does go through what is new, and back to `x`.
# * A module that `module.double()` has turned to 64 bits takes words of 64 bits, and gives as many back.
# * A module that is moved to another device, as by `module.to("cuda")`, reads words that lie there, and so does your function: what they
#   make or keep lies where their inputs do. The check `device` needs no GPU.
#
# `set_weights` tells the checks where your module keeps its matrices. As it stands it fits three layers with the names that it
# uses; if you keep them in another way, change it along.


# %% answer="module"
class CachedAttention(nn.Module):
    """A head of causal self-attention that reads a text in pieces."""

    def __init__(self, d_model: int, d_k: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.to_query, self.to_key, self.to_value = (nn.Linear(d_model, d_k, bias=False) for _ in range(3))
        self.kept: tuple[Tensor, Tensor] | None = None
        ### END SOLUTION

    def forward(self, x: Float[Tensor, "batch new d_model"]) -> Float[Tensor, "batch new d_k"]:
        """Return the outputs of the new words, which see all words since the last `forget`."""
        ### BEGIN SOLUTION
        keys, values = self.to_key(x), self.to_value(x)
        if self.kept is not None:
            keys, values = (torch.cat([old, new], dim=-2) for old, new in zip(self.kept, (keys, values)))
        self.kept = keys.detach(), values.detach()
        return attend_last(self.to_query(x), keys, values)
        ### END SOLUTION


def forget(attention: CachedAttention) -> None:
    """Empty the cache."""
    ### BEGIN SOLUTION
    attention.kept = None
    ### END SOLUTION


def set_weights(
    attention: CachedAttention,
    w_query: Float[Tensor, "d_model d_k"],
    w_key: Float[Tensor, "d_model d_k"],
    w_value: Float[Tensor, "d_model d_k"],
) -> None:
    """Write the three matrices (used as `x @ w`) to where `attention` keeps its own."""
    with torch.no_grad():
        attention.to_query.weight.copy_(w_query.T)
        attention.to_key.weight.copy_(w_key.T)
        attention.to_value.weight.copy_(w_value.T)


# %% [markdown] tags=["hints"]
# 1. The cache is empty and a single word comes. What does it look at, and what is its output, then?
# 2. It looks at itself with a weight of 1, so its output is its own value, `x @ w_value`. There must be nothing else to
#    look at, not even a key of zeros.
# 3. In `__init__`, make three layers without a bias, under the names that `set_weights` writes to, and a cache that
#    says that there is nothing yet. `forward` asks for old words first, and goes straight to `attend_last` if there are
#    none.

# %% check="first" points=1
check("first")

# %% check="pieces" points=2
check("pieces")

# %% [markdown] tags=["hints"]
# 1. What does a new word need of the words before it, and where is that between two calls of `forward`?
# 2. Project the new words only. Put their keys and values behind those that were kept, keep the longer ones for the
#    next call, and let the new queries attend to all of them.
# 3. Keep the pair of keys and values on `self`; before the first call there is none. `torch.cat` joins the old and the
#    new along the axis of the words, the last but one. Your `attend_last` has the mask already and returns as many
#    outputs as there are queries.

# %% check="forget" points=1
check("forget")

# %% [markdown] tags=["hints"]
# 1. Which attribute does `forward` read its old keys from, and what does a module that was just made have there?
# 2. An emptied cache has no words in it. Zeros are words still: a key of zeros has the score 0, and that is not the
#    weight 0.
# 3. Give the attribute that `forward` reads the value that it has in `__init__`. Leave the matrices alone: what was
#    learned is not forgotten.

# %% check="trains" points=1
check("trains")

# %% [markdown] tags=["hints"]
# 1. Through which keys may the gradient of the second piece run: those of its own words, those of the first piece, or
#    both?
# 2. What is kept for later needs no history, and what this call attends to needs the history of its own words. A cache
#    isn't a parameter either.
# 3. Call `detach` on what goes into the cache, and hand keys and values to attention as they are, before that. The old
#    part of them has no history, since it comes from the cache.

# %% check="device" points=1
check("device")

# %% [markdown] tags=["hints"]
# 1. The module and its words are on a GPU. Which tensors take part in your code that are neither words nor matrices?
# 2. A mask or an empty cache that `torch.ones` or `torch.empty` makes lies on the CPU, unless told otherwise. What is
#    kept of words lies where these do.
# 3. Make each tensor with the `device=` of an input, or out of one (`new_ones`, `new_empty`). An empty cache may be
#    None: then nothing has to lie anywhere.

# %% [markdown]
# ## What it costs, and what it saves
#
# `cache_bytes` returns how many bytes the keys and values of `tokens` words take, in every layer, for every text of the batch. There are
# `num_kv_heads` heads of keys and as many of values, each `d_head` wide. A number takes `number_bytes` bytes.
#
# `decoding_work` counts the multiply-adds in which one head makes `n` words, one at a time, with every matrix `d` by `d`.
# With the cache each step projects one word to its query, key and value, and looks at all words so far, itself included: a dot
# product with each key, and each value times its weight. Without, each step does all that for every word so far, as if the text were
# new; scores that a mask hides afterwards are counted, since they are made.
#
# * Example: 7 words, 2 layers, 3 heads of width 5 take 1680 bytes for one text, with 4 bytes a number.
# * Example: 2 words of width 3 take 72 multiply-adds with the cache, and 111 without.


# %% answer="cost"
def cache_bytes(tokens: int, num_layers: int, num_kv_heads: int, d_head: int, batch: int = 1, number_bytes: int = 4) -> int:
    """Return the memory of all keys and values."""
    ### BEGIN SOLUTION
    kept = 2  # a key and a value
    return kept * batch * tokens * num_layers * num_kv_heads * d_head * number_bytes
    ### END SOLUTION


def decoding_work(n: int, d: int, cached: bool) -> int:
    """Return the multiply-adds of making n words, one at a time."""
    ### BEGIN SOLUTION
    work = 0
    for words in range(1, n + 1):
        new = 1 if cached else words
        work += 3 * new * d**2 + 2 * new * words * d
    return work
    ### END SOLUTION


# %% check="memory" points=1
check("memory")

# %% [markdown] tags=["hints"]
# 1. Which tensors does the next step read again, and how many numbers are they for one word, in one layer and one head?
# 2. A key and a value, each `d_head` wide, for every word of every text, in every layer and every head of keys. Queries
#    and scores are used once and thrown away.
# 3. All arguments are factors, and one more factor stands in no signature. In the first example 7, 2, 3, 5 and 4
#    multiply to 840, and 1680 is asked for.

# %% check="work" points=2
check("work")

# %% [markdown] tags=["hints"]
# 1. In step 5, how many words are projected, how many queries are there, and how many keys does each of them meet, with
#    the cache and without?
# 2. To project a word takes $3 d^2$ multiply-adds. A query that meets $t$ words takes $t d$ for its scores and as many
#    for the values. With the cache one word is new in step $t$; without it all $t$ are.
# 3. Add up the steps from 1 to `n`. In step $t$ the price without the cache is $t$ times the price with it. For two
#    words of width 3 the steps are 33 and 39 with the cache, 33 and 78 without.
