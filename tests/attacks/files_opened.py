# causal: your code raised an error
# stopped from: none
"""Open files without end."""
import os


def causal_mask(length):
    held = []
    while True:
        held.append(open(os.devnull))
