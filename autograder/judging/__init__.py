"""From a `Task` to its `Verdict`s, with the name of a known mistake where that explains what failed."""
