# causal: time limit
# stopped from: none
"""Never return."""
def causal_mask(length):
    while True:
        pass
