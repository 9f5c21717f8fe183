"""The judge of Attention by Hand: from an exercise's source to a trustworthy mark."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]  # the project's folder
