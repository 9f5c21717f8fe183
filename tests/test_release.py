"""exercises/ is what solutions/ generates, and gives nothing away. Nor does the site."""

import ast
import html
import io
import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import nbformat
import pytest
from exercise_downloads import ARCHIVE

from autograder.authoring import facts, kept
from autograder.authoring.learner_files import facts_of
from autograder.authoring.release import EXERCISES, write_exercises
from autograder.errors import AuthorError
from autograder.exercise import cache
from autograder.exercise import reading as exercises
from autograder.exercise.notebook import STUB, released_notebook
from autograder.kit.learner import Learner
from autograder.kit.source import defined_names
from tests.conftest import ROOT

SITE = ROOT / "_build" / "html"


def _files(folder: Path) -> dict[str, str]:
    found = {
        p.relative_to(folder): p
        for p in folder.rglob("*")
        if p.is_file() and "__pycache__" not in p.parts and ".ipynb_checkpoints" not in p.parts
    }
    return {str(name): path.read_text(encoding="utf-8") for name, path in found.items()}


def test_exercises_are_what_solutions_generate(tmp_path):
    write_exercises(tmp_path)
    made, kept = _files(tmp_path), _files(EXERCISES)
    assert set(made) == set(kept), "run `python -m autograder release` and commit what it writes"
    assert [name for name in made if made[name] != kept[name]] == [], "run `python -m autograder release` and commit what it writes"


def test_facts_are_found_out_again_when_what_they_rest_on_has_changed(tmp_path, monkeypatch):
    made, copy = [], tmp_path / "solutions"
    shutil.copytree(exercises.SOLUTIONS / "similarity", copy / "similarity")
    monkeypatch.setattr(exercises, "SOLUTIONS", copy)
    monkeypatch.setattr(kept, "KEPT", tmp_path / "_build")
    monkeypatch.setattr(facts, "facts_of", lambda exercise: made.append(exercise.name) or facts_of(exercise))
    try:
        cache.clear()
        assert list(facts.facts_of_all(["similarity"])) == list(facts.facts_of_all(["similarity"])) and made == ["similarity"]
        path = copy / "similarity" / "mistakes.py"
        hint = exercises.load("similarity").mistakes[0].hint
        path.write_text(path.read_text().replace(hint, "A better question?"))
        cache.clear()
        assert "A better question?" in next(facts.facts_of_all(["similarity"])) and made == ["similarity"] * 2
    finally:
        cache.clear()


def test_what_was_released_is_committed():
    """Where no source has been touched since the last commit, as in CI, releasing has changed nothing."""
    status = ["git", "-c", f"safe.directory={ROOT}", "status", "--porcelain"]
    changed = subprocess.run([*status, "solutions", "autograder", "exercises"], cwd=ROOT, capture_output=True, text=True)
    if changed.returncode != 0:
        pytest.skip("this folder is not under git")
    paths = [line[3:] for line in changed.stdout.splitlines()]
    assert any(not path.startswith("exercises/") for path in paths) or paths == [], "commit what `python -m autograder release` wrote"


def test_nbgrader_generates_the_same(command, course):
    release = course.root / "release"
    for name in ("single_head", "bug_hunt", "capstone", "rotary"):  # with mistakes to repair, cells to try, pictures
        command("nbgrader", "generate_assignment", name, f"--CourseDirectory.release_directory={release}")
        made, kept = _files(release / name), _files(EXERCISES / name)
        assert made == kept


def _secret_lines() -> set[str]:
    """Return every line that only answers, hidden tests, mistakes and variants have."""
    secret: set[str] = set()
    for name in exercises.all_names():
        exercise = exercises.load(name)
        hidden = {t.name for t in exercise.tests if t.hidden}
        text = (exercise.folder / f"test_{name}.py").read_text()
        for node in ast.parse(text).body:
            if getattr(node, "name", None) in hidden:
                secret |= set(ast.get_source_segment(text, node).splitlines()[2:])  # what follows the question
        for cell in exercise.answers:
            secret |= {
                line
                for region in re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", cell.source, re.DOTALL)
                for line in region.splitlines()
            }
        for known in exercise.mistakes + exercise.variants:
            secret |= {line for source in known.definitions.values() for line in source.splitlines()}
    return {re.sub(r"\s+", " ", line).strip() for line in secret}


def _allowed_lines() -> set[str]:
    """Return the lines that learners are given on purpose: visible tests, stubs, the kit."""
    given = {text for name, text in _files(EXERCISES).items() if name.endswith(".py")}
    cells = {c.source for name in exercises.all_names() for c in released_notebook(exercises.load(name)).cells}
    return {re.sub(r"\s+", " ", line).strip() for text in given | cells for line in text.splitlines()}


@pytest.fixture(scope="module")
def secrets() -> list[str]:
    found = sorted(line for line in _secret_lines() - _allowed_lines() if len(line) > 24)
    assert len(found) > 100  # else this test would look for nothing
    return found


