"""Wrong answers that people write. Parsed, never imported; see autograder/exercise/known.py."""
import torch
from torch import nn


class scale_by_128:
    """The largest number was divided by 128, so it has no integer of its own."""

    fails = ["scale"]
    hint = "Which is the largest integer in use, and which integer becomes the number farthest from 0 in yours?"

    def scale_of(x):
        largest = x.abs().max()
        return torch.where(largest == 0, 1, largest / 128)


class scale_of_the_whole_range:
    """The distance from the smallest number to the largest was divided by 255, as with a zero point."""

    fails = ["scale"]
    hint = "Here 0 stands for 0, and both sides are alike. How many integers does one side have?"

    def scale_of(x):
        span = x.max() - x.min()
        return torch.where(span == 0, 1, span / 255)


class scale_by_half_of_255:
    """The largest number was divided by 127.5, half of 255."""

    fails = ["scale"]
    hint = "There is no integer 127.5. Which one is the last of a side?"

    def scale_of(x):
        largest = x.abs().max()
        return torch.where(largest == 0, 1, 2 * largest / 255)


class scale_without_abs:
    """The largest number was taken with its sign, so a larger one below 0 counts for nothing."""

    fails = ["scale"]
    hint = "Of -254, 3 and 100, which lies farthest from 0, and which did you take?"

    def scale_of(x):
        largest = x.max()
        return torch.where(largest == 0, 1, largest / 127)


class scale_with_abs_too_late:
    """The largest number was looked for first and its sign taken off afterwards."""

    fails = ["scale"]
    hint = "By the time of your `abs`, -254 is already out of the race. What has to come first?"

    def scale_of(x):
        largest = x.max().abs()
        return torch.where(largest == 0, 1, largest / 127)


class scale_inverted:
    """127 was divided by the largest number, which is how many integers go to a unit."""

    fails = ["scale", "zeros"]
    hint = "A step is a length. With 127 integers for 254, is it 2, or a half?"

    def scale_of(x):
        largest = x.abs().max()
        return torch.where(largest == 0, 1, 127 / largest)


class scale_not_shared:
    """The largest number came back as it is, not shared among 127 integers."""

    fails = ["scale"]
    hint = "What you return is the way from 0 to the last integer. How many steps is that?"

    def scale_of(x):
        largest = x.abs().max()
        return torch.where(largest == 0, 1, largest)


class scale_from_the_mean:
    """The mean distance from 0 was taken, and not the largest."""

    fails = ["scale"]
    hint = "With your scale, does the number farthest from 0 still fit?"

    def scale_of(x):
        largest = x.abs().mean()
        return torch.where(largest == 0, 1, largest / 127)


class scale_as_a_python_number:
    """A Python number came back, and not a tensor without axes."""

    fails = ["scale", "zeros", "device"]
    hint = "`item()` leaves the tensor behind, with its dtype and its device. Who asked for that?"

    def scale_of(x):
        largest = x.abs().max()
        return torch.where(largest == 0, 1, largest / 127).item()


class scale_with_axes_left:
    """The axes were kept, each with length 1."""

    fails = ["scale", "zeros", "device"]
    hint = "What shape has one number without axes, and what shape has yours?"

    def scale_of(x):
        largest = x.abs().max()
        return torch.where(largest == 0, 1, largest / 127).reshape([1] * x.ndim)


class a_scale_for_each_row_where_one_is_asked:
    """`scale_of` returned a scale for each row."""

    fails = ["scale", "zeros", "device"]
    hint = "Which of the two functions has one for all of a tensor?"

    def scale_of(x):
        return row_scales(x)


class scale_along_the_first_axis:
    """The maximum ran along one axis, so a scale is left for each of the others."""

    fails = ["scale", "zeros", "device"]
    hint = "`max` with an axis leaves the other axes. What does it do without one?"

    def scale_of(x):
        largest = x.abs().max(dim=0).values
        return torch.where(largest == 0, 1, largest / 127)


class scale_in_32_bits:
    """The scale has 32 bits, whatever the numbers have."""

    fails = ["scale", "zeros"]
    hint = "Which dtype do the numbers have, and where do you name one?"

    def scale_of(x):
        largest = x.float().abs().max()
        return torch.where(largest == 0, 1, largest / 127)


class scale_writes_into_the_numbers:
    """The signs were taken off in the caller's own numbers."""

    fails = ["scale"]
    hint = "What does the `_` at the end of `abs_` mean, and whose numbers have lost their signs?"

    def scale_of(x):
        largest = x.abs_().max()
        return torch.where(largest == 0, 1, largest / 127)


class scale_of_zeros_is_zero:
    """The scale of zeros is 0, by which nothing can be divided."""

    fails = ["zeros"]
    hint = "What is 0 / 0, which `quantize` would have to compute?"

    def scale_of(x):
        return x.abs().max() / 127


class scale_with_a_little_added:
    """A little was added to every scale, so that none is 0."""

    fails = ["scale", "zeros"]
    hint = "What is the scale of zeros now, and what is that of numbers that are smaller than what you add?"

    def scale_of(x):
        return x.abs().max() / 127 + 1e-8


class scale_with_a_lower_limit:
    """Every scale was held above a lower limit, so that none is 0."""

    fails = ["zeros"]
    hint = "Numbers may be smaller than your limit. Which integers do they become?"

    def scale_of(x):
        return (x.abs().max() / 127).clamp(min=1e-8)


class scale_is_one_where_any_zero_is:
    """A single 0 among the numbers was enough for a scale of 1."""

    fails = ["zeros"]
    hint = "It is enough for what: that *one* number is 0, or that the *largest* is?"

    def scale_of(x):
        largest = x.abs().max()
        return torch.where((x == 0).any(), 1, largest / 127)


