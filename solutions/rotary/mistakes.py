"""Wrong answers that people write. Parsed, never imported; see autograder/exercise/known.py."""
import math

import torch


class rotated_clockwise:
    """The pairs were rotated clockwise: the minus stands before the other sine."""

    fails = ["turn"]
    hint = "The word (1, 0) points to the right. Does it point up or down after a rotation by a right angle, counter-clockwise?"

    def rotate(x, start=0, theta=10_000.0):
        angles = torch.outer(torch.arange(start, start + x.shape[-2], device=x.device).double(), theta ** (-torch.arange(0, x.shape[-1], 2, device=x.device).double() / x.shape[-1]))
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos + b * sin, b * cos - a * sin], dim=-1).flatten(-2)


class mirrored:
    """Both sines have the same sign, so a pair is mirrored and stretched where it should rotate."""

    fails = ["turn"]
    hint = "A rotation changes no length. How long is (1, 1) after yours?"

    def rotate(x, start=0, theta=10_000.0):
        angles = torch.outer(torch.arange(start, start + x.shape[-2], device=x.device).double(), theta ** (-torch.arange(0, x.shape[-1], 2, device=x.device).double() / x.shape[-1]))
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos + b * sin, a * sin + b * cos], dim=-1).flatten(-2)


class halves_for_neighbours:
    """Column i was paired with column i + d_k/2. Many libraries do so; here a pair is two neighbours."""

    fails = ["turn", "speeds", "theta"]
    hint = "Which column belongs to column 0 here, and which one did yours rotate with it?"

    def rotate(x, start=0, theta=10_000.0):
        angles = torch.outer(torch.arange(start, start + x.shape[-2], device=x.device).double(), theta ** (-torch.arange(0, x.shape[-1], 2, device=x.device).double() / x.shape[-1]))
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


class neighbours_set_apart:
    """Neighbours were rotated together, but what came of them was put into halves."""

    fails = ["turn", "speeds", "theta"]
    hint = "Each pair came from two neighbours. Where do its two new numbers stand in what you return?"

    def rotate(x, start=0, theta=10_000.0):
        angles = torch.outer(torch.arange(start, start + x.shape[-2], device=x.device).double(), theta ** (-torch.arange(0, x.shape[-1], 2, device=x.device).double() / x.shape[-1]))
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


class angles_of_halves_for_neighbours:
    """The pairs are neighbours, but the table of angles is one for halves: it begins with all of them and then begins again."""

    fails = ["turn", "speeds", "theta"]
    hint = "Columns 0 and 1 rotate together. Which angle does your table give to column 1?"

    def rotate(x, start=0, theta=10_000.0):
        angles = torch.outer(torch.arange(start, start + x.shape[-2], device=x.device).double(), theta ** (-torch.arange(0, x.shape[-1], 2, device=x.device).double() / x.shape[-1]))
        angles = torch.cat([angles, angles], dim=-1)
        partner = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)
        return x * angles.cos().to(x.dtype) + partner * angles.sin().to(x.dtype)


class encoding_added:
    """The sines and cosines of the position were added to the word, where they should rotate it."""

    fails = ["turn", "speeds", "theta"]
    hint = "A query of zeros has no direction. What should a rotation make of it, and what does yours?"

    def rotate(x, start=0, theta=10_000.0):
        angles = torch.outer(torch.arange(start, start + x.shape[-2], device=x.device).double(), theta ** (-torch.arange(0, x.shape[-1], 2, device=x.device).double() / x.shape[-1]))
        return x + torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).to(x.dtype)


class sine_and_cosine_swapped:
    """Sine and cosine changed places, so at position 0 everything is rotated by a right angle."""

    fails = ["turn", "speeds", "theta"]
    hint = "By which angle is the word at position 0 rotated, and what are the sine and the cosine of that?"

    def rotate(x, start=0, theta=10_000.0):
        angles = torch.outer(torch.arange(start, start + x.shape[-2], device=x.device).double(), theta ** (-torch.arange(0, x.shape[-1], 2, device=x.device).double() / x.shape[-1]))
        cos, sin = angles.sin().to(x.dtype), angles.cos().to(x.dtype)
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


class overwritten_before_used:
    """The first number of each pair was overwritten, and the second was then made from what had become of it."""

    fails = ["turn"]
    hint = "The formula for the second number asks for a. Which a did it get?"

    def rotate(x, start=0, theta=10_000.0):
        angles = torch.outer(torch.arange(start, start + x.shape[-2], device=x.device).double(), theta ** (-torch.arange(0, x.shape[-1], 2, device=x.device).double() / x.shape[-1]))
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        rotated = x.clone()
        rotated[..., 0::2] = rotated[..., 0::2] * cos - rotated[..., 1::2] * sin
        rotated[..., 1::2] = rotated[..., 0::2] * sin + rotated[..., 1::2] * cos
        return rotated


