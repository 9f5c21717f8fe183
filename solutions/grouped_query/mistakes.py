"""Wrong answers that people write. Parsed, never imported; see autograder/exercise/known.py."""
import math

import torch
from torch import nn


class shared_in_turn:
    """The heads of keys were dealt out in turn, like cards, where neighbours share one."""

    fails = ["groups"]
    hint = "Heads 0 and 1 are a group. What do `repeat` and `repeat_interleave` make of (a, b)?"

    def grouped_attention(query, key, value, mask=None):
        if query.shape[1] % key.shape[1]:
            raise ValueError("the heads don't fall into groups")
        group = query.shape[1] // key.shape[1]
        key, value = key.repeat(1, group, 1, 1), value.repeat(1, group, 1, 1)
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~(mask if mask.ndim == 2 else mask[:, None]), -math.inf)
        return torch.softmax(scores, dim=-1) @ value


class values_shared_in_turn:
    """Neighbours share their keys, but the values were dealt out in turn."""

    fails = ["groups"]
    hint = "A head found its word by a key. Is the value that it took the value of the same head of keys?"

    def grouped_attention(query, key, value, mask=None):
        if query.shape[1] % key.shape[1]:
            raise ValueError("the heads don't fall into groups")
        group = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(group, dim=1), value.repeat(1, group, 1, 1)
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~(mask if mask.ndim == 2 else mask[:, None]), -math.inf)
        return torch.softmax(scores, dim=-1) @ value


class groups_of_the_wrong_size:
    """The queries were cut into groups of `num_kv_heads` heads, where there are `num_kv_heads` groups."""

    fails = ["groups"]
    hint = "With 6 heads and 2 of keys, how many groups are there, and how many heads has a group? Which of the two is the first axis?"

    def grouped_attention(query, key, value, mask=None):
        num_heads, num_kv_heads = query.shape[1], key.shape[1]
        if num_heads % num_kv_heads:
            raise ValueError("the heads don't fall into groups")
        grouped = query.unflatten(1, (-1, num_kv_heads))
        scores = grouped @ key.unsqueeze(1).mT / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask.unflatten(-2, (1, 1, -1)), -math.inf)
        return (torch.softmax(scores, dim=-1) @ value.unsqueeze(1)).transpose(1, 2).flatten(1, 2)


class first_head_for_all:
    """All heads of queries read the first head of keys and values, as if there were no other."""

    fails = ["groups", "scale"]
    hint = "What do the other heads of keys say, and who reads them?"

    def grouped_attention(query, key, value, mask=None):
        if query.shape[1] % key.shape[1]:
            raise ValueError("the heads don't fall into groups")
        key, value = key[:, :1], value[:, :1]
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~(mask if mask.ndim == 2 else mask[:, None]), -math.inf)
        return torch.softmax(scores, dim=-1) @ value


class left_to_broadcasting:
    """The sharing was left to torch's rule for axes of length one, which knows one head, or as many as there are heads of queries, and nothing between."""

    fails = ["groups", "module", "module_mask", "trains", "device"]
    hint = "Torch repeats an axis of length one by itself. What does it do with an axis of two that meets one of four?"

    def grouped_attention(query, key, value, mask=None):
        if query.shape[1] % key.shape[1]:
            raise ValueError("the heads don't fall into groups")
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~(mask if mask.ndim == 2 else mask[:, None]), -math.inf)
        return torch.softmax(scores, dim=-1) @ value


class queries_averaged:
    """The queries of a group were averaged, so all its heads ask the same."""

    fails = ["groups", "multi_query"]
    hint = "What is shared in a group: what is asked, or what is looked at?"

    def grouped_attention(query, key, value, mask=None):
        if query.shape[1] % key.shape[1]:
            raise ValueError("the heads don't fall into groups")
        group = query.shape[1] // key.shape[1]
        asked = query.unflatten(1, (-1, group)).mean(dim=2)
        scores = asked @ key.mT / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~(mask if mask.ndim == 2 else mask[:, None]), -math.inf)
        return (torch.softmax(scores, dim=-1) @ value).repeat_interleave(group, dim=1)


