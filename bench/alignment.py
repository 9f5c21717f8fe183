"""What cross-attention looks at while it translates, where the right alignment is known: the tables and the weights that the chapter on alignment reads.

A small language is made up, with the verb at the end of a sentence, adjectives behind their nouns, and words that become two. Transformers
learn to translate into it, with a causal mask in the decoder and without one. On new sentences each head of cross-attention is scored by
the alignment error rate. Then recurrent networks translate longer and longer sentences, with attention and from one state alone.
"""

from __future__ import annotations

import csv
import io
import math
import platform
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
import torch.nn.functional as F
from rich.console import Console
from rich.progress import track
from torch import Tensor, nn

from .machine import machine, measured_on

NAMES = {"humpty": "humpo", "dumpty": "dumpo", "jack": "jako", "jill": "jilo"}
NOUNS = {"wall": "muri", "king": "rego", "horse": "balo na", "egg": "ovi", "hill": "kopi", "crown": "koro na"}
KINDS = {"old": "sena", "small": "pika", "red": "rusa"}
VERBS = {"sat": "sedi ka", "fell": "fali", "slept": "domi ka", "sang": "kanti", "stood": "stari ka"}
PLACES = {"on": "sur", "under": "sub", "by": "apu", "behind": "dor"}
LEXICON = NAMES | NOUNS | KINDS | VERBS | PLACES
ARTICLES = ("a", "the")
FILLER, START, END = "(filler)", "(start)", "(end)"
SOURCE = [FILLER, *ARTICLES, *LEXICON]
TARGET = [FILLER, START, END, *dict.fromkeys(" ".join(LEXICON.values()).split())]

SENTENCES, TESTED = 4_000, 500
MOST = 3  # phrases of place in a sentence
D_MODEL, HEADS, D_HEAD, D_FF, LAYERS = 32, 4, 8, 64, 2
LONGEST = 32  # words of a sentence, in either language
BATCH, STEPS, RATE = 64, 1_200, 0.003
SEEDS = range(5)
KEPT = 0  # the seed of the model whose weights are kept
TEST_SEED = 10_000  # far from those of training

Links = set[tuple[int, int]]


@dataclass(frozen=True)
class Pair:
    """A sentence and its translation."""

    source: list[str]
    target: list[str]
    origin: list[int]  # for each word of the translation the place of the word that it comes from
    possible: Links  # links (source, target) that are not counted as mistakes

    @property
    def sure(self) -> Links:
        return {(place, word) for word, place in enumerate(self.origin)}


def spoken(rng: np.random.Generator, phrases: int) -> list[str]:
    """Return a sentence with so many phrases of place."""
    words = [*_someone(rng), _one_of(rng, VERBS)]
    for _ in range(phrases):
        words += [_one_of(rng, PLACES), *_someone(rng)]
    return words


def _someone(rng: np.random.Generator) -> list[str]:
    if rng.random() < 0.4:
        return [_one_of(rng, NAMES)]
    kind = [_one_of(rng, KINDS)] if rng.random() < 0.4 else []
    return [_one_of(rng, ARTICLES), *kind, _one_of(rng, NOUNS)]


def _one_of(rng: np.random.Generator, words: Any) -> str:
    return list(words)[rng.integers(len(words))]


def by_rule(source: list[str]) -> Pair:
    """Return a sentence with its translation: kinds and places go behind their noun, the verb to the end, and articles have no counterpart."""
    order: list[int] = []
    waiting: list[int] = []
    possible: Links = set()
    verb = next(place for place, word in enumerate(source) if word in VERBS)
    for place, word in enumerate(source):
        if word in KINDS or word in PLACES:
            waiting.append(place)
        elif word in NAMES or word in NOUNS:
            order += [place, *reversed(waiting)]
            waiting = []
    origin = [place for place in (*order, verb) for _ in LEXICON[source[place]].split()]
    target = [part for place in (*order, verb) for part in LEXICON[source[place]].split()]
    for written, place in enumerate(origin):
        possible.add((place, written))
        if source[place] in NOUNS:
            possible.add((place - 2 if source[place - 1] in KINDS else place - 1, written))
    return Pair(source, target, origin, possible)


