"""What an exercise asks for is found in a source and stopped at run time, list by list."""

import subprocess
import sys

import pytest
import torch

from autograder.exercise import reading as exercises
from autograder.exercise.edits import replace_definitions
from autograder.judging.answers import answers
from autograder.judging.session import Session
from autograder.judging.verdicts import verdicts_on
from autograder.kit.forbidden import LISTS, found_in, names
from autograder.kit.kernels import kernels
from autograder.kit.outcome import Forbidden, Outcome, Raised
from autograder.limits import Limits
from tests.conftest import ROOT


@pytest.mark.parametrize("name", LISTS)
def test_every_name_of_a_list_is_found_in_a_source(name):
    forbidden = names([name])
    plain = [dotted for dotted in forbidden if not dotted.startswith("torch.Tensor.") and "*" not in dotted]
    assert len(plain) > 2 and len(set(forbidden)) == len(forbidden)
    assert [dotted for dotted in plain if found_in(f"import torch\ny = {dotted}(x)", forbidden) != dotted] == []


INNER = {
    "torch._softmax": "softmax",
    "torch._C._VariableFunctions.softmax": "softmax",
    "torch._C._special.special_softmax": "softmax",
    "torch._VF.log_softmax": "softmax",
    "torch.ops.aten.softmax.int": "softmax",
    "torch.ops.aten._safe_softmax": "softmax",
    "torch._C._nn.scaled_dot_product_attention": "attention",
    "torch._native_multi_head_attention": "attention",
    "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default": "attention",
    "torch._transformer_encoder_layer_fwd": "transformer",
    "torch.ops.aten.native_layer_norm": "layer_norm",
    "torch._fused_rms_norm": "layer_norm",
    "torch.sparse.softmax": "softmax",
    "torch.masked.log_softmax": "softmax",
    "scipy.special.softmax": "softmax",
    "sklearn.utils.extmath.softmax": "softmax",
    "torch.nn.attention.flex_attention.flex_attention": "attention",
}


@pytest.mark.parametrize("dotted, name", INNER.items(), ids=INNER)
def test_inner_ways_to_the_same_are_found_in_a_source(dotted, name):
    way, _, last = dotted.rpartition(".")
    for source in (
        f"import torch\ny = {dotted}(x)",
        f"from {way} import {last}\ny = {last}(x)",
        f"import {way} as other\ny = other.{last}(x)",
    ):
        assert found_in(source, names([name])), source


@pytest.mark.parametrize(
    "source",
    [
        "torch._assert(x.ndim == 3, 'three axes')",
        "self._softmax(x)",
        "_softmax(x)",
        "torch.ops.aten.add(x, x)",
        "torch.nn.attention.sdpa_kernel([])",
        "self.ops.softmax(x)",
        "torch.linalg.vector_norm(x)",
        "torch._C._get_tracing_state()",
    ],
)
def test_what_only_looks_like_an_inner_way_is_fine(source):
    assert found_in(source, [name for name in names(list(LISTS)) if not name.startswith("torch.Tensor.")]) is None