class one_head_for_a_group:
    """A group came out as one head: what its heads found was averaged."""

    fails = ["groups", "multi_query", "mask", "module", "module_mask", "trains", "device"]
    hint = "How many heads of queries went in, and how many came out?"

    def grouped_attention(query, key, value, mask=None):
        num_heads, num_kv_heads = query.shape[1], key.shape[1]
        if num_heads % num_kv_heads:
            raise ValueError("the heads don't fall into groups")
        scores = query.unflatten(1, (num_kv_heads, -1)) @ key.unsqueeze(2).mT / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask.unflatten(-2, (1, 1, -1)), -math.inf)
        return (torch.softmax(scores, dim=-1) @ value.unsqueeze(2)).mean(dim=2)


class softmax_over_the_group:
    """Softmax went over the heads of a group, so they share one whole among them."""

    fails = ["groups", "scale", "multi_query", "mask", "module_mask", "trains"]
    hint = "Among whom does one query deal out its shares: among the heads, or among the keys?"

    def grouped_attention(query, key, value, mask=None):
        num_heads, num_kv_heads = query.shape[1], key.shape[1]
        if num_heads % num_kv_heads:
            raise ValueError("the heads don't fall into groups")
        scores = query.unflatten(1, (num_kv_heads, -1)) @ key.unsqueeze(2).mT / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask.unflatten(-2, (1, 1, -1)), -math.inf)
        return (torch.softmax(scores, dim=2) @ value.unsqueeze(2)).flatten(1, 2)


class no_scale:
    """The scores went into softmax undivided."""

    fails = ["scale"]
    hint = "Sharing keys doesn't make a dot product shorter. How many terms has it?"

    def grouped_attention(query, key, value, mask=None):
        if query.shape[1] % key.shape[1]:
            raise ValueError("the heads don't fall into groups")
        group = query.shape[1] // key.shape[1]
        scores = query @ key.repeat_interleave(group, dim=1).mT
        if mask is not None:
            scores = scores.masked_fill(~(mask if mask.ndim == 2 else mask[:, None]), -math.inf)
        return torch.softmax(scores, dim=-1) @ value.repeat_interleave(group, dim=1)


class scaled_by_the_width_of_the_model:
    """The scores were divided by the square root of all heads' width together."""

    fails = ["scale"]
    hint = "How many numbers meet in one dot product: those of all heads, or those of one?"

    def grouped_attention(query, key, value, mask=None):
        if query.shape[1] % key.shape[1]:
            raise ValueError("the heads don't fall into groups")
        group = query.shape[1] // key.shape[1]
        scores = query @ key.repeat_interleave(group, dim=1).mT / math.sqrt(query.shape[1] * query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~(mask if mask.ndim == 2 else mask[:, None]), -math.inf)
        return torch.softmax(scores, dim=-1) @ value.repeat_interleave(group, dim=1)


class mask_ignored:
    """The mask was taken and not used."""

    fails = ["mask", "module_mask"]
    hint = "Which line of your function reads `mask`?"

    def grouped_attention(query, key, value, mask=None):
        if query.shape[1] % key.shape[1]:
            raise ValueError("the heads don't fall into groups")
        group = query.shape[1] // key.shape[1]
        scores = query @ key.repeat_interleave(group, dim=1).mT / math.sqrt(query.shape[-1])
        return torch.softmax(scores, dim=-1) @ value.repeat_interleave(group, dim=1)


class mask_inverted:
    """What may be seen was hidden, and what may not was shown."""

    fails = ["mask", "module_mask"]
    hint = "True means: may look. Which scores become minus infinity?"

    def grouped_attention(query, key, value, mask=None):
        if query.shape[1] % key.shape[1]:
            raise ValueError("the heads don't fall into groups")
        group = query.shape[1] // key.shape[1]
        scores = query @ key.repeat_interleave(group, dim=1).mT / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(mask if mask.ndim == 2 else mask[:, None], -math.inf)
        return torch.softmax(scores, dim=-1) @ value.repeat_interleave(group, dim=1)


