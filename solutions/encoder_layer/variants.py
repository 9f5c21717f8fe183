"""Right answers in other styles. Parsed, never imported; see autograder/exercise/known.py."""
import math

import torch
from torch import nn
from torch.nn import functional as F


class one_branch_each:
    """The two kinds written out in two branches, the norm by var_mean, dropout as a module."""

    def layer_norm(x, gain, bias, eps=1e-5):
        wide = torch.promote_types(x.dtype, torch.float32)
        variance, mean = torch.var_mean(x.to(wide), dim=-1, correction=0, keepdim=True)
        return ((x - mean) / torch.sqrt(variance + eps) * gain + bias).to(x.dtype)

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.norm_first = num_heads, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))
            self.drop = nn.Dropout(dropout)

        def attend(self, x, mask):
            batch, tokens, d_model = x.shape
            q, k, v = (f(x).view(batch, tokens, self.num_heads, -1).permute(0, 2, 1, 3) for f in (self.to_query, self.to_key, self.to_value))
            scores = q @ k.mT / math.sqrt(d_model / self.num_heads)
            if mask is not None:
                mask = mask if mask.ndim == 2 else mask[:, None]
                scores = scores.masked_fill(mask == 0, -1e9)
            return self.to_output((scores.softmax(-1) @ v).permute(0, 2, 1, 3).reshape(batch, tokens, d_model))

        def network(self, x):
            return self.narrow(torch.relu(self.widen(x)))

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.drop(self.attend(layer_norm(x, self.gain1, self.bias1), mask))
                return x + self.drop(self.network(layer_norm(x, self.gain2, self.bias2)))
            x = layer_norm(x + self.drop(self.attend(x, mask)), self.gain1, self.bias1)
            return layer_norm(x + self.drop(self.network(x)), self.gain2, self.bias2)


class a_module_for_each_part:
    """Norm, attention and network are modules of their own, and a wrapper leads the words around each of them."""

    class Norm(nn.Module):
        def __init__(self, d_model):
            super().__init__()
            self.weight, self.bias = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))

        def forward(self, x):
            return layer_norm(x, self.weight, self.bias)

    class Attention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            self.heads = num_heads
            self.qkv, self.out = nn.Linear(d_model, 3 * d_model, bias=False), nn.Linear(d_model, d_model, bias=False)

        def forward(self, x, mask):
            q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            bias = None if mask is None else torch.zeros_like(mask, dtype=x.dtype).masked_fill(~mask, -math.inf).unsqueeze(-3)
            return self.out(F.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2).flatten(2))

    class Around(nn.Module):
        def __init__(self, d_model, sublayer, dropout, norm_first):
            super().__init__()
            self.sublayer, self.norm, self.dropout, self.norm_first = sublayer, Norm(d_model), nn.Dropout(dropout), norm_first

        def forward(self, x, *more):
            if self.norm_first:
                return x + self.dropout(self.sublayer(self.norm(x), *more))
            return self.norm(x + self.dropout(self.sublayer(x, *more)))

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            network = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
            self.attention = Around(d_model, Attention(d_model, num_heads), dropout, norm_first)
            self.network = Around(d_model, network, dropout, norm_first)

        def forward(self, x, mask=None):
            return self.network(self.attention(x, mask))

    def set_weights(layer, w_query, w_key, w_value, w_output, w1, b1, w2, b2, gain1, bias1, gain2, bias2):
        attention, network = layer.attention, layer.network
        first, _, last = network.sublayer
        attention.sublayer.qkv.weight.data = torch.cat([w_query, w_key, w_value], dim=1).T.contiguous()
        attention.sublayer.out.weight.data = w_output.T.contiguous()
        first.weight.data, first.bias.data, last.weight.data, last.bias.data = w1.T.contiguous(), b1, w2.T.contiguous(), b2
        attention.norm.weight.data, attention.norm.bias.data = gain1, bias1
        network.norm.weight.data, network.norm.bias.data = gain2, bias2


