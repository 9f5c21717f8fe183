"""What nbgrader is told on the hub, for learners and instructors alike.

The course has more settings, in the project's own nbgrader_config.py.
"""

c = get_config()  # noqa: F821  (given by nbgrader)

c.CourseDirectory.course_id = "attention-by-hand"
c.Exchange.root = "/srv/exchange"
