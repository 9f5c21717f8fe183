"""Pictures of two digits, sentences that say where they stand, and small models that bring the two together.

All models of one kind, one for each seed, are trained side by side: their parameters, and what they read, have an axis `seeds` in front.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import permutations, product

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from .pictures import POOL, digits, patches

NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
FORMS = (
    ("{} left of {}", "{} to the left of {}", "{} before {}", "{1} right of {0}"),
    ("{} above {}", "{} over {}", "{} on top of {}", "{1} below {0}"),
)
ARTICLES, OPENINGS = ("", "a ", "the "), ("", "there is ", "i see ")
# The first digit, the second, and whether the first stands above (1) or to the left (0).
MEANINGS = [(first, second, above) for above in (0, 1) for first, second in permutations(range(10), 2)]
WORDS = ["(filler)", *NAMES, *"a an the there is i see left right to of before above over on top below".split()]
LONGEST, QUARTER, SIDE, PATCH = 10, 8, 16, 4
PATCHES = (SIDE // PATCH) ** 2
D_MODEL, HEADS, D_FF, LAYERS = 32, 4, 64, 2
BATCH, STEPS, RATE, SHARPNESS = 32, 1_600, 0.004, 10.0
NUMBER = {meaning: number for number, meaning in enumerate(MEANINGS)}
HALF = len(MEANINGS) // 2
# The same digits the other way round; the same digits in the same order, in the other relation.
TWIN = np.array([NUMBER[second, first, above] for first, second, above in MEANINGS])
OTHER = np.roll(np.arange(len(MEANINGS)), HALF)


def sentences(first: int, second: int, above: int) -> list[str]:
    """Return every sentence with this meaning."""
    found = []
    for opening, one, other, form in product(OPENINGS, ARTICLES, ARTICLES, FORMS[above]):
        nouns = [f"{_article(article, NAMES[digit])}{NAMES[digit]}" for article, digit in ((one, first), (other, second))]
        found.append(opening + form.format(*nouns))
    return found


def _article(article: str, noun: str) -> str:
    return "an " if article == "a " and noun == "eight" else article


def numbered(sentence: str) -> list[int]:
    """Return the numbers of a sentence's words, with filler behind them."""
    words = [WORDS.index(word) for word in sentence.split()]
    return words + [0] * (LONGEST - len(words))


def every_sentence() -> np.ndarray:
    """Return all sentences as numbers: (meaning, wording, word)."""
    return np.array([[numbered(each) for each in sentences(*meaning)] for meaning in MEANINGS])


def quarters(meaning: Sequence[int], where: int) -> tuple[int, int]:
    """Return the quarters in which the first and the second digit stand: 0 and 1 above, 2 and 3 below; `where` is the row or the column."""
    return (where, where + 2) if meaning[2] else (2 * where, 2 * where + 1)


