"""Wrong answers that people write. Parsed, never imported; see autograder/exercise/known.py."""
import math

import torch
from torch import nn


class exponent_of_the_column:
    """The exponent counted columns, so a sine and its cosine have different frequencies."""

    fails = ["place", "odd", "far"]
    hint = "Columns 2i and 2i + 1 are the sine and the cosine of one angle. Which of the two numbers may stand in the exponent for both?"

    def sinusoidal_encoding(length, d_model):
        columns = torch.arange(d_model, dtype=torch.float64)
        angles = torch.arange(length, dtype=torch.float64)[:, None] / 10000 ** (2 * columns / d_model)
        return torch.where(columns % 2 == 0, angles.sin(), angles.cos()).float()


class exponent_of_each_column:
    """The exponent was column / d_model for sines and cosines alike, so a cosine has a lower frequency than the sine beside it."""

    fails = ["place", "odd", "far"]
    hint = "Columns 2i and 2i + 1 are one dimension pair, whose exponent is 2i / d_model. What does column 3 get?"

    def sinusoidal_encoding(length, d_model):
        columns = torch.arange(d_model, dtype=torch.float64)
        angles = torch.arange(length, dtype=torch.float64)[:, None] / 10000 ** (columns / d_model)
        return torch.where(columns % 2 == 0, angles.sin(), angles.cos()).float()


class exponent_cut_to_a_whole_number:
    """The exponent 2i / d_model was cut to a whole number, so every dimension pair has the frequency of the first."""

    fails = ["place", "odd", "far"]
    hint = "What is 2 // 4, and what is 2 / 4? Which frequency does the second dimension pair get then?"

    def sinusoidal_encoding(length, d_model):
        pairs = torch.arange(d_model).double() // 2
        angles = torch.arange(length).double()[:, None] / 10000.0 ** (2 * pairs // d_model)
        return torch.where(torch.arange(d_model) % 2 == 0, angles.sin(), angles.cos()).float()


class exponent_without_its_two:
    """The exponent was i / d_model for dimension pair i, half of what it should be, so the low frequencies are too high."""

    fails = ["place", "odd", "far"]
    hint = "Pair i begins in column 2i. Which of the two numbers is divided by d_model?"

    def sinusoidal_encoding(length, d_model):
        pairs = torch.arange((d_model + 1) // 2, dtype=torch.float64)
        angles = torch.arange(length, dtype=torch.float64)[:, None] / 10000 ** (pairs / d_model)
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model].float()


class lowest_frequency_at_the_base:
    """The frequencies were spread so that the last one is 1 / 10000; the formula's last frequency is a little higher."""

    fails = ["place", "odd", "far"]
    hint = "With d_model 4 there are two frequencies. What does the formula give for i = 1, and is it 1 / 10000?"

    def sinusoidal_encoding(length, d_model):
        pairs = (d_model + 1) // 2
        step = math.log(10000) / max(pairs - 1, 1)
        frequencies = torch.exp(-step * torch.arange(pairs, dtype=torch.float64))
        angles = torch.arange(length, dtype=torch.float64)[:, None] * frequencies
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model].float()


class exponent_without_its_minus:
    """Positions were multiplied by the power of 10000 where they are divided by it, so each frequency is higher than the one before."""

    fails = ["place", "odd", "far"]
    hint = "From one position to the next, should the angle of the second pair grow by more than that of the first, or by less?"

    def sinusoidal_encoding(length, d_model):
        pairs = torch.arange((d_model + 1) // 2, dtype=torch.float64)
        angles = torch.arange(length, dtype=torch.float64)[:, None] * 10000 ** (2 * pairs / d_model)
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model].float()


class all_sines_first:
    """All sines stand on the left and all cosines on the right. Some papers do so; here a sine and its cosine are neighbours."""

    fails = ["place", "odd", "far"]
    hint = "Which two columns belong to dimension pair 0?"

    def sinusoidal_encoding(length, d_model):
        frequencies = 10000.0 ** (-torch.arange(0, d_model, 2).double() / d_model)
        angles = torch.arange(length).double()[:, None] * frequencies
        return torch.cat([angles.sin(), angles.cos()], dim=1)[:, :d_model].float()


