# causal: your code raised an error
# stopped from: none
"""Call oneself without end."""
def causal_mask(length):
    return causal_mask(length)
