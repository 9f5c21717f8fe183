# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: Cross-attention
#     chapter: softmax
#     difficulty: medium
#     minutes: 45
#     forbidden: [attention]
# ---

# %% [markdown]
# # Cross-attention
#
# In self-attention one sentence asks and answers. Here one sequence asks and another answers: a translation reads its
# source, a caption reads its picture. You write the module that does this, and then let two sequences read each other.
# The chapters *self-attention* and *softmax* have the ideas; *alignment* shows what such a module looks at in a trained translator.
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
# 2. Only the queries are made of `x`. Keys *and* values are made of `context`, each by a layer of its own: if the
#    context were zeros, the output would be zeros too. The next call may bring another context, so nothing of this one
#    is kept.
# 3. One of the three layers is called with `x`, the other two with `context`. Let `torch.softmax` share out along the
#    words of the context, and return the output alone, with a row even for a single word.

# %% check="who_asks" points=2
check("who_asks")

# %% check="scale" points=1
check("scale")

# %% [markdown] tags=["hints"]
# 1. Here `d_k` is 4, and a match of 8 should reach softmax as a score of 4. What becomes of it in your code?
# 2. The more numbers a dot product adds up, the further apart the matches lie. The square root of how many there are
#    brings them back to size, once, before softmax.
# 3. Queries and keys are `d_k` wide after their projection, however wide the words of `x` and of the context were.
#    Divide the scores by `math.sqrt` of that width, and leave the matrices themselves alone.

# %% check="widths" points=1
check("widths")

# %% [markdown] tags=["hints"]
# 1. A word of `x` has 2 numbers, and a word of the context has 7. How many rows must each of the three matrices have?
# 2. The matrix for the queries multiplies `x`, so it has 2. Those for keys and values multiply the context, so they
#    have 7. Queries and keys become equally wide by their projections, and not earlier.
# 3. Look at which layer is made with `d_query`, which ones with `d_context`, and what you call each of them with. Only
#    keys and values could share one packed matrix.

# %% check="batch" points=1
check("batch")

# %% [markdown] tags=["hints"]
# 1. Words may come without a batch, or with two axes in front. Which of your steps names an axis, and does it count
#    from the front or from the end?
# 2. Counted from the end, the same numbers are right in every case. Layers, `@` and softmax carry the axes in front
#    along, so there is nothing to unpack or to loop over.
# 3. Swap axes -2 and -1 of the keys, and let softmax run along the last axis. `bmm` wants exactly three axes, and
#    `view` wants a certain order in memory; `@` and `reshape` ask for neither.

# %% check="mask" points=2
check("mask")

# %% [markdown] tags=["hints"]
# 1. Five words of the context match a word of `x` equally well, and two of the five are filling. What share should each
#    of the other three have?
# 2. A third each. So the filling must be out of the way when softmax shares out, and no match, however bad, may lie
#    below the score of a hidden word.
# 3. Replace hidden scores with minus infinity. `masked_fill` spreads a mask over the axes that it lacks; turn yours
#    over by `~` for it, which leaves the caller's mask alone. Each call has its own mask.

# %% check="blind_row" points=2
check("blind_row")

# %% [markdown] tags=["hints"]
# 1. A word reads a context that is nothing but filling. What do its scores look like after masking, and what does
#    softmax make of them?
# 2. They are all $-\infty$, and softmax makes 0 / 0 of such a row. But what is hidden never weighs anything, so its
#    weights may be set to 0 after softmax as well, in every row.
# 3. Do that with the same mask as before, and before the weights meet the values. If you mend the output instead, the
#    gradient still finds the not-a-number.

# %% check="trains" points=1
check("trains")

# %% [markdown] tags=["hints"]
# 1. The module in the check has 5·2 + 5·2 + 5·3 = 35 numbers to learn. How many does yours list, and does a gradient
#    also come back to `x` and `context`?
# 2. A matrix is found if it is a parameter, or in a layer of the module. Gradients come back through the weights as
#    well as through the values, and they go on to whatever has made `x` and the context.
# 3. Keep the layers of `__init__`, without a bias. In `forward`, use `x`, `context` and weights as they are: no
#    `detach`, no `.data`, no `no_grad`, and no keys from an earlier call.

