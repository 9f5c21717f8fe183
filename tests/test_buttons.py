"""Below each answer that has run there are buttons, and the names of checks are completed: pressed and typed in a real JupyterLab."""

import json
import re
import shutil
import urllib.request

import nbformat
import pytest
from nbformat.v4 import new_code_cell
from playwright.sync_api import expect

from autograder.exercise import reading as exercises
from autograder.judging.answers import answers
from autograder.kit.complete import beginning
from tests.conftest import ROOT
from tests.kernels import Kernel
from tests.labs import PATIENCE, Lab, serving

ENDLESS = "def dot_product_scores(query, key):\n    while True:\n        pass"


@pytest.fixture
def desk(tmp_path):
    shutil.copytree(ROOT / "exercises", tmp_path / "desk", ignore=shutil.ignore_patterns("__pycache__", ".progress.json"))
    return tmp_path / "desk"


@pytest.fixture
def window(browser):
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    yield page
    page.close()


def prepare(desk, *own: str) -> None:
    """Write right answers into the notebook of similarity, all but the last, and cells of the learner's own below the first cell."""
    exercise, path = exercises.load("similarity"), desk / "similarity" / "similarity.ipynb"
    notebook, right = nbformat.read(path, as_version=4), answers(exercise)
    for cell in notebook.cells:
        if cell.id in right and cell.id != "answer-middle":
            cell.source = right[cell.id]
    place = next(number for number, cell in enumerate(notebook.cells) if cell.cell_type == "code") + 1
    notebook.cells[place:place] = [new_code_cell(source) for source in own]
    nbformat.write(notebook, path)


def test_a_learner_who_only_presses_buttons(desk, window):
    prepare(desk, "check._seconds = 1.0", "# type here")
    right = answers(exercises.load("similarity"))
    with serving(desk) as (address, token):
        lab = Lab(window, address, token, "similarity/similarity.ipynb")
        for text in ("from check import", "check._seconds", "def dot_product_scores"):
            lab.run(lab.cell(text))
        first = lab.cell("def dot_product_scores")
        lab.press(first, "check", re.compile(r"passed: dot\s*3 of 21 points so far"))
        lab.press(first, "hint", "The checks of this answer have all passed.")
        lab.press(first, "next", "Next: check(\"additive\"), about your answer 'additive'.")

        lab.write(first, ENDLESS)
        lab.run(first)
        lab.press(first, "check", "dot: time limit")
        lab.press(first, "hint", "Hint 1 of 3 (dot)")
        lab.press(first, "hint", "Hint 2 of 3 (dot)")
        lab.write(first, right["answer-dot"])
        lab.run(first)
        lab.press(first, "check", "passed: dot")

        own = lab.cell("# type here")
        lab.write(own, '1; check("add')
        window.keyboard.press("Tab")
        window.locator(".jp-Completer-item", has_text="additive").click()
        expect(lab.cell('1; check("additive').locator(".cm-content").first).to_be_visible(timeout=PATIENCE)

        for name in ("additive_scores", "weighted_average", "attend"):
            lab.run(lab.cell(f"def {name}("))
            lab.press(lab.cell(f"def {name}("), "check", "passed: ")
        last = lab.cell("def prefer_the_middle")
        lab.run(last)
        place = lab.press(last, "check", "middle: no answer given")
        assert "The reference" not in place.inner_text()
        lab.write(last, right["answer-middle"])
        lab.run(last)
        place = lab.press(last, "check", "All points of this exercise.")
        expect(place.get_by_text("Yours", exact=True).first).to_be_visible()
        expect(place.get_by_text("The reference", exact=True).first).to_be_visible()
        assert place.locator("a", has_text="Single-head attention").get_attribute("href")
        lab.save()
        _end_kernels(address, token)
        lab = Lab(window, address, token, "similarity/similarity.ipynb")
        lab.cell("def dot_product_scores").scroll_into_view_if_needed()
        window.locator(".jupyter-widgets", has_text="Error displaying widget").first.wait_for(state="attached")
        assert window.get_by_text("Error displaying widget").filter(visible=True).count() == 0


def _end_kernels(address: str, token: str) -> None:
    with urllib.request.urlopen(f"{address}/api/sessions?token={token}") as found:
        sessions = json.load(found)
    for session in sessions:
        urllib.request.urlopen(urllib.request.Request(f"{address}/api/sessions/{session['id']}?token={token}", method="DELETE")).close()


def test_without_widgets_a_line_says_what_to_ask(desk):
    prepare(desk)
    right = answers(exercises.load("similarity"))
    with Kernel(desk / "similarity") as kernel:
        kernel.run(
            "import sys\nsys.modules['ipywidgets'] = None\nimport torch\nfrom torch import Tensor\nfrom jaxtyping import Float\nfrom check import check, hint"
        )
        assert kernel.run(right["answer-additive"], "answer-additive") == "Ask it: check.additive(), check.widths(), check.batch()"
        assert kernel.run("x = 1", "own") == ""


def test_what_a_press_does_runs_where_cells_run(desk):
    """Front ends may send messages of widgets to a thread of their own, in which an endless loop could not be stopped."""
    with Kernel(desk / "similarity") as kernel:
        kernel.run("import threading\nfrom check import check, hint\nfrom kit.buttons import _in_main_thread\nseen = []")
        kernel.run("def look():\n    seen.append(threading.current_thread() is threading.main_thread())")
        kernel.run("other = threading.Thread(target=_in_main_thread, args=(look,))\nother.start(), other.join()")
        assert kernel.run("print(seen)") == "[True]\n"


def test_names_of_checks_are_completed(desk):
    with Kernel(desk / "similarity") as kernel:
        kernel.run("from check import check, hint")
        checks = list(exercises.load("similarity").checks)
        for typed, found in {
            'check("': sorted(checks),
            'check("ad': ["additive"],
            "x = hint('wid": ["widths"],
            "check.add": ["additive"],
            "hint.mid": ["middle"],
        }.items():
            answer = kernel.client.complete(typed, reply=True, timeout=60)["content"]
            assert sorted(answer["matches"]) == found and typed[answer["cursor_start"] :] in ("ad", "wid", "add", "mid", ""), typed


@pytest.mark.parametrize(
    "text, typed",
    [('check("so', "so"), ("hint(name='", ""), ('recheck("so', None), ('check("soft")', None), ('open("so', None), ("check(so", None)],
)
def test_what_is_the_beginning_of_a_name(text, typed):
    assert beginning(text) == typed


def test_no_check_is_called_like_something_else_that_can_be_asked():
    for name in exercises.all_names():
        assert not {"answers", "hint", "next"} & set(exercises.load(name).checks)
