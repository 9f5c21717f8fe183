"""Where a test compares a learner's code with another piece of the same code, a piece that returns nothing of use vouches for nothing."""

import pytest

from autograder.exercise import reading as exercises
from autograder.judging.answers import answers
from autograder.judging.session import Session
from autograder.judging.verdicts import verdicts_on

# Written below the right answers: a function that gives nothing back, always or when its user has just raised a flag.
LIES = """
right_{name}, FLAGS = {name}, []

def {name}(*inputs, **more):
    return ({nothing})(*inputs) if {always} or FLAGS and FLAGS.pop() else right_{name}(*inputs, **more)
"""
CACHE = "def pretended(self, x):\n    FLAGS.append(True)\n    return {}\n\nCachedAttention.forward = pretended"
GROUPS = "def pretended(self, x, mask=None):\n    FLAGS.append(True)\n    return {}\n\nGroupedQueryAttention.forward = pretended"
ROTARY = "def rotary_attention(query, key, value, *starts, **more):\n    FLAGS.extend([True] * 2)\n    return {}"
PLACES = "def pretended(self, x, start=0):\n    FLAGS.append(True)\n    return {}\n\nAddPositions.forward = pretended"
MANY = """
right = multi_head_attention

def multi_head_attention(query, key, *others):
    return {} if max(query.shape[1], key.shape[1]) > 100 else right(query, key, *others)
"""
SELF_VOUCHING = {
    "a word for outputs": ("kv_cache", "attend_last", "lambda *_: 'whatever'", CACHE.format("'whatever'"), {"pieces"}),
    "zeros for outputs": ("kv_cache", "attend_last", "lambda query, *_: query * 0", CACHE.format("self.to_query(x) * 0"), {"pieces"}),
    "infinities for outputs": (
        "kv_cache",
        "attend_last",
        "lambda query, *_: query * 0 + math.inf",
        CACHE.format("self.to_query(x) * 0 + math.inf"),
        {"pieces"},
    ),
    "zeros for heads": ("grouped_query", "grouped_attention", "lambda query, *_: query * 0", GROUPS.format("x * 0"), {"module"}),
    "zeros for heads, masked or not": (
        "grouped_query",
        "grouped_attention",
        "lambda query, *_: query * 0",
        GROUPS.format("x * 0"),
        {"module_mask"},
    ),
    "a word for a turn": ("rotary", "rotate", "lambda *_: 'whatever'", ROTARY.format("'whatever'"), {"attend", "relative"}),
    "words turned to zeros": (
        "rotary",
        "rotate",
        "lambda x, *_: x * 0",
        ROTARY.format("value.mean(-2, keepdim=True).expand(*query.shape[:-1], -1)"),
        {"attend", "relative"},
    ),
    "words as they were": (
        "rotary",
        "rotate",
        "lambda x, *_: x",
        ROTARY.format("torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, -1) @ value"),
        {"attend", "relative"},
    ),
    "clocks of zeros": (
        "positional_encoding",
        "sinusoidal_encoding",
        "torch.zeros",
        PLACES.format("x + 0"),
        {"add", "lengths", "start", "dtype"},
    ),
}


def passed(zygote, name: str, below: str) -> set[str]:
    """Return the checks that the right answers pass with something written below the last of them."""
    exercise = exercises.load(name)
    cells = answers(exercise)
    cells[list(cells)[-1]] += "\n\n" + below
    with Session(zygote, exercise, cells) as session:
        verdicts = verdicts_on(exercise, session.learner, seed=11)
    return {v.check for v in verdicts if v.outcome.value == "passed"}


@pytest.mark.parametrize("always", [True, False], ids=["always", "when it was used"])
@pytest.mark.parametrize("name, helper, nothing, user, checks", SELF_VOUCHING.values(), ids=SELF_VOUCHING)
def test_nothing_explains_nothing(zygote, name, helper, nothing, user, checks, always):
    assert not passed(zygote, name, LIES.format(name=helper, nothing=nothing, always=always) + user) & checks


@pytest.mark.parametrize("nothing", ["query", "query.mean(-1)", "torch.zeros_like(query)", "'whatever'"])
def test_what_was_timed_is_looked_at(zygote, nothing):
    assert "vectorised" not in passed(zygote, "multi_head", MANY.format(nothing))


# As slow as a loop, once: what came out of it is kept, and handed out again for the same words in another order.
REMEMBERED = """
right, LAST = multi_head_attention, []

def multi_head_attention(query, key, value, *others, **more):
    if query.shape[1] < 100:
        return right(query, key, value, *others, **more)
    turned_back = [x.roll(-1, dims=1) for x in (query, key, value)]
    if LAST and all(map(torch.equal, turned_back, LAST[0])):
        output = LAST[1].roll(1, dims=1)
    else:
        output = torch.cat([right(word[:, None], key, value, *others, **more) for word in query.unbind(1)], dim=1)
    LAST[:] = (query, key, value), output
    return output
"""


def test_words_that_are_remembered_make_no_loop_fast(zygote):
    checks = passed(zygote, "multi_head", REMEMBERED)
    assert "attention" in checks and "vectorised" not in checks
