"""What helps a learner along: hints, progress that is kept, maps of what differs."""

import base64
import json
import re
import xml.dom.minidom
from collections import defaultdict

import pytest
import torch

from autograder.exercise import reading as exercises
from autograder.judging.answers import known_learner
from autograder.kit.hints import Hinter
from autograder.kit.maps import maps
from autograder.kit.outcome import Outcome, Verdict, Wrong
from autograder.kit.progress import FILE, Progress
from autograder.kit.suite import VISIBLE_SEED, failure

PASSED, WRONG, SILENT = Outcome.PASSED, Outcome.WRONG, Outcome.NO_ANSWER


def _hints():
    return [(name, hints) for name in exercises.all_names() for hints in exercises.load(name).hints]


def test_every_check_has_three_hints_of_its_own():
    """Hints that serve two checks help a learner with somebody else's problem."""
    for name in exercises.all_names():
        exercise = exercises.load(name)
        assert sorted(hints.checks for hints in exercise.hints) == sorted((check,) for check in exercise.checks), name
        assert all(len(hints.texts) == 3 for hints in exercise.hints), name


def _sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.?!])\s+", text)


def test_no_sentence_stands_in_two_hints():
    """Whoever has read the hints of one check finds something new in those of the next, in another exercise too."""
    places = defaultdict(list)
    for name, hints in _hints():
        for text in hints.texts:
            for sentence in _sentences(text):
                places[sentence].append((name, *hints.checks))
    assert {sentence: found for sentence, found in places.items() if len(found) > 1} == {}


def _code(text: str) -> str:
    return re.sub(r"[\s`]+", "", text)


def test_no_hint_holds_a_line_of_an_answer():
    """The last hint stops one step before the line, also where the line is written in words around code."""
    for name, hints in _hints():
        for cell in exercises.load(name).answers:
            for region in re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", cell.source, re.DOTALL):
                lines = [_code(re.sub(r"^\s*(return|\w+ =) |#.*", "", line)) for line in region.splitlines()]
                assert [line for line in lines if len(line) > 14 and any(line in _code(text) for text in hints.texts)] == [], name


def _verdicts(**outcomes: Outcome) -> list[Verdict]:
    return [Verdict(check, outcome, 1.0) for check, outcome in outcomes.items()]


def test_progress_outlives_its_owner(tmp_path):
    Progress(tmp_path).remember(_verdicts(scale=PASSED, mask=PASSED, batch=WRONG))
    Progress(tmp_path).open("answer-softmax", 2)
    later = Progress(tmp_path)
    assert later.passed == ["mask", "scale"] and later.opened("answer-softmax") == 2 and later.opened("mask") == 0


def test_silence_takes_nothing_away_and_a_wrong_answer_does(tmp_path):
    progress = Progress(tmp_path)
    progress.remember(_verdicts(scale=PASSED, mask=PASSED))
    progress.remember(_verdicts(scale=SILENT, mask=WRONG))
    assert progress.passed == ["scale"]


DAMAGED = [
    "",
    "{",
    "[]",
    "null",
    '{"passed": 3, "hints": []}',
    '{"passed": [1, {}], "hints": {"a": "b", "c": -1, "d": true}}',
    "[" * 100_000,
    "\ud800",
]


@pytest.mark.parametrize("text", DAMAGED, ids=range(len(DAMAGED)))
def test_damaged_progress_is_none_and_no_error(tmp_path, text):
    (tmp_path / FILE).write_bytes(text.encode("utf-8", "surrogatepass"))
    progress = Progress(tmp_path)
    assert progress.passed == [] and {progress.opened(name) for name in "acd"} == {0}
    progress.remember(_verdicts(scale=PASSED))
    progress.open("a", 1)
    assert Progress(tmp_path).passed == ["scale"] and Progress(tmp_path).opened("a") == 1


def test_progress_that_cannot_be_written_is_no_error(tmp_path):
    progress = Progress(tmp_path / "gone")
    progress.remember(_verdicts(scale=PASSED))
    assert progress.passed == []


def test_progress_leaves_one_file(tmp_path):
    Progress(tmp_path).remember(_verdicts(scale=PASSED))
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    assert json.loads((tmp_path / FILE).read_text()) == {"passed": {"scale": ""}, "hints": {}}


