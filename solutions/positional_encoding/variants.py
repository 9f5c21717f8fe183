"""Right answers in other styles. Parsed, never imported; see autograder/exercise/known.py."""
import math

import torch
from torch import nn


class exponential_of_a_logarithm:
    """The widely copied form with `div_term`, in 64 bits, and a buffer with an axis for the batch that is saved along."""

    def sinusoidal_encoding(length, d_model):
        pe = torch.zeros(length, d_model, dtype=torch.float64)
        position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float64) * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term[: d_model // 2])
        return pe.to(torch.float32)

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.register_buffer("pe", sinusoidal_encoding(max_length, d_model).unsqueeze(0))

        def forward(self, x, start=0):
            end = start + x.size(-2)
            if end > self.pe.size(1):
                self.pe = sinusoidal_encoding(end, x.size(-1)).unsqueeze(0).to(self.pe.device)
            return x + self.pe[0, start:end].to(dtype=x.dtype, device=x.device)


class einsum_and_masks:
    """einsum for the angles, `where` for sine or cosine, and a matrix put together from three diagonals by masks."""

    def sinusoidal_encoding(length, d_model):
        column = torch.arange(d_model)
        frequency = torch.pow(10000.0, -(column - column % 2).double() / d_model)
        angle = torch.einsum("t,c->tc", torch.arange(length).to(torch.float64), frequency)
        return torch.where(column.remainder(2).bool(), angle.cos(), angle.sin()).float()

    def offset_rotation(offset, d_model):
        row, column = torch.meshgrid(torch.arange(d_model), torch.arange(d_model), indexing="ij")
        angle = offset * torch.pow(10000.0, -(row - row % 2).double() / d_model)
        same_pair = (row // 2 == column // 2).double()
        turned = torch.where(row == column, angle.cos(), torch.where(row > column, angle.sin(), -angle.sin()))
        return (same_pair * turned).float()


class cosine_is_a_shifted_sine:
    """One sine for all columns, the odd ones a quarter of a turn ahead; the matrix from two Kronecker products."""

    def sinusoidal_encoding(length, d_model):
        columns = torch.arange(d_model, dtype=torch.float64)
        ahead = columns.remainder(2)
        angles = torch.arange(length, dtype=torch.float64).view(-1, 1) / 10000 ** ((columns - ahead) / d_model)
        return (angles + ahead * math.pi / 2).sin_().float()

    def offset_rotation(offset, d_model):
        angles = offset / 10000 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
        stay, swap = torch.eye(2, dtype=torch.float64), torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
        return torch.kron(angles.cos().diag(), stay) + torch.kron(angles.sin().diag(), swap)


class loops_over_pairs:
    """Plain Python: a column after the other, a block after the other, and sentences one by one."""

    def sinusoidal_encoding(length, d_model):
        columns = []
        for column in range(d_model):
            frequency = 10000 ** (-(column // 2 * 2) / d_model)
            f = math.cos if column % 2 else math.sin
            columns.append([f(position * frequency) for position in range(length)])
        return torch.tensor(columns).T

    def offset_rotation(offset, d_model):
        matrix = torch.zeros(d_model, d_model)
        for i in range(0, d_model, 2):
            b = offset / 10000 ** (i / d_model)
            matrix[i][i], matrix[i][i + 1] = math.cos(b), -math.sin(b)
            matrix[i + 1][i], matrix[i + 1][i + 1] = math.sin(b), math.cos(b)
        return matrix

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.width = d_model

        def forward(self, x, start=0):
            if x.ndim > 2:
                return torch.stack([self(sentence, start) for sentence in x])
            return x + sinusoidal_encoding(start + len(x), self.width)[start:].to(x.device, x.dtype)


class turned_numbers:
    """A dimension pair is a complex number; the positions are its powers, the rotation a power of one matrix."""

    import cmath

    def sinusoidal_encoding(length, d_model):
        frequencies = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
        pairs = torch.polar(torch.ones(length, len(frequencies), dtype=torch.float64), torch.arange(length)[:, None] * frequencies)
        # Real is the cosine, imaginary the sine, and the sine comes first.
        return torch.view_as_real(pairs).flip(-1).reshape(length, -1)[:, :d_model].float()

    def offset_rotation(offset, d_model):
        blocks = []
        for pair in range(d_model // 2):
            turn = cmath.rect(1.0, 10000 ** (-2 * pair / d_model))
            blocks.append(torch.tensor([[turn.real, -turn.imag], [turn.imag, turn.real]], dtype=torch.float64))
        return torch.linalg.matrix_power(torch.block_diag(*blocks), offset).to(torch.float32)


class frozen_embedding:
    """Both tables are embeddings, one of them frozen; the positions are looked up by number."""

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.embedding = nn.Embedding.from_pretrained(sinusoidal_encoding(max_length, d_model), freeze=True)

        def forward(self, x, start=0):
            positions = torch.arange(start, start + x.shape[-2], device=x.device)
            if len(positions) + start > self.embedding.num_embeddings:
                longer = sinusoidal_encoding(start + len(positions), x.shape[-1]).to(x.device)
                return x.add(nn.functional.embedding(positions, longer).type_as(x))
            return x.add(self.embedding(positions).type_as(x))

    class LearnedPositions(nn.Module):
        def __init__(self, length, d_model):
            super().__init__()
            self.table = nn.Embedding(length, d_model)

        def forward(self, x):
            # An embedding refuses a number that it has no vector for, by an IndexError.
            return x + self.table(torch.arange(x.size(-2), device=x.device))

    def set_table(positions, table):
        positions.table.weight.data.copy_(table)


class frozen_parameter:
    """The encodings are a parameter that wants no gradient; the learned table has an axis for the batch."""

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.positions = nn.Parameter(sinusoidal_encoding(max_length, d_model), requires_grad=False)

        def forward(self, x, start=0):
            missing = start + x.shape[-2] - len(self.positions)
            positions = self.positions
            if missing > 0:
                rest = sinusoidal_encoding(len(positions) + missing, x.shape[-1])[-missing:]
                positions = torch.cat([positions, rest.to(positions)])
            return torch.add(x, positions.narrow(0, start, x.shape[-2]).to(x))

    class LearnedPositions(nn.Module):
        def __init__(self, length, d_model):
            super().__init__()
            self.vectors = nn.Parameter(torch.zeros(1, length, d_model))

        def forward(self, x):
            *batch, tokens, d_model = x.shape
            if tokens > self.vectors.shape[1]:
                raise IndexError(f"position {self.vectors.shape[1]} was never learned")
            return x + self.vectors[0, :tokens, :].expand(*batch, tokens, d_model)

    def set_table(positions, table):
        with torch.no_grad():
            positions.vectors[0] = table


class no_table_at_all:
    """The encodings are made anew for each sentence, only those that it needs; learned vectors are a list of parameters."""

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.d_model = d_model

        def forward(self, x, start=0):
            frequencies = torch.tensor([10000.0 ** (-i / self.d_model) for i in range(0, self.d_model, 2)], dtype=torch.float64)
            angles = torch.arange(start, start + x.shape[-2], dtype=torch.float64)[:, None] * frequencies
            encoding = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)[:, : self.d_model]
            output = x.clone()
            output += encoding.to(x)
            return output

    class LearnedPositions(nn.Module):
        def __init__(self, length, d_model):
            super().__init__()
            self.vectors = nn.ParameterList(torch.randn(d_model) for _ in range(length))

        def forward(self, x):
            words = x.unbind(dim=-2)
            # Asking the list for a vector that it does not have is an IndexError.
            return torch.stack([word + self.vectors[position] for position, word in enumerate(words)], dim=-2)

    def set_table(positions, table):
        with torch.no_grad():
            for mine, row in zip(positions.vectors, table):
                mine.copy_(row)


class table_for_each_dtype:
    """A table for each dtype that has been asked for; words are copied and added to in one table of rows."""

    class AddPositions(nn.Module):
        def __init__(self, d_model, max_length):
            super().__init__()
            self.sizes, self.tables = (max_length, d_model), {}

        def forward(self, x, start=0):
            stop, length = start + x.shape[-2], len(self.tables.get((x.dtype, x.device), ()))
            if stop > length:
                self.tables[x.dtype, x.device] = sinusoidal_encoding(max(stop, self.sizes[0]), self.sizes[1]).to(x)
            rows = x.clone(memory_format=torch.contiguous_format).view(-1, *x.shape[-2:])
            rows += self.tables[x.dtype, x.device][start:stop]
            return rows.view(x.shape)

    class LearnedPositions(nn.Module):
        def __init__(self, length, d_model):
            super().__init__()
            self.table = nn.Parameter(torch.ones(length, d_model))

        def forward(self, x):
            # Each word picks its vector: a position that was never learned is an IndexError.
            return x.contiguous().view(-1, *x.shape[-2:]).add(self.table[list(range(x.shape[-2]))]).view(x.shape)