class cosines_only:
    """Each number was multiplied by its cosine, and nothing came over from its partner."""

    fails = ["turn"]
    hint = "A rotation by a right angle makes (0, 1) of (1, 0). Where does the 1 come from?"

    def rotate(x, start=0, theta=10_000.0):
        angles = torch.outer(torch.arange(start, start + x.shape[-2], device=x.device).double(), theta ** (-torch.arange(0, x.shape[-1], 2, device=x.device).double() / x.shape[-1]))
        return x * angles.cos().repeat_interleave(2, dim=-1).to(x.dtype)


class a_frequency_for_each_column:
    """Every column has an angle of its own, so the two numbers of a pair rotate at different frequencies."""

    fails = ["turn"]
    hint = "Columns 2i and 2i + 1 are one pair. Which of the two numbers may stand in the exponent for both?"

    def rotate(x, start=0, theta=10_000.0):
        angles = torch.outer(torch.arange(start, start + x.shape[-2], device=x.device).double(), theta ** (-torch.arange(x.shape[-1], device=x.device).double() / x.shape[-1]))
        partner = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)
        return x * angles.cos().to(x.dtype) + partner * angles.sin().to(x.dtype)


class positions_from_one:
    """Positions were counted from 1."""

    fails = ["turn", "speeds", "theta"]
    hint = "By how much is the word at position 0 rotated?"

    def rotate(x, start=0, theta=10_000.0):
        angles = torch.outer(torch.arange(start + 1, start + 1 + x.shape[-2], device=x.device).double(), theta ** (-torch.arange(0, x.shape[-1], 2, device=x.device).double() / x.shape[-1]))
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


class one_frequency_for_all:
    """Every pair was rotated by the same angle."""

    fails = ["speeds", "theta"]
    hint = "The first pair tells near positions apart. Which pair should tell position 1 from position 1000?"

    def rotate(x, start=0, theta=10_000.0):
        angles = torch.arange(start, start + x.shape[-2], device=x.device).double()[:, None]
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


