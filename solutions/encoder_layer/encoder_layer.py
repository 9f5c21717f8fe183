# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: The encoder layer
#     chapter: encoder_layer
#     difficulty: hard
#     minutes: 75
#     forbidden: [layer_norm]
# ---

# %% [markdown]
# # The encoder layer
#
# Attention moves information between words, the feed-forward network works on each word alone. An **encoder layer** puts the
# two one after the other. Around each runs a **residual connection**, which adds what went in to what came out, and
# **layer normalisation** keeps the size of the numbers in bounds. You write the normalisation, then the layer.
# The chapter *the encoder layer* works sum and norm by hand, and says why there are two orders; *multi-head attention* and *the
# feed-forward network* have the two parts.
#
# Write your answer where `not answered yet` stands, run the cell, then run the check below it.
# Where you are stuck, `hint("mean")` opens the first of three hints for that check. Hints cost nothing.
# Inside an answer you may write as you like; the names and what they take and return are fixed.
# Only the answer cells are handed in, so keep your helpers in them.
#
# Layer normalisation and whole layers are yours to write here and may not be taken ready-made. Attention may:
# `torch.nn.functional.scaled_dot_product_attention`, or what you wrote before.

# %%
import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from check import check, hint

# %% [markdown]
# ## Layer normalisation
#
# Each word (a row along the last axis) is shifted to mean 0 and scaled to variance 1, by itself. Then each of its numbers is
# multiplied by its own `gain`, and its own `bias` is added.
#
# * The variance is the mean of the squared distances from the row's mean.
# * `eps` is added to the variance before the square root is taken.
# * There may be any axes before the last, also none: `*batch` stands for them.
# * The result has the dtype of `x`. It is no less exact for rows such as 10000, 10001, 10002, or for numbers of 300 in `float16`,
#   whose squares `float16` can't hold.
# * What comes in may lie in memory in any order, as after a transpose. Here and below, all inputs stay as they were.
#
# Example: the word $(1, 3)$ has mean 2 and variance 1, and becomes $(-1, 1)$, if `eps` is next to nothing.
# A word of equal numbers becomes `bias`.
#
# ```shapes
# x [2 tokens, 2 d_model] {1 3 / 5 5} -mean 0, variance 1-> normalised [2 tokens, 2 d_model] {-1 1 / 0 0}
# ```


# %% answer="layer_norm"
def layer_norm(
    x: Float[Tensor, "*batch d_model"],
    gain: Float[Tensor, "d_model"],
    bias: Float[Tensor, "d_model"],
    eps: float = 1e-5,
) -> Float[Tensor, "*batch d_model"]:
    """Return each row with mean 0 and variance 1, times `gain` plus `bias`."""
    ### BEGIN SOLUTION
    # Squares of half-precision numbers soon leave its range.
    exact = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    centred = exact - exact.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    return (centred * torch.rsqrt(variance + eps)).to(x.dtype) * gain + bias
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. The words (1, 3) and (10, 30) stand in one table. How many means are there, and what are they?
# 2. There are two, 2 and 20. Every word has a mean of its own, taken over its own numbers, which lie along the last
#    axis however many axes come before. It is subtracted from that word alone.
# 3. `mean(dim=-1)` means the last axis, whether there is one axis or four. With `keepdim=True` the means line up with
#    the words; without it, they line up with the numbers of a word.

# %% check="mean" points=1
check("mean")

# %% check="variance" points=1
check("variance")

# %% [markdown] tags=["hints"]
# 1. The numbers of (1, 3) both lie 1 away from their mean. What is the mean of the two squared distances, and what does
#    `torch.tensor([1.0, 3.0]).var()` say?
# 2. The mean of the squares is 1, and `var` says 2, since by default it divides by one less than there are numbers. You
#    want the mean, for each word by itself, and the distances are then divided by its *root*.
# 3. Square the numbers from which the mean was taken off, and take the mean of that along the last axis, again with
#    `keepdim=True`. If you would rather use `var`, give it `correction=0`.

# %% check="eps" points=1
check("eps")

# %% [markdown] tags=["hints"]
# 1. The variance is next to nothing and `eps` is 4. By what should each distance be divided, and by what is it divided
#    in your code?
# 2. By 2, because `eps` is added to the variance and the root is taken of the sum. If it were added to the root, the
#    distances would be divided by 4.
# 3. Use the argument `eps` and no number of your own, inside the root. Then a caller's 4 counts, and the default holds
#    where nobody gives one.

