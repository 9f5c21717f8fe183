"""What the chapter on alignment claims of its language, its translators and their maps, and that its weights and its tables are of one making."""

import numpy as np
import pytest
import torch

from bench import alignment, made_up
from bench.alignment import KEPT, SEEDS, measure
from bench.chains import ARMS, CHAIN_MOST, CHAIN_PHRASES, CHAIN_STEPS, by_length
from bench.translators import HEADS, LAYERS, Translator, trained
from tests.book.measured import MEASURED, numbers_of

NUMBERS = ("earlier", "predicted", "read", "later", "begins", "goes_on", "hidden", "kept_begins", "kept_goes_on", "training_loss", "right")


@pytest.fixture(scope="module")
def page(functions):
    """Return what the chapter defines."""
    return functions("alignment")


@pytest.fixture(scope="module")
def table() -> list[dict[str, float]]:
    """Return the rows of the committed table of heads."""
    return numbers_of("alignment")


@pytest.fixture(scope="module")
def lengths() -> list[dict]:
    """Return the rows of the committed table of lengths."""
    return numbers_of("lengths", "arm")


def kept(causal: bool) -> Translator:
    """Return one of the two models whose weights are committed."""
    model = Translator(torch.Generator(), causal)
    with np.load(MEASURED / f"alignment{'' if causal else '_peeking'}.npz") as arrays:
        assert {name: array.shape for name, array in arrays.items()} == {name: array.shape for name, array in model.arrays().items()}
        model.parameters = {name: torch.tensor(array) for name, array in arrays.items()}
    return model


def heads(rows, seed, causal, layer):
    """Return the rows of the heads of one layer, and the row of their mean."""
    found = [row for row in rows if (row["seed"], row["causal"], row["layer"]) == (seed, causal, layer)]
    assert len(found) == HEADS + 1
    return [row for row in found if row["head"] >= 0], next(row for row in found if row["head"] < 0)


def draw(seed: int, count: int = 20) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    return [made_up.spoken(rng, int(rng.integers(1, 4))) for _ in range(count)]


@pytest.mark.parametrize("seed", range(100, 103))
def test_the_page_speaks_the_language_of_the_program(page, seed):
    """Two programs make the same sentences, the same translations and the same links."""
    ours, pages = np.random.default_rng(seed), np.random.default_rng(seed)
    for phrases in range(4):
        source = made_up.spoken(ours, phrases)
        pair = made_up.by_rule(source)
        assert page["spoken"](pages, phrases) == source
        assert page["by_rule"](source) == (pair.target, pair.origin)
        assert page["true_links"](source) == (pair.sure, pair.possible)


@pytest.mark.parametrize("seed", range(100, 103))
def test_the_language_keeps_its_four_rules(page, seed):
    for source in draw(seed):
        target, origin = page["by_rule"](source)
        (verb,) = [place for place, word in enumerate(source) if word in page["VERBS"]]
        assert origin[-1] == verb and origin.count(verb) == len(page["LEXICON"][source[verb]].split())
        assert set(origin) == {place for place, word in enumerate(source) if word not in page["ARTICLES"]}
        behind = [place for place, word in enumerate(source) if word in page["KINDS"] or word in page["PLACES"]]
        assert all(origin.index(place) > origin.index(place + 1) for place in behind if source[place + 1] not in page["ARTICLES"])


@pytest.mark.parametrize("seed", range(100, 103))
def test_the_error_rate_is_0_for_the_sure_links_and_1_for_none_that_is_possible(page, seed):
    for source in draw(seed):
        sure, possible = page["true_links"](source)
        rate = page["error_rate"]
        every = {(place, word) for place in range(len(source)) for _, word in sure}
        assert rate(sure, sure, possible) == rate(possible, sure, possible) == 0
        assert rate(every - possible, sure, possible) == 1
        assert 0 < rate(every, sure, possible) < 1
        assert rate(sure - {min(sure)}, sure, possible) > 0