class scale_by_view:
    """The numbers were laid on one axis by `view`, which refuses those that were transposed."""

    fails = ["scale"]
    hint = "`view` moves no number. Does a maximum without an axis mind how many axes there are?"

    def scale_of(x):
        largest = x.view(-1).abs().max()
        return torch.where(largest == 0, 1, largest / 127)


class scale_rounded:
    """The scale was rounded to a whole number."""

    fails = ["scale", "zeros"]
    hint = "Integers are what numbers become; how long is a step of 1.27 / 127?"

    def scale_of(x):
        largest = x.abs().max()
        return torch.where(largest == 0, 1, (largest / 127).round())


class scale_on_the_cpu:
    """The scale was made anew on the CPU, out of a Python number."""

    fails = ["device"]
    hint = "`torch.tensor` does not know where `x` lies. What is there already that does?"

    def scale_of(x):
        largest = x.abs().max()
        return torch.tensor(1.0 if largest == 0 else largest.item() / 127, dtype=x.dtype)


class rows_by_128:
    """The largest number of each row was divided by 128."""

    fails = ["rows", "linear", "sums", "tokens", "channels", "bias"]
    hint = "Which is the largest integer in use?"

    def row_scales(x):
        largest = x.abs().amax(dim=-1, keepdim=True)
        return torch.where(largest == 0, 1, largest / 128)


class rows_by_the_whole_range:
    """In each row, the distance from the smallest number to the largest was divided by 255."""

    fails = ["rows", "linear", "sums", "tokens", "channels", "bias"]
    hint = "Here 0 stands for 0, and both sides are alike. How many integers does one side have?"

    def row_scales(x):
        span = x.amax(dim=-1, keepdim=True) - x.amin(dim=-1, keepdim=True)
        return torch.where(span == 0, 1, span / 255)


class rows_without_abs:
    """The largest number of each row was taken with its sign."""

    fails = ["rows", "zeros", "linear", "sums", "tokens", "channels", "bias"]
    hint = "In the row -254 and 3, which number is farthest from 0?"

    def row_scales(x):
        largest = x.amax(dim=-1, keepdim=True)
        return torch.where(largest == 0, 1, largest / 127)


class rows_inverted:
    """127 was divided by the largest number of each row."""

    fails = ["rows", "zeros", "linear", "sums", "tokens", "channels", "bias"]
    hint = "A step is a length. With 127 integers for 254, is it 2, or a half?"

    def row_scales(x):
        largest = x.abs().amax(dim=-1, keepdim=True)
        return torch.where(largest == 0, 1, 127 / largest)


class rows_not_shared:
    """The largest number of each row came back as it is."""

    fails = ["rows", "linear", "sums", "tokens", "channels", "bias"]
    hint = "What you return is the way from 0 to the last integer. How many steps is that?"

    def row_scales(x):
        largest = x.abs().amax(dim=-1, keepdim=True)
        return torch.where(largest == 0, 1, largest)


class a_scale_for_each_column:
    """The maximum ran down the columns, so each column has a scale."""

    fails = ["rows", "zeros", "linear", "sums", "tokens", "channels", "bias", "stored", "device"]
    hint = "A row of a weight matrix is an output. Along which axis do its numbers lie?"

    def row_scales(x):
        largest = x.abs().amax(dim=0, keepdim=True)
        return torch.where(largest == 0, 1, largest / 127)


class rows_without_their_last_axis:
    """The last axis is gone, so the scales of rows line up with the columns."""

    fails = ["rows", "zeros", "linear", "sums", "tokens", "channels", "bias", "stored", "device"]
    hint = "Axes line up from the right. Next to which axis of `x` do your scales come to stand in `x / scales`?"

    def row_scales(x):
        largest = x.abs().amax(dim=-1)
        return torch.where(largest == 0, 1, largest / 127)


class one_scale_for_all_rows:
    """All rows got the scale of the whole tensor."""

    fails = ["rows", "zeros", "tokens", "channels", "stored"]
    hint = "The second row may be a thousand times larger than the first. How many integers are left for the first?"

    def row_scales(x):
        return scale_of(x).expand(*x.shape[:-1], 1)


class rows_along_axis_1:
    """The maximum ran along axis 1, which is the last one in a matrix only."""

    fails = ["rows", "linear", "tokens", "bias"]
    hint = "In `(batch, tokens, d_in)`, which axis is 1? How do you name the last one, however many there are?"

    def row_scales(x):
        largest = x.abs().amax(dim=1, keepdim=True)
        return torch.where(largest == 0, 1, largest / 127)


class a_scale_for_each_text:
    """All tokens of a text share a scale."""

    fails = ["rows", "tokens"]
    hint = "What lies along the last axis is a row. How many rows have two texts of three tokens?"

    def row_scales(x):
        axes = tuple(range(1, x.ndim)) if x.ndim > 1 else 0
        largest = x.abs().amax(dim=axes, keepdim=True).expand(*x.shape[:-1], 1)
        return torch.where(largest == 0, 1, largest / 127)


class rows_with_their_places:
    """`max` along an axis returns the numbers and their places, and both were divided."""

    fails = ["rows", "zeros", "linear", "sums", "tokens", "channels", "bias", "stored", "device"]
    hint = "What are the two things that come back? Which of them do you want?"

    def row_scales(x):
        largest = x.abs().max(dim=-1, keepdim=True)
        return torch.where(largest == 0, 1, largest / 127)


class rows_of_zeros_are_zero:
    """A row of zeros has a scale of 0, by which nothing can be divided."""

    fails = ["zeros"]
    hint = "What is 0 / 0, which `quantize` would have to compute?"

    def row_scales(x):
        largest = x.abs().amax(dim=-1, keepdim=True)
        return largest / 127


class rows_of_zeros_asked_for_all_at_once:
    """Only where all rows are zeros is the scale 1."""

    fails = ["zeros"]
    hint = "A single row may hold zeros, as padding does. For which rows did you ask?"

    def row_scales(x):
        largest = x.abs().amax(dim=-1, keepdim=True)
        return torch.ones_like(largest) if (largest == 0).all() else largest / 127


