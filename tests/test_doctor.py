"""`python -m autograder doctor` tells what is so, and exits with 1 where that is not enough."""

import sys
from pathlib import Path

from click.testing import CliRunner

from autograder.__main__ import main
from autograder.machine import doctor
from autograder.machine.attacks import corpus
from autograder.sandbox.levels import Level


def test_doctor_tells_levels_limits_and_versions(command, level):
    output = command("python", "-m", "autograder", "doctor").stdout
    for word in (f"level {level.name}  works here", "level landlock", "memory megabytes 1024", "torch 2.13", "gradebook", "GPU"):
        assert word in output


def test_missing_level_is_an_exit_of_1_with_what_to_do(command, monkeypatch):
    monkeypatch.delenv("ATTENTION_LEVEL")
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    done = command("python", "-m", "autograder", "doctor", code=1)
    assert "apt-get install bubblewrap" in done.stdout and "level landlock  works here" in done.stdout


def test_grading_without_the_level_judges_nothing_and_says_why(command, monkeypatch, course, hand_in, single_head):
    hand_in("ada", single_head)
    monkeypatch.delenv("ATTENTION_LEVEL")
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    done = command("python", "-m", "autograder", "grade", "single_head", code=2, alone=True)
    assert "apt-get install bubblewrap" in done.stdout and "ATTENTION_LEVEL=landlock" in done.stdout
    assert not list(course.root.glob("verdicts/*/*"))
    assert "sandbox: landlock" in command("python", "-m", "autograder", "grade", "--level", "best", "single_head", alone=True).stdout


def test_attack_that_succeeds_is_an_exit_of_1(monkeypatch):
    monkeypatch.setattr(doctor, "examine", lambda *given: iter(()))
    for problems, code in ([], 0), (["the judge's file was changed"], 1):
        monkeypatch.setattr(doctor, "attack_all", lambda level: iter([("Write where the marks are kept.", problems)]))
        done = CliRunner().invoke(main, ["doctor", "--attack", "--level", "landlock"], standalone_mode=False)
        assert done.exit_code == code and "of 1 attacks were stopped" in done.output


def test_attacks_are_run_one_by_one_and_a_fallen_judge_counts_as_their_success(monkeypatch):
    def falls(one, zygote, around):
        raise RuntimeError("fallen")

    monkeypatch.setattr(doctor, "corpus", lambda: [one for one in corpus() if one.level is Level.none][:2])
    monkeypatch.setattr(doctor, "attack", falls)
    assert [problems for _, problems in doctor.attack_all(Level.none)] == [["the judge failed: RuntimeError: fallen"]] * 2


def test_every_level_of_the_machine_is_attacked_and_what_the_lower_ones_leave_is_named(monkeypatch, level):
    monkeypatch.setattr(doctor, "examine", lambda *given: iter(()))
    asked = []
    monkeypatch.setattr(doctor, "attack_all", lambda each: iter([asked.append(each) or ("Write where the marks are kept.", [])]))
    output = CliRunner().invoke(main, ["doctor", "--attack"], standalone_mode=False).output
    assert asked == [each for each in (Level.bubblewrap, Level.landlock) if doctor.works(each)]
    assert "What the level landlock does not promise" in output and "What the level bubblewrap" not in output


def test_grading_says_aloud_what_a_lower_level_does_not_promise(command, hand_in, single_head):
    hand_in("ada", single_head)
    said = command("python", "-m", "autograder", "grade", "--level", "landlock", "single_head").stdout
    assert "The level landlock does not promise everything" in said and "install bubblewrap" in said
