"""Handwritten digits, and two small models that read them: attention over patches, and a convolution of about as many parameters."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

DIGITS = Path(__file__).resolve().parent.parent / "book/measured/digits.npz"
SIDE, KINDS = 8, 10  # pixels along an edge; digits
POOL = 1_200  # images that may be learnt; the rest are for testing
D_MODEL, HEADS, D_FF, LAYERS = 32, 4, 64, 2
CHANNELS = (32, 57), (32, 50)  # with the mean at the end, and with a dense end: as many parameters as patches have
BATCH, STEPS = 32, 400


def digits(seed: int, shuffled: bool = False) -> tuple[Tensor, Tensor]:
    """Return all images, in an order of this seed and with pixels between -1 and 1, and which digits they are.

    Shuffled, the pixels of every image change places by the same permutation.
    """
    with np.load(DIGITS) as arrays:
        images, labels = arrays["images"], arrays["labels"]
    rng = np.random.default_rng(seed)
    order, places = rng.permutation(len(images)), rng.permutation(SIDE * SIDE)
    if shuffled:
        images = images.reshape(len(images), -1)[:, places].reshape(images.shape)
    return torch.tensor(images[order] / 8 - 1, dtype=torch.float32), torch.tensor(labels[order], dtype=torch.long)


def enlarged(images: Tensor, side: int) -> Tensor:
    """Return the images with `side` pixels along an edge."""
    return F.interpolate(images[:, None], (side, side), mode="bilinear", align_corners=False)[:, 0]


def patches(images: Tensor, size: int) -> Tensor:
    """Return the patches of each image, in reading order, and in each its pixels in reading order: (image, patch, pixel)."""
    count, height, width = images.shape
    cut = images.reshape(count, height // size, size, width // size, size)
    return cut.transpose(2, 3).reshape(count, -1, size * size)


def strips(images: Tensor, size: int) -> Tensor:
    """Return what comes out when the two axes are not swapped: pieces of rows of pixels, as many as there are patches."""
    return images.reshape(len(images), -1, size * size)


def stretched(place: Tensor, grid: int) -> Tensor:
    """Return a table of positions of a square grid for one with another number of patches along an edge, interpolated."""
    old, width = math.isqrt(len(place)), place.shape[1]
    table = place.T.reshape(1, width, old, old)
    return F.interpolate(table, (grid, grid), mode="bilinear", align_corners=False).reshape(width, -1).T


def in_order(place: Tensor, grid: int) -> Tensor:
    """Return the table as it is, in reading order, with zeros for the patches for which it has no row."""
    return F.pad(place, (0, 0, 0, grid * grid - len(place)))


def near(grid: int, reach: int = 1) -> Tensor:
    """Return where a token may look, True: at patches within `reach` along both axes. The class token, the first, sees all and is seen by all."""
    place = torch.stack(torch.meshgrid(torch.arange(grid), torch.arange(grid), indexing="ij"), -1).reshape(-1, 2)
    apart = (place[:, None] - place).abs().amax(-1)
    return F.pad(apart <= reach, (1, 0, 1, 0), value=True)


class Patches:
    """A small Vision Transformer, pre-norm, without biases: patches, positions, layers of attention, and a class token that is read."""

    rate = 0.005

    def __init__(self, random: torch.Generator, size: int = 2, local: bool = False, cut: Any = patches):
        def normal(*shape: int, std: float) -> Tensor:
            return (std * torch.randn(shape, generator=random)).requires_grad_()

        self.size, self.cut = size, cut
        grid = SIDE // size
        self.mask = near(grid) if local else None
        self.parameters = {
            "w_patch": normal(size * size, D_MODEL, std=1 / size),
            "place": normal(grid * grid, D_MODEL, std=1),
            "first": normal(D_MODEL, std=1),
            **{name: normal(LAYERS, D_MODEL, D_MODEL, std=D_MODEL**-0.5) for name in ("w_query", "w_key", "w_value", "w_output")},
            "w1": normal(LAYERS, D_MODEL, D_FF, std=D_MODEL**-0.5),
            "w2": normal(LAYERS, D_FF, D_MODEL, std=D_FF**-0.5),
            "w_class": normal(D_MODEL, KINDS, std=D_MODEL**-0.5),
        }

    def read(self, images: Tensor, place: Tensor | None = None) -> tuple[Tensor, list[Tensor]]:
        """Return the logits of each digit, and the weights of each layer: (image, head, query, key). `place` stands in for the table of positions."""
        given = self.parameters
        rows = self.cut(images, self.size) @ given["w_patch"] + (given["place"] if place is None else place)
        rows, maps = torch.cat([given["first"].expand(len(rows), 1, -1), rows], dim=1), []
        for layer in range(LAYERS):
            seen = _norm(rows)
            query, key, value = (_split(seen @ given[name][layer]) for name in ("w_query", "w_key", "w_value"))
            scores = query @ key.mT / math.sqrt(D_MODEL // HEADS)
            if self.mask is not None:
                scores = scores.masked_fill(~self.mask, -math.inf)
            weights = scores.softmax(-1)
            rows = rows + (weights @ value).transpose(1, 2).flatten(2) @ given["w_output"][layer]
            rows = rows + torch.relu(_norm(rows) @ given["w1"][layer]) @ given["w2"][layer]
            maps.append(weights)
        return _norm(rows[:, 0]) @ given["w_class"], maps

    def logits(self, images: Tensor) -> Tensor:
        return self.read(images)[0]

    def arrays(self) -> dict[str, Any]:
        return {name: value.detach().numpy() for name, value in self.parameters.items()}


class Convolution:
    """Two convolutions of 3 by 3, the largest of 2 by 2 after the first, and a product with the mean of all places.

    With a dense end there is no mean: each place left after another largest of 2 by 2 has numbers of its own in the product.
    """

    rate = 0.005

    def __init__(self, random: torch.Generator, dense: bool = False):
        def normal(*shape: int, width: int) -> Tensor:
            return (torch.randn(shape, generator=random) * math.sqrt(2 / width)).requires_grad_()

        self.dense = dense
        one, two = CHANNELS[dense]
        left = two * (SIDE // 4) ** 2 if dense else two
        self.parameters = {
            "first": normal(one, 1, 3, 3, width=9),
            "first_bias": torch.zeros(one, requires_grad=True),
            "second": normal(two, one, 3, 3, width=9 * one),
            "second_bias": torch.zeros(two, requires_grad=True),
            "w_class": normal(left, KINDS, width=2 * left),
        }

    def logits(self, images: Tensor) -> Tensor:
        given = self.parameters
        rows = F.max_pool2d(self._convolved(images[:, None], "first"), 2)
        rows = self._convolved(rows, "second")
        rows = F.max_pool2d(rows, 2).flatten(1) if self.dense else rows.mean((2, 3))
        return rows @ given["w_class"]

    def _convolved(self, rows: Tensor, name: str) -> Tensor:
        return torch.relu(F.conv2d(rows, self.parameters[name], self.parameters[f"{name}_bias"], padding=1))


def _split(rows: Tensor) -> Tensor:
    return rows.unflatten(-1, (HEADS, -1)).transpose(1, 2)


def _norm(rows: Tensor) -> Tensor:
    return F.layer_norm(rows, rows.shape[-1:])


def parameters_of(model: Patches | Convolution) -> int:
    return sum(each.numel() for each in model.parameters.values())


def train(
    model: Patches | Convolution, images: Tensor, labels: Tensor, random: torch.Generator, steps: int = STEPS, rate: float = 0
) -> None:
    """Train on images that are drawn at random, with a rate that falls to zero in the second half."""
    optimiser = torch.optim.Adam(model.parameters.values(), lr=rate or model.rate)
    falling = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: min(1, 2 - 2 * step / steps))
    for _ in range(steps):
        some = torch.randint(len(images), (BATCH,), generator=random)
        optimiser.zero_grad()
        F.cross_entropy(model.logits(images[some]), labels[some]).backward()
        optimiser.step()
        falling.step()


@torch.no_grad()
def share_right(logits: Tensor, labels: Tensor) -> float:
    return float((logits.argmax(-1) == labels).float().mean())
