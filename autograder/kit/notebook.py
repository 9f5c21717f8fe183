"""`check("name")`: the front end in the notebook, for learners."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path

from .afterwards import answers_of, show_answers
from .buttons import Press, offer
from .cells import ANSWER, CHECK
from .classify import place_of
from .complete import complete
from .forbidden import Guard, names
from .hints import Hinter
from .learner import Learner, local
from .maps import maps
from .outcome import Outcome, TimeLimit, Verdict
from .patience import at_most
from .progress import Progress
from .ran import Ran, watching
from .recognise import Evidence, Finding, Suspect, leaves_the_same, left, mistakes_by_check
from .show import as_html, as_text, display
from .status import COURSE, next_after, standings
from .suite import VISIBLE_SEED, CheckResult, load_tests, run_check, tests_of

CHECK_SECONDS = 20.0  # for one check, of a machine that may be slow; the judge's limits are others
NAME_SECONDS = 5.0  # for finding out which known mistake it is, after which it has no name


class Checker:
    """Runs the visible checks of the exercise in `folder` on the answers in the notebook that imported it."""

    def __init__(self, folder: Path):
        about = json.loads((folder / "exercise.json").read_text(encoding="utf-8"))
        forbidden = names(about["forbidden"])
        self._folder, self._led_on = folder, False
        self._points: dict[str, float] = about["points"]
        self._reading: dict[str, str] = about["reading"]
        self._seconds = CHECK_SECONDS + 2 * about["seconds"]
        self._suspects = [Suspect.from_facts(mistake) for mistake in about["mistakes"]]
        self._guard = Guard(forbidden)
        self._tests = tests_of(load_tests(folder / f"test_{about['name']}.py"))
        self._progress = Progress(folder)
        self._ran = Ran(about["cells"], forbidden)
        self._answer_above = _answers_above(about["cells"])
        self._is_notebook = watching(self._ran, self._offer)
        self.hint = Hinter(about["hints"], self._progress)
        complete(self._points)

    def __call__(self, name: str | None = None) -> None:
        """Show what becomes of one check, or of all of them."""
        if name is not None and name not in self._points:
            raise ValueError(f"there is no check {name!r} here; there are {', '.join(self._points)}")
        try:
            self._check([name] if name else list(self._points), adds_up=name is None)
        except KeyboardInterrupt as stopped:
            print(f"Stopped{place_of(stopped)}.")

    def __dir__(self) -> list[str]:
        return [*self._points, "answers", "hint", "next"]

    def __getattr__(self, name: str) -> Callable[[], None]:
        """Let `check.scale()` be `check("scale")`, so that Tab completes it."""
        if name.startswith("_") or name not in self._points:
            raise AttributeError(name)
        return partial(self, name)

    def next(self) -> None:
        """Say what comes next: a check of this exercise, or when all have passed another exercise."""
        still_open = self._still_open()
        if not still_open:
            self._lead_on(again=True)
            return
        name = still_open[0]
        answer = self._answer_above[name].removeprefix("answer-")
        print(f'Next: check("{name}"){f", about your answer {answer!r}" if answer else ""}.')

    def answers(self) -> None:
        """Show right answers beside the learner's own, when all checks have passed."""
        found = answers_of(self._folder)
        if still_open := self._still_open():
            print(f"Right answers are shown when all checks have passed; still open: {', '.join(still_open)}.")
        elif found:
            show_answers(found, self._ran.sources if self._is_notebook else {})
        else:
            print("This copy of the exercise came without right answers.")

    def _still_open(self) -> list[str]:
        standing = self._progress.standing(self._stamps())
        return [name for name in self._points if name not in standing]

    def _offer(self, cell: str) -> None:
        """Show the buttons that belong below an answer, if this is one."""
        checks = [check for check, above in self._answer_above.items() if above == cell]
        if not checks:
            return
        presses = [
            Press("check", lambda: self._check_briefly(checks), f"ask {', '.join(checks)}, of the answer as it ran last"),
            Press("hint", lambda: self._hint_for_first(checks), "the next hint for the first of these checks that has not passed"),
            Press("next", self.next, "what comes next"),
        ]
        offer(presses, f"Ask it: {', '.join(f'check.{each}()' for each in checks)}")

    def _check_briefly(self, wanted: list[str]) -> None:
        """Show the first of these checks that fails, and of the others the names."""
        results, verdicts = self._asked_all(wanted)
        passed = [v.check for v in verdicts if v.outcome is Outcome.PASSED]
        failed = [v for v in verdicts if v.outcome is not Outcome.PASSED]
        if passed:
            print(f"passed: {', '.join(passed)}")
        if failed:
            self._show(failed[0], maps(results[failed[0].check].error), self._so_far())
        else:
            print(self._so_far())
        if failed[1:]:
            print(f"not passed yet either: {', '.join(v.check for v in failed[1:])}")
        self._lead_on()

    def _hint_for_first(self, checks: list[str]) -> None:
        still_open = [name for name in self._still_open() if name in checks]
        if still_open:
            self.hint(still_open[0])
        else:
            print("The checks of this answer have all passed.")

    def _asked_all(self, wanted: list[str]) -> tuple[dict[str, CheckResult], list[Verdict]]:
        results = {each: self._result(each) for each in wanted}
        verdicts = self._named(results)
        self._progress.remember(verdicts, self._stamps())
        return results, verdicts

    def _check(self, wanted: list[str], adds_up: bool) -> None:
        results, verdicts = self._asked_all(wanted)
        told: dict[str, str] = {}  # mistakes that were shown, with the check
        for verdict, each in zip(verdicts, results.values()):
            if verdict.mistake and verdict.mistake.name in told:
                print(f"{verdict.check}: {verdict.outcome.value}, the same mistake as in {told[verdict.mistake.name]}")
                continue
            if verdict.mistake:
                told[verdict.mistake.name] = verdict.check
            self._show(verdict, maps(each.error), "" if adds_up else self._so_far())
        if adds_up:
            self._show_total(verdicts)
        self._lead_on()
        if os.environ.get("NBGRADER_EXECUTION") == "validate":
            _insist(verdicts)

    def _named(self, results: dict[str, CheckResult]) -> list[Verdict]:
        """Return the verdicts, with the names of known mistakes where these explain what the visible tests of all checks see."""
        findings = {check: Finding.of(each) for check, each in results.items()}
        if not any(leaves_the_same(suspect, finding) for suspect in self._suspects for finding in findings.values()):
            return [each.verdict for each in results.values()]
        try:
            with at_most(NAME_SECONDS), redirect_stdout(StringIO()), redirect_stderr(StringIO()):  # what the code prints has been read once
                others = [Finding.of(self._asked(check)) for check in self._points if check not in results]
                evidence = Evidence([*findings.values(), *others], self._tests, lambda test: left(test, self._learner(), VISIBLE_SEED))
                found = mistakes_by_check(evidence, self._suspects)
        except TimeLimit:
            found = {}
        return [each.verdict.with_mistake(found[check].named if check in found else None) for check, each in results.items()]

    def _result(self, name: str) -> CheckResult:
        try:
            with at_most(self._seconds):
                return self._asked(name)
        except TimeLimit as limit:
            return CheckResult(Verdict(name, Outcome.TIME, self._points[name], reason=str(limit)))

    def _asked(self, name: str) -> CheckResult:
        tests = [test for test in self._tests if test.check == name and not test.gpu]
        return run_check(name, tests, self._learner(), VISIBLE_SEED, max_points=self._points[name])

    def _learner(self) -> Learner:
        """Return the answers as a judge would have them; outside a notebook, whatever the program that runs has defined."""
        if not self._is_notebook:
            return local(sys.modules["__main__"].__dict__, self._guard)
        answers = self._ran.answers()
        return local(answers.namespace, self._guard, answers.missing, answers.lost)

    def _stamps(self) -> dict[str, str]:
        """Return, by check, what tells whether the answers that it rests on are still the same."""
        return {check: self._ran.stamp(cell) for check, cell in self._answer_above.items()} if self._is_notebook else {}

    def _show(self, verdict: Verdict, picture: str, so_far: str) -> None:
        is_passed = verdict.outcome is Outcome.PASSED
        below = "; ".join(filter(None, ["" if is_passed else self.hint.invitation(verdict.check), so_far]))
        display({"text/html": as_html(verdict, picture, below), "text/plain": as_text(verdict, below)})

    def _lead_on(self, again: bool = False) -> None:
        """When this exercise has all its points, show right answers, and which exercise comes next; once, or when asked `again`."""
        if not again and (self._led_on or self._still_open()):
            return
        self._led_on = True
        course = self._folder.parent
        coming = next_after(standings(course), self._folder.name) if (course / COURSE).is_file() else None
        title, address = self._reading["title"], self._reading["address"]
        following = [(f"Next: [{coming.title}](../{coming.link}).", f"Next: {coming.title} ({coming.link}).")] if coming else []
        reading = (
            f"Its chapter: [{title}]({address})." if address else f"Its chapter: *{title}*.",
            f"Its chapter: {title} {address}".rstrip() + ".",
        )
        markdown, plain = (
            " ".join(each) for each in zip(("**All points of this exercise.**", "All points of this exercise."), *following, reading)
        )
        display({"text/markdown": markdown, "text/plain": plain})
        if not again and (found := answers_of(self._folder)):
            show_answers(found, self._ran.sources if self._is_notebook else {})
            print("check.answers() shows them again.")

    def _so_far(self) -> str:
        stamps, most = self._stamps(), sum(self._points.values())
        standing = self._progress.standing(stamps)
        changed = [name for name in self._points if name in self._progress.passed and name not in standing]
        again = f"; your answers have changed since {', '.join(changed)} passed: run check() to ask again" if changed else ""
        return f"{sum(self._points.get(name, 0) for name in standing):g} of {most:g} points so far{again}"

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
    forbidden = names(about["forbidden"])
    guard, ran = Guard(forbidden), Ran(about["cells"], forbidden)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            ran.note("".join(cell["source"]), str(cell.get("id", "")))
    answers = ran.answers()
    return local(answers.namespace, guard, answers.missing, answers.lost)


def _answers_above(cells: list[dict]) -> dict[str, str]:
    """Return, by check, the answer cell above it."""
    above, found = "", {}
    for cell in cells:
        above = cell["id"] if cell["kind"] == ANSWER else above
        if cell["kind"] == CHECK:
            found[cell["id"]] = above
    return found


def _insist(verdicts: list[Verdict]) -> None:
    failed = [v for v in verdicts if v.outcome is not Outcome.PASSED]
    if failed:
        raise AssertionError("\n\n".join(map(as_text, failed)))
