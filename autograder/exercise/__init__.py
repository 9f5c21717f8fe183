"""From an author's folder of solutions/ to an `Exercise`; an `AuthorError` names file, line and cell."""
