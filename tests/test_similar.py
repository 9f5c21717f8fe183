"""Pairs that are alike: a copy is found also under other names, and those who write what everybody writes are not."""

import re

import pytest

from autograder.intake.submission import Submission
from autograder.judging.answers import answers
from autograder.judging.known_sources import known_sources
from autograder.pages.similar import similar_page, similar_pairs

PECULIAR = """def softmax(scores):
    # I tried it with the mean first, which was wrong for large numbers
    biggest = None
    for column in range(scores.shape[-1]):
        one = scores[..., column : column + 1]
        biggest = one if biggest is None else torch.where(one > biggest, one, biggest)
    flattened = torch.where(biggest == -math.inf, torch.zeros_like(biggest), biggest)
    growth = math.e ** (scores - flattened)
    whole = growth[..., :1] * 0
    for column in range(growth.shape[-1]):
        whole = whole + growth[..., column : column + 1]
    return torch.where(whole == 0, growth, growth / torch.where(whole == 0, torch.ones_like(whole), whole))
"""
OTHER = """def softmax(scores):
    shape = scores.shape
    rows = scores.reshape(-1, shape[-1])
    out = []
    for row in rows:
        top = row.max() if bool((row > -math.inf).any()) else row.new_zeros(())
        parts = torch.stack([(entry - top).exp() for entry in row])
        total = parts.sum()
        out.append(parts if float(total) == 0 else parts / total)
    return torch.stack(out).reshape(shape)
"""


def handed_in(exercise, learner: str, softmax: str | None = None, known=None) -> Submission:
    sources = answers(exercise, known)
    if softmax:
        sources["answer-softmax"] = softmax
    return Submission(learner, exercise.name, sources)


def renamed(source: str) -> str:
    source = re.sub(r"#.*", "", source)
    for old, new in {"biggest": "m", "column": "k", "flattened": "n", "growth": "g", "whole": "s", "one": "piece"}.items():
        source = re.sub(rf"\b{old}\b", new, source)
    return source


@pytest.fixture
def class_(single_head):
    known = [
        handed_in(single_head, f"known{number}", known=each)
        for number, each in enumerate([None, None, *single_head.variants, *single_head.mistakes])
    ]
    return [*known, handed_in(single_head, "ada", PECULIAR), handed_in(single_head, "zoe", OTHER)]


def names(pairs) -> list[set[str]]:
    return [{pair.first.learner, pair.second.learner} for pair in pairs]


def test_those_who_write_what_everybody_writes_are_no_pair(class_, single_head):
    assert similar_pairs(single_head, class_) == []


@pytest.mark.parametrize(
    "copy",
    [PECULIAR, renamed(PECULIAR), PECULIAR.replace("    #", "\n    #").replace("growth", "grown")],
    ids=["as it is", "renamed", "edited"],
)
def test_a_copy_is_a_pair(class_, single_head, copy):
    pairs = similar_pairs(single_head, [*class_, handed_in(single_head, "bob", copy)])
    assert names(pairs)[0] == {"ada", "bob"} and len(pairs) == 1
    assert pairs[0].alike > 0.9 and pairs[0].excess > 0.08
    page = similar_page(single_head, pairs, len(class_) + 1)
    assert "proves nothing" in page and page.count("biggest") >= 2 and "<script" not in page


def test_empty_and_broken_answers_are_no_pair_and_stop_nothing(single_head):
    empty = {cell.id: "# later" for cell in single_head.answers}
    broken = {cell.id: "def f(:\n  '''\n" for cell in single_head.answers}
    works = [Submission(name, "single_head", answers) for name in "abc" for answers in (empty, broken)]
    assert similar_pairs(single_head, works) == [] and len(known_sources(single_head)) > 20


def test_the_command_writes_a_page(course, command, hand_in, single_head):
    def peculiar(notebook):
        for cell in notebook.cells:
            if cell.id == "answer-softmax":
                cell.source = PECULIAR

    for learner in ("ada", "bob"):
        hand_in(learner, single_head, change=peculiar)
    hand_in("grace", single_head).write_text("{")
    assert "1 pair of 2 submissions" in command("python", "-m", "autograder", "similar", "single_head").stdout
    assert "ada" in (course.root / "similar-single_head.html").read_text(encoding="utf-8")
