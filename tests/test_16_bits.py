"""A worker computes in every dtype that a notebook does."""

from autograder.exercise.edits import replace_definitions
from autograder.judging.answers import answers
from autograder.judging.session import Session


def test_worker_computes_in_16_bits(zygote, single_head):
    body = "def causal_mask(length):\n    return torch.ones(length, length).half().tril().to(torch.bfloat16) * 2"
    sources = {name: replace_definitions(source, {"causal_mask": body}) for name, source in answers(single_head).items()}
    with Session(zygote, single_head, sources) as session:
        assert session.learner.causal_mask(2).tolist() == [[2.0, 0.0], [2.0, 2.0]]
