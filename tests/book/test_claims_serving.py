"""What the chapter on serving claims holds for other texts and moments, its functions are the service's own, and its tables what their program makes."""

import ast
import inspect

import numpy as np
import pytest

from bench import heads, speakers
from bench import serving as bench
from service import batches, lengths, model
from tests.book.chapters import read as read_chapter
from tests.book.measured import MEASURED, numbers_of
from tests.test_batches import Full, Job, Rules, asked, in_virtual_time, line_before

SEEDS = range(100, 105)
seeds = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture(scope="module")
def serving(functions):
    """Return what the chapter defines."""
    return functions("serving")


@pytest.fixture(scope="module")
def speaker():
    return model.Model()


def table(name: str) -> list[dict]:
    return numbers_of(name, "way", "what")


def column(rows: list[dict], name: str, **wanted) -> np.ndarray:
    return np.array([row[name] for row in rows if wanted.items() <= row.items()])


def median(way: str, times: float, name: str) -> float:
    return float(np.median(column(table("serving"), name, way=way, times=times)))


# The page and the service


@pytest.mark.parametrize("name, room", [("padding", batches), ("chosen", batches), ("ready", batches), ("chunks", lengths)])
def test_the_page_shows_the_functions_of_the_service(name, room):
    code = [cell.source for cell in read_chapter("serving").cells if cell.cell_type == "code"]
    shown = [each for source in code for each in ast.parse(source).body if isinstance(each, ast.FunctionDef) and each.name == name]
    assert [ast.unparse(each) for each in shown] == [ast.unparse(ast.parse(inspect.getsource(getattr(room, name))))]


@seeds
def test_the_page_reads_as_the_service_does(serving, speaker, seed):
    rng = np.random.default_rng(seed)
    texts = [tuple(rng.integers(1, 25, rng.integers(1, 17)).tolist()) for _ in range(7)]
    assert serving["WORDS"] == list(model.WORDS)
    tokens, real = serving["batch_of"]([" ".join(model.WORDS[each] for each in text) for text in texts])
    shares = serving["softmax"](serving["read"](tokens, real))
    for text, row, answer in zip(texts, shares, speaker.answer([Job(text) for text in texts])):
        found = -np.log(row[np.arange(-len(text) - 1, -1), text])
        assert answer.surprise == pytest.approx(found, abs=1e-9)


@seeds
def test_without_a_mask_neighbours_change_all_answers_but_the_longest(serving, seed):
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(serving["WORDS"][1:], words)) for words in (3, 8, 1, 5)]
    alone = [serving["read"](*serving["batch_of"]([text]))[0, -1] for text in texts]
    tokens, real = serving["batch_of"](texts)
    masked, unmasked = (np.abs(serving["read"](tokens, mask)[:, -1] - alone).max(axis=1) for mask in (real, np.ones_like(real)))
    assert masked.max() < 1e-9 and unmasked[1] < 1e-9 and np.delete(unmasked, 1).min() > 1e-3


