"""A check rejects no right work: nothing depends on threads, on random state, on the device, on the order of layers, on how numbers lie in memory, or on how far away minus infinity is."""

import ast
import random
import re

import numpy as np
import pytest
import torch

from autograder.exercise import reading as exercises
from autograder.judging.answers import reference_learner, trusted_learner
from autograder.judging.verdicts import counted
from autograder.kit.cells import SETUP, Cell, run_here
from autograder.kit.forbidden import NoGuard
from autograder.kit.learner import Learner, local
from autograder.kit.suite import failure

ALL = exercises.all_names()
MOST = {"capstone": 1, "long_sequences": 1, "encoder_layer": 3, "multi_head": 3}  # variants: each takes seconds
HIDDEN = re.compile(r"(\w+)\.masked_fill\((.+), -math\.inf\)")
# Those of single_head find rows that see nothing by their minus infinities; it has a variant that does without.
HIDING = [name for name in ALL if name != "single_head" and any(HIDDEN.search(cell.source) for cell in exercises.load(name).answers)]
BLIND_ROWS = """
in_chunks = chunked_attention

def chunked_attention(query, key, value, chunk, mask=None):
    output = in_chunks(query, key, value, chunk, mask)
    return output if mask is None else torch.where(mask.any(-1, keepdim=True), output, 0.0)
"""


def failures(exercise, learner: Learner, seed: int = 5, measured: bool = True) -> dict[str, str]:
    """Return what each test that fails says of a learner."""
    tests = [test for check in exercise.checks for test in counted(exercise, check) if measured or not test.measures]
    errors = {test.name: failure(test, learner, seed, reference_learner(exercise.name)) for test in tests}
    return {name: str(error) for name, error in errors.items() if error}


@pytest.fixture
def elsewhere():
    """Have two threads where the judge has one, and other random numbers than in any other test."""
    threads, states = torch.get_num_threads(), (random.getstate(), np.random.get_state(), torch.get_rng_state())
    torch.set_num_threads(2)
    random.seed(77), np.random.seed(77), torch.manual_seed(77)
    yield
    torch.set_num_threads(threads)
    random.setstate(states[0]), np.random.set_state(states[1]), torch.set_rng_state(states[2])


TRAINS = {"capstone"}  # for so long that this waits for the night


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.nightly) if name in TRAINS else name for name in ALL])
def test_right_answers_pass_with_other_threads_and_other_random_numbers(elsewhere, name):
    exercise = exercises.load(name)
    for known in (None, *exercise.variants[: MOST.get(name)]):
        assert failures(exercise, trusted_learner(exercise, known)) == {}, known and known.name


@pytest.mark.parametrize(
    "device", ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here"))]
)
@pytest.mark.parametrize("name", ALL)
def test_right_answers_pass_wherever_their_inputs_lie(name, device):
    """Not those that measure: what a GPU holds and how long it computes, nobody counts."""
    assert failures(exercises.load(name), reference_learner(name).on(device), measured=False) == {}


class _FromTheLastOn(ast.NodeTransformer):
    """Has a module make its layers in the other order, so that each draws other numbers and stands in another place."""

    def visit_FunctionDef(self, function: ast.FunctionDef) -> ast.FunctionDef:
        if function.name == "__init__":
            places = [
                place for place, node in enumerate(function.body) if isinstance(node, ast.Assign) and "nn." in ast.unparse(node.value)
            ]
            for place, node in zip(places, [function.body[place] for place in reversed(places)]):
                function.body[place] = node
                if isinstance(node.value, ast.GeneratorExp):  # a layer for each name
                    node.targets[0].elts.reverse()
        return function


def _from_the_last_on(exercise) -> list[Cell]:
    return [Cell(c.id, c.kind, ast.unparse(_FromTheLastOn().visit(ast.parse(c.source)))) for c in exercise.code]


def _has_layers(name: str) -> bool:
    exercise = exercises.load(name)
    return any(other.source != ast.unparse(ast.parse(cell.source)) for cell, other in zip(exercise.code, _from_the_last_on(exercise)))


WITH_LAYERS = [name for name in ALL if _has_layers(name)]


def test_there_are_layers_to_put_in_another_order():
    assert {
        "single_head",
        "cross_attention",
        "multi_head",
        "feed_forward",
        "encoder_layer",
        "capstone",
        "grouped_query",
        "kv_cache",
        "patches",
    } <= set(WITH_LAYERS)


@pytest.mark.parametrize("name", WITH_LAYERS)
def test_layers_may_be_made_in_any_order(name):
    exercise = exercises.load(name)
    namespace, _ = run_here(_from_the_last_on(exercise), exercise.promised, [])
    assert failures(exercise, local(namespace, NoGuard())) == {}


@pytest.mark.parametrize("name", ALL)
def test_inputs_lie_in_memory_as_they_are_read(name):
    """In the notebook as across the wire: an answer that calls `view` is right in both front ends, or wrong in both."""
    exercise, torn = exercises.load(name), set()
    right = trusted_learner(exercise, None)

    def ask(send, operation: str, target, args: tuple, kwargs: dict, **more):
        parts = [part for call in args for part in (call if isinstance(call, tuple) else (call,))] + list(kwargs.values())
        if not all(part.clone().is_contiguous() for part in parts if isinstance(part, torch.Tensor)):
            torn.add(target if isinstance(target, str) else operation)
        return send(operation, target, args, kwargs, **more)

    assert failures(exercise, right.asked_through(ask)) == {} and not torn


@pytest.mark.parametrize("name", HIDING)
def test_minus_infinity_may_be_a_large_negative_number(name):
    exercise = exercises.load(name)
    cells = [Cell(c.id, c.kind, HIDDEN.sub(r"\1.masked_fill(\2, max(-1e9, torch.finfo(\1.dtype).min))", c.source)) for c in exercise.code]
    cells += [Cell("rows that see nothing", SETUP, BLIND_ROWS)] if name == "long_sequences" else []
    namespace, _ = run_here(cells, exercise.promised, [])
    assert failures(exercise, local(namespace, NoGuard())) == {}
