"""Tests of kv_cache. A docstring is the question that a learner reads when the test fails.

One mistake is to cost few checks. So the module may attend by the learner's own `attend_last` where that is not the
right one, which other checks say. What it is, a fresh process is asked, in which no module has run: nothing that the
module leaves behind can tell `attend_last` what to answer. And where none of those checks fails, nothing was excused.
"""
import itertools
from functools import partial

import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from autograder.kit import Anew, expect, expect_device, expect_gradients, expect_learning, expect_trained, gpu, hidden, visible
from autograder.kit.outcome import Stopped, Wrong
from autograder.kit.plain import Object

WIDTHS = {2: torch.float16, 4: torch.float32}  # by the bytes of one number


@visible("whole")
def test_three_words_at_once(learner):
    """All scores are equal, so each word takes the mean of what it may look at. The first word sees 3, the second 3 and 5, the third 3, 5 and 10. What did yours see?"""
    values = torch.tensor([[[3.0], [5.0], [10.0]]])
    expect(learner.attend_last(torch.zeros(1, 3, 1), torch.zeros(1, 3, 1), values), torch.tensor([[[3.0], [4.0], [6.0]]]), "outputs")


@hidden("whole")
def test_fresh_texts_at_once(learner, draw):
    """With as many queries as keys this is causal attention of the whole text. What is divided by what before softmax, and which words does the first one see?"""
    for batch, tokens, d_k, d_v in ((2, 5, 3, 7), (3, 2, 7, 1)):
        query, keys, values = draw(batch, tokens, d_k), draw(batch, tokens, d_k), draw(batch, tokens, d_v)
        expect(learner.attend_last(query, keys, values), F.scaled_dot_product_attention(query, keys, values, is_causal=True), "outputs")


@visible("whole")
def test_each_word_matches_far_better_than_those_before(learner):
    """The scores are -102000, -101000 and 100000, so each word takes its own value. Is a later word gone before weights are shared out, and lies what it is hidden with below every score?"""
    keys, values = torch.tensor([[[-102_000.0], [-101_000.0], [100_000.0]]]), torch.tensor([[[3.0], [5.0], [10.0]]])
    expect(learner.attend_last(torch.ones(1, 3, 1), keys, values), values, "outputs")


@visible("whole")
def test_words_of_16_and_64_bits(learner):
    """Words of 16 bits come in, then words of 64. Which number of yours doesn't exist in 16 bits, and where are digits lost?"""
    for dtype in (torch.float16, torch.float64):
        values, scores = torch.tensor([[[3.0], [5.0], [11.0]]], dtype=dtype) / 3, torch.zeros(1, 3, 1, dtype=dtype)
        expect(learner.attend_last(scores, scores, values), torch.tensor([[[3.0], [4.0], [19 / 3]]], dtype=dtype) / 3, "outputs")


@visible("whole")
def test_words_that_others_still_need(learner):
    """What you are given was transposed, and others still need it. Which of your steps minds the order in memory, or writes into it?"""
    query, values = torch.zeros(2, 3, 2), torch.tensor([[[3.0], [5.0], [10.0]], [[1.0], [2.0], [6.0]]])
    query[0, :, 1] = 7.0
    for call in (learner.attend_last.strided, learner.attend_last.unchanged):
        expect(call(query, query.flip(-1), values), torch.tensor([[[3.0], [4.0], [6.0]], [[1.0], [1.5], [3.0]]]), "outputs")


@hidden("whole")
def test_fresh_words_of_any_kind(learner, draw):
    """Words of any dtype and size, transposed or not, and left as they were. Which of these is not so?"""
    for dtype in (torch.float16, torch.float64):
        query, keys, values = (draw(3, 3, 3, dtype=dtype) for _ in range(3))
        expected = F.scaled_dot_product_attention(*(x.double() for x in (query, keys, values)), is_causal=True).to(dtype)
        for call in (learner.attend_last.strided, learner.attend_last.unchanged):
            expect(call(query, keys, values), expected, "outputs")


