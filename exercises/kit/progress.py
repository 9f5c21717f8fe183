"""What a learner has reached in one exercise, in a file beside the notebook that outlives its kernel."""

from __future__ import annotations

import json
import os
from pathlib import Path

from .outcome import Outcome, Verdict

FILE = ".progress.json"


class Progress:
    """Which checks passed when they were last answered, and how many hints are open.

    It is only a reminder: no mark comes from it. So a file that is damaged, or can't be written, is no
    error. It is read each time, because a second kernel may have written to it.
    """

    def __init__(self, folder: Path):
        self._path = folder / FILE

    @property
    def passed(self) -> list[str]:
        """The checks that passed when they were last answered, by name."""
        return sorted(self._passed())

    def standing(self, stamps: dict[str, str]) -> list[str]:
        """Return the checks that passed and rest on the same answers still; `stamps` tells answers apart, and says nothing of what has not run."""
        return sorted(name for name, stamp in self._passed().items() if not stamp or stamps.get(name, "") in ("", stamp))

    def opened(self, hints: str) -> int:
        """Return how many hints are open below a cell."""
        count = self._hints().get(hints)
        return count if type(count) is int and count > 0 else 0

    def remember(self, verdicts: list[Verdict], stamps: dict[str, str] | None = None) -> None:
        """Remember which of these checks passed, and on which answers; one without an answer, as after a restart, changes nothing."""
        answered = {v.check: v.outcome is Outcome.PASSED for v in verdicts if v.outcome is not Outcome.NO_ANSWER}
        kept = {name: stamp for name, stamp in self._passed().items() if name not in answered}
        self._save(kept | {name: (stamps or {}).get(name, "") for name, is_passed in answered.items() if is_passed}, self._hints())

    def open(self, hints: str, count: int) -> None:
        self._save(self._passed(), {**self._hints(), hints: count})

    def _passed(self) -> dict[str, str]:
        found = self._load().get("passed")
        if isinstance(found, list):  # as earlier versions wrote it
            found = dict.fromkeys(filter(lambda name: isinstance(name, str), found), "")
        return {name: str(stamp) for name, stamp in found.items()} if isinstance(found, dict) else {}

    def _hints(self) -> dict:
        hints = self._load().get("hints")
        return hints if isinstance(hints, dict) else {}

    def _load(self) -> dict:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def _save(self, passed: dict[str, str], hints: dict) -> None:
        beside = self._path.with_name(f"{FILE}.{os.getpid()}")
        try:
            beside.write_text(json.dumps({"passed": passed, "hints": hints}, indent=1) + "\n", encoding="utf-8")
            os.replace(beside, self._path)
        except OSError:
            beside.unlink(missing_ok=True)
