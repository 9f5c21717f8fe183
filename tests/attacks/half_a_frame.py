# causal: time limit
# stopped from: none
"""Begin a frame and never end it."""
import os
import stat


def link():
    for fd in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                return fd
        except OSError:
            pass


def causal_mask(length):
    os.write(link(), b"\xff\x00\x00\x00half")
    while True:
        pass