class mask_of_a_sentence_taken_for_a_head:
    """A mask for each sentence met the scores with its first axis at the heads."""

    fails = ["mask", "module_mask"]
    hint = "Shapes are lined up from the right. Which axis of the scores lies above the first one of (batch, queries, keys)?"

    def grouped_attention(query, key, value, mask=None):
        if query.shape[1] % key.shape[1]:
            raise ValueError("the heads don't fall into groups")
        group = query.shape[1] // key.shape[1]
        scores = query @ key.repeat_interleave(group, dim=1).mT / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        return torch.softmax(scores, dim=-1) @ value.repeat_interleave(group, dim=1)


class shared_out_again:
    """The weights of hidden keys were cleared after softmax, and the rest was shared out again."""

    fails = ["mask"]
    hint = "A hidden key has the score 1000, and those that are seen have 1 and 2. What did softmax leave of theirs, before you shared it out again?"

    def grouped_attention(query, key, value, mask=None):
        if query.shape[1] % key.shape[1]:
            raise ValueError("the heads can't be shared in equal parts")
        grouped = query.unflatten(1, (key.shape[1], -1))
        weights = torch.softmax(grouped @ key.unsqueeze(2).transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1)
        if mask is not None:
            weights = weights * mask.unflatten(-2, (1, 1, -1))
            weights = weights / weights.sum(dim=-1, keepdim=True)
        return (weights @ value.unsqueeze(2)).flatten(1, 2)


class hidden_keys_at_minus_twenty:
    """The scores of hidden keys became -20, and a key that may be seen can have a lower one."""

    fails = ["mask"]
    hint = "Every key that is seen has a score of -1,000 or less. Who gets the weight then, if hidden keys have -20?"

    def grouped_attention(query, key, value, mask=None):
        if query.shape[1] % key.shape[1]:
            raise ValueError("the heads can't be shared in equal parts")
        grouped = query.unflatten(1, (key.shape[1], -1))
        scores = grouped @ key.unsqueeze(2).transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask.unflatten(-2, (1, 1, -1)), -20.0)
        return (torch.softmax(scores, dim=-1) @ value.unsqueeze(2)).flatten(1, 2)


class hidden_keys_at_minus_ten_thousand:
    """The scores of hidden keys became -10,000, and a key that may be seen can have a lower one."""

    fails = ["mask"]
    hint = "Every key that is seen has a score below -100,000. Who gets the weight then, if hidden keys have -10,000?"

    def grouped_attention(query, key, value, mask=None):
        if query.shape[1] % key.shape[1]:
            raise ValueError("the heads can't be shared in equal parts")
        grouped = query.unflatten(1, (key.shape[1], -1))
        scores = grouped @ key.unsqueeze(2).transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask.unflatten(-2, (1, 1, -1)), -1e4)
        return (torch.softmax(scores, dim=-1) @ value.unsqueeze(2)).flatten(1, 2)


class hidden_keys_at_minus_one_billion:
    """The scores of hidden keys became -1e9, a number that 16 bits don't have."""

    fails = ["mask"]
    hint = "The smallest number of float16 is -65504. Which number lies below all others, in every dtype?"

    def grouped_attention(query, key, value, mask=None):
        if query.shape[1] % key.shape[1]:
            raise ValueError("the heads can't be shared in equal parts")
        grouped = query.unflatten(1, (key.shape[1], -1))
        scores = grouped @ key.unsqueeze(2).transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask.unflatten(-2, (1, 1, -1)), -1e9)
        return (torch.softmax(scores, dim=-1) @ value.unsqueeze(2)).flatten(1, 2)


class mask_of_the_batch_by_its_size:
    """A mask with three axes was taken for one of heads wherever there are as many heads as the mask is long."""

    fails = ["mask"]
    hint = "Two sentences and two heads: which of the two has a mask for each?"

    def grouped_attention(query, key, value, mask=None):
        if query.shape[1] % key.shape[1]:
            raise ValueError("the heads can't be shared in equal parts")
        grouped = query.unflatten(1, (key.shape[1], -1))
        scores = grouped @ key.unsqueeze(2).transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            mask = mask[:, None, None] if mask.ndim == 3 and len(mask) != query.shape[1] else mask.unflatten(0, (key.shape[1], -1)) if mask.ndim == 3 else mask
            scores = scores.masked_fill(~mask, -math.inf)
        return (torch.softmax(scores, dim=-1) @ value.unsqueeze(2)).flatten(1, 2)


