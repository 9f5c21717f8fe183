"""The figures that a reader can move: driven by keyboard, they show what PyTorch gives; without scripts and on paper, the picture stays."""

import csv
import json
import random
import re
from contextlib import contextmanager
from functools import cache, partial

import explorables
import pytest
import torch
import torch.nn.functional as F
from axe_playwright_python.sync_playwright import Axe

from tests.site.site_layout import ROOT, WIDTHS
from tests.site.visits import OPTIONS

pytestmark = pytest.mark.browser

BOOK = ROOT / "book"
USED = re.compile(r"^`{3,}\{explorable\} (\w+)\n:figure: ([\w-]+)(?:\n:page: (\w+))?$", re.MULTILINE)
# Every place of an explorable: its name, its page, the figure, and the page that this is borrowed from, if it is.
PLACES = [(name, page.stem, *more) for page in sorted(BOOK.glob("*.md")) for name, *more in USED.findall(page.read_text(encoding="utf-8"))]
CHAPTERS = {name: (page, figure) for name, page, figure, borrowed in PLACES if not borrowed}
LANDING = "intro"
WORDS = ["humpty", "dumpty", "sat", "on"]
STATES = 15
ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]

FOCUSED = """root => {
    const node = document.activeElement, label = node.labels?.[0];
    const own = label && [...label.childNodes].filter(each => each.nodeType === Node.TEXT_NODE).map(each => each.data).join('').trim();
    return root.contains(node) ? node.getAttribute('aria-label') || label?.querySelector('span')?.textContent || own : null;
}"""
CONTROLS = """root => {
    const handles = [...root.querySelectorAll('[role=slider]')].map(node => [node.getAttribute('aria-label'), node.getAttribute('aria-valuetext')]);
    const sliders = [...root.querySelectorAll('input[type=range]')].map(node => [node.labels[0].querySelector('span').textContent, node.getAttribute('aria-valuetext')]);
    const selects = [...root.querySelectorAll('select')].map(node => [node.labels[0].firstChild.data.trim(), node.selectedOptions[0].textContent]);
    const ticks = [...root.querySelectorAll('input[type=checkbox]')]
        .map(node => [node.getAttribute('aria-label') || node.labels[0].textContent.trim(), node.checked]);
    return Object.fromEntries([...handles, ...sliders, ...selects, ...ticks]);
}"""
FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
TABLE = "root => [...root.querySelectorAll('tbody tr')].map(row => [...row.querySelectorAll('td')].map(cell => cell.textContent))"


def number(text: str) -> float:
    """Return a number as it is shown: with a minus, and an infinity, of type."""
    return float(text.replace("−", "-").replace("∞", "inf"))


def agrees(text: str, exact) -> bool:
    """Say whether a number is right in every digit that is shown."""
    exact = float(exact)
    digits = len(text.partition(".")[2])
    return number(text) == exact or abs(number(text) - exact) <= 0.5 * 10**-digits + 1e-9


def all_agree(texts, exact) -> bool:
    """Say whether all of some numbers are right, and all are there."""
    exact = [float(each) for each in exact.flatten()] if isinstance(exact, torch.Tensor) else list(exact)
    return len(texts) == len(exact) and all(map(agrees, texts, exact))