class any_row_of_zeros_is_enough:
    """One row of zeros made the scale of all rows 1."""

    fails = ["zeros", "bias"]
    hint = "A single row may hold zeros, as padding does. Which scales should that change?"

    def row_scales(x):
        largest = x.abs().amax(dim=-1, keepdim=True)
        return torch.ones_like(largest) if (largest == 0).any() else largest / 127


class rows_with_a_little_added:
    """A little was added to every scale of a row, so that none is 0."""

    fails = ["rows", "zeros", "linear", "bias"]
    hint = "What is the scale of zeros now, and what is that of numbers that are smaller than what you add?"

    def row_scales(x):
        largest = x.abs().amax(dim=-1, keepdim=True)
        return largest / 127 + 1e-8


class rows_with_a_lower_limit:
    """Every scale of a row was held above a lower limit, so that none is 0."""

    fails = ["zeros"]
    hint = "Numbers may be smaller than your limit. Which integers do they become?"

    def row_scales(x):
        largest = x.abs().amax(dim=-1, keepdim=True)
        return (largest / 127).clamp(min=1e-8)


class rows_in_32_bits:
    """The scales of rows have 32 bits, whatever the numbers have."""

    fails = ["rows", "zeros", "linear"]
    hint = "Which dtype do the numbers have, and where do you name one?"

    def row_scales(x):
        largest = x.float().abs().amax(dim=-1, keepdim=True)
        return torch.where(largest == 0, 1, largest / 127)


class rows_write_into_the_numbers:
    """The signs were taken off in the caller's own rows."""

    fails = ["rows", "linear", "sums", "tokens", "channels", "bias"]
    hint = "What does the `_` at the end of `abs_` mean, and whose numbers have lost their signs?"

    def row_scales(x):
        largest = x.abs_().amax(dim=-1, keepdim=True)
        return torch.where(largest == 0, 1, largest / 127)


class rows_by_view:
    """The rows were laid below each other by `view`, which refuses a tensor that was transposed."""

    fails = ["rows", "linear"]
    hint = "`view` moves no number. Does a maximum along the last axis mind how many axes come before?"

    def row_scales(x):
        largest = x.view(-1, x.shape[-1]).abs().amax(dim=-1)
        return torch.where(largest == 0, 1, largest / 127).view(*x.shape[:-1], 1)


class rows_on_the_cpu:
    """The scales were written into a tensor that was made on the CPU."""

    fails = ["device"]
    hint = "Writing into a tensor does not move it. What does `x.new_ones` know that `torch.ones` does not?"

    def row_scales(x):
        largest = x.abs().amax(dim=-1, keepdim=True)
        scales = torch.ones(largest.shape, dtype=x.dtype)
        scales[largest.cpu() != 0] = largest[largest != 0].cpu() / 127
        return scales


class cut_off:
    """The fraction was cut off by the conversion, where the nearest integer is asked for."""

    fails = ["round", "linear"]
    hint = "2.8 steps away from 0: which integer is nearest, and which does a conversion take?"

    def quantize(x, scale):
        return (x / scale).clamp(-127, 127).to(torch.int8)


class rounded_down:
    """Every number was rounded down."""

    fails = ["round", "linear"]
    hint = "-2.8 lies between -3 and -2, and 2.8 between 2 and 3. Which is nearer?"

    def quantize(x, scale):
        return (x / scale).floor().clamp(-127, 127).to(torch.int8)


class rounded_up:
    """Every number was rounded up."""

    fails = ["round", "linear", "sums"]
    hint = "0.4 lies between 0 and 1. Which is nearer?"

    def quantize(x, scale):
        return (x / scale).ceil().clamp(-127, 127).to(torch.int8)


class ties_upwards:
    """Halfway between two integers the upper one was taken."""

    fails = ["round"]
    hint = "Halfway, the even one of two is asked for. Between which two does 2.5 lie?"

    def quantize(x, scale):
        return (x / scale + 0.5).floor().clamp(-127, 127).to(torch.int8)


class ties_away_from_zero:
    """Halfway between two integers the one farther from 0 was taken, as in school."""

    fails = ["round"]
    hint = "Halfway, the even one of two is asked for. Between which two does 2.5 lie?"

    def quantize(x, scale):
        steps = x / scale
        nearest = steps.sign() * (steps.abs() + 0.5).floor()
        return nearest.clamp(-127, 127).to(torch.int8)


class half_added_before_the_cut:
    """A half was added and the fraction cut off, which is right above 0 only."""

    fails = ["round", "clip", "linear", "sums", "tokens", "channels", "bias"]
    hint = "-2.8 and a half is -2.3. What is left of it when the fraction is cut off?"

    def quantize(x, scale):
        return (x / scale + 0.5).clamp(-127, 127).to(torch.int8)


class not_clipped:
    """Numbers beyond the last integer wrap around to the other side."""

    fails = ["clip"]
    hint = "What becomes of 200 in 8 bits, and of how many bits of it is there no room for?"

    def quantize(x, scale):
        return (x / scale).round().to(torch.int32).to(torch.int8)


class minus_128_allowed:
    """-128 was allowed, to which no integer on the other side corresponds."""

    fails = ["clip"]
    hint = "How far do the integers go above 0? Should they go farther below?"

    def quantize(x, scale):
        return (x / scale).round().clamp(-128, 127).to(torch.int8)


class up_to_128:
    """The limits were -128 and 128, and 128 wraps around."""

    fails = ["clip"]
    hint = "Which is the largest integer of 8 bits, one of which is for the sign?"

    def quantize(x, scale):
        return (x / scale).round().clamp(-128, 128).to(torch.int32).to(torch.int8)


