"""Wrong answers that people write. Parsed, never imported; see autograder/exercise/known.py."""
import math

import torch
from torch import nn


class roles_exchanged:
    """The context asked and x answered."""

    fails = ["who_asks", "scale", "widths", "batch", "mask", "blind_row", "device"]
    hint = "The output has a row for each word that asks. How many rows should it have, and how many has yours?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(context), self.to_key(x), self.to_value(x)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0) @ value


class context_ignored:
    """The words of x read each other: queries, keys and values were all made of x."""

    fails = ["who_asks", "scale", "widths", "batch", "mask", "blind_row", "trains", "device"]
    hint = "That is self-attention. Would your output change if the context were another one?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(x), self.to_value(x)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0) @ value


class values_from_x:
    """The keys were made of the context, but the values of x."""

    fails = ["who_asks", "scale", "widths", "batch", "mask", "blind_row", "trains", "device"]
    hint = "Each score belongs to a word of the context. Whose value does its weight belong to?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(x)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0) @ value


class keys_from_x:
    """The values were made of the context, but the keys of x."""

    fails = ["who_asks", "scale", "widths", "batch", "mask", "blind_row", "trains", "device"]
    hint = "A weight says how much of one value is taken. Whose key should its score come from?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(x), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0) @ value


class context_asks_itself:
    """The queries were made of the context, which then read itself."""

    fails = ["who_asks", "scale", "widths", "batch", "mask", "blind_row", "trains", "device"]
    hint = "The output has a row for each word that asks. Whose words are these?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(context), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0) @ value


class x_joins_the_context:
    """The words of x stood among the words that answer."""

    fails = ["who_asks", "scale", "widths", "batch", "mask", "blind_row", "device"]
    hint = "How many words may a word of x look at here, and how many columns have your scores?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            everything = torch.cat([x, context], dim=-2)
            query, key, value = self.to_query(x), self.to_key(everything), self.to_value(everything)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0) @ value


class keys_averaged:
    """The keys were averaged instead of the values, and the third matrix was never used."""

    fails = ["who_asks", "scale", "widths", "batch", "mask", "blind_row", "trains", "device"]
    hint = "A key is what a word can be found by. What does the word give, once it is found?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key = self.to_query(x), self.to_key(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ key
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0) @ key


class softmax_over_queries:
    """The shares were taken along the words that ask, so each word of the context gave out one whole."""

    fails = ["who_asks", "scale", "widths", "batch", "mask", "blind_row"]
    hint = "A row asks, a column answers. Who spends its attention on whom, and which axis has to add up to 1?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-2) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-2)
            return weights.masked_fill(~mask, 0.0) @ value


class powers_of_large_scores:
    """The powers of e were taken of the scores as they are, and they overflowed."""

    fails = ["who_asks", "mask"]
    hint = "Softmax sees differences only. What can be taken from every score of a row, so that no power exceeds 1?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            powers = torch.exp(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]))
            if mask is not None:
                powers = powers.masked_fill(~mask, 0.0)
            return powers @ value / powers.sum(dim=-1, keepdim=True).clamp(min=1e-30)


class output_squeezed:
    """The axes of length 1 were squeezed out of the output, so a single word lost its row."""

    fails = ["who_asks"]
    hint = "One word comes in as a table with one row. In what shape should its output go out?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return (torch.softmax(scores, dim=-1) @ value).squeeze()
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return (weights.masked_fill(~mask, 0.0) @ value).squeeze()


class output_and_weights:
    """The module returned the output and the weights, where the output alone is asked for."""

    fails = ["who_asks", "scale", "widths", "batch", "mask", "blind_row", "trains", "device"]
    hint = "The next layer takes one tensor. Which of your two is it?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is not None:
                scores = scores.masked_fill(~mask, -math.inf)
            weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
            return weights @ value, weights


class with_bias:
    """The projections added a bias, which this module does not have."""

    fails = ["who_asks", "scale", "widths", "batch", "mask", "blind_row", "trains"]
    hint = "What does `nn.Linear` add to `x @ w` unless it is told not to?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k)
            self.to_key = nn.Linear(d_context, d_k)
            self.to_value = nn.Linear(d_context, d_v)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0) @ value


class no_scale:
    """The matches went into softmax undivided."""

    fails = ["scale"]
    hint = "A dot product of d_k terms grows with d_k. By what is it divided, so that softmax does not saturate?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            scores = self.to_query(x) @ self.to_key(context).transpose(-2, -1)
            if mask is None:
                return torch.softmax(scores, dim=-1) @ self.to_value(context)
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0) @ self.to_value(context)