class always_looking_back:
    """Where there are as many keys as queries, words were hidden that come later, without a mask that says so."""

    fails = ["groups", "scale"]
    hint = "As many queries as keys: who says whether the first one may look at the last?"

    def grouped_attention(query, key, value, mask=None):
        if query.shape[1] % key.shape[1]:
            raise ValueError("the heads can't be shared in equal parts")
        grouped = query.unflatten(1, (key.shape[1], -1))
        scores = grouped @ key.unsqueeze(2).transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is None and query.shape[2] == key.shape[2]:
            mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool, device=query.device).tril()
        if mask is not None:
            scores = scores.masked_fill(~mask.unflatten(-2, (1, 1, -1)), -math.inf)
        return (torch.softmax(scores, dim=-1) @ value.unsqueeze(2)).flatten(1, 2)


class attention_in_32_bits:
    """Attention was computed in 32 bits, also where its inputs have 64."""

    fails = ["groups"]
    hint = "The output has 64 bits again. How many digits had the weights on the way?"

    def grouped_attention(query, key, value, mask=None):
        given = query.dtype
        query, key, value = query.float(), key.float(), value.float()
        if query.shape[1] % key.shape[1]:
            raise ValueError("the heads can't be shared in equal parts")
        grouped = query.unflatten(1, (key.shape[1], -1))
        scores = grouped @ key.unsqueeze(2).transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask.unflatten(-2, (1, 1, -1)), -math.inf)
        return (torch.softmax(scores, dim=-1) @ value.unsqueeze(2)).flatten(1, 2).to(given)


class heads_laid_out_by_view:
    """The heads of a group were laid along the queries by `view`, which refuses tensors that were transposed, as split heads are."""

    fails = ["groups", "mask"]
    hint = "Heads that were split were transposed. What does `reshape` do where `view` gives up?"

    def grouped_attention(query, key, value, mask=None):
        batch, num_heads, queries, d_head = query.shape
        if num_heads % key.shape[1]:
            raise ValueError("the heads can't be shared in equal parts")
        scores = query.view(batch, key.shape[1], -1, d_head) @ key.transpose(-2, -1) / math.sqrt(d_head)
        if mask is not None:
            scores = scores.unflatten(2, (-1, queries)).masked_fill(~mask.unflatten(-2, (1, 1, -1)), -math.inf).flatten(2, 3)
        return (torch.softmax(scores, dim=-1) @ value).view(query.shape)

    class GroupedQueryAttention(nn.Module):
        def __init__(self, d_model, num_heads, num_kv_heads):
            super().__init__()
            self.d_head = d_model // num_heads
            self.to_query, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(2))
            self.to_key, self.to_value = (nn.Linear(d_model, num_kv_heads * self.d_head, bias=False) for _ in range(2))

        def forward(self, x, mask=None):
            projected = (to(x) for to in (self.to_query, self.to_key, self.to_value))
            heads = (each.unflatten(-1, (-1, self.d_head)).transpose(1, 2).contiguous() for each in projected)
            return self.to_output(grouped_attention(*heads, mask).transpose(1, 2).flatten(2))


class queries_scaled_in_place:
    """The queries were divided where they lie, and whoever handed them over finds them changed."""

    fails = ["groups"]
    hint = "What is the difference between `query /= 2` and `query = query / 2` for whoever handed you the query?"

    def grouped_attention(query, key, value, mask=None):
        query /= math.sqrt(query.shape[-1])
        if query.shape[1] % key.shape[1]:
            raise ValueError("the heads can't be shared in equal parts")
        grouped = query.unflatten(1, (key.shape[1], -1))
        scores = grouped @ key.unsqueeze(2).transpose(-2, -1)
        if mask is not None:
            scores = scores.masked_fill(~mask.unflatten(-2, (1, 1, -1)), -math.inf)
        return (torch.softmax(scores, dim=-1) @ value.unsqueeze(2)).flatten(1, 2)


