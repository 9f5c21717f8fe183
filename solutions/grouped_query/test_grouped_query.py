"""Tests of grouped_query. A docstring is the question that a learner reads when the test fails.

One mistake is to cost few checks. So the module may attend by the learner's own `grouped_attention` where that is not
the right one, which other checks say; and what one check asks is kept out of the others' inputs where that can be.
What their own is, a fresh process is asked, in which no module has run: nothing that the module leaves behind can tell
`grouped_attention` what to answer. And where none of those checks fails, nothing was excused.
"""
import torch
from torch.nn import functional as F

from autograder.kit import Anew, expect, expect_device, expect_gradients, expect_learning, expect_trained, gpu, hidden, visible
from autograder.kit.outcome import Raised, Stopped, Wrong

OF_THE_ATTENTION = "groups", "scale", "multi_query", "mask"  # the checks that ask for `grouped_attention`


@visible("groups")
def test_every_head_asks_for_itself(learner):
    """Heads 0 and 1 share the first head of keys and values, heads 2 and 3 the second, which has its keys in another order. In each group one head asks for one word and one for the other. Whose keys did each meet, whose values did it read, and does it find them in the place where it asked?"""
    query = torch.tensor([[100.0, 0.0], [0.0, 100.0]]).repeat(2, 1).reshape(1, 4, 1, 2)
    key, value = torch.stack([torch.eye(2), torch.eye(2).flip(0)])[None], torch.arange(8.0).reshape(1, 2, 2, 2)
    expected = torch.tensor([[0.0, 1.0], [2.0, 3.0], [6.0, 7.0], [4.0, 5.0]]).reshape(1, 4, 1, 2)
    expect(learner.grouped_attention(query, key, value), expected, "output")


@visible("groups")
def test_four_heads_share_two(learner):
    """There is one key, so each of four heads takes a value whole: heads 0 and 1 the first, heads 2 and 3 the second. Whose did it take?"""
    value = torch.tensor([[[[10.0]], [[20.0]]]])
    came = learner.grouped_attention(torch.ones(1, 4, 1, 1), torch.ones(1, 2, 1, 1), value)
    expect(came, torch.tensor([[[[10.0]], [[10.0]], [[20.0]], [[20.0]]]]), "output")


@visible("groups")
def test_heads_that_others_still_need(learner, draw):
    """All keys match alike, so each head takes the mean of its values. Words of 64 bits came in as heads do that were split, transposed, and others still need them. Where are digits lost, and which step minds the order in memory, or writes into what it was handed?"""
    query, key = draw(3, 4, 2, 3, dtype=torch.float64), torch.zeros(3, 2, 5, 3, dtype=torch.float64)
    value = draw(3, 2, 5, 3, dtype=torch.float64)
    expected = value.mean(-2, keepdim=True).repeat_interleave(2, 1).expand(3, 4, 2, 3)
    for call in (learner.grouped_attention.strided, learner.grouped_attention.unchanged):
        expect(call(query, key, value), expected, "output")


@hidden("groups")
def test_fresh_heads_of_sizes_that_agree(learner, reference, draw):
    """Axes may be equally long without being the same axis, and heads may be transposed. Which of the two is a surprise to your code?"""
    inputs = _asking(draw, 4, 4, 4, words=4), _asking(draw, 4, 2, 4, words=4), draw(4, 2, 4, 4)
    for call in (learner.grouped_attention.strided, learner.grouped_attention.unchanged):
        expect(call(*inputs), reference.grouped_attention(*inputs), "output")


@hidden("groups")
def test_fresh_groups(learner, reference, draw):
    """Neighbouring heads of queries are a group, and a group has one head of keys and one of values. Which head reads which?"""
    for num_heads, num_kv_heads in ((6, 2), (6, 3), (8, 4)):
        query, key = _asking(draw, 2, num_heads, 4, words=3), _asking(draw, 2, num_kv_heads, 3, words=3)
        _expect_same(learner, reference, query, key, draw(2, num_kv_heads, 3, 3))


