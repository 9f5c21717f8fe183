# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: INT8 (optional)
#     chapter: smaller_models
#     difficulty: medium
#     minutes: 60
#     forbidden: []
# ---

# %% [markdown]
# # INT8
#
# A number of 32 bits takes four bytes, an integer of 8 bits takes one. Models are served with such integers because less has to be
# stored and moved, and many processors multiply them faster. You write what it takes: scales, rounding, the way back, a bound for the error, and a
# linear layer that keeps its weights as integers and multiplies integers. The chapter *smaller models* works the idea by hand.
#
# This exercise is optional: no other one needs it.
#
# Write your answer where `not answered yet` stands, run the cell, then run the check below it.
# Where you are stuck, `hint("scale")` opens the first of three hints for that check. Hints cost nothing.
# Inside an answer you may write as you like; the names and what they take and return are fixed.
# Only the answer cells are handed in, so keep your helpers in them.
# What your functions and your module are given may lie in memory in any order, as it does after `transpose`, and they leave it as it was.
# Floats have 32 or 64 bits here, all of a call the same, and what comes back as floats has as many.
# What you make lies on the device of what you are given, which need not be the CPU. The check `device`, the last one, needs no GPU.
# No gradient is asked for anywhere: rounding has none that would be of use.

# %%
import torch
from jaxtyping import Float, Int8
from torch import Tensor, nn

from check import check, hint

# %% [markdown]
# ## The scale
#
# An integer $q$ stands for the number $s \cdot q$, with a **scale** $s$: the step from one integer to the next. We use the integers from
# $-127$ to $127$. Of the 256 that 8 bits have, $-128$ is left out, so that both sides are alike and 0 stands for 0.
#
# * The scale is as small as it can be while the number farthest from 0 still fits: $s = \max |x| / 127$.
# * `scale_of` returns one scale for all of a tensor, which may have any number of axes. Example: $-254$, $3$ and $100$ have the scale $2$.
#   It comes back as a tensor without axes.
# * `row_scales` returns a scale for each row. A row is what lies along the last axis: an output of a weight matrix `(d_out, d_in)`, or a
#   token of an input `(batch, tokens, d_in)`. The last axis stays, with length 1, so that `x / row_scales(x)` divides each row by its own.
# * Where all numbers are 0, any scale would do, and 1 comes back. Small numbers that are not 0 have a small scale like any others.
#
# ```shapes
# x [2 rows, 3 columns] {-254 3 100 / 0 64 127} -row_scales-> scales [2 rows, 1 column] {2 / 1}
# ```


# %% answer="scale"
def scale_of(x: Float[Tensor, "..."]) -> Float[Tensor, ""]:
    """Return one scale for all of a tensor; 1 where there are only zeros."""
    ### BEGIN SOLUTION
    largest = x.abs().max()
    return torch.where(largest == 0, 1, largest / 127)
    ### END SOLUTION


def row_scales(x: Float[Tensor, "*rows columns"]) -> Float[Tensor, "*rows 1"]:
    """Return a scale for each row; 1 for a row of zeros."""
    ### BEGIN SOLUTION
    largest = x.abs().amax(dim=-1, keepdim=True)
    return torch.where(largest == 0, 1, largest / 127)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. A tensor holds $-254$, $3$ and $100$. Which of them needs the largest integer, and which integer is that?
# 2. Only the distance from 0 counts, on whichever side a number lies. The step is that distance, shared among the integers of one side.
# 3. `abs` first, then `max` without an axis, then divide by 127.

# %% check="scale" points=1
check("scale")

# %% check="rows" points=2
check("rows")

# %% [markdown] tags=["hints"]
# 1. A weight matrix has 5 outputs and 3 inputs. How many scales does it have, and what is the shape of what you return?
# 2. The maximum runs along the last axis, however many axes come before it. That axis must not vanish, or `x / scales` lines up the
#    scales with the columns.
# 3. `amax` takes `dim` and `keepdim`, and returns the numbers alone. (`max` with a `dim` returns their places too.)

