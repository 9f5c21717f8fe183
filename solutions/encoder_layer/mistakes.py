"""Wrong answers that people write. Parsed, never imported; see autograder/exercise/known.py."""
import math

import torch
from torch import nn
from torch.nn import functional as F


class norm_over_the_words:
    """The mean and the variance were taken over the words of a sentence, along axis 1."""

    fails = ["mean", "variance", "eps", "gain", "precision", "attention", "feed_forward", "residual", "post_norm", "norm_first", "order", "norms", "mask", "dropout", "trains"]
    hint = "Each word is normalised by itself. How long is the axis along which the numbers of one word lie?"

    def layer_norm(x, gain, bias, eps=1e-5):
        variance, mean = torch.var_mean(x, dim=1, correction=0, keepdim=True)
        return (x - mean) / torch.sqrt(variance + eps) * gain + bias


class norm_over_the_batch:
    """The mean and the variance were taken over the first axis, as batch normalisation does it."""

    fails = ["mean", "variance", "eps", "gain", "precision", "attention", "feed_forward", "residual", "post_norm", "norm_first", "order", "norms", "mask", "dropout", "trains"]
    hint = "What has a word to do with the words of other sentences? Along which axis lie its own numbers?"

    def layer_norm(x, gain, bias, eps=1e-5):
        mean = x.mean(0, keepdim=True)
        variance = ((x - mean) ** 2).mean(0, keepdim=True)
        return gain * (x - mean) / torch.sqrt(variance + eps) + bias


class norm_over_everything:
    """One mean and one variance were taken of all numbers together."""

    fails = ["mean", "variance", "eps", "gain", "precision", "attention", "feed_forward", "residual", "post_norm", "norm_first", "order", "norms", "mask", "dropout", "trains"]
    hint = "Without `dim`, what does `mean` average over? How many means should there be?"

    def layer_norm(x, gain, bias, eps=1e-5):
        mean, variance = x.mean(), x.var(correction=0)
        return (x - mean) / torch.sqrt(variance + eps) * gain + bias


class norm_expects_three_axes:
    """The words were expected on axis 2, which is the last one only where there are three axes."""

    fails = ["mean"]
    hint = "There may be one axis, or four. How is the last axis called, whatever their number?"

    def layer_norm(x, gain, bias, eps=1e-5):
        exact = x.double()
        centred = exact - exact.mean(dim=2, keepdim=True)
        variance = centred.square().mean(dim=2, keepdim=True)
        return (centred / torch.sqrt(variance + eps)).to(x.dtype) * gain + bias


class norm_by_view:
    """All words were put below each other by `view`, which only works where they lie in memory that way already."""

    fails = ["mean", "attention"]
    hint = "`view` never moves a number. Does a mean along the last axis need the others folded?"

    def layer_norm(x, gain, bias, eps=1e-5):
        rows = x.view(-1, x.shape[-1])
        exact = rows.float() if x.dtype in (torch.float16, torch.bfloat16) else rows
        centred = exact - exact.mean(dim=-1, keepdim=True)
        variance = centred.square().mean(dim=-1, keepdim=True)
        return (centred * torch.rsqrt(variance + eps)).to(x.dtype).view(x.shape) * gain + bias


class norm_in_place:
    """The mean was taken off the words where they lie, so whoever called finds others."""

    fails = ["gain", "norm_first", "trains"]
    hint = "`-=` on a tensor changes that very tensor, and it is not yours. What does a residual connection add afterwards?"

    def layer_norm(x, gain, bias, eps=1e-5):
        x -= x.mean(dim=-1, keepdim=True)
        exact = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        variance = exact.square().mean(dim=-1, keepdim=True)
        return (exact * torch.rsqrt(variance + eps)).to(x.dtype) * gain + bias


class norm_without_the_mean:
    """The numbers were scaled but not shifted: that is root mean square normalisation, not layer normalisation."""

    fails = ["mean", "variance", "eps", "gain", "precision", "attention", "feed_forward", "residual", "post_norm", "norm_first", "order", "norms", "dropout", "trains"]
    hint = "What is the mean of (1, 3) after it was divided by something? What must be subtracted first?"

    def layer_norm(x, gain, bias, eps=1e-5):
        return x / torch.sqrt(x.square().mean(dim=-1, keepdim=True) + eps) * gain + bias


