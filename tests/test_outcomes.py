"""Each way in which an answer can go wrong ends with its own outcome, for its own checks only."""

import pytest
import torch

from autograder.exercise.edits import replace_definitions
from autograder.judging.answers import answers
from autograder.judging.session import Session
from autograder.judging.verdicts import verdicts_on
from autograder.kit.outcome import Ended, NoAnswer, Outcome, Raised, Wrong
from autograder.limits import Limits
from autograder.sandbox.levels import Level

LIMITS = Limits(request_seconds=4.0, least_seconds=1.0, memory_megabytes=512)
CAUSAL = "def causal_mask(length):\n    {}"


@pytest.fixture
def outcomes(zygote, single_head):
    """Return the outcome of every check for the reference answer with some definitions replaced."""

    def run(**definitions: str) -> dict[str, Outcome]:
        sources = {name: replace_definitions(source, definitions) for name, source in answers(single_head).items()}
        with Session(zygote, single_head, sources, LIMITS) as session:
            return {v.check: v.outcome for v in verdicts_on(single_head, session.learner, seed=11)}

    return run


BODIES = {
    "endless loop": ("while True: pass", Outcome.TIME),
    "endless loop that catches everything": (
        "\n    while True:\n        try:\n            while True: pass\n        except BaseException: pass",
        Outcome.TIME,
    ),
    "sleep with all signals ignored": (
        "import signal, time; [signal.signal(s, signal.SIG_IGN) for s in range(1, 20) if s not in (9, 19)]; time.sleep(1000)",
        Outcome.TIME,
    ),
    "exit of the process": ("import os; os._exit(0)", Outcome.ENDED),
    "segmentation fault": ("import ctypes; ctypes.string_at(0)", Outcome.ENDED),
    "abort": ("import os; os.abort()", Outcome.ENDED),
    "a signal that the first process of a namespace does not get": (
        "import os; os.kill(os.getpid(), 9)  # the first process of a namespace\n    return torch.ones(length, length).tril().bool()",
        Outcome.PASSED,
    ),
    "another process": ("import os; os.fork()", Outcome.RAISED),
    "a call over the network": ("import socket; socket.create_connection(('127.0.0.1', 9))", Outcome.RAISED),
    "sys.exit": ("import sys; sys.exit()", Outcome.RAISED),
    "a bytearray too large": ("bytearray(8 << 30)", Outcome.MEMORY),
    "a tensor too large": ("return torch.ones(8 << 30)", Outcome.MEMORY),
    "more than a GPU holds": ("raise torch.OutOfMemoryError('CUDA out of memory. Tried to allocate 8.00 GiB')", Outcome.MEMORY),
    "a list without end": ("held = []\n    while True: held.append(bytearray(1 << 20))", Outcome.MEMORY),
    "an error": ("return 1 / 0", Outcome.RAISED),
    "an error that cannot be printed": ("class E(Exception):\n        __str__ = None\n    raise E()", Outcome.RAISED),
    "recursion without end": ("return causal_mask(length)", Outcome.RAISED),
    "the stub": ('raise NotImplementedError("not answered yet")', Outcome.NO_ANSWER),
    "a number": ("return 5", Outcome.WRONG),
    "nothing": ("return None", Outcome.WRONG),
    "a flood of output": ("print('x' * 20_000_000); return torch.ones(length, length).tril().bool()", Outcome.PASSED),
    "an object that says it equals everything": ("class E:\n        __eq__ = lambda s, o: True\n    return E()", Outcome.WRONG),
    "a tensor that says it equals everything": (
        "class T(torch.Tensor):\n        __torch_function__ = classmethod(lambda c, f, t, a=(), k=None: True)\n    return torch.zeros(length, length).bool().as_subclass(T)",
        Outcome.WRONG,
    ),
}

# What an answer returns, of whatever kind, is its answer: it may be wrong, and it is never "no answer" nor the end of a process.
ODD_RESULTS = {
    "complex numbers": "torch.ones(length, length) * 1j",
    "conjugated numbers": "(torch.ones(length, length) * 1j).conj()",
    "a sparse tensor": "torch.eye(length).to_sparse()",
    "a compressed tensor": "torch.eye(length).to_sparse_csr()",
    "a tensor without numbers": "torch.ones(length, length, device='meta')",
    "a nested tensor": "torch.nested.nested_tensor([torch.ones(1), torch.ones(2)])",
    "numbers of 8 bits": "torch.ones(length, length).to(torch.float8_e4m3fn)",
    "numbers that say what they mean": "torch.quantize_per_tensor(torch.ones(length, length), 0.1, 0, torch.qint8)",
    "a tensor that is too large": "torch.ones(9000, 1000, dtype=torch.uint8)",
    "a tensor that takes no room": "torch.ones(1).expand(1 << 40)",
    "a whole number of 300,000 bits": "10 ** 100_000",
    "halves of characters": "'\\ud800' * 10",
    "a dictionary": "{1: torch.ones(2), torch: 3}",
    "a list in lists": "[[[[[[[[[[[[[[1]]]]]]]]]]]]]]",
    "not a number": "math.nan",
    "a type": "torch.Tensor",
}
BODIES |= {name: (f"return {result}", Outcome.WRONG) for name, result in ODD_RESULTS.items()}


