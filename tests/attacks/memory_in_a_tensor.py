# causal: memory limit
# stopped from: none
"""Ask torch for eight gigabytes."""
def causal_mask(length):
    return torch.ones(8 << 30)
