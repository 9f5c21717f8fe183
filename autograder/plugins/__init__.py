"""What nbgrader calls: autograde, zip_collect, export."""