@pytest.mark.parametrize("body, expected", BODIES.values(), ids=BODIES)
def test_outcome_of_one_function_is_its_own(outcomes, level, body, expected):
    if "first process of a namespace" in body and level is not Level.bubblewrap:
        pytest.skip("there are no namespaces at this level")
    found = outcomes(causal_mask=CAUSAL.format(body))
    assert found.pop("causal") is expected
    found.pop("device")  # which every function must pass
    assert set(found.values()) == {Outcome.PASSED}


def test_endless_loop_in_every_check_still_judges_all(zygote, single_head):
    sources = {
        name: replace_definitions(s, {"softmax": "def softmax(scores):\n    while True: pass"}) for name, s in answers(single_head).items()
    }
    with Session(zygote, single_head, sources, Limits(request_seconds=3.0, least_seconds=0.8)) as session:
        found = {v.check: v.outcome for v in verdicts_on(single_head, session.learner, seed=11)}
    assert found["softmax"] is found["module"] is Outcome.TIME
    assert found["causal"] is found["padding"] is Outcome.PASSED


KEPT = "kept = globals().setdefault('kept', [])\n    while True:\n        kept.append({})"
THREADS = "import threading, time\n    while True:\n        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()"


@pytest.mark.parametrize(
    "body", [KEPT.format("' ' * 1000"), KEPT.format("torch.ones(1 << 18)"), THREADS], ids=["small pieces", "large pieces", "threads"]
)
def test_what_one_check_has_used_up_is_there_for_the_next(outcomes, body):
    found = outcomes(**{"causal_mask": f"def causal_mask(length):\n    {body}"})
    found.pop("device")
    assert found.pop("causal") is Outcome.MEMORY and set(found.values()) == {Outcome.PASSED}


def test_computing_too_long_in_all_is_a_time_limit(zygote, single_head):
    sources = {name: replace_definitions(s, {"causal_mask": CAUSAL.format("while True: pass")}) for name, s in answers(single_head).items()}
    with Session(zygote, single_head, sources, Limits(request_seconds=60.0, cpu_seconds=2)) as session:
        found = {v.check: v for v in verdicts_on(single_head, session.learner, seed=11)}
    assert found["causal"].outcome is Outcome.TIME and "computing" in found["causal"].reason
    assert found["padding"].outcome is Outcome.PASSED


@pytest.mark.parametrize(
    "cell", ["def causal_mask(length:\n", "import os\nos._exit(1)\n", "while True: pass\n", "1 / 0\n", "raise SystemExit\n"]
)
def test_cell_that_breaks_costs_only_what_it_defines(zygote, single_head, cell):
    sources = answers(single_head)
    sources["answer-masks"] = cell + sources["answer-masks"]
    with Session(zygote, single_head, sources, LIMITS) as session:
        found = {v.check: v.outcome for v in verdicts_on(single_head, session.learner, seed=11)}
    assert {check for check, outcome in found.items() if outcome is not Outcome.PASSED} == {"causal", "padding", "device"}
    assert found["causal"] in (Outcome.RAISED, Outcome.ENDED, Outcome.TIME)


FORBIDDEN = {
    "by its name": "return torch.softmax(scores, -1)",
    "as a method": "return scores.softmax(-1)",
    "through an alias": "import torch.nn.functional as quiet\n    return quiet.softmax(scores, -1)",
    "by from": "from torch.nn.functional import softmax as mine\n    return mine(scores, -1)",
    "as a module": "return nn.Softmax(dim=-1)(scores)",
    "by getattr": "return getattr(torch, 'soft' + 'max')(scores, -1)",
    "out of sys.modules": "import sys\n    return vars(sys.modules['torch'])['soft' + 'max'](scores, -1)",
    "by its logarithm": "return torch.log_softmax(scores, -1).exp()",
}


