"""Tests of patches. A docstring is the question that a learner reads when the test fails.

One mistake is to cost few checks. So `cut` is asked for one picture of one channel, and `colours` compares the patches of many colours with those of
each colour alone. The class token and the positions of the module are looked at where a matrix of zeros has made all patches alike, so that no
other mistake shows there; and `paste` is handed patches that were cut as they should be.
"""
import torch

from kit import expect, expect_device, expect_gradients, expect_trained, visible
from kit.outcome import Raised

REFUSED = "ValueError"
SIX = [[0, 1, 6, 7], [2, 3, 8, 9], [4, 5, 10, 11], [12, 13, 18, 19], [14, 15, 20, 21], [16, 17, 22, 23]]
TWO = [[0, 1, 4, 5, 8, 9, 12, 13], [2, 3, 6, 7, 10, 11, 14, 15]]


@visible("cut")
def test_six_patches_of_one_picture(learner):
    """24 pixels, numbered as you read, make six patches of 2 by 2. The first holds 0, 1, 6 and 7. What does the second hold, and what the fourth, with which the next row of patches begins?"""
    expect(learner.cut(_numbered(1, 1, 4, 6), 2), _patches(SIX), "patches")


@visible("cut")
def test_four_patches_of_a_square_picture(learner):
    """16 pixels, numbered as you read, make four patches of 2 by 2, which hold four numbers each. Which of your axes are equally long here, and did they stay apart?"""
    expect(learner.cut(_numbered(1, 1, 4, 4), 2), _patches([[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]), "patches")


@visible("cut")
def test_one_patch_and_patches_of_one_pixel(learner):
    """A patch may be as large as the picture, or as small as a pixel. What is left to put in order then?"""
    expect(learner.cut(_numbered(1, 1, 3, 3), 3), torch.arange(9.0).reshape(1, 1, 9), "patches")
    expect(learner.cut(_numbered(1, 1, 2, 3), 1), torch.arange(6.0).reshape(1, 6, 1), "patches")


@visible("cut")
def test_a_picture_in_another_order_in_memory(learner):
    """The picture is what it was, but it lies in memory in another order, as after a transpose. Which of your steps minds?"""
    images = _numbered(2, 3, 4, 6)
    expect(learner.cut.strided(images, 2), learner.cut(images, 2), "patches")


@visible("cut")
def test_a_picture_that_others_still_need(learner, draw):
    """Others still need the picture as it was, and what made it is to learn. Does your code write into it, or cut it off the graph?"""
    images = draw(1, 1, 4, 6)
    expect(learner.cut.unchanged(images, 2), learner.cut(images, 2), "patches")
    expect_gradients(learner.cut, ["images"], images, 2, draw=draw)


@visible("cut")
def test_numbers_of_64_and_16_bits(learner):
    """A cut moves numbers and changes none. In which dtype did they come, and in which do they go?"""
    _expect_the_same_numbers(lambda x: learner.cut(x, 2), _numbered(1, 1, 4, 6), "patches")


@visible("colours")
def test_two_pictures_of_three_colours(learner):
    """The first picture is 1 in its first channel, 2 in its second and 3 in its third, the other one 4, 5 and 6. So a patch of 2 by 2 holds each of three numbers four times: in which order, and how many patches are there?"""
    _expect_even_colours(learner, torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), 2, (1, 2))


@visible("colours")
def test_each_picture_and_each_colour_as_if_alone(learner):
    """Three pictures in two channels have three patches each. What is done to one of them must be done to all: which axes did you join that do not belong together?"""
    _expect_each_alone(learner, _numbered(3, 2, 2, 6), 2)


@visible("uneven")
def test_five_rows_of_pixels(learner):
    """Five rows of pixels can't be cut into patches that are two high. What should a caller be told, and by which error?"""
    expect(_refusal(learner, torch.ones(1, 1, 5, 6), 2), REFUSED, "error")