# %% check="zeros" points=1
check("zeros")

# %% [markdown] tags=["hints"]
# 1. What is the scale of a row of zeros by the formula, and what becomes of `x / scale` then?
# 2. 0 divided by 0 is not a number. Only where the largest number *is* 0 does the scale become 1; a row of very small numbers needs its
#    small scale, so a lower limit for all scales won't do.
# 3. `torch.where(largest == 0, ..., ...)` chooses for each row by itself. It works for a tensor without axes too.

# %% [markdown]
# ## To integers and back
#
# `quantize` returns the integers that stand for the numbers of `x`, as `torch.int8`.
#
# * Each is the integer nearest to $x / s$. Halfway between two, take the even one, as `torch.round` does: $0.5$ becomes $0$, and $1.5$
#   becomes $2$.
# * `scale` may be one for all of `x` or one for each row, as the two functions above return it. It may have been found on *other* numbers,
#   so $x / s$ may lie beyond 127: then it is **clipped** to $127$, or to $-127$ on the other side. A bare conversion to `torch.int8` would turn
#   $200$ into $-56$.
# * Divide in the dtype that `x` has: in 64 bits, $0.5 + 10^{-12}$ lies above one half.
#
# `dequantize` returns the numbers that the integers stand for, in the dtype of `scale`.
#
# ```shapes
# x [2 rows, 3 columns] {-254 3 100 / 0.4 64.6 127} , scales [2 rows, 1 column] {2 / 1} -quantize-> integers [2 rows, 3 columns] {-127 2 50 / 0 65 127}
# integers [2 rows, 3 columns] {-127 2 50 / 0 65 127} , scales [2 rows, 1 column] {2 / 1} -dequantize-> numbers [2 rows, 3 columns] {-254 4 100 / 0 65 127}
# ```


# %% answer="integers"
def quantize(
    x: Float[Tensor, "*axes"],
    scale: Float[Tensor, "..."],
) -> Int8[Tensor, "*axes"]:
    """Return the nearest integers from -127 to 127."""
    ### BEGIN SOLUTION
    return (x / scale).round().clamp(-127, 127).to(torch.int8)
    ### END SOLUTION


def dequantize(
    q: Int8[Tensor, "*axes"],
    scale: Float[Tensor, "..."],
) -> Float[Tensor, "*axes"]:
    """Return the numbers that these integers stand for."""
    ### BEGIN SOLUTION
    return q * scale
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. The scale is $0.5$. Which integer stands for $1.4$, and which for $-1.4$?
# 2. Count in steps: how many steps is a number away from 0? The nearest whole number of them is the integer. A conversion to an integer type cuts
#    the fraction off, which is another thing.
# 3. Divide, `round`, and convert as the last step, with `.to(torch.int8)`. Scales of rows line up with the rows by themselves.

# %% check="round" points=2
check("round")

# %% check="clip" points=1
check("clip")

# %% [markdown] tags=["hints"]
# 1. $x / s$ is $200$. Which integers can you choose from, and which is nearest?
# 2. The limits are those of the integers, so they hold for $x / s$ and not for $x$. There are two of them, equally far from 0.
# 3. `clamp` takes a lower and an upper limit. It has to come before the conversion, which has already wrapped around when it is done.

# %% check="back" points=1
check("back")

# %% [markdown] tags=["hints"]
# 1. The scale is $0.5$ and the integer is $3$. Which number does it stand for?
# 2. It is a count of steps, and a step is `scale` long. Nothing is subtracted: 0 stands for 0 here.
# 3. One product. PyTorch turns integers into floats as soon as they meet floats, so converting the scale would only spoil it.