@visible("scale")
def test_match_of_four_in_heads_of_four(learner):
    """A head is 4 wide, so a match of 4 must reach softmax as a score of 2, and the shares of one query add up to one. How many terms has the dot product, and along which axis are shares dealt out?"""
    query = torch.tensor([2.0, 0.0, 0.0, 0.0]).expand(1, 2, 2, 4)
    key = torch.tensor([[[[2.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]]]]).expand(1, 2, 2, 4)
    one, other = torch.softmax(torch.tensor([2.0, 0.0]), 0).tolist()
    came = learner.grouped_attention(query, key, torch.eye(4)[:2].expand(1, 2, 2, 4))
    expect(came, torch.tensor([one, other, 0.0, 0.0]).expand(1, 2, 2, 4), "output")


@hidden("scale")
def test_fresh_multi_head_attention(learner, reference, draw):
    """As many heads of keys as of queries is multi-head attention. Which step differs from what you know?"""
    for num_heads, queries, keys, d_head in ((3, 5, 2, 7), (2, 1, 11, 5)):
        shared = draw(2, num_heads, keys, d_head), draw(2, num_heads, keys, d_head)
        _expect_same(learner, reference, draw(2, num_heads, queries, d_head), *shared)


@visible("multi_query")
def test_three_heads_share_one(learner):
    """There is a single head of keys and values, and three heads of queries, which ask for different words. What does each of them find?"""
    query = torch.tensor([[[[100.0, 0.0]], [[0.0, 100.0]], [[0.0, 0.0]]]])
    key, value = torch.eye(2)[None, None], torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    expect(learner.grouped_attention(query, key, value), torch.tensor([[[[1.0, 2.0]], [[3.0, 4.0]], [[2.0, 3.0]]]]), "output")


@hidden("multi_query")
def test_fresh_heads_share_one(learner, reference, draw):
    """All heads read the same keys and values, and each asks with its own queries. How many heads come out?"""
    for num_heads, keys in ((5, 3), (7, 2)):
        key = torch.eye(keys).expand(2, 1, keys, keys) * 9
        _expect_same(learner, reference, _asking(draw, 2, num_heads, 4, words=keys), key, draw(2, 1, keys, keys))


@visible("mask")
def test_word_that_may_not_be_seen(learner):
    """Two heads share one head of keys. All keys match alike, and neither head may look at the last of three. What is the mean of what they may see?"""
    mask, value = torch.tensor([[True, True, False]] * 2), torch.tensor([[[[1.0], [3.0], [50.0]]]])
    expect(learner.grouped_attention(torch.zeros(1, 2, 2, 1), torch.zeros(1, 1, 3, 1), value, mask), torch.full((1, 2, 2, 1), 2.0), "output")


@visible("mask")
def test_a_mask_for_each_sentence(learner):
    """The first sentence has two words and the second has one; each brings a mask of its own. Which of the axes of the scores does the mask's first axis belong to?"""
    mask, value = torch.tensor([[[True, True]], [[True, False]]]), torch.tensor([1.0, 3.0]).reshape(1, 1, 2, 1).expand(2, 2, 2, 1)
    came = learner.grouped_attention(torch.zeros(2, 2, 1, 1), torch.zeros(2, 2, 2, 1), value, mask)
    expect(came, torch.tensor([2.0, 1.0]).reshape(2, 1, 1, 1).expand(2, 2, 1, 1), "output")


@visible("mask")
def test_a_mask_for_each_of_three_sentences(learner):
    """Three sentences bring a mask each, and there are two heads. Which of the axes of the scores does the mask's first axis belong to?"""
    mask = torch.tensor([[[True, True]], [[True, False]], [[False, True]]])
    value = torch.tensor([1.0, 3.0]).reshape(1, 1, 2, 1).expand(3, 2, 2, 1)
    came = learner.grouped_attention(torch.zeros(3, 2, 1, 1), torch.zeros(3, 2, 2, 1), value, mask)
    expect(came, torch.tensor([2.0, 1.0, 3.0]).reshape(3, 1, 1, 1).expand(3, 2, 1, 1), "output")


