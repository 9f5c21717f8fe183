"""Wrong answers that people write. Parsed, never imported; see autograder/exercise/known.py."""


class squared:
    """Every number was multiplied by itself."""

    fails = ["twice"]
    hint = "What is twice 3, and what did you get for 3?"

    def twice(x):
        return x * x
