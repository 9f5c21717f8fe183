"""What is ours is never held against a learner, and no submission keeps a judge for long."""

import os
import signal
import socket
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
import torch

from autograder.errors import CannotGoOn
from autograder.exercise import reading as exercises
from autograder.exercise.edits import replace_definitions
from autograder.intake.submission import Submission
from autograder.judging import judge as this_judge
from autograder.judging.answers import answers, known_learner, reference_learner
from autograder.judging.judge import verdicts_on_task
from autograder.judging.session import Session
from autograder.judging.task import Task
from autograder.judging.verdicts import counted, verdicts_on
from autograder.kit import expect
from autograder.kit.outcome import Ended, JudgeFailed, Outcome, Sentence, Stopped, TimeLimit, Wrong
from autograder.kit.show import as_text, evidence
from autograder.kit.suite import blame, failure, hidden, run_check, test_of, visible
from autograder.limits import Limits
from autograder.sandbox import wire
from autograder.sandbox.client import Worker, Zygote
from tests.test_nothing_lost import _pid_of

CAUSAL = "def causal_mask(length):\n    {}"


def with_causal(exercise, body: str) -> dict[str, str]:
    return {name: replace_definitions(source, {"causal_mask": CAUSAL.format(body)}) for name, source in answers(exercise).items()}


def task_of(exercise, sources: dict[str, str], limits: Limits) -> Task:
    return Task(Submission("ada", exercise.name, sources), tuple(exercise.checks), 3, limits)


@pytest.fixture(autouse=True)
def no_zygote_left():
    yield
    this_judge.close()


# A submission's time


def test_all_cells_and_calls_together_have_a_limit(zygote, single_head):
    sleeping = {
        name: f"import time\ntime.sleep(0.4)\n{source}" for name, source in with_causal(single_head, "import os; os._exit(0)").items()
    }
    ends = []  # seconds, counted from the submission's first, by which each request has to be answered

    class Noting(Session):
        def _ask(self, request, seconds=None, way=Worker.ask):
            def noted(worker, request, seconds):
                ends.append(self._spent + seconds)
                return way(worker, request, seconds)

            return super()._ask(request, seconds, noted)

    with Noting(zygote, single_head, sleeping, Limits(request_seconds=1.0, requests=3)) as session:
        verdicts = {v.check: v for v in verdicts_on(single_head, session.learner, seed=3)}
        with pytest.raises(TimeLimit, match="together took 3 seconds, which is all that they may take"):
            session.learner.causal_mask(3)
        assert session._spent >= 3
    assert len(ends) > 3 and max(ends) == pytest.approx(3)
    assert Outcome.TIME in {v.outcome for v in verdicts.values()} and len(verdicts) == len(single_head.checks)


def test_time_for_a_whole_submission_grows_with_that_for_a_call():
    assert Limits().allowing(30.0).submission_seconds == 5 * Limits().submission_seconds > 100


# Doubts


@pytest.mark.parametrize("request_", ["cell", "call"])
def test_a_worker_that_somebody_else_stops_is_held_against_nobody(single_head, monkeypatch, request_):
    stopped = []

    class Stopping(Session):
        def _ask(self, request, *more):
            if not stopped and request["do"] == request_:
                stopped.append(request)
                os.kill(_pid_of(self, "worker"), signal.SIGSTOP)
            return super()._ask(request, *more)

    monkeypatch.setattr(this_judge, "Session", Stopping)
    verdicts = verdicts_on_task(task_of(single_head, answers(single_head), Limits(request_seconds=2.0)))
    assert stopped and {v.outcome for v in verdicts} == {Outcome.PASSED}


def test_who_sleeps_is_judged_once_more(single_head):
    begin = time.monotonic()
    verdicts = {
        v.check: v.outcome
        for v in verdicts_on_task(
            task_of(single_head, with_causal(single_head, "import time; time.sleep(100)"), Limits(request_seconds=2.0))
        )
    }
    assert verdicts["causal"] is Outcome.TIME and verdicts["padding"] is Outcome.PASSED
    assert time.monotonic() - begin >= 2 * 2.0


@pytest.mark.parametrize("waited, computed, is_idle", [(0.0, 0.3, False), (0.0, 0.05, True), (5.0, 5.3, False), (5.0, 5.05, True)])
def test_who_computes_is_out_of_time_at_once(waited, computed, is_idle):
    mine, theirs = socket.socketpair()
    zygote = SimpleNamespace(end=lambda pid, patience: {"cpu_seconds": computed}, use=lambda pid: {"starved_seconds": 0.0})
    worker = Worker(zygote, mine, 1, Limits(), waited=waited)
    with mine, theirs, pytest.raises(TimeLimit):
        worker.ask({"do": "call"}, 0.3)
    assert worker.was_idle is is_idle


# Failures of ours


def dead_zygote(session) -> None:
    os.kill(_pid_of(session, "zygote"), signal.SIGKILL)
    session._zygote.forkserver._process.wait()


