# causal: your code ended the process
# stopped from: none
"""Abort."""
import os


def causal_mask(length):
    os.abort()
