"""What an exercise asks for is found in a source and stopped at run time, list by list."""
import pytest

from autograder import exercise as exercises
from autograder.exercise import replace_definitions
from autograder.judge import Session, answers, judge
from autograder.kit.forbidden import LISTS, found_in, names
from autograder.kit.outcome import Outcome
from autograder.limits import Limits


@pytest.mark.parametrize("name", LISTS)
def test_every_name_of_a_list_is_found_in_a_source(name):
    forbidden = names([name])
    plain = [dotted for dotted in forbidden if not dotted.startswith("torch.Tensor.")]
    assert len(plain) > 2 and len(set(forbidden)) == len(forbidden)
    assert [dotted for dotted in plain if found_in(f"import torch\ny = {dotted}(x)", forbidden) != dotted] == []


LAYER_NORM = {
    "by its name": "return F.layer_norm(x, gain.shape, gain, bias, eps)",
    "as a module": "return nn.LayerNorm(len(gain), eps)(x) * gain + bias",
    "as another norm": "return F.rms_norm(x - x.mean(-1, keepdim=True), gain.shape, gain, eps) + bias",
    "by getattr": "return getattr(torch, 'layer' + '_norm')(x, gain.shape, gain, bias, eps)",
    "inside a whole layer": "return getattr(nn, 'Transformer' + 'EncoderLayer')(len(gain), 1).norm1(x)",
}


@pytest.mark.parametrize("body", LAYER_NORM.values(), ids=LAYER_NORM)
def test_ready_made_layer_norm_is_refused(zygote, body):
    exercise = exercises.load("encoder_layer")
    change = {"layer_norm": f"def layer_norm(x, gain, bias, eps=1e-5):\n    {body}"}
    sources = {name: replace_definitions(source, change) for name, source in answers(exercise).items()}
    with Session(zygote, exercise, sources, Limits()) as session:
        found = {v.check: v.outcome for v in judge(exercise, session.learner, seed=11)}
    assert found["variance"] is found["norm_first"] is Outcome.FORBIDDEN


def test_ready_made_attention_is_fine_in_a_layer(zygote):
    exercise = exercises.load("encoder_layer")
    with Session(zygote, exercise, answers(exercise)) as session:
        assert {v.outcome for v in judge(exercise, session.learner, seed=11)} == {Outcome.PASSED}


def test_a_mask_that_torch_keeps_in_a_forbidden_class_may_be_used():
    assert found_in("hidden = nn.Transformer.generate_square_subsequent_mask(3)", names(["transformer"])) is None
    assert found_in("import torch.nn as layers\nhidden = layers.Transformer.generate_square_subsequent_mask(3)", names(["transformer"])) is None
    assert found_in("hidden = nn.Transformer.generate_square_subsequent_mask(3)\nmodel = nn.Transformer(8)", names(["transformer"])) == "nn.Transformer"
