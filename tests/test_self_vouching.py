"""Where a test compares a learner's code with another piece of the same code, a piece that returns nothing of use vouches for nothing."""

import nbformat
import pytest

from autograder.authoring.sample import handed_in
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
    "a word for a rotation": ("rotary", "rotate", "lambda *_: 'whatever'", ROTARY.format("'whatever'"), {"attend", "relative"}),
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
    "encodings of zeros": (
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


# A helper that is wrong the first times that it is called in a process, unless with the inputs that begin the visible tests; and a user of it
# for which it is always wrong. What the user returns is then not the right answer, and is what the helper says in a fresh process.
FRESH = """
right_helper, right_user, CALLS = {helper}, {user}, []

def wrong_helper({inputs}, **more):
    return {wrong}

def {helper}(*inputs, **more):
    CALLS.append(inputs)
    return (right_helper if ({began})(*CALLS[0]) or len(CALLS) > {lies} else wrong_helper)(*inputs, **more)

def with_wrong_helper(*inputs, **more):
    globals()["{helper}"], forged = wrong_helper, {helper}
    try:
        return right_user(*inputs, **more)
    finally:
        globals()["{helper}"] = forged

{user} = with_wrong_helper
"""
ONLY_WHEN_FRESH = {
    "kv_cache": (
        dict(
            helper="attend_last",
            user="CachedAttention.forward",
            inputs="query, keys, values",
            began="lambda query, *_: query.shape == (1, 3, 1)",
            lies=2,
            wrong="torch.softmax(query @ keys.mT / query.shape[-1] ** 0.5, -1) @ values",
        ),
        {"whole", "one", "piece"},
        {"pieces"},
    ),
    "rotary": (
        dict(
            helper="rotate",
            user="rotary_attention",
            inputs="x, *others",
            began="lambda x, *others: not others",
            lies=4,
            wrong="right_helper(x * 1.5, *others, **more)",
        ),
        {"turn", "speeds", "start", "axes", "dtype"},
        {"attend"},
    ),
    "grouped_query": (
        dict(
            helper="grouped_attention",
            user="GroupedQueryAttention.forward",
            inputs="query, *others",
            began="lambda query, *_: query.shape == (1, 4, 1, 2)",
            lies=2,
            wrong="right_helper(query * 1.5, *others, **more)",
        ),
        {"groups", "scale", "multi_query", "mask"},
        {"module"},
    ),
    "positional_encoding": (
        dict(
            helper="sinusoidal_encoding",
            user="AddPositions.__init__",
            inputs="length, *others",
            began="lambda *sizes: sizes == (5, 4)",
            lies=1,
            wrong="-right_helper(length, *others, **more)",
        ),
        {"place", "odd", "far"},
        {"add", "start"},
    ),
}


@pytest.mark.parametrize("name", ONLY_WHEN_FRESH)
def test_what_a_process_says_when_it_is_fresh_excuses_nothing(zygote, name):
    forger, right, excused = ONLY_WHEN_FRESH[name]
    checks = passed(zygote, name, FRESH.format(**forger))
    assert checks & right == right and not checks & excused


def test_pytest_takes_an_excuse_back_too(tmp_path, command):
    """Whose check has passed by then: only at the end it is known that no other one has failed."""
    exercise, (forger, right, excused) = exercises.load("rotary"), ONLY_WHEN_FRESH["rotary"]
    notebook, path = handed_in(exercise, None), tmp_path / "rotary.ipynb"
    [cell for cell in notebook.cells if cell.id.startswith("answer-")][-1].source += "\n\n" + FRESH.format(**forger)
    path.write_text(nbformat.writes(notebook), encoding="utf-8")
    marks = command("python", "-m", "pytest", "solutions/rotary", "--submission", path, "-q", code=None).stdout
    for check in right | excused:
        points = exercise.checks[check]
        assert f"{check}: {points if check in right else 0:g} of {points:g} (" in marks, marks[-2000:]
