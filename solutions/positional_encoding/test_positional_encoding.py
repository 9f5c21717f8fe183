"""Tests of positional_encoding. A docstring is the question that a learner reads when the test fails.

One mistake is to cost few checks. So a module may add the encodings of the learner's own function where they are not
the right ones, which another check says; and where the words are not the question, they are zeros. What their own encodings
are, a fresh process is asked, in which no module has run: nothing that a module leaves behind can tell the function what
to answer. And where none of those checks fails, nothing was excused.
"""
import math

import torch

from autograder.kit import Anew, expect, expect_device, expect_gradients, expect_learning, expect_trained, gpu, hidden, visible
from autograder.kit.outcome import Raised, Stopped, Wrong, known_by

FAR, PAIRS = 10_000, 16  # the angle of pair i of 16 is 10000 ** (1 - i / 16) at position 10,000
REFUSALS = ("IndexError", "ValueError")
REFUSED = " or ".join(REFUSALS)


@visible("place")
def test_five_positions_of_two_pairs(learner):
    """Position 0 is (0, 1, 0, 1), for all its angles are 0. A sine and the cosine beside it are those of one angle, position times frequency: which frequency does each pair have?"""
    expect(_in_32_bits(learner.sinusoidal_encoding(5, 4)), _two_pairs(range(5)), "positions")


@hidden("place")
def test_fresh_positions(learner, reference, draw):
    """A sine and the cosine beside it are those of one angle. Which number in the exponent counts the pairs, and which columns belong to pair i?"""
    for d_model in (2, 6, 14, 26):
        length = int(draw.integers(2, 30))
        expect(_in_32_bits(learner.sinusoidal_encoding(length, d_model)), reference.sinusoidal_encoding(length, d_model), "positions")


@visible("odd")
def test_width_of_five(learner):
    """Five columns hold two whole dimension pairs and one sine without its cosine. How many sines are there, how many cosines, and is d_model still 5 in the formula?"""
    high, low, lowest = 1.0, 10000 ** (-2 / 5), 10000 ** (-4 / 5)
    expected = torch.tensor([[math.sin(high), math.cos(high), math.sin(low), math.cos(low), math.sin(lowest)]])
    expect(_in_32_bits(learner.sinusoidal_encoding(2, 5))[1:], expected, "position 1")


@hidden("odd")
def test_fresh_odd_widths(learner, reference, draw):
    """At an odd width there is one sine more than there are cosines. Is every column there, and is d_model what it was in the formula?"""
    for d_model in (1, 3, 7, 13):
        length = int(draw.integers(2, 30))
        expect(_in_32_bits(learner.sinusoidal_encoding(length, d_model))[1:], reference.sinusoidal_encoding(length, d_model)[1:], "positions from 1 on")


@visible("far")
def test_position_ten_thousand(learner):
    """An angle of 5623.4 radians has gone round many times and ends somewhere between 0 and 6.3. If a number has seven digits, how many are left to say where?"""
    # Only the last position is compared, so that it can be read.
    _expect_position_ten_thousand(learner.sinusoidal_encoding(FAR + 1, 2 * PAIRS)[FAR:])


@hidden("far")
def test_fresh_far_positions(learner, reference, draw):
    """The encodings of far positions must be as right as those of near ones. In which step are digits lost: in the frequency, in its product with the position, or in the sine?"""
    for d_model in (22, 34):
        length = int(draw.integers(9_000, 10_100))
        expect(learner.sinusoidal_encoding(length, d_model)[8_900:], reference.sinusoidal_encoding(length, d_model)[8_900:], "far positions")


@visible("turn")
def test_two_words_later_with_one_pair(learner):
    """Positions 0, 1 and 2 should become positions 2, 3 and 4: three rows, one matrix on their right. Where do they lead instead, and which sine in your matrix has the wrong sign or stands in the wrong place?"""
    expect(_led(_one_pair(range(3)), learner.offset_rotation(2, 2)), _one_pair(range(2, 5)), "positions two words later")


@visible("turn")
def test_two_words_later_with_two_pairs(learner):
    """Each dimension pair has a small block of its own, which rotates it by its own angle. Which rows and columns belong to pair i, and by which angle is it rotated in two words?"""
    expect(_led(_two_pairs(range(3)), learner.offset_rotation(2, 4)), _two_pairs(range(2, 5)), "positions two words later")


