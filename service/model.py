"""The decoder that the chapter on generation trained, made to read several texts at once. Numbers have 64 bits: a batch then changes no answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

WEIGHTS = Path(__file__).resolve().parents[1] / "book" / "measured" / "generation.npz"
# In the order of the rows of its embedding. Each text begins where another has ended.
WORDS = "(end) and a the humpty dumpty jack jill wall king horse egg hill crown old small red sat fell slept sang stood on under by behind".split()
END, THETA = 0, 10_000.0
LONGEST, LINE = 16, 17  # words of a text, and of a line with its end: the model was trained on sentences of up to 16 words
LIKELY = 0.9  # words are drawn from the most probable, as few as have that much together


@dataclass(frozen=True)
class Job:
    """A text to be read, as numbers of words, and how many lines to write: the first goes on where the text ends."""

    text: tuple[int, ...]
    lines: int = 0
    seed: int = 0

    @property
    def length(self) -> int:
        """Return about how many places the model has to compute: a sentence and its end are 8 words on average."""
        return 1 + len(self.text) + 8 * self.lines


@dataclass(frozen=True)
class Answer:
    """What the model says of a text: the surprise at each of its words, in nats, and the lines that it writes."""

    surprise: tuple[float, ...]
    lines: tuple[tuple[int, ...], ...]
    computed: float = 0.0  # places that the model computed for a text of this batch, on average
    useful: float = 0.0  # those among them that somebody had asked for


class Model:
    """Two layers of attention and feed-forward network, with rotary positions, pre-norm, without biases."""

    def __init__(self, weights: Path = WEIGHTS):
        with np.load(weights) as arrays:
            self.given = {name: array.astype(np.float64) for name, array in arrays.items()}
        self.layers, self.heads, _, self.width = self.given["query"].shape

    def answer(self, jobs: Sequence[Job]) -> list[Answer]:
        """Return an answer for each job; texts are filled up at their left, so that all of them end in one column."""
        columns = 1 + max(len(job.text) for job in jobs)
        tokens, real = np.zeros((len(jobs), columns), int), np.zeros((len(jobs), columns), bool)
        for row, job in enumerate(jobs):
            tokens[row, columns - 1 - len(job.text) :] = END, *job.text
            real[row, columns - 1 - len(job.text) :] = True
        kept = Kept(real)
        logits = self.read(tokens, kept)
        surprise = -np.take_along_axis(logarithms(logits[:, :-1]), tokens[:, 1:, None], axis=2)[..., 0]
        pages = self.write(jobs, logits[:, -1], kept)
        useful = [1 + len(job.text) + max(0, page.words - 1) for job, page in zip(jobs, pages)]
        computed = columns + max(0, max(page.words for page in pages) - 1)
        return [
            Answer(tuple(surprise[row, columns - 1 - len(job.text) :].tolist()), page.lines, computed, sum(useful) / len(jobs))
            for row, (job, page) in enumerate(zip(jobs, pages))
        ]

    def write(self, jobs: Sequence[Job], logits: np.ndarray, kept: Kept) -> list[Page]:
        """Return what is written for each job; all rows go on until the last is done."""
        pages = [Page(job) for job in jobs]
        while not all(page.done for page in pages):
            new = np.array([page.next(row) for page, row in zip(pages, logits)])
            if all(page.done for page in pages):
                break
            kept.forget(new == END)  # a new line begins as if nothing had been written before
            kept.grow()
            logits = self.read(new[:, None], kept)[:, -1]
        return pages

    def read(self, tokens: np.ndarray, kept: Kept) -> np.ndarray:
        """Return the logits after each new word, which are the last ones that `kept` knows of; what isn't real is seen by nobody but itself."""
        places = np.arange(kept.real.shape[1])
        here = places[-tokens.shape[1] :]
        seen = (here[:, None] >= places) & kept.real[:, None, None] | (here[:, None] == places)
        rows = self.given["word"][tokens]
        for layer in range(self.layers):
            rows = rows + self.look(layer, norm(rows), here + kept.dropped, seen, kept)
            rows = rows + np.maximum(norm(rows) @ self.given["w1"][layer], 0) @ self.given["w2"][layer]
        return norm(rows) @ self.given["next"]

    def look(self, layer: int, rows: np.ndarray, here: np.ndarray, seen: np.ndarray, kept: Kept) -> np.ndarray:
        query, key, value = (rows[:, None] @ self.given[name][layer] for name in ("query", "key", "value"))
        key, value = kept.with_new(layer, rotated(key, here), value)
        share = self.heads // key.shape[1]
        key, value = key.repeat(share, axis=1), value.repeat(share, axis=1)
        scores = rotated(query, here) @ key.swapaxes(-1, -2) / math.sqrt(self.width)
        weights = np.exp(logarithms(np.where(seen, scores, -math.inf)))
        return (weights @ value @ self.given["output"][layer]).sum(axis=1)