class attention_of_torch:
    """nn.MultiheadAttention, whose mask says True for hidden and wants one for each head, and a norm computed in 64 bits."""

    def layer_norm(x, gain, bias, eps=1e-5):
        exact = x.double()
        deviation = exact.std(dim=-1, correction=0, keepdim=True)
        shifted = exact - exact.mean(dim=-1, keepdim=True)
        return (shifted / (deviation**2 + eps) ** 0.5).type_as(x) * gain + bias

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.norm_first = num_heads, norm_first
            self.attention = nn.MultiheadAttention(d_model, num_heads, bias=False, batch_first=True)
            self.network = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model), nn.Dropout(dropout))
            self.dropout = nn.Dropout(dropout)
            self.norms = nn.ParameterList([torch.ones(d_model), torch.zeros(d_model), torch.ones(d_model), torch.zeros(d_model)])

        def attend(self, x, mask):
            hidden = None if mask is None else ~mask
            if mask is not None and mask.ndim == 3:
                hidden = hidden.repeat_interleave(self.num_heads, dim=0)
            return self.dropout(self.attention(x, x, x, attn_mask=hidden, need_weights=False)[0])

        def forward(self, x, mask=None):
            norm1 = lambda y: layer_norm(y, self.norms[0], self.norms[1])
            norm2 = lambda y: layer_norm(y, self.norms[2], self.norms[3])
            if self.norm_first:
                x = x + self.attend(norm1(x), mask)
                return x + self.network(norm2(x))
            x = norm1(x + self.attend(x, mask))
            return norm2(x + self.network(x))

    def set_weights(layer, w_query, w_key, w_value, w_output, w1, b1, w2, b2, gain1, bias1, gain2, bias2):
        pairs = [(layer.attention.in_proj_weight, torch.cat([w_query, w_key, w_value], dim=1).T), (layer.attention.out_proj.weight, w_output.T)]
        pairs += [(layer.network[0].weight, w1.T), (layer.network[0].bias, b1), (layer.network[2].weight, w2.T), (layer.network[2].bias, b2)]
        pairs += list(zip(layer.norms, (gain1, bias1, gain2, bias2)))
        with torch.no_grad():
            for mine, given in pairs:
                mine.copy_(given)


class parameters_and_einsum:
    """Parameters by name in one dictionary, every product an einsum, every head with matrices of its own."""

    def layer_norm(x, gain, bias, eps=1e-5):
        wide = x.to(torch.float64)
        ones = torch.full_like(wide[..., 0, None], 1 / x.shape[-1]).expand_as(wide)
        away = wide - torch.einsum("...d,...d->...", wide, ones)[..., None]
        variance = torch.einsum("...d,...d,...d->...", away, away, ones)[..., None]
        return torch.einsum("...d,d->...d", (away * (variance + eps) ** -0.5).to(x.dtype), gain) + bias

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            d_head = d_model // num_heads
            shapes = {"q": (num_heads, d_model, d_head), "k": (num_heads, d_model, d_head), "v": (num_heads, d_model, d_head), "o": (num_heads, d_head, d_model)}
            shapes |= {"w1": (d_model, d_ff), "b1": (d_ff,), "w2": (d_ff, d_model), "b2": (d_model,)}
            shapes |= {name: (d_model,) for name in ("gain1", "bias1", "gain2", "bias2")}
            self.p = nn.ParameterDict({name: nn.Parameter(torch.randn(shape) * d_model**-0.5) for name, shape in shapes.items()})
            self.rate, self.pre = dropout, norm_first

        def forward(self, x, mask=None):
            return self.around(self.around(x, 1, lambda y: self.attention(y, mask)), 2, self.network)

        def around(self, x, number, sublayer):
            norm = lambda y: layer_norm(y, self.p[f"gain{number}"], self.p[f"bias{number}"])
            drop = lambda y: F.dropout(y, p=self.rate, training=self.training)
            return x + drop(sublayer(norm(x))) if self.pre else norm(drop(sublayer(x)) + x)

        def attention(self, x, mask):
            q, k, v = (torch.einsum("btm,hmd->bhtd", x, self.p[name]) for name in "qkv")
            scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5
            if mask is not None:
                scores = torch.where(mask.expand(len(x), *mask.shape[-2:])[:, None], scores, -torch.inf)
            return torch.einsum("bhqk,bhkd,hdm->bqm", torch.softmax(scores, -1), v, self.p["o"])

        def network(self, x):
            hidden = torch.einsum("btm,mf->btf", x, self.p["w1"]) + self.p["b1"]
            return torch.einsum("btf,fm->btm", hidden.clamp(min=0), self.p["w2"]) + self.p["b2"]

    def set_weights(layer, w_query, w_key, w_value, w_output, w1, b1, w2, b2, gain1, bias1, gain2, bias2):
        heads = len(layer.p["q"])
        given = {"q": w_query, "k": w_key, "v": w_value}
        given = {name: torch.stack(w.chunk(heads, dim=1)) for name, w in given.items()} | {"o": torch.stack(w_output.chunk(heads))}
        given |= {"w1": w1, "b1": b1, "w2": w2, "b2": b2, "gain1": gain1, "bias1": bias1, "gain2": gain2, "bias2": bias2}
        with torch.no_grad():
            for name, value in given.items():
                layer.p[name].copy_(value)


