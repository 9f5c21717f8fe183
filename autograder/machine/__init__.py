"""This machine: its environment, what the sandbox promises here, and the attacks that test it."""