class uneven_groups_cut_off:
    """Heads that don't fall into groups were dealt out all the same, and what was left over read the last head."""

    fails = ["uneven"]
    hint = "Whose keys should the fourth of four heads read, if three were made? Would the caller notice?"

    def grouped_attention(query, key, value, mask=None):
        group = max(1, query.shape[1] // key.shape[1])
        head = (torch.arange(query.shape[1], device=query.device) // group).clamp(max=key.shape[1] - 1)
        scores = query @ key[:, head].mT / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~(mask if mask.ndim == 2 else mask[:, None]), -math.inf)
        return torch.softmax(scores, dim=-1) @ value[:, head]


class uneven_left_to_torch:
    """What doesn't fall into groups was left for torch to complain about, by an error about shapes."""

    fails = ["uneven"]
    hint = "Would a caller understand from two sizes that don't match that the heads can't be shared out?"

    def grouped_attention(query, key, value, mask=None):
        group = query.shape[1] // key.shape[1]
        scores = query @ key.repeat_interleave(group, dim=1).mT / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~(mask if mask.ndim == 2 else mask[:, None]), -math.inf)
        return torch.softmax(scores, dim=-1) @ value.repeat_interleave(group, dim=1)


class keys_as_wide_as_queries:
    """The matrices of keys and values are as wide as that of the queries, so nothing is saved."""

    fails = ["module", "module_mask", "trains"]
    hint = "Keys and values have `num_kv_heads` heads. How many columns are that?"

    class GroupedQueryAttention(nn.Module):
        def __init__(self, d_model, num_heads, num_kv_heads):
            super().__init__()
            self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))

        def forward(self, x, mask=None):
            heads = (to(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for to in (self.to_query, self.to_key, self.to_value))
            return self.to_output(grouped_attention(*heads, mask).transpose(1, 2).flatten(2))


class heads_split_by_view_alone:
    """The heads were split by a view alone, so a head got some words whole instead of a part of every word."""

    fails = ["module", "module_mask"]
    hint = "A view only cuts the row of numbers in memory anew. Which two axes still have to change places?"

    class GroupedQueryAttention(nn.Module):
        def __init__(self, d_model, num_heads, num_kv_heads):
            super().__init__()
            self.d_head = d_model // num_heads
            self.to_query, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(2))
            self.to_key, self.to_value = (nn.Linear(d_model, num_kv_heads * self.d_head, bias=False) for _ in range(2))

        def forward(self, x, mask=None):
            batch, tokens, _ = x.shape
            heads = (to(x).reshape(batch, -1, tokens, self.d_head) for to in (self.to_query, self.to_key, self.to_value))
            return self.to_output(grouped_attention(*heads, mask).transpose(1, 2).flatten(2))


class heads_merged_by_view_alone:
    """The heads were merged by a view alone, with heads and words still in the order in which attention needs them."""

    fails = ["module", "module_mask"]
    hint = "What must stand next to the width of a head before the two can become one axis?"

    class GroupedQueryAttention(nn.Module):
        def __init__(self, d_model, num_heads, num_kv_heads):
            super().__init__()
            self.d_head = d_model // num_heads
            self.to_query, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(2))
            self.to_key, self.to_value = (nn.Linear(d_model, num_kv_heads * self.d_head, bias=False) for _ in range(2))

        def forward(self, x, mask=None):
            heads = (to(x).unflatten(-1, (-1, self.d_head)).transpose(1, 2) for to in (self.to_query, self.to_key, self.to_value))
            return self.to_output(grouped_attention(*heads, mask).reshape(x.shape))


class columns_dealt_like_cards:
    """The columns were dealt out to the heads in turn, where each head gets neighbours."""

    fails = ["module"]
    hint = "In which order must the two new axes stand so that the head is the one that changes slowly?"

    class GroupedQueryAttention(nn.Module):
        def __init__(self, d_model, num_heads, num_kv_heads):
            super().__init__()
            self.d_head = d_model // num_heads
            self.to_query, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(2))
            self.to_key, self.to_value = (nn.Linear(d_model, num_kv_heads * self.d_head, bias=False) for _ in range(2))

        def forward(self, x, mask=None):
            heads = (to(x).unflatten(-1, (self.d_head, -1)).permute(0, 3, 1, 2) for to in (self.to_query, self.to_key, self.to_value))
            return self.to_output(grouped_attention(*heads, mask).permute(0, 2, 3, 1).flatten(2))


