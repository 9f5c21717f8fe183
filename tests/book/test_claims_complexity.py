"""What the chapter on complexity claims of its counts, paths and measurements holds where it did not look."""

import itertools

import numpy as np
import pytest
import torch

from bench.clock import LAYERS, LENGTHS, ROUNDS, WIDTH, elsewhere, held, made, text
from tests.book.measured import rows_of

SEEDS = range(100, 105)
seeds = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture(scope="module")
def chapter_08(functions):
    """Return what the chapter on complexity defines."""
    return functions("complexity")


@seeds
@pytest.mark.parametrize(("n", "d", "k"), [(2, 7, 3), (11, 2, 3), (3, 13, 5)])
def test_loops_torch_and_formula_agree(chapter_08, seed, n, d, k):
    tallies = chapter_08["counted"](n, d, k, seed)
    loops = {name: tally.multiply_adds for name, tally in tallies.items()}
    assert loops == chapter_08["work"](n, d, k) == chapter_08["counted_by_torch"](n, d, k)
    assert {name: tally.rounds for name, tally in tallies.items()} == {"attention": 2, "recurrence": n + 1, "convolution": 1}


@pytest.mark.parametrize("d", [3, 64, 512])
def test_attention_and_recurrence_meet_where_n_is_d(chapter_08, d):
    work = chapter_08["work"]
    shorter, equal, longer = (work(n, d) for n in (d - 1, d, d + 1))
    assert shorter["attention"] < shorter["recurrence"]
    assert equal["attention"] == equal["recurrence"]
    assert longer["attention"] > longer["recurrence"]


@seeds
def test_the_loops_multiply_rightly(chapter_08, seed):
    rng = np.random.default_rng(seed)
    left, right = rng.normal(size=(3, 5)), rng.normal(size=(5, 7))
    assert chapter_08["Tally"]().product(left, right) == pytest.approx(left @ right)


