"""What the chapter on what may come after attention claims holds for seeds and sizes that it did not use, and its table is what its program makes."""

import numpy as np
import pytest
import torch

from bench import after_attention as bench
from tests.book.measured import rows_of

SEEDS = range(100, 105)
seeds = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture(scope="module")
def chapter(functions):
    """Return what the chapter defines."""
    return functions("after_attention")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    return rows_of("after_attention")


@pytest.fixture(scope="module")
def right(rows):
    """Return a function that returns the shares of right answers of some models, a number for each seed."""

    def shares(task, layers, **wanted) -> np.ndarray:
        wanted |= {"task": task, "layers": layers}
        found = [float(row["right"]) for row in rows if wanted.items() <= row.items()]
        assert len(found) == len(bench.SEEDS)
        return np.array(found)

    return shares


def parts(seed: int, n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    kept = rng.uniform(size=n)
    kept[rng.integers(1, n)] = 0
    return [rng.normal(size=(n, 5)), rng.normal(size=(n, 5)), rng.normal(size=(n, 3)), kept]


# Both forms


@seeds
@pytest.mark.parametrize("n", [1, 2, 13, 40])
def test_a_state_and_a_table_are_one_layer(chapter, seed, n):
    inputs = parts(seed, n + 1)
    found = chapter["one_by_one"](*inputs)
    assert found == pytest.approx(chapter["all_at_once"](*inputs), abs=1e-12)
    for size in (1, 3, n + 1, 2 * n + 1):
        assert chapter["in_chunks"](*inputs, size) == pytest.approx(found, abs=1e-12)


@seeds
def test_the_selective_layer_is_its_table(chapter, seed):
    torch.manual_seed(seed)
    layer, x = chapter["Selective"](7, 5, 3), torch.randn(17, 7)
    with torch.no_grad():
        query, key, value, kept = (each.numpy() for each in layer.parts(x))
        assert layer(x).numpy() == pytest.approx(chapter["all_at_once"](query, key, value, kept), abs=1e-5)
    assert 0 < kept.min() and kept.max() < 1 and kept.std() > 0.01


@seeds
def test_keys_at_right_angles_are_read_exactly_and_one_more_is_not(chapter, seed):
    rng = np.random.default_rng(seed)
    key = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    value = rng.normal(size=(6, 4))
    state = key.T @ value
    assert key @ state == pytest.approx(value)
    one_more = rng.normal(size=6)
    assert np.abs(key @ (state + np.outer(one_more, rng.normal(size=4))) - value).max() > 0.1


@pytest.mark.parametrize("kind", ["linear", "fixed", "selective"])
def test_the_program_computes_the_layer_of_the_chapter(chapter, kind):
    torch.manual_seed(SEEDS[0])
    layer = bench.Layer(2, kind, 5)
    if kind == "selective":
        torch.nn.init.normal_(layer.decide)
    told, asked = torch.randn(2, 1, 11, bench.D_MODEL), torch.randn(2, 1, 3, bench.D_MODEL)
    with torch.no_grad():
        found = (layer(told, asked) - torch.cat([told, asked], dim=-2))[1, 0]
        alone = (layer(told, asked, alone=True) - asked)[1, 0]
        x = bench.norm(told)
        query, key, value = (x[1, 0] @ layer.project[1]).split([5, 5, bench.D_V], dim=-1)
        kept = np.ones(11) if kind == "linear" else left_at_each_word(layer.kept(x)[1, 0])
        inputs = [each.double().numpy() for each in (query, key, value)]
        expected = bench.norm(torch.tensor(chapter["one_by_one"](*inputs, kept))) @ layer.merge[1].double()
    assert found[:11].numpy() == pytest.approx(expected.numpy(), abs=1e-3)
    assert alone.numpy() == pytest.approx(found[11:].numpy(), abs=1e-4)


def left_at_each_word(logarithms: torch.Tensor) -> np.ndarray:
    return np.exp(np.diff(logarithms.double().numpy(), prepend=0))


# Forgetting


def test_no_decay_that_all_words_share_keeps_the_right_state(chapter):
    for seed in SEEDS[:2]:
        assert chapter["errors"](seed, count=20) == pytest.approx(0, abs=1e-6)
        assert min(chapter["errors"](seed, decay, 20) for decay in np.linspace(0.5, 1, 11)) > 0.3


def test_the_best_decay_is_neither_small_nor_one(chapter):
    for seed in SEEDS[:2]:
        small, best, one = (chapter["errors"](seed, decay, 40) for decay in (0.5, 0.9, 1))
        assert best < small - 0.1 and best < one - 0.05


def test_texts_that_need_to_forget_are_as_the_chapter_says():
    torch.manual_seed(SEEDS[0])
    texts = bench.with_forgetting((5, 7))
    told, answer = texts.told, texts.answer
    assert ((told == bench.FORGET).all(dim=-1).sum(dim=-1) == 1).all()
    for seed in range(5):
        for words, answers, fresh, stale in zip(told[seed], answer[seed], *(each[seed] for each in texts.counts.values())):
            end = (words[:, 0] == bench.FORGET).nonzero().item()
            since = {key: value - bench.KEYS for key, value in words[end + 1 :].tolist() if key < bench.KEYS}
            before = {key for key, _ in words[:end].tolist() if key < bench.KEYS} - set(since)
            assert {key: answers[key].item() for key in fresh.nonzero().flatten().tolist()} == since
            assert set(stale.nonzero().flatten().tolist()) == before and (answers[stale] == bench.NOTHING).all()


# The span


@pytest.mark.parametrize("last", [8, 14])
def test_a_span_is_found_from_its_slope(chapter, last):
    for seed in SEEDS[:3]:
        span = chapter["learn"](seed, last=last)
        assert last - 4 < span < last
    sharp = torch.tensor(20.0, requires_grad=True)
    assert not (torch.arange(64.0) <= sharp).requires_grad
    chapter["ramp"](torch.arange(64.0), sharp).sum().backward()
    assert sharp.grad > 0


# The table


def test_the_table_is_complete(rows):
    found = {(row["task"], row["layers"], int(row["d_k"])) for row in rows}
    assert found == set(bench.cases()) and {int(row["seed"]) for row in rows} == set(bench.SEEDS)


def test_models_of_one_width_have_the_same_parameters_but_for_the_decay(rows):
    for task in ("recall", "forget", "order"):
        for d_k in bench.WIDTHS:
            counts = {int(row["parameters"]) for row in rows if row["task"] == task and int(row["d_k"]) == d_k}
            assert not counts or max(counts) - min(counts) <= 2 * (bench.D_MODEL + 1)


@pytest.mark.nightly
@pytest.mark.parametrize(("layers", "d_k"), [("attention", 4), ("linear", 4)])
def test_models_of_the_table_come_out_again(right, layers, d_k):
    for row in bench.recalled("recall", layers, d_k):
        there = right("recall", layers, d_k=str(d_k), asked=row.asked)
        assert abs(row.right - there[row.seed]) < 0.1


def test_attention_recalls_all_and_a_state_about_as_many_pairs_as_its_keys_are_wide(right):
    for d_k in bench.WIDTHS:
        for pairs in bench.PAIRS:
            shares = {layers: right("recall", layers, d_k=str(d_k), asked=str(pairs)) for layers in bench.ONE_LAYER}
            assert shares["attention"].min() > 0.98 and shares["features"].max() < shares["attention"].min()
            assert (shares["linear"].min() > 0.9) == (pairs <= d_k) and shares["linear"].max() > shares["features"].max() - 0.01
            assert abs(shares["selective"].mean() - shares["linear"].mean()) < 0.03


def test_only_a_decay_that_looks_at_the_word_forgets_what_it_should(right):
    fresh, stale = ({layers: right("forget", layers, asked=asked) for layers in bench.FORGETTING} for asked in ("fresh", "stale"))
    assert sorted(fresh["selective"])[1] > 0.99 and sorted(stale["selective"])[1] > 0.99
    for asked in (fresh, stale):
        assert 0.9 < asked["fixed"].min() and asked["fixed"].max() < 0.97
        assert max(asked["linear"].max(), asked["attention"].max()) < 0.75


def test_most_hybrids_recall_what_no_model_of_one_kind_does(right):
    for pairs in bench.ORDERED:
        shares = {layers: np.sort(right("order", layers, asked=str(pairs))) for layers in bench.TWO_LAYERS}
        hybrid = shares.pop("selective attention")
        assert hybrid[-1] > 0.99 and hybrid[2] > max(each[-1] for each in shares.values())