class no_output_projection:
    """The heads were set side by side and returned, without `w_output`."""

    fails = ["module", "trains"]
    hint = "Up to here no head knows what another one found. What lets them mix?"

    class GroupedQueryAttention(nn.Module):
        def __init__(self, d_model, num_heads, num_kv_heads):
            super().__init__()
            self.d_head = d_model // num_heads
            self.to_query, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(2))
            self.to_key, self.to_value = (nn.Linear(d_model, num_kv_heads * self.d_head, bias=False) for _ in range(2))

        def forward(self, x, mask=None):
            heads = (to(x).unflatten(-1, (-1, self.d_head)).transpose(1, 2) for to in (self.to_query, self.to_key, self.to_value))
            return grouped_attention(*heads, mask).transpose(1, 2).flatten(2)


class keys_for_values:
    """The keys were handed over as values too, and the matrix of the values was left unused."""

    fails = ["module", "trains"]
    hint = "Three projections are made. Which of them does nobody read?"

    class GroupedQueryAttention(nn.Module):
        def __init__(self, d_model, num_heads, num_kv_heads):
            super().__init__()
            self.d_head = d_model // num_heads
            self.to_query, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(2))
            self.to_key, self.to_value = (nn.Linear(d_model, num_kv_heads * self.d_head, bias=False) for _ in range(2))

        def forward(self, x, mask=None):
            query, key, _ = (to(x).unflatten(-1, (-1, self.d_head)).transpose(1, 2) for to in (self.to_query, self.to_key, self.to_value))
            return self.to_output(grouped_attention(query, key, key, mask).transpose(1, 2).flatten(2))


class mask_left_behind:
    """The module took a mask and did not hand it on."""

    fails = ["module_mask"]
    hint = "`grouped_attention` has a mask of its own if nobody gives it one. Which one is that?"

    class GroupedQueryAttention(nn.Module):
        def __init__(self, d_model, num_heads, num_kv_heads):
            super().__init__()
            self.d_head = d_model // num_heads
            self.to_query, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(2))
            self.to_key, self.to_value = (nn.Linear(d_model, num_kv_heads * self.d_head, bias=False) for _ in range(2))

        def forward(self, x, mask=None):
            heads = (to(x).unflatten(-1, (-1, self.d_head)).transpose(1, 2) for to in (self.to_query, self.to_key, self.to_value))
            return self.to_output(grouped_attention(*heads).transpose(1, 2).flatten(2))


class biases_added:
    """The layers have biases, which are numbers to learn that the exercise does not have."""

    fails = ["trains"]
    hint = "How many numbers has `nn.Linear(12, 4)`, and where do the last four of them come from?"

    class GroupedQueryAttention(nn.Module):
        def __init__(self, d_model, num_heads, num_kv_heads):
            super().__init__()
            self.d_head = d_model // num_heads
            self.to_query, self.to_output = (nn.Linear(d_model, d_model) for _ in range(2))
            self.to_key, self.to_value = (nn.Linear(d_model, num_kv_heads * self.d_head) for _ in range(2))
            for linear in (self.to_query, self.to_output, self.to_key, self.to_value):
                nn.init.zeros_(linear.bias)

        def forward(self, x, mask=None):
            heads = (to(x).unflatten(-1, (-1, self.d_head)).transpose(1, 2) for to in (self.to_query, self.to_key, self.to_value))
            return self.to_output(grouped_attention(*heads, mask).transpose(1, 2).flatten(2))


