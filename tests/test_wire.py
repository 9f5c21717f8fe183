"""The wire carries data and nothing else, whatever comes."""

import json
import math
import socket
import struct

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.kit.plain import Handle, Object
from autograder.sandbox import wire


@pytest.fixture
def ends():
    one, other = socket.socketpair()
    with one, other:
        yield one, other


@pytest.mark.parametrize("dtype", wire.DTYPES.values(), ids=wire.DTYPES)
def test_tensors_arrive_as_they_were(ends, dtype):
    tensor = torch.arange(30).reshape(2, 3, 5).transpose(0, 2).to(dtype)
    wire.send(ends[0], {"value": tensor})
    came = wire.receive(ends[1])["value"]
    assert came.dtype == dtype and torch.equal(came, tensor)


def test_other_values_arrive_as_they_were(ends):
    value = {
        "a": (1, "two", None, True, -0.5),
        "b": [Handle(3), Object("Thing")],
        "c": (torch.tensor(2.0), torch.zeros(0, 3)),
        "d": (math.inf, -math.inf),
    }
    wire.send(ends[0], value)
    came = wire.receive(ends[1])
    assert came["a"] == value["a"] and came["b"] == value["b"] and came["d"] == value["d"]
    assert came["c"][0] == 2.0 and came["c"][1].shape == (0, 3)


def test_nan_arrives(ends):
    wire.send(ends[0], {"value": (math.nan, torch.tensor([math.nan, math.inf]))})
    number, tensor = wire.receive(ends[1])["value"]
    assert math.isnan(number) and tensor.isnan().tolist() == [True, False]


def _frame(header) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<I", len(text)) + text


BAD = {
    "no JSON": b"{",
    "no object": [1, 2],
    "no tensors": {"message": {"dict": {}}},
    "NaN in JSON": b'{"message": NaN, "tensors": []}',
    "deep": b'{"message":' + b'{"tuple":[' * 500 + b"]}" * 500 + b', "tensors": []}',
    "very deep": b"[" * 100_000,
    "dtype that may not cross": {"message": {"dict": {}}, "tensors": [["object", [1]]]},
    "dtype that is no text": {"message": {"dict": {}}, "tensors": [[["float32"], [1]]]},
    "negative size": {"message": {"dict": {}}, "tensors": [["float32", [-1]]]},
    "boolean size": {"message": {"dict": {}}, "tensors": [["float32", [True]]]},
    "huge size": {"message": {"dict": {}}, "tensors": [["float64", [1 << 26, 1 << 26]]]},
    "huge sum": {"message": {"dict": {}}, "tensors": [["uint8", [1 << 26]], ["uint8", [1]]]},
    "many axes": {"message": {"dict": {}}, "tensors": [["float32", [1] * 9]]},
    "many tensors": {"message": {"dict": {}}, "tensors": [["uint8", [0]]] * 2000},
    "index out of range": {"message": {"dict": {"value": {"tensor": 0}}}, "tensors": []},
    "boolean index": {"message": {"dict": {"value": {"tensor": True}}}, "tensors": [["uint8", [0]]]},
    "one tensor twice": {"message": {"dict": {"value": {"tuple": [{"tensor": 0}, {"tensor": 0}]}}}, "tensors": [["uint8", [0]]]},
    "axes that overflow": {"message": {"dict": {}}, "tensors": [["float32", [0, 1 << 26, 1 << 26, 1 << 26]]]},
    "unknown kind": {"message": {"dict": {"value": {"pickle": "gASVAAAA"}}}, "tensors": []},
    "two kinds": {"message": {"dict": {}, "tuple": []}, "tensors": []},
    "message that is a list": {"message": [1], "tensors": []},
}


@pytest.mark.parametrize("header", BAD.values(), ids=BAD)
def test_bad_frames_are_distinguished_from_answers(ends, header):
    ends[0].sendall(_frame(header))
    with pytest.raises(wire.BadFrame):
        wire.receive(ends[1], wire.Deadline(5))


def test_one_tensor_sent_twice_arrives_twice(ends):
    tensor = torch.arange(3)
    wire.send(ends[0], {"value": (tensor, tensor)})
    one, other = wire.receive(ends[1])["value"]
    assert torch.equal(one, tensor) and torch.equal(other, tensor)


@pytest.mark.parametrize(
    "header", [{"message": {"314159": 1}, "tensors": []}, {"message": {"dict": {}}, "tensors": [["uint8", [0]]] * 2718}]
)
def test_what_came_is_not_quoted(ends, header):
    ends[0].sendall(_frame(header))
    with pytest.raises(wire.BadFrame, match=r"^\D*$"):  # it would be shown to a learner, whose code may have been asked something hidden
        wire.receive(ends[1], wire.Deadline(5))


def test_header_is_capped_before_it_is_read(ends):
    ends[0].sendall(struct.pack("<I", wire.MOST_HEADER + 1))
    with pytest.raises(wire.BadFrame):
        wire.receive(ends[1], wire.Deadline(5))


def test_half_a_frame_and_silence_is_a_time_out(ends):
    ends[0].sendall(_frame({"message": {"dict": {}}, "tensors": [["float32", [4]]]}) + b"half")
    with pytest.raises(TimeoutError):
        wire.receive(ends[1], wire.Deadline(0.2))


def test_half_a_frame_and_an_end_is_closed(ends):
    ends[0].sendall(b"\x10\x00")
    ends[0].close()
    with pytest.raises(wire.Closed):
        wire.receive(ends[1], wire.Deadline(5))


@settings(max_examples=300, deadline=None)
@given(
    st.binary(max_size=400)
    | st.recursive(
        st.none() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
        lambda x: st.lists(x) | st.dictionaries(st.sampled_from(["message", "tensors", "dict", "tuple", "tensor", "handle", "value"]), x),
        max_leaves=20,
    )
)
def test_garbage_never_gets_through_as_an_exception_of_another_kind(garbage):
    one, other = socket.socketpair()
    with one, other:
        one.sendall(_frame(garbage if isinstance(garbage, (bytes, dict, list)) else [garbage]))
        one.close()
        try:
            assert isinstance(wire.receive(other, wire.Deadline(5)), dict)
        except (wire.BadFrame, wire.Closed):
            pass


def test_deadline_is_put_off_by_what_is_granted_and_no_further(ends):
    grants = iter([0.2, 0.1, 0.0])
    with pytest.raises(TimeoutError):
        wire.receive(ends[1], wire.Deadline(0.1, lambda: next(grants)))
    assert next(grants, None) is None
