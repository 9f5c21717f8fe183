"""For authors of exercises: start one, prove its tests, release it, lay out a sample class."""
