# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: Feed-forward network
#     chapter: feed_forward
#     difficulty: easy
#     minutes: 40
# ---

# %% [markdown]
# # The feed-forward network
#
# Attention has brought each word what it looked for. Now each word is alone with it, and passes through two matrices.
# You write the network as a module, take it apart again, and ask its hidden units what they do.
# The chapter *the feed-forward network* has the ideas.
#
# Write your answer where `not answered yet` stands, run the cell, then run the check below it.
# Where you are stuck, `hint("output")` opens the first of three hints for that check. Hints cost nothing.
# Inside an answer you may write as you like; the names and what they take and return are fixed.
# Only the answer cells are handed in, so keep your helpers in them.
# What your functions and modules are given may lie in memory in any order, as it does after `transpose`, and they leave it as it was.
# Nothing depends on which sizes happen to be equal, nor on the call before.

# %%
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from check import check, hint

# %% [markdown]
# ## The module
#
# `FeedForward(d_model, d_ff)` takes each word from `d_model` numbers to `d_ff` hidden units and back,
# with a matrix and a bias for each way, all trained. Between the two stands the ReLU.
#
# * Example: where the units hold $-3$, $3$ and $-1$, the word gets three times the second row of $W_2$, and $b_2$.
# * There may be any axes before the last two, also none: `*batch` stands for them.
# * What comes out of one word's row depends on that row alone. It may be negative. A gradient goes back to `x`.
# * A network whose numbers have 64 bits returns 64 for words of 64.
# * A network that is moved to another device, as by `network.to("cuda")`, works on words that lie there, and so do the functions below:
#   what they make or keep lies where their inputs do. The check `device`, the last one, needs no GPU.
# * What a Transformer's layer puts around the network is no part of it: no dropout, no adding of the input, no normalising.
#
# `set_weights` tells the checks where your module keeps its numbers. It expects two `nn.Linear`, named `widen` and `narrow`;
# if you name them otherwise, or keep parameters of your own, change it along.
#
# ```shapes
# x [3 tokens, 2 d_model] @ W₁ [2 d_model, 7 d_ff] + b₁ [7 d_ff] -ReLU-> units [3 tokens, 7 d_ff]
# units [3 tokens, 7 d_ff] @ W₂ [7 d_ff, 2 d_model] + b₂ [2 d_model] = output [3 tokens, 2 d_model]
# ```


# %% answer="module"
class FeedForward(nn.Module):
    """The feed-forward network: wider, ReLU, and back."""

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.widen = nn.Linear(d_model, d_ff)
        self.narrow = nn.Linear(d_ff, d_model)
        ### END SOLUTION

    def forward(self, x: Float[Tensor, "*batch tokens d_model"]) -> Float[Tensor, "*batch tokens d_model"]:
        """Return a row for each word, made of the word's own row."""
        ### BEGIN SOLUTION
        return self.narrow(torch.relu(self.widen(x)))
        ### END SOLUTION


def set_weights(
    network: FeedForward,
    w1: Float[Tensor, "d_model d_ff"],
    b1: Float[Tensor, "d_ff"],
    w2: Float[Tensor, "d_ff d_model"],
    b2: Float[Tensor, "d_model"],
) -> None:
    """Write matrices (used as `x @ w`) and biases to where `network` keeps its own."""
    with torch.no_grad():
        network.widen.weight.copy_(w1.T)
        network.widen.bias.copy_(b1)
        network.narrow.weight.copy_(w2.T)
        network.narrow.bias.copy_(b2)


# %% [markdown] tags=["hints"]
# 1. The units hold 2, 4 and 7. Which rows of $W_2$ are added up for this word, how many times each, and what is added
#    last?
# 2. All three are, as many times as their unit says, and $b_2$ comes last. A word goes through a matrix and a bias to
#    `d_ff` units, and through another matrix and bias back to `d_model` numbers. A residual, a norm, dropout or a third
#    matrix belongs elsewhere.
# 3. Make two `nn.Linear` in `__init__`, from `d_model` to `d_ff` and back, under the names that `set_weights` writes
#    to. Each adds its own bias, so there is none left to add. Let `forward` return one thing.

# %% check="output" points=2
check("output")

# %% check="relu" points=2
check("relu")

# %% [markdown] tags=["hints"]
# 1. A unit holds -3. How much of its row of $W_2$ should the word get, and how much does it get from yours?
# 2. Nothing at all, neither a little nor something negative. Whether a unit is on is decided when the word has met its
#    column of $W_1$ *and* the bias has been added.
# 3. Put `torch.relu` between the two layers, around what the first one returns. Around `x` it would switch off the
#    word's own numbers, which is another matter.