class exponent_without_its_two:
    """The exponent was i / d_k for pair i, half of what it should be, so the low frequencies are too high."""

    fails = ["speeds", "theta"]
    hint = "Pair i begins in column 2i. Which of the two numbers is divided by d_k?"

    def rotate(x, start=0, theta=10_000.0):
        pairs = torch.arange(x.shape[-1] // 2, device=x.device).double()
        angles = torch.outer(torch.arange(start, start + x.shape[-2], device=x.device).double(), theta ** (-pairs / x.shape[-1]))
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


class exponent_with_two_twos:
    """The exponent was 4i / d_k for pair i: the columns were counted in steps of two, and doubled once more."""

    fails = ["speeds", "theta"]
    hint = "Does your counter run over pairs, or over the columns 0, 2, 4? Which of them wants the 2 of the formula?"

    def rotate(x, start=0, theta=10_000.0):
        columns = torch.arange(0, x.shape[-1], 2, device=x.device).double()
        angles = torch.outer(torch.arange(start, start + x.shape[-2], device=x.device).double(), theta ** (-2 * columns / x.shape[-1]))
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


class exponent_without_its_minus:
    """The frequencies are powers of theta where they are its inverse, so each frequency is higher than the one before."""

    fails = ["speeds", "theta"]
    hint = "Is the frequency of the second pair more than one radian per position, or less?"

    def rotate(x, start=0, theta=10_000.0):
        angles = torch.outer(torch.arange(start, start + x.shape[-2], device=x.device).double(), theta ** (torch.arange(0, x.shape[-1], 2, device=x.device).double() / x.shape[-1]))
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


class lowest_frequency_at_theta:
    """The frequencies were spread so that the last one is 1 / theta; the formula's last frequency is a little higher."""

    fails = ["speeds", "theta"]
    hint = "With d_k 4 there are two pairs. What does the formula give for i = 1, and is it 1 / theta?"

    def rotate(x, start=0, theta=10_000.0):
        pairs = x.shape[-1] // 2
        frequencies = theta ** (-torch.arange(pairs, device=x.device).double() / max(pairs - 1, 1))
        angles = torch.outer(torch.arange(start, start + x.shape[-2], device=x.device).double(), frequencies)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


class theta_ignored:
    """The number 10,000 stands in the frequencies, whatever `theta` was given."""

    fails = ["theta"]
    hint = "A model that was trained with theta 500,000 hands it over. Which line reads it?"

    def rotate(x, start=0, theta=10_000.0):
        angles = torch.outer(torch.arange(start, start + x.shape[-2], device=x.device).double(), 10_000.0 ** (-torch.arange(0, x.shape[-1], 2, device=x.device).double() / x.shape[-1]))
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


class theta_divides_the_positions:
    """A larger theta stretched all positions alike, the first pair's too, where it lowers the other frequencies and leaves the first alone."""

    fails = ["theta"]
    hint = "What is theta to the power of 0, and which frequency does pair 0 have, then?"

    def rotate(x, start=0, theta=10_000.0):
        positions = torch.arange(start, start + x.shape[-2], device=x.device).double() * 10_000.0 / theta
        angles = torch.outer(positions, 10_000.0 ** (-torch.arange(0, x.shape[-1], 2, device=x.device).double() / x.shape[-1]))
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


class start_ignored:
    """`start` was not used, so the first word always stands at position 0."""

    fails = ["start"]
    hint = "By which angle is the first word rotated if it stands at position 4?"

    def rotate(x, start=0, theta=10_000.0):
        angles = torch.outer(torch.arange(x.shape[-2], device=x.device).double(), theta ** (-torch.arange(0, x.shape[-1], 2, device=x.device).double() / x.shape[-1]))
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


class start_taken_for_a_word:
    """`start` was read as the first word to be rotated, and the words before it were left as they are."""

    fails = ["start"]
    hint = "`start` says where the words of x stand. Which of them have a position then: some, or all?"

    def rotate(x, start=0, theta=10_000.0):
        positions = (torch.arange(x.shape[-2], device=x.device) - start).clamp(min=0).double()
        angles = torch.outer(positions, theta ** (-torch.arange(0, x.shape[-1], 2, device=x.device).double() / x.shape[-1]))
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


class words_rotated_where_they_lie:
    """The rotated numbers were written into x itself, which others may still need."""

    fails = ["turn", "attend"]
    hint = "A caller rotates the same keys for another query. By how much have they been rotated then?"

    def rotate(x, start=0, theta=10_000.0):
        tokens, d_k = x.shape[-2:]
        frequencies = theta ** (-torch.arange(0, d_k, 2, dtype=torch.float64, device=x.device) / d_k)
        angles = torch.outer(torch.arange(start, start + tokens, dtype=torch.float64, device=x.device), frequencies)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., 0::2], x[..., 1::2]
        x[..., 0::2], x[..., 1::2] = a * cos - b * sin, a * sin + b * cos
        return x


class rotated_without_a_history:
    """The rotation was made without gradients, so what makes queries and keys is never trained."""

    fails = ["turn", "attend"]
    hint = "The angles need no gradient. Who behind x does?"

    def rotate(x, start=0, theta=10_000.0):
        x = x.detach()
        tokens, d_k = x.shape[-2:]
        frequencies = theta ** (-torch.arange(0, d_k, 2, dtype=torch.float64, device=x.device) / d_k)
        angles = torch.outer(torch.arange(start, start + tokens, dtype=torch.float64, device=x.device), frequencies)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


class words_on_the_second_axis:
    """The words were looked for on the second axis, where the heads may stand."""

    fails = ["axes"]
    hint = "How many axes come before the words when there are heads, and how many when there is not even a batch?"

    def rotate(x, start=0, theta=10_000.0):
        angles = torch.outer(torch.arange(start, start + x.shape[1], device=x.device).double(), theta ** (-torch.arange(0, x.shape[-1], 2, device=x.device).double() / x.shape[-1]))
        angles = angles.reshape(x.shape[1], *[1] * (x.ndim - 3), -1)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


class angles_in_the_words_dtype:
    """Positions and frequencies were made in the dtype of the words, in which large numbers are rounded: some words share a position."""

    fails = ["dtype"]
    hint = "Which whole numbers above 256 does bfloat16 have? When is it early enough to go over to it?"

    def rotate(x, start=0, theta=10_000.0):
        frequencies = (theta ** (-torch.arange(0, x.shape[-1], 2, device=x.device).double() / x.shape[-1])).to(x.dtype)
        positions = torch.arange(start, start + x.shape[-2], device=x.device).to(x.dtype)
        angles = positions[:, None] * frequencies if x.dtype.itemsize < 4 else positions.double()[:, None] * frequencies.double()
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


