"""What a learner has run in this kernel, cell by cell: `check()` asks the answers that a judge would take, and nothing else.

A judge runs the given cells and the answers, from the top, in a namespace of their own. A name that lives in a cell of the
learner's own, or only in the memory of the kernel, would be missing there. So it is missing here too, with what to do about it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from hashlib import blake2b
from io import StringIO

from .cells import ANSWER, SETUP, Cell, run_here
from .magics import without_magics
from .outcome import NoAnswer, Stopped
from .source import OF_ITS_OWN, defined_names, imported_names

NOT_RUN = "its cell has not been run: write your answer there, run that cell, and then this one again"


@dataclass(frozen=True)
class Answers:
    """A namespace that the given cells and the answers have made: what is missing in it, and names that live elsewhere."""

    namespace: dict
    missing: dict[str, Stopped] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)


class Ran:
    """The last source of each answer cell that ran; `cells` are the exercise's own, as exercise.json has them."""

    def __init__(self, cells: list[dict], forbidden: list[str]):
        self._cells = [Cell(each["id"], each["kind"], each.get("source", "")) for each in cells]
        self._names = {each["id"]: set(each["names"]) for each in cells if each["kind"] == ANSWER}
        self._given = {each["id"] for each in cells}
        self._forbidden = forbidden
        self._answers: dict[str, str] = {}  # by cell
        self._strays: dict[str, str] = {}  # by the cell whose names they define, where its own never ran
        self._own: dict[str, set[str]] = {}  # names by cell, or by source where a front end gives cells no names
        self._made: tuple[tuple, Answers] | None = None

    def note(self, source: str, cell: str | None = None) -> None:
        """Remember a source that ran; `cell` is its cell's name, where the front end says so."""
        source = without_magics(source)
        if cell is not None and cell in self._names:
            self._answers[cell] = source
        elif cell not in self._given:
            self._note_other(source, cell)

    def _note_other(self, source: str, cell: str | None) -> None:
        defined = defined_names(source)
        answered = [answer for answer, names in self._names.items() if names & defined]
        for answer in answered:
            (self._answers if cell is None else self._strays)[answer] = source
        if not answered and source.strip() not in {each.source.strip() for each in self._cells}:
            self._own[cell or source] = defined | imported_names(source)

    @property
    def sources(self) -> dict[str, str]:
        """The source of each answer that ran, by cell."""
        return self._strays | self._answers

    def answers(self) -> Answers:
        """Return the answers as a judge would have them; they run again only where one has changed."""
        sources = self.sources
        key = tuple(sorted(sources.items()))
        if self._made is None or self._made[0] != key:
            cells = [Cell(c.id, c.kind, sources.get(c.id, c.source)) for c in self._cells if c.kind == SETUP or c.id in sources]
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()):  # what they print has been read when the learner ran them
                namespace, missing = run_here(cells, self._names, self._forbidden)
            silent = {
                name: NoAnswer(f"{name} is not there yet; {NOT_RUN}")
                for cell, names in self._names.items()
                if cell not in sources
                for name in names
            }
            self._made = key, Answers(namespace, silent | missing)
        lost = {name: OF_ITS_OWN.format(name) for names in self._own.values() for name in names}
        return Answers(self._made[1].namespace, self._made[1].missing, lost)

    def stamp(self, cell: str) -> str:
        """Return what tells whether the answers down to this cell are still the same; "" where one of them has not been run."""
        sources, above = self.sources, list(self._names)
        needed = above[: above.index(cell) + 1]
        if not all(each in sources for each in needed):
            return ""
        return blake2b("\0".join(sources[each] for each in needed).encode(errors="replace"), digest_size=8).hexdigest()


def watching(ran: Ran, after: Callable[[str], None]) -> bool:
    """Have each cell noted that runs in this kernel from now on, and those that ran before; return False where there is no kernel.

    `after` is told the name of each cell that has run, by front ends that give cells names.
    """
    from IPython import get_ipython  # only a notebook has it

    shell = get_ipython()
    if shell is None:
        return False
    for source in shell.history_manager.input_hist_raw:
        ran.note(source)

    def note(info) -> None:
        if info.store_history:
            ran.note(info.raw_cell, getattr(info, "cell_id", None))

    def tell(result) -> None:
        if result.info is not None and result.info.store_history:
            after(getattr(result.info, "cell_id", None) or "")

    shell.events.register("pre_run_cell", note)
    shell.events.register("post_run_cell", tell)
    return True