@pytest.mark.parametrize("loaded", [True, False], ids=["with a worker", "without"])
@pytest.mark.parametrize("way", ["mutation_test", "measured"])
def test_a_dead_zygote_is_our_failure(level, single_head, way, loaded):
    ways = {
        "mutation_test": lambda callee: callee.mutation_test("mask", lambda question: {}),
        "measured": lambda callee: callee.measured((3,)),
    }
    with Zygote(level) as zygote:
        session = Session(zygote, single_head, answers(single_head))
        if loaded:
            session.learner.causal_mask(3)
        dead_zygote(session)
        with pytest.raises(JudgeFailed):
            ways[way](session.learner.causal_mask)


def test_our_failure_is_nothing_that_a_test_catches():
    assert not issubclass(JudgeFailed, Stopped) and not issubclass(JudgeFailed, (TypeError, RuntimeError, AttributeError))


@pytest.mark.parametrize(
    "error",
    [OSError("no more files"), MemoryError(), wire.Closed("gone"), wire.BadFrame("odd"), TimeoutError(), JudgeFailed("gone")],
    ids=lambda e: type(e).__name__,
)
def test_what_no_answer_can_raise_is_our_failure(error):
    @visible("scale")
    def test_that_breaks(learner):
        raise error

    assert isinstance(blame(test_of(test_that_breaks), error, 1, reference_learner("single_head")), JudgeFailed)
    verdict = run_check("scale", [test_of(test_that_breaks)], reference_learner("single_head"), 1, None, 2.0).verdict
    assert verdict.outcome is Outcome.JUDGE_FAILED and verdict.score is None


def test_a_sandbox_that_cannot_be_started_stops_the_run(single_head, monkeypatch):
    def full(level):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(this_judge, "Zygote", full)
    with pytest.raises(CannotGoOn, match="the sandbox cannot be started .*No space left.*run the same command again"):
        verdicts_on_task(task_of(single_head, answers(single_head), Limits()))


# Memory


def test_known_answers_do_not_grow_with_the_class():
    exercise = exercises.load("encoder_layer")
    for _ in range(2):
        verdicts_on(exercise, known_learner(exercise.name, exercise.mistakes[0].name), seed=3)
    for learner in (reference_learner(exercise.name), known_learner(exercise.name, exercise.mistakes[0].name)):
        assert learner._drop.__self__._kept == {}


def test_modules_are_there_until_their_test_ends():
    exercise = exercises.load("encoder_layer")
    reference = reference_learner(exercise.name)
    assert [failure(test, reference, 3, reference) for test in exercise.tests if not test.gpu] == [None] * len(
        [t for t in exercise.tests if not t.gpu]
    )


# Hidden tests stay hidden


SECRET = 271828


@hidden("causal")
def asks_for_a_secret(learner):
    """Which number is it?"""
    learner.causal_mask(SECRET)


def reports(session, test=asks_for_a_secret) -> tuple[str, str]:
    """Return what a learner and what an instructor read of a hidden test."""
    verdict = run_check("causal", [test_of(test)], session.learner, 1, reference_learner("single_head"), 1.0).verdict
    assert verdict.outcome is not Outcome.PASSED
    return "\n".join(text for _, text in evidence(verdict)), as_text(verdict)


TALKATIVE = {
    "an error's words": ("raise ValueError(str(length))", "ValueError, with inputs that are not shown"),
    "an error's class": ("raise type(f'E{length}', (Exception,), {})()", "an error, with inputs that are not shown"),
    "a function's name": ("exec(f'def f{length}(): 1 / 0', globals()); globals()[f'f{length}']()", "ZeroDivisionError"),
    "no answer": ("raise NotImplementedError(str(length))", "NotImplementedError, or a name that is not defined"),
    "no memory": ("raise MemoryError(str(length))", "more memory"),
    "a forged end": (
        'import os\n    text = b\'{"message": {"%d": 1}, "tensors": []}\' % length\n    for fd in range(3, 64):\n'
        "        try:\n            os.write(fd, len(text).to_bytes(4, 'little') + text)\n        except OSError:\n            pass",
        "the process was gone before the answer came",
    ),
    "forged words": (
        'import os\n    text = b\'{"message": {"dict": {"error": "Raised", "texts": ["E%d", "%d", "in f%d, line 3"]}}, "tensors": []}\' % ((length,) * 3)\n    for fd in range(3, 64):\n'
        "        try:\n            os.write(fd, len(text).to_bytes(4, 'little') + text)\n        except OSError:\n            pass",
        "an error",
    ),
}


@pytest.mark.parametrize("body, words", TALKATIVE.values(), ids=TALKATIVE)
def test_what_code_says_of_a_hidden_input_is_shown_to_instructors_only(zygote, single_head, body, words):
    with Session(zygote, single_head, with_causal(single_head, body)) as session:
        learner, instructor = reports(session)
    assert words in learner and str(SECRET) not in learner
    assert str(SECRET) in instructor or words not in (
        "ValueError, with inputs that are not shown",
        "an error, with inputs that are not shown",
    )