def corpus(seed: int, count: int, most: int = MOST, least: int = 0) -> list[Pair]:
    """Return sentences with `least` to `most` phrases of place."""
    rng = np.random.default_rng(seed)
    return [by_rule(spoken(rng, int(rng.integers(least, most + 1)))) for _ in range(count)]


def unseen() -> list[Pair]:
    """Return sentences for measuring: with one phrase of place or more there are so many that hardly one has occurred in training."""
    return corpus(TEST_SEED, TESTED, least=1)


def numbered(pairs: list[Pair]) -> tuple[Tensor, Tensor]:
    """Return the sentences and their translations as numbers, filled up to one length each; a translation stands between start and end."""
    sources = [[SOURCE.index(word) for word in pair.source] for pair in pairs]
    targets = [[TARGET.index(word) for word in (START, *pair.target, END)] for pair in pairs]
    return _filled(sources), _filled(targets)


def _filled(rows: list[list[int]]) -> Tensor:
    return nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)


def error_rate(links: Links, sure: Links, possible: Links) -> float:
    """Return the alignment error rate."""
    return 1 - (len(links & sure) + len(links & possible)) / (len(links) + len(sure))


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
    _train(model, list(model.parameters.values()), source, target, random, steps, STEPS)
    return model


def _train(model: Any, parameters: list[Tensor], source: Tensor, target: Tensor, random: torch.Generator, steps: int, last: int) -> None:
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


@dataclass(frozen=True)
class Found:
    """How well the map of one head agrees with the true alignment, and what its model can do."""

    seed: int
    causal: int
    layer: int
    head: int  # -1: the mean of the layer's heads
    earlier: float  # alignment error rates: the row one before the row in which the word is predicted,
    predicted: float  # that row itself,
    read: float  # and the next, in which the word has been read
    later: float
    begins: float  # of `predicted`, words that begin a translation alone
    goes_on: float  # and second words of a translation alone
    hidden: float  # of the model: a word is linked with the word whose hiding hurts it most
    kept_begins: float  # of the model: mean probability of the right word when the word it comes from is hidden, at first words
    kept_goes_on: float  # and at second words
    training_loss: float
    loss: float  # on new sentences
    right: float  # share of new sentences that are translated without a mistake


@torch.no_grad()
def measure(model: Translator, seed: int, pairs: list[Pair] | None = None) -> list[Found]:
    """Return what is found of each head, on sentences that are the same for all models."""
    pairs = pairs or unseen()
    source, target = numbered(pairs)
    logits, maps = model.decode(model.encode(source), source > 0, target[:, :-1])
    known_source, known_target = numbered(corpus(seed, TESTED))
    about_model = {
        **_by_hiding(model, pairs[:100]),
        "training_loss": float(model.loss(known_source, known_target)),
        "loss": float(model.loss(source, target)),
        "right": _share_right(model.write(source), target),
    }
    found = []
    for layer in range(LAYERS):
        for head in (*range(HEADS), -1):
            weights = maps[layer].mean(1) if head < 0 else maps[layer][:, head]
            rates = dict(zip(("earlier", "predicted", "read", "later"), (rate_of(weights, pairs, shift) for shift in (-1, 0, 1, 2))))
            halves = {name: rate_of(weights, pairs, only=name) for name in ("begins", "goes_on")}
            found.append(Found(seed, int(model.causal), layer, head, **rates, **halves, **about_model))
    return found


def rate_of(weights: Tensor, pairs: list[Pair], shift: int = 0, only: str = "") -> float:
    """Return the error rate of linking each word with the largest weight in its row, or in one `shift` rows later.

    A row is named by the word that it predicts. `only` takes the words that begin a translation, or those that go on with it.
    """
    counts = np.zeros(4)
    best = weights.argmax(-1).tolist()
    for row, pair in zip(best, pairs):
        wanted = _words(pair, only)
        links = {(row[place + shift], place) for place in wanted if 0 <= place + shift <= len(pair.target)}
        sure, possible = ({link for link in each if link[1] in wanted} for each in (pair.sure, pair.possible))
        counts += len(links & sure), len(links & possible), len(links), len(sure)
    return 1 - (counts[0] + counts[1]) / (counts[2] + counts[3])