@visible("uneven")
def test_five_columns_of_pixels(learner):
    """Five columns of pixels can't be cut into patches that are two wide. What should a caller be told, and by which error?"""
    expect(_refusal(learner, torch.ones(1, 1, 6, 5), 2), REFUSED, "error")


@visible("uneven")
def test_five_rows_of_five_pixels(learner):
    """Five by five pixels come out even in neither direction. What should a caller be told, and by which error?"""
    expect(_refusal(learner, torch.ones(1, 1, 5, 5), 2), REFUSED, "error")


@visible("uneven")
def test_as_many_pixels_as_a_patch_has(learner):
    """A picture of 2 by 8 pixels has 16 of them, and so has a patch of 4 by 4. Does it fit into the picture?"""
    expect(_refusal(learner, torch.ones(1, 1, 2, 8), 4), REFUSED, "error")


@visible("paste")
def test_six_patches_become_a_picture(learner):
    """Six patches lie in two rows of three. The first holds the pixels 0 and 1 of the first row and 6 and 7 of the second. Where do 2 and 3 belong?"""
    expect(learner.paste(_patches(SIX), 2, (2, 3)), _numbered(1, 1, 4, 6), "picture")


@visible("paste")
def test_two_patches_of_two_colours(learner):
    """Each of two patches holds four numbers of the first channel, then four of the second. How many channels has the picture, and where do they go?"""
    expect(learner.paste(_patches(TWO), 2, (1, 2)), _numbered(1, 2, 2, 4), "picture")


@visible("paste")
def test_the_same_patches_below_each_other(learner):
    """The same six patches lie in three rows of two now. How high and how wide is the picture?"""
    rows = [[0, 1, 2, 3], [6, 7, 8, 9], [4, 5, 12, 13], [10, 11, 18, 19], [14, 15, 16, 17], [20, 21, 22, 23]]
    expect(learner.paste(_patches(SIX), 2, (3, 2)), torch.tensor(rows, dtype=torch.float32)[None, None], "picture")


@visible("paste")
def test_patches_in_another_order_in_memory(learner):
    """The patches are what they were, but they lie in memory in another order, as after a transpose. Which of your steps minds?"""
    patches = torch.arange(96.0).reshape(2, 6, 8)
    expect(learner.paste.strided(patches, 2, (2, 3)), learner.paste(patches, 2, (2, 3)), "picture")


@visible("paste")
def test_patches_that_others_still_need(learner, draw):
    """Others still need the patches as they were, and what made them is to learn. Does your code write into them, or cut them off the graph?"""
    patches = draw(1, 6, 4)
    expect(learner.paste.unchanged(patches, 2, (2, 3)), learner.paste(patches, 2, (2, 3)), "picture")
    expect_gradients(learner.paste, ["patches"], patches, 2, (2, 3), draw=draw)


@visible("paste")
def test_patches_of_64_and_16_bits(learner):
    """Pasting moves numbers and changes none. In which dtype did they come, and in which do they go?"""
    _expect_the_same_numbers(lambda x: learner.paste(x, 2, (2, 3)), torch.arange(24.0).reshape(1, 6, 4), "picture")


@visible("stretch")
def test_two_places_become_four(learner):
    """The old centres lie at 1/4 and 3/4 of the width, the new ones at 1/8, 3/8, 5/8 and 7/8. How much does each new place take from the old two, and what lies beyond the outermost?"""
    _expect_places(learner, [[9, 9], [0, 8], [8, 0]], (1, 2), (1, 4), [[0, 8], [2, 6], [6, 2], [8, 0]])


@visible("stretch")
def test_two_rows_become_four(learner):
    """Two places stand one above the other now, and become four. Which number of a grid counts rows?"""
    _expect_places(learner, [[9, 9], [0, 8], [8, 0]], (2, 1), (4, 1), [[0, 8], [2, 6], [6, 2], [8, 0]])


