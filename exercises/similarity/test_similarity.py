"""Tests of similarity. A docstring is the question that a learner reads when the test fails.

Where the length of vectors is not the question, queries and keys are one number wide: the square root of 1
is 1, so one mistake in the scale costs one check. Where two widths are not the question, they are the same.
Numbers are logarithms where tanh or softmax is to give a fraction: tanh(ln 2) = 3/5, tanh(ln 3) = 4/5.
"""
import torch

from kit import Wrong, expect, expect_gradients, visible

ONE = torch.ones(1, 1)
QUERY = torch.tensor([[2.0], [1.0]]).log()
KEY = torch.tensor([[1.0], [3.0], [1 / 3]]).log()
# tanh of the sum of each of these queries with each of these keys
TANH = torch.tensor([[3 / 5, 35 / 37, -5 / 13], [0.0, 4 / 5, -4 / 5]])


@visible("dot")
def test_two_queries_score_three_keys(learner):
    """Each pair is multiplied number by number and added up, and each query has a row. Which entries of the two meet, and what is added?"""
    query = torch.tensor([[1.0, 2.0, 0.0, 0.0, 1.0], [0.0, 0.0, 3.0, 1.0, 0.0]])
    key = torch.tensor([[3.0, 0.0, 0.0, 0.0, 0.0], [0.0, -1.0, 2.0, 0.0, 5.0], [4.0, 0.0, 1.0, 7.0, 0.0]])
    expect(learner.dot_product_scores(query, key), torch.tensor([[3.0, 3.0, 4.0], [0.0, 6.0, 10.0]]), "scores")


@visible("dot")
def test_longer_query_scores_higher(learner):
    """Each query is ten times as long as the one before it, and so is each score. Where does your code take the length away?"""
    query, key = torch.tensor([[0.3, 0.4], [3.0, 4.0], [30.0, 40.0]]), torch.tensor([[1.0, 0.0], [2.0, 1.0]])
    expect(learner.dot_product_scores(query, key), torch.tensor([[0.3, 1.0], [3.0, 10.0], [30.0, 100.0]]), "scores")


@visible("dot")
def test_one_query_scores_three_keys(learner):
    """A single query comes in as a table with one row. In what shape should its scores go out?"""
    query, key = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 0.0], [0.0, -1.0], [1.0, 1.0]])
    expect(learner.dot_product_scores(query, key), torch.tensor([[3.0, -2.0, 3.0]]), "scores")


@visible("dot")
def test_dot_products_of_64_bits(learner):
    """A third has no end, and 64 bits hold more of it than 32. Where are digits lost?"""
    thirds = torch.tensor([[1.0], [2.0]], dtype=torch.float64) / 3
    expect(learner.dot_product_scores(thirds, thirds), torch.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=torch.float64) / 9, "scores")


@visible("additive")
def test_tanh_of_a_sum(learner):
    """Here every number of the matrices is 1, so a score is tanh of query plus key: of ln 2 + ln 3 = ln 6 it is 35/37. What is added, and what is tanh taken of?"""
    expect(learner.additive_scores(QUERY, KEY, ONE, ONE, torch.ones(1)), TANH, "scores")


@visible("additive")
def test_every_hidden_number_has_its_weight(learner):
    """Five hidden numbers: one sees the query, one the key, one both, one nothing, one their difference. Is tanh taken of each before w weighs them?"""
    w_query, w_key = torch.tensor([[1.0, 0.0, 1.0, 0.0, -1.0]]), torch.tensor([[0.0, 1.0, 1.0, 0.0, 1.0]])
    expected = torch.tensor([[-9 / 5, 11 / 5 + 105 / 37 + 35 / 13, -1 - 15 / 13 - 245 / 37], [0.0, 48 / 5, -48 / 5]])
    expect(learner.additive_scores(QUERY, KEY, w_query, w_key, torch.tensor([1.0, 2.0, 3.0, 5.0, 7.0])), expected, "scores")


@visible("additive")
def test_scores_of_queries_without_measure(learner, draw):
    """The queries are 1000 and -1000, but tanh stays within 1 and -1. How large can the score become, with these five weights?"""
    w_query, w = torch.tensor([[1.0, -1.0, 1.0, 1.0, -1.0]]), torch.tensor([1.0, -2.0, 3.0, -5.0, 7.0])
    came = learner.additive_scores(torch.tensor([[1000.0], [-1000.0]]), draw(3, 1), w_query, draw(1, 5), w)
    expect(came, torch.tensor([[-6.0] * 3, [6.0] * 3]), "scores")


