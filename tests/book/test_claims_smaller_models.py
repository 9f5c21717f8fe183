"""What the chapter on smaller models claims holds for other numbers and texts, and its table is what its program makes."""

import warnings

import numpy as np
import pytest
import torch

from bench import heads
from bench import smaller as bench
from tests.book.chapters import BOOK
from tests.book.measured import rows_of

seeds = pytest.mark.parametrize("seed", range(100, 105))
GUESSING = np.log(heads.WORDS)


@pytest.fixture(scope="module")
def page(functions):
    """Return what the chapter defines."""
    return functions("smaller_models")


@pytest.fixture(scope="module")
def table() -> dict[tuple[str, str, int], dict[int, tuple[float, float]]]:
    """Return the losses at repeated and new words, by seed."""
    found = {}
    for row in rows_of("smaller"):
        case = found.setdefault((row["what"], row["way"], int(row["size"])), {})
        case[int(row["seed"])] = float(row["repeated"]), float(row["new"])
    return found


@pytest.fixture(scope="module")
def kept() -> heads.Model:
    """Return the model of the first seed, as it is committed."""
    model = heads.Model(2, torch.Generator())
    with np.load(BOOK / "measured" / "heads.npz") as arrays:
        model.parameters = {name: torch.tensor(array) for name, array in arrays.items()}
    return model


def repeated(table, *case) -> np.ndarray:
    return np.array([table[case][seed][0] for seed in heads.SEEDS])


def new(table, *case) -> np.ndarray:
    return np.array([table[case][seed][1] for seed in heads.SEEDS])


# Eight bits


@seeds
def test_no_number_is_off_by_more_than_half_a_step_and_zero_is_exact(page, seed):
    numbers = np.random.default_rng(seed).normal(seed % 3, 1, size=50)
    numbers[7] = 0
    integers, scale, zero = page["affine"](numbers)
    back = scale * (integers - zero)
    assert integers.min() == 0 and integers.max() == 255 and back[7] == 0
    assert (np.abs(back - numbers) <= scale / 2 + 1e-12).all()
    for axis in (None, 0, 1):
        matrix = np.random.default_rng(seed).normal(size=(7, 5))
        q, step = page["rounded"](matrix, axis)
        assert (np.abs(q * step - matrix) <= step / 2 + 1e-12).all() and np.abs(q).max() == 127


@seeds
def test_torch_rounds_alike_and_calls_its_older_tools_deprecated(page, seed):
    matrix = np.random.default_rng(seed).normal(size=(7, 5))
    q, step = page["rounded"](matrix, 0)
    scales, points = torch.tensor(step[0], dtype=torch.float32), torch.zeros(5, dtype=torch.int32)
    theirs = torch.fake_quantize_per_channel_affine(torch.tensor(matrix, dtype=torch.float32), scales, points, 1, -127, 127)
    assert theirs.numpy() == pytest.approx(q * step, abs=1e-5)


def test_older_tools_say_that_they_are_deprecated():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        torch.ao.quantization.quantize_dynamic(torch.nn.Linear(3, 2), {torch.nn.Linear})
    assert any("torch.ao.quantization is deprecated" in str(each.message) for each in said)


@seeds
def test_a_product_of_integers_is_close_and_its_sum_fits(page, seed):
    random = np.random.default_rng(seed)
    x, w = random.normal(size=(20, 30)), random.normal(size=(30, 10))
    (a, a_scale), (b, b_scale) = page["rounded"](x, 1), page["rounded"](w, 0)
    assert np.linalg.norm(a @ b * a_scale * b_scale - x @ w) < 0.02 * np.linalg.norm(x @ w)
    longest = (2**31 - 1) // 127**2
    assert longest * 127**2 < 2**31 <= (longest + 1) * 127**2


def test_eight_bits_cost_nothing_and_few_bits_ask_for_a_scale_per_column(table):
    whole = repeated(table, "teacher", "whole", 0)
    for way in ("matrix", "column"):
        assert np.abs(repeated(table, "bits", way, 8) - whole).max() < 0.01
    for bits in (4, 3):
        assert (repeated(table, "bits", "column", bits) < repeated(table, "bits", "matrix", bits)).all()


@seeds
def test_a_large_column_is_the_same_function_and_ruins_one_scale(page, seed):
    test, model = page["texts"](np.random.default_rng(seed), 30), page["model"]
    other = page["stretched"](model, 256)
    assert page["loss"](other, *test) == pytest.approx(page["loss"](model, *test), abs=1e-3)
    assert page["loss"](page["with_bits"](other, -2), *test) < page["loss"](model, *test) + 0.02
    assert page["loss"](page["with_bits"](other, None), *test) > page["loss"](model, *test) + 0.5


def test_the_table_shows_the_same_of_a_large_column(table):
    whole = repeated(table, "teacher", "whole", 0)
    assert np.abs(repeated(table, "stretched", "column", 256) - whole).max() < 0.01
    assert (repeated(table, "stretched", "matrix", 16) < whole + 0.05).all()
    assert (repeated(table, "stretched", "matrix", 64) > whole + 0.08).all() and (repeated(table, "stretched", "matrix", 256) > 1).all()


@seeds
def test_a_large_feature_is_mended_only_apart(page, seed):
    random = np.random.default_rng(seed)
    x, w = random.normal(size=(40, 64)), random.normal(size=(64, 48))
    w[9, 1:] = 0
    large = x.copy()
    large[:, 9] *= 60
    assert page["off"](large, w) > 5 * page["off"](x, w) and page["off"](large, w, (9,)) < 1.2 * page["off"](x, w)


# Pruning


