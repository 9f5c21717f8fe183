"""`make serve`: a page's cells run, changed or not, in a kernel of the page's own; nobody else is answered, and nothing stays behind."""

import asyncio
import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx
import psutil
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.websocket import websocket_connect

from book.live import kernels
from book.live.__main__ import main
from book.live.server import ADDED, HOST, application
from tests.site.site_layout import ROOT, WIDTHS, page_names
from tests.site.test_pages import ALLOWED
from tests.site.visits import LOOK, OPTIONS, SETTLED

pytestmark = pytest.mark.browser

ENOUGH = 60.0  # seconds, after which a test gives up; nothing is asserted of how long anything takes
CHAPTER = "book/attention"  # the shortest one; it does not import torch
SERVE = [sys.executable, "-m", "book.live"]
OVER = re.compile("^(?!running$|waiting$)")
# Everything that a reader sees of the text, but for what `make serve` adds or takes the place of.
TEXT = """() => [...document.querySelector('.bd-article section').querySelectorAll('h1, h2, h3, p, pre, li, td, figcaption')]
    .filter(node => !node.closest('.run-bar, .run-page') && node.checkVisibility()).map(node => [node.tagName, node.innerText, node.offsetHeight])"""

# How letters lie in a field, and in the text below it.
SAME = """frame => [frame.querySelector('textarea'), frame.querySelector('pre')].map(node => {
    const style = getComputedStyle(node);
    return [node.scrollWidth, node.scrollHeight, node.clientWidth, node.clientHeight, node.offsetLeft, node.offsetTop,
        ...['font', 'lineHeight', 'letterSpacing', 'wordSpacing', 'tabSize', 'padding', 'border', 'whiteSpace', 'textIndent'].map(name => style[name])];
})"""

# The theme looks a while after the width has changed which tables scroll, and lets the keyboard reach these.
REACHED = """() => [...document.querySelectorAll('.pst-scrollable-table-container')]
    .every(node => node.scrollWidth <= node.clientWidth || node.tabIndex === 0)"""


