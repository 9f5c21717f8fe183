"""Wrong answers that people write. Parsed, never imported; see autograder/exercise/known.py."""
import torch
from torch import nn
from torch.nn import functional as F


class strips_by_view:
    """All axes were cut anew by one reshape, so a patch holds pixels that lie one after the other in a row."""

    fails = ["cut", "colours", "embed"]
    hint = "A reshape keeps the reading order. Are pixels 1 and 6 neighbours in it, where a row has six of them?"

    def cut(images, size):
        if images.shape[2] % size or images.shape[3] % size:
            raise ValueError("the picture is not a whole number of patches")
        batch, channels, height, width = images.shape
        return images.reshape(batch, -1, channels * size * size)


class axes_split_in_the_order_of_the_result:
    """Height and width were split into patch rows, patch columns, rows and columns, as the result has them and the picture does not, so each patch is a strip of one row."""

    fails = ["cut", "embed"]
    hint = "Height splits into two axes that stay side by side, and so does width. In which order do the four axes of yours lie in the picture?"

    def cut(images, size):
        if images.shape[2] % size or images.shape[3] % size:
            raise ValueError("the picture is not a whole number of patches")
        batch, channels, height, width = images.shape
        squares = images.reshape(batch, channels, height // size, width // size, size, size)
        return squares.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)


