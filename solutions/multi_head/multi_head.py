# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: Multi-head attention
#     chapter: 05_multi_head
#     difficulty: hard
#     minutes: 75
#     forbidden: [attention]
# ---

# %% [markdown]
# # Multi-head attention
#
# One head averages the words by one set of weights, so it takes one look at a time. **Multi-head attention** takes several:
# the vectors are cut into pieces of equal width, each piece attends by itself, and the results are laid side by side again.
# You write the cutting, the attention of all heads at once, and the module around it.
# The chapter *multi-head attention* has the idea.
#
# Write your answer where `not answered yet` stands, run the cell, then run the check below it.
# Where you are stuck, `hint("split")` opens the first of three hints for that check. Hints cost nothing.
# Inside an answer you may write as you like; the names and what they take and return are fixed.
# Only the answer cells are handed in, so keep your helpers in them.
#
# Attention is yours to write here and may not be taken ready-made. Softmax may: `torch.softmax`.

# %%
import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from check import check, hint

# %% [markdown]
# ## From one width to several heads, and back
#
# `split_heads` deals the numbers of each word out to the heads: the first `d_head` numbers to head 0, the next to head 1,
# and so on, where `d_head` is `d_model / num_heads`. The heads get an axis of their own, before the tokens.
# `merge_heads` puts everything back.
#
# * Example: with two heads, the word $(1, 2, 3, 4)$ becomes $(1, 2)$ in head 0 and $(3, 4)$ in head 1.
# * A width that the heads don't divide is a `ValueError`.
# * Here and below, what comes in may lie in memory in any order, as after a transpose, and stays as it was.
#
# ```shapes
# x [2 tokens, 4 d_model] {1 2 3 4 / 5 6 7 8} -split-> heads [2 heads, 2 tokens, 2 d_head] {1 2 / 5 6 / 3 4 / 7 8}
# ```


