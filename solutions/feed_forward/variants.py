"""Right answers in other styles. Parsed, never imported; see autograder/exercise/known.py."""
import torch
from torch import nn


class a_sequence_of_layers:
    """The module is an nn.Sequential with nothing to add, and the count is taken from it."""

    class FeedForward(nn.Sequential):
        def __init__(self, d_model, d_ff):
            super().__init__(nn.Linear(d_model, d_ff), nn.ReLU(inplace=True), nn.Linear(d_ff, d_model))

    def set_weights(network, w1, b1, w2, b2):
        network[0].weight.data, network[0].bias.data = w1.T.contiguous(), b1.clone()
        network[2].weight.data, network[2].bias.data = w2.T.contiguous(), b2.clone()

    def parameter_count(d_model, d_ff):
        return sum(p.numel() for p in FeedForward(d_model, d_ff).parameters() if p.requires_grad)


class parameters_and_einsum:
    """Parameters of its own, every product spelled as an einsum, the ReLU as a clamp."""

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.w_in = nn.Parameter(torch.randn(d_model, d_ff) * d_model**-0.5)
            self.w_out = nn.Parameter(torch.randn(d_ff, d_model) * d_ff**-0.5)
            self.b_in, self.b_out = nn.Parameter(torch.zeros(d_ff)), nn.Parameter(torch.zeros(d_model))

        def forward(self, x):
            units = torch.einsum("...m,mf->...f", x, self.w_in) + self.b_in
            return torch.einsum("...f,fm->...m", units.clamp(min=0), self.w_out) + self.b_out

    def set_weights(network, w1, b1, w2, b2):
        network.w_in, network.b_in = nn.Parameter(w1.clone()), nn.Parameter(b1.clone())
        network.w_out, network.b_out = nn.Parameter(w2.clone()), nn.Parameter(b2.clone())

    def fold(w1, b1, w2, b2):
        return torch.einsum("mf,fn->mn", w1, w2), torch.einsum("f,fn->n", b1, w2).add(b2)

    def hidden_weights(x, w1, b1):
        return torch.einsum("...m,mf->...f", x, w1).add(b1).clamp(min=0)


class convolutions_of_width_one:
    """Two convolutions of width 1, with all axes before the words folded into one and unfolded again."""

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.w_1 = nn.Conv1d(d_model, d_ff, 1)
            self.w_2 = nn.Conv1d(d_ff, d_model, 1)

        def forward(self, x):
            columns = x.reshape(-1, *x.shape[-2:]).transpose(1, 2)
            return self.w_2(nn.functional.relu(self.w_1(columns))).transpose(1, 2).reshape(x.shape)

    def set_weights(network, w1, b1, w2, b2):
        with torch.no_grad():
            network.w_1.weight.copy_(w1.T.unsqueeze(-1)), network.w_1.bias.copy_(b1)
            network.w_2.weight.copy_(w2.T.unsqueeze(-1)), network.w_2.bias.copy_(b2)


class word_by_word:
    """A loop over the words, each a plain vector, and results put together by stack."""

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

        def forward(self, x):
            rows = [self.one_word(word) for word in x.reshape(-1, x.shape[-1])]
            return torch.stack(rows).view_as(x)

        def one_word(self, word):
            hidden = self.widen.weight.mv(word).add(self.widen.bias)
            return self.narrow.weight.mv(torch.where(hidden > 0, hidden, 0.0)).add(self.narrow.bias)

    def hidden_weights(x, w1, b1):
        rows = [torch.stack([torch.dot(word, key).add(bias).relu() for key, bias in zip(w1.T, b1)]) for word in x.reshape(-1, len(w1))]
        return torch.stack(rows).reshape(*x.shape[:-1], len(b1))

    def always_off(x, w1, b1):
        words = hidden_weights(x, w1, b1).reshape(-1, len(b1)).tolist()
        return torch.tensor([not any(word[unit] for word in words) for unit in range(len(b1))], device=x.device)


class unit_by_unit:
    """Read as keys and values: the output is built up from the second bias, one unit's value after the other."""

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.keys = nn.ParameterList(torch.randn(d_model) for _ in range(d_ff))
            self.values = nn.ParameterList(torch.randn(d_model) for _ in range(d_ff))
            self.thresholds = nn.ParameterList(torch.zeros(()) for _ in range(d_ff))
            self.base = nn.Parameter(torch.zeros(d_model))

        def forward(self, x):
            output = self.base.expand_as(x)
            for key, threshold, value in zip(self.keys, self.thresholds, self.values):
                output = output + torch.relu((x * key).sum(dim=-1, keepdim=True) + threshold) * value
            return output

    def set_weights(network, w1, b1, w2, b2):
        with torch.no_grad():
            for unit, (key, threshold, value) in enumerate(zip(w1.T, b1, w2)):
                network.keys[unit].copy_(key), network.values[unit].copy_(value), network.thresholds[unit].copy_(threshold)
            network.base.copy_(b2)

    def fold(w1, b1, w2, b2):
        matrix, bias = torch.zeros_like(w1 @ w2), b2.clone()
        for key, threshold, value in zip(w1.T, b1, w2):
            matrix += torch.outer(key, value)
            bias += threshold * value
        return matrix, bias

    def always_off(x, w1, b1):
        return torch.stack([(x @ key + threshold).max() <= 0 for key, threshold in zip(w1.T, b1)])