@visible("stretch")
def test_four_places_become_six(learner):
    """A grid of two by two becomes one of two rows and three columns. Between which old places does the middle of each row lie?"""
    old = [[9, 9], [0, 10], [4, 20], [8, 30], [12, 40]]
    _expect_places(learner, old, (2, 2), (2, 3), [[0, 10], [2, 15], [4, 20], [8, 30], [10, 35], [12, 40]])
    _expect_places(learner, old, (2, 2), (3, 2), [[0, 10], [4, 20], [4, 20], [8, 30], [8, 30], [12, 40]])


@visible("stretch")
def test_the_same_grid(learner):
    """From two rows of three to two rows of three there is nothing to stretch. What did your code change?"""
    places = [[1, 6], [2, 4], [3, 2], [4, 0], [5, 8], [6, 9]]
    _expect_places(learner, [[9, 9], *places], (2, 3), (2, 3), places)


@visible("stretch")
def test_as_many_places_in_another_grid(learner):
    """Four places in a row become two rows of two. There are as many places as before: are they the same ones?"""
    _expect_places(learner, [[9, 9], [0, 1], [4, 3], [8, 5], [12, 7]], (1, 4), (2, 2), [[2, 2], [10, 6], [2, 2], [10, 6]])


@visible("stretch")
def test_a_smaller_grid(learner):
    """Three places become one, whose centre is that of the middle one. Which of the old places does it take anything from?"""
    _expect_places(learner, [[9, 9], [0, 3], [6, 12], [0, 3]], (1, 3), (1, 1), [[6, 12]])


@visible("stretch")
def test_a_table_that_others_still_need(learner, draw):
    """The table is to learn, from pictures of another size too, and it is needed again as it was. Does your code write into it, mind its order in memory, or cut it off the graph?"""
    positions, grids = draw(7, 3), ((2, 3), (4, 5))
    for call in (learner.stretch.unchanged, learner.stretch.strided):
        expect(call(positions, *grids), learner.stretch(positions, *grids), "positions")
    expect_gradients(learner.stretch, ["positions"], positions, *grids, draw=draw)


@visible("stretch")
def test_a_table_of_64_bits(learner):
    """The table has 64 bits, and so has what comes of it. Where are digits lost?"""
    third = torch.tensor([[1.0], [1.0], [2.0]], dtype=torch.float64) / 3
    expect(_rows(learner.stretch(third, (1, 2), (1, 3))), torch.tensor([[2.0], [3.0], [4.0]], dtype=torch.float64) / 6, "positions of the patches")


