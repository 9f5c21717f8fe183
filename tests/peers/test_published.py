"""The checks accept what the world publishes. Runs in `make peers`, whose environment has the packages."""

import pytest

from autograder.exercise import reading as exercises
from autograder.judging.verdicts import verdicts_on
from autograder.kit.cells import run_here
from autograder.kit.forbidden import NoGuard
from autograder.kit.learner import local
from autograder.kit.outcome import Outcome
from tests.peers import wrapped

# What a package is, which exercise it answers with which names, and the checks that ask for something that it does
# not promise, each with what that is. It must fail exactly those: a check that a package learns to pass is news too.
PUBLISHED = {
    "rotary-embedding-torch": ("rotary_embedding_torch", "rotary", {"rotate": wrapped.rotate_of_rotary_embedding_torch}, {}),
    "x-transformers, rotary": ("x_transformers", "rotary", {"rotate": wrapped.rotate_of_x_transformers}, {}),
    "transformers, grouped": ("transformers", "grouped_query", {"grouped_attention": wrapped.grouped_attention_of_transformers}, {}),
    "x-transformers, grouped": (
        "x_transformers",
        "grouped_query",
        {"GroupedQueryAttention": wrapped.grouped_module_of_x_transformers, "set_weights": wrapped.set_x_transformers},
        {},
    ),
    "x-transformers, feed-forward": (
        "x_transformers",
        "feed_forward",
        {"FeedForward": wrapped.feed_forward_of_x_transformers, "set_weights": wrapped.set_feed_forward},
        {},
    ),
    "positional-encodings": (
        "positional_encodings",
        "positional_encoding",
        {"sinusoidal_encoding": wrapped.places_of_positional_encodings},
        {"odd": "it makes an odd width even, also in the formula", "far": "it computes angles in 32 bits"},
    ),
    "llms-from-scratch": (
        "llms_from_scratch",
        "single_head",
        {"SingleHeadAttention": wrapped.SelfAttentionOfABook, "set_weights": wrapped.set_self_attention_of_a_book},
        {"module_mask": "it knows no mask"},
    ),
    "torch, multi-head": (
        "torch",
        "multi_head",
        {"MultiHeadAttention": wrapped.TorchMultiHead, "set_weights": wrapped.set_torch_multi_head},
        {"blind_row": "its rows that see nothing are NaN"},
    ),
    "torch, layer norm": ("torch", "encoder_layer", {"layer_norm": wrapped.layer_norm_of_torch}, {}),
    "torch, encoder layer": (
        "torch",
        "encoder_layer",
        {"EncoderLayer": wrapped.TorchEncoderLayer, "set_weights": wrapped.set_torch_encoder_layer},
        {},
    ),
}


@pytest.mark.parametrize("package, name, names, beyond", PUBLISHED.values(), ids=PUBLISHED)
def test_checks_accept_what_is_published(package, name, names, beyond):
    pytest.importorskip(package, reason="`make peers` has the published packages")
    exercise = exercises.load(name)
    namespace, missing = run_here(exercise.code, exercise.promised, [])
    assert not missing and set(names) <= set(namespace)
    namespace.update(names)
    refused = {v.check: v.reason for v in verdicts_on(exercise, local(namespace, NoGuard()), seed=5) if v.outcome is not Outcome.PASSED}
    assert set(refused) == set(beyond), refused