def _words(pair: Pair, only: str) -> set[int]:
    """Return the places of the words of a translation that count."""
    every = set(range(len(pair.target)))
    second = {word for word in every - {0} if pair.origin[word] == pair.origin[word - 1]}
    return {"": every, "goes_on": second, "begins": every - second}[only]


def _by_hiding(model: Translator, pairs: list[Pair]) -> dict[str, float]:
    """Return how well words can be aligned by hiding one row after another from cross-attention, and what is left when the right one is hidden."""
    counts = np.zeros(4)
    left: dict[str, list[float]] = {"begins": [], "goes_on": []}
    for pair in pairs:
        chance = hidden_one_by_one(model, pair)
        links = {(int(chance[:, place].argmin()), place) for place in range(len(pair.target))}
        counts += len(links & pair.sure), len(links & pair.possible), len(links), len(pair.sure)
        for name, found in left.items():
            found += [float(chance[pair.origin[place], place]) for place in _words(pair, name)]
    rate = 1 - (counts[0] + counts[1]) / (counts[2] + counts[3])
    return {"hidden": rate, "kept_begins": float(np.mean(left["begins"])), "kept_goes_on": float(np.mean(left["goes_on"]))}


def hidden_one_by_one(model: Translator, pair: Pair) -> Tensor:
    """Return the probability of each right word when a row of the sentence is hidden from cross-attention: (hidden place, word)."""
    source, target = numbered([pair])
    words = len(pair.source)
    memory = model.encode(source).expand(words, -1, -1)
    logits, _ = model.decode(memory, ~torch.eye(words, dtype=torch.bool), target[:, :-1].expand(words, -1))
    return logits.softmax(-1)[:, torch.arange(len(pair.target)), target[0, 1:-1]]


def _share_right(written: Tensor, target: Tensor) -> float:
    width = max(written.shape[1], target.shape[1])
    written, target = (F.pad(rows, (0, width - rows.shape[1])) for rows in (written, target))
    return float((written == target).all(1).float().mean())


# From here on, recurrent networks.

CHAIN_MOST = 6  # phrases of place in the longest sentences of training
CHAIN_TESTED = 200  # sentences of each number of phrases
CHAIN_PHRASES = range(9)  # the last two are longer than any of training
CHAIN_STEPS = 1_200
CHAIN_LONGEST = 64
ARMS = {"one state": 64, "one wider state": 128, "attention": 64}


@dataclass(frozen=True)
class Length:
    """How well sentences of one length are translated."""

    arm: str
    seed: int
    phrases: int
    words: float  # mean of the sentences
    right_words: float
    right: float  # whole sentences
    written: float  # mean number of phrases of place in the translations
    parameters: int


