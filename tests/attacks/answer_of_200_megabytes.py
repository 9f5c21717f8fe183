# causal: your code ended the process|wrong answer|memory limit
# stopped from: none
"""Return more bytes than a frame may hold."""
def causal_mask(length):
    return torch.zeros(50_000_000)
