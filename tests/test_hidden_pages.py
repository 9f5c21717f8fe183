"""Of a hidden test a page says one of a closed list of sentences, whatever an answer makes of its inputs."""

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from autograder.exercise import reading as exercises
from autograder.exercise.edits import replace_definitions
from autograder.intake.submission import Submission
from autograder.judging import judge
from autograder.judging.answers import answers, reference_learner
from autograder.judging.task import Task
from autograder.kit.forbidden import NoGuard
from autograder.kit.learner import local
from autograder.kit.outcome import Ended, Outcome, Raised, TimeLimit
from autograder.kit.suite import blame, explain
from autograder.limits import Limits
from autograder.sandbox.client import Worker
from tests.test_nothing_lost import _pid_of

# A number that an answer wants to get onto the page, one time and another; neither is a length that some test asks for.
SEED, SECRETS = 11, (6, 8)


def _raise(error: BaseException):
    raise error


# What an answer may do in a hidden test with a number that it has read there. Each way carries any number that fits.
CHANNELS: dict[str, Callable[[int], object]] = {
    "a length": lambda n: torch.zeros(n),
    "lengths": lambda n: torch.zeros(n, n + 1, 2 * n),
    "a value": lambda n: torch.full((2, 2), float(n)),
    "an integer": lambda n: 1000 * n,
    "text": lambda n: f"input {n}",
    "a class": lambda n: type(f"Input{n}", (), {})(),
    "a tuple": lambda n: tuple(f"input {n}" for _ in range(n)),
    "a dtype": lambda n: torch.zeros(2, 2, dtype=[torch.int8, torch.int16, torch.int32][n % 3]),
    "an error's text": lambda n: _raise(ValueError(f"input {n}")),
    "an error's name": lambda n: _raise(type(f"Input{n}Error", (Exception,), {})()),
    "an error's name with a colon": lambda n: _raise(type(f"Input{n}: ValueError", (Exception,), {})()),
    "one of Python's rarer errors": lambda n: _raise((RecursionError if n == 6 else BufferError)()),
    "an error's line": lambda n: exec("\n" * 10 * n + "raise ValueError"),
    "an error that is no answer": lambda n: _raise(NotImplementedError(f"input {n}")),
    "an error of memory": lambda n: _raise(MemoryError(f"input {n}")),
    "an attribute that is missing": lambda n: getattr(torch, f"input_{n}"),
}


def _page(exercise, test, answer: Callable) -> tuple:
    """Return all that a page may show of one hidden test of an exercise, where every name of it is the same answer."""
    names = set().union(*exercise.promised.values())
    learner = local(dict.fromkeys(names, answer), NoGuard())
    try:
        test.run(learner, SEED, reference_learner(exercise.name))
    except Exception as error:  # `run_check` would run the test on the reference too, for each answer that breaks it
        verdict = explain(test.check, test, blame(test, error, SEED), learner, 1.0)
        return verdict.outcome, verdict.question, verdict.reason, verdict.given, verdict.expected, verdict.came, verdict.note
    finally:
        learner.end_test()
    return (Outcome.PASSED,)


@pytest.mark.parametrize("name", exercises.all_names())
def test_no_choice_of_an_answer_reaches_the_page(name):
    exercise = exercises.load(name)
    hidden = [test for test in exercise.tests if test.hidden and not test.gpu and not test.measures]
    assert hidden
    told = {
        (test.name, way): {_page(exercise, test, lambda *args, **kwargs: channel(secret)) for secret in SECRETS}
        for test in hidden
        for way, channel in CHANNELS.items()
    }
    assert {where: pages for where, pages in told.items() if len(pages) > 1} == {}


def test_nor_does_a_way_in_which_a_process_ends(single_head):
    test = next(test for test in single_head.tests if test.hidden)
    learner = local({}, NoGuard())
    for errors in (
        [Ended(f"the process died of SIG{name}") for name in ("SEGV", "TERM")],
        [TimeLimit(f"no answer after {seconds} seconds") for seconds in (1, 2)],
        [Raised("ValueError", "text", f"in f, line {line}") for line in (1, 2)],
    ):
        assert len({replace(explain(test.check, test, error, learner, 1.0), in_full="") for error in errors}) == 1


DIES = """
def causal_mask(length):
    import os
    if length > {above}:
        {last}
    return torch.ones(length, length).tril().bool()
"""


def _judged(single_head, level, monkeypatch, ends: list[str], above: int = 4) -> tuple[list, list[int]]:
    """Return the verdicts on an answer that ends its process the first time as told, and the seeds with which it was judged."""
    seeds, true = [], judge._Pass.of

    def once(task):
        seeds.append(task.seed)
        source = replace_definitions(
            answers(single_head)["answer-masks"], {"causal_mask": DIES.format(last=ends[len(seeds) - 1], above=above).strip()}
        )
        return true(replace(task, submission=replace(task.submission, answers={**answers(single_head), "answer-masks": source})))

    monkeypatch.setattr(judge._Pass, "of", once)
    submission = Submission("ada", "single_head", answers(single_head))
    try:
        return judge.verdicts_on_task(Task(submission, tuple(single_head.checks), SEED, Limits(), level)), seeds
    finally:
        judge.close()


def test_what_is_judged_again_has_other_hidden_inputs_and_shows_nothing_new(single_head, level, monkeypatch):
    """The second time the answer fails where it is shown, with a text that it could have from the first time."""
    speaks = "raise ValueError('all seven numbers')"
    verdicts, seeds = _judged(single_head, level, monkeypatch, ["os._exit(0)", speaks])
    assert len(set(seeds)) == 2
    (causal,) = [verdict for verdict in verdicts if verdict.check == "causal"]
    assert causal.outcome is Outcome.RAISED
    shown = replace(causal, in_full="")
    assert "seven numbers" not in repr(shown) and "seven numbers" in causal.in_full


def test_what_somebody_else_has_ended_is_judged_as_if_nothing_had_happened(single_head, level, monkeypatch):
    """No answer can end its process so; the inputs are the same again, and all is shown."""
    end, kill = Worker.ask, []

    def killed_once(self, request, *args, **kwargs):
        if request.get("target") == "causal_mask" and not kill:
            kill.append(_pid_of(SimpleNamespace(_zygote=self.zygote), "worker"))
            os.kill(kill[0], signal.SIGKILL)
        return end(self, request, *args, **kwargs)

    monkeypatch.setattr(Worker, "ask", killed_once)
    verdicts, seeds = _judged(single_head, level, monkeypatch, ["return 7"] * 2, above=0)
    (causal,) = [verdict for verdict in verdicts if verdict.check == "causal"]
    assert kill and seeds == [SEED, SEED]
    assert causal.outcome is Outcome.WRONG and causal.came == "7"
