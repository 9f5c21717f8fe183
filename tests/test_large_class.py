"""The formgrader shows a large class from few rows: what nbgrader itself would show, and no more work for one exercise where there are others."""

import json
import shutil
import sqlite3
from collections import Counter
from contextlib import contextmanager

import pytest
from nbgrader.apps.api import NbGraderAPI
from nbgrader.apps.baseapp import NbGrader
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import Engine, event, inspect, text

from autograder import files
from autograder.authoring.release import write_sources
from autograder.plugins import for_nbgrader
from autograder.plugins.for_nbgrader import lay_out
from autograder.plugins.quick import QuickAPI
from autograder.records import database, gradebook
from autograder.records.course import Course
from bench.marked import marked_class
from bench.ways import name_of

LEARNERS = 12
NAMES = ["single_head", "similarity", "multi_head"]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return _marked(tmp_path_factory.mktemp("small"), LEARNERS, NAMES[:1])


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    return _marked(tmp_path_factory.mktemp("large"), LEARNERS, NAMES)


def _marked(folder, learners: int, names: list[str]) -> Course:
    course = Course(folder / "course", None)
    marked_class(course, learners, names)
    write_sources(course.root / "source")
    lay_out(course)
    return course


def api_of(course: Course, kind: type = QuickAPI) -> NbGraderAPI:
    """Return what a request of the formgrader gets."""
    app = NbGrader()
    named = {name: str(course.root / name) for name in ("source", "release", "autograded", "feedback")}
    named |= {"submitted": str(course.for_nbgrader)}
    folders = CourseDirectory(
        parent=app,
        root=str(course.root),
        course_id="school",
        db_url=course.gradebook_url,
        **{f"{name}_directory": path for name, path in named.items()},
    )
    return kind(folders, parent=app)


PAGES = {
    "assignments": lambda api: api.get_assignments(),
    "notebooks": lambda api: api.get_notebooks("single_head"),
    "submissions": lambda api: api.get_submissions("single_head"),
    "submitted notebooks": lambda api: api.get_notebook_submissions("single_head", "single_head"),
    "places in the list": lambda api: api.get_notebook_submission_indices("single_head", "single_head"),
    "learners": lambda api: api.get_students(),
    "one learner": lambda api: api.get_student_submissions(name_of(3)),
    "one learner's notebooks": lambda api: api.get_student_notebook_submissions(name_of(3), "single_head"),
    "somebody else": lambda api: api.get_student_submissions("nobody"),
}


@pytest.fixture(scope="module")
def touched(large, tmp_path_factory):
    """The large class after people have been at it: marks by hand, a mark that is missing, a new submission, work not judged, names."""
    folder = tmp_path_factory.mktemp("touched") / "course"
    shutil.copytree(large.root, folder)
    course = Course(folder, None)
    with database.opened(course.gradebook_url) as opened:
        opened.update_or_create_student(name_of(0), first_name="Ada", last_name="Lovelace")
        opened.update_or_create_assignment("single_head", duedate="2026-11-20 12:05:00 UTC")
        by_hand, missing = (opened.find_grade("softmax", "single_head", "single_head", name_of(number)) for number in (1, 2))
        by_hand.manual_score, by_hand.extra_credit = 1.5, 0.25
        missing.auto_score, missing.needs_manual_grade = None, True
        opened.find_submission_notebook("single_head", "single_head", name_of(4)).flagged = True
        opened.db.commit()
    (course.submitted / name_of(3) / "single_head" / "timestamp.txt").write_text("2026-11-21 00:00:00 UTC\n")
    shutil.copytree(course.submitted / name_of(5), course.submitted / "late_comer")
    shutil.rmtree(course.root / "autograded" / name_of(6) / "single_head")
    lay_out(course)
    return course


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_nbgrader_itself_would_show(touched, page):
    ours, theirs = (json.dumps(PAGES[page](api_of(touched, kind)), sort_keys=True) for kind in (QuickAPI, NbGraderAPI))
    assert ours == theirs and len(json.loads(ours)) >= 1


def test_what_changes_meanwhile_shows_on_the_next_request(touched):
    def shown() -> dict:
        (one,) = (each for each in api_of(touched).get_submissions("single_head") if each["student"] == name_of(7))
        return one

    def average() -> float:
        return next(each["average_score"] for each in api_of(touched).get_assignments() if each["name"] == "single_head")

    before, average_before = shown(), average()
    with database.opened(touched.gradebook_url) as opened:
        opened.find_grade("softmax", "single_head", "single_head", name_of(7)).extra_credit = 13
        opened.db.commit()
    assert shown()["score"] == before["score"] + 13 and average() == pytest.approx(average_before + 13 / LEARNERS)
    shutil.move(touched.root / "gradebook.db", touched.root / "elsewhere.db")
    assert api_of(touched).get_submissions("single_head")[0]["score"] == 0  # an empty one was made
    shutil.move(touched.root / "elsewhere.db", touched.root / "gradebook.db")
    assert shown()["score"] == before["score"] + 13


