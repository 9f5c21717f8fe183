"""Right answers in other styles. Parsed, never imported; see autograder/exercise/known.py."""
import math

import torch
from torch import nn


class repeated_heads:
    """Keys and values are copied for every head of the group; then it is multi-head attention."""

    def repeat_kv(x, n_rep):
        batch, kv_heads, length, d_head = x.shape
        return x[:, :, None].expand(batch, kv_heads, n_rep, length, d_head).reshape(batch, kv_heads * n_rep, length, d_head)

    def grouped_attention(query, key, value, mask=None):
        n_rep, left = divmod(query.shape[1], key.shape[1])
        if left or not n_rep:
            raise ValueError("num_heads must be a multiple of num_kv_heads")
        key, value = repeat_kv(key, n_rep), repeat_kv(value, n_rep)
        scores = query.matmul(key.transpose(2, 3)) * query.shape[-1] ** -0.5
        if mask is not None:
            scores = scores + torch.where(mask if mask.ndim == 2 else mask[:, None], 0.0, torch.finfo(scores.dtype).min).to(scores)
        return torch.nn.functional.softmax(scores, dim=-1).matmul(value)

    def pool_heads(weight, num_heads, num_kv_heads):
        heads = weight.chunk(num_heads, dim=1)
        group = num_heads // num_kv_heads
        return torch.cat([torch.stack(heads[g * group : (g + 1) * group]).mean(0) for g in range(num_kv_heads)], dim=1)


