"""What people see of verdicts: a page for one learner, a page for the class, the terminal."""