@contextmanager
def counted():
    """Count the statements of this process's gradebooks, and the hundreds of steps that SQLite takes for them."""
    count = Counter()

    def statement(connection, cursor, *more):
        count["statements"] += 1
        assert isinstance(cursor.connection, sqlite3.Connection)
        cursor.connection.set_progress_handler(lambda: count.update(steps=1), 100)

    event.listen(Engine, "before_cursor_execute", statement)
    try:
        yield count
    finally:
        event.remove(Engine, "before_cursor_execute", statement)


def _cost(course: Course, page: str, kind: type = QuickAPI) -> Counter:
    PAGES[page](api_of(course, kind))  # a gradebook is opened once
    with counted() as count:
        PAGES[page](api_of(course, kind))
    return count


@pytest.mark.parametrize("page", ["notebooks", "submissions", "submitted notebooks", "places in the list"])
def test_a_page_of_one_exercise_costs_the_same_where_there_are_more(small, large, page):
    alone, among = _cost(small, page), _cost(large, page)
    # The list of learners, which nbgrader looks up beside the submissions, adds up the points of all they have.
    assert among["statements"] == alone["statements"] and among["steps"] <= (2.2 if page == "submissions" else 1.3) * alone["steps"] + 5


@pytest.fixture(scope="module")
def fewer(tmp_path_factory):
    return _marked(tmp_path_factory.mktemp("fewer"), LEARNERS // 3, NAMES)


@pytest.mark.parametrize("page", PAGES)
def test_no_page_asks_once_for_each_learner(fewer, large, page):
    assert _cost(fewer, page)["statements"] == _cost(large, page)["statements"]


def test_a_learners_page_costs_no_more_in_a_larger_class(fewer, large):
    assert _cost(large, "one learner")["steps"] <= 1.3 * _cost(fewer, "one learner")["steps"] + 5
    theirs = _cost(large, "one learner", NbGraderAPI)
    assert _cost(large, "one learner")["steps"] < theirs["steps"] / 3


def test_what_has_not_changed_is_not_read_again(large, monkeypatch):
    monkeypatch.setattr(files, "SETTLED", 0)  # as if all of it had been handed in a while ago
    lay_out(large)
    read = []
    monkeypatch.setattr(for_nbgrader, "beside", lambda course, *of: read.append(of) or {"timestamp.txt": None})
    lay_out(large)
    assert not read
    (large.submitted / name_of(1) / "similarity" / "timestamp.txt").unlink()
    lay_out(large)
    assert read == [(name_of(1), "similarity")]


def test_what_has_changed_is_laid_out_anew(large):
    time, told = (folder / name_of(2) / "similarity" / "timestamp.txt" for folder in (large.submitted, large.for_nbgrader))
    for text_of_time in ("2026-11-25 08:30:00 UTC\n", "2026-11-25 08:30:01 UTC\n"):  # at once, and of the same length
        time.write_text(text_of_time)
        lay_out(large)
        assert told.read_text() == text_of_time
    time.unlink()
    shutil.rmtree(large.for_nbgrader / name_of(3))
    lay_out(large)
    assert not told.exists() and (large.for_nbgrader / name_of(3) / "similarity" / "similarity.ipynb").exists()


def test_what_is_half_written_is_found_in_a_folder_that_was_calm(large, monkeypatch):
    monkeypatch.setattr(files, "SETTLED", 0)
    assert files.remove_half_written(large.root, *large.written) == files.remove_half_written(large.root, *large.written) == []
    left = large.feedback(name_of(4), "similarity").with_name(".similarity.html.1-0")
    left.write_text("half")
    assert files.remove_half_written(large.root, *large.written) == [left] and not left.exists()


def test_a_gradebook_that_was_made_without_indexes_gets_them(course, single_head):
    with database.opened(course.gradebook_url) as opened:
        for index in database.INDEXES:
            opened.db.execute(text(f"drop index {index.name}"))
        opened.db.commit()
    with database.opened(course.gradebook_url) as opened:
        gradebook.prepare(opened, course.gradebook_url, single_head)
        found = {each["name"] for table in inspect(opened.engine).get_table_names() for each in inspect(opened.engine).get_indexes(table)}
    assert {index.name for index in database.INDEXES} <= found
