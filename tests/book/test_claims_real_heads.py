"""What the chapter on real heads claims of its models, and that its weights and its table are of one making."""

import math

import numpy as np
import pytest
import torch

from bench.heads import BLOCKS, DEPTHS, HEADS, KEPT, SEEDS, WORDS, Model, measure, texts, trained
from tests.book.measured import MEASURED, numbers_of

HALF = 0.5  # of its weight: from then on the chapter gives a head a name
NUMBERS = ("previous", "followers", "loss", "silenced")


@pytest.fixture(scope="module")
def real(functions):
    """Return what the chapter defines."""
    return functions("real_heads")


@pytest.fixture(scope="module")
def table() -> list[dict[str, float]]:
    """Return the rows of the committed table."""
    return numbers_of("heads")


@pytest.fixture(scope="module")
def kept() -> Model:
    """Return the model whose weights are committed."""
    model = Model(KEPT[1], torch.Generator())
    with np.load(MEASURED / "heads.npz") as arrays:
        assert {name: array.shape for name, array in arrays.items()} == {name: array.shape for name, array in model.arrays().items()}
        assert {str(array.dtype) for array in arrays.values()} == {"float32"}
        model.parameters = {name: torch.tensor(array) for name, array in arrays.items()}
    return model


def of(rows, seed, layers):
    """Return the rows of one model."""
    return [row for row in rows if (row["seed"], row["layers"]) == (seed, layers)]


def kinds(previous, followers) -> tuple[int, int]:
    """Return how many heads look at the word before, and how many at what followed last time."""
    return sum(one > HALF for one in previous), sum(one > HALF for one in followers)


def cosines(one, other) -> dict[str, float]:
    """Return, for each parameter, how much two models point the same way."""
    pairs = {name: (value.detach().flatten(), other.parameters[name].flatten()) for name, value in one.parameters.items()}
    return {name: float(torch.cosine_similarity(*pair, dim=0)) for name, pair in pairs.items()}


def agrees(found, row, tolerance):
    return all(getattr(found, name) == pytest.approx(row[name], abs=tolerance) for name in NUMBERS)


def test_the_weights_are_few_and_load_without_pickle(kept):
    assert (MEASURED / "heads.npz").stat().st_size < 200_000
    assert sum(parameter.numel() for parameter in kept.parameters.values()) < 25_000


def test_the_table_follows_from_the_weights(kept, table):
    rows, found = of(table, *KEPT), measure(kept, KEPT[0])
    assert len(rows) == len(found) == HEADS
    assert all(agrees(one, row, 0.002) for one, row in zip(found, rows))


def test_the_table_is_complete_and_says_where_it_was_measured(table):
    assert len(table) == len(SEEDS) * len(DEPTHS) * HEADS
    first = (MEASURED / "heads.csv").read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# Measured on 20") and "torch" in first and "5 seeds" in first


def test_the_page_reads_as_the_program_does(real, kept):
    """Two programs, one in NumPy for float64 and one in torch, give the same guesses and the same maps, with a silenced head too."""
    tokens, _ = texts(torch.Generator().manual_seed(5), 3)
    keep = torch.ones(2, 4)
    keep[0, 1] = keep[1, 2] = 0
    for one in (None, keep):
        logits, maps = kept.read(tokens[:, :-1], one)
        guesses, weights = real["read"](tokens[:, :-1].numpy(), *([] if one is None else [one.numpy()]))
        assert guesses == pytest.approx(logits.softmax(-1).numpy(), abs=1e-4)
        assert weights == pytest.approx(torch.stack(maps).numpy(), abs=1e-4)


def test_the_page_measures_what_the_table_says(real, table):
    """On other texts, and written anew."""
    rows = of(table, *KEPT)
    assert real["previous"].ravel() == pytest.approx([row["previous"] for row in rows], abs=0.03)
    assert real["followers"].ravel() == pytest.approx([row["followers"] for row in rows], abs=0.03)
    assert real["whole"][0] == pytest.approx(rows[0]["loss"], abs=0.05)
    assert real["alone"][:, 0] == pytest.approx([row["silenced"] for row in rows], abs=0.15)


