# causal: memory limit|your code ended the process|wrong answer
# stopped from: none
"""Return a tensor whose elements are all one and the same number."""
def causal_mask(length):
    return torch.zeros(1).expand(1 << 40)