class variance_of_a_sample:
    """The squares were divided by n - 1, as `var` and `std` do unless they are told otherwise."""

    fails = ["variance", "precision", "attention", "feed_forward", "residual", "post_norm", "norm_first", "order", "norms", "mask", "dropout"]
    hint = "For (1, 3) there are two squares, 1 and 1. What is their mean, and what does `x.var(-1)` say?"

    def layer_norm(x, gain, bias, eps=1e-5):
        mean = x.mean(dim=-1, keepdim=True)
        variance = x.var(dim=-1, keepdim=True)
        return (x - mean) / torch.sqrt(variance + eps) * gain + bias


class variance_of_a_sample_beside_a_right_layer:
    """The layer has a norm of its own, which is right, but `layer_norm` divides the squares by n - 1."""

    fails = ["variance"]
    hint = "For (1, 3) there are two squares, 1 and 1. What is their mean, and what does `torch.std` say?"

    def layer_norm(x, gain, bias, eps=1e-5):
        centred = x - x.mean(dim=-1, keepdim=True)
        sample = centred.double().var(dim=-1, keepdim=True)
        return (centred / torch.sqrt(sample + eps)).to(x.dtype) * gain + bias


    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def own_norm(self, x, gain, bias):
            x = x - x.mean(-1, keepdim=True)
            return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * gain + bias

        def norm1(self, x):
            return self.own_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return self.own_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class divided_by_the_variance:
    """The distances were divided by the variance instead of its root."""

    fails = ["variance", "eps", "precision", "attention", "feed_forward", "residual", "post_norm", "norm_first", "order", "norms", "mask", "dropout", "trains"]
    hint = "If all numbers were ten times as large, how many times as large would the variance be? And what should come out?"

    def layer_norm(x, gain, bias, eps=1e-5):
        mean = x.mean(dim=-1, keepdim=True)
        variance = (x - mean).square().mean(dim=-1, keepdim=True)
        return (x - mean) / (variance + eps) * gain + bias


class one_variance_for_all:
    """Each word has a mean of its own, but the variance was taken over all words together."""

    fails = ["variance", "precision", "attention", "feed_forward", "residual", "post_norm", "norm_first", "order", "norms", "mask", "dropout", "trains"]
    hint = "The mean has `dim=-1`. What does the mean of the squares have?"

    def layer_norm(x, gain, bias, eps=1e-5):
        centred = x - x.mean(dim=-1, keepdim=True)
        return centred / torch.sqrt((centred ** 2).mean() + eps) * gain + bias


class eps_outside_the_root:
    """eps was added to the standard deviation, after the root was taken."""

    fails = ["eps"]
    hint = "If the variance is 0, the root of eps is what is divided by. By what does your code divide then?"

    def layer_norm(x, gain, bias, eps=1e-5):
        mean = x.mean(dim=-1, keepdim=True)
        deviation = (x - mean).double().square().mean(dim=-1, keepdim=True).sqrt()
        return ((x - mean) / (deviation + eps)).to(x.dtype) * gain + bias


class eps_fixed:
    """`eps` was taken and never used: a number of its own stands in the code."""

    fails = ["eps"]
    hint = "What happens to your result if somebody asks for eps = 4?"

    def layer_norm(x, gain, bias, eps=1e-5):
        exact = x.double()
        exact = exact - exact.mean(dim=-1, keepdim=True)
        return (exact / torch.sqrt(exact.square().mean(dim=-1, keepdim=True) + 1e-6)).to(x.dtype) * gain + bias


class eps_forgotten:
    """Nothing was added to the variance, and a word of equal numbers became 0 / 0."""

    fails = ["eps", "gain"]
    hint = "What is the variance of a word whose numbers are all equal? And what is divided by it?"

    def layer_norm(x, gain, bias, eps=1e-5):
        exact = x.double()
        exact = exact - exact.mean(dim=-1, keepdim=True)
        return (exact / exact.square().mean(dim=-1, keepdim=True).sqrt()).to(x.dtype) * gain + bias


class bias_before_gain:
    """The bias was added first, so the gain multiplied it too."""

    fails = ["gain"]
    hint = "A word of equal numbers becomes `bias`. What does it become in your code?"

    def layer_norm(x, gain, bias, eps=1e-5):
        exact = x.double()
        variance, mean = torch.var_mean(exact, dim=-1, correction=0, keepdim=True)
        return ((exact - mean) * torch.rsqrt(variance + eps)).to(x.dtype).add(bias).mul(gain)


