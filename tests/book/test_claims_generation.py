"""What the chapter on generation claims holds for texts and seeds that it did not use, and its tables and weights are what their program makes."""

import numpy as np
import pytest
import torch

from bench.generation import AT_LENGTH, FEWER, KEPT, LENGTHS, ROUNDS, SAMPLERS, SHARED, Wide, learnt, look_back, looking, sampled
from bench.generation import SEEDS as MEASURED_SEEDS
from bench.speakers import END, GRAMMAR, WORDS, Speaker, corpus, is_possible, kept, rotate, trained
from tests.book.measured import MEASURED, numbers_of

SEEDS = range(100, 105)
seeds = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture(scope="module")
def generation(functions):
    """Return what the chapter defines."""
    return functions("generation")


@pytest.fixture(scope="module")
def speaker() -> Speaker:
    """Return the model whose weights are committed."""
    model = Speaker(torch.Generator(), KEPT[1])
    with np.load(MEASURED / "generation.npz") as arrays:
        assert {name: array.shape for name, array in arrays.items()} == {name: array.shape for name, array in model.arrays().items()}
        model.parameters = {name: torch.tensor(array) for name, array in arrays.items()}
    return model


def table(name: str) -> list[dict]:
    return numbers_of(name, "way", "method")


def column(rows: list[dict], name: str, **wanted) -> np.ndarray:
    return np.array([row[name] for row in rows if wanted.items() <= row.items()])


def some_text(seed: int, words: int = 11, texts: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).integers(len(WORDS), size=(texts, words))


# The model, whole and in pieces


@seeds
def test_the_page_reads_as_the_program_does(generation, speaker, seed):
    tokens = some_text(seed)
    logits = generation["read"](tokens, generation["Cache"](3))
    assert logits == pytest.approx(speaker.read(torch.tensor(tokens)).numpy(), abs=1e-3)


@seeds
@pytest.mark.parametrize("sizes", [(1,) * 11, (5, 1, 5), (10, 1), (2, 2, 7)])
def test_pieces_of_any_size_are_the_whole_text_unless_positions_begin_anew(generation, seed, sizes):
    tokens, read, cache_of = some_text(seed), generation["read"], generation["Cache"]
    whole, ends = read(tokens, cache_of(3)), np.cumsum((0, *sizes))
    for count_on in (True, False):
        cache = cache_of(3)
        found = np.concatenate([read(tokens[:, at:end], cache, count_on) for at, end in zip(ends, ends[1:])], axis=1)
        assert (np.abs(found - whole).max() < 1e-3) == count_on
    assert read(tokens, cache_of(3), False) == pytest.approx(whole)


@seeds
def test_a_later_word_changes_nothing_that_is_kept(generation, seed):
    tokens, caches = some_text(seed), [generation["Cache"](3) for _ in range(2)]
    generation["read"](tokens, caches[0])
    generation["read"](tokens[:, :7], caches[1])
    one, other = (cache.rows[..., :7, :] for cache in caches)
    assert one == pytest.approx(other, abs=1e-4) and np.abs(one).max() > 0.1


@pytest.mark.parametrize("words", [1, 3, 10])
def test_the_counter_finds_what_a_count_by_hand_does(generation, words):
    d, heads, kv, width, d_ff = 32, 4, 2, 8, 64

    def step(new, old):
        layer = d * width * (heads + 2 * kv) + heads * width * d + 2 * d * d_ff + 2 * heads * width * (old + new)
        return new * (2 * layer + d * len(WORDS))

    assert generation["work"](words, True) == sum(step(1, old) for old in range(words))
    assert generation["work"](words, False) == sum(step(new, 0) for new in range(1, words + 1))


def test_without_a_cache_the_work_is_about_half_as_many_times_as_there_are_words(generation):
    for words in (16, 48):
        assert generation["work"](words, False) / generation["work"](words, True) == pytest.approx(words / 2, rel=0.2)


def test_a_word_takes_the_bytes_that_the_tables_say(generation):
    assert generation["Cache"]().rows[..., 0, :].nbytes == 256 == column(table("shared"), "bytes", kv_heads=2)[0]


# The language


