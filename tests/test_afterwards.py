"""What learners see when all checks have passed: right answers beside their own. Before that nobody reads them by accident."""

import ast
import shutil
from dataclasses import asdict

import pytest
from nbgrader.coursedir import CourseDirectory

from autograder.authoring.learner_files import afterwards, afterwards_file
from autograder.authoring.release import write_exercises
from autograder.authoring.sample import handed_in
from autograder.errors import CannotGoOn
from autograder.exercise import reading as exercises
from autograder.exercise.right import REFERENCE, right_answers
from autograder.judging.answers import answers
from autograder.kit.afterwards import FOLDER, answers_of, as_html, as_text, pack, unpack
from autograder.plugins.exchange import ReleaseAssignment
from autograder.records.course import Course
from autograder.records.settings import read_settings
from tests.conftest import ROOT
from tests.kernels import Kernel


@pytest.fixture
def desk(tmp_path):
    shutil.copytree(ROOT / "exercises", tmp_path / "desk", ignore=shutil.ignore_patterns("__pycache__", ".progress.json"))
    return tmp_path / "desk"


@pytest.mark.parametrize("name", exercises.all_names())
def test_each_answer_has_a_reference_and_another_style(name):
    exercise = exercises.load(name)
    found = right_answers(exercise)
    assert [part.cell for part in found] == [cell.id for cell in exercise.answers]
    for part in found:
        assert part.answers[0].title == REFERENCE and 2 <= len(part.answers) <= 3
        for answer in part.answers:
            defined = {node.name for node in ast.parse(answer.source).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
            assert defined & exercise.promised[part.cell] and "SOLUTION" not in answer.source
        assert len({answer.source for answer in part.answers}) == len(part.answers)
    assert answers_of(ROOT / "exercises" / name) == [_plain(part) for part in found]


def _plain(part) -> dict:
    return unpack(pack([asdict(part)]))[0]


def test_a_helper_that_an_answer_uses_is_shown_with_it():
    (part,) = [each for each in right_answers(exercises.load("similarity")) if each.cell == "answer-dot"]
    assert "def all_pairs" in part.answers[2].source and "all_pairs(" in part.answers[2].source


def test_every_hunted_bug_says_where_it_was_published():
    found = right_answers(exercises.load("bug_hunt"))
    assert len(found) == 8 and all(part.published for part in found)
    addresses = [address for part in found for address in part.published.values() if address]
    assert len(set(addresses)) == len(addresses) > 8 and all(address.startswith("https://github.com/") for address in addresses)
    page = as_html([_plain(part) for part in found], {})
    assert page.count("This bug was published: ") == 8 and all(f"href='{address}'" in page for address in addresses)


def test_nothing_of_a_learners_is_markup():
    part = {"cell": "answer-x", "names": ["x"], "answers": [{"title": "<b>", "source": "<script>"}], "published": {}}
    page = as_html([part], {"answer-x": "a < b  # </pre><script>alert(1)</script>"})
    assert "<script>" not in page and "a &lt; b" in page and "&lt;b&gt;" in page


def run(kernel, notebook, but: str = "") -> dict[str, str]:
    return {cell.id: kernel.run(cell.source, cell.id) for cell in notebook.cells if cell.cell_type == "code" and cell.id != but}


def test_they_are_shown_when_the_last_check_has_passed_and_not_before(desk):
    exercise = exercises.load("similarity")
    notebook = handed_in(exercise, exercise.variants[0])
    *_, last = exercise.checks
    with Kernel(desk / "similarity") as kernel:
        shown = run(kernel, notebook, but=last)
        assert not any("The reference" in text for text in shown.values())
        refused = kernel.run("check.answers()")
        assert refused == f"Right answers are shown when all checks have passed; still open: {last}.\n"
        text = kernel.run(f'check("{last}")', last)
        assert (
            "All points of this exercise. Next: Single-head attention (single_head/single_head.ipynb). Its chapter: Self-attention." in text
        )
        assert "# dot_product_scores: The reference" in text and "# attend: " in text
        assert "The reference" not in kernel.run(f'check("{last}")', last)  # once is enough
        assert kernel.run("check.answers()") in text
        assert kernel.run("check.next()") in text

        wrong = "def dot_product_scores(query, key):\n    return query @ key.mT / 2"
        kernel.run(wrong, "answer-dot")
        assert "The reference" not in kernel.run("check.answers()")


def test_the_learners_own_answer_stands_beside_them(desk):
    exercise = exercises.load("similarity")
    own = answers(exercise, exercise.variants[0])
    page = as_html(answers_of(desk / "similarity"), own)
    assert page.count(">Yours</div>") == len(exercise.answers) and page.index(">Yours<") < page.index(f">{REFERENCE}<")
    assert page.count("<details") == len(exercise.answers) and page.count(" open>") == 1


@pytest.mark.parametrize("text", [None, "", "x", "x\n!!", "x\nAAAA", "x\n\u00e9"])
def test_an_exercise_that_comes_without_them_says_so(desk, text):
    path = desk / FOLDER / "similarity.txt"
    path.unlink()
    if text is not None:
        path.write_text(text, encoding="utf-8")
    assert answers_of(desk / "similarity") == []


def test_a_walk_without_them(desk):
    exercise = exercises.load("similarity")
    shutil.rmtree(desk / FOLDER)
    with Kernel(desk / "similarity") as kernel:
        *_, text = run(kernel, handed_in(exercise, exercise.variants[0])).values()
        assert "All points of this exercise. Next: " in text and "The reference" not in text
        assert kernel.run("check.answers()") == "This copy of the exercise came without right answers.\n"


def test_packed_they_are_the_same_everywhere_and_hold_no_line_of_an_answer():
    for name in exercises.all_names():
        exercise = exercises.load(name)
        text = (ROOT / "exercises" / afterwards_file(name)).read_text(encoding="utf-8")
        assert text == afterwards(exercise) == afterwards(exercise) and text.startswith("Right answers, packed")
        assert not any(line.strip() in text for cell in exercise.answers for line in cell.source.splitlines() if len(line.strip()) > 8)


def test_a_course_decides_what_travels(course, monkeypatch, tmp_path):
    monkeypatch.setattr(exercises, "all_names", lambda: ["similarity"])
    course.root.mkdir(exist_ok=True)
    monkeypatch.setenv("ATTENTION_COURSE", str(course.root))
    settings = course.root / "course.toml"
    for text, in_folder, in_exchange in (
        (None, True, False),
        ('[feedback]\nreference = "after the deadline"\n', True, False),
        ("[notebook]\nreference = true\n", True, True),
        ("[notebook]\nreference = false\n", False, False),
    ):
        settings.unlink(missing_ok=True) if text is None else settings.write_text(text)
        reveals = Course().settings.reveals
        target = tmp_path / "out"
        write_exercises(target, with_answers=reveals is not False)
        assert (target / FOLDER / "similarity.txt").is_file() is in_folder
        fetched = tmp_path / "fetched"
        ReleaseAssignment(coursedir=CourseDirectory(), authenticator=None).do_copy(str(target / "similarity"), str(fetched))
        assert (fetched / f"{FOLDER}.txt").is_file() is in_exchange and bool(answers_of(fetched)) is in_exchange
        shutil.rmtree(fetched)


def test_the_setting_is_true_or_false(tmp_path):
    (tmp_path / "course.toml").write_text('[notebook]\nreference = "yes"\n')
    with pytest.raises(CannotGoOn, match="`notebook.reference` is 'yes' and must be true or false"):
        read_settings(tmp_path)


def test_text_names_each_answer():
    text = as_text(answers_of(ROOT / "exercises" / "bug_hunt"))
    assert "# merge_heads, test_merge: The reference" in text and "# This bug was published: " in text