class gain_and_bias_forgotten:
    """The words were normalised, and `gain` and `bias` were not used."""

    fails = ["eps", "gain", "norms", "dropout", "trains"]
    hint = "Mean 0 and variance 1 for every word may be too strict. Which two arguments let training undo it?"

    def layer_norm(x, gain, bias, eps=1e-5):
        exact = x.double()
        variance, mean = torch.var_mean(exact, dim=-1, correction=0, keepdim=True)
        return ((exact - mean) / torch.sqrt(variance + eps)).to(x.dtype)


class squares_in_half_precision:
    """Squares were computed with 16 bits, whose largest number is 65504."""

    fails = ["precision"]
    hint = "What is 300 times 300 in float16? Which dtype should the squares have on the way?"

    def layer_norm(x, gain, bias, eps=1e-5):
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = (centred * centred).mean(dim=-1, keepdim=True)
        return centred / torch.sqrt(variance + eps) * gain + bias


class norm_in_single_precision:
    """Everything was computed with 32 bits and turned back afterwards, when digits of a double were gone."""

    fails = ["precision"]
    hint = "`.float()` helps a half and harms a double. Can its digits come back when the result is made double again?"

    def layer_norm(x, gain, bias, eps=1e-5):
        exact = x.float()
        variance, mean = torch.var_mean(exact, dim=-1, correction=0, keepdim=True)
        return ((exact - mean) / torch.sqrt(variance + eps)).to(x.dtype) * gain + bias


class mean_of_squares_minus_square_of_mean:
    """The variance was computed as the mean of the squares minus the square of the mean, two large numbers whose difference is lost in rounding."""

    fails = ["precision"]
    hint = "With 32 bits, neighbours near 100 million lie 8 apart. What could be subtracted from the numbers before they are squared?"

    def layer_norm(x, gain, bias, eps=1e-5):
        exact = x.float() if x.dtype == torch.float16 else x
        mean = exact.mean(dim=-1, keepdim=True)
        variance = (exact ** 2).mean(dim=-1, keepdim=True) - mean ** 2
        return ((exact - mean) / torch.sqrt(variance.clamp(min=0) + eps)).to(x.dtype) * gain + bias


class statistics_off_the_graph:
    """Mean and variance were computed without a gradient, as if they did not depend on x."""

    fails = ["trains"]
    hint = "`no_grad`, `detach` and `data` make constants. If one number of a word grows, what happens to the others after the norm?"

    def layer_norm(x, gain, bias, eps=1e-5):
        exact = x.double()
        with torch.no_grad():
            variance, mean = torch.var_mean(exact, dim=-1, correction=0, keepdim=True)
        return ((exact - mean) / torch.sqrt(variance + eps)).to(x.dtype) * gain + bias


