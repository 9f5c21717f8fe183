# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: Patches (optional)
#     chapter: vision
#     difficulty: medium
#     minutes: 60
#     forbidden: []
# ---

# %% [markdown]
# # Patches
#
# Attention reads tokens, and a picture has none until somebody cuts it up. The Vision Transformer (Dosovitskiy and others, *An image is
# worth 16x16 words*, 2021) cuts it into squares, turns each of them into a token by one matrix, sets a class token in front and
# adds a learned position to every token. For a picture of another size it stretches the table of positions. You write these steps for
# batches of colour pictures; the chapter *vision* works them by hand for a single grey one.
#
# This exercise is optional: no other one needs it.
#
# Write your answer where `not answered yet` stands, run the cell, then run the check below it.
# Where you are stuck, `hint("cut")` opens the first of three hints for that check. Hints cost nothing.
# Inside an answer you may write as you like; the names and what they take and return are fixed.
# Only the answer cells are handed in, so keep your helpers in them.
# What your functions and your module are given may lie in memory in any order, as it does after `transpose`, and they leave it as it was.
# What they make lies on the device of what they are given, which need not be the CPU. The check `device`, the last one, needs no GPU.

# %%
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from check import check, hint

# %% [markdown]
# ## From a picture to patches
#
# `cut` cuts every picture of a batch into patches of `size` by `size` pixels, and returns a row of numbers for each patch.
#
# * Patches come in reading order: the first row of patches from left to right, then the second.
# * Inside a patch, the numbers come channel by channel (all of the first colour, then all of the second), and within a channel row by
#   row. Example: the second drawing has two channels, and with `size` 2 its first patch is $(0, 1, 4, 5, 8, 9, 12, 13)$.
# * A picture need not be square. If `size` does not divide its height, or its width, a `ValueError` is raised.
# * The numbers are moved and not changed: 16, 32 and 64 bits stay what they are, and a gradient goes back to `images`.
#
# ```shapes
# one channel [4 height, 6 width] {0 1 2 3 4 5 / 6 7 8 9 10 11 / 12 13 14 15 16 17 / 18 19 20 21 22 23} -cut-> patches [6 patches, 4 numbers] {0 1 6 7 / 2 3 8 9 / 4 5 10 11 / 12 13 18 19 / 14 15 20 21 / 16 17 22 23}
# two channels [2 channels, 2 height, 4 width] {0 1 2 3 / 4 5 6 7 / 8 9 10 11 / 12 13 14 15} -cut-> patches [2 patches, 8 numbers] {0 1 4 5 8 9 12 13 / 2 3 6 7 10 11 14 15}
# ```


# %% answer="cut"
def cut(
    images: Float[Tensor, "batch channels height width"],
    size: int,
) -> Float[Tensor, "batch patches numbers"]:
    """Return the patches of each picture; raises ValueError where they don't come out even."""
    ### BEGIN SOLUTION
    height, width = images.shape[2:]
    if height % size or width % size:
        raise ValueError(f"a picture of {height} by {width} pixels can't be cut into patches of {size} by {size}")
    squares = images.unflatten(3, (-1, size)).unflatten(2, (-1, size))
    # As they lie: channel, patch row, row, patch column, column. What says which patch it is has to come first.
    return squares.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. In the first drawing above, pixel 14 stands in row 2 and column 2. In which row of patches is that, and which row inside its patch?
# 2. Give each pixel four coordinates in place of two: patch row, row inside, patch column, column inside. Two of them say which
#    patch it is, and the other two where in the patch it stands.
# 3. `unflatten` or `reshape` splits the height into patch rows and rows inside, and the width in the same way. `permute` brings both
#    patch axes before the channel and the two inner axes. Only then may axes be joined, by `flatten` or `reshape`.

# %% check="cut" points=2
check("cut")

# %% check="colours" points=1
check("colours")

