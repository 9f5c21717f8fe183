"""The site's extensions, each on a page of a few lines: what goes wrong must be said, with its place."""

import json
import re
import zipfile
from types import SimpleNamespace

import check_message
import exercise_downloads
import freshness
import katex_prerender
import mistake_matrix
import polish
import pytest
import slim_assets
from sphinx.testing.util import SphinxTestApp

from autograder.kit.outcome import Outcome

MISTAKE = {
    "title": "divides by `d_k`",
    "hint": "What is the square root for?",
    "expected": ["scale"],
    "fails": {"scale": "wrong answer"},
    "checks": ["softmax", "scale"],
}
MATRIX = {
    "mistakes": {"single_head": {"no_root": MISTAKE}},
    "variants": {"single_head": {"einsum": {"title": "one einsum", "fails": {}}}},
    "problems": [],
}


@pytest.fixture
def write_page(tmp_path):
    """Return a function that builds one page with the extensions and gives back its HTML and the warnings."""
    (tmp_path / "conf.py").write_text("")
    settings = {
        "extensions": [
            "myst_parser",
            "katex_prerender",
            "mistake_matrix",
            "exercise_downloads",
            "exercise_table",
            "corrections",
            "explorables",
            "check_message",
        ],
        "html_math_renderer": "katex_prerender",
        "html_static_path": [],
        "myst_enable_extensions": ["colon_fence", "dollarmath"],
    }

    def write(text: str, **more) -> tuple[str, str]:
        (tmp_path / "index.md").write_text(text, encoding="utf-8")
        app = SphinxTestApp("html", srcdir=tmp_path, confoverrides={**settings, **more})
        app.build()
        warnings = app.warning.getvalue()
        app.cleanup()
        return (tmp_path / "_build" / "html" / "index.html").read_text(encoding="utf-8"), warnings

    return write


def test_a_formula_becomes_html(write_page):
    page, warnings = write_page("# Page\n\nA $\\frac{1}{2}$ and\n\n$$\n\\twice{x}\n$$ (eq-a)\n", katex_macros={r"\twice": "2#1"})
    assert "katex-html" in page and 'class="eqno">(1)' in page
    assert 'class="katex-display" tabindex="0"' in page
    assert warnings == ""


def test_a_wrong_formula_is_a_warning_at_its_place(write_page):
    page, warnings = write_page("# Page\n\nText.\n\nWrong: $\\frac{1$ here.\n")
    assert "index.md:5: WARNING" in warnings and "KaTeX" in warnings
    assert "katex-error" in page


@pytest.mark.parametrize("tex", [r"\text{中文}", r"\begin{bmatrix} 1 & 2 \end{bmatrix}", r"\mathbb{R}^{n \times d_k}"])
def test_formulas_of_this_book_can_be_drawn(tex):
    assert "katex-html" in katex_prerender.draw(tex, True, "{}")


def test_a_missing_matrix_names_its_command(write_page):
    _, warnings = write_page("# Page\n\n```{mistake-matrix}\n```\n")
    assert "index.md:3: WARNING" in warnings and "python -m autograder matrix --json" in warnings


def test_every_outcome_has_a_sign():
    assert {*mistake_matrix.SIGNS, "passed"} == {outcome.value for outcome in Outcome}


def _put_matrix(folder, **changes):
    (folder / "_build").mkdir(exist_ok=True)
    (folder / "_build" / "matrix.json").write_text(json.dumps(MATRIX | changes))


def test_the_matrix_says_failure_in_signs_and_words(write_page, tmp_path):
    _put_matrix(tmp_path)
    page, warnings = write_page("# Page\n\n```{mistake-matrix}\n```\n")
    assert warnings == ""
    assert 'title="wrong answer">✗</abbr>' in page and 'title="passes">·</abbr>' in page
    assert "What is the square root for?" in page and "one einsum" in page


