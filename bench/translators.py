"""A translator of attention, and how any translator here is trained and writes."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .made_up import END, SOURCE, START, TARGET, corpus, numbered

SENTENCES = 4_000
D_MODEL, HEADS, D_HEAD, D_FF, LAYERS = 32, 4, 8, 64, 2
LONGEST = 32  # words of a sentence, in either language
BATCH, STEPS, RATE = 64, 1_200, 0.003


class Translator:
    """An encoder and a decoder of attention, pre-norm, without biases."""

    def __init__(self, random: torch.Generator, causal: bool = True):
        def normal(*shape: int, width: int) -> Tensor:
            return (torch.randn(shape, generator=random) / math.sqrt(width)).requires_grad_()

        self.causal = causal
        into, back = (LAYERS, HEADS, D_MODEL, D_HEAD), (LAYERS, HEADS, D_HEAD, D_MODEL)
        self.parameters = {
            "source": normal(len(SOURCE), D_MODEL, width=1),
            "target": normal(len(TARGET), D_MODEL, width=1),
            "source_place": normal(LONGEST, D_MODEL, width=1),
            "target_place": normal(LONGEST, D_MODEL, width=1),
        }
        for part in ("encoder", "decoder", "cross"):
            for name in ("query", "key", "value"):
                self.parameters[f"{part}_{name}"] = normal(*into, width=D_MODEL)
            self.parameters[f"{part}_output"] = normal(*back, width=D_MODEL)
        for part in ("encoder", "decoder"):
            self.parameters[f"{part}_w1"] = normal(LAYERS, D_MODEL, D_FF, width=D_MODEL)
            self.parameters[f"{part}_w2"] = normal(LAYERS, D_FF, D_MODEL, width=D_FF)
        self.parameters["w_word"] = normal(D_MODEL, len(TARGET), width=D_MODEL)

    def encode(self, source: Tensor) -> Tensor:
        """Return a row for each word of the sentences."""
        given = self.parameters
        rows, real = given["source"][source] + given["source_place"][: source.shape[1]], (source > 0)[:, None, None]
        for layer in range(LAYERS):
            rows = rows + self._attend("encoder", layer, rows, _norm(rows), real)[0]
            rows = rows + self._feed("encoder", layer, rows)
        return _norm(rows)

    def decode(self, memory: Tensor, seen: Tensor, written: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits after each word that is written, and the weights of cross-attention: (layer, sentence, head, query, key).

        `seen` (sentence, key) says which rows of `memory` may be looked at.
        """
        given, count = self.parameters, written.shape[1]
        rows = given["target"][written] + given["target_place"][:count]
        past = torch.ones(count, count, dtype=torch.bool)
        past = past.tril() if self.causal else past
        maps = []
        for layer in range(LAYERS):
            rows = rows + self._attend("decoder", layer, rows, _norm(rows), past & (written > 0)[:, None, None])[0]
            read, weights = self._attend("cross", layer, rows, memory, seen[:, None, None])
            rows = rows + read
            rows = rows + self._feed("decoder", layer, rows)
            maps.append(weights)
        return _norm(rows) @ given["w_word"], torch.stack(maps)

    def _attend(self, part: str, layer: int, rows: Tensor, context: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        query, key, value, output = (self.parameters[f"{part}_{name}"][layer] for name in ("query", "key", "value", "output"))
        query = torch.einsum("btm,hmk->bhtk", _norm(rows), query)
        key, value = (torch.einsum("btm,hmk->bhtk", context, w) for w in (key, value))
        weights = (query @ key.mT / math.sqrt(D_HEAD)).masked_fill(~mask, -math.inf).softmax(-1)
        return torch.einsum("bhtk,hkm->btm", weights @ value, output), weights

    def _feed(self, part: str, layer: int, rows: Tensor) -> Tensor:
        return torch.relu(_norm(rows) @ self.parameters[f"{part}_w1"][layer]) @ self.parameters[f"{part}_w2"][layer]

    def loss(self, source: Tensor, target: Tensor) -> Tensor:
        """Return the mean loss of each next word, nats."""
        logits, _ = self.decode(self.encode(source), source > 0, target[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=0)

    def write(self, source: Tensor, longest: int = LONGEST) -> Tensor:
        """Return the translations, each word the most probable one after those before it."""
        memory = self.encode(source)
        return greedy(lambda written: self.decode(memory, source > 0, written)[0][:, -1], len(source), longest)

    def arrays(self) -> dict[str, Any]:
        return {name: value.detach().numpy() for name, value in self.parameters.items()}


def _norm(rows: Tensor) -> Tensor:
    return F.layer_norm(rows, rows.shape[-1:])


def greedy(after: Any, count: int, longest: int) -> Tensor:
    """Return what is written word by word; behind the end stands filler."""
    written = torch.full((count, 1), TARGET.index(START))
    over = torch.zeros(count, dtype=torch.bool)
    while written.shape[1] < longest and not over.all():
        word = after(written).argmax(-1).masked_fill(over, 0)
        over |= word == TARGET.index(END)
        written = torch.cat([written, word[:, None]], dim=1)
    return written


def trained(seed: int, causal: bool = True, steps: int = STEPS) -> Translator:
    """Return the model after `steps` of the `STEPS` steps."""
    random = torch.Generator().manual_seed(seed)
    model = Translator(random, causal)
    source, target = numbered(corpus(seed, SENTENCES))
    train(model, list(model.parameters.values()), source, target, random, steps, STEPS)
    return model


def train(model: Any, parameters: list[Tensor], source: Tensor, target: Tensor, random: torch.Generator, steps: int, last: int) -> None:
    optimiser = torch.optim.Adam(parameters, lr=RATE)
    # The rate falls to zero in the second half: what is left at the end is what has been learnt, not the noise of the last steps.
    falling = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: min(1, 2 - 2 * step / last))
    for _ in range(steps):
        batch = torch.randint(len(source), (BATCH,), generator=random)
        optimiser.zero_grad()
        model.loss(_trimmed(source[batch]), _trimmed(target[batch])).backward()
        optimiser.step()
        falling.step()


def _trimmed(rows: Tensor) -> Tensor:
    """Return the rows without columns that are filler in all of them."""
    return rows[:, : int((rows > 0).any(0).sum())]