@visible("turn")
def test_ten_thousand_words_later(learner):
    """From position 0 this rotation leads to position 10,000, thousands of radians on. How many digits of the angle are left to say where on the circle it ends?"""
    start = torch.tensor([[0.0, 1.0] * PAIRS])
    _expect_position_ten_thousand(_led(start, learner.offset_rotation(FAR, 2 * PAIRS)))


@hidden("turn")
def test_fresh_turns(learner, reference, draw):
    """One matrix serves every position: what it does depends on the offset and on the frequencies, and on nothing else. Does yours lead from position t to position t + offset?"""
    for d_model in (2, 6, 14):
        for offset in (0, 1, int(draw.integers(2, 40)), int(draw.integers(5_000, 10_000))):
            came = _led(_in_32_bits(reference.sinusoidal_encoding(11, d_model)), learner.offset_rotation(offset, d_model))
            expect(came, reference.sinusoidal_encoding(11 + offset, d_model)[offset:], "positions later")


@visible("back")
def test_three_words_on_and_three_back(learner):
    """A rotation by three words and then by minus three has led nowhere, but one by three has led somewhere. What does your matrix make of a negative offset?"""
    there, back = learner.offset_rotation(3, 4), learner.offset_rotation(-3, 4)
    expect(_led(there, back), torch.eye(4), "there and back")
    expect(_alike(there, back), False, "whether there and back are one matrix")


@visible("back")
def test_the_way_back_is_the_transpose(learner):
    """A rotation changes no length, so its transpose undoes it. Is your rotation by minus two words the transpose of your rotation by two?"""
    expect(_in_32_bits(learner.offset_rotation(-2, 4)), _in_32_bits(learner.offset_rotation(2, 4)).T, "way back")


@hidden("back")
def test_fresh_ways_back(learner, draw):
    """The rotation back undoes the one that led there, and is its transpose. What does your matrix make of a negative offset?"""
    for d_model in (2, 6, 14):
        offset = int(draw.integers(1, 40))
        there, back = learner.offset_rotation(offset, d_model), learner.offset_rotation(-offset, d_model)
        expect(_led(there, back), torch.eye(d_model), "there and back")
        expect(_in_32_bits(back), _in_32_bits(there).T, "way back")
        expect(_alike(there, back), False, "whether there and back are one matrix")


@visible("add")
def test_words_of_three_sentences(learner):
    """Each word should come back as itself plus the encoding of its position: in each of three sentences the first word gets that of position 0. Along which axis are positions counted, and what else was done to the words?"""
    _expect_positions(learner, _one_pair, torch.arange(30.0).reshape(3, 5, 2))


@visible("add")
def test_a_sentence_without_a_batch(learner):
    """Here x is one sentence, with no axis before its words. Counted from the end, which axis holds the words in any case?"""
    _expect_positions(learner, _one_pair, torch.arange(10.0).reshape(5, 2))


@visible("add")
def test_three_sentences_of_three_words(learner):
    """There are as many sentences as words, and as many positions ready. Which axis counts the positions, and by what does your code know it?"""
    _expect_positions(learner, _one_pair, torch.arange(18.0).reshape(3, 3, 2))


@visible("add")
def test_words_that_were_transposed(learner):
    """The words are what they were, but they lie in memory in another order. Which of your steps minds?"""
    _expect_same_words(learner.AddPositions(2, 5), torch.arange(30.0).reshape(3, 5, 2))


@hidden("add")
def test_fresh_words_that_were_transposed(learner, reference, draw):
    """Words may lie in memory in any order, and there may be as many as sentences. Which of the two is a surprise to your code?"""
    _expect_same_words(learner.AddPositions(6, 5), draw(2, 3, 5, 6))
    _expect_positions(learner, _by(reference, 4), draw(4, 4, 4), max_length=4)


@hidden("add")
def test_fresh_words(learner, reference, draw):
    """Words come in any batch, and each gets the encoding of its position added to it. Which axis counts the positions, and are the encodings those that the formula gives?"""
    for batch, tokens, d_model in (((), 3, 6), ((2,), 5, 14), ((7, 2), 3, 2), ((2, 3, 1), 7, 10)):
        _expect_positions(learner, _by(reference, d_model), draw(*batch, tokens, d_model))