# %% [markdown] tags=["hints"]
# 1. A picture with three channels has patches of 2 by 2. How many numbers has a patch, and whose are the first four?
# 2. All channels of a place go into the same patch, so there are as many patches as in a grey picture. Inside a patch the channel is
#    the slowest of the three axes: rows and columns run through before it moves on.
# 3. Before you join axes, put them in this order: batch, patch row, patch column, channel, row inside, column inside. The last three
#    make one axis, and the two before them another one.

# %% check="uneven" points=1
check("uneven")

# %% [markdown] tags=["hints"]
# 1. A picture is 5 pixels high and the patches are 2 by 2. What should become of the last row of pixels?
# 2. There is no good answer, and a caller should hear so, rather than lose pixels or read an error about axes.
#    Height and width can each fail by themselves.
# 3. The remainder (`%`) of the height by `size` is 0 where it divides, and so is that of the width. If either is not, raise a
#    `ValueError` before you begin to cut.

# %% [markdown]
# ## And back
#
# `paste` puts patches together again: `paste(cut(images, size), size, grid)` is `images`.
#
# * `grid` says how many rows and how many columns of patches a picture has. Example: the first drawing above shows a grid of `(2, 3)`.
# * The number of channels is not given: it follows from how many numbers a patch has.
# * Here too, numbers of 16, 32 or 64 bits are moved and not changed, and a gradient goes back to `patches`.
#
# The check `paste` hands over patches that were cut as they should be, so it doesn't mind what your own `cut` does.


# %% answer="paste"
def paste(
    patches: Float[Tensor, "batch patches numbers"],
    size: int,
    grid: tuple[int, int],
) -> Float[Tensor, "batch channels height width"]:
    """Return the pictures that were cut into these patches; `grid` is (rows, columns)."""
    ### BEGIN SOLUTION
    squares = patches.unflatten(2, (-1, size, size)).unflatten(1, grid)
    return squares.permute(0, 3, 1, 4, 2, 5).flatten(4).flatten(2, 3)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Six patches of a grid of `(2, 3)` hold 12 numbers each, and `size` is 2. How many channels are there, and how high and how wide
#    is the picture?
# 2. Go backwards through `cut`: split each axis that was joined, put the six axes back in the order in which a picture has them,
#    then join again. Rows of patches and rows inside a patch make the height together.
# 3. `unflatten` makes `grid` of the patches, and channel, row and column of the numbers. The axes have to become batch, channel, patch
#    row, row inside, patch column, column inside: that is where `permute` puts them, before the last four are joined two by two.

# %% check="paste" points=2
check("paste")

# %% [markdown]
# ## Positions for another size
#
# A table of positions has a row for the class token and then one for each patch of a grid, in reading order. Each of its columns is
# therefore a small picture, with one pixel for each patch, and `stretch` brings all of them to another grid by **bilinear
# interpolation**.
#
# * A patch stands at its centre, and both grids cover the same area: the centres of two patches side by side lie at 1/4 and 3/4 of the
#   width, those of four at 1/8, 3/8, 5/8 and 7/8. PyTorch calls this `align_corners=False`.
# * Between two old centres, a new position is a weighted mean of both: it lies on the straight line from one to the other. Beyond the
#   outermost centre, that one counts alone. Example: positions of $0$ and $8$ side by side become $0$, $2$, $6$ and $8$.
# * It is the same along the other axis, and where the new grid is smaller: old places further away take no part
#   (`antialias=False`).
# * The row of the class token stays first and stays as it is.
# * For the same grid nothing changes. Grids need not be square, and two different grids may have equally many patches.
# * The result has the dtype of `positions`, which is of 32 or 64 bits. A gradient goes back to `positions`, and the table itself stays
#   as it was.
#
# `torch.nn.functional.interpolate` may do the work.
#
# ```shapes
# positions [3 tokens, 1 d_model] {9 / 0 / 8} -(1, 2) becomes (1, 4)-> stretched [5 tokens, 1 d_model] {9 / 0 / 2 / 6 / 8}
# ```


