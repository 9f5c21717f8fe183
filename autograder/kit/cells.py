"""Cells of an exercise, and running them in this process."""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass

from .classify import classify
from .forbidden import found_in, message
from .outcome import Forbidden, NoAnswer, Stopped
from .source import defined_names  # noqa: F401  (its users import it from here)

ANSWER, CHECK, SETUP, TEXT, TRY = "answer", "check", "setup", "text", "try"  # TRY: for the learner to run, not for judges


@dataclass(frozen=True)
class Cell:
    """One cell: its id, its kind, its source and, for a check, its points."""

    id: str
    kind: str
    source: str
    points: float = 0.0


def refused(cell: Cell, forbidden: list[str]) -> Stopped | None:
    """Return why an answer may not run at all, or None."""
    used = found_in(cell.source, forbidden) if cell.kind == ANSWER else None
    return Forbidden(f"{used}: {message(used)}") if used else None


def run_here(cells: list[Cell], promised: dict[str, set[str]], forbidden: list[str]) -> tuple[dict, dict[str, Stopped]]:
    """Return the namespace after all cells have run, and for each promised name that is missing, the reason.

    `promised` says which names each answer cell must define.
    """
    silence_check()
    namespace: dict = {"__name__": "__main__"}
    missing: dict[str, Stopped] = {}
    for cell in cells:
        error = refused(cell, forbidden) or _error_of(cell, namespace)
        if error:
            missing.update(dict.fromkeys(promised.get(cell.id, ()), error))
    return namespace, missing


def silence_check() -> None:
    """Make `from check import check, hint` import two functions that do nothing, where there is no such module."""
    silent = types.ModuleType("check")
    silent.__dict__.update(check=lambda *names: None, hint=lambda *names: None)
    sys.modules.setdefault("check", silent)


def _error_of(cell: Cell, namespace: dict) -> Stopped | None:
    try:
        exec(compile(cell.source, f"<{cell.id}>", "exec"), namespace)
    except Exception as error:
        stopped = classify(error)
        return stopped if not isinstance(stopped, NoAnswer) else NoAnswer(f"the cell {cell.id} is not answered yet")
    return None
