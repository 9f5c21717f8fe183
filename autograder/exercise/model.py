"""An `Exercise`: cells, checks, hints, known answers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..kit.cells import ANSWER, CHECK, SETUP, Cell
from ..kit.forbidden import names
from ..kit.source import defined_names
from .edits import replace_bodies
from .hints import Hints
from .known import KnownAnswer, read_known_answers

if TYPE_CHECKING:
    from ..kit.suite import Test


@dataclass(frozen=True)
class Exercise:
    """Everything that one folder of solutions/ holds."""

    folder: Path
    title: str
    chapter: str
    difficulty: str
    minutes: int
    forbidden_lists: tuple[str, ...]
    cells: tuple[Cell, ...]
    hints: tuple[Hints, ...]
    handed_out: dict[str, str] = field(default_factory=dict)  # by answer cell: the mistake that it has in it when learners get it
    seconds: float | None = None  # that a cell or a call may take, where the usual limit is too short

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def forbidden(self) -> list[str]:
        return names(list(self.forbidden_lists))

    @cached_property
    def checks(self) -> dict[str, float]:
        """The points of each check, in the notebook's order."""
        return {cell.id: cell.points for cell in self.cells if cell.kind == CHECK}

    def worth(self, points: float | None) -> Exercise:
        """Return the exercise with so many points in all, which its checks share as they share its own."""
        if points is None:
            return self
        factor = points / sum(self.checks.values())
        return replace(self, cells=tuple(replace(c, points=c.points * factor) if c.kind == CHECK else c for c in self.cells))

    @property
    def answers(self) -> list[Cell]:
        return [cell for cell in self.cells if cell.kind == ANSWER]

    @property
    def code(self) -> list[Cell]:
        """The cells that run before any check: imports, given code and answers."""
        return [cell for cell in self.cells if cell.kind in (ANSWER, SETUP)]

    def as_handed_out(self, cell: Cell) -> Cell:
        """Return a cell with the mistake in it that learners have to find, if there is one."""
        if cell.id not in self.handed_out:
            return cell
        mistake = next(m for m in self.mistakes if m.name == self.handed_out[cell.id])
        return replace(cell, source=replace_bodies(cell.source, mistake.definitions))

    @cached_property
    def promised(self) -> dict[str, set[str]]:
        """The names that each answer cell must define."""
        return {cell.id: defined_names(cell.source) for cell in self.answers}

    @cached_property
    def tests(self) -> list[Test]:
        from ..kit.suite import load_tests, tests_of  # imports torch, which a process that only enters marks does without

        return tests_of(load_tests(self.folder / f"test_{self.name}.py"))

    @cached_property
    def mistakes(self) -> list[KnownAnswer]:
        return read_known_answers(self.folder / "mistakes.py")

    @cached_property
    def variants(self) -> list[KnownAnswer]:
        return read_known_answers(self.folder / "variants.py")
