"""Wrong answers that people write. Parsed, never imported; see autograder/exercise/known.py."""
import math

import torch
from torch import nn


class split_by_view_alone:
    """The heads were split by a view alone, so a head got some words whole instead of a part of every word."""

    fails = ["split", "scale", "softmax", "attention", "mask", "mask_batch", "blind_row", "dtype", "module", "defaults", "cross", "module_mask"]
    hint = "A view only cuts the row of numbers in memory anew. Which two axes still have to change places?"

    def split_heads(x, num_heads):
        batch, tokens, d_model = x.shape
        if d_model % num_heads:
            raise ValueError("the heads don't divide the width")
        return x.reshape(batch, num_heads, tokens, d_model // num_heads)


class split_and_merge_by_view_alone:
    """Heads were split and merged by views alone: nothing gets lost on the way, but the heads hold words, not parts of words."""

    fails = ["split", "merge", "scale", "softmax", "attention", "mask", "mask_batch", "blind_row", "dtype", "module", "defaults", "cross", "module_mask"]
    hint = "There and back gives the input again, so a round trip can't tell. Which numbers does head 0 hold in between?"

    def split_heads(x, num_heads):
        if x.shape[-1] % num_heads:
            raise ValueError("the heads don't divide the width")
        return x.reshape(len(x), num_heads, -1, x.shape[-1] // num_heads)

    def merge_heads(x):
        return x.reshape(len(x), x.shape[2], -1)


class split_dealt_like_cards:
    """The numbers of a word were dealt out to the heads in turn, where each head gets neighbours."""

    fails = ["split", "scale", "output", "attention", "mask", "mask_batch", "blind_row", "dtype", "module", "defaults", "cross", "module_mask"]
    hint = "In which order must the two new axes stand so that the head is the one that changes slowly?"

    def split_heads(x, num_heads):
        batch, tokens, d_model = x.shape
        if d_model % num_heads:
            raise ValueError("the heads don't divide the width")
        return x.reshape(batch, tokens, d_model // num_heads, num_heads).permute(0, 3, 1, 2)


class split_leaves_heads_behind_tokens:
    """The heads were split off but left behind the tokens, and every caller has to swap the axes."""

    fails = ["split"]
    hint = "Attention works on the last two axes. Which two should those be when `split_heads` is done?"

    def split_heads(x, num_heads):
        batch, tokens, d_model = x.shape
        if d_model % num_heads:
            raise ValueError("the heads don't divide the width")
        return x.reshape(batch, tokens, num_heads, d_model // num_heads)

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads).transpose(1, 2) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return merge_heads(weights @ value) @ w_output


class merge_by_view_alone:
    """The heads were merged by a view alone, with heads and tokens still in the order in which attention needs them."""

    fails = ["merge", "softmax", "attention", "mask", "mask_batch", "blind_row", "dtype", "module", "defaults", "cross", "module_mask"]
    hint = "What must stand next to the width of a head in memory before the two can become one axis?"

    def merge_heads(x):
        batch, heads, tokens, d_head = x.shape
        return x.reshape(batch, tokens, heads * d_head)


class merge_expects_tokens_first:
    """`merge_heads` expected the axes swapped already, so it does not undo `split_heads`."""

    fails = ["merge"]
    hint = "What `split_heads` returns is what `merge_heads` is given. Who swaps the axes back?"

    def merge_heads(x):
        return x.flatten(start_dim=2)

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return merge_heads((weights @ value).transpose(1, 2)) @ w_output


class merge_swaps_head_and_width:
    """The numbers of the heads were interleaved: number 0 of every head, then number 1 of every head."""

    fails = ["merge", "scale", "output", "attention", "mask", "mask_batch", "blind_row", "dtype", "module", "defaults", "cross", "module_mask"]
    hint = "Which of the two last axes should change slowly when they become one: the head or the place in it?"

    def merge_heads(x):
        return x.permute(0, 2, 3, 1).flatten(start_dim=2)


class merge_one_below_the_other:
    """The heads were laid one below the other, as if each brought tokens of its own."""

    fails = ["merge", "scale", "softmax", "output", "attention", "mask", "mask_batch", "blind_row", "dtype", "gradient", "vectorised", "module", "defaults", "cross", "module_mask", "trains", "device"]
    hint = "How many words went in, and how many came out? Along which axis do the heads belong side by side?"

    def merge_heads(x):
        return x.flatten(start_dim=1, end_dim=2)


class merge_by_mean:
    """The heads were averaged, where each has a place of its own side by side."""

    fails = ["merge", "scale", "softmax", "output", "attention", "mask", "mask_batch", "blind_row", "dtype", "gradient", "vectorised", "module", "defaults", "cross", "module_mask", "trains", "device"]
    hint = "If heads are averaged, how could w_output still tell them apart? And how wide is the result?"

    def merge_heads(x):
        return x.mean(dim=1)


class split_by_a_view_of_all_words:
    """All words were laid in one row by `view`, which only works where they lie in memory one after the other."""

    fails = ["split"]
    hint = "`view` never moves a number. Which of its relatives does, where it must?"

    def split_heads(x, num_heads):
        batch, tokens, d_model = x.shape
        if d_model % num_heads:
            raise ValueError("the heads don't divide the width")
        return x.view(-1, num_heads, d_model // num_heads).unflatten(0, (batch, tokens)).transpose(1, 2)


class merge_over_the_memory:
    """The words were read straight from memory by `as_strided`, as if the heads lay there one after the other."""

    fails = ["merge"]
    hint = "Two tensors with the same entries may lie in memory in different orders. What does `as_strided` know of the entries?"

    def merge_heads(x):
        batch, heads, tokens, width = x.shape
        return x.as_strided((batch, tokens, heads, width), (heads * tokens * width, width, tokens * width, 1)).flatten(2)


class uneven_left_to_torch:
    """A width that the heads don't divide was left for `reshape` to complain about."""

    fails = ["uneven"]
    hint = "Is it always noticed that way, and would a caller understand what is wrong?"

    def split_heads(x, num_heads):
        batch, _, d_model = x.shape
        return x.reshape(batch, -1, num_heads, d_model // num_heads).transpose(1, 2)


class uneven_is_cut_off:
    """Numbers that could not be shared out evenly were thrown away without a word."""

    fails = ["uneven"]
    hint = "Who would notice that part of each word is missing? Should the heads go on, or stop?"

    def split_heads(x, num_heads):
        batch, tokens, d_model = x.shape
        d_head = d_model // num_heads
        return x[..., : num_heads * d_head].reshape(batch, tokens, num_heads, d_head).transpose(1, 2)


class uneven_is_asserted:
    """`assert` refused the uneven width, with an AssertionError instead of a ValueError."""

    fails = ["uneven", "module_uneven"]
    hint = "An assertion is for what can't happen, and python -O skips it. Which error is for a value that can't be used?"

    def split_heads(x, num_heads):
        batch, tokens, d_model = x.shape
        assert d_model % num_heads == 0
        return x.reshape(batch, tokens, num_heads, d_model // num_heads).transpose(1, 2)

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            assert d_model % num_heads == 0
            self.num_heads = num_heads
            self.to_query = nn.Linear(d_model, d_model, bias=False)
            self.to_key = nn.Linear(d_model, d_model, bias=False)
            self.to_value = nn.Linear(d_model, d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)

        def forward(self, query, key=None, value=None, mask=None):
            key = query if key is None else key
            value = key if value is None else value
            weights = [linear.weight.T for linear in (self.to_query, self.to_key, self.to_value, self.to_output)]
            return multi_head_attention(query, key, value, *weights, self.num_heads, mask)


class no_scale:
    """The matches went into softmax undivided."""

    fails = ["scale", "attention", "module"]
    hint = "A dot product of many terms is large. By what must it be divided so that softmax does not saturate?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1)
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return merge_heads(weights @ value) @ w_output


class scale_by_model_width:
    """The matches were divided by the square root of d_model, the width of all heads together."""

    fails = ["scale", "attention", "module"]
    hint = "How many numbers of the query take part in a match within one head?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        d_model = query.shape[-1]
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(d_model)
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return merge_heads(weights @ value) @ w_output


class scale_without_root:
    """The matches were divided by d_head itself instead of its square root."""

    fails = ["scale", "attention", "module"]
    hint = "If each of d_head terms has variance 1, what is the standard deviation of their sum?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / query.shape[-1]
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return merge_heads(weights @ value) @ w_output


class scale_by_number_of_heads:
    """The matches were divided by the square root of the number of heads instead of their width."""

    fails = ["scale", "attention", "module"]
    hint = "What makes a match large: how many heads there are, or how many numbers one head compares?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(num_heads)
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return merge_heads(weights @ value) @ w_output


class softmax_over_queries:
    """Softmax ran along the queries: each key was shared out, not each query's whole."""

    fails = ["scale", "softmax", "attention", "mask", "mask_batch", "blind_row", "dtype", "module", "cross", "module_mask"]
    hint = "Axis 2 was the last one before the heads had an axis. Which one holds the keys now?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=2).masked_fill(hidden, 0.0)
        return merge_heads(weights @ value) @ w_output


class softmax_over_heads:
    """Softmax ran along the heads, so they had to share one whole instead of having one each."""

    fails = ["scale", "softmax", "output", "attention", "mask", "mask_batch", "blind_row", "dtype", "module", "defaults", "cross", "module_mask", "trains"]
    hint = "Do the heads compete with each other for a word, or do the words compete within a head?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=1).masked_fill(hidden, 0.0)
        return merge_heads(weights @ value) @ w_output


class softmax_overflows:
    """exp was taken of the scores as they are, which is infinite for large ones."""

    fails = ["softmax", "mask"]
    hint = "Softmax only looks at differences. Which number could be taken from all scores of a row first?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        parts = (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).exp()
        if mask is not None:
            parts = parts * mask.unsqueeze(-3)
        total = parts.sum(dim=-1, keepdim=True)
        return merge_heads(parts / total.masked_fill(total == 0, 1.0) @ value) @ w_output


class no_output_matrix:
    """The merged heads were returned as they are, without w_output."""

    fails = ["output", "attention", "gradient", "module", "trains"]
    hint = "Side by side, the heads know nothing of each other. What lets them mix?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return merge_heads(weights @ value)


class output_matrix_transposed:
    """w_output was multiplied as nn.Linear does it, with the transpose."""

    fails = ["output", "attention", "module"]
    hint = "Words are rows here. On which side does a matrix stand, and which of its axes meets the word?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return nn.functional.linear(merge_heads(weights @ value), w_output)


class projections_transposed:
    """The three projections were multiplied as nn.Linear does it, with the transposes."""

    fails = ["attention", "dtype", "module", "defaults", "cross", "module_mask"]
    hint = "nn.Linear keeps the transpose of its matrix. Is that how these matrices are given?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query.T, key @ w_key.T, value @ w_value.T
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return merge_heads(weights @ value) @ w_output


class query_and_key_matrices_swapped:
    """w_key made the queries and w_query the keys."""

    fails = ["attention", "module"]
    hint = "A match looks the same from both sides only if both matrices are equal. Which of them belongs to who asks?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_key, key @ w_query, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return merge_heads(weights @ value) @ w_output


class keys_and_values_swapped:
    """Keys and values were swapped: the queries matched with the values, and the keys were averaged."""

    fails = ["scale", "softmax", "attention", "mask", "mask_batch", "blind_row", "dtype", "module", "defaults", "cross", "module_mask"]
    hint = "Which of the two does a query match with, and which of the two is averaged?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, value, key = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return merge_heads(weights @ value) @ w_output


class first_head_looks_for_all:
    """Every head used the weights of head 0."""

    fails = ["scale", "attention", "module"]
    hint = "Does the part of the query that is compared move on with the head?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query[:, :1] @ key[:, :1].transpose(-2, -1) / math.sqrt(query.shape[-1])
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return merge_heads(weights @ value) @ w_output


class heads_never_split:
    """The attention was that of one wide head, however many heads were asked for."""

    fails = ["scale", "attention", "module"]
    hint = "How many rows of weights does each query have in your code, and how many should it have?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1] // num_heads)
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return weights @ value @ w_output


class heads_folded_into_the_batch_in_the_wrong_order:
    """Heads were put into the batch axis head by head and taken out sentence by sentence, so sentences got mixed."""

    fails = ["scale", "softmax", "output", "attention", "mask", "mask_batch", "blind_row", "dtype", "module", "defaults", "cross", "module_mask"]
    hint = "When two axes become one, one of them changes slowly. Is it the same one when they part again?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        batch, queries, d_model = query.shape
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (torch.cat(x.chunk(num_heads, dim=-1)) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            hidden = ~mask.expand(batch, *mask.shape[-2:]).repeat(num_heads, 1, 1)
            scores = scores.masked_fill(hidden, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        if mask is not None:
            weights = weights.masked_fill(hidden, 0.0)
        heads = (weights @ value).reshape(batch, num_heads, queries, d_model // num_heads)
        return merge_heads(heads) @ w_output


class as_many_keys_as_queries:
    """The keys and values were split with the number of queries, which breaks when the two differ."""

    fails = ["scale", "softmax", "attention", "mask", "mask_batch", "blind_row", "gradient", "vectorised", "cross", "device"]
    hint = "Whose length stands in the shape of the keys?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        batch, tokens, d_model = query.shape
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (
            x.view(batch, tokens, num_heads, d_model // num_heads).transpose(1, 2) for x in (query, key, value)
        )
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return merge_heads(weights @ value) @ w_output


class mask_ignored:
    """The mask was taken and never used."""

    fails = ["mask", "mask_batch", "blind_row", "module_mask"]
    hint = "Which step decides how much a key weighs, and what must a hidden key's score be before it?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        return merge_heads(torch.softmax(scores, dim=-1) @ value) @ w_output


class mask_inverted:
    """True was taken to mean hidden, as in torch.nn.MultiheadAttention."""

    fails = ["mask", "mask_batch", "blind_row", "module_mask"]
    hint = "Here True means that a query may look. Which keys are to be filled, those or the others?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        hidden = torch.zeros_like(scores).bool() if mask is None else mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return merge_heads(weights @ value) @ w_output


class mask_after_softmax:
    """The mask came after softmax, filled with 1e-9, so that the weights left over don't add up to 1."""

    fails = ["mask", "mask_batch", "blind_row", "dtype", "module_mask"]
    hint = "Hidden keys have had their share by then. What must be hidden so that softmax shares out the whole among the others?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1)
        if mask is not None:
            weights = weights.masked_fill(~mask.unsqueeze(-3), 1e-9)
        return merge_heads(weights @ value) @ w_output


class mask_multiplies_scores:
    """Hidden scores were multiplied by 0, and a score of 0 still has a weight."""

    fails = ["mask", "mask_batch", "blind_row", "module_mask"]
    hint = "exp(0) is 1. Which score has a weight of 0?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores * mask.unsqueeze(-3)
        return merge_heads(torch.softmax(scores, dim=-1) @ value) @ w_output


class mask_not_far_enough_down:
    """Hidden scores were set to -20, which a match that is bad enough falls short of."""

    fails = ["mask"]
    hint = "Is there a score that no other can fall short of?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(-3), -20.0)
        weights = torch.softmax(scores, dim=-1)
        if mask is not None:
            weights = weights * mask.any(dim=-1, keepdim=True).unsqueeze(-3)
        return merge_heads(weights @ value) @ w_output


class mask_without_an_axis_for_heads:
    """The mask of a batch was laid on the scores as it is, and its batch axis met the heads."""

    fails = ["mask_batch", "module_mask", "device", "blind_row"]
    hint = "The scores have four axes and this mask has three. Axes are matched from the last one: who meets whom?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return merge_heads(weights @ value) @ w_output


class mask_always_from_a_batch:
    """The axis for the heads was put at place 1, which is right only for a mask that has a batch axis."""

    fails = ["mask", "blind_row", "dtype", "gradient", "module_mask"]
    hint = "Where does place 1 lie in a mask of queries and keys? Counted from which end is it the same for both kinds of mask?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(1).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return merge_heads(weights @ value) @ w_output


class words_projected_through_a_view:
    """The words of all sentences were put below each other by `view`, which only works where they lie in memory that way."""

    fails = ["attention", "module", "module_mask"]
    hint = "`view` never moves a number. Does a product need the batch folded at all?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = ((x.view(-1, x.shape[-1]) @ w).view(x.shape) for x, w in ((query, w_query), (key, w_key), (value, w_value)))
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return merge_heads(weights @ value) @ w_output


class queries_answer_where_shapes_agree:
    """Keys of the same shape as the queries were taken for the queries, as if that were self-attention."""

    fails = ["attention", "trains"]
    hint = "Two sentences may be equally long. Does that make them the same sentence?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        if key.shape == query.shape:
            key = query
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return merge_heads(weights @ value) @ w_output


class hidden_by_twenty:
    """Hidden scores were set to -20 and their weights struck out afterwards, but some visible matches lie far below -20."""

    fails = ["mask"]
    hint = "A visible key may match as badly as it likes. Which score can nothing fall short of?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        seen = torch.ones_like(scores).bool() if mask is None else mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(~seen, -20.0), dim=-1) * seen
        total = weights.sum(dim=-1, keepdim=True)
        return merge_heads(weights / total.masked_fill(total == 0, 1.0) @ value) @ w_output


class hidden_by_ten_thousand:
    """Hidden scores were set to -10000 and their weights struck out afterwards, but a visible match may lie below even that."""

    fails = ["mask"]
    hint = "However far down a number lies, a match can lie below. Which score can nothing fall short of?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        seen = torch.ones_like(scores).bool() if mask is None else mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(~seen, -1e4), dim=-1) * seen
        total = weights.sum(dim=-1, keepdim=True)
        return merge_heads(weights / total.masked_fill(total == 0, 1.0) @ value) @ w_output


class minus_a_billion:
    """Hidden scores were set to -1e9, a number that 16 bits can't hold."""

    fails = ["dtype"]
    hint = "The lowest number of `float16` is -65504. Which score lies below all numbers, in every dtype?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        seen = torch.ones_like(scores).bool() if mask is None else mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(~seen, -1e9), dim=-1) * seen
        return merge_heads(weights @ value) @ w_output


class minus_a_billion_added:
    """-1e9 was added to hidden scores, and a match that is better than a billion came through."""

    fails = ["mask"]
    hint = "Whatever a hidden key holds, it has no part in anything. What is left of its match when a number is added, and what when it is replaced?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        seen = torch.ones_like(scores).bool() if mask is None else mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores + (~seen).to(scores.dtype) * -1e9, dim=-1) * seen.any(dim=-1, keepdim=True)
        return merge_heads(weights @ value) @ w_output


class mask_taken_for_padding:
    """A mask with as many rows as the batch has sentences was taken for one row a sentence."""

    fails = ["mask"]
    hint = "The last two axes of a mask are queries and keys, whatever their sizes. What can two equal sizes tell you?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None and mask.ndim == 2 and len(mask) == len(query):
            mask = mask[:, None]
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return merge_heads(weights @ value) @ w_output


class mask_turned_in_place:
    """The mask was turned over in place, and whoever called was left with its opposite."""

    fails = ["mask", "module_mask"]
    hint = "The next layer is handed the same mask. What does it find in it?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        hidden = torch.zeros_like(scores).bool() if mask is None else mask.logical_not_().unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return merge_heads(weights @ value) @ w_output


class blind_row_uniform:
    """A query that sees nothing averaged everything, for a row of nothing but -1e9 gives the same weights as a row of zeros."""

    fails = ["blind_row", "dtype"]
    hint = "Softmax only looks at differences. Which are left in a row where every score is -1e9?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(-3), -1e9)
        return merge_heads(torch.softmax(scores, dim=-1) @ value) @ w_output


class blind_row_nan:
    """A query that sees nothing became NaN, the 0 / 0 of a row in which every score is -inf."""

    fails = ["blind_row", "gradient"]
    hint = "The sum of no weights is 0. What should the output be where nothing was averaged?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(-3), -math.inf)
        return merge_heads(torch.softmax(scores, dim=-1) @ value) @ w_output


class blind_row_nan_going_back:
    """The NaN of a query that sees nothing was put right in the output only; its gradient is still NaN."""

    fails = ["gradient"]
    hint = "The chain rule multiplies, and 0 times NaN is NaN. Where must the NaN be stopped so that none is multiplied?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores + torch.zeros_like(mask, dtype=scores.dtype).masked_fill(~mask, -math.inf).unsqueeze(-3)
        weights = torch.softmax(scores, dim=-1)
        return merge_heads(weights.nan_to_num(0.0) @ value) @ w_output


class heads_gathered_in_single_precision:
    """The heads were written into a tensor of zeros that does not ask for the input's dtype."""

    fails = ["dtype", "trains", "device"]
    hint = "Which dtype has torch.zeros when nothing is said, and on which device does it lie?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        gathered = torch.zeros(query.shape)
        for head in range(num_heads):
            scores = query[:, head] @ key[:, head].transpose(-2, -1) / math.sqrt(query.shape[-1])
            hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.expand_as(scores)
            weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
            gathered[:, head] = weights @ value[:, head]
        return merge_heads(gathered) @ w_output.to(gathered.dtype)


class digits_lost_on_the_way:
    """The weights were computed with 32 bits and turned back afterwards, when the digits were gone."""

    fails = ["dtype"]
    hint = "`.float()` halves a double. Can the digits come back when the result is made double again?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        dtype = query.dtype
        query, key, value = (query @ w_query).float(), (key @ w_key).float(), (value @ w_value).float()
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return merge_heads(weights @ value).to(dtype) @ w_output


class weights_off_the_graph:
    """The weights were taken off the graph that autograd follows, so queries and keys never learn."""

    fails = ["gradient", "trains"]
    hint = "`.data` and `.detach()` give numbers without a history. What has to flow back through the weights?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return merge_heads(weights.data @ value) @ w_output


class a_loop_over_queries:
    """The queries were worked off one by one in a loop."""

    fails = ["vectorised"]
    hint = "A product of matrices does all of these products of vectors at once. What would the loop's index become?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        outputs = []
        for token in range(query.shape[2]):
            scores = query[:, :, token : token + 1] @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is not None:
                hidden = ~mask[..., token : token + 1, :].unsqueeze(-3)
                scores = scores.masked_fill(hidden, -math.inf)
            weights = torch.softmax(scores, dim=-1)
            if mask is not None:
                weights = weights.masked_fill(hidden, 0.0)
            outputs.append(weights @ value)
        return merge_heads(torch.cat(outputs, dim=2)) @ w_output


class a_loop_over_keys:
    """The keys were compared one by one in a loop."""

    fails = ["vectorised"]
    hint = "A product of matrices does all of these products of vectors at once. What would the loop's index become?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        matches = [(query * key[:, :, token : token + 1]).sum(-1) for token in range(key.shape[2])]
        scores = torch.stack(matches, dim=-1) / math.sqrt(query.shape[-1])
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return merge_heads(weights @ value) @ w_output


class key_projected_by_the_query_matrix:
    """The module has four matrices and uses only three of them."""

    fails = ["module", "trains"]
    hint = "One line, copied and not changed, is enough for that. Which of queries, keys, values and output goes without a matrix of its own?"

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            if d_model % num_heads:
                raise ValueError("the heads don't divide the width")
            self.num_heads = num_heads
            self.to_query = nn.Linear(d_model, d_model, bias=False)
            self.to_key = nn.Linear(d_model, d_model, bias=False)
            self.to_value = nn.Linear(d_model, d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)

        def forward(self, query, key=None, value=None, mask=None):
            key = query if key is None else key
            value = key if value is None else value
            weights = [linear.weight.T for linear in (self.to_query, self.to_query, self.to_value, self.to_output)]
            return multi_head_attention(query, key, value, *weights, self.num_heads, mask)


class query_and_key_layers_swapped:
    """The module handed on its matrices in the wrong order, the one of the keys first."""

    fails = ["module"]
    hint = "A match looks the same from both sides only if both matrices are equal. In which order does your function take them?"

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            if d_model % num_heads:
                raise ValueError("the heads don't divide the width")
            self.num_heads = num_heads
            self.to_query = nn.Linear(d_model, d_model, bias=False)
            self.to_key = nn.Linear(d_model, d_model, bias=False)
            self.to_value = nn.Linear(d_model, d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)

        def forward(self, query, key=None, value=None, mask=None):
            key = query if key is None else key
            value = key if value is None else value
            weights = [linear.weight.T for linear in (self.to_key, self.to_query, self.to_value, self.to_output)]
            return multi_head_attention(query, key, value, *weights, self.num_heads, mask)


class linear_weights_not_transposed:
    """The weights of nn.Linear were used as they stand, though they are kept transposed."""

    fails = ["module", "defaults", "cross", "module_mask"]
    hint = "nn.Linear computes x @ weight.T. Which shape and which order do its weights have?"

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            if d_model % num_heads:
                raise ValueError("the heads don't divide the width")
            self.num_heads = num_heads
            self.to_query = nn.Linear(d_model, d_model, bias=False)
            self.to_key = nn.Linear(d_model, d_model, bias=False)
            self.to_value = nn.Linear(d_model, d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)

        def forward(self, query, key=None, value=None, mask=None):
            key = query if key is None else key
            value = key if value is None else value
            weights = [linear.weight for linear in (self.to_query, self.to_key, self.to_value, self.to_output)]
            return multi_head_attention(query, key, value, *weights, self.num_heads, mask)


class output_layer_forgotten:
    """The module merged the heads and stopped there: its output matrix takes no part."""

    fails = ["module", "trains"]
    hint = "What becomes of the heads after they are merged?"

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            if d_model % num_heads:
                raise ValueError("the heads don't divide the width")
            self.num_heads = num_heads
            self.to_query = nn.Linear(d_model, d_model, bias=False)
            self.to_key = nn.Linear(d_model, d_model, bias=False)
            self.to_value = nn.Linear(d_model, d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)

        def forward(self, query, key=None, value=None, mask=None):
            key = query if key is None else key
            value = key if value is None else value
            query, key, value = self.to_query(query), self.to_key(key), self.to_value(value)
            same = torch.eye(query.shape[-1], dtype=query.dtype, device=query.device)
            return multi_head_attention(query, key, value, same, same, same, same, self.num_heads, mask)


class nothing_by_default:
    """`key` and `value` were passed on as None."""

    fails = ["defaults", "device"]
    hint = "Who answers when only the query is given?"

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            if d_model % num_heads:
                raise ValueError("the heads don't divide the width")
            self.num_heads = num_heads
            self.to_query = nn.Linear(d_model, d_model, bias=False)
            self.to_key = nn.Linear(d_model, d_model, bias=False)
            self.to_value = nn.Linear(d_model, d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)

        def forward(self, query, key=None, value=None, mask=None):
            weights = [linear.weight.T for linear in (self.to_query, self.to_key, self.to_value, self.to_output)]
            return multi_head_attention(query, key, value, *weights, self.num_heads, mask)


class value_defaults_to_query:
    """Without a value, the words that ask gave the values too."""

    fails = ["defaults"]
    hint = "Two words ask, three others are looked at. Whose values are to be averaged?"

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            if d_model % num_heads:
                raise ValueError("the heads don't divide the width")
            self.num_heads = num_heads
            self.to_query = nn.Linear(d_model, d_model, bias=False)
            self.to_key = nn.Linear(d_model, d_model, bias=False)
            self.to_value = nn.Linear(d_model, d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)

        def forward(self, query, key=None, value=None, mask=None):
            key = query if key is None else key
            value = query if value is None else value
            weights = [linear.weight.T for linear in (self.to_query, self.to_key, self.to_value, self.to_output)]
            return multi_head_attention(query, key, value, *weights, self.num_heads, mask)


class value_ignored:
    """The value that was given was never used; the keys stood in for it."""

    fails = ["cross", "trains"]
    hint = "A word may be found by one thing and give another. Which input says what it gives?"

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            if d_model % num_heads:
                raise ValueError("the heads don't divide the width")
            self.num_heads = num_heads
            self.to_query = nn.Linear(d_model, d_model, bias=False)
            self.to_key = nn.Linear(d_model, d_model, bias=False)
            self.to_value = nn.Linear(d_model, d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)

        def forward(self, query, key=None, value=None, mask=None):
            key = query if key is None else key
            weights = [linear.weight.T for linear in (self.to_query, self.to_key, self.to_value, self.to_output)]
            return multi_head_attention(query, key, key, *weights, self.num_heads, mask)


class only_self_attention:
    """The key and the value that were given were never used: the query looked at itself."""

    fails = ["defaults", "cross", "trains"]
    hint = "Who is asked when a key is given?"

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            if d_model % num_heads:
                raise ValueError("the heads don't divide the width")
            self.num_heads = num_heads
            self.to_query = nn.Linear(d_model, d_model, bias=False)
            self.to_key = nn.Linear(d_model, d_model, bias=False)
            self.to_value = nn.Linear(d_model, d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)

        def forward(self, query, key=None, value=None, mask=None):
            weights = [linear.weight.T for linear in (self.to_query, self.to_key, self.to_value, self.to_output)]
            return multi_head_attention(query, query, query, *weights, self.num_heads, mask)


class mask_not_passed_on:
    """The module took the mask and did not hand it on."""

    fails = ["module_mask", "blind_row"]
    hint = "Where does the attention of your module learn what may be seen?"

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            if d_model % num_heads:
                raise ValueError("the heads don't divide the width")
            self.num_heads = num_heads
            self.to_query = nn.Linear(d_model, d_model, bias=False)
            self.to_key = nn.Linear(d_model, d_model, bias=False)
            self.to_value = nn.Linear(d_model, d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)

        def forward(self, query, key=None, value=None, mask=None):
            key = query if key is None else key
            value = key if value is None else value
            weights = [linear.weight.T for linear in (self.to_query, self.to_key, self.to_value, self.to_output)]
            return multi_head_attention(query, key, value, *weights, self.num_heads)


class module_uneven_unnoticed:
    """The module was made without a look at the width, and would break when it is first used."""

    fails = ["module_uneven"]
    hint = "How many numbers does each head get here, and who should say so, when?"

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            self.num_heads = num_heads
            self.to_query = nn.Linear(d_model, d_model, bias=False)
            self.to_key = nn.Linear(d_model, d_model, bias=False)
            self.to_value = nn.Linear(d_model, d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)

        def forward(self, query, key=None, value=None, mask=None):
            key = query if key is None else key
            value = key if value is None else value
            weights = [linear.weight.T for linear in (self.to_query, self.to_key, self.to_value, self.to_output)]
            return multi_head_attention(query, key, value, *weights, self.num_heads, mask)


class weights_without_a_history:
    """The matrices were used through `.data`, so no gradient finds them."""

    fails = ["trains"]
    hint = "`.data` gives numbers without a history. What does autograd need in order to reach the weights?"

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            if d_model % num_heads:
                raise ValueError("the heads don't divide the width")
            self.num_heads = num_heads
            self.to_query = nn.Linear(d_model, d_model, bias=False)
            self.to_key = nn.Linear(d_model, d_model, bias=False)
            self.to_value = nn.Linear(d_model, d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)

        def forward(self, query, key=None, value=None, mask=None):
            key = query if key is None else key
            value = key if value is None else value
            weights = [linear.weight.data.T for linear in (self.to_query, self.to_key, self.to_value, self.to_output)]
            return multi_head_attention(query, key, value, *weights, self.num_heads, mask)


class matrices_in_a_plain_list:
    """The matrices were kept in a plain list, where a module does not look for what is to be trained."""

    fails = ["trains", "device"]
    hint = "Which kind of list tells the module about its contents?"

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            if d_model % num_heads:
                raise ValueError("the heads don't divide the width")
            self.num_heads = num_heads
            self.matrices = [nn.Linear(d_model, d_model, bias=False) for _ in range(4)]

        def forward(self, query, key=None, value=None, mask=None):
            key = query if key is None else key
            value = key if value is None else value
            weights = [linear.weight.T for linear in self.matrices]
            return multi_head_attention(query, key, value, *weights, self.num_heads, mask)

    def set_weights(attention, w_query, w_key, w_value, w_output):
        with torch.no_grad():
            for linear, w in zip(attention.matrices, (w_query, w_key, w_value, w_output)):
                linear.weight.copy_(w.T)


class last_matrix_a_plain_tensor:
    """The last matrix was a plain tensor beside three layers, so a module does not find it when it is trained."""

    fails = ["trains", "device"]
    hint = "Count the numbers that can learn. How many matrices do they come to?"

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            if d_model % num_heads:
                raise ValueError("the heads don't divide the width")
            self.num_heads = num_heads
            self.to_query = nn.Linear(d_model, d_model, bias=False)
            self.to_key = nn.Linear(d_model, d_model, bias=False)
            self.to_value = nn.Linear(d_model, d_model, bias=False)
            self.w_output = torch.randn(d_model, d_model) / math.sqrt(d_model)

        def forward(self, query, key=None, value=None, mask=None):
            key = query if key is None else key
            value = key if value is None else value
            weights = [linear.weight.T for linear in (self.to_query, self.to_key, self.to_value)]
            return multi_head_attention(query, key, value, *weights, self.w_output, self.num_heads, mask)

    def set_weights(attention, w_query, w_key, w_value, w_output):
        with torch.no_grad():
            attention.to_query.weight.copy_(w_query.T)
            attention.to_key.weight.copy_(w_key.T)
            attention.to_value.weight.copy_(w_value.T)
            attention.w_output.copy_(w_output)


class layers_with_a_bias:
    """The layers have biases, which the exercise does not have and nobody sets."""

    fails = ["module", "defaults", "cross", "module_mask", "trains", "blind_row"]
    hint = "What does nn.Linear add by itself unless you tell it not to?"

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            if d_model % num_heads:
                raise ValueError("the heads don't divide the width")
            self.num_heads = num_heads
            self.to_query = nn.Linear(d_model, d_model)
            self.to_key = nn.Linear(d_model, d_model)
            self.to_value = nn.Linear(d_model, d_model)
            self.to_output = nn.Linear(d_model, d_model)

        def forward(self, query, key=None, value=None, mask=None):
            key = query if key is None else key
            value = key if value is None else value
            query, key, value = (split_heads(x, self.num_heads) for x in (self.to_query(query), self.to_key(key), self.to_value(value)))
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(-3).expand_as(scores)
            weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
            return self.to_output(merge_heads(weights @ value))


class query_added_to_the_output:
    """The query was added to what the heads found, as the layer around it does; attention by itself does not."""

    fails = ["module", "defaults", "cross", "module_mask", "trains", "blind_row"]
    hint = "A residual connection belongs to the encoder layer. What is left of the output where all values are 0?"

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            if d_model % num_heads:
                raise ValueError("the heads don't divide the width")
            self.num_heads = num_heads
            self.to_query = nn.Linear(d_model, d_model, bias=False)
            self.to_key = nn.Linear(d_model, d_model, bias=False)
            self.to_value = nn.Linear(d_model, d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)

        def forward(self, query, key=None, value=None, mask=None):
            key = query if key is None else key
            value = key if value is None else value
            matrices = (self.to_query, self.to_key, self.to_value, self.to_output)
            weights = [linear.weight.T for linear in matrices]
            return query + multi_head_attention(query, key, value, *weights, self.num_heads, mask)


class module_shrinks_its_matrix:
    """The scale was put on the matrix of the queries itself, which shrank further with every call."""

    fails = ["module"]
    hint = "What is in `weight` after the first call, and what after the second?"

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            if d_model % num_heads:
                raise ValueError("the heads don't divide the width")
            self.num_heads = num_heads
            self.to_query = nn.Linear(d_model, d_model, bias=False)
            self.to_key = nn.Linear(d_model, d_model, bias=False)
            self.to_value = nn.Linear(d_model, d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)

        def forward(self, query, key=None, value=None, mask=None):
            key = query if key is None else key
            value = key if value is None else value
            d_head = query.shape[-1] // self.num_heads
            self.to_query.weight.data /= math.sqrt(d_head)
            w_query, w_key, w_value, w_output = (linear.weight.T for linear in (self.to_query, self.to_key, self.to_value, self.to_output))
            return multi_head_attention(query, key, value, w_query * math.sqrt(d_head), w_key, w_value, w_output, self.num_heads, mask)


class module_keeps_its_first_mask:
    """The module kept the first mask that it was given, and used it for ever after."""

    fails = ["module_mask"]
    hint = "What does the module still know of an earlier call, and what should it?"

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            if d_model % num_heads:
                raise ValueError("the heads don't divide the width")
            self.num_heads = num_heads
            self.to_query = nn.Linear(d_model, d_model, bias=False)
            self.to_key = nn.Linear(d_model, d_model, bias=False)
            self.to_value = nn.Linear(d_model, d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)
            self.mask = None

        def forward(self, query, key=None, value=None, mask=None):
            key = query if key is None else key
            value = key if value is None else value
            self.mask = mask if self.mask is None else self.mask
            weights = [linear.weight.T for linear in (self.to_query, self.to_key, self.to_value, self.to_output)]
            return multi_head_attention(query, key, value, *weights, self.num_heads, self.mask)


class module_cuts_off_its_context:
    """Keys and values were detached, so whatever made them could never learn from being looked at."""

    fails = ["trains"]
    hint = "Another layer may have made the words that answer. What does it learn from, if no gradient comes back to it?"

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            if d_model % num_heads:
                raise ValueError("the heads don't divide the width")
            self.num_heads = num_heads
            self.to_query = nn.Linear(d_model, d_model, bias=False)
            self.to_key = nn.Linear(d_model, d_model, bias=False)
            self.to_value = nn.Linear(d_model, d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)

        def forward(self, query, key=None, value=None, mask=None):
            key = query if key is None else key.detach()
            value = key if value is None else value.detach()
            weights = [linear.weight.T for linear in (self.to_query, self.to_key, self.to_value, self.to_output)]
            return multi_head_attention(query, key, value, *weights, self.num_heads, mask)


class mask_of_ones_on_the_cpu:
    """Where no mask was given, a mask of ones was made on the CPU."""

    fails = ["device"]
    hint = "`torch.ones` does not know where your words lie. Who tells it?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is None:
            mask = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool)
        hidden = ~mask.unsqueeze(-3)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return merge_heads(weights @ value) @ w_output


class infinities_on_the_cpu:
    """Hidden scores were taken from a table of minus infinity that was filled on the CPU."""

    fails = ["device"]
    hint = "A plain `-math.inf` lies nowhere, so it goes with every device. Where does a table of it lie?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is None:
            return merge_heads(torch.softmax(scores, dim=-1) @ value) @ w_output
        mask = mask.unsqueeze(-3)
        weights = torch.softmax(torch.where(mask, scores, torch.full(scores.shape, -math.inf, dtype=scores.dtype)), dim=-1)
        return merge_heads(weights.masked_fill(~mask, 0.0) @ value) @ w_output


class scale_in_a_row_of_one:
    """The width of a head was put into a tensor on the CPU to take its root, and that tensor has an axis."""

    fails = ["device"]
    hint = "`math.sqrt` gives a number that lies nowhere. On which device lies the tensor that your scores are divided by?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / torch.tensor([query.shape[-1]], dtype=query.dtype).sqrt()
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return merge_heads(weights @ value) @ w_output


class heads_gathered_on_the_cpu:
    """The heads were written into a tensor of zeros that has the dtype of the words, but lies on the CPU."""

    fails = ["device"]
    hint = "Writing into a tensor does not move it. What must `torch.zeros` be told besides the dtype?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        gathered = torch.zeros(query.shape, dtype=query.dtype)
        for head in range(num_heads):
            scores = query[:, head] @ key[:, head].transpose(-2, -1) / math.sqrt(query.shape[-1])
            hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.expand_as(scores)
            weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
            gathered[:, head] = weights @ value[:, head]
        return merge_heads(gathered) @ w_output


class output_on_the_cpu:
    """The output was brought to the CPU, wherever the words lie."""

    fails = ["device"]
    hint = "The next layer lies where the words came from. Where will it look for your output?"

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query, key, value = query @ w_query, key @ w_key, value @ w_value
        query, key, value = (split_heads(x, num_heads) for x in (query, key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        hidden = torch.zeros_like(scores).bool() if mask is None else ~mask.unsqueeze(-3).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
        return (merge_heads(weights @ value) @ w_output).cpu()


class mask_that_is_no_buffer:
    """The module kept a mask of ones in a plain attribute, which stays behind when the module is moved."""

    fails = ["device"]
    hint = "`module.to` moves parameters and buffers. How does a tensor become a buffer?"

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            if d_model % num_heads:
                raise ValueError("the heads don't divide the width")
            self.num_heads = num_heads
            self.to_query = nn.Linear(d_model, d_model, bias=False)
            self.to_key = nn.Linear(d_model, d_model, bias=False)
            self.to_value = nn.Linear(d_model, d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)
            self.all = torch.ones(1, 1, dtype=torch.bool)

        def forward(self, query, key=None, value=None, mask=None):
            key = query if key is None else key
            value = key if value is None else value
            mask = self.all if mask is None else mask
            weights = [linear.weight.T for linear in (self.to_query, self.to_key, self.to_value, self.to_output)]
            return multi_head_attention(query, key, value, *weights, self.num_heads, mask)
