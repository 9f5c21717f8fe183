"""From a stranger's bytes to a `Submission`, or `Refused`."""
