# causal: memory limit
# stopped from: none
"""Ask for eight gigabytes at once."""
def causal_mask(length):
    return bytearray(8 << 30)
