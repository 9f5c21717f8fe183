"""Wrong answers that people write. Parsed, never imported; see autograder/exercise/known.py."""
import math

import torch
from torch import nn


class mask_in_the_upper_corner:
    """The diagonal of the mask begins in the upper left corner, so the first query is taken for the first word."""

    fails = ["one", "piece", "trains"]
    hint = "With one query and five keys the mask has one row. How many of its entries are True, and how many words came before?"

    def attend_last(query, keys, values):
        mask = torch.ones(query.shape[-2], keys.shape[-2], dtype=torch.bool, device=query.device).tril()
        scores = query @ keys.mT / math.sqrt(query.shape[-1])
        return torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1) @ values


class is_causal_for_pieces:
    """`is_causal=True` was left to torch, whose mask begins in the upper left corner, also where there are more keys than queries; only a word that comes alone sees all."""

    fails = ["piece", "trains"]
    hint = "Read what torch says of `is_causal` when the queries are fewer than the keys. Which keys does your first query see?"

    from torch.nn import functional as F

    def attend_last(query, keys, values):
        return F.scaled_dot_product_attention(query, keys, values, is_causal=query.shape[-2] > 1)


class no_mask:
    """Every query looks at every key, also at words that come after it."""

    fails = ["whole", "piece"]
    hint = "The next word is what is to be found out. Who told your first query?"

    def attend_last(query, keys, values):
        return torch.softmax(query @ keys.mT / math.sqrt(query.shape[-1]), dim=-1) @ values


class no_mask_within_a_piece:
    """In a piece that comes after others each word sees the whole piece; only a whole text got a mask."""

    fails = ["piece"]
    hint = "Three words come in one piece. Does the first of them know the third?"

    def attend_last(query, keys, values):
        scores = query @ keys.mT / math.sqrt(query.shape[-1])
        if query.shape[-2] == keys.shape[-2]:
            scores = scores.masked_fill(~torch.ones_like(scores, dtype=torch.bool).tril(), -math.inf)
        return torch.softmax(scores, dim=-1) @ values


class word_hidden_from_itself:
    """A word looks at what stands before it, and not at itself; the first one has nothing to look at."""

    fails = ["whole", "one", "piece", "first", "pieces", "forget"]
    hint = "The first word has no other to look at. What does softmax make of a row of minus infinities?"

    def attend_last(query, keys, values):
        new, total = query.shape[-2], keys.shape[-2]
        mask = torch.ones(new, total, dtype=torch.bool, device=query.device).tril(diagonal=total - new - 1)
        scores = query @ keys.mT / math.sqrt(query.shape[-1])
        return torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1) @ values


class one_word_too_many:
    """The diagonal is one step too far, so every word sees the one after it."""

    fails = ["whole", "piece"]
    hint = "With 2 queries and 5 keys, how many keys does the first query see: total - new, or one more? And in your mask?"

    def attend_last(query, keys, values):
        new, total = query.shape[-2], keys.shape[-2]
        mask = torch.ones(new, total, dtype=torch.bool, device=query.device).tril(diagonal=total - new + 1)
        scores = query @ keys.mT / math.sqrt(query.shape[-1])
        return torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1) @ values


class mask_after_softmax:
    """The weights were set to zero after softmax, so those that are left don't add up to one."""

    fails = ["whole", "piece"]
    hint = "Softmax dealt out a whole. What became of the share of the words that you hid afterwards?"

    def attend_last(query, keys, values):
        new, total = query.shape[-2], keys.shape[-2]
        mask = torch.ones(new, total, device=query.device).tril(diagonal=total - new)
        scores = query @ keys.mT / math.sqrt(query.shape[-1])
        return (torch.softmax(scores, dim=-1) * mask) @ values


class no_scale:
    """The scores went into softmax undivided."""

    fails = ["whole", "one", "piece"]
    hint = "What is the square root of d_k for, and does a cache change it?"

    def attend_last(query, keys, values):
        new, total = query.shape[-2], keys.shape[-2]
        mask = torch.ones(new, total, dtype=torch.bool, device=query.device).tril(diagonal=total - new)
        return torch.softmax((query @ keys.mT).masked_fill(~mask, -math.inf), dim=-1) @ values


