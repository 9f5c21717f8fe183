"""Learning platforms, end to end: archives as each names them are collected and graded, and marks and feedback go back in its form."""

import csv
import io
import zipfile

import nbformat
import pytest

from autograder.authoring.sample import handed_in
from autograder.plugins.archives import before_exercise, is_wanted
from autograder.plugins.platforms import PLATFORMS, Handed
from autograder.records import settings

# What each platform calls the files of a class, whose they are, and what becomes of the learner's name here.
CLASSES = {
    "moodle": {
        "Ada Lovelace_4711_assignsubmission_file_single_head.ipynb": "Ada Lovelace_4711",
        "李小龙_4712_assignsubmission_file/single_head.ipynb": "李小龙_4712",
        "José O'Neill_4713_assignsubmission_file_Copy of single_head (1).ipynb": "José O'Neill_4713",
        "Jose\u0301 Nunez_4714_assignsubmission_file/Single_Head-Copy1.IPYNB": "José Nunez_4714",
    },
    "canvas": {
        "lovelaceada_4711_90001_single_head.ipynb": "lovelaceada_4711",
        "lovelaceada_4712_90002_single_head-1.ipynb": "lovelaceada_4712",
        "hoppergrace_LATE_4713_90003_single_head_final.ipynb": "hoppergrace_4713",
        "李小龙_4714_90004_single_head.ipynb": "李小龙_4714",
    },
    "blackboard": {
        "Week 3_alovelace_attempt_2026-11-14-10-11-12_single_head.ipynb": "alovelace",
        "Week 3_ghopper_attempt_2026-11-15-00-30-00_single_head.ipynb": "ghopper",
    },
    "classroom": {
        "Ada Lovelace - single_head.ipynb": "Ada Lovelace",
        "李小龙 - Copy of single_head.ipynb": "李小龙",
        "Mary-Ann O'Hara - single_head (2).ipynb": "Mary-Ann O'Hara",
    },
}


def test_the_settings_know_every_platform():
    assert settings.PLATFORMS == tuple(PLATFORMS) == tuple(CLASSES)


@pytest.fixture
def collect(course, command, single_head):
    """Collect a class's archive, and return what the command said."""

    def run(platform: str, names) -> str:
        whole = course.root / "downloaded" / "single_head" / "archive" / "class"
        whole.mkdir(parents=True)
        (course.root / "course.toml").write_text(f'platform = "{platform}"\ntime_zone = "Europe/Berlin"\n')
        notebook = nbformat.writes(handed_in(single_head, None))
        with zipfile.ZipFile(whole / "all.zip", "w") as archive:
            for name in names:
                archive.writestr(name, notebook)
            archive.writestr("README.txt", "nothing")
        done = command("nbgrader", "zip_collect", "single_head")
        return done.stdout + done.stderr

    return run


@pytest.mark.parametrize("platform", CLASSES)
def test_a_class_is_collected_by_one_setting_graded_and_handed_back(platform, collect, course, command):
    said = collect(platform, CLASSES[platform])
    learners = {path.name for path in course.submitted.iterdir()}
    assert learners == set(CLASSES[platform].values()), said
    assert all((course.submitted / learner / "single_head" / "single_head.ipynb").is_file() for learner in learners)
    assert ("Late, says canvas: hoppergrace_4713" in said) is (platform == "canvas")
    if platform == "blackboard":
        time = course.submitted / "ghopper" / "single_head" / "timestamp.txt"
        assert time.read_text().strip().startswith("2026-11-14 23:30:00")  # of Berlin's half past midnight
    if platform not in ("moodle", "canvas"):
        return
    command("python", "-m", "autograder", "grade")
    command("python", "-m", "autograder", "handback")
    handed = course.root / "handback"
    with zipfile.ZipFile(handed / "single_head.zip") as archive:
        assert len(archive.namelist()) == len(learners) and all(b"20 of 20 points" in archive.read(name) for name in archive.namelist())
        assert platform != "moodle" or "Ada Lovelace_4711_assignsubmission_file/feedback.html" in archive.namelist()
    rows = list(csv.DictReader(io.StringIO((handed / "single_head.csv").read_text(encoding="utf-8-sig"))))
    if platform == "moodle":
        assert {(row["Identifier"], row["Full name"], row["Grade"], row["Maximum grade"]) for row in rows} == {
            (f"Participant {number}", name, "20.0", "20.0") for name, _, number in (learner.rpartition("_") for learner in learners)
        }
    if platform == "canvas":
        assert rows[0]["Student"].strip() == "Points Possible" and rows[0]["single_head"] == "20.0"
        assert {(row["Student"], row["ID"], row["single_head"]) for row in rows[1:]} == {
            (*learner.rsplit("_", 1), "20.0") for learner in learners
        }


@pytest.mark.parametrize("platform", CLASSES)
def test_names_that_are_another_platforms_are_none(platform):
    others = [name for other, names in CLASSES.items() for name in names if other != platform]
    mine = [name for name in others if PLATFORMS[platform].read(name)]
    assert not mine, mine


def test_what_a_platform_does_not_call_so_is_listed_and_not_taken(collect, course):
    collect("moodle", [next(iter(CLASSES["moodle"])), "single_head.ipynb"])
    assert len(list(course.submitted.iterdir())) == 1
    assert "moodle does not name files like this" in (course.root / "downloaded" / "single_head" / "not_taken.txt").read_text()


def test_a_time_that_is_none_is_refused():
    with pytest.raises(ValueError, match="time data"):
        PLATFORMS["blackboard"].read("x_ada_attempt_2026-13-14-10-11-12_a.ipynb")
    assert PLATFORMS["blackboard"].read("x_ada_attempt_2026-12-14-10-11-12_a.ipynb") == Handed("ada", "2026-12-14 10:11:12 UTC")


@pytest.mark.parametrize(
    "name, before",
    [
        ("single_head", ""),
        ("ada_single_head", "ada"),
        ("Ada Lovelace - single_head", "Ada Lovelace"),
        ("single_head-Copy1", ""),
        ("Copy of single_head", ""),
        ("ada_Copy of Single_Head (2)", "ada"),
        ("ada-single_head_final v2", "ada"),
        ("my_single_headache", None),
        ("multi_head", None),
        ("xsingle_head", None),
    ],
)
def test_careless_names_are_still_the_exercises(name, before):
    assert before_exercise(name, "single_head") == before
    assert is_wanted(f"{name}.IPYNB", "single_head") is (before is not None) and not is_wanted(f"{name}.zip", "single_head")