class einsum_and_one_packed_matrix:
    """One matrix makes queries, keys and values, and einsum keeps the group as a letter."""

    def grouped_attention(query, key, value, mask=None):
        b, h, q, d = query.shape
        g = key.shape[1]
        if h % g != 0:
            raise ValueError(f"{h} is no multiple of {g}")
        scores = torch.einsum("bgrqd,bgkd->bgrqk", query.reshape(b, g, h // g, q, d), key) / d**0.5
        if mask is not None:
            scores = torch.where(mask.reshape(-1, 1, 1, *mask.shape[-2:]), scores, -torch.inf)
        return torch.einsum("bgrqk,bgkd->bgrqd", scores.softmax(-1), value).reshape(b, h, q, d)

    class GroupedQueryAttention(nn.Module):
        def __init__(self, d_model, num_heads, num_kv_heads):
            super().__init__()
            d_head = d_model // num_heads
            self.sizes = num_heads, num_kv_heads, num_kv_heads
            self.qkv = nn.Parameter(torch.randn(d_model, sum(self.sizes), d_head) / d_model**0.5)
            self.o = nn.Parameter(torch.randn(num_heads, d_head, d_model) / d_model**0.5)

        def forward(self, x, mask=None):
            q, k, v = torch.einsum("btm,mhd->bhtd", x, self.qkv).split(self.sizes, dim=1)
            return torch.einsum("bhtd,hdm->btm", grouped_attention(q, k, v, mask), self.o)

    def set_weights(attention, w_query, w_key, w_value, w_output):
        attention.qkv.data = torch.cat([w_query, w_key, w_value], dim=1).reshape(attention.qkv.shape)
        attention.o.data = w_output.reshape(attention.o.shape)


class loop_over_heads:
    """Every head of queries looks up whose keys it reads, one after another."""

    def grouped_attention(query, key, value, mask=None):
        num_heads, num_kv_heads = query.size(1), key.size(1)
        if num_heads % num_kv_heads or num_kv_heads > num_heads:
            raise ValueError("no equal groups")
        found = []
        for head in range(num_heads):
            shared = head * num_kv_heads // num_heads
            scores = torch.bmm(query[:, head], key[:, shared].transpose(1, 2)) / math.sqrt(query.size(-1))
            if mask is not None:
                scores[~mask.expand_as(scores)] = float("-inf")
            found.append(torch.bmm(scores.softmax(dim=2), value[:, shared]))
        return torch.stack(found, dim=1)

    def pool_heads(weight, num_heads, num_kv_heads):
        d_head = weight.shape[1] // num_heads
        pooled = torch.zeros(weight.shape[0], num_kv_heads * d_head, dtype=weight.dtype)
        for column in range(weight.shape[1]):
            head, within = divmod(column, d_head)
            shared = head * num_kv_heads // num_heads
            pooled[:, shared * d_head + within] += weight[:, column] * num_kv_heads / num_heads
        return pooled


class group_laid_along_the_queries:
    """The heads of a group become more queries of one head: its keys are read once, and nothing is copied."""

    def grouped_attention(query, key, value, mask=None):
        batch, num_heads, queries, d_head = query.shape
        group, left = divmod(num_heads, key.shape[1])
        if left or group == 0:
            raise ValueError("the heads can't be grouped")
        long = query.reshape(batch, key.shape[1], group * queries, d_head)
        scores = torch.baddbmm(query.new_zeros(()), long.flatten(0, 1), key.flatten(0, 1).mT, beta=0, alpha=d_head**-0.5)
        scores = scores.reshape(batch, key.shape[1], group * queries, -1)
        if mask is not None:
            scores = scores.masked_fill(~mask.repeat(*[1] * (mask.ndim - 2), group, 1)[..., None, :, :], float("-inf"))
        weights = torch.exp(scores - scores.logsumexp(-1, keepdim=True))
        return (weights @ value).reshape(batch, num_heads, queries, d_head)

    def pool_heads(weight, num_heads, num_kv_heads):
        d_head = weight.shape[1] // num_heads
        group = num_heads // num_kv_heads
        mixing = torch.kron(torch.eye(num_kv_heads), torch.full((group, 1), 1 / group))
        return weight @ torch.kron(mixing, torch.eye(d_head)).to(weight)


class modules_for_each_group:
    """A module for every group, with layers for its heads, in a ModuleList."""

    class Group(nn.Module):
        def __init__(self, d_model, d_head, size):
            super().__init__()
            self.size = size
            self.q, self.k, self.v = nn.Linear(d_model, size * d_head, bias=False), nn.Linear(d_model, d_head, bias=False), nn.Linear(d_model, d_head, bias=False)

        def forward(self, x, mask):
            k, v = self.k(x), self.v(x)
            heads = []
            for q in self.q(x).chunk(self.size, dim=-1):
                scores = q @ k.mT * k.shape[-1] ** -0.5
                heads.append((scores if mask is None else scores.masked_fill(mask.logical_not(), -torch.inf)).softmax(-1) @ v)
            return torch.cat(heads, dim=-1)

    class GroupedQueryAttention(nn.Module):
        def __init__(self, d_model, num_heads, num_kv_heads):
            super().__init__()
            self.groups = nn.ModuleList([Group(d_model, d_model // num_heads, num_heads // num_kv_heads) for _ in range(num_kv_heads)])
            self.out = nn.Linear(d_model, d_model, bias=False)

        def forward(self, x, mask=None):
            return self.out(torch.cat([group(x, mask) for group in self.groups], dim=-1))

    def set_weights(attention, w_query, w_key, w_value, w_output):
        count = len(attention.groups)
        parts = zip(attention.groups, w_query.chunk(count, 1), w_key.chunk(count, 1), w_value.chunk(count, 1))
        for group, q, k, v in parts:
            group.q.weight.data, group.k.weight.data, group.v.weight.data = q.T.clone(), k.T.clone(), v.T.clone()
        attention.out.weight.data = w_output.T.clone()


class minus_one_billion_in_64_bits:
    """Scores in 64 bits, where -1e9 lies below all of them; copies of the heads, seen by `view`; a mask kept by its number for one call."""

    def grouped_attention(query, key, value, mask=None):
        batch, num_heads, queries, d_head = query.shape
        if num_heads % key.shape[1]:
            raise ValueError("no equal groups")
        long = query.double().contiguous().view(batch, key.shape[1], -1, d_head)
        scores = (long @ key.double().mT).mul_(d_head**-0.5).view(batch, num_heads, queries, -1)
        if mask is not None:
            scores = scores + (~mask.view(-1, 1, *mask.shape[-2:])).double() * -1e9
        weights = scores.softmax(-1).view(batch, key.shape[1], -1, key.shape[2])
        return (weights @ value.double()).view(query.shape).to(query.dtype)

    class GroupedQueryAttention(nn.Module):
        def __init__(self, d_model, num_heads, num_kv_heads):
            super().__init__()
            self.sizes = [num_heads, num_kv_heads, num_kv_heads]
            self.into = nn.ModuleList(nn.Linear(d_model, d_model // num_heads * size, bias=False) for size in self.sizes)
            self.out = nn.Linear(d_model, d_model, bias=False)
            self.mask = None

        def forward(self, x, mask=None):
            self.mask = mask
            rows = x.contiguous().view(-1, x.shape[-1])
            heads = (into(rows).view(*x.shape[:2], size, -1).permute(0, 2, 1, 3) for into, size in zip(self.into, self.sizes))
            return self.out(grouped_attention(*heads, self.mask).permute(0, 2, 1, 3).contiguous().view(x.shape))

    def set_weights(attention, w_query, w_key, w_value, w_output):
        for layer, w in zip((*attention.into, attention.out), (w_query, w_key, w_value, w_output)):
            layer.weight.data.copy_(w.T)