@visible("lengths")
def test_a_shorter_sentence(learner):
    """Seven positions are ready and the sentence has three words. Which of the seven does it need?"""
    _expect_positions(learner, _one_pair, torch.zeros(1, 3, 2), max_length=7)


@visible("lengths")
def test_a_longer_sentence(learner):
    """Three positions are ready and the sentence has seven words. Does the formula end where your table does, and do the first words keep their positions?"""
    _expect_positions(learner, _one_pair, torch.zeros(1, 7, 2), max_length=3)


@visible("lengths")
def test_one_sentence_after_another(learner):
    """A short sentence, then a long one, then a short one again. What did your module keep from the sentence before?"""
    _expect_positions(learner, _one_pair, *(torch.zeros(1, tokens, 2) for tokens in (3, 5, 7, 3)), max_length=5)


@visible("lengths")
def test_a_late_sentence(learner):
    """Five positions are ready, and four words begin at position 3. How many positions must there be so that the last word has one?"""
    # Which positions they get is asked by another check.
    expect(tuple(learner.AddPositions(2, 5)(torch.zeros(1, 4, 2), 3).shape), (1, 4, 2), "shape of the positions")


@hidden("lengths")
def test_fresh_lengths(learner, reference, draw):
    """Sentences have any length, whatever `max_length` is, and may begin so late that they end behind it. Is the position of a word always the same?"""
    lengths = *draw.integers(2, 11, 2).tolist(), 11, *draw.integers(12, 40, 2).tolist(), 2
    _expect_positions(learner, _by(reference, 6), *(torch.zeros(41, tokens, 6) for tokens in lengths), max_length=11)
    expect(tuple(learner.AddPositions(2, 11)(torch.zeros(3, 7, 2), 6).shape), (3, 7, 2), "shape of the positions")
    # Of a new module each: one word, two, one more than there are positions ready, more than these and fewer than a word has numbers.
    for tokens in (1, 2, 5, 9):
        _expect_positions(learner, _by(reference, 14), torch.zeros(3, tokens, 14), max_length=4)


@visible("start")
def test_a_sentence_that_begins_at_position_four(learner):
    """The first word stands at position 4, and there are three words. At which position does the last one stand?"""
    _expect_positions(learner, _one_pair, torch.zeros(1, 3, 2), start=4)


@hidden("start")
def test_fresh_starts(learner, reference, draw):
    """Every word's position is counted from `start`. Are there as many positions as words, and is the first of them `start`?"""
    for start in (0, 1, *draw.integers(2, 20, 2).tolist()):
        _expect_positions(learner, _by(reference, 6), torch.zeros(2, 5, 6), start=start)


@visible("dtype")
def test_words_of_64_bits(learner):
    """Words of 64 bits come in, and words of 64 bits must go out. Where does your module make something else of them?"""
    _expect_positions(learner, _one_pair, torch.zeros(1, 3, 2, dtype=torch.float64))


@visible("dtype")
def test_words_of_16_bits(learner):
    """Words of 16 bits come in, and words of 16 bits must go out. Where does your module make something else of them?"""
    _expect_positions(learner, _one_pair, torch.zeros(1, 3, 2, dtype=torch.float16))


@visible("dtype")
def test_the_thousandth_word_in_16_bits(learner):
    """The words are `bfloat16`, in which 999 is rounded to 1000. What must happen first: counting the positions, or going over to the words' dtype?"""
    _expect_positions(learner, _one_pair, torch.zeros(1, 1000, 2, dtype=torch.bfloat16))


@visible("dtype")
def test_words_of_one_dtype_after_another(learner):
    """Words of 16 bits come first, and then words of 32 and 64. What has become of your table by then?"""
    _expect_dtypes_in_turn(learner, torch.bfloat16, torch.float32, torch.float64)


@hidden("dtype")
def test_fresh_words_of_one_dtype_after_another(learner):
    """One module serves words of any dtype, in any order. What does it keep from one call to the next?"""
    _expect_dtypes_in_turn(learner, torch.float64, torch.float16, torch.float64, torch.bfloat16, torch.float32)


@hidden("dtype")
def test_fresh_dtypes(learner, reference, draw):
    """The result has the dtype of the words, and the encodings are as exact as it can hold. In which dtype are positions counted, and when is it changed?"""
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        length = int(draw.integers(300, 2_000))
        _expect_positions(learner, _by(reference, 2), torch.zeros(1, length, 2, dtype=dtype))


