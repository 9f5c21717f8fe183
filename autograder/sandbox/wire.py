"""The wire between judge and worker: a JSON header, then raw little-endian bytes.

Written by hand because what crosses must be data only: no pickle, no file format with a loader
behind it, and every count capped before anything is allocated.

A frame is  u32 length of header | header | bytes of its tensors, in order.
The header is {"message": ..., "tensors": [[dtype, shape], ...]}; inside the message a tensor is
{"tensor": i}, each i once, a tuple {"tuple": [...]}, a handle {"handle": n}, a thing without a plain form
{"object": "ClassName"}, a number that JSON lacks {"float": "nan"}.
"""

from __future__ import annotations

import json
import math
import socket
import struct
import time
from collections.abc import Callable

import torch
from torch import Tensor

from ..kit import plain
from ..kit.plain import Handle, Object

DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in plain.DTYPES}
MOST_HEADER = 1 << 20
MOST_BYTES = 1 << 26
MOST_TENSORS = 1024
MOST_AXES = 8
DEEPEST = 12
LONGEST_TEXT = 10_000


class BadFrame(ConnectionError):
    """What came is not a frame, so nothing more from that side is believed. The text is ours and quotes nothing of what came."""


class Closed(ConnectionError):
    """The other side is gone."""


class Deadline:
    """When a message must be whole: so many seconds from now, and as many more as `extension` grants whenever these are over."""

    def __init__(self, seconds: float, extension: Callable[[], float] = lambda: 0.0):
        self._until = time.monotonic() + seconds
        self._extension = extension

    def left(self) -> float:
        """Return the seconds that are left; raises `TimeoutError` where none are."""
        left = self._until - time.monotonic()
        if left <= 0:
            more = self._extension()
            self._until += more
            left += more
        if left <= 0:
            raise TimeoutError
        return left


def send(link: socket.socket, message: dict) -> None:
    """Write one frame; raises `Closed` if the other side is gone, `TimeoutError` if it is there and does not read."""
    tensors: list[Tensor] = []
    packed = _pack(message, tensors)
    header = {"message": packed, "tensors": [[str(t.dtype).removeprefix("torch."), list(t.shape)] for t in tensors]}
    text = json.dumps(header, allow_nan=False).encode()
    try:
        link.sendall(b"".join([struct.pack("<I", len(text)), text, *map(_bytes_of, tensors)]))
    except TimeoutError:  # the caller has set a deadline; half a frame is out, so the link is of no more use
        raise
    except OSError as error:
        raise Closed(str(error)) from None


def receive(link: socket.socket, until: Deadline | None = None) -> dict:
    """Return the next message.

    Raises `BadFrame` for anything that is not a frame within the caps, `Closed` at the end and
    `TimeoutError` when the frame is not whole by `until`.
    """
    (length,) = struct.unpack("<I", _receive_bytes(link, 4, until))
    if length > MOST_HEADER:
        raise BadFrame("a header that is too long")
    header = _json(_receive_bytes(link, length, until))
    if not isinstance(header, dict) or not isinstance(header.get("tensors"), list):
        raise BadFrame("a header without a list of tensors")
    tensors: list[Tensor | None] = [
        _tensor(_receive_bytes(link, size, until), dtype, shape) for dtype, shape, size in _sizes(header["tensors"])
    ]
    message = _unpack(header.get("message"), tensors)
    if not isinstance(message, dict):
        raise BadFrame("a message that is not an object")
    return message


def _pack(value, tensors: list[Tensor]):
    if value is None or type(value) in (bool, int):  # most of what crosses
        return value
    if isinstance(value, Tensor):
        tensors.append(value)
        return {"tensor": len(tensors) - 1}
    if isinstance(value, Handle):
        return {"handle": value.number}
    if isinstance(value, Object):
        return {"object": value.kind[:LONGEST_TEXT]}
    if isinstance(value, tuple):
        return {"tuple": [_pack(part, tensors) for part in value]}
    if isinstance(value, list):
        return [_pack(part, tensors) for part in value]
    if isinstance(value, dict):
        return {"dict": {key: _pack(part, tensors) for key, part in value.items()}}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    return value[:LONGEST_TEXT] if isinstance(value, str) else value


