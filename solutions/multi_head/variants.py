"""Right answers in other styles. Parsed, never imported; see autograder/exercise/known.py."""
import math

import torch
from torch import nn


class packed_projection:
    """One matrix for queries, keys and values together, cut into three when it is used."""

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            if d_model % num_heads != 0:
                raise ValueError(f"{d_model} is no multiple of {num_heads}")
            self.h = num_heads
            self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
            self.out = nn.Linear(d_model, d_model, bias=False)

        def forward(self, query, key=None, value=None, mask=None):
            key = query if key is None else key
            value = key if value is None else value
            w_query, w_key, w_value = self.qkv.weight.chunk(3)
            return multi_head_attention(query, key, value, w_query.T, w_key.T, w_value.T, self.out.weight.T, self.h, mask)

    def set_weights(attention, w_query, w_key, w_value, w_output):
        attention.qkv.weight.data = torch.cat([w_query, w_key, w_value], dim=1).T.contiguous()
        attention.out.weight.data = w_output.T.contiguous()


class matrices_per_head:
    """Each head has matrices of its own, in parameters with an axis for the heads, and einsum does the rest."""

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            if d_model % num_heads:
                raise ValueError("d_model must be divisible by num_heads")
            shape = num_heads, d_model, d_model // num_heads
            self.w_q, self.w_k, self.w_v = (nn.Parameter(torch.randn(shape) * d_model**-0.5) for _ in range(3))
            self.w_o = nn.Parameter(torch.randn(num_heads, d_model // num_heads, d_model) * d_model**-0.5)

        def forward(self, query, key=None, value=None, mask=None):
            key = query if key is None else key
            value = key if value is None else value
            q = torch.einsum("bqm,hmd->bhqd", query, self.w_q)
            k = torch.einsum("bkm,hmd->bhkd", key, self.w_k)
            v = torch.einsum("bkm,hmd->bhkd", value, self.w_v)
            scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5
            if mask is not None:
                mask = mask.expand(len(q), *mask.shape[-2:])[:, None]
                scores = torch.where(mask, scores, -torch.inf)
            weights = scores.softmax(-1)
            if mask is not None:
                weights = torch.where(mask, weights, 0.0)
            return torch.einsum("bhqk,bhkd,hdm->bqm", weights, v, self.w_o)

    def set_weights(attention, w_query, w_key, w_value, w_output):
        heads = len(attention.w_q)
        with torch.no_grad():
            for mine, w in ((attention.w_q, w_query), (attention.w_k, w_key), (attention.w_v, w_value)):
                mine.copy_(torch.stack(w.chunk(heads, dim=1)))
            attention.w_o.copy_(torch.stack(w_output.chunk(heads, dim=0)))


class list_of_heads:
    """A module for each head in a ModuleList; the module does not use the function at all."""

    from torch.nn import functional as F

    class Head(nn.Module):
        def __init__(self, d_model, d_head):
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(d_model, d_head, bias=False) for _ in range(3))

        def forward(self, query, key, value, mask):
            q, k, v = self.q(query), self.k(key), self.v(value)
            scores = q @ k.mT / k.shape[-1] ** 0.5
            if mask is None:
                return F.softmax(scores, dim=-1) @ v
            weights = F.softmax(scores.masked_fill(~mask, torch.finfo(scores.dtype).min), dim=-1)
            return (weights * mask) @ v

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            d_head, rest = divmod(d_model, num_heads)
            if rest:
                raise ValueError("uneven heads")
            self.heads = nn.ModuleList(Head(d_model, d_head) for _ in range(num_heads))
            self.mix = nn.Linear(d_model, d_model, bias=False)

        def forward(self, query, key=None, value=None, mask=None):
            if key is None:
                key = query
            if value is None:
                value = key
            return self.mix(torch.cat([head(query, key, value, mask) for head in self.heads], dim=-1))

    def set_weights(attention, w_query, w_key, w_value, w_output):
        d_head = len(w_query) // len(attention.heads)
        with torch.no_grad():
            for number, head in enumerate(attention.heads):
                part = slice(number * d_head, (number + 1) * d_head)
                head.q.weight.copy_(w_query[:, part].T)
                head.k.weight.copy_(w_key[:, part].T)
                head.v.weight.copy_(w_value[:, part].T)
            attention.mix.weight.copy_(w_output.T)


class loop_over_heads:
    """The heads one after the other, each a slice of the width, and no splitting or merging."""

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        d_head = query.shape[-1] // num_heads
        heads = []
        for start in range(0, query.shape[-1], d_head):
            columns = slice(start, start + d_head)
            q, k, v = query @ w_query[:, columns], key @ w_key[:, columns], value @ w_value[:, columns]
            scores = torch.matmul(q, k.permute(0, 2, 1)) / d_head**0.5
            if mask is not None:
                scores = scores.masked_fill(torch.logical_not(mask), float("-inf"))
            weights = torch.softmax(scores, -1)
            if mask is not None:
                weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0)
            heads.append(torch.bmm(weights, v))
        return torch.cat(heads, -1) @ w_output