class clipped_above_only:
    """Only numbers above the last integer were clipped."""

    fails = ["clip"]
    hint = "There are two sides. What becomes of -200?"

    def quantize(x, scale):
        return (x / scale).round().clamp(max=127).to(torch.int32).to(torch.int8)


class clipped_at_zero:
    """Everything below 0 was clipped to 0, as in 8 bits without a sign."""

    fails = ["round", "clip", "linear", "sums", "tokens", "channels", "bias"]
    hint = "Which integers stand for numbers below 0?"

    def quantize(x, scale):
        return (x / scale).round().clamp(0, 127).to(torch.int8)


class clipped_before_the_division:
    """The numbers were clipped, and not the integers."""

    fails = ["round", "clip", "linear", "tokens", "channels", "bias"]
    hint = "254 with a scale of 2 is the integer 127. What did you clip it to before you divided?"

    def quantize(x, scale):
        return (x.clamp(-127, 127) / scale).round().to(torch.int32).to(torch.int8)


class clipped_after_the_conversion:
    """The limits came after the conversion, when numbers had already wrapped around."""

    fails = ["clip"]
    hint = "Which integers can an `int8` hold at all? What is left to clip?"

    def quantize(x, scale):
        return (x / scale).round().to(torch.int32).to(torch.int8).clamp(-127, 127)


class multiplied_by_the_scale:
    """The numbers were multiplied by the scale."""

    fails = ["round", "clip", "linear", "sums", "tokens", "channels", "bias"]
    hint = "The scale is the length of a step. How many steps of 2 are there in 254?"

    def quantize(x, scale):
        return (x * scale).round().clamp(-127, 127).to(torch.int8)


class integers_of_32_bits:
    """The integers take 32 bits each, as many as the floats before."""

    fails = ["round", "clip", "stored"]
    hint = "What was to be gained by integers, if each takes as many bytes as a float?"

    def quantize(x, scale):
        return (x / scale).round().clamp(-127, 127).to(torch.int32)


class floats_kept:
    """Whole numbers came back as floats."""

    fails = ["round", "clip", "stored"]
    hint = "How many bytes does a float take that holds 3.0?"

    def quantize(x, scale):
        return (x / scale).round().clamp(-127, 127)


class bytes_without_a_sign:
    """The integers were moved up by 128, to bytes without a sign."""

    fails = ["round", "clip", "linear", "sums", "tokens", "channels", "bias"]
    hint = "Which integer stands for 0 then? Which one is asked for?"

    def quantize(x, scale):
        return ((x / scale).round().clamp(-127, 127) + 128).to(torch.uint8)


class wrapped_into_uint8:
    """The integers were converted to `torch.uint8`, which has none below 0."""

    fails = ["round", "clip", "linear", "sums", "tokens", "channels", "bias"]
    hint = "What becomes of -3 in a byte without a sign?"

    def quantize(x, scale):
        return (x / scale).round().clamp(-127, 127).to(torch.int32).to(torch.uint8)


class scales_laid_along_the_columns:
    """The scales of the rows were flattened, so they line up with the columns."""

    fails = ["round", "clip", "linear", "sums", "tokens", "channels", "bias", "stored", "device"]
    hint = "Axes line up from the right. Where does the axis of length 1 keep your scales?"

    def quantize(x, scale):
        return (x / scale.flatten()).round().clamp(-127, 127).to(torch.int8)


class scales_transposed:
    """The scales of the rows were transposed, so that each column has one."""

    fails = ["round", "clip", "linear", "sums", "tokens", "channels", "bias", "stored"]
    hint = "Rows have the scales. As they come, `(rows, 1)`, what do they line up with?"

    def quantize(x, scale):
        scale = scale.mT if scale.ndim > 1 else scale
        return (x / scale).round().clamp(-127, 127).to(torch.int8)


class converted_before_the_division:
    """The numbers became integers before they were divided."""

    fails = ["round", "clip", "linear", "sums", "tokens", "channels", "bias"]
    hint = "What is left of 1.4 as an integer, and what is that in steps of a half?"

    def quantize(x, scale):
        return (x.clamp(-127, 127).to(torch.int8) / scale).round().clamp(-127, 127).to(torch.int8)


class rounded_before_the_division:
    """The numbers were rounded before they were divided."""

    fails = ["round", "clip", "linear", "sums", "tokens", "channels", "bias"]
    hint = "The integers count steps. What do you count, as long as you have not divided?"

    def quantize(x, scale):
        return (x.round() / scale).clamp(-127, 127).to(torch.int8)


class own_scale:
    """The scale that was given was left aside, and another one found on these numbers."""

    fails = ["round", "clip", "tokens", "channels"]
    hint = "The scale is given since it was found elsewhere, and is used elsewhere too. Which one will `dequantize` use?"

    def quantize(x, scale):
        return (x / scale_of(x)).round().clamp(-127, 127).to(torch.int8)


class divided_in_16_bits:
    """The division was made in 16 bits, where the steps between numbers are coarse."""

    fails = ["round", "clip", "linear", "sums"]
    hint = "How far apart are numbers of 16 bits near 100? Is the nearest integer still the same?"

    def quantize(x, scale):
        return (x.bfloat16() / scale.bfloat16()).round().clamp(-127, 127).to(torch.int8)


class divided_in_32_bits:
    """The division was made in 32 bits, whatever the numbers have."""

    fails = ["round"]
    hint = "In 32 bits, is there a number between one half and one half and a millionth of a millionth?"

    def quantize(x, scale):
        return (x.float() / scale.float()).round().clamp(-127, 127).to(torch.int8)


class divided_where_they_lie:
    """The caller's own numbers were divided, where they lie."""

    fails = ["round", "linear"]
    hint = "What does `/=` do to a tensor that somebody else still needs?"

    def quantize(x, scale):
        x /= scale
        return x.round().clamp(-127, 127).to(torch.int8)


