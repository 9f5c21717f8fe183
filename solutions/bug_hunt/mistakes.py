"""Wrong answers that people write. Parsed, never imported; see autograder/exercise/known.py.

The first eight are the bugs as they are handed out (`handed_out` in bug_hunt.py): published code has each
of them, and here they are written anew.
"""
import math

import torch


class merge_by_reshape:
    """Still the bug: the heads were merged by a reshape alone, while heads stand before tokens."""

    fails = ["merge"]
    hint = "A reshape reads the numbers in order. Whose numbers follow each other there: those of one word, or those of one head?"
    published = {
        "transformer-from-scratch, mended in 2026": "https://github.com/jsbaan/transformer-from-scratch/pull/6",
        "Transformer-Neural-Network, found in 2023": "https://github.com/ajhalthor/Transformer-Neural-Network/pull/4",
    }

    def merge_heads(x):
        batch, heads, tokens, d_head = x.shape
        return x.reshape(batch, tokens, heads * d_head)


class scale_by_model_width:
    """Still the bug: the matches were divided by the square root of d_model, the width of all heads together."""

    fails = ["scale"]
    hint = "How many numbers of the query take part in a match within one head?"
    published = {
        "vit-pytorch, mended in 2021": "https://github.com/lucidrains/vit-pytorch/issues/65",
        "ng-video-lecture, mended in 2023": "https://github.com/karpathy/ng-video-lecture/pull/6",
    }

    def attention_weights(query, key, num_heads):
        batch, queries, d_model = query.shape
        query, key = (x.unflatten(-1, (num_heads, -1)).transpose(1, 2) for x in (query, key))
        scores = query @ key.transpose(-2, -1) / math.sqrt(d_model)
        return torch.softmax(scores, dim=-1)


class mask_after_softmax:
    """Still the bug: the mask came after softmax, when the hidden keys had taken their share already."""

    fails = ["mask"]
    hint = "Two keys match equally well and one is hidden. What is the sum of the weights after your mask?"
    published = {
        "memory-compressed-attention, mended in 2022": "https://github.com/lucidrains/memory-compressed-attention/issues/2",
        "pytorch-image-models, mended in 2024": "https://github.com/huggingface/pytorch-image-models/pull/2236",
    }

    def attend(query, key, value, mask):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        weights = torch.softmax(scores, dim=-1)
        weights = weights.masked_fill(~mask, 1e-9)
        return weights @ value


class one_billion_below_zero:
    """Still the bug: hidden scores became minus one billion, which float16 can't hold and which softmax takes for a score."""

    fails = ["blind"]
    hint = "If all scores of a row are minus one billion, what are its weights? And what is the smallest number of float16?"
    published = {
        "attention-is-all-you-need-keras, where a row that sees nothing sees everything, found in 2019": "https://github.com/lsdefine/attention-is-all-you-need-keras/issues/16",
        "a model in PyTorch's own benchmark, which stopped in 16 bits, found in 2022": "https://github.com/pytorch/benchmark/pull/794",
    }

    def masked_softmax(scores, mask):
        scores = scores.masked_fill(~mask, -1e9)
        return torch.softmax(scores, dim=-1)


class overflow_before_the_scale:
    """Still the bug: the dot product was made first and divided afterwards, when it was *inf* already."""

    fails = ["half"]
    hint = "Half of infinity is infinity. Which of the two factors can be made smaller before they meet?"
    published = {
        "Flashlight, mended in 2021": "https://github.com/flashlight/flashlight/pull/448",
        "PaddlePaddle, mended in 2022": "https://github.com/PaddlePaddle/Paddle/pull/41933",
    }

    def scaled_scores(query, key):
        scores = query @ key.transpose(-2, -1)
        return scores / math.sqrt(query.shape[-1])


class normal_numbers_as_booleans:
    """Still the bug: normal numbers were made boolean, and every number but zero is True."""

    fails = ["chance"]
    hint = "What is bool(-0.3)? On which side of a number does a normal number fall half of the time?"
    published = {
        "a tutorial on single-head attention, in the box “A random mask” of the book's corrections": "",
    }

    def random_mask(queries, keys):
        return torch.randn(queries, keys).bool()