class every_head_adds_its_part:
    """No merging: each head is multiplied by its own rows of w_output, and the results are added."""

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        total = 0
        rows = w_output.chunk(num_heads, dim=0)
        for w_q, w_k, w_v, w_o in zip(*(w.chunk(num_heads, dim=1) for w in (w_query, w_key, w_value)), rows):
            scores = (query @ w_q) @ (key @ w_k).mT / math.sqrt(w_q.shape[1])
            # In log space; a row without a visible key has nothing to add.
            if mask is not None:
                scores = scores.where(mask, scores.new_tensor(-1e30))
            weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()
            total = total + (weights if mask is None else weights * mask) @ (value @ w_v) @ w_o
        return total


class heads_in_the_batch:
    """Heads folded into the batch axis, baddbmm with an additive mask, blind rows switched off."""

    def fold(x, num_heads):
        return split_heads(x, num_heads).flatten(0, 1)

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        q, k, v = fold(query @ w_query, num_heads), fold(key @ w_key, num_heads), fold(value @ w_value, num_heads)
        bias, seeing = q.new_zeros(1, 1, 1), 1.0
        if mask is not None:
            mask = mask.expand(len(query), *mask.shape[-2:]).repeat_interleave(num_heads, dim=0)
            bias = (~mask).to(q.dtype) * torch.finfo(q.dtype).min
            seeing = mask.any(dim=-1, keepdim=True).to(q.dtype)
        scores = torch.baddbmm(bias, q, k.transpose(1, 2), alpha=1 / math.sqrt(q.size(-1)))
        heads = torch.bmm(scores.softmax(dim=-1) * seeing, v)
        return merge_heads(heads.unflatten(0, (-1, num_heads))) @ w_output


class softmax_by_hand:
    """exp and sum written out, with the mask as a factor and the largest score taken off first."""

    from torch.nn import functional as F

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        query = F.linear(query, w_query.t()) / math.sqrt(query.size(-1) / num_heads)
        query, key, value = (split_heads(x, num_heads) for x in (query, key @ w_key, value @ w_value))
        scores = query.matmul(key.transpose(2, 3))
        seen = torch.ones_like(scores[:, 0], dtype=torch.bool) if mask is None else mask
        seen = seen.unsqueeze(-3)
        highest = scores.masked_fill(~seen, torch.finfo(scores.dtype).min).max(dim=-1, keepdim=True).values.detach()
        parts = torch.exp(torch.where(seen, scores - highest, -1e30))
        weights = parts / parts.sum(-1, keepdim=True).clamp(min=torch.finfo(parts.dtype).tiny)
        return merge_heads((weights * seen).matmul(value)) @ w_output


class chunks_and_stacks:
    """Heads split by chunk and stack, merged by unbind and cat."""

    def split_heads(x, num_heads):
        if x.size(2) % num_heads > 0:
            raise ValueError("Number of heads must divide the model width.")
        return torch.stack(x.chunk(num_heads, dim=2), dim=1)

    def merge_heads(x):
        return torch.cat(x.unbind(dim=1), dim=-1)


class views_and_permutations:
    """Heads split by view and permute, merged by contiguous and view."""

    def split_heads(x, num_heads):
        batch, tokens, width = x.size()
        if width // num_heads * num_heads != width:
            raise ValueError(f"{width} numbers for {num_heads} heads")
        return x.contiguous().view(batch, tokens, num_heads, -1).permute(0, 2, 1, 3)

    def merge_heads(x):
        batch, heads, tokens, width = x.size()
        return x.permute(0, 2, 1, 3).contiguous().view(batch, tokens, heads * width)


class einsum_throughout:
    """Unnamed in-betweens: the matrices reshaped to have an axis for the heads, five einsums, blind rows last."""

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        w_q, w_k, w_v = (w.view(len(w), num_heads, -1) for w in (w_query, w_key, w_value))
        q, k, v = (torch.einsum("bnm,mhd->bnhd", x, w) for x, w in ((query, w_q), (key, w_k), (value, w_v)))
        scores = torch.einsum("bqhd,bkhd->bhqk", q / q.shape[-1] ** 0.5, k)
        if mask is not None:
            mask = mask[None] if mask.ndim == 2 else mask
            scores = scores.masked_fill(mask[:, None] == 0, torch.finfo(scores.dtype).min)
        output = torch.einsum("bhqk,bkhd->bqhd", torch.softmax(scores, dim=3), v).flatten(2) @ w_output
        return output if mask is None else output.masked_fill(~mask.any(dim=2)[:, :, None], 0.0)


class in_single_precision_inside:
    """Everything is computed in 32 bits or more, hidden scores are -1e30 there, and the output goes back to the dtype of the words."""

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
        wide = torch.promote_types(query.dtype, torch.float32)
        projected = (x.to(wide).matmul(w.to(wide)) for x, w in ((query, w_query), (key, w_key), (value, w_value)))
        q, k, v = (x.reshape(len(x), -1, num_heads, x.shape[-1] // num_heads).movedim(2, 1) for x in projected)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5
        seen = scores.new_ones(1).bool() if mask is None else mask[..., None, :, :]
        parts = torch.where(seen, scores, -1e30)
        parts = torch.exp(parts - parts.amax(dim=-1, keepdim=True)) * seen
        found = parts @ v / parts.sum(dim=-1, keepdim=True).clamp(min=1e-30)
        return (found.movedim(1, 2).reshape(query.shape) @ w_output.to(wide)).to(query.dtype)
