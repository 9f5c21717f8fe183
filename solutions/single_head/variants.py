"""Right answers in other styles. Parsed, never imported; see autograder/exercise/known.py."""
import math

import torch
from torch import nn


class with_logsumexp:
    """Softmax in log space, as exp(scores - logsumexp), and the blind rows put right afterwards."""

    def softmax(scores):
        weights = (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()
        return torch.where(torch.isnan(weights), torch.zeros_like(weights), weights)


class one_packed_matrix:
    """One matrix holds all three projections, and is split into parts of unequal width."""

    class SingleHeadAttention(nn.Module):
        def __init__(self, d_model, d_k, d_v):
            super().__init__()
            self.widths = [d_k, d_k, d_v]
            self.packed = nn.Linear(d_model, sum(self.widths), bias=False)

        def forward(self, x, mask=None):
            return scaled_dot_product_attention(*self.packed(x).split(self.widths, dim=-1), mask)[0]

    def set_weights(head, w_query, w_key, w_value):
        with torch.no_grad():
            head.packed.weight.copy_(torch.cat([w_query, w_key, w_value], dim=1).T)


class parameters_and_einsum:
    """Matrices of the module's own, and every product spelled as an einsum."""

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = torch.einsum("...qd,...kd->...qk", query, key) * query.shape[-1] ** -0.5
        if mask is not None:
            scores = torch.where(mask, scores, torch.tensor(-torch.inf, dtype=scores.dtype, device=scores.device))
        weights = softmax(scores)
        return torch.einsum("...qk,...kv->...qv", weights, value), weights

    class SingleHeadAttention(nn.Module):
        def __init__(self, d_model, d_k, d_v):
            super().__init__()
            self.w = nn.ParameterDict({"q": torch.randn(d_model, d_k), "k": torch.randn(d_model, d_k), "v": torch.randn(d_model, d_v)})

        def forward(self, x, mask=None):
            query, key, value = (torch.einsum("...m,md->...d", x, self.w[name]) for name in "qkv")
            output, _ = scaled_dot_product_attention(query, key, value, mask)
            return output

    def set_weights(head, w_query, w_key, w_value):
        for name, matrix in zip("qkv", (w_query, w_key, w_value)):
            head.w[name] = nn.Parameter(matrix.clone())


class lowest_number_and_zeroed_rows:
    """Hidden scores become the lowest number of their dtype, and rows that see nothing are multiplied by zero."""

    def softmax(scores):
        lowest = torch.finfo(scores.dtype).min
        finite = scores.clamp(min=lowest)
        parts = (finite - finite.max(dim=-1, keepdim=True).values).exp()
        something = (scores > lowest).any(dim=-1, keepdim=True)
        return parts / parts.sum(dim=-1, keepdim=True) * something

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = torch.matmul(query, torch.transpose(key, -1, -2)) / torch.sqrt(torch.tensor(key.size(-1)))
        if mask is not None:
            scores = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min)
        weights = softmax(scores)
        return torch.matmul(weights, value), weights


class added_mask_on_flat_batches:
    """The batch is folded into one axis for torch.baddbmm, which adds the mask as it multiplies."""

    def scaled_dot_product_attention(query, key, value, mask=None):
        batch, queries, keys = query.shape[:-2], query.shape[-2], key.shape[-2]
        bias = query.new_zeros(*batch, queries, keys)
        if mask is not None:
            bias = bias.masked_fill(mask.logical_not(), torch.finfo(query.dtype).min)
        flat = [tensor.reshape(-1, *tensor.shape[-2:]) for tensor in (bias, query, key, value)]
        scores = torch.baddbmm(flat[0], flat[1], flat[2].transpose(1, 2), alpha=1 / math.sqrt(query.shape[-1]))
        seen = flat[0].amax(dim=-1, keepdim=True) == 0
        weights = softmax(scores) * seen
        return torch.bmm(weights, flat[3]).reshape(*batch, queries, -1), weights.reshape(*batch, queries, keys)