@visible("additive")
def test_one_query_against_three_keys(learner):
    """A single query comes in as a table with one row. In what shape should its scores go out?"""
    expect(learner.additive_scores(QUERY[:1], KEY, ONE, ONE, torch.ones(1)), TANH[:1], "scores")


@visible("additive")
def test_additive_scores_of_64_bits(learner):
    """The tanh of ln 2 is 3/5, to as many digits as a number has. Where are some of 64 bits lost?"""
    one, query, key = ONE.double(), torch.tensor([[2.0]]).double().log(), torch.tensor([[1.0], [3.0]]).double().log()
    expected = torch.tensor([[3 / 5, 35 / 37]], dtype=torch.float64)
    expect(learner.additive_scores(query, key, one, one, one[0]), expected, "scores")


@visible("widths")
def test_key_wider_than_query(learner, draw):
    """A query has 5 numbers, a key 7. Which of the two matrices has rows for which, and from where on are both equally wide?"""
    # The matrices pick one number of each; the others are there to be left alone.
    query, key = torch.cat([QUERY, draw(2, 4)], dim=1), torch.cat([draw(3, 6), KEY], dim=1)
    came = learner.additive_scores(query, key, torch.eye(5)[:, :1], torch.eye(7)[:, 6:], torch.ones(1))
    expect(came, TANH, "scores")


@visible("batch")
def test_dot_products_of_a_batch(learner):
    """Two axes stand before the last two, and what lies side by side there never meets. Which axes does your code swap, by what number?"""
    queries, keys = torch.arange(1.0, 6.0), torch.arange(1.0, 8.0)
    times = torch.tensor([[1.0, 2.0, 3.0], [5.0, 7.0, 11.0]])[..., None, None]
    expect(learner.dot_product_scores(times * queries[:, None], keys[:, None].expand(2, 3, 7, 1)), times * torch.outer(queries, keys), "scores")


@visible("batch")
def test_additive_scores_of_a_batch(learner):
    """Two axes stand before the last two, and what lies side by side there never meets. Where do the axes for queries and keys belong: counted from the front, or from the end?"""
    # Where the sign is minus, queries and keys are the opposite, and so are the scores.
    sign = torch.outer(torch.tensor([1.0, -1.0, 1.0, 1.0, -1.0]), torch.tensor([1.0, 1.0, -1.0, 1.0, -1.0, -1.0, 1.0]))[..., None, None]
    expect(learner.additive_scores(sign * QUERY, sign * KEY, ONE, ONE, torch.ones(1)), sign * TANH, "scores")


@visible("batch")
def test_vectors_that_were_transposed(learner, draw):
    """Queries and keys are what they were, but they lie in memory in another order. Which of your steps minds, or writes into them?"""
    _expect_same_scores(learner, draw(2, 3, 5, 2), draw(2, 3, 4, 2), draw)


@visible("batch")
def test_as_many_sentences_as_queries(learner):
    """Two sentences have two queries each, so two axes are equally long. Which of them does your code carry along as it is?"""
    query, key = torch.tensor([[[1.0], [2.0]], [[3.0], [4.0]]]), torch.tensor([[[1.0], [10.0], [100.0]]] * 2)
    expected = torch.tensor([[[1.0, 10.0, 100.0], [2.0, 20.0, 200.0]], [[3.0, 30.0, 300.0], [4.0, 40.0, 400.0]]])
    expect(learner.dot_product_scores(query, key), expected, "scores")
    came = learner.additive_scores(torch.stack([QUERY, -QUERY]), torch.stack([KEY, -KEY]), ONE, ONE, torch.ones(1))
    expect(came, torch.stack([TANH, -TANH]), "scores")


@visible("average")
def test_average_by_matches(learner):
    """Matches of 1, 2 and 3 are shares of 1/6, 2/6 and 3/6. By what is each row of matches divided?"""
    matches, value = torch.tensor([[1.0, 2.0, 3.0], [0.0, 5.0, 0.0]]), torch.tensor([[0.0], [6.0], [12.0]])
    expect(learner.weighted_average(matches, value), torch.tensor([[8.0], [6.0]]), "output")


@visible("average")
def test_average_by_weights(learner):
    """These rows add up to 1 already. What should be left of them as they are?"""
    matches, value = torch.tensor([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]]), torch.tensor([[0.0, 8.0, 1.0, 4.0, 0.0], [4.0, 0.0, 1.0, 0.0, 8.0]])
    expected = torch.tensor([[3.0, 2.0, 1.0, 1.0, 6.0], [0.0, 8.0, 1.0, 4.0, 0.0], [2.0, 4.0, 1.0, 2.0, 4.0]])
    expect(learner.weighted_average(matches, value), expected, "output")


