"""The sandbox, in which learners' code runs; README.md is its theory of operation."""