@visible("mask")
def test_hidden_key_that_matches_better(learner):
    """The scores are -2000, -1000 and 1000, and the best one is hidden. Is it gone before weights are shared out, and lies what it is hidden with below every score?"""
    key, value = torch.tensor([[[[-2000.0], [-1000.0], [1000.0]]]]), torch.tensor([[[[1.0], [3.0], [50.0]]]])
    mask = torch.tensor([[True, True, False]])
    expect(learner.grouped_attention(torch.ones(1, 2, 1, 1), key, value, mask), torch.full((1, 2, 1, 1), 3.0), "output")


@visible("mask")
def test_hidden_key_that_matches_far_better(learner):
    """The scores are -102000, -101000 and 100000, and the best one is hidden. Is it gone before weights are shared out, and lies what it is hidden with below every score?"""
    key, value = torch.tensor([[[[-102_000.0], [-101_000.0], [100_000.0]]]]), torch.tensor([[[[1.0], [3.0], [50.0]]]])
    mask = torch.tensor([[True, True, False]])
    expect(learner.grouped_attention(torch.ones(1, 2, 1, 1), key, value, mask), torch.full((1, 2, 1, 1), 3.0), "output")


@visible("mask")
def test_mask_in_16_bits(learner):
    """All keys match alike, and the last of three is hidden. The smallest number of float16 is -65504. Which number lies below all others, in every dtype?"""
    query, key = torch.zeros(1, 2, 1, 1, dtype=torch.float16), torch.zeros(1, 1, 3, 1, dtype=torch.float16)
    value = torch.tensor([[[[1.0], [3.0], [50.0]]]], dtype=torch.float16)
    came = learner.grouped_attention(query, key, value, torch.tensor([[True, True, False]]))
    expect(came, torch.full((1, 2, 1, 1), 2.0, dtype=torch.float16), "output")


@visible("mask")
def test_mask_that_others_still_need(learner):
    """The mask was transposed, and the next layer is handed it as well. Which of your steps minds its order in memory, or writes into it?"""
    mask = torch.tensor([[[True, True, False], [True, False, True]], [[False, True, True], [True, True, True]]])
    value = torch.tensor([[[[1.0], [3.0], [5.0]]]] * 2)
    expected = torch.tensor([[[2.0], [3.0]], [[4.0], [3.0]]])[:, None].expand(2, 2, 2, 1)
    for call in (learner.grouped_attention.strided, learner.grouped_attention.unchanged):
        expect(call(torch.zeros(2, 2, 2, 1), torch.zeros(2, 1, 3, 1), value, mask), expected, "output")


@hidden("mask")
def test_fresh_masks_that_others_still_need(learner, reference, draw):
    """A mask may lie in memory in any order, and stays as it was. Which of the two is a surprise to your code?"""
    for shape in ((5, 3, 7), (3, 3)):
        mask = draw.mask(*shape)
        inputs = torch.zeros(5, 4, 3, 2), torch.zeros(5, 1, shape[-1], 2), draw(5, 1, shape[-1], 2), mask
        for call in (learner.grouped_attention.strided, learner.grouped_attention.unchanged):
            expect(call(*inputs), reference.grouped_attention(*inputs), "output")


@hidden("mask")
def test_fresh_hidden_keys_far_above(learner, reference, draw):
    """What a hidden key holds must not matter, however well it matches. At which step is it taken out?"""
    for dtype, far in ((torch.float32, 1e5), (torch.float16, 1e4)):
        seen, query = draw.mask(1, 5), torch.ones(2, 4, 1, 1, dtype=dtype)
        # So far apart that rounding can't matter.
        key = torch.where(seen.mT, -far - far / 10 * draw(5, 1).argsort(0), far).to(dtype).expand(2, 1, 5, 1)
        value = torch.where(seen.mT, draw(5, 1), far).to(dtype).expand(2, 1, 5, 1)
        _expect_same(learner, reference, query, key, value, seen)