@seeds
def test_the_page_and_the_program_know_the_same_grammar(generation, seed):
    rng = np.random.default_rng(seed)
    assert generation["WORDS"] == list(WORDS)
    for spoken in corpus(seed, 200):
        assert generation["SENTENCE"].fullmatch(" ".join(spoken.words))
        words = [*spoken.words]
        words[rng.integers(len(words))] = WORDS[rng.integers(1, len(WORDS))]
        assert bool(generation["SENTENCE"].fullmatch(" ".join(words))) == bool(GRAMMAR.fullmatch(" ".join(words)))


def test_the_tests_of_a_sentence_need_its_end():
    said = "humpty sat and humpty fell".split()
    assert is_possible([WORDS.index(word) for word in (*said, END, "a")])
    assert not is_possible([WORDS.index(word) for word in said])
    assert not is_possible([WORDS.index(word) for word in (*said[:3], "dumpty", "fell", END)])


def test_positions_of_the_program_are_rotations_and_know_the_distance(generation):
    x = torch.tensor(some_text(SEEDS[0], 8, 20) / 10.0, dtype=torch.float32)
    ours = np.einsum("td,tde->te", x.numpy(), generation["TURNS"][:20])
    assert rotate(x).numpy() == pytest.approx(ours, abs=1e-4)


# The samplers


@seeds
def test_the_samplers_of_page_and_program_are_the_same(generation, seed):
    logits = np.random.default_rng(seed).normal(size=(7, 25)) * 2
    for name, method, amounts in (("by_temperature", "temperature", (0.5, 2)), ("top_k", "top-k", (1, 6)), ("top_p", "top-p", (0.3, 0.9))):
        for amount in amounts:
            found = generation[name](logits, amount)
            assert found == pytest.approx(kept(torch.tensor(logits), method, amount).numpy(), abs=1e-6)
            assert found.sum(axis=-1) == pytest.approx(np.ones(7))


@seeds
def test_top_p_keeps_as_few_words_as_reach_p(generation, seed):
    logits = np.random.default_rng(seed).normal(size=12) * 2
    shares, stays = generation["softmax"](logits), generation["top_p"](logits, 0.8) > 0
    assert shares[stays].sum() >= 0.8 > shares[stays].sum() - shares[stays].min() and shares[stays].min() > shares[~stays].max()


@seeds
def test_a_temperature_after_softmax_does_nothing_or_flattens(generation, seed):
    softmax, logits = generation["softmax"], np.random.default_rng(seed).normal(size=9) * 3
    for amount in (0.1, 0.5, 3):
        divided = softmax(logits) / amount
        assert divided / divided.sum() == pytest.approx(softmax(logits))
        assert generation["by_temperature"](logits, amount).max() > softmax(softmax(logits) / max(amount, 0.5)).max() or amount == 3
    assert softmax(softmax(logits)).max() / softmax(softmax(logits)).min() <= np.e


def test_counting_from_0_ruins_what_is_spoken(generation):
    def right(count_on):
        return np.mean([generation["SENTENCE"].fullmatch(said) is not None for said in generation["speak"](200, SEEDS[0], count_on)])

    assert right(True) > 0.97 and right(False) < 0.9


# The tables


def test_the_tables_are_complete_and_say_where_they_were_measured():
    for name, rows in (
        ("generation", len(ROUNDS) * (2 * len(LENGTHS) + len(FEWER))),
        ("shared", len(MEASURED_SEEDS) * len(SHARED)),
        ("sampling", len(MEASURED_SEEDS) * (1 + sum(map(len, SAMPLERS.values())))),
    ):
        assert len(table(name)) == rows
        first = (MEASURED / f"{name}.csv").read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith("# Measured on 20") and "torch" in first


def test_the_cache_saves_more_the_longer_the_text_is():
    rows = table("generation")
    ratios = [np.median(column(rows, "seconds", way="no cache", words=n) / column(rows, "seconds", way="cache", words=n)) for n in LENGTHS]
    assert ratios[0] > 1 and ratios[-1] > 40 and ratios[-1] > 8 * ratios[0] and ratios[-3:] == sorted(ratios[-3:])


