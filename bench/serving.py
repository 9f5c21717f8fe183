"""A service under load, what a batch costs its model, and what is lost where a long text is cut: the tables of the chapter on serving.

Load: several services with the same model and different rules run side by side, each asked in its turn. Texts arrive at random moments at
a rate that is a multiple of what a service can do that takes them one by one, by the processor's time, measured anew in each round. The client waits for nobody:
a text is sent when its moment has come, and its time is counted from that moment, whatever came of those before it.

Batches: the seconds that the processor works for a batch, on one thread.

Cuts: models of five starts read texts of many sentences, whole, in chunks, and cut.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import psutil
import torch
from rich.console import Console
from rich.progress import track

from service.lengths import chunks
from service.model import LONGEST, Job, Model

from . import heads
from .speakers import AND, END, WORDS, Speaker, corpus, trained
from .tables import write

ROOT = Path(__file__).resolve().parents[1]
ENDLESS = 100_000
WAYS: dict[str, dict[str, float]] = {
    "one": {"most": 1, "room": ENDLESS},
    "fixed": {"most": 8, "patience": 3600, "share": 1, "room": ENDLESS},
    "arrival": {"most": 16, "share": 1, "room": ENDLESS},
    "patient": {"most": 16, "patience": 0.05, "share": 1, "room": ENDLESS},
    "alike": {"most": 16, "share": 0.2, "room": ENDLESS},
    "one, room for 8": {"most": 1, "room": 8},
}
RATES = (0.5, 1, 2, 4)  # times what "one" can do
ROUNDS, REQUESTS = range(9), 160
LINES, ASKED = (1, 2, 4, 8), 400

SIZES, CALLS, ENOUGH = (1, 2, 4, 8, 16, 32), 3, 0.2
READ = (2, 4, 6, 8, 12, 16)  # words of texts that are read in one batch

SEEDS, KV_HEADS = range(5), 2
TEXTS, SENTENCES, CUT_SEED = 8, 40, 20_000
KEEP, WHOLE = (1, 2, 3, 4, 6, 8, 12, 16), 256  # words that are kept of a sentence; words of a text that is read whole
PERIODS, OVERLAPS, PAGES, COPIED = (8, 16), (0, 2, 4, 8, 12, 16, 20, 24, 28, 32), 40, 400  # texts of so many words


@dataclass(frozen=True)
class Load:
    """What came of some texts that arrived at one rate."""

    way: str
    times: float  # the rate, in multiples of what a service can do one by one
    round: int
    rate: float  # texts a second
    answered: int
    refused: int
    p50: float  # ms, of those that were answered
    p95: float
    p99: float
    early: float  # median of the first quarter to arrive
    late: float  # and of the last
    texts: float  # in a batch, mean
    padding: float  # share of the places that the model computed for nobody
    model: float  # ms of the model for each text
    processor: float  # ms of the processor for each text, all of the service


@dataclass(frozen=True)
class Batch:
    """What a batch costs."""

    what: str  # "write": four lines each; "read": each text has `words`; "mixed": as many texts of each length, padded; "sorted": of one length each
    texts: int
    words: int
    round: int
    seconds: float


@dataclass(frozen=True)
class Cut:
    """How well a model reads what is left of a text."""

    seed: int
    way: str
    amount: int  # words that a chunk shares with the one before it; or words that are kept
    loss: (
        float  # nats a word; for "end" and "beginning" of the word after "and" alone, for "copies 8" of words that occurred 8 words before
    )
    read: float  # words that are read for each word of the text
    known: float  # the loss of whoever knows the language


PAGE = click.Path(path_type=Path, dir_okay=False)


@click.command(help=__doc__)
@click.option("--load", type=PAGE, help="Put services under load, and write here what came of it.")
@click.option("--batches", type=PAGE, help="Measure what batches cost, and write it here.")
@click.option("--cuts", type=PAGE, help="Train models, and write here what they lose where texts are cut.")
def main(load: Path | None, batches: Path | None, cuts: Path | None) -> None:
    torch.set_num_threads(1)
    if batches:
        write([row for each in ROUNDS for row in timed(each)], batches, "one thread, seconds of the processor")
    if cuts:
        seeds = track(SEEDS, "models", console=Console(stderr=True))
        models = [(seed, trained(seed, KV_HEADS), heads.trained(seed, 2)) for seed in seeds]
        found = [row for seed, speaker, copier in models for row in (*lost(speaker, seed), *copied(copier, seed))]
        write(found, cuts, "5 seeds")
    if load:
        write(asyncio.run(loaded()), load, f"{len(ROUNDS)} rounds, milliseconds; other programs ran beside it")


# A service under load


@contextlib.contextmanager
def serving(rules: dict[str, float]) -> Iterator[tuple[int, psutil.Process]]:
    """Run a service; yield its port and its process."""
    command = [sys.executable, "-m", "service", "--port", "0", *(f"--{name}={value}" for name, value in rules.items())]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield int(process.stdout.readline().rpartition(":")[2]), psutil.Process(process.pid)
        finally:
            process.terminate()


class Client:
    """Connections to a service, opened as they are needed and kept. httpx is what tests use; here it would take as long as the service."""

    def __init__(self, port: int):
        self._port, self._free = port, list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]()

    async def ask(self, path: str, body: dict | None = None) -> tuple[int, bytes]:
        """Return the status and the body of an answer."""
        while self._free and self._free[-1][0].at_eof():  # the service closes what has been idle for seconds
            self._free.pop()[1].close()
        reader, writer = self._free.pop() if self._free else await asyncio.open_connection("127.0.0.1", self._port)
        data = json.dumps(body).encode() if body is not None else b""
        method = "GET" if body is None else "POST"
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        writer.write(head.encode() + data)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", answer)
        assert length
        found = await reader.readexactly(int(length[1]))
        self._free.append((reader, writer))
        return int(answer.split()[1]), found

    async def counts(self) -> dict[str, float]:
        _, text = await self.ask("/metrics")
        return {name: float(value) for name, value in re.findall(r"^serving_(\w+) (\S+)$", text.decode(), re.MULTILINE)}

    async def close(self) -> None:
        for _, writer in self._free:
            writer.close()
            await writer.wait_closed()


def asked(seed: int, count: int) -> list[dict[str, Any]]:
    """Return the beginnings of sentences, each to be continued for some lines."""
    rng = np.random.default_rng(seed)
    return [
        {
            "text": " ".join(each.words[: rng.integers(len(each.words))]),
            "lines": int(rng.choice(LINES)),
            "seed": int(rng.integers(2**31)),
        }
        for each in corpus(seed, count)
    ]


async def loaded() -> list[Load]:
    with contextlib.ExitStack() as stack:
        services = {way: stack.enter_context(serving(rules)) for way, rules in WAYS.items()}
        clients = {way: Client(port) for way, (port, _) in services.items()}
        found = []
        for number in ROUNDS:
            for client in clients.values():
                await asyncio.gather(*(client.ask("/continue", each) for each in asked(0, 16)))  # the first ones load code
            able = await capacity(clients["one"], services["one"][1], number)
            found.append(await interface(clients["one"], services["one"][1], number))
            for times in RATES:
                for way in WAYS:
                    row = await under_load(clients[way], services[way][1], able * times, number)
                    found.append(replace(row, way=way, times=times, round=number))
                    print(found[-1], file=sys.stderr)
        for client in clients.values():
            await client.close()
    return found


async def capacity(client: Client, process: psutil.Process, number: int) -> float:
    """Return how many texts a second a service answers that has a core of its own: what others take of it doesn't count."""
    left, worked = asked(1_000 + number, REQUESTS), sum(process.cpu_times()[:2])

    async def ask_on() -> None:
        while left:
            await client.ask("/continue", left.pop())

    await asyncio.gather(ask_on(), ask_on())
    return REQUESTS / (sum(process.cpu_times()[:2]) - worked)


