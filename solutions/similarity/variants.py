"""Right answers in other styles. Parsed, never imported; see autograder/exercise/known.py."""
import torch
from torch import nn


class einsum_throughout:
    """Every product an einsum."""

    def dot_product_scores(query, key):
        return torch.einsum("...qd,...kd->...qk", query, key)

    def additive_scores(query, key, w_query, w_key, w):
        asked, offered = torch.einsum("...qd,dh->...qh", query, w_query), torch.einsum("...kd,dh->...kh", key, w_key)
        return torch.einsum("...qkh,h->...qk", (asked[..., :, None, :] + offered[..., None, :, :]).tanh(), w)

    def weighted_average(matches, value):
        return torch.einsum("...qk,...kv,...q->...qv", matches, value, 1 / matches.sum(-1))

    def attend(query, key, value, score):
        return torch.einsum("...qk,...kv->...qv", score(query, key).softmax(-1), value)


class pair_by_pair:
    """Loops over queries and keys, and a recursion into the batch."""

    def all_pairs(query, key, compare):
        if query.ndim > 2:
            return torch.stack([all_pairs(q, k, compare) for q, k in zip(query, key)])
        return torch.stack([torch.stack([compare(q, k) for k in key]) for q in query])

    def dot_product_scores(query, key):
        return all_pairs(query, key, torch.dot)

    def additive_scores(query, key, w_query, w_key, w):
        return all_pairs(query, key, lambda q, k: torch.dot(w, torch.tanh(q @ w_query + k @ w_key)))

    def weighted_average(matches, value):
        if matches.ndim > 2:
            return torch.stack([weighted_average(*each) for each in zip(matches, value)])
        return torch.stack([sum(match * v for match, v in zip(row, value)) / sum(row) for row in matches])


class joined_and_stacked:
    """Query and key of each pair joined into one long vector, times one matrix stacked of the two."""

    def additive_scores(query, key, w_query, w_key, w):
        queries, keys = query.shape[-2], key.shape[-2]
        asking = query.repeat_interleave(keys, dim=-2)
        offering = key.repeat(*[1] * (key.ndim - 2), queries, 1)
        hidden = torch.tanh(torch.cat([asking, offering], dim=-1) @ torch.vstack([w_query, w_key]))
        return (hidden @ w).unflatten(-1, (queries, keys))


class modules_inside:
    """The work is done by modules, as in a network that learns."""

    from torch.nn import functional as F

    class Additive(nn.Module):
        def __init__(self, w_query, w_key, w):
            super().__init__()
            self.w_query, self.w_key, self.w = w_query, w_key, w

        def forward(self, query, key):
            asked, offered = F.linear(query, self.w_query.mT), F.linear(key, self.w_key.mT)
            pairs = torch.tanh(asked.unsqueeze(-2) + offered.unsqueeze(-3))
            return F.linear(pairs, self.w.unsqueeze(0)).squeeze(-1)

    class Average(nn.Module):
        def forward(self, matches, value):
            return F.normalize(matches, p=1.0, dim=-1, eps=0.0) @ value

    def additive_scores(query, key, w_query, w_key, w):
        return Additive(w_query, w_key, w)(query, key)

    def weighted_average(matches, value):
        return Average()(matches, value)

    def attend(query, key, value, score):
        return Average()(nn.Softmax(dim=-1)(score(query, key)), value)


class in_place:
    """Sums and powers written into the tensors that hold them."""

    def additive_scores(query, key, w_query, w_key, w):
        pairs = (query @ w_query).unsqueeze(-2).repeat_interleave(key.shape[-2], dim=-2)
        pairs += (key @ w_key).unsqueeze(-3)
        return pairs.tanh_().mul(w).sum(-1)

    def attend(query, key, value, score):
        scores = score(query, key)
        matches = scores.sub(scores.amax(-1, keepdim=True)).exp_()
        return weighted_average(matches, value)


class one_hidden_number_at_a_time:
    """The table of all pairs never gets an axis for the hidden numbers; divided at the end."""

    def additive_scores(query, key, w_query, w_key, w):
        asked, offered = query @ w_query, key @ w_key
        scores = 0
        for h in range(len(w)):
            scores = scores + w[h] * torch.tanh(asked[..., h : h + 1] + offered[..., h : h + 1].mT)
        return scores

    def weighted_average(matches, value):
        return (matches @ value) / matches.sum(-1, keepdim=True)


class by_powers_of_e:
    """tanh and softmax written out, in 64 bits, and the result brought back to what came in."""

    def additive_scores(query, key, w_query, w_key, w):
        asked, offered = query.double() @ w_query.double(), key.double() @ w_key.double()
        pairs = asked[..., :, None, :] + offered[..., None, :, :]
        return ((1 - 2 / (torch.exp(2 * pairs) + 1)) @ w.double()).to(query.dtype)

    def attend(query, key, value, score):
        scores = score(query, key)
        return (scores - torch.logsumexp(scores, dim=-1, keepdim=True)).exp() @ value


class mapped_over_pairs:
    """The score of one pair, mapped over keys and then over queries."""

    def dot_product_scores(query, key):
        return torch.matmul(key, query.mT).mT

    def additive_scores(query, key, w_query, w_key, w):
        def one(asked, offered):
            return torch.tanh(asked + offered) @ w

        table = torch.vmap(torch.vmap(one, in_dims=(None, 0)), in_dims=(0, None))
        for _ in range(query.ndim - 2):
            table = torch.vmap(table)
        return table(query @ w_query, key @ w_key)


class products_summed:
    """Broadcast, multiplied and summed, with no matrix product."""

    def dot_product_scores(query, key):
        return (query.unsqueeze(-2) * key.unsqueeze(-3)).sum(dim=-1)

    def weighted_average(matches, value):
        total = matches.sum(dim=-1)
        return (matches[..., None] * value[..., None, :, :]).sum(dim=-2).div(total[..., None])


class query_after_query:
    """One query after the other is asked, and the rows are put together."""

    def attend(query, key, value, score):
        rows = [torch.softmax(score(query[..., i : i + 1, :], key), -1) @ value for i in range(query.shape[-2])]
        return torch.cat(rows, dim=-2)


class difference_of_two_rising:
    """The falling side of the hill is a rising tanh with a negative weight, in 64 bits."""

    def prefer_the_middle():
        w_query = torch.tensor([[2, -2]], dtype=torch.float64)
        return w_query, torch.full((1, 2), 3.0, dtype=torch.float64), torch.tensor([0.5, -0.5], dtype=torch.float64)


class steps_and_a_spare:
    """Steep steps of whole numbers, and a hidden number that nobody needs."""

    def prefer_the_middle():
        return torch.tensor([[50, 50, 7]]), torch.tensor([[100, -100, 1]]), torch.tensor([1, 1, 0])


class largest_first:
    """Each row of matches is divided by its largest, and then by its sum; batches in one axis of a copy."""

    def dot_product_scores(query, key):
        one, other = (x.contiguous().view(-1, *x.shape[-2:]) for x in (query, key))
        return torch.baddbmm(query.new_zeros(()), one, other.mT).view(*query.shape[:-1], -1)

    def weighted_average(matches, value):
        shares = matches.clone()
        shares /= matches.amax(dim=-1, keepdim=True)
        shares = shares / shares.sum(dim=-1, keepdim=True)
        return torch.einsum("...qk,...kv->...qv", shares, value)

    def attend(query, key, value, score):
        return score(query, key).double().softmax(dim=-1).matmul(value.double()).to(value.dtype)