def test_a_problem_of_the_matrix_stops_the_build(write_page, tmp_path):
    _put_matrix(tmp_path, problems=["single_head: no mistake fails the check batch"])
    _, warnings = write_page("# Page\n\n```{mistake-matrix}\n```\n")
    assert "no mistake fails the check batch" in warnings


def _chapter(title: str, *boxes: str) -> str:
    forms = [f":::{{admonition}} {box} is `wrong`\n:class: correction\n:name: correction-{box}\n\nSo.\n:::\n" for box in boxes]
    return "\n".join([f"# {title}\n", *forms])


LIST = "```{corrections}\n```\n"
CONTENTS = "# Book\n\n```{toctree}\nb\nlist\na\n```\n"


def _listed(folder) -> list[str]:
    page = (folder / "_build" / "html" / "list.html").read_text(encoding="utf-8")
    return re.findall(r'href="(\w+\.html(?:#correction-\w+)?)"><span>', page)


FACTS = {"title": "One head", "chapter": "04", "difficulty": "easy", "minutes": 20, "points": {"scale": 2.0, "mask": 0.5}}


def test_the_table_lists_the_exercises_of_the_book_and_adds_up(write_page, tmp_path):
    (tmp_path / "_toc.yml").write_text("- file: exercises/two/two\n- file: exercises/one/one\n")
    for name in ("one", "two"):
        (tmp_path / "exercises" / name).mkdir(parents=True)
        (tmp_path / "exercises" / name / f"{name}.md").write_text(f"# Exercise {name}\n")
        (tmp_path / "exercises" / name / "exercise.json").write_text(json.dumps({"name": name, **FACTS}))
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "04.md").write_text("# Softmax: what becomes of the scores?\n")
    page, _ = write_page("# Exercises\n\n```{exercise-table}\n```\n")
    rows = [re.sub(r"<[^>]+>", " ", row).split() for row in re.findall(r"<tr.*?</tr>", page, re.DOTALL)]
    assert rows[1:] == [
        ["Exercise", "two", "Softmax", "easy", "20", "2", "2.5"],
        ["Exercise", "one", "Softmax", "easy", "20", "2", "2.5"],
        ["all", "together", "40", "4", "5"],
    ]


def test_a_table_of_no_exercises_is_a_warning(write_page, tmp_path):
    (tmp_path / "_toc.yml").write_text("root: index\n")
    assert "no exercise is named" in write_page("# Exercises\n\n```{exercise-table}\n```\n")[1]


def test_corrections_are_listed_in_the_order_of_the_book(write_page, tmp_path):
    (tmp_path / "a.md").write_text(_chapter("A", "e01"))
    (tmp_path / "b.md").write_text(_chapter("B", "e03", "e02") + "\n:::{admonition} A sample\n:class: correction\n\nSo.\n:::\n")
    (tmp_path / "list.md").write_text(f"# List\n\n{LIST}")
    _, warnings = write_page(CONTENTS)
    assert warnings == ""
    assert _listed(tmp_path) == ["b.html", "b.html#correction-e03", "b.html#correction-e02", "a.html", "a.html#correction-e01"]


def test_the_list_follows_a_chapter_that_changes(write_page, tmp_path):
    (tmp_path / "a.md").write_text(_chapter("A", "e01"))
    (tmp_path / "b.md").write_text(_chapter("B"))
    (tmp_path / "list.md").write_text(f"# List\n\n{LIST}")
    write_page(CONTENTS)
    (tmp_path / "b.md").write_text(_chapter("B", "e02"))
    write_page(CONTENTS)
    assert _listed(tmp_path) == ["b.html", "b.html#correction-e02", "a.html", "a.html#correction-e01"]


def test_a_book_without_corrections_is_a_warning(write_page):
    _, warnings = write_page(f"# Page\n\n{LIST}")
    assert "index.md:3: WARNING" in warnings and "correction-e01" in warnings


FIGURE = "```{figure} dot.svg\n:name: fig-dot\n\nA dot.\n```\n"
MOVED = "```{explorable} hull\n:figure: fig-dot\n\nMove it.\n```\n"