class shared_out_again:
    """The weights of later words were cleared after softmax, and the rest was shared out again."""

    fails = ["whole", "piece"]
    hint = "A later word has the score 1000, and those that are seen have 1 and 2. What did softmax leave of theirs, before you shared it out again?"

    def attend_last(query, keys, values):
        new, total = query.shape[-2], keys.shape[-2]
        mask = torch.ones(new, total, dtype=torch.bool, device=query.device).tril(diagonal=total - new)
        scores = query @ keys.mT / math.sqrt(query.shape[-1])
        weights = torch.softmax(scores, dim=-1) * mask
        return weights / weights.sum(dim=-1, keepdim=True) @ values


class later_words_at_minus_twenty:
    """The scores of later words became -20, and a word that may be seen can have a lower one."""

    fails = ["whole", "piece"]
    hint = "Every word that is seen has the score -50. Who gets the weight then, if later words have -20?"

    def attend_last(query, keys, values):
        new, total = query.shape[-2], keys.shape[-2]
        mask = torch.ones(new, total, dtype=torch.bool, device=query.device).tril(diagonal=total - new)
        scores = query @ keys.mT / math.sqrt(query.shape[-1])
        return torch.softmax(scores.masked_fill(~mask, -20.0), dim=-1) @ values


class later_words_at_minus_ten_thousand:
    """The scores of later words became -10,000, and a word that may be seen can have a lower one."""

    fails = ["whole", "piece"]
    hint = "Every word that is seen has the score -100,000. Who gets the weight then, if later words have -10,000?"

    def attend_last(query, keys, values):
        new, total = query.shape[-2], keys.shape[-2]
        mask = torch.ones(new, total, dtype=torch.bool, device=query.device).tril(diagonal=total - new)
        scores = query @ keys.mT / math.sqrt(query.shape[-1])
        return torch.softmax(scores.masked_fill(~mask, -1e4), dim=-1) @ values


class later_words_at_minus_one_billion:
    """The scores of later words became -1e9, a number that 16 bits don't have."""

    fails = ["whole"]
    hint = "The smallest number of float16 is -65504. Which number lies below all others, in every dtype?"

    def attend_last(query, keys, values):
        new, total = query.shape[-2], keys.shape[-2]
        mask = torch.ones(new, total, dtype=torch.bool, device=query.device).tril(diagonal=total - new)
        scores = query @ keys.mT / math.sqrt(query.shape[-1])
        return torch.softmax(scores.masked_fill(~mask, -1e9), dim=-1) @ values


class attention_in_32_bits:
    """Attention was computed in 32 bits, also where the words have 64."""

    fails = ["whole"]
    hint = "The output has 64 bits again. How many digits had the weights on the way?"

    def attend_last(query, keys, values):
        given = query.dtype
        query, keys, values = query.float(), keys.float(), values.float()
        new, total = query.shape[-2], keys.shape[-2]
        mask = torch.ones(new, total, dtype=torch.bool, device=query.device).tril(diagonal=total - new)
        scores = query @ keys.mT / math.sqrt(query.shape[-1])
        return (torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1) @ values).to(given)


class queries_scaled_in_place:
    """The queries were divided where they lie, and whoever handed them over finds them changed."""

    fails = ["whole"]
    hint = "What is the difference between `query /= 2` and `query = query / 2` for whoever handed you the query?"

    def attend_last(query, keys, values):
        query /= math.sqrt(query.shape[-1])
        new, total = query.shape[-2], keys.shape[-2]
        mask = torch.ones(new, total, dtype=torch.bool, device=query.device).tril(diagonal=total - new)
        scores = query @ keys.mT
        return torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1) @ values


class words_laid_out_by_view:
    """The keys were brought into another shape by `view`, which refuses tensors that were transposed."""

    fails = ["whole"]
    hint = "`view` moves no number. What does `reshape` do where the numbers do not lie in the order of the axes?"

    def attend_last(query, keys, values):
        new, total = query.shape[-2], keys.shape[-2]
        mask = torch.ones(new, total, dtype=torch.bool, device=query.device).tril(diagonal=total - new)
        scores = query @ keys.mT / math.sqrt(query.shape[-1])
        query, keys, values = (x.view(-1, x.shape[-1]) for x in (query, keys, values))
        batch = len(scores)
        scores = torch.einsum("bnd,bmd->bnm", query.view(batch, new, -1), keys.view(batch, total, -1)) / math.sqrt(query.shape[-1])
        return torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1) @ values.view(batch, total, -1)


