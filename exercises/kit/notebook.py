"""`check("name")`: the front end in the notebook, for learners."""

from __future__ import annotations

import json
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from .cells import ANSWER, CHECK, SETUP, TRY, Cell, run_here
from .forbidden import Guard, names
from .hints import Hinter
from .learner import Learner, local
from .maps import maps
from .outcome import Outcome, Verdict
from .progress import Progress
from .recognise import Evidence, Finding, Suspect, leaves_the_same, left, mistakes_by_check
from .show import as_html, as_text, display
from .source import defined_names
from .suite import VISIBLE_SEED, CheckResult, load_tests, run_check, tests_of


class Checker:
    """Runs the visible checks of the exercise in `folder` on the notebook that imported it."""

    def __init__(self, folder: Path):
        about = json.loads((folder / "exercise.json").read_text(encoding="utf-8"))
        self._points: dict[str, float] = about["points"]
        self._suspects = [Suspect.from_facts(mistake) for mistake in about["mistakes"]]
        self._guard = Guard(names(about["forbidden"]))
        self._tests = tests_of(load_tests(folder / f"test_{about['name']}.py"))
        self._progress = Progress(folder)
        self.hint = Hinter(about["hints"], self._progress)

    def __call__(self, name: str | None = None) -> None:
        """Show what becomes of one check, or of all of them."""
        if name is not None and name not in self._points:
            raise ValueError(f"there is no check {name!r} here; there are {', '.join(self._points)}")
        results = {each: self._result(each) for each in ([name] if name else self._points)}
        verdicts = self._named(results)
        self._progress.remember(verdicts)
        for verdict, each in zip(verdicts, results.values()):
            self._show(verdict, maps(each.error), self._so_far() if name else "")
        if name is None:
            self._show_total(verdicts)
        if os.environ.get("NBGRADER_EXECUTION") == "validate":
            _insist(verdicts)

    def _named(self, results: dict[str, CheckResult]) -> list[Verdict]:
        """Return the verdicts, with the names of known mistakes where these explain what the visible tests of all checks see."""
        findings = {check: Finding.of(each) for check, each in results.items()}
        if not any(leaves_the_same(suspect, finding) for suspect in self._suspects for finding in findings.values()):
            return [each.verdict for each in results.values()]
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):  # what the learner's code prints has been read once
            others = [Finding.of(self._result(check)) for check in self._points if check not in results]
            evidence = Evidence([*findings.values(), *others], self._tests, lambda test: left(test, self._learner(), VISIBLE_SEED))
            found = mistakes_by_check(evidence, self._suspects)
        return [each.verdict.with_mistake(found[check].named if check in found else None) for check, each in results.items()]

    def _result(self, name: str) -> CheckResult:
        tests = [test for test in self._tests if test.check == name and not test.gpu]
        return run_check(name, tests, self._learner(), VISIBLE_SEED, max_points=self._points[name])

    def _learner(self) -> Learner:
        return local(sys.modules["__main__"].__dict__, self._guard)

    def _show(self, verdict: Verdict, picture: str, so_far: str) -> None:
        is_passed = verdict.outcome is Outcome.PASSED
        below = "; ".join(filter(None, ["" if is_passed else self.hint.invitation(verdict.check), so_far]))
        display({"text/html": as_html(verdict, picture, below), "text/plain": as_text(verdict, below)})

    def _so_far(self) -> str:
        reached = sum(self._points.get(name, 0) for name in self._progress.passed)
        return f"{reached:g} of {sum(self._points.values()):g} points so far"

    def _show_total(self, verdicts: list[Verdict]) -> None:
        points = sum(v.score or 0 for v in verdicts)
        print(f"{points:g} of {sum(v.max_points for v in verdicts):g} points in the visible tests")
        silent = {v.check for v in verdicts if v.outcome is Outcome.NO_ANSWER}
        if before := [name for name in self._progress.passed if name in silent]:
            print(f"Passed before, and silent now: {', '.join(before)}. Run the cells with your answers again.")


def learner_from(folder: Path) -> Learner:
    """Return the learner whose answers stand in the notebook of `folder`, as it is on disk."""
    about = json.loads((folder / "exercise.json").read_text(encoding="utf-8"))
    notebook = json.loads((folder / f"{about['name']}.ipynb").read_text(encoding="utf-8"))
    cells = [_cell(cell) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    forbidden = names(about["forbidden"])
    guard = Guard(forbidden)
    cells = [cell for cell in cells if cell.kind not in (CHECK, TRY)]
    namespace, missing = run_here(cells, {cell.id: defined_names(cell.source) for cell in cells}, forbidden)
    return local(namespace, guard, missing)


def _cell(cell: dict) -> Cell:
    marks = cell["metadata"].get("nbgrader", {})
    tried = TRY in cell["metadata"].get("tags", [])
    kind = TRY if tried else CHECK if marks.get("grade") else ANSWER if marks.get("solution") else SETUP
    return Cell(str(cell.get("id", "")), kind, "".join(cell["source"]))


def _insist(verdicts: list[Verdict]) -> None:
    failed = [v for v in verdicts if v.outcome is not Outcome.PASSED]
    if failed:
        raise AssertionError("\n\n".join(map(as_text, failed)))