@visible("training")
def test_nothing_in_the_module_is_trained(learner):
    """The encodings are computed, and an optimiser that changed them would spoil them. How does a module know that a tensor of its own is not to be trained?"""
    came = learner.AddPositions(2, 5).trained(torch.zeros(3, 5, 2))
    expect_trained(came, 0)


@visible("training")
def test_gradient_reaches_the_words(learner, draw):
    """The words are trained, and others may still need them as they were. Is a gradient on its way to x lost, or x changed where it lies?"""
    _expect_words_alone(learner.AddPositions(2, 5), torch.zeros(3, 5, 2), draw)


@hidden("training")
def test_fresh_training(learner, reference, draw):
    """The encodings are not trained, the words are. Which numbers does your module count as its own to learn, and does a gradient find x?"""
    for length, batch in ((7, 2), (3, 5)):
        module, true = Anew(learner.AddPositions, 2, length), Anew(reference.AddPositions, 2, length)
        expect_learning(module, 0, draw(batch, length, 2), draw=draw, true=true)
        _expect_words_alone(module, draw(batch, length, 2), draw, true)


@visible("learned")
def test_table_of_three_positions(learner):
    """Word 0 of every sentence gets vector 0, word 1 vector 1, and a shorter sentence leaves the rest. Which rows of the table does a sentence need?"""
    table, x = torch.tensor([[10.0, 20.0], [30.0, 40.0], [50.0, 60.0]]), torch.arange(12.0).reshape(2, 3, 2)
    module = _learned(learner, table)
    expect(module(x), x + table, "words with positions")
    expect(module(x[:, :2]), x[:, :2] + table[:2], "two words with positions")


@visible("learned")
def test_words_stay_as_they_were(learner, draw):
    """Others still need the words, which were transposed, and what made them is to learn. Does your code mind their order in memory, write into them, or cut them off the graph?"""
    module, x = _learned(learner, torch.arange(6.0).reshape(3, 2)), draw(2, 3, 2)
    _expect_same_words(module, x)
    expect(module.unchanged(x), module(x), "words with positions")
    expect_gradients(module, ["x"], x, draw=draw)


@visible("learned")
def test_table_of_64_bits(learner):
    """The module was turned to 64 bits, and so were the words. Where do your steps go over to 32 bits?"""
    table, x = torch.arange(6.0, dtype=torch.float64).reshape(3, 2) / 3, torch.ones(2, 3, 2, dtype=torch.float64)
    expect(_learned(learner, table)(x), x + table, "words with positions")


@hidden("learned")
def test_fresh_tables_of_64_bits(learner, draw):
    """The module was turned to 64 bits, and so were the words. Where do your steps go over to 32 bits?"""
    table, x = draw(5, 3, dtype=torch.float64), draw(2, 5, 3, dtype=torch.float64)
    expect(_learned(learner, table)(x), x + table, "words with positions")


@hidden("learned")
def test_fresh_words_stay_as_they_were(learner, reference, draw):
    """Others still need the words, which were transposed, and what made them is to learn. Does your code mind their order in memory, write into them, or cut them off the graph?"""
    table, x = draw(3, 3), draw(3, 3, 3, 3)
    module = _learned(learner, table)
    _expect_same_words(module, x)
    expect(module.unchanged(x), module(x), "words with positions")
    expect_gradients(module, ["x"], x, draw=draw, true=_learned(reference, table))


@hidden("learned")
def test_fresh_tables(learner, reference, draw):
    """Each word gets the vector of its position added to it, in any batch and in a sentence of any length that the table allows. Which axis counts the positions?"""
    table = draw(7, 3)
    module, other = _learned(learner, table), _learned(reference, table)
    for shape in ((2, 7, 3), (7, 3), (5, 3), (7, 2, 3), (2, 5, 1, 3)):
        x = draw(*shape)
        expect(module(x), other(x), "words with positions")


@visible("learned_trains")
def test_every_number_of_the_table_learns(learner, draw):
    """Five vectors of three numbers are 15 numbers to learn. How does a module know that a tensor of its own is to be trained, and does a gradient find it?"""
    came = learner.LearnedPositions(5, 3).trained(draw(2, 5, 3))
    expect_trained(came, 15)