class nothing_kept:
    """Nothing was kept: every piece sees itself only."""

    fails = ["pieces"]
    hint = "The third word comes alone. Where does it find the keys of the two before it?"

    class CachedAttention(nn.Module):
        def __init__(self, d_model, d_k):
            super().__init__()
            self.to_query, self.to_key, self.to_value = (nn.Linear(d_model, d_k, bias=False) for _ in range(3))
            self.kept = None

        def forward(self, x):
            return attend_last(self.to_query(x), self.to_key(x), self.to_value(x))

    def forget(attention):
        pass


class cache_overwritten:
    """The cache was read, but then only the new words were kept, so a word sees itself and the piece before."""

    fails = ["pieces"]
    hint = "What is in your cache after the third word: three keys, or one?"

    class CachedAttention(nn.Module):
        def __init__(self, d_model, d_k):
            super().__init__()
            self.to_query, self.to_key, self.to_value = (nn.Linear(d_model, d_k, bias=False) for _ in range(3))
            self.kept = None

        def forward(self, x):
            keys, values = self.to_key(x), self.to_value(x)
            kept, self.kept = self.kept, (keys.detach(), values.detach())
            if kept is not None:
                keys, values = (torch.cat([old, new], dim=-2) for old, new in zip(kept, (keys, values)))
            return attend_last(self.to_query(x), keys, values)


class keys_kept_and_values_not:
    """The keys were kept and the values were not."""

    fails = ["pieces"]
    hint = "A query finds an old word by its key. What does it take home from there?"

    class CachedAttention(nn.Module):
        def __init__(self, d_model, d_k):
            super().__init__()
            self.to_query, self.to_key, self.to_value = (nn.Linear(d_model, d_k, bias=False) for _ in range(3))
            self.kept = None

        def forward(self, x):
            keys, values = self.to_key(x), self.to_value(x)
            if self.kept is not None:
                keys = torch.cat([self.kept, keys], dim=-2)
                values = torch.nn.functional.pad(values, (0, 0, keys.shape[-2] - values.shape[-2], 0))
            self.kept = keys.detach()
            return attend_last(self.to_query(x), keys, values)


class new_words_in_front:
    """The new keys and values were put in front of the old ones, so the mask hides the wrong words."""

    fails = ["pieces"]
    hint = "The last query is the last word. Which row of your keys is its own?"

    class CachedAttention(nn.Module):
        def __init__(self, d_model, d_k):
            super().__init__()
            self.to_query, self.to_key, self.to_value = (nn.Linear(d_model, d_k, bias=False) for _ in range(3))
            self.kept = None

        def forward(self, x):
            keys, values = self.to_key(x), self.to_value(x)
            if self.kept is not None:
                keys, values = (torch.cat([new, old], dim=-2) for old, new in zip(self.kept, (keys, values)))
            self.kept = keys.detach(), values.detach()
            return attend_last(self.to_query(x), keys, values)


class kept_along_the_batch:
    """The old words were set beside the new ones along the batch, as if they were other sentences."""

    fails = ["pieces", "trains", "device"]
    hint = "Two sentences, three words each. Along which axis does a sentence become longer?"

    class CachedAttention(nn.Module):
        def __init__(self, d_model, d_k):
            super().__init__()
            self.to_query, self.to_key, self.to_value = (nn.Linear(d_model, d_k, bias=False) for _ in range(3))
            self.kept = None

        def forward(self, x):
            keys, values = self.to_key(x), self.to_value(x)
            if self.kept is not None:
                keys, values = (torch.cat([old, new], dim=0) for old, new in zip(self.kept, (keys, values)))
            self.kept = keys.detach(), values.detach()
            return attend_last(self.to_query(x), keys, values)


class all_outputs_returned:
    """The outputs of all words so far came back, where those of the new words were asked for."""

    fails = ["pieces", "device"]
    hint = "A caller hands in one word. How many outputs does it expect?"

    class CachedAttention(nn.Module):
        def __init__(self, d_model, d_k):
            super().__init__()
            self.to_query, self.to_key, self.to_value = (nn.Linear(d_model, d_k, bias=False) for _ in range(3))
            self.kept = None

        def forward(self, x):
            every = x if self.kept is None else torch.cat([self.kept, x], dim=-2)
            self.kept = every.detach()
            return attend_last(self.to_query(every), self.to_key(every), self.to_value(every))


