# causal: memory limit|time limit
# stopped from: none
"""Hold a megabyte more, and one more."""
def causal_mask(length):
    held = []
    while True:
        held.append(bytearray(1 << 20))
