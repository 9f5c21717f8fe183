"""A new exercise: a folder to be filled, which follows every rule of form already."""

from __future__ import annotations

from pathlib import Path

from ..errors import AuthorError
from ..exercise import reading as exercises

TEMPLATES = Path(__file__).parent / "template"


def write_exercise(name: str) -> list[Path]:
    """Write solutions/NAME/ and return its files; raises `AuthorError` if that can't be its name."""
    if not exercises.NAME.fullmatch(name):
        raise AuthorError(f"{name!r} can't be an exercise's name: use small letters, digits and _, beginning with a letter")
    folder = exercises.SOLUTIONS / name
    if folder.exists():
        raise AuthorError(f"solutions/{name} is there already; choose another name, or work in that folder")
    folder.mkdir(parents=True)
    return [_write(template, folder, name) for template in sorted(TEMPLATES.glob("*.py"))]


def _write(template: Path, folder: Path, name: str) -> Path:
    path = folder / template.name.replace("NAME", name)
    title = name.replace("_", " ").capitalize()
    path.write_text(template.read_text(encoding="utf-8").replace("NAME", name).replace("TITLE", title), encoding="utf-8")
    return path