@visible("first_row")
def test_the_row_of_the_class_token(learner):
    """The class token has no place in the picture. What do its numbers become, and how many rows come after it?"""
    positions = torch.tensor([[9.0, 7.0], [0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [0.0, 4.0]])
    for new_grid in ((3, 3), (1, 1), (2, 2)):
        _expect_first_row(learner, positions, (2, 2), new_grid)


@visible("embed")
def test_two_patches_by_a_matrix(learner):
    """The matrix reads the first number of a patch, the second, and the sum of the other two; the bias adds 100, 200 and 300. What should become of the patches 0, 1, 4, 5 and 2, 3, 6, 7?"""
    w_patch = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    module = _module(learner, 1, 2, (1, 2), w_patch, torch.tensor([100.0, 200.0, 300.0]))
    expect(_tokens(module(_numbered(1, 1, 2, 4))), torch.tensor([[[100.0, 201.0, 309.0], [102.0, 203.0, 313.0]]]), "tokens of the patches")


@visible("embed")
def test_two_pictures_in_two_colours(learner):
    """Two pictures have two channels, and the matrix weighs the second ten times as much. Whose numbers come first in a patch?"""
    module = _module(learner, 2, 1, (1, 2), torch.tensor([[1.0, -1.0], [10.0, -10.0]]), torch.zeros(2))
    expected = torch.tensor([[[20.0, -20.0], [31.0, -31.0]], [[64.0, -64.0], [75.0, -75.0]]])
    expect(_tokens(module(_numbered(2, 2, 1, 2))), expected, "tokens of the patches")


@visible("embed")
def test_pictures_as_they_are_stored(learner):
    """Pictures lie in memory in another order and are still needed as they were. Which of your steps minds, or writes into them?"""
    module, images = _module(learner, 3, 2, (2, 3), torch.arange(24.0).reshape(12, 2) / 24, torch.zeros(2)), _numbered(2, 3, 4, 6)
    for call in (module.strided, module.unchanged):
        expect(call(images), module(images), "tokens")


@visible("embed")
def test_a_module_of_64_bits(learner):
    """The module was turned to 64 bits, and so were the pictures. Where do your steps go over to 32 bits?"""
    w_patch = torch.ones(1, 2, dtype=torch.float64) / 3
    module, images = _module(learner, 1, 1, (1, 2), w_patch, torch.zeros(2, dtype=torch.float64)), _numbered(2, 1, 1, 2).double()
    expect(_tokens(module(images)), images.reshape(2, 2, 1).expand(2, 2, 2) / 3, "tokens of the patches")


@visible("class_token")
def test_one_class_token_for_all_pictures(learner):
    """Two pictures of ones go in, then three, then one. Which row comes first for each of them, and is there one for each?"""
    class_token = torch.tensor([5.0, 6.0, 7.0])
    module = _made(learner, 1, 2, (1, 2), torch.ones(4, 3), torch.zeros(3), class_token, torch.zeros(3, 3))
    for batch in (2, 3, 1):
        expect(_first(module(torch.ones(batch, 1, 2, 4))), class_token.expand(batch, 3), "first tokens")


@visible("positions")
def test_a_position_for_each_token(learner):
    """The patches and the class token are zeros here, so only positions are left. Which row of the table does the class token get, and which the first patch?"""
    positions = torch.arange(14.0).reshape(7, 2) + 1
    module = _blank(learner, 1, 2, (2, 3), torch.zeros(2), positions)
    expect(module(_numbered(2, 1, 4, 6)), positions.expand(2, 7, 2), "tokens")


@visible("positions")
def test_as_many_pictures_as_tokens(learner):
    """Three pictures have three tokens of three numbers each. Which of these axes counts the positions, and by what does your code know it?"""
    positions = torch.arange(9.0).reshape(3, 3) + 1
    expect(_blank(learner, 1, 1, (1, 2), torch.zeros(3), positions)(_numbered(3, 1, 1, 2)), positions.expand(3, 3, 3), "tokens")


@visible("sizes")
def test_pictures_of_one_size_after_another(learner):
    """The module was made for two patches side by side. Then come four, then two again, then two rows of two. Which positions do they get, and what did the module keep from the call before?"""
    module = _blank(learner, 1, 1, (1, 2), torch.zeros(2), torch.tensor([[9.0, 9.0], [0.0, 8.0], [8.0, 0.0]]))
    wide, two = [[9, 9], [0, 8], [2, 6], [6, 2], [8, 0]], [[9, 9], [0, 8], [8, 0]]
    for height, width, expected in ((1, 4, wide), (1, 2, two), (2, 2, [*two, *two[1:]]), (1, 4, wide)):
        expect(module(_numbered(1, 1, height, width)), torch.tensor([expected], dtype=torch.float32), "tokens")


@visible("sizes")
def test_as_many_patches_at_other_places(learner):
    """The module was made for four patches in a row, and a picture has two rows of two. There are as many tokens: do they stand where the old ones stood?"""
    positions = torch.tensor([[9.0], [0.0], [4.0], [8.0], [12.0]])
    module = _blank(learner, 1, 2, (1, 4), torch.zeros(1), positions)
    expect(module(_numbered(1, 1, 4, 4)), torch.tensor([[[9.0], [2.0], [10.0], [2.0], [10.0]]]), "tokens")


@visible("sizes")
def test_a_smaller_picture(learner):
    """The module was made for four patches in a row, and a picture has two. Between which of the old places do the new ones lie?"""
    positions = torch.tensor([[9.0], [0.0], [4.0], [8.0], [12.0]])
    expect(_blank(learner, 1, 2, (1, 4), torch.zeros(1), positions)(_numbered(1, 1, 2, 4)), torch.tensor([[[9.0], [2.0], [10.0]]]), "tokens")


@visible("sizes")
def test_as_much_learns_from_larger_pictures(learner, draw):
    """The module goes on to learn, from larger pictures than it was made for. Which of the numbers that learnt before does the gradient not reach any more?"""
    module = learner.PatchEmbedding(1, 2, 3, (2, 3))
    expect(module.trained(draw(2, 1, 8, 10)), module.trained(draw(2, 1, 4, 6)), "numbers that can learn, and numbers that a gradient reaches")


@visible("trains")
def test_everything_in_the_module_learns(learner, draw):
    """With two channels, patches of 2 by 2, rows of 3 numbers and a grid of two by three there are 24 + 3 + 3 + 21 numbers to learn. Which of them does your module not count as its own, or the gradient not reach?"""
    expect_trained(learner.PatchEmbedding(2, 2, 3, (2, 3)).trained(draw(2, 2, 4, 6)), 24 + 3 + 3 + 21)


@visible("trains")
def test_gradient_reaches_the_pictures(learner, draw):
    """Pictures may be made by something that learns. Does a gradient come back to them?"""
    expect_gradients(learner.PatchEmbedding(2, 2, 3, (2, 3)), ["images"], draw(2, 2, 4, 6), draw=draw)


@visible("device")
def test_functions_on_another_device(learner, draw):
    """What the functions are given lies on another device, such as a GPU. Which tensor do they make on the CPU all the same?"""
    # Axes that are equally long: where they belong is asked by other checks.
    images, patches = draw(4, 1, 4, 4), draw(2, 4, 16)
    expect_device(learner, lambda there: there.cut(images, 2), (4, 4, 4))
    expect_device(learner, lambda there: there.paste(patches, 2, (2, 2)), (2, 4, 4, 4))


@visible("device")
def test_stretch_on_another_device(learner, draw):
    """A table that lies on another device is stretched. Which tensor does your code make on the CPU all the same?"""
    positions = draw(5, 3)
    expect_device(learner, lambda there: there.stretch(positions, (2, 2), (4, 4)), (17, 3))


@visible("device")
def test_module_on_another_device(learner, draw):
    """The module was moved to another device, such as a GPU, and the pictures are there too. Which tensor did not move along, or is made on the CPU?"""
    images = draw(5, 1, 4, 4)
    expect_device(learner, lambda there: there.PatchEmbedding(1, 2, 5, (2, 2))(images), (5, 5, 5))


@visible("device")
def test_larger_pictures_on_another_device(learner, draw):
    """Module and pictures are on another device, and the pictures are larger than those of the trained grid. Which tensor is made on the CPU for them?"""
    images = draw(5, 1, 8, 8)
    expect_device(learner, lambda there: there.PatchEmbedding(1, 2, 5, (2, 2))(images), (5, 17, 5))


def _numbered(*shape: int) -> torch.Tensor:
    """Return pictures whose pixels are numbered as they are read."""
    return torch.arange(float(torch.Size(shape).numel())).reshape(shape)


def _patches(numbers: list) -> torch.Tensor:
    return torch.tensor([numbers], dtype=torch.float32)


def _refusal(learner, images: torch.Tensor, size: int) -> str:
    """Return by which error pictures are refused, or that they are not."""
    try:
        came = learner.cut(images, size)
    except Raised as error:
        return error.kind
    return f"no error, but {came.shape[1]} patches" if isinstance(came, torch.Tensor) and came.ndim > 1 else "no error"


def _expect_the_same_numbers(moved, x: torch.Tensor, what: str) -> None:
    """Return None if the same numbers come back in another order, in the same dtype; those of `x` rise from the first to the last."""
    for same in (x.double() / 3, x.half()):
        came = moved(same)
        expect(came.flatten().sort().values if isinstance(came, torch.Tensor) else came, same.flatten(), f"sorted numbers of the {what}")


def _expect_even_colours(learner, colours: torch.Tensor, size: int, grid: tuple[int, int]) -> None:
    """Return None if pictures whose channels are of one number each have patches with all of a channel before the next one begins."""
    pictures = colours[:, :, None, None].expand(*colours.shape, grid[0] * size, grid[1] * size)
    expected = colours.repeat_interleave(size * size, dim=1)[:, None].repeat(1, grid[0] * grid[1], 1)
    expect(learner.cut(pictures.contiguous(), size), expected, "patches")


def _expect_each_alone(learner, images: torch.Tensor, size: int) -> None:
    """Return None if pictures are cut as each channel of each of them is."""
    batch, channels, height, width = images.shape
    came, shape = learner.cut(images, size), (batch, height * width // size**2, channels * size * size)
    expect(tuple(came.shape), shape, "shape of the patches")
    for one, part in zip(images, came):
        for channel, numbers in zip(one, part.split(size * size, dim=-1)):
            expect(numbers, _only(learner.cut(channel[None, None], size)), "numbers of one channel")


def _only(patches):
    """Return the patches of the only picture in a batch, or whatever came in their place."""
    return patches[0] if isinstance(patches, torch.Tensor) and patches.ndim == 3 and len(patches) == 1 else patches


def _rows(came):
    """Return the rows behind that of the class token, of whatever came."""
    return came[1:] if isinstance(came, torch.Tensor) and came.ndim == 2 else came


def _tokens(came):
    """Return the tokens behind the class token, of whatever came."""
    return came[:, 1:] if isinstance(came, torch.Tensor) and came.ndim == 3 else came


def _first(came):
    """Return the first token of each picture, of whatever came."""
    return came[:, 0] if isinstance(came, torch.Tensor) and came.ndim == 3 and came.shape[1] else came


def _expect_places(learner, positions: list, old_grid: tuple[int, int], new_grid: tuple[int, int], expected: list) -> None:
    came = learner.stretch(torch.tensor(positions, dtype=torch.float32), old_grid, new_grid)
    expect(_rows(came), torch.tensor(expected, dtype=torch.float32), "positions of the patches")


def _expect_first_row(learner, positions: torch.Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]) -> None:
    came = learner.stretch(positions, old_grid, new_grid)
    expect(tuple(came.shape), (1 + new_grid[0] * new_grid[1], positions.shape[1]), "shape of the positions")
    expect(came[0], positions[0], "position of the class token")


def _made(learner, channels: int, size: int, grid: tuple[int, int], w_patch, b_patch, class_token, positions):
    """Return a module with these weights, of as many bits as they have."""
    module = learner.PatchEmbedding.later(channels, size, len(b_patch), grid)
    if w_patch.dtype == torch.float64:
        module.double()
    learner.set_weights.later(module, w_patch, b_patch, class_token, positions)
    return module


def _module(learner, channels: int, size: int, grid: tuple[int, int], w_patch, b_patch):
    """Return a module whose class token and positions are zeros."""
    zeros = torch.zeros(1 + grid[0] * grid[1], len(b_patch), dtype=w_patch.dtype)
    return _made(learner, channels, size, grid, w_patch, b_patch, zeros[0], zeros)


def _blank(learner, channels: int, size: int, grid: tuple[int, int], class_token, positions):
    """Return a module whose matrix and bias are zeros, so that all patches are."""
    d_model = len(class_token)
    return _made(learner, channels, size, grid, torch.zeros(channels * size * size, d_model), torch.zeros(d_model), class_token, positions)