def test_an_explorable_is_put_around_its_figure(write_page, tmp_path):
    (tmp_path / "dot.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    page, warnings = write_page(f"# Page\n\n{FIGURE}\nText.\n\n{MOVED}")
    element = re.search(r'<explore-hull class="explorable">(.*?)</explore-hull>', page, re.DOTALL)[1]
    assert 'id="fig-dot"' in element and re.search(r'<div class="explorable-words" hidden>\s*<p>Move it.</p>', element)
    assert "Text." not in element and warnings == ""
    assert page.count("_static/explore.js?v=") == page.count("_static/explore.css?v=") == 1


def test_a_page_without_an_explorable_loads_nothing_for_one(write_page):
    assert "explore" not in write_page("# Page\n\nText.\n")[0]


def test_an_explorable_without_its_figure_is_a_warning(write_page):
    page, warnings = write_page(f"# Page\n\n{MOVED}")
    assert "index.md:3: WARNING" in warnings and "fig-dot" in warnings and "explore-hull" not in page


BORROWED = MOVED.replace(":figure: fig-dot\n", ":figure: fig-dot\n:page: other\n")


def test_an_explorable_takes_the_figure_of_another_page_as_it_is_now(write_page, tmp_path):
    (tmp_path / "dot.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    for words in ("A dot.", "A spot."):
        (tmp_path / "other.md").write_text(f"# Other\n\n{FIGURE.replace('A dot.', words)}")
        page, warnings = write_page(f"# Page\n\n{BORROWED}\n```{{toctree}}\nother\n```\n")
        element = re.search(r'<explore-hull class="explorable">(.*?)</explore-hull>', page, re.DOTALL)[1]
        assert 'src="_images/dot.svg"' in element and words in element and "<p>Move it.</p>" in element
        assert warnings == ""
        other = (tmp_path / "_build" / "html" / "other.html").read_text(encoding="utf-8")
        assert words in other and "explore" not in other


@pytest.mark.parametrize("other", ["# Other\n\nNo figure.\n", None])
def test_an_explorable_without_a_figure_on_the_other_page_is_a_warning(write_page, tmp_path, other):
    contents = ""
    if other:
        (tmp_path / "other.md").write_text(other)
        contents = "\n```{toctree}\nother\n```\n"
    page, warnings = write_page(f"# Page\n\n{BORROWED}{contents}")
    assert "index.md:3: WARNING" in warnings and "other has no figure called 'fig-dot'" in warnings and "explore-hull" not in page


@pytest.mark.parametrize(
    "asked, missing", [("single_head nobody scale", "knows no mistake nobody"), ("single_head no_scale nothing", "has no check nothing")]
)
def test_a_message_of_what_is_not_there_is_an_error(write_page, asked, missing):
    _, warnings = write_page(f"# Page\n\n```{{check-message}} {asked}\n```\n")
    assert "index.md:3: ERROR" in warnings and missing in warnings


def test_a_message_rests_on_the_kit_and_the_exercise():
    names = {file.relative_to(check_message.ROOT).as_posix() for file in check_message.files_behind("single_head")}
    assert {"exercises/kit/show.py", "exercises/single_head/test_single_head.py", "solutions/single_head/mistakes.py"} <= names


def test_an_explorable_that_does_not_exist_is_named(write_page):
    _, warnings = write_page("# Page\n\n```{explorable} hulk\n:figure: fig-dot\n```\n")
    assert "index.md:3: ERROR" in warnings and "hulk" in warnings and "hull" in warnings


def test_an_explorable_carries_the_numbers_that_it_shows(write_page, tmp_path):
    (tmp_path / "dot.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (tmp_path / "table.csv").write_text("# Measured.\nname,other,share\na<b,7,0.5\n")
    page, warnings = write_page(
        f"# Page\n\n{FIGURE}\n{MOVED}".replace("fig-dot\n\nM", "fig-dot\n:table: table.csv\n:columns: name share\n\nM")
    )
    numbers = re.search(r'<script type="application/json">(.*?)</script>', page)[1]
    assert "<" not in numbers and json.loads(numbers) == {"columns": ["name", "share"], "rows": [["a<b", 0.5]]}
    assert warnings == ""


def test_chinese_terms_name_their_language(write_page):
    page, _ = write_page(
        "# Page\n\n```{glossary}\ntoken\n词元\n  A word.\n```\n", extensions=["myst_parser", "polish"], html_math_renderer="mathjax"
    )
    assert 'id="term-0" lang="zh">词元' in page and 'id="term-token">token' in page


def test_the_archive_depends_on_the_files_alone(tmp_path):
    folder = tmp_path / "exercises"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "b.py").write_text("b = 1\n")
    (folder / "a.ipynb").write_text("{}")
    (folder / ".venv").mkdir()
    (folder / ".venv" / "pyvenv.cfg").write_text("of one machine")
    (folder / "__pycache__" / "b.pyc").write_bytes(b"compiled")
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"
    exercise_downloads.write_archive(folder, first)
    (folder / "b.py").touch()
    (folder / "__pycache__" / "c.pyc").write_bytes(b"compiled")
    exercise_downloads.write_archive(folder, second)
    assert first.read_bytes() == second.read_bytes()
    names = ["attention-by-hand/exercises/a.ipynb", "attention-by-hand/exercises/b.py"]
    assert zipfile.ZipFile(first).namelist() == names


@pytest.mark.parametrize(
    "settings, hub, words",
    [("title: A book\n", "", []), ("repository: {url: 'https://github.com/ada/book'}\n", "https://hub.example.org", ["Colab", "hub"])],
)
def test_an_exercise_can_be_opened_elsewhere_where_the_repository_is_known(write_page, tmp_path, settings, hub, words):
    (tmp_path / "_config.yml").write_text(settings)
    (tmp_path / "exercises" / "a").mkdir(parents=True)
    (tmp_path / "exercises" / "a" / "a.md").write_text("# A\n\nText.\n")
    _, warnings = write_page("# Page\n\n```{toctree}\nexercises/a/a\n```\n", exercise_hub=hub)
    page = (tmp_path / "_build" / "html" / "exercises" / "a" / "a.html").read_text(encoding="utf-8")
    box = page.split('<aside class="downloads"')[1].split("</aside>")[0]
    assert re.findall(r'class="downloads-link away" href="https://[^"]+">Open on (?:the )?(\w+)</a>', box) == words
    assert warnings == "" and box.count("<a ") == 2 + len(words)


def test_a_repaired_page_stays_as_it_is():
    page = 'dataset.mode = localStorage.getItem("mode") || ""; dataset.theme = localStorage.getItem("theme") || "";'
    once = polish.repaired(page)
    assert '"auto"' in once and "prefers-color-scheme" in once
    assert polish.repaired(once) == once


def test_only_icons_that_occur_are_kept():
    css = '.fa-sun:before{content:"\\f185"}.fa-moon:before{content:"\\f186"}summary:after{content:"\\f107"}'
    assert slim_assets.named_icons(css, ['<i class="fa-sun"></i>']) == {0xF185}
    assert slim_assets.drawn_icons(css) == {0xF107}


def test_only_rules_that_can_match_are_kept():
    css = (
        "@import url(x.css);.a .b:hover,.gone{color:red}#place>p{}#nowhere{}a:not(.gone){}.a.gone{}"
        "@media print{.gone{}}@media (min-width:1px){.b{}.gone{}}@font-face{font-family:F}.sd-md\\:x{}p{--gone:.gone}"
    )
    names = slim_assets.names_in(['<p class="a sd-md:x" id="place">', "<script>set('b')</script>"], [])
    kept = slim_assets.purged(css, names).replace("\n", "")
    assert kept == (
        "@import url(x.css);.a .b:hover{color:red}#place>p{}a:not(.gone){}@media (min-width:1px){.b{}}@font-face{font-family:F}"
        ".sd-md\\:x{}p{--gone:.gone}"
    )
    assert slim_assets.purged(kept, names).replace("\n", "") == kept


def test_pages_ask_for_a_purged_sheet_by_what_is_in_it(tmp_path):
    def build(page: str) -> tuple[str, str]:
        (tmp_path / "_static").mkdir(exist_ok=True)
        for name in ("theme.css", "site.css"):
            (tmp_path / "_static" / name).write_text(".a{}.b{}")
        (tmp_path / "page.html").write_text(page)
        slim_assets.purge(tmp_path)
        assert (tmp_path / "_static" / "site.css").read_text() == ".a{}.b{}"
        return (tmp_path / "_static" / "theme.css").read_text(), (tmp_path / "page.html").read_text()

    links = '<link href="_static/theme.css?digest=0123" /><link href="_static/site.css?v=4567" />'
    one, first = build(f'{links}<p class="a">')
    both, second = build(first.replace('class="a"', 'class="a b"'))
    assert (one, both) == (".a{}\n", ".a{}\n.b{}\n")
    assert first.split("site.css")[0] != second.split("site.css")[0] != links.split("site.css")[0]
    assert "site.css?v=4567" in second and build(second)[1] == second


def test_figures_of_earlier_builds_are_deleted(tmp_path):
    (tmp_path / "_images").mkdir()
    for name in ("old.svg", "new.svg"):
        (tmp_path / "_images" / name).write_text("<svg/>")
    (tmp_path / "page.html").write_text('<img src="_images/new.svg">')
    slim_assets.delete_orphans(tmp_path)
    assert [image.name for image in (tmp_path / "_images").iterdir()] == ["new.svg"]


def _book(folder):
    (folder / "site_static").mkdir()
    (folder / "extensions").mkdir()
    (folder / "explorables").mkdir()
    (folder / "site_static" / "site.css").write_text("p { color: black }")
    (folder / "figures.py").write_text("BLUE = 1")
    (folder / "measured").mkdir()
    (folder / "measured" / "scaling.csv").write_text("0.98")
    (folder / "measured" / "heads.npz").write_text("0.31")


def test_a_changed_style_rewrites_pages_and_runs_nothing(tmp_path, monkeypatch):
    _book(tmp_path)
    monkeypatch.setattr(freshness, "BOOK", tmp_path)
    written, executed = freshness._written_with(), freshness._executed_with()
    (tmp_path / "site_static" / "site.css").write_text("p { color: red }")
    assert freshness._written_with() != written
    assert freshness._executed_with() == executed


@pytest.mark.parametrize("source", ["figures.py", "measured/scaling.csv", "measured/heads.npz"])
def test_a_changed_module_or_table_runs_the_chapters_again(tmp_path, monkeypatch, source):
    _book(tmp_path)
    monkeypatch.setattr(freshness, "BOOK", tmp_path)
    executed = freshness._executed_with()
    (tmp_path / source).write_text("BLUE = 2")
    assert freshness._executed_with() != executed


def test_outputs_of_other_modules_are_dropped(tmp_path):
    def start(digest: str):
        app = SimpleNamespace(outdir=tmp_path / "html", config=SimpleNamespace(site_executed_with=digest))
        freshness.drop_stale_outputs(app)

    start("before")
    output = tmp_path / ".jupyter_cache" / "output"
    output.write_text("0.1")
    start("before")
    assert output.exists()
    start("after")
    assert not output.exists()


def test_a_build_with_warnings_starts_over(tmp_path):
    (tmp_path / "conf.py").write_text("")
    (tmp_path / "index.md").write_text("# Page\n\n[nowhere](nowhere.md)\n")
    settings = {"extensions": ["myst_parser", "freshness"], "site_written_with": "", "html_static_path": []}
    for _ in range(2):
        app = SphinxTestApp("html", srcdir=tmp_path, confoverrides=settings, warningiserror=True, keep_going=True)
        app.build()
        assert app.statuscode == 1
        app.cleanup()
