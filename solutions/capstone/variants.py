"""Right answers in other styles. Parsed, never imported; see autograder/exercise/known.py."""
import math

import torch
from torch import nn
from torch.nn import functional as F


class first_transformer:
    """Post-norm, sinusoids, a matrix with bias for each of query, key and value, attention by hand; whole passes over shuffled sequences."""

    class Transformer(nn.Module):
        def __init__(self, vocabulary, length, d_model, num_heads, d_ff, num_layers):
            super().__init__()
            self.longest = length
            self.embedding = nn.Embedding(vocabulary, d_model)
            position, pair = torch.arange(length)[:, None], torch.arange(0, d_model, 2)
            angle = position * 10000 ** (-pair / d_model)
            self.register_buffer("sinusoids", torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :d_model])
            self.layers = nn.Sequential(*[PostNorm(d_model, num_heads, d_ff) for _ in range(num_layers)])
            self.out = nn.Linear(d_model, vocabulary, bias=False)

        def forward(self, tokens):
            return self.out(self.layers(self.embedding(tokens) + self.sinusoids[: tokens.size(1)]))

    class PostNorm(nn.Module):
        def __init__(self, d_model, num_heads, d_ff):
            super().__init__()
            self.h, self.d_k = num_heads, d_model // num_heads
            self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model) for _ in range(4))
            self.wide, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.norms = nn.ModuleList([nn.LayerNorm(d_model), nn.LayerNorm(d_model)])

        def forward(self, x):
            b, t, d = x.shape
            q, k, v = (project(x).view(b, t, self.h, self.d_k).transpose(1, 2) for project in (self.q, self.k, self.v))
            scores = q @ k.transpose(-1, -2) / math.sqrt(self.d_k)
            scores = scores + torch.triu(x.new_full((t, t), -1e9), diagonal=1)
            mixed = (torch.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(b, t, d)
            x = self.norms[0](x + self.o(mixed))
            return self.norms[1](x + self.narrow(F.gelu(self.wide(x))))

    def next_token_loss(logits, tokens, begin=1):
        logs = logits.log_softmax(-1)
        picked = [logs[:, position - 1].gather(1, tokens[:, position, None]) for position in range(begin, tokens.shape[1])]
        return -torch.cat(picked).mean()

    def train(model, sequences, steps, begin=1):
        optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
        losses, waiting = [], []
        while len(losses) < steps:
            if not waiting:
                waiting = list(sequences[torch.randperm(len(sequences))].split(50))
            batch = waiting.pop()
            model.zero_grad()
            loss = next_token_loss(model(batch), batch, begin)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    def generate(model, start, count):
        texts = []
        for text in start.tolist():
            for _ in range(count):
                logits = model(torch.tensor([text[-model.longest :]]))[0, -1]
                text.append(int(logits.topk(1).indices))
            texts.append(text)
        return torch.tensor(texts)


class ready_made_attention:
    """torch's own attention module behind a mask of its kind, an embedding that is used twice, batches from torch's own loader, a rate that rises and falls."""

    from torch.utils.data import DataLoader, TensorDataset

    class Transformer(nn.Module):
        def __init__(self, vocabulary, length, d_model, num_heads, d_ff, num_layers):
            super().__init__()
            self.token_table = nn.Parameter(torch.randn(vocabulary, d_model) * 0.1)
            self.place_table = nn.Parameter(torch.randn(1, length, d_model) * 0.1)
            for name, make in (
                ("looks", lambda: nn.MultiheadAttention(d_model, num_heads, batch_first=True)),
                ("thinks", lambda: nn.Sequential(nn.LayerNorm(d_model), nn.Linear(d_model, d_ff), nn.SiLU(), nn.Linear(d_ff, d_model))),
                ("norms", lambda: nn.LayerNorm(d_model)),
            ):
                setattr(self, name, nn.ModuleList([make() for _ in range(num_layers)]))
            self.last_norm = nn.LayerNorm(d_model)

        def forward(self, tokens):
            count = tokens.shape[-1]
            x = self.token_table[tokens] + self.place_table[:, :count]
            hidden = nn.Transformer.generate_square_subsequent_mask(count, device=x.device).bool()
            for norm, look, think in zip(self.norms, self.looks, self.thinks):
                normed = norm(x)
                x = x + look(normed, normed, normed, attn_mask=hidden, need_weights=False)[0]
                x = x + think(x)
            return self.last_norm(x) @ self.token_table.T

    def train(model, sequences, steps, begin=1):
        batches = DataLoader(TensorDataset(sequences), batch_size=40, shuffle=True)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=8e-3, total_steps=steps + 1)
        losses = []
        while True:
            for (batch,) in batches:
                if len(losses) == steps:
                    return losses
                optimizer.zero_grad(set_to_none=False)
                loss = next_token_loss(model(batch), batch, begin)
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                losses.append(loss.item())

    @torch.no_grad()
    def generate(model, start, count):
        length = model.place_table.shape[1]
        text = torch.zeros(len(start), start.shape[1] + count, dtype=torch.long)
        text[:, : start.shape[1]] = start
        for position in range(start.shape[1], text.shape[1]):
            text[:, position] = model(text[:, max(0, position - length) : position])[:, -1].max(dim=-1)[1]
        return text