@hidden("mask")
def test_fresh_keys_and_queries_in_another_order(learner, reference, draw):
    """Keys have changed places together with their values, and queries among themselves; the mask went along. What in your code depends on a place?"""
    query, key, value, mask = draw(2, 1, 5, 1), draw(2, 1, 7, 1), draw(2, 1, 7, 1), draw.mask(2, 5, 7)
    queries, keys = draw(5).argsort(), draw(7).argsort()
    came = learner.grouped_attention(query[..., queries, :], key[..., keys, :], value[..., keys, :], mask[:, queries][..., keys])
    expect(came, reference.grouped_attention(query, key, value, mask)[..., queries, :], "output")


@hidden("mask")
def test_fresh_masks(learner, reference, draw):
    """A mask says for each query which keys it may look at, in every head alike. Where does it meet the scores, and with which axes?"""
    for shape in ((3, 5), (2, 3, 5)):
        _expect_same(learner, reference, torch.zeros(2, 4, 3, 3), torch.zeros(2, 1, 5, 3), draw(2, 1, 5, 3), draw.mask(*shape))


@visible("uneven")
def test_four_heads_can_not_share_three(learner):
    """Four heads of queries don't fall into three equal groups. Which error says that a value is not one that can be used?"""
    expect(_refusal(learner, 4, 3), "ValueError", "error")


@hidden("uneven")
def test_fresh_uneven_groups(learner):
    """More heads of keys than of queries don't make groups either. Is every number refused that doesn't divide the heads?"""
    for num_heads, num_kv_heads in ((6, 4), (5, 2), (2, 4), (9, 6)):
        expect(_refusal(learner, num_heads, num_kv_heads), "ValueError", "error")


@visible("module")
def test_word_that_looks_at_itself(learner):
    """With a single word each head gives back its value. Four heads share two values; then they stand side by side and meet w_output. In which order do they stand?"""
    weights = _eyes(4, 2)
    weights["w_output"] = torch.eye(4)[:, [1, 2, 3, 0]]
    _expect_module(learner, torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]), weights, 4, 2)


@visible("module")
def test_two_words_with_heads_of_two(learner):
    """Here a head is two numbers wide, and neighbours in the width belong to one head. What do you split first, and which axes change places then?"""
    _expect_module(learner, torch.tensor([[[1.0, 0.0, 2.0, 0.0], [0.0, 1.0, 0.0, 2.0]]]), _eyes(4, 2), 2, 1)


@hidden("module")
def test_fresh_modules(learner, draw):
    """Project, split, attend in groups, merge, project again. Which of these steps is another one in your module?"""
    for num_heads, num_kv_heads, d_head in ((6, 2, 5), (3, 1, 2), (4, 4, 3), (7, 7, 1)):
        d_model = num_heads * d_head
        _expect_module(learner, draw(7, 7, d_model), _drawn(draw, d_model, num_kv_heads * d_head), num_heads, num_kv_heads)


@visible("module")
def test_module_of_64_bits(learner):
    """The module was turned to 64 bits, and so were the words. There is a single word, so each head gives back its value. Where do your steps go over to 32 bits?"""
    weights = {name: weight.double() / 3 for name, weight in _eyes(4, 2).items()}
    _expect_module(learner, torch.tensor([[[1.0, 2.0, 3.0, 4.0]]], dtype=torch.float64), weights, 4, 2)


@hidden("module")
def test_fresh_modules_of_64_bits(learner, draw):
    """The module was turned to 64 bits, and so were the words. Where do your steps go over to 32 bits?"""
    weights = {name: weight.double() / 3 for name, weight in _drawn(draw, 12, 6).items()}
    _expect_module(learner, draw(2, 5, 12, dtype=torch.float64), weights, 4, 2)


@visible("module")
def test_words_that_others_still_need(learner, draw):
    """The words are what they were, but they lie in memory in another order. Which of your steps minds, or writes into what it was handed?"""
    module, x = _module(learner, _drawn(draw, 8, 4), 4, 2), draw(2, 5, 8)
    expect(module.strided(x), module(x), "output")
    expect(module.unchanged(x), module(x), "output")


