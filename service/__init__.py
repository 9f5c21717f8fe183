"""The model of the chapter on generation as a service: see README.md."""
