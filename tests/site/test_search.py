"""The search: a topic's own page comes first, results come while one types, also from a file, and nothing is loaded before somebody asks."""

import gzip
import json
from contextlib import contextmanager

import pytest
import search
import yaml
from axe_playwright_python.sync_playwright import Axe

from tests.site.site_layout import ROOT, SITE, WIDTHS, page_names
from tests.site.visits import OPTIONS, SETTLED

CONTENTS = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
NAMES = yaml.safe_load(search.NAMES.read_text(encoding="utf-8"))
START = "book/softmax.html"
FIELD, RESULTS, READ = "#pst-search-dialog input", "#found-list [role=option]", "#found-list[data-whole]"
# What a reader may type, and the page, or place on a page, that comes first.
FINDS = {
    "attention": "book/attention",
    "self-attention": "book/self_attention",
    "self attention": "book/self_attention",
    "Selfattention": "book/self_attention",
    "qkv": "book/queries_keys_values",
    "query": "book/queries_keys_values",
    "cross-attention": "book/queries_keys_values#when-another-text-asks",
    "scaling": "book/scaling",
    "scaled dot-product attention": "book/scaling",
    "softmax": "book/softmax",
    "sofmax": "book/softmax",
    "softm": "book/softmax",
    "mask": "book/softmax#where-the-mask-goes",
    "What is a mask?": "book/softmax#where-the-mask-goes",
    "causal masks": "book/softmax#where-the-mask-goes",
    "padding": "book/softmax#a-batch-of-unequal-sentences",
    "temperature": "book/softmax#what-softmax-sees-and-what-it-doesn-t",
    "multi-head": "book/multi_head",
    "multihead attention": "book/multi_head",
    "MHA": "book/multi_head",
    "induction heads": "book/real_heads",
    "feed forward": "book/feed_forward",
    "FFN": "book/feed_forward",
    "positional encoding": "book/positional_encoding",
    "positionnal encoding": "book/positional_encoding",
    "complexity": "book/complexity",
    "layernorm": "book/encoder_layer",
    "transformer": "book/encoder_layer",
    "alignment": "book/alignment",
    "translation": "book/alignment",
    "rotary": "book/rotary_positions",
    "rope": "book/rotary_positions",
    "kv cache": "book/generation",
    "KV-cache": "book/generation",
    "gqa": "book/generation#what-it-costs-bytes",
    "sliding window": "book/sparse",
    "linear attention": "book/approximations",
    "flash attention": "book/blocks",
    "FlashAttention": "book/blocks",
    "vit": "book/vision",
    "clip": "book/two_kinds",
    "mixed precision": "book/precision",
    "distillation": "book/smaller_models",
    "int8": "book/smaller_models",
    "quantization": "book/smaller_models",
    "batching": "book/serving",
    "mamba": "book/after_attention",
    "bug hunt": "exercises/bug_hunt/bug_hunt",
    "notation": "book/notation",
    "glossary": "book/glossary",
    "对": "book/glossary#term-alignment",
    "对齐": "book/glossary#term-alignment",
    "掩码": "book/glossary#term-mask",
    "注意力": "book/glossary#term-attention",
    "在线 softmax": "book/glossary#term-online-softmax",
    "手撕": "book/intro",
}
# Types each of some words into the field, and returns the addresses of the results.
TYPE_ALL = """([field, options, questions]) => {
    const input = document.querySelector(field);
    return questions.map(question => {
        input.value = question;
        input.dispatchEvent(new Event('input'));
        return [...document.querySelectorAll(options)].map(option => option.href);
    });
}"""


class Asking:
    """A page whose search is open, and all that went over the wire and to the console since it was loaded."""

    def __init__(self, page, root: str):
        self.page, self.root, self.requests, self.said = page, root, [], []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: message.type in ("error", "warning") and self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.goto(f"{root}/{START}", wait_until="load")
        self.before = [*self.requests]
        page.keyboard.press("/")
        page.wait_for_selector(READ, state="attached")

    def places(self, *questions: str) -> list[list[str]]:
        """Return for each question the places that are found, without what all addresses share."""
        found = self.page.evaluate(TYPE_ALL, [FIELD, RESULTS, questions])
        return [[address.removeprefix(f"{self.root}/").replace(".html", "") for address in each] for each in found]


@contextmanager
def asking(browser, root: str, **context):
    with browser.new_context(**context) as window:
        yield Asking(window.new_page(), root)


@pytest.fixture(scope="module")
def asked(browser, site):
    """Return a page from a file, whose search is open."""
    with asking(browser, site.as_uri()) as one:
        yield one


@pytest.fixture(scope="module")
def served(browser, address):
    """Return the same page from a server."""
    with asking(browser, address) as one:
        yield one


