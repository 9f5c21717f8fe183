"""Right answers in other styles. Parsed, never imported; see autograder/exercise/known.py."""


class added_to_itself:
    """A sum in place of a product."""

    def twice(x):
        return x + x
