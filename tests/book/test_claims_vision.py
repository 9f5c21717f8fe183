"""What the chapter on vision claims of patches, positions and convolutions, for other seeds and sizes, and that its weights and tables are of one making."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from bench import pictures, vision
from bench.pictures import POOL, Convolution, Patches, digits
from bench.vision import AMOUNTS, KEPT, RUNS, SEEDS, SIDES, larger, learnt, without_places
from tests.book.measured import MEASURED, numbers_of

OTHERS = range(100, 103)
seeds = pytest.mark.parametrize("seed", OTHERS)


@pytest.fixture(scope="module")
def page(functions):
    """Return what the chapter defines."""
    return functions("vision")


@pytest.fixture(scope="module")
def table() -> list[dict]:
    """Return the rows of the committed table of models."""
    return numbers_of("vision", "arm", "table")


@pytest.fixture(scope="module")
def enlarged() -> list[dict]:
    """Return the rows of the committed table of larger images."""
    return numbers_of("enlarged", "arm", "table")


@pytest.fixture(scope="module")
def kept() -> Patches:
    """Return the model whose weights are committed."""
    model = Patches(torch.Generator())
    with np.load(MEASURED / "vision.npz") as arrays:
        assert {name: array.shape for name, array in arrays.items()} == {name: array.shape for name, array in model.arrays().items()}
        model.parameters = {name: torch.tensor(array) for name, array in arrays.items()}
    return model


def right(table, arm, images, shuffled=0) -> np.ndarray:
    """Return the share of right answers of each seed."""
    found = [row["right"] for row in table if (row["arm"], row["images"], row["shuffled"]) == (arm, images, shuffled)]
    assert len(found) == len(SEEDS)
    return np.array(found)


# The digits


def test_the_digits_are_those_of_the_collection():
    """As its own description counts them, and as scikit-learn's shows the first."""
    with np.load(MEASURED / "digits.npz") as arrays:
        images, labels = arrays["images"], arrays["labels"]
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert (images.shape, images.min(), images.max()) == ((1797, 8, 8), 0, 16)
    assert labels[0] == 0 and images[0, 0].tolist() == [0, 0, 5, 13, 9, 1, 0, 0] and images[0, 7].tolist() == [0, 0, 6, 13, 10, 0, 0, 0]


# The cut