class patches_by_columns:
    """The patches were numbered from top to bottom, column by column."""

    fails = ["cut", "embed"]
    hint = "Reading goes along a row first. Which of the two patch axes must come last, so that it runs faster?"

    def cut(images, size):
        if images.shape[2] % size or images.shape[3] % size:
            raise ValueError("the picture is not a whole number of patches")
        batch, channels, height, width = images.shape
        squares = images.reshape(batch, channels, height // size, size, width // size, size)
        return squares.permute(0, 4, 2, 1, 3, 5).flatten(3).flatten(1, 2)


class pixels_by_columns:
    """Inside each patch the numbers come column by column."""

    fails = ["cut", "embed"]
    hint = "The first patch should begin with 0 and 1, which stand side by side. Which inner axis runs faster in yours?"

    def cut(images, size):
        if images.shape[2] % size or images.shape[3] % size:
            raise ValueError("the picture is not a whole number of patches")
        batch, channels, height, width = images.shape
        squares = images.reshape(batch, channels, height // size, size, width // size, size)
        return squares.permute(0, 2, 4, 1, 5, 3).flatten(3).flatten(1, 2)


class picture_transposed:
    """Height and width changed places, so that patches and the pixels inside them are read by columns."""

    fails = ["cut", "embed"]
    hint = "Is the second patch the one to the right of the first, or the one below it?"

    def cut(images, size):
        if images.shape[2] % size or images.shape[3] % size:
            raise ValueError("the picture is not a whole number of patches")
        batch, channels, height, width = images.shape
        turned = images.transpose(2, 3)
        squares = turned.reshape(batch, channels, width // size, size, height // size, size)
        return squares.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


class height_and_width_exchanged:
    """Height was taken for width and width for height, which is noticed where a picture is not square."""

    fails = ["cut", "embed"]
    hint = "Which axis of `images` is the height: the last one, or the last but one?"

    def cut(images, size):
        if images.shape[2] % size or images.shape[3] % size:
            raise ValueError("the picture is not a whole number of patches")
        batch, channels, height, width = images.shape
        squares = images.reshape(batch, channels, width // size, size, height // size, size)
        return squares.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


class colours_of_each_pixel_together:
    """Inside a patch the channels of each pixel stand together, the fastest axis of the three."""

    fails = ["colours", "embed"]
    hint = "Here all of the first channel comes first. Which of the three inner axes has to come before the other two?"

    def cut(images, size):
        if images.shape[2] % size or images.shape[3] % size:
            raise ValueError("the picture is not a whole number of patches")
        batch, channels, height, width = images.shape
        squares = images.reshape(batch, channels, height // size, size, width // size, size)
        return squares.permute(0, 2, 4, 3, 5, 1).flatten(3).flatten(1, 2)


class colours_row_by_row:
    """Inside a patch every row has all its channels before the next row begins."""

    fails = ["colours", "embed"]
    hint = "A patch holds channel, row and column. Which of them moves on last, and which in yours?"

    def cut(images, size):
        if images.shape[2] % size or images.shape[3] % size:
            raise ValueError("the picture is not a whole number of patches")
        batch, channels, height, width = images.shape
        squares = images.reshape(batch, channels, height // size, size, width // size, size)
        return squares.permute(0, 2, 4, 3, 1, 5).flatten(3).flatten(1, 2)


class a_patch_for_each_colour:
    """Each channel made patches of its own, so there are too many of them."""

    fails = ["colours", "embed", "trains"]
    hint = "A patch is a piece of the picture, with all its colours. How many numbers has one of 2 by 2 in three channels?"

    def cut(images, size):
        if images.shape[2] % size or images.shape[3] % size:
            raise ValueError("the picture is not a whole number of patches")
        batch, channels, height, width = images.shape
        squares = images.reshape(batch, channels, height // size, size, width // size, size)
        return squares.permute(0, 1, 2, 4, 3, 5).reshape(batch, -1, size * size)


class colours_averaged:
    """The channels were averaged, so that every patch is grey."""

    fails = ["colours", "embed", "trains"]
    hint = "How many numbers has a patch of 2 by 2 pixels in three channels, if none is thrown away?"

    def cut(images, size):
        if images.shape[2] % size or images.shape[3] % size:
            raise ValueError("the picture is not a whole number of patches")
        batch, channels, height, width = images.shape
        grey = images.mean(dim=1)
        squares = grey.reshape(batch, height // size, size, width // size, size)
        return squares.transpose(2, 3).reshape(batch, -1, size * size)


class numbers_before_patches:
    """The last two axes are exchanged: a row for each number of a patch, a column for each patch."""

    fails = ["cut", "colours", "embed", "class_token", "positions", "sizes", "trains", "device"]
    hint = "`F.unfold` returns (batch, numbers, patches). Which of the last two axes should a token be?"

    def cut(images, size):
        if images.shape[2] % size or images.shape[3] % size:
            raise ValueError("the picture is not a whole number of patches")
        batch, channels, height, width = images.shape
        return F.unfold(images, size, stride=size)


class patches_before_pictures:
    """The patches were stacked in front of the batch."""

    fails = ["cut", "colours", "embed", "class_token", "positions", "sizes", "trains", "device"]
    hint = "Which axis does `torch.stack` make when it is not told where?"

    def cut(images, size):
        if images.shape[2] % size or images.shape[3] % size:
            raise ValueError("the picture is not a whole number of patches")
        batch, channels, height, width = images.shape
        pieces = [images[:, :, top : top + size, left : left + size].flatten(1) for top in range(0, height, size) for left in range(0, width, size)]
        return torch.stack(pieces)


class overlapping_windows:
    """A window was moved on by one pixel at a time, so patches overlap."""

    fails = ["cut", "colours", "embed", "class_token", "positions", "sizes", "trains", "device"]
    hint = "After the first patch, how many pixels to the right does the second begin?"

    def cut(images, size):
        if images.shape[2] % size or images.shape[3] % size:
            raise ValueError("the picture is not a whole number of patches")
        batch, channels, height, width = images.shape
        return F.unfold(images, size).transpose(1, 2)


class size_taken_for_a_count:
    """`size` was taken for how many patches there are along an edge, where it is how many pixels a patch has."""

    fails = ["cut", "colours", "embed", "class_token", "positions", "sizes", "trains", "device"]
    hint = "A picture is 6 pixels wide and `size` is 2. How many patches stand side by side?"

    def cut(images, size):
        if images.shape[2] % size or images.shape[3] % size:
            raise ValueError("the picture is not a whole number of patches")
        batch, channels, height, width = images.shape
        squares = images.reshape(batch, channels, size, height // size, size, width // size)
        return squares.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


class patches_left_as_squares:
    """The patches kept their axes, channel, row and column, where each is to be one row of numbers."""

    fails = ["cut", "colours", "embed", "class_token", "positions", "sizes", "trains", "device"]
    hint = "A linear layer reads the last axis. How many numbers of a patch lie on it in yours?"

    def cut(images, size):
        if images.shape[2] % size or images.shape[3] % size:
            raise ValueError("the picture is not a whole number of patches")
        batch, channels, height, width = images.shape
        squares = images.reshape(batch, channels, height // size, size, width // size, size)
        return squares.permute(0, 2, 4, 1, 3, 5).flatten(1, 2)


class pictures_folded_into_the_patches:
    """The patches of all pictures lie on one axis, and nobody knows whose is whose."""

    fails = ["cut", "colours", "embed", "class_token", "positions", "sizes", "trains", "device"]
    hint = "Two pictures have six patches each. What shape has a batch of them?"

    def cut(images, size):
        if images.shape[2] % size or images.shape[3] % size:
            raise ValueError("the picture is not a whole number of patches")
        batch, channels, height, width = images.shape
        squares = images.reshape(batch, channels, height // size, size, width // size, size)
        return squares.permute(0, 2, 4, 1, 3, 5).reshape(-1, channels * size * size)


class cut_by_view:
    """Pictures and channels were made one axis by `view`, which refuses pictures that were transposed."""

    fails = ["cut", "embed"]
    hint = "`view` moves no number. What do `reshape` and `unflatten` do where the numbers don't lie in the order of the axes?"

    def cut(images, size):
        if images.shape[2] % size or images.shape[3] % size:
            raise ValueError("the picture is not a whole number of patches")
        batch, channels, height, width = images.shape
        squares = images.view(batch * channels, height // size, size, width // size, size)
        patches = squares.transpose(2, 3).reshape(batch, channels, -1, size * size)
        return patches.transpose(1, 2).flatten(2)


class pixels_scaled:
    """The pixels were divided by 255 on the way."""

    fails = ["cut", "colours", "embed"]
    hint = "Nothing says that these numbers are bytes. What may a cut do to a number, other than move it?"

    def cut(images, size):
        if images.shape[2] % size or images.shape[3] % size:
            raise ValueError("the picture is not a whole number of patches")
        batch, channels, height, width = images.shape
        squares = (images / 255).reshape(batch, channels, height // size, size, width // size, size)
        return squares.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


class pixels_centred_where_they_lie:
    """The mean was taken off the pixels where they lie, in the caller's own picture."""

    fails = ["cut", "colours", "embed", "trains"]
    hint = "Who asked for other numbers, and whose picture has them now?"

    def cut(images, size):
        if images.shape[2] % size or images.shape[3] % size:
            raise ValueError("the picture is not a whole number of patches")
        batch, channels, height, width = images.shape
        images -= images.mean()
        squares = images.reshape(batch, channels, height // size, size, width // size, size)
        return squares.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


class patches_in_32_bits:
    """The patches were written into a table of 32 bits, whatever the pictures have."""

    fails = ["cut", "embed"]
    hint = "Which dtype has `torch.empty` when nobody says one? Digits that are lost do not come back."

    def cut(images, size):
        if images.shape[2] % size or images.shape[3] % size:
            raise ValueError("the picture is not a whole number of patches")
        batch, channels, height, width = images.shape
        patches = torch.empty(batch, height // size * (width // size), channels * size * size, device=images.device)
        for number in range(patches.shape[1]):
            top, left = number // (width // size) * size, number % (width // size) * size
            patches[:, number] = images[:, :, top : top + size, left : left + size].flatten(1)
        return patches


class patches_off_the_graph:
    """The patches were made of the bare numbers, and no gradient finds the pictures."""

    fails = ["cut", "trains"]
    hint = "`detach`, `data` and `numpy` leave the graph behind. What if the picture is made by something that learns?"

    def cut(images, size):
        if images.shape[2] % size or images.shape[3] % size:
            raise ValueError("the picture is not a whole number of patches")
        batch, channels, height, width = images.shape
        squares = images.detach().reshape(batch, channels, height // size, size, width // size, size)
        return squares.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


class patches_written_on_the_cpu:
    """The patches were written into a table that was made on the CPU."""

    fails = ["device"]
    hint = "Writing into a tensor does not move it. What does `images.new_empty` know that `torch.empty` does not?"

    def cut(images, size):
        if images.shape[2] % size or images.shape[3] % size:
            raise ValueError("the picture is not a whole number of patches")
        batch, channels, height, width = images.shape
        patches = torch.empty(batch, height // size * (width // size), channels * size * size, dtype=images.dtype)
        for number in range(patches.shape[1]):
            top, left = number // (width // size) * size, number % (width // size) * size
            patches[:, number] = images[:, :, top : top + size, left : left + size].flatten(1)
        return patches


class uneven_cropped:
    """What does not fill a patch was left out, without a word."""

    fails = ["uneven"]
    hint = "The last row of pixels is gone. How would a caller find out?"

    def cut(images, size):
        batch, channels, height, width = images.shape
        return F.unfold(images, size, stride=size).transpose(1, 2)


class uneven_padded:
    """What does not fill a patch was filled up with zeros."""

    fails = ["uneven"]
    hint = "The picture has grown. Did anybody ask for that?"

    def cut(images, size):
        batch, channels, height, width = images.shape
        images = F.pad(images, (0, -width % size, 0, -height % size))
        return F.unfold(images, size, stride=size).transpose(1, 2)


class uneven_left_to_torch:
    """An uneven picture was left for PyTorch to refuse, with an error about shapes."""

    fails = ["uneven"]
    hint = "Which error does `reshape` raise, and which is asked for? What would a caller like to read?"

    def cut(images, size):
        batch, channels, height, width = images.shape
        squares = images.reshape(batch, channels, height // size, size, width // size, size)
        return squares.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


class uneven_asserted:
    """An uneven picture was refused by `assert`, which is an AssertionError."""

    fails = ["uneven"]
    hint = "Which error is raised by `assert`, and which one is promised?"

    def cut(images, size):
        batch, channels, height, width = images.shape
        assert height % size == 0 and width % size == 0
        squares = images.reshape(batch, channels, height // size, size, width // size, size)
        return squares.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


class only_height_asked:
    """Only the height was looked at; a width that does not come out even is cropped."""

    fails = ["uneven"]
    hint = "A picture is 4 pixels high and 5 wide. Which remainder did you ask for?"

    def cut(images, size):
        batch, channels, height, width = images.shape
        if height % size:
            raise ValueError('uneven')
        return F.unfold(images, size, stride=size).transpose(1, 2)


class only_width_asked:
    """Only the width was looked at; a height that does not come out even is cropped."""

    fails = ["uneven"]
    hint = "A picture is 5 pixels high and 4 wide. Which remainder did you ask for?"

    def cut(images, size):
        batch, channels, height, width = images.shape
        if width % size:
            raise ValueError('uneven')
        return F.unfold(images, size, stride=size).transpose(1, 2)


class only_both_refused:
    """A picture was refused only where neither height nor width comes out even."""

    fails = ["uneven"]
    hint = "Which word stands between your two questions: `and`, or `or`?"

    def cut(images, size):
        batch, channels, height, width = images.shape
        if height % size and width % size:
            raise ValueError('uneven')
        return F.unfold(images, size, stride=size).transpose(1, 2)


class area_asked:
    """The number of pixels was divided by that of a patch, which may come out even where height and width do not."""

    fails = ["uneven"]
    hint = "A picture of 2 by 8 pixels has 16 of them, and so has a patch of 4 by 4. Does it fit?"

    def cut(images, size):
        batch, channels, height, width = images.shape
        if height * width % (size * size):
            raise ValueError('uneven')
        return F.unfold(images, size, stride=size).transpose(1, 2)


class pasted_by_reshape:
    """The patches were read on one after the other by a reshape, so that each fills a strip."""

    fails = ["paste"]
    hint = "The numbers 6 and 7 of the first patch stand below 0 and 1. Where does a reshape put them?"

    def paste(patches, size, grid):
        (batch, number, _), (rows, columns) = patches.shape, grid
        return patches.reshape(batch, -1, rows * size, columns * size)


class pasted_without_their_rows_between:
    """Rows and columns of patches were put before rows and columns inside, and joined like that."""

    fails = ["paste"]
    hint = "The height is made of patch rows and of rows inside. Do these two stand side by side when you join them?"

    def paste(patches, size, grid):
        (batch, number, _), (rows, columns) = patches.shape, grid
        squares = patches.reshape(batch, rows, columns, -1, size, size)
        return squares.permute(0, 3, 1, 2, 4, 5).reshape(batch, -1, rows * size, columns * size)


class pasted_by_columns:
    """The patches were laid from top to bottom, column by column."""

    fails = ["paste"]
    hint = "The second patch belongs to the right of the first. Which axis of the grid runs faster?"

    def paste(patches, size, grid):
        (batch, number, _), (rows, columns) = patches.shape, grid
        squares = patches.reshape(batch, columns, rows, -1, size, size)
        return squares.permute(0, 3, 2, 4, 1, 5).reshape(batch, -1, rows * size, columns * size)


class pasted_with_the_grid_exchanged:
    """The first number of the grid was taken for its columns, the second for its rows."""

    fails = ["paste"]
    hint = "`grid` is (rows, columns). How high is a picture of two rows of three patches?"

    def paste(patches, size, grid):
        (batch, number, _), (rows, columns) = patches.shape, grid
        squares = patches.reshape(batch, columns, rows, -1, size, size)
        return squares.permute(0, 3, 1, 4, 2, 5).reshape(batch, -1, columns * size, rows * size)


class pasted_with_pixels_by_columns:
    """The numbers of a patch were laid column by column."""

    fails = ["paste"]
    hint = "The numbers 0 and 1 begin the first patch. Do they stand side by side in the picture?"

    def paste(patches, size, grid):
        (batch, number, _), (rows, columns) = patches.shape, grid
        squares = patches.reshape(batch, rows, columns, -1, size, size)
        return squares.permute(0, 3, 1, 5, 2, 4).reshape(batch, -1, rows * size, columns * size)


class pasted_with_colours_last:
    """The numbers of a patch were taken to have the channels of each pixel together."""

    fails = ["paste"]
    hint = "The first four numbers of a patch of 2 by 2 belong to the same channel. Which of the inner axes is the slowest?"

    def paste(patches, size, grid):
        (batch, number, _), (rows, columns) = patches.shape, grid
        squares = patches.reshape(batch, rows, columns, size, size, -1)
        return squares.permute(0, 5, 1, 3, 2, 4).reshape(batch, -1, rows * size, columns * size)


class pasted_with_three_colours:
    """Three channels were taken for granted."""

    fails = ["paste", "device"]
    hint = "How many channels have patches of 2 by 2 with eight numbers?"

    def paste(patches, size, grid):
        (batch, number, _), (rows, columns) = patches.shape, grid
        squares = patches.reshape(batch, rows, columns, 3, size, size)
        return squares.permute(0, 3, 1, 4, 2, 5).reshape(batch, 3, rows * size, columns * size)


class pasted_into_a_square:
    """The grid was not read: the picture was taken for a square."""

    fails = ["paste"]
    hint = "Six patches make no square. Who says how many of them stand in a row?"

    def paste(patches, size, grid):
        (batch, number, _), (rows, columns) = patches.shape, grid
        rows = columns = int(number**0.5)
        squares = patches.reshape(batch, rows, columns, -1, size, size)
        return squares.permute(0, 3, 1, 4, 2, 5).reshape(batch, -1, rows * size, columns * size)


class pasted_with_colours_behind:
    """The channels came last in the picture, as other libraries have them."""

    fails = ["paste"]
    hint = "Which axis of `images` has the channels?"

    def paste(patches, size, grid):
        (batch, number, _), (rows, columns) = patches.shape, grid
        squares = patches.reshape(batch, rows, columns, -1, size, size)
        return squares.permute(0, 1, 4, 2, 5, 3).reshape(batch, rows * size, columns * size, -1)


class pasted_by_view:
    """The patches of all pictures were made one axis by `view`, which refuses those that were transposed."""

    fails = ["paste"]
    hint = "`view` moves no number. What do `reshape` and `unflatten` do where the numbers don't lie in the order of the axes?"

    def paste(patches, size, grid):
        (batch, number, _), (rows, columns) = patches.shape, grid
        squares = patches.view(batch * number, -1, size, size).reshape(batch, rows, columns, -1, size, size)
        return squares.permute(0, 3, 1, 4, 2, 5).reshape(batch, -1, rows * size, columns * size)


class pasted_in_32_bits:
    """The patches were written into a picture of 32 bits, whatever they have themselves."""

    fails = ["paste"]
    hint = "Which dtype has `torch.zeros` when nobody says one?"

    def paste(patches, size, grid):
        (batch, number, _), (rows, columns) = patches.shape, grid
        squares = patches.reshape(batch, number, -1, size, size)
        images = torch.zeros(batch, squares.shape[2], rows * size, columns * size, device=patches.device)
        for i in range(number):
            top, left = i // columns * size, i % columns * size
            images[:, :, top : top + size, left : left + size] = squares[:, i]
        return images


class pasted_off_the_graph:
    """The picture was made of the bare numbers, and no gradient finds the patches."""

    fails = ["paste"]
    hint = "`data` and `detach` leave the graph behind. How would something learn that draws a picture patch by patch?"

    def paste(patches, size, grid):
        (batch, number, _), (rows, columns) = patches.shape, grid
        squares = patches.data.reshape(batch, rows, columns, -1, size, size)
        return squares.permute(0, 3, 1, 4, 2, 5).reshape(batch, -1, rows * size, columns * size)


class pasted_on_the_cpu:
    """The picture was made on the CPU, wherever the patches lie."""

    fails = ["device"]
    hint = "Writing into a tensor does not move it. What does `patches.new_zeros` know that `torch.zeros` does not?"

    def paste(patches, size, grid):
        (batch, number, _), (rows, columns) = patches.shape, grid
        squares = patches.reshape(batch, number, -1, size, size)
        images = torch.zeros(batch, squares.shape[2], rows * size, columns * size, dtype=patches.dtype)
        for i in range(number):
            top, left = i // columns * size, i % columns * size
            images[:, :, top : top + size, left : left + size] = squares[:, i]
        return images


class corners_aligned:
    """The corners of both grids were laid on each other, where centres of patches should keep their places (`align_corners=True`)."""

    fails = ["stretch", "sizes"]
    hint = "Two places become four, and the two in the middle should be 2 and 6. Which thirds did you get?"

    def stretch(positions, old_grid, new_grid):
        picture = positions[1:].T.unflatten(1, old_grid)[None]
        larger = F.interpolate(picture, new_grid, mode="bilinear", align_corners=True)
        return torch.cat([positions[:1], larger[0].flatten(1).T])


class nearest_place_copied:
    """Each new place copied the nearest old one, as `interpolate` does when it is given no mode."""

    fails = ["stretch", "sizes"]
    hint = "Which mode does `F.interpolate` take by itself, and what is half-way between 0 and 4?"

    def stretch(positions, old_grid, new_grid):
        picture = positions[1:].T.unflatten(1, old_grid)[None]
        larger = F.interpolate(picture, new_grid)
        return torch.cat([positions[:1], larger[0].flatten(1).T])


class bicubic:
    """The interpolation was bicubic, as in some published models; here it is bilinear."""

    fails = ["stretch", "sizes"]
    hint = "Between 0 and 8, may a new position be less than 0? A weighted mean can't be."

    def stretch(positions, old_grid, new_grid):
        picture = positions[1:].T.unflatten(1, old_grid)[None]
        larger = F.interpolate(picture, new_grid, mode="bicubic", align_corners=False)
        return torch.cat([positions[:1], larger[0].flatten(1).T])


class antialiased:
    """Where the new grid is smaller, many old places were averaged (`antialias=True`)."""

    fails = ["stretch", "sizes"]
    hint = "Three places become one, at the centre of the middle one. How far away are the others?"

    def stretch(positions, old_grid, new_grid):
        picture = positions[1:].T.unflatten(1, old_grid)[None]
        larger = F.interpolate(picture, new_grid, mode="bilinear", antialias=True)
        return torch.cat([positions[:1], larger[0].flatten(1).T])


class averaged_over_areas:
    """The new places are means over areas of the old picture (`mode='area'`)."""

    fails = ["stretch", "sizes"]
    hint = "Two places become four. Is any of the new ones between the two?"

    def stretch(positions, old_grid, new_grid):
        picture = positions[1:].T.unflatten(1, old_grid)[None]
        larger = F.interpolate(picture, new_grid, mode="area")
        return torch.cat([positions[:1], larger[0].flatten(1).T])


class stretched_along_the_list:
    """The list of places was stretched as one line, as if all patches stood in one row."""

    fails = ["stretch", "sizes"]
    hint = "Place 2 of a grid of two columns stands below place 0. Which places are its neighbours in your line?"

    def stretch(positions, old_grid, new_grid):
        line = positions[1:].T[None]
        longer = F.interpolate(line, new_grid[0] * new_grid[1], mode="linear", align_corners=False)
        return torch.cat([positions[:1], longer[0].T])


class class_token_stretched_along:
    """The row of the class token took part in the interpolation, as if it were a place."""

    fails = ["stretch", "first_row", "sizes"]
    hint = "How many rows has the table for a grid of two by two, and which of them has no place in the picture?"

    def stretch(positions, old_grid, new_grid):
        tokens = 1 + new_grid[0] * new_grid[1]
        return F.interpolate(positions.T[None], tokens, mode="linear", align_corners=False)[0].T


class class_token_dropped:
    """The row of the class token was left out of the result."""

    fails = ["stretch", "first_row", "class_token", "positions", "sizes", "trains", "device", "embed"]
    hint = "How many tokens will the table be added to, and how many rows has it?"

    def stretch(positions, old_grid, new_grid):
        picture = positions[1:].T.unflatten(1, old_grid)[None]
        larger = F.interpolate(picture, new_grid, mode="bilinear", align_corners=False)
        return larger[0].flatten(1).T


class class_token_put_last:
    """The row of the class token was put behind the others."""

    fails = ["stretch", "first_row", "positions", "sizes"]
    hint = "Where does the class token stand among the tokens, and where in the new table?"

    def stretch(positions, old_grid, new_grid):
        picture = positions[1:].T.unflatten(1, old_grid)[None]
        larger = F.interpolate(picture, new_grid, mode="bilinear", align_corners=False)
        return torch.cat([larger[0].flatten(1).T, positions[:1]])


class class_token_taken_from_the_end:
    """The last row was taken for that of the class token, and the first for a place."""

    fails = ["stretch", "first_row", "positions", "sizes"]
    hint = "Which row of the table belongs to the class token: the first or the last?"

    def stretch(positions, old_grid, new_grid):
        picture = positions[:-1].T.unflatten(1, old_grid)[None]
        larger = F.interpolate(picture, new_grid, mode="bilinear", align_corners=False)
        return torch.cat([positions[-1:], larger[0].flatten(1).T])


class class_token_of_zeros:
    """The row of the class token was filled with zeros."""

    fails = ["first_row", "positions", "sizes"]
    hint = "The class token has learnt a position of its own. Where did it go?"

    def stretch(positions, old_grid, new_grid):
        picture = positions[1:].T.unflatten(1, old_grid)[None]
        larger = F.interpolate(picture, new_grid, mode="bilinear", align_corners=False)
        return torch.cat([torch.zeros_like(positions[:1]), larger[0].flatten(1).T])


class class_token_averaged:
    """The row of the class token became the mean of all rows."""

    fails = ["first_row", "positions", "sizes"]
    hint = "What has happened to the class token that it should change when the picture grows?"

    def stretch(positions, old_grid, new_grid):
        picture = positions[1:].T.unflatten(1, old_grid)[None]
        larger = F.interpolate(picture, new_grid, mode="bilinear", align_corners=False)
        return torch.cat([positions.mean(dim=0, keepdim=True), larger[0].flatten(1).T])


class columns_not_brought_forward:
    """The table was reshaped to (d_model, rows, columns) as it lies, so that the numbers of a position became places."""

    fails = ["stretch", "positions", "sizes"]
    hint = "In the table the places come first and the numbers of each last. What must happen before they can be a stack of pictures?"

    def stretch(positions, old_grid, new_grid):
        picture = positions[1:].reshape(1, -1, *old_grid)
        larger = F.interpolate(picture, new_grid, mode="bilinear", align_corners=False)
        return torch.cat([positions[:1], larger[0].flatten(1).T])


class columns_not_brought_back:
    """The stretched pictures were reshaped to a table as they lie, so that places became the numbers of a position."""

    fails = ["stretch", "positions", "sizes"]
    hint = "After the interpolation the places come last. What must happen before they are the rows of a table?"

    def stretch(positions, old_grid, new_grid):
        picture = positions[1:].T.unflatten(1, old_grid)[None]
        larger = F.interpolate(picture, new_grid, mode="bilinear", align_corners=False)
        return torch.cat([positions[:1], larger.reshape(-1, positions.shape[1])])


class reshaped_both_ways_as_it_lies:
    """The table was reshaped to pictures and back without its axes changing places, so numbers of one position were blended with each other."""

    fails = ["stretch", "sizes"]
    hint = "For the same grid nothing changes, and that is all that is right here. Which numbers were neighbours in your pictures?"

    def stretch(positions, old_grid, new_grid):
        picture = positions[1:].reshape(1, -1, *old_grid)
        larger = F.interpolate(picture, new_grid, mode="bilinear", align_corners=False)
        return torch.cat([positions[:1], larger.reshape(-1, positions.shape[1])])


class old_grid_taken_for_a_square:
    """The old grid was not read: its side was computed as the root of the number of patches."""

    fails = ["stretch", "first_row", "embed", "class_token", "positions", "sizes", "trains"]
    hint = "Two patches side by side make no square. Which argument says how they stand?"

    def stretch(positions, old_grid, new_grid):
        side = int((len(positions) - 1) ** 0.5)
        picture = positions[1:].T.reshape(1, -1, side, side)
        larger = F.interpolate(picture, new_grid, mode="bilinear", align_corners=False)
        return torch.cat([positions[:1], larger[0].flatten(1).T])


class old_grid_exchanged:
    """Rows and columns of the old grid changed places."""

    fails = ["stretch", "positions", "sizes"]
    hint = "A grid is (rows, columns). How many places stand in the first row of a grid of (1, 2)?"

    def stretch(positions, old_grid, new_grid):
        picture = positions[1:].T.unflatten(1, old_grid[::-1])[None]
        larger = F.interpolate(picture, new_grid, mode="bilinear", align_corners=False)
        return torch.cat([positions[:1], larger[0].flatten(1).T])


class new_grid_exchanged:
    """Rows and columns of the new grid changed places."""

    fails = ["stretch", "positions", "sizes"]
    hint = "`F.interpolate` takes height and width in this order. In which order is a grid?"

    def stretch(positions, old_grid, new_grid):
        picture = positions[1:].T.unflatten(1, old_grid)[None]
        larger = F.interpolate(picture, new_grid[::-1], mode="bilinear", align_corners=False)
        return torch.cat([positions[:1], larger[0].flatten(1).T])


class both_grids_exchanged:
    """Rows and columns of both grids changed places, so that places which stand below each other were taken to stand side by side."""

    fails = ["stretch", "sizes"]
    hint = "The first row of a grid of (2, 3) has three places. How many has the first row of your picture?"

    def stretch(positions, old_grid, new_grid):
        picture = positions[1:].T.unflatten(1, old_grid[::-1])[None]
        larger = F.interpolate(picture, new_grid[::-1], mode="bilinear", align_corners=False)
        return torch.cat([positions[:1], larger[0].flatten(1).T])


class stretched_by_whole_factors:
    """The new grid was made by whole factors, which leave no way from two places to three."""

    fails = ["stretch", "first_row", "sizes"]
    hint = "From two columns to three is a factor of 1.5. What does `//` make of it?"

    def stretch(positions, old_grid, new_grid):
        factors = [float(new // old) for new, old in zip(new_grid, old_grid)]
        picture = positions[1:].T.unflatten(1, old_grid)[None]
        larger = F.interpolate(picture, scale_factor=factors, mode="bilinear", align_corners=False)
        return torch.cat([positions[:1], larger[0].flatten(1).T])


class one_factor_for_both_axes:
    """Both axes were stretched by one factor, the root of how many times as many patches there are."""

    fails = ["stretch", "first_row", "sizes"]
    hint = "Two places in a row become four in a row. By which factor has the height grown?"

    def stretch(positions, old_grid, new_grid):
        factor = (new_grid[0] * new_grid[1] / (len(positions) - 1)) ** 0.5
        picture = positions[1:].T.unflatten(1, old_grid)[None]
        larger = F.interpolate(picture, scale_factor=factor, mode="bilinear", align_corners=False)
        return torch.cat([positions[:1], larger[0].flatten(1).T])


class as_many_places_left_alone:
    """Nothing was done where both grids have as many places, though these may stand elsewhere."""

    fails = ["stretch", "sizes"]
    hint = "Four places in a row become two rows of two. Does the third still stand where it stood?"

    def stretch(positions, old_grid, new_grid):
        if len(positions) == 1 + new_grid[0] * new_grid[1]:
            return positions
        picture = positions[1:].T.unflatten(1, old_grid)[None]
        larger = F.interpolate(picture, new_grid, mode="bilinear", align_corners=False)
        return torch.cat([positions[:1], larger[0].flatten(1).T])


class new_places_of_zeros:
    """The old rows were kept in their order, and zeros were added for the rest."""

    fails = ["stretch", "sizes"]
    hint = "The second row of a larger picture begins at another number. Whose position does it get?"

    def stretch(positions, old_grid, new_grid):
        tokens = 1 + new_grid[0] * new_grid[1]
        return F.pad(positions, (0, 0, 0, tokens - len(positions)))


class new_places_repeated:
    """The old rows were handed out again and again, in their order, until there were enough."""

    fails = ["stretch", "sizes"]
    hint = "Two places become four. Should the third have the position of the first, which stands at the other end?"

    def stretch(positions, old_grid, new_grid):
        places = torch.arange(new_grid[0] * new_grid[1], device=positions.device) % (len(positions) - 1)
        return torch.cat([positions[:1], positions[1:][places]])


class positions_frozen_while_stretched:
    """The table was stretched without a gradient, so it learns nothing from pictures of another size."""

    fails = ["stretch", "sizes", "trains"]
    hint = "`no_grad` and `detach` make constants. Who trains on at the new size?"

    def stretch(positions, old_grid, new_grid):
        picture = positions[1:].T.unflatten(1, old_grid)[None]
        larger = F.interpolate(picture.detach(), new_grid, mode="bilinear", align_corners=False)
        return torch.cat([positions[:1], larger[0].flatten(1).T])


class positions_in_32_bits:
    """The table was turned to 32 bits for the interpolation, and to its own dtype afterwards."""

    fails = ["stretch"]
    hint = "The result has 64 bits again. How many digits had it on the way?"

    def stretch(positions, old_grid, new_grid):
        picture = positions[1:].T.unflatten(1, old_grid)[None]
        larger = F.interpolate(picture.float(), new_grid, mode="bilinear", align_corners=False).to(positions.dtype)
        return torch.cat([positions[:1], larger[0].flatten(1).T])


class places_weighed_on_the_cpu:
    """The matrices of the interpolation were made on the CPU, wherever the table lies."""

    fails = ["device"]
    hint = "`torch.arange` doesn't know where your positions lie. Who tells it?"

    def shares(old, new, like):
        centres = ((torch.arange(new, dtype=like.dtype) + 0.5) * old / new - 0.5).clamp(0, old - 1)
        return (1 - (centres[:, None] - torch.arange(old)).abs()).clamp(min=0)

    def stretch(positions, old_grid, new_grid):
        down, across = (shares(old, new, positions) for old, new in zip(old_grid, new_grid))
        picture = positions[1:].unflatten(0, old_grid)
        return torch.cat([positions[:1], torch.einsum("ir,jc,rcd->ijd", down, across, picture).flatten(0, 1)])


class no_class_token:
    """No class token was set in front."""

    fails = ["embed", "class_token", "positions", "sizes", "trains", "device"]
    hint = "Seven tokens are asked for, and there are six patches. Which one is missing?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            return x + stretch(self.positions, self.grid, (rows, columns))[1:]


class class_token_at_the_end:
    """The class token was set behind the patches."""

    fails = ["embed", "class_token"]
    hint = "At which place will an encoder look for the class token?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            x = torch.cat([x, self.class_token.expand(len(x), -1, -1)], dim=1)
            return x + stretch(self.positions, self.grid, (rows, columns))


class class_token_for_one_picture:
    """The class token was not expanded, so it fits a batch of one picture only."""

    fails = ["embed", "class_token", "positions", "sizes", "trains", "device"]
    hint = "`torch.cat` stretches nothing. How many class tokens does a batch of two pictures need?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            x = torch.cat([self.class_token, x], dim=1)
            return x + stretch(self.positions, self.grid, (rows, columns))


class class_token_of_the_first_picture_only:
    """Only the first picture of a batch got the class token, the others got zeros."""

    fails = ["class_token"]
    hint = "There is one class token, and every picture gets it. What did yours put in front of the second picture?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            first = x.new_zeros(len(x), 1, x.shape[-1])
            first[0] = self.class_token[0]
            return torch.cat([first, x], dim=1) + stretch(self.positions, self.grid, (rows, columns))


class class_token_kept_for_a_batch:
    """The class token was expanded once, for the first batch, and kept."""

    fails = ["class_token"]
    hint = "The next batch has another number of pictures. For how many did you keep a class token?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            if not hasattr(self, 'first'):
                self.first = self.class_token.expand(len(x), -1, -1)
            return torch.cat([self.first, x], dim=1) + stretch(self.positions, self.grid, (rows, columns))


class class_token_from_the_patches:
    """The mean of the patches was set in front, in place of a row that is learned."""

    fails = ["class_token", "trains"]
    hint = "What the class token holds is learnt, and is the same for all pictures. Which parameter does your code never use?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            x = torch.cat([x.mean(dim=1, keepdim=True), x], dim=1)
            return x + stretch(self.positions, self.grid, (rows, columns))


class class_token_a_plain_tensor:
    """The class token is a plain attribute: it is not trained, and does not move along with the module."""

    fails = ["trains", "device"]
    hint = "How does a module know that a tensor of its own is to learn?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = torch.zeros(1, 1, d_model)
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            x = torch.cat([self.class_token.expand(len(x), -1, -1).to(x.dtype), x], dim=1)
            return x + stretch(self.positions, self.grid, (rows, columns))


class positions_a_plain_tensor:
    """The table of positions is a plain attribute: it is not trained, and does not move along with the module."""

    fails = ["trains", "device"]
    hint = "How does a module know that a tensor of its own is to learn?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = torch.randn(1 + grid[0] * grid[1], d_model)

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
            return x + stretch(self.positions.to(x.dtype), self.grid, (rows, columns))


class class_token_a_buffer:
    """The class token is a buffer, which moves along with the module and is not trained."""

    fails = ["trains"]
    hint = "A buffer is kept and moved. Which other kind of tensor does an optimiser hear of?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.register_buffer("class_token", torch.zeros(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
            return x + stretch(self.positions, self.grid, (rows, columns))


class positions_a_buffer:
    """The table of positions is a buffer, which moves along with the module and is not trained."""

    fails = ["trains"]
    hint = "A buffer is kept and moved. Which other kind of tensor does an optimiser hear of?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.register_buffer("positions", torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
            return x + stretch(self.positions, self.grid, (rows, columns))


class positions_detached_in_the_module:
    """The module hands `stretch` the bare numbers of its table, and no gradient comes back."""

    fails = ["trains"]
    hint = "What does `.data` leave behind, and who needs it?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
            return x + stretch(self.positions.data, self.grid, (rows, columns))


class class_token_copied:
    """`torch.tensor` made a copy of the class token, which knows nothing of the parameter."""

    fails = ["trains"]
    hint = "A copy of the numbers has no way back to where they came from. Which function shows one row to a whole batch without a copy?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            first = torch.tensor(self.class_token.tolist(), dtype=x.dtype, device=x.device)
            x = torch.cat([first.expand(len(x), -1, -1), x], dim=1)
            return x + stretch(self.positions, self.grid, (rows, columns))


class linear_without_a_bias:
    """The linear layer has no bias."""

    fails = ["embed", "trains"]
    hint = "How many numbers learn for the patches, with a bias and without?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model, bias=False)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
            return x + stretch(self.positions, self.grid, (rows, columns))

    def set_weights(embedding, w_patch, b_patch, class_token, positions):
        with torch.no_grad():
            embedding.linear.weight.copy_(w_patch.T)
            embedding.class_token.copy_(class_token)
            embedding.positions.copy_(positions)


class class_token_without_a_position:
    """Positions were added to the patches before the class token was set in front, so it has none."""

    fails = ["positions", "sizes"]
    hint = "The table has a row for each token. Who got the first one?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            x = x + stretch(self.positions, self.grid, (rows, columns))[1:]
            x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
            return x


class positions_moved_by_one:
    """The first row of the table was given to the first patch, and the last row to the class token."""

    fails = ["positions", "sizes"]
    hint = "Which row of the table belongs to the class token, and which to the first patch?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
            return x + stretch(self.positions, self.grid, (rows, columns)).roll(-1, dims=0)


class positions_of_the_pictures:
    """Each picture of a batch got one row of the table, added to all its tokens."""

    fails = ["positions", "sizes"]
    hint = "Where do two pictures of a batch stand, and where do two patches of a picture? Which of them have positions?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
            table = stretch(self.positions, self.grid, (rows, columns))
            return x + table[torch.arange(len(x), device=x.device) % len(table), None]


class positions_multiplied:
    """The tokens were multiplied by their positions, where these are added."""

    fails = ["embed", "class_token", "positions", "sizes"]
    hint = "A patch of zeros stands somewhere too. What is left of its position in a product?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
            return x * stretch(self.positions, self.grid, (rows, columns))


class positions_forgotten:
    """No positions were added."""

    fails = ["positions", "sizes", "trains"]
    hint = "Which parameter does your code never use? What would attention take the picture for?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
            return x


class embedding_scaled:
    """The embedded patches were multiplied by the root of d_model, as the first Transformer does with words."""

    fails = ["embed"]
    hint = "Nothing else happens to the tokens. By how much are yours too large?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            x = x * x.shape[-1] ** 0.5
            x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
            return x + stretch(self.positions, self.grid, (rows, columns))


class relu_after_the_matrix:
    """The embedded patches went through a ReLU, which leaves nothing below zero."""

    fails = ["embed"]
    hint = "One matrix and one bias make the tokens. May their numbers be negative?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            x = torch.relu(x)
            x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
            return x + stretch(self.positions, self.grid, (rows, columns))


class tokens_normalised:
    """The tokens were normalised, which is left to the encoder."""

    fails = ["embed", "class_token", "positions", "sizes"]
    hint = "Nothing else happens to the tokens. Which mean do the rows of yours have?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
            return F.layer_norm(x + stretch(self.positions, self.grid, (rows, columns)), x.shape[-1:])


class class_token_through_the_matrix:
    """The class token was set in front as a patch of zeros and got the bias of the linear layer."""

    fails = ["class_token", "trains"]
    hint = "The class token is a row of d_model numbers already. Which layer did yours go through?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            patches = cut(images, self.size)
            empty = torch.zeros_like(patches[:, :1])
            x = self.linear(torch.cat([empty, patches], dim=1))
            return x + stretch(self.positions, self.grid, (rows, columns))


class sizes_not_foreseen:
    """The table was added as it is, which fits pictures of the trained size only."""

    fails = ["sizes", "device"]
    hint = "The picture has more patches than the table has rows. Which function makes as many rows as it needs?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
            return x + self.positions


class first_positions_taken:
    """A picture of another size got the first rows of the table, as many as it has tokens."""

    fails = ["sizes", "device"]
    hint = "In a picture with more columns the second row begins at another number. Whose position does it get?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
            return x + self.positions[: x.shape[1]]


class stretched_only_for_other_counts:
    """Positions were stretched only where there are more tokens, or fewer; a grid of other sides with as many patches got the old ones."""

    fails = ["sizes"]
    hint = "Two rows of two have as many patches as a row of four. Do they stand at the same places?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
            table = self.positions if x.shape[1] == len(self.positions) else stretch(self.positions, self.grid, (rows, columns))
            return x + table


class stretched_table_kept:
    """The stretched table took the place of the learned one, and the next picture found it in the old one's grid."""

    fails = ["sizes"]
    hint = "What the module learnt belongs to the grid that it was made with. What is left of it after a call with a larger picture?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
            table = stretch(self.positions, self.grid, (rows, columns))
            if table.shape != self.positions.shape:
                self.positions = nn.Parameter(table.detach())
            return x + table


class first_stretched_table_kept:
    """The table for the first other size was kept, and added to pictures of every size."""

    fails = ["sizes"]
    hint = "Pictures come in one size after another. For which of them was your table stretched?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
            if x.shape[1] == len(self.positions):
                return x + stretch(self.positions, self.grid, (rows, columns))
            if not hasattr(self, 'other'):
                self.other = stretch(self.positions, self.grid, (rows, columns))
            return x + self.other


class grid_of_the_picture_exchanged:
    """Rows and columns of the picture's grid changed places."""

    fails = ["positions", "sizes"]
    hint = "The height, divided by the size, is the number of rows. Which axis of `images` is it?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            columns, rows = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
            return x + stretch(self.positions, self.grid, (rows, columns))


class trained_grid_exchanged:
    """Rows and columns of the trained grid changed places."""

    fails = ["positions", "sizes"]
    hint = "`grid` is (rows, columns). In which order is it handed on to `stretch`?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
            return x + stretch(self.positions, self.grid[::-1], (rows, columns))


class pictures_taken_for_squares:
    """The grid of a picture was computed as the root of how many patches it has, as if all were square."""

    fails = ["embed", "class_token", "positions", "sizes", "trains"]
    hint = "A picture is 2 patches high and 3 wide. What is the root of six?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            x = self.linear(cut(images, self.size))
            side = int(x.shape[1] ** 0.5)
            x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
            return x + stretch(self.positions, self.grid, (side, side))


class grid_in_pixels:
    """The grid of the picture was counted in pixels, not in patches."""

    fails = ["embed", "class_token", "positions", "sizes", "trains", "device"]
    hint = "A picture is 4 pixels high and `size` is 2. How many rows has its grid?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            x = self.linear(cut(images, self.size))
            x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
            return x + stretch(self.positions, self.grid, tuple(images.shape[-2:]))


class class_token_made_on_the_cpu:
    """Room for the tokens was made on the CPU, wherever the pictures lie."""

    fails = ["device"]
    hint = "Writing into a tensor does not move it. What does `new_empty` know that `torch.empty` does not?"

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.class_token = nn.Parameter(torch.randn(1, 1, d_model))
            self.positions = nn.Parameter(torch.randn(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            rows, columns = images.shape[-2] // self.size, images.shape[-1] // self.size
            x = self.linear(cut(images, self.size))
            tokens = torch.empty(len(x), 1 + x.shape[1], x.shape[2], dtype=x.dtype)
            tokens[:, :1], tokens[:, 1:] = self.class_token, x
            return tokens + stretch(self.positions, self.grid, (rows, columns))