class with_dropout:
    """Dropout while training; the model is put into training and into use where that is needed."""

    class Transformer(nn.Module):
        def __init__(self, vocabulary, length, d_model, num_heads, d_ff, num_layers):
            super().__init__()
            self.length = length
            self.words = nn.Embedding(vocabulary, d_model)
            self.positions = nn.Embedding(length, d_model)
            self.layers = nn.ModuleList(Layer(d_model, num_heads, d_ff) for _ in range(num_layers))
            self.norm = nn.LayerNorm(d_model)
            self.to_logits = nn.Linear(d_model, vocabulary)
            self.dropout = nn.Dropout(0.05)

        def forward(self, tokens):
            x = self.dropout(self.words(tokens) + self.positions(torch.arange(tokens.shape[1], device=tokens.device)))
            for layer in self.layers:
                x = x + self.dropout(layer(x) - x)
            return self.to_logits(self.norm(x))

    def train(model, sequences, steps, begin=1):
        model.train()
        optimizer = torch.optim.NAdam(model.parameters(), lr=4e-3)
        losses = []
        for step in range(steps):
            batch = torch.stack([sequences[(step * 60 + number) % len(sequences)] for number in range(min(60, len(sequences)))])
            loss = next_token_loss(model(batch), batch, begin)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach().item())
        model.eval()
        return losses

    def generate(model, start, count):
        was_training = model.training
        model.eval()
        with torch.inference_mode():
            for _ in range(count):
                next_ = model(start[:, -model.length :]).softmax(-1)[:, -1].argmax(-1)
                start = torch.cat([start, next_.unsqueeze(1)], dim=-1)
        model.train(was_training)
        return start