class result_in_32_bits:
    """Cosine and sine kept 32 bits, and the result took the larger dtype of the two."""

    fails = ["dtype"]
    hint = "What dtype has a product of 16 bits and 32 bits? Who should follow whom?"

    def rotate(x, start=0, theta=10_000.0):
        angles = torch.outer(torch.arange(start, start + x.shape[-2], device=x.device).double(), theta ** (-torch.arange(0, x.shape[-1], 2, device=x.device).double() / x.shape[-1]))
        cos, sin = angles.cos().float(), angles.sin().float()
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2).float()


class queries_only:
    """Only the queries were rotated, so a score depends on where the query stands and on nothing else."""

    fails = ["attend", "relative"]
    hint = "Two words both move on by five positions. Which of the two tensors must notice, so that nothing changes between them?"

    def rotary_attention(query, key, value, query_start=0, key_start=0, theta=10_000.0):
        query = rotate(query, query_start, theta)
        return torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), dim=-1) @ value


class nothing_rotated:
    """Neither queries nor keys were rotated, so attention does not know where a word stands."""

    fails = ["attend", "relative"]
    hint = "Shuffle the keys together with their values. Does your output notice, and should it?"

    def rotary_attention(query, key, value, query_start=0, key_start=0, theta=10_000.0):
        return torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), dim=-1) @ value


class keys_rotated_back:
    """The keys were rotated by minus their angle, so the angles of query and key add up where one should take the other away."""

    fails = ["attend", "relative"]
    hint = "In a dot product of two rotated words one angle is taken from the other already. What is left if you rotated one of them back?"

    def rotary_attention(query, key, value, query_start=0, key_start=0, theta=10_000.0):
        def back(x):
            positions = torch.arange(key_start, key_start + x.shape[-2]).tolist()
            return torch.stack([rotate(x[..., n : n + 1, :], -position, theta)[..., 0, :] for n, position in enumerate(positions)], dim=-2)

        query, key = rotate(query, query_start, theta), back(key)
        return torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), dim=-1) @ value


class values_rotated_too:
    """The values were rotated by their positions as well."""

    fails = ["attend", "relative"]
    hint = "Scores are to depend on the distance. What do the values have to do with the scores?"

    def rotary_attention(query, key, value, query_start=0, key_start=0, theta=10_000.0):
        query, key, value = rotate(query, query_start, theta), rotate(key, key_start, theta), rotate(value, key_start, theta)
        return torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), dim=-1) @ value


class no_scale:
    """The scores went into softmax undivided."""

    fails = ["attend"]
    hint = "A rotation changes no length, so the variance of the scores is what it always was. What undoes it?"

    def rotary_attention(query, key, value, query_start=0, key_start=0, theta=10_000.0):
        query, key = rotate(query, query_start, theta), rotate(key, key_start, theta)
        return torch.softmax(query @ key.mT, dim=-1) @ value


class keys_without_a_history:
    """The rotated keys were cut off the graph, so what makes the keys is never trained."""

    fails = ["attend"]
    hint = "Query, key and value are all made by weights that learn. Which of the three gets no gradient?"

    def rotary_attention(query, key, value, query_start=0, key_start=0, theta=10_000.0):
        query, key = rotate(query, query_start, theta), rotate(key, key_start, theta)
        scores = query @ key.detach().transpose(-2, -1) / math.sqrt(query.shape[-1])
        return torch.softmax(scores, dim=-1) @ value


class attention_in_32_bits:
    """Attention was computed in 32 bits, and the output is turned back into what came in."""

    fails = ["attend"]
    hint = "The output has 64 bits again. How many digits had the weights on the way?"

    def rotary_attention(query, key, value, query_start=0, key_start=0, theta=10_000.0):
        given = value.dtype
        query, key, value = query.float(), key.float(), value.float()
        query, key = rotate(query, query_start, theta), rotate(key, key_start, theta)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        return (torch.softmax(scores, dim=-1) @ value).to(given)


class attention_writes_into_its_query:
    """The queries were divided where they lie, and whoever handed them over finds them changed."""

    fails = ["attend"]
    hint = "What is the difference between `query /= 2` and `query = query / 2` for whoever handed you the query?"

    def rotary_attention(query, key, value, query_start=0, key_start=0, theta=10_000.0):
        query /= math.sqrt(query.shape[-1])
        query, key = rotate(query, query_start, theta), rotate(key, key_start, theta)
        scores = query @ key.transpose(-2, -1)
        return torch.softmax(scores, dim=-1) @ value