@hidden("learned_trains")
def test_every_number_of_a_fresh_table_learns(learner, reference, draw):
    """Every number of the table must be trained, and nothing else. Which of them does the gradient not reach?"""
    for length, d_model in ((2, 7), (11, 5)):
        table = draw(length, d_model)
        module, true = Anew(_learned, learner, table), Anew(_learned, reference, table)
        expect_learning(module, length * d_model, draw(3, length, d_model), draw=draw, true=true)


@visible("learned_refuses")
def test_four_words_for_three_positions(learner):
    """Nothing was learned for a fourth position. What should a caller be told, and by which error, when a sentence is longer than the table?"""
    expect(_refusal(learner.LearnedPositions(3, 2), torch.zeros(1, 4, 2)), REFUSED, "error")


@hidden("learned_refuses")
def test_fresh_sentences_that_are_too_long(learner, draw):
    """No sentence that is longer than the table may pass, by whatever number of words. What does torch do with a table of one row?"""
    for length in (1, 5):
        tokens = length + int(draw.integers(1, 7))
        expect(_refusal(learner.LearnedPositions(length, 3), draw(2, tokens, 3)), REFUSED, "error")


@visible("device")
def test_positions_on_another_device(learner, draw):
    """The module was moved to another device, such as a GPU, and the words are there too. Where does its table lie?"""
    x = draw(3, 5, 6)
    expect_device(learner, lambda there: there.AddPositions(6, 7)(x), (3, 5, 6))


@visible("device")
def test_more_positions_on_another_device(learner, draw):
    """The module was moved to another device, and the sentence is longer than its table. Where do the encodings of the other positions lie?"""
    x = draw(3, 11, 6)
    expect_device(learner, lambda there: there.AddPositions(6, 7)(x), (3, 11, 6))


@visible("device")
def test_learned_positions_on_another_device(learner, draw):
    """The module was moved to another device, such as a GPU, and the words are there too. Which tensor did not move along, or is made on the CPU?"""
    x = draw(2, 5, 3)
    expect_device(learner, lambda there: there.LearnedPositions(7, 3)(x), (2, 5, 3))


@gpu
@hidden("add")
def test_positions_on_the_gpu(learner, reference, draw):
    """The words are on a GPU, and the encodings must be there too. Which tensor does your module leave behind, or make on the CPU?"""
    for tokens in (5, 11):
        x = draw(3, tokens, 6)
        expect(learner.on("cuda").AddPositions(6, 7)(x), reference.AddPositions(6, 7)(x), "words with positions")


@gpu
@hidden("learned")
def test_table_on_the_gpu(learner, reference, draw):
    """The module is moved to the GPU. Does its table move along?"""
    table, x = draw(7, 3), draw(2, 5, 3)
    expect(_learned(learner.on("cuda"), table)(x), _learned(reference, table)(x), "words with positions")


def _one_pair(positions) -> torch.Tensor:
    """Return a row for each position at width 2, where the one pair has a frequency of one radian per position."""
    t = torch.tensor(list(positions), dtype=torch.float64)
    return torch.stack([t.sin(), t.cos()], dim=1).float()


def _two_pairs(positions) -> torch.Tensor:
    """Return a row for each position at width 4, where the second pair has a frequency of a hundredth of a radian per position."""
    t = torch.tensor(list(positions), dtype=torch.float64)
    return torch.stack([t.sin(), t.cos(), (t / 100).sin(), (t / 100).cos()], dim=1).float()


def _expect_position_ten_thousand(came) -> None:
    angles = [FAR ** (1 - pair / PAIRS) for pair in range(PAIRS)]
    expected = torch.tensor([[f(angle) for angle in angles for f in (math.sin, math.cos)]])
    same_kind = isinstance(came, torch.Tensor) and (came.shape, came.dtype) == (expected.shape, expected.dtype)
    with known_by("the first digits are right", holds=same_kind and torch.allclose(came, expected, atol=0.05)):
        expect(came, expected, "position 10,000")


def _in_32_bits(came):
    """Return a tensor of floats with 32 bits: where the digits are not the question, any float will do."""
    return came.float() if isinstance(came, torch.Tensor) and came.dtype.is_floating_point else came


def _led(positions: torch.Tensor, rotation) -> torch.Tensor:
    """Return the positions to which the matrix on their right leads."""
    width = positions.shape[-1]
    expect(tuple(rotation.shape), (width, width), "shape of the matrix")
    return _in_32_bits(positions) @ _in_32_bits(rotation)


