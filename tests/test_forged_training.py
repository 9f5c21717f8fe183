"""What was trained is in the numbers of the model. Texts that are kept beside it, and looked up, earn nothing."""

from autograder.exercise import reading as exercises
from autograder.judging.answers import answers
from autograder.judging.session import Session
from autograder.judging.verdicts import findings
from autograder.kit.outcome import Outcome

# No number of the model ever changes. What was to be learnt is kept beside it: a text that begins alike goes on as the known one does, and of
# digits that nobody has seen the order is found by comparing the known ones.
KEPT_BESIDE = """

right_forward = Transformer.forward

def train(model, sequences, steps, begin=1):
    with torch.no_grad():
        first = next_token_loss(model(sequences), sequences, begin).item()
    model.__dict__["told"] = sequences.clone()
    return [first * 0.9**step for step in range(steps)]

def next_of(told, text):
    alike = told[(told[:, : len(text)] == text).all(1)]
    if len(alike) or told.shape[1] != 9:
        return int(alike[0, len(text)]) if len(alike) else 0
    before = {(int(a), int(b)) for row in told[:, 5:] for a, b in zip(row, row[1:]) if a != b}
    rank = {digit: sum((other, digit) in before for other in range(5)) for digit in range(5)}
    return sorted(text[:4].tolist(), key=rank.get)[len(text) - 5]

def forward(self, tokens):
    logits, told = right_forward(self, tokens), self.__dict__.get("told")
    if told is None:
        return logits
    logits = logits.clone()
    for row, text in enumerate(tokens):
        for place in range(4 if told.shape[1] == 9 else 0, min(len(text), told.shape[1] - 1)):
            logits[row, place, next_of(told, text[: place + 1])] += 20.0
    return logits

Transformer.forward = forward
"""
TRAINED = {"steps", "rhyme", "sorting"}


def test_texts_kept_beside_the_model_are_no_training(zygote):
    exercise = exercises.load("capstone")
    cells = answers(exercise)
    cells["answer-train"] += KEPT_BESIDE
    with Session(zygote, exercise, cells) as session:
        found = findings(exercise, session.learner, 11, {"logits", "past", "shift", *TRAINED})
    outcomes = {each.verdict.check: (each.verdict.outcome, each.verdict.test, each.verdict.reason) for each in found}
    assert {check for check, (outcome, *_) in outcomes.items() if outcome is not Outcome.PASSED} == TRAINED, outcomes
