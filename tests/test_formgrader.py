"""nbgrader's own formgrader, in a real Jupyter server: its buttons reach our judge."""
import csv
import json
import re

from autograder.grading import grade
from tests.formgrader_server import ask, server  # noqa: F401  (a fixture)


def test_button_gives_the_mark_and_pages_show_it(server, course, hand_in, command, single_head):  # noqa: F811
    hand_in("ada", single_head, single_head.mistakes[0])
    command("nbgrader", "generate_assignment", "single_head", f"--CourseDirectory.release_directory={course.root / 'release'}")
    assert "single_head" in {a["name"] for a in json.loads(ask(server, "/formgrader/api/assignments"))}
    answer = json.loads(ask(server, "/formgrader/api/submission/single_head/ada/autograde", "POST"))
    assert answer["success"], answer

    (mine,) = json.loads(ask(server, "/formgrader/api/submissions/single_head"))
    entry = [entry for _, _, entry in grade(course, ["single_head"]) if entry][0]
    assert mine["score"] == entry.score < mine["max_score"] == sum(single_head.checks.values())

    (notebook,) = json.loads(ask(server, "/formgrader/api/submitted_notebooks/single_head/single_head"))
    page = ask(server, f"/formgrader/submissions/{notebook['id']}/?index=0")
    assert single_head.mistakes[0].title in page and re.search(r"wrong answer", page)
    assert ask(server, "/formgrader/manage_assignments")

    command("nbgrader", "export", "--to", course.root / "grades.csv")
    (row,) = csv.DictReader((course.root / "grades.csv").open())
    assert (row["student_id"], float(row["score"])) == ("ada", entry.score)
    command("nbgrader", "generate_feedback", "single_head", "--force")
    assert single_head.mistakes[0].title in course.feedback("ada", "single_head").read_text()