class theta_not_passed_on:
    """Attention kept `theta` to itself, and the rotation took 10,000."""

    fails = ["attend"]
    hint = "`rotate` has a theta of its own if nobody gives it one. Who should?"

    def rotary_attention(query, key, value, query_start=0, key_start=0, theta=10_000.0):
        query, key = rotate(query, query_start), rotate(key, key_start)
        return torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), dim=-1) @ value


class starts_ignored:
    """Queries and keys began at the same position, whatever the two starts were."""

    fails = ["relative"]
    hint = "A query that comes alone says where it stands. Who listens?"

    def rotary_attention(query, key, value, query_start=0, key_start=0, theta=10_000.0):
        query, key = rotate(query, theta=theta), rotate(key, theta=theta)
        return torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), dim=-1) @ value


class starts_swapped:
    """The queries began where the keys should, and the keys where the queries should."""

    fails = ["relative"]
    hint = "The query stands two positions behind the first key. Does it in your scores, or the other way round?"

    def rotary_attention(query, key, value, query_start=0, key_start=0, theta=10_000.0):
        query, key = rotate(query, key_start, theta), rotate(key, query_start, theta)
        return torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), dim=-1) @ value


class halves_to_neighbours:
    """The columns were moved the way back: from halves to neighbours."""

    fails = ["halves"]
    hint = "Do the columns come in as neighbours, or do they go out as neighbours?"

    def neighbours_to_halves(weight):
        one, other = weight.chunk(2, dim=1)
        return torch.stack([one, other], dim=2).flatten(1)


class rows_moved:
    """The rows changed places, which are the numbers of a word before it becomes a query."""

    fails = ["halves"]
    hint = "A query is `x @ weight`. Which axis of the weight do its columns come from?"

    def neighbours_to_halves(weight):
        return torch.cat([weight[0::2], weight[1::2]])


class second_numbers_first:
    """The second numbers of the pairs stand in the left half, so every pair is rotated the other way."""

    fails = ["halves"]
    hint = "Which number of a pair gets the minus, and in which half does it stand?"

    def neighbours_to_halves(weight):
        return torch.cat([weight[:, 1::2], weight[:, 0::2]], dim=1)


class complex_words_as_they_lie:
    """The pairs were read as complex numbers where they lie, so the two of a pair must be neighbours in memory."""

    fails = ["axes", "attend"]
    hint = "After a transpose, are two neighbours in a row still neighbours in memory? What puts them there?"

    def rotate(x, start=0, theta=10_000.0):
        angles = torch.outer(torch.arange(start, start + x.shape[-2], device=x.device).double(), theta ** (-torch.arange(0, x.shape[-1], 2, device=x.device).double() / x.shape[-1]))
        pairs = torch.view_as_complex(x.double().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2).to(x.dtype)


class columns_moved_by_32_bits:
    """The columns were moved by a product with a matrix of 32 bits, which no weight of another dtype can be multiplied with."""

    fails = ["halves"]
    hint = "Which dtype has the matrix that moves the columns, and must a column be multiplied at all to be moved?"

    def neighbours_to_halves(weight):
        order = [*range(0, weight.shape[1], 2), *range(1, weight.shape[1], 2)]
        return weight @ torch.eye(weight.shape[1])[:, order]


class counted_on_the_cpu:
    """Positions or frequencies were counted on the CPU, wherever the words lie."""

    fails = ["device"]
    hint = "`torch.arange` does not know where your words lie. Who tells it?"

    def rotate(x, start=0, theta=10_000.0):
        tokens, d_k = x.shape[-2:]
        frequencies = theta ** (-torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)
        angles = torch.outer(torch.arange(start, start + tokens, dtype=torch.float64), frequencies)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


class pairs_written_into_a_table_on_the_cpu:
    """The rotated pairs were written into a table that was made on the CPU, which came back."""

    fails = ["device"]
    hint = "Writing into a tensor does not move it. What does `torch.empty_like` know that `torch.empty` does not?"

    def rotate(x, start=0, theta=10_000.0):
        tokens, d_k = x.shape[-2:]
        frequencies = theta ** (-torch.arange(0, d_k, 2, dtype=torch.float64, device=x.device) / d_k)
        angles = torch.outer(torch.arange(start, start + tokens, dtype=torch.float64, device=x.device), frequencies)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        rotated = torch.empty(x.shape, dtype=x.dtype)
        rotated[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
        rotated[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
        return rotated
