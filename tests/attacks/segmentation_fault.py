# causal: your code ended the process
# stopped from: none
"""Read where nothing is."""
import ctypes


def causal_mask(length):
    return ctypes.string_at(8)
