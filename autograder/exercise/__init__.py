"""An author's folder of solutions/ in, an `Exercise` out; `AuthorError` names file, line and cell."""