@visible("average")
def test_matches_that_are_all_small(learner):
    """Matches of 1, 2 and 3 are shares of a sixth, a third and a half, and so are matches that are far smaller. Is anything added to the sum of a row?"""
    value = torch.tensor([[0.0], [6.0], [12.0]])
    for size in (1e-6, 1e-12, 1e-20):
        expect(learner.weighted_average(size * torch.tensor([[1.0, 2.0, 3.0]]), value), torch.tensor([[8.0]]), f"output for matches of about {size}")


@visible("average")
def test_averages_where_sizes_agree(learner):
    """Two sentences have two queries and two keys each, and values of two numbers. Along which axis do the shares of one query lie?"""
    matches = torch.tensor([[[1.0, 3.0], [1.0, 1.0]], [[0.0, 2.0], [3.0, 1.0]]])
    value = torch.tensor([[[0.0, 8.0], [4.0, 0.0]], [[8.0, 0.0], [0.0, 4.0]]])
    expect(learner.weighted_average(matches, value), torch.tensor([[[3.0, 2.0], [2.0, 4.0]], [[0.0, 4.0], [6.0, 1.0]]]), "output")


@visible("average")
def test_average_of_64_bits(learner):
    """A third has no end, and 64 bits hold more of it than 32. Where are digits lost, or what was handed over changed?"""
    matches, value = torch.tensor([[1.0, 2.0]], dtype=torch.float64), torch.tensor([[1.0], [2.0]], dtype=torch.float64)
    expect(learner.weighted_average.unchanged(matches, value), torch.tensor([[5.0]], dtype=torch.float64) / 3, "output")


@visible("attend")
def test_attention_to_what_is_near(learner):
    """Three keys lie at the distances 0, ln 2 and ln 3 from the first query, which makes weights of 6/11, 3/11 and 2/11. Where do your scores come from, and what becomes of them?"""
    query, key = torch.tensor([[1.0], [7.0]]).log(), torch.tensor([[1.0], [2.0], [3.0]]).log()
    value = torch.tensor([[11.0, 0.0, 0.0, 22.0, 2.0], [0.0, 11.0, 0.0, 0.0, 2.0], [0.0, 0.0, 11.0, 11.0, 2.0]])
    # The second query, ln 7, lies ln(7/1), ln(7/2) and ln(7/3) away: shares of 1, 2 and 3 sixths.
    expected = torch.tensor([[6.0, 3.0, 2.0, 14.0, 2.0], [11 / 6, 22 / 6, 33 / 6, 22 / 6 + 33 / 6, 2.0]])
    expect(learner.attend(query, key, value, learner.Nearness()), expected, "output")


@visible("attend")
def test_scores_are_taken_as_they_are(learner):
    """Whoever brings a score has settled its size. The query and the keys are 4 wide, and the distances 0 and ln 3. Do they reach softmax unchanged?"""
    query, key = torch.zeros(1, 4), torch.tensor([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 3.0, 1.0]]).log()
    value = torch.tensor([[4.0, 0.0, 8.0], [0.0, 4.0, 8.0]])
    expect(learner.attend(query, key, value, learner.Nearness()), torch.tensor([[3.0, 1.0, 8.0]]), "output")


@visible("attend")
def test_attention_of_64_bits(learner):
    """The weights are 6/11, 3/11 and 2/11, to as many digits as a number has. Where are some of 64 bits lost?"""
    query, key, value = (torch.tensor(rows, dtype=torch.float64) for rows in ([[1.0]], [[1.0], [2.0], [3.0]], [[1.0], [0.0], [2.0]]))
    expect(learner.attend(query.log(), key.log(), value, learner.Nearness()), torch.tensor([[10.0]], dtype=torch.float64) / 11, "output")


@visible("attend")
def test_attention_where_sizes_agree(learner):
    """Two sentences, two queries, two keys, and all vectors have two numbers, in another order in memory. Which of your steps minds?"""
    query = torch.tensor([[[1.0, 1.0], [3.0, 1.0]], [[3**0.5, 1.0], [3.0, 1.0]]]).log()
    key, value = torch.tensor([[[1.0, 1.0], [3.0, 1.0]]] * 2).log(), torch.tensor([[[8.0, 0.0], [0.0, 4.0]]] * 2)
    # From the first query the keys lie at 0 and ln 3, in the second sentence equally far away; from the second query at ln 3 and 0.
    expected = torch.tensor([[[6.0, 1.0], [2.0, 3.0]], [[4.0, 2.0], [2.0, 3.0]]])
    expect(learner.attend.strided(query, key, value, learner.Nearness()), expected, "output")