class query_by_query:
    """One query after the other, over the keys that it may see."""

    def scaled_dot_product_attention(query, key, value, mask=None):
        if query.ndim > 2:
            masks = [None] * len(query) if mask is None else mask.expand(*query.shape[:-1], key.shape[-2])
            both = [scaled_dot_product_attention(*each) for each in zip(query, key, value, masks)]
            return tuple(torch.stack(part) for part in zip(*both))
        if mask is None:
            mask = torch.ones(len(query), len(key), dtype=torch.bool, device=query.device)
        rows = [weights_of(one, key, seen) for one, seen in zip(query, mask.expand(len(query), len(key)))]
        weights = torch.stack(rows)
        return weights @ value, weights

    def weights_of(query, key, seen):
        weights = torch.zeros(len(key), dtype=key.dtype, device=key.device)
        return weights.index_put((seen,), softmax(key[seen] @ query / len(query) ** 0.5)) if seen.any() else weights


class scaled_queries:
    """The query is scaled instead of the scores, and the projections are one matrix read in three parts."""

    def scaled_dot_product_attention(query, key, value, mask=None):
        query = query * key.shape[-1] ** -0.5
        scores = (key @ query.mT).mT
        scores = scores if mask is None else scores.masked_fill(~mask, float("-inf"))
        weights = softmax(scores)
        return (weights.unsqueeze(-1) * value.unsqueeze(-3)).sum(-2), weights

    class SingleHeadAttention(nn.Module):
        def __init__(self, d_model, d_k, d_v):
            super().__init__()
            self.d_k = d_k
            self.weight = nn.Parameter(torch.empty(2 * d_k + d_v, d_model))
            nn.init.xavier_uniform_(self.weight)

        def forward(self, x, mask=None):
            query, key = nn.functional.linear(x, self.weight[: self.d_k]), nn.functional.linear(x, self.weight[self.d_k : 2 * self.d_k])
            return scaled_dot_product_attention(query, key, nn.functional.linear(x, self.weight[2 * self.d_k :]), mask)[0]

    def set_weights(head, w_query, w_key, w_value):
        head.weight.data = torch.hstack([w_query, w_key, w_value]).T


class masks_by_comparison:
    """Masks by comparing positions instead of cutting triangles."""

    def causal_mask(length):
        places = torch.arange(length)
        return places[:, None] >= places

    def padding_mask(lengths, max_length):
        rows = [[place < length for place in range(max_length)] for length in lengths.tolist()]
        return torch.tensor(rows, device=lengths.device)[:, None]


class in_single_precision_inside:
    """Numbers of 16 bits are computed in 32, hidden scores are -1e30 there, and what comes back has the dtype of the inputs."""

    def scaled_dot_product_attention(query, key, value, mask=None):
        wide = torch.promote_types(query.dtype, torch.float32)
        scores = torch.einsum("...qd,...kd->...qk", query.to(wide), key.to(wide)) / key.shape[-1] ** 0.5
        seen = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask.expand_as(scores)
        scores = torch.where(seen, scores, -1e30)
        parts = (scores - scores.amax(dim=-1, keepdim=True)).exp() * seen
        weights = parts / parts.sum(dim=-1, keepdim=True).clamp(min=1e-30)
        return (weights @ value.to(wide)).to(query.dtype), weights.to(query.dtype)


class rows_by_reshape:
    """All rows of scores in one table, the mask spread out beforehand, and the batch folded and unfolded by reshape."""

    def softmax(scores):
        rows = scores.reshape(-1, scores.shape[-1])
        highest = rows.max(dim=-1, keepdim=True).values
        parts = (rows - torch.where(highest == -math.inf, torch.zeros_like(highest), highest)).exp()
        total = parts.sum(dim=-1, keepdim=True)
        return (parts / torch.where(total == 0, torch.ones_like(total), total)).reshape(scores.shape)