class scale_by_d_k:
    """The matches were divided by d_k itself instead of its square root."""

    fails = ["scale"]
    hint = "The variance of a match is d_k. What is then its standard deviation, its usual size?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / query.shape[-1]
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0) @ value


class scale_by_width_of_words:
    """The matches were divided by the square root of the width of a word, not of a query."""

    fails = ["who_asks", "scale", "widths", "batch", "mask", "blind_row"]
    hint = "The matches are made of queries and keys. How wide are they, after the projection?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(x.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0) @ value


class one_width_for_both:
    """All three matrices were made for words as wide as those of x."""

    fails = ["widths", "device"]
    hint = "Two of the three matrices multiply the context. How many rows must they have?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_query, d_k, bias=False)
            self.to_value = nn.Linear(d_query, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0) @ value


class one_packed_matrix:
    """One packed matrix served both sequences, as if they were equally wide."""

    fails = ["widths", "device"]
    hint = "What multiplies x has d_query rows, what multiplies the context d_context. Which of the three can share a matrix?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.widths = [d_k, d_k, d_v]
            self.packed = nn.Parameter(torch.randn(d_query, sum(self.widths)))

        def forward(self, x, context, mask=None):
            query, _, _ = (x @ self.packed).split(self.widths, dim=-1)
            _, key, value = (context @ self.packed).split(self.widths, dim=-1)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0) @ value

    def set_weights(attention, w_query, w_key, w_value):
        with torch.no_grad():
            attention.packed.copy_(torch.cat([w_query, w_key, w_value], dim=1))


class for_batches_only:
    """The axes 1 and 2 were swapped, which are the last two only where one axis stands before them."""

    fails = ["who_asks", "scale", "widths", "batch", "mask", "blind_row", "trains"]
    hint = "`*batch` may stand for no axis or for several. How are the last two axes counted from the end?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = torch.matmul(query, key.transpose(1, 2)) / math.sqrt(query.size(-1))
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0) @ value


class one_batch_axis:
    """One axis was foreseen before the last two, and no more than one."""

    fails = ["batch"]
    hint = "Heads will want an axis of their own beside the batch. Which product works on the last two axes, whatever comes before?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            if x.ndim == 2:
                return self.forward(x[None], context[None], mask)[0]
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.bmm(torch.softmax(scores, dim=-1), value)
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return torch.bmm(weights.masked_fill(~mask, 0.0), value)


class softmax_over_axis_one:
    """The shares were taken along axis 1, which holds the context only where there is no batch."""

    fails = ["batch", "mask", "blind_row"]
    hint = "With a batch in front, axis 1 holds the words that ask. How is the axis of the context counted from the end?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=1) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=1)
            return weights.masked_fill(~mask, 0.0) @ value


class mask_inverted:
    """The mask was read the other way round: what may be seen was hidden."""

    fails = ["mask", "blind_row"]
    hint = "Here True means: may look. Which scores are to become -inf?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            weights = torch.softmax(scores.masked_fill(mask, -math.inf), dim=-1)
            return weights.masked_fill(mask, 0.0) @ value


class mask_transposed:
    """The mask was laid out as context by x, where a row is a word of x."""

    fails = ["mask", "blind_row", "device"]
    hint = "A row asks, a column answers. Which axis of the mask comes last?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            hidden = ~mask.transpose(-2, -1)
            return torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0) @ value


class mask_after_softmax:
    """The mask came after softmax, when the hidden words had already taken their share."""

    fails = ["mask"]
    hint = "What do the weights of a row add up to, once some of them are struck out? When would the others still get the whole?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1)
            if mask is not None:
                weights = weights.masked_fill(~mask, 1e-9)
            return weights @ value


class mask_multiplied:
    """The scores were multiplied by the mask, and a hidden word kept a score of 0."""

    fails = ["mask", "blind_row"]
    hint = "The power of e of 0 is 1. Which score has the power 0?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is not None:
                scores = scores * mask
            return torch.softmax(scores, dim=-1) @ value


class mask_ignored:
    """The mask was taken and never used."""

    fails = ["mask", "blind_row"]
    hint = "Which line of yours would change if the mask changed?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            return torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1) @ value


