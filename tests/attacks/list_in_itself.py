# causal: your code ended the process|wrong answer|your code raised an error
# stopped from: none
"""Return a list that holds itself."""
def causal_mask(length):
    held = []
    held.append(held)
    return held
