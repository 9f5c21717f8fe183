"""The built site, served as a static host would serve it, for the `browser` of tests/conftest.py."""

import functools
import http.server
import threading
from pathlib import Path

import pytest

from tests.site.site_layout import SITE


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serve files without a line in the terminal for each."""

    def log_message(self, *args):
        """Say nothing."""


@pytest.fixture(scope="session")
def site() -> Path:
    """Return the folder of the built site."""
    if not (SITE / "index.html").exists():
        pytest.fail("the site isn't built: run `make site` first", pytrace=False)
    return SITE


@pytest.fixture(scope="session")
def address(site):
    """Serve the site on a free port of this machine and return its address."""
    handler = functools.partial(QuietHandler, directory=site)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
