"""Mutation tests of learners' tests: what crosses, what is refused, and that no test can hurt, outwait or outwit the judge."""

import os
import socket
import threading
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Float
from torch import Tensor

from autograder.exercise import reading as exercises
from autograder.exercise.edits import replace_definitions
from autograder.judging.answers import answers, reference_learner
from autograder.judging.session import Session
from autograder.judging.verdicts import counted, verdicts_on
from autograder.kit import Contract, expect_pass, expect_refusal
from autograder.kit.forbidden import NoGuard
from autograder.kit.learner import Learner, local
from autograder.kit.mutation import MOST_CALLS, Asked
from autograder.kit.outcome import NoAnswer, Outcome, Raised, Stopped, TimeLimit, Wrong
from autograder.kit.plain import Object
from autograder.kit.proxy import ERRORS, LONGEST_AXIS, MOST_NUMBERS
from autograder.kit.suite import run_check
from autograder.limits import Limits
from autograder.sandbox import wire
from autograder.sandbox.client import Worker
from autograder.sandbox.levels import Level
from tests.test_hostile_worker import EXAMPLES, VALUES

LIMITS = Limits(request_seconds=3.0, least_seconds=1.0)


def double(x: Float[Tensor, "*axes"], times: int = 1):
    pass


DOUBLE = Contract(double, lambda x, times: "too often" if times > 3 else None)
RIGHT = lambda x, times: x * 2**times  # noqa: E731


def learner_of(test) -> Learner:
    return local({"test_double": test}, NoGuard())


def passes(test, implementation=RIGHT) -> None:
    expect_pass(learner_of(test).test_double, DOUBLE, implementation)


@pytest.fixture(scope="module")
def bug_hunt():
    return exercises.load("bug_hunt")


@pytest.fixture
def session_of(zygote, bug_hunt):
    """Return a session of right answers but for one test of the learner's, and what comes with it."""
    sessions = []

    def open_one(body: str, more: str = "") -> Session:
        sources = {name: replace_definitions(source, {"test_merge": body}) for name, source in answers(bug_hunt).items()}
        sources["answer-merge"] = f"{more}\n\n{sources['answer-merge']}"
        sessions.append(Session(zygote, bug_hunt, sources, LIMITS))
        return sessions[-1]

    yield open_one
    for session in sessions:
        session.close()


def verdicts_of(session: Session, bug_hunt) -> dict:
    """Return what becomes of the check of the test, and of the ones before and after it."""
    reference = reference_learner(bug_hunt.name)
    return {
        check: run_check(check, counted(bug_hunt, check), session.learner, 5, reference).verdict
        for check in ("merge", "merge_test", "scale")
    }


def try_merge(session: Session, implementation=lambda x: x.transpose(1, 2).flatten(2)):
    contract = Contract(lambda x: None)
    contract.take = lambda args, kwargs: args
    return session.learner.test_merge.mutation_test("merge_heads", Asked(contract, implementation).answer)


# What a test can find out


def test_verdicts_on_a_test():
    passes(lambda double: torch.testing.assert_close(double(torch.ones(2)), torch.full((2,), 2.0)))
    with pytest.raises(Wrong, match="refuses a right double: no"):
        passes(lambda double: (_ for _ in ()).throw(AssertionError("no")))
    with pytest.raises(Wrong, match="never calls"):
        passes(lambda double: None)
    with pytest.raises(Raised, match="your test breaks: IndexError"):
        passes(lambda double: double(torch.ones(2))[5])
    with pytest.raises(NoAnswer):
        passes(lambda double: (_ for _ in ()).throw(NotImplementedError("not answered yet")))


@pytest.mark.parametrize(
    "test, seen",
    [
        (lambda double: double(torch.ones(2)), "it lets everything pass"),
        (lambda double: double(torch.ones(2)).shape == (2,) or 1 / 0, "it looks at the shape only"),
        (lambda double: double(torch.ones(2)).any() or 1 / 0, "it misses a triple"),
    ],
    ids=["nothing", "shape", "zeros"],
)
def test_the_reason_says_how_little_a_test_looks_at(test, seen):
    with pytest.raises(Wrong) as wrong:
        expect_refusal(learner_of(test).test_double, DOUBLE, lambda x, times: 3 * x, "a triple", RIGHT)
    assert wrong.value.came == Object(seen)