@visible("one")
def test_the_last_of_three_words(learner):
    """The one query is the third of three words. How many of the three may it look at?"""
    values = torch.tensor([[[3.0], [5.0], [10.0]]])
    expect(learner.attend_last(torch.zeros(1, 1, 1), torch.zeros(1, 3, 1), values), torch.tensor([[[6.0]]]), "output")


@hidden("one")
def test_fresh_last_words(learner, draw):
    """The last word sees every key there is. What does a mask with one row hide from it?"""
    for batch, tokens, d_k in ((2, 5, 3), (1, 1, 2), (3, 11, 7)):
        query, keys, values = draw(batch, 1, d_k), draw(batch, tokens, d_k), draw(batch, tokens, d_k)
        expect(learner.attend_last(query, keys, values), F.scaled_dot_product_attention(query, keys, values), "output")


@visible("piece")
def test_the_last_two_of_four_words(learner):
    """Two queries are words three and four of four. Which keys may the first of them look at, and in which corner of the mask does the diagonal end?"""
    values = torch.tensor([[[3.0], [5.0], [10.0], [2.0]]])
    expect(learner.attend_last(torch.zeros(1, 2, 1), torch.zeros(1, 4, 1), values), torch.tensor([[[6.0], [5.0]]]), "outputs")


@visible("piece")
def test_the_last_word_matches_far_better(learner):
    """Of the last two of three words the first scores -102000 and -101000, and the last one 100000. What has the last one to do with the word before it?"""
    keys, values = torch.tensor([[[-102_000.0], [-101_000.0], [100_000.0]]]), torch.tensor([[[3.0], [5.0], [10.0]]])
    expect(learner.attend_last(torch.ones(1, 2, 1), keys, values), values[:, 1:], "outputs")


@hidden("piece")
def test_fresh_pieces(learner, draw):
    """The last query is the last word, the one above it the last but one. How many keys does each of them see?"""
    for tokens, new in ((7, 3), (5, 2), (11, 7)):
        query, keys, values = draw(2, tokens, 3), draw(2, tokens, 3), draw(2, tokens, 5)
        expected = F.scaled_dot_product_attention(query, keys, values, is_causal=True)
        expect(learner.attend_last(query[:, -new:], keys, values), expected[:, -new:], "outputs")


@visible("first")
def test_a_text_of_one_word(learner):
    """A single word sees itself only, so its output is its value. What are the three projections, and what else happens?"""
    module = _module(learner, [torch.eye(2), torch.eye(2), torch.tensor([[0.0, 1.0], [2.0, 0.0]])])
    expect(module(torch.tensor([[[3.0, 4.0]]])), torch.tensor([[[8.0, 3.0]]]), "output")


@hidden("first")
def test_fresh_first_words(learner, draw):
    """Nothing is in the cache yet, and a word sees itself only. Which matrix makes its value, and on which side does it stand?"""
    weights = _drawn(draw, 5, 3)
    x = draw(4, 1, 5)
    expect(_module(learner, weights)(x), x @ weights[2], "output")


@visible("pieces")
def test_three_words_one_by_one(learner):
    """Word after word comes in alone. The values are 3, 5 and 10 and every score is equal. What does the third word see, and where are the two before it?"""
    module = _module(learner, [torch.zeros(1, 1), torch.zeros(1, 1), torch.ones(1, 1)])
    _expect_pieces(learner, module, torch.tensor([[[3.0], [5.0], [10.0]]]), (1, 1, 1), torch.tensor([[[3.0], [4.0], [6.0]]]))


@visible("pieces")
def test_two_words_and_then_two_more(learner):
    """Two words come, then two more. The values are 3, 5, 10 and 2. Does the third word see what the first piece brought, and in which order do they stand?"""
    module = _module(learner, [torch.zeros(1, 1), torch.zeros(1, 1), torch.ones(1, 1)])
    _expect_pieces(learner, module, torch.tensor([[[3.0], [5.0], [10.0], [2.0]]]), (2, 2), torch.tensor([[[3.0], [4.0], [6.0], [5.0]]]))