# %% check="gain" points=1
check("gain")

# %% [markdown] tags=["hints"]
# 1. After normalising, a word of equal numbers is a row of zeros. What should come out for it, once `gain` and `bias`
#    are applied?
# 2. Its `bias`, whatever the gain is. Each number is stretched by the gain of its own place first, and the bias is
#    added afterwards; a bias that is added first would be stretched as well.
# 3. Multiply by `gain`, then add `bias`. Both line up with the last axis by themselves. Make new tensors on the way: `x
#    -= ...` would change the words that you were handed.

# %% check="precision" points=1
check("precision")

# %% [markdown] tags=["hints"]
# 1. What is 300 squared, and what is the largest number that `float16` can hold? What is left of the digits of 10001
#    squared in 32 bits?
# 2. Take off the mean *before* you square: the difference of two large squares has lost its digits. And what 16 bits
#    can't hold, 32 can.
# 3. For words of 16 bits, compute with `x.float()`, and go back by `.to(x.dtype)` once the row is normalised.

# %% [markdown]
# ## The layer
#
# `EncoderLayer(d_model, num_heads, d_ff)` has two **sublayers**: first self-attention with `num_heads` heads and the matrices
# `w_query`, `w_key`, `w_value`, `w_output`, without a bias; then the feed-forward network,
# `max(0, x @ w1 + b1) @ w2 + b2`. Each sublayer has a residual connection around it and a norm of its own,
# number 1 for attention, number 2 for the feed-forward network.
#
# * **Post-norm**, as in the first Transformer: what went into a sublayer is added to what came out, and the sum is normalised.
# * **Pre-norm**, with `norm_first=True`: the sublayer is given the normalised words, and its result is added to the words as
#   they were before. Nothing is normalised after that.
# * `mask` is True where a word may look at another. It has the shape (tokens, tokens), or (batch, tokens, tokens) for a mask
#   for each sentence, and holds for every head. None means everywhere. Every word may look at some word.
#   A hidden word has no part in anything, however well it matches, and however badly those match that may be seen.
# * Each call stands by itself: the layer keeps nothing of the call before. Nothing depends on which sizes happen to be equal.
# * A layer whose parameters have 64 bits returns 64 for words of 64.
# * A layer that is moved to another device, as by `layer.to("cuda")`, works on words that lie there, in training too: what it makes or
#   keeps lies where they do. The check `device` needs no GPU.
# * `dropout` is how likely a number is to be dropped from what a sublayer returns, before that is added.
#   Numbers that stay are divided by `1 - dropout`. This happens in training only: `layer.eval()` ends it.
# * Every parameter is trained: $4 d_{\text{model}}^2$ numbers for attention, $2 d_{\text{model}} d_{\text{ff}} + d_{\text{ff}} + d_{\text{model}}$
#   for the feed-forward network, $4 d_{\text{model}}$ for the norms. The norms use the `eps` that is the default above.
#   The words get a gradient too, for whatever made them.
#
# Example: with `norm_first=True` and `dropout=1.0`, a layer in training returns what it was given.
#
# `set_weights` tells the checks where your layer keeps its parameters. It fits the `__init__` below;
# if you keep them in another way (packed into one, a module for each sublayer), change both.
#
# Post-norm, with every shape:
#
# ```shapes
# x [3 tokens, 4 d_model] -attention-> looked [3 tokens, 4 d_model]
# looked [3 tokens, 4 d_model] + x [3 tokens, 4 d_model] -norm 1-> words [3 tokens, 4 d_model]
# words [3 tokens, 4 d_model] -ReLU-> units [3 tokens, 10 d_ff] -> thought [3 tokens, 4 d_model]
# thought [3 tokens, 4 d_model] + words [3 tokens, 4 d_model] -norm 2-> output [3 tokens, 4 d_model]
# ```


