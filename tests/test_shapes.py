"""Pictures of shapes: what fits is drawn and described, what does not fit is refused."""

import re
import xml.dom.minidom

import pytest

from autograder.authoring.learner_files import learner_files
from autograder.exercise import reading as exercises
from autograder.exercise.notebook import pictures, released_notebook
from autograder.exercise.shapes import Misfit, described, draw, read_chain

FITS = {
    "a product": "query [3 queries, 2 d_k] @ key transposed [2 d_k, 5 keys] = scores [3 queries, 5 keys]",
    "a product of stacks": "weights [2 heads, 3 queries, 5 keys] @ value [2 heads, 5 keys, 7 d_v] = output [2 heads, 3 queries, 7 d_v]",
    "with numbers": "x [1 word, 2 numbers] {1 2} @ w [2 numbers, 2 units] {1 0 / 3 -1} = units [1 word, 2 units] {7 -2}",
    "rounded": "shares [1 query, 3 keys] {0.17 0.33 0.5} @ value [3 keys, 1 d_v] {0 6 12} = output [1 query, 1 d_v] {8}",
    "a sum": "x [2 words, 2 numbers] {1 2 / 3 4} + b [2 numbers] {1 1} = y [2 words, 2 numbers] {2 3 / 4 5}",
    "softmax": "scores [1 query, 2 keys] {2 0} -softmax-> weights [1 query, 2 keys] {0.88 0.12}",
    "a bias behind a product": "x [3 words, 2 numbers] @ w [2 numbers, 7 units] + b [7 units] = y [3 words, 7 units]",
    "an arrow": "x [2 tokens, 4 d_model] -> heads [2 heads, 2 tokens, 2 d_head]",
}


@pytest.mark.parametrize("line", FITS.values(), ids=FITS)
def test_what_fits_is_drawn(line):
    picture = draw(line)
    xml.dom.minidom.parseString(picture)  # raises if it is no XML
    assert all(f">{tensor.name}<" in picture and tensor.name in described(line) for tensor in read_chain(line).tensors)
    assert draw(line) == picture


MISFITS = {
    "widths": ("a [2 x, 3 y] @ b [4 y, 5 z] = c [2 x, 5 z]", "a @ b: 3 y meet 4 y"),
    "names": ("a [2 x, 3 y] @ b [3 z, 5 w] = c [2 x, 5 w]", "a @ b: 3 y meet 3 z"),
    "axes of the result": ("a [2 x, 3 y] @ b [3 y, 5 z] = c [5 z, 2 x]", "has the axes 2 x, 5 z, not those of c"),
    "a product's numbers": ("a [1 x, 2 y] {1 2} @ b [2 y, 1 z] {3 4} = c [1 x, 1 z] {10}", r"a @ b is \[\[11.0\]\]"),
    "a sum's numbers": ("a [2 x] {1 2} + b [2 x] {1 2} = c [2 x] {2 5}", r"a \+ b is"),
    "softmax's numbers": ("a [1 x, 2 y] {2 0} -softmax-> b [1 x, 2 y] {0.5 0.5}", "softmax is"),
    "too few numbers": ("a [2 x, 2 y] {1 2 3}", "3 numbers for a shape of 2 × 2"),
    "a word for a number": ("a [2 x] {1 two}", "could not convert"),
    "no axes": ("a @ b", "'a' is no tensor"),
    "four axes": ("a [2 x, 2 y, 2 z, 2 w]", "one to three axes"),
}


@pytest.mark.parametrize("line, words", MISFITS.values(), ids=MISFITS)
def test_what_does_not_fit_is_refused(line, words):
    with pytest.raises(Misfit, match=words):
        read_chain(line)


def test_every_picture_of_a_notebook_is_beside_it_and_described():
    drawn = 0
    for name in exercises.all_names():
        exercise = exercises.load(name)
        text = "\n".join(cell.source for cell in released_notebook(exercise).cells)
        shown = re.findall(r"^!\[(.+)\]\((shapes_\d+\.svg)\)$", text, re.MULTILINE)
        files = learner_files(exercise, facts="{}")
        assert [files[file] for _, file in shown] == pictures(exercise) and "```shapes" not in text
        assert len({file for _, file in shown}) == len(shown)
        drawn += len(shown)
    assert drawn > 10
