"""Where judges run: in this process, in several, or on a cluster. Tasks come in and verdicts go out as text."""
