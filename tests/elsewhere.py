"""What this machine makes of known mistakes. tests/test_machines.py runs this where the environment has torch compute as another machine would.

    python -m tests.elsewhere FOLDER THREADS EXERCISE ...

writes into a folder, for each exercise, its exercise.json as it comes out here, and `EXERCISE-strange.json`: each known mistake and test
of which exercise.json, as it was released, has a fingerprint that is not recognised in what the mistake leaves here.
"""

import json
import sys
from pathlib import Path

import torch

from autograder.authoring.jitter import print_here
from autograder.authoring.learner_files import facts_of
from autograder.authoring.release import EXERCISES
from autograder.exercise import reading as exercises
from autograder.kit.fingerprint import same


def main(folder: Path, threads: int, names: list[str]) -> None:
    torch.set_num_threads(threads)  # not before: judging allows itself one
    for name in names:
        (folder / f"{name}.json").write_text(facts_of(exercises.load(name)), encoding="utf-8")
        (folder / f"{name}-strange.json").write_text(json.dumps(_not_recognised(name)), encoding="utf-8")


def _not_recognised(name: str) -> list[str]:
    tests = {test.name: test for test in exercises.load(name).tests}
    released = json.loads((EXERCISES / name / "exercise.json").read_text(encoding="utf-8"))["mistakes"]
    known = [(mistake["name"], tests[test], left) for mistake in released for test, left in mistake["prints"].items()]
    return [f"{mistake} in {test.name}" for mistake, test, left in known if left and not same(print_here(name, mistake, test), left)]


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