@pytest.fixture(params=["asked", "served"])
def either(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def page(browser):
    with browser.new_context(viewport={"width": WIDTHS["desk"], "height": 900}) as window:
        yield window.new_page()


@pytest.fixture(scope="module")
def index(site):
    text = (site / search.INDEX).read_text(encoding="utf-8")
    return json.loads(text.removeprefix("globalThis.SEARCH = ").removesuffix(";\n"))


@pytest.mark.browser
def test_what_a_reader_types_finds_its_page_first(either):
    assert dict(zip(FINDS, (found[0] for found in either.places(*FINDS)), strict=True)) == FINDS


@pytest.mark.browser
def test_every_page_is_found_by_its_title(asked, index):
    titles = {address.removesuffix(".html"): title for address, title, kind in index["pages"]}
    assert [*titles] == page_names()
    questions = [(title, page) for page, title in titles.items()]
    questions += [(title.split(": ")[0], page) for page, title in titles.items() if ": " in title]  # what most readers would type
    found = asked.places(*(title for title, _ in questions))
    # An exercise may be called like a chapter, or what a chapter's section is about, and comes behind it.
    rank = {kind: 3 if kind == "exercise" else 1 for _, _, kind in index["pages"]}
    kinds = search.kinds_of(CONTENTS)
    assert [question for question, places in zip(questions, found) if question[1] not in places[: rank[kinds[question[1]]]]] == []


@pytest.mark.browser
def test_every_other_name_finds_what_it_names(asked):
    questions = [(name, place) for place, names in NAMES.items() for name in map(str, names)]
    found = asked.places(*(name for name, _ in questions))
    assert [(name, place) for (name, place), places in zip(questions, found, strict=True) if place not in places[:3]] == []


@pytest.mark.browser
def test_nothing_of_it_is_loaded_before_somebody_asks(either):
    def parts(addresses):
        files = [address.split("?")[0].removeprefix(f"{either.root}/_static/") for address in addresses]
        return [file for file in files if "search" in file and not file.startswith(either.root)]

    assert parts(either.before) == []
    assert sorted(parts(either.requests)) == sorted(search.PARTS)
    assert [address for address in either.requests if not address.startswith((either.root, "data:"))] == []


@pytest.mark.browser
def test_the_console_is_silent(either):
    either.places("softmax", "掩码", "nothing has this name")
    assert either.said == []


@pytest.mark.browser
def test_results_come_while_one_types_and_keys_alone_open_one(page, site):
    page.goto(f"{site.as_uri()}/{START}")
    page.keyboard.press("Control+k")
    page.keyboard.type("causal ma")
    page.wait_for_selector(f"{READ} [role=option]")
    assert page.locator(FIELD).get_attribute("aria-expanded") == "true"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    chosen = page.locator(f"{RESULTS}[aria-selected=true]")
    assert chosen.get_attribute("id") == page.locator(FIELD).get_attribute("aria-activedescendant") == "found-1"
    place = chosen.evaluate("option => option.href")
    page.keyboard.press("Enter")
    page.wait_for_url(place)


@pytest.mark.browser
def test_a_result_shows_where_it_is_and_what_stands_there(asked):
    page = asked.page
    page.locator(FIELD).fill("fillers column hidden")
    first = page.locator(RESULTS).first
    assert first.locator(".found-page").inner_text() == "Softmax: what becomes of the scores?"
    assert first.locator(".found-heading").inner_text() == "A batch of unequal sentences"
    assert {word.lower() for word in first.locator(".found-text mark").all_inner_texts()} >= {"filler", "column", "hidden"}
    page.locator(FIELD).fill("softmax")
    assert first.locator(".found-text").inner_text().startswith("Each query has met each key")
    page.locator(FIELD).fill("掩码")
    assert page.locator(f"{RESULTS} .found-heading [lang=zh] mark").first.inner_text() == "掩码"


@pytest.mark.browser
def test_a_reader_who_does_not_see_the_list_is_told(asked):
    said = asked.page.locator("#pst-search-dialog [role=status]")
    asked.page.locator(FIELD).fill("vit")
    assert said.inner_text() == "1 result"
    asked.page.locator(FIELD).fill("xyzzy")
    assert said.inner_text().startswith("Nothing found") and asked.page.locator(RESULTS).count() == 0


@pytest.mark.browser
def test_escape_closes_it_and_the_slash_or_a_button_opens_it(asked):
    field, page = asked.page.locator(FIELD), asked.page
    for width in WIDTHS.values():  # on a phone, the button stands above the page
        page.set_viewport_size({"width": width, "height": 800})
        field.focus()
        page.keyboard.press("Escape")
        field.wait_for(state="hidden")
        page.locator(".search-button__button:visible").first.click()
        field.wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    field.wait_for()
    field.fill("")
    page.keyboard.type("and/or")
    assert field.input_value() == "and/or"


@pytest.mark.browser
@pytest.mark.parametrize("width, theme", [("phone", "dark"), ("desk", "light")])
def test_open_results_keep_nobody_out(asked, width, theme):
    page = asked.page
    page.set_viewport_size({"width": WIDTHS[width], "height": 800})
    page.emulate_media(color_scheme=theme)
    page.locator(FIELD).fill("mask")
    page.wait_for_function(SETTLED, arg=theme)
    assert page.locator(RESULTS).count() > 5 and page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    found = Axe().run(page, context="#pst-search-dialog", options=OPTIONS).response["violations"]
    assert [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in found] == []


@pytest.mark.browser
def test_the_page_of_results_answers_an_address_and_a_reader(asked):
    page, results = asked.page, asked.page.locator("#search-results a")
    field = page.locator(FIELD)
    field.fill("softmax")
    page.locator(".found-all").click()  # the last test with this page: it leaves
    page.wait_for_url("**/search.html?q=softmax")
    page.wait_for_function("document.querySelectorAll('#search-results a').length > 20")
    assert results.first.get_attribute("href").endswith("book/softmax.html")
    field = page.locator(".bd-article form.bd-search input")
    field.fill("rotary")
    assert results.first.get_attribute("href").endswith("book/rotary_positions.html")
    field.press("Enter")
    assert page.url.endswith("/search.html?q=rotary")
    found = Axe().run(page, context="#main-content", options=OPTIONS).response["violations"]
    assert [rule["id"] for rule in found] == []


@pytest.mark.browser
def test_without_scripts_no_field_promises_anything(browser, site):
    with browser.new_context(java_script_enabled=False) as window:
        page = window.new_page()
        for name in (START, "search.html"):
            page.goto(f"{site.as_uri()}/{name}")
            assert page.locator("form.bd-search:visible, .search-button__button:visible").count() == 0
        assert "needs JavaScript" in page.locator(".bd-article").inner_text()


def kilobytes(addresses, root: str) -> float:
    """Return what files of the site weigh when they are sent."""
    files = {SITE / each.removeprefix(f"{root}/").split("?")[0] for each in addresses if each.startswith(root)}
    return sum(len(gzip.compress(file.read_bytes())) for file in files) / 1000


@pytest.mark.browser
@pytest.mark.parametrize("name, limit", [("book/scaling", 300), ("book/intro", 130)])
def test_a_first_visit_is_small(page, address, name, limit):
    """With everything that the page asks for by itself: the chapter that asks for most, and the first page."""
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address}/{name}.html", wait_until="load")
    page.evaluate("document.fonts.ready")
    assert 50 < kilobytes(asked, address) < limit


