"""Serve the model on this machine: `make service`, or `python -m service --port 8000`. SIGTERM and Ctrl-C let it finish what it has accepted."""

from __future__ import annotations

import signal
import socket
import sys

import click
import uvicorn
from fastapi import FastAPI

from .app import application
from .batches import Rules

HOST = "127.0.0.1"
IDLE, GRACE = 60, 30  # seconds: of a connection that is not used; for what was accepted, once a signal has come
MOST_CONNECTIONS = 1024
# Seconds that the model's thread may go on while another waits for Python's lock. The rule is 5 ms, as long as an answer takes.
SWITCH = 0.0005


class Server(uvicorn.Server):
    """A server whose line is closed as soon as it has to end."""

    def __init__(self, app: FastAPI):
        self._service = app
        config = uvicorn.Config(app, log_level="warning", access_log=False)
        config.limit_concurrency, config.timeout_keep_alive, config.timeout_graceful_shutdown = MOST_CONNECTIONS, IDLE, GRACE
        super().__init__(config)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._service.state.batcher.close()
        await super().shutdown(sockets)


@click.command(help=__doc__)
@click.option("--port", default=8000, show_default=True, help="0: one that is free.")
@click.option("--most", default=Rules.most, show_default=True, help="Texts in a batch.")
@click.option("--patience", default=Rules.patience, show_default=True, help="Seconds that a text waits for others while the model is idle.")
@click.option("--share", default=Rules.share, show_default=True, help="Share of a batch that may be padding.")
@click.option("--room", default=Rules.room, show_default=True, help="Texts that may wait; whoever comes then is answered with 503.")
def main(port: int, **rules: float) -> None:
    sys.setswitchinterval(SWITCH)
    app = application(Rules(**rules))  # type: ignore[arg-type]
    # The protocol is named because asyncio sends small pieces at once only where it knows that they go by TCP; otherwise an answer may wait 40 ms.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as at:
        at.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        at.bind((HOST, port))
        at.listen(MOST_CONNECTIONS)
        click.echo(f"http://{HOST}:{at.getsockname()[1]}")
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)  # uvicorn passes the signal on when all is done
        Server(app).run(sockets=[at])
    counts = app.state.batcher.counts
    click.echo(
        f"{counts.accepted} accepted: {counts.answered} answered, {counts.failed} failed, {counts.gone} gone; {counts.refused} refused"
    )


if __name__ == "__main__":
    main()
