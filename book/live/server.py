"""What `make serve` answers: the files of the site, a script and a style for its chapters, and for each page that runs a line to its kernel.

Whoever can reach the kernel can do on this machine whatever its user can. So every request must

- name this server as its host (a foreign name that leads here is how DNS rebinding begins),
- come from a page of this server, if it says where it comes from; on the line to the kernel it must say so,
- bring the cookie, which the address with the token gives to the browser that opens it.

A page may load nothing from elsewhere and run no script but its own; what a cell shows is part of the page, and its scripts are not run.

This is tornado and jupyter_client, which a Jupyter server is made of, and not jupyter_server: of its many addresses (files, terminals, sessions)
a page needs one, and what isn't there needs no guard.
"""

from __future__ import annotations

import html
import json
import re
import secrets
from base64 import b64encode
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from tornado.web import Application, HTTPError, RequestHandler, StaticFileHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from .kernels import Kernels, Line
from .outputs import coloured

HOST = "127.0.0.1"
HERE = Path(__file__).parent
MARK = 'class="run-page"'  # what the extension run_page writes into a page that has cells
ADDED = '<link rel="stylesheet" href="/_live/page.css"><script type="module" src="/_live/page.js"></script>'
SCRIPT = re.compile(r"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", re.DOTALL)
HANDLER = re.compile(r'\son[a-z]+="([^"]*)"')
HOP = '<!doctype html><meta http-equiv="refresh" content="0; url={}"><title>Attention by Hand</title>'
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-hashes' {own}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self' data:; connect-src 'self' ws://{host}; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
WITHOUT_COOKIE = "Open the address that `make serve` has printed, with its token: without it this server answers nobody."


class Refused(HTTPError):
    """A request that is not answered, with words for whoever made it by mistake."""

    def __init__(self, why: str):
        super().__init__(403)
        self.why = why


class Guarded(RequestHandler):
    """What every address has in common."""

    def set_default_headers(self) -> None:
        self.set_header("Content-Security-Policy", POLICY.format(own="", host=self.request.host))
        self.set_header("Cross-Origin-Opener-Policy", "same-origin")
        self.set_header("Cross-Origin-Resource-Policy", "same-origin")
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Cache-Control", "no-cache")  # ask each time: the site may have been built anew

    def prepare(self) -> None:
        """Refuse what must not be answered; give the cookie to whoever brings the token."""
        port, token = self.settings["port"], self.settings["token"]
        if self.request.host not in {f"{HOST}:{port}", f"localhost:{port}"}:
            raise Refused("This server has another name.")
        origin = self.request.headers.get("Origin")
        if origin != f"http://{self.request.host}" and (origin is not None or self.must_say_origin()):
            raise Refused("This comes from a page of another server.")
        given = self.get_query_argument("token", None)
        if given is not None:
            self._let_in(given, token)
        elif not same(self.get_cookie(self.settings["cookie"], ""), self.settings["secret"]):
            raise Refused(WITHOUT_COOKIE)

    def must_say_origin(self) -> bool:
        return self.request.method not in {"GET", "HEAD"}

    def _let_in(self, given: str, token: str) -> None:
        if not same(given, token):
            raise Refused(WITHOUT_COOKIE)
        self.set_cookie(self.settings["cookie"], self.settings["secret"], httponly=True, samesite="Strict", path="/")
        # Not a redirect: to one that a link of another program began, a browser would not send a cookie that is this strict.
        self.finish(HOP.format(html.escape("/" + self.request.path.lstrip("/"))))

    def write_error(self, status_code: int, **more: Any) -> None:
        error = more.get("exc_info", (None, None))[1]
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(f"{status_code}: {error.why if isinstance(error, Refused) else self._reason}\n")

    def log_exception(self, kind: Any, value: Any, trace: Any) -> None:
        """Keep the terminal for failures of ours."""
        if not isinstance(value, HTTPError):
            super().log_exception(kind, value, trace)


def same(given: str, wanted: str) -> bool:
    return secrets.compare_digest(given.encode(), wanted.encode())


class Files(Guarded, StaticFileHandler):
    """The files of a folder, and nothing outside it; pages with what runs them."""

    absolute_path: str | None = None  # until it is certain that there is an answer

    async def get(self, path: str, include_body: bool = True) -> None:
        self.path = self.parse_url_path(path)
        file = self.validate_absolute_path(self.root, self.get_absolute_path(self.root, self.path))
        if file is None or not file.endswith(".html"):
            return await super().get(path, include_body)
        self.absolute_path = file
        text, own = page(Path(file), Path(file).stat().st_mtime_ns)
        self.set_header("Content-Security-Policy", POLICY.format(own=own, host=self.request.host))
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.write(text)

    def compute_etag(self) -> str | None:
        """Tell pages apart by what is sent, other files by what is in them."""
        is_page = self.absolute_path is None or self.absolute_path.endswith(".html")
        return RequestHandler.compute_etag(self) if is_page else super().compute_etag()


@lru_cache(maxsize=64)
def page(file: Path, changed: int) -> tuple[str, str]:
    """Return a page as it is sent, and which scripts in it may run: those that the file has."""
    text = file.read_text(encoding="utf-8")
    codes = {*SCRIPT.findall(text), *map(html.unescape, HANDLER.findall(text))}
    own = " ".join(sorted(f"'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'" for code in codes))
    return (text.replace("</head>", f"{ADDED}</head>", 1) if MARK in text else text), own


class NoIcon(Guarded):
    """What a browser asks for on its own where a page names no icon, as the first page that leads to the others."""

    def get(self) -> None:
        self.set_status(204)


class Channel(Guarded, WebSocketHandler):
    """The line between a page and its kernel, which lives as long as the page is open."""

    def must_say_origin(self) -> bool:
        return True

    def check_origin(self, origin: str) -> bool:
        return True  # `prepare` has looked

    def open(self) -> None:
        self.line = Line(self.settings["kernels"], self.say)

    def say(self, **what: Any) -> None:
        """Send something to the page, which may have been left."""
        with suppress(WebSocketClosedError):
            self.write_message(json.dumps(what))

    def on_message(self, message: str | bytes) -> None:
        match json.loads(message):
            case {"colour": str(code)}:
                self.say(coloured=coloured(code))
            case {"run": str(code)}:
                self.line.run(code)
            case {"do": "interrupt"}:
                self.line.interrupt()
            case {"do": "restart"}:
                self.line.restart()

    def on_close(self) -> None:
        self.line.close()


def application(site: Path, port: int, kernels: Kernels) -> Application:
    """Return what answers at a port, with a token of its own."""
    return Application(
        [
            (r"/favicon\.ico", NoIcon),
            (r"/_live/kernel", Channel),
            (r"/_live/(page\.(?:js|css))", Files, {"path": str(HERE)}),
            (r"/(.*)", Files, {"path": str(site), "default_filename": "index.html"}),
        ],
        kernels=kernels,
        port=port,
        token=secrets.token_urlsafe(24),
        secret=secrets.token_urlsafe(24),
        cookie=f"run-page-{port}",  # ports of a machine share their cookies
        static_hash_cache=False,
        websocket_ping_interval=30,
        log_function=lambda handler: None,
    )