@contextlib.contextmanager
def serving(*options: str):
    """Run the server in a process of its own; yield its address, the token and the process."""
    with subprocess.Popen([*SERVE, *options], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            address, _, token = process.stdout.readline().strip().partition("/?token=")
            process.stdout.readline(), process.stdout.readline()
            yield address, token, process
        finally:
            process.kill()


def ended(process: subprocess.Popen, number: signal.Signals) -> str:
    """End a server that has said nothing since it began; return what it says then."""
    process.send_signal(number)
    assert process.wait(ENOUGH) == 0
    return process.stdout.read()


@pytest.fixture(scope="module")
def server(site):
    with serving() as (address, token, process):
        yield address, token
        everything = psutil.Process(process.pid).children(recursive=True)
        assert ended(process, signal.SIGINT) == ""
        assert all(not each.is_running() for each in everything)


@pytest.fixture(scope="module")
def opened(browser, server):
    """One page for most of the tests: to load it costs more than what they do with it. The address came with the token."""
    address, token = server
    with contextlib.closing(browser.new_context(viewport={"width": WIDTHS["desk"], "height": 900})) as context:
        reader = Reader(context.new_page(), address)
        reader.page.goto(f"{address}/{CHAPTER}.html?token={token}")
        reader.page.wait_for_url(f"{address}/{CHAPTER}.html")
        yield reader


@pytest.fixture
def reader(opened):
    """That page as it was loaded, but for the names that are defined; nothing has run since its first cell was changed."""
    opened.write(0, "")
    opened.button("Reset all")
    opened.console.clear()
    return opened


@pytest.fixture
def tab(opened):
    """Another tab of that browser."""
    with contextlib.closing(opened.page.context.new_page()) as page:
        yield Reader(page, opened.address)


class Reader:
    """Somebody with a page, and what the browser complains of."""

    def __init__(self, page, address: str):
        self.page, self.address = page, address
        self.console, self.foreign = [], []
        page.on("console", lambda message: self.console.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.console.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith((address, "data:")) else self.foreign.append(request.url))

    def open(self, name: str = CHAPTER):
        self.page.goto(f"{self.address}/{name}.html")
        return self

    def cell(self, number: int):
        return self.page.locator(".run-cell").nth(number)

    def write(self, number: int, code: str):
        self.cell(number).locator("textarea").fill(code)

    def press(self, number: int):
        self.cell(number).locator(".run-bar button").first.click()

    def run(self, number: int, code: str | None = None) -> str:
        """Run a cell, and return what stands below it then."""
        if code is not None:
            self.write(number, code)
        self.press(number)
        expect(self.cell(number).locator(".run-bar span")).to_have_text(OVER, timeout=1000 * ENOUGH)
        return self.shown(number)

    def shown(self, number: int) -> str:
        return self.cell(number).locator(".cell_output").inner_text().strip()

    def state(self, number: int):
        return expect(self.cell(number).locator(".run-bar span"))

    @property
    def status(self):
        return expect(self.page.locator(".run-page-bar [role=status]"))

    def button(self, name: str):
        self.page.locator(".run-page-bar").get_by_role("button", name=name).click()


# --- what a reader sees ---


def test_a_page_that_nobody_has_touched_shows_what_its_file_shows(reader, browser, address):
    """The same text at the same width, nothing pressed; the line that says how to run it has made room for the buttons."""
    plain = browser.new_page(viewport={"width": WIDTHS["desk"], "height": 900})
    plain.goto(f"{address}/{CHAPTER}.html")
    texts = plain.evaluate(TEXT)
    plain.close()
    assert len(texts) > 50 and reader.page.evaluate(TEXT) == texts
    assert reader.page.locator(".run-page").count() == 0 and reader.cell(0).locator("button", has_text="Run").is_visible()
    assert (reader.console, reader.foreign) == ([], [])


def test_all_cells_in_order_give_what_the_page_has(reader):
    """Text and pictures, in the figures with their captions."""
    page = reader.page
    printed = [each.inner_text() for each in page.locator(".run-cell .cell_output").all()]
    pictures = page.locator(".run-cell .cell_output img").count()
    reader.button("Run all")
    reader.status.to_have_text(re.compile(r"^Cell \d+ is done\.$"), timeout=1000 * ENOUGH)
    reader.state(len(printed) - 1).to_have_text(re.compile("^done"), timeout=1000 * ENOUGH)
    assert [each.inner_text() for each in page.locator(".run-cell .cell_output").all()] == printed
    drawn = page.locator(".run-picture")
    assert drawn.count() == pictures > 0
    assert all(
        each.evaluate("image => image.naturalWidth > 0 && image.alt.length > 20 && image.closest('figure').id") for each in drawn.all()
    )
    for number, theme in enumerate(("light", "dark")):
        width = list(WIDTHS.values())[number]
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme)
        page.wait_for_function(SETTLED, arg=theme)
        page.wait_for_function(REACHED)
        assert page.evaluate(LOOK)["overflow"] == 0
        found = Axe().run(page, options=OPTIONS).response["violations"]
        assert [(rule["id"], rule["nodes"][0]["failureSummary"]) for rule in found if rule["id"] not in ALLOWED] == []
    reader.button("Reset all")
    assert page.locator(".run-picture").count() == 0
    assert [each.inner_text() for each in page.locator(".run-cell .cell_output").all()] == printed
    assert (reader.console, reader.foreign) == ([], [])


def test_a_changed_cell_runs_as_it_stands_keeps_its_colours_and_comes_back(reader):
    pre, printed = reader.cell(0).locator("pre").first, reader.shown(0)
    before = pre.inner_html()
    assert reader.run(0, "def twice(x):\n    return 2 * x  # so\n\ntwice(21)") == "42"
    assert [each.inner_text() for each in pre.locator(".k, .nf, .c1").all()] == ["def", "twice", "return", "# so"]
    reader.cell(0).get_by_role("button", name="Reset").click()
    assert (pre.inner_html(), reader.shown(0)) == (before, printed)
    assert reader.page.evaluate("document.activeElement.textContent") == "Run"