class Figure:
    """One explorable in an open page, and the hands of a reader who has only a keyboard."""

    def __init__(self, page, address: str, name: str, place: tuple[str, str] | None = None):
        self.name, (chapter, figure) = name, place or CHAPTERS[name]
        self.page, self.root = page, page.locator(f"explore-{name}")
        page.goto(f"{address}/book/{chapter}.html#{figure}")  # from there the next Tab leads into it
        self.order = []
        while (focused := self.next()) is not None:
            assert focused, "something without a name has the focus"
            self.order.append(focused)
        self.page.keyboard.press("Shift+Tab")
        self.here = len(self.order) - 1

    def next(self) -> str | None:
        self.page.keyboard.press("Tab")
        return self.root.evaluate(FOCUSED)

    def go_to(self, name: str) -> None:
        to = self.order.index(name)
        for _ in range(abs(to - self.here)):
            self.page.keyboard.press("Tab" if to > self.here else "Shift+Tab")
        self.here = to
        assert self.root.evaluate(FOCUSED) == name

    def press(self, chance: random.Random) -> None:
        """Go to some control and do something with it."""
        self.go_to(chance.choice(self.order))
        kind = self.page.evaluate("document.activeElement.type")
        keys = ["Space"] if kind == "checkbox" else [chance.choice(ARROWS)] * chance.randint(1, 7)
        for key in keys:
            self.page.keyboard.press(key)

    @property
    def state(self) -> dict:
        return self.root.evaluate(CONTROLS)

    @property
    def said(self) -> str:
        return self.root.locator(".explorable-said").inner_text()

    @property
    def table(self) -> list[list[str]]:
        return self.root.evaluate(TABLE)

    def texts(self, selector: str) -> list[str]:
        return self.root.locator(selector).all_text_contents()


def hull(figure: Figure) -> None:
    state = figure.state
    points = torch.tensor([[number(each) for each in state[word][1:-1].split(", ")] for word in [*WORDS, "query"]], dtype=torch.float64)
    x, query = points[:4], points[4:]
    mask = torch.tensor([[state[f"the query may look at {word}"] for word in WORDS]])
    attend = {"attn_mask": mask, "scale": 1 / number(state["temperature"])}
    output = F.scaled_dot_product_attention(query, x, x, **attend)[0]
    weights = F.scaled_dot_product_attention(query, x, torch.eye(4, dtype=torch.float64), **attend)
    _, scores, shown_weights = figure.table
    assert all_agree(scores, (query @ x.T).masked_fill(~mask, -torch.inf))
    assert all_agree(shown_weights, weights)
    assert all_agree(re.search(r"\((.*?)\)", figure.said)[1].split(", "), output)
    assert [word for word in WORDS if word in figure.said] == [word for word, seen in zip(WORDS, mask[0]) if seen]
    assert ("zeros" in figure.said) == (not mask.any())