def drawn(images: np.ndarray, places: Sequence[int]) -> np.ndarray:
    """Return a picture with each of these digits in its quarter."""
    picture = np.full((SIDE, SIDE), -1.0)
    for image, place in zip(images, places):
        row, column = QUARTER * (place // 2), QUARTER * (place % 2)
        picture[row : row + QUARTER, column : column + QUARTER] = image
    return picture


def quarter_of_patches() -> np.ndarray:
    """Return in which quarter each patch lies."""
    rows, columns = np.divmod(np.arange(PATCHES), SIDE // PATCH)
    return 2 * (rows // 2) + columns // 2


@dataclass
class Pairs:
    """Pictures and the sentences that belong to them: (pair, ...)."""

    meanings: np.ndarray
    pictures: Tensor
    words: Tensor
    places: np.ndarray  # the quarters of the first digit and the second


class World:
    """The digits of one seed, from which pictures are drawn, those to learn from apart from new ones."""

    def __init__(self, seed: int):
        images, labels = digits(seed)
        self.images = images.numpy()
        self.of = {new: [np.flatnonzero(labels[part] == digit) + part.start for digit in range(10)] for new, part in _parts(len(images))}
        self.sentences = every_sentence()

    def pairs(self, rng: np.random.Generator, meanings: np.ndarray, new: bool = False) -> Pairs:
        """Return a picture and a sentence for each meaning."""
        pictures, places = [], []
        for number in meanings:
            meaning = MEANINGS[number]
            places.append(quarters(meaning, int(rng.integers(2))))
            pictures.append(drawn(self.images[[rng.choice(self.of[new][digit]) for digit in meaning[:2]]], places[-1]))
        words = self.sentences[meanings, rng.integers(self.sentences.shape[1], size=len(meanings))]
        return Pairs(meanings, torch.tensor(np.array(pictures), dtype=torch.float32), torch.tensor(words), np.array(places))


def _parts(count: int) -> list[tuple[bool, slice]]:
    return [(False, slice(0, POOL)), (True, slice(POOL, count))]


# Which meanings stand in one batch.


def at_random(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.integers(len(MEANINGS), size=size)


def apart(rng: np.random.Generator, size: int) -> np.ndarray:
    """Return meanings of which no two have the same two digits."""
    couples = rng.permutation([number for number in range(HALF) if MEANINGS[number][0] < MEANINGS[number][1]])[:size]
    turned = np.where(rng.random(size) < 0.5, TWIN[couples], couples)
    return turned + HALF * rng.integers(2, size=size)


def with_twins(rng: np.random.Generator, size: int) -> np.ndarray:
    """Return meanings each beside its twin, in which the two digits have changed places."""
    some = apart(rng, size // 2)
    return np.concatenate([some, TWIN[some]])


def with_all_four(rng: np.random.Generator, size: int) -> np.ndarray:
    """Return meanings in fours: two digits, both ways round, side by side and one above the other."""
    some = with_twins(rng, size // 2)
    return np.concatenate([some, OTHER[some]])


# The models.


@dataclass
class Kind:
    """How models are built and trained."""

    batch: Callable[[np.random.Generator, int], np.ndarray] = with_all_four
    size: int = BATCH
    reads: bool = True  # without it, text is a bag of words
    cross: str = ""  # "text", "image" or "both" ask; "" compares one vector of each
    mixes: bool = True  # whether patches read each other before they are read
    sharpness: float = SHARPNESS
    sides: tuple[int, ...] = (0, 1)  # over which axes of the table softmax is taken


@dataclass
class Model:
    """Two encoders of a kind, and what compares them; without biases."""

    kind: Kind
    seeds: int
    parameters: dict[str, Tensor] = field(default_factory=dict)

    @classmethod
    def start(cls, kind: Kind, seeds: Sequence[int]) -> Model:
        starts = [_start(torch.Generator().manual_seed(seed), kind) for seed in seeds]
        return cls(kind, len(starts), {name: torch.stack([start[name] for start in starts]).requires_grad_() for name in starts[0]})

    @classmethod
    def of(cls, kind: Kind, arrays: dict[str, np.ndarray]) -> Model:
        return cls(kind, 1, {name: torch.tensor(array, dtype=torch.float32)[None] for name, array in arrays.items()})

    def arrays(self, seed: int) -> dict[str, np.ndarray]:
        return {name: value[seed].detach().numpy().astype(np.float16) for name, value in self.parameters.items()}

    def look(self, pictures: Tensor) -> Tensor:
        """Return a row for each patch: (seed, picture, patch, d_model)."""
        given = self.parameters
        rows = patches(pictures.flatten(0, 1), PATCH).unflatten(0, pictures.shape[:2])
        rows = times(rows, given["w_patch"]) + given["place"][:, None]
        return self._layers(rows, "image", None)

    def read(self, words: Tensor) -> Tensor:
        """Return a row for each word: (seed, sentence, word, d_model)."""
        given = self.parameters
        rows = torch.stack([table[each] for table, each in zip(given["word"], words)])
        if not self.kind.reads:
            return norm(rows)
        return self._layers(rows + given["order"][:, None], "text", words != 0)

    def _layers(self, rows: Tensor, part: str, seen: Tensor | None) -> Tensor:
        given = {name.removeprefix(f"{part}_"): value for name, value in self.parameters.items() if name.startswith(part)}
        for layer in range(LAYERS):
            if part == "text" or self.kind.mixes:
                query, key, value = (split(times(norm(rows), given[name][:, layer])) for name in ("query", "key", "value"))
                scores = query @ key.mT / math.sqrt(D_MODEL // HEADS)
                if seen is not None:
                    scores = scores.masked_fill(~seen[:, :, None, None], -math.inf)
                found = (scores.softmax(-1) @ value).transpose(2, 3).flatten(3)
                rows = rows + times(found, given["output"][:, layer])
            rows = rows + times(torch.relu(times(norm(rows), given["w1"][:, layer])), given["w2"][:, layer])
        return norm(rows)

    def table(self, pictures: Tensor, words: Tensor) -> Tensor:
        """Return how well each sentence fits each picture: (seed, sentence, picture), between -1 and 1."""
        rows, tokens, seen = self.look(pictures), self.read(words), words != 0
        if not self.kind.cross:
            return self.by_vectors(rows, tokens, seen)
        sides = ("text", "image") if self.kind.cross == "both" else (self.kind.cross,)
        return torch.stack([self.asked(side, rows, tokens, seen)[0] for side in sides]).mean(0)

    def by_vectors(self, rows: Tensor, tokens: Tensor, seen: Tensor) -> Tensor:
        """Return the same from one vector for each sentence and one for each picture."""
        shown, said = times(rows.flatten(2), self.parameters["see"]), times(mean(tokens, seen), self.parameters["say"])
        return unit(said) @ unit(shown).mT

    def asked(self, side: str, rows: Tensor, tokens: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
        """Return how well each sentence fits each picture if one side asks, and the weights: (seed, one that is read, one that asks, query, key)."""
        asks, told = (tokens, rows) if side == "text" else (rows, tokens)
        # The queries of all that ask stand in one table, so that each that is read is multiplied once.
        query = asks.flatten(1, 2)[:, None]
        scores = query @ told.mT / math.sqrt(D_MODEL)
        if side == "image":
            scores = scores.masked_fill(~seen[:, :, None], -math.inf)
        weights = scores.softmax(-1)
        fit = (unit(weights @ told) * unit(query)).sum(-1).unflatten(2, asks.shape[1:3])
        weights = weights.unflatten(2, asks.shape[1:3])
        if side == "image":
            return fit.mean(-1), weights
        return ((fit * seen[:, None]).sum(-1) / seen.sum(-1)[:, None]).mT, weights

    def loss(self, pictures: Tensor, words: Tensor) -> Tensor:
        """Return the contrastive loss of each model on pairs, of which each is the only right one of its row and its column."""
        scores = self.kind.sharpness * self.table(pictures, words)
        right = [scores.log_softmax(2 - side).diagonal(dim1=1, dim2=2).mean(-1) for side in self.kind.sides]
        return -torch.stack(right).mean(0)


def _start(random: torch.Generator, kind: Kind) -> dict[str, Tensor]:
    def normal(*shape: int, std: float = D_MODEL**-0.5) -> Tensor:
        return std * torch.randn(shape, generator=random)

    square = LAYERS, D_MODEL, D_MODEL
    found = {"w_patch": normal(PATCH * PATCH, D_MODEL, std=1 / PATCH), "place": normal(PATCHES, D_MODEL, std=1)}
    found |= {"word": normal(len(WORDS), D_MODEL, std=1), "order": normal(LONGEST, D_MODEL, std=1)}
    for part in ("image", "text"):
        found |= {f"{part}_{name}": normal(*square) for name in ("query", "key", "value", "output")}
        found |= {f"{part}_w1": normal(LAYERS, D_MODEL, D_FF), f"{part}_w2": normal(LAYERS, D_FF, D_MODEL, std=D_FF**-0.5)}
    found |= {"see": normal(PATCHES * D_MODEL, D_MODEL, std=(PATCHES * D_MODEL) ** -0.5), "say": normal(D_MODEL, D_MODEL)}
    return {name: value for name, value in found.items() if _is_used(name, kind)}


def _is_used(name: str, kind: Kind) -> bool:
    part, _, what = name.partition("_")
    if kind.cross and name in ("see", "say") or not kind.reads and (part == "text" or name == "order"):
        return False
    return kind.mixes or part != "image" or what in ("w1", "w2")


def train(model: Model, worlds: Sequence[World], seeds: Sequence[int], steps: int = STEPS, rate: float = RATE) -> None:
    """Train all models side by side on pairs drawn at random, with a rate that falls to zero in the second half."""
    rngs = [np.random.default_rng(seed) for seed in seeds]
    optimiser = torch.optim.Adam(model.parameters.values(), lr=rate)
    falling = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: min(1, 2 - 2 * step / steps))
    for _ in range(steps):
        pairs = [world.pairs(rng, model.kind.batch(rng, model.kind.size)) for world, rng in zip(worlds, rngs)]
        optimiser.zero_grad()
        model.loss(*together(pairs)).sum().backward()
        optimiser.step()
        falling.step()


def together(pairs: Sequence[Pairs]) -> tuple[Tensor, Tensor]:
    """Return pictures and words of several seeds, each as one."""
    return torch.stack([each.pictures for each in pairs]), torch.stack([each.words for each in pairs])


def times(rows: Tensor, matrix: Tensor) -> Tensor:
    """Return the rows of each seed times its own matrix."""
    return (rows.flatten(1, -2) @ matrix).unflatten(1, rows.shape[1:-1])


def split(rows: Tensor) -> Tensor:
    return rows.unflatten(-1, (HEADS, -1)).transpose(2, 3)


def norm(rows: Tensor) -> Tensor:
    return F.layer_norm(rows, rows.shape[-1:])


def unit(rows: Tensor) -> Tensor:
    return F.normalize(rows, dim=-1)


def mean(rows: Tensor, seen: Tensor) -> Tensor:
    """Return the mean of the rows that are seen."""
    return (rows * seen[..., None]).sum(-2) / seen.sum(-1, keepdim=True)


def parameters_of(model: Model) -> int:
    return sum(each[0].numel() for each in model.parameters.values())
