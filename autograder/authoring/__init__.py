"""For whoever writes exercises: begin one, prove its tests, hand it out, lay out a sample class."""