class one_cache_for_all_modules:
    """Keys and values were kept on the class, so all modules share one cache."""

    fails = ["pieces"]
    hint = "Two layers read the same text. Whose keys does the second one find?"

    class CachedAttention(nn.Module):
        kept = None

        def __init__(self, d_model, d_k):
            super().__init__()
            self.to_query, self.to_key, self.to_value = (nn.Linear(d_model, d_k, bias=False) for _ in range(3))
            CachedAttention.kept = None

        def forward(self, x):
            keys, values = self.to_key(x), self.to_value(x)
            if CachedAttention.kept is not None:
                keys, values = (torch.cat([old, new], dim=-2) for old, new in zip(CachedAttention.kept, (keys, values)))
            CachedAttention.kept = keys.detach(), values.detach()
            return attend_last(self.to_query(x), keys, values)

    def forget(attention):
        CachedAttention.kept = None


class words_unrolled_by_view:
    """The words of all sentences were put below each other by `view`, which refuses tensors that were transposed."""

    fails = ["pieces"]
    hint = "`view` moves no number. What does `reshape` do where the numbers do not lie in the order of the axes?"

    class CachedAttention(nn.Module):
        def __init__(self, d_model, d_k):
            super().__init__()
            self.to_query, self.to_key, self.to_value = (nn.Linear(d_model, d_k, bias=False) for _ in range(3))
            self.kept = None

        def forward(self, x):
            keys, values = (to(x.view(-1, x.shape[-1])).view(*x.shape[:2], -1) for to in (self.to_key, self.to_value))
            if self.kept is not None:
                keys, values = (torch.cat([old, new], dim=-2) for old, new in zip(self.kept, (keys, values)))
            self.kept = keys.detach(), values.detach()
            return attend_last(self.to_query(x), keys, values)


class cache_never_emptied:
    """`forget` does not empty the cache that `forward` reads."""

    fails = ["forget"]
    hint = "Which name does `forward` read, and which one does `forget` write?"

    def forget(attention):
        attention.cache = None


class half_forgotten:
    """`forget` set the old numbers to zero and left their places, at which every later word still looks."""

    fails = ["forget"]
    hint = "A key of zeros gets a score of zero. Is that no weight at all?"

    def forget(attention):
        if attention.kept is not None:
            attention.kept = tuple(torch.zeros_like(kept) for kept in attention.kept)


class history_kept:
    """The keys and values were kept with their history, so the next piece's gradient goes back into the one before."""

    fails = ["trains"]
    hint = "torch frees what a backward pass has used. What does the second backward pass find behind your cache?"

    class CachedAttention(nn.Module):
        def __init__(self, d_model, d_k):
            super().__init__()
            self.to_query, self.to_key, self.to_value = (nn.Linear(d_model, d_k, bias=False) for _ in range(3))
            self.kept = None

        def forward(self, x):
            keys, values = self.to_key(x), self.to_value(x)
            if self.kept is not None:
                keys, values = (torch.cat([old, new], dim=-2) for old, new in zip(self.kept, (keys, values)))
            self.kept = keys, values
            return attend_last(self.to_query(x), keys, values)


class new_words_cut_off_too:
    """Keys and values were cut off their history before attention used them, so their matrices are never trained."""

    fails = ["trains"]
    hint = "What is kept for later needs no history. Do the keys that this piece looks at need theirs?"

    class CachedAttention(nn.Module):
        def __init__(self, d_model, d_k):
            super().__init__()
            self.to_query, self.to_key, self.to_value = (nn.Linear(d_model, d_k, bias=False) for _ in range(3))
            self.kept = None

        def forward(self, x):
            keys, values = self.to_key(x).detach(), self.to_value(x).detach()
            if self.kept is not None:
                keys, values = (torch.cat([old, new], dim=-2) for old, new in zip(self.kept, (keys, values)))
            self.kept = keys, values
            return attend_last(self.to_query(x), keys, values)


class words_cut_off:
    """The words were cut off their history, so nothing that made them is ever trained."""

    fails = ["trains"]
    hint = "In a model with two layers the words of the second come from the first. Does its gradient get there?"

    class CachedAttention(nn.Module):
        def __init__(self, d_model, d_k):
            super().__init__()
            self.to_query, self.to_key, self.to_value = (nn.Linear(d_model, d_k, bias=False) for _ in range(3))
            self.kept = None

        def forward(self, x):
            x = x.detach()
            keys, values = self.to_key(x), self.to_value(x)
            if self.kept is not None:
                keys, values = (torch.cat([old, new], dim=-2) for old, new in zip(self.kept, (keys, values)))
            self.kept = keys.detach(), values.detach()
            return attend_last(self.to_query(x), keys, values)


