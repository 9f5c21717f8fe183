"""What a reader does with the site: without scripts, with the archive, with the keyboard."""

import io
import json
import zipfile

import pytest

from tests.site.site_layout import MATRIX, ROOT, page_names

pytestmark = pytest.mark.browser

ARCHIVE = "_downloads/attention-by-hand-exercises.zip"
EXERCISES = [name for name in page_names() if name.startswith("exercises/")]


@pytest.fixture(scope="module")
def page(browser):
    """Return a page with scripts."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


@pytest.fixture(scope="module")
def page_without_scripts(browser):
    """Return a page on which no script runs."""
    context = browser.new_context(java_script_enabled=False)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("name", page_names())
def test_formulas_need_no_script(page_without_scripts, address, name):
    page_without_scripts.goto(f"{address}/{name}.html")
    heights = page_without_scripts.locator(".bd-article .math").evaluate_all(
        # What is folded away need not have a height until it is opened.
        """formulas => formulas.filter(node => !node.closest('details:not([open])'))
            .map(node => node.querySelector('.katex-html')?.getBoundingClientRect().height ?? 0)"""
    )
    assert all(height > 0 for height in heights)


def test_some_page_has_formulas(page_without_scripts, address):
    page_without_scripts.goto(f"{address}/book/softmax.html")
    assert page_without_scripts.locator(".katex").count() > 5


def test_the_theme_can_be_changed_and_is_remembered(page, address):
    page.goto(f"{address}/book/intro.html")
    # The button goes round: the system's choice, light, dark.
    seen = set()
    for _ in range(3):
        page.locator(".theme-switch-button:visible").first.click()
        seen.add(page.evaluate("document.documentElement.dataset.mode"))
    assert seen == {"auto", "light", "dark"}
    chosen = page.evaluate("document.documentElement.dataset.mode")
    page.reload()
    assert page.evaluate("document.documentElement.dataset.mode") == chosen


def test_the_intro_offers_the_archive(page, address):
    page.goto(f"{address}/book/intro.html")
    link = page.locator(f'a[href$="{ARCHIVE}"]').first
    answer = page.request.get(f"{address}/book/{link.get_attribute('href')}")
    names = zipfile.ZipFile(io.BytesIO(answer.body())).namelist()
    assert {f"attention-by-hand/{name}.ipynb" for name in EXERCISES} <= set(names)
    assert not [name for name in names if "__pycache__" in name or "checkpoints" in name]


def test_the_archive_holds_the_exercises_as_they_are(site):
    with zipfile.ZipFile(site / ARCHIVE) as archive:
        for name in archive.namelist():
            assert archive.read(name) == (ROOT / name.removeprefix("attention-by-hand/")).read_bytes()


@pytest.mark.parametrize("name", EXERCISES)
def test_an_exercise_offers_its_notebook(page, address, name):
    page.goto(f"{address}/{name}.html")
    link = page.locator(".downloads a").first.evaluate("link => link.href")
    given = json.loads(page.request.get(link).body())
    assert given == json.loads((ROOT / f"{name}.ipynb").read_text(encoding="utf-8"))


def test_the_matrix_has_a_table_for_each_exercise(page, address):
    page.goto(f"{address}/book/matrix.html")
    numbers = json.loads(MATRIX.read_text(encoding="utf-8"))
    tables = page.locator("table.mistake-matrix")
    assert tables.count() == len(numbers["mistakes"])
    for index, mistakes in enumerate(numbers["mistakes"].values()):
        assert tables.nth(index).locator("tbody tr").count() == len(mistakes)
        failures = sum(len(mistake["fails"]) for mistake in mistakes.values())
        assert tables.nth(index).locator("td.fails").count() == failures


def test_the_table_of_exercises_has_a_row_for_each(page, address):
    page.goto(f"{address}/book/exercises.html")
    rows = page.locator("table.exercise-table tbody tr")
    assert rows.count() == len(EXERCISES) + 1
    links = [rows.nth(number).locator("a").first.evaluate("link => link.href") for number in range(len(EXERCISES))]
    assert sorted(links) == sorted(f"{address}/{name}.html" for name in EXERCISES)


def test_the_answer_to_a_question_unfolds(page, address):
    page.goto(f"{address}/book/softmax.html")
    answer = page.locator("details.sd-dropdown").first
    assert not answer.locator(".sd-card-body").is_visible()
    answer.locator("summary").click()
    assert answer.locator(".sd-card-body").is_visible()