@seeds
def test_layers_are_what_torch_computes(chapter_08, seed):

    n, d, k = 7, 5, 3
    text = torch.randn(n, d, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    x = text.numpy()
    attention = torch.nn.functional.scaled_dot_product_attention(text[None], text[None], text[None])[0]
    assert chapter_08["attend"](x, x, x) == pytest.approx(attention.numpy())
    rnn = torch.nn.RNN(d, d, bias=False, dtype=torch.float64)
    matrices = rnn.weight_ih_l0.detach().numpy().T, rnn.weight_hh_l0.detach().numpy().T
    assert chapter_08["recurrence"](x, *matrices) == pytest.approx(rnn(text)[0].detach().numpy())
    conv = torch.nn.Conv1d(d, d, k, padding=2 * (k - 1), dilation=2, bias=False, dtype=torch.float64)
    # The window looks back only: what torch adds at the right end is cut off.
    expected = conv(text.T[None])[0, :, :n].detach().numpy().T
    assert chapter_08["convolution"](x, conv.weight.detach().numpy().transpose(2, 1, 0), gap=2) == pytest.approx(expected)


@seeds
@pytest.mark.parametrize("n", [9, 10, 14, 27])
def test_paths_are_as_long_as_the_table_says(chapter_08, seed, n):
    heard = chapter_08["layers_until_heard"]
    assert heard(itertools.repeat(1), n, seed=seed) == -(-(n - 1) // 2)
    spread = heard((3**layer for layer in itertools.count()), n, seed=seed)
    assert 3 ** (spread - 1) < n <= 3**spread


@seeds
def test_attention_hears_the_first_word_at_once(chapter_08, seed):
    before = np.random.default_rng(seed).normal(size=(27, 4))
    after = before + np.eye(27, 1)
    attend = chapter_08["attend"]
    assert not np.array_equal(attend(before, before, before)[-1], attend(after, after, after)[-1])


@seeds
def test_in_turn_is_the_same_output_for_the_same_work(chapter_08, seed):
    x = np.random.default_rng(seed).normal(size=(7, 3))
    together, in_turn = chapter_08["Tally"](), chapter_08["Tally"]()
    one = chapter_08["attend"](x, x, x, together.product)
    other = chapter_08["attend_in_turn"](x, x, x, in_turn.product)
    assert one == pytest.approx(other)
    assert together.multiply_adds == in_turn.multiply_adds
    assert (together.rounds, in_turn.rounds) == (2, 14)


def test_memory_grows_with_the_square_only_if_the_table_is_kept(chapter_08):
    peak = chapter_08["peak_mebibytes"]
    table, in_turn = ([peak(chapter_08[name], n) for n in (768, 1536)] for name in ("attend", "attend_in_turn"))
    assert table[1] / table[0] == pytest.approx(4, rel=0.1)
    assert in_turn[1] / in_turn[0] == pytest.approx(2, rel=0.2)
    assert table[1] > 20 * in_turn[1]


@pytest.mark.parametrize(("n", "d"), [(7, 5), (31, 16), (48, 3)])
def test_training_keeps_every_state_of_recurrence_and_the_whole_table_of_attention(chapter_08, n, d):
    kept = chapter_08["kept_for_training"]
    assert kept(chapter_08["training_recurrence"], n, d) == (n + 1) * d
    assert kept(chapter_08["training_attention"], n, d) == 3 * n * d + n * n


@pytest.mark.parametrize(("n", "d"), [(7, 5), (31, 16), (48, 3)])
def test_training_in_tiles_keeps_no_table(chapter_08, n, d):
    assert chapter_08["kept_for_training"](chapter_08["training_in_tiles"], n, d) == 4 * n * d + n


@pytest.mark.parametrize("n", [4, 512])
def test_whole_layers_compared_as_torch_counts_them(n):
    from torch.utils.flop_counter import FlopCounterMode

    d, text = 64, torch.zeros(n, 1, 64)
    attention, recurrence = torch.nn.MultiheadAttention(d, 8, bias=False), torch.nn.RNN(d, d, bias=False)
    counts = []
    for layer in (lambda: attention(text, text, text), lambda: recurrence(text)):
        with FlopCounterMode(display=False) as counter:
            layer()
        counts.append(counter.get_total_flops() // 2)
    assert counts == [4 * n * d * d + 2 * n * n * d, 2 * n * d * d]
    assert counts[0] >= 2 * counts[1]


def test_a_whole_layer_of_attention_never_beats_a_plain_recurrence(chapter_08):
    for n in (1, 64, 512, 16384):
        projections, looking, _ = chapter_08["block"](n, 512)
        assert projections + looking > chapter_08["work"](n, 512)["recurrence"]
        assert (projections + looking < 8 * n * 512**2) == (n < 1024)


# What the clock says


@pytest.fixture(scope="module")
def clock() -> dict[tuple[str, int], dict[str, np.ndarray]]:
    """Return the seconds and bytes of each round, by layer and words."""
    found: dict = {}
    for row in rows_of("clock"):
        found.setdefault((row["layer"], int(row["words"])), []).append((float(row["seconds"]), int(row["bytes"])))
    return {key: dict(zip(("seconds", "bytes"), np.array(each).T)) for key, each in found.items()}


def test_the_clock_has_timed_every_layer_in_every_round(clock):
    assert set(clock) == {(layer, words) for layer in LAYERS for words in LENGTHS}
    assert {len(each["seconds"]) for each in clock.values()} == {len(ROUNDS)}


def test_the_clock_sees_the_slopes(clock):
    def growth(name, layer):
        return np.median(clock[layer, LENGTHS[-1]][name]) / np.median(clock[layer, LENGTHS[-2]][name])

    assert growth("seconds", "looking") > 3.5 and 2.7 < growth("seconds", "attention") < 4
    assert all(1.7 < growth("seconds", layer) < 2.3 for layer in ("recurrence", "convolution"))
    assert growth("bytes", "attention") > 3 and 1.5 < growth("bytes", "recurrence") < 2.3


def test_looking_stays_cheaper_than_recurrence_beyond_the_width(clock):
    assert (clock["looking", WIDTH]["seconds"] < 0.8 * clock["recurrence", WIDTH]["seconds"]).all()
    assert (clock["looking", 4 * WIDTH]["seconds"] > 1.3 * clock["recurrence", 4 * WIDTH]["seconds"]).all()


def test_a_whole_layer_takes_less_of_the_clock_than_of_the_count(clock):
    ratio = clock["attention", WIDTH]["seconds"] / clock["recurrence", WIDTH]["seconds"]
    assert np.median(ratio) < 2 < (4 + 2) / 2


def test_what_is_timed_is_what_the_chapter_counts():
    """The layers of the program, on a short text, in multiply-adds as torch counts them."""
    from torch.utils.flop_counter import FlopCounterMode

    n, d, counts = 16, WIDTH, {}
    for name in LAYERS:
        layer, x = made(name, 0), text(n, 0)
        with FlopCounterMode(display=False) as counter:
            assert layer(x).shape == x.shape
        counts[name] = counter.get_total_flops() // 2
    assert counts == {
        "looking": 2 * n * n * d,
        "attention": 4 * n * d * d + 2 * n * n * d,
        "recurrence": 2 * n * d * d,
        "convolution": 3 * n * d * d,
    }


@pytest.mark.nightly
@pytest.mark.parametrize("layer", LAYERS)
def test_the_memory_of_a_layer_comes_out_again(clock, layer):
    torch.set_num_threads(1)
    assert elsewhere(held, layer, 2048, 7) == pytest.approx(np.median(clock[layer, 2048]["bytes"]), rel=0.4)


def test_the_stopwatch_runs(chapter_08):
    # Which is faster is left to the reader's machine: a busy one would make this test a matter of luck.
    assert all(took > 0 for took in chapter_08["race"](16))