# %% answer="stretch"
def stretch(
    positions: Float[Tensor, "tokens d_model"],
    old_grid: tuple[int, int],
    new_grid: tuple[int, int],
) -> Float[Tensor, "new_tokens d_model"]:
    """Return the positions for another grid, the class token's first; a grid is (rows, columns)."""
    ### BEGIN SOLUTION
    first, places = positions[:1], positions[1:]
    picture = places.T.unflatten(1, old_grid)
    larger = F.interpolate(picture[None], new_grid, mode="bilinear", align_corners=False)
    return torch.cat([first, larger[0].flatten(1).T])
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Of a table with 7 rows and `d_model` 5, for a grid of `(2, 3)`: which rows make a picture, how high and how wide is it, and how many
#    channels has it?
# 2. Without the first row there are six, one for each patch, and five channels. `F.interpolate` wants a batch first, then channels, then
#    height and width, so the rows of the table have to become the last axes before they are split by the grid.
# 3. Transpose before you split by `old_grid`; `F.interpolate` takes `new_grid` as it is, with `mode="bilinear"`. Then go the same way
#    back: join, transpose, and set the first row in front by `torch.cat`.

# %% check="stretch" points=2
check("stretch")

# %% check="first_row" points=1
check("first_row")

# %% [markdown] tags=["hints"]
# 1. A table for a grid of `(2, 3)` is stretched to `(4, 6)`. How many rows has it before, and how many afterwards?
# 2. It has 7 and then 25. The class token has no place in the picture, so its row takes no part in the interpolation.
# 3. Take the first row off with a slice, so that it keeps its two axes, and put the very same row in front of what you have made of the
#    others.

# %% [markdown]
# ## The module
#
# `PatchEmbedding(channels, size, d_model, grid)` turns each picture into the tokens that an encoder reads.
#
# * A linear layer with a bias turns each patch into a row of `d_model` numbers. In front of these rows stands the class token, a learned
#   row that is the same for every picture.
# * A learned table of positions is added, a row for each token, the class token among them.
#   Example: with `grid` `(2, 3)`, pictures have 7 tokens and the table 7 rows. (The small model of the chapter gives its class token no
#   position. The published one does, and so do you.)
# * `grid` is that of the pictures which the module is trained with. Other sizes may come too, one after the other: then positions are
#   stretched from `grid` to the grid of these pictures, for this call only. Height and width are always multiples of `size`.
# * Nothing else happens to the tokens.
# * Everything in it learns, from pictures of other sizes too: $\text{channels} \cdot \text{size}^2 \cdot d_{\text{model}} + d_{\text{model}}$ numbers for the patches,
#   $d_{\text{model}}$ for the class token, and $d_{\text{model}}$ for each position. They may begin with
#   any values. A gradient also goes back to `images`.
# * A module that `module.double()` has turned to 64 bits turns pictures of 64 bits into tokens of 64 bits. One that is moved to another device, as by
#   `module.to("cuda")`, works on pictures that lie there.
#
# `set_weights` tells the checks where your module keeps what it learns. As it stands, it expects a linear layer called `linear` and two
# parameters called `class_token` and `positions`; if you keep them in another way, change it along.
#
# ```shapes
# class token [1 token, 2 d_model] {5 5} , embedded patches [2 tokens, 2 d_model] {1 2 / 3 4} -> tokens [3 tokens, 2 d_model] {5 5 / 1 2 / 3 4}
# tokens [3 tokens, 2 d_model] {5 5 / 1 2 / 3 4} + positions [3 tokens, 2 d_model] {1 0 / 0 1 / 0 2} = output [3 tokens, 2 d_model] {6 5 / 1 3 / 3 6}
# ```


