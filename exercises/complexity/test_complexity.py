"""Tests of complexity. A docstring is the question that a learner reads when the test fails."""
from functools import lru_cache
from itertools import count

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from kit import expect, visible
from kit.outcome import Wrong
from kit.plain import Object

WORK, ROUNDS, PATH, BYTES = range(4)
SIZES = ((7, 11), (13, 5))  # words, numbers for each
TEXTS = range(1, 20)  # lengths that are measured in turn
WIDTHS = {2: torch.float16, 4: torch.float32, 8: torch.float64}  # by the bytes of one number


@visible("looking")
def test_looking_as_torch_counts_it(learner):
    """Torch has looked, and counted. Which two products does looking take, and how many numbers meet for one query and one key in each of them?"""
    for n, d in SIZES:
        _expect(_entry(learner.attention_cost(n, d), WORK), _looking(n, d), "multiply-adds")


@visible("matrices")
def test_recurrence_as_torch_counts_it(learner):
    """Torch went from state to state, and counted. Through how many matrices does one step go, and how many numbers has a matrix?"""
    for n, d in SIZES:
        _expect(_entry(learner.recurrence_cost(n, d), WORK), _recurrence(n, d), "multiply-adds of recurrence")


@visible("matrices")
def test_convolution_as_torch_counts_it(learner):
    """Torch has moved the window along, and counted. How many matrices stand in one window, and how many windows are there, with the zeros before the first word?"""
    for (n, d), k in zip(SIZES, (3, 2)):
        _expect(_entry(learner.convolution_cost(n, d, k), WORK), _convolution(n, d, k), "multiply-adds of convolution")


@visible("rounds")
def test_attention_waits_once(learner):
    """The queries don't wait for each other, but the values wait for the weights. How many products stand one behind the other, in a text of any length?"""
    for n, d in SIZES:
        _expect(_entry(learner.attention_cost(n, d), ROUNDS), 2, "rounds of attention")


@visible("rounds")
def test_every_state_waits_for_the_one_before(learner):
    """First all words go through their matrix at once; then seven states are made. Which of these products have to wait for another?"""
    _expect(_entry(learner.recurrence_cost(7, 5), ROUNDS), 8, "rounds of recurrence")


@visible("rounds")
def test_no_window_waits(learner):
    """No window needs what another one found. How many of all their products have to wait for another?"""
    _expect(_entry(learner.convolution_cost(7, 5, 3), ROUNDS), 1, "rounds of convolution")


@visible("path")
def test_attention_hears_the_first_word_at_once(learner):
    """The last word looks straight at the first. How many steps is that, in a text of any length?"""
    for n, d in SIZES:
        _expect(_entry(learner.attention_cost(n, d), PATH), 1, "path of attention")


@visible("path")
def test_seven_words_are_six_steps(learner):
    """The state of the first word holds it already, and each step hands it on by one word. How many steps lie between seven words?"""
    _expect(_entry(learner.recurrence_cost(7, 5), PATH), 6, "path of recurrence")


@visible("path")
def test_convolution_hears_the_first_word(learner):
    """Torch changed the first word, and put layer on layer until the last one noticed. By how many words does one layer carry something on, and what if the last leap is not needed whole?"""
    for n, k in ((13, 3), (12, 5)):
        _expect(_entry(learner.convolution_cost(n, 7, k), PATH), _heard_after(n, k), "path of convolution")


@visible("memory")
def test_attention_holds_its_table(learner):
    """Torch has made the table of scores in float32. How many scores are in it, and how many bytes is one?"""
    for n, d in SIZES:
        words = torch.zeros(n, d)
        _expect(_entry(learner.attention_cost(n, d), BYTES), (words @ words.T).nbytes, "bytes that attention holds")


@visible("memory")
def test_recurrence_holds_one_state(learner):
    """The next state needs the state before, and nothing older. How many numbers is that, in a text of any length?"""
    for n, d in SIZES:
        _expect(_entry(learner.recurrence_cost(n, d), BYTES), torch.zeros(1, d).nbytes, "bytes that recurrence holds")


