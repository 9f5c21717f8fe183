# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: Positional encoding
#     chapter: positional_encoding
#     difficulty: hard
#     minutes: 75
#     forbidden: []
# ---

# %% [markdown]
# # Positional encoding
#
# Attention without positions sees a bag of words, so each word must carry its position. You write the sines and cosines that encode it,
# the rotation that leads from one position to another, and two modules that add positions to words: one whose encodings are computed,
# and one whose encodings are learned. The chapter *positional encoding* has the ideas.
#
# Write your answer where `not answered yet` stands, run the cell, then run the check below it.
# Where you are stuck, `hint("place")` opens the first of three hints for that check. Hints cost nothing.
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
# ## Sines and cosines for every position
#
# Position $t$ gets a row of `d_model` numbers, its encoding (PE). Columns $2i$ and $2i + 1$ are **dimension pair** $i$: the sine and the
# cosine of one angle, which is $t$ times the **frequency** of the pair (an angular frequency, $10000^{-2i/d_{\text{model}}}$ radians
# per position):
#
# $$
# \begin{aligned}
# \text{PE}_{t,\,2i} &= \sin\!\left(t \,/\, 10000^{2i/d_{\text{model}}}\right) \\[1ex]
# \text{PE}_{t,\,2i+1} &= \cos\!\left(t \,/\, 10000^{2i/d_{\text{model}}}\right)
# \end{aligned}
# $$
#
# You may picture the pairs as the hands of a clock: each goes round at a rate of its own, and together they tell the position.
#
# * Positions are counted from 0. Example: with `d_model` 4, position 1 is $(0.8415, 0.5403, 0.0100, 1.0000)$.
# * `d_model` may be odd: the last dimension pair then has only its sine, and the formula is the same.
# * The result has the dtype `torch.float32` and is right to four decimals, at position 10,000 too.
#
# ```shapes
# encoding [3 positions, 4 d_model] {0 1 0 1 / 0.84 0.54 0.01 1 / 0.91 -0.42 0.02 1}
# ```