@seeds
@pytest.mark.parametrize(
    "rules",
    [{"most": 1}, {"most": 1, "room": 5}, {"most": 4, "patience": 7.0}, {"most": 16}, {"most": 16, "share": 0.2}, {"most": 3, "room": 6}],
    ids=str,
)
def test_a_day_on_the_page_is_a_day_of_the_service(serving, seed, rules):
    arrived, sizes = serving["some_texts"](seed, 3, 60)
    expected = serving["day"](arrived, sizes, **rules)
    jobs = [Job((1,) * (size % 8 - 1), size // 8) for size in sizes]
    assert [job.length for job in jobs] == sizes
    line = line_before(serving["cost"], Rules(**{"share": 1, "room": 1000, **rules}))
    found = in_virtual_time(asked(line, arrived, jobs))
    assert [np.nan if isinstance(each, Full) else each for each in found] == pytest.approx(expected.tolist(), nan_ok=True)
    assert line.counts.refused == np.isnan(expected).sum()


# Who goes with whom


def waits(serving, seed, times, **rules) -> np.ndarray:
    arrived, sizes = serving["some_texts"](seed, times)
    return serving["day"](arrived, sizes, **rules) - arrived


@seeds
def test_batches_of_who_is_there_are_best_with_few_and_with_many(serving, seed):
    half = {(name, times): np.median(waits(serving, seed, times, **rules)) for name, rules in serving["WAYS"].items() for times in (0.5, 2)}
    one, eight, there, alike = serving["WAYS"]
    assert half[eight, 0.5] > 3 * half[there, 0.5] and half[there, 0.5] < 2 * half[one, 0.5]
    assert half[one, 2] > 5 * half[there, 2] and half[alike, 2] < half[there, 2]


@seeds
def test_a_line_without_an_end_grows_and_one_with_an_end_does_not(serving, seed):
    endless, bounded = (waits(serving, seed, 3, most=1, room=room) for room in (np.inf, 8))
    assert np.median(endless[-100:]) > 3 * np.median(endless[:100]) and not np.isnan(endless).any()
    assert np.nanmax(bounded) < 10 * max(map(serving["cost"], ([66],))) and 0.4 < np.isnan(bounded).mean() < 0.8


@seeds
def test_the_shortest_first_keeps_long_ones_waiting(serving, seed):
    arrived, sizes = serving["some_texts"](seed, 4)
    long = np.array(sizes) == 66
    rules = {"most": 16, "share": 0.2}
    shortest, oldest = (serving["day"](arrived, sizes, choose=serving[name], **rules) - arrived for name in ("shortest", "chosen"))
    assert np.median(shortest) < np.median(oldest) and shortest[long].max() > 2 * oldest[long].max()


@seeds
def test_nobody_waits_for_more_batches_than_there_are_texts_before(seed):
    rng = np.random.default_rng(seed)
    line, batch, limits = [], 0, {}
    for text in range(200):
        line.append((text, int(rng.integers(1, 60))))
        limits[text] = batch + len(line)
        if rng.random() < 0.2:
            places = batches.chosen([size for _, size in line], 4, 0.2)
            batch += 1
            assert all(batch <= limits[line[place][0]] for place in places)
            line = [each for place, each in enumerate(line) if place not in places]


@seeds
def test_most_padding_comes_from_writing(speaker, seed):
    read = total = 0
    for begin in range(0, 60, 6):
        asked_for = bench.asked(seed, 60)[begin : begin + 6]
        jobs = [Job(lengths.numbers_of(each["text"]), each["lines"], each["seed"]) for each in asked_for]
        answers = speaker.answer(jobs)
        read += sum(max(len(job.text) for job in jobs) - len(job.text) for job in jobs)
        total += sum(answer.computed - answer.useful for answer in answers)
    assert 0 < read < total / 3


# The tables


def test_the_tables_are_complete_and_say_where_they_were_measured():
    served, cuts, timed = map(table, ("serving", "cuts", "batches"))
    assert len(served) == len(bench.ROUNDS) * (1 + len(bench.RATES) * len(bench.WAYS))
    assert all(row["answered"] + row["refused"] == bench.REQUESTS for row in served if row["times"])
    assert len(cuts) == len(bench.SEEDS) * (4 + 2 * len(bench.KEEP) + len(bench.PERIODS) * len(bench.OVERLAPS))
    assert len(timed) == len(bench.ROUNDS) * (3 * len(bench.SIZES) + 2)
    for name in ("serving", "cuts", "batches"):
        first = (MEASURED / f"{name}.csv").read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith("# Measured on 20") and "torch" in first


def test_under_a_real_load_batches_of_who_is_there_keep_up():
    for times in (2, 4):
        assert median("one", times, "p95") > 3 * median("arrival", times, "p95")
        assert median("one", times, "late") > 2 * median("one", times, "early")
        assert all(
            median("one", times, "processor") > 2 * median(way, times, "processor") for way in ("fixed", "arrival", "patient", "alike")
        )
    assert not any(column(table("serving"), "refused", way=way).any() for way in ("one", "fixed", "arrival", "patient", "alike"))


def test_waiting_for_company_costs_with_few_and_pays_with_very_many():
    for way in ("fixed", "patient"):
        assert median(way, 0.5, "p50") > 3 * median("arrival", 0.5, "p50")
    assert median("patient", 2, "p95") > median("arrival", 2, "p95") and median("patient", 4, "p95") < median("arrival", 4, "p95")


def test_a_limit_on_padding_makes_less_of_it_and_nobody_faster():
    assert median("alike", 2, "padding") < 0.6 * median("arrival", 2, "padding")
    assert median("alike", 2, "p95") > 0.9 * median("arrival", 2, "p95") and median("alike", 2, "processor") > 0.9 * median(
        "arrival", 2, "processor"
    )


def test_a_limited_line_answers_soon_and_refuses_most():
    room = "one, room for 8"
    assert median(room, 4, "late") < median("one", 4, "late") / 2 and median(room, 4, "refused") > bench.REQUESTS / 2


def test_a_step_costs_more_than_a_text_and_padding_costs_time(serving):
    assert serving["STEP"] > 2 * serving["TEXT"] > 0
    rows = table("batches")
    assert (column(rows, "seconds", what="mixed") > 1.5 * column(rows, "seconds", what="sorted")).all()


def test_what_is_cut_is_worse_whichever_end_is_kept():
    rows = table("cuts")

    def loss(way, amount):
        return column(rows, "loss", way=way, amount=amount)

    assert loss("end", 16).max() < 0.1 < 1 < loss("end", 8).min() and loss("end", 8).max() < loss("beginning", 8).min()
    assert loss("beginning", 8).min() > np.log(len(model.WORDS))
    known = rows[0]["known"]
    assert known < loss("sentences", 0).min() and loss("sentences", 0).max() < known + 0.1
    assert known + 0.5 < loss("chunks", 8).min() and (loss("chunks", 8) < loss("chunks", 0)).all()
    assert loss("whole", 256).min() > known + 0.5


def test_chunks_have_to_share_what_an_answer_looks_back_on():
    rows = table("cuts")
    for period in bench.PERIODS:
        losses = {overlap: np.median(column(rows, "loss", way=f"copies {period}", amount=overlap)) for overlap in bench.OVERLAPS}
        assert losses[0] > 2 * losses[period] and losses[period] < losses[4] and losses[period] - min(losses.values()) < 0.2


def test_the_row_of_the_kept_model_follows_from_its_weights():
    torch = pytest.importorskip("torch")
    kept = speakers.Speaker(torch.Generator(), bench.KV_HEADS)
    with np.load(MEASURED / "generation.npz") as arrays:
        kept.parameters = {name: torch.tensor(array) for name, array in arrays.items()}
    copier = heads.Model(2, torch.Generator())
    with np.load(MEASURED / "heads.npz") as arrays:
        copier.parameters = {name: torch.tensor(array) for name, array in arrays.items()}
    compare([*few(bench.lost(kept, 0), "end", "sentences"), *bench.copied(copier, 0)], 0.03)


def few(found, *ways):
    """Return the rows of some ways; what makes the others doesn't run unless they come before."""
    return [row for row in found if row.way in ways]


def compare(found, off):
    rows = table("cuts")
    for row in found:
        (loss,) = column(rows, "loss", seed=row.seed, way=row.way, amount=row.amount)
        assert row.loss == pytest.approx(loss, abs=off, rel=off), row


@pytest.mark.nightly
def test_models_are_trained_and_lose_the_same_again():
    compare([*bench.lost(speakers.trained(1, bench.KV_HEADS), 1), *bench.copied(heads.trained(1, 2), 1)], 0.1)


@pytest.mark.nightly
def test_batches_cost_in_another_round_what_they_cost():
    found = list(bench.timed(100))
    by_size = [row.seconds for row in found if row.what == "write"]
    assert by_size == sorted(by_size) and by_size[-1] < 16 * by_size[0]


def test_little_s_law_holds_for_a_day(serving):
    """Whoever is in the service at random moments, against the rate times the time that each stays."""
    arrived, sizes = serving["some_texts"](SEEDS[0], 0.9, 3000)
    done = serving["day"](arrived, sizes, most=1)
    moments = np.random.default_rng(SEEDS[0]).uniform(arrived[100], arrived[-100], 4000)
    inside = np.mean([np.sum((arrived <= moment) & (done > moment)) for moment in moments])
    rate = len(arrived) / (arrived[-1] - arrived[0])
    assert inside == pytest.approx(rate * np.mean(done - arrived), rel=0.15)