def test_the_page_scores_as_the_program_does(page):
    sentences = draw(100)
    pairs = [made_up.by_rule(source) for source in sentences]
    weights = torch.rand(len(pairs), max(len(pair.target) for pair in pairs), max(len(pair.source) for pair in pairs))
    maps = [each[: len(pair.target), : len(pair.source)].numpy() for each, pair in zip(weights, pairs)]
    for each, pair in zip(weights, pairs):
        each[:, len(pair.source) :] = 0
    assert page["score"](sentences, maps) == pytest.approx(alignment.rate_of(weights, pairs))


def test_the_weights_are_small_and_load_without_pickle():
    for causal in (True, False):
        assert sum(parameter.numel() for parameter in kept(causal).parameters.values()) < 50_000


def test_the_page_reads_and_writes_as_the_program_does(page):
    """Two programs, one in NumPy and one in torch, give the same guesses, the same maps and the same translations."""
    model = kept(True)
    for source in draw(100, 5):
        pair = made_up.by_rule(source)
        numbers, target = made_up.numbered([pair])
        logits, maps = model.decode(model.encode(numbers), numbers > 0, target[:, :-1])
        guesses, weights = page["decode"](page["encode"](source), ["(start)", *pair.target])
        assert guesses == pytest.approx(logits[0].softmax(-1).numpy(), abs=1e-3)
        assert weights == pytest.approx(maps[:, 0].numpy(), abs=1e-3)
        assert page["when_hidden"](source).T == pytest.approx(alignment.hidden_one_by_one(model, pair).numpy(), abs=1e-3)
        written = model.write(numbers)[0].tolist()
        assert page["translate"](source) == [made_up.TARGET[word] for word in written[1:-1]]


@pytest.mark.parametrize("causal", [True, False])
def test_the_table_follows_from_the_weights(table, causal):
    rows = [row for row in table if (row["seed"], row["causal"]) == (KEPT, causal)]
    found = measure(kept(causal), KEPT)
    assert len(rows) == len(found) == LAYERS * (HEADS + 1)
    assert all(getattr(one, name) == pytest.approx(row[name], abs=0.005) for one, row in zip(found, rows) for name in NUMBERS)


def test_the_tables_are_complete_and_say_where_they_were_measured(table, lengths):
    assert len(table) == 2 * len(SEEDS) * LAYERS * (HEADS + 1)
    assert len(lengths) == len(ARMS) * len(SEEDS) * len(CHAIN_PHRASES)
    for file in ("alignment.csv", "lengths.csv"):
        first = (MEASURED / file).read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith("# Measured on 20") and "torch" in first and "5 seeds" in first


@pytest.mark.parametrize("seed", SEEDS)
def test_the_last_layer_aligns_and_the_row_that_predicts_is_the_right_one(table, seed):
    (first, _), (second, together) = (heads(table, seed, 1, layer) for layer in (0, 1))
    assert max(row["predicted"] for row in second) < min(row["predicted"] for row in first)
    assert together["predicted"] < min(row["predicted"] for row in second)
    assert all(row["predicted"] < min(row[place] for place in ("earlier", "read", "later")) - 0.3 for row in second)


@pytest.mark.parametrize("seed", SEEDS)
def test_second_words_are_neither_aligned_nor_needed(table, seed):
    _, row = heads(table, seed, 1, 1)
    assert row["goes_on"] > max(3 * row["begins"], 0.2) and row["begins"] < 0.15
    assert row["kept_begins"] < 0.3 and row["kept_goes_on"] > 0.95
    assert row["right"] > 0.9


@pytest.mark.parametrize("seed", SEEDS)
def test_without_the_mask_the_loss_is_as_low_and_no_sentence_is_translated(table, seed):
    (_, honest), (_, peeking) = (heads(table, seed, causal, 1) for causal in (1, 0))
    assert peeking["training_loss"] < 0.02 and peeking["right"] < 0.05
    assert peeking["predicted"] > honest["predicted"] + 0.1
    assert peeking["kept_begins"] > 0.6 > 0.3 > honest["kept_begins"]


