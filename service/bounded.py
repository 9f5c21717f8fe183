"""How much of a request is read, and for how long: a body is there whole before anybody looks at it."""

from __future__ import annotations

import asyncio

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES, SECONDS = 16 * 1024, 10.0
THROWN_AWAY = 2**20  # bytes above the limit that are still taken off the wire, so that the client comes to read why it is refused


class Bounded:
    """A layer around a service."""

    def __init__(self, app: ASGIApp):
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        try:
            async with asyncio.timeout(SECONDS):
                body = await whole(receive)
        except TimeoutError:
            return await no(408, f"the request was not there whole after {SECONDS:.0f} s")(scope, receive, send)
        if body is None:
            return
        if len(body) > MOST_BYTES:
            return await no(413, f"the request has more than {MOST_BYTES} bytes", limit=MOST_BYTES)(scope, receive, send)
        first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> Message:
            return first.pop() if first else await receive()

        await self._app(scope, again, send)


def no(status: int, why: str, **about: int) -> JSONResponse:
    return JSONResponse({"error": why, **about}, status_code=status, headers={"Connection": "close"})


async def whole(receive: Receive) -> bytes | None:
    """Return the body, or of a body that is too long more than may be; None if the client has gone away."""
    body, more, taken = b"", True, 0
    while more and taken <= MOST_BYTES + THROWN_AWAY:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        piece = message.get("body", b"")
        taken += len(piece)
        body, more = body if len(body) > MOST_BYTES else body + piece, message.get("more_body", False)
    return body
