# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: Cross-attention
#     chapter: 04_softmax
#     difficulty: medium
#     minutes: 45
#     forbidden: [attention]
# ---

# %% [markdown]
# # Cross-attention
#
# In self-attention one sentence asks and answers. Here one sequence asks and another answers: a translation reads its
# source, a caption reads its picture. You write the module that does this, and then let two sequences read each other.
# The chapters *self-attention* and *softmax* have the ideas.
#
# Write your answer where `not answered yet` stands, run the cell, then run the check below it.
# Where you are stuck, `hint("who_asks")` opens the first of three hints for that check. Hints cost nothing.
# Inside an answer you may write as you like; the names and what they take and return are fixed.
# Only the answer cells are handed in, so keep your helpers in them.
#
# `torch.softmax` is yours to use here. Attention is not to be taken ready-made, and no other notebook is at hand:
# what you need of your single head you write again.

# %%
import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from check import check, hint

# %% [markdown]
# ## One sequence reads another
#
# The words of `x` ask, the words of `context` answer. So the queries are made of `x`, and keys *and* values of `context`,
# by three matrices that are trained, without a bias.
#
# * The output has a row for each word of `x`, `d_v` wide. The two sequences may differ in length and in width.
# * Scores are divided by the square root of `d_k`, as in a single head, and may be of any size.
# * `*batch` stands for any axes before the last two, also none.
# * `mask` is True where a word of `x` may look at a word of `context`; None means everywhere. It may have fewer axes than
#   the scores, and an axis of length 1 (`#queries` in the signature) holds for all.
#   A hidden word has no part in anything, however well it matches, and however badly those match that may be seen.
# * A word of `x` that may look at nothing gets an output of zeros, and sends back a gradient that is a number.
# * Not only the matrices learn: `x` and `context` get a gradient too, for whatever made them.
# * A module whose matrices have 64 bits returns 64 for words of 64.
# * A module that is moved to another device, as by `module.to("cuda")`, reads words that lie there: what it makes or keeps lies where
#   they do. The check `device` needs no GPU.
# * Here and below, inputs stay as they were, and may lie in memory in any order, as after a transpose.
#   Nothing depends on which sizes happen to be equal, nor on the call before.
#
# Example: 3 words of width 7 read 5 words of width 11 with $d_k = 2$ and $d_v = 13$. There are $3 \times 5$ scores,
# and the output is $3 \times 13$.
#
# `set_weights` tells the checks where your module keeps its matrices. It fits the `__init__` below;
# if you keep them in another way, change it along.
#
# ```shapes
# x [3 queries, 7 d_query] -w_query-> query [3 queries, 2 d_k]
# context [5 keys, 11 d_context] -w_key-> key [5 keys, 2 d_k]
# context [5 keys, 11 d_context] -w_value-> value [5 keys, 13 d_v]
# query [3 queries, 2 d_k] , key [5 keys, 2 d_k] -> weights [3 queries, 5 keys]
# weights [3 queries, 5 keys] @ value [5 keys, 13 d_v] = output [3 queries, 13 d_v]
# ```


# %% answer="attention"
class CrossAttention(nn.Module):
    """One head through which a sequence reads another."""

    def __init__(self, d_query: int, d_context: int, d_k: int, d_v: int):
        super().__init__()
        self.to_query = nn.Linear(d_query, d_k, bias=False)
        self.to_key = nn.Linear(d_context, d_k, bias=False)
        self.to_value = nn.Linear(d_context, d_v, bias=False)

    def forward(
        self,
        x: Float[Tensor, "*batch queries d_query"],
        context: Float[Tensor, "*batch keys d_context"],
        mask: Bool[Tensor, "... #queries #keys"] | None = None,
    ) -> Float[Tensor, "*batch queries d_v"]:
        """Return what each word of `x` reads from the words of `context`."""
        ### BEGIN SOLUTION
        query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is None:
            return torch.softmax(scores, dim=-1) @ value
        weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
        # Softmax of nothing but -inf is not a number; what may not be seen weighs nothing in any case.
        return weights.masked_fill(~mask, 0.0) @ value
        ### END SOLUTION


def set_weights(
    attention: CrossAttention,
    w_query: Float[Tensor, "d_query d_k"],
    w_key: Float[Tensor, "d_context d_k"],
    w_value: Float[Tensor, "d_context d_v"],
) -> None:
    """Write the three matrices (used as `x @ w`) to where `attention` keeps its own."""
    with torch.no_grad():
        attention.to_query.weight.copy_(w_query.T)
        attention.to_key.weight.copy_(w_key.T)
        attention.to_value.weight.copy_(w_value.T)


# %% [markdown] tags=["hints"]
# 1. The words of `x` ask. Which of query, key and value are made of `x`, then, and how many rows has the output?
# 2. From there on it is a single head: scores of all pairs, divided by the root of the width over which a dot product
#    adds up; softmax along the keys; the average of the values.
# 3. One of the three layers is called with `x`, the other two with `context`. For the product, swap the last two axes of
#    the keys, counted from the end.