class Recurrent(nn.Module):
    """A chain reads and a chain writes. The writer gets the reader's last state at each word, or an average of all its states by attention."""

    def __init__(self, width: int, attention: bool):
        super().__init__()
        self.attention = attention
        self.source, self.target = nn.Embedding(len(SOURCE), D_MODEL), nn.Embedding(len(TARGET), D_MODEL)
        self.reader, self.writer = (nn.GRU(D_MODEL, width, batch_first=True) for _ in range(2))
        self.to_query = nn.Linear(width, width, bias=False)
        self.to_word = nn.Linear(2 * width, len(TARGET))

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Return the states of the reader, and the one that it ends with."""
        states, _ = self.reader(self.source(source))
        ends = (source > 0).sum(1) - 1
        return states, states[torch.arange(len(source)), ends]

    def decode(self, states: Tensor, last: Tensor, seen: Tensor, written: Tensor) -> Tensor:
        """Return the logits after each word that is written."""
        rows, _ = self.writer(self.target(written), last[None])
        if self.attention:
            scores = self.to_query(rows) @ states.mT / math.sqrt(states.shape[-1])
            context = scores.masked_fill(~seen[:, None], -math.inf).softmax(-1) @ states
        else:
            context = self.to_query(last)[:, None].expand_as(rows)  # the same matrix, so that both have as many parameters
        return self.to_word(torch.cat([rows, context], dim=-1))

    def loss(self, source: Tensor, target: Tensor) -> Tensor:
        logits = self.decode(*self.encode(source), source > 0, target[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=0)

    @torch.no_grad()
    def write(self, source: Tensor, longest: int) -> Tensor:
        states, last = self.encode(source)
        return greedy(lambda written: self.decode(states, last, source > 0, written)[:, -1], len(source), longest)


def by_length(arm: str, seed: int, steps: int = CHAIN_STEPS) -> list[Length]:
    """Return how well one recurrent network translates sentences of each length."""
    torch.manual_seed(seed)
    model = Recurrent(ARMS[arm], arm == "attention")
    source, target = numbered(corpus(seed, SENTENCES, CHAIN_MOST))
    _train(model, list(model.parameters()), source, target, torch.Generator().manual_seed(seed), steps, steps)
    size = sum(parameter.numel() for parameter in model.parameters())
    rng = np.random.default_rng(TEST_SEED)
    found = []
    for phrases in CHAIN_PHRASES:
        source, target = numbered([by_rule(spoken(rng, phrases)) for _ in range(CHAIN_TESTED)])
        wrote = model.write(source, CHAIN_LONGEST)
        places = torch.isin(wrote, torch.tensor([TARGET.index(word) for word in PLACES.values()])).sum(1)
        written = F.pad(wrote, (0, CHAIN_LONGEST))[:, : target.shape[1]]
        hits, real = (written == target)[:, 1:], target[:, 1:] > 0
        whole = float((hits | ~real).all(1).float().mean())
        words = float((source > 0).sum(1).float().mean())
        right_words, mean_places = float(hits[real].float().mean()), float(places.float().mean())
        found.append(Length(arm, seed, phrases, words, right_words, whole, mean_places, size))
    return found


@click.command(help=__doc__)
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), help="Write the table of heads as comma-separated values, too.")
@click.option(
    "--lengths", type=click.Path(path_type=Path, dir_okay=False), help="Write the table of lengths as comma-separated values, too."
)
@click.option("--weights", type=click.Path(path_type=Path, dir_okay=False), help="Write the weights of two models as NumPy's .npz, too.")
def main(page: Path | None, lengths: Path | None, weights: Path | None) -> None:
    torch.set_num_threads(1)
    console = Console(stderr=True)
    pairs = [(seed, causal) for causal in (True, False) for seed in SEEDS]
    models = {pair: trained(*pair) for pair in track(pairs, "translators", console=console)}
    _say(as_table(Found, [found for (seed, _), model in models.items() for found in measure(model, seed)], STEPS), page)
    if weights:
        np.savez(weights, **models[KEPT, True].arrays())
        np.savez(weights.with_stem(f"{weights.stem}_peeking"), **models[KEPT, False].arrays())
    chains = [(arm, seed) for arm in ARMS for seed in SEEDS]
    found = [row for chain in track(chains, "chains", console=console) for row in by_length(*chain)]
    _say(as_table(Length, found, CHAIN_STEPS), lengths)


def _say(text: str, page: Path | None) -> None:
    click.echo(text)
    if page:
        page.write_text(text, encoding="utf-8")


def as_table(kind: Any, rows: list[Any], steps: int) -> str:
    """Return the rows as comma-separated values below a line that says how they came about."""
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    file = io.StringIO()
    file.write(f"# {measured_on({'machine': machine(), 'versions': versions})}; {steps} steps, {len(SEEDS)} seeds.\n")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(field.name for field in fields(kind))
    writer.writerows([f"{each:.4f}" if isinstance(each, float) else each for each in asdict(row).values()] for row in rows)
    return file.getvalue()


if __name__ == "__main__":
    main()