DETOURS = {
    "an inner function": "return getattr(torch, '_soft' + 'max')(scores, -1, False)",
    "an operator": "return getattr(torch, 'op' + 's').aten.softmax(scores, -1)",
    "an operator for integers": "return getattr(torch, 'op' + 's').aten.softmax.int(scores, -1)",
    "a module in C": "return getattr(torch, '_' + 'C')._special.special_softmax(scores, -1)",
    "what the guard stands before": "f = getattr(torch, 'soft' + 'max')\n    return getattr(f, '__wrapped__', f)(scores, -1)",
    "a class that the guard stands before": "s = nn.Module.__new__(getattr(nn, 'Soft' + 'max'))\n    i = type(s).__init__\n    getattr(i, '__wrapped__', i)(s, -1)\n    return s(scores)",
    "a distribution": "return torch.distributions.Categorical(logits=scores).probs",
    "the gradient of a loss": "x = scores.clone().requires_grad_()\n    with torch.enable_grad():\n        nn.functional.cross_entropy(x, torch.zeros(len(x)).long()).backward()\n    return x.grad",
    "a sparse tensor": "return getattr(torch.sparse, 'soft' + 'max')(scores.to_sparse(), -1).to_dense()",
    "a masked tensor": "from torch import masked\n    return getattr(masked, 'soft' + 'max')(scores, -1)",
    "a result given": "return getattr(torch.ops.aten, '_soft' + 'max').out(scores, -1, False, out=torch.empty_like(scores))",
    "an operation of the compiler's": "return torch._C._jit_get_operation('aten::soft' + 'max')[0](scores, -1)",
    "a table of C functions": "return getattr(getattr(torch, '_' + 'C')._VariableFunctions, 'soft' + 'max')(scores, -1)",
    "a kernel": "k = torch.library.get_kernel('aten::_soft' + 'max', 'CPU')\n    return k.call_boxed(torch._C.DispatchKeySet(torch._C.DispatchKey.CPU), scores, -1, False)",
    "what a guard has closed over": "f = getattr(torch, 'soft' + 'max')\n    return [c.cell_contents for c in f.__closure__ if callable(c.cell_contents) and not hasattr(c.cell_contents, '__self__') or type(c.cell_contents).__name__.startswith('builtin')][-1](scores, -1)",
    "another thread": "import threading\n    found = []\n    def work():\n        try:\n            found.append(getattr(getattr(torch, '_' + 'C')._VariableFunctions, 'soft' + 'max')(scores, -1))\n        except Exception as error:\n            found.append(error)\n    thread = threading.Thread(target=work)\n    thread.start()\n    thread.join()\n    if isinstance(found[0], Exception):\n        raise found[0]\n    return found[0]",
}
NOT_IN_A_WORKER = {
    "scipy": "import importlib\n    return torch.tensor(getattr(importlib.import_module('scipy.special'), 'soft' + 'max')(scores.numpy(), -1))",
    "scikit-learn": "import importlib\n    return torch.tensor(getattr(importlib.import_module('sklearn.utils.extmath'), 'soft' + 'max')(scores.numpy()))",
}


@pytest.mark.parametrize("body", NOT_IN_A_WORKER.values(), ids=NOT_IN_A_WORKER)
def test_libraries_in_which_it_is_ready_made_are_not_there(zygote, single_head, body):
    change = {"softmax": f"def softmax(scores):\n    {body}"}
    sources = {name: replace_definitions(source, change) for name, source in answers(single_head).items()}
    with Session(zygote, single_head, sources) as session, pytest.raises(Raised, match="ModuleNotFoundError"):
        session.learner.softmax(torch.ones(2, 3))


@pytest.mark.parametrize("name, allowed", [("softmax", "exp"), ("attention", "softmax"), ("layer_norm", "var_mean")])
def test_every_operator_of_a_list_is_stopped_and_no_other(name, allowed):
    """The lists are patterns: torch has some thirty operators that compute a softmax, and whoever looks may find any."""
    patterns = [each for each in names([name]) if each.startswith("torch.ops.")]
    stopped = {operator for pattern in patterns for operator, _ in kernels(pattern)}
    assert len(stopped) > 10 and f"aten::{allowed}" not in stopped and "aten::logsumexp" not in stopped
    ready_made = {"softmax": "_softmax", "attention": "_scaled_dot_product_attention_math", "layer_norm": "native_layer_norm"}[name]
    assert f"aten::{ready_made}" in stopped


@pytest.mark.parametrize("body", DETOURS.values(), ids=DETOURS)
def test_detours_are_stopped_at_run_time(zygote, single_head, body):
    sources = {
        name: replace_definitions(source, {"softmax": f"def softmax(scores):\n    {body}"}) for name, source in answers(single_head).items()
    }
    with Session(zygote, single_head, sources) as session, pytest.raises(Forbidden):
        session.learner.softmax(torch.ones(2, 3))


def test_other_operators_are_let_through(zygote, single_head):
    body = (
        "e = torch.ops.aten.exp.default(scores - scores.amax(-1, keepdim=True))\n    return torch.ops.aten.div(e, e.sum(-1, keepdim=True))"
    )
    sources = {
        name: replace_definitions(source, {"softmax": f"def softmax(scores):\n    {body}"}) for name, source in answers(single_head).items()
    }
    with Session(zygote, single_head, sources) as session:
        assert torch.equal(session.learner.softmax(torch.zeros(2, 4)), torch.full((2, 4), 0.25))