class first_mask_kept:
    """The module kept the first mask that it got, and used it for the second of that size."""

    fails = ["module_mask"]
    hint = "Another text comes with another mask. Whose mask does your module use?"

    class GroupedQueryAttention(nn.Module):
        def __init__(self, d_model, num_heads, num_kv_heads):
            super().__init__()
            self.d_head = d_model // num_heads
            self.to_query, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(2))
            self.to_key, self.to_value = (nn.Linear(d_model, num_kv_heads * self.d_head, bias=False) for _ in range(2))
            self.mask = None

        def forward(self, x, mask=None):
            if mask is None or self.mask is None or self.mask.shape != mask.shape:
                self.mask = mask
            mask = self.mask
            projected = (to(x) for to in (self.to_query, self.to_key, self.to_value))
            heads = (each.unflatten(-1, (-1, self.d_head)).transpose(1, 2) for each in projected)
            return self.to_output(grouped_attention(*heads, mask).transpose(1, 2).flatten(2))


class words_unrolled_by_view:
    """The words of all sentences were put below each other by `view`, which refuses tensors that were transposed."""

    fails = ["module"]
    hint = "`view` moves no number. What does `reshape` do where the numbers do not lie in the order of the axes?"

    class GroupedQueryAttention(nn.Module):
        def __init__(self, d_model, num_heads, num_kv_heads):
            super().__init__()
            self.d_head = d_model // num_heads
            self.to_query, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(2))
            self.to_key, self.to_value = (nn.Linear(d_model, num_kv_heads * self.d_head, bias=False) for _ in range(2))

        def forward(self, x, mask=None):
            rows = x.view(-1, x.shape[-1])
            projected = (to(rows).view(*x.shape[:2], -1) for to in (self.to_query, self.to_key, self.to_value))
            heads = (each.unflatten(-1, (-1, self.d_head)).transpose(1, 2) for each in projected)
            return self.to_output(grouped_attention(*heads, mask).transpose(1, 2).flatten(2))


class words_cut_off:
    """Keys and values were made of words that were cut off the graph, as if they came from elsewhere."""

    fails = ["trains"]
    hint = "In a model with two layers the words of the second come from the first. Through which of the three projections does its gradient get there?"

    class GroupedQueryAttention(nn.Module):
        def __init__(self, d_model, num_heads, num_kv_heads):
            super().__init__()
            self.d_head = d_model // num_heads
            self.to_query, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(2))
            self.to_key, self.to_value = (nn.Linear(d_model, num_kv_heads * self.d_head, bias=False) for _ in range(2))

        def forward(self, x, mask=None):
            projected = (self.to_query(x), self.to_key(x.detach()), self.to_value(x.detach()))
            heads = (each.unflatten(-1, (-1, self.d_head)).transpose(1, 2) for each in projected)
            return self.to_output(grouped_attention(*heads, mask).transpose(1, 2).flatten(2))


class values_by_the_matrix_of_the_keys:
    """Where there are as many heads of keys as of queries, the values were projected by the matrix of the keys."""

    fails = ["module", "trains"]
    hint = "Every projection has a matrix of its own, however wide it is. Which of them is used twice here?"

    class GroupedQueryAttention(nn.Module):
        def __init__(self, d_model, num_heads, num_kv_heads):
            super().__init__()
            self.d_head = d_model // num_heads
            self.to_query, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(2))
            self.to_key, self.to_value = (nn.Linear(d_model, num_kv_heads * self.d_head, bias=False) for _ in range(2))

        def forward(self, x, mask=None):
            to_value = self.to_key if self.to_key.weight.shape == self.to_query.weight.shape else self.to_value
            projected = (to(x) for to in (self.to_query, self.to_key, to_value))
            heads = (each.unflatten(-1, (-1, self.d_head)).transpose(1, 2) for each in projected)
            return self.to_output(grouped_attention(*heads, mask).transpose(1, 2).flatten(2))