class mask_that_nobody_takes:
    """Still the bug: the mask is handed to an attention that does not take one."""

    fails = ["layer"]
    hint = "The error says how many arguments were taken and given. What should the inner function do with the second?"
    published = {
        "SAnD, where a proposed repair ran into it in 2021": "https://github.com/khirotaka/SAnD/issues/6",
    }

    def attention_layer(x, mask=None):
        def attend(words):
            scores = words @ words.transpose(-2, -1) / math.sqrt(words.shape[-1])
            return torch.softmax(scores, dim=-1) @ words

        return x + attend(x, mask)


class import_on_one_path:
    """Still the bug: `nn` is imported on one path and used on both."""

    fails = ["names"]
    hint = "Which lines run if `smooth` is True? Where must an import stand so that every path has passed it?"
    published = {
        "a notebook of Udacity's course on deep learning, mended in 2019": "https://github.com/udacity/deep-learning-v2-pytorch/pull/142",
    }

    def feed_forward(x, w1, b1, w2, b2, smooth=False):
        hidden = x @ w1 + b1
        if smooth:
            hidden = nn.functional.gelu(hidden)
        else:
            from torch import nn
            hidden = nn.functional.relu(hidden)
        return hidden @ w2 + b2


class merge_swaps_head_and_width:
    """The numbers of the heads were interleaved: number 0 of every head, then number 1 of every head."""

    fails = ["merge"]
    hint = "Which of the two last axes should change slowly when they become one: the head or the place in it?"

    def merge_heads(x):
        return x.permute(0, 2, 3, 1).flatten(start_dim=2)


class no_scale:
    """The wrong scale was taken away, and no other put in its place."""

    fails = ["scale"]
    hint = "A dot product of many terms is large. By what must it be divided so that softmax does not saturate?"

    def attention_weights(query, key, num_heads):
        query, key = (x.unflatten(-1, (num_heads, -1)).transpose(1, 2) for x in (query, key))
        return torch.softmax(query @ key.transpose(-2, -1), dim=-1)


class mask_times_scores:
    """The scores were multiplied by the mask, and a score of zero is a score like any other."""

    fails = ["mask"]
    hint = "What is exp(0)? Which score becomes the weight 0?"

    def attend(query, key, value, mask):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        return torch.softmax(scores * mask, dim=-1) @ value


class mask_shares_out_again:
    """The mask still comes after softmax, and what was left was shared out again: where a hidden key matches far better, nothing is left."""

    fails = ["mask"]
    hint = "The hidden key has the score 1000, and the others have 1 and 2. What did softmax leave of theirs?"

    def attend(query, key, value, mask):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        weights = torch.softmax(scores, dim=-1) * mask
        return weights / weights.sum(dim=-1, keepdim=True) @ value


class mask_of_minus_twenty:
    """Hidden scores became -20, and a key that may be seen can have a lower one."""

    fails = ["mask"]
    hint = "Every key that is seen has a score of -1,000 or less. Who gets the weight then, if hidden keys have -20?"

    def attend(query, key, value, mask):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        return torch.softmax(scores.masked_fill(~mask, -20.0), dim=-1) @ value


class mask_of_minus_ten_thousand:
    """Hidden scores became -10,000, and a key that may be seen can have a lower one."""

    fails = ["mask"]
    hint = "Every key that is seen has a score below -100,000. Who gets the weight then, if hidden keys have -10,000?"

    def attend(query, key, value, mask):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        return torch.softmax(scores.masked_fill(~mask, -1e4), dim=-1) @ value


class mask_the_wrong_way_round:
    """The mask moved before softmax, and hides what may be seen."""

    fails = ["mask"]
    hint = "True is for keys that may be seen. Which ones does your masked_fill reach?"

    def attend(query, key, value, mask):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        return torch.softmax(scores.masked_fill(mask, -math.inf), dim=-1) @ value


class smallest_number_of_the_type:
    """The smallest number of the type cured float16, but a row that sees nothing is still shared out evenly."""

    fails = ["blind"]
    hint = "If all numbers of a row are equal, what are its weights, however small they are?"

    def masked_softmax(scores, mask):
        return torch.softmax(scores.masked_fill(~mask, torch.finfo(scores.dtype).min), dim=-1)


class hidden_at_minus_ten_thousand:
    """Hidden scores became -10,000, which float16 has, and their weights 0 afterwards. A score that is seen can be lower still."""

    fails = ["blind"]
    hint = "The scores that are seen are near -60,000. Which one is the largest of the row, and what is left of theirs?"

    def masked_softmax(scores, mask):
        weights = torch.softmax(scores.masked_fill(~mask, -1e4), dim=-1) * mask
        return weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-4)


