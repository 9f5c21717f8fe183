"""What a public project says of itself agrees with what it does."""

import os
import re
import subprocess
import tomllib
from dataclasses import replace

import check_message
import pytest
import yaml

from autograder.exercise.reading import load
from autograder.judging.answers import known_learner
from autograder.judging.verdicts import findings
from autograder.kit.maps import maps
from autograder.kit.show import as_html, as_text
from autograder.kit.suite import VISIBLE_SEED, run_check
from tests.conftest import ROOT
from tests.site.site_layout import SITE
from tests.test_diagnosis import named_in_notebook

README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def make(*words: str) -> str:
    """Return what make would do, without doing it; not as part of a make that runs these tests."""
    alone = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}}
    return subprocess.run(["make", "--dry-run", *words], cwd=ROOT, capture_output=True, text=True, check=True, env=alone).stdout


def test_course_begins_with_what_it_costs_in_the_words_of_the_readme():
    (cost,) = re.findall(r"The first time, this takes \d+ to \d+ minutes and \d+ GB of disk[^|]+?(?= \|)", README)
    assert make("course").splitlines()[0] == f'echo "{cost}"'


def test_course_ends_with_two_paths_and_what_to_do_next():
    *_, grade, book, following = make("course").splitlines()
    assert "autograder grade" in grade  # which ends with the path of the class's report
    assert "_build/html/index.html" in book and "make lab" in following


def test_message_in_the_readme_is_the_one_that_a_learner_reads():
    (shown,) = re.findall(r"^>>> check\(\"scale\"\)\n(.*?)\n```", README, re.DOTALL | re.MULTILINE)
    learner = known_learner("single_head", "no_scale")
    found = findings(load("single_head"), learner, seed=0)
    named = named_in_notebook("single_head", "no_scale")
    (verdict,) = (each.verdict for each in found if each.verdict.check == "scale")
    assert as_text(replace(verdict.with_mistake(named["scale"].named), max_points=0.0)) == shown


def test_message_on_the_first_page_is_the_one_that_a_learner_reads():
    """The site's comes from a notebook that was run for it; this is the kit as it is now."""
    source = (ROOT / "book" / "intro.md").read_text(encoding="utf-8")
    ((name, mistake, check),) = re.findall(r"^```\{check-message\} (\w+) (\w+) (\w+)$", source, re.MULTILINE)
    tests = [test for test in load(name).tests if test.check == check and not (test.hidden or test.gpu)]
    found = run_check(check, tests, known_learner(name, mistake), VISIBLE_SEED)
    named = named_in_notebook(name, mistake)[check].named
    box = as_html(found.verdict.with_mistake(named), maps(found.error)).removesuffix("</div>")  # what has been earned so far stands below
    assert box in (SITE / "book" / "intro.html").read_text(encoding="utf-8")


def test_a_check_that_passes_has_no_message():
    with pytest.raises(check_message.NoMessage, match="nothing to say"):
        check_message.message("single_head", "no_scale", "softmax")


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "autograder/THREATS.md", "autograder/sandbox/README.md"]
)
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not target.startswith("https://"):
            path, _, heading = target.partition("#")
            found = (ROOT / page).parent / path
            assert found.exists(), target
            headings = re.findall(r"^#+ (.*)$", found.read_text(encoding="utf-8"), re.MULTILINE) if heading else []
            assert not heading or heading in [each.lower().replace(" ", "-") for each in headings], target


def test_every_command_of_make_is_told_once_to_contributors():
    declared = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()
    described = re.findall(r"^\| `make (\w+)` \|", CONTRIBUTING, re.MULTILINE)
    assert sorted(described) == sorted(set(declared) - {"cost", "environment"})


def test_version_is_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert citation["version"] == VERSION and re.search(r"^## \[(.*?)\]", changes, re.MULTILINE)[1] == VERSION
    assert citation.keys() >= {"cff-version", "message", "title", "authors"}  # what the format demands


def test_both_licences_are_named_wherever_somebody_looks():
    footer = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["sphinx"]["config"]["html_theme_options"]["extra_footer"]
    for place in (README, CONTRIBUTING, (ROOT / "book" / "LICENSE").read_text(encoding="utf-8"), footer):
        assert "CC BY 4.0" in place and "BSD 3-Clause" in place
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("BSD 3-Clause License\n\nCopyright (c) ")


def test_only_the_job_that_publishes_may_write():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "site.yml").read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    assert {name for name, job in workflow["jobs"].items() if "permissions" in job} == {"publish"}
    commands = {step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step}
    assert commands == {"./.ci/run", "./.ci/debian.sh", "make nightly"}


THREATS = (ROOT / "autograder" / "THREATS.md").read_text(encoding="utf-8")


def test_every_row_of_the_threat_model_is_proved_by_tests_that_exist():
    rows = [line for line in THREATS.splitlines() if line.startswith("| ") and line.count("|") == 5 and "proved by" not in line]
    assert len(rows) >= 15
    for row in rows:
        proofs = re.findall(r"`((?:\w+/)*test_\w+\.py)(?:::(test_\w+))?`", row.split("|")[4])
        assert proofs, row
        for file, name in proofs:
            text = (ROOT / "tests" / file).read_text(encoding="utf-8")
            assert f"def {name or 'test_'}" in text, (file, name)


def test_files_that_the_threat_model_names_exist():
    for path in re.findall(r"\(`([\w/]+\.py)`\)", THREATS):
        assert (ROOT / "autograder" / path).exists(), path