def test_fewer_heads_of_keys_are_read_faster():
    rows = table("generation")
    medians = [np.median(column(rows, "seconds", way="shared", kv_heads=heads)) for heads in FEWER]
    assert medians == sorted(medians, reverse=True) and medians[0] > 2 * medians[-1]
    sizes = [column(rows, "bytes", way="shared", kv_heads=heads)[0] for heads in FEWER]
    assert sizes == [2 * heads * 64 * AT_LENGTH * 4 for heads in FEWER]


def test_sharing_costs_no_more_than_the_seeds_differ():
    rows = table("shared")
    losses = {heads: column(rows, "loss", kv_heads=heads) for heads in SHARED}
    assert max(each.mean() for each in losses.values()) - min(each.mean() for each in losses.values()) < np.ptp(
        np.concatenate(list(losses.values()))
    )
    assert min(each.min() for each in losses.values()) > rows[0]["known"]


def test_cutting_the_tail_leaves_fewer_wrong_sentences_and_fewer_words():
    rows = table("sampling")

    def mean(name, method, amount):
        return column(rows, name, method=method, amount=amount).mean()

    plain = mean("wrong", "temperature", 1)
    for method, amounts in SAMPLERS.items():
        wrong, different = ([mean(name, method, amount) for amount in amounts] for name in ("wrong", "different"))
        assert wrong == sorted(wrong) and wrong[0] < plain
        if method != "temperature":
            assert different == sorted(different)
    assert mean("wrong", "top-p", 0.9) < plain / 2 and set(column(rows, "different", method="top-k", amount=1)) == {1}
    assert mean("different", "temperature", 0.5) < mean("different", "top-p", 0.9) < column(rows, "different", method="language").mean()


def test_the_rows_of_the_kept_model_follow_from_its_weights(speaker):
    (row,) = [row for row in table("shared") if (row["seed"], row["kv_heads"]) == KEPT]
    assert learnt(speaker, *KEPT).loss == pytest.approx(row["loss"], abs=0.001)
    for found in sampled(speaker, KEPT[0], {"top-p": (0.9,)}):
        (wrong,) = column(table("sampling"), "wrong", seed=KEPT[0], method=found.method, amount=found.amount)
        assert found.wrong == pytest.approx(wrong, abs=0.02)


def test_both_ways_of_the_timed_decoder_are_one():
    with torch.no_grad():
        model, text = Wide(SEEDS[0]), torch.randn(9, 256, generator=torch.Generator().manual_seed(SEEDS[0]))
        whole, _ = model(text)
        _, cache = model(text[:-1])
        assert model(text[-1:], cache)[0] == pytest.approx(whole[-1:].numpy(), abs=1e-3)


@pytest.mark.parametrize("kv_heads", FEWER)
def test_the_timed_look_back_is_attention(kv_heads):
    query, key, value = looking(SEEDS[0], kv_heads)
    expected = torch.nn.functional.scaled_dot_product_attention(query, key, value)
    assert torch.allclose(look_back(query, key, value), expected, atol=1e-4)


def test_the_weights_come_from_the_start_that_the_program_makes(speaker):
    start, other = (Speaker(torch.Generator().manual_seed(KEPT[0] + more), KEPT[1]) for more in (0, 1))
    like = {
        name: [float(torch.cosine_similarity(value.flatten(), each.parameters[name].detach().flatten(), dim=0)) for each in (start, other)]
        for name, value in speaker.parameters.items()
    }
    assert all(ours > 0.3 > 0.15 > abs(theirs) for ours, theirs in like.values()), like


@pytest.mark.nightly
def test_the_weights_come_out_again(speaker):
    again = trained(*KEPT)
    assert all(
        float(torch.cosine_similarity(value.flatten(), again.parameters[name].detach().flatten(), dim=0)) > 0.98
        for name, value in speaker.parameters.items()
    )


@pytest.mark.nightly
@pytest.mark.parametrize("seed", SEEDS[:2])
def test_other_starts_learn_the_language_with_any_number_of_heads_of_keys(seed):
    for kv_heads in SHARED:
        found = learnt(trained(seed, kv_heads), seed, kv_heads)
        assert found.known < found.loss < found.known + 0.05
