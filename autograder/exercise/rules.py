"""The form of an exercise's source: every rule that can be checked without running it; errors name file, line and cell."""

from __future__ import annotations

from pathlib import Path

from ..errors import AuthorError
from ..kit.cells import ANSWER, SETUP, TEXT
from ..kit.forbidden import LISTS
from ..kit.source import imported_names
from .model import Exercise
from .places import Place
from .shapes import check_shapes
from .test_file import tested, without_question

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
DIFFICULTIES = ("easy", "medium", "hard")
REQUIRED_IMPORTS = {"check", "hint"}


def check_header(about: dict, file: str, book: Path) -> None:
    """Raise `AuthorError` unless the header says all that a learner wants to know before starting."""
    # What a chapter opens with, and no other page.
    chapters = sorted(path.stem for path in book.glob("*.md") if "} After this chapter you can" in path.read_text(encoding="utf-8"))
    rules = {
        "title": (isinstance(about.get("title"), str), "a title, for example `title: Single-head attention`"),
        "chapter": (about.get("chapter") in chapters, f"one of the book's chapters: {', '.join(chapters)}"),
        "difficulty": (about.get("difficulty") in DIFFICULTIES, f"one of {', '.join(DIFFICULTIES)}"),
        "minutes": (type(about.get("minutes")) is int and about["minutes"] > 0, "a whole number: how long a learner will need"),
        "seconds": (_is_time(about.get("seconds")), "how many seconds a call may take, for example 30, where the usual limit is too short"),
        "forbidden": (
            set(about.get("forbidden", [])) <= set(LISTS),
            f"a list of what may not be taken ready-made, out of {', '.join(LISTS)}",
        ),
    }
    for field, (is_kept, wanted) in rules.items():
        if not is_kept:
            raise AuthorError(f"{file}, header: `{field}` is {about.get(field)!r} and must be {wanted}")


def _is_time(seconds) -> bool:
    return seconds is None or type(seconds) in (int, float) and seconds > 0


def check_form(exercise: Exercise, places: list[Place]) -> None:
    """Raise `AuthorError` for the first rule that an exercise's folder breaks."""
    _check_files(exercise)
    if exercise.cells[0].kind != TEXT or not exercise.cells[0].source.startswith("# "):
        raise AuthorError(f"{places[0]}: a notebook begins with its title, in a text cell with the line `# # {exercise.title}`")
    kinds = {cell.id: cell.kind for cell in exercise.cells}
    seen: set[str] = set()
    for place in places:
        if place.cell in seen & set(kinds):
            raise AuthorError(f"{place}: this name stands there twice; give each cell its own")
        seen.add(place.cell)
        _check_markers(place, kinds.get(place.cell) == ANSWER)
        check_shapes(place)
    _check_required_imports(exercise, places[0].file)
    known = {mistake.name for mistake in exercise.mistakes} if exercise.handed_out else set()
    if unknown := set(exercise.handed_out.values()) - known:
        raise AuthorError(f"{places[0].file}: {sorted(unknown)[0]} is to be handed out, and mistakes.py has no such class")
    _check_tests(exercise, {place.cell: place for place in places})


def _check_files(exercise: Exercise) -> None:
    wanted = (f"{exercise.name}.py", f"test_{exercise.name}.py", "mistakes.py", "variants.py")
    for needed in wanted:
        if not (exercise.folder / needed).is_file():
            raise AuthorError(f"solutions/{exercise.name}: {needed} is missing; an exercise has {', '.join(wanted)}")


def _check_markers(place: Place, is_answer: bool) -> None:
    begun = 0
    for number, line in place.numbered():
        if BEGIN in line and begun:
            raise AuthorError(f"{place.at(number)}: a second BEGIN SOLUTION before END SOLUTION; the first is in line {begun}")
        if END in line and not begun:
            raise AuthorError(f"{place.at(number)}: END SOLUTION without BEGIN SOLUTION")
        begun = number if BEGIN in line else 0 if END in line else begun
    if begun:
        raise AuthorError(f"{place.at(begun)}: BEGIN SOLUTION without END SOLUTION")
    if any(BEGIN in line for line in place.text) != is_answer:
        raise AuthorError(f"{place}: an answer cell, and no other, holds BEGIN SOLUTION and END SOLUTION")


def _check_required_imports(exercise: Exercise, file: str) -> None:
    given = {name for cell in exercise.cells if cell.kind == SETUP for name in imported_names(cell.source)}
    if missing := REQUIRED_IMPORTS - given:
        raise AuthorError(
            f"{file}: no cell imports {' and '.join(sorted(missing))}; the first code cell ends with `from check import check, hint`"
        )


def _check_tests(exercise: Exercise, place_of: dict[str, Place]) -> None:
    with_tests = tested(exercise)
    file = f"{exercise.name}.py"
    for test, line in without_question(exercise):
        raise AuthorError(f"test_{file}, line {line}: {test} has no docstring; it is the question that a learner reads when the test fails")
    if orphans := with_tests - set(exercise.checks):
        raise AuthorError(f"test_{file}: check {sorted(orphans)} has no cell in {file}")
    if untested := set(exercise.checks) - with_tests:
        raise AuthorError(f"{place_of[sorted(untested)[0]]}: no test in test_{file} is marked with this check")