def test_what_is_typed_shows_at_once_and_lines_are_indented(reader):
    """The letters that are typed lie on those that are seen, also at the end of a line that is too long for the page."""
    field = reader.cell(0).locator("textarea")
    for code in (field.input_value(), "x = 1  # " + "far away " * 40 + "\n\t1"):
        field.fill(code)
        of_field, of_text = reader.cell(0).locator(".run-code").evaluate(SAME)
        assert of_field == of_text
    field.press("ArrowUp")
    field.press("End")
    field.press_sequentially("!")
    assert reader.cell(0).locator(".run-code").evaluate("frame => frame.scrollLeft > frame.clientWidth")
    reader.write(0, "")
    field.press_sequentially("for n in range(2):\nprint(n, end=' ')")
    expect(reader.cell(0).locator("pre .k")).to_have_text("for")  # its colours have come
    assert reader.cell(0).locator("pre").first.text_content() == field.input_value() + "\n" == "for n in range(2):\n    print(n, end=' ')\n"
    field.press("Control+Enter")
    reader.state(0).to_have_text(re.compile("^done"), timeout=1000 * ENOUGH)
    assert reader.cell(0).locator(".run-output").inner_text().strip() == "0 1"
    field.press("Control+z")
    assert field.input_value() != "for n in range(2):\n    print(n, end=' ')"


def test_an_error_has_its_name_its_line_and_the_colours_of_a_terminal(reader):
    shown = reader.run(0, "def half(n):\n    return n / 0\n\nhalf(4)")
    assert "ZeroDivisionError: division by zero" in shown and "line 2, in half(n)" in shown and "----> 2     return n / 0" in shown
    assert reader.cell(0).locator(".ansi-red-fg", has_text="ZeroDivisionError").count() == 2
    reader.status.to_have_text("Cell 1 stopped: ZeroDivisionError: division by zero.")
    assert reader.run(1) == reader.shown(1)
    reader.status.to_have_text(re.compile("^Cell 1 stopped"))  # what is above it has still not run


def test_cells_above_run_first_once_and_again_when_they_are_changed(reader):
    for number, code in enumerate(["log = ['a']", "log.append('b')", "print(*log)"]):
        reader.write(number, code)
    assert reader.run(2) == "a b"
    assert reader.run(2) == "a b"
    reader.write(0, "log = ['c']")
    assert reader.run(2) == "c b"


def test_output_comes_while_a_cell_runs_which_can_be_interrupted_and_goes_on(reader):
    reader.run(0, "kept = 7\nimport sys\nsys.stdout.flush_interval = 3600")  # as the chapters' style does
    reader.write(1, "print('begun')\nwhile True: pass")
    reader.press(1)
    expect(reader.cell(1).locator(".run-output")).to_have_text("begun\n", timeout=1000 * ENOUGH)
    reader.press(1)  # the button of a cell that runs interrupts it
    reader.state(1).to_have_text("interrupted", timeout=1000 * ENOUGH)
    assert "KeyboardInterrupt" in reader.shown(1)
    assert reader.run(1, "kept") == "7"
    reader.button("Interrupt")
    reader.status.to_have_text("Nothing is running.")


def test_a_loop_that_prints_for_ever_is_cut_and_can_be_interrupted(reader):
    reader.write(0, "while True: print('x' * 1000)")
    reader.press(0)
    expect(reader.cell(0).locator(".cell_output")).to_contain_text("there is more, which is not shown", timeout=1000 * ENOUGH)
    reader.button("Interrupt")
    reader.state(0).to_have_text("interrupted", timeout=1000 * ENOUGH)
    assert "KeyboardInterrupt" in reader.shown(0)