# %% check="device" points=1
check("device")

# %% [markdown] tags=["hints"]
# 1. Words, context and mask are on a GPU, and so are the matrices. What else takes part in your `forward`, and where
#    was it made?
# 2. A mask of ones, for calls that bring none, or a table of minus infinity lies on the CPU where nobody says
#    otherwise. And `module.to` moves parameters and buffers, but no tensor in a plain attribute.
# 3. Some of them you can do without: None may stay None, and `masked_fill` takes a plain `-math.inf`, which lies
#    nowhere. What you do need takes its `device=` from `x`; what you keep belongs in `self.register_buffer`.

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
# 1. One word meets two patches and gives them the shares 1/4 and 3/4. Along which axis of a table with words in rows do
#    the shares of this word lie?
# 2. Along its row, which has a column for each patch. What the word averages by them are the *patches*. This is so in a
#    square table too, where the other axis would fit just as well.
# 3. With words in rows and patches in columns, take `torch.softmax` along the last axis and multiply by the image. What
#    comes of that is the first of the two results.

# %% check="text_reads" points=2
check("text_reads")

# %% check="image_reads" points=2
check("image_reads")

# %% [markdown] tags=["hints"]
# 1. In the example each patch gives the only word a share of 1. Do the rows of shares by which *your* patches read add
#    up to 1?
# 2. A patch shares out a whole of its own among the words. Turning over the shares of the words doesn't give you that.
#    What is the same from either side is the match, so only scores may be turned over.
# 3. Swap the last two axes of the scores first, and then take softmax along the last axis, so that a row belongs to a
#    patch. Multiply that by the text, and return it second.

# %% check="both_scale" points=1
check("both_scale")

# %% [markdown] tags=["hints"]
# 1. The vectors are 4 wide, so a match of 8 becomes a score of 4. Is that so for the words, and for the patches as
#    well?
# 2. Nothing is projected here, so a dot product adds up `d_model` products, and the root of that is what to divide by.
#    A match is the same number for both sides, and both need it divided once.
# 3. Divide one table of scores and let both sides use it. If you divide the vectors instead, make new ones, because
#    `text /= ...` leaves the caller with smaller words.

# %% check="both_batch" points=1
check("both_batch")

# %% [markdown] tags=["hints"]
# 1. With a batch in front, the scores have the shape (batch, words, patches). What do `.T` and `transpose(0, 1)` do to
#    them?
# 2. They move the batch, which should stay where it is. You need a swap of the last two axes, counted from the end,
#    wherever you turn something over, and that holds for two axes in front as well as for none.
# 3. `transpose(-2, -1)` turns over the image for the product, and the scores for the patches. Should you fold axes,
#    `view` fails on what was transposed, and `reshape` does not.

# %% check="both_stable" points=1
check("both_stable")

# %% [markdown] tags=["hints"]
# 1. What is $e^{3000}$ in 32 bits, and what is infinity divided by infinity?
# 2. It is infinity, and the quotient is not a number. Softmax depends on differences only, so the largest score of a
#    row can be taken off all of them; then no power of $e$ is above 1.
# 3. `torch.softmax` does that for you, and both sides can use it. With an `exp` of your own, each side takes off its
#    own maximum: that of a word's row, and that of a patch's.

# %% check="both_dtype" points=1
check("both_dtype")

# %% [markdown] tags=["hints"]
# 1. Text and image have 64 bits. How many have your two results, and how many had the scores and the weights on the
#    way?
# 2. All of them should have 64. A single step with 32 bits takes half of the digits, and turning the result into 64
#    again does not bring them back.
# 3. Search for `.float()`, for a `dtype=` that you wrote down, and for new tensors made without one. Products,
#    `math.sqrt` and `torch.softmax` leave the dtype as it is.

# %% check="both_gradient" points=1
check("both_gradient")

# %% [markdown] tags=["hints"]
# 1. If only the first result is trained on, which of text and image should get a gradient, and which of them gets one
#    from yours?
# 2. Both should: each result is made of the side that asks *and* of the side that is read. Whoever is detached can
#    still be read, but never learns to answer.
# 3. Let `text` and `image` themselves stand in the scores and in both averages, and see that neither `detach` nor
#    `no_grad` comes between.