class no_scale:
    """The matches went into softmax undivided."""

    fails = ["attention"]
    hint = "A dot product of many terms is large. By what must it be divided so that softmax does not saturate?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            scores = query @ key.transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask.unsqueeze(-3), -math.inf)
            heads = torch.softmax(scores, dim=-1) @ value
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class scale_by_model_width:
    """The matches were divided by the square root of d_model, the width of all heads together."""

    fails = ["attention"]
    hint = "How many numbers of the query take part in a match within one head?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            scores = query @ key.transpose(-2, -1) / math.sqrt(x.shape[-1])
            if mask is not None:
                scores = scores.masked_fill(~mask.unsqueeze(-3), -math.inf)
            heads = torch.softmax(scores, dim=-1) @ value
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class one_wide_head:
    """num_heads was never used: there is one head, as wide as the model."""

    fails = ["attention"]
    hint = "How many rows of weights does each word have in your code, and how many should it have?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            heads = F.scaled_dot_product_attention(self.to_query(x), self.to_key(x), self.to_value(x), mask)
            return self.drop(self.to_output(heads))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class split_by_view_alone:
    """The heads were split and merged by views alone, so they hold words, not parts of words."""

    fails = ["attention", "mask", "dropout", "residual"]
    hint = "A view only cuts the row of numbers in memory anew. Which two axes still have to change places?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).view(len(x), self.num_heads, x.shape[1], -1) for linear in (self.to_query, self.to_key, self.to_value))
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is not None:
                scores = scores.masked_fill(~mask.unsqueeze(-3), -math.inf)
            heads = torch.softmax(scores, dim=-1) @ value
            return self.drop(self.to_output(heads.reshape(x.shape)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class output_matrix_forgotten:
    """The merged heads were returned as they are, without w_output."""

    fails = ["attention", "order", "mask", "dropout", "trains"]
    hint = "Side by side, the heads know nothing of each other. What lets them mix?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is not None:
                scores = scores.masked_fill(~mask.unsqueeze(-3), -math.inf)
            heads = torch.softmax(scores, dim=-1) @ value
            return self.drop(heads.transpose(1, 2).flatten(2))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class softmax_over_heads:
    """Softmax ran along the heads, so they had to share one whole instead of having one each."""

    fails = ["attention", "residual", "norm_first", "mask", "trains"]
    hint = "Do the heads compete with each other for a word, or do the words compete within a head?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is not None:
                scores = scores.masked_fill(~mask.unsqueeze(-3), -math.inf)
            heads = torch.softmax(scores, dim=1) @ value
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class no_relu:
    """The feed-forward network has no ReLU, and two matrices without a bend between them are one matrix."""

    fails = ["feed_forward"]
    hint = "What becomes of a hidden unit that is negative?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(self.widen(x)))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class gelu_for_relu:
    """The bend is a GELU, as in later models, where the exercise has max(0, ...)."""

    fails = ["feed_forward"]
    hint = "What becomes of a hidden unit of -0.5 in your code, and what in max(0, x @ w1 + b1)?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.gelu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class relu_at_the_end:
    """The ReLU stands after the second matrix, where it takes all negative numbers from the result."""

    fails = ["attention", "feed_forward", "residual", "post_norm", "norm_first", "order", "norms", "mask", "dropout"]
    hint = "Which numbers may be negative: the hidden units, or what is added to the words?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(F.relu(self.narrow(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class relu_twice:
    """There is a ReLU after the second matrix too, so nothing negative can be added to a word."""

    fails = ["attention", "feed_forward", "residual", "post_norm", "norm_first", "order", "norms", "mask", "dropout"]
    hint = "Between what and what does the ReLU stand in the formula? How often?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(F.relu(self.narrow(F.relu(self.widen(x)))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class no_residual:
    """Nothing is added: each sublayer's result takes the place of what went in."""

    fails = ["feed_forward", "residual", "norm_first", "dropout", "trains"]
    hint = "If both sublayers return zeros, what becomes of the words? What should?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = self.attend(self.norm1(x), mask)
                return self.feed_forward(self.norm2(x))
            x = self.norm1(self.attend(x, mask))
            return self.norm2(self.feed_forward(x))


class no_residual_around_attention:
    """The words are not added to what attention returns."""

    fails = ["feed_forward", "residual", "norm_first", "dropout", "trains"]
    hint = "If attention returns zeros, what becomes of the words? What should?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class no_residual_around_the_feed_forward_network:
    """What went into the feed-forward network is not added to what came out."""

    fails = ["feed_forward", "residual", "norm_first", "dropout", "trains"]
    hint = "There are two sublayers. Around how many does your code lead the words?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(self.feed_forward(x))


class second_residual_from_the_start:
    """After the feed-forward network the words were added as they came into the layer, not as attention and its norm had left them."""

    fails = ["residual"]
    hint = "What went into the feed-forward network? Is that what is added to what came out?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            attended = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(attended))


class one_residual_for_both:
    """One residual connection leads around both sublayers at once."""

    fails = ["feed_forward", "residual", "norm_first"]
    hint = "How many sublayers are there, and how many sums?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                return x + self.feed_forward(self.norm2(self.attend(self.norm1(x), mask)))
            return self.norm2(x + self.feed_forward(self.norm1(self.attend(x, mask))))


class norm_inside_the_residual:
    """The result of the sublayer was normalised, and the sum was not."""

    fails = ["attention", "feed_forward", "residual", "post_norm", "order", "norms", "mask", "dropout"]
    hint = "Post-norm: the norm comes last. What does it get, the result of the sublayer or the sum?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = x + self.norm1(self.attend(x, mask))
            return x + self.norm2(self.feed_forward(x))


class first_norm_for_the_network_only:
    """The first norm's result went into the feed-forward network, but the sum that goes around it was left as it was."""

    fails = ["post_norm"]
    hint = "After attention, words and result are added and normalised. Which later steps get the normalised words?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = x + self.attend(x, mask)
            return self.norm2(x + self.feed_forward(self.norm1(x)))


class one_norm_at_the_end:
    """The words are normalised once, after both sublayers."""

    fails = ["post_norm", "order", "norms", "trains"]
    hint = "How many sums are there, and how many norms? What comes after the first sum?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = x + self.attend(x, mask)
            return self.norm2(x + self.feed_forward(x))


class always_pre_norm:
    """The norm stands before each sublayer, whatever norm_first says."""

    fails = ["attention", "feed_forward", "residual", "post_norm", "order", "norms", "mask", "dropout"]
    hint = "What is norm_first if nothing is said, and what is normalised last then?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            x = x + self.attend(self.norm1(x), mask)
            return x + self.feed_forward(self.norm2(x))


class always_post_norm:
    """The norm stands after each sum, whatever norm_first says."""

    fails = ["norm_first"]
    hint = "Where is norm_first used in your code? What is different if it is True?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class residual_of_the_normalised:
    """With norm_first the normalised words went around the sublayer too, for they had taken the name of the words."""

    fails = ["norm_first"]
    hint = "`x = norm(x)` forgets what x was. What should the sublayer's result be added to?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = self.norm1(x)
                x = x + self.attend(x, mask)
                x = self.norm2(x)
                return x + self.feed_forward(x)
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class sublayers_side_by_side:
    """With norm_first both sublayers got the words that came into the layer, where the second should get what the first has left."""

    fails = ["norm_first"]
    hint = "Does the feed-forward network see what attention has brought?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                return x + self.attend(self.norm1(x), mask) + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class norm_on_both_sides:
    """With norm_first the words are normalised before each sublayer, and once more at the end."""

    fails = ["norm_first"]
    hint = "What is normalised after the last sum? Does the way around have a norm on it in pre-norm?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return self.norm2(x + self.feed_forward(self.norm2(x)))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class norm_first_on_the_result:
    """With norm_first the sublayer's result is normalised instead of what the sublayer gets."""

    fails = ["norm_first"]
    hint = "First means: before the sublayer. What does attention get in your code?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.norm1(self.attend(x, mask))
                return x + self.norm2(self.feed_forward(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class feed_forward_first:
    """The feed-forward network comes before attention."""

    fails = ["order"]
    hint = "Looking collects, and then each word works on what it has seen. Which sublayer is that, and which comes first?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.feed_forward(self.norm1(x))
                return x + self.attend(self.norm2(x), mask)
            x = self.norm1(x + self.feed_forward(x))
            return self.norm2(x + self.attend(x, mask))


class norms_swapped:
    """Norm 2 comes after attention and norm 1 after the feed-forward network."""

    fails = ["norms"]
    hint = "Each sublayer has a norm of its own. Which gain belongs to which?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm2(x), mask)
                return x + self.feed_forward(self.norm1(x))
            x = self.norm2(x + self.attend(x, mask))
            return self.norm1(x + self.feed_forward(x))


class one_norm_for_both:
    """Both sublayers share the first norm, and the second is never used."""

    fails = ["norms", "trains"]
    hint = "How many gains does the layer have, and how many does your code use?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm1(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm1(x + self.feed_forward(x))


class mask_lost_on_the_way:
    """The layer took the mask and did not hand it on to attention."""

    fails = ["mask"]
    hint = "Where does the mask go after it came into `forward`?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), None)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, None))
            return self.norm2(x + self.feed_forward(x))


class mask_inverted:
    """True was taken to mean hidden, as in torch.nn.MultiheadAttention and torch.nn.TransformerEncoderLayer."""

    fails = ["mask"]
    hint = "Here True means that a word may look. Which scores become -inf in your code?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is not None:
                scores = scores.masked_fill(mask.unsqueeze(-3), -math.inf)
            heads = torch.softmax(scores, dim=-1) @ value
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class mask_added_as_ones:
    """The mask was turned into numbers and added to the scores: a 1 more, and nothing is hidden."""

    fails = ["mask"]
    hint = "exp(0) is 1. Which number must be added to a score so that its weight is 0?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is not None:
                scores = scores + mask.unsqueeze(-3).to(x.dtype)
            heads = torch.softmax(scores, dim=-1) @ value
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class mask_without_an_axis_for_heads:
    """The mask of a batch was laid on the scores as it is, and its batch axis met the heads."""

    fails = ["mask"]
    hint = "The scores have four axes and this mask has three. Axes are matched from the last one: who meets whom?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is not None:
                scores = scores.masked_fill(~mask, -math.inf)
            heads = torch.softmax(scores, dim=-1) @ value
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class no_dropout:
    """`dropout` was taken and never used."""

    fails = ["dropout"]
    hint = "Where in your code could a number be dropped?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return x

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class dropout_in_use_too:
    """`dropout` of torch.nn.functional drops numbers after `eval()` too, for it was not told whether the layer is training."""

    fails = ["dropout"]
    hint = "A module knows by `self.training`. How does a function know?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class dropout_in_attention_never_ends:
    """`dropout_p` was handed to scaled_dot_product_attention, which drops weights after `eval()` too."""

    fails = ["dropout"]
    hint = "That function does not ask whether the layer is training. What should dropout_p be when it is not?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask, dropout_p=self.dropout)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class dropout_after_attention_only:
    """Only the result of attention is dropped; that of the feed-forward network always arrives."""

    fails = ["dropout"]
    hint = "How many sublayers are there, and how many places where numbers are dropped?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.narrow(F.relu(self.widen(x)))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class dropout_inside_the_network_only:
    """Hidden units are dropped, and what the feed-forward network returns is not."""

    fails = ["dropout"]
    hint = "With dropout=1.0 all hidden units are gone, and yet something arrives. What is left in max(0, x @ w1 + b1) @ w2 + b2?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.narrow(self.drop(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class dropout_on_the_sum:
    """Numbers are dropped from the sum, and with them the words that should go around."""

    fails = ["dropout"]
    hint = "What is left of a word if dropout is 1? Which way should always stay open?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return (self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.narrow(F.relu(self.widen(x)))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = self.drop(x + self.attend(self.norm1(x), mask))
                return self.drop(x + self.feed_forward(self.norm2(x)))
            x = self.norm1(self.drop(x + self.attend(x, mask)))
            return self.norm2(self.drop(x + self.feed_forward(x)))


class dropout_after_the_norm:
    """Numbers are dropped after the norm, words and all."""

    fails = ["dropout"]
    hint = "From what is dropped before what: from a sublayer's result, before it is added. What does your code drop from?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return (self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.narrow(F.relu(self.widen(x)))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.drop(self.norm1(x + self.attend(x, mask)))
            return self.drop(self.norm2(x + self.feed_forward(x)))


class dropout_is_what_stays:
    """`dropout` was taken as the share that stays, so a quarter stayed instead of three."""

    fails = ["attention", "feed_forward", "residual", "post_norm", "norm_first", "order", "mask", "dropout", "trains"]
    hint = "With dropout=0.25, how many of 100 numbers should stay?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, 1 - self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class dropout_without_a_scale:
    """Numbers are dropped in training, and those that stay are not divided by 1 - dropout, so sums are smaller in training than in use."""

    fails = ["dropout"]
    hint = "If a quarter of the numbers goes, how large is their sum on average? By what must the others be divided?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return x * (torch.rand_like(x) >= self.dropout) if self.training else x

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class dropout_scaled_in_use:
    """Results are multiplied by 1 - dropout in use, where the others should have been divided by it in training."""

    fails = ["dropout"]
    hint = "Both make sums equally large in training and in use. Which of the two does the exercise ask for?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return x * (torch.rand_like(x) >= self.dropout) if self.training else x * (1 - self.dropout)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class gains_that_do_not_learn:
    """Gains and biases of the norms are plain tensors, which no optimiser finds."""

    fails = ["trains", "device"]
    hint = "What makes a tensor a parameter of its module?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (torch.ones(d_model) for _ in range(2))
            self.bias1, self.bias2 = (torch.zeros(d_model) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class network_in_a_list:
    """The matrices of the feed-forward network are kept in a plain list, where the module does not see them."""

    fails = ["trains", "device"]
    hint = "A module looks at its attributes for parameters and modules. Does it look into lists?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.network = [nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)]
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.network[1](F.relu(self.network[0](x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))

    def set_weights(layer, w_query, w_key, w_value, w_output, w1, b1, w2, b2, gain1, bias1, gain2, bias2):
        widen, narrow = layer.network
        pairs = [(layer.to_query, w_query), (layer.to_key, w_key), (layer.to_value, w_value), (layer.to_output, w_output), (widen, w1), (narrow, w2)]
        with torch.no_grad():
            for linear, matrix in pairs:
                linear.weight.copy_(matrix.T)
            for mine, given in ((widen.bias, b1), (narrow.bias, b2), (layer.gain1, gain1), (layer.bias1, bias1), (layer.gain2, gain2), (layer.bias2, bias2)):
                mine.copy_(given)


class attention_off_the_graph:
    """What attention returns was taken off the graph that autograd follows, so its matrices never learn."""

    fails = ["trains"]
    hint = "`.data` and `.detach()` give numbers without a history. What has to flow back through attention?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)).detach())

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class attention_matrices_with_a_bias:
    """The matrices of attention have biases, which the exercise does not have and nobody sets."""

    fails = ["attention", "feed_forward", "residual", "post_norm", "norm_first", "order", "norms", "mask", "dropout", "trains"]
    hint = "What does nn.Linear add if nothing is said?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class words_folded_by_view:
    """The words of all sentences were put below each other by `view`, which only works where they lie in memory that way."""

    fails = ["attention"]
    hint = "`view` never moves a number. Does a layer need the batch folded at all?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x.view(-1, x.shape[-1])).view(*x.shape[:2], self.num_heads, -1).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class matrix_shrinks_with_every_call:
    """The scale was put on the matrix of the queries itself, which shrank further with every call."""

    fails = ["attention"]
    hint = "What is in `weight` after the first call, and what after the second?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            self.to_query.weight.data /= math.sqrt(x.shape[-1] // self.num_heads)
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask, scale=1.0)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class words_written_into:
    """What the first sublayer returned was added in place, and whoever called was left with other words."""

    fails = ["residual", "mask", "trains"]
    hint = "`x += y` writes into the tensor that came in, `x = x + y` makes a new one. Who else holds that tensor?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x += self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x += self.attend(x, mask)
            x = self.norm1(x)
            return self.norm2(x + self.feed_forward(x))


class hidden_by_twenty:
    """Hidden scores were set to -20 and their weights struck out afterwards, but some visible matches lie far below -20."""

    fails = ["mask"]
    hint = "A visible word may match as badly as it likes. Which score can nothing fall short of?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            seen = torch.ones_like(scores).bool() if mask is None else mask.unsqueeze(-3).expand_as(scores)
            weights = torch.softmax(scores.masked_fill(~seen, -20.0), dim=-1) * seen
            total = weights.sum(dim=-1, keepdim=True)
            heads = weights / total.masked_fill(total == 0, 1.0) @ value
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class hidden_by_ten_thousand:
    """Hidden scores were set to -10000 and their weights struck out afterwards, but a visible match may lie below even that."""

    fails = ["mask"]
    hint = "However far down a number lies, a match can lie below. Which score can nothing fall short of?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            seen = torch.ones_like(scores).bool() if mask is None else mask.unsqueeze(-3).expand_as(scores)
            weights = torch.softmax(scores.masked_fill(~seen, -1e4), dim=-1) * seen
            total = weights.sum(dim=-1, keepdim=True)
            heads = weights / total.masked_fill(total == 0, 1.0) @ value
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class minus_a_billion_added:
    """-1e9 was added to hidden scores, and a match that is better than a billion came through."""

    fails = ["mask"]
    hint = "Whatever a hidden word holds, it has no part in anything. What is left of its match when a number is added, and what when it is replaced?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is not None:
                scores = scores + (~mask).to(scores.dtype).unsqueeze(-3) * -1e9
            heads = torch.softmax(scores, dim=-1) @ value
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class mask_taken_for_padding:
    """A mask with as many rows as the batch has sentences was taken for one row a sentence."""

    fails = ["mask"]
    hint = "The last two axes of a mask are both tokens, whatever the sizes. What can two equal sizes tell you?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            if mask is not None and mask.ndim == 2 and len(mask) == len(x):
                mask = mask[:, None]
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class mask_turned_in_place:
    """The mask was turned over in place, and whoever called was left with its opposite."""

    fails = ["mask"]
    hint = "The next layer is handed the same mask. What does it find in it?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is not None:
                scores = scores.masked_fill(mask.logical_not_().unsqueeze(-3), -math.inf)
            heads = torch.softmax(scores, dim=-1) @ value
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class first_mask_kept:
    """The layer kept the first mask that it was given, and used it for ever after."""

    fails = ["mask"]
    hint = "What does the layer still know of an earlier call, and what should it?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))
            self.mask = None

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            mask = self.mask = mask if self.mask is None else self.mask
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class residuals_off_the_graph:
    """The words were detached before the results of the sublayers were added, so no gradient took the way around."""

    fails = ["trains"]
    hint = "A residual connection carries what went in forward. What should it carry back?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x.detach() + self.attend(self.norm1(x), mask)
                return x.detach() + self.feed_forward(self.norm2(x))
            x = self.norm1(x.detach() + self.attend(x, mask))
            return self.norm2(x.detach() + self.feed_forward(x))


class attention_of_cut_off_words:
    """The words were detached before attention looked at them, so no word learns from being looked at."""

    fails = ["trains"]
    hint = "All matrices learn here. What do the words themselves learn from those that look at them?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            x = x.detach()
            query, key, value = (linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask if mask is None else mask.unsqueeze(-3)
            heads = F.scaled_dot_product_attention(query, key, value, mask)
            return self.drop(self.to_output(heads.transpose(1, 2).flatten(2)))

        def feed_forward(self, x):
            return self.drop(self.narrow(F.relu(self.widen(x))))

        def drop(self, x):
            return F.dropout(x, self.dropout, self.training)

        def norm1(self, x):
            return layer_norm(x, self.gain1, self.bias1)

        def norm2(self, x):
            return layer_norm(x, self.gain2, self.bias2)

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.attend(self.norm1(x), mask)
                return x + self.feed_forward(self.norm2(x))
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.feed_forward(x))


class dropped_by_numbers_on_the_cpu:
    """What is to be dropped was drawn on the CPU."""

    fails = ["device"]
    hint = "`torch.rand` was told a shape. Which of its relatives takes more than the shape from a tensor?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.bias1 = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
            self.gain2, self.bias2 = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))

        def forward(self, x, mask=None):
            looked = lambda words: self._look(words, mask)
            thought = lambda words: self.narrow(self.widen(words).relu())
            for sublayer, gain, bias in ((looked, self.gain1, self.bias1), (thought, self.gain2, self.bias2)):
                x = x + self._dropped(sublayer(layer_norm(x, gain, bias) if self.norm_first else x))
                x = x if self.norm_first else layer_norm(x, gain, bias)
            return x

        def _look(self, x, mask):
            heads = [linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value)]
            seen = None if mask is None else mask.unsqueeze(-3)
            return self.to_output(F.scaled_dot_product_attention(*heads, seen).transpose(1, 2).flatten(start_dim=2))

        def _dropped(self, x):
            if not self.training or not self.dropout:
                return x
            return x * (torch.rand(x.shape) >= self.dropout).to(x.dtype) / max(1 - self.dropout, 1e-9)


class penalty_on_the_cpu:
    """What hides a score was made as a table of zeros and minus infinity on the CPU."""

    fails = ["device"]
    hint = "`torch.zeros` was told a shape and a dtype. What was it not told?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.bias1 = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
            self.gain2, self.bias2 = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))

        def forward(self, x, mask=None):
            looked = lambda words: self._look(words, mask)
            thought = lambda words: self.narrow(self.widen(words).relu())
            for sublayer, gain, bias in ((looked, self.gain1, self.bias1), (thought, self.gain2, self.bias2)):
                x = x + self._dropped(sublayer(layer_norm(x, gain, bias) if self.norm_first else x))
                x = x if self.norm_first else layer_norm(x, gain, bias)
            return x

        def _look(self, x, mask):
            heads = [linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value)]
            seen = None if mask is None else torch.zeros(mask.shape, dtype=x.dtype).masked_fill(~mask, -math.inf).unsqueeze(-3)
            return self.to_output(F.scaled_dot_product_attention(*heads, seen).transpose(1, 2).flatten(start_dim=2))

        def _dropped(self, x):
            return F.dropout(x, self.dropout, self.training)


class mask_that_is_no_buffer:
    """The layer kept a mask of ones in a plain attribute, which stays behind when the layer is moved."""

    fails = ["device"]
    hint = "`layer.to` moves parameters and buffers. How does a tensor become a buffer?"

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.bias1 = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
            self.gain2, self.bias2 = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
            self.all = torch.ones(1, 1, dtype=torch.bool)

        def forward(self, x, mask=None):
            looked = lambda words: self._look(words, mask)
            thought = lambda words: self.narrow(self.widen(words).relu())
            for sublayer, gain, bias in ((looked, self.gain1, self.bias1), (thought, self.gain2, self.bias2)):
                x = x + self._dropped(sublayer(layer_norm(x, gain, bias) if self.norm_first else x))
                x = x if self.norm_first else layer_norm(x, gain, bias)
            return x

        def _look(self, x, mask):
            heads = [linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value)]
            seen = self.all if mask is None else mask.unsqueeze(-3)
            return self.to_output(F.scaled_dot_product_attention(*heads, seen).transpose(1, 2).flatten(start_dim=2))

        def _dropped(self, x):
            return F.dropout(x, self.dropout, self.training)