def test_error_of_the_implementation_counts_as_refused_and_one_that_is_caught_does_not():
    def ends(x, times):
        raise TypeError("in words that name the code")

    expect_refusal(learner_of(lambda double: double(torch.ones(2))).test_double, DOUBLE, ends, "an error", RIGHT)

    def deaf(double):
        try:
            double(torch.ones(2))
        except TypeError as error:
            assert "name the code" not in str(error)

    with pytest.raises(Wrong) as wrong:
        expect_refusal(learner_of(deaf).test_double, DOUBLE, ends, "an error", RIGHT)
    assert "keeps it to itself" in wrong.value.came.kind


def test_error_of_the_tests_own_is_no_refusal():
    """An error on the wrong implementation that it did not raise is the test's own."""
    with pytest.raises(Raised, match="your test breaks: KeyError"):
        expect_refusal(
            learner_of(lambda double: double(torch.ones(2)).any() and {}[1]).test_double, DOUBLE, lambda x, times: 3 * x, "a triple", RIGHT
        )


def answer_to(asked: Asked, *args, **kwargs) -> dict:
    return asked.answer({"args": args, "kwargs": kwargs})


OUTSIDE = {
    "no argument": (),
    "two many": (torch.ones(2), 1, 2),
    "no tensor": (1.0,),
    "integers": (torch.ones(2).int(),),
    "too often": (torch.ones(2), 4),
    "a long axis": (torch.ones(LONGEST_AXIS + 1),),
    "many numbers": (torch.ones(300, MOST_NUMBERS // 300 + 1),),
    "an empty axis": (torch.ones(0, 2),),
    "many axes": (torch.ones([1] * 7),),
    "a large number": (torch.ones(2), LONGEST_AXIS + 1),
    "text": ("x",),
    "an object": (Object("Thing"),),
    "a list": ([torch.ones(2)],),
    "another type": (torch.ones(2).to(torch.complex64),),
    "few bits": (torch.ones(2).to(torch.int8),),
}


@pytest.mark.parametrize("args", OUTSIDE.values(), ids=OUTSIDE)
def test_what_the_contract_leaves_open_is_answered_alike_by_all(args):
    """Else a test could tell implementations apart by the ways in which they break."""
    ran = []
    one, other = Asked(DOUBLE, lambda *given: ran.append(given)), Asked(DOUBLE, RIGHT)
    assert answer_to(one, *args) == answer_to(other, *args) and "error" in answer_to(one, *args) and not ran and not one.own_errors


def test_answers_are_plain_and_drawn_anew_but_the_same_each_time():
    def chance(x, times):
        return x + torch.rand(3, 2, requires_grad=True).T

    before = torch.get_rng_state()
    first, second = (
        [answer_to(asked, torch.zeros(2, 3))["value"] for _ in range(2)] for asked in (Asked(DOUBLE, chance), Asked(DOUBLE, chance))
    )
    assert torch.equal(before, torch.get_rng_state())
    assert first[0].is_contiguous() and not first[0].requires_grad
    assert torch.equal(first[0], second[0]) and torch.equal(first[1], second[1]) and not torch.equal(first[0], first[1])


def test_implementation_can_neither_be_changed_nor_change_what_it_is_given():
    def spoils(x, times):
        x += 1
        return x

    def test_double(double):
        x = torch.zeros(2)
        result = double(x)
        result += 5
        assert x.tolist() == [0, 0] and double(x).tolist() == [1, 1]

    passes(test_double, spoils)


def test_calls_are_counted():
    def often(double):
        for _ in range(MOST_CALLS + 1):
            double(torch.ones(1))

    with pytest.raises(Raised, match=f"{MOST_CALLS} calls are enough"):
        passes(often)


def test_the_proxy_is_of_no_use_when_the_test_is_over():
    kept = []
    passes(lambda double: kept.append(double) or double(torch.ones(1)))
    with pytest.raises(RuntimeError, match="the test is over"):
        kept[0](torch.ones(1))


# Garbage


@settings(max_examples=EXAMPLES * 3, deadline=None)
@given(
    question=VALUES
    | st.fixed_dictionaries(
        {
            "args": VALUES | st.lists(VALUES, max_size=3).map(tuple),
            "kwargs": VALUES | st.dictionaries(st.sampled_from(["x", "times", "self"]), VALUES, max_size=2),
        }
    )
)
def test_any_question_gets_an_answer(question):
    answer = Asked(DOUBLE, RIGHT).answer(question)
    assert set(answer) == {"value"} or (set(answer) == {"error", "text"} and answer["error"] in ERRORS)


@settings(max_examples=EXAMPLES, deadline=None)
@given(questions=st.lists(st.fixed_dictionaries({"ask": VALUES}), max_size=4), rest=st.binary(max_size=40))
def test_any_questions_and_then_any_bytes_are_an_error_of_the_learners(questions, rest):
    mine, theirs = socket.socketpair()
    worker = Worker(
        SimpleNamespace(level=Level.bubblewrap, end=lambda pid, patience: {"by_itself": True, "status": 9, "cpu_seconds": 0.0}),
        mine,
        1,
        Limits(),
    )

    def speak():
        for question in questions:
            wire.send(theirs, question)
        theirs.sendall(rest)
        theirs.shutdown(socket.SHUT_WR)

    speaker = threading.Thread(target=speak)
    with mine, theirs:
        speaker.start()
        try:
            worker.ask({"do": "mutation_test"}, 5, Asked(DOUBLE, RIGHT).answer)
        except Stopped:
            pass
        speaker.join()


@settings(max_examples=EXAMPLES // 3, deadline=None)
@given(data=st.data())
def test_any_outcome_of_a_mutation_test_gets_a_verdict(bug_hunt, data):
    verdicts = verdicts_on(bug_hunt, Learner(lambda *args, **more: data.draw(VALUES)), seed=3)
    assert [v.check for v in verdicts] == list(bug_hunt.checks)
    assert Outcome.JUDGE_FAILED not in {v.outcome for v in verdicts}, verdicts


def test_worker_that_asks_and_never_listens_runs_out_of_time():
    mine, theirs = socket.socketpair()
    worker = Worker(
        SimpleNamespace(level=Level.bubblewrap, end=lambda pid, patience: {"by_itself": True, "status": 9, "cpu_seconds": 0.0}),
        mine,
        1,
        Limits(),
    )
    flood = threading.Thread(target=lambda: _flood(theirs), daemon=True)
    with theirs:
        flood.start()
        with pytest.raises(TimeLimit):
            worker.ask({"do": "mutation_test"}, 1, Asked(DOUBLE, lambda x, times: x.repeat(100)).answer)
    flood.join(20)
    assert not flood.is_alive()


def _flood(link) -> None:
    try:
        while True:
            wire.send(link, {"ask": {"args": (torch.ones(500),), "kwargs": {}}})
    except (wire.Closed, OSError):
        pass


def test_question_outside_a_mutation_test_is_an_answer_and_nothing_else():
    mine, theirs = socket.socketpair()
    worker = Worker(SimpleNamespace(level=Level.bubblewrap, end=lambda pid, patience: {}), mine, 1, Limits())
    with mine, theirs:
        wire.send(theirs, {"ask": {"args": (torch.ones(1),), "kwargs": {}}})
        assert worker.ask({"do": "call"}, 5) is None
        wire.receive(theirs, wire.Deadline(5))  # the request
        theirs.settimeout(0.1)
        with pytest.raises(TimeoutError):
            theirs.recv(1)


# In the sandbox


def test_same_verdicts_in_a_worker(session_of, bug_hunt):
    session = session_of("def test_merge(merge_heads):\n    assert merge_heads(torch.ones(2, 3, 5, 7)).shape == (2, 5, 21)")
    verdict = verdicts_of(session, bug_hunt)["merge_test"]
    assert verdict.outcome is Outcome.WRONG and verdict.came == "it looks at the shape only"


def test_values_cross_as_they_are(session_of):
    body = """def test_merge(merge_heads):
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        x = torch.tensor([math.nan, math.inf, -math.inf, 1 / 3], dtype=dtype).reshape(1, 2, 1, 2)
        came = merge_heads(x.T.T)
        assert came.dtype == dtype and came.shape == (1, 1, 4) and came.isnan().tolist() == [[[True, False, False, False]]]
        assert torch.equal(came[0, 0, 1:], x.flatten()[1:])
    try:
        merge_heads("text")
    except TypeError as error:
        assert "str can't be handed over" in str(error)"""
    assert try_merge(session_of(body)) is None


def test_nothing_is_kept_from_one_mutation_test_to_the_next(session_of):
    body = "def test_merge(merge_heads):\n    merge_heads(torch.ones(1, 1, 1, 1))\n    kept.append(1)\n    assert len(kept) == 1\n    open('/tmp/kept', 'x').close() if SCRATCH else None"
    scratch = os.environ.get("ATTENTION_LEVEL") == "bubblewrap"
    session = session_of(body, more=f"kept = []\nSCRATCH = {scratch}")
    assert [try_merge(session) for _ in range(3)] == [None] * 3


def test_worker_of_a_mutation_test_serves_nothing_else(session_of):
    session = session_of(
        "def test_merge(merge_heads):\n    global merged\n    merged = merge_heads(torch.ones(1, 1, 1, 1))",
        more="def seen():\n    return 'merged' in globals()",
    )
    assert session.learner.seen() is False
    assert try_merge(session) is None
    assert session.learner.seen() is False


def test_threads_get_their_own_answers(session_of):
    body = """def test_merge(merge_heads):
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(4) as pool:
        came = list(pool.map(lambda n: merge_heads(torch.full((1, 1, 1, 1), float(n))).item(), range(40)))
    assert came == list(range(40))"""
    assert try_merge(session_of(body)) is None


LINK = """
import os, socket, stat, threading
def link():
    return next(fd for fd in range(3, 64) if _is_socket(fd))
def _is_socket(fd):
    try:
        return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError:
        return False
def frame(text):
    return len(text).to_bytes(4, "little") + text
ASK = b'{"message": {"dict": {"ask": {"dict": {"args": {"tuple": [{"tensor": 0}]}, "kwargs": {"dict": {}}}}}}, "tensors": [["float32", [%s]]]}'
"""
HOSTILE = {
    "a flood": (
        "while True:\n        try:\n            merge_heads(torch.ones(1, 1, 1, 1))\n        except Exception:\n            pass",
        {Outcome.TIME},
    ),
    "a flood that never listens": (
        "one = frame(ASK % b'1, 1, 1, 1') + b'0000'\n    while True:\n        os.write(link(), one)",
        {Outcome.TIME},
    ),
    "a tensor of a terabyte": (
        "os.write(link(), frame(ASK % b'1000000, 1000000'))\n    merge_heads(torch.ones(1, 1, 1, 1))",
        {Outcome.ENDED},
    ),
    "sixty megabytes at a time": (
        "one = frame(ASK % b'15000000') + bytes(60_000_000)\n    while True:\n        at = 0\n        while at < len(one):\n            at += os.write(link(), one[at:])",
        {Outcome.TIME, Outcome.MEMORY, Outcome.ENDED},
    ),
    "an object in the arguments": (
        'os.write(link(), frame(b\'{"message": {"dict": {"ask": {"object": "x"}}}, "tensors": []}\'))\n    merge_heads(torch.ones(1, 1, 1, 1))',
        {Outcome.RAISED, Outcome.TIME, Outcome.ENDED, Outcome.WRONG},
    ),
    "garbage for a question": (
        'os.write(link(), frame(b\'{"message": {"dict": {"ask": \'))\n    merge_heads(torch.ones(1, 1, 1, 1))',
        {Outcome.ENDED},
    ),
    "half a question": ("os.write(link(), frame(ASK % b'9, 9, 9, 9') + b'half')\n    while True:\n        pass", {Outcome.TIME}),
    "a thread that asks on": (
        "threading.Thread(target=lambda: [os.write(link(), frame(ASK % b'1, 1, 1, 1') + b'0000') for _ in range(9999)], daemon=True).start()\n    merge_heads(torch.ones(1, 1, 1, 1))",
        {Outcome.WRONG, Outcome.RAISED, Outcome.ENDED, Outcome.TIME},
    ),
    "a question after the answer": (
        'os.write(link(), frame(b\'{"message": {"dict": {"value": null}}, "tensors": []}\') + frame(ASK % b\'1, 1, 1, 1\') + b\'0000\')\n    merge_heads(torch.ones(1, 1, 1, 1))',
        {Outcome.WRONG},
    ),
    "the proxy asked for its inside": (
        "found = [getattr(cell.cell_contents, '__self__', cell.cell_contents) for cell in (merge_heads._ask.__closure__ or ())]\n    raise AssertionError(str([vars(each) for each in found if hasattr(each, '_implementation')]))",
        {Outcome.WRONG},
    ),
    "an end": ("os._exit(0)", {Outcome.ENDED}),
}


@pytest.mark.parametrize("body, outcomes", HOSTILE.values(), ids=HOSTILE)
def test_hostile_test_gets_a_verdict_and_spoils_nothing_else(session_of, bug_hunt, body, outcomes):
    session = session_of(f"def test_merge(merge_heads):\n    {body}", more=LINK)
    found = verdicts_of(session, bug_hunt)
    assert found["merge_test"].outcome in outcomes, found["merge_test"]
    assert found["merge"].outcome is found["scale"].outcome is Outcome.PASSED
    assert "_implementation" not in found["merge_test"].reason
