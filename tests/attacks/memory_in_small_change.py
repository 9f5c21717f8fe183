# causal: memory limit|your code ended the process|time limit
# stopped from: none
"""Hold small objects until not even an error can be told."""
def causal_mask(length):
    held = None
    while True:
        held = (held, 1.5)