@hidden("pieces")
def test_fresh_texts_in_pieces(learner, draw):
    """However a text is cut, its outputs are those of the whole. What is kept from piece to piece, and for whom?"""
    for cuts in ((1, 1, 1, 1, 1), (4, 1, 1), (2, 3, 1)):
        weights, x = _drawn(draw, 5, 3), draw(2, sum(cuts), 5)
        query, keys, values = (x @ w for w in weights)
        expected = F.scaled_dot_product_attention(query, keys, values, is_causal=True)
        _expect_pieces(learner, _module(learner, weights), x, cuts, expected, (query, keys, values))


@visible("pieces")
def test_module_of_64_bits(learner):
    """The module was turned to 64 bits, and so were the words. A word comes, then two more; the values are 3, 5 and 10 thirds and every score is equal. Where do your steps, or your cache, go over to 32 bits?"""
    zeros, third = torch.zeros(1, 1, dtype=torch.float64), torch.full((1, 1), 1 / 3, dtype=torch.float64)
    x, expected = (torch.tensor(words, dtype=torch.float64).reshape(1, 3, 1) for words in ([3.0, 5.0, 10.0], [1.0, 4 / 3, 2.0]))
    _expect_pieces(learner, _module(learner, [zeros, zeros, third]), x, (1, 2), expected, (0 * x, 0 * x, x / 3))


@hidden("pieces")
def test_fresh_modules_of_64_bits(learner, draw):
    """The module was turned to 64 bits, and so were the words. Where do your steps, or your cache, go over to 32 bits?"""
    weights, x = [draw(5, 3, dtype=torch.float64) for _ in range(3)], draw(2, 6, 5, dtype=torch.float64)
    projected = [x @ w for w in weights]
    expected = F.scaled_dot_product_attention(*projected, is_causal=True)
    _expect_pieces(learner, _module(learner, weights), x, (2, 1, 3), expected, projected)


@visible("pieces")
def test_two_modules_read_in_turns(learner, draw):
    """Two layers read the same text, in turns. Does each of them find its own keys and values, and nobody else's?"""
    _expect_apart(learner, draw, 1)


@visible("pieces")
def test_words_that_were_transposed(learner, draw):
    """The words come as they always do, but they lie in memory in another order. Which of your steps minds, or writes into what it was handed?"""
    weights, x = _drawn(draw, 4, 2), draw(2, 3, 4)
    expected = _module(learner, weights)(x)
    expect(_module(learner, weights).strided(x), expected, "outputs")
    expect(_module(learner, weights).unchanged(x), expected, "outputs")


@hidden("pieces")
def test_fresh_modules_read_in_turns(learner, draw):
    """Two modules read the same text, in turns. Where does each of them keep what it has read?"""
    for new in (1, 2):
        _expect_apart(learner, draw, new)


@visible("forget")
def test_another_text(learner):
    """One text was read and forgotten. Now another one begins, and its first word sees itself only. What else is there to see, and does a second sentence in the batch matter?"""
    module = _module(learner, [torch.eye(2)] * 3)
    for x in (torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[0.0, 1.0]]]), torch.tensor([[[3.0, 4.0]], [[5.0, 6.0]]])):
        expect(module(x), x, "output")
        learner.forget(module)


@hidden("forget")
def test_fresh_texts_are_forgotten(learner, draw):
    """After `forget` a module is as it was when it was made, except for what it learned. What did yours keep?"""
    weights = _drawn(draw, 5, 3)
    module = _module(learner, weights)
    for batch in (2, 3, 1):
        x = draw(batch, 1, 5)
        expect(module(x), x @ weights[2], "output")
        learner.forget(module)


@visible("trains")
def test_a_gradient_stays_in_its_piece(learner, draw):
    """A piece of text trains the three matrices by its own words. Three matrices of 4 by 2 are 24 numbers. Do the keys and values of its own words still have a history, and those that were kept none?"""
    module = learner.CachedAttention(4, 2)
    expect_trained(module.trained(draw(2, 3, 4)), 24)
    expect_trained(module.trained(draw(2, 3, 4)), 24, " from the next piece")


@visible("trains")
def test_a_gradient_goes_back_to_the_words(learner, draw):
    """What made the words is to learn as well. Does a gradient get back to them, in the first piece and in those that follow?"""
    _expect_words_reached(learner, draw, 3, 2)