class one_scale_taken_for_granted:
    """The scale was turned into one Python number, which several scales are not."""

    fails = ["round", "clip", "linear", "sums", "tokens", "channels", "bias", "stored", "device"]
    hint = "What does `item()` say about a tensor of several numbers?"

    def quantize(x, scale):
        return (x / scale.item()).round().clamp(-127, 127).to(torch.int8)


class with_a_zero_point:
    """The smallest number became -127, as with a zero point."""

    fails = ["round", "clip", "linear", "sums", "tokens", "channels", "bias"]
    hint = "Which number does 0 stand for in yours? It should stand for 0."

    def quantize(x, scale):
        return ((x - x.min()) / scale - 127).round().clamp(-127, 127).to(torch.int8)


class integers_by_numpy:
    """The integers were made by NumPy, which knows the CPU only."""

    fails = ["device"]
    hint = "What becomes of a tensor that lies on a GPU? Which methods does a tensor have itself?"

    def quantize(x, scale):
        import numpy as np

        steps = np.clip(np.round((x / scale).numpy()), -127, 127)
        return torch.from_numpy(np.asarray(steps, dtype=np.int8))


class back_by_division:
    """The integers were divided by the scale."""

    fails = ["back"]
    hint = "Three steps of a half are how much?"

    def dequantize(q, scale):
        return q / scale


class back_without_the_scale:
    """The integers came back as floats, and their scale was forgotten."""

    fails = ["back"]
    hint = "How long is a step?"

    def dequantize(q, scale):
        return q.to(scale.dtype).expand(torch.broadcast_shapes(q.shape, scale.shape)).clone()


class back_by_127:
    """The integers were taken as shares of 127."""

    fails = ["back"]
    hint = "The scale is one step, and not the way to the last integer. How long are three steps?"

    def dequantize(q, scale):
        return q * scale / 127


class scale_turned_into_an_integer:
    """The scale became an integer before it was multiplied."""

    fails = ["back"]
    hint = "What is left of a scale of a half as an integer?"

    def dequantize(q, scale):
        return (q * scale.to(torch.int8)).to(scale.dtype)


class back_as_integers:
    """The numbers came back in 8 bits."""

    fails = ["back"]
    hint = "Does 1.5 fit into an integer, or 300 into 8 bits?"

    def dequantize(q, scale):
        return (q * scale).to(torch.int32).to(torch.int8)


class back_in_16_bits:
    """The numbers came back in 16 bits."""

    fails = ["back"]
    hint = "Which dtype has the scale?"

    def dequantize(q, scale):
        return (q * scale).half()


class back_in_32_bits:
    """The numbers were made in 32 bits, whatever the scale has."""

    fails = ["back"]
    hint = "Which dtype has the scale? Digits that are lost do not come back."

    def dequantize(q, scale):
        return q.float() * scale.float()


class back_with_a_zero_point:
    """128 was taken off the integers, as of bytes without a sign."""

    fails = ["back"]
    hint = "Which number does the integer 0 stand for here?"

    def dequantize(q, scale):
        return (q.to(scale.dtype) - 128) * scale


class back_to_whole_numbers:
    """The numbers were rounded once more on the way back."""

    fails = ["back"]
    hint = "The integer 3 stands for 1.5 where a step is a half. Who asked for whole numbers?"

    def dequantize(q, scale):
        return (q * scale).round()


class back_along_the_columns:
    """The scales of the rows were flattened, so they line up with the columns."""

    fails = ["back"]
    hint = "Axes line up from the right. Where does the axis of length 1 keep your scales?"

    def dequantize(q, scale):
        return q * scale.flatten()


class back_on_the_cpu:
    """The numbers were written into a tensor that was made on the CPU."""

    fails = ["device"]
    hint = "Writing into a tensor does not move it. What does `torch.empty_like` know that `torch.empty` does not?"

    def dequantize(q, scale):
        numbers = torch.empty(q.shape, dtype=scale.dtype)
        numbers.copy_(q * scale)
        return numbers


class a_whole_step:
    """A whole step was taken for the bound of what is rounded, and not half of one."""

    fails = ["bound"]
    hint = "Between two integers, how far is the point that is farthest from both?"

    def error_bound(x, scale):
        return torch.maximum(scale.expand(x.shape), x.abs() - 127 * scale)


class clipping_forgotten:
    """Half a step was taken for all numbers, though what is clipped may be moved much farther."""

    fails = ["bound"]
    hint = "The scale is 2, and -260 becomes -127. What does that stand for?"

    def error_bound(x, scale):
        return (scale / 2).expand(x.shape).clone()


class half_a_step_of_the_scale_alone:
    """Half a step came back in the shape of the scale, and not for each number."""

    fails = ["bound", "device"]
    hint = "How many numbers has `x`, and how many bounds did you return?"

    def error_bound(x, scale):
        return scale / 2


class rounding_forgotten:
    """Only the distance beyond the last integer was taken, which is 0 for all other numbers."""

    fails = ["bound"]
    hint = "With a scale of 2, which integer does 5 become, and what does that stand for?"

    def error_bound(x, scale):
        return (x.abs() - 127 * scale).clamp(min=0)


class clipped_above_zero_only:
    """The sign was left on, so numbers below 0 are never clipped."""

    fails = ["bound"]
    hint = "The last integer below 0 is -127. Does -260 fit?"

    def error_bound(x, scale):
        return torch.maximum(scale / 2, x - 127 * scale)


class bound_to_128:
    """The last integer was taken to be 128."""

    fails = ["bound"]
    hint = "Which is the largest integer in use?"

    def error_bound(x, scale):
        return torch.maximum(scale / 2, x.abs() - 128 * scale)


class last_integer_without_its_scale:
    """The distance was taken from 127, and not from what 127 stands for."""

    fails = ["bound"]
    hint = "With a scale of 2, what does the last integer stand for?"

    def error_bound(x, scale):
        return torch.maximum(scale / 2, x.abs() - 127)


