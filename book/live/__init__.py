"""The site with a button that runs its cells: `make serve`."""
