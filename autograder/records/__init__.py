"""The records of a course: its folders, the journal of verdicts, the gradebook, annotated notebooks."""