# %% answer="layer"
class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward network, each with a residual connection and a norm."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0, norm_first: bool = False):
        super().__init__()
        self.num_heads = num_heads
        self.dropout = dropout
        self.norm_first = norm_first
        self.to_query = nn.Linear(d_model, d_model, bias=False)
        self.to_key = nn.Linear(d_model, d_model, bias=False)
        self.to_value = nn.Linear(d_model, d_model, bias=False)
        self.to_output = nn.Linear(d_model, d_model, bias=False)
        self.widen = nn.Linear(d_model, d_ff)
        self.narrow = nn.Linear(d_ff, d_model)
        self.gain1, self.bias1 = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
        self.gain2, self.bias2 = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))

    def forward(
        self,
        x: Float[Tensor, "batch tokens d_model"],
        mask: Bool[Tensor, "tokens tokens"] | Bool[Tensor, "batch tokens tokens"] | None = None,
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Return the words after both sublayers."""
        ### BEGIN SOLUTION
        parts = (
            (lambda words: self._look(words, mask), self.gain1, self.bias1),
            (self._think, self.gain2, self.bias2),
        )
        for sublayer, gain, bias in parts:
            given = layer_norm(x, gain, bias) if self.norm_first else x
            x = x + F.dropout(sublayer(given), self.dropout, self.training)
            # The two kinds differ only in where the norm stands: before the sublayer or after the sum.
            x = x if self.norm_first else layer_norm(x, gain, bias)
        return x

    def _look(self, x, mask):
        """Return what each word gathers from the words that it may look at."""
        heads = [linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value)]
        seen = None if mask is None else mask.unsqueeze(-3)  # the new axis lets one mask hold for every head
        return self.to_output(F.scaled_dot_product_attention(*heads, seen).transpose(1, 2).flatten(start_dim=2))

    def _think(self, x):
        """Return what each word makes of itself."""
        return self.narrow(self.widen(x).relu())
        ### END SOLUTION


def set_weights(
    layer: EncoderLayer,
    w_query: Float[Tensor, "d_model d_model"],
    w_key: Float[Tensor, "d_model d_model"],
    w_value: Float[Tensor, "d_model d_model"],
    w_output: Float[Tensor, "d_model d_model"],
    w1: Float[Tensor, "d_model d_ff"],
    b1: Float[Tensor, "d_ff"],
    w2: Float[Tensor, "d_ff d_model"],
    b2: Float[Tensor, "d_model"],
    gain1: Float[Tensor, "d_model"],
    bias1: Float[Tensor, "d_model"],
    gain2: Float[Tensor, "d_model"],
    bias2: Float[Tensor, "d_model"],
) -> None:
    """Write the matrices (used as `x @ w`), biases and gains to where `layer` keeps its own."""
    with torch.no_grad():
        layer.to_query.weight.copy_(w_query.T)
        layer.to_key.weight.copy_(w_key.T)
        layer.to_value.weight.copy_(w_value.T)
        layer.to_output.weight.copy_(w_output.T)
        layer.widen.weight.copy_(w1.T)
        layer.widen.bias.copy_(b1)
        layer.narrow.weight.copy_(w2.T)
        layer.narrow.bias.copy_(b2)
        layer.gain1.copy_(gain1)
        layer.bias1.copy_(bias1)
        layer.gain2.copy_(gain2)
        layer.bias2.copy_(bias2)


# %% check="attention" points=1
check("attention")

# %% [markdown] tags=["hints"]
# 1. How wide is one head, and which axis of `self.to_query(x)` has to be cut for it?
# 2. Cut the last axis of queries, keys and values into heads and width, and bring the heads before the tokens. From there
#    torch's ready-made attention may go on.
# 3. `F.scaled_dot_product_attention` takes (batch, heads, tokens, width). After it, swap heads and tokens back, make one
#    axis of the last two, and apply `self.to_output`.

# %% check="feed_forward" points=1
check("feed_forward")

# %% [markdown] tags=["hints"]
# 1. In `max(0, x @ w1 + b1) @ w2 + b2` there are two matrices, two biases and a bend. Which line of yours does each of
#    them, and in which order?
# 2. The bend is between the two matrices and nowhere else. Units below 0 become exactly 0, but what the second matrix
#    makes of them, and what is added to the word, may be negative.
# 3. Call `self.widen`, then `torch.relu`, then `self.narrow`: the two layers have their biases already. A GELU is a
#    different bend, and gives other numbers.

# %% check="residual" points=2
check("residual")

# %% [markdown] tags=["hints"]
# 1. Both sublayers return zeros, and a word has mean 0 and variance 1 already. What should the layer make of it, and
#    what is left of it in yours?
# 2. It should stay as it is, for each sublayer has a way around it on which nothing happens. There are two sums, and
#    each of them adds what went into *its own* sublayer. For the second one that is what the first half of the layer
#    has made.
# 3. After each sublayer make a new `x`, the old one plus what the sublayer returned, and go on with that. `x += ...`
#    looks the same, but writes into the words of whoever called.

# %% check="post_norm" points=2
check("post_norm")

# %% [markdown] tags=["hints"]
# 1. Without `norm_first`, how many times are the words normalised, and what is it that is normalised each time?
# 2. Twice, once after each sum, and it is the whole sum, not just what the sublayer returned. From the first norm on,
#    everything works with normalised words: the feed-forward network, and the way around it.
# 3. Let `x` be what `layer_norm` makes of the first sum before you do anything else. Then no later step can reach for
#    the words as they were. The second half does the same again.

# %% check="norm_first" points=2
check("norm_first")

# %% [markdown] tags=["hints"]
# 1. With `norm_first=True`, which words does a sublayer get, and to which words is its result added?
# 2. It gets normalised words, and what it returns is added to the words as they were *before* that. So the way around
#    has no norm on it, and after the last sum there is none either.
# 3. Give the normalised words a name of their own, since `x = layer_norm(x, ...)` would lose those that you need for
#    the sum. The second sublayer begins with the sum that the first one has left.

# %% check="order" points=1
check("order")

# %% [markdown] tags=["hints"]
# 1. Which of the two sublayers needs what the other one has found, and which of them do you call first?
# 2. Attention gathers what a word needs from other words, and the feed-forward network then works on it. So attention
#    comes first, with pre-norm as well as with post-norm.
# 3. The words that come into `forward` should meet the heads before they meet `self.widen`. If the order is right and
#    the check still fails, see whether the merged heads go through `self.to_output`.

# %% check="norms" points=1
check("norms")

# %% [markdown] tags=["hints"]
# 1. The layer has `gain1`, `bias1`, `gain2` and `bias2`. Which two of them does your first call of `layer_norm` use,
#    and which two your second?
# 2. Number 1 belongs to attention and number 2 to the feed-forward network, wherever the norms stand. If they change
#    places, or one serves both, each half of the layer is stretched by numbers that were learned for the other.
# 3. Write the sublayer, its gain and its bias side by side, and look at the digits. In a loop over the two sublayers,
#    the three should travel together.

# %% check="mask" points=2
check("mask")

# %% [markdown] tags=["hints"]
# 1. A mask of shape (batch, tokens, tokens) meets scores that have an axis for heads as well. Which axes would it line
#    up with if you handed it on as it is?
# 2. It needs an axis of length 1 where the heads stand: third from the end, for both kinds of mask.
# 3. `unsqueeze` with a negative number does that. torch's attention takes True for *may look*, as you do, so nothing
#    has to be turned over; and None stays None.

# %% check="dropout" points=2
check("dropout")

# %% [markdown] tags=["hints"]
# 1. How does a module know whether it is being trained, and what has to change after `layer.eval()`?
# 2. Dropout belongs to what a sublayer returns, before the sum. `nn.Dropout` follows `train()` and `eval()` by itself; a
#    function has to be told.
# 3. `F.dropout` takes the numbers, how likely one is to be dropped, and whether this is training: every module has
#    `self.training`.

# %% check="trains" points=1
check("trains")

# %% [markdown] tags=["hints"]
# 1. With `d_model` 6 and `d_ff` 13 a layer has 343 numbers to learn. How many does yours list, and does a gradient
#    reach all of them, and the words?
# 2. What is to be trained has to be a parameter, or a layer that is assigned to the module and not hidden in a plain
#    list. Mean and variance are no constants, either: if one number of a word changes, they change along, and autograd
#    must know.
# 3. The `__init__` that you were given lists all 343. So search `forward` and `layer_norm` for `detach`, `.data` and
#    `no_grad`, both on the way through the sublayers and on the way around them.

# %% check="device" points=1
check("device")

# %% [markdown] tags=["hints"]
# 1. The layer was moved to a GPU. Which tensors take part in your code that are neither words, nor a mask, nor
#    parameters?
# 2. What `torch.zeros` or `torch.rand` makes lies on the CPU, unless told otherwise; and a layer that is moved takes
#    its parameters and buffers along, not a tensor that it merely keeps in an attribute. A plain number has no device,
#    so it can meet any tensor.
# 3. Make each tensor with the `device=` of the words, or out of them (`zeros_like`, `rand_like`), and keep it with
#    `self.register_buffer`, or as a parameter where it is trained.