# %% [markdown]
# ## How far off?
#
# A number that comes back from its integer has moved. Rounding moves it by half a step at most. Clipping moves it from $|x|$ to $127 s$, which
# may be farther.
#
# `error_bound` returns for each number of `x` how far it can move at most with this scale: $s / 2$, or, where $|x|$ lies farther
# than that beyond $127 s$, the distance between the two.
#
# * Example: with a scale of $2$ the last integers stand for $254$ and $-254$. The bound is $1$ for $5$, still $1$ for $254.5$, and $6$ for $-260$.
# * It comes from `x` and `scale` alone, so nothing has to be quantised. The check doesn't mind what your other functions do.


# %% answer="bound"
def error_bound(
    x: Float[Tensor, "*axes"],
    scale: Float[Tensor, "..."],
) -> Float[Tensor, "*axes"]:
    """Return for each number how far it is moved at most."""
    ### BEGIN SOLUTION
    return torch.maximum(scale / 2, x.abs() - 127 * scale)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. The scale is $2$. Which numbers become 3, and how far are the outermost of them from what 3 stands for?
# 2. There are two distances, and the larger one is the bound: half a step, and how much is missing from $127 s$ to $|x|$, which is negative
#    where nothing is missing.
# 3. `torch.maximum` compares two tensors number by number, and lines up a scale without axes, or scales of rows, with the numbers.

# %% check="bound" points=2
check("bound")

# %% [markdown]
# ## A linear layer of integers
#
# `Int8Linear(weight, bias)` is made of the weights of a trained linear layer, as `Int8Linear(linear.weight.detach(), linear.bias.detach())`
# does it. `weight` is `(d_out, d_in)`, as `nn.Linear` keeps it, and `bias` may be `None`.
#
# * The weight is quantised once, when the module is made, with a scale for each row: each output has its own.
# * The inputs are quantised in each call, with a scale for each row of `x`: each token has its own, whatever stands beside it.
# * Integers are multiplied by integers, and the products of a row are added up *exactly*. A single product may be $127 \cdot 127$, which
#   8 bits can't hold, and three of these are too much for 16; kernels add up in `torch.int32`. The checks use a `d_in` of 1,000 at most.
# * Each sum is multiplied by the scale of its token and by that of its output. The bias is added last; it is neither quantised nor scaled.
#   In the drawing the scale of the token is 2, those of the outputs are 1 and 0.5, and there is no bias.
# * A token of zeros comes out as the bias, and so does an output whose weights are all 0.
# * `x` may have any number of axes, and one call any number of tokens, whatever came before.
#
# What is kept has to be as small as promised, and nothing in it learns:
#
# * `state_dict()` holds all that the module works with, in at most $d_{\text{out}} \cdot d_{\text{in}} + 8\, d_{\text{out}}$ bytes if `weight` and `bias` have 32
#   bits: one for each weight, four for each scale, four for each number of the bias.
# * A module of the same sizes that loads these numbers returns the same as this one.
# * No parameter asks for a gradient.
#
# PyTorch multiplies matrices of `torch.int32` on the CPU only. On a GPU, convert the integers to floats for this one product: those of 64
# bits hold whole numbers exactly up to $2^{53}$.
#
# ```shapes
# integers of x [1 token, 2 d_in] {127 -3} @ integers of weight, transposed [2 d_in, 2 d_out] {10 1 / 127 -127} = sums [1 token, 2 d_out] {889 508}
# sums [1 token, 2 d_out] {889 508} -scaled-> output [1 token, 2 d_out] {1778 508}
# ```