class blind_shares_out_again:
    """The hidden weights were cleared after softmax, and what was left was shared out again."""

    fails = ["blind"]
    hint = "The hidden key has the score 1000, and the others have 1 and 2. What did softmax leave of theirs?"

    def masked_softmax(scores, mask):
        weights = torch.softmax(scores.double(), dim=-1) * mask
        return (weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-30)).to(scores.dtype)


class nothing_seen_is_nan:
    """Minus infinity went in, and NaN comes out where a query sees nothing."""

    fails = ["blind"]
    hint = "Softmax divides 0 by 0 there. What does the contract say of such a row, and where can it be said in code?"

    def masked_softmax(scores, mask):
        return torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)


class scores_always_in_32_bits:
    """The scores were computed in 32 bits and stayed there, whatever the type of the query."""

    fails = ["half"]
    hint = "The sum needs more bits, the score does not. Which type do the other tensors of this model have?"

    def scaled_scores(query, key):
        return query.float() @ key.float().transpose(-2, -1) / math.sqrt(query.shape[-1])


class cut_off_at_the_largest_number:
    """What overflowed was cut off at the largest number, and then divided as if it were the dot product."""

    fails = ["half"]
    hint = "There is no *inf* any more. Is 65504, divided, the score that you wanted?"

    def scaled_scores(query, key):
        scores = query @ key.transpose(-2, -1)
        largest = torch.finfo(scores.dtype).max
        return scores.clamp(-largest, largest) / math.sqrt(query.shape[-1])


class zeros_and_ones:
    """The mask holds numbers, 0 and 1, where booleans are promised."""

    fails = ["chance"]
    hint = "What is ~1 for an integer? Of which type must a mask be so that ~ turns it round?"

    def random_mask(queries, keys):
        return torch.randint(0, 2, (queries, keys))


class one_row_for_all:
    """Chance decided on one row, and all queries share it."""

    fails = ["chance"]
    hint = "How many coins were thrown, and how many entries has the mask?"

    def random_mask(queries, keys):
        return (torch.rand(keys) < 0.5).repeat(queries, 1)


class mask_left_out:
    """The error is gone, and so is the mask: nobody uses it."""

    fails = ["layer"]
    hint = "Why did the caller hand a mask over? Which words does a word see now that it should not?"

    def attention_layer(x, mask=None):
        def attend(words):
            scores = words @ words.transpose(-2, -1) / math.sqrt(words.shape[-1])
            return torch.softmax(scores, dim=-1) @ words

        return x + attend(x)


class layer_shares_out_again:
    """The mask came after softmax, and what was left was shared out again: where a hidden word matches far better, nothing is left."""

    fails = ["layer"]
    hint = "The hidden word has the score 1000, and the others have 1 and 2. What did softmax leave of theirs?"

    def attention_layer(x, mask=None):
        scores = x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1])
        weights = torch.softmax(scores, dim=-1)
        if mask is not None:
            weights = weights * mask
            weights = weights / weights.sum(dim=-1, keepdim=True)
        return x + weights @ x


class layer_adds_into_its_input:
    """What attention found was added into the words that were handed over, which others may still need."""

    fails = ["layer"]
    hint = "What is the difference between `x += found` and `x + found` for whoever handed you x?"

    def attention_layer(x, mask=None):
        scores = x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        x += torch.softmax(scores, dim=-1) @ x
        return x


class layer_hides_at_minus_twenty:
    """Hidden scores became -20, and a word that may be seen can have a lower one."""

    fails = ["layer"]
    hint = "Every word that is seen has the score -50. Who gets the weight then, if hidden ones have -20?"

    def attention_layer(x, mask=None):
        scores = x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -20.0)
        return x + torch.softmax(scores, dim=-1) @ x


class mask_is_a_must:
    """The mask is used, and None, which means everywhere, ends in an error."""

    fails = ["layer"]
    hint = "What is ~None? What should happen when no mask is given?"

    def attention_layer(x, mask=None):
        scores = x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1])
        return x + torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1) @ x