class mask_of_the_same_shape:
    """The mask picked entries of the scores, which works only if it has all of their axes."""

    fails = ["mask", "device"]
    hint = "One mask may serve a whole batch, or every word that asks. Which operation spreads it over the axes that it does not have?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is not None:
                scores[~mask] = -math.inf
            return torch.softmax(scores, dim=-1).nan_to_num(0.0) @ value


class nothing_gives_nan:
    """A word that sees nothing was left with a softmax of nothing but -inf, which is not a number."""

    fails = ["blind_row"]
    hint = "What is 0 / 0? What should a word read that may look at nothing?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is not None:
                scores = scores.masked_fill(~mask, -math.inf)
            return torch.softmax(scores, dim=-1) @ value


class large_negative_number:
    """Hidden scores became -1e9, and a word that sees nothing read everything alike."""

    fails = ["blind_row"]
    hint = "If all scores of a row are -1e9, what are their differences, and so their shares?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is not None:
                scores = scores.masked_fill(~mask, -1e9)
            return torch.softmax(scores, dim=-1) @ value


class nan_in_the_gradient:
    """The not-a-number of a word that sees nothing was painted over in the output, but went on in the gradient."""

    fails = ["blind_row"]
    hint = "Zero times not-a-number is not-a-number, and the gradient multiplies. Can the row be kept from 0 / 0 in the first place?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is not None:
                scores = scores + torch.zeros_like(mask, dtype=scores.dtype).masked_fill(~mask, -math.inf)
            return torch.softmax(scores, dim=-1).nan_to_num(0.0) @ value


class key_matrix_for_values:
    """Where keys and values are equally wide, the matrix of the keys made the values too."""

    fails = ["who_asks"]
    hint = "There are three matrices, of whatever width. Which one says what a word of the context has to give?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key = self.to_query(x), self.to_key(context)
            value = key if key.shape[-1] == len(self.to_value.weight) == x.shape[-1] else self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0) @ value


class query_and_key_matrices_swapped:
    """The matrix of the queries made the keys and that of the keys the queries, where both fit."""

    fails = ["who_asks"]
    hint = "What a word asks for need not be what it is found by. Which of the two belongs to x?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            ask, find = self.to_query, self.to_key
            if ask.weight.shape == find.weight.shape and x.shape == context.shape:
                ask, find = find, ask
            query, key, value = ask(x), find(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0) @ value


class matrix_shrinks_with_every_call:
    """The scale was put on the matrix of the queries itself, which shrank further with every call."""

    fails = ["who_asks"]
    hint = "What is in `weight` after the first call, and what after the second?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            self.to_query.weight.data /= math.sqrt(len(self.to_query.weight))
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1)
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0) @ value


class batches_folded_by_view:
    """The batch was folded by `view`, which only works where the inputs lie in memory one row after the other."""

    fails = ["batch"]
    hint = "`view` never moves a number. Which of its relatives does, where it must?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query = self.to_query(x.view(-1, x.shape[-1])).view(*x.shape[:-1], -1)
            key, value = (of(context.view(-1, context.shape[-1])).view(*context.shape[:-1], -1) for of in (self.to_key, self.to_value))
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0) @ value


class hidden_by_twenty:
    """Hidden scores were set to -20 and their weights struck out afterwards, but some visible matches lie far below -20."""

    fails = ["mask"]
    hint = "A visible word may match as badly as it likes. Which score can nothing fall short of?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -20.0), dim=-1) * mask
            total = weights.sum(dim=-1, keepdim=True)
            return weights / total.masked_fill(total == 0, 1.0) @ value


class hidden_by_ten_thousand:
    """Hidden scores were set to -10000 and their weights struck out afterwards, but a visible match may lie below even that."""

    fails = ["mask"]
    hint = "However far down a number lies, a match can lie below. Which score can nothing fall short of?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -1e4), dim=-1) * mask
            total = weights.sum(dim=-1, keepdim=True)
            return weights / total.masked_fill(total == 0, 1.0) @ value


class minus_a_billion_added:
    """-1e9 was added to hidden scores, and a match that is better than a billion came through."""

    fails = ["mask"]
    hint = "Whatever a hidden word holds, it has no part in anything. What is left of its match when a number is added, and what when it is replaced?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            return torch.softmax(scores + (~mask).to(scores.dtype) * -1e9, dim=-1) * mask.any(dim=-1, keepdim=True) @ value