def test_restart_forgets_names_and_ends_what_runs(reader):
    reader.run(0, "name = 1")
    reader.write(1, "import time; time.sleep(1000)")
    reader.press(1)
    reader.state(1).to_have_text("running")
    reader.button("Restart")
    reader.status.to_have_text("Restarted: nothing is defined any more.", timeout=1000 * ENOUGH)
    assert "NameError: name 'name' is not defined" in reader.run(0, "name")


def test_python_that_dies_is_told_and_starts_again(reader):
    reader.run(0, "import os; os._exit(1)")
    reader.status.to_have_text(re.compile("^Cell 1 ended Python itself"))
    assert reader.run(0, "6 * 7") == "42"


def test_two_tabs_share_no_names_and_one_that_is_left_takes_its_processes_along(reader, tab):
    reader.run(0, "name = 1")
    assert "NameError" in tab.open().run(0, "name")
    ids = [int(tab.run(0, f"import os, subprocess\n{code}")) for code in ("os.getpid()", "subprocess.Popen(['sleep', '1000']).pid")]
    assert all(psutil.pid_exists(each) for each in ids)
    tab.page.goto("about:blank")
    gone(ids)
    assert reader.run(1, "name") == "1"


def test_html_is_shown_and_its_scripts_are_not_run(reader):
    code = """from IPython.display import HTML, display
display(HTML("<table><tr><td>cell</td></tr></table><img src=data:, onerror='document.title=1'><script>document.title = 2</script>"))
display(HTML("<img src=http://127.0.0.1:9/x.png>"))"""
    assert reader.run(0, code) == "cell"
    assert reader.page.title() not in {"1", "2"} and reader.cell(0).locator(".cell_output td").count() == 1
    reader.page.wait_for_function("() => [...document.querySelectorAll('.run-output img')].every(image => image.complete)")
    assert len(reader.console) == 2 and all("Content Security Policy" in each for each in reader.console)


@pytest.mark.parametrize("name", ["search", "book/softmax"])
def test_pages_work_under_the_rules_that_they_are_served_with(tab, name):
    tab.open(name).page.wait_for_load_state()
    assert (tab.console, tab.foreign) == ([], [])
    assert (tab.page.locator(".run-bar").count() > 0) == (name == "book/softmax")


# --- where nothing is served by us ---


def test_a_static_page_says_how(browser, address):
    page = browser.new_page()
    page.goto(f"{address}/{CHAPTER}.html")
    words = page.locator("details.run-page p")
    assert not words.is_visible()
    page.get_by_text("Run this page").click()
    assert "make serve" in words.inner_text()
    assert httpx.head(page.locator("details.run-page a").evaluate("link => link.href")).status_code == 200
    page.close()


def test_without_scripts_there_is_no_button(browser, address):
    with contextlib.closing(browser.new_context(java_script_enabled=False)) as context:
        page = context.new_page()
        page.goto(f"{address}/{CHAPTER}.html")
        assert page.locator(".run-page").count() == 1 and not page.locator(".run-page").is_visible()
        assert page.locator(".bd-article h1").is_visible()


# --- who is answered ---


@pytest.fixture(scope="module")
def client(server):
    """A browser that has the cookie."""
    address, token = server
    with httpx.Client(base_url=address) as client:
        assert client.get("/", params={"token": token}).status_code == 200
        yield client


def test_every_page_is_its_file_and_chapters_have_one_line_more(client, site):
    """And what the server has done since it began has changed no file."""
    for name in page_names():
        served, file = client.get(f"/{name}.html").text, (site / f"{name}.html").read_text(encoding="utf-8")
        assert "/_live/" not in file
        runs = '<div class="cell_input' in file and name.startswith("book/")
        assert served == (file.replace("</head>", f"{ADDED}</head>", 1) if runs else file), name


