"""Where the learner's code runs; README.md is the theory of operation."""
