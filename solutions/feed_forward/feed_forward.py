# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: Feed-forward network
#     chapter: 06_feed_forward
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
# 1. From which width to which does each of the two matrices lead, and what stands between them?
# 2. Make two `nn.Linear` in `__init__`, with their biases, under the names that `set_weights` expects. `forward` calls
#    one, bends the result, and calls the other.
# 3. Put `torch.relu` around what the first layer returns, and around nothing else: what leaves the second may be
#    negative.

# %% check="output" points=2
check("output")

# %% check="relu" points=2
check("relu")

# %% check="negative" points=1
check("negative")

# %% check="batch" points=2
check("batch")

# %% check="alone" points=1
check("alone")

# %% check="trains" points=1
check("trains")

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
# 1. Write a word through both layers, without the ReLU, on paper: $(x W_1 + b_1) W_2 + b_2$. Which parts have $x$ in them
#    when the brackets are gone?
# 2. What stands behind $x$ is the matrix. All the rest is the bias, and it has two parts.
# 3. The first bias goes through the second matrix, as the word does. Then the second bias is added.

# %% check="fold" points=2
check("fold")

# %% check="fold_bias" points=2
check("fold_bias")

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
# 1. By which number is a unit's row of $W_2$ multiplied before it is added to the output?
# 2. By what the unit holds after the ReLU. A unit is off for a word where that is 0, and always off if it is so for every
#    word of every sentence.
# 3. Compare the weights of all words with 0, make one axis of all but the last (`flatten` with `end_dim`), and ask `all`
#    along it.

# %% check="weights" points=2
check("weights")

# %% check="off" points=2
check("off")

# %% check="dtype" points=1
check("dtype")

# %% check="device" points=1
check("device")

# %% [markdown] tags=["hints"]
# 1. The words are on a GPU. Which tensors take part in your code that are neither words, nor matrices, nor biases?
# 2. What `torch.zeros` or `torch.arange` makes lies on the CPU, unless told otherwise; and a network that is moved takes its parameters
#    along, not a tensor that it merely keeps in an attribute. Plain numbers work with tensors on any device.
# 3. Make each tensor with the `device=` of an input, or out of one (`new_zeros`, `zeros_like`). Often a plain number will do:
#    `clamp(min=0)` needs no tensor.
