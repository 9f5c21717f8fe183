"""A worker that answers anything at all: the judge has a verdict on every check, and goes on."""

import math
import os
import socket
import threading
import time
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.judging.verdicts import verdicts_on
from autograder.kit import expect, fingerprint
from autograder.kit.learner import Learner
from autograder.kit.outcome import Outcome, Raised, Stopped, Wrong
from autograder.kit.plain import Handle, Object
from autograder.kit.values import small
from autograder.limits import Limits
from autograder.sandbox import wire
from autograder.sandbox.client import Worker, _value
from autograder.sandbox.levels import Level

EXAMPLES = int(os.environ.get("ATTENTION_FUZZ", "60"))

DTYPES = st.sampled_from(list(wire.DTYPES.values()))
SHAPES = st.lists(st.integers(0, 7), max_size=5)


@st.composite
def tensors(draw):
    fill = draw(st.sampled_from([0, 1, -1, 0.5, math.nan, math.inf, -math.inf, 6e4]))
    dtype = draw(DTYPES)
    return torch.full(
        draw(SHAPES), fill if dtype.is_floating_point else int(fill) if math.isfinite(fill) and abs(fill) < 100 else 0, dtype=dtype
    )


PLAIN = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | tensors()
    | st.builds(Handle, st.integers(-5, 5))
    | st.builds(Object, st.text(max_size=10))
)
VALUES = st.recursive(
    PLAIN,
    lambda part: (
        st.lists(part, max_size=3) | st.lists(part, max_size=3).map(tuple) | st.dictionaries(st.text(max_size=5), part, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data())
def test_any_value_gets_a_verdict(single_head, data):
    learner = Learner(lambda *args, **more: data.draw(VALUES))
    verdicts = verdicts_on(single_head, learner, seed=3)
    assert [v.check for v in verdicts] == list(single_head.checks)
    assert Outcome.JUDGE_FAILED not in {v.outcome for v in verdicts}, verdicts


@settings(max_examples=EXAMPLES, deadline=None)
@given(answer=st.dictionaries(st.sampled_from(["error", "texts", "at", "value", "ready", "other"]), VALUES, max_size=4))
def test_any_answer_is_a_value_or_an_error_of_the_learners(answer):
    mine, theirs = socket.socketpair()
    worker = Worker(
        SimpleNamespace(level=Level.bubblewrap, end=lambda pid, patience: {"by_itself": True, "status": 0, "cpu_seconds": 0.0}),
        mine,
        1,
        Limits(),
    )
    with mine, theirs:
        speaker = threading.Thread(target=wire.send, args=(theirs, answer))
        speaker.start()
        try:
            worker.ask({"do": "call"}, 5)
        except Stopped:
            pass
        speaker.join()


MANY = tuple(torch.zeros(999) for _ in range(1000))


@pytest.mark.parametrize(
    "value",
    [MANY, list(MANY), {str(i): each for i, each in enumerate(MANY)}, ((MANY,) * 10,) * 10, "x" * 1_000_000, (0,) * 300_000],
    ids=["tuple", "list", "dict", "deep", "text", "numbers"],
)
def test_what_came_is_described_in_short_and_soon(value):
    begin = time.process_time()
    with pytest.raises(Wrong) as caught:
        expect(value, 3)
    fingerprint.of(caught.value)
    assert len(str(caught.value)) < 500 and len(small(value)) <= 200
    assert time.process_time() - begin < 1


@pytest.mark.parametrize("texts", [[MANY], [MANY, MANY, MANY], {"0": MANY}, [1, 2, 3]], ids=["one", "three", "dict", "numbers"])
@pytest.mark.parametrize("kind", ["Raised", "NoAnswer", "ZeroDivisionError", 7])
def test_texts_of_an_error_are_text_or_none(kind, texts):
    with pytest.raises(Stopped) as caught:
        _value({"error": kind, "texts": texts})
    assert str(caught.value) in ("", "error: ")


def test_texts_of_an_error_are_cut_short():
    with pytest.raises(Raised) as caught:
        _value({"error": "Raised", "texts": ["x" * 100_000] * 3})
    assert len(str(caught.value)) < 4000


@settings(max_examples=EXAMPLES * 5, deadline=None)
@given(frames=st.lists(st.binary(max_size=60), max_size=4), announced=st.integers(0, 1 << 33))
def test_any_bytes_are_an_error_of_the_learners(frames, announced):
    mine, theirs = socket.socketpair()
    worker = Worker(
        SimpleNamespace(level=Level.bubblewrap, end=lambda pid, patience: {"by_itself": True, "status": 9, "cpu_seconds": 0.0}),
        mine,
        1,
        Limits(),
    )
    with mine:
        theirs.sendall((announced % (1 << 32)).to_bytes(4, "little") + b"".join(frames))
        theirs.shutdown(socket.SHUT_WR)
        try:
            worker.ask({"do": "call"}, 5)
        except Stopped:
            pass
        theirs.close()
