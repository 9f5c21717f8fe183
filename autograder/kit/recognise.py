"""Which known mistakes explain what became of an answer.

A name that is not true sends a learner to mend what is right, so one is given only where the evidence is whole. A mistake
fits where it would have failed no check that passed, and does the same in every test of the checks that it fails, whether
that test is passed or not. And nothing may be left over: the mistakes that fit must explain all wrong answers. What raised
an error or was never answered speaks for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from . import fingerprint
from .fingerprint import same
from .learner import Learner
from .outcome import JudgeFailed, Named, Outcome, Verdict
from .suite import CheckResult, Test, failure


@dataclass(frozen=True)
class Suspect:
    """A known mistake as it is recognised: the checks that it fails, and what it leaves in a test.

    That is None where it passes, a fingerprint where it fails, and {} where it fails and leaves nothing to go by.
    """

    name: str
    title: str
    hint: str
    fails: list[str]
    left: Callable[[str], dict | None]

    @classmethod
    def from_facts(cls, facts: dict) -> Suspect:
        """Return a mistake as exercise.json has it."""
        return cls(facts["name"], facts["title"], facts["hint"], facts["fails"], facts["prints"].get)

    @property
    def named(self) -> Named:
        return Named(self.name, self.title, self.hint)


@dataclass(frozen=True)
class Finding:
    """What was found of one check: its verdict and, where a test failed, its name and what the answer left there."""

    verdict: Verdict
    test: str = ""
    print: dict | None = None
    instead: tuple[tuple[frozenset[str], Finding], ...] = ()  # as `CheckResult` has it

    @classmethod
    def of(cls, result: CheckResult) -> Finding:
        """Return what is kept of a result. The error is not: the answer in it may have 64 MB, and each check may have one."""
        if result.test is None or result.error is None:
            return cls(result.verdict, instead=tuple((charged, cls.of(each)) for charged, each in result.instead))
        return cls(result.verdict, result.test.name, fingerprint.of(result.error) or {})


@dataclass(frozen=True)
class Failed:
    """A check that failed: with what outcome, in which test, and what the answer left there."""

    outcome: Outcome
    test: str
    print: dict


class Evidence:
    """What is known of an answer: the checks that it passed, those that it failed, and what it leaves in a test when it is asked."""

    def __init__(self, findings: Iterable[Finding], tests: list[Test], ask: Callable[[Test], dict | None]):
        self._tests = {test.name: test for test in tests if not (test.gpu or test.measures)}  # to measure takes a second
        self._ask = ask
        self.passed = {f.verdict.check for f in findings if f.verdict.outcome is Outcome.PASSED}
        self.failed = {
            f.verdict.check: Failed(f.verdict.outcome, f.test, f.print or {})
            for f in findings
            if f.test and f.verdict.outcome is not Outcome.NO_ANSWER
        }
        self._left: dict[str, dict | None] = {each.test: each.print for each in self.failed.values()}

    def tests_of(self, check: str) -> list[str]:
        """Return the tests of a check in which an answer may be asked again."""
        return [name for name, test in self._tests.items() if test.check == check]

    @property
    def wrong(self) -> set[str]:
        """The checks that a name must explain."""
        return {check for check, each in self.failed.items() if each.outcome is Outcome.WRONG}

    def left(self, test: str) -> dict | None:
        """Return what the answer leaves in a test, as `Suspect.left` does; raises `JudgeFailed` where it could not be asked."""
        if test not in self._left:
            self._left[test] = self._ask(self._tests[test])
        return self._left[test]


def left(test: Test, learner: Learner, seed: int, reference: Learner | None = None) -> dict | None:
    """Return the fingerprint that an answer leaves in a test; None if it passes, {} if it fails and leaves none.

    Raises `JudgeFailed` where the fault is ours: that says nothing of the answer.
    """
    error = failure(test, learner, seed, reference)
    if isinstance(error, JudgeFailed):
        raise error
    return None if error is None else fingerprint.of(error) or {}


def mistakes_by_check(evidence: Evidence, suspects: Iterable[Suspect]) -> dict[str, Suspect]:
    """Return for each check the known mistake that explains it; nothing unless they explain all wrong answers together."""
    fitting = [each for each in suspects if fits(each, evidence)]
    fitting.sort(key=lambda each: len(set(each.fails) ^ evidence.failed.keys()))
    found: dict[str, Suspect] = {}
    for suspect in fitting:
        if found.keys().isdisjoint(suspect.fails):  # one that explains less of the same would add nothing
            found |= {check: suspect for check in suspect.fails if check in evidence.failed}
    return found if evidence.wrong <= found.keys() else {}


def fits(suspect: Suspect, evidence: Evidence) -> bool:
    """Return whether a mistake contradicts nothing that passed, and does what the answer does in all checks that it fails."""
    failed = [check for check in suspect.fails if check in evidence.failed and not _raised_instead(suspect, evidence.failed[check])]
    return (
        any(leaves_the_same(suspect, evidence.failed[check]) for check in failed)
        and not any(_fails(suspect, check, evidence) for check in evidence.passed.intersection(suspect.fails))
        and all(explains(suspect, check, evidence) for check in failed)
    )


def _fails(suspect: Suspect, check: str, evidence: Evidence) -> bool:
    """Return whether a mistake fails one of the tests of a check; the hidden ones may not be among them."""
    return any(suspect.left(test) is not None for test in evidence.tests_of(check))


def leaves_the_same(suspect: Suspect, found: Finding | Failed) -> bool:
    """Return whether a mistake leaves the very result that a check failed for."""
    return bool(found.print) and same(found.print, suspect.left(found.test))


def explains(suspect: Suspect, check: str, evidence: Evidence) -> bool:
    """Return whether a mistake does what the answer does in all tests of a check that failed."""
    # The test that is known comes first: where it tells them apart, no other runs.
    tests = [evidence.failed[check].test, *evidence.tests_of(check)]
    return all(_agree(evidence.left(test), suspect.left(test)) for test in tests)


def _agree(of_answer: dict | None, of_mistake: dict | None) -> bool:
    if of_answer is None or not of_mistake:
        return (of_answer is None) == (of_mistake is None)
    return same(of_answer, of_mistake)


def _raised_instead(suspect: Suspect, failed: Failed) -> bool:
    """Return whether the answer never came so far as to show the mistake in this check."""
    return failed.outcome is Outcome.RAISED and "raised" not in (suspect.left(failed.test) or {})