class mask_taken_for_padding:
    """A mask with as many rows as the batch has sequences was taken for one row a sequence."""

    fails = ["mask"]
    hint = "The last two axes of a mask are queries and keys, whatever their sizes. What can two equal sizes tell you?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            if mask is not None and mask.ndim == 2 and x.ndim == 3 and len(mask) == len(x):
                mask = mask[:, None]
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0) @ value


class mask_turned_in_place:
    """The mask was turned over in place, and whoever called was left with its opposite."""

    fails = ["mask"]
    hint = "The next layer is handed the same mask. What does it find in it?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            hidden = mask.logical_not_()
            weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1)
            return weights.masked_fill(hidden, 0.0) @ value


class first_mask_kept:
    """The module kept the first mask that it was given, and used it for ever after."""

    fails = ["mask"]
    hint = "What does the module still know of an earlier call, and what should it?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)
            self.mask = None

        def forward(self, x, context, mask=None):
            mask = self.mask = mask if self.mask is None else self.mask
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0) @ value


class first_context_kept:
    """The keys and values of the first context were kept, and read by whoever came later."""

    fails = ["who_asks", "mask", "trains"]
    hint = "Keys and values may be kept while the context stays the same. How does your module learn that another one has come?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)
            self.kept = None

        def forward(self, x, context, mask=None):
            if self.kept is None:
                self.kept = self.to_key(context), self.to_value(context)
            query, (key, value) = self.to_query(x), self.kept
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0) @ value


class context_cut_off:
    """The context was detached, so whatever made it could never learn from being read."""

    fails = ["trains"]
    hint = "An encoder may have made the context. What does it learn from, if no gradient comes back to it?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            context = context.detach()
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0) @ value


class plain_tensors:
    """The matrices were plain tensors, which a module does not find when it is trained."""

    fails = ["trains", "device"]
    hint = "`parameters()` lists what an optimiser may change. What turns a tensor into something that it lists?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.w_query = torch.randn(d_query, d_k, requires_grad=True)
            self.w_key = torch.randn(d_context, d_k, requires_grad=True)
            self.w_value = torch.randn(d_context, d_v, requires_grad=True)

        def forward(self, x, context, mask=None):
            query, key, value = x @ self.w_query, context @ self.w_key, context @ self.w_value
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0) @ value

    def set_weights(attention, w_query, w_key, w_value):
        with torch.no_grad():
            attention.w_query.copy_(w_query)
            attention.w_key.copy_(w_key)
            attention.w_value.copy_(w_value)


class weights_outside_the_graph:
    """The weights were cut off from autograd, so queries and keys could never learn."""

    fails = ["trains"]
    hint = "Through which result does a gradient travel from the output back to the query, and what stands in its way?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1).detach() @ value
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0).detach() @ value


class results_exchanged:
    """What the image has read came first, and what the text has read second."""

    fails = ["text_reads", "image_reads", "both_scale", "both_batch", "both_stable", "both_dtype"]
    hint = "The first result has a row for each word. How many rows has yours?"

    def look_both_ways(text, image):
        scores = text @ image.transpose(-2, -1) / math.sqrt(text.shape[-1])
        text_seen = torch.softmax(scores, dim=-1) @ image
        image_seen = torch.softmax(scores.transpose(-2, -1), dim=-1) @ text
        return image_seen, text_seen


class each_reads_itself:
    """The text read the text, and the image read the image."""

    fails = ["text_reads", "image_reads", "both_scale", "both_batch", "both_stable", "both_dtype", "both_gradient"]
    hint = "Text and image should meet in your scores. Which two are multiplied there?"

    def look_both_ways(text, image):
        return read(text, text), read(image, image)

    def read(reader, source):
        scores = reader @ source.transpose(-2, -1) / math.sqrt(reader.shape[-1])
        return torch.softmax(scores, dim=-1) @ source


class one_way_only:
    """The text read the image, and the image was returned as it came."""

    fails = ["image_reads", "both_scale", "both_batch", "both_stable", "both_dtype", "both_gradient"]
    hint = "The image asks too. Which of its words do the patches look at?"

    def look_both_ways(text, image):
        scores = text @ image.transpose(-2, -1) / math.sqrt(text.shape[-1])
        return torch.softmax(scores, dim=-1) @ image, image