def test_the_index_is_made_of_the_pages_alone(site):
    made = search.script_of(search.index_of(site, search.kinds_of(CONTENTS), NAMES))
    assert made == (site / search.INDEX).read_text(encoding="utf-8")
    assert len(gzip.compress(made.encode())) < 300_000


PAGE = """<article class="bd-article"><section id="page"><h1><span class="section-number">5. </span>A page<a class="headerlink">#</a></h1>
<p>Divide by <span class="katex"><span class="katex-mathml"><math><semantics><msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt><annotation>\\sqrt{d_k}</annotation></semantics></math></span><span class="katex-html"><span>dk</span></span></span>.<br>Then stop.</p>
<div class="cell_input"><div class="highlight"><pre>for row in rows: <span class="c1"># aside</span></pre></div></div>
<div class="output"><pre>3.14</pre></div><details class="admonition hide"><pre>plt.plot</pre></details>
<table><tr><td>one</td><td>two</td></tr></table>
<section id="more"><h2>More</h2><p>Text</p></section></section></article>"""


def test_a_page_is_cut_into_its_sections():
    page, more = search.sections_of(PAGE)
    assert (page.heading, page.text, page.code) == ("A page", "Divide by √d_k. Then stop. one · two", {"row", "rows"})
    assert (more.anchor, more.heading, more.text) == ("more", "More", "Text")


def test_a_term_of_the_glossary_is_a_section_of_its_own():
    page = (
        '<article class="bd-article"><section id="glossary"><h1>Glossary</h1><dl class="glossary"><dt id="term-mask">mask<a class="headerlink">#</a></dt>'
        '<dt id="term-0" lang="zh">掩码</dt><dd><p>What may be seen.</p></dd></dl></section></article>'
    )
    (_, term) = search.sections_of(page)
    assert (term.anchor, term.heading, term.text, term.is_term) == ("term-mask", "mask 掩码", "What may be seen.", True)


def test_a_name_for_what_is_not_there_is_a_warning(tmp_path, monkeypatch):
    warned = []
    monkeypatch.setattr(search.log, "warning", lambda words, *values: warned.append(words % values))
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    search.index_of(tmp_path, {"page": "chapter"}, {"page": ["one"], "page#more": ["two"], "page#gone": ["three"]})
    assert warned == ["search.yml names page#gone, and there is no such page or section"]
