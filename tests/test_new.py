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