@visible("memory")
def test_convolution_holds_the_words_before(learner):
    """The window lies on the word itself and on the words before it. How many of them are before it, and how many numbers has each?"""
    for (n, d), k in zip(SIZES, (3, 2)):
        _expect(_entry(learner.convolution_cost(n, d, k), BYTES), torch.zeros(k - 1, d).nbytes, "bytes that convolution holds")


@visible("layer")
def test_layer_with_one_head(learner):
    """Torch has projected, looked and projected again, and counted. Which four products with a matrix come on top of looking?"""
    for n, d in SIZES:
        _expect(learner.layer_work(n, d, 1), _layer(n, d, 1), "multiply-adds")
        _expect(learner.layer_work(n, d), _layer(n, d, 1), "multiply-adds where nobody says how many heads there are")


@visible("layer")
def test_layer_with_several_heads(learner):
    """Torch has shared out the width, and counted again. When the heads become more, what becomes of the width of each, and what of the matrices of d by d?"""
    for n, d, num_heads in ((7, 6, 3), (3, 10, 5)):
        _expect(learner.layer_work(n, d, num_heads), _layer(n, d, num_heads), "multiply-adds")


@visible("crossing")
def test_crossing_as_torch_counts_it(learner):
    """Torch has counted both layers for texts of 1, 2, 3 words and so on, until looking took more. Where are the two equal, and what comes after that?"""
    for d in (3, 7):
        measured = next(n for n in TEXTS if _looking(n, d) > _recurrence(n, d))
        _expect(learner.crossing(d), measured, "length")


@visible("gates")
def test_layer_against_gates_as_torch_counts_it(learner):
    """Torch has counted the whole layer and the gated recurrence, word after word, until attention took more. Two terms stand on the side of attention: what is left of them when what all share is cancelled?"""
    for d, gates in ((3, 4), (5, 3)):
        _expect(learner.layer_crossing(d, gates), _layer_crossing(d, gates), "length")


@visible("gates")
def test_layer_that_always_takes_more(learner):
    """The projections alone take as much as this recurrence, or more. Is there a length at which attention is not ahead, and what is the shortest text there is?"""
    for d, gates in ((5, 2), (7, 1)):
        _expect(learner.layer_crossing(d, gates), _layer_crossing(d, gates), "length")


@visible("layers")
def test_layers_side_by_side(learner):
    """Torch changed the first word, and put layer on layer until the last one noticed. How many words further back does each layer reach, and what if the last one is not needed whole?"""
    for n, k in ((13, 3), (12, 5)):
        _expect(learner.layers_needed(n, k, False), _heard_after(n, k), "layers")
        _expect(learner.layers_needed(n, k), _heard_after(n, k), "layers where nobody asks for gaps")


@visible("layers")
def test_layers_with_gaps(learner):
    """Torch put layers with gaps of 1, k, k * k and so on above each other. By which factor does each layer widen what the last word hears of?"""
    for n, k in ((23, 3), (7, 2), (50, 5)):
        _expect(learner.layers_needed(n, k, True), _heard_after(n, k, dilated=True), "layers")


@visible("layers")
def test_exact_powers_with_gaps(learner):
    """Here the length is k * k, or k * k * k: the last word hears of exactly so many. Is one layer more needed, and is your arithmetic exact?"""
    for n, k in ((9, 3), (125, 5)):
        _expect(learner.layers_needed(n, k, True), _heard_after(n, k, dilated=True), "layers")


@visible("layers")
def test_single_word(learner):
    """The only word is the first and the last. Has it to wait for anything?"""
    _expect(learner.layers_needed(1, 3, False), 0, "layers")
    _expect(learner.layers_needed(1, 3, True), 0, "layers")


@visible("tables")
def test_tables_as_torch_makes_them(learner):
    """Torch has made all the tables, and measured them. How many are there, for all heads, layers and texts, and how many numbers are in one?"""
    _expect(learner.table_bytes(5, 3, 2, 7), _tables(5, 3, 2, 7), "bytes")


@visible("tables")
def test_tables_of_other_numbers(learner):
    """Not every number takes four bytes. Where does your answer ask how large one is?"""
    for number_bytes in (2, 8):
        _expect(learner.table_bytes(5, 3, 2, 7, number_bytes), _tables(5, 3, 2, 7, number_bytes), "bytes")


