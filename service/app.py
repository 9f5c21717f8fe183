"""The service: what is asked over HTTP, and what comes back for it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, Literal

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field

from .batches import Batcher, Full, Rules
from .bounded import Bounded
from .lengths import Refused, fitting, numbers_of, pieces
from .model import WORDS, Answer, Job, Model

DIGITS = 4  # of a surprise


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ToContinue(Asked):
    """The beginning of a line, which the model goes on with to its end; then it may write more lines."""

    text: str = ""
    lines: int = Field(default=1, ge=1, le=8)
    seed: int = Field(default=0, ge=0, lt=2**32)
    if_too_long: Literal["refuse", "keep the end"] = "refuse"


class ToScore(Asked):
    """Lines whose every word surprises the model more or less. Each is read by itself."""

    text: str = Field(min_length=1)
    if_too_long: Literal["refuse", "keep the end", "chunks"] = "refuse"


class Continued(BaseModel):
    lines: list[str]
    cut: int  # words at the beginning that were not read


class Scored(BaseModel):
    surprise: list[float]  # nats; None of them for words that were cut
    cut: int
    chunks: int


def application(rules: Rules, model: Model | None = None) -> FastAPI:
    """Return the service; `app.state.batcher` is there once it has started."""

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        speaker = model or Model()
        with ThreadPoolExecutor(max_workers=1) as pool:  # the model's own thread, so that others are heard while it works

            async def answer(jobs: list[Job]) -> list[Answer]:
                return await asyncio.get_running_loop().run_in_executor(pool, speaker.answer, jobs)

            app.state.batcher = Batcher(answer, rules)
            working = asyncio.create_task(app.state.batcher.work())
            yield
            app.state.batcher.close()
            await working

    # Pages about the service would fetch scripts from another host; /openapi.json is there.
    app = FastAPI(title="Attention by Hand: a model that speaks", lifespan=lifespan, docs_url=None, redoc_url=None)
    app.add_middleware(Bounded)

    @app.post("/continue")
    async def continue_(asked: ToContinue, request: Request) -> Continued:
        tokens = numbers_of(asked.text)
        read = fitting(tokens, asked.if_too_long)
        (answer,) = await unless_gone(request, app.state.batcher.ask([Job(read, asked.lines, asked.seed)]))
        return Continued(lines=[" ".join(WORDS[each] for each in line) for line in answer.lines], cut=len(tokens) - len(read))

    @app.post("/score")
    async def score(asked: ToScore, request: Request) -> Scored:
        lines = [numbers_of(line) for line in asked.text.splitlines()]
        read = lines if asked.if_too_long == "chunks" else [fitting(line, asked.if_too_long) for line in lines]
        parts = pieces(read)
        answers = await unless_gone(request, app.state.batcher.ask([Job(part) for part, _ in parts]))
        surprise = [round(each, DIGITS) for answer, (_, old) in zip(answers, parts) for each in answer.surprise[old:]]
        return Scored(surprise=surprise, cut=sum(map(len, lines)) - sum(map(len, read)), chunks=len(parts))

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/metrics")
    async def metrics() -> PlainTextResponse:
        found = {**asdict(app.state.batcher.counts), "waiting": app.state.batcher.waiting}
        return PlainTextResponse("".join(f"serving_{name} {value}\n" for name, value in found.items()))

    app.add_exception_handler(Refused, refused)
    app.add_exception_handler(Full, full)
    app.add_exception_handler(RequestValidationError, unreadable)
    app.add_exception_handler(Gone, lambda *_: Response(status_code=499))  # which nobody reads
    return app


class Gone(Exception):
    """Whoever asked doesn't wait for the answer."""


async def unless_gone(request: Request, asked: Coroutine[Any, Any, list[Answer]]) -> list[Answer]:
    """Return what was asked for; if the client goes away before, its places in the line are given back."""
    answer, away = asyncio.ensure_future(asked), asyncio.ensure_future(gone(request))
    try:
        await asyncio.wait({answer, away}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise Gone
        return answer.result()
    finally:
        away.cancel()
        answer.cancel()  # does nothing to what is done


async def gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def refused(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, Refused)
    return JSONResponse({"error": str(problem), **problem.about}, status_code=422)


def full(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, Full)
    return JSONResponse({"error": str(problem)}, status_code=503, headers={"Retry-After": str(problem.seconds)})


def unreadable(_: Request, problem: Exception) -> Response:
    """Say what was wrong where, and repeat nothing of what was sent: it may be anything."""
    assert isinstance(problem, RequestValidationError)
    places = [f"{'.'.join(map(str, each['loc'][1:3]))[:40]}: {each['msg']}" for each in problem.errors()[:3]]
    return JSONResponse({"error": "; ".join(places).encode("ascii", "replace").decode()}, status_code=422)
