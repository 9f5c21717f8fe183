"""Right answers in other styles. Parsed, never imported; see autograder/exercise/known.py."""
import math

import torch
from torch.nn import functional as F


class merged_by_log_sum_exp:
    """Each chunk has a softmax of its own, and its output is mixed in by the log of its sum; local attention in three blocks."""

    def chunked_attention(query, key, value, chunk, mask=None):
        query = query.contiguous()
        work = torch.float32 if query.dtype in (torch.float16, torch.bfloat16) else query.dtype
        n, width = key.shape[-2], query.shape[-1]
        out, log_total = None, None
        for k, v, columns in zip(key.split(chunk, -2), value.split(chunk, -2), torch.arange(n, device=key.device).split(chunk)):
            scores = query.to(work) @ k.mT.to(work) * width**-0.5
            if mask is not None:
                part = mask if mask.shape[-1] == 1 else mask[..., columns]
                scores = torch.where(part, scores, -1e30)
            part_out, part_log = scores.softmax(-1) @ v.to(work), scores.logsumexp(-1, keepdim=True)
            if out is None:
                out, log_total = part_out, part_log
                continue
            share = torch.sigmoid(part_log - log_total)
            out = (1 - share) * out + share * part_out  # not out + share * (part_out - out), which a huge value that nobody sees would ruin
            log_total = torch.logaddexp(log_total, part_log)
        if mask is not None:
            out = out.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        return out.to(query.dtype)

    def local_attention(query, key, value, window, causal=False):
        n, size = query.shape[-2], max(window, 1)
        blocks = -(-n // size)
        pad = lambda x, left, right: F.pad(x, (0, 0, left, right))
        q = pad(query, 0, blocks * size - n).unflatten(-2, (blocks, size))
        k, v = (pad(x, size, blocks * size - n + size).unflatten(-2, (blocks + 2, size)) for x in (key, value))
        three = lambda x: torch.cat([x[..., :-2, :, :], x[..., 1:-1, :, :], x[..., 2:, :, :]], dim=-2)
        places = torch.arange(size, device=query.device)
        row = torch.arange(blocks, device=query.device)[:, None, None] * size + places[:, None]
        column = (torch.arange(blocks, device=query.device)[:, None, None] - 1) * size + torch.arange(3 * size, device=query.device)
        seen = ((row - column).abs() <= window) & (column >= 0) & (column < n)
        if causal:
            seen &= column <= row
        scores = q @ three(k).mT / query.shape[-1] ** 0.5
        weights = scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(-1)
        return (weights @ three(v)).flatten(-3, -2)[..., :n, :]

    def feature_map(x):
        return torch.where(x > 0, x + 1, x.clamp(max=0).exp())

    def linear_attention(query, key, value, causal=False):
        q, k = feature_map(query), feature_map(key)
        ones = torch.ones_like(value[..., :1])
        # The sum of the similarities is what a value of 1 would get.
        v = torch.cat([value, ones], dim=-1)
        if causal:
            memory = torch.cumsum(torch.einsum("...nk,...nv->...nkv", k, v), dim=-3)
            out = (q.unsqueeze(-2) @ memory).squeeze(-2)
        else:
            out = q @ torch.einsum("...nk,...nv->...kv", k, v)
        return out[..., :-1] / out[..., -1:]


class twice_through_the_keys:
    """First through the keys for the maximum, then again for the sums: twice the work and no rescaling."""

    def chunked_attention(query, key, value, chunk, mask=None):
        as_double = query.double() * query.size(-1) ** -0.5
        places = range(0, key.size(-2), chunk)

        def scores_at(start):
            scores = torch.einsum("...qd,...kd->...qk", as_double, key[..., start : start + chunk, :].double())
            if mask is None:
                return scores
            columns = mask if mask.size(-1) == 1 else mask[..., start : start + chunk]
            return scores.masked_fill(columns.logical_not(), float("-inf"))

        with torch.no_grad():
            highest = scores_at(places[0]).amax(-1, keepdim=True)
            for start in places[1:]:
                highest = highest.maximum(scores_at(start).amax(-1, keepdim=True))
            highest = highest.nan_to_num(neginf=0.0)
        total = output = 0.0
        for start in places:
            parts = torch.exp(scores_at(start) - highest)
            total = total + parts.sum(-1, keepdim=True)
            output = output + parts @ value[..., start : start + chunk, :].double()
        return (output / total.clamp(min=1e-300)).to(query.dtype)

    def local_attention(query, key, value, window, causal=False):
        words = query.size(-2)
        steps = range(-min(window, words - 1), 1 if causal else min(window, words - 1) + 1)
        places = torch.arange(words, device=query.device)
        columns = [(places + step) for step in steps]
        inside = torch.stack([(c >= 0) & (c < words) for c in columns], -1)
        scores = torch.stack([(query * key[..., c.clamp(0, words - 1), :]).sum(-1) for c in columns], -1)
        weights = torch.softmax((scores / math.sqrt(query.size(-1))).masked_fill(~inside, -math.inf), -1)
        return sum(weights[..., n, None] * value[..., c.clamp(0, words - 1), :] for n, c in enumerate(columns))

    def feature_map(x):
        return x.clamp(min=0) + x.clamp(max=0).exp()

    def linear_attention(query, key, value, causal=False):
        query, key = feature_map(query), feature_map(key)
        if not causal:
            return query @ (key.mT @ value) / (query * key.sum(-2, keepdim=True)).sum(-1, keepdim=True)
        # As a recurrence, with a state of d_k by d_v.
        state, total, found = 0.0, 0.0, []
        for word in range(query.size(-2)):
            k, v, q = key[..., word, :], value[..., word, :], query[..., word, :]
            state, total = state + k[..., :, None] * v[..., None, :], total + k
            found.append((q[..., None, :] @ state)[..., 0, :] / (q * total).sum(-1, keepdim=True))
        return torch.stack(found, dim=-2)


class blocks_of_both:
    """Blocks of queries in an outer loop and chunks of keys in an inner one, as in a fused kernel; windows by `unfold`; a block and a state."""

    from torch import nn

    def one_block(query, key, value, chunk, mask, rows):
        highest = query.new_full((*query.shape[:-1], 1), torch.finfo(query.dtype).min)
        numerator, denominator = 0, 0
        for number in range(math.ceil(key.shape[-2] / chunk)):
            keys = slice(number * chunk, (number + 1) * chunk)
            scores = torch.matmul(query, key[..., keys, :].transpose(-1, -2).to(query.dtype))
            seen = torch.ones_like(scores, dtype=torch.bool)
            if mask is not None:
                seen = mask[..., rows, :] if mask.shape[-2] > 1 else mask
                seen = seen[..., keys] if mask.shape[-1] > 1 else seen
                scores = scores.where(seen, torch.finfo(scores.dtype).min)
            before, highest = highest, torch.max(highest, scores.max(dim=-1, keepdim=True)[0].detach())
            weights = torch.exp(scores - highest) * seen
            numerator = numerator * torch.exp(before - highest) + weights.matmul(value[..., keys, :].to(query.dtype))
            denominator = denominator * torch.exp(before - highest) + weights.sum(-1, True)
        return numerator / torch.where(denominator > 0, denominator, torch.ones_like(denominator))

    def chunked_attention(query, key, value, chunk, mask=None):
        exact = torch.promote_types(query.dtype, torch.float32)
        mask = mask if mask is None or mask.ndim > 1 else mask[None]
        found = []
        for first in range(0, query.shape[-2], 512):
            rows = slice(first, first + 512)
            block = query[..., rows, :].to(exact).div(math.sqrt(query.shape[-1]))
            found.append(one_block(block, key, value, chunk, mask, rows))
        return torch.cat(found, -2).to(query.dtype)

    def local_attention(query, key, value, window, causal=False):
        n, ahead = query.shape[-2], 0 if causal else window
        # Every word gets its window of keys by a view, without a copy.
        k = F.pad(key, (0, 0, window, ahead)).unfold(-2, window + ahead + 1, 1)
        v = F.pad(value, (0, 0, window, ahead)).unfold(-2, window + ahead + 1, 1)
        real = F.pad(torch.ones(n, dtype=torch.bool, device=query.device), (window, ahead)).unfold(0, window + ahead + 1, 1)
        scores = torch.einsum("...nd,...ndw->...nw", query, k) / math.sqrt(query.shape[-1])
        weights = F.softmax(scores.masked_fill(~real, float("-inf")), dim=-1)
        return torch.einsum("...nw,...ndw->...nd", weights, v)

    def feature_map(x):
        return nn.ReLU()(x) + torch.exp(-nn.ReLU()(-x))

    def linear_attention(query, key, value, causal=False):
        q, k = feature_map(query), feature_map(key)
        if not causal:
            z = 1 / torch.einsum("...nd,...d->...n", q, k.sum(dim=-2))
            return torch.einsum("...nd,...dv,...n->...nv", q, torch.einsum("...md,...mv->...dv", k, value), z)
        # In blocks: a small table within the block, a state for all that came before.
        size, state, total, found = 32, 0.0, 0.0, []
        for q_part, k_part, v_part in zip(q.split(size, -2), k.split(size, -2), value.split(size, -2)):
            table = (q_part @ k_part.mT).tril()
            before = q_part @ state if torch.is_tensor(state) else 0.0
            so_far = (q_part * total).sum(-1, keepdim=True)
            found.append((table @ v_part + before) / (table.sum(-1, keepdim=True) + so_far))
            state, total = state + k_part.mT @ v_part, total + k_part.sum(-2, keepdim=True)
        return torch.cat(found, -2)


class states_that_merge:
    """Each chunk becomes a state of maximum, sum and output; when all are there, they are merged two by two."""

    def chunked_attention(query, key, value, chunk, mask=None):
        work = {torch.float16: torch.float32, torch.bfloat16: torch.float32}.get(query.dtype, query.dtype)
        q = query.to(work) / query.shape[-1] ** 0.5
        states = []
        for start in range(0, key.shape[-2], chunk):
            stop = start + chunk
            s = q.matmul(key[..., start:stop, :].to(work).mT)
            if mask is not None:
                s = s + torch.where(mask.expand(*mask.shape[:-1], key.shape[-2])[..., start:stop], 0.0, -math.inf)
            m = s.detach().max(-1).values
            m = torch.where(m.isinf(), torch.zeros_like(m), m)
            e = torch.exp(s - m[..., None])
            states.append((m, e.sum(-1), e @ value[..., start:stop, :].to(work)))
        while len(states) > 1:
            pairs = zip(states[::2], states[1::2])
            states = [merge(*pair) for pair in pairs] + states[len(states) - len(states) % 2 :]
        _, total, output = states[0]
        return torch.where(total[..., None] > 0, output / total.where(total > 0, torch.ones_like(total))[..., None], 0.0).type_as(query)

    def merge(one, other):
        m = torch.maximum(one[0], other[0])
        # A side that has seen nothing yet has a sum of 0, whatever stands for its maximum.
        m = torch.where(one[1] == 0, other[0], torch.where(other[1] == 0, one[0], m))
        a, b = ((torch.where(side[1] == 0, m, side[0]) - m).exp() for side in (one, other))
        return m, one[1] * a + other[1] * b, one[2] * a[..., None] + other[2] * b[..., None]


class by_the_definition:
    """A loop over words for the window, and one over the columns of the values for the sums that look back."""

    def local_attention(query, key, value, window, causal=False):
        rows = []
        for i in range(query.shape[-2]):
            near = slice(max(0, i - window), i + 1 if causal else i + window + 1)
            scores = (key[..., near, :] @ query[..., i, :, None])[..., 0] / math.sqrt(key.shape[-1])
            rows.append((scores.softmax(-1)[..., None] * value[..., near, :]).sum(-2))
        return torch.stack(rows, -2)

    def feature_map(x):
        return torch.maximum(x + 1, torch.minimum(x, torch.zeros_like(x)).exp())

    def linear_attention(query, key, value, causal=False):
        phi_q, phi_k = map(feature_map, (query, key))
        if causal:
            numerator = [phi_q * torch.cumsum(phi_k * value[..., [v]], dim=-2) for v in range(value.shape[-1])]
            numerator = torch.stack([part.sum(-1) for part in numerator], dim=-1)
            return numerator / (phi_q * phi_k.cumsum(-2)).sum(-1, keepdim=True)
        context = torch.matmul(phi_k.transpose(-1, -2), value)
        return torch.matmul(phi_q, context) / torch.matmul(phi_q, phi_k.sum(-2).unsqueeze(-1))


class scores_beside_their_values:
    """Numerator and denominator in one matrix, written over in place: each value gets a 1 as its last number."""

    def chunked_attention(query, key, value, chunk, mask=None):
        wide = torch.float64
        value = torch.cat([value, torch.ones_like(value[..., :1])], dim=-1)
        highest = torch.full(query.shape[:-1], -1e30, dtype=wide, device=query.device)[..., None]
        sums = query.new_zeros(*query.shape[:-1], value.shape[-1], dtype=wide)
        for start in range(0, key.shape[-2], chunk):
            k, v = (x.narrow(-2, start, min(chunk, x.shape[-2] - start)).to(wide) for x in (key, value))
            scores = torch.baddbmm(torch.zeros(1, 1, 1, dtype=wide, device=query.device), query.to(wide).reshape(-1, *query.shape[-2:]), k.reshape(-1, *k.shape[-2:]).mT, alpha=query.shape[-1] ** -0.5)
            scores = scores.reshape(*query.shape[:-1], k.shape[-2])
            if mask is not None:
                hidden = ~(mask if mask.shape[-1] == 1 else mask.narrow(-1, start, k.shape[-2]))
                scores = scores.masked_fill(hidden, -math.inf)
            new = torch.maximum(highest, scores.max(dim=-1, keepdim=True).values).detach()
            sums.mul_(highest.sub_(new).exp_()).add_(scores.sub(new).exp_() @ v)
            highest = new
        output, total = sums[..., :-1], sums[..., -1:]
        return (output / (total + (total == 0))).to(query.dtype)


class minus_one_billion_in_64_bits:
    """Everything in 64 bits, where -1e9 lies below all scores and 1e-300 below all sums; the batch in one axis of a copy."""

    def in_rows(x):
        return x.double().contiguous().view(-1, *x.shape[-2:])

    def chunked_attention(query, key, value, chunk, mask=None):
        batch, q = query.shape[:-2], in_rows(query) / query.shape[-1] ** 0.5
        total, output, highest = 0.0, 0.0, q.new_full((*q.shape[:-1], 1), -1e9)
        for start in range(0, key.shape[-2], chunk):
            k, v = (in_rows(x[..., start : start + chunk, :]) for x in (key, value))
            scores = (q @ k.mT).unflatten(0, batch or (1,))
            seen = True
            if mask is not None:
                seen = mask if mask.shape[-1] == 1 else mask[..., start : start + chunk]
                scores = torch.where(seen, scores, -1e9)
            higher = torch.maximum(highest, scores.detach().flatten(0, -3).amax(-1, keepdim=True))
            parts = ((scores - higher.unflatten(0, batch or (1,))).exp() * seen).flatten(0, -3)
            shrink = (highest - higher).exp()
            total, output, highest = total * shrink + parts.sum(-1, keepdim=True), output * shrink + parts @ v, higher
        return (output / total.clamp(min=1e-300)).reshape(*query.shape[:-1], -1).to(query.dtype)

    def local_attention(query, key, value, window, causal=False):
        found = []
        for i in range(query.shape[-2]):
            near = slice(max(0, i - window), i + 1 if causal else i + window + 1)
            scores = query[..., i : i + 1, :].double() @ key[..., near, :].double().mT
            found.append(scores.div_(key.shape[-1] ** 0.5).softmax(-1) @ value[..., near, :].double())
        return torch.cat(found, -2).to(query.dtype)

    def feature_map(x):
        return x.clone().clamp_(max=0).exp() + x.relu()

    def linear_attention(query, key, value, causal=False):
        q, k, v = feature_map(query).double(), feature_map(key).double(), value.double()
        if causal:
            upper, lower = (k[..., None] * v[..., None, :]).cumsum(-3), k.cumsum(-2)
            return ((q[..., None, :] @ upper)[..., 0, :] / ((q * lower).sum(-1, keepdim=True) + 1e-300)).to(value.dtype)
        return (q @ (k.mT @ v) / (q @ k.sum(-2)[..., None] + 1e-300)).to(value.dtype)