@pytest.mark.parametrize("body", FORBIDDEN.values(), ids=FORBIDDEN)
def test_ready_made_softmax_is_refused(outcomes, body):
    found = outcomes(softmax=f"def softmax(scores):\n    {body}")
    assert found["softmax"] is Outcome.FORBIDDEN and found["causal"] is Outcome.PASSED


def test_own_names_like_the_forbidden_ones_are_fine(outcomes):
    own = "class Row:\n    def softmax(self, scores):\n        parts = (scores - scores.amax(-1, keepdim=True)).exp()\n        return torch.nan_to_num(parts / parts.sum(-1, keepdim=True))\n\ndef softmax(scores):\n    return Row().softmax(scores)"
    assert outcomes(softmax=own)["softmax"] is Outcome.PASSED


def test_verdicts_say_what_happened(zygote, single_head):
    sources = answers(single_head)
    sources["answer-masks"] = sources["answer-masks"].replace(".tril()", "")
    with Session(zygote, single_head, sources, LIMITS) as session:
        verdict = next(v for v in verdicts_on(single_head, session.learner, seed=11) if v.check == "causal")
    assert verdict.question.endswith("?") and verdict.given == "causal_mask(3)"
    assert "[0, 1]" in verdict.reason and verdict.came and verdict.expected


def test_worker_starts_clean_after_another_learner(zygote, single_head):
    spoil = "import builtins, torch\nbuiltins.left_behind = 1\ntorch.ones = None\nopen('left_behind', 'w').write('x')\n"
    sources = answers(single_head)
    with Session(zygote, single_head, {**sources, "answer-softmax": spoil + sources["answer-softmax"]}, LIMITS) as session:
        verdicts_on(single_head, session.learner, seed=11)
    probe = "def causal_mask(length):\n    import builtins\n    return torch.tensor([hasattr(builtins, 'left_behind'), torch.ones is None])"
    with Session(zygote, single_head, {**sources, "answer-masks": probe}, LIMITS) as session:
        assert session.learner.causal_mask(3).tolist() == [False, False]


def test_worker_holds_nothing_of_the_judge(zygote, level, single_head):
    probe = (
        "def causal_mask(length):\n    import os, sys, gc, types\n"
        "    ours = [m for m in sys.modules if m.startswith(('autograder.judging', 'autograder.exercise', 'autograder.authoring', 'pytest', 'nbgrader'))]\n"
        "    tests = [o for o in gc.get_objects() if type(o) is types.FunctionType and 'solutions' in o.__code__.co_filename]\n"
        "    files = []\n    for fd in range(64):\n        try: files += [os.fstat(fd).st_mode >> 12]\n        except OSError: pass\n"
        "    return str((ours, len(tests), dict(os.environ), files, [p for p in sys.path if 'work' in p or 'home' in p or 'tmp' in p]))"
    )
    with Session(zygote, single_head, {**answers(single_head), "answer-masks": probe}, LIMITS) as session:
        ours, tests, environment, files, paths = eval(session.learner.causal_mask(3))
    assert ours == [] and tests == 0
    assert set(environment) <= (
        {"TORCHINDUCTOR_CACHE_DIR"} if level is Level.landlock else set()
    )  # torch needs that where nothing may be written
    assert paths == [] or level is not Level.bubblewrap
    assert sorted(files) == [2, 2, 2, 12]  # three standard ones at /dev/null, and the link


def test_child_of_the_zygote_counts_in_the_wait(zygote, single_head):
    """How a worker ended and what it took is known, though it was forked by a helper that has gone."""
    with Session(zygote, single_head, answers(single_head), LIMITS) as session:
        session.learner.causal_mask(3)
        how = session._worker.end()
    assert how["by_itself"] is False and how["cpu_seconds"] > 0


def test_missing_helper_is_explained(zygote, single_head):
    sources = answers(single_head)
    sources["answer-masks"] = "def causal_mask(length):\n    return helper(length)\n"
    with Session(zygote, single_head, sources, LIMITS, {"helper": "helper is defined elsewhere"}) as session:
        with pytest.raises(Raised, match="helper is defined elsewhere"):
            session.learner.causal_mask(3)


def test_handles_do_not_survive_their_worker(zygote, single_head):
    with Session(zygote, single_head, answers(single_head), LIMITS) as session:
        head = session.learner.SingleHeadAttention(4, 2, 5)
        assert head(torch.zeros(3, 4)).shape == (3, 5)
        with pytest.raises((Ended, Raised, NoAnswer, Wrong)):
            session.close()
            head(torch.zeros(3, 4))
