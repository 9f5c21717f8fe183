"""Right answers in other styles. Parsed, never imported; see autograder/exercise/known.py."""
import math

import torch


class complex_numbers:
    """A pair is a complex number, and a rotation is one multiplication."""

    def rotate(x, start=0, theta=10_000.0):
        frequencies = theta ** (-torch.arange(0, x.shape[-1], 2, dtype=torch.float64, device=x.device) / x.shape[-1])
        positions = torch.arange(start, start + x.shape[-2], device=x.device)
        turns = torch.polar(torch.ones(1, dtype=torch.float64, device=x.device), positions[:, None] * frequencies)
        pairs = torch.view_as_complex(x.double().contiguous().unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * turns).flatten(-2).to(x.dtype)

    def neighbours_to_halves(weight):
        return torch.cat(weight.unflatten(-1, (-1, 2)).unbind(-1), dim=-1)


class partner_beside:
    """As many libraries write it: the word times its cosines, plus its partner times its sines. Angles in 32 bits."""

    from torch.nn import functional as F

    def partner(x):
        return torch.stack([-x[..., 1::2], x[..., ::2]], dim=-1).reshape(x.shape)

    def rotate(x, start=0, theta=10_000.0):
        frequencies = 1.0 / theta ** (torch.arange(0, x.shape[-1], 2, device=x.device).float() / x.shape[-1])
        angles = torch.einsum("t,f->tf", torch.arange(start, start + x.shape[-2], device=x.device).float(), frequencies).repeat_interleave(2, dim=-1)
        return (x.float() * angles.cos() + partner(x.float()) * angles.sin()).to(x.dtype)

    def rotary_attention(query, key, value, query_start=0, key_start=0, theta=10_000.0):
        return F.scaled_dot_product_attention(rotate(query, query_start, theta), rotate(key, key_start, theta), value)

    def neighbours_to_halves(weight):
        d_model, d_k = weight.shape
        return weight.reshape(d_model, d_k // 2, 2).transpose(1, 2).reshape(d_model, d_k)


class matrices_of_turns:
    """For every position one large matrix of small rotations."""

    def turn_of(position, d_k, theta):
        angles = [position * theta ** (-column / d_k) for column in range(0, d_k, 2)]
        return torch.block_diag(*[torch.tensor([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]], dtype=torch.float64) for a in angles])

    def rotate(x, start=0, theta=10_000.0):
        tokens, d_k = x.shape[-2:]
        turns = torch.stack([turn_of(start + t, d_k, theta) for t in range(tokens)])
        return (x.double().unsqueeze(-2) @ turns.to(x.device)).squeeze(-2).to(x.dtype)

    def neighbours_to_halves(weight):
        order = [*range(0, weight.shape[1], 2), *range(1, weight.shape[1], 2)]
        return weight @ torch.eye(weight.shape[1], dtype=weight.dtype)[:, order]


class number_by_number:
    """No tensor operation but reading and writing: loops over positions and pairs."""

    def rotate(x, start=0, theta=10_000.0):
        rotated = torch.empty_like(x)
        for t in range(x.shape[-2]):
            for column in range(0, x.shape[-1], 2):
                angle = (start + t) / math.pow(theta, column / x.shape[-1])
                a, b = x[..., t, column], x[..., t, column + 1]
                rotated[..., t, column] = a * math.cos(angle) - b * math.sin(angle)
                rotated[..., t, column + 1] = a * math.sin(angle) + b * math.cos(angle)
        return rotated

    def neighbours_to_halves(weight):
        new = torch.empty_like(weight)
        for column in range(weight.shape[1]):
            new[:, column // 2 + (column % 2) * (weight.shape[1] // 2)] = weight[:, column]
        return new


class distances_only:
    """Nothing is rotated before it meets: every pair of positions has its own angle in the score."""

    def rotary_attention(query, key, value, query_start=0, key_start=0, theta=10_000.0):
        d_k = query.shape[-1]
        frequencies = theta ** (-torch.arange(0, d_k, 2, device=key.device).double() / d_k)
        positions = torch.arange(query.shape[-2], device=key.device)[:, None] + query_start - torch.arange(key.shape[-2], device=key.device) - key_start
        angles = positions[..., None] * frequencies
        a, b = (query.double()[..., None, column::2] for column in (0, 1))
        c, d = (key.double()[..., None, :, column::2] for column in (0, 1))
        scores = ((a * c + b * d) * angles.cos() - (b * c - a * d) * angles.sin()).sum(-1) / d_k**0.5
        return (scores.softmax(-1) @ value.double()).to(query.dtype)


class subclass_with_a_cache:
    """The rotations are kept from call to call, in a class of its own, and a reshape of the transpose makes halves of neighbours."""

    class Turns:
        def __init__(self):
            self.kept = {}

        def __call__(self, last, d_k, theta):
            if len(self.kept.get((d_k, theta), ())) < last:
                frequencies = torch.exp(torch.arange(0, d_k, 2).double() * (-math.log(theta) / d_k))
                angles = torch.arange(2 * last).double()[:, None] * frequencies
                self.kept[d_k, theta] = torch.stack([angles.cos(), -angles.sin(), angles.sin(), angles.cos()], -1).unflatten(-1, (2, 2))
            return self.kept[d_k, theta]

    def rotate(x, start=0, theta=10_000.0, turns=Turns()):
        stop = start + x.shape[-2]
        table = turns(stop, x.shape[-1], theta)[start:stop].to(x.device)
        return torch.einsum("tpij,...tpj->...tpi", table, x.double().unflatten(-1, (-1, 2))).flatten(-2).to(x)

    def neighbours_to_halves(weight):
        return weight.T.reshape(-1, 2, weight.shape[0]).transpose(0, 1).reshape(weight.T.shape).T


class copy_turned_in_place:
    """A copy of the words is written over; attention goes on in 64 bits and hands back what came in."""

    def rotate(x, start=0, theta=10_000.0):
        frequencies = theta ** (-torch.arange(0, x.shape[-1], 2, device=x.device).double() / x.shape[-1])
        angles = torch.arange(start, start + x.shape[-2], device=x.device)[:, None] * frequencies
        rotated = x.double().clone()
        a, b = rotated[..., 0::2].clone(), rotated[..., 1::2].clone()
        rotated[..., 0::2] *= angles.cos()
        rotated[..., 0::2] -= b * angles.sin()
        rotated[..., 1::2] *= angles.cos()
        rotated[..., 1::2] += a * angles.sin()
        return rotated.to(x.dtype)

    def rotary_attention(query, key, value, query_start=0, key_start=0, theta=10_000.0):
        scores = torch.einsum("...qd,...kd->...qk", rotate(query, query_start, theta).double(), rotate(key, key_start, theta).double())
        scores *= query.shape[-1] ** -0.5
        return torch.einsum("...qk,...kd->...qd", (scores - scores.logsumexp(-1, keepdim=True)).exp_(), value.double()).to(value.dtype)
