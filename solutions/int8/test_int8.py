"""Tests of int8. A docstring is the question that a learner reads when the test fails.

Where a number lies halfway between two integers, rounding on the way may decide which one it becomes. So hidden tests draw numbers that lie
well away from there (`_near_integers`), and visible ones have scales that are powers of 2 where a tie is asked for.
One mistake is to cost few checks. So in `linear` all tokens have one scale, and so have all outputs; `tokens` and `channels` ask for more.
"""

import torch

from autograder.kit import expect, expect_device, hidden, visible
from autograder.kit.outcome import Wrong, known_by

MOST = 127
BOTH = (torch.float32, torch.float64)


@visible("scale")
def test_one_scale_for_all_numbers(learner):
    """Of -254, 3 and 100, one lies farthest from 0. Which integer should stand for it, and how long is a step then?"""
    expect(learner.scale_of(torch.tensor([-254.0, 3.0, 100.0])), torch.tensor(2.0), "scale")


@visible("scale")
def test_one_scale_for_a_matrix_and_for_more(learner):
    """However many axes a tensor has, and whichever side its largest number lies on, there is one scale, a tensor without axes. What is yours?"""
    expect(learner.scale_of(torch.tensor(-12.7)), torch.tensor(0.1), "scale")
    expect(learner.scale_of(torch.tensor([[1.0, 381.0], [-190.0, -2.0], [5.0, 7.0]])), torch.tensor(3.0), "scale")
    expect(learner.scale_of(torch.tensor([[[1.0, -3.0]], [[-63.5, 2.0]]])), torch.tensor(0.5), "scale")


@visible("scale")
def test_numbers_that_others_still_need(learner):
    """The numbers lie in memory in another order, and others still need them as they were. Which of your steps minds, or writes into them?"""
    x = torch.tensor([[-254.0, 3.0, 100.0], [5.0, -7.0, 11.0]])
    for call in (learner.scale_of.strided, learner.scale_of.unchanged):
        expect(call(x), torch.tensor(2.0), "scale")


@visible("scale")
def test_a_scale_of_64_bits(learner):
    """The numbers have 64 bits, and so has the scale. Where are digits lost?"""
    _expect_digits(learner.scale_of(torch.tensor([1.0, -2.0], dtype=torch.float64) / 3), torch.tensor(2 / 381, dtype=torch.float64), "scale")


@hidden("scale")
def test_fresh_scales(learner, reference, draw):
    """The number farthest from 0 gets the integer 127 or -127, whatever the shape. Is yours one scale for all of them?"""
    for dtype in BOTH:
        for shape in ((7,), (3, 5), (4, 4), (2, 3, 5), ()):
            for x in (draw(*shape, dtype=dtype, scale=50.0), -draw(*shape, dtype=dtype, scale=50.0).abs(), draw(*shape, dtype=dtype).abs()):
                for call in (learner.scale_of, learner.scale_of.strided, learner.scale_of.unchanged):
                    expect(call(x), reference.scale_of(x), "scale")


@visible("rows")
def test_a_scale_for_each_row(learner):
    """Each of three rows has a scale of its own, and the last axis stays. How do yours line up with the rows?"""
    x = torch.tensor([[-254.0, 3.0], [0.0, 127.0], [12.7, -1.0]])
    expect(learner.row_scales(x), torch.tensor([[2.0], [1.0], [0.1]]), "scales")


@visible("rows")
def test_as_many_rows_as_columns(learner):
    """Two rows and two columns: a maximum along either axis has two numbers. Which are those of the rows, and do they stand in a column?"""
    expect(learner.row_scales(torch.tensor([[127.0, -381.0], [254.0, 1.0]])), torch.tensor([[3.0], [2.0]]), "scales")


