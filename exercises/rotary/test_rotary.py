"""Tests of rotary. A docstring is the question that a learner reads when the test fails.

One mistake is to cost few checks. So most tests compare `rotate` with itself, or look at the cosines alone; and
`rotary_attention` may rotate by the learner's own `rotate` where that is not the right one, which other checks say. What
it is, a fresh process is asked, in which no attention has run: nothing that it leaves behind can tell `rotate` what to
answer. And where none of those checks fails, nothing was excused.
"""
import math

import torch
from torch.nn import functional as F

from kit import expect, expect_device, expect_gradients, visible
from kit.outcome import Stopped, Wrong

OF_THE_ROTATION = "turn", "speeds", "theta", "start", "axes", "dtype"  # the checks that ask for `rotate`


@visible("turn")
def test_one_pair_at_three_positions(learner):
    """The word (1, 0) points to the right and is rotated by one radian per position, counter-clockwise; (0, 1) points up. Where do they point at positions 0, 1 and 2?"""
    for word, pointed in (((1.0, 0.0), lambda t: [math.cos(t), math.sin(t)]), ((0.0, 1.0), lambda t: [-math.sin(t), math.cos(t)])):
        expect(learner.rotate(torch.tensor([[word] * 3])), torch.tensor([[pointed(t) for t in range(3)]]), "rotated words")


@visible("turn")
def test_the_first_pair_of_three(learner):
    """Only columns 0 and 1 hold anything, and they are one pair. Which columns should the rotation leave at zero, and what was mixed into them?"""
    word = [3.0, 4.0, 0.0, 0.0, 0.0, 0.0]
    c, s = math.cos(1), math.sin(1)
    expect(learner.rotate(torch.tensor([[word, word]])), torch.tensor([[word, [3 * c - 4 * s, 3 * s + 4 * c, 0.0, 0.0, 0.0, 0.0]]]), "rotated words")


@visible("turn")
def test_words_stay_as_they_were(learner, draw):
    """Others still need the words that were handed over, and what made the words is to learn. Does your code write into x, or cut it off the graph?"""
    x = torch.tensor([[[1.0, 0.0], [3.0, 4.0], [0.0, 2.0]]])
    rotated = learner.rotate(x)
    expect(learner.rotate.unchanged(x), rotated, "rotated words")
    expect_gradients(learner.rotate, ["x"], x, draw=draw)


@visible("speeds")
def test_frequencies_of_four_pairs(learner):
    """With d_k 8 the pairs have the frequencies 1, 1/10, 1/100 and 1/1000, in radians per position. What stands in the exponent for pair i?"""
    expect(_cosines(learner.rotate(_to_the_right(5, 8))), torch.tensor([[math.cos(t * 10.0**-i) for i in range(4)] for t in range(5)]), "cosines")


@visible("theta")
def test_theta_of_one_hundred(learner):
    """With theta 100 and d_k 4 the second pair has a frequency of 1/10 of a radian per position. Where does theta come in, if not there?"""
    expect(_cosines(learner.rotate(_to_the_right(4, 4), theta=100.0)), torch.tensor([[math.cos(t), math.cos(t / 10)] for t in range(4)]), "cosines")


@visible("start")
def test_three_words_from_position_four_on(learner):
    """Three words that begin at position 4 are rotated as the last three of seven. How many words came back, and at which position does the first of them stand?"""
    _expect_start(learner, torch.arange(1.0, 15.0).reshape(1, 7, 2), 4)


@visible("axes")
def test_sentences_with_heads_and_without(learner):
    """Two sentences with three heads, and one word list without any axis before it. Counted from the end, which axis holds the words?"""
    x = torch.arange(48.0).reshape(2, 3, 4, 2)
    rotated = learner.rotate(x[0, :1])[0]
    expect(torch.equal(rotated, x[0, 0]) or not rotated.any(), False, "whether no word was rotated, or all became zeros")
    expect(learner.rotate(x[0, 0]), rotated, "rotated words")
    expect(_part(learner.rotate(x), x, 0, 0), rotated, "rotated words")


@visible("axes")
def test_as_many_heads_as_sentences(learner):
    """Two sentences have two heads each, and the second head of the first sentence is rotated as it is alone. Which axis did your code take for another that is as long?"""
    x = torch.arange(24.0).reshape(2, 2, 3, 2)
    expect(_part(learner.rotate(x), x, 0, 1), learner.rotate(x[0, 1][None])[0], "rotated words")


@visible("axes")
def test_words_in_another_order_in_memory(learner):
    """A transposed tensor has its entries in another order in memory. Which operation of yours does not take it as it is?"""
    x = torch.arange(48.0).reshape(2, 3, 4, 2)
    expect(learner.rotate.strided(x), learner.rotate(x), "rotated words")


@visible("dtype")
def test_words_keep_their_dtype(learner):
    """Words of 16 bits come in, and words of 16 bits must go out; the same holds for 64. Where does something else come of them?"""
    for dtype in (torch.float16, torch.float64):
        expect(_dtype(learner.rotate(torch.ones(1, 3, 2, dtype=dtype))), dtype, "dtype")