async def interface(client: Client, process: psutil.Process, number: int) -> Load:
    """Return what it takes to be told that a text is too long: everything but the model."""
    body, worked, begin = {"text": "humpty " * (LONGEST + 1)}, sum(process.cpu_times()[:2]), time.perf_counter()
    for _ in range(ASKED):
        status, _ = await client.ask("/continue", body)
        assert status == 422
    rate, processor = ASKED / (time.perf_counter() - begin), 1000 * (sum(process.cpu_times()[:2]) - worked) / ASKED
    nothing = {name: 0.0 for name in ("times", "p50", "p95", "p99", "early", "late", "texts", "padding", "model")}
    return Load("refused for its length", round=number, rate=rate, answered=0, refused=ASKED, processor=processor, **nothing)


async def under_load(client: Client, process: psutil.Process, rate: float, number: int) -> Load:
    """Return what came of texts that arrive at random at this rate."""
    rng = np.random.default_rng(number)
    moments = np.cumsum(rng.exponential(1 / rate, REQUESTS))
    before, worked, begin = await client.counts(), sum(process.cpu_times()[:2]), time.perf_counter()

    async def ask(moment: float, body: dict) -> tuple[int, float]:
        await asyncio.sleep(begin + moment - time.perf_counter())
        status, _ = await client.ask("/continue", body)
        return status, 1000 * (time.perf_counter() - begin - moment)

    found = await asyncio.gather(*(ask(*each) for each in zip(moments, asked(number, REQUESTS))))
    new = {name: value - before[name] for name, value in (await client.counts()).items()}
    worked = sum(process.cpu_times()[:2]) - worked
    took = np.array([each if status == 200 else math.nan for status, each in found])
    p50, p95, p99 = np.nanquantile(took, (0.5, 0.95, 0.99)).tolist()
    early, late = (float(np.nanmedian(part)) for part in (took[: REQUESTS // 4], took[-REQUESTS // 4 :]))
    answered, refused = (sum(status == wanted for status, _ in found) for wanted in (200, 503))
    assert answered + refused == REQUESTS and new["answered"] == answered
    texts, padding = new["texts"] / new["batches"], 1 - new["useful"] / new["computed"]
    model, processor = 1000 * new["seconds"] / new["texts"], 1000 * worked / answered
    return Load("", 0, 0, rate, answered, refused, p50, p95, p99, early, late, texts, padding, model, processor)


# What a batch costs


def timed(number: int) -> Iterator[Batch]:
    """Yield what batches cost in one round."""
    model, rng = Model(), np.random.default_rng(number)

    def texts(words: int, count: int) -> list[Job]:
        return [Job(tuple(rng.integers(1, len(WORDS), words).tolist())) for _ in range(count)]

    for size in SIZES:
        yield Batch("write", size, 0, number, seconds(lambda: model.answer([Job((), 4, 100 * number + each) for each in range(size)])))  # noqa: B023
        for words in (READ[0], READ[-1]):
            jobs = texts(words, size)
            yield Batch("read", size, words, number, seconds(lambda: model.answer(jobs)))  # noqa: B023
    each_length = [texts(words, 8) for words in READ]
    mixed = [job for jobs in each_length for job in jobs]
    yield Batch("mixed", len(mixed), READ[-1], number, seconds(lambda: model.answer(mixed)))
    yield Batch("sorted", len(mixed), READ[-1], number, seconds(lambda: [model.answer(jobs) for jobs in each_length]))


def seconds(call: Callable[[], Any]) -> float:
    """Return the seconds of the processor that a call takes: the least of several, since what else goes on can only add to them."""
    call()
    each: list[float] = []
    while sum(each) < ENOUGH or len(each) < CALLS:
        begin = time.process_time()
        call()
        each.append(time.process_time() - begin)
    return min(each)


# Texts that are cut


@torch.no_grad()
def lost(model: Speaker, seed: int) -> Iterator[Cut]:
    """Yield how well a model that speaks reads what is cut. Each part begins as a sentence does, for that is how the model was trained."""
    stories = [[[WORDS.index(word) for word in (*each.words, END)] for each in story] for story in STORIES]
    texts = [[token for sentence in story for token in sentence] for story in stories]
    known = -sum(each.log_probability for story in STORIES for each in story) / sum(map(len, texts))

    def row(way: str, amount: int, parts: Sequence[tuple[list[int], int]], known: float = known) -> Cut:
        surprise = [each for text, old in parts for each in surprises(model, text)[old:]]
        return Cut(seed, way, amount, float(np.mean(surprise)), sum(len(text) for text, _ in parts) / len(surprise), known)

    yield row("whole", WHOLE, [(text[:WHOLE], 0) for text in texts])
    for overlap in (0, LONGEST // 2):
        parts = [(text[begin:end], new - begin) for text in texts for begin, end, new in chunks(len(text), LONGEST, overlap)]
        yield row("chunks", overlap, parts)
    yield row("sentences", 0, [(sentence, 0) for story in stories for sentence in story])
    after = [sentence[: sentence.index(AND_) + 2] for story in stories for sentence in story if AND_ in sentence[8:]]
    for words in KEEP:
        yield row("end", words, [(text[:-1][-words:] + text[-1:], min(words, len(text) - 1)) for text in after], 0.0)
        yield row("beginning", words, [(text[:-1][:words] + text[-1:], min(words, len(text) - 1)) for text in after], 0.0)


AND_, STORIES = WORDS.index(AND), [corpus(CUT_SEED + each, SENTENCES) for each in range(TEXTS)]


@torch.no_grad()
def copied(model: heads.Model, seed: int) -> Iterator[Cut]:
    """Yield how well a model that copies reads texts that repeat themselves, ten times as long as it can read, in chunks."""
    random = torch.Generator().manual_seed(CUT_SEED)
    for period in PERIODS:
        texts = torch.randint(heads.WORDS, (PAGES, period), generator=random).repeat(1, COPIED // period + 1)[:, : COPIED + 1]
        for overlap in OVERLAPS:
            surprise = torch.full((PAGES, COPIED), math.nan)
            parts = chunks(COPIED, heads.TOKENS, overlap)
            for begin, end, new in parts:
                surprise[:, new:end] = model.losses(texts[:, begin : end + 1])[:, new - begin :]
            read = sum(end - begin for begin, end, _ in parts) / COPIED
            yield Cut(seed, f"copies {period}", overlap, float(surprise[:, period:].mean()), read, 0.0)


def surprises(model: Speaker, text: list[int]) -> list[float]:
    """Return the surprise at each word of a text, nats."""
    tokens = torch.tensor([[0, *text]])
    logits = model.read(tokens[:, :-1])[0]
    return torch.nn.functional.cross_entropy(logits, tokens[0, 1:], reduction="none").tolist()


if __name__ == "__main__":
    main()