class keys_without_values:
    """Only the keys were counted, or only the values."""

    fails = ["memory"]
    hint = "Which two things does a later query ask of an old word?"

    def cache_bytes(tokens, num_layers, num_kv_heads, d_head, batch=1, number_bytes=4):
        return batch * tokens * num_layers * num_kv_heads * d_head * number_bytes


class numbers_for_bytes:
    """The numbers were counted, not their bytes."""

    fails = ["memory"]
    hint = "How many bytes has a number in float32, and how many in half precision?"

    def cache_bytes(tokens, num_layers, num_kv_heads, d_head, batch=1, number_bytes=4):
        return 2 * batch * tokens * num_layers * num_kv_heads * d_head


class table_of_scores_kept:
    """The memory of a table of scores was counted, which nobody keeps from step to step."""

    fails = ["memory"]
    hint = "Which tensors does the next step read again: scores, or what scores are made of?"

    def cache_bytes(tokens, num_layers, num_kv_heads, d_head, batch=1, number_bytes=4):
        return batch * tokens**2 * num_layers * num_kv_heads * number_bytes


class old_words_projected_again:
    """The cache was counted as if the old words were projected again in each step."""

    fails = ["work"]
    hint = "With the cache, how many words go through a matrix in step 5?"

    def decoding_work(n, d, cached):
        return sum(3 * t * d**2 + 2 * (1 if cached else t) * t * d for t in range(1, n + 1))


class query_looks_at_itself_only:
    """In each cached step the query meets only its own key."""

    fails = ["work"]
    hint = "The old keys need not be computed. Need they not be looked at either?"

    def decoding_work(n, d, cached):
        if cached:
            return n * (3 * d**2 + 2 * d)
        return sum(3 * t * d**2 + 2 * t**2 * d for t in range(1, n + 1))


class last_step_only:
    """The last step was counted, and not all the steps that led there."""

    fails = ["work"]
    hint = "How often is the first word read without a cache, until the text has n words?"

    def decoding_work(n, d, cached):
        new = 1 if cached else n
        return 3 * new * d**2 + 2 * new * n * d


class flops_for_multiply_adds:
    """FLOPs were counted, with multiplying and adding as two; a multiply-add is both in one."""

    fails = ["work"]
    hint = "torch's counter counts multiplying and adding apart. What has to be done to its number here?"

    def decoding_work(n, d, cached):
        return sum(6 * (1 if cached else t) * d**2 + 4 * (1 if cached else t) * t * d for t in range(1, n + 1))


class hidden_scores_left_out:
    """Without the cache, scores that the mask hides were not counted, though they are made."""

    fails = ["work"]
    hint = "A product of matrices makes the whole table. Who throws half of it away, and when?"

    def decoding_work(n, d, cached):
        if cached:
            return sum(3 * d**2 + 2 * t * d for t in range(1, n + 1))
        return sum(3 * t * d**2 + t * (t + 1) * d for t in range(1, n + 1))


class mask_on_the_cpu:
    """The mask was made on the CPU."""

    fails = ["device"]
    hint = "`torch.ones` does not know where your words lie. Who tells it?"

    def attend_last(query, keys, values):
        new, total = query.shape[-2], keys.shape[-2]
        mask = torch.ones(new, total, dtype=torch.bool).tril(diagonal=total - new)
        scores = query @ keys.transpose(-2, -1) / math.sqrt(query.shape[-1])
        return torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1) @ values


class empty_cache_on_the_cpu:
    """The cache begins with tensors without a word in them, which lie on the CPU."""

    fails = ["device"]
    hint = "`torch.cat` joins what lies on one device, also where there is nothing in it. Where does your empty cache lie?"

    class CachedAttention(nn.Module):
        def __init__(self, d_model, d_k):
            super().__init__()
            self.to_query, self.to_key, self.to_value = (nn.Linear(d_model, d_k, bias=False) for _ in range(3))
            self.kept = None

        def forward(self, x):
            new = self.to_key(x), self.to_value(x)
            kept = self.kept or [torch.empty(len(x), 0, each.shape[-1], dtype=x.dtype) for each in new]
            keys, values = (torch.cat(pair, dim=-2) for pair in zip(kept, new))
            self.kept = keys.detach(), values.detach()
            return attend_last(self.to_query(x), keys, values)