class sine_and_cosine_swapped:
    """Cosines stand in the even columns and sines in the odd ones."""

    fails = ["place", "odd", "far"]
    hint = "At position 0 every angle is 0. What is its sine, what is its cosine, and which of the two comes first?"

    def sinusoidal_encoding(length, d_model):
        frequencies = 10000.0 ** (-torch.arange(0, d_model + 1, 2).double() / d_model)
        angles = torch.arange(length).double()[:, None] * frequencies
        encoding = torch.zeros(length, d_model)
        encoding[:, 0::2] = angles.cos()[:, : (d_model + 1) // 2]
        encoding[:, 1::2] = angles.sin()[:, : d_model // 2]
        return encoding


class sines_only:
    """The odd columns hold the sine again where the cosine belongs."""

    fails = ["place", "odd", "far"]
    hint = "A sine alone can't tell an angle of 30 degrees from one of 150. Which number does?"

    def sinusoidal_encoding(length, d_model):
        frequencies = 10000.0 ** (-2 * (torch.arange(d_model) // 2).double() / d_model)
        return torch.sin(torch.arange(length).double()[:, None] * frequencies).float()


class position_zero_left_empty:
    """Position 0 got a row of zeros, as if it were kept for filler."""

    fails = ["place"]
    hint = "Every angle of position 0 is 0. Are its sine and its cosine both 0?"

    def sinusoidal_encoding(length, d_model):
        pairs = torch.arange(d_model).double() // 2
        angles = torch.arange(length).double()[:, None] / 10000.0 ** (2 * pairs / d_model)
        encoding = torch.zeros(length, d_model)
        encoding[1:, 0::2] = angles.sin()[1:, 0::2].float()
        encoding[1:, 1::2] = angles.cos()[1:, 1::2].float()
        return encoding


class positions_from_one:
    """Positions were counted from 1."""

    fails = ["place", "odd", "far"]
    hint = "What is the sine of 0, and which word's row should begin with it?"

    def sinusoidal_encoding(length, d_model):
        pairs = torch.arange(d_model).double() // 2
        angles = torch.arange(1, length + 1).double()[:, None] / 10000.0 ** (2 * pairs / d_model)
        return torch.where(torch.arange(d_model) % 2 == 0, angles.sin(), angles.cos()).float()


class positions_as_shares_of_the_length:
    """Positions were divided by the length, so the same position has another encoding in sentences of another length."""

    fails = ["place", "odd", "far", "lengths"]
    hint = "Should the encoding of the second word change because a tenth word is said?"

    def sinusoidal_encoding(length, d_model):
        pairs = torch.arange(d_model).double() // 2
        angles = torch.arange(length).double()[:, None] / length / 10000.0 ** (2 * pairs / d_model)
        return torch.where(torch.arange(d_model) % 2 == 0, angles.sin(), angles.cos()).float()


class an_axis_for_the_batch:
    """The table came with an axis for the batch in front, which is not its own."""

    fails = ["place", "odd", "far", "add", "lengths", "start"]
    hint = "An encoding depends on the position only. Who adds an axis, and is it needed where shapes are lined up from the right?"

    def sinusoidal_encoding(length, d_model):
        pairs = torch.arange(d_model).double() // 2
        angles = torch.arange(length).double()[:, None] / 10000.0 ** (2 * pairs / d_model)
        return torch.where(torch.arange(d_model) % 2 == 0, angles.sin(), angles.cos()).float().unsqueeze(0)


class odd_width_breaks:
    """At an odd width there were as many cosines as sines, one more than there are columns for them."""

    fails = ["odd"]
    hint = "How many odd columns has a row of 5 numbers, and how many even ones?"

    def sinusoidal_encoding(length, d_model):
        angles = torch.arange(length).double()[:, None] * 10000.0 ** (-torch.arange(0, d_model, 2).double() / d_model)
        encoding = torch.zeros(length, d_model)
        encoding[:, 0::2] = torch.sin(angles)
        encoding[:, 1::2] = torch.cos(angles)
        return encoding


class odd_width_refused:
    """An odd width was refused, though the formula has a number for every column."""

    fails = ["odd"]
    hint = "What does the formula say for the last column when d_model is 5?"

    def sinusoidal_encoding(length, d_model):
        if d_model % 2 != 0:
            raise ValueError(f"Cannot use sin/cos positional encoding with odd dim (got dim={d_model})")
        angles = torch.arange(length).double()[:, None] * 10000.0 ** (-torch.arange(0, d_model, 2).double() / d_model)
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).float()


class odd_width_loses_a_column:
    """At an odd width only whole dimension pairs were made, and the last column is missing."""

    fails = ["odd"]
    hint = "How many numbers must an encoding have so that it can be added to a word of 5?"

    def sinusoidal_encoding(length, d_model):
        pairs = torch.arange(d_model // 2, dtype=torch.float64)
        angles = torch.arange(length).double()[:, None] / 10000 ** (2 * pairs / d_model)
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).float()


class odd_width_ends_with_zero:
    """At an odd width the last column was filled with zeros."""

    fails = ["odd"]
    hint = "The last dimension pair has no cosine here. Has it no sine either?"

    def sinusoidal_encoding(length, d_model):
        pairs = torch.arange(d_model // 2, dtype=torch.float64)
        angles = torch.arange(length).double()[:, None] / 10000 ** (2 * pairs / d_model)
        encoding = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).float()
        return torch.nn.functional.pad(encoding, (0, d_model % 2))


class odd_width_rounded_up:
    """An odd width was made even first, so the frequencies are those of a wider encoding."""

    fails = ["odd"]
    hint = "You cut the column that was too many. Did d_model in the formula become what it was, too?"

    def sinusoidal_encoding(length, d_model):
        width = d_model + d_model % 2
        angles = torch.arange(length).double()[:, None] * 10000.0 ** (-torch.arange(0, width, 2).double() / width)
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model].float()


class angles_in_32_bits:
    """The angles, or the frequencies in them, were computed in 32 bits. Those hold seven digits: of thousands of radians too few are left behind the point."""

    fails = ["far"]
    hint = "The sine needs to know where on the circle the angle ends. Which dtype have your frequencies, and which your angles? (`10000.0 ** t` has the dtype of t.)"

    def sinusoidal_encoding(length, d_model):
        position = torch.arange(length).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        encoding = torch.zeros(length, d_model)
        encoding[:, 0::2] = torch.sin(position * div_term)
        encoding[:, 1::2] = torch.cos(position * div_term[: d_model // 2])
        return encoding


class five_thousand_positions_at_most:
    """The rows were taken from a table of 5000 positions, so there are no more than that."""

    fails = ["far"]
    hint = "Where does the number 5000 come from, when the caller says how many positions there are?"

    def sinusoidal_encoding(length, d_model):
        pairs = torch.arange((d_model + 1) // 2, dtype=torch.float64)
        angles = torch.arange(5000, dtype=torch.float64)[:, None] / 10000 ** (2 * pairs / d_model)
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:length, :d_model].float()


class result_left_in_64_bits:
    """The result was left in 64 bits, where the words have 32."""

    fails = ["far"]
    hint = "The angles need 64 bits. What needs them once the sine is taken?"

    def sinusoidal_encoding(length, d_model):
        pairs = torch.arange((d_model + 1) // 2, dtype=torch.float64)
        angles = torch.arange(length, dtype=torch.float64)[:, None] / 10000 ** (2 * pairs / d_model)
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model]


class rotation_for_columns:
    """The matrix rotates encodings that stand as columns on its right. For rows on its left it is the rotation back."""

    fails = ["turn"]
    hint = "Texts that write M x hold vectors as columns. What becomes of their matrix when vectors are rows?"

    def offset_rotation(offset, d_model):
        frequencies = 10000.0 ** (-torch.arange(0, d_model, 2).double() / d_model)
        blocks = [torch.tensor([[math.cos(b), math.sin(b)], [-math.sin(b), math.cos(b)]]) for b in (offset * frequencies).tolist()]
        return torch.block_diag(*blocks)


class rotation_for_sines_first:
    """The matrix is for encodings whose sines all stand on the left. Here a sine and its cosine are neighbours."""

    fails = ["turn"]
    hint = "Which two columns hold dimension pair 0, and which two rows of the matrix do they meet?"

    def offset_rotation(offset, d_model):
        angles = offset * 10000.0 ** (-torch.arange(0, d_model, 2).double() / d_model)
        c, s = angles.cos().diag(), angles.sin().diag()
        return torch.cat([torch.cat([c, -s], dim=1), torch.cat([s, c], dim=1)], dim=0).float()


class all_pairs_by_one_angle:
    """Every dimension pair was rotated by the same angle, as if all had the frequency of the first."""

    fails = ["turn"]
    hint = "Two words later, by which angle is the pair of the highest frequency rotated, and by which the pair of the lowest?"

    def offset_rotation(offset, d_model):
        c, s = math.cos(offset), math.sin(offset)
        return torch.block_diag(*[torch.tensor([[c, -s], [s, c]])] * (d_model // 2))


class rotation_at_other_frequencies:
    """The dimension pairs were rotated at other frequencies than those of the encoding: the exponent counts pairs where it should count columns of sines."""

    fails = ["turn"]
    hint = "With d_model 4, dimension pair 1 has a frequency of 1/100 radian per position. By how much does your matrix rotate it for each word of the offset?"

    def offset_rotation(offset, d_model):
        frequencies = 10000.0 ** (-torch.arange(d_model // 2).double() / d_model)
        blocks = [torch.tensor([[math.cos(b), -math.sin(b)], [math.sin(b), math.cos(b)]]) for b in (offset * frequencies).tolist()]
        return torch.block_diag(*blocks)


class rotation_in_32_bits:
    """The angle of the rotation was computed in 32 bits, which hold too few digits of thousands of radians."""

    fails = ["turn"]
    hint = "In which dtype is the offset multiplied by the frequencies?"

    def offset_rotation(offset, d_model):
        angles = offset * torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        rows = torch.arange(0, d_model, 2)
        rotation = torch.zeros(d_model, d_model)
        rotation[rows, rows] = rotation[rows + 1, rows + 1] = torch.cos(angles)
        rotation[rows, rows + 1] = -torch.sin(angles)
        rotation[rows + 1, rows] = torch.sin(angles)
        return rotation


class no_sign_on_either_sine:
    """Both sines in a block have the same sign, so the block mirrors and stretches where it should rotate."""

    fails = ["turn", "back"]
    hint = "The pair (sin a, cos a) has length 1. Which sign must one of the two sines in a block have so that it keeps this length?"

    def offset_rotation(offset, d_model):
        angles = offset * 10000.0 ** (-torch.arange(0, d_model, 2).double() / d_model)
        blocks = [torch.tensor([[math.cos(b), math.sin(b)], [math.sin(b), math.cos(b)]]) for b in angles.tolist()]
        return torch.block_diag(*blocks)


class rotated_word_by_word:
    """The rotation by one word was repeated in a loop, and a loop over a negative number does nothing."""

    fails = ["back"]
    hint = "How often does a loop over range(-3) run? Which angle rotates back?"

    def offset_rotation(offset, d_model):
        frequencies = 10000.0 ** (-torch.arange(0, d_model, 2).double() / d_model)
        blocks = [[[math.cos(b), -math.sin(b)], [math.sin(b), math.cos(b)]] for b in frequencies.tolist()]
        one = torch.block_diag(*(torch.tensor(block, dtype=torch.float64) for block in blocks))
        rotation = torch.eye(d_model, dtype=torch.float64)
        for _ in range(offset):
            rotation = rotation @ one
        return rotation.float()


class sign_of_the_offset_lost:
    """The size of the offset was used and its sign forgotten, so the way back leads on."""

    fails = ["back"]
    hint = "Three words back and three words on: what differs in your matrix?"

    def offset_rotation(offset, d_model):
        angles = abs(offset) * 10000.0 ** (-torch.arange(0, d_model, 2).double() / d_model)
        blocks = [torch.tensor([[math.cos(b), -math.sin(b)], [math.sin(b), math.cos(b)]]) for b in angles.tolist()]
        return torch.block_diag(*blocks)


class no_way_back:
    """A negative offset was refused, though a dimension pair can be rotated back as well as on."""

    fails = ["back"]
    hint = "What does a rotation by a negative angle do, and do sine and cosine mind?"

    def offset_rotation(offset, d_model):
        if offset < 0:
            raise ValueError("offset must not be negative")
        angles = offset * 10000.0 ** (-torch.arange(0, d_model, 2).double() / d_model)
        blocks = [torch.tensor([[math.cos(b), -math.sin(b)], [math.sin(b), math.cos(b)]]) for b in angles.tolist()]
        return torch.block_diag(*blocks)


class positions_along_the_batch:
    """Positions were counted along the first axis: all words of a sentence got one position, and each sentence another."""

    fails = ["add", "lengths", "start", "dtype"]
    hint = "x has the shape (batch, tokens, d_model). What is x.size(0), and which axis holds the words?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model = d_model

        def forward(self, x, start=0):
            positions = sinusoidal_encoding(start + x.size(0), self.d_model)[start:, None]
            return x + positions.to(x)


class positions_instead_of_words:
    """The module returned the encodings and left the words out."""

    fails = ["add", "training"]
    hint = "What does a word that meant something mean after this module?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model = d_model
            self.register_buffer("table", sinusoidal_encoding(max_length, d_model), persistent=False)

        def forward(self, x, start=0):
            stop = start + x.shape[-2]
            table = self.table if stop <= len(self.table) else sinusoidal_encoding(stop, self.d_model).to(x.device)
            return table[start:stop].to(x).expand(x.shape)


class positions_beside_the_words:
    """Encodings were set beside the words, so that each word is twice as wide."""

    fails = ["add", "lengths", "start", "dtype", "training", "device"]
    hint = "The width stays as it is. How can a word of d_model numbers carry its position without getting wider?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model = d_model
            self.register_buffer("table", sinusoidal_encoding(max_length, d_model), persistent=False)

        def forward(self, x, start=0):
            stop = start + x.shape[-2]
            table = self.table if stop <= len(self.table) else sinusoidal_encoding(stop, self.d_model).to(x.device)
            return torch.cat([x, table[start:stop].to(x).expand(x.shape)], dim=-1)


class words_made_larger:
    """The words were multiplied by the square root of d_model first, as the Transformer does with its word vectors, but elsewhere."""

    fails = ["add"]
    hint = "What should come back for a word besides the word itself and its position?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model = d_model
            self.register_buffer("table", sinusoidal_encoding(max_length, d_model), persistent=False)

        def forward(self, x, start=0):
            stop = start + x.shape[-2]
            table = self.table if stop <= len(self.table) else sinusoidal_encoding(stop, self.d_model).to(x.device)
            return x * math.sqrt(self.d_model) + table[start:stop].to(x)


class some_numbers_dropped:
    """Dropout came along with the encodings, so some numbers are zero at random and the others too large."""

    fails = ["add", "lengths", "start", "dtype"]
    hint = "Was dropout asked for? What should two calls with the same words give?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model = d_model
            self.dropout = nn.Dropout(p=0.1)
            self.register_buffer("table", sinusoidal_encoding(max_length, d_model), persistent=False)

        def forward(self, x, start=0):
            stop = start + x.shape[-2]
            table = self.table if stop <= len(self.table) else sinusoidal_encoding(stop, self.d_model).to(x.device)
            return self.dropout(x + table[start:stop].to(x))


class one_batch_axis_expected:
    """The code expected exactly one axis before the words."""

    fails = ["add"]
    hint = "Counted from the front, the axis of the words moves when the batch has more axes or none. From where must it be counted?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model = d_model
            self.register_buffer("table", sinusoidal_encoding(max_length, d_model), persistent=False)

        def forward(self, x, start=0):
            batch, tokens, d_model = x.shape
            stop = start + tokens
            table = self.table if stop <= len(self.table) else sinusoidal_encoding(stop, d_model).to(x.device)
            return x + table[start:stop].to(x)


class sentences_unrolled_by_view:
    """The axes before the words were made one by `view`, which refuses tensors that were transposed."""

    fails = ["add"]
    hint = "`view` moves no number. What does `reshape` do where the numbers do not lie in the order of the axes?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model, self.max_length = d_model, max_length
            self.register_buffer("ready", sinusoidal_encoding(max_length, d_model), persistent=False)

        def forward(self, x, start=0):
            stop = start + x.shape[-2]
            encoding = self.ready if stop <= len(self.ready) else sinusoidal_encoding(stop, self.d_model)
            return (x.view(-1, *x.shape[-2:]) + encoding[start:stop].to(x)).view(x.shape)


class words_found_by_their_number:
    """The axis of the words was found by its length, and another axis may be as long."""

    fails = ["add"]
    hint = "Three sentences of three words: which of the two threes did your code find first?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model, self.max_length = d_model, max_length
            self.register_buffer("ready", sinusoidal_encoding(max_length, d_model), persistent=False)

        def forward(self, x, start=0):
            stop = start + x.shape[-2]
            encoding = self.ready if stop <= len(self.ready) else sinusoidal_encoding(stop, self.d_model)
            axis = list(x.shape).index(x.shape[-2]) - x.ndim
            positions = encoding[start:stop].to(x)
            return x + (positions if axis == -2 else positions.unflatten(0, (-1, *[1] * (-2 - axis))))


class whole_table_added:
    """The whole table was added, however many words there were."""

    fails = ["lengths", "device"]
    hint = "A sentence of three words needs three positions. Which rows of the table are they?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model, self.max_length = d_model, max_length

        def forward(self, x, start=0):
            stop = start + x.shape[-2]
            length = max(self.max_length, stop)
            return x + sinusoidal_encoding(length, self.d_model)[start:].to(x)


class no_further_than_the_table:
    """The positions end where the table does, and a longer sentence finds too few."""

    fails = ["lengths", "device"]
    hint = "A formula has a value for every position. What can be done when the table has none?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model = d_model
            self.register_buffer("table", sinusoidal_encoding(max_length, d_model), persistent=False)

        def forward(self, x, start=0):
            return x + self.table[start : start + x.shape[-2]].to(x)


class table_begins_again:
    """Behind the end of the table positions were counted from 0 again, so two words of a sentence share one position."""

    fails = ["lengths"]
    hint = "Two equal words, `max_length` words apart: can attention tell them apart?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model = d_model
            self.register_buffer("table", sinusoidal_encoding(max_length, d_model), persistent=False)

        def forward(self, x, start=0):
            positions = torch.arange(start, start + x.shape[-2], device=x.device) % len(self.table)
            return x + self.table[positions].to(x)


class last_position_for_all_that_follow:
    """All words behind the end of the table got the last position of the table."""

    fails = ["lengths"]
    hint = "In a longer sentence, how would the last word be told from the one before it?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model = d_model
            self.register_buffer("table", sinusoidal_encoding(max_length, d_model), persistent=False)

        def forward(self, x, start=0):
            positions = torch.arange(start, start + x.shape[-2], device=x.device).clamp(max=len(self.table) - 1)
            return x + self.table[positions].to(x)


class table_stretched:
    """For a longer sentence the table was stretched, so that also the first words got new positions."""

    fails = ["lengths"]
    hint = "Does the second word stand elsewhere because more words follow?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model = d_model
            self.register_buffer("table", sinusoidal_encoding(max_length, d_model), persistent=False)

        def forward(self, x, start=0):
            stop = start + x.shape[-2]
            table = self.table
            if stop > len(table):
                table = torch.nn.functional.interpolate(table.T[None], size=stop, mode="linear", align_corners=True)[0].T
            return x + table[start:stop].to(x)


class first_sentence_remembered:
    """The table was made for the first sentence and kept, so a longer one that comes later finds too few positions."""

    fails = ["lengths"]
    hint = "The second sentence has more words than the first. How many positions does your table have by then?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model, self.table = d_model, None

        def forward(self, x, start=0):
            if self.table is None:
                self.table = sinusoidal_encoding(start + x.shape[-2], self.d_model)
            return x + self.table[start : start + x.shape[-2]].to(x)


class length_measured_without_start:
    """Whether the table is long enough was decided by the number of words, as if every sentence began at position 0."""

    fails = ["lengths"]
    hint = "A sentence begins at position 6 and has 7 words. Which position does the last word need?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model = d_model
            self.register_buffer("table", sinusoidal_encoding(max_length, d_model), persistent=False)

        def forward(self, x, start=0):
            tokens = x.shape[-2]
            table = self.table if tokens <= len(self.table) else sinusoidal_encoding(start + tokens, self.d_model).to(x.device)
            return x + table[torch.arange(start, start + tokens, device=x.device)].to(x)


class start_ignored:
    """`start` was not used, so every sentence begins at position 0."""

    fails = ["start"]
    hint = "Which row of the table does the first word get if it stands at position 4?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model = d_model
            self.register_buffer("table", sinusoidal_encoding(max_length, d_model), persistent=False)

        def forward(self, x, start=0):
            tokens = x.shape[-2]
            table = self.table if tokens <= len(self.table) else sinusoidal_encoding(tokens, self.d_model).to(x.device)
            return x + table[:tokens].to(x)


class start_cuts_positions_off:
    """The rows end at the number of words, though they begin at `start`: there are too few of them."""

    fails = ["start"]
    hint = "If the first row is number 4 and three are needed, which is the last?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model = d_model
            self.register_buffer("table", sinusoidal_encoding(max_length, d_model), persistent=False)

        def forward(self, x, start=0):
            tokens = x.shape[-2]
            table = self.table if tokens <= len(self.table) else sinusoidal_encoding(tokens, self.d_model).to(x.device)
            return x + table[start:tokens].to(x)


class start_taken_for_a_word:
    """`start` was read as the first word that gets a position, and the words before it got none."""

    fails = ["start"]
    hint = "`start` says where the sentence stands. Which words of x have a position then: some, or all?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model = d_model

        def forward(self, x, start=0):
            tokens = x.shape[-2]
            encoding = nn.functional.pad(sinusoidal_encoding(tokens, self.d_model), (0, 0, min(start, tokens), 0))[:tokens]
            return x + encoding.to(x)


class positions_keep_their_dtype:
    """The encodings kept 32 bits, and the sum of words and encodings took the larger dtype of the two."""

    fails = ["dtype"]
    hint = "What dtype has a sum of 16 bits and 32 bits? Who should follow whom?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model = d_model
            self.register_buffer("table", sinusoidal_encoding(max_length, d_model), persistent=False)

        def forward(self, x, start=0):
            stop = start + x.shape[-2]
            table = self.table if stop <= len(self.table) else sinusoidal_encoding(stop, self.d_model).to(x.device)
            return x + table[start:stop].to(x.device)


class positions_counted_in_the_words_dtype:
    """Positions were counted in the dtype of the words, in which large numbers are rounded: some words share a position."""

    fails = ["dtype"]
    hint = "Which whole numbers above 256 does bfloat16 have? When is it early enough to go over to it?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model = d_model

        def forward(self, x, start=0):
            positions = torch.arange(start, start + x.shape[-2], device=x.device).to(x.dtype).double()
            pairs = torch.arange(self.d_model, device=x.device).double() // 2
            angles = positions[:, None] / 10000.0 ** (2 * pairs / self.d_model)
            encoding = torch.where(torch.arange(self.d_model, device=x.device) % 2 == 0, angles.sin(), angles.cos())
            return x + encoding.to(x.dtype)


class table_goes_over_to_the_first_words:
    """The table itself was turned into the dtype of the first words, and has lost its digits when longer ones come."""

    fails = ["dtype"]
    hint = "Words of 16 bits came first, and then words of 32. How many digits are left of the encodings by then?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model, self.max_length = d_model, max_length
            self.register_buffer("ready", sinusoidal_encoding(max_length, d_model), persistent=False)

        def forward(self, x, start=0):
            stop = start + x.shape[-2]
            self.ready = self.ready.to(x)
            encoding = self.ready if stop <= len(self.ready) else sinusoidal_encoding(stop, self.d_model)
            return x + encoding[start:stop].to(x)


class words_made_32_bits:
    """The words were turned into 32 bits on their way."""

    fails = ["dtype"]
    hint = "A model in 16 bits, or in 64, gets its words back. Can it go on with them?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model = d_model
            self.register_buffer("table", sinusoidal_encoding(max_length, d_model), persistent=False)

        def forward(self, x, start=0):
            stop = start + x.shape[-2]
            table = self.table if stop <= len(self.table) else sinusoidal_encoding(stop, self.d_model).to(x.device)
            return x.float() + table[start:stop].to(x.device)


class encoding_is_trained:
    """The table is a parameter of the module, so an optimiser would change it. (`require_grad` is not the name that torch reads.)"""

    fails = ["training"]
    hint = "What does torch do with a tensor that a module keeps, if it is not a parameter, and how is it told to move along?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model = d_model
            self.table = nn.Parameter(sinusoidal_encoding(max_length, d_model))
            self.table.require_grad = False

        def forward(self, x, start=0):
            stop = start + x.shape[-2]
            table = self.table if stop <= len(self.table) else sinusoidal_encoding(stop, self.d_model).to(x.device)
            return x + table[start:stop].to(x)


class words_cut_off_the_graph:
    """Everything was computed without gradients, so training can't reach what made the words."""

    fails = ["training"]
    hint = "The encodings need no gradient. Who behind x does?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model = d_model
            self.register_buffer("table", sinusoidal_encoding(max_length, d_model), persistent=False)

        def forward(self, x, start=0):
            with torch.no_grad():
                stop = start + x.shape[-2]
                table = self.table if stop <= len(self.table) else sinusoidal_encoding(stop, self.d_model).to(x.device)
                return x + table[start:stop].to(x)


class words_changed_where_they_lie:
    """The encodings were added into x itself, which others may still need, and which autograd refuses for a tensor that is trained."""

    fails = ["training"]
    hint = "What is the difference between `x += encoding` and `x + encoding` for whoever handed you x?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model = d_model
            self.register_buffer("table", sinusoidal_encoding(max_length, d_model), persistent=False)

        def forward(self, x, start=0):
            stop = start + x.shape[-2]
            table = self.table if stop <= len(self.table) else sinusoidal_encoding(stop, self.d_model).to(x.device)
            x += table[start:stop].to(x)
            return x


class learned_along_the_batch:
    """The vectors were dealt out along the first axis: one for each sentence, not one for each word."""

    fails = ["learned"]
    hint = "Which axis of x holds the words of a sentence?"

    class LearnedPositions(nn.Module):
        def __init__(self, length, d_model):
            super().__init__()
            self.table = nn.Parameter(torch.randn(length, d_model))

        def forward(self, x):
            tokens = x.shape[-2]
            if tokens > len(self.table):
                raise ValueError("too many words")
            return x + self.table[torch.arange(x.shape[0]) % len(self.table)].reshape(-1, *[1] * (x.ndim - 2), x.shape[-1])


class learned_whole_table:
    """The whole table was added, however many words there were."""

    fails = ["learned", "device"]
    hint = "A sentence of two words needs two vectors. Which rows of the table are they?"

    class LearnedPositions(nn.Module):
        def __init__(self, length, d_model):
            super().__init__()
            self.table = nn.Parameter(torch.randn(length, d_model))

        def forward(self, x):
            tokens = x.shape[-2]
            if tokens > len(self.table):
                raise ValueError("too many words")
            return x + self.table


class learned_instead_of_words:
    """The module returned the vectors of the positions and left the words out."""

    fails = ["learned"]
    hint = "What is left of the words after this module?"

    class LearnedPositions(nn.Module):
        def __init__(self, length, d_model):
            super().__init__()
            self.table = nn.Parameter(torch.randn(length, d_model))

        def forward(self, x):
            tokens = x.shape[-2]
            if tokens > len(self.table):
                raise ValueError("too many words")
            return self.table[:tokens].expand(x.shape)


class learned_words_made_larger:
    """The words were multiplied by the square root of d_model before the vectors of their positions were added."""

    fails = ["learned"]
    hint = "What should come back for a word besides the word itself and its position?"

    class LearnedPositions(nn.Module):
        def __init__(self, length, d_model):
            super().__init__()
            self.table = nn.Parameter(torch.randn(length, d_model))

        def forward(self, x):
            tokens = x.shape[-2]
            if tokens > len(self.table):
                raise ValueError("too many words")
            return x * math.sqrt(x.shape[-1]) + self.table[:tokens]


class last_learned_position_refused:
    """A sentence as long as the table was refused, though there is a vector for each of its words."""

    fails = ["learned", "learned_trains"]
    hint = "With three vectors, is a third word one too many?"

    class LearnedPositions(nn.Module):
        def __init__(self, length, d_model):
            super().__init__()
            self.table = nn.Parameter(torch.randn(length, d_model))

        def forward(self, x):
            tokens = x.shape[-2]
            if tokens >= len(self.table):
                raise ValueError("too many words")
            return x + self.table[:tokens]


class learned_words_changed_where_they_lie:
    """The vectors were added into x itself, which others may still need."""

    fails = ["learned"]
    hint = "What is the difference between `x += table` and `x + table` for whoever handed you x?"

    class LearnedPositions(nn.Module):
        def __init__(self, length, d_model):
            super().__init__()
            self.table = nn.Parameter(torch.randn(length, d_model))

        def forward(self, x):
            tokens, length = x.shape[-2], len(self.table)
            if tokens > length:
                raise ValueError(f"a sentence of {tokens} words, but only {length} positions were learned")
            x += self.table[:tokens]
            return x


class learned_sentences_unrolled_by_view:
    """The axes before the words were made one by `view`, which refuses tensors that were transposed."""

    fails = ["learned"]
    hint = "`view` moves no number. What does `reshape` do where the numbers do not lie in the order of the axes?"

    class LearnedPositions(nn.Module):
        def __init__(self, length, d_model):
            super().__init__()
            self.table = nn.Parameter(torch.randn(length, d_model))

        def forward(self, x):
            tokens, length = x.shape[-2], len(self.table)
            if tokens > length:
                raise ValueError(f"a sentence of {tokens} words, but only {length} positions were learned")
            return (x.view(-1, *x.shape[-2:]) + self.table[:tokens]).view(x.shape)


class learned_table_is_a_buffer:
    """The table is no parameter, so no optimiser hears of it."""

    fails = ["learned_trains"]
    hint = "Which kind of tensor does a module hand to the optimiser?"

    class LearnedPositions(nn.Module):
        def __init__(self, length, d_model):
            super().__init__()
            self.register_buffer("table", torch.randn(length, d_model))

        def forward(self, x):
            tokens = x.shape[-2]
            if tokens > len(self.table):
                raise ValueError("too many words")
            return x + self.table[:tokens]


class learned_table_off_the_graph:
    """The table was used through `.data`, so no gradient finds it."""

    fails = ["learned_trains"]
    hint = "`.data` gives numbers without a history. What does autograd need in order to reach the table?"

    class LearnedPositions(nn.Module):
        def __init__(self, length, d_model):
            super().__init__()
            self.table = nn.Parameter(torch.randn(length, d_model))

        def forward(self, x):
            tokens = x.shape[-2]
            if tokens > len(self.table):
                raise ValueError("too many words")
            return x + self.table.data[:tokens]


class learned_words_off_the_graph:
    """The words were cut off the graph, so what made them is never trained."""

    fails = ["learned"]
    hint = "The table learns. Do the vectors of the words, which are made elsewhere?"

    class LearnedPositions(nn.Module):
        def __init__(self, length, d_model):
            super().__init__()
            self.table = nn.Parameter(torch.randn(length, d_model))

        def forward(self, x):
            tokens, length = x.shape[-2], len(self.table)
            if tokens > length:
                raise ValueError(f"a sentence of {tokens} words, but only {length} positions were learned")
            return x.detach() + self.table[:tokens]


class refusal_left_to_torch:
    """A sentence that is too long was left for the addition to complain about."""

    fails = ["learned_refuses"]
    hint = "Would a caller understand from two sizes that don't match that a position was never learned? And what if the table has one row?"

    class LearnedPositions(nn.Module):
        def __init__(self, length, d_model):
            super().__init__()
            self.table = nn.Parameter(torch.randn(length, d_model))

        def forward(self, x):
            return x + self.table[: x.shape[-2]]


class words_cut_off_silently:
    """Words for which there is no position were cut off without a word."""

    fails = ["learned_refuses"]
    hint = "Who would notice that the end of the sentence is missing? Should the module go on, or stop?"

    class LearnedPositions(nn.Module):
        def __init__(self, length, d_model):
            super().__init__()
            self.table = nn.Parameter(torch.randn(length, d_model))

        def forward(self, x):
            x = x[..., : len(self.table), :]
            return x + self.table[: x.shape[-2]]


class refused_by_assert:
    """`assert` refused the sentence, with an AssertionError."""

    fails = ["learned_refuses"]
    hint = "An assertion is for what can't happen, and python -O skips it. Which error is for a value that can't be used?"

    class LearnedPositions(nn.Module):
        def __init__(self, length, d_model):
            super().__init__()
            self.table = nn.Parameter(torch.randn(length, d_model))

        def forward(self, x):
            assert x.shape[-2] <= len(self.table), "too many words"
            return x + self.table[: x.shape[-2]]


class learned_table_begins_again:
    """Behind the end of the table its rows were used a second time."""

    fails = ["learned_refuses"]
    hint = "Was anything learned about the position after the last? Who would notice that it was made up?"

    class LearnedPositions(nn.Module):
        def __init__(self, length, d_model):
            super().__init__()
            self.table = nn.Parameter(torch.randn(length, d_model))

        def forward(self, x):
            return x + self.table[torch.arange(x.shape[-2], device=x.device) % len(self.table)]


class table_that_is_no_buffer:
    """The table was kept in a plain attribute, which stays behind when the module is moved."""

    fails = ["device"]
    hint = "`module.to` moves parameters and buffers. How does a table become a buffer?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model = d_model
            self.table = sinusoidal_encoding(max_length, d_model)

        def forward(self, x, start=0):
            stop = start + x.shape[-2]
            table = self.table if stop <= len(self.table) else sinusoidal_encoding(stop, self.d_model).to(x.device)
            return x + table[start:stop].to(x.dtype)


class longer_table_on_the_cpu:
    """The table moves along, but a longer one, which is made during the call, lies on the CPU."""

    fails = ["device"]
    hint = "Your own function makes its table on the CPU. Who moves it to the words?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model = d_model
            self.register_buffer("table", sinusoidal_encoding(max_length, d_model), persistent=False)

        def forward(self, x, start=0):
            stop = start + x.shape[-2]
            table = self.table if stop <= len(self.table) else sinusoidal_encoding(stop, self.d_model)
            return x + table[start:stop].to(x.dtype)


class table_made_anew_on_the_cpu:
    """The encodings are computed in every call, on the CPU, and added as they are."""

    fails = ["device"]
    hint = "Your own function makes its table on the CPU. Who moves it to the words?"

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model = d_model

        def forward(self, x, start=0):
            return x + sinusoidal_encoding(start + x.shape[-2], self.d_model)[start:].to(x.dtype)


class learned_positions_counted_on_the_cpu:
    """The positions whose vectors are looked up were counted on the CPU."""

    fails = ["device"]
    hint = "An embedding is asked where its table lies. Where does `torch.arange` count?"

    class LearnedPositions(nn.Module):
        def __init__(self, length, d_model):
            super().__init__()
            self.table = nn.Embedding(length, d_model)

        def forward(self, x):
            return x + self.table(torch.arange(x.shape[-2]))

    def set_table(positions, table):
        with torch.no_grad():
            positions.table.weight.copy_(table)