# %% answer="heads"
def split_heads(
    x: Float[Tensor, "batch tokens d_model"], num_heads: int
) -> Float[Tensor, "batch {num_heads} tokens d_head"]:
    """Return for each head its share of every word; raises ValueError if the shares can't be equal."""
    ### BEGIN SOLUTION
    batch, tokens, d_model = x.shape
    if d_model % num_heads:
        raise ValueError(f"{num_heads} heads can't have equal shares of width {d_model}")
    return x.reshape(batch, tokens, num_heads, d_model // num_heads).transpose(1, 2)
    ### END SOLUTION


def merge_heads(x: Float[Tensor, "batch heads tokens d_head"]) -> Float[Tensor, "batch tokens d_model"]:
    """Return the words with the shares of all heads side by side."""
    ### BEGIN SOLUTION
    return x.transpose(1, 2).flatten(start_dim=2)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. A word of 6 numbers is dealt to 3 heads. Which axis becomes two, and which of these two counts the heads?
# 2. Cut the last axis into heads and `d_head` first; then the axis of the heads and that of the tokens change places. A
#    reshape straight to the final shape would cut across words.
# 3. `reshape` or `unflatten` cuts, `transpose(1, 2)` swaps. The way back is the same in reverse: swap first, then make
#    one axis of the last two.

# %% check="split" points=1
check("split")

# %% check="merge" points=1
check("merge")

# %% check="uneven" points=1
check("uneven")

# %% [markdown] tags=["hints"]
# 1. What is left over when a width of 4 is dealt to 3 heads?
# 2. The sign `%` gives what a division leaves over, and it can be asked before anything is cut. Which error says that a
#    value is not one that can be used?
# 3. If the remainder is not 0, `raise` a `ValueError`, with a sentence that names both numbers.

# %% [markdown]
# ## All heads at once
#
# Queries, keys and values are projected (`query @ w_query`, `key @ w_key`, `value @ w_value`), split into heads, and each head
# attends on its own: a dot product of each query with each key, scaled, softmax, the average of the values.
# The heads are merged, and `w_output` lets them mix: `merged @ w_output`.
#
# * A dot product in one head has `d_head` terms. Example: with `d_model` 12 and 3 heads, a match of $4$ becomes the score $2$.
# * There may be more keys than queries, or fewer; there are as many values as keys.
# * `mask` is True where a query may look at a key. It has the shape (queries, keys), or (batch, queries, keys) for a mask for
#   each sentence. Either holds for every head. None means everywhere.
#   A hidden key has no part in anything, however well it matches, and however badly those match that may be seen.
# * A query that may look at nothing gets an output of zero, and training goes on: no gradient becomes NaN.
# * The output has the dtype of the inputs: 64 bits, 32, or the 16 of `float16`. Nothing depends on which sizes happen to be equal.
# * Work on whole tensors. A loop over heads is fast enough; a loop over tokens is not.
#
# ```shapes
# query [3 heads, 2 queries, 4 d_head] , key [3 heads, 5 keys, 4 d_head] -> weights [3 heads, 2 queries, 5 keys]
# weights [3 heads, 2 queries, 5 keys] @ value [3 heads, 5 keys, 4 d_head] = found [3 heads, 2 queries, 4 d_head]
# found [3 heads, 2 queries, 4 d_head] -merge-> merged [2 queries, 12 d_model]
# merged [2 queries, 12 d_model] @ w_output [12 d_model, 12 d_model] = output [2 queries, 12 d_model]
# ```


# %% answer="attention"
def multi_head_attention(
    query: Float[Tensor, "batch queries d_model"],
    key: Float[Tensor, "batch keys d_model"],
    value: Float[Tensor, "batch keys d_model"],
    w_query: Float[Tensor, "d_model d_model"],
    w_key: Float[Tensor, "d_model d_model"],
    w_value: Float[Tensor, "d_model d_model"],
    w_output: Float[Tensor, "d_model d_model"],
    num_heads: int,
    mask: Bool[Tensor, "queries keys"] | Bool[Tensor, "batch queries keys"] | None = None,
) -> Float[Tensor, "batch queries d_model"]:
    """Return, for each query, what all heads found together."""
    ### BEGIN SOLUTION
    query, key, value = query @ w_query, key @ w_key, value @ w_value
    query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
    # A dot product within a head has d_head terms, however wide the model is.
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is None:
        weights = torch.softmax(scores, dim=-1)
    else:
        hidden = ~mask.unsqueeze(-3)  # the new axis lets one mask hold for every head
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1)
        # Where everything is hidden the weights are 0 / 0; elsewhere a hidden key weighs 0 already.
        weights = weights.masked_fill(hidden, 0.0)
    return merge_heads(weights @ value) @ w_output
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. After splitting there are four axes. Over which of them do queries meet keys, and which are only carried along?
# 2. Project, split, attend, merge, mix. The step in the middle is the attention of a single head, on tensors with two
#    axes in front.
# 3. `@` and a swap of the last two axes do all heads at once. The root is that of the width of *one head*, softmax runs
#    along the keys, and `w_output` comes after the merging.

# %% check="scale" points=1
check("scale")

# %% check="softmax" points=1
check("softmax")

# %% check="output" points=1
check("output")

# %% check="attention" points=2
check("attention")

# %% check="mask" points=1
check("mask")

# %% [markdown] tags=["hints"]
# 1. A hidden key must weigh nothing, and the other weights must still add up to 1. Is there still time for that after
#    softmax?
# 2. No: hide the scores, before softmax. Which score becomes a weight of exactly 0?
# 3. Fill the scores with minus infinity by `masked_fill`. It fills where it finds True, and your mask is True where a
#    query *may* look, so turn it over first.

# %% check="mask_batch" points=1
check("mask_batch")

# %% [markdown] tags=["hints"]
# 1. The mask is (batch, queries, keys), the scores are (batch, heads, queries, keys). If they are lined up from the end,
#    which axis of the scores meets the mask's batch?
# 2. The heads do. So the mask needs an axis of length 1 where the scores have their heads.
# 3. `unsqueeze` with a number counted from the *end* puts it there for both kinds of mask. Which number is third from the
#    end?

