"""A notebook that is opened alone, as on Colab: where the repository's address is known, its first cell fetches what it lacks."""

import shutil
import subprocess
import sys

import nbformat
import pytest

from autograder.exercise import notebook as notebooks
from autograder.exercise import reading as exercises
from autograder.exercise.cache import clear
from autograder.intake.reading import read_submission
from tests.conftest import ROOT
from tests.kernels import Kernel

sys.path.insert(0, str(ROOT / "book" / "extensions"))

import exercise_downloads  # noqa: E402

NOTEBOOK = "exercises/single_head/single_head.ipynb"


@pytest.fixture
def repository(tmp_path):
    """A repository that can be cloned, with the exercises in it."""
    folder = tmp_path / "repository"
    shutil.copytree(ROOT / "exercises", folder / "exercises", ignore=shutil.ignore_patterns("__pycache__", ".progress.json"))
    git = ["git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "exercises"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    return folder.as_uri()


@pytest.fixture
def configured(monkeypatch):
    """Return a function that names a repository, as `_config.yml` may."""

    def name(url: str):
        clear()
        monkeypatch.setattr(notebooks, "site_settings", lambda: {"repository": {"url": url}})
        return notebooks.released_notebook(exercises.load("single_head"))

    yield name
    clear()


def test_a_notebook_alone_fetches_its_checks(configured, repository, tmp_path):
    notebook = configured(repository)
    alone = tmp_path / "alone"
    alone.mkdir()
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    assert first.id == "fetch" and "remove-cell" in first.metadata.tags
    with Kernel(alone) as kernel:
        shown = kernel.notebook(notebook)
        assert "Error" not in shown["fetch"] and "could not be fetched" not in shown["fetch"]
        assert "softmax: no answer given" in shown["softmax"]
        kernel.run(first.source, "fetch")
    assert [path.name for path in alone.iterdir()] == ["attention-by-hand"]


def test_a_notebook_that_cannot_fetch_them_says_so(configured, tmp_path):
    address = (tmp_path / "nowhere").as_uri()
    (fetch,) = [cell for cell in configured(address).cells if cell.id == "fetch"]
    (tmp_path / "alone").mkdir()
    with Kernel(tmp_path / "alone") as kernel:
        assert f"The checks could not be fetched from {address}" in kernel.run(fetch.source, "fetch")


def test_beside_its_checks_the_cell_does_nothing_and_nobody_judges_it(configured, tmp_path, single_head):
    notebook = configured("https://example.org/nowhere")
    folder = tmp_path / "desk" / "single_head"
    shutil.copytree(ROOT / "exercises", tmp_path / "desk", ignore=shutil.ignore_patterns("__pycache__", ".progress.json"))
    (fetch,) = [cell for cell in notebook.cells if cell.id == "fetch"]
    with Kernel(folder) as kernel:
        assert kernel.run(fetch.source, "fetch") == ""
    path = tmp_path / "single_head.ipynb"
    path.write_text(nbformat.writes(notebook), encoding="utf-8")
    handed_in = read_submission(path, "ada", single_head)
    assert set(handed_in.answers) == {cell.id for cell in single_head.answers} and not handed_in.lost_names


def test_without_a_repository_there_is_no_such_cell(configured):
    assert "fetch" not in {cell.id for cell in configured("").cells}


@pytest.mark.parametrize(
    "settings, hub, found",
    [
        ({}, "", []),
        ({"repository": {}}, "https://hub.example.org", []),
        (
            {"repository": {"url": "https://github.com/ada/attention.git"}},
            "",
            [f"https://colab.research.google.com/github/ada/attention/blob/main/{NOTEBOOK}"],
        ),
        ({"repository": {"url": "https://git.example.org/ada/attention"}}, "", []),
        (
            {"repository": {"url": "https://git.example.org/ada/attention/", "branch": "course"}},
            "https://hub.example.org/",
            [
                "https://hub.example.org/hub/user-redirect/git-pull?repo=https%3A%2F%2Fgit.example.org%2Fada%2Fattention&branch=course"
                f"&urlpath=lab%2Ftree%2Fattention%2F{NOTEBOOK.replace('/', '%2F')}"
            ],
        ),
    ],
)
def test_pages_open_a_notebook_elsewhere_where_an_address_is_known(settings, hub, found):
    assert [address for address, _ in exercise_downloads.elsewhere(settings, hub, NOTEBOOK)] == found