class both_distances_added:
    """Half a step was added to the distance beyond the last integer."""

    fails = ["bound"]
    hint = "What lies beyond is not rounded but clipped: to which integer, and how far is that?"

    def error_bound(x, scale):
        return scale / 2 + (x.abs() - 127 * scale).clamp(min=0)


class the_smaller_distance:
    """The smaller of the two distances was taken."""

    fails = ["bound"]
    hint = "A bound has to hold in any case. Which of the two does?"

    def error_bound(x, scale):
        return torch.minimum(scale / 2, x.abs() - 127 * scale)


class less_than_half_a_step_beyond_the_end:
    """Right beyond the last integer, the distance was taken though it is less than half a step."""

    fails = ["bound"]
    hint = "With a scale of 2, what is the bound asked for at 254.5? Which of the two distances is larger there?"

    def error_bound(x, scale):
        beyond = x.abs() - 127 * scale
        return torch.where(beyond > 0, beyond, scale / 2)


class error_in_place_of_a_bound:
    """What came back is the error of these very numbers, and not the most that it can be."""

    fails = ["bound"]
    hint = "5 with a scale of 2 is moved by 1, and 6 by nothing. Which bound holds for both?"

    def error_bound(x, scale):
        return (x - dequantize(quantize(x, scale), scale)).abs()


class one_bound_for_all:
    """The largest bound was returned for all numbers."""

    fails = ["bound"]
    hint = "One number is clipped. Are the others moved any farther for that?"

    def error_bound(x, scale):
        bound = torch.maximum(scale / 2, x.abs() - 127 * scale)
        return bound.max().expand(x.shape).clone()


class bound_along_the_columns:
    """The scales of the rows were flattened, so they line up with the columns."""

    fails = ["bound"]
    hint = "Axes line up from the right. Where does the axis of length 1 keep your scales?"

    def error_bound(x, scale):
        scale = scale.flatten()
        return torch.maximum(scale / 2, x.abs() - 127 * scale)


class bound_in_32_bits:
    """The bound was computed in 32 bits, whatever the numbers have."""

    fails = ["bound"]
    hint = "Which dtype do numbers and scale have, and where do you name one?"

    def error_bound(x, scale):
        return torch.maximum(scale / 2, x.abs() - 127 * scale).float().to(x.dtype)


class bound_with_signs_lost:
    """The signs were taken off in the caller's own numbers."""

    fails = ["bound"]
    hint = "What does the `_` at the end of `abs_` mean, and whose numbers have lost their signs?"

    def error_bound(x, scale):
        return torch.maximum(scale / 2, x.abs_() - 127 * scale)


class bound_on_the_cpu:
    """The bounds were written into a tensor that was made on the CPU."""

    fails = ["device"]
    hint = "Writing into a tensor does not move it. What does `torch.empty_like` know that `torch.empty` does not?"

    def error_bound(x, scale):
        bound = torch.empty(x.shape, dtype=x.dtype)
        bound.copy_(torch.maximum(scale / 2, x.abs() - 127 * scale))
        return bound


class added_up_in_8_bits:
    """The integers were multiplied and added up in 8 bits, where nearly every sum wraps around."""

    fails = ["linear", "sums", "tokens", "channels", "bias"]
    hint = "What is 127 times 127, and which integers can 8 bits hold?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale) @ self.weight.T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class multiplied_in_8_bits:
    """Each product was made in 8 bits, and only the sum in 32."""

    fails = ["linear", "sums", "tokens", "channels", "bias"]
    hint = "A single product may be 127 times 127. In which dtype was it made?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            products = quantize(x, x_scale).unsqueeze(-2) * self.weight
            sums = products.sum(dim=-1, dtype=torch.int32)
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class added_up_in_16_bits:
    """The products were added up in integers of 16 bits, which three large ones exceed."""

    fails = ["sums"]
    hint = "16 bits end at 32,767. What do three products of 127 and 127 come to?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).short() @ self.weight.short().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class added_up_in_half:
    """The products were added up in floats of 16 bits, which end at 65,504 and have no place for every whole number."""

    fails = ["linear", "sums", "tokens", "channels", "bias"]
    hint = "Above 2,048, floats of 16 bits skip odd numbers. How large do sums get here?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).half() @ self.weight.half().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class added_up_in_bfloat16:
    """The products were added up in `bfloat16`, which keeps some three digits."""

    fails = ["linear", "sums", "tokens", "channels", "bias"]
    hint = "How many digits does a sum of products of 127 and 127 have?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).bfloat16() @ self.weight.bfloat16().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class multiplied_as_floats:
    """Integers were turned back into floats before they were multiplied, so each product is rounded, and the sum too."""

    fails = ["sums"]
    hint = "Scales can be taken out of the sum. What is left inside it, and can that be added up without an error?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            output = dequantize(quantize(x, x_scale), x_scale) @ dequantize(self.weight, self.scale[:, None]).T
            return output if self.bias is None else output + self.bias


class inputs_not_quantised:
    """The weight was rounded, and the inputs stayed as they were."""

    fails = ["linear", "sums"]
    hint = "What is multiplied by what here: integers by integers, or floats by integers?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = 1
            sums = x @ self.weight.to(x.dtype).T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class nothing_quantised:
    """The weight was kept as it came, and nothing was rounded."""

    fails = ["linear", "sums", "stored"]
    hint = "How many bytes does your weight take, and how many was it to take?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            self.register_buffer("weight", weight)
            self.register_buffer("bias", bias)

        def forward(self, x):
            output = x @ self.weight.T
            return output if self.bias is None else output + self.bias


class scale_of_the_tokens_forgotten:
    """The scales of the tokens were not multiplied in."""

    fails = ["linear", "sums", "tokens", "bias"]
    hint = "The sum counts steps of the token times steps of the weight. How long is each?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * self.scale
            return output if self.bias is None else output + self.bias