@hidden("trains")
def test_fresh_gradients_go_back_to_the_words(learner, draw):
    """What made the words is to learn as well. Does a gradient get back to them, in every piece?"""
    _expect_words_reached(learner, draw, 2, 1, 4)


@hidden("trains")
def test_gradients_of_fresh_pieces(learner, reference, draw):
    """What is kept is not trained again, and not counted as something to learn. Which of your tensors is?"""
    weights = _drawn(draw, 3, 5)
    module = _module(learner, weights)
    for tokens in (3, 2, 4):
        expect_trained(module.trained(draw(2, tokens, 3)), 45)
    expect_learning(Anew(_module, learner, weights), 45, draw(2, 3, 3), draw=draw, true=Anew(_module, reference, weights))


@visible("memory")
def test_a_cache_made_by_torch(learner):
    """Torch has made all keys and values and weighed them. What is kept for each word, in each layer and each head?"""
    for sizes in ((7, 2, 3, 5), (11, 3, 1, 2)):
        expect(_whole(learner.cache_bytes(*sizes)), _cache(*sizes, 1, 4), "bytes")
    expect(_whole(learner.cache_bytes(7, 2, 3, 5, 13, 2)), _cache(7, 2, 3, 5, 13, 2), "bytes of a batch in 16 bits")


@hidden("memory")
def test_fresh_caches(learner, draw):
    """What is kept for each word of each text, in each layer and each head, and how many bytes is one number?"""
    for number_bytes in (2, 4):
        sizes = *draw.integers(2, 12, 5).tolist(), number_bytes
        expect(_whole(learner.cache_bytes(*sizes)), _cache(*sizes), "bytes")


@visible("work")
def test_work_as_torch_counts_it(learner):
    """Torch has made the words one at a time, and counted. Which products are made for a new word, and which for those before it?"""
    for n, d in ((2, 3), (5, 7)):
        expect(_whole(learner.decoding_work(n, d, True)), _counted(n, d, True), "multiply-adds with the cache")
        expect(_whole(learner.decoding_work(n, d, False)), _counted(n, d, False), "multiply-adds without it")


@hidden("work")
def test_fresh_work(learner, draw):
    """How many words are projected in step t, with the cache and without, and how many pairs of words meet?"""
    for cached in (True, False):
        n, d = draw.integers(3, 20, 2).tolist()
        expect(_whole(learner.decoding_work(n, d, cached)), _counted(n, d, cached), "multiply-adds")


@visible("device")
def test_pieces_on_another_device(learner, draw):
    """The module was moved to another device, such as a GPU, and the words are there too. Which tensor did not move along, or is made on the CPU?"""
    first, last = draw(2, 2, 5), draw(2, 1, 5)

    def read(there):
        module = there.CachedAttention(5, 3)
        module(first)
        return module(last)

    expect_device(learner, read, (2, 1, 3))


@visible("device")
def test_attention_on_another_device(learner, draw):
    """Queries, keys and values lie on another device, such as a GPU. Which tensor does your function make on the CPU all the same?"""
    query, keys, values = draw(2, 2, 3), draw(2, 5, 3), draw(2, 5, 7)
    expect_device(learner, lambda there: there.attend_last(query, keys, values), (2, 2, 7))


@gpu
@hidden("pieces")
def test_pieces_on_the_gpu(learner, reference, draw):
    """The module and its words are on a GPU. Which tensor does your module make on the CPU?"""
    weights, x = _drawn(draw, 5, 3), draw(2, 5, 5)
    one, other = _module(learner.on("cuda"), weights), _module(reference, weights)
    for piece in x.split((2, 1, 2), dim=1):
        expect(one(piece), other(piece), "outputs")


def _drawn(draw, d_model: int, d_k: int) -> list[torch.Tensor]:
    return [draw(d_model, d_k) for _ in range(3)]


def _module(learner, weights: list[torch.Tensor]):
    module = learner.CachedAttention.later(*weights[0].shape)
    if weights[0].dtype == torch.float64:
        module.double()
    learner.set_weights.later(module, *weights)
    return module


