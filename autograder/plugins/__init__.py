"""What nbgrader calls: for autograde, generate_feedback, zip_collect and export."""
