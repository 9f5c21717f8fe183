# causal: passed
# stopped from: none
"""Print twenty megabytes in one line."""
def causal_mask(length):
    print("x" * 20_000_000)
    return RIGHT(length)