# %% check="negative" points=1
check("negative")

# %% [markdown] tags=["hints"]
# 1. All units are on, and the rows of $W_2$ add up to -5. What should come out, and which line of yours would change
#    it?
# 2. -5 should come out. A network must be able to take something away from a word, so only units are cut off at 0, and
#    nothing bends the output.
# 3. What the second layer returns is what your module returns. Look for a ReLU that comes after it, perhaps one that
#    should have come earlier.

# %% check="batch" points=2
check("batch")

# %% [markdown] tags=["hints"]
# 1. Words come with the shape (3, 2), then (5, 3, 2), then (4, 5, 3, 2). Which line of yours expects one of these in
#    particular?
# 2. None needs to. A linear layer works on the last axis and carries all others along. What counts axes is code that
#    unpacks `x.shape`, folds axes into one, or uses a convolution, which wants exactly one axis for the batch.
# 3. Hand `x` to the first layer as it is. If you do fold axes, fold with `reshape`, because `view` refuses words that
#    were transposed, and give the output its axes back at the end.

# %% check="alone" points=1
check("alone")

# %% [markdown] tags=["hints"]
# 1. One word of five is changed. How many rows of the output should move, and how many move in yours?
# 2. One, since each row is made of its own word alone. If others move, something works along the words: a mean over
#    them, a convolution that is wider than one word, or a `view` that was meant to swap two axes.
# 3. Leave the words on their axis and let matrices work on the last one. Take care not to write into `x` either: `-=`
#    and names that end in `_` change the words of whoever called.

# %% check="trains" points=1
check("trains")

# %% [markdown] tags=["hints"]
# 1. From 2 numbers to 3 units and back there are 17 numbers to learn. How many does `parameters()` hold in your
#    network, and which are missing?
# 2. Matrices *and* biases must be parameters, or belong to a layer; a plain tensor of zeros stays zero for ever.
#    Besides, a gradient has to get from the output through the units to `x`.
# 3. Two `nn.Linear` with their biases have all 17, and turn to 64 bits together with the network. In `forward`, work on
#    tensors as they are: `detach`, `.data`, `no_grad` and a new `torch.tensor(...)` each end the way back.

# %% [markdown]
# ## Without the bend
#
# Leave out the ReLU, and the two matrices fold into one. `fold` returns two things, the matrix and then the bias: for every
# `x`, `x @ matrix + bias` is what the network without its ReLU makes of `x`.
#
# * Example: with $W_1 = (2)$, $b_1 = (1)$, $W_2 = (3)$ and $b_2 = (4)$, all one number wide, the matrix is $(6)$ and the bias $(7)$.
# * Both have the dtype of what went in, and a gradient goes back to all four.


# %% answer="fold"
def fold(
    w1: Float[Tensor, "d_model d_ff"],
    b1: Float[Tensor, "d_ff"],
    w2: Float[Tensor, "d_ff d_model"],
    b2: Float[Tensor, "d_model"],
) -> tuple[Float[Tensor, "d_model d_model"], Float[Tensor, "d_model"]]:
    """Return the one matrix and the one bias that do what both layers do without a ReLU."""
    ### BEGIN SOLUTION
    # What the first layer adds to a word goes through the second, like the word itself.
    return w1 @ w2, b1 @ w2 + b2
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. The network without its ReLU first makes $x W_1$ of a word, and then $(x W_1) W_2$. Where else could the brackets
#    stand?
# 2. Around the two matrices, so that they become a single one of `d_model` by `d_model` numbers. It keeps the order in
#    which the word meets them, even where both are square and the other order would fit.
# 3. Multiply the two as they are given. Nothing is transposed, since it will be used as `x @ matrix`, and nothing is
#    cut off at 0. Return the matrix first, and keep the graph so that a gradient comes back.

# %% check="fold" points=2
check("fold")

# %% check="fold_bias" points=2
check("fold_bias")

# %% [markdown] tags=["hints"]
# 1. A word of zeros goes through both layers, with no ReLU between them. What is it after the first, and what after the
#    second?
# 2. After the first it is $b_1$. The second layer treats that like any word, multiplying it by $W_2$, and adds $b_2$.
#    What is left at the end is the folded bias.
# 3. So the bias has two parts, and the first one passes through the second matrix, with its negative numbers. Add them
#    up in a new tensor: `+=` would write into the `b2` that you were handed.

# %% [markdown]
# ## How many numbers are trained
#
# `parameter_count(d_model, d_ff)` is a whole number: how many numbers the network learns.
#
# * Example: `parameter_count(1, 1)` is 4.
# * Both widths are free: `d_ff` is often four times `d_model`, but need not be.


