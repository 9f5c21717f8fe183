"""The reader: a process that parses what strangers hand in, with little memory and little time, and holds nothing else.

The process that grades sends it a file's bytes and what is wanted of them, and gets back plain JSON. Whatever a file does to a
parser, it does to the reader: one that dies, or runs out of memory or time, costs the file that it was at, and the next file
gets a new one. It imports nothing but the standard library and a few modules of ours, so it is there in a few hundredths of a second.
"""

from __future__ import annotations

import atexit
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import time
from contextlib import nullcontext, suppress
from dataclasses import asdict
from math import ceil
from threading import Lock
from typing import IO

from .. import ROOT
from ..errors import Refused
from .matching import Found, Wanted, found_in

MEMORY = 512 << 20  # bytes of addresses; 8 MB of JSON become 400 MB at worst
SECONDS = 10  # of the processor, for one file; a notebook takes some thousandths
MOST_ANSWER = 64 << 20
HEAD, SIZE = struct.Struct("<QQ"), struct.Struct("<Q")
TOO_MUCH = "reading it takes more memory or time than any notebook of this course"
HAND_IN_ANEW = "Remove what does not belong to the exercise, save and hand in again"
START = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from {__name__} import serve; serve(*map(int, sys.argv[1:]))"


class _Gone(Exception):
    """The reader died over a file."""


class Reader:
    """A reader, started when it is first needed and again whenever it has died."""

    def __init__(self, memory: int = MEMORY, seconds: int = SECONDS) -> None:
        self._start, self._limits = START, (str(memory), str(seconds))
        self._process: subprocess.Popen[bytes] | None = None
        self._owner, self._lock = 0, Lock()

    def found_in(self, data: bytes, name: str, wanted: Wanted) -> Found:
        """Return the answers in a file's bytes; raises `Refused`, also where reading it takes too much."""
        asked = json.dumps({"name": name, "wanted": wanted.as_message()}).encode()
        with self._lock:
            for _ in range(2):  # it may have died of something else, such as a person who ended it
                try:
                    answer = self._answer(asked, data)
                    break
                except _Gone:
                    continue
            else:
                raise Refused(name, TOO_MUCH, HAND_IN_ANEW)
        if "refused" in answer:
            raise Refused(*answer["refused"])
        return Found(**answer["found"])

    def _answer(self, asked: bytes, data: bytes) -> dict:
        try:
            return _answer_of(self._running(), asked, data)
        except (OSError, EOFError):
            if self.close() == -signal.SIGXCPU:  # a second try would only take as long
                return {"refused": ["what was handed in", TOO_MUCH, HAND_IN_ANEW]}
            raise _Gone from None
        except BaseException:
            self.close(patience=0)  # else the next file would be given this one's answer
            raise

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._owner != os.getpid():  # a fork has a reader of its own
            words = [sys.executable, "-I", "-S", "-c", self._start, *self._limits]
            # In a group of its own: Ctrl-C is for the process that grades.
            self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0)
            self._owner = os.getpid()
        return self._process

    def close(self, patience: float = 1.0) -> int | None:
        """End the process; return how it ended, None if there was none."""
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return None
        with suppress(OSError), process.stdin or nullcontext():
            pass
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
        if process.stdout:
            process.stdout.close()
        return process.wait()


def _answer_of(process: subprocess.Popen[bytes], asked: bytes, data: bytes) -> dict:
    assert process.stdin and process.stdout
    for part in (HEAD.pack(len(asked), len(data)), asked, data):
        process.stdin.write(part)
    process.stdin.flush()
    (size,) = SIZE.unpack(_exactly(process.stdout, SIZE.size))
    return json.loads(_exactly(process.stdout, min(size, MOST_ANSWER)))


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def serve(memory: int, seconds: int) -> None:
    """Answer one file after the other until nobody asks; the reader's own loop. `memory` in bytes, for all; `seconds` for each file."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    inbox, outbox = sys.stdin.buffer, sys.stdout.buffer
    while head := inbox.read(HEAD.size):
        asked, data = (inbox.read(size) for size in HEAD.unpack(head))
        limit = ceil(time.process_time()) + seconds
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
        answer = json.dumps(_read(**json.loads(asked), data=data)).encode()
        outbox.write(SIZE.pack(len(answer)) + answer)
        outbox.flush()


def _read(name: str, wanted: dict, data: bytes) -> dict:
    try:
        return {"found": asdict(found_in(data, name, Wanted(**wanted)))}
    except Refused as refusal:
        return {"refused": [refusal.where, refusal.what, refusal.todo]}
    except MemoryError:
        return {"refused": [name, TOO_MUCH, HAND_IN_ANEW]}


reader = Reader()  # of this process
atexit.register(reader.close)
