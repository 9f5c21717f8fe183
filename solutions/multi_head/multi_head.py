# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: Multi-head attention
#     chapter: multi_head
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
# 1. The word (1, 2, 3, 4, 5, 6) is dealt to 3 heads. Which numbers should head 1 get of it, and which head gets the
#    first numbers of the *next* word?
# 2. Head 1 gets 3 and 4, and every word begins again with head 0. So it is the last axis that is cut, into heads and
#    `d_head`, in this order; then the axis of the heads and that of the tokens change places. A reshape straight to the
#    final shape would cut across words.
# 3. `reshape` and `unflatten` can both make the cut, and `transpose(1, 2)` swaps the two axes. `view` may refuse words
#    that were transposed.

# %% check="split" points=1
check("split")

# %% check="merge" points=1
check("merge")

# %% [markdown] tags=["hints"]
# 1. Three heads, each 2 wide, hold their shares of two words. What shape has the merged result, and in which order do
#    the six numbers of the first word stand?
# 2. First come the two numbers that head 0 has for this word, then those of head 1, then those of head 2. For that the
#    heads must stand right before `d_head`, and as they come in, the tokens are in between.
# 3. Swap heads and tokens back before you make one axis of the last two. After a swap `view` gives up; `reshape` and
#    `flatten` copy the numbers where they have to.

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
# 1. The model is 12 wide and has 3 heads. How many numbers of a query meet numbers of a key in one head, and what
#    should a match of 4 become?
# 2. Four numbers meet, so 4 becomes 2. A score is divided by the square root of how many products it adds up, which are
#    those of one head. How many heads there are doesn't matter.
# 3. After the split the last axis of the queries is `d_head` long, so you can read the number off there. Divide the dot
#    products by its root before softmax, and nothing else.

# %% check="scale" points=1
check("scale")

# %% check="softmax" points=1
check("softmax")

# %% [markdown] tags=["hints"]
# 1. Your scores have the axes batch, heads, queries and keys. Along which of them should the weights add up to 1?
# 2. Each query shares out one whole among the keys, in every head anew. Where three keys match equally well, each gets
#    a third, however many queries and heads there are.
# 3. Use `dim` to send `torch.softmax` along the keys, which are the last axis; now that there are heads, a number
#    counted from the front is easily wrong. It copes with scores of 200 too, which an `exp` of your own does not.

# %% check="output" points=1
check("output")

# %% [markdown] tags=["hints"]
# 1. With a single key every head just returns its value. What still happens to the heads once they stand side by side
#    again?
# 2. They are mixed: each merged row is multiplied by `w_output`. Words are rows, so the matrix stands on the right, and
#    it is used as it is given, since only `nn.Linear` keeps its matrix transposed.
# 3. Call `merge_heads` on what the heads have found, and let a product with `w_output` be the last thing that your
#    function does.

# %% check="attention" points=2
check("attention")

# %% [markdown] tags=["hints"]
# 1. With `num_heads=1` and the identity for `w_output`, does your function give what a single head gives? And does the
#    first sentence come out the same if it comes alone?
# 2. Every head has a part of its own: its queries meet its own keys, and its weights average its own values. Batch and
#    heads are only carried along, and keep their order from the split to the merge.
# 3. Project each input by its own matrix, which stands on the right, and split all three. From there `@` and a swap of
#    the keys' last two axes do all heads at once. If one head is right and several are not, look at how you split,
#    merge or fold axes.

# %% check="mask" points=1
check("mask")

# %% [markdown] tags=["hints"]
# 1. Three keys match a query equally well, and the mask hides the second one. Which weights should the query have, in
#    every head?
# 2. A half, nothing, and a half. Only softmax can share out the whole among the keys that are left, so a hidden key
#    must be out of the race by then, with a score that no other can fall short of.
# 3. *Replace* hidden scores with `-math.inf`: a number that is added, or multiplied with, still leaves something of the
#    match. `masked_fill` fills where it is told True, which is the opposite of your mask.

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

# %% [markdown] tags=["hints"]
# 1. Which tensors does your function make for itself, and who tells them how many bits they should have?
# 2. `torch.zeros` and `torch.full` choose 32 bits where nobody says otherwise, and `.float()` always does: too few for
#    inputs of 64 bits, too many for inputs of 16. And -1e9 is not among the numbers of `float16`.
# 3. A tensor that is made out of an input, as by `query.new_zeros(...)`, has its dtype. Better still, make none: heads
#    can be split and merged without a table to write into, and keys can be hidden with a plain `-math.inf`.

