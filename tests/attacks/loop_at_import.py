# causal: time limit; padding: time limit; device: time limit
# stopped from: none
"""Never finish the cell."""
while True:
    pass