@visible("dtype")
def test_the_thousandth_word_in_16_bits(learner):
    """The words are `bfloat16`, in which 999 is rounded to 1000. What must happen first: multiplying positions by frequencies, or going over to the words' dtype?"""
    _expect_16_bits(learner, torch.ones(1, 1000, 2), torch.bfloat16)


@visible("attend")
def test_one_key_gives_its_value(learner):
    """There is one key, so every query takes its value whole, wherever it stands. Which of query, key and value must know its position, and which says what it says?"""
    query, key, value = torch.ones(1, 3, 2), torch.ones(1, 1, 2), torch.tensor([[[5.0, 7.0]]])
    expect(learner.rotary_attention(query, key, value, key_start=2), value.expand(1, 3, 2), "output")


@visible("attend")
def test_three_words_look_at_each_other(learner):
    """Queries and keys are rotated by their positions and then meet. Are both of them rotated, in the same sense, and is the match divided before softmax?"""
    query, key = torch.tensor([[[2.0, 0.0]] * 3]), torch.tensor([[[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]])
    _expect_attention(learner, _one_pair, query, key, torch.tensor([[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]]))


@visible("attend")
def test_theta_goes_on_to_the_rotation(learner):
    """With theta 1 both pairs have a frequency of one radian per position. Do queries and keys hear of the theta that was given to attention?"""
    query, key = torch.tensor([[[0.0, 0.0, 2.0, 1.0]] * 3]), torch.tensor([[[0.0, 0.0, 1.0, 1.0]] * 3])
    expected = lambda x, theta: torch.cat([_one_pair(x[..., :2], theta=theta), _one_pair(x[..., 2:], theta=theta)], -1)  # noqa: E731
    _expect_attention(learner, expected, query, key, torch.eye(4)[None, :3], theta=1.0)


@visible("attend")
def test_gradient_reaches_query_key_and_value(learner, draw):
    """Query, key and value are all made by weights that learn. Does a gradient come back to each of them?"""
    expect_gradients(learner.rotary_attention, ["query", "key", "value"], draw(1, 3, 2), draw(1, 4, 2), draw(1, 4, 2), draw=draw)


@visible("attend")
def test_values_of_64_bits(learner, draw):
    """There is one key, so every query takes its value whole, in 64 bits. Where are digits lost, or what was handed over changed?"""
    _expect_one_value(learner, *(draw(1, words, 2, dtype=torch.float64) for words in (3, 1, 1)))


@visible("attend")
def test_heads_in_another_order_in_memory(learner, draw):
    """Heads that were split lie in memory in another order. Which operation of yours does not take queries, keys or values as they are?"""
    words = draw(2, 3, 2), draw(2, 4, 2), draw(2, 4, 2)
    expect(learner.rotary_attention.strided(*words), learner.rotary_attention(*words), "output")


@visible("relative")
def test_all_moved_by_the_same(learner):
    """Queries and keys are all moved on by five positions. The distances are what they were; what did the output notice?"""
    words = torch.tensor([[[2.0, 0.0]] * 3]), torch.tensor([[[1.0, 1.0]] * 3]), torch.arange(6.0).reshape(1, 3, 2)
    _expect_nothing_but_distance(learner, words, moved=(5, 5), still=(0, 0))
    _expect_nothing_but_distance(learner, words, moved=(5, 8), still=(0, 3))


@visible("relative")
def test_the_last_query_alone(learner):
    """The last of three queries comes alone and says that it stands at position 2. The keys begin at position 0. Does it see what it saw among the others?"""
    _expect_late_queries(learner, torch.tensor([[[2.0, 0.0]] * 3]), torch.tensor([[[1.0, 1.0]] * 3]), torch.arange(6.0).reshape(1, 3, 2), 2)


@visible("halves")
def test_six_columns(learner):
    """Columns 0 and 1 were the first pair. In halves of three, which two columns are the first pair, and what stands between them?"""
    expect(learner.neighbours_to_halves(torch.arange(6.0).repeat(2, 1)), torch.tensor([[0.0, 2.0, 4.0, 1.0, 3.0, 5.0]] * 2), "matrix")


@visible("halves")
def test_matrices_that_others_still_need(learner):
    """A matrix of 64 bits lies in memory as a layer keeps it, transposed, and whoever holds it still needs it. Where are digits lost, and which step minds the order in memory, or writes into what it was handed?"""
    weight = torch.arange(8.0, dtype=torch.float64).reshape(2, 4)
    for call in (learner.neighbours_to_halves.strided, learner.neighbours_to_halves.unchanged):
        expect(call(weight), weight[:, [0, 2, 1, 3]], "matrix")


@visible("device")
def test_rotation_on_another_device(learner, draw):
    """The words lie on another device, such as a GPU. Which tensor does your function make on the CPU all the same?"""
    x = draw(3, 5, 6)
    expect_device(learner, lambda there: there.rotate(x, 2), (3, 5, 6))


def _to_the_right(tokens: int, d_k: int) -> torch.Tensor:
    """Return words of which every pair is (1, 0): rotated, its first number is the cosine of the angle."""
    return torch.tensor([1.0, 0.0]).repeat(1, tokens, d_k // 2)


def _cosines(rotated) -> torch.Tensor:
    return rotated[0, :, 0::2]


def _expect_start(learner, x: torch.Tensor, start: int) -> None:
    """Return None if words that begin at `start` are rotated as they are behind others, and otherwise than from position 0."""
    late, behind = learner.rotate(x[:, start:], start), _rows(learner.rotate(x), start)
    expect(late, behind, "rotated words")
    expect(torch.equal(late, learner.rotate(x[:, start:])), False, "whether `start` changes nothing")


def _rows(came, first: int):
    """Return the rows from `first` on, of whatever came."""
    return came[..., first:, :] if isinstance(came, torch.Tensor) and came.ndim > 1 else came


def _part(came, x: torch.Tensor, *position: int):
    expect(tuple(came.shape), tuple(x.shape), "shape of the rotated words")
    return came[position]


def _dtype(came):
    return came.dtype if isinstance(came, torch.Tensor) else came


def _expect_16_bits(learner, x: torch.Tensor, dtype: torch.dtype) -> None:
    """Return None if the last rotated words in 16 bits are those in 32 bits, rounded."""
    x = x.to(dtype)
    expect(learner.rotate(x)[:, -3:], learner.rotate(x.float())[:, -3:].to(dtype), "the last three words")


def _one_pair(x: torch.Tensor, start: int = 0, theta: float = 1.0) -> torch.Tensor:
    """Return words of two numbers, taken as complex ones, rotated by one radian per position."""
    rotation = torch.exp(1j * torch.arange(start, start + x.shape[-2]))
    return torch.view_as_real(torch.view_as_complex(x.contiguous()) * rotation)


def _expect_attention(learner, rotated, query, key, value, **theta: float) -> None:
    """Return None if attention is that of words rotated rightly, or else by the learner's own function; at the `theta` that is given, if any."""
    came = learner.rotary_attention(query, key, value, **theta)
    expected = F.scaled_dot_product_attention(rotated(query, **theta), rotated(key, **theta), value)
    _expect_right_or_own(came, expected, learner, query, key, value, **theta)


def _expect_one_value(learner, query, key, value) -> None:
    """Return None if all queries get the one value in 64 bits, or if the rotation hands over fewer bits, which is asked by another check."""
    if _dtype(learner.rotate(query)) == query.dtype:
        expect(learner.rotary_attention.unchanged(query, key, value), value.expand_as(query), "output")
    else:
        learner.excuse(Wrong.plainly("rotated words", "they have fewer bits than the words"), "dtype")


def _expect_nothing_but_distance(learner, words, moved: tuple[int, int], still: tuple[int, int]) -> None:
    came, expected = learner.rotary_attention(*words, *moved), learner.rotary_attention(*words, *still)
    expect(_knows_places(learner.rotary_attention(*words), *words), True, "whether positions change anything")
    _expect_right_or_own(came, expected, learner, *words, *moved)


def _expect_late_queries(learner, query, key, value, late: int) -> None:
    """Return None if the queries from position `late` on get alone what they get behind the others."""
    came, among_others = learner.rotary_attention(query[:, late:], key, value, query_start=late), learner.rotary_attention(query, key, value)
    _expect_right_or_own(came, _rows(among_others, late), learner, query[:, late:], key, value, late)


def _expect_right_or_own(came, expected, learner, *inputs, **theta) -> None:
    try:
        expect(came, expected, "output")
    except Wrong as wrong:
        if not _is_own(came, learner, *inputs, **theta):
            raise
        learner.excuse(wrong, *OF_THE_ROTATION)


def _is_own(came, learner, query, key, value, query_start: int = 0, key_start: int = 0, theta: float = 10_000.0) -> bool:
    """Return whether this is attention over words as the learner's own `rotate` rotates them, asked in a fresh process.

    It is none of their own where the first words match after the rotation as they did before, or all alike.
    """
    first = [words.flatten(0, -3) for words in (query, key, value)]
    try:
        asked = (query, query_start, theta), (key, key_start, theta), (first[0], 0, theta), (first[1], 0, theta)
        *rotated, first_query, first_key = (each for each, _ in learner.rotate.measured(*asked))
        expect(came, F.scaled_dot_product_attention(*rotated, value))
        own = F.scaled_dot_product_attention(first_query, first_key, first[2])
    except (Stopped, Wrong, TypeError, RuntimeError):  # there is no rotation of their own that could be used
        return False
    return came.isfinite().all().item() and _knows_places(own, *first)


def _knows_places(came: torch.Tensor, query, key, value) -> bool:
    """Return whether this is neither attention over words that were not rotated, nor the mean of all values."""
    unrotated, alike = F.scaled_dot_product_attention(query, key, value), value.mean(-2, keepdim=True).expand_as(came)
    return came.isfinite().all().item() and not came.allclose(unrotated, atol=1e-4) and not came.allclose(alike, atol=1e-4)