# %% answer="count"
def parameter_count(d_model: int, d_ff: int) -> int:
    """Return how many numbers a feed-forward network of these widths learns."""
    ### BEGIN SOLUTION
    # A bias is as many numbers as one more row of its matrix.
    return (d_model + 1) * d_ff + (d_ff + 1) * d_model
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. How many numbers are in a matrix with 3 rows and 5 columns, and how many biases go with it?
# 2. Each way has a matrix, and a bias that is as wide as what comes out. That makes four numbers to add up.
# 3. Both matrices have `d_model` times `d_ff` numbers. One bias is `d_ff` wide, the other `d_model`.

# %% check="count" points=2
check("count")

# %% [markdown]
# ## Keys and values
#
# Read each hidden unit as a **key**, its column of $W_1$, and a **value**, its row of $W_2$. A word meets the key, and the match
# says how much of the value the word gets.
#
# `hidden_weights` returns for each word how many times each value is added to its output: a row for each word, a column for
# each unit, in the dtype of what went in. A gradient goes back to all three inputs.
#
# * Example: the word $(2, 1)$ meets the key $(1, 1)$. With a bias of $-2$ it gets the value once; with $-4$, not at all.
# * The weights are not shared out: a row may add up to 5, or to 0.
#
# `always_off` returns for each unit whether it adds nothing to any word of `x`, in any sentence: True = off for all of them.
#
# * A unit that holds exactly 0 adds nothing.


# %% answer="units"
def hidden_weights(
    x: Float[Tensor, "*batch tokens d_model"],
    w1: Float[Tensor, "d_model d_ff"],
    b1: Float[Tensor, "d_ff"],
) -> Float[Tensor, "*batch tokens d_ff"]:
    """Return how many times each unit's value is added for each word."""
    ### BEGIN SOLUTION
    return torch.relu(x @ w1 + b1)
    ### END SOLUTION


def always_off(
    x: Float[Tensor, "*batch tokens d_model"],
    w1: Float[Tensor, "d_model d_ff"],
    b1: Float[Tensor, "d_ff"],
) -> Bool[Tensor, "d_ff"]:
    """Return True for the units that add nothing, whichever word of `x` comes."""
    ### BEGIN SOLUTION
    idle = hidden_weights(x, w1, b1) == 0
    return idle.flatten(end_dim=-2).all(dim=0)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. The word (2, 1) meets the key (1, 1), and the bias of the unit is -2. What is the match, and how many times is the
#    value added?
# 2. The match is 3, the bias leaves 1 of it, and the value is added once. With a bias of -4, less than nothing would be
#    left, and then it is not added at all. Units don't compete, so there is no softmax, no sum of 1 and no scale.
# 3. What is asked for is the first half of your network, up to and including the ReLU. The keys are the *columns* of
#    `w1`, and with `x` on the left the product meets them by itself, also where `w1` is square.

# %% check="weights" points=2
check("weights")

# %% check="off" points=2
check("off")

# %% [markdown] tags=["hints"]
# 1. A unit holds 0 for one word and 3 for another. Is it always off, and how many answers do you give for five units
#    and a hundred words?
# 2. It isn't, because one word gets something from it. There are five answers, each of them True or False. A unit is
#    always off if its weight is 0 for every word of every sentence, whether its match was negative or exactly 0.
# 3. Compare the weights of all words with 0, make one axis of all but the last (`flatten` with `end_dim`), and ask
#    `all` along it.

# %% check="dtype" points=1
check("dtype")

# %% [markdown] tags=["hints"]
# 1. The inputs are thirds in 64 bits. Up to which of your steps are all sixteen digits right?
# 2. `torch.empty` and `torch.zeros` make 32 bits where nobody asks for more, and `.float()` goes back to 32. Digits
#    that are gone don't return with a later `.double()`. Both `fold` and `hidden_weights` are tried.
# 3. Neither function needs a tensor of its own: products, sums and `torch.relu` keep the dtype of what they get. If you
#    want one all the same, make it out of an input, as `w1.new_empty(...)` does.

# %% check="device" points=1
check("device")

# %% [markdown] tags=["hints"]
# 1. Words, matrices and biases are on a GPU. What takes part in your code that is none of these?
# 2. A row of `torch.zeros` to compare with lies on the CPU, unless told otherwise; and a network that is moved takes
#    its parameters along, not a tensor that it merely keeps in an attribute.
# 3. Make each tensor with the `device=` of an input, or out of one (`new_zeros`, `zeros_like`). Often a plain number
#    will do: `clamp(min=0)` needs no tensor.