def _unpack(value, tensors: list[Tensor | None], depth: int = 0):
    if depth > DEEPEST:
        raise BadFrame("a message nested too deeply")
    if isinstance(value, list):
        return [_unpack(part, tensors, depth + 1) for part in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise BadFrame("an object that says more than one thing")
    ((kind, body),) = value.items()
    return _unpack_as(kind, body, tensors, depth)


def _unpack_as(kind: str, body, tensors: list[Tensor | None], depth: int):
    if kind == "tensor" and type(body) is int and 0 <= body < len(tensors) and tensors[body] is not None:
        # Once only: otherwise a short header could name one tensor ten thousand times, and each would have to be compared.
        tensor, tensors[body] = tensors[body], None
        return tensor
    if kind == "handle" and type(body) is int:
        return Handle(body)
    if kind == "object" and type(body) is str:
        return Object(body[:100])
    if kind == "tuple" and isinstance(body, list):
        return tuple(_unpack(part, tensors, depth + 1) for part in body)
    if kind == "dict" and isinstance(body, dict):
        return {key: _unpack(part, tensors, depth + 1) for key, part in body.items()}
    if kind == "float" and body in ("nan", "inf", "-inf"):
        return float(body)
    raise BadFrame("an object of unknown kind")


def _sizes(described: list) -> list[tuple[torch.dtype, tuple[int, ...], int]]:
    """Return dtype, shape and byte count of each announced tensor, all within the caps."""
    if len(described) > MOST_TENSORS:
        raise BadFrame("more tensors than a frame may hold")
    sizes = [_size(each) for each in described]
    if sum(math.prod(shape) for _, shape, _ in sizes) > plain.MOST_NUMBERS:
        raise BadFrame("more numbers than a frame may hold")
    if sum(size for _, _, size in sizes) > MOST_BYTES:
        raise BadFrame("more bytes than a frame may hold")
    return sizes


def _size(described) -> tuple[torch.dtype, tuple[int, ...], int]:
    if not (isinstance(described, list) and len(described) == 2):
        raise BadFrame("a tensor that is not a dtype and a shape")
    name, shape = described
    if not isinstance(name, str) or name not in DTYPES:
        raise BadFrame("a dtype that may not cross")
    if not isinstance(shape, list) or len(shape) > MOST_AXES:
        raise BadFrame("a shape with too many axes")
    if any(type(axis) is not int or not 0 <= axis <= MOST_BYTES for axis in shape):
        raise BadFrame("a shape that is not made of sizes")
    if math.prod(filter(None, shape)) > MOST_BYTES:  # an axis of length 0 leaves no entries, and torch multiplies the others all the same
        raise BadFrame("a shape that is too large")
    return DTYPES[name], tuple(shape), math.prod(shape) * DTYPES[name].itemsize


def _tensor(data: bytearray, dtype: torch.dtype, shape: tuple[int, ...]) -> Tensor:
    if not data:
        return torch.empty(shape, dtype=dtype)
    if dtype is torch.bool:  # other bytes than 0 and 1 would be booleans that are neither true nor false
        return (torch.frombuffer(data, dtype=torch.uint8) != 0).reshape(shape)
    return torch.frombuffer(data, dtype=dtype).reshape(shape)


def _bytes_of(tensor: Tensor) -> bytes:
    flat = tensor.contiguous().reshape(-1)
    return bytes(flat.view(torch.uint8).numpy()) if flat.numel() else b""


def _json(text: bytearray):
    try:
        return json.loads(text.decode(), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise BadFrame("a header that is not JSON") from None


def _no_constant(text: str):
    raise ValueError(text)


def _receive_bytes(link: socket.socket, length: int, until: Deadline | None) -> bytearray:
    data = bytearray(length)
    view = memoryview(data)
    while view:
        view = view[_receive_some(link, view, until) :]
    return data


def _receive_some(link: socket.socket, view: memoryview, until: Deadline | None) -> int:
    while True:
        if until is not None:  # one deadline for the whole frame: a byte now and then does not extend it
            link.settimeout(until.left())
        try:
            count = link.recv_into(view)
        except TimeoutError:  # which the deadline raises, unless it grants more
            continue
        except OSError as error:
            raise Closed(str(error)) from None
        if count == 0:
            raise Closed("the other side has closed")
        return count
