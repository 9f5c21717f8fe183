"""The model as a service: whatever is accepted gets its one answer, the same that the model gives alone; whatever is not is told why."""

import asyncio
import contextlib
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest

from service.bounded import MOST_BYTES
from service.lengths import MOST_CHUNKS, OVERLAP, chunks
from service.model import END, LINE, LONGEST, WORDS, Job, Model
from tests.conftest import ROOT

ENOUGH = 60.0  # seconds, after which a test gives up; nothing is asserted of how long anything takes


@contextlib.contextmanager
def serving(*options: str):
    """Run the service in a process of its own; yield its address and the process."""
    command = [sys.executable, "-m", "service", "--port", "0", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()


def counted_at_the_end(process: subprocess.Popen) -> list[int]:
    """Return the numbers of the line that a service ends with; it has said nothing else since it began, warnings included."""
    said = process.stdout.read()
    assert re.fullmatch(r"\d+ accepted: \d+ answered, \d+ failed, \d+ gone; \d+ refused\n", said), said
    return list(map(int, re.findall(r"\d+", said)))


@pytest.fixture(scope="module")
def address():
    with serving() as (address, process):
        yield address
        process.send_signal(signal.SIGINT)  # Ctrl-C; other tests send SIGTERM
        assert process.wait(ENOUGH) == 0
        accepted, answered, failed, _, refused = counted_at_the_end(process)
        assert accepted >= answered and failed == 0 and refused == 0


@pytest.fixture(scope="module")
def model() -> Model:
    return Model()


@pytest.fixture(scope="module")
def client(address):
    with httpx.Client(base_url=address, timeout=ENOUGH) as client:
        yield client


def some_jobs(seed: int, count: int, most_lines: int = 8) -> list[Job]:
    rng = np.random.default_rng(seed)
    texts = (tuple(rng.integers(1, len(WORDS), rng.integers(0, LONGEST + 1)).tolist()) for _ in range(count))
    return [Job(text, int(rng.integers(1, most_lines + 1)), int(rng.integers(100))) for text in texts]


def said(tokens) -> str:
    return " ".join(WORDS[token] for token in tokens)


def body(job: Job) -> dict:
    return {"text": said(job.text), "lines": job.lines, "seed": job.seed}


def lines_of(model: Model, job: Job) -> list[str]:
    """Return what the model writes if nobody else asks."""
    return [said(line) for line in model.answer([job])[0].lines]


def all_at_once(address: str, jobs: list[Job], after=lambda: None) -> list[httpx.Response | httpx.TransportError]:
    """Return what came back for each job; `after` is called when the first has come back."""
    with ThreadPoolExecutor() as pool:  # in this thread, Playwright may have left a loop running
        return pool.submit(asyncio.run, _all_at_once(address, jobs, after)).result()


async def _all_at_once(address: str, jobs: list[Job], after) -> list[httpx.Response | httpx.TransportError]:

    async def ask(client, job):
        try:
            found = await client.post("/continue", json=body(job))
        except httpx.TransportError as problem:
            return problem
        finally:
            called.append(after() if not called else None)
        return found

    called: list = []
    limits = httpx.Limits(max_connections=len(jobs))
    async with httpx.AsyncClient(base_url=address, timeout=ENOUGH, limits=limits) as client:
        return await asyncio.gather(*(ask(client, job) for job in jobs))


def counted(client: httpx.Client) -> dict[str, float]:
    return {name: float(value) for name, value in re.findall(r"^serving_(\w+) (\S+)$", client.get("/metrics").text, re.MULTILINE)}


# One answer for each


def test_whoever_asks_in_a_crowd_is_told_what_the_model_says_alone(address, client, model):
    jobs, before = some_jobs(1, 60), counted(client)
    found = all_at_once(address, jobs)
    assert [each.status_code for each in found] == [200] * len(jobs)
    assert [each.json()["lines"] for each in found] == [lines_of(model, job) for job in jobs]
    new = {name: count - before[name] for name, count in counted(client).items()}
    assert new["accepted"] == new["answered"] == new["texts"] == len(jobs) and new["failed"] == new["gone"] == new["waiting"] == 0
    assert new["batches"] < len(jobs) and 0 < new["useful"] < new["computed"]


@pytest.mark.parametrize("size", [2, 7, 16])
def test_neighbours_and_padding_change_no_answer(model, size):
    jobs = [*some_jobs(size, 20, 3), *(Job(job.text) for job in some_jobs(size, 12))]
    alone = [model.answer([job])[0] for job in jobs]
    for begin in range(0, len(jobs), size):
        for one, other in zip(model.answer(jobs[begin : begin + size]), alone[begin : begin + size]):
            assert one.lines == other.lines and one.surprise == pytest.approx(other.surprise, abs=1e-9)


def test_the_model_is_that_of_the_chapter_on_generation(model, functions_of_generation):
    read, cache = functions_of_generation
    for job in some_jobs(3, 5):
        logits = read(np.array([[END, *job.text]]), cache())[0]
        shares = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
        expected = [-np.log(shares[place, word]) for place, word in enumerate(job.text)]
        assert model.answer([job])[0].surprise == pytest.approx(expected, abs=1e-3)


@pytest.fixture(scope="module")
def functions_of_generation():
    from tests.book.definitions import Definitions

    chapter = Definitions("generation")
    assert tuple(chapter["WORDS"]) == tuple(WORDS)
    return chapter["read"], chapter["Cache"]


def test_lines_are_as_many_as_were_asked_for_and_end(model):
    for job in some_jobs(4, 20):
        (answer,) = model.answer([job])
        assert len(answer.lines) == job.lines and max(map(len, answer.lines)) < LINE and END not in sum(answer.lines, ())


# Texts that are too long


LONG = said(np.random.default_rng(5).integers(1, len(WORDS), 60))


@pytest.mark.parametrize("path", ["/continue", "/score"])
def test_a_text_that_is_too_long_is_refused_with_the_limit_and_what_was_sent(client, path):
    for words in (LONGEST, LONGEST + 1):
        found = client.post(path, json={"text": " ".join(LONG.split()[:words])})
        assert found.status_code == (200 if words == LONGEST else 422)
    assert found.json() == {"error": "there are 17 words, and at most 16 are read at once", "limit": LONGEST, "sent": LONGEST + 1}


def test_a_cut_text_is_answered_as_its_end_is_and_says_so(client):
    cut = client.post("/continue", json={"text": LONG, "if_too_long": "keep the end"}).json()
    end = client.post("/continue", json={"text": " ".join(LONG.split()[-LONGEST:])}).json()
    assert cut == {**end, "cut": 60 - LONGEST} and end["cut"] == 0


def test_chunks_give_each_word_one_surprise_and_enough_words_before_it(client, model):
    found = client.post("/score", json={"text": LONG, "if_too_long": "chunks"}).json()
    tokens = tuple(WORDS.index(word) for word in LONG.split())
    expected = [
        each
        for begin, end, new in chunks(60, LONGEST, OVERLAP)
        for each in model.answer([Job(tokens[begin:end])])[0].surprise[new - begin :]
    ]
    assert found["surprise"] == pytest.approx(expected, abs=1e-4) and len(expected) == 60 and found["chunks"] == 7


def test_lines_are_read_one_by_one(client):
    both, *alone = (
        client.post("/score", json={"text": text}).json() for text in ("humpty sat\n\na king fell", "humpty sat", "a king fell")
    )
    assert both["surprise"] == [*alone[0]["surprise"], *alone[1]["surprise"]] and both["chunks"] == 3


@pytest.mark.parametrize("longest, overlap", [(16, 8), (16, 0), (5, 4), (1, 0)])
def test_chunks_hold_every_word_once_as_new(longest, overlap):
    for count in (1, longest, longest + 1, 3 * longest + 1):
        found = chunks(count, longest, overlap)
        assert [each for _, end, new in found for each in range(new, end)] == list(range(count))
        assert all(end - begin <= longest and (begin == 0 or new - begin == overlap) for begin, end, new in found)


def test_a_text_of_too_many_chunks_is_refused(client):
    for text in ("humpty " * (LONGEST + MOST_CHUNKS * (LONGEST - OVERLAP)), "humpty\n" * (MOST_CHUNKS + 1)):
        found = client.post("/score", json={"text": text, "if_too_long": "chunks"})
        assert found.status_code == 422 and found.json()["sent"] == MOST_CHUNKS + 1 == found.json()["limit"] + 1


# Hostile and mistaken clients

JSON = {"content-type": "application/json"}
WRONG = {
    "a huge body": (b'{"text": "' + b"humpty " * 30_000 + b'"}', 413),
    "a body a byte too long": (b'{"text": "humpty"}'.ljust(MOST_BYTES + 1), 413),
    "no JSON": (b"humpty", 422),
    "nothing": (b"", 422),
    "a list": (b"[]", 422),
    "a number for a text": (b'{"text": 1}', 422),
    "a text for a number": (b'{"text": "humpty", "lines": "1"}', 422),
    "too many lines": (b'{"text": "humpty", "lines": 9}', 422),
    "not a number": (b'{"text": "humpty", "lines": NaN}', 422),
    "a number of 5,000 digits": (b'{"text": "humpty", "seed": ' + b"9" * 5_000 + b"}", 400),
    "a misspelt name": (b'{"txet": "humpty"}', 422),
    "bytes that are no UTF-8": (b'{"text": "\xff\xfe"}', 400),
    "half a character": (rb'{"text": "\ud800"}', 422),
    "half a character for a name": (rb'{"\ud800": 1}', 422),
    "a word that it doesn't know": ('{"text": "humpty sätt"}'.encode(), 422),
    "brackets without end": (b"[" * 16_000, 400),
}


@pytest.mark.parametrize("content, status", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_refused_and_told(client, content, status):
    found = client.post("/continue", content=content, headers=JSON)
    assert found.status_code == status and len(str(next(iter(found.json().values())))) > 15


def test_an_unknown_word_is_named_with_its_place(client):
    found = client.post("/continue", json={"text": "humpty sat\non the würfel" + "l" * 50}).json()["error"]
    assert found == r"word 5, 'w\xfcrfelllllllllllllll...', is none of the 25 that the model knows"


def test_a_body_without_a_length_and_without_end_is_cut_off(client):
    found = client.post("/continue", content=(b"x" * 1024 for _ in range(100)), headers=JSON)
    assert found.status_code == 413


def test_other_addresses_are_not_there(client):
    assert client.get("/continue").status_code == 405 and client.get("/docs").status_code == 404
    assert client.get("/healthz").json() == {"status": "ok"}


def test_a_client_that_goes_away_costs_nobody_else_an_answer(address, client, model):
    jobs, before = some_jobs(6, 12), counted(client)
    port = int(address.rpartition(":")[2])
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", port)) as rude:
            rude.sendall(b'POST /continue HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{"lines": 8}')
    with socket.create_connection(("127.0.0.1", port)) as silent:  # half a request, and no more
        silent.sendall(b"POST /continue HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n\r\n{")
        found = all_at_once(address, jobs)
    assert [each.json()["lines"] for each in found] == [lines_of(model, job) for job in jobs]
    given_up = time.monotonic() + ENOUGH
    while True:  # until the service has heard that they have gone
        new = {name: count - before[name] for name, count in counted(client).items()}
        if new["answered"] + new["gone"] == new["accepted"] or time.monotonic() > given_up:
            break
    assert new["answered"] + new["gone"] == new["accepted"] <= len(jobs) + 3 and new["failed"] == new["waiting"] == 0


def test_the_page_shows_what_the_service_says(client):
    page = (ROOT / "book" / "serving.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\$ curl localhost:8000(/\w+) --json '(.*)'\n(.*)$", page, re.MULTILINE)
    assert len(shown) == 3
    for path, sent, came in shown:
        assert client.post(path, content=sent.encode(), headers=JSON).text == came


# Too many at once, and the end


def test_overload_is_answered_and_a_signal_loses_nothing(model):
    """A service that takes one text at a time, with room for four."""
    with serving("--most", "1", "--room", "4") as (address, process):
        full = httpx.post(f"{address}/score", json={"text": LONG, "if_too_long": "chunks"}, timeout=ENOUGH)
        assert full.status_code == 503 and int(full.headers["retry-after"]) >= 1 and "too many" in full.json()["error"]
        jobs = some_jobs(7, 40)
        found = all_at_once(address, jobs, after=lambda: process.send_signal(signal.SIGTERM))
        assert process.wait(ENOUGH) == 0
        accepted, answered, failed, gone, _ = counted_at_the_end(process)
    right = [(each, job) for each, job in zip(found, jobs) if not isinstance(each, httpx.TransportError) and each.status_code == 200]
    assert len(right) == answered == accepted >= 1 and failed == gone == 0
    assert all(each.json()["lines"] == lines_of(model, job) for each, job in right)
    others = [each for each in found if not isinstance(each, httpx.TransportError) and each.status_code != 200]
    assert all(each.status_code == 503 for each in others)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_ask_while_the_service_is_told_to_end(model, seed):
    with serving("--most", "4", "--room", str(4 + 10 * seed)) as (address, process):
        jobs = some_jobs(seed, 100)
        found = all_at_once(address, jobs, after=lambda: process.send_signal(signal.SIGTERM))
        assert process.wait(ENOUGH) == 0
        accepted, answered, failed, gone, _ = counted_at_the_end(process)
    right = [(each, job) for each, job in zip(found, jobs) if not isinstance(each, httpx.TransportError) and each.status_code == 200]
    assert len(right) == answered == accepted >= 1 and failed == gone == 0
    assert all(each.json()["lines"] == lines_of(model, job) for each, job in right)
