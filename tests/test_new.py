"""`python -m autograder new NAME`: what it makes is an exercise already."""

import pytest

from autograder.authoring import matrix, new
from autograder.errors import AuthorError
from autograder.exercise import reading as exercises


@pytest.fixture
def solutions(tmp_path, monkeypatch):
    monkeypatch.setattr(exercises, "SOLUTIONS", tmp_path)
    return tmp_path


def test_new_exercise_has_a_green_matrix(solutions):
    new.write_exercise("brand_new")
    found = matrix.matrix(["brand_new"], seed=1)
    assert found["problems"] == []
    assert list(found["mistakes"]["brand_new"]) == ["squared"] and exercises.load("brand_new").title == "Brand new"


@pytest.mark.parametrize("name", ["Brand", "1st", "a-b", "../x", ""])
def test_name_that_is_none_is_refused(solutions, name):
    with pytest.raises(AuthorError, match="small letters"):
        new.write_exercise(name)
    assert not list(solutions.iterdir())


def test_folder_that_is_there_is_left_alone(solutions):
    (solutions / "mine").mkdir()
    with pytest.raises(AuthorError, match="is there already"):
        new.write_exercise("mine")


@pytest.mark.parametrize(
    "file, old, new_text, message",
    [
        ("mistakes.py", "def twice(x):", "def twice(x:", r"mine/mistakes\.py, line \d+: this is not Python"),
        ("mistakes.py", "def twice(x):", "def thrice(x):", "the answers define none of thrice"),
        ("test_mine.py", "def test_", "def test_(", r"mine/test_mine\.py, line \d+: this is not Python"),
        ("test_mine.py", '    """', '    # """', r"test_mine\.py, line \d+: \w+ has no docstring"),
    ],
    ids=["mistakes that are no Python", "a mistake that changes nothing", "tests that are no Python", "a test without its question"],
)
def test_an_authors_slip_is_named_with_its_place(solutions, file, old, new_text, message):
    new.write_exercise("mine")
    path = solutions / "mine" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new_text, 1))
    if old == '    """':
        path.write_text("\n".join(line for line in text.splitlines() if not line.startswith('    """')) + "\n")
    with pytest.raises(AuthorError, match=message):
        matrix.matrix(["mine"], seed=1)
