"""Right answers in other styles. Parsed, never imported; see autograder/exercise/known.py."""
import math

import torch
from torch import nn


class packed_keys_and_values:
    """One matrix makes keys and values together; the two directions share one helper."""

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.d_k = d_k
            self.ask = nn.Linear(d_query, d_k, bias=False)
            self.answer = nn.Linear(d_context, d_k + d_v, bias=False)

        def forward(self, x, context, mask=None):
            answer = self.answer(context)
            return attend(self.ask(x), answer[..., : self.d_k], answer[..., self.d_k :], mask)

    def set_weights(attention, w_query, w_key, w_value):
        attention.ask.weight.data = w_query.T.clone()
        attention.answer.weight.data = torch.hstack([w_key, w_value]).T.clone()

    def attend(query, key, value, mask=None):
        scores = torch.matmul(query, key.mT).mul(key.shape[-1] ** -0.5)
        if mask is None:
            return scores.softmax(-1).matmul(value)
        return scores.masked_fill(mask.logical_not(), float("-inf")).softmax(-1).nan_to_num().matmul(value)

    def look_both_ways(text, image):
        return attend(text, image, image), attend(image, text, text)


class parameters_and_einsum:
    """Matrices of the module's own, and every product spelled as an einsum."""

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.d_k = d_k
            self.w_query = nn.Parameter(torch.randn(d_query, d_k))
            self.w_key = nn.Parameter(torch.randn(d_context, d_k))
            self.w_value = nn.Parameter(torch.randn(d_context, d_v))

        def forward(self, x, context, mask=None):
            scores = torch.einsum("...qi,ik,...cj,jk->...qc", x, self.w_query, context, self.w_key) * self.d_k**-0.5
            if mask is not None:
                scores = torch.where(mask, scores, -torch.inf)
            highest = scores.amax(dim=-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)
            parts = torch.exp(scores - highest)
            weights = parts / parts.sum(dim=-1, keepdim=True).clamp(min=1e-30)
            return torch.einsum("...qc,...cj,jv->...qv", weights, context, self.w_value)

    def set_weights(attention, w_query, w_key, w_value):
        for name, matrix in {"w_query": w_query, "w_key": w_key, "w_value": w_value}.items():
            getattr(attention, name).data.copy_(matrix)

    def look_both_ways(text, image):
        scores = torch.einsum("...wd,...pd->...wp", text, image) / text.size(-1) ** 0.5
        by_word, by_patch = torch.softmax(scores, -1), torch.softmax(scores, -2)
        return torch.einsum("...wp,...pd->...wd", by_word, image), torch.einsum("...wp,...wd->...pd", by_patch, text)


class large_negative_number_and_zeroed_rows:
    """Hidden scores become -1e9, and the output of a word that sees nothing is put to zero."""

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            widths = ((d_query, d_k), (d_context, d_k), (d_context, d_v))
            self.projections = nn.ModuleList(nn.Linear(*each, bias=False) for each in widths)
            self.softmax = nn.Softmax(dim=-1)

        def forward(self, x, context, mask=None):
            query, key, value = (project(of) for project, of in zip(self.projections, (x, context, context)))
            scores = torch.matmul(query, key.transpose(-1, -2)) / torch.sqrt(torch.tensor(key.size(-1)))
            if mask is None:
                return self.softmax(scores) @ value
            output = self.softmax(scores.masked_fill(mask == 0, -1e9)) @ value
            return torch.where(mask.any(dim=-1, keepdim=True), output, torch.zeros_like(output))

    def set_weights(attention, w_query, w_key, w_value):
        with torch.no_grad():
            for project, matrix in zip(attention.projections, (w_query, w_key, w_value)):
                project.weight.copy_(matrix.T)


class flat_batches_and_added_mask:
    """The batch is folded into one axis for torch.baddbmm, which adds the mask as it multiplies."""

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.scale = 1 / math.sqrt(d_k)
            self.weight_q = nn.Parameter(torch.zeros(d_k, d_query))
            self.weight_kv = nn.Parameter(torch.zeros(d_k + d_v, d_context))

        def forward(self, x, context, mask=None):
            width, answer = len(self.weight_q), nn.functional.linear(context, self.weight_kv)
            query, key, value = nn.functional.linear(x, self.weight_q), answer[..., :width], answer[..., width:]
            shape = (*x.shape[:-1], context.shape[-2])
            seen = torch.ones(shape, dtype=torch.bool, device=x.device) if mask is None else mask.expand(shape)
            bias = torch.zeros(shape, dtype=x.dtype, device=x.device).masked_fill(~seen, torch.finfo(x.dtype).min / 2)
            flat = [each.flatten(0, -3) if each.ndim > 2 else each[None] for each in (bias, query, key, value)]
            weights = torch.baddbmm(flat[0], flat[1], flat[2].mT, alpha=self.scale).softmax(dim=-1)
            output = torch.bmm(weights, flat[3]).reshape(*x.shape[:-1], -1)
            return output * seen.any(dim=-1, keepdim=True)

    def set_weights(attention, w_query, w_key, w_value):
        with torch.no_grad():
            attention.weight_q.copy_(w_query.T)
            attention.weight_kv.copy_(torch.cat([w_key.T, w_value.T]))


