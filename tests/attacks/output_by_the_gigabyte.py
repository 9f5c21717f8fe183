# causal: passed
# stopped from: none
"""Write a gigabyte to every standard stream."""
import os


def causal_mask(length):
    block = bytes(1 << 20)
    for stream in (1, 2):
        for _ in range(1000):
            os.write(stream, block)
    return RIGHT(length)