LAYER_NORM = {
    "by its name": "return F.layer_norm(x, gain.shape, gain, bias, eps)",
    "as a module": "return nn.LayerNorm(len(gain), eps)(x) * gain + bias",
    "as another norm": "return F.rms_norm(x - x.mean(-1, keepdim=True), gain.shape, gain, eps) + bias",
    "as an operator": "return getattr(torch.ops.aten, 'native_layer' + '_norm')(x, gain.shape, gain, bias, eps)[0]",
    "by getattr": "return getattr(torch, 'layer' + '_norm')(x, gain.shape, gain, bias, eps)",
    "inside a whole layer": "return getattr(nn, 'Transformer' + 'EncoderLayer')(len(gain), 1).norm1(x)",
}


@pytest.mark.parametrize("body", LAYER_NORM.values(), ids=LAYER_NORM)
def test_ready_made_layer_norm_is_refused(zygote, body):
    exercise = exercises.load("encoder_layer")
    change = {"layer_norm": f"def layer_norm(x, gain, bias, eps=1e-5):\n    {body}"}
    sources = {name: replace_definitions(source, change) for name, source in answers(exercise).items()}
    with Session(zygote, exercise, sources, Limits()) as session:
        found = {v.check: v.outcome for v in verdicts_on(exercise, session.learner, seed=11)}
    assert found["variance"] is found["norm_first"] is Outcome.FORBIDDEN


def test_ready_made_attention_is_fine_in_a_layer(zygote):
    exercise = exercises.load("encoder_layer")
    with Session(zygote, exercise, answers(exercise)) as session:
        assert {v.outcome for v in verdicts_on(exercise, session.learner, seed=11)} == {Outcome.PASSED}


def test_a_mask_that_torch_keeps_in_a_forbidden_class_may_be_used():
    assert found_in("hidden = nn.Transformer.generate_square_subsequent_mask(3)", names(["transformer"])) is None
    assert (
        found_in("import torch.nn as layers\nhidden = layers.Transformer.generate_square_subsequent_mask(3)", names(["transformer"]))
        is None
    )
    assert (
        found_in("hidden = nn.Transformer.generate_square_subsequent_mask(3)\nmodel = nn.Transformer(8)", names(["transformer"]))
        == "nn.Transformer"
    )


TWO_GUARDS = """
import torch
from autograder.kit.forbidden import Guard, Used, names
first, second = Guard(names(["softmax", "attention"])), Guard(names(["attention"]))
scores, said = torch.zeros(1, 1, 2, 2), []
for guards in ((), (first,), (second,), (first, second)):
    for guard in guards:
        guard.on()
    for work in (lambda: scores.softmax(-1), lambda: torch.nn.functional.scaled_dot_product_attention(scores, scores, scores)):
        try:
            work()
            said.append("through")
        except Used:
            said.append("stopped")
    for guard in guards:
        guard.off()
print(*said)
"""


def test_several_exercises_in_one_process_have_a_guard_each():
    """As in pytest on the folder of exercises, or in one kernel for several notebooks."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", TWO_GUARDS], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["through"] * 2 + ["stopped"] * 2 + ["through", "stopped"] + ["stopped"] * 2, done.stderr


UNHARMED = """
import torch
from autograder.kit.forbidden import LISTS, Guard, names
from torch.nn import functional as F

def work():
    torch.manual_seed(0)
    found = []
    for dtype in (torch.float32, torch.float64):
        x = torch.randn(2, 4, 3, 5, dtype=dtype, requires_grad=True)
        results = [F.softmax(x, -1), F.log_softmax(x, -1), F.layer_norm(x, (5,)), F.batch_norm(x, None, None, training=True), F.group_norm(x, 2)]
        results += [F.rms_norm(x, (5,)), F.scaled_dot_product_attention(x, x, x), F.scaled_dot_product_attention(x, x, x, is_causal=True)]
        results += [F.scaled_dot_product_attention(x, x, x, torch.ones(3, 3, dtype=torch.bool)), F.cross_entropy(x.flatten(0, 2), torch.arange(24) % 5)]
        for result in results:
            found += [result.detach(), *torch.autograd.grad(result.square().sum(), x)]
        with torch.inference_mode():
            found.append(F.scaled_dot_product_attention(x, x, x))
    return found

before = work()
guards = [Guard(names([name])) for name in LISTS]
assert all(torch.equal(one, other) for one, other in zip(before, work(), strict=True))
"""


def test_what_is_not_stopped_computes_as_before_without_a_warning():
    """Results and gradients, with kernels of ours before all that any exercise forbids: our own tests use them."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", UNHARMED], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
