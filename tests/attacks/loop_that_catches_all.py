# causal: time limit
# stopped from: none
"""Never return, whatever is raised."""
def causal_mask(length):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