class scale_of_the_outputs_forgotten:
    """The scales of the outputs were not multiplied in."""

    fails = ["linear", "sums", "channels", "bias"]
    hint = "The sum counts steps of the token times steps of the weight. How long is each?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale
            return output if self.bias is None else output + self.bias


class both_scales_forgotten:
    """The sums came back as they were added up, without any scale."""

    fails = ["linear", "sums", "tokens", "channels", "bias"]
    hint = "The sum counts steps of the token times steps of the weight. How long is each?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype)
            return output if self.bias is None else output + self.bias


class scales_added:
    """The two scales were added."""

    fails = ["linear", "sums", "tokens", "channels", "bias"]
    hint = "A term is (2 · 127) times (3 · 5). Which scale can you take out of it?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * (x_scale + self.scale)
            return output if self.bias is None else output + self.bias


class divided_by_the_scales:
    """The sums were divided by the scales."""

    fails = ["linear", "sums", "tokens", "channels", "bias"]
    hint = "You divided to get integers. What leads back?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) / x_scale / self.scale
            return output if self.bias is None else output + self.bias


class scaled_once_more_by_127:
    """The product of the scales was divided by 127 once more."""

    fails = ["linear", "sums", "tokens", "channels", "bias"]
    hint = "Both scales are lengths of one step already. What is left to be shared?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale / 127
            return output if self.bias is None else output + self.bias


class scales_of_outputs_as_a_column:
    """The scales of the outputs were kept as a column, so they line up with the tokens."""

    fails = ["linear", "sums", "tokens", "channels", "bias", "stored"]
    hint = "Outputs lie along the last axis of the result. Where do your scales lie?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale)
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class scales_of_tokens_as_a_row:
    """The scales of the tokens lost their last axis, so they line up with the outputs."""

    fails = ["linear", "sums", "tokens", "channels", "bias", "stored"]
    hint = "Tokens are rows of the result. Where do your scales lie?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale.squeeze(-1) * self.scale
            return output if self.bias is None else output + self.bias


class weight_not_transposed:
    """The weight was multiplied as it lies, with its outputs where inputs belong."""

    fails = ["linear", "sums", "tokens", "channels", "bias", "stored"]
    hint = "The weight is `(d_out, d_in)`. Which of its axes is added up?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double()
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class one_scale_for_all_tokens:
    """All tokens of a call share a scale, so a large one rounds the others away."""

    fails = ["tokens"]
    hint = "Does a token come out the same when another one stands beside it?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = scale_of(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class one_scale_for_each_text:
    """All tokens of a text share a scale, so a large one rounds the others away."""

    fails = ["tokens"]
    hint = "Does a token come out the same when another one stands beside it?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x.flatten(-2)).unsqueeze(-1) if x.ndim > 1 else row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class one_scale_for_each_feature:
    """Each feature of the inputs got a scale, which can't be taken out of a sum over features."""

    fails = ["linear", "sums", "tokens", "channels", "bias"]
    hint = "The sum runs over the features. Which scale is the same in all of its terms?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x.mT).mT if x.ndim > 1 else row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale.mean() * self.scale
            return output if self.bias is None else output + self.bias


class scale_of_the_first_call_kept:
    """The scale of the first call was kept for all later ones."""

    fails = ["linear", "tokens"]
    hint = "Whose numbers is that scale from, and whose come in now?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)
            self.x_scale = None

        def forward(self, x):
            if self.x_scale is None:
                self.x_scale = scale_of(x)
            x_scale = self.x_scale
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class largest_scale_so_far:
    """The largest scale of all calls so far was used."""

    fails = ["linear", "tokens"]
    hint = "A large token has come in an earlier call. What does it leave for this one?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)
            self.x_scale = None

        def forward(self, x):
            found = scale_of(x)
            self.x_scale = found if self.x_scale is None else torch.maximum(self.x_scale, found)
            x_scale = self.x_scale
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class one_scale_for_the_weight:
    """All rows of the weight share a scale, so a large row rounds the others away."""

    fails = ["channels", "stored"]
    hint = "Does an output change when another row of the weight gets larger?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = scale_of(weight).expand(len(weight), 1)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class a_scale_for_each_input_of_the_weight:
    """Each column of the weight got a scale, which can't be taken out of a sum over columns."""

    fails = ["linear", "sums", "tokens", "channels", "bias"]
    hint = "The sum of an output runs along its row. Which scale is the same in all of its terms?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight.T).T
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.mean())
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class mean_of_the_scales:
    """The weight was rounded row by row, and the mean of the scales was multiplied in."""

    fails = ["channels", "bias"]
    hint = "The integers of a row count steps of this row's scale. By which scale did you multiply its output?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale.mean()
            return output if self.bias is None else output + self.bias


class bias_forgotten:
    """The bias was not added."""

    fails = ["bias"]
    hint = "What comes out for a token of zeros?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output


class bias_taken_for_granted:
    """A layer without a bias was not thought of."""

    fails = ["bias"]
    hint = "What is a tensor plus None?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output + self.bias


class bias_added_to_the_sums:
    """The bias was added to the sums of integers, before the scales."""

    fails = ["bias"]
    hint = "The bias is a number of the output. Which steps do the sums count?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            bias = 0 if self.bias is None else self.bias
            return (sums.to(x.dtype) + bias) * x_scale * self.scale


class bias_scaled_with_the_outputs:
    """The bias was added before the scales of the outputs were multiplied in."""

    fails = ["bias"]
    hint = "The bias is a number of the output. Which scale has it?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            bias = 0 if self.bias is None else self.bias
            return (sums.to(x.dtype) * x_scale + bias) * self.scale