@visible("module_mask")
def test_module_hands_the_mask_on(learner):
    """The first word may see itself only. What does it hear of the second one, and where does the mask get lost on its way?"""
    x, mask = torch.tensor([[[1.0, 2.0], [30.0, 40.0]]]), torch.tensor([[True, False], [True, True]])
    expect(_module(learner, _eyes(2, 1), 2, 1)(x[:, :1]), torch.ones(1, 1, 2), "output for the first word alone")
    expect(_module(learner, _eyes(2, 1), 2, 1)(x, mask)[:, :1], torch.ones(1, 1, 2), "output for the first word")


@visible("module_mask")
def test_one_mask_after_another(learner, draw):
    """One module gets a text with a mask, then with another one, and then without. What did it keep from the call before?"""
    _expect_masks_in_turn(learner, draw, torch.ones(3, 3).tril().bool(), torch.eye(3).bool(), None)


@visible("module_mask")
def test_a_mask_for_each_text(learner):
    """Each of two texts brings a mask of its own, transposed, and others still need it. In the first text no word sees another. Whose mask holds for whom, and which step minds its order in memory, or writes into it?"""
    module, x = _module(learner, _eyes(2, 1), 2, 1), torch.tensor([[[1.0, 2.0], [30.0, 40.0]]] * 2)
    mask = torch.stack([torch.eye(2).bool(), torch.ones(2, 2).tril().bool()])
    expect(module.unchanged(x, mask), torch.cat([module(x[:1], mask[:1]), module(x[1:], mask[1:])]), "output")
    _expect_same_mask(learner, torch.tensor([[[1.0], [2.0], [4.0]]]), torch.ones(3, 3).tril().bool())


@hidden("module_mask")
def test_fresh_masks_for_each_text(learner, draw):
    """Each text brings a mask of its own, which others still need. Whose mask holds for whom, and what became of it?"""
    module, x, mask = _module(learner, _drawn(draw, 8, 4), 4, 2), draw(3, 5, 8), draw.mask(3, 5, 5)
    expect(module.unchanged(x, mask), torch.cat([module(x[text : text + 1], mask[text : text + 1]) for text in range(3)]), "output")
    _expect_same_mask(learner, draw(1, 7, 1), draw.mask(7, 7))


@hidden("module_mask")
def test_fresh_masks_one_after_another(learner, draw):
    """A module gets one mask after another. Does a mask serve the call that brought it, and no other?"""
    _expect_masks_in_turn(learner, draw, None, draw.mask(5, 5), draw.mask(5, 5), None)


@hidden("module_mask")
def test_module_hands_fresh_masks_on(learner, draw):
    """What a word may not see can't change its output. Does the module hand its mask on?"""
    module = _module(learner, _drawn(draw, 8, 4), 4, 2)
    x, mask = draw(2, 5, 8), torch.ones(5, 5).tril().bool()
    for words in (1, 3):
        expect(module(x, mask)[:, :words], module(x[:, :words], mask[:words, :words]), "output for the first words")


@visible("trains")
def test_what_six_heads_and_two_learn(learner):
    """The queries and the output have 12 columns each, keys and values 2 heads of 2. How many numbers are that, and does a gradient find all of them?"""
    came = learner.GroupedQueryAttention(12, 6, 2).trained(torch.eye(12)[None])
    expect_trained(came, 384)


