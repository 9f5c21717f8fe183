# causal: memory limit|time limit|your code ended the process|wrong answer
# stopped from: none
"""Return a list that never ends."""
class Endless(list):
    def __iter__(self):
        while True:
            yield 1


def causal_mask(length):
    return Endless([1])