class word_by_word_and_head_by_head:
    """A loop over the words in the norm, and one over the heads in attention."""

    def layer_norm(x, gain, bias, eps=1e-5):
        rows = [norm_of_one(row, eps) for row in x.reshape(-1, x.shape[-1])]
        return torch.stack(rows).reshape(x.shape).to(x.dtype) * gain + bias

    def norm_of_one(row, eps):
        row = row.double()
        row = row - sum(row) / len(row)
        return row / (row @ row / len(row) + eps) ** 0.5

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.d_head, self.dropout, self.norm_first = d_model // num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def attend(self, x, mask):
            found = []
            for q, k, v in zip(*(linear(x).split(self.d_head, dim=-1) for linear in (self.to_query, self.to_key, self.to_value))):
                scores = torch.bmm(q, k.transpose(1, 2)) / self.d_head**0.5
                if mask is not None:
                    scores = scores + torch.log(mask.to(x.dtype))
                parts = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
                found.append(torch.bmm(parts / parts.sum(dim=-1, keepdim=True), v))
            return self.to_output(torch.cat(found, dim=-1))

        def forward(self, x, mask=None):
            steps = [(lambda y: self.attend(y, mask), self.gain1, self.bias1), (lambda y: self.narrow(F.relu(self.widen(y))), self.gain2, self.bias2)]
            for step, gain, bias in steps:
                out = step(layer_norm(x, gain, bias)) if self.norm_first else step(x)
                if self.training:
                    out = nn.Dropout(self.dropout)(out)
                x = x + out if self.norm_first else layer_norm(x + out, gain, bias)
            return x


class dropout_everywhere:
    """As torch's own layer does it: weights of attention and hidden units are dropped too."""

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.norm_first, self.rate = num_heads, norm_first, dropout
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))
            self.drop1, self.drop2, self.drop3 = nn.Dropout(dropout), nn.Dropout(dropout), nn.Dropout(dropout)

        def look(self, x, mask):
            q, k, v = (torch.stack(linear(x).chunk(self.num_heads, -1), 1) for linear in (self.to_query, self.to_key, self.to_value))
            mask = mask[:, None] if mask is not None and mask.ndim == 3 else mask
            heads = F.scaled_dot_product_attention(q, k, v, mask, dropout_p=self.rate if self.training else 0.0)
            return self.drop1(self.to_output(torch.cat(heads.unbind(1), -1)))

        def think(self, x):
            return self.drop3(self.narrow(self.drop2(self.widen(x).relu())))

        def norm(self, x, number):
            return layer_norm(x, getattr(self, f"gain{number}"), getattr(self, f"bias{number}"))

        def forward(self, x, mask=None):
            if self.norm_first:
                x = x + self.look(self.norm(x, 1), mask)
                return x + self.think(self.norm(x, 2))
            x = self.norm(x + self.look(x, mask), 1)
            return self.norm(x + self.think(x), 2)