# %% answer="module"
class PatchEmbedding(nn.Module):
    """Turns pictures into tokens: patches, a class token in front, and a position for each."""

    def __init__(self, channels: int, size: int, d_model: int, grid: tuple[int, int]):
        super().__init__()
        ### BEGIN SOLUTION
        self.size, self.grid = size, grid
        self.linear = nn.Linear(channels * size * size, d_model)
        self.class_token = nn.Parameter(torch.randn(d_model))
        self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))
        ### END SOLUTION

    def forward(self, images: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch tokens d_model"]:
        """Return the tokens of each picture, the class token first."""
        ### BEGIN SOLUTION
        rows, columns = images.shape[2] // self.size, images.shape[3] // self.size
        patches = self.linear(cut(images, self.size))
        first = self.class_token.expand(len(images), 1, -1)
        return torch.cat([first, patches], dim=1) + stretch(self.positions, self.grid, (rows, columns))
        ### END SOLUTION


def set_weights(
    embedding: PatchEmbedding,
    w_patch: Float[Tensor, "numbers d_model"],
    b_patch: Float[Tensor, "d_model"],
    class_token: Float[Tensor, "d_model"],
    positions: Float[Tensor, "tokens d_model"],
) -> None:
    """Write the matrix (used as `patches @ w_patch`) and all else to where `embedding` keeps its own."""
    with torch.no_grad():
        embedding.linear.weight.copy_(w_patch.T)
        embedding.linear.bias.copy_(b_patch)
        embedding.class_token.copy_(class_token)
        embedding.positions.copy_(positions)


# %% check="embed" points=2
check("embed")

# %% [markdown] tags=["hints"]
# 1. Class token and positions are zeros, and a picture has six patches. How many tokens come out, and what are the last six?
# 2. They are what the linear layer makes of the patches, in the order in which `cut` returns them: a product with a matrix and a
#    bias, no bend after it and no factor.
# 3. `nn.Linear` works on the last axis, whatever comes before, so it takes what `cut` returns. How many numbers go in depends on
#    `channels` and `size`.

# %% check="class_token" points=1
check("class_token")

# %% [markdown] tags=["hints"]
# 1. Two pictures go in. At which place does the class token of the second one stand, and what does it hold?
# 2. Every picture gets the same row, as the first of its tokens. There is one parameter for all of them, however many come in a batch.
# 3. `expand` shows one row to a whole batch without copying it. It needs the shape (batch, 1, d_model) before `torch.cat` can set it
#    in front of the patches; the tokens are axis 1.

# %% check="positions" points=2
check("positions")

# %% [markdown] tags=["hints"]
# 1. A picture has six patches. How many tokens does it have, and which of them gets the first row of the table?
# 2. The class token gets the first row and the first patch the second one. Every picture of a batch gets the same table.
# 3. Add the table after the class token has been set in front: shapes (batch, tokens, d_model) and (tokens, d_model) line up from the right
#    by themselves.

# %% check="sizes" points=2
check("sizes")

# %% [markdown] tags=["hints"]
# 1. The module was made for a grid of `(2, 3)`, and pictures come that are 3 patches high and 2 wide. Do they have as many tokens, and
#    do their patches stand at the same places?
# 2. The grid of a picture is its height and its width, each divided by `size`. It is found anew in every call; what the module learnt stays
#    a table for the `grid` that it was made with. If the check `stretch` fails too, begin there.
# 3. Call `stretch` with your own positions, with the `grid` from `__init__`, and with rows and columns of these pictures. For the same
#    grid it changes nothing, so no question need be asked before. Keep what comes back in a local name only.

# %% check="trains" points=1
check("trains")

# %% [markdown] tags=["hints"]
# 1. With one channel, `size` 2, `d_model` 3 and a grid of `(1, 2)`, how many numbers should `module.parameters()` hold?
# 2. It should hold 12 for the matrix, 3 for its bias, 3 for the class token and 9 for the positions. A tensor that is merely an attribute
#    is no parameter, and a buffer is none either.
# 3. Assign an `nn.Parameter` for each in `__init__`, and use them in `forward` without `.data`, `detach` or `no_grad`, in `stretch` too.
#    `torch.tensor(...)` of a parameter makes a copy that has forgotten where it came from.

# %% check="device" points=1
check("device")

# %% [markdown] tags=["hints"]
# 1. The module was moved to a GPU, and the pictures lie there. Where does your class token lie?
# 2. Parameters move along with a module, a tensor in a plain attribute doesn't. And what `torch.zeros`, `torch.empty` or `torch.arange`
#    makes lies on the CPU unless told otherwise.
# 3. Make such tensors with `device=images.device`, or of a tensor that is there already, by `new_zeros` or `empty_like`.