class one_activation_for_both:
    """The missing name is gone, and GELU with it: both paths are ReLU."""

    fails = ["names"]
    hint = "What does `smooth` change now?"

    def feed_forward(x, w1, b1, w2, b2, smooth=False):
        return torch.relu(x @ w1 + b1) @ w2 + b2


class test_of_shapes:
    """The test looks at the shape only, which the bug gets right."""

    fails = ["merge_test"]
    hint = "Which numbers should the first word have, and which does the bug give it?"

    def test_merge(merge_heads):
        assert merge_heads(torch.randn(2, 3, 5, 7)).shape == (2, 5, 21)


class test_of_one_head:
    """The test looks at numbers, but in its example the bug puts none of them in the wrong place."""

    fails = ["merge_test"]
    hint = "For how many heads, and how many tokens, do the bug and a right merge give the same?"

    def test_merge(merge_heads):
        x = torch.randn(2, 1, 5, 7)
        assert torch.equal(merge_heads(x), x[:, 0])


class test_expects_the_bug:
    """What the test expects is not what the contract says; perhaps it is what the bug returned."""

    fails = ["merge_test"]
    hint = "Where do your expected numbers come from: from the contract, or from the code that is to be tested?"

    def test_merge(merge_heads):
        x = torch.arange(8.0).reshape(1, 2, 2, 2)
        assert torch.equal(merge_heads(x), torch.tensor([[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]]))


class test_of_the_notebooks_own:
    """The test does not call what it is given; perhaps it calls the function of the notebook."""

    fails = ["scale_test"]
    hint = "The name in the brackets is what you are given. Does your test use it?"

    def test_scale(given):
        weights = attention_weights(torch.zeros(1, 2, 6), torch.zeros(1, 3, 6), 3)
        torch.testing.assert_close(weights, torch.full((1, 3, 2, 3), 1 / 3))


class test_of_sums:
    """The test looks at numbers that a wrong scale does not change, such as the sums of the weights."""

    fails = ["scale_test"]
    hint = "What does a wrong scale change about the weights? Which two keys would show it?"

    def test_scale(attention_weights):
        weights = attention_weights(torch.randn(2, 3, 8), torch.randn(2, 5, 8), 4)
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, 3))


class test_to_the_last_digit:
    """The test asks for more than the contract says, such as the very same digits, which another order of summation changes."""

    fails = ["scale_test"]
    hint = "Which function of torch.testing compares numbers and forgives their last digits?"

    def test_scale(attention_weights):
        query, key = torch.randn(2, 30, 12), torch.randn(2, 50, 12)
        heads = [torch.softmax(q @ k.transpose(1, 2) / 2, -1) for q, k in zip(query.chunk(3, -1), key.chunk(3, -1))]
        assert torch.equal(attention_weights(query, key, 3), torch.stack(heads, 1))


class test_of_hidden_values:
    """The test looks at numbers, but not at what the visible keys share out among each other."""

    fails = ["mask_test"]
    hint = "Make all values 1. What must come out, whatever the mask?"

    def test_mask(attend):
        query, key, value = torch.ones(1, 2), torch.ones(3, 2), torch.arange(6.0).reshape(3, 2)
        mask = torch.tensor([[True, False, True]])
        before = attend(query, key, value, mask)
        value[1] += 100
        assert (before != 0).any()
        torch.testing.assert_close(attend(query, key, value, mask), before)


class test_that_returns:
    """The test raises nothing, whatever it is given: a test speaks by an AssertionError, and nobody reads what it returns."""

    fails = ["mask_test"]
    hint = "What does pytest do with what a test returns? Which word turns False into an error?"

    def test_mask(attend):
        value = torch.ones(4, 2)
        output = attend(torch.randn(3, 5), torch.randn(4, 5), value, torch.eye(3, 4).bool())
        return torch.allclose(output, torch.ones(3, 2))


class test_that_breaks:
    """The test breaks by itself: the output of one query is asked for its second row."""

    fails = ["mask_test"]
    hint = "How many queries did you hand over, and how many rows come back?"

    def test_mask(attend):
        output = attend(torch.zeros(1, 2), torch.zeros(2, 2), torch.ones(2, 3), torch.tensor([[True, False]]))
        assert (output[1] == 1).all()


