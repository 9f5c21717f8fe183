# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: Cross-attention
#     chapter: 04_softmax
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

from check import check

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
# * A word of `x` that may look at nothing gets an output of zeros, and sends back a gradient that is a number.
#
# Example: 3 words of width 7 read 5 words of width 11 with $d_k = 2$ and $d_v = 13$. There are $3 \times 5$ scores,
# and the output is $3 \times 13$.
#
# `set_weights` tells the checks where your module keeps its matrices. It fits the `__init__` below;
# if you keep them in another way, change it along.


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


# %% check="who_asks" points=3
check("who_asks")

# %% check="scale" points=1
check("scale")

# %% check="widths" points=1
check("widths")

# %% check="batch" points=1
check("batch")

# %% check="mask" points=2
check("mask")

# %% check="blind_row" points=2
check("blind_row")

# %% check="trains" points=1
check("trains")

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