class shares_of_words_used_twice:
    """The patches read by the shares of the words, turned over, and these do not add up to 1 for a patch."""

    fails = ["image_reads"]
    hint = "A match is the same from either side, a share is not. Along which axis does a patch share out its whole?"

    def look_both_ways(text, image):
        weights = torch.softmax(text @ image.transpose(-2, -1) / math.sqrt(text.shape[-1]), dim=-1)
        return weights @ image, weights.transpose(-2, -1) @ text


class shares_of_patches_used_twice:
    """The words read by the shares of the patches, turned over, and these do not add up to 1 for a word."""

    fails = ["text_reads"]
    hint = "A match is the same from either side, a share is not. Along which axis does a word share out its whole?"

    def look_both_ways(text, image):
        weights = torch.softmax(image @ text.transpose(-2, -1) / math.sqrt(text.shape[-1]), dim=-1)
        return weights.transpose(-2, -1) @ image, weights @ text


class shares_among_those_who_ask:
    """Both sides took their shares along those who ask instead of those who answer."""

    fails = ["text_reads", "image_reads"]
    hint = "A word shares out one whole among the patches. Along which axis of the scores do the patches lie?"

    def look_both_ways(text, image):
        scores = text @ image.transpose(-2, -1) / math.sqrt(text.shape[-1])
        return torch.softmax(scores, dim=-2) @ image, torch.softmax(scores.transpose(-2, -1), dim=-2) @ text


class both_without_scale:
    """The matches of text and image went into softmax undivided."""

    fails = ["both_scale"]
    hint = "Without a projection d_k is d_model. What is its square root for?"

    def look_both_ways(text, image):
        scores = text @ image.transpose(-2, -1)
        return torch.softmax(scores, dim=-1) @ image, torch.softmax(scores.transpose(-2, -1), dim=-1) @ text


class both_scaled_by_width:
    """The matches of text and image were divided by the width itself instead of its square root."""

    fails = ["both_scale"]
    hint = "The variance of a match is the width. What is then its standard deviation, its usual size?"

    def look_both_ways(text, image):
        scores = text @ image.transpose(-2, -1) / text.shape[-1]
        return torch.softmax(scores, dim=-1) @ image, torch.softmax(scores.transpose(-2, -1), dim=-1) @ text


class one_way_without_scale:
    """The text divided its matches, the image did not."""

    fails = ["both_scale"]
    hint = "A match is the same number from either side. Which of your two lines leaves it larger?"

    def look_both_ways(text, image):
        scores = text @ image.transpose(-2, -1)
        text_seen = torch.softmax(scores / math.sqrt(text.shape[-1]), dim=-1) @ image
        return text_seen, torch.softmax(scores.transpose(-2, -1), dim=-1) @ text


class both_with_one_batch_axis:
    """Text and image could have one axis before the last two, and no more than one."""

    fails = ["both_batch"]
    hint = "Which product works on the last two axes, whatever comes before?"

    def look_both_ways(text, image):
        alone = text.ndim == 2
        text, image = (text[None], image[None]) if alone else (text, image)
        scores = torch.bmm(text, image.transpose(1, 2)) / math.sqrt(text.shape[-1])
        text_seen = torch.bmm(torch.softmax(scores, dim=2), image)
        image_seen = torch.bmm(torch.softmax(scores.transpose(1, 2), dim=2), text)
        return (text_seen[0], image_seen[0]) if alone else (text_seen, image_seen)


class both_for_tables_only:
    """The tables were turned over as a whole, and with a batch they have more axes than two."""

    fails = ["both_batch"]
    hint = "With a batch in front, axis 0 is no longer that of the words. How are the last two axes counted from the end?"

    def look_both_ways(text, image):
        scores = text @ image.transpose(0, 1) / math.sqrt(text.shape[-1])
        return torch.softmax(scores, dim=1) @ image, torch.softmax(scores.transpose(0, 1), dim=1) @ text


class both_overflow:
    """The powers of e were taken of the matches of text and image as they are, and they overflowed."""

    fails = ["both_stable"]
    hint = "Softmax sees differences only. What can be taken from every score of a row, so that no power exceeds 1?"

    def look_both_ways(text, image):
        powers = torch.exp(text @ image.transpose(-2, -1) / math.sqrt(text.shape[-1]))
        text_seen = powers / powers.sum(dim=-1, keepdim=True) @ image
        powers = powers.transpose(-2, -1)
        return text_seen, powers / powers.sum(dim=-1, keepdim=True) @ text


