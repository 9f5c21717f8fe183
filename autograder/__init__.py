"""The judge of Attention by Hand: from an exercise's source to a trustworthy mark."""
