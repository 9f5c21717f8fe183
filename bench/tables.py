"""What a script has measured, as the book commits it: comma-separated values below a line that says how they came about."""

from __future__ import annotations

import csv
import io
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import torch

from .machine import machine, measured_on


def write(rows: Sequence[Any], page: Path, about: str, form: str = ".4g") -> None:
    """Write rows, dataclasses of one kind, to a file; `form` is that of a float."""
    page.write_text(as_table([asdict(row) for row in rows], about, form), encoding="utf-8")


def say(rows: Sequence[Mapping], about: str, page: Path | None, form: str) -> None:
    """Print rows of the same columns, and write them to `page` if there is one."""
    text = as_table(rows, about, form)
    click.echo(text)
    if page:
        page.write_text(text, encoding="utf-8")


def as_table(rows: Sequence[Mapping], about: str, form: str) -> str:
    """Return rows of the same columns as text."""
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    file = io.StringIO()
    file.write(f"# {measured_on({'machine': machine(), 'versions': versions})}; {about}.\n")
    writer = csv.DictWriter(file, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: format(each, form) if isinstance(each, float) else each for name, each in row.items()} for row in rows)
    return file.getvalue()