# %% check="who_asks" points=2
check("who_asks")

# %% check="scale" points=1
check("scale")

# %% check="widths" points=1
check("widths")

# %% check="batch" points=1
check("batch")

# %% check="mask" points=2
check("mask")

# %% [markdown] tags=["hints"]
# 1. A hidden key must weigh nothing, and the other weights must still add up to 1. Is there still time for that after
#    softmax?
# 2. No: hide the scores, before softmax. Which score becomes a weight of exactly 0?
# 3. Fill the scores with minus infinity by `masked_fill`. It fills where it finds True, and your mask is True where a
#    query *may* look, so turn it over first.

# %% check="blind_row" points=2
check("blind_row")

# %% [markdown] tags=["hints"]
# 1. What does `torch.softmax` make of a row of nothing but $-\infty$?
# 2. Not-a-number. But a hidden word weighs nothing in *any* row. Can you make sure of that once more, after softmax?
# 3. Fill the weights with 0 wherever the mask hides, by the same turned mask that hid the scores. In the other rows this
#    changes nothing.

# %% check="trains" points=1
check("trains")

# %% check="device" points=1
check("device")

# %% [markdown] tags=["hints"]
# 1. The words are on a GPU. Which tensors take part in your `forward` that are neither words, nor a mask, nor matrices?
# 2. What `torch.ones` or `torch.tensor` makes lies on the CPU, unless told otherwise; and a module that is moved takes its parameters
#    and buffers along, not a tensor that it merely keeps in an attribute. Plain numbers work with tensors on any device.
# 3. Make each tensor with the `device=` of an input, or out of one (`new_zeros`, `ones_like`), and keep it with
#    `self.register_buffer`.

# %% [markdown]
# ## Both ways at once
#
# A text and an image describe the same thing: the text as words, the image as patches, all vectors of width `d_model`.
# The text reads the image, and the image reads the text. This time nothing is projected: a word is its own query,
# key and value, and so is a patch.
#
# * Return two things: what the text has read from the image, a row for each word;
#   then what the image has read from the text, a row for each patch.
# * Scores are divided by the square root of `d_model`.
# * Nothing was trained here, so nothing keeps the vectors small: scores in the thousands must do no harm.
# * But what made the vectors may be trained: a gradient goes back to text and image, from either result.
# * The results have the dtype of the vectors.
#
# Example, with vectors of width 1: one word $(1)$ and two patches $(0)$ and $(\ln 3)$. The word gives the patches the shares
# $1/4$ and $3/4$ and reads $\frac{3}{4} \ln 3$. Each patch has only the one word to look at, and reads $1$.
#
# ```shapes
# text [1 word, 1 d_model] {1} , image [2 patches, 1 d_model] {0 / 1.1} -> weights [1 word, 2 patches] {0.25 0.75}
# weights [1 word, 2 patches] {0.25 0.75} @ image [2 patches, 1 d_model] {0 / 1.1} = text has read [1 word, 1 d_model] {0.82}
# image [2 patches, 1 d_model] {0 / 1.1} , text [1 word, 1 d_model] {1} -> weights [2 patches, 1 word] {1 / 1}
# weights [2 patches, 1 word] {1 / 1} @ text [1 word, 1 d_model] {1} = image has read [2 patches, 1 d_model] {1 / 1}
# ```


# %% answer="both_ways"
def look_both_ways(
    text: Float[Tensor, "*batch words d_model"],
    image: Float[Tensor, "*batch patches d_model"],
) -> tuple[Float[Tensor, "*batch words d_model"], Float[Tensor, "*batch patches d_model"]]:
    """Return what the text reads from the image, and what the image reads from the text."""
    ### BEGIN SOLUTION
    scores = text @ image.transpose(-2, -1) / math.sqrt(text.shape[-1])
    # A match is the same from either side, but each side shares out a whole of its own.
    text_seen = torch.softmax(scores, dim=-1) @ image
    image_seen = torch.softmax(scores.transpose(-2, -1), dim=-1) @ text
    return text_seen, image_seen
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. One table of matches serves both. Along which of its axes does a word share out, and along which does a patch?
# 2. Softmax along the patches gives what a word reads, softmax along the words what a patch reads. The second is *not*
#    the first one turned over, since each side shares out a whole of its own.
# 3. Compute the scores once. Take `torch.softmax` along the last axis twice, of the scores and of the scores with their
#    last two axes swapped. Which of the two averages the patches, and which the words?

# %% check="text_reads" points=2
check("text_reads")

# %% check="image_reads" points=2
check("image_reads")

# %% check="both_scale" points=1
check("both_scale")

# %% check="both_batch" points=1
check("both_batch")

# %% check="both_stable" points=1
check("both_stable")

# %% check="both_dtype" points=1
check("both_dtype")

# %% check="both_gradient" points=1
check("both_gradient")