@pytest.mark.parametrize("seed", range(100, 102))
def test_counting_aligns_all_but_words_that_stand_twice(page, seed):
    """And after many rounds, the second words, which the articles claim."""
    rng = np.random.default_rng(seed)
    known = [page["numbered"](page["spoken"](rng, rng.integers(4))) for _ in range(2_000)]
    sentences = draw(seed, 100)
    rates, wrong = [], []
    for rounds in (5, 20):
        chance = page["turn_up_together"](known, rounds)
        maps = [chance[page["numbered"](source)].T for source in sentences]
        rates.append(page["score"](sentences, maps))
        if rounds == 5:
            for source, rows in zip(sentences, maps):
                wrong += [source.count(source[place]) for row, place in zip(rows, page["by_rule"](source)[1]) if row.argmax() != place]
    assert rates[0] < 0.2 < 0.9 < np.mean(np.array(wrong) > 1)
    assert rates[0] < rates[1]


@pytest.mark.parametrize("seed", range(100, 102))
def test_attention_tells_two_of_the_same_word_apart(page, seed):
    """And counting can't: their columns are the same."""
    wrong = []
    for source in draw(seed, 100):
        target, origin = page["by_rule"](source)
        _, maps = page["decode"](page["encode"](source), ["(start)", *target])
        together = maps[1].mean(axis=0)
        wrong += [row.argmax() != place for row, place in zip(together, origin) if source.count(source[place]) > 1]
    assert len(wrong) > 50 and np.mean(wrong) < 0.2


def at(lengths, arm, seed, phrases):
    (row,) = [row for row in lengths if (row["arm"], row["seed"], row["phrases"]) == (arm, seed, phrases)]
    return row


@pytest.mark.parametrize("seed", SEEDS)
def test_one_state_gets_worse_with_length_and_attention_does_not_within_what_was_trained(lengths, seed):
    narrow, attention = ([at(lengths, arm, seed, phrases)["right"] for phrases in CHAIN_PHRASES] for arm in ("one state", "attention"))
    wide = [at(lengths, "one wider state", seed, phrases)["right"] for phrases in (3, 4, 5)]
    assert narrow[0] > 0.9 and narrow[CHAIN_MOST] < 0.1
    assert all(more > less + 0.01 for more, less in zip(wide, narrow[3:]))
    assert min(attention[: CHAIN_MOST + 1]) > 0.9
    assert at(lengths, "one state", seed, 0)["parameters"] == at(lengths, "attention", seed, 0)["parameters"]


@pytest.mark.parametrize("seed", SEEDS)
def test_attention_has_learnt_to_count_to_six(lengths, seed):
    """Within the lengths of training it writes as many phrases as there are; of seven it writes six, and of eight fewer than eight."""
    rows = [at(lengths, "attention", seed, phrases) for phrases in CHAIN_PHRASES]
    assert all(row["written"] == pytest.approx(min(row["phrases"], CHAIN_MOST), abs=0.3) for row in rows[:-1])
    assert rows[-1]["written"] < CHAIN_MOST + 1.6 and max(row["right"] for row in rows[CHAIN_MOST + 1 :]) < 0.05


@pytest.mark.nightly
def test_the_weights_come_out_again(table):
    """Nearly so: another processor rounds sums otherwise."""
    again = measure(trained(KEPT), KEPT)
    rows = [row for row in table if (row["seed"], row["causal"]) == (KEPT, 1)]
    assert all(one.predicted == pytest.approx(row["predicted"], abs=0.1) for one, row in zip(again, rows))


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 102))
def test_other_starts_align_and_peek_alike(seed):
    honest, peeking = ([vars(row) for row in measure(trained(seed, causal), seed)] for causal in (True, False))
    test_second_words_are_neither_aligned_nor_needed(honest, seed)
    test_the_last_layer_aligns_and_the_row_that_predicts_is_the_right_one(honest, seed)
    test_without_the_mask_the_loss_is_as_low_and_no_sentence_is_translated(honest + peeking, seed)


@pytest.mark.nightly
def test_another_start_of_the_chains_runs_into_the_same_wall():
    rows = [vars(row) for arm in ARMS for row in by_length(arm, 100)]
    test_one_state_gets_worse_with_length_and_attention_does_not_within_what_was_trained(rows, 100)
    test_attention_has_learnt_to_count_to_six(rows, 100)
    longer = by_length("one state", 100, steps=2 * CHAIN_STEPS)
    assert longer[3].right > at(rows, "one state", 100, 3)["right"]