def _alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.allclose(one.double(), other.double(), atol=1e-4)


def _by(reference, d_model: int):
    """Return the function that gives the right rows of some positions, like `_one_pair`."""
    return lambda positions: reference.sinusoidal_encoding(positions.stop, d_model)[positions.start :]


def _expect_positions(learner, encoding_of, *sentences, max_length: int | None = None, start: int = 0) -> None:
    """Return None if one module gives every word of each sentence its position.

    Its encoding is the right one, or else the learner's own: what that holds is asked by other checks.
    """
    d_model, starts = sentences[0].shape[-1], [start] if start else []
    rows = [range(start, start + words.shape[-2]) for words in sentences]
    module = learner.AddPositions(d_model, max_length or rows[0].stop)
    sums = [module(words, *starts) for words in sentences]
    try:
        for came, words, positions in zip(sums, sentences, rows):
            _expect_sum(came, words, encoding_of(positions))
    except Wrong as wrong:
        for came, words, positions, mine in zip(sums, sentences, rows, _own_encodings(learner, rows, d_model)):
            if mine is None or not _passes(came, words, mine):
                _expect_sum(came, words, encoding_of(positions))
        learner.excuse(wrong, "place", "odd", "far")


def _own_encodings(learner, rows: list[range], d_model: int) -> list:
    """Return the learner's own encodings for each sentence, or None where there are none that could be added."""
    try:
        tables = [table for table, _ in learner.sinusoidal_encoding.measured(*((positions.stop, d_model) for positions in rows))]
    except Stopped:
        return [None] * len(rows)
    return [_encoding_in(table, positions, d_model) for table, positions in zip(tables, rows)]


def _encoding_in(table, positions: range, d_model: int):
    """Return the rows of these positions, in 32 bits, or None where positions next to each other can't be told apart."""
    if not isinstance(table, torch.Tensor) or not table.dtype.is_floating_point or table.shape != (positions.stop, d_model):
        return None
    rows = table[positions.start :].float()
    return rows if rows.isfinite().all() and rows.diff(dim=0).any(-1).all() else None


def _passes(came, words: torch.Tensor, encoding: torch.Tensor) -> bool:
    try:
        _expect_sum(came, words, encoding)
    except Wrong:
        return False
    return True


def _expect_sum(came, words: torch.Tensor, encoding: torch.Tensor) -> None:
    """Return None if words and encodings were added, in the words' dtype; 64 bits need hold no more digits than 32."""
    if words.dtype == torch.float64 and isinstance(came, torch.Tensor) and came.dtype == words.dtype:
        came, words = came.float(), words.float()
    expect(came, (words.float() + encoding).to(words.dtype), "words with positions")


def _expect_same_words(module, x) -> None:
    """Return None if the module makes the same of words that lie otherwise in memory."""
    expect(module.strided(x), module(x), "words with positions")


def _expect_dtypes_in_turn(learner, *dtypes: torch.dtype) -> None:
    """Return None if one module makes of words of each dtype what a new one makes of them."""
    sentences = [torch.zeros(1, 300, 2, dtype=dtype) for dtype in dtypes]
    expected = [learner.AddPositions(2, 300)(words) for words in sentences]
    module = learner.AddPositions(2, 300)
    for words, positions in zip(sentences, expected):
        expect(module(words), positions, "words with positions")


def _expect_words_alone(module, x, draw, true=None) -> None:
    """Return None if a gradient finds the words, and they stay what they were; `true` is a module whose gradients are right."""
    expect(module.unchanged(x + 1), module(x + 1), "words with positions")
    expect(tuple(module(x).shape), tuple(x.shape), "shape of the words with positions")
    expect_gradients(module, ["x"], x, draw=draw, true=true)


def _learned(learner, table):
    length, d_model = table.shape
    module = learner.LearnedPositions(length, d_model)
    if table.dtype == torch.float64:
        module.double()
    learner.set_table(module, table)
    return module


def _refusal(module, x) -> str:
    """Return how the module refuses x: by one of the errors that say why, by another one, or not at all."""
    try:
        came = module(x)
    except Raised as error:
        return REFUSED if error.kind in REFUSALS else error.kind
    words = came.shape[-2] if isinstance(came, torch.Tensor) and came.ndim > 1 else 0
    return f"no error, but {words} words"
