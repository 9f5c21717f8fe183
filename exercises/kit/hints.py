"""`hint("name")`: three hints for learners who are stuck, one after another. They cost nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .progress import Progress
from .show import display

ORDER = ("first", "second", "third")


class Hinter:
    """Opens the hints of an exercise; `groups` are those of one cell each, with its checks and texts."""

    def __init__(self, groups: list[dict], progress: Progress):
        self._group = {check: group for group in groups for check in group["checks"]}
        self._progress = progress
        self._open: dict[str, int] = {}  # in this kernel

    def __call__(self, name: str = "") -> None:
        """Show the open hints for a check, and open the next one.

        After a restart the first call opens none, so that running a whole notebook again does not.
        """
        if name not in self._group:
            lead = (
                f"there is no check {name!r} here; there are"
                if name
                else 'say for which check, such as hint("' + next(iter(self._group)) + '"); there are'
            )
            raise ValueError(f"{lead} {', '.join(self._group)}")
        cell, texts = self._group[name]["cell"], self._group[name]["texts"]
        before = self._opened(name)
        is_reminder = before > 0 and cell not in self._open
        self._open[cell] = before if is_reminder else min(before + 1, len(texts))
        self._progress.open(cell, self._open[cell])
        self._show(name, texts[: self._open[cell]])

    def __dir__(self) -> list[str]:
        return list(self._group)

    def __getattr__(self, name: str) -> Callable[[], None]:
        """Let `hint.scale()` be `hint("scale")`, so that Tab completes it."""
        if name.startswith("_") or name not in self._group:
            raise AttributeError(name)
        return partial(self, name)

    def invitation(self, name: str) -> str:
        """Return the sentence that says what `hint` has for a check."""
        opened, count = self._opened(name), len(self._group[name]["texts"])
        return f'hint("{name}") ' + (f"opens the {ORDER[opened]} of {count} hints" if opened < count else "shows its hints again")

    def _opened(self, name: str) -> int:
        group = self._group[name]
        return min(max(self._open.get(group["cell"], 0), self._progress.opened(group["cell"])), len(group["texts"]))

    def _show(self, name: str, texts: list[str]) -> None:
        group = self._group[name]
        left = len(group["texts"]) - len(texts)
        served = ", ".join(group["checks"])
        lead = f"Hint {len(texts)} of {len(group['texts'])} ({served})"
        foot = "Run the cell again for the next one." if left else "That was the last one; what is left is yours."
        numbered = [f"{number}. {text}" for number, text in enumerate(texts, 1)]
        display(
            {"text/markdown": "\n".join([f"**{lead}**", "", *numbered, "", f"*{foot}*"]), "text/plain": "\n".join([lead, *numbered, foot])}
        )