def _expect_pieces(learner, module, x, cuts: tuple[int, ...], expected, projected=None) -> None:
    """Return None if the pieces' outputs are right, or else what the learner's own attention makes of each piece."""
    came = [module(piece) for piece in x.split(cuts, dim=1)]
    query, keys, values = projected or (torch.zeros_like(x), torch.zeros_like(x), x)
    stops = torch.tensor(cuts).cumsum(0).tolist()
    for number, (stop, new) in enumerate(zip(stops, cuts)):
        try:
            expect(came[number], expected[:, stop - new : stop], f"outputs of piece {number}")
        except Wrong as wrong:
            if not _is_own(learner, came[number], query[:, stop - new : stop], keys[:, :stop], values[:, :stop]):
                raise
            learner.excuse(wrong, "whole", "one", "piece")


def _expect_apart(learner, draw, new: int) -> None:
    """Return None if each of two modules that read in turns returns what it returns alone."""
    x, weights = draw(2, 3 * new, 4), [_drawn(draw, 4, 2), _drawn(draw, 4, 2)]
    alone = [[module(piece) for piece in x.split(new, dim=1)] for module in (_module(learner, each) for each in weights)]
    modules = [_module(learner, each) for each in weights]
    for number, piece in enumerate(x.split(new, dim=1)):
        for module, outputs in zip(modules, alone):
            expect(module(piece), outputs[number], f"outputs of piece {number} beside another module")


def _expect_words_reached(learner, draw, *pieces: int) -> None:
    weights, text = _drawn(draw, 4, 2), draw(2, sum(pieces), 4)
    for number, (before, new) in enumerate(zip(itertools.accumulate(pieces, initial=0), pieces)):
        read, words = text[:, :before], text[:, before : before + new]
        module, true = Anew(_after, learner, weights, read), partial(_last, weights, read)
        # Whether a word sees anything, and so has an output that is a number, is asked by other checks.
        expect_gradients(module, [f"the words of piece {number}"], words, draw=draw, true=true, elsewhere={"not a number somewhere"})


def _after(learner, weights: list[torch.Tensor], read):
    """Return a module that has read something."""
    module = _module(learner, weights)
    if read.shape[1]:
        module(read)
    return module


def _last(weights: list[torch.Tensor], read, words):
    """Return the outputs of the last words of a text, by torch's own attention to the whole of it."""
    query, keys, values = (torch.cat([read, words], dim=1) @ w for w in weights)
    return F.scaled_dot_product_attention(query, keys, values, is_causal=True)[:, read.shape[1] :]


def _is_own(learner, came, query, keys, values) -> bool:
    """Return whether this is the learner's own attention, asked in a fresh process; what no value has a part in is none."""
    try:
        (own, _), (twice, _) = learner.attend_last.measured((query, keys, values), (query, keys, 2 * values))
        expect(came, own)
        expect(twice, 2 * own)
    except (Stopped, Wrong, TypeError):
        return False
    return own.isfinite().all().item() and own.any().item()


def _whole(came):
    """Return a number as a whole one, whatever it came as; anything else as it is."""
    if isinstance(came, torch.Tensor) and came.numel() == 1:
        came = came.item()
    return int(came) if isinstance(came, float) and came.is_integer() else came if came is not None else Object("None")


def _cache(tokens: int, num_layers: int, num_kv_heads: int, d_head: int, batch: int, number_bytes: int) -> int:
    """Return the memory of a cache, made by torch."""
    layers = [[torch.empty(batch, num_kv_heads, tokens, d_head, dtype=WIDTHS[number_bytes]) for _ in "kv"] for _ in range(num_layers)]
    return sum(tensor.nbytes for layer in layers for tensor in layer)


def _counted(n: int, d: int, cached: bool) -> int:
    """Return the multiply-adds of a text written by torch, word by word."""
    matrix = torch.empty(d, d, device="meta")
    with FlopCounterMode(display=False) as counter:
        for words in range(1, n + 1):
            every, new = (torch.empty(size, d, device="meta") for size in (words, 1 if cached else words))
            for _ in range(3):
                new @ matrix
            (new @ every.T) @ every
    return counter.get_total_flops() // 2