@visible("rows")
def test_rows_of_a_batch_and_a_single_row(learner):
    """Two texts have three tokens each, and then there is one row alone. Which axes stay as they are, and which becomes 1?"""
    x = torch.tensor([[[127.0, 1.0], [0.0, -254.0], [3.0, 381.0]], [[-508.0, 4.0], [5.0, 635.0], [-762.0, 6.0]]])
    expect(learner.row_scales(x), torch.tensor([[[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]]), "scales")
    expect(learner.row_scales(torch.tensor([3.0, -254.0, 1.0])), torch.tensor([2.0]), "scales")


@visible("rows")
def test_rows_that_others_still_need(learner):
    """The rows lie in memory in another order, and others still need them as they were. Which of your steps minds, or writes into them?"""
    x = torch.tensor([[[-254.0, 3.0, 100.0], [5.0, -127.0, 11.0]]])
    for call in (learner.row_scales.strided, learner.row_scales.unchanged):
        expect(call(x), torch.tensor([[[2.0], [1.0]]]), "scales")


@visible("rows")
def test_scales_of_64_bits(learner):
    """The rows have 64 bits, and so have their scales. Where are digits lost?"""
    x = torch.tensor([[1.0, -2.0], [1.0, 1.0]], dtype=torch.float64) / 3
    _expect_digits(learner.row_scales(x), torch.tensor([[2 / 381], [1 / 381]], dtype=torch.float64), "scales")


@hidden("rows")
def test_fresh_rows(learner, reference, draw):
    """Every row has its own scale, however many axes come before, and on whichever side its numbers lie. Which rows share one, or have another's?"""
    for dtype in BOTH:
        for shape in ((7,), (3, 5), (4, 4), (5, 1), (2, 3, 5), (3, 3, 3), (2, 3, 5, 7)):
            for x in (draw(*shape, dtype=dtype, scale=50.0), -draw(*shape, dtype=dtype, scale=50.0).abs(), draw(*shape, dtype=dtype).abs()):
                for call in (learner.row_scales, learner.row_scales.strided, learner.row_scales.unchanged):
                    expect(call(x), reference.row_scales(x), "scales")


@visible("zeros")
def test_a_tensor_of_zeros(learner):
    """All numbers are 0, as in padding. By what would they be divided?"""
    expect(learner.scale_of(torch.zeros(2, 3)), torch.tensor(1.0), "scale")


@visible("zeros")
def test_rows_of_zeros_only(learner):
    """All rows hold zeros only. By what would each of them be divided?"""
    expect(learner.row_scales(torch.zeros(2, 3)), torch.ones(2, 1), "scales")


@visible("zeros")
def test_a_row_of_zeros_among_others(learner):
    """One row of three holds zeros only. Which scale has it, and which have the others?"""
    _expect_one_for_zeros(learner, torch.tensor([[254.0, 1.0], [0.0, 0.0], [-381.0, 0.0]]), 1)


@visible("zeros")
def test_very_small_numbers(learner):
    """The numbers are millionths, and not 0. How long is their step, and does your care for zeros change it?"""
    x = torch.tensor([[254.0, 1.0], [-381.0, 0.0]])
    for each in (learner.scale_of, learner.row_scales):
        _expect_small_steps(each, x, 2.0**-30)


@hidden("zeros")
def test_fresh_zeros(learner, reference, draw):
    """The scale is 1 where all numbers are 0, and nowhere else. Where is yours something else?"""
    for dtype in BOTH:
        for shape in ((3, 4), (4, 4), (5, 7)):
            x, zeros = draw(*shape, dtype=dtype), torch.zeros(shape, dtype=dtype)
            expect(learner.scale_of(zeros), torch.ones((), dtype=dtype), "scale")
            expect(learner.row_scales(zeros), torch.ones(shape[0], 1, dtype=dtype), "scales")
            for each in (learner.scale_of, learner.row_scales):
                for size in (2.0**-20, 2.0**-40):
                    _expect_small_steps(each, x, size)
            for row in range(3):
                others = x.clone()
                others[row] = 0
                _expect_one_for_zeros(learner, others, row)


@visible("round")
def test_the_nearest_integers(learner):
    """With a scale of 1/2, 1.4 is 2.8 steps away from 0. Which integer is nearest, and which is for -1.4? Of which dtype are they?"""
    x = torch.tensor([1.4, -1.4, 0.2, -0.2, 0.3, -0.3, 3.0, 63.4, -63.4])
    expect(learner.quantize(x, torch.tensor(0.5)), _integers([3, -3, 0, 0, 1, -1, 6, 127, -127]), "integers")


@visible("round")
def test_halfway_between_two_integers(learner):
    """Halfway between two integers the even one is taken. Between which two do 0.5, 1.5, 2.5 and 126.5 lie, and what becomes of -0.5 and -1.5?"""
    x = torch.tensor([0.5, 1.5, 2.5, 126.5, -0.5, -1.5, -2.5, -126.5])
    expect(learner.quantize(x, torch.tensor(1.0)), _integers([0, 2, 2, 126, 0, -2, -2, -126]), "integers")


@visible("round")
def test_each_row_by_its_own_scale(learner):
    """Two rows of two numbers have the scales 1 and 4. By which scale is each number divided?"""
    x = torch.tensor([[8.0, -100.0], [8.0, -100.0]])
    expect(learner.quantize(x, torch.tensor([[1.0], [4.0]])), _integers([[8, -100], [2, -25]]), "integers")


@visible("round")
def test_tokens_of_a_batch_by_their_own_scales(learner):
    """Two texts have two tokens of three numbers each, and four scales. Which is whose?"""
    scales = torch.tensor([[[1.0], [2.0]], [[4.0], [8.0]]])
    expected = _integers([[[8, 16, -64], [4, 8, -32]], [[2, 4, -16], [1, 2, -8]]])
    x = torch.tensor([8.0, 16.0, -64.0]).expand(2, 2, 3)
    for call in (learner.quantize, learner.quantize.strided, learner.quantize.unchanged):
        expect(call(x, scales), expected, "integers")


@visible("round")
def test_a_little_above_one_half(learner):
    """In 64 bits, the first number lies a little above one half and the second a little below. In how many bits did you divide?"""
    x = torch.tensor([0.5 + 1e-12, 1.5 - 1e-12], dtype=torch.float64)
    expect(learner.quantize(x, torch.tensor(1.0, dtype=torch.float64)), _integers([1, 1]), "integers")


@hidden("round")
def test_fresh_integers(learner, draw):
    """Each number becomes the nearest integer, by the scale of all or by that of its row. Which became another one?"""
    for dtype in BOTH:
        for shape in ((9,), (5, 7), (6, 6), (2, 3, 5), (3, 3, 3)):
            steps = _near_integers(draw, *shape, most=120)
            for scale in (draw.integers(1, 90, *shape[:-1], 1).to(dtype) / 17, draw.integers(1, 90).to(dtype) / 17):
                x = steps.to(dtype) * scale
                for call in (learner.quantize, learner.quantize.strided, learner.quantize.unchanged):
                    expect(call(x, scale), _integers(steps.round()), "integers")
    steps = draw.integers(-100, 100, 9).double() + 0.5
    for moved, expected in ((0.0, 2 * (steps / 2).round()), (1e-12, (steps + 0.5)), (-1e-12, steps - 0.5)):
        expect(learner.quantize(steps + moved, torch.tensor(1.0, dtype=torch.float64)), _integers(expected), "integers")


@visible("clip")
def test_numbers_beyond_the_last_integer(learner):
    """The scale is 1, and numbers lie beyond 127. What is the nearest integer that there is?"""
    x = torch.tensor([200.0, -200.0, 128.0, -128.0, 127.4, -127.4, 1000.0, -1000.0, 126.0])
    expect(learner.quantize(x, torch.tensor(1.0)), _integers([127, -127, 127, -127, 127, -127, 127, -127, 126]), "integers")


@visible("clip")
def test_rows_that_are_clipped_by_their_own_scales(learner):
    """200 lies beyond the last integer in the first row, and 200 in the third lies within. Are the limits those of x, or those of the integers?"""
    x = torch.tensor([[200.0, -200.0, 8.0], [100.0, -63.5, 8.0], [200.0, -600.0, 8.0]])
    expected = _integers([[127, -127, 8], [127, -127, 16], [50, -127, 2]])
    expect(learner.quantize(x, torch.tensor([[1.0], [0.5], [4.0]])), expected, "integers")


@hidden("clip")
def test_fresh_numbers_beyond_the_last_integer(learner, draw):
    """What lies beyond 127 becomes 127, and what lies beyond -127 becomes -127, however far it is. Which of the two went wrong?"""
    for dtype in BOTH:
        for shape in ((9,), (5, 7), (2, 3, 5)):
            steps = _near_integers(draw, *shape, most=120)
            steps[..., 0] = draw.integers(128, 5000, *shape[:-1])
            steps[..., 1] = -draw.integers(128, 5000, *shape[:-1])
            steps[..., 2], steps[..., 3] = 128.0, -128.0
            steps = steps.round()
            scale = draw.integers(1, 90, *shape[:-1], 1).to(dtype) / 16
            expect(learner.quantize(steps.to(dtype) * scale, scale), _integers(steps.clamp(-MOST, MOST)), "integers")


@visible("back")
def test_the_numbers_that_integers_stand_for(learner):
    """With a scale of 1/2, the integer 3 stands for 1.5. What do 0, -1 and 127 stand for?"""
    expect(learner.dequantize(_integers([3, 0, -1, 127, -127]), torch.tensor(0.5)), torch.tensor([1.5, 0.0, -0.5, 63.5, -63.5]), "numbers")


@visible("back")
def test_each_row_back_by_its_own_scale(learner):
    """Two rows of two integers have the scales 3 and 0.25. What does each integer stand for?"""
    q, scale = _integers([[100, -4], [100, -4]]), torch.tensor([[3.0], [0.25]])
    for call in (learner.dequantize, learner.dequantize.strided, learner.dequantize.unchanged):
        expect(call(q, scale), torch.tensor([[300.0, -12.0], [25.0, -1.0]]), "numbers")


@visible("back")
def test_back_to_64_bits(learner):
    """The scale has 64 bits, and so have the numbers. Where are digits lost?"""
    third = torch.tensor(1 / 3, dtype=torch.float64)
    _expect_digits(learner.dequantize(_integers([1, -100]), third), torch.tensor([1.0, -100.0], dtype=torch.float64) / 3, "numbers")


@hidden("back")
def test_fresh_numbers_back(learner, draw):
    """Each integer is so many steps, of its own scale. Which of them became something else?"""
    for dtype in BOTH:
        for shape in ((9,), (5, 7), (6, 6), (2, 3, 5), (3, 3, 4)):
            q = draw.integers(-MOST, MOST + 1, *shape)
            for scale in (draw(*shape[:-1], 1, dtype=dtype).abs(), draw(dtype=dtype).abs()):
                for call in (learner.dequantize, learner.dequantize.strided, learner.dequantize.unchanged):
                    expect(call(_integers(q), scale), q.to(dtype) * scale, "numbers")


@visible("bound")
def test_half_a_step_or_what_is_missing(learner):
    """With a scale of 2 the last integer stands for 254. How far can 5 be moved, how far is 260 moved, and how far -260?"""
    x = torch.tensor([5.0, 0.0, -5.0, 254.0, 260.0, -260.0, 1000.0])
    expect(learner.error_bound(x, torch.tensor(2.0)), torch.tensor([1.0, 1.0, 1.0, 1.0, 6.0, 6.0, 746.0]), "bound")


@visible("bound")
def test_less_than_half_a_step_beyond(learner):
    """254.5 lies beyond the last integer by a quarter of a step, 255 by a half, and 255.5 by more. What is the larger of the two distances for each?"""
    expect(learner.error_bound(torch.tensor([254.5, -255.0, 255.5]), torch.tensor(2.0)), torch.tensor([1.0, 1.0, 1.5]), "bound")


@visible("bound")
def test_a_bound_by_the_scale_of_its_row(learner):
    """Two rows hold the same two numbers, and have the scales 4 and 1. In which row is 130 beyond the last integer?"""
    x, scale = torch.tensor([[130.0, 7.0], [130.0, 7.0]]), torch.tensor([[4.0], [1.0]])
    for call in (learner.error_bound, learner.error_bound.strided, learner.error_bound.unchanged):
        expect(call(x, scale), torch.tensor([[2.0, 2.0], [3.0, 0.5]]), "bound")


@visible("bound")
def test_a_bound_of_64_bits(learner):
    """Numbers and scale have 64 bits, and so has the bound. Where are digits lost?"""
    x, scale = torch.tensor([0.0, 100.0], dtype=torch.float64), torch.tensor(1 / 3, dtype=torch.float64)
    _expect_digits(learner.error_bound(x, scale), torch.tensor([1 / 6, 100 - 127 / 3], dtype=torch.float64), "bound")


@hidden("bound")
def test_fresh_bounds(learner, reference, draw):
    """No number may be moved farther than its bound, and what is clipped is moved by exactly that. Which bound is too small, and which too large?"""
    for dtype in BOTH:
        for shape in ((9,), (5, 7), (6, 6), (2, 3, 5), (3, 3, 4)):
            for scale in (draw(*shape[:-1], 1, dtype=dtype).abs() + 0.1, draw(dtype=dtype).abs() + 0.1):
                x = draw(*shape, dtype=dtype, scale=130.0) * scale
                for call in (learner.error_bound, learner.error_bound.strided, learner.error_bound.unchanged):
                    expect(call(x, scale), reference.error_bound(x, scale), "bound")


@visible("linear")
def test_two_outputs_by_hand(learner):
    """The token becomes 127 and -3, with a scale of 2; the weights 127, 10 and 127, 1, with scales of 1. What are the two sums, and what do they stand for?"""
    module = _module(learner, [[127.0, 10.0], [127.0, 1.0]])
    expect(module(torch.tensor([[254.0, -6.0]])), torch.tensor([[32198.0, 32252.0]]), "output")


@visible("linear")
def test_what_is_rounded_away(learner):
    """0.4 of a step becomes 0, in the token and in the weight, and 0.6 becomes 1. Which of the numbers that you multiply are not rounded?"""
    module = _module(learner, [[127.0, 100.0, 0.0], [-127.0, 0.4, 0.6]])
    x = torch.tensor([[127.0, 0.4, 0.0], [127.0, 100.0, -100.0], [-127.0, 0.6, 0.0]])
    expect(module(x), torch.tensor([[16129.0, -16129.0], [26129.0, -16229.0], [-16029.0, 16129.0]]), "output")


@visible("linear")
def test_as_many_tokens_as_inputs_and_outputs(learner):
    """Two tokens of two numbers meet a weight with two outputs. Along which axis of the weight do you add up?"""
    module = _module(learner, [[127.0, 3.0], [0.0, -127.0]])
    expect(module(torch.tensor([[127.0, 1.0], [2.0, -127.0]])), torch.tensor([[16132.0, -127.0], [-127.0, 16129.0]]), "output")


@visible("linear")
def test_inputs_of_one_shape_after_another(learner):
    """One module reads three tokens, then one token without an axis for it, then two texts of two. What did it keep from the call before?"""
    module = _module(learner, [[127.0, 2.0], [1.0, -127.0], [127.0, 127.0]])
    one, other = torch.tensor([127.0, 3.0]), torch.tensor([-1.0, 127.0])
    outputs = torch.tensor([16135.0, -254.0, 16510.0]), torch.tensor([127.0, -16130.0, 16002.0])
    expect(module(torch.stack([one, other, one])), torch.stack([outputs[0], outputs[1], outputs[0]]), "output")
    expect(module(one / 2), outputs[0] / 2, "output")
    expect(module(torch.stack([other, one, one, other]).reshape(2, 2, 2)), torch.stack([outputs[n] for n in (1, 0, 0, 1)]).reshape(2, 2, 3), "output")


@visible("linear")
def test_inputs_and_weights_that_others_still_need(learner):
    """Weights and inputs lie in memory in another order, and others still need them as they were. Which of your steps minds, or writes into them?"""
    weight, bias = torch.tensor([[254.0, 4.0, 0.0], [2.0, -254.0, 6.0]]), torch.zeros(2)
    x = torch.tensor([[127.0, 3.0, 1.0], [-1.0, 127.0, 0.0]])
    for make in (learner.Int8Linear.strided, learner.Int8Linear.unchanged):
        module = make(weight, bias)
        for call in (module.strided, module.unchanged):
            expect(call(x), torch.tensor([[32270.0, -502.0], [254.0, -32260.0]]), "output")


@visible("linear")
def test_a_layer_of_64_bits(learner):
    """Weights and inputs have 64 bits, and so have scales and output. Where are digits lost?"""
    module = learner.Int8Linear(torch.tensor([[127.0, 1.0]], dtype=torch.float64) / 3, torch.zeros(1, dtype=torch.float64))
    came = module(torch.tensor([[127.0, -126.0]], dtype=torch.float64) / 7)
    _expect_digits(came, torch.tensor([[16003 / 21]], dtype=torch.float64), "output")


@hidden("linear")
def test_fresh_layers(learner, draw):
    """Integers of the token times integers of the weight, added up, times both scales. Which step is missing, too many, or kept from another call?"""
    for d_in, d_out in ((5, 3), (3, 7), (4, 4), (1, 2), (13, 1)):
        for dtype in BOTH:
            step, size = (2.0 ** float(draw.integers(-6, 0)) for _ in range(2))
            weight = _near_integers(draw, d_out, d_in).to(dtype)
            module = learner.Int8Linear(weight * step, torch.zeros(d_out, dtype=dtype))
            for shape in ((4,), (7,), (2, 3), ()):
                x = _near_integers(draw, *shape, d_in).to(dtype)
                expected = (x.double().round() @ weight.double().round().T).to(dtype) * step * size
                for call in (module, module.strided, module.unchanged):
                    expect(call(x * size), expected, "output")


@visible("sums")
def test_a_sum_of_forty_large_products(learner):
    """Forty products of 127 and 127 are added up. How large is the sum, and how many bits does it take?"""
    expect(_module(learner, [[127.0] * 40])(torch.full((1, 40), 127.0)), torch.tensor([[40.0 * 127 * 127]]), "output")


@visible("sums")
def test_three_large_products(learner):
    """Three products of 127 and 127 come to 48,387. Which integers end at 32,767?"""
    expect(_module(learner, [[127.0] * 3, [-127.0] * 3])(torch.full((2, 3), 127.0)), torch.tensor([[48387.0, -48387.0]] * 2), "output")


@visible("sums")
def test_large_products_of_both_signs(learner):
    """Large products of both signs nearly cancel. What is left of them, to the last one?"""
    weight = [[127.0] * 20 + [-127.0] * 19 + [-126.0]]
    expect(_module(learner, weight)(torch.full((1, 40), 127.0)), torch.tensor([[127.0]]), "output")


@visible("sums")
def test_what_is_left_of_large_products(learner):
    """The integers are 127, 126, 113, 101 and 1 of the token, and 126, -127, 101, -113 and 1 of a row of the weight: their products come to 1, with some other signs too. To how much do yours come, and are they products of integers?"""
    signs = torch.tensor([[1.0, 1.0, 1.0, 1.0, 1.0], [-1.0, -1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0, 1.0], [1.0, 1.0, -1.0, -1.0, 1.0]])
    weight = signs * torch.tensor([126.0, -127.0, 101.0, -113.0, 1.0]) * 0.7
    came = _module(learner, weight.tolist())(torch.tensor([[127.0, 126.0, 113.0, 101.0, 1.0]]) * 0.3)
    expected = torch.full((1, 4), 0.21)
    alike = isinstance(came, torch.Tensor) and came.shape == expected.shape and came.dtype == expected.dtype
    with known_by("right but for a few hundredths", holds=alike and torch.allclose(came, expected, atol=0.05)):
        expect(came, expected, "output")


@hidden("sums")
def test_fresh_sums_of_large_products(learner, draw):
    """Products of large integers are added up without an error, however many there are. Where does your sum end, or lose its last digits?"""
    for d_in in (3, 50, 999):
        signs = 1.0 - 2 * draw.integers(0, 2, d_in)
        weight = signs * draw.integers(100, MOST + 1, 5, d_in)
        weight[:, 0] = MOST * signs[0]
        x = torch.stack([signs * MOST, signs.flip(0) * MOST, -signs * draw.integers(90, MOST + 1, d_in)])
        x[2, 0] = -MOST * signs[0]
        expect(_module(learner, weight.float().tolist())(x.float()), (x.double() @ weight.double().T).float(), "output")


@visible("tokens")
def test_a_large_token_beside_a_small_one(learner):
    """The second token is 128 times larger than the first. Which integers does the first become, alone and beside it?"""
    module = _module(learner, [[127.0, 0.0], [1.0, 127.0]])
    small, large = [127 / 128, 0.5], [-127.0, 50.0]
    expected = [[127 * 127 / 128, 127 / 128 + 127 / 2], [-127.0 * 127, -127 + 127 * 50.0]]
    expect(module(torch.tensor([small, large])), torch.tensor(expected), "output")


@visible("tokens")
def test_a_large_text_beside_a_small_one(learner):
    """Two texts have one token each, and the second is 128 times larger than the first. Do they share a scale, or anything else?"""
    x = torch.tensor([[[127 / 128, 0.5]], [[-127.0, 50.0]]])
    expected = torch.tensor([[[127 * 127 / 128, 127 / 128 + 127 / 2]], [[-127.0 * 127, -127 + 127 * 50.0]]])
    expect(_module(learner, [[127.0, 0.0], [1.0, 127.0]])(x), expected, "output")


@visible("tokens")
def test_a_large_token_in_the_call_before(learner):
    """A large token came in the call before, or a small one. Whose scale do you use now?"""
    module = _module(learner, [[127.0, 0.0], [1.0, 127.0]])
    x = torch.tensor([[127.0, 50.0], [-127.0, 30.0]])
    for size in (1.0, 128.0, 1 / 128):
        expect(_times(module(size * x), 1 / size), torch.tensor([[16129.0, 6477.0], [-16129.0, 3683.0]]), "output, divided by the size of the input")


@hidden("tokens")
def test_fresh_tokens_of_all_sizes(learner, draw):
    """Every token comes out as if it were alone, however large its neighbours are, in its text and in the others. Which of them share a scale?"""
    for shape in ((5,), (4,), (2, 3), (4, 4), (3, 2, 2)):
        steps, sizes = _near_integers(draw, *shape, 4).round(), 2.0 ** draw.integers(-9, 10, *shape, 1)
        weight = _near_integers(draw, 4, 4).round()
        came = _module(learner, weight.tolist())(steps * sizes)
        expect(_times(came, 1 / sizes), steps @ weight.T, "output, divided by the size of the token")


@visible("channels")
def test_a_large_row_of_the_weight(learner):
    """The second row of the weight is a thousand times larger than the first. Which integers does the first become, and which output may notice?"""
    module = _module(learner, [[127 / 128, 0.5], [1016.0, -304.0]])
    expect(module(torch.tensor([[127.0, 1.0], [2.0, 127.0]])), torch.tensor([[126.5078125, 128728.0], [65.484375, -36576.0]]), "output")


@visible("channels")
def test_the_scale_of_each_output(learner):
    """Three rows of a weight hold the same integers and have the scales 1, 2 and 4. By which scale is each of three outputs multiplied, for each of three tokens?"""
    module = _module(learner, [[127.0, 1.0, 0.0], [254.0, 2.0, 0.0], [508.0, 4.0, 0.0]])
    x = torch.tensor([[127.0, 0.0, 1.0], [0.0, 127.0, 1.0], [-127.0, 0.0, 1.0]])
    expect(module(x), torch.tensor([[1.0], [0.0], [-1.0]]) * 16129 * torch.tensor([1.0, 2.0, 4.0]) + torch.tensor([[0.0] * 3, [127.0, 254.0, 508.0], [0.0] * 3]), "output")


@hidden("channels")
def test_fresh_rows_of_all_sizes(learner, draw):
    """Every output comes out as if its row of the weight were the only one. Which of them share a scale, or have another's?"""
    for d_out, d_in in ((5, 3), (4, 4), (2, 7)):
        weight, sizes = _near_integers(draw, d_out, d_in).round(), 2.0 ** draw.integers(-9, 10, d_out)
        x = _near_integers(draw, 4, d_in).round()
        came = _module(learner, (weight * sizes[:, None]).tolist())(x)
        expect(_times(came, 1 / sizes), x @ weight.T, "output, divided by the size of its row")


@visible("bias")
def test_a_bias_that_is_added_last(learner):
    """The bias is 1000.25 and -0.01, and the token has a scale of 2. Which scale does the bias have?"""
    weight, bias = torch.tensor([[254.0, 2.0], [-254.0, 0.0]]), torch.tensor([1000.25, -0.01])
    came = learner.Int8Linear(weight, bias)(torch.tensor([[254.0, -6.0], [0.0, 254.0]]))
    expect(came, torch.tensor([[64504.0, -64516.0], [508.0, 0.0]]) + bias, "output")


@visible("bias")
def test_a_token_of_zeros(learner):
    """A token holds zeros only, as padding does, and so does a row of the weight. What is left for its outputs?"""
    weight, bias = torch.tensor([[127.0, 1.0], [0.0, 0.0]]), torch.tensor([0.25, -3.0])
    module = learner.Int8Linear(weight, bias)
    expect(module(torch.tensor([[0.0, 0.0], [0.0, 127.0]])), torch.tensor([[0.25, -3.0], [127.25, -3.0]]), "output")


@visible("bias")
def test_a_layer_without_a_bias(learner):
    """Some linear layers have no bias: it is None. What is added then?"""
    x, expected = torch.tensor([[127.0, 2.0], [0.0, 0.0]]), torch.tensor([[16131.0], [0.0]])
    expect(learner.Int8Linear(torch.tensor([[127.0, 1.0]]))(x), expected, "output")
    expect(learner.Int8Linear(torch.tensor([[127.0, 1.0]]), None)(x), expected, "output")


@hidden("bias")
def test_fresh_biases(learner, reference, draw):
    """The bias comes last, as it was, for every token; a layer may have none. Where is it rounded, scaled or forgotten?"""
    for dtype in BOTH:
        weight, bias = _near_integers(draw, 5, 3).round().to(dtype), draw(5, dtype=dtype, scale=3.0)
        weight[3] = 0
        x = _near_integers(draw, 2, 4, 3).round().to(dtype)
        x[1, 2] = 0
        for each in (bias, None, 1e4 * bias):
            came, expected = (who.Int8Linear(weight * 0.25, each)(x * 0.5) for who in (learner, reference))
            expect(came, expected, "output")


@visible("stored")
def test_as_few_bytes_as_promised(learner):
    """7 outputs of 100 inputs have 700 weights of one byte, 7 scales and 7 numbers of the bias of four. How many bytes does your `state_dict` take?"""
    weight = torch.arange(700.0).reshape(7, 100)
    _expect_bytes(learner.Int8Linear(weight, torch.ones(7)), 700 + 8 * 7)


@visible("stored")
def test_what_is_saved_is_all_that_is_needed(learner):
    """A second module of the same sizes loads the numbers of the first. Which of its own does it still work with?"""
    weight, bias = torch.tensor([[127.0, 2.0, 0.0], [2.0, -254.0, 6.0]]), torch.tensor([0.5, -3.0])
    _expect_all_saved(learner, weight, bias, torch.tensor([[127.0, 3.0, 1.0]]), torch.tensor([[16135.5, -505.0]]))


@visible("stored")
def test_nothing_learns(learner):
    """Rounding has no slope, so a gradient would be of no use. How many numbers of your module ask for one?"""
    module = learner.Int8Linear(torch.tensor([[127.0, 2.0], [1.0, -127.0]]), torch.tensor([1.0, 2.0]))
    can_learn, _ = module.trained(torch.tensor([[127.0, 3.0]]))
    expect(can_learn, 0, "numbers that can learn")


@hidden("stored")
def test_fresh_modules_that_are_saved(learner, reference, draw):
    """Integers in 8 bits, a scale for each output and the bias are all that is saved, and all that is needed. What is kept besides, or elsewhere?"""
    for d_out, d_in in ((5, 30), (3, 64)):
        weight, bias, x = _near_integers(draw, d_out, d_in) * draw.integers(1, 9, d_out, 1), draw(d_out), _near_integers(draw, 4, d_in)
        _expect_bytes(learner.Int8Linear(weight, bias), d_out * d_in + 8 * d_out)
        _expect_all_saved(learner, weight, bias, x, reference.Int8Linear(weight, bias)(x))
        can_learn, _ = learner.Int8Linear(weight, bias).trained(x)
        expect(can_learn, 0, "numbers that can learn")


@visible("device")
def test_scales_on_another_device(learner, draw):
    """The numbers lie on another device, such as a GPU. Which tensor do you make on the CPU all the same?"""
    x = draw(4, 4)
    expect_device(learner, lambda there: there.scale_of(x), ())
    expect_device(learner, lambda there: there.row_scales(x), (4, 1))


@visible("device")
def test_integers_on_another_device(learner, draw):
    """Numbers, integers and scales lie on another device. Which tensor do you make on the CPU all the same?"""
    x, q, scale = draw(4, 4), _integers(draw.integers(-MOST, MOST, 4, 4)), draw(4, 1).abs() + 0.1
    expect_device(learner, lambda there: there.quantize(x, scale), (4, 4))
    expect_device(learner, lambda there: there.dequantize(q, scale), (4, 4))


@visible("device")
def test_bounds_on_another_device(learner, draw):
    """Numbers and scale lie on another device. Which tensor do you make on the CPU for their bounds all the same?"""
    x, scale = draw(4, 4), draw(4, 1).abs() + 0.1
    expect_device(learner, lambda there: there.error_bound(x, scale), (4, 4))


@visible("device")
def test_module_on_another_device(learner, draw):
    """The module was moved to another device, such as a GPU, and the inputs are there too. Which tensor did not move along, or is made on the CPU?"""
    weight, bias, x = draw(4, 4), draw(4), draw(4, 4, 4)
    expect_device(learner, lambda there: there.Int8Linear(weight, bias)(x), (4, 4, 4))


def _integers(numbers) -> torch.Tensor:
    """Return integers of 8 bits."""
    return torch.as_tensor(numbers).to(torch.int8)


def _near_integers(draw, *shape: int, most: int = 20) -> torch.Tensor:
    """Return numbers well away from the middle between two integers: in each row one of 127 or -127, and others up to `most`, so that only `sums` has large sums."""
    x = draw.integers(-most, most + 1, *shape) + 0.8 * (draw.integers(0, 1000, *shape).float() / 1000 - 0.5)
    x[..., int(draw.integers(0, shape[-1]))] = MOST * (1.0 - 2 * draw.integers(0, 2, *shape[:-1]).float())
    return x


def _times(came, factor):
    """Return what came, times a number or a tensor that lines up with it; anything else as it is."""
    try:
        return (came.double() * factor).to(came.dtype)
    except (AttributeError, TypeError, RuntimeError):
        return came


def _module(learner, weight: list):
    """Return a layer with this weight, and a bias of zeros."""
    return learner.Int8Linear(torch.tensor(weight, dtype=torch.float32), torch.zeros(len(weight)))


def _expect_digits(came, expected: torch.Tensor, what: str) -> None:
    """Return None if all digits are right; where only the last ones are lost, rounding decides which, so the mistake is known by that."""
    alike = isinstance(came, torch.Tensor) and came.shape == expected.shape and came.dtype == expected.dtype
    with known_by("only the first digits are right", holds=alike and torch.allclose(came, expected, rtol=1e-5, atol=0)):
        expect(came, expected, what)


def _expect_bytes(module, most: int) -> None:
    """Return None if what a module would be saved as takes no more bytes than this."""
    kept = [each for each in module.numbers() if isinstance(each, torch.Tensor)]
    held = sum(each.nbytes for each in kept)
    if held > most:
        listed = ", ".join(f"{each.numel()} of {str(each.dtype).removeprefix('torch.')}" for each in kept)
        raise Wrong("bytes of the state_dict", f"{held} where at most {most} were promised; it holds numbers: {listed}", listed, f"at most {most} bytes")


def _expect_one_for_zeros(learner, x: torch.Tensor, row: int) -> None:
    """Return None if the scale of this row of zeros is 1, and those of the others are what they are without it; which they should be, others ask."""
    others = [place for place in range(len(x)) if place != row]
    came, alone = learner.row_scales(x), learner.row_scales(x[others])
    if not isinstance(came, torch.Tensor) or came.shape[:1] != x.shape[:1]:
        return expect(came, torch.ones(len(x), 1, dtype=x.dtype), "scales")
    expect(came[row].flatten()[:1], torch.ones(1, dtype=x.dtype), "scale of the row of zeros")
    expect(came[others], alone, "scales of the other rows")


def _expect_small_steps(scale_of, x: torch.Tensor, size: float) -> None:
    """Return None if numbers that are smaller by a power of 2 have scales that are smaller by as much."""
    expect(_times(scale_of(x * size), 1 / size), scale_of(x), "scale, enlarged as much as the numbers were made smaller")


def _expect_all_saved(learner, weight, bias, x, expected) -> None:
    """Return None if a module that loaded the numbers of another returns what is expected, or what that one does: then other checks say that it is wrong."""
    module = learner.Int8Linear(weight, bias)
    own = module(x)
    other = module.saved(lambda: learner.Int8Linear(torch.ones_like(weight), torch.zeros_like(bias)))
    came = other(x)
    try:
        expect(came, expected, "output of the module that loaded the numbers")
    except Wrong as wrong:
        try:
            expect(came, own, "output of the module that loaded the numbers")
        except Wrong:
            raise wrong from None
        learner.excuse(wrong, "linear", "sums", "tokens", "channels", "bias")
