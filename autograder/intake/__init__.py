"""A stranger's bytes in, a `Submission` out, or `Refused`."""