def test_ways_to_prune_keep_their_order(table):
    whole = repeated(table, "teacher", "whole", 0)

    def rise(way, left):
        return repeated(table, "pruned", way, left) - whole

    assert rise("size", 80).max() < 0.05 < 1 < rise("chance", 80).min()
    for left in (80, 60, 50, 40):
        assert (rise("size", left) < rise("columns", left)).all() and (rise("columns", left) < rise("chance", left)).all()
    assert rise("size", 20).min() > 2 > 1 > rise("size, trained on", 20).max()
    assert rise("heads", 62).max() < 0.3 < 1 < rise("columns", 60).min()
    assert (new(table, "pruned", "heads", 62) > GUESSING + 0.5).all()
    assert (new(table, "teacher", "whole", 0) < GUESSING + 0.4).all()


@pytest.mark.parametrize("left", [0.9, 0.5, 0.1])
def test_masks_keep_what_they_say(kept, left):
    columns = bench.by_column(kept, left)
    for name in bench.PRUNED:
        value = kept.parameters[name]
        mask = bench.by_size(value, left)
        assert float(mask.mean()) == pytest.approx(left, abs=0.01) and float(columns[name].mean()) == pytest.approx(left, abs=0.02)
        for layer in range(2):
            assert value[layer].abs()[mask[layer] == 1].min() >= value[layer].abs()[mask[layer] == 0].max()


def test_a_list_saves_nothing_until_more_than_half_is_gone(page):
    for seed in range(100, 103):
        matrix = np.random.default_rng(seed).normal(size=(200, 100))
        sizes = {left: page["bytes_of"](np.where(np.abs(matrix) < np.quantile(np.abs(matrix), 1 - left), 0, matrix)) for left in (0.5, 0.4)}
        assert sizes[0.5] > 4 * matrix.size > sizes[0.4]


@seeds
def test_small_attention_weights_are_others_in_each_text(page, seed):
    test, model = page["texts"](np.random.default_rng(seed)), page["model"]
    _, maps = page["read"](model, test[0][:, :-1])
    small = (maps < 0.01)[..., np.tril(np.ones((40, 40), dtype=bool))]
    assert small.mean() > 0.5 and small.all(axis=1).mean() < small.mean() / 3
    assert page["loss"](model, *test, 0.01) < page["loss"](model, *test) + 0.1


# A teacher


def test_a_teacher_helps_where_texts_are_few_and_adds_no_layer(table):
    for size in (256, 1024):
        assert (repeated(table, "student of 2", "T1", size) < repeated(table, "student of 2", "alone", size)).all()
    gains = {
        size: np.median(repeated(table, "student of 2", "alone", size) - repeated(table, "student of 2", "T1", size))
        for size in (256, 1024, 4096)
    }
    assert gains[256] > gains[1024] > gains[4096] > 0
    assert (repeated(table, "student of 2", "T1", 256) > GUESSING).sum() == 4
    assert (repeated(table, "student of 2", "T1", 4096) > repeated(table, "student of 2", "alone", 4096)).sum() == 1
    assert np.median(repeated(table, "student of 2", "T4", 1024)) > np.median(repeated(table, "student of 2", "T1", 1024)) - 0.02
    for way in ("alone", "T1"):
        assert repeated(table, "student of 1", way, 4096).min() > 2.3


def test_a_higher_temperature_evens_out_and_the_gradient_shrinks_with_its_square(page):
    logits = np.array([3.0, 1.0, 0.5, -2.0])
    spread = [np.ptp(page["softmax"](logits / temperature)) for temperature in (1, 2, 4, 100)]
    assert spread == sorted(spread, reverse=True) and spread[-1] < 0.02
    teacher = torch.tensor(logits)
    sizes = []
    for temperature in (20, 40):
        guess = torch.zeros(4, dtype=torch.float64, requires_grad=True)
        torch.nn.functional.cross_entropy(guess / temperature, (teacher / temperature).softmax(-1)).backward()
        sizes.append(guess.grad.norm())
    assert float(sizes[0] / sizes[1]) == pytest.approx(4, rel=0.1)


def test_the_page_says_how_large_students_are(page, kept):
    for layers in (1, 2):
        count = sum(value.numel() for value in bench.Student(layers, torch.Generator().manual_seed(0)).parameters.values())
        assert count == page["parameters"](page["WIDTH"], page["STUDENT_HEADS"])
    assert sum(value.numel() for value in kept.parameters.values()) == page["parameters"](heads.D_MODEL, heads.HEADS)
    assert page["STEPS"] == bench.STEPS


# The table


def test_the_table_is_complete_and_says_where_it_was_measured(table):
    assert {len(each) for each in table.values()} == {len(heads.SEEDS)}
    assert sum(what.startswith("student") for what, *_ in table) == len(bench.STUDENTS)
    first = (BOOK / "measured" / "smaller.csv").read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# Measured on 20") and "torch" in first and "5 seeds" in first


def test_what_needs_no_training_comes_out_again(table, kept):
    for row in bench.rounded(kept, 0):
        assert (row.repeated, row.new) == pytest.approx(table[row.what, row.way, row.size][0], abs=0.02)


@pytest.mark.nightly
def test_a_model_is_pruned_and_taught_again(table, kept):
    for row in bench.pruned(kept, 0):
        assert (row.repeated, row.new) == pytest.approx(table[row.what, row.way, row.size][0], abs=0.1)
    found = bench.loss(bench.student(kept, 0, 2, 1024, 1))[0]
    assert found == pytest.approx(table["student of 2", "T1", 1024][0][0], abs=0.1)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 103))
def test_students_of_other_seeds_gain_alike(kept, seed):
    taught, alone = (bench.loss(bench.student(kept, seed, 2, 1024, temperature))[0] for temperature in (1, 0))
    assert taught < alone < 1