def split(figure: Figure) -> None:
    state, heads = figure.state, int(figure.state["heads"])
    rows, wide = torch.arange(32).view(4, 8), 8 // int(figure.state["heads"])
    cut = rows.reshape(4, heads, wide).transpose(0, 1) if state["the split swaps the axes"] else rows.reshape(heads, 4, wide)
    joined = (cut.transpose(0, 1) if state["the merge swaps them back"] else cut).reshape(4, 8)
    assert list(map(int, figure.texts(".explorable-cell text"))) == torch.cat([each.flatten() for each in (rows, cut, joined)]).tolist()
    followed, owner = re.fullmatch(r"(\d+), of (\w+)", state["number to follow"]).groups()
    places = [(table == int(followed)).nonzero()[0].tolist() for table in (rows, cut, joined)]
    assert [json.loads(each) for each in re.findall(r"\[.*?\]", figure.said)] == places
    assert owner == WORDS[places[0][0]] and ("not its own" in figure.said) == (places[2] != places[0])
    seen = set((cut[places[1][0]] // 8).flatten().tolist())
    assert [word for word in WORDS if re.search(rf"\b{word}\b", figure.said)] == [WORDS[each] for each in sorted(seen)]
    assert ("hidden" in figure.said) == (len(seen) < 4)


def clocks(figure: Figure) -> None:
    position, offset, back = (int(number(figure.state[name])) for name in ("query at", "offset of key", "turned back by"))
    frequencies = 10_000.0 ** (-torch.arange(0, 64, 2, dtype=torch.float64) / 64)

    def vector(place):
        return torch.stack([torch.sin(place * frequencies), torch.cos(place * frequencies)], dim=-1)

    angle = -back * frequencies
    turn = torch.stack([torch.cos(angle), -torch.sin(angle), torch.sin(angle), torch.cos(angle)], dim=-1).view(32, 2, 2)
    query, key = (vector(position)[:, None] @ turn)[:, 0], vector(position + offset)
    parts = (query * key).sum(dim=-1)
    dials = figure.root.locator("g:has(> .explorable-dial) > text").all_text_contents()
    assert all_agree(dials, parts[::4])
    assert agrees(re.search(r"dot product is (\S+) of 32", figure.said)[1], parts.sum())
    assert [int(each) for each in re.findall(r"\bat (\d+)", figure.said)] == [position, position + offset]
    hands = [re.fullmatch(r"M0 0L(\S+) (\S+)", each.get_attribute("d")).groups() for each in figure.root.locator(".explorable-hand").all()]
    tips = torch.tensor([[float(across), -float(up)] for across, up in hands]).view(8, 2, 2)
    for which, vectors in enumerate((query, key)):
        drawn = tips[:, which] / tips[:, which].norm(dim=-1, keepdim=True)
        assert torch.allclose(drawn.double(), vectors[::4], atol=0.01)


def blocks(figure: Figure) -> None:
    words, values = ["humpty", "dumpty", "sat", "on", "a", "wall"], torch.tensor([6, 0, 10, 2, 4, 8], dtype=torch.float64)
    state = figure.state
    scores = torch.tensor([number(state[f"score of {word}"]) for word in words], dtype=torch.float64)
    size, read = int(state["words in a block"]), int(state["blocks read"])
    forgets_sum, forgets_values = state["forget to rescale"] in ("the sum", "both"), state["forget to rescale"] in ("the values", "both")
    highest, total, summed, shrink = torch.tensor(-torch.inf), torch.tensor(0.0), torch.tensor(0.0), torch.tensor(1.0)
    for block, value in list(zip(scores.split(size), values.split(size)))[:read]:
        before, highest = highest, torch.maximum(highest, block.max())
        shrink, powers = torch.exp(before - highest), torch.exp(block - highest)
        total = total * (1 if forgets_sum else shrink) + powers.sum()
        summed = summed * (1 if forgets_values else shrink) + powers @ value
    kept, whole = figure.table
    if not read:
        assert kept == whole == ["−∞", "0.000", "0.000", "none"] and "Nothing" in figure.said
        return
    assert all_agree(kept, [highest, total, summed, summed / total])
    here, there = scores[: read * size], values[: read * size]
    top, weights = here.max(), torch.softmax(here, dim=0)
    powers = torch.exp(here - top)
    assert all_agree(whole, [top, powers.sum(), powers @ there, weights @ there])
    if "rises" in figure.said:
        assert read > 1 and shrink < 1
        assert all_agree(re.search(r"from (\S+) to (\S+): .* by (\S+)\.", figure.said).groups(), [before, highest, shrink])
    else:
        assert read == 1 or shrink == 1
    assert agrees(re.search(r"average is ([\d.]+)[,.]", figure.said)[1], summed / total)
    right = re.search(r"softmax says ([\d.]+)\.", figure.said)
    assert agrees(right[1], weights @ there) if right else torch.isclose(summed / total, weights @ there, atol=6e-4)


MEASURED = list(csv.DictReader((BOOK / "measured" / "scaling.csv").read_text(encoding="utf-8").splitlines()[1:]))
CONTESTS = {
    "by heart, with Adam": ("heart", "adam"),
    "by heart, plain descent": ("heart", "descent"),
    "a rule, with Adam": ("rule", "adam"),
}


def scaling_map(figure: Figure) -> None:
    """These numbers PyTorch gave when the table was measured."""
    state = figure.state
    task, optimiser = CONTESTS[state["to learn"]]
    start = {"1": "unit", "1/3": "linear"}[state["variance at the start"]]
    rows = [row for row in MEASURED if (row["task"], row["optimiser"], row["start"]) == (task, optimiser, start)]
    arms = [[row for row in rows if row["arm"] == arm] for arm in ("undivided", "divided")]
    ordered = [sorted(arm, key=lambda row: (int(row["keys"]), int(row["d_k"]))) for arm in arms]
    assert all_agree(figure.texts(".explorable-shade text"), [100 * float(row["right"]) for arm in ordered for row in arm])
    keys, width = re.fullmatch(r"(\d+) keys of width (\d+)", state["model"]).groups()
    pair = [next(row for row in arm if (row["keys"], row["d_k"]) == (keys, width)) for arm in arms]
    columns = {"right": 100, "spread": 1, "highest": 1, "bits": 1, "slope": 1}
    assert all_agree(sum(figure.table, []), [factor * float(row[name]) for name, factor in columns.items() for row in pair])
    said = [int(each) for each in re.findall(r"\d+", figure.said)]
    undivided, divided = (int(text) for text in figure.table[0])
    assert said == [int(keys), int(width), *([undivided, divided, abs(divided - undivided)] if divided != undivided else [undivided])]
    assert ("wins" in figure.said, "loses" in figure.said) == (divided > undivided, divided < undivided)


COMPARED = {"hull": hull, "split": split, "clocks": clocks, "blocks": blocks, "map": scaling_map}


@pytest.fixture(params=sorted(CHAPTERS))
def name(request) -> str:
    """Each explorable of the book in turn."""
    return request.param


@pytest.fixture(params=[(name, (page, figure)) for name, page, figure, _ in PLACES], ids=lambda found: f"{found[0]}-{found[1][0]}")
def place(request) -> tuple[str, tuple[str, str]]:
    """Each explorable with each of its places in turn, a page and a figure there."""
    return request.param


@pytest.fixture
def window(opened_windows):
    """Return a function that opens a page at a width and in a theme, until the test ends; it notes what it asks for and complains of."""
    with opened_windows() as opened:
        yield opened


@pytest.fixture(scope="module")
def shown(opened_windows, address):
    """Return a function that shows a figure to a reader, and shows it again as it was left to the next test that asks for the same."""
    with opened_windows() as opened:
        yield cache(lambda name, width, theme: Figure(opened(width, theme), address, name))


@pytest.fixture(scope="module")
def opened_windows(browser):
    return partial(_windows, browser)


@contextmanager
def _windows(browser):
    contexts = []

    def opened(width="desk", theme="light", **more):
        contexts.append(browser.new_context(viewport={"width": WIDTHS[width], "height": 900}, color_scheme=theme, **more))
        page = contexts[-1].new_page()
        page.asked, page.wrong = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("console", lambda message: page.wrong.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        return page

    yield opened
    for context in contexts:
        context.close()


def test_every_explorable_is_in_the_book_and_compared():
    names = [name for name, _, _, borrowed in PLACES if not borrowed]  # a name that comes twice would be a second figure, not the same
    assert sorted(names) == explorables.element_names() == sorted(COMPARED)


def test_the_first_page_has_one_that_is_borrowed_from_its_chapter(window, address):
    (found,) = [(name, figure, borrowed) for name, page, figure, borrowed in PLACES if page == LANDING]
    name, figure, chapter = found
    assert CHAPTERS[name] == (chapter, figure)
    shown = []
    for page_name in (LANDING, chapter):
        page = window(java_script_enabled=False)
        page.goto(f"{address}/book/{page_name}.html")
        shown.append(page.locator(f"#{figure}").inner_html())
    numbered = re.sub(r'<span class="caption-number">.*?</span>', "", shown[1])
    assert shown[0] == numbered and "<img" in numbered


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_it_shows_what_pytorch_gives(window, address, name, seed):
    page, chance = window("phone" if seed else "desk"), random.Random(seed)
    figure = Figure(page, address, name)
    assert len(set(figure.order)) == len(figure.order) == len(figure.state)  # Tab reaches every control
    seen = {json.dumps(figure.state)}
    COMPARED[name](figure)
    for _ in range(STATES):
        figure.press(chance)
        seen.add(json.dumps(figure.state))
        COMPARED[name](figure)
        assert not re.search(r"undefined|NaN|[{}]", figure.root.locator(".explorable-stage").inner_text())
    assert len(seen) > STATES / 3
    assert page.wrong == [] and all(url.startswith((address, "data:")) for url in page.asked)


def test_masks_and_mistakes_are_met(window, address):
    """The states that a walk by chance may miss: everything hidden, every sum forgotten, both swaps left out."""
    page = window()
    figure = Figure(page, address, "hull")
    for word in WORDS:
        figure.go_to(f"the query may look at {word}")
        page.keyboard.press("Space")
        hull(figure)
    assert "(0.00, 0.00)" in figure.said
    figure = Figure(page, address, "split")
    for swap in ("the split swaps the axes", "the merge swaps them back"):
        figure.go_to(swap)
        page.keyboard.press("Space")
        split(figure)
    assert "back at" in figure.said and "hidden" in figure.said
    figure = Figure(page, address, "blocks")
    figure.go_to("blocks read")
    page.keyboard.press("End")
    for wrong in (False, True, True, True):
        blocks(figure)
        assert ("softmax says " in figure.said) == wrong
        figure.go_to("forget to rescale")
        page.keyboard.press("ArrowDown")


@pytest.mark.parametrize("name, handle", [("hull", "query"), ("blocks", "score of sat"), ("split", "number to follow"), ("map", "model")])
def test_what_is_drawn_can_be_dragged(window, address, name, handle):
    page = window("phone")
    figure = Figure(page, address, name)
    node = figure.root.get_by_role("slider", name=handle, exact=True)
    before, box = node.get_attribute("aria-valuetext"), node.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    if name == "hull":
        x, y = box["x"] + 16, box["y"] + 16
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 60, y - 40, steps=4)
    page.mouse.up()
    assert node.get_attribute("aria-valuetext") != before
    COMPARED[name](figure)


def test_the_picture_stays_without_scripts(window, address, place):
    page = window(java_script_enabled=False)
    name, (chapter, figure) = place
    page.goto(f"{address}/book/{chapter}.html")
    assert page.locator(f"#{figure} img").is_visible() and page.locator(f"#{figure} .caption-text").is_visible()
    assert page.locator(f"explore-{name} .explorable-stage").count() == 0
    assert not page.locator(f"explore-{name} .explorable-words").is_visible()


def test_the_picture_comes_back_on_paper(shown, name):
    figure = shown(name, "desk", "light")
    page = figure.page
    picture, stage = figure.root.locator("figure > img"), figure.root.locator(".explorable-stage")
    assert stage.is_visible() and not picture.is_visible()
    page.emulate_media(media="print")
    assert picture.is_visible() and not stage.is_visible() and figure.root.locator(".caption-text").is_visible()
    page.emulate_media(media="screen")


def test_it_works_from_a_folder(window, site, place):
    page = window()
    name, there = place
    figure, chance = Figure(page, site.as_uri(), name, there), random.Random(3)
    COMPARED[name](figure)
    figure.press(chance)
    COMPARED[name](figure)
    assert page.wrong == [] and all(url.startswith(("file://", "data:")) for url in page.asked)


def test_only_pages_with_one_load_the_bundle(site):
    with_one = {site / "book" / f"{page}.html" for _, page, *_ in PLACES}
    assert site / "book" / f"{LANDING}.html" in with_one
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        loads = [text.count(f"_static/{each}") for each in (explorables.SCRIPT, explorables.STYLE)]
        assert loads == [int(path in with_one)] * 2, path
        assert path not in with_one or re.search(r'<script defer="defer" src="[./]*_static/explore\.js', text)


def test_code_and_data_are_small(site, name):
    assert len(explorables._code(name).encode()) <= 5_000
    assert len(explorables._code(explorables.SHARED).encode()) <= 5_000
    assert (site / "_static" / explorables.SCRIPT).stat().st_size <= 5_000 * (len(CHAPTERS) + 2)
    page = (site / "book" / f"{CHAPTERS[name][0]}.html").read_text(encoding="utf-8")
    data = re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    assert sum(len(each.encode()) for each in data) <= 90_000


@pytest.mark.parametrize("width, theme", [("phone", "dark"), ("desk", "light")])
def test_nobody_is_kept_out(shown, name, width, theme):
    figure, chance = shown(name, width, theme), random.Random(7)
    page = figure.page
    for _ in range(5):
        figure.press(chance)
    page.wait_for_function("!document.getAnimations().some(each => each.playState === 'running')")
    found = Axe().run(page, context=f"explore-{name}", options=OPTIONS).response["violations"]
    assert [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in found] == []


def test_a_thumb_can_hit_and_an_eye_can_read_it(shown, name):
    figure = shown(name, "phone", "dark")
    sizes = figure.root.evaluate(
        """root => [...root.querySelectorAll('.explorable-handle, select, input, .explorable-shade')]
            .map(node => node.querySelector('.explorable-grip, .explorable-ring') ?? node).map(node => node.getBoundingClientRect())
            .map(box => [box.width, box.height])"""
    )
    assert sizes and min(min(size) for size in sizes) >= 24
    types = figure.root.evaluate(
        """root => [...root.querySelectorAll('.explorable-stage :is(text, td, th, label, p, select, output)')].filter(node => node.textContent)
            .map(node => parseFloat(getComputedStyle(node).fontSize) * (node.ownerSVGElement ? node.getScreenCTM().a : 1))"""
    )
    assert types and min(types) >= 11


def test_the_focus_can_be_seen(shown, name):
    figure = shown(name, "desk", "light")
    look = """() => {
        const node = document.activeElement, shape = node.querySelector('.explorable-grip, .explorable-ring');
        const style = getComputedStyle(shape ?? node);
        return shape ? [style.stroke, style.strokeWidth] : [style.outlineStyle, style.outlineWidth];
    }"""
    for control in figure.order:
        figure.go_to(control)
        kind, width = figure.page.evaluate(look)
        assert kind != "none" and float(width.removesuffix("px")) >= 2, control


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_jumps_when_it_comes(window, address, place, width):
    """The script comes when the rest of the page is there: fonts and the theme's own scripts move a few pixels with it or without."""
    page = window(width)
    page.add_init_script(
        """window.shift = 0;
        new PerformanceObserver(list => list.getEntries().forEach(each => { window.shift += each.hadRecentInput ? 0 : each.value; }))
            .observe({type: 'layout-shift', buffered: true});"""
    )
    page.route(f"**/{explorables.SCRIPT}*", lambda route: route.abort())
    name, (chapter, figure) = place
    page.goto(f"{address}/book/{chapter}.html#{figure}", wait_until="load")
    page.add_style_tag(content=".explorable > figure { animation-delay: 1h !important }")  # however slow this machine is now
    page.wait_for_function("document.fonts.status === 'loaded'")
    page.evaluate(FRAMES)
    page.evaluate("window.shift = 0")
    assert page.locator(f"explore-{name}.live").count() == 0
    page.add_script_tag(content=explorables.bundle("en"))
    page.locator(f"explore-{name}.live").wait_for()
    page.evaluate(FRAMES)
    assert page.evaluate("window.shift") < 0.01


def test_the_picture_comes_where_the_script_does_not(window, address, place):
    page = window()
    page.route(f"**/{explorables.SCRIPT}*", lambda route: route.abort())
    _, (chapter, figure) = place
    page.goto(f"{address}/book/{chapter}.html")
    page.locator(f"#{figure} img").wait_for(state="visible")
    assert page.locator(f"#{figure} .caption-text").is_visible()


def test_nothing_moves_by_itself():
    assert not re.search(r"setTimeout|setInterval|requestAnimationFrame|\.animate\(|\bfetch\b|\bimport\b", explorables.bundle("en"))