# %% check="gradient" points=1
check("gradient")

# %% [markdown] tags=["hints"]
# 1. Is there an input or a matrix to which no gradient comes back, or does one come back that is not a number?
# 2. No gradient comes where the graph was left, by `.data`, `.detach()` or `no_grad`. A NaN comes where one was made
#    and covered up later: the way back multiplies by what stood there before, and 0 times NaN is NaN.
# 3. Clear the weights of hidden keys with the mask *before* they are multiplied by the values. It is too late to repair
#    the output, since the NaN has met the values by then.

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
# 2. It keeps the transpose, so each of the four weights has to be turned before your function can use it. All the rest
#    is done: the function scales, splits and merges, and the weights themselves stay as they are from call to call.
# 3. `.T` turns a matrix. Hand on the weights of `to_query`, `to_key`, `to_value` and `to_output`, each turned and each
#    used once, in the order of the signature.

# %% check="module" points=2
check("module")

# %% check="defaults" points=1
check("defaults")

# %% [markdown] tags=["hints"]
# 1. Who are the keys in `forward(query)`, and who are the values in `forward(query, key)`?
# 2. Who asks also answers, unless told otherwise: missing keys are the queries. Missing values are the *keys*, and
#    those may be another sentence than the one that asks.
# 3. Two short lines do it, and their order matters. First fill in the key where it is None, then the value, from what
#    the key is by now.

# %% check="cross" points=1
check("cross")

# %% [markdown] tags=["hints"]
# 1. Two words ask, three others answer, and what these give is not what they are found by. Does your output change if
#    you change nothing but `value`?
# 2. The queries decide how long the output is, the keys decide the weights, and the values are what gets averaged. A
#    default may stand in only where nothing was given.
# 3. Hand on `key` and `value` untouched whenever they are not None. If sizes clash, look for a reshape that uses the
#    length of the queries for keys and values too.

# %% check="module_mask" points=1
check("module_mask")

# %% [markdown] tags=["hints"]
# 1. Which arguments of `multi_head_attention` come after the matrices, and does each of them get something from your
#    `forward`?
# 2. The number of heads does, and so must the mask. The module need not know which kind of mask it is: it passes on
#    what this call has brought, and keeps nothing for the next.
# 3. Give `mask` to your function as its last argument, also when it is None. If the caller's mask has changed
#    afterwards, you wrote into it: `~mask` makes a new one.

# %% check="module_uneven" points=1
check("module_uneven")

# %% [markdown] tags=["hints"]
# 1. Somebody makes `MultiHeadAttention(4, 3)` and doesn't call it yet. Who tells them that three heads can't share four
#    numbers?
# 2. `__init__` should, before the first word arrives. It has both numbers at hand, and the question is the one that
#    `split_heads` asks.
# 3. At the gap, ask for the remainder of one number by the other, and raise a `ValueError` if there is any. An `assert`
#    raises a different error, and `python -O` leaves it out.

# %% check="trains" points=1
check("trains")

# %% [markdown] tags=["hints"]
# 1. A module of width 6 has 144 numbers to learn, in four matrices. How many does `parameters()` give for yours, and
#    which of them get a gradient?
# 2. A module finds layers and parameters that are assigned to it, or kept in an `nn.ModuleList`, but it doesn't look
#    into a plain list. A bias counts as well, and is too much here. Then each matrix and each input needs a way to the
#    output that autograd can follow.
# 3. Use `weight` and not `weight.data`, use all four of them, and detach neither keys nor values. If 64 bits go in and
#    32 come out, look for a tensor that is made anew on the way.

# %% check="device" points=1
check("device")

# %% [markdown] tags=["hints"]
# 1. The module was moved to a GPU, and the words are there too. Which of your tensors are neither words, nor a mask,
#    nor matrices?
# 2. What `torch.ones` or `torch.tensor` makes lies on the CPU, unless told otherwise; and `module.to` moves only
#    parameters and buffers, not a tensor that is merely kept in an attribute. Plain numbers and `-math.inf` lie
#    nowhere, and go everywhere.
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