class Page:
    """What is written for one job, word by word. It draws with a generator of its own, so that nobody's neighbours change it."""

    def __init__(self, job: Job):
        self._job, self._rng = job, np.random.default_rng(job.seed)
        self.lines: tuple[tuple[int, ...], ...] = ((),) if job.lines else ()
        self.words, self.done = 0, not job.lines

    def next(self, logits: np.ndarray) -> int:
        """Write a word and return it; a page that is done stays as it is."""
        if self.done:
            return END
        word = END if len(self.lines[-1]) + 1 == LINE else drawn(logits, self._rng)
        self.words += 1
        if word != END:
            self.lines = *self.lines[:-1], (*self.lines[-1], word)
        elif len(self.lines) < self._job.lines:
            self.lines = *self.lines, ()
        else:
            self.done = True
        return word


def drawn(logits: np.ndarray, rng: np.random.Generator) -> int:
    """Return one of the most probable words: as few of them as have `LIKELY` together."""
    shares = np.exp(logarithms(logits))
    order = np.argsort(-shares, kind="stable")
    sums = shares[order].cumsum()
    some = int((sums < LIKELY).sum())
    return int(order[(sums < rng.random() * sums[some]).sum()])


class Kept:
    """The keys and values of a batch, and which of its places are real."""

    def __init__(self, real: np.ndarray):
        self.real, self.dropped = real, 0
        self._rows: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def with_new(self, layer: int, key: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the keys and values of a layer, old and new."""
        if layer in self._rows:
            key, value = (np.concatenate(both, axis=2) for both in zip(self._rows[layer], (key, value)))
        self._rows[layer] = key, value
        return key, value

    def forget(self, rows: np.ndarray) -> None:
        """Let nobody see what these rows have so far."""
        self.real[rows] = False

    def grow(self) -> None:
        """Add a real place to each row, and drop the oldest places if no row sees them any more."""
        self.real = np.concatenate([self.real, np.ones((len(self.real), 1), bool)], axis=1)
        unseen = int(self.real.any(axis=0).argmax())
        self.real, self.dropped = self.real[:, unseen:], self.dropped + unseen
        self._rows = {layer: (key[:, :, unseen:], value[:, :, unseen:]) for layer, (key, value) in self._rows.items()}


def norm(rows: np.ndarray) -> np.ndarray:
    apart = rows - rows.mean(axis=-1, keepdims=True)
    return apart / np.sqrt((apart * apart).mean(axis=-1, keepdims=True) + 1e-5)


def logarithms(scores: np.ndarray) -> np.ndarray:
    """Return the logarithm of softmax."""
    apart = scores - scores.max(axis=-1, keepdims=True)
    return apart - np.log(np.exp(apart).sum(axis=-1, keepdims=True))


def rotated(rows: np.ndarray, here: np.ndarray) -> np.ndarray:
    """Return queries or keys rotated by the angles of their positions. Only distances count, so what stands in front of a text shifts nothing."""
    width = rows.shape[-1]
    turns = np.exp(1j * here[:, None] * THETA ** (-np.arange(0, width, 2) / width))
    return (np.ascontiguousarray(rows).view(complex) * turns).view(float)
