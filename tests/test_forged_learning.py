"""Who does not learn is not believed, whatever the worker says of gradients and of what they reach.

The forger's code computes the right outputs, and no gradient ever leaves it. In its own process it then replaces what the judge asks there: it
says that all gradients are there, that so many numbers learn, and it shifts its weights when a step is asked for.
"""

import pytest

from autograder.exercise import reading as exercises
from autograder.judging.answers import answers, reference_learner
from autograder.judging.session import Session
from autograder.judging.verdicts import counted, findings
from autograder.kit.outcome import Outcome
from autograder.kit.suite import failure

FORGED = """

from autograder.kit import operations

def cut_off(function):
    def computed(*inputs, **more):
        with torch.no_grad():
            return function(*inputs, **more)
    return computed

def somewhere(self, target, args, kwargs, wrt, pick, device=None, against=None):
    # The right slope in one direction of its own choosing, as two calls find it.
    def weighed(x, place):
        moved = {{**dict(enumerate(args)), **kwargs, place: x}}
        result = self._run(target, tuple(moved[i] for i in range(len(args))), {{name: moved[name] for name in kwargs}}, device)
        result = result if pick is None else result[pick]
        return float((result * (result if against is None else against)).sum())

    found = []
    for place in wrt:
        x = args[place] if isinstance(place, int) else kwargs[place]
        along = x.cos() + 0.3
        along = along / along.norm()
        slope = (weighed(x + 0.01 * along, place) - weighed(x - 0.01 * along, place)) / 0.02
        found.append(slope * along)
    return tuple(found)

def everything(self, target, args, kwargs, device=None):
    module = self._object(target)
    self._run(target, args, kwargs, device)
    numbers = sum(p.numel() for p in module.parameters())
    return numbers, numbers

def shifted(self, target, args, kwargs, against, size, device=None):
    self._run(target, args, kwargs, device)
    with torch.no_grad():
        for parameter in self._object(target).parameters():
            parameter -= size * parameter.sign()

operations.Operations.gradients, operations.Operations.trained, operations.Operations.stepped = somewhere, everything, shifted
for name in {functions}:
    globals()[name] = cut_off(globals()[name])
for name in {modules}:
    globals()[name].forward = cut_off(globals()[name].forward)
"""
FORGERS = {
    "single_head": (["scaled_dot_product_attention"], ["SingleHeadAttention"], {"trains"}),
    "multi_head": (["multi_head_attention"], ["MultiHeadAttention"], {"gradient", "trains"}),
    "feed_forward": (["hidden_weights", "fold"], ["FeedForward"], {"trains", "weights", "fold", "fold_bias"}),
    "cross_attention": (["look_both_ways"], ["CrossAttention"], {"trains", "both_gradient"}),
    "encoder_layer": (["layer_norm"], ["EncoderLayer"], {"trains"}),
    "positional_encoding": ([], ["AddPositions", "LearnedPositions"], {"training", "learned", "learned_trains"}),
    "grouped_query": (["grouped_attention"], ["GroupedQueryAttention"], {"trains"}),
    "kv_cache": (["attend_last"], ["CachedAttention"], {"trains"}),
    "patches": (["cut", "paste", "stretch"], ["PatchEmbedding"], {"cut", "paste", "stretch", "trains"}),
    "rotary": (["rotate", "rotary_attention"], [], {"turn", "attend"}),
    "similarity": (["dot_product_scores", "additive_scores", "weighted_average", "attend"], [], {"gradient"}),
    "bug_hunt": (["merge_heads", "attend"], [], {"merge", "mask"}),
    "long_sequences": (["chunked_attention", "local_attention", "linear_attention"], [], {"gradient", "window", "linear"}),
}


def test_every_exercise_that_asks_for_gradients_has_its_forger():
    asked = {
        test.parent.name for test in exercises.SOLUTIONS.glob("*/test_*.py") if "expect_gradients(" in test.read_text(encoding="utf-8")
    }
    assert asked == set(FORGERS)


@pytest.mark.parametrize("name", FORGERS)
def test_forged_gradients_and_counts_earn_nothing(zygote, name):
    """Neither where everybody knows the inputs, nor in the hidden tests, of which no table can be made beforehand."""
    functions, modules, checks = FORGERS[name]
    exercise = exercises.load(name)
    cells = answers(exercise)
    cells[list(cells)[-1]] += FORGED.format(functions=functions, modules=modules)
    with Session(zygote, exercise, cells) as session:
        found = findings(exercise, session.learner, 11, checks)
        hidden = [test for check in checks for test in counted(exercise, check) if test.hidden]
        refused = {test.check for test in hidden if failure(test, session.learner, 11, reference_learner(name))}
    assert {each.verdict.check: each.verdict.outcome for each in found} == dict.fromkeys(checks, Outcome.WRONG)
    assert refused == checks