class word_by_word:
    """One word of x after the other, over the words of the context that it may see."""

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.ask, self.find, self.give = (nn.Linear(i, o, bias=False) for i, o in ((d_query, d_k), (d_context, d_k), (d_context, d_v)))

        def forward(self, x, context, mask=None):
            if mask is not None:
                mask = mask.expand(*x.shape[:-1], context.shape[-2])
            if x.ndim > 2:
                masks = [None] * len(x) if mask is None else mask
                return torch.stack([self(*each) for each in zip(x, context, masks)])
            seen = [slice(None)] * len(x) if mask is None else mask
            return torch.stack([read_by_one(self.ask(word), self.find(context[s]), self.give(context[s])) for word, s in zip(x, seen)])

    def read_by_one(query, key, value):
        shares = torch.softmax(key @ query / math.sqrt(len(query)), dim=0)
        return shares @ value

    def set_weights(attention, w_query, w_key, w_value):
        with torch.no_grad():
            attention.ask.weight.copy_(w_query.T)
            attention.find.weight.copy_(w_key.T)
            attention.give.weight.copy_(w_value.T)

    def look_both_ways(text, image):
        if text.ndim > 2:
            return tuple(torch.stack(part) for part in zip(*map(look_both_ways, text, image)))
        words, patches = ([read_by_one(one, of, of) for one in by] for by, of in ((text, image), (image, text)))
        return torch.stack(words), torch.stack(patches)


class in_log_space:
    """Shares as exp(scores - logsumexp), with the scale put on the vectors before they meet."""

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_key = nn.Linear(d_context, d_k, bias=False)
            self.to_value = nn.Linear(d_context, d_v, bias=False)

        def forward(self, x, context, mask=None):
            query, key = self.to_query(x), self.to_key(context)
            scores = (query / query.shape[-1] ** 0.25) @ (key / key.shape[-1] ** 0.25).transpose(-2, -1)
            if mask is not None:
                scores = torch.where(mask, scores, torch.full_like(scores, -math.inf))
            weights = torch.exp(scores - torch.logsumexp(scores, dim=-1, keepdim=True))
            weights = weights if mask is None else torch.where(mask, weights, torch.zeros_like(weights))
            return weights @ self.to_value(context)

    def look_both_ways(text, image):
        scale = text.shape[-1] ** -0.25
        scores = (scale * text) @ (scale * image).transpose(-2, -1)
        log_words, log_patches = torch.log_softmax(scores, dim=-1), torch.log_softmax(scores, dim=-2)
        return log_words.exp() @ image, log_patches.exp().transpose(-2, -1) @ text


class rows_by_reshape:
    """The batch is folded by reshape, hidden scores are -1e30, and softmax is written out with the mask as a factor."""

    class CrossAttention(nn.Module):
        def __init__(self, d_query, d_context, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_query, d_k, bias=False)
            self.to_both = nn.Linear(d_context, d_k + d_v, bias=False)

        def forward(self, x, context, mask=None):
            d_k = self.to_query.out_features
            query = self.to_query(x.reshape(-1, x.shape[-1])).reshape(*x.shape[:-1], d_k)
            key, value = self.to_both(context.reshape(-1, context.shape[-1])).reshape(*context.shape[:-1], -1).tensor_split([d_k], dim=-1)
            scores = torch.einsum("...qd,...kd->...qk", query, key) * d_k**-0.5
            seen = scores.new_ones(1, 1).bool() if mask is None else mask
            scores = scores.where(seen, -1e30)
            parts = (scores - scores.detach().amax(dim=-1, keepdim=True)).exp() * seen
            return parts @ value / parts.sum(dim=-1, keepdim=True).clamp(min=1e-30)

    def set_weights(attention, w_query, w_key, w_value):
        with torch.no_grad():
            attention.to_query.weight.copy_(w_query.T)
            attention.to_both.weight.copy_(torch.cat([w_key, w_value], dim=1).T)
