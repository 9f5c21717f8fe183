"""What a stranger wrote is only text in the instructor's terminal too."""

from autograder.authoring.sample import handed_in
from tests.injections.corpus import FOLDERS, PAYLOADS, spoiled


def test_grade_prints_text_only(course, command, single_head):
    for name, payload in [
        ("controls", PAYLOADS["controls"]),
        ("rich", PAYLOADS["rich"]),
        *((folder, PAYLOADS["rich"]) for folder in FOLDERS),
    ]:
        path = course.submitted / name / "single_head" / "single_head.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(spoiled(handed_in(single_head, None), payload), encoding="utf-8")
    output = command("python", "-m", "autograder", "grade", "single_head", "--jobs", "1").stdout
    assert all(c.isprintable() or c == "\n" for c in output), [c for c in output if not c.isprintable() and c != "\n"]
    assert output.count("not judged: ") >= len(FOLDERS) and "[b][" in output and "controls" in output