# %% check="blind_row" points=1
check("blind_row")

# %% [markdown] tags=["hints"]
# 1. What does `torch.softmax` make of a row of nothing but $-\infty$?
# 2. Not-a-number, in this row only. But a hidden key weighs nothing in *any* row. Can you make sure of that once more,
#    after softmax?
# 3. Fill the weights with 0 wherever the mask hides, by the same turned mask that hid the scores.

# %% check="dtype" points=1
check("dtype")

# %% check="gradient" points=1
check("gradient")

# %% check="vectorised" points=1
check("vectorised")

# %% [markdown] tags=["hints"]
# 1. What does your code do once for each word, and what would it be if it were done for all words together?
# 2. Heads are few, words are many. A loop over queries or over keys is a product of two matrices in disguise.
# 3. With the axes (batch, heads, tokens, d_head) a single `@` makes the scores of every pair of words in every head.

# %% [markdown]
# ## The module
#
# `MultiHeadAttention(d_model, num_heads)` keeps the four matrices, which are trained, without a bias.
#
# * `forward(query)` is self-attention: who asks also answers. In `forward(query, key)` the keys are the values too.
#   `forward(query, key, value)` takes all three as they are. All three get a gradient, for whatever made them.
# * Each call stands by itself: the module keeps nothing of the call before.
# * A module whose matrices have 64 bits returns 64 for words of 64.
# * A module that is moved to another device, as by `module.to("cuda")`, works on words that lie there. So does your function:
#   what they keep or make lies where their inputs do. The check `device` needs no GPU.
# * A width that the heads don't divide is a `ValueError` here too, and already when the module is made:
#   that is the gap in `__init__`.
#
# `set_weights` tells the checks where your module keeps its matrices. It fits the rest of `__init__`;
# if you keep them in another way (packed into one, a matrix for each head), change both.


# %% answer="module"
class MultiHeadAttention(nn.Module):
    """Several heads of attention, and the matrix that mixes what they found."""

    def __init__(self, d_model: int, num_heads: int):
        super().__init__()
        ### BEGIN SOLUTION
        if d_model % num_heads:
            raise ValueError(f"{num_heads} heads can't have equal shares of width {d_model}")
        ### END SOLUTION
        self.num_heads = num_heads
        self.to_query = nn.Linear(d_model, d_model, bias=False)
        self.to_key = nn.Linear(d_model, d_model, bias=False)
        self.to_value = nn.Linear(d_model, d_model, bias=False)
        self.to_output = nn.Linear(d_model, d_model, bias=False)

    def forward(
        self,
        query: Float[Tensor, "batch queries d_model"],
        key: Float[Tensor, "batch keys d_model"] | None = None,
        value: Float[Tensor, "batch keys d_model"] | None = None,
        mask: Bool[Tensor, "queries keys"] | Bool[Tensor, "batch queries keys"] | None = None,
    ) -> Float[Tensor, "batch queries d_model"]:
        """Return the output for every query."""
        ### BEGIN SOLUTION
        key = query if key is None else key
        value = key if value is None else value
        matrices = (self.to_query, self.to_key, self.to_value, self.to_output)
        # nn.Linear keeps the transpose of the matrix that stands on the right of x.
        weights = [linear.weight.T for linear in matrices]
        return multi_head_attention(query, key, value, *weights, self.num_heads, mask)
        ### END SOLUTION


def set_weights(
    attention: MultiHeadAttention,
    w_query: Float[Tensor, "d_model d_model"],
    w_key: Float[Tensor, "d_model d_model"],
    w_value: Float[Tensor, "d_model d_model"],
    w_output: Float[Tensor, "d_model d_model"],
) -> None:
    """Write the four matrices (used as `x @ w`) to where `attention` keeps its own."""
    with torch.no_grad():
        attention.to_query.weight.copy_(w_query.T)
        attention.to_key.weight.copy_(w_key.T)
        attention.to_value.weight.copy_(w_value.T)
        attention.to_output.weight.copy_(w_output.T)