@hidden("trains")
def test_what_fresh_heads_learn(learner, reference, draw):
    """Fewer heads of keys and values are fewer numbers to learn. Which of your matrices is wider than it need be, or not found by the gradient?"""
    for d_model, num_heads, num_kv_heads in ((10, 5, 1), (12, 4, 2), (6, 3, 3)):
        count = 2 * d_model**2 + 2 * d_model * (d_model // num_heads) * num_kv_heads
        weights = _drawn(draw, d_model, d_model // num_heads * num_kv_heads)
        module, true = (Anew(_module, each, weights, num_heads, num_kv_heads) for each in (learner, reference))
        expect_learning(module, count, draw(2, 3, d_model), draw=draw, true=true)


@visible("trains")
def test_gradient_goes_back_to_the_words(learner, draw):
    """What made the words is to learn as well. Does a gradient get back to them through queries, keys and values?"""
    expect_gradients(Anew(_module, learner, _drawn(draw, 8, 4), 4, 2), ["x"], draw(2, 5, 8), draw=draw)


@hidden("trains")
def test_fresh_gradients_go_back_to_the_words(learner, reference, draw):
    """What made the words is to learn as well. Does a gradient get back to them through queries, keys and values?"""
    for d_model, num_heads, num_kv_heads in ((6, 3, 1), (4, 2, 2)):
        weights = _drawn(draw, d_model, d_model // num_heads * num_kv_heads)
        module, true = (Anew(_module, each, weights, num_heads, num_kv_heads) for each in (learner, reference))
        expect_gradients(module, ["x"], draw(3, 4, d_model), draw=draw, true=true)


@visible("pool")
def test_four_heads_become_two(learner):
    """Heads of width 1 first, then of width 2. Which columns belong to one head, which heads to one group, and what is their mean?"""
    expect(learner.pool_heads(torch.tensor([[1.0, 3.0, 5.0, 9.0]]), 4, 2), torch.tensor([[2.0, 7.0]]), "matrix")
    wide = torch.tensor([[1.0, 10.0, 3.0, 30.0, 5.0, 50.0, 9.0, 90.0]])
    expect(learner.pool_heads(wide, 4, 2), torch.tensor([[2.0, 20.0, 7.0, 70.0]]), "matrix")


@visible("pool")
def test_matrices_that_others_still_need(learner):
    """A matrix of 64 bits lies in memory as a layer keeps it, transposed, and whoever holds it still needs it. Where are digits lost, and which step minds the order in memory, or writes into what it was handed?"""
    weight = torch.tensor([[1.0, 3.0, 5.0, 9.0], [2.0, 4.0, 8.0, 6.0]], dtype=torch.float64) / 3
    for call in (learner.pool_heads.strided, learner.pool_heads.unchanged):
        expect(call(weight, 4, 2), torch.tensor([[2.0, 7.0], [3.0, 7.0]], dtype=torch.float64) / 3, "matrix")


@hidden("pool")
def test_fresh_heads_are_pooled(learner, reference, draw):
    """A shared head is the mean of the heads of its group, column by column. Which columns did yours bring together?"""
    for num_heads, num_kv_heads, d_head in ((6, 2, 5), (6, 3, 1), (5, 1, 3), (3, 3, 2), (6, 2, 5)):
        weight = draw(7, num_heads * d_head)
        expect(learner.pool_heads(weight, num_heads, num_kv_heads), reference.pool_heads(weight, num_heads, num_kv_heads), "matrix")


@hidden("pool")
def test_fresh_matrices_that_others_still_need(learner, reference, draw):
    """A matrix may be transposed, have 64 bits, and become a square. Which of these is a surprise to your code?"""
    weight = draw(4, 8, dtype=torch.float64)
    for call in (learner.pool_heads.strided, learner.pool_heads.unchanged):
        expect(call(weight, 4, 2), reference.pool_heads(weight, 4, 2), "matrix")


@visible("device")
def test_heads_on_another_device(learner, draw):
    """Queries, keys, values and mask lie on another device, such as a GPU. Which tensor does your function make on the CPU all the same?"""
    query, key = draw(2, 6, 3, 4), draw(2, 2, 5, 4)
    for masks in ((), (torch.ones(3, 5).tril().bool(),)):
        expect_device(learner, lambda there: there.grouped_attention(query, key, key, *masks), (2, 6, 3, 4))


@visible("device")
def test_module_on_another_device(learner, draw):
    """The module was moved to another device, such as a GPU, and the words are there too. Which tensor did not move along, or is made on the CPU?"""
    x = draw(2, 5, 8)
    for masks in ((), (torch.ones(5, 5).tril().bool(),)):
        expect_device(learner, lambda there: there.GroupedQueryAttention(8, 4, 2)(x, *masks), (2, 5, 8))


@gpu
@hidden("module")
def test_module_on_the_gpu(learner, reference, draw):
    """The module and its words are on a GPU. Which tensor does your module leave behind, or make on the CPU?"""
    weights, x, mask = _drawn(draw, 8, 4), draw(2, 5, 8), torch.ones(5, 5).tril().bool()
    expect(_module(learner.on("cuda"), weights, 4, 2)(x, mask), _module(reference, weights, 4, 2)(x, mask), "output")


def _asking(draw, *shape: int, words: int) -> torch.Tensor:
    """Return queries, each of which asks for one word, or keys, each of which offers one: loud enough that the scale is no question."""
    return torch.eye(words)[draw.integers(0, words, *shape)] * 9


def _expect_same(learner, reference, *inputs) -> None:
    expect(learner.grouped_attention(*inputs), reference.grouped_attention(*inputs), "output")


def _refusal(learner, num_heads: int, num_kv_heads: int) -> str:
    """Return the error with which these numbers of heads are refused."""
    shared = torch.ones(1, num_kv_heads, 3, 2)
    try:
        learner.grouped_attention(torch.ones(1, num_heads, 3, 2), shared, shared)
    except Raised as error:
        return error.kind
    return "no error"


def _eyes(d_model: int, shared: int) -> dict[str, torch.Tensor]:
    """Return four matrices that change nothing; those of keys and values keep the first columns."""
    narrow = torch.eye(d_model)[:, :shared]
    return {"w_query": torch.eye(d_model), "w_key": narrow, "w_value": narrow, "w_output": torch.eye(d_model)}


def _drawn(draw, d_model: int, shared: int) -> dict[str, torch.Tensor]:
    widths = {"w_query": d_model, "w_key": shared, "w_value": shared, "w_output": d_model}
    return {name: draw(d_model, width, scale=d_model**-0.5) for name, width in widths.items()}


def _module(learner, weights: dict[str, torch.Tensor], num_heads: int, num_kv_heads: int):
    module = learner.GroupedQueryAttention.later(len(weights["w_query"]), num_heads, num_kv_heads)
    if weights["w_query"].dtype == torch.float64:
        module.double()
    learner.set_weights.later(module, **weights)
    return module


def _expect_masks_in_turn(learner, draw, *masks) -> None:
    """Return None if one module returns for each mask what a new one returns."""
    weights, x = _drawn(draw, 8, 4), draw(2, len(next(mask for mask in masks if mask is not None)), 8)
    expected = [_module(learner, weights, 4, 2)(x, mask) for mask in masks]
    module = _module(learner, weights, 4, 2)
    for mask, output in zip(masks, expected):
        expect(module(x, mask), output, "output after other masks")


def _expect_same_mask(learner, x, mask) -> None:
    """Return None if the mask may lie in memory in any order; words of one number lie in the same order in any case."""
    module = _module(learner, _eyes(1, 1), 1, 1)
    expect(module.strided(x, mask), module(x, mask), "output for a mask that was transposed")


def _expect_module(learner, x, weights: dict[str, torch.Tensor], num_heads: int, num_kv_heads: int) -> None:
    """Return None if the module does its steps around the right attention, or else around the learner's own."""
    came = _module(learner, weights, num_heads, num_kv_heads)(x)
    wide = x @ weights["w_query"], x @ weights["w_key"], x @ weights["w_value"]
    heads = [each.unflatten(-1, (count, -1)).transpose(1, 2) for each, count in zip(wide, (num_heads, num_kv_heads, num_kv_heads))]
    expected = F.scaled_dot_product_attention(*heads, enable_gqa=True)
    try:
        expect(came, expected.transpose(1, 2).flatten(2) @ weights["w_output"], "output")
    except Wrong as wrong:
        if not _is_around(came, learner, *heads, weights["w_output"]):
            raise
        learner.excuse(wrong, *OF_THE_ATTENTION)


def _is_around(came, learner, query, key, value, w_output: torch.Tensor) -> bool:
    """Return whether the learner's own attention stands in the module, asked in a fresh process; what no value has a part in is none."""
    try:
        (own, _), (twice, _) = learner.grouped_attention.measured((query, key, value), (query, key, 2 * value))
        expect(came, own.transpose(1, 2).flatten(2) @ w_output)
        expect(twice, 2 * own)
    except (Stopped, Wrong, AttributeError, TypeError, RuntimeError):  # there is none of their own that could be used
        return False
    return own.isfinite().all().item() and own.any().item()