@pytest.mark.parametrize("seed", range(100, 103))
def test_texts_repeat_themselves_where_they_say_so(real, seed):
    ours = [each.numpy() for each in texts(torch.Generator().manual_seed(seed), 50)]
    for tokens, repeats in (ours, real["texts"](np.random.default_rng(seed), 50)):
        lengths = (~repeats).sum(axis=1)
        assert tokens.max() < WORDS and BLOCKS[0] <= lengths.min() and lengths.max() <= BLOCKS[1]
        assert all((text[length:] == text[:-length]).all() for text, length in zip(tokens, lengths))


def test_no_head_looks_ahead(real):
    tokens, _ = real["texts"](np.random.default_rng(0), 2)
    changed = tokens.copy()
    changed[:, 20] = (changed[:, 20] + 1) % WORDS
    one, other = (real["read"](each)[0] for each in (tokens[:, :-1], changed[:, :-1]))
    assert np.array_equal(one[:, :20], other[:, :20])
    assert not np.allclose(one[:, 20], other[:, 20])


def test_the_rhyme_is_copied_and_not_known(real):
    text = [0, 1, 2, 3, 4, 5, 0, 1, 6, 4]  # humpty dumpty sat on a wall humpty dumpty had a
    guesses, maps = real["read"](np.array([text]))
    assert [guesses[0, place].argmax() for place in (6, 7, 9)] == [1, 2, 5]
    assert (maps[1, 0, :, 6].argmax(axis=-1) == 1).all()
    assert (maps[1, 0, :, 7].argmax(axis=-1) == 2).sum() == 3
    assert maps[0, 0, 0].diagonal(-1).min() > 0.98


def test_silenced_together_they_cost_more_than_one_by_one(real):
    whole, alone = real["whole"], real["alone"]
    induction, rest = (real["losses"](*real[name]) - whole for name in ("INDUCTION", "REST"))
    assert induction[0] > 1.5 * (alone[4:, 0] - whole[0]).sum()
    assert rest[0] < 0.3 and rest[1] > 1
    assert (alone[4:, 1] < whole[1]).all()  # at new words there is nothing to copy


@pytest.mark.parametrize("seed", SEEDS)
def test_both_kinds_form_from_each_start_and_in_one_layer_neither(table, seed):
    two, one = of(table, seed, 2), of(table, seed, 1)
    first, second = ([row for row in two if row["layer"] == layer] for layer in (0, 1))
    before, _ = kinds([row["previous"] for row in first], [])
    _, after = kinds([], [row["followers"] for row in second])
    assert before in (1, 2) and after == 4
    assert kinds([row["previous"] for row in one], [row["followers"] for row in one]) == (0, 0)
    assert two[0]["loss"] < 0.4 and one[0]["loss"] > 2.2


def test_one_layer_ends_where_knowing_the_words_ends(real, table):
    for seed in SEEDS:
        assert of(table, seed, 1)[0]["loss"] == pytest.approx(real["knowing_the_words"](), abs=0.05)


@pytest.mark.nightly
def test_the_weights_come_out_again(kept, table):
    """To the last digit on the processor that made them, and nearly so on one that rounds sums otherwise."""
    again = trained(*KEPT)
    assert min(cosines(again, kept).values()) > 0.99
    assert all(agrees(found, row, 0.05) for found, row in zip(measure(again, KEPT[0]), of(table, *KEPT)))


def test_the_weights_come_from_the_start_that_the_program_makes(kept):
    """Training moves every matrix, but none so far that its start can't be told from another seed's."""
    assert min(cosines(trained(*KEPT, steps=0), kept).values()) > 0.4
    assert max(cosines(trained(KEPT[0] + 1, KEPT[1], steps=0), kept).values()) < 0.1


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 103))
def test_other_starts_make_the_same_kinds_of_head(seed):
    two, one = (measure(trained(seed, layers), seed) for layers in (2, 1))
    before, _ = kinds([row.previous for row in two if row.layer == 0], [])
    _, after = kinds([], [row.followers for row in two if row.layer == 1])
    assert before >= 1 and after >= 3
    assert two[0].loss < 0.45 and one[0].loss > math.log(WORDS) - 1.4
    assert kinds([row.previous for row in one], [row.followers for row in one]) == (0, 0)