# %% answer="clocks"
def sinusoidal_encoding(length: int, d_model: int) -> Float[Tensor, "{length} {d_model}"]:
    """Return a row for each position: the sine and the cosine of its angle in each dimension pair."""
    ### BEGIN SOLUTION
    pairs = torch.arange((d_model + 1) // 2, dtype=torch.float64)
    # Thousands of radians leave 32 bits no digits to say where on the circle they end: the angles need 64.
    angles = torch.outer(torch.arange(length).double(), 10_000.0 ** (-2 * pairs / d_model))
    encoding = torch.empty(length, d_model)
    encoding[:, 0::2] = angles.sin()
    encoding[:, 1::2] = angles.cos()[:, : d_model // 2]  # at an odd width the last sine stands alone
    return encoding
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. How many dimension pairs are there at width 4, and which two columns does pair 1 fill?
# 2. Make a table of angles first, with a row for each position and a column for each *pair*: position times frequency. Its
#    sines go to the even columns and its cosines to the odd ones.
# 3. Pair $i$ has the frequency 10000 to the power of $-2i/d_{\text{model}}$. The slice `0::2` of the columns takes the even
#    ones, `1::2` the odd ones.

# %% check="place" points=2
check("place")

# %% check="odd" points=1
check("odd")

# %% [markdown] tags=["hints"]
# 1. Of five columns, how many are even and how many are odd, if they are counted from 0?
# 2. There is one sine more than there are cosines. `d_model` is still 5 in the formula, whatever you do to make the
#    table.
# 3. Count the pairs as half the width, rounded *up*, and leave out the last pair's cosine when the odd columns are
#    filled.

# %% check="far" points=2
check("far")

# %% [markdown] tags=["hints"]
# 1. An angle is 5623.4, and a number in 32 bits has seven digits. How many of them are behind the point?
# 2. Too few, since the angle has gone round the circle hundreds of times. The angles need 64 bits, from the frequencies on;
#    only their sines and cosines may be short.
# 3. Make the positions and the pairs with `dtype=torch.float64`, and round once, at the very end. Filling a table of
#    `float32` does that by itself.

# %% [markdown]
# ## A rotation for every offset
#
# One matrix leads from the encoding of any position to that of the position `offset` words later: a rotation of each dimension pair by
# the offset times its frequency. An encoding is a row, and the matrix stands on its right:
#
# $$
# \text{PE}_{t + \text{offset}} = \text{PE}_t \, M_{\text{offset}} \quad \text{for every } t
# $$
#
# * Example: with `d_model` 2 and `offset` 1, position 0 is $(0, 1)$, and $(0, 1) \, M_1 = (0.8415, 0.5403)$, which is position 1.
# * A negative offset leads back. `offset` may be thousands of words.
# * `d_model` is even here: a sine without its cosine can't be rotated.
#
# ```shapes
# position 0 [1 position, 2 d_model] {0 1} @ rotation by 1 [2 d_model, 2 d_model] = position 1 [1 position, 2 d_model] {0.84 0.54}
# ```


# %% answer="turn"
def offset_rotation(offset: int, d_model: int) -> Float[Tensor, "{d_model} {d_model}"]:
    """Return the matrix that, on the right of any position's encoding, gives that of the position `offset` words later."""
    ### BEGIN SOLUTION
    sines = torch.arange(0, d_model, 2)  # the columns; the cosine of each stands next to it
    angles = offset * 10_000.0 ** (-sines.double() / d_model)
    rotation = angles.cos().repeat_interleave(2).diag()
    rotation[sines, sines + 1] = -angles.sin()
    rotation[sines + 1, sines] = angles.sin()
    return rotation.float()
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. A dimension pair holds $(\sin a, \cos a)$. What are $\sin(a + b)$ and $\cos(a + b)$, written with the sines and
#    cosines of $a$ and $b$?
# 2. Each of the two is a sum of two products, so a block of 2 by 2 makes them from the row $(\sin a, \cos a)$ on its
#    left. Each pair has a block of its own on the diagonal; everything else is 0.
# 3. The first column of a block makes the new sine: $\cos b$ above $\sin b$. Work out the second column in the same way,
#    with its one minus. For pair $i$, $b$ is the offset times its frequency, in 64 bits.

# %% check="turn" points=3
check("turn")

# %% check="back" points=1
check("back")

# %% [markdown] tags=["hints"]
# 1. If $M$ leads three words on, which matrix leads three words back, and what does your function return for an offset
#    of -3?
# 2. The way back is a rotation like any other, by the opposite angle. Its cosines are the same and its sines have the other
#    sign, so its matrix is the transpose of the one that led there. Sine and cosine take negative angles as they are.
# 3. Multiply the frequencies by the offset as it comes, sign included. Watch out for `abs`, for a loop over `range(offset)`,
#    and for sines that have the same sign in both corners of a block.

# %% [markdown]
# ## Words with their positions
#
# `AddPositions(d_model, max_length)` is a module. `forward(x, start)` returns the words of `x`, each with the encoding of its position
# added to it and nothing else done to it.
#
# * The first word of every sentence stands at position `start`, the next at `start + 1`.
#   Example: with `d_model` 2, two words of zeros and `start` 0 become $(0, 1)$ and $(0.8415, 0.5403)$.
# * `*batch` stands for any axes before the last two, also none.
# * `max_length` is how many positions to have ready. Sentences may be shorter; a longer one is no error,
#   and the module may be used for one sentence after another, also of another dtype.
# * The result has the dtype and the device of `x`, which need not be the CPU: the check `device`, the last one, asks for that without a
#   GPU. Words of 16 bits get the encodings of their positions too, also the thousandth word,
#   as exactly as 16 bits can hold them.
# * Encodings are computed, not trained. Words are trained: a gradient goes back to `x`, and `x` itself is not changed.
#
# ```shapes
# words [2 tokens, 2 d_model] {0 0 / 0 0} + encoding [2 tokens, 2 d_model] {0 1 / 0.84 0.54} = output [2 tokens, 2 d_model] {0 1 / 0.84 0.54}
# ```


# %% answer="add"
class AddPositions(nn.Module):
    """Adds to each word the encoding of its position."""

    def __init__(self, d_model: int, max_length: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.d_model = d_model
        # A buffer moves along with the module and is not trained. It is not saved either: it can be computed again.
        self.register_buffer("ready", sinusoidal_encoding(max_length, d_model), persistent=False)
        ### END SOLUTION

    def forward(self, x: Float[Tensor, "*batch tokens d_model"], start: int = 0) -> Float[Tensor, "*batch tokens d_model"]:
        """Return each word with its position; the first word stands at position `start`."""
        ### BEGIN SOLUTION
        stop = start + x.shape[-2]
        encoding = self.ready if stop <= len(self.ready) else sinusoidal_encoding(stop, self.d_model)
        return x + encoding[start:stop].to(x)
        ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Words of shape (2, 3, 4) come in. Which of these axes counts the positions, and what is the shape of the table that
#    you add?
# 2. The last axis but one counts the positions, whatever stands before it. A table with a row for each word lines up with
#    every sentence by itself. Adding it is all that happens: no factor, no dropout, nothing joined on.
# 3. Make the table in `__init__`. In `forward`, find the number of words by `x.shape[-2]`, not by an axis counted from
#    the front, and add that many rows.

# %% check="add" points=2
check("add")

# %% check="lengths" points=2
check("lengths")

# %% [markdown] tags=["hints"]
# 1. Three positions are ready, and a sentence of seven words comes. What should be added to its fifth word, and where can
#    you get that?
# 2. The formula has a value for every position, whether it is in your table or not. `max_length` only says what to have
#    ready; what a call needs is decided by the position of its *last* word, and that depends on `start` too.
# 3. If the table ends before that position, make a longer one with `sinusoidal_encoding` for this call. Either way, cut
#    out exactly the rows of these words, and leave the encodings as the formula gives them: not repeated, not stretched.

# %% check="start" points=1
check("start")

# %% [markdown] tags=["hints"]
# 1. Three words begin at position 4. Which rows of the table are theirs?
# 2. The rows 4, 5 and 6. All three words get a position: `start` says where the sentence stands, and leaves no word out.
# 3. Both ends of your slice depend on `start`. It begins there, and ends as many rows later as `x` has words.

# %% check="dtype" points=1
check("dtype")

# %% [markdown] tags=["hints"]
# 1. Can the number 2049 be written in `float16`? And what does it mean for position 2049 if positions are counted in 16 bits?
# 2. Compute the encodings as exactly as before, whatever the words are, and round once: when they are about to be added.
# 3. `tensor.to(other)` gives a tensor the dtype *and* the device of another one.

# %% check="training" points=1
check("training")

# %% [markdown] tags=["hints"]
# 1. What does a module train: every tensor that it keeps, or those of one kind?
# 2. A parameter is trained, a buffer only moves along. And `x` belongs to whoever called: does your code write into it?
# 3. Keep the table by `self.register_buffer`. Add with `+`, since `+=` changes the words that you were handed; and
#    nothing here needs `no_grad` or `detach`.

# %% [markdown]
# ## A learned table
#
# `LearnedPositions(length, d_model)` adds positions too, but their vectors are learned: one for each of `length` positions,
# trained like any other weight. Here every sentence begins at position 0.
#
# * Sentences may be shorter than `length`. A longer one is refused with an `IndexError` or a `ValueError`,
#   since there is no vector for its last words. Example: `LearnedPositions(3, 2)` refuses four words.
# * `*batch` stands for any axes before the last two, also none. A gradient goes back to `x`.
# * A module that `module.double()` has turned to 64 bits takes words of 64 bits, and gives as many back. One that is moved to another device,
#   as by `module.to("cuda")`, works on words that lie there.
#
# `set_table` tells the checks where your module keeps its vectors. As it stands it takes them to be one parameter
# called `table`; if you keep them in another way, change it along.


# %% answer="learned"
class LearnedPositions(nn.Module):
    """Adds to each word a vector that was learned for its position."""

    def __init__(self, length: int, d_model: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.table = nn.Parameter(torch.randn(length, d_model))
        ### END SOLUTION

    def forward(self, x: Float[Tensor, "*batch tokens d_model"]) -> Float[Tensor, "*batch tokens d_model"]:
        """Return each word with its position; raises ValueError where there are more words than positions."""
        ### BEGIN SOLUTION
        tokens, length = x.shape[-2], len(self.table)
        if tokens > length:
            raise ValueError(f"a sentence of {tokens} words, but only {length} positions were learned")
        return x + self.table[:tokens]
        ### END SOLUTION


def set_table(positions: LearnedPositions, table: Float[Tensor, "length d_model"]) -> None:
    """Write the vectors of all positions to where `positions` keeps its own."""
    with torch.no_grad():
        positions.table.copy_(table)


# %% [markdown] tags=["hints"]
# 1. The table has five positions, and a sentence of three words comes. Which rows are added to it, and what else happens
#    to the words?
# 2. In every sentence word 0 gets row 0 and word 1 gets row 1; rows that are left over wait for longer sentences.
#    Nothing else happens: the words are not replaced, not scaled, and not cut off from what made them.
# 3. Take as many rows as the last axis but one of `x` is long. Add them with `+`, for `+=` writes into the caller's
#    words; broadcasting does the rest, so no axes need to be folded.

# %% check="learned" points=1
check("learned")

# %% check="learned_trains" points=1
check("learned_trains")

# %% [markdown] tags=["hints"]
# 1. For 5 positions of width 3, how many numbers should `positions.parameters()` hold, and how many does it hold in yours?
# 2. All 15 of them, as one `nn.Parameter` or as the weight of an `nn.Embedding`. A buffer moves along with the module,
#    but no optimiser hears of it. In a sentence as long as the table, every row is used and gets its gradient.
# 3. Assign the parameter in `__init__`, and use it in `forward` without `.data` or `detach`. Do you refuse a sentence
#    that fills the table exactly? It isn't too long.

# %% check="learned_refuses" points=1
check("learned_refuses")

# %% [markdown] tags=["hints"]
# 1. What does `table[:4]` give if the table has three rows, and what does torch make of four words plus a table of
#    *one* row?
# 2. The slice has three rows and doesn't complain, and a single row is added to all four words. You can't rely on torch
#    to notice, so ask for yourself whether each word has a position.
# 3. Compare the number of words with the number of rows before you add. If there are too many words, raise a
#    `ValueError` that names both numbers; an `assert` would raise something else.

# %% check="device" points=1
check("device")

# %% [markdown] tags=["hints"]
# 1. The words are on a GPU, and both modules were moved there. Where does each of your tables lie, and where a table that is made during
#    the call?
# 2. A module that is moved takes its parameters and buffers along, not a tensor that it merely keeps in an attribute. What
#    `torch.arange` or your own function makes lies on the CPU, unless somebody moves it.
# 3. Keep the table with `self.register_buffer`, and move what you add by `.to(x)`. `torch.arange` takes `device=x.device`.
