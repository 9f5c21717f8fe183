"""Measurements of the judge: `make bench` runs them; README.md of the sandbox tells what they mean."""