WRONG = {
    "a number": ("return length", 3, Sentence.VALUES),
    "another kind": ("return str(length)", 3, Sentence.KIND),
    "a class": ("return type(f'E{length}', (), {})()", 3, Sentence.KIND),
}


@pytest.mark.parametrize("body, expected, words", WRONG.values(), ids=WRONG)
def test_values_of_a_hidden_test_are_shown_to_instructors_only(zygote, single_head, body, expected, words):
    @hidden("causal")
    def test_with_values(learner):
        expect(learner.causal_mask(SECRET), expected, "answer")

    with Session(zygote, single_head, with_causal(single_head, body)) as session:
        learner, instructor = reports(session, test_with_values)
    assert learner == f"answer: {words}" and str(SECRET) in instructor


def test_of_a_hidden_test_a_closed_list_of_sentences_is_shown():
    right = torch.tensor([[1.5, 2.5], [3.5, 4.5]])
    redacted = []
    for came in (right + torch.eye(2) * SECRET, right[:1], right[0], right.int(), None, "here"):
        with pytest.raises(Wrong) as caught:
            expect(came, right, "weights of 3 heads")
        redacted.append(caught.value.redacted.removeprefix("weights of … heads: "))
    assert redacted == [Sentence.VALUES, Sentence.SHAPE, Sentence.AXES, Sentence.DTYPE, Sentence.NOTHING, Sentence.KIND]
    assert Wrong("first loss", "3.14, where that of all places is -2.7e-05").redacted == f"first loss: {Sentence.OTHER}"


def test_visible_tests_are_over_before_a_hidden_one_begins(zygote, single_head):
    remembering = "seen.append(length) if length != 3 else None\n    if length == 3 and seen: raise ValueError(str(seen))\n    return torch.ones(length, length).tril().bool()"
    sources = with_causal(single_head, remembering)
    sources["answer-masks"] = "seen = []\n" + sources["answer-masks"]
    order = []
    with Session(zygote, single_head, sources) as session:
        send = session.learner._send
        tests = {test.function.__code__: test.hidden for test in single_head.tests}

        def watched(*given, **more):
            frame = sys._getframe()
            while frame is not None and frame.f_code not in tests:
                frame = frame.f_back
            order.append(tests[frame.f_code])
            return send(*given, **more)

        session.learner._send = watched
        verdicts_on(single_head, session.learner, seed=3)
    assert order == sorted(order) and True in order and False in order


def test_a_learner_sees_enough_of_a_hidden_test(single_head):
    hidden_only = [test for test in counted(single_head, "scale") if test.hidden]
    verdict = run_check("scale", hidden_only, known_learner("single_head", "no_scale"), 3, reference_learner("single_head"), 1.0).verdict
    assert verdict.question.endswith("?") and verdict.reason == f"output: {Sentence.VALUES}"
    assert "was expected" in verdict.in_full


def test_an_end_is_described_by_the_judge(zygote, single_head):
    with Session(zygote, single_head, with_causal(single_head, "import os; os._exit(3)")) as session:
        assert reports(session)[0] == "the process was gone before the answer came"
        with pytest.raises(Ended):
            session.learner.causal_mask(1)


@pytest.fixture
def crowded_core():
    """One core for this process and its children, and six others who compute on it without end."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    computes = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"  # and ends when nobody is left to end it
    others = [subprocess.Popen([sys.executable, "-c", computes]) for _ in range(6)]
    try:
        yield
    finally:
        for each in others:
            each.kill()
            each.wait()
        os.sched_setaffinity(0, before)


def test_a_busy_machine_makes_nobody_late(crowded_core, level, single_head):
    """A call that computes for less than it may comes through though it takes longer; one that computes or sleeps without end does not."""
    computes = "import time\ndef softmax(scores):\n    end = time.process_time() + {}\n    while time.process_time() < end: pass\n    return scores"
    with Zygote(level) as zygote:
        limits = Limits(request_seconds=2.0)
        with Session(zygote, single_head, {**answers(single_head), "answer-softmax": computes.format(1.6)}, limits) as session:
            started = time.monotonic()
            assert session.learner.softmax(torch.ones(2)).tolist() == [1.0, 1.0]
            assert time.monotonic() - started > limits.request_seconds  # or nobody was in the way
        for body in (computes.format(1000), "import time\ndef softmax(scores):\n    time.sleep(1000)"):
            with Session(zygote, single_head, {**answers(single_head), "answer-softmax": body}, limits) as session:
                with pytest.raises(TimeLimit, match="^softmax: no answer after 2 seconds"):
                    session.learner.softmax(torch.ones(2))


def test_memory_is_not_read_from_the_name_of_a_process(zygote, single_head):
    """Which a process may choose, and the kernel writes it above what it has counted."""
    renames = (
        "import ctypes\nctypes.CDLL(None).prctl(15, b'VmHWM: 1 kB')\ndef softmax(scores):\n    return torch.ones(1 << 25).sum() + scores"
    )
    with Session(zygote, single_head, {**answers(single_head), "answer-softmax": renames}) as session:
        _, cost = session.learner.softmax.measured((torch.ones(2),))[0]
    assert cost.bytes > 64 << 20