@visible("attend")
def test_a_call_leaves_the_next_alone(learner):
    """The keys at the distances 0 and ln 3 change places from one call to the next. What does your code keep, or write into its inputs?"""
    near, query, value = learner.Nearness(), torch.zeros(1, 1), torch.tensor([[4.0, 0.0], [0.0, 4.0]])
    for key, expected in (([[1.0], [3.0]], [[3.0, 1.0]]), ([[3.0], [1.0]], [[1.0, 3.0]])):
        expect(learner.attend.unchanged(query, torch.tensor(key).log(), value, near), torch.tensor(expected), "output")


@visible("large_scores")
def test_keys_far_away(learner):
    """The scores are -2000 and -1000, whose powers of e are too small for any float, and yet the second key is by far the better. Who takes care of that, if you let it?"""
    query, key, value = torch.zeros(1, 1), torch.tensor([[2000.0], [1000.0]]), torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    expect(learner.attend(query, key, value, learner.Nearness()), value[1:], "output")


@visible("gradient")
def test_gradient_comes_back(learner, draw):
    """What is learnt is learnt by gradients, so each input must get one. Where does your code leave the graph that autograd follows?"""
    _expect_gradients(learner, draw, 3, 5)


@visible("middle")
def test_key_between_two_others(learner):
    """The key 0 must score higher than the keys on both sides, by 0.1. One tanh only rises or only falls: how could two together rise and then fall, and what does the query have to do with it?"""
    _expect_middle(learner, torch.tensor([[-1.0], [0.0], [1.0]]))


@visible("middle")
def test_key_between_two_far_away(learner):
    """The keys beside 0 lie further out now, and 0 must still score highest, by 0.1. What becomes of your scores far from 0?"""
    _expect_middle(learner, torch.tensor([[-10.0], [0.0], [10.0]]))


def _expect_gradients(learner, draw, queries: int, keys: int, true=None) -> None:
    """Return None if all four functions pass gradients back; `true` has the right ones, where there is one."""
    query, key, value = draw(queries, 2), draw(keys, 2), draw(keys, 13)
    # Small, so that no tanh is so flat that a 32-bit gradient of it is 0.
    learnt = draw(2, 11, scale=0.3), draw(2, 11, scale=0.3), draw(11, scale=0.3)
    for name, names, inputs in (
        ("dot_product_scores", ["query", "key"], (query, key)),
        ("additive_scores", ["query", "key", "w_query", "w_key", "w"], (query, key, *learnt)),
        ("weighted_average", ["matches", "value"], (draw(queries, keys).abs() + 0.5, value)),
    ):
        expect_gradients(getattr(learner, name), names, *inputs, draw=draw, true=true and getattr(true, name))
    right = true and (lambda query, key, value, _: torch.softmax(-torch.cdist(query, key), dim=-1) @ value)
    expect_gradients(learner.attend, ["query", "key", "value"], query, key, value, learner.Nearness(), draw=draw, true=right)


def _expect_same_scores(learner, query, key, draw) -> None:
    """Return None if either comparison makes the same of vectors that lie otherwise in memory, and leaves them as they were."""
    weights = draw(2, 3), draw(2, 3), draw(3)
    for score, more in ((learner.dot_product_scores, ()), (learner.additive_scores, weights)):
        expect(score.strided(query, key, *more), score(query, key, *more), "scores")
        expect(score.unchanged(query, key, *more), score(query, key, *more), "scores")


def _expect_middle(learner, key) -> None:
    """Raise `Wrong` unless the query (1) scores the second of three keys highest, by the learner's own matrices."""
    came = learner.prefer_the_middle()
    if not (isinstance(came, tuple) and len(came) == 3):
        raise Wrong.plainly("what is returned", "w_query, w_key and w belong together here, and one tuple of three must come back", came)
    w_query, w_key, w = (part.double() for part in came)
    shapes = tuple(tuple(part.shape) for part in (w_query, w_key, w))
    expect(shapes, ((1, w.numel()), (1, w.numel()), (w.numel(),)), "shapes of w_query, w_key and w")
    left, middle, right = scores = torch.tanh(w_query + key.double() @ w_key) @ w
    if not (middle >= left + 0.1 and middle >= right + 0.1):
        places = ", ".join(f"{place:.4g}" for place in key.flatten().tolist())
        raise Wrong.plainly(f"scores of the keys {places}", "the second should be higher than the others by 0.1 at least", scores)