@visible("longest")
def test_memory_exactly_full(learner):
    """The tables for 37 words take up the memory to the last byte. What has to be undone to come from bytes back to a length, and does a full memory still have room enough?"""
    for number_bytes in (4, 2):
        memory = _tables(37, 3, 2, 5, number_bytes)
        _expect(learner.longest(memory, 3, 2, 5, number_bytes), 37, "length")


@visible("longest")
def test_one_byte_too_few(learner):
    """For 37 words one byte is missing. What happens to a program that asks for one byte more than there is?"""
    _expect(learner.longest(_tables(37, 3, 2, 5) - 1, 3, 2, 5), 36, "length")


@visible("longest")
def test_no_room_for_one_word(learner):
    """A single word has tables too, and they don't fit. Which length is left?"""
    _expect(learner.longest(_tables(1, 3, 2, 5) // 4, 3, 2, 5), 0, "length")


def _entry(cost, place: int):
    """Return one of the four numbers of a cost."""
    if not (isinstance(cost, tuple) and len(cost) == 4):
        raise Wrong.plainly("what is returned", "a tuple of four numbers must come back: multiply-adds, rounds, path, bytes", cost)
    return cost[place]


def _expect(came, expected: int, what: str) -> None:
    """Compare a number, in whichever form it came, with what was expected."""
    if isinstance(came, Object) and came.kind.startswith(("int", "float")):
        raise Wrong(what, f"a number of NumPy's came ({came.kind}) where a plain one is asked for; int(...) makes it plain", came, expected)
    if isinstance(came, Tensor) and came.numel() == 1:
        came = came.item()
    expect(int(came) if type(came) is float and came.is_integer() else came, expected, what)


def _measured(work) -> int:
    """Return the multiply-adds that torch counts while `work` is done; a FLOP is half of one."""
    with FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops() // 2


def _look(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    # torch has several ways to do it, and its counter does not see into the one that is made for CPUs.
    with sdpa_kernel(SDPBackend.MATH):
        return F.scaled_dot_product_attention(query, key, value)


@lru_cache
def _looking(n: int, d: int) -> int:
    words = torch.zeros(1, n, d)
    return _measured(lambda: _look(words, words, words))


@lru_cache
def _recurrence(n: int, d: int, gates: int = 1) -> int:
    """Return what is measured of a recurrence that keeps its matrices for all gates side by side."""
    words, state, matrices = torch.zeros(n, d), torch.zeros(1, d), torch.zeros(d, gates * d)

    def work():
        heard = words @ matrices
        for word in heard:
            # What gates do with their numbers is no product of matrices, and not counted.
            state.copy_((word + state @ matrices)[:, :d].tanh())

    return _measured(work)


@lru_cache
def _convolution(n: int, d: int, k: int) -> int:
    words, windows = torch.zeros(1, d, n), torch.zeros(d, d, k)
    return _measured(lambda: F.conv1d(F.pad(words, (k - 1, 0)), windows))


@lru_cache
def _layer(n: int, d: int, num_heads: int) -> int:
    words, matrix = torch.zeros(n, d), torch.zeros(d, d)

    def work():
        query, key, value = ((words @ matrix).view(n, num_heads, -1).transpose(0, 1) for _ in range(3))
        _look(query, key, value).transpose(0, 1).reshape(n, d) @ matrix

    return _measured(work)


@lru_cache
def _layer_crossing(d: int, gates: int) -> int:
    return next(n for n in TEXTS if _layer(n, d, 1) > _recurrence(n, d, gates))


@lru_cache
def _heard_after(n: int, k: int, dilated: bool = False) -> int:
    """Return how many of torch's convolutions carry something from the first word to the last."""
    heard = torch.eye(1, n)[None]
    for layer in count():
        if heard[..., -1] > 0:
            return layer
        gap = k**layer if dilated else 1
        heard = F.conv1d(F.pad(heard, ((k - 1) * gap, 0)), torch.ones(1, 1, k), dilation=gap).clamp(max=1)


def _tables(n: int, num_heads: int, num_layers: int, batch: int, number_bytes: int = 4) -> int:
    """Return the memory of all tables, made by torch."""
    made = [torch.empty(batch, num_heads, n, n, dtype=WIDTHS[number_bytes]) for _ in range(num_layers)]
    return sum(table.nbytes for table in made)