def test_hints_open_also_where_nothing_can_be_written(tmp_path, capsys):
    hint = Hinter([{"cell": "answer-a", "checks": ["a", "b"], "texts": ["one?", "two", "three"]}], Progress(tmp_path / "gone"))
    for check, opened in (("a", 1), ("b", 2), ("a", 3), ("a", 3)):  # both checks share their hints
        hint(check)
        output = capsys.readouterr().out
        assert [word in output for word in ("1. one?", "2. two", "3. three")] == [number < opened for number in range(3)]
    with pytest.raises(ValueError, match="no check 'c' here; there are a, b"):
        hint("c")


def _drawn(page: str) -> str:
    (picture,) = re.findall(r"src='data:image/svg\+xml;base64,([^']+)'", page)
    text = base64.b64decode(picture).decode()
    xml.dom.minidom.parseString(text)  # raises if it is no XML
    return text


def test_wrong_weights_are_drawn_beside_the_right_ones():
    came, expected = torch.full((2, 3), 1 / 3), torch.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]) / 6
    page = maps(Wrong("weights", "", came, expected))
    drawn = _drawn(page)
    assert drawn.count("<rect") == 1 + 6 + 6 and ">found<" in drawn and ">expected<" in drawn
    assert "Found: 0.33 0.33 0.33; 0.33 0.33 0.33. Expected: 0.17 0.33 0.5; 0.5 0.33 0.17." in page


def test_of_a_batch_the_table_that_differs_is_drawn():
    expected = torch.eye(3).repeat(2, 2, 1, 1)
    came = expected.clone()
    came[1, 0, 2] = 0.25
    assert "Found: 1 0 0; 0 1 0; 0.25 0.25 0.25. Expected: 1 0 0; 0 1 0; 0 0 1." in maps(Wrong("weights", "", came, expected))


ODD = {
    "not a number": torch.tensor([[float("nan"), 1.0]]),
    "infinite": torch.tensor([[float("inf"), -float("inf")]]),
    "another shape": torch.zeros(3, 4),
    "one axis": torch.zeros(3),
    "four axes": torch.zeros(2, 1, 3, 2),
    "half precision": torch.zeros(1, 2, dtype=torch.bfloat16),
    "with a graph": torch.zeros(1, 2, requires_grad=True),
    "whole numbers": torch.tensor([[10**12, -5]]),
}


@pytest.mark.parametrize("came", ODD.values(), ids=ODD)
def test_odd_answers_are_drawn_too(came):
    _drawn(maps(Wrong("weights", "", came, torch.tensor([[0.25, 0.75]]))))


NO_MAP = {
    "outputs": Wrong("output", "", torch.zeros(2, 2), torch.tensor([[0.5, -2.0], [1.0, 3.0]])),
    "numbers": Wrong("scale", "", 3, 4),
    "one number": Wrong("weights", "", torch.tensor(0.5), torch.tensor(1.0)),
    "nothing": Wrong("weights", "", torch.zeros(0, 3), torch.zeros(0, 3)),
    "too large": Wrong("weights", "", torch.zeros(40, 40), torch.eye(40)),
    "complex": Wrong("weights", "", torch.zeros(2, 2, dtype=torch.complex64), torch.eye(2)),
    "sparse": Wrong("weights", "", torch.eye(3).to_sparse(), torch.eye(2)),
    "without numbers": Wrong("weights", "", torch.zeros(2, 2, device="meta"), torch.eye(2)),
    "no tensor": Wrong("weights", "", "<script>", torch.eye(2)),
    "no comparison": ValueError("what"),
}


@pytest.mark.parametrize("error", NO_MAP.values(), ids=NO_MAP)
def test_what_is_no_map_is_not_drawn(error):
    assert maps(error) == ""


def test_known_mistakes_of_weights_and_masks_are_drawn(single_head):
    tests = [test for test in single_head.tests if not test.hidden]
    learners = [known_learner(single_head.name, mistake.name) for mistake in single_head.mistakes]
    seen = {test.check for test in tests for learner in learners if maps(failure(test, learner, VISIBLE_SEED))}
    assert {"softmax", "scale", "weights", "mask", "causal", "padding"} <= seen