def test_no_line_of_an_answer_or_a_hidden_test_is_handed_out(secrets):
    whole = re.sub(r"\s+", " ", "\n".join(_unpacked(name, text) for name, text in _files(EXERCISES).items()))
    assert [line for line in secrets if line in whole] == []


def _unpacked(name: str, text: str) -> str:
    return "\n".join(c.source for c in nbformat.reads(text, as_version=4).cells) if name.endswith(".ipynb") else text


def test_stubs_have_no_answer(single_head):
    for name in exercises.all_names():
        for cell in released_notebook(exercises.load(name)).cells:
            if cell.id.startswith("answer-"):
                assert STUB in cell.source and "SOLUTION" not in cell.source


def test_names_that_tests_use_are_all_handed_out():
    for name in exercises.all_names():
        exercise = exercises.load(name)
        tree = ast.parse((exercise.folder / f"test_{name}.py").read_text(encoding="utf-8"))
        used = {
            n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "learner"
        }
        given = {n for c in released_notebook(exercise).cells if c.cell_type == "code" for n in defined_names(c.source)}
        promised = set().union(*exercise.promised.values())
        assert used - set(dir(Learner)) and used - set(dir(Learner)) <= given
        assert {n for c in released_notebook(exercise).cells if c.id.startswith("answer-") for n in defined_names(c.source)} <= promised


METHODS = ("def __init__(", "def forward(")
READ_BY_PEOPLE = (".html", ".js", ".txt", ".ipynb", ".md", ".py")


def _texts_of_the_site():
    """Yield the name and the text of every page and script, also of those inside an archive."""
    for path in SITE.rglob("*"):
        if path.suffix in READ_BY_PEOPLE:
            yield path.name, path.read_text(encoding="utf-8", errors="replace")
        elif path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                yield from ((name, archive.read(name).decode()) for name in archive.namelist() if name.endswith(READ_BY_PEOPLE))


def test_site_gives_nothing_away(secrets):
    assert SITE.is_dir(), "the site is not built: run `make site`"
    texts = list(_texts_of_the_site())
    assert {name.rpartition(".")[2] for name, _ in texts} == {"html", "js", "txt", "ipynb", "md", "py"}
    for name, text in texts:
        if name.endswith(".ipynb"):
            text = _unpacked(name, text)
        plain = html.unescape(re.sub(r"<[^>]+>", "", text)) if name.endswith(".html") else text
        plain = re.sub(r"\s+", " ", plain)
        # The chapters teach in the words of the answers: `weights = softmax(scores)` and the head of a method are vocabulary, not an answer.
        assert [line for line in secrets if len(line) > 28 and line in plain and not line.startswith(METHODS)] == [], name


def test_zip_of_the_site_is_the_exercises():
    archive = SITE / ARCHIVE
    with zipfile.ZipFile(io.BytesIO(archive.read_bytes())) as unpacked:
        names = {n for n in unpacked.namelist() if not n.endswith("/")}
        packed = {n.removeprefix("attention-by-hand/exercises/"): unpacked.read(n).decode() for n in names}
    assert packed == _files(EXERCISES)


def test_answers_that_somebody_wrote_into_exercises_are_not_kept_silently(tmp_path, monkeypatch):
    """A learner's own copy is made by `make lab`; exercises/ itself always follows solutions/."""
    monkeypatch.setattr(exercises, "all_names", lambda: ["single_head"])
    write_exercises(tmp_path)
    path = tmp_path / "single_head" / "single_head.ipynb"
    before = path.read_text()
    path.write_text(before.replace("not answered yet", "my answer"))
    assert path in write_exercises(tmp_path) and path.read_text() == before
    left = tmp_path / "kit" / "of_an_earlier_release.py"
    left.write_text("")
    assert write_exercises(tmp_path) == [left] and not left.exists()