def test_the_token_gives_a_cookie_for_this_browser_alone(server):
    address, token = server
    with httpx.Client(base_url=address) as client:
        entered = client.get("/book/map.html", params={"token": token})
        assert 'url=/book/map.html"' in entered.text and token not in entered.text
        cookie = entered.headers["Set-Cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and token not in cookie
    with asked(address, f"//evil.example?token={token}") as answer:
        assert b'url=/evil.example"' in answer.read()  # a path, not a host


@pytest.mark.parametrize("path", ["/", "/book/attention.html", "/_live/page.js", "/nowhere"])
@pytest.mark.parametrize("query", ["", "?token=", "?token=wrong"])
def test_without_the_token_nothing_is_answered(server, path, query):
    answer = httpx.get(f"{server[0]}{path}{query}")
    assert answer.status_code == 403 and "make serve" in answer.text and "Set-Cookie" not in answer.headers


def test_a_foreign_name_for_this_machine_is_refused(client):
    port = client.base_url.port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", "localhost:1", ""):
        assert client.get("/book/map.html", headers={"Host": host}).status_code in {400, 403}, host
    assert client.get("/book/map.html", headers={"Host": f"127.0.0.1:{port}"}).status_code == 200


def test_pages_of_others_are_refused_and_may_read_nothing(client):
    for origin in (
        "http://evil.example",
        "null",
        f"http://127.0.0.1:{client.base_url.port + 1}",
        f"https://127.0.0.1:{client.base_url.port}",
    ):
        for method in ("GET", "POST", "OPTIONS"):
            answer = client.request(method, "/book/map.html", headers={"Origin": origin})
            assert answer.status_code == 403 and not any("access-control" in name for name in answer.headers)
    assert client.post("/book/map.html").status_code == 403
    assert client.post("/book/map.html", headers={"Origin": str(client.base_url).rstrip("/")}).status_code == 405


@pytest.mark.parametrize("change", [{"Origin": None}, {"Origin": "http://evil.example"}, {"Cookie": ""}, {"Host": "evil.example"}])
def test_the_line_to_a_kernel_is_for_our_pages_alone(client, change):
    with pytest.raises(HTTPClientError) as refused:
        spoken(client, [], change)
    assert refused.value.code == 403


def alone(work):
    """Return what some work returns, done in a thread: in this one Playwright's loop runs."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def spoken(client, orders: list[dict], change: dict | None = None, until: str = "done") -> list[dict]:
    """Say something on a line of its own, and return what comes back; each order is answered before the next."""
    return alone(_spoken(client, orders, change or {}, until))


async def _spoken(client, orders: list[dict], change: dict, until: str) -> list[dict]:
    origin = str(client.base_url).rstrip("/")
    cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    headers = {"Origin": origin, "Cookie": cookie, **change}
    request = HTTPRequest(f"{origin.replace('http', 'ws')}/_live/kernel", headers={k: v for k, v in headers.items() if v is not None})
    line, heard = await websocket_connect(request), []
    for order in orders:
        await line.write_message(json.dumps(order))
        while not heard or until not in heard[-1]:
            heard.append(json.loads(await asyncio.wait_for(line.read_message(), ENOUGH)))
    line.close()
    while await asyncio.wait_for(line.read_message(), ENOUGH) is not None:
        pass
    return heard


@contextlib.contextmanager
def asked(address: str, path: str, cookie: str = ""):
    """Ask for a path as it is, which every library would tidy first; yield what is answered, to be read."""
    place = urlsplit(address)
    with socket.create_connection((place.hostname, place.port)) as line:
        line.sendall(f"GET {path} HTTP/1.1\r\nHost: {place.netloc}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n".encode())
        with line.makefile("rb") as answer:
            yield answer


def raw(address: str, path: str, cookie: str) -> int:
    with asked(address, path, cookie) as answer:
        return int(answer.readline().split()[1])


@pytest.mark.parametrize("prefix", ["/", "/book/", "/_live/"])
@pytest.mark.parametrize("way", ["../", "..%2f", "%2e%2e/", "%2e%2e%2f", "..\\", "./../"])
def test_no_path_leads_out_of_the_site(client, prefix, way):
    cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    address = str(client.base_url).rstrip("/")
    for depth in range(1, 6):
        assert raw(address, f"{prefix}{way * depth}pyproject.toml", cookie) in {403, 404}
    assert raw(address, "/book/../book/map.html", cookie) in {200, 403}
    assert raw(address, "//etc/passwd", cookie) in {403, 404} and raw(address, "/%2fetc/passwd", cookie) in {403, 404}


def test_a_link_does_not_lead_out_of_the_site_either(tmp_path):
    (tmp_path / "index.html").write_text("<head></head>a site")
    for name in ("out.txt", "out.html"):
        (tmp_path / name).symlink_to(ROOT / "pyproject.toml")

    async def ask() -> list[int]:
        (line,) = bind_sockets(0, HOST)
        port = line.getsockname()[1]
        app = application(tmp_path, port, kernels.Kernels(tmp_path, tmp_path))
        server = HTTPServer(app)
        server.add_sockets([line])
        cookies = {app.settings["cookie"]: app.settings["secret"]}
        async with httpx.AsyncClient(base_url=f"http://{HOST}:{port}", cookies=cookies) as client:
            codes = [(await client.get(path)).status_code for path in ("/", "/out.txt", "/out.html")]
        server.stop()
        await server.close_all_connections()
        return codes

    assert alone(ask()) == [200, 403, 403]


# --- what is left behind ---


def gone(ids: list[int]) -> None:
    until = time.monotonic() + ENOUGH
    while any(psutil.pid_exists(each) and psutil.Process(each).status() != psutil.STATUS_ZOMBIE for each in ids):
        assert time.monotonic() < until, "processes are left"
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_end_of_the_server_leaves_nothing(tmp_path, monkeypatch, number):
    """Also in the middle of a loop; where it is killed itself, its kernel notices. Nothing of it stays on the disk."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with serving() as (address, token, process), httpx.Client(base_url=address) as client:
        client.get("/", params={"token": token})
        endless = {"run": "import os\nprint(os.getpid(), flush=True)\nwhile True: pass"}
        (said,) = spoken(client, [endless], until="output")
        assert len(list(tmp_path.rglob("*.json"))) == 1
        if number is signal.SIGKILL:
            process.kill()
        else:
            assert ended(process, number) == "" and list(tmp_path.iterdir()) == []
        gone([int(said["output"]["html"])])


def test_a_page_that_runs_nothing_for_long_has_no_kernel(tmp_path):
    async def wait() -> list[dict]:
        heard, over = [], asyncio.Event()
        all_of_them = kernels.Kernels(tmp_path, tmp_path, idle=0.001)
        line = kernels.Line(all_of_them, lambda **what: (heard.append(what), over.set() if "forgotten" in what else None))
        line.run("import os; os.getpid()")
        await asyncio.wait_for(over.wait(), ENOUGH)
        await all_of_them.end()
        return heard

    shown, done, forgotten = alone(wait())
    assert done["done"]["status"] == "ok" and forgotten == {"forgotten": "idle"}
    gone([int(shown["output"]["html"])])


def test_there_are_so_many_kernels_and_no_more(tmp_path):
    """Without starting any: what counts is whether a page has one."""

    async def fill():
        all_of_them = kernels.Kernels(tmp_path, tmp_path)
        first, *_ = [all_of_them.new() for _ in range(kernels.MOST)]
        with pytest.raises(kernels.Full):
            all_of_them.new()
        await all_of_them.drop(first)
        all_of_them.new()

    alone(fill())


def test_no_site_yet_is_told(tmp_path):
    with pytest.raises(SystemExit, match="run `make site` first"):
        main(["--site", str(tmp_path)], standalone_mode=False)


def test_a_port_that_is_taken_is_told(server):
    port = server[0].rpartition(":")[2]
    with ThreadPoolExecutor(1) as pool, pytest.raises(SystemExit, match=f"^Port {port} can't be had .*PORT="):
        pool.submit(main, ["--port", port], standalone_mode=False).result()