class of_today:
    """Rotary positions, a norm without a mean, a gated network, no bias anywhere; generation by recursion."""

    class Norm(nn.Module):
        def __init__(self, d_model):
            super().__init__()
            self.gain = nn.Parameter(torch.ones(d_model))

        def forward(self, x):
            return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.gain

    class Layer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff):
            super().__init__()
            self.num_heads = num_heads
            self.norm1, self.norm2 = Norm(d_model), Norm(d_model)
            self.w_query, self.w_key, self.w_value = (nn.Parameter(torch.randn(num_heads, d_model, d_model // num_heads) * d_model**-0.5) for _ in range(3))
            self.w_output = nn.Parameter(torch.randn(num_heads, d_model // num_heads, d_model) * d_model**-0.5)
            self.gate, self.up, self.down = nn.Linear(d_model, d_ff, bias=False), nn.Linear(d_model, d_ff, bias=False), nn.Linear(d_ff, d_model, bias=False)

        def forward(self, x):
            seen = self.norm1(x)
            query, key, value = (torch.einsum("btm,hmd->bhtd", seen, w) for w in (self.w_query, self.w_key, self.w_value))
            scores = torch.einsum("bhqd,bhkd->bhqk", turned(query), turned(key)) * query.shape[-1] ** -0.5
            positions = torch.arange(x.shape[1], device=x.device)
            weights = scores.masked_fill(positions > positions[:, None], -math.inf).softmax(-1)
            x = x + torch.einsum("bhqk,bhkd,hdm->bqm", weights, value, self.w_output)
            seen = self.norm2(x)
            return x + self.down(F.silu(self.gate(seen)) * self.up(seen))

    def turned(x):
        half = x.shape[-1] // 2
        angle = torch.arange(x.shape[-2], device=x.device)[:, None] * 100.0 ** (-torch.arange(half, device=x.device) / half)
        one, two = x[..., :half], x[..., half : 2 * half]
        return torch.cat([one * angle.cos() - two * angle.sin(), one * angle.sin() + two * angle.cos(), x[..., 2 * half :]], dim=-1)

    class Transformer(nn.Module):
        def __init__(self, vocabulary, length, d_model, num_heads, d_ff, num_layers):
            super().__init__()
            self.context = length
            self.embed = nn.Embedding(vocabulary, d_model)
            self.stack = nn.Sequential(*(Layer(d_model, num_heads, d_ff) for _ in range(num_layers)), Norm(d_model))
            self.head = nn.Linear(d_model, vocabulary, bias=False)

        def forward(self, tokens):
            return self.head(self.stack(self.embed(tokens)))

    def generate(model, start, count):
        if count == 0:
            return start
        best = model(start[:, -model.context :])[:, -1].argmax(1)
        return generate(model, torch.hstack([start, best[:, None]]), count - 1)


class begins_with_nothing:
    """The last matrix and those that end a sublayer begin at zero: a fresh model says the same of all words. Each step sees 96 sequences that were drawn with replacement."""

    class Transformer(nn.Module):
        def __init__(self, vocabulary, length, d_model, num_heads, d_ff, num_layers):
            super().__init__()
            self.length = length
            self.words = nn.Embedding(vocabulary, d_model)
            self.positions = nn.Parameter(torch.randn(length, d_model))
            self.layers = nn.ModuleList(Layer(d_model, num_heads, d_ff) for _ in range(num_layers))
            self.to_logits = nn.Linear(d_model, vocabulary)
            for last in (self.to_logits, *(part for layer in self.layers for part in (layer.to_output, layer.feed_forward[-1]))):
                nn.init.zeros_(last.weight)

        def forward(self, tokens):
            x = self.words(tokens) + self.positions[: tokens.shape[1]]
            for layer in self.layers:
                x = layer(x)
            return self.to_logits(F.layer_norm(x, x.shape[-1:]))

    def next_token_loss(logits, tokens, begin=1):
        right = logits[:, :-1].gather(-1, tokens[:, 1:, None]).squeeze(-1)
        return (logits[:, :-1].logsumexp(-1) - right)[:, begin - 1 :].mean()

    def train(model, sequences, steps, begin=1):
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.9, 0.98))
        losses = torch.zeros(steps)
        for step in range(steps):
            batch = sequences[torch.randint(len(sequences), (min(96, len(sequences)),))]
            loss = next_token_loss(model(batch), batch, begin)
            model.zero_grad()
            loss.backward()
            optimizer.step()
            losses[step] = loss.detach()
        return losses.tolist()


class descent_with_momentum:
    """No optimiser of torch's: plain descent with momentum, written out, and a rate that falls."""

    def train(model, sequences, steps, begin=1):
        parameters = list(model.parameters())
        speeds = [torch.zeros_like(parameter) for parameter in parameters]
        losses = []
        for step in range(steps):
            batch = sequences[torch.randperm(len(sequences))[:64]]
            loss = next_token_loss(model(batch), batch, begin)
            gradients = torch.autograd.grad(loss, parameters)
            norm = sum(gradient.square().sum() for gradient in gradients).sqrt()
            rate = 0.1 * (1 - step / steps) * min(1.0, 1.0 / norm.item())
            with torch.no_grad():
                for parameter, speed, gradient in zip(parameters, speeds, gradients):
                    speed.mul_(0.9).add_(gradient)
                    parameter.sub_(rate * speed)
            losses.append(loss.item())
        return losses