class both_in_single_precision:
    """Text and image were turned into 32 bits, whatever they had."""

    fails = ["both_dtype"]
    hint = "Which call in your code fixes a type of its own?"

    def look_both_ways(text, image):
        text, image = text.float(), image.float()
        scores = text @ image.transpose(-2, -1) / math.sqrt(text.shape[-1])
        return torch.softmax(scores, dim=-1) @ image, torch.softmax(scores.transpose(-2, -1), dim=-1) @ text


class both_outside_the_graph:
    """Each side took the other out of autograd's graph before it read it."""

    fails = ["both_gradient"]
    hint = "The text should learn what to ask, and the image what to answer. Which of the two does a detached tensor pass the gradient on to?"

    def look_both_ways(text, image):
        return read(text, image.detach()), read(image, text.detach())

    def read(reader, source):
        scores = reader @ source.transpose(-2, -1) / math.sqrt(reader.shape[-1])
        return torch.softmax(scores, dim=-1) @ source


class both_folded_by_view:
    """The batch was folded by `view`, which only works where text and image lie in memory one row after the other."""

    fails = ["both_batch"]
    hint = "`view` never moves a number. Which of its relatives does, where it must?"

    def look_both_ways(text, image):
        words, patches = text.view(-1, *text.shape[-2:]), image.view(-1, *image.shape[-2:])
        scores = torch.bmm(words, patches.transpose(1, 2)) / math.sqrt(text.shape[-1])
        text_seen = torch.bmm(torch.softmax(scores, dim=2), patches).view(text.shape)
        return text_seen, torch.bmm(torch.softmax(scores, dim=1).transpose(1, 2), words).view(image.shape)


class table_not_turned_for_the_image:
    """Where there are as many patches as words, the table of scores was not turned over for the patches."""

    fails = ["image_reads"]
    hint = "The table of scores may be square. Are its rows its columns then?"

    def look_both_ways(text, image):
        scores = text @ image.transpose(-2, -1) / math.sqrt(text.shape[-1])
        turned = scores if text.shape == image.shape else scores.transpose(-2, -1)
        return torch.softmax(scores, dim=-1) @ image, torch.softmax(turned, dim=-1) @ text


class table_turned_for_the_text:
    """Where there are as many words as patches, the table of scores was turned over for the words."""

    fails = ["text_reads"]
    hint = "The table of scores may be square. Are its rows its columns then?"

    def look_both_ways(text, image):
        scores = text @ image.transpose(-2, -1) / math.sqrt(text.shape[-1])
        turned = scores.transpose(-2, -1)
        if text.shape == image.shape:
            scores = turned
        return torch.softmax(scores, dim=-1) @ image, torch.softmax(turned, dim=-1) @ text


class both_written_into:
    """The text was scaled in place, and whoever called was left with smaller words."""

    fails = ["both_scale"]
    hint = "The next layer is handed the same text. What does it find in it?"

    def look_both_ways(text, image):
        with torch.no_grad():
            text /= math.sqrt(text.shape[-1])
        scores = text @ image.transpose(-2, -1)
        text_seen = torch.softmax(scores, dim=-1) @ image
        return text_seen, torch.softmax(scores.transpose(-2, -1), dim=-1) @ text * math.sqrt(text.shape[-1])


class mask_of_ones_on_the_cpu:
    """Where no mask was given, a mask of ones was made on the CPU."""

    fails = ["device"]
    hint = "`torch.ones` does not know where your words lie. Who tells it?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                mask = torch.ones(scores.shape[-2:], dtype=torch.bool)
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return weights.masked_fill(~mask, 0.0) @ value


class infinities_on_the_cpu:
    """Hidden scores were taken from a table of minus infinity that was filled on the CPU."""

    fails = ["device"]
    hint = "A plain `-math.inf` lies nowhere, so it goes with every device. Where does a table of it lie?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                return torch.softmax(scores, dim=-1) @ value
            scores = torch.where(mask, scores, torch.full(scores.shape, -math.inf, dtype=scores.dtype))
            return torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0) @ value


class mask_that_is_no_buffer:
    """The module kept a mask of ones in a plain attribute, which stays behind when the module is moved."""

    fails = ["device"]
    hint = "`module.to` moves parameters and buffers. How does a tensor become a buffer?"

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)
            self.all = torch.ones(1, 1, dtype=torch.bool)

        def forward(self, x, context, mask=None):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(context)
            hidden = ~(self.all if mask is None else mask)
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            return torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0) @ value
