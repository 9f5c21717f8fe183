# causal: your code raised an error
# stopped from: none
"""Raise an error whose text is an error, with a name full of markup."""
Hostile = type("<script>window.pwned = 1</script>", (Exception,), {"__str__": lambda self: 1 / 0, "__repr__": None})


def causal_mask(length):
    raise Hostile()