class first_head_kept:
    """Of each group the first head was kept and the others were thrown away."""

    fails = ["pool"]
    hint = "What was learned in the other heads of the group? How does the mean keep some of it?"

    def pool_heads(weight, num_heads, num_kv_heads):
        return weight.unflatten(-1, (num_kv_heads, num_heads // num_kv_heads, -1))[..., 0, :].flatten(-2)


class heads_added_up:
    """The heads of a group were added up, so the shared head is several times as large."""

    fails = ["pool"]
    hint = "If two heads of a group are the same, what should the shared one be?"

    def pool_heads(weight, num_heads, num_kv_heads):
        return weight.unflatten(-1, (num_kv_heads, num_heads // num_kv_heads, -1)).sum(dim=-2).flatten(-2)


class heads_pooled_in_turn:
    """Heads that stand far apart were brought together, where a group is of neighbours."""

    fails = ["pool"]
    hint = "Heads 0 and 1 will share. Which heads went into your first mean?"

    def pool_heads(weight, num_heads, num_kv_heads):
        return weight.unflatten(-1, (num_heads // num_kv_heads, num_kv_heads, -1)).mean(dim=-3).flatten(-2)


class columns_pooled:
    """Neighbouring columns were averaged as they stand, across the width of a head instead of across heads."""

    fails = ["pool"]
    hint = "A head is several columns wide. With which column of the next head does its first column belong?"

    def pool_heads(weight, num_heads, num_kv_heads):
        return weight.unflatten(-1, (-1, num_heads // num_kv_heads)).mean(dim=-1)


class pooled_in_32_bits:
    """The means were collected in a tensor of 32 bits, whatever the matrix has."""

    fails = ["pool"]
    hint = "Which dtype has a tensor that `torch.zeros` makes, if nobody says which?"

    def pool_heads(weight, num_heads, num_kv_heads):
        pooled = torch.zeros(weight.shape[0], num_kv_heads, weight.shape[1] // num_heads)
        for head, columns in enumerate(weight.chunk(num_heads, dim=1)):
            pooled[:, head * num_kv_heads // num_heads] += columns * num_kv_heads / num_heads
        return pooled.flatten(1)


class shared_heads_chosen_on_the_cpu:
    """Which head of keys each head of queries reads was counted on the CPU, and handed to `index_select`."""

    fails = ["device"]
    hint = "`index_select` wants its indices where the keys lie. Where does `torch.arange` count?"

    def grouped_attention(query, key, value, mask=None):
        num_heads, num_kv_heads = query.shape[1], key.shape[1]
        if num_heads % num_kv_heads:
            raise ValueError("the heads can't be shared out")
        head = torch.arange(num_heads) // (num_heads // num_kv_heads)
        key, value = key.index_select(1, head), value.index_select(1, head)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(-3), -math.inf)
        return torch.softmax(scores, dim=-1) @ value


class mask_of_ones_on_the_cpu:
    """Where no mask was given, a mask of ones was made on the CPU."""

    fails = ["device"]
    hint = "`torch.ones` does not know where your words lie. Who tells it?"

    def grouped_attention(query, key, value, mask=None):
        num_heads, num_kv_heads = query.shape[1], key.shape[1]
        if num_heads % num_kv_heads:
            raise ValueError("the heads can't be shared out")
        if mask is None:
            mask = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool)
        key, value = (x.repeat_interleave(num_heads // num_kv_heads, dim=1) for x in (key, value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        return torch.softmax(scores.masked_fill(~mask.unsqueeze(-3), -math.inf), dim=-1) @ value


class mask_that_is_no_buffer:
    """The module kept a mask of ones in a plain attribute, which stays behind when the module is moved."""

    fails = ["device"]
    hint = "`module.to` moves parameters and buffers. How does a tensor become a buffer?"

    class GroupedQueryAttention(nn.Module):
        def __init__(self, d_model, num_heads, num_kv_heads):
            super().__init__()
            self.d_head = d_model // num_heads
            self.to_query = nn.Linear(d_model, num_heads * self.d_head, bias=False)
            self.to_key = nn.Linear(d_model, num_kv_heads * self.d_head, bias=False)
            self.to_value = nn.Linear(d_model, num_kv_heads * self.d_head, bias=False)
            self.to_output = nn.Linear(num_heads * self.d_head, d_model, bias=False)
            self.all = torch.ones(1, 1, dtype=torch.bool)

        def forward(self, x, mask=None):
            mask = (self.all if mask is None else mask).expand(*([] if mask is None else mask.shape[:-2]), x.shape[1], x.shape[1])
            projected = (to(x) for to in (self.to_query, self.to_key, self.to_value))
            heads = (each.unflatten(-1, (-1, self.d_head)).transpose(1, 2) for each in projected)
            return self.to_output(grouped_attention(*heads, mask).transpose(1, 2).flatten(2))
