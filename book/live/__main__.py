"""Serve the book to this machine alone, with a button that runs the cells of a page: `make serve`, or `python -m book.live --port 8000`."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from tornado.httpserver import HTTPServer

from .kernels import IDLE, Kernels
from .server import HOST, application

BOOK = Path(__file__).parents[1]
SITE = BOOK.parent / "_build" / "html"
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


async def serve(site: Path, port: int, idle: float) -> None:
    """Answer until a signal comes; then end every kernel."""
    line = socket.create_server((HOST, port))
    line.setblocking(False)
    ended = asyncio.Event()
    for number in ENDINGS:
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    with TemporaryDirectory(prefix="book-live-") as folder:  # how to reach the kernels: nobody else may read it
        kernels = Kernels(cwd=BOOK, folder=Path(folder), idle=idle)
        app = application(site, line.getsockname()[1], kernels)
        server = HTTPServer(app)
        server.add_socket(line)
        click.echo(f"http://{HOST}:{app.settings['port']}/?token={app.settings['token']}")
        click.echo("Open this address in a browser of this machine: it is the book, and its cells can be changed and run.")
        click.echo("They run here, with your rights, so keep the address to yourself. Ctrl-C ends all of it.")
        await ended.wait()
        server.stop()
        await kernels.end()
        await server.close_all_connections()


@click.command(help=__doc__)
@click.option("--port", default=0, help="A free one if none is given.")
@click.option("--site", type=click.Path(path_type=Path), default=SITE, help="The folder of the built site.")
@click.option("--idle", default=IDLE, show_default=True, help="Minutes after which a kernel is ended in which nothing runs.")
def main(port: int, site: Path, idle: float) -> None:
    if not (site / "index.html").is_file():
        sys.exit("The site isn't built yet: run `make site` first, then this again.")
    try:
        asyncio.run(serve(site, port, idle))
    except OSError as error:
        sys.exit(f"Port {port} can't be had ({error.strerror}): name another one, `make serve PORT=8001`, or none to get a free one.")


if __name__ == "__main__":
    main()