RULES = {
    "BEGIN SOLUTION without END SOLUTION": (
        lambda s: s.replace("### END SOLUTION", "", 1),
        "a second BEGIN|BEGIN SOLUTION without END|no, holds",
    ),
    "END SOLUTION alone": (lambda s: s.replace("### BEGIN SOLUTION", "", 1), "END SOLUTION without BEGIN SOLUTION"),
    "no markers": (lambda s: s.replace("### BEGIN SOLUTION", "").replace("### END SOLUTION", ""), "an answer cell, and no other"),
    "no points": (lambda s: s.replace('check="scale" points=2', 'check="scale"'), 'cell "scale": a check needs points'),
    "a name twice": (lambda s: s.replace('check="weights"', 'check="mask"'), 'cell "mask": this name stands there twice'),
    "a check without a test": (lambda s: s.replace('check="scale"', 'check="scales"'), "has no cell in"),
    "an unknown list": (lambda s: s.replace("[softmax, attention]", "[softmaks]"), "header: `forbidden` is \\['softmaks'\\]"),
    "an unknown chapter": (
        lambda s: s.replace("chapter: softmax", "chapter: hardmax"),
        "header: `chapter` is 'hardmax' and must be one of",
    ),
    "no difficulty": (lambda s: s.replace("#     difficulty: medium\n", ""), "header: `difficulty` is None and must be one of easy"),
    "minutes in words": (lambda s: s.replace("minutes: 75", "minutes: an hour"), "header: `minutes` is 'an hour'"),
    "two hints": (lambda s: s.replace("# 3. Take from each row", "# Take from each row"), 'cell "hints": 2 hints where 3 are asked for'),
    "a first hint that tells": (lambda s: s.replace("powers of $e$?", "powers of $e$."), 'cell "hints": the first hint is not a question'),
    "no hints below an answer": (lambda s: _without_hints_of_masks(s), 'cell "causal": no hints help with this check'),
    "hints below text": (
        lambda s: s.replace("# ## Two masks", '# ## Two masks\n\n# %% [markdown] tags=["hints"]\n# 1. What?'),
        "hints stand right below an answer or a check",
    ),
    "hints for nothing": (
        lambda s: (
            s
            + '\n# %% answer="idle"\n### BEGIN SOLUTION\nidle = 1\n### END SOLUTION\n\n# %% [markdown] tags=["hints"]\n# 1. What?\n# 2. That.\n# 3. Thus.\n'
        ),
        "these help with no check",
    ),
    "shapes that do not fit": (
        lambda s: s.replace("w_query [5 d_model, 2 d_k]", "w_query [6 d_model, 2 d_k]"),
        "x @ w_query: 5 d_model meet 6 d_model",
    ),
    "no hint imported": (lambda s: s.replace("import check, hint", "import check"), "no cell imports hint"),
    "a title that is none": (lambda s: s.replace("# # Single-head", "# Single-head"), "a notebook begins with its title"),
}


def _without_hints_of_masks(source: str) -> str:
    begin = source.index("# %%", source.index("def padding_mask"))
    return source[:begin] + source[source.index("# %% check", begin) :]


@pytest.mark.parametrize("change, words", RULES.values(), ids=RULES)
def test_author_is_told_file_and_cell(tmp_path, single_head, change, words):
    folder = tmp_path / "single_head"
    folder.mkdir()
    for file in single_head.folder.glob("*.py"):
        text = file.read_text()
        (folder / file.name).write_text(change(text) if file.name == "single_head.py" else text)
    with pytest.raises(AuthorError, match="single_head.py.*(" + words + ")"):
        exercises.read_exercise(folder)


def test_line_that_an_author_is_told_is_the_right_one(tmp_path, single_head):
    shutil.copytree(single_head.folder, tmp_path / "single_head", ignore=shutil.ignore_patterns("__pycache__"))
    path = tmp_path / "single_head" / "single_head.py"
    lines = path.read_text().splitlines()
    end = max(number for number, line in enumerate(lines) if "END SOLUTION" in line)
    begin = max(number for number, line in enumerate(lines) if "BEGIN SOLUTION" in line)
    path.write_text("\n".join([*lines[:end], *lines[end + 1 :]]))
    with pytest.raises(AuthorError, match=f'^single_head.py, line {begin + 1}, cell "answer-module": BEGIN SOLUTION without END SOLUTION'):
        exercises.read_exercise(path.parent)


def test_author_is_told_of_a_mistake_without_hint(tmp_path):
    path = tmp_path / "mistakes.py"
    path.write_text('class wrong:\n    """It was wrong."""\n    fails = ["x"]\n')
    from autograder.exercise.known import read_known_answers

    with pytest.raises(AuthorError, match="class wrong: `hint` and `fails`"):
        read_known_answers(path)


def test_unknown_exercise_is_one_sentence(command):
    done = command("python", "-m", "autograder", "grade", "transformers", code=2)
    assert "no exercise is called 'transformers'" in done.stdout and "Traceback" not in done.stdout + done.stderr


def test_facts_for_check_hold_no_code():
    for name in exercises.all_names():
        facts = json.loads((EXERCISES / name / "exercise.json").read_text())
        about = {"name", "title", "chapter", "reading", "difficulty", "minutes", "forbidden"}
        assert set(facts) == about | {"points", "seconds", "cells", "hints", "mistakes"}
        shown = {cell["id"]: "".join(cell["source"]) for cell in json.loads((EXERCISES / name / f"{name}.ipynb").read_text())["cells"]}
        assert all(cell["source"] == shown[cell["id"]] for cell in facts["cells"] if "source" in cell)
        assert {tuple(sorted(cell)) for cell in facts["cells"]} <= {("id", "kind"), ("id", "kind", "names"), ("id", "kind", "source")}
        for mistake in facts["mistakes"]:
            assert set(mistake) == {"name", "title", "hint", "fails", "prints"}