# %% [markdown] tags=["hints"]
# 1. Your function wants matrices for the right side of `x`. What does `nn.Linear` keep in its `weight`, and which way
#    round?
# 2. Who asks also answers, unless told otherwise. What is `key`, then, where it is None, and after that `value`?
# 3. Fill in the missing key, then the missing value, and hand everything to your function, with each `weight` turned. The
#    gap in `__init__` asks the same question as the check `uneven`.

# %% check="module" points=2
check("module")

# %% check="defaults" points=1
check("defaults")

# %% check="cross" points=1
check("cross")

# %% check="module_mask" points=1
check("module_mask")

# %% check="module_uneven" points=1
check("module_uneven")

# %% check="trains" points=1
check("trains")

# %% check="device" points=1
check("device")

# %% [markdown] tags=["hints"]
# 1. The words are on a GPU. Which tensors does your code take part with that are neither words, nor mask, nor matrices?
# 2. What `torch.ones` or `torch.tensor` makes lies on the CPU, unless told otherwise; and `module.to` moves only parameters and
#    buffers, not a tensor that is merely kept in an attribute. Plain numbers and `-math.inf` lie nowhere, and go everywhere.
# 3. Make each tensor with the `device=` of an input, or out of one (`new_zeros`, `ones_like`). Keep it with
#    `self.register_buffer`, or as a parameter where it is trained.

# %% [markdown]
# ## How fast it is
#
# The last cell gives no points. It times your function on longer and longer texts, beside torch's own attention between the same
# matrices: on the CPU and, where there is one, on a GPU. Both axes are logarithmic, so a line that goes up two steps for one to the
# right belongs to work that grows with the square of the length. Torch's own never holds all the scores at once. Where do the
# lines part?

# %% try="race"
from matplotlib import pyplot as plt
from torch.nn import functional as F
from torch.utils.benchmark import Timer

# Every word of the figure, in one place.
LABELS = {"yours": "yours, {}", "torchs": "torch's own, {}", "cpu": "CPU", "cuda": "GPU", "words": "words", "time": "milliseconds a call", "none": "There is no GPU here: this is the CPU alone."}
LENGTHS, WIDTH, HEADS = (64, 128, 256, 512, 1024), 256, 8
LOOKS = {("yours", "cpu"): "C0o-", ("torchs", "cpu"): "C1s-", ("yours", "cuda"): "C0o--", ("torchs", "cuda"): "C1s--"}


def torchs_own(query, key, value, w_query, w_key, w_value, w_output, num_heads):
    heads = (split_heads(x, num_heads) for x in (query @ w_query, key @ w_key, value @ w_value))
    return merge_heads(F.scaled_dot_product_attention(*heads)) @ w_output


def milliseconds(attention, words: int, device: str) -> float:
    """Return what a call takes: the median of as many as fit into a tenth of a second."""
    x, weights = torch.randn(1, words, WIDTH, device=device), torch.randn(4, WIDTH, WIDTH, device=device) / WIDTH**0.5
    call = Timer("attention(x, x, x, *weights, heads)", globals={"attention": attention, "x": x, "weights": weights, "heads": HEADS})
    return 1000 * call.blocked_autorange(min_run_time=0.1).median


for device in ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",):
    for name, attention in (("yours", multi_head_attention), ("torchs", torchs_own)):
        took = [milliseconds(attention, words, device) for words in LENGTHS]
        plt.loglog(LENGTHS, took, LOOKS[name, device], base=2, label=LABELS[name].format(LABELS[device]))
plt.xlabel(LABELS["words"])
plt.ylabel(LABELS["time"])
plt.legend()
plt.show()
if not torch.cuda.is_available():
    print(LABELS["none"])