class test_of_half_a_bug:
    """The test looks at a row that sees nothing, and not at a hidden key in 16 bits."""

    fails = ["blind_test"]
    hint = "The bug has two faces. For which type of scores does it end in an error?"

    def test_blind(masked_softmax):
        mask = torch.tensor([[True, True, False], [False, False, False]])
        expected = torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])
        torch.testing.assert_close(masked_softmax(torch.zeros(2, 3), mask), expected)


class test_of_the_other_half:
    """The test does not notice what becomes of a row that sees nothing."""

    fails = ["blind_test"]
    hint = "The bug has two faces. What does it return for a query that may look at nothing?"

    def test_blind(masked_softmax):
        scores, mask = torch.zeros(1, 3, dtype=torch.float16), torch.tensor([[True, True, False]])
        assert masked_softmax(scores, mask).tolist() == [[0.5, 0.5, 0.0]]


class test_for_numbers_only:
    """The test notices *inf*, and is content with a wrong number that is finite."""

    fails = ["half_test"]
    hint = "An overflow can be cut off at the largest number. Would you notice?"

    def test_half(scaled_scores):
        x = torch.full((2, 64), 60.0, dtype=torch.float16)
        scores = scaled_scores(x, x)
        assert scores.isfinite().all() and scores.dtype == x.dtype and scores.all()


class test_in_32_bits:
    """Nothing overflows in the test's example: it is made of float32, or of numbers that are too small."""

    fails = ["half_test"]
    hint = "What is the type of your example, and how large is a dot product in it, before it is divided?"

    def test_half(scaled_scores):
        x = torch.full((1, 64), 60.0)
        torch.testing.assert_close(scaled_scores(x, x), torch.full((1, 1), 28_800.0))


class test_for_exactly_half:
    """The test asks too much of chance, such as exactly as many True as False."""

    fails = ["chance_test"]
    hint = "Throw a coin 10,000 times. How far from 5,000 may the heads be?"

    def test_chance(random_mask):
        mask = random_mask(100, 100)
        assert mask.dtype == torch.bool and mask.sum() == 5_000


class test_for_both_kinds:
    """The test notices a mask that is True everywhere, and not one that is seldom True."""

    fails = ["chance_test"]
    hint = "A mask with one True among a thousand would pass. What does the contract say of their share?"

    def test_chance(random_mask):
        mask = random_mask(50, 60)
        assert mask.dtype == torch.bool and mask.any() and not mask.all()


class test_for_no_error:
    """The test calls the layer and looks at the shape: it notices the error, and not the repair that leaves the mask out."""

    fails = ["layer_test"]
    hint = "Somebody removes the mask from the call. For which mask must the output then be different?"

    def test_layer(attention_layer):
        assert attention_layer(torch.randn(5, 3), torch.eye(5).bool()).shape == (5, 3)


class test_with_a_mask_that_hides_nothing:
    """The test compares numbers, but the mask of its example makes no difference to them."""

    fails = ["layer_test"]
    hint = "Which entry of your mask hides anything?"

    def test_layer(attention_layer):
        x = torch.randn(5, 3)
        expected = x + torch.softmax(x @ x.T / 3**0.5, -1) @ x
        torch.testing.assert_close(attention_layer(x, torch.ones(5, 5).bool()), expected)


class test_of_one_path:
    """The test looks at numbers, and never runs the line with the missing name."""

    fails = ["names_test"]
    hint = "Which lines of the function did your test run? How does one get to the others?"

    def test_names(feed_forward):
        x, w1, b1, w2, b2 = torch.randn(2, 3), torch.randn(3, 5), torch.randn(5), torch.randn(5, 3), torch.randn(3)
        torch.testing.assert_close(feed_forward(x, w1, b1, w2, b2), torch.relu(x @ w1 + b1) @ w2 + b2)


class test_that_catches_everything:
    """The test hears of the error, catches it, and tells nobody."""

    fails = ["names_test"]
    hint = "What does your `except` do when the function ends with an error: does anybody hear of it?"

    def test_names(feed_forward):
        x, w1, b1, w2, b2 = torch.randn(2, 3), torch.randn(3, 5), torch.randn(5), torch.randn(5, 3), torch.randn(3)
        for smooth, activation in ((False, torch.relu), (True, torch.nn.functional.gelu)):
            try:
                output = feed_forward(x, w1, b1, w2, b2, smooth)
            except Exception:
                continue
            torch.testing.assert_close(output, activation(x @ w1 + b1) @ w2 + b2)
