"""A `Submission` in, `Verdict`s out, with the name of a known mistake where it is one."""