class bias_quantised:
    """The bias was rounded to 8 bits too."""

    fails = ["bias"]
    hint = "How many bytes does a bias save, and how large does its error get beside a large number?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", None if bias is None else dequantize(quantize(bias, scale_of(bias)), scale_of(bias)))

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class bias_rounded_to_steps_of_the_sum:
    """The bias was rounded to whole steps of the sum, as kernels without floats have it."""

    fails = ["bias"]
    hint = "A step of the sum is the product of both scales. How much of a small bias is left?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + (self.bias / (x_scale * self.scale)).round() * (x_scale * self.scale)


class bias_subtracted:
    """The bias was subtracted."""

    fails = ["bias"]
    hint = "What does a linear layer do with its bias?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output - self.bias


class zeros_divided_by_zero:
    """The scale of a token was computed without a thought for zeros."""

    fails = ["bias"]
    hint = "A token holds zeros only. By what is it divided?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = x.abs().amax(dim=-1, keepdim=True) / 127
            sums = (x / x_scale).round().double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class output_in_32_bits:
    """The output was made in 32 bits, whatever the inputs have."""

    fails = ["linear"]
    hint = "Which dtype do the inputs have? Digits that are lost do not come back."

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = (sums.float() * x_scale.float() * self.scale.float()).to(x.dtype)
            return output if self.bias is None else output + self.bias


class output_in_64_bits:
    """The output stayed in the 64 bits in which the sums were made."""

    fails = ["linear", "sums", "tokens", "channels", "bias"]
    hint = "Which dtype do the inputs have, and which has the sum?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class scales_kept_in_16_bits:
    """The scales of the outputs were kept in 16 bits."""

    fails = ["linear", "sums"]
    hint = "How many digits have numbers of 16 bits, and how many has the output?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1).half())
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale.to(x.dtype)
            return output if self.bias is None else output + self.bias


class output_rounded:
    """The output was rounded to whole numbers."""

    fails = ["linear", "sums", "tokens", "channels", "bias"]
    hint = "Integers are what is multiplied. What do two scales make of a whole number?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = (sums.to(x.dtype) * x_scale * self.scale).round()
            return output if self.bias is None else output + self.bias


class weight_divided_where_it_lies:
    """The weight was divided by its scales in the caller's own tensor."""

    fails = ["linear"]
    hint = "What does `/=` do to a weight that somebody else still needs?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            weight /= scale
            self.register_buffer("weight", weight.round().to(torch.int8))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class weight_as_a_plain_attribute:
    """The integers of the weight are a plain attribute, which no `state_dict` knows."""

    fails = ["stored"]
    hint = "What does `state_dict()` of your module list?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.weight = quantize(weight, scale)
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class scale_as_a_plain_attribute:
    """The scales of the outputs are a plain attribute, which no `state_dict` knows."""

    fails = ["stored"]
    hint = "What does `state_dict()` of your module list?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.scale = scale.squeeze(-1)
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class bias_as_a_plain_attribute:
    """The bias is a plain attribute, which no `state_dict` knows."""

    fails = ["stored"]
    hint = "What does `state_dict()` of your module list?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.bias = bias

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class buffers_that_are_not_saved:
    """The buffers were registered as ones that are not saved."""

    fails = ["stored"]
    hint = "What does `persistent=False` mean for the `state_dict`?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale), persistent=False)
            self.register_buffer("scale", scale.squeeze(-1), persistent=False)
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class scales_or_bias_that_learn:
    """The scales of the outputs or the bias are a parameter, which asks for a gradient."""

    fails = ["stored"]
    hint = "What is saved and moved with a module, and doesn't learn?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.scale = nn.Parameter(scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class weight_kept_in_32_bits:
    """The integers of the weight were kept in 32 bits, ready for the product."""

    fails = ["stored"]
    hint = "How many bytes does each weight take in yours? When is the wider one needed?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale).int())
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class weight_kept_as_floats:
    """The weight was rounded and kept as floats, as `fake_quantize` does it."""

    fails = ["stored"]
    hint = "The numbers are those of 8 bits. How many bytes do they take?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", dequantize(quantize(weight, scale), scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ (self.weight / self.scale[:, None]).round().double().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class weight_kept_beside:
    """The weight as it came was kept beside its integers."""

    fails = ["stored"]
    hint = "Who needs it once the integers are there?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)
            self.register_buffer("original", weight)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale
            return output if self.bias is None else output + self.bias


class quantised_in_every_call:
    """The weight was kept as it came, and quantised anew in every call."""

    fails = ["stored"]
    hint = "What is saved in yours, and how many bytes does it take?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            self.register_buffer("weight", weight)
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            scale = row_scales(self.weight)
            sums = quantize(x, x_scale).double() @ quantize(self.weight, scale).double().T
            output = sums.to(x.dtype) * x_scale * scale.squeeze(-1)
            return output if self.bias is None else output + self.bias


class scale_for_each_weight:
    """The scales were spread out, one for each weight."""

    fails = ["stored"]
    hint = "How many scales has a row, and how many did you keep?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.expand(weight.shape).clone())
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale[:, 0]
            return output if self.bias is None else output + self.bias


class output_on_the_cpu:
    """The output was written into a tensor that was made on the CPU."""

    fails = ["device"]
    hint = "Writing into a tensor does not move it. What does `x.new_empty` know that `torch.empty` does not?"

    class Int8Linear(nn.Module):
        def __init__(self, weight, bias=None):
            super().__init__()
            scale = row_scales(weight)
            self.register_buffer("weight", quantize(weight, scale))
            self.register_buffer("scale", scale.squeeze(-1))
            self.register_buffer("bias", bias)

        def forward(self, x):
            x_scale = row_scales(x)
            sums = quantize(x, x_scale).double() @ self.weight.double().T
            output = sums.to(x.dtype) * x_scale * self.scale
            result = torch.zeros(output.shape, dtype=x.dtype)
            result += output.cpu() if self.bias is None else (output + self.bias).cpu()
            return result