class in_place:
    """Everything that may be overwritten is overwritten."""

    def layer_norm(x, gain, bias, eps=1e-5):
        wide = torch.float64 if x.dtype == torch.float64 else torch.float32
        out = x.to(wide, copy=True)
        out -= out.mean(-1, keepdim=True)
        scale = out.pow(2).mean(-1, keepdim=True).add_(eps).rsqrt_()
        return torch.addcmul(bias.to(wide), out * scale, gain.to(wide)).to(x.dtype)

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def forward(self, x, mask=None):
            first = layer_norm(x, self.gain1, self.bias1) if self.norm_first else x
            batch, tokens, d_model = x.shape
            flat = [linear(first).reshape(batch, tokens, self.num_heads, -1).transpose(1, 2).flatten(0, 1) for linear in (self.to_query, self.to_key, self.to_value)]
            scores = torch.bmm(flat[0], flat[1].mT).mul_((d_model // self.num_heads) ** -0.5)
            if mask is not None:
                hidden = (~mask).expand(batch, tokens, tokens).repeat_interleave(self.num_heads, dim=0)
                scores.masked_fill_(hidden, torch.finfo(scores.dtype).min)
            heads = torch.bmm(scores.softmax(-1), flat[2]).unflatten(0, (batch, -1))
            y = F.dropout(self.to_output(heads.transpose(1, 2).reshape(x.shape)), self.dropout, self.training, inplace=True)
            y += x
            if not self.norm_first:
                y = layer_norm(y, self.gain1, self.bias1)
            hidden = self.widen(layer_norm(y, self.gain2, self.bias2) if self.norm_first else y).relu_()
            z = F.dropout(self.narrow(hidden), self.dropout, self.training, inplace=True)
            z += y
            return z if self.norm_first else layer_norm(z, self.gain2, self.bias2)


class dropout_by_hand:
    """Random numbers compared with the rate, and nothing divided where all is dropped."""

    def layer_norm(x, gain, bias, eps=1e-5):
        wide = x if x.dtype == torch.float64 else x.float()
        shifted = wide - wide.mean(-1, keepdim=True)
        size = torch.linalg.vector_norm(shifted, dim=-1, keepdim=True) ** 2 / x.size(-1)
        return (shifted / size.add(eps).sqrt()).to(x.dtype) * gain + bias

    def dropped(x, rate):
        kept = torch.rand_like(x) >= rate
        return x * kept / (1 - rate) if rate < 1 else x * 0

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.dropout, self.norm_first = num_heads, dropout, norm_first
            self.to_query, self.to_key, self.to_value, self.to_output = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.gain1, self.gain2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
            self.bias1, self.bias2 = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

        def forward(self, x, mask=None):
            rate = self.dropout if self.training else 0.0
            norm1, norm2 = (lambda y: layer_norm(y, self.gain1, self.bias1)), (lambda y: layer_norm(y, self.gain2, self.bias2))
            none = lambda y: y
            before = (norm1, norm2) if self.norm_first else (none, none)
            after = (none, none) if self.norm_first else (norm1, norm2)
            y = before[0](x)
            q, k, v = (linear(y).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value))
            scores = torch.matmul(q / q.shape[-1] ** 0.5, k.transpose(2, 3))
            if mask is not None:
                scores = torch.where(mask.unsqueeze(-3), scores, scores.new_tensor(-1e30))
            heads = torch.matmul((scores - scores.logsumexp(-1, keepdim=True)).exp(), v)
            x = after[0](x + dropped(self.to_output(heads.transpose(1, 2).flatten(2)), rate))
            hidden = torch.maximum(self.widen(before[1](x)), x.new_zeros(()))
            return after[1](x + dropped(self.narrow(hidden), rate))


class rows_by_reshape:
    """Words folded by reshape, everything in two tables of parameters, hidden scores far down and their weights struck out."""

    def layer_norm(x, gain, bias, eps=1e-5):
        rows = x.reshape(-1, x.shape[-1])
        rows = rows.to(torch.promote_types(x.dtype, torch.float32))
        rows = rows - rows.mean(dim=1, keepdim=True)
        rows = rows / torch.sqrt(rows.pow(2).mean(dim=1, keepdim=True) + eps)
        return rows.to(x.dtype).reshape(x.shape) * gain + bias

    class EncoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.norm_first, self.dropout = num_heads, norm_first, nn.Dropout(dropout)
            self.square = nn.Parameter(torch.randn(4, d_model, d_model) * d_model**-0.5)
            self.small = nn.Parameter(torch.cat([torch.ones(2, d_model), torch.zeros(3, d_model)]))
            self.w1, self.b1 = nn.Parameter(torch.randn(d_model, d_ff) * d_model**-0.5), nn.Parameter(torch.zeros(d_ff))
            self.w2 = nn.Parameter(torch.randn(d_ff, d_model) * d_ff**-0.5)

        def forward(self, x, mask=None):
            y = self.around(x, 0, lambda words: self.attend(words, mask))
            return self.around(y, 1, lambda words: torch.relu(words @ self.w1 + self.b1) @ self.w2 + self.small[4])

        def around(self, x, number, sublayer):
            norm = lambda y: layer_norm(y, self.small[number], self.small[2 + number])
            return x + self.dropout(sublayer(norm(x))) if self.norm_first else norm(x + self.dropout(sublayer(x)))

        def attend(self, x, mask):
            batch, tokens, d_model = x.shape
            d_head = d_model // self.num_heads
            flat = x.reshape(batch * tokens, d_model)
            q, k, v = ((flat @ w).reshape(batch, tokens, self.num_heads, d_head).swapaxes(1, 2) for w in self.square[:3])
            seen = torch.ones(tokens, tokens, dtype=torch.bool, device=x.device) if mask is None else mask
            seen = seen.reshape(-1, 1, tokens, tokens)
            weights = torch.where(seen, torch.einsum("bhqd,bhkd->bhqk", q, k) / d_head**0.5, -1e9).softmax(dim=-1) * seen
            weights = weights / weights.sum(dim=-1, keepdim=True)
            return (weights @ v).swapaxes(1, 2).reshape(batch, tokens, d_model) @ self.square[3]

    def set_weights(layer, w_query, w_key, w_value, w_output, w1, b1, w2, b2, gain1, bias1, gain2, bias2):
        with torch.no_grad():
            layer.square.copy_(torch.stack([w_query, w_key, w_value, w_output]))
            layer.small.copy_(torch.stack([gain1, gain2, bias1, bias2, b2]))
            for mine, given in ((layer.w1, w1), (layer.b1, b1), (layer.w2, w2)):
                mine.copy_(given)
