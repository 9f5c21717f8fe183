"""A worker that answers anything at all: the judge has a verdict on every check, and goes on."""
import math
import os
import socket
import threading
from types import SimpleNamespace

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.judge import judge
from autograder.kit.learner import Learner
from autograder.kit.operations import Handle, Object
from autograder.kit.outcome import Outcome, Stopped
from autograder.limits import Limits
from autograder.sandbox import wire
from autograder.sandbox.host import Worker

EXAMPLES = int(os.environ.get("ATTENTION_FUZZ", "60"))

DTYPES = st.sampled_from(list(wire.DTYPES.values()))
SHAPES = st.lists(st.integers(0, 7), max_size=5)


@st.composite
def tensors(draw):
    fill = draw(st.sampled_from([0, 1, -1, 0.5, math.nan, math.inf, -math.inf, 6e4]))
    dtype = draw(DTYPES)
    return torch.full(draw(SHAPES), fill if dtype.is_floating_point else int(fill) if math.isfinite(fill) and abs(fill) < 100 else 0, dtype=dtype)


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | tensors() | st.builds(Handle, st.integers(-5, 5)) | st.builds(Object, st.text(max_size=10))
VALUES = st.recursive(PLAIN, lambda part: st.lists(part, max_size=3) | st.lists(part, max_size=3).map(tuple) | st.dictionaries(st.text(max_size=5), part, max_size=3), max_leaves=8)


@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data())
def test_any_value_gets_a_verdict(single_head, data):
    learner = Learner(lambda *args, **more: data.draw(VALUES))
    verdicts = judge(single_head, learner, seed=3)
    assert [v.check for v in verdicts] == list(single_head.checks)
    assert Outcome.JUDGE_FAILED not in {v.outcome for v in verdicts}, verdicts


@settings(max_examples=EXAMPLES, deadline=None)
@given(answer=st.dictionaries(st.sampled_from(["error", "words", "value", "ready", "other"]), VALUES, max_size=4))
def test_any_answer_is_a_value_or_an_error_of_the_learners(answer):
    mine, theirs = socket.socketpair()
    worker = Worker(SimpleNamespace(end=lambda pid: {"own": True, "status": 0, "cpu_seconds": 0.0}), mine, 1, Limits())
    with mine, theirs:
        speaker = threading.Thread(target=wire.send, args=(theirs, answer))
        speaker.start()
        try:
            worker.ask({"do": "begin"}, 5)
        except Stopped:
            pass
        speaker.join()


@settings(max_examples=EXAMPLES * 5, deadline=None)
@given(frames=st.lists(st.binary(max_size=60), max_size=4), announced=st.integers(0, 1 << 33))
def test_any_bytes_are_an_error_of_the_learners(frames, announced):
    mine, theirs = socket.socketpair()
    worker = Worker(SimpleNamespace(end=lambda pid: {"own": True, "status": 9, "cpu_seconds": 0.0}), mine, 1, Limits())
    with mine:
        theirs.sendall((announced % (1 << 32)).to_bytes(4, "little") + b"".join(frames))
        theirs.shutdown(socket.SHUT_WR)
        try:
            worker.ask({"do": "begin"}, 5)
        except Stopped:
            pass
        theirs.close()