# %% answer="module"
class Int8Linear(nn.Module):
    """A linear layer that keeps and multiplies integers of 8 bits."""

    def __init__(
        self,
        weight: Float[Tensor, "d_out d_in"],
        bias: Float[Tensor, "d_out"] | None = None,
    ):
        super().__init__()
        ### BEGIN SOLUTION
        scale = row_scales(weight)
        self.register_buffer("weight", quantize(weight, scale))
        self.register_buffer("scale", scale.squeeze(-1))
        self.register_buffer("bias", bias)
        ### END SOLUTION

    def forward(self, x: Float[Tensor, "*rows d_in"]) -> Float[Tensor, "*rows d_out"]:
        """Return what the linear layer would, but for the rounding."""
        ### BEGIN SOLUTION
        x_scale = row_scales(x)
        # Whole numbers below 2^53 are exact here, and a GPU multiplies such matrices too.
        sums = quantize(x, x_scale).double() @ self.weight.double().T
        output = sums.to(x.dtype) * x_scale * self.scale
        return output if self.bias is None else output + self.bias
        ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. In the drawing, the first sum is $127 \cdot 10 - 3 \cdot 127$. Which number does it stand for, if a step of the token is 2 and a step of the
#    weight is 1?
# 2. Scales can be taken out of the sum: the scale of the token stands in each of its terms, and so does that of the output. So integers are
#    added up first, and the sum is multiplied by both scales.
# 3. Quantise `weight` in `__init__` and `x` in `forward`, each with `row_scales`. The scales of tokens are a column, `(tokens, 1)`; those of
#    outputs have to lie along the last axis, so a column of them must be transposed or lose its last axis first.

# %% check="linear" points=2
check("linear")

# %% check="sums" points=1
check("sums")

# %% [markdown] tags=["hints"]
# 1. What is $127 \cdot 127$, and what is left of it in 8 bits?
# 2. A product of two `int8` tensors is an `int8` tensor: it has wrapped around before anything can be done about it. Floats of 16 bits have no
#    place for all whole numbers either, once these exceed 2,048.
# 3. Convert *both* tensors of integers before the product, to `torch.int32` or to wide floats. They still hold the same integers.

# %% check="tokens" points=1
check("tokens")

# %% [markdown] tags=["hints"]
# 1. One token of a batch is a hundred times larger than the others. Which integers do the others become, if all share its scale?
# 2. A token must come out as if it were alone. Its scale comes from its own row of `x`, in this call.
# 3. `row_scales(x)` has a scale for each token, and works for any number of axes. `scale_of(x)` has one for all of them.

# %% check="channels" points=1
check("channels")

# %% [markdown] tags=["hints"]
# 1. One row of the weight is a thousand times larger than the others. Which outputs may notice?
# 2. Only the output of that row. All other rows have scales of their own, and the same integers as without it.
# 3. `row_scales`, asked about the matrix when the module is made. In `forward`, the scale of an output multiplies its column of the result.

# %% check="bias" points=1
check("bias")

# %% [markdown] tags=["hints"]
# 1. A token holds zeros only. What should come out, and what does your code divide by on the way?
# 2. The bias is a number of the output, where the scales have already been multiplied in. It is small, and stays in floats as it is.
#    Without a bias nothing is added.
# 3. Keep `bias` as it came, and ask `is None` before you add it. `register_buffer` takes `None` too, and leaves it out of the `state_dict`.

# %% check="stored" points=2
check("stored")

# %% [markdown] tags=["hints"]
# 1. A weight of 7 outputs and 5 inputs, with a bias: how many bytes may the `state_dict` take, and how many does yours?
# 2. A tensor that is a plain attribute is not saved. A parameter is, but it learns; what is saved and doesn't learn is a **buffer**.
#    Of the weight, the integers and their scales are needed, and nothing else.
# 3. `self.register_buffer(name, tensor)` for the integers in `torch.int8`, for the scales, and for the bias. The wider integers or floats that the
#    product needs are made in `forward`, and kept nowhere.

# %% check="device" points=1
check("device")

# %% [markdown] tags=["hints"]
# 1. The module was moved to a GPU, and `x` lies there. Where do your scales lie?
# 2. Buffers move along with a module, a tensor in a plain attribute doesn't. And what `torch.ones`, `torch.tensor` or `torch.empty`
#    makes lies on the CPU unless told otherwise.
# 3. Make such tensors with `device=x.device`, or of a tensor that is there already, by `torch.ones_like` or `new_empty`. NumPy knows the CPU alone.