@seeds
def test_a_patch_is_a_square_of_the_picture_and_a_strip_is_not(page, seed):
    images = np.random.default_rng(seed).normal(size=(2, 6, 9))
    patches, strips = (page[way](images, 3) for way in ("cut", "cut_as_it_lies"))
    assert patches.shape == strips.shape == (2, 6, 9)
    for patch in range(6):
        row, column = 3 * (patch // 3), 3 * (patch % 3)
        assert np.array_equal(patches[:, patch], images[:, row : row + 3, column : column + 3].reshape(2, -1))
        assert np.array_equal(strips[:, patch], images[:, patch])
    assert np.array_equal(np.sort(patches.ravel()), np.sort(strips.ravel()))


@seeds
def test_the_page_cuts_as_the_program_does(page, seed):
    images, _ = digits(seed)
    assert np.array_equal(page["cut"](images[:5].numpy(), 2), pictures.patches(images[:5], 2).numpy())
    assert np.array_equal(page["cut_as_it_lies"](images[:5].numpy(), 2), pictures.strips(images[:5], 2).numpy())


# The model


def test_the_weights_are_few_and_load_without_pickle(kept):
    assert (MEASURED / "vision.npz").stat().st_size < 100_000
    assert pictures.parameters_of(kept) < 20_000


def test_the_page_reads_as_the_program_does(page, kept):
    """Two programs, in NumPy and in torch, on the same images: those that the model hasn't learnt from."""
    images, labels = digits(KEPT)
    assert page["new"] == pytest.approx(images[POOL:].numpy()) and np.array_equal(page["right"], labels[POOL:].numpy())
    with torch.no_grad():
        logits, maps = kept.read(images[POOL:])
    guesses, weights = page["read"](page["cut"](page["new"], 2))
    assert guesses == pytest.approx(logits.numpy(), abs=1e-3)
    assert np.stack(weights) == pytest.approx(torch.stack(maps).numpy(), abs=1e-4)


def test_the_table_follows_from_the_weights(kept, table):
    assert vision.tested(kept, "patches", False, POOL, KEPT).right == pytest.approx(right(table, "patches", POOL)[KEPT], abs=0.002)


def test_the_tables_are_complete_and_say_where_they_were_measured(table, enlarged):
    assert len(table) == (len(RUNS) + len(AMOUNTS)) * len(SEEDS)
    assert len(enlarged) == len(SEEDS) * len(SIDES) * 4
    for file in ("vision.csv", "enlarged.csv"):
        first = (MEASURED / file).read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith("# Measured on 20") and "torch" in first and "5 seeds" in first


def test_the_models_are_about_as_large(table):
    sizes = {row["arm"]: row["parameters"] for row in table if row["parameters"]}
    assert len(sizes) == 6 and max(sizes.values()) < 1.15 * min(sizes.values())


# Larger pictures


@pytest.mark.parametrize("old, new", [(2, 3), (4, 6), (4, 8), (5, 13), (3, 3)])
def test_interpolation_is_that_of_torch(page, old, new):
    image = np.random.default_rng(new).normal(size=(2, old, old))
    expected = F.interpolate(torch.tensor(image)[:, None], (new, new), mode="bilinear", align_corners=False)[:, 0].numpy()
    assert page["mixing"](old, new).sum(axis=1) == pytest.approx(np.ones(new))
    assert page["enlarge"](image, new) == pytest.approx(expected)
    place = np.random.default_rng(old).normal(size=(old * old, 7))
    assert page["stretch"](place, new) == pytest.approx(pictures.stretched(torch.tensor(place), new).numpy())


@pytest.mark.parametrize("side, at_once", [(12, 0.6), (16, 0.44)])
def test_interpolation_keeps_much_and_a_little_training_most(enlarged, side, at_once):
    shares = {name: at(enlarged, name, side) for name in ("interpolated", "in order", "zeros", "without")}
    whole = at(enlarged, "interpolated", 8)
    assert (shares["interpolated"][0] > at_once).all() and (shares["interpolated"][0] < whole[0] - 0.2).all()
    assert (shares["interpolated"][1] > 0.9).all()
    for name in ("in order", "zeros", "without"):
        assert (shares[name][0] < shares["interpolated"][0] - 0.25).all() and (shares[name][1] < 0.7).all()
    assert np.mean(shares["in order"][0]) < 0.15


def at(enlarged, table, side) -> np.ndarray:
    """Return the shares of right answers at once and after a little training: (when, seed)."""
    found = [(row["right"], row["tuned"]) for row in enlarged if (row["table"], row["side"]) == (table, side)]
    assert len(found) == len(SEEDS)
    return np.array(found).T


def test_without_positions_much_can_still_be_read(enlarged):
    assert (at(enlarged, "without", 8)[0] > 0.6).all() and (at(enlarged, "without", 8)[0] < 0.8).all()


def test_pictures_that_are_shrunk_again_lose_little(page):
    again = page["enlarge"](page["enlarge"](page["new"], 12), 8)
    before, after = ((page["read"](page["cut"](images, 2))[0].argmax(axis=1) == page["right"]).mean() for images in (page["new"], again))
    assert after > before - 0.02


# What the models learn


def test_the_convolution_is_ahead_with_few_images_and_level_with_many(table):
    for images in (50, 150):
        assert (right(table, "convolution", images) > right(table, "patches", images) + 0.03).all()
    assert abs(np.mean(right(table, "convolution", POOL) - right(table, "patches", POOL))) < 0.01


def test_the_most_similar_image_beats_both_on_average(table):
    for images in AMOUNTS:
        best = max(right(table, arm, images).mean() for arm in ("convolution", "patches"))
        assert right(table, "neighbour", images).mean() > best


def test_shuffled_pixels_cost_the_convolution_much_patches_little_and_pixels_nothing(table):
    for images in AMOUNTS:
        assert (right(table, "convolution", images) > right(table, "convolution", images, 1) + 0.02).all()
        assert abs(np.mean(right(table, "patches", images) - right(table, "patches", images, 1))) < 0.04
    for images in (150, POOL):
        assert abs(np.mean(right(table, "pixels", images) - right(table, "pixels", images, 1))) < 0.01
    assert (right(table, "patches", POOL, 1) > right(table, "convolution", POOL, 1) + 0.01).all()
    lost = {arm: np.mean(right(table, arm, POOL) - right(table, arm, POOL, 1)) for arm in ("convolution", "dense end")}
    assert 0.01 < lost["dense end"] < lost["convolution"] - 0.02


def test_a_window_brings_little(table):
    for images in AMOUNTS:
        apart = right(table, "near", images) - right(table, "patches", images)
        assert abs(np.mean(apart)) < 0.03 and (images < 500 or np.abs(apart).max() < 0.03)


def test_the_free_model_looks_no_more_at_neighbours_than_even_weights_would(page):
    for weights in page["maps"]:
        found, even = page["locality"](weights)
        assert (abs(found - even) < 0.1).all()


def test_strips_are_learnt_as_well_but_not_by_who_knows_squares(page, table):
    assert abs(np.mean(right(table, "strips", POOL) - right(table, "patches", POOL))) < 0.01
    strips = page["read"](page["cut_as_it_lies"](page["new"], 2))[0].argmax(axis=1)
    assert (strips == page["right"]).mean() < 0.2


def test_what_the_class_token_looks_at_is_seldom_what_it_needs_most(page):
    looks, harms = page["looks"], page["harms"]
    assert 1 / 16 < np.mean(looks.argmax(axis=1) == harms.argmax(axis=1)) < 0.35
    assert 0.1 < np.mean([np.corrcoef(*pair)[0, 1] for pair in zip(looks, harms)]) < 0.5


def test_the_offset_explains_little_of_the_trained_heads(page):
    found = np.array([[page["explained"](layer[:, head]) for head in range(4)] for layer in page["maps"]])
    assert found[..., 0].max() < 0.2
    assert found[0, :, 1].min() >= 0.45 and found[1, :, 1].max() < 0.5


# Attention and convolution


@seeds
def test_a_head_for_each_offset_makes_a_convolution(page, seed):
    """With several channels, too: the value and output matrices of a head are what the kernel holds at its offset."""
    rng = np.random.default_rng(seed)
    image, kernel = rng.normal(size=(3, 7, 7)), rng.normal(size=(5, 3, 3, 3))
    expected = F.conv2d(torch.tensor(image)[None], torch.tensor(kernel), padding=1)[0].numpy().reshape(5, -1)
    heads = [page["at_offset"](7, *offset) for offset in page["OFFSETS"]]
    x = image.reshape(3, -1).T
    found = sum(weights @ x @ kernel[:, :, down + 1, across + 1].T for weights, (down, across) in zip(heads, page["OFFSETS"]))
    assert found.T == pytest.approx(expected)


@seeds
def test_sharp_heads_are_a_convolution_that_repeats_the_edge(page, seed):
    rng = np.random.default_rng(seed)
    image, kernel = rng.normal(size=(8, 8)), rng.normal(size=(3, 3))
    gaps = []
    for sharpness in (1, 4, 16, 64):
        heads = [page["by_distance"](8, offset, sharpness) for offset in page["OFFSETS"]]
        found = page["by_heads"](image, kernel, heads)
        gaps.append(np.abs(found - page["by_convolution"](image, kernel, mode="replicate")).max())
    assert gaps == sorted(gaps, reverse=True) and gaps[-1] < 1e-12
    zeros = (found - page["by_convolution"](image, kernel)).reshape(8, 8)
    assert np.abs(zeros[1:-1, 1:-1]).max() < 1e-12 < 0.1 < np.abs(zeros).max()


@seeds
def test_one_head_is_a_blur(page, seed):
    """Whatever its offset and sharpness: no output leaves the range of the pixels, and an even picture stays as it is."""
    rng = np.random.default_rng(seed)
    weights = page["by_distance"](8, rng.normal(size=2), rng.uniform(0, 3))
    image = rng.normal(size=64)
    assert weights @ np.ones(64) == pytest.approx(np.ones(64))
    assert image.min() <= (weights @ image).min() and (weights @ image).max() <= image.max()


@seeds
def test_the_offset_explains_no_more_than_both_places_do(page, seed):
    rng = np.random.default_rng(seed)
    free = rng.random((7, 17, 17))
    by_offset, by_places = page["explained"](free)
    assert 0 < by_offset < by_places < 1
    fixed = np.pad(rng.random(49)[page["offset"]], [(1, 0), (1, 0)])
    assert page["explained"](np.stack([fixed] * 3)) == pytest.approx((1, 1))


# Shuffled pixels


def moved(seed: int, model: Patches) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return images as they are and shuffled, with their labels; the rows of the model's table change places with the pixels."""
    places = torch.randperm(64, generator=torch.Generator().manual_seed(seed))
    images, labels = digits(seed)
    if model.size == 1:
        model.parameters["place"] = model.parameters["place"].detach()[places].requires_grad_()
    return images, images.flatten(1)[:, places].reshape(-1, 8, 8), labels


@seeds
def test_attention_over_single_pixels_learns_the_same_from_shuffled_ones(seed):
    """Where its table of positions starts shuffled, too, each step is the same but for rounding; a start at random is as likely either way."""
    one, other = (Patches(torch.Generator().manual_seed(seed), size=1) for _ in range(2))
    images, shuffled, labels = (each.double() if each.is_floating_point() else each for each in moved(seed, other))
    for model, seen in ((one, images), (other, shuffled)):
        # Adam divides by the size of a gradient, so that a rounding error of 32 bits may become a whole step.
        model.parameters = {name: value.detach().double().requires_grad_() for name, value in model.parameters.items()}
        pictures.train(model, seen[:100], labels[:100], torch.Generator().manual_seed(seed), steps=4)
    ours, theirs = (model.logits(seen[POOL : POOL + 50]).detach().numpy() for model, seen in ((one, images), (other, shuffled)))
    assert ours == pytest.approx(theirs, abs=1e-6)


@seeds
def test_no_order_of_the_positions_makes_up_for_shuffled_patches_or_kernels(seed):
    for model in (Patches(torch.Generator().manual_seed(seed)), Convolution(torch.Generator().manual_seed(seed))):
        images, shuffled, _ = moved(seed, model) if isinstance(model, Patches) else moved(seed, Patches(torch.Generator()))
        assert (model.logits(images[:50]) - model.logits(shuffled[:50])).abs().mean() > 0.05


# What takes longer


@pytest.mark.nightly
def test_the_weights_and_larger_images_come_out_again(table, enlarged):
    """Nearly so: another processor rounds sums otherwise."""
    again = learnt("patches", False, POOL, KEPT)
    assert vision.tested(again, "patches", False, POOL, KEPT).right == pytest.approx(right(table, "patches", POOL)[KEPT], abs=0.02)
    for row in larger(again, without_places(KEPT), KEPT):
        assert row.right == pytest.approx(at(enlarged, row.table, row.side)[0][KEPT], abs=0.1)


@pytest.mark.nightly
@seeds
def test_other_starts_learn_alike(seed):
    few, shuffled, local, free = (
        vision.tested(learnt(*run, seed), *run, seed).right
        for run in (("convolution", False, 150), ("convolution", True, 150), ("near", False, 150), ("patches", False, 150))
    )
    assert few > free + 0.02 and few > shuffled + 0.02 and abs(local - free) < 0.08
