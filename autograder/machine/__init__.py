"""This machine: its environment, what its sandbox promises, and the attacks that try it."""