class bias_as_one_more_row:
    """Each word gets a 1 more, and each matrix its bias as a row more."""

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.first = nn.Parameter(torch.randn(d_model + 1, d_ff))
            self.second = nn.Parameter(torch.randn(d_ff + 1, d_model))

        def forward(self, x):
            return with_one(nn.functional.relu(with_one(x) @ self.first)) @ self.second

    def with_one(x):
        return torch.cat([x, x.new_ones(*x.shape[:-1], 1)], dim=-1)

    def set_weights(network, w1, b1, w2, b2):
        network.first.data = torch.vstack([w1, b1])
        network.second.data = torch.vstack([w2, b2])

    def fold(w1, b1, w2, b2):
        # A column more, so that the first layer hands the 1 on.
        first = torch.block_diag(w1, w1.new_ones(1, 1))
        first[-1, :-1] = b1
        both = first @ torch.vstack([w2, b2])
        return both[:-1], both[-1]

    def hidden_weights(x, w1, b1):
        return with_one(x).matmul(torch.vstack([w1, b1])).relu()


class functional_and_in_place:
    """Matrices stored as nn.Linear stores them, used by functional calls that write into their results."""

    from torch.nn import functional as F

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            shapes = {"up": (d_ff, d_model), "up_bias": (d_ff,), "down": (d_model, d_ff), "down_bias": (d_model,)}
            for name, shape in shapes.items():
                self.register_parameter(name, nn.Parameter(torch.empty(shape).uniform_(-1, 1)))

        def forward(self, x):
            units = F.linear(x, self.up, self.up_bias)
            return F.linear(F.relu_(units), self.down, self.down_bias)

    def set_weights(network, w1, b1, w2, b2):
        network.load_state_dict({"up": w1.t(), "up_bias": b1, "down": w2.t(), "down_bias": b2})

    def fold(w1, b1, w2, b2):
        return torch.mm(w2.T, w1.T).T, torch.addmv(b2, w2.T, b1)

    def hidden_weights(x, w1, b1):
        units = x.matmul(w1)
        units += b1
        units[units < 0] = 0
        return units

    def always_off(x, w1, b1):
        return torch.logical_not(torch.count_nonzero(hidden_weights(x, w1, b1), dim=tuple(range(x.ndim - 1))))


class asked_instead_of_multiplied:
    """The folded map is found by asking the straight network about zeros and ones, and the count by widths."""

    def straight(x, w1, b1, w2, b2):
        return torch.addmm(b2, torch.addmm(b1, x, w1), w2)

    def fold(w1, b1, w2, b2):
        zeros, ones = w1.new_zeros(1, len(w1)), torch.eye(len(w1), dtype=w1.dtype, device=w1.device)
        bias = straight(zeros, w1, b1, w2, b2)
        return straight(ones, w1, b1, w2, b2) - bias, bias.squeeze(0)

    def parameter_count(d_model, d_ff):
        widths = [d_model, d_ff, d_model]
        return sum(wide * narrow + narrow for wide, narrow in zip(widths, widths[1:]))

    def hidden_weights(x, w1, b1):
        units = torch.tensordot(x, w1, dims=1) + b1
        return torch.maximum(units, torch.zeros_like(units))

    def always_off(x, w1, b1):
        return hidden_weights(x, w1, b1).reshape(-1, len(b1)).amax(dim=0) == 0


class computed_in_double_precision:
    """Everything is computed in 64 bits and handed back as it came; the ReLU is half of the number and its size."""

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.layers = nn.ModuleDict({"1": nn.Linear(d_model, d_ff), "2": nn.Linear(d_ff, d_model)})

        def forward(self, x):
            (w1, b1), (w2, b2) = ([p.double() for p in layer.parameters()] for layer in self.layers.values())
            units = x.double() @ w1.mT + b1
            return (((units + units.abs()) / 2) @ w2.mT + b2).type_as(x)

    def set_weights(network, w1, b1, w2, b2):
        for layer, weight, bias in ((network.layers["1"], w1, b1), (network.layers["2"], w2, b2)):
            nn.utils.vector_to_parameters(torch.cat([weight.T.flatten(), bias]), layer.parameters())

    def fold(w1, b1, w2, b2):
        matrix, bias = w1.double() @ w2.double(), b1.double() @ w2.double() + b2.double()
        return [matrix.to(w1.dtype), bias.to(w1.dtype)]

    def hidden_weights(x, w1, b1):
        units = x.double() @ w1.double() + b1.double()
        return (units * (units > 0)).to(x.dtype)

    def always_off(x, w1, b1):
        on = torch.zeros(len(b1), dtype=torch.bool, device=x.device)
        for words in x.reshape(-1, *x.shape[-2:]):
            on |= hidden_weights(words, w1, b1).sum(dim=0) > 0
        return ~on


class rows_of_a_copy:
    """A copy of the words in one table, seen by `view`, and results written over where they lie."""

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

        def forward(self, x):
            units = self.widen(x.contiguous().view(-1, x.shape[-1]))
            return self.narrow(units.clamp_(min=0)).view(x.shape)

    def fold(w1, b1, w2, b2):
        bias = b2.clone()
        bias += b1 @ w2
        return torch.linalg.multi_dot([w1, w2]), bias

    def hidden_weights(x, w1, b1):
        rows = x.clone(memory_format=torch.contiguous_format).view(-1, len(w1))
        return torch.threshold(torch.addmm(b1, rows, w1), 0.0, 0.0).view(*x.shape[:-1], len(b1))
