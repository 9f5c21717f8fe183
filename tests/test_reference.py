"""The reference answers are right: against torch's own operators, in values and gradients."""

import math

import pytest
import torch
from beartype import beartype
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import jaxtyped
from torch.nn import functional as F

from autograder.exercise import reading as exercises
from autograder.kit import expect
from autograder.kit.cells import ANSWER, Cell, run_here

SIZES = st.integers(1, 6)
DTYPES = st.sampled_from([torch.float64, torch.float32])


def names_of(exercise: str) -> dict:
    """Return the reference's names, with the shapes in their signatures enforced."""
    loaded = exercises.load(exercise)
    names, missing = run_here(loaded.code, loaded.promised, [])
    assert not missing
    promised = set().union(*loaded.promised.values())
    for name in promised:
        thing = names[name]
        if isinstance(thing, type):
            thing.forward = jaxtyped(typechecker=beartype)(thing.forward)
        elif callable(thing):
            names[name] = jaxtyped(typechecker=beartype)(thing)
    return names


SINGLE, CROSS, MULTI = names_of("single_head"), names_of("cross_attention"), names_of("multi_head")
SIMILARITY, FORWARD = names_of("similarity"), names_of("feed_forward")
PLACES, ENCODER = names_of("positional_encoding"), names_of("encoder_layer")
ROTARY, GROUPED, CACHE = names_of("rotary"), names_of("grouped_query"), names_of("kv_cache")
HUNT, PATCHES, INT8 = names_of("bug_hunt"), names_of("patches"), names_of("int8")
LONG = names_of("long_sequences")
PLACES, ENCODER, CAPSTONE = names_of("positional_encoding"), names_of("encoder_layer"), names_of("capstone")


@st.composite
def attention_inputs(draw):
    """Draw query, key, value with any leading axes, and a mask or None; some rows may be blind."""
    batch = tuple(draw(st.lists(SIZES, max_size=2)))
    queries, keys, d_k, d_v = (draw(SIZES) for _ in range(4))
    dtype = draw(DTYPES)
    source = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    normal = lambda *shape: torch.randn(*shape, dtype=dtype, generator=source) * draw(st.sampled_from([0.1, 1.0, 30.0]))  # noqa: E731
    mask = torch.rand(*batch, queries, keys, generator=source) < 0.6 if draw(st.booleans()) else None
    return normal(*batch, queries, d_k), normal(*batch, keys, d_k), normal(*batch, keys, d_v), mask


def torch_attention(query, key, value, mask):
    """Return torch's own output, with zeros where a query may look at nothing."""
    output = F.scaled_dot_product_attention(query, key, value, mask)
    return output if mask is None else torch.where(mask.any(-1, keepdim=True), output, 0.0)


@settings(max_examples=150, deadline=None)
@given(st.lists(SIZES, min_size=1, max_size=3), DTYPES, st.integers(0, 2**32), st.sampled_from([1.0, 1000.0]))
def test_softmax_agrees_with_torch(shape, dtype, seed, scale):
    scores = torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed)) * scale
    expect(SINGLE["softmax"](scores), torch.softmax(scores, -1))


@settings(max_examples=200, deadline=None)
@given(attention_inputs())
def test_attention_agrees_with_torch(inputs):
    query, key, value, mask = inputs
    output, weights = SINGLE["scaled_dot_product_attention"](query, key, value, mask)
    # A score is rounded by its share, and what it weighs with it.
    expect(output, torch_attention(query, key, value, mask), size=float((query @ key.mT).abs().max() * value.abs().max()))
    seen = torch.ones(weights.shape[:-1], dtype=torch.bool) if mask is None else mask.any(-1)
    expect(weights.sum(-1), seen.to(query.dtype), "sums of the weights")


@settings(max_examples=100, deadline=None)
@given(attention_inputs())
def test_gradients_agree_with_torch(inputs):
    *tensors, mask = inputs
    if mask is not None:
        mask[..., 0] = True  # torch's own gradient is not a number where a query sees nothing
    # In 64 bits: where values are large and scores nearly equal, 32 leave nothing of the gradient but rounding.
    mine, theirs = ([t.double().clone().requires_grad_() for t in tensors] for _ in range(2))
    output = SINGLE["scaled_dot_product_attention"](*mine, mask)[0]
    expected = F.scaled_dot_product_attention(*theirs, mask)
    for one, other in zip(torch.autograd.grad(output.square().sum(), mine), torch.autograd.grad(expected.square().sum(), theirs)):
        scale = max(1.0, other.abs().max().item())
        expect(one / scale, other / scale, "gradient")


def test_gradient_of_a_blind_row_is_zero():
    query, key, value = (torch.randn(3, 2, requires_grad=True) for _ in range(3))
    mask = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
    SINGLE["scaled_dot_product_attention"](query, key, value, mask)[0].sum().backward()
    assert query.grad[1].tolist() == [0.0, 0.0] and query.grad.isfinite().all() and key.grad.isfinite().all()


@given(st.integers(1, 9))
def test_causal_mask_agrees_with_torch(length):
    scores = torch.zeros(length, length).masked_fill(~SINGLE["causal_mask"](length), -math.inf)
    expect(scores, torch.nn.Transformer.generate_square_subsequent_mask(length))


@given(st.lists(st.integers(0, 7), min_size=1, max_size=4))
def test_padding_mask_counts(lengths):
    mask = SINGLE["padding_mask"](torch.tensor(lengths), 7)
    assert mask.shape == (len(lengths), 1, 7) and mask.sum(-1).squeeze(1).tolist() == lengths


@settings(max_examples=50, deadline=None)
@given(*[SIZES] * 5, st.integers(0, 2**32))
def test_cross_attention_agrees_with_torch(queries, keys, d_query, d_context, d_k, seed):
    torch.manual_seed(seed)
    weights = torch.randn(d_query, d_k), torch.randn(d_context, d_k), torch.randn(d_context, 3)
    attention = CROSS["CrossAttention"](d_query, d_context, d_k, 3)
    CROSS["set_weights"](attention, *weights)
    x, context, mask = torch.randn(2, queries, d_query), torch.randn(2, keys, d_context), torch.rand(2, queries, keys) < 0.6
    expected = torch_attention(x @ weights[0], context @ weights[1], context @ weights[2], mask)
    expect(attention(x, context, mask), expected)


@settings(max_examples=50, deadline=None)
@given(SIZES, SIZES, SIZES, st.integers(0, 2**32))
def test_looking_both_ways_agrees_with_torch(words, patches, width, seed):
    torch.manual_seed(seed)
    text, image = torch.randn(2, words, width), torch.randn(2, patches, width)
    text_seen, image_seen = CROSS["look_both_ways"](text, image)
    expect(text_seen, F.scaled_dot_product_attention(text, image, image))
    expect(image_seen, F.scaled_dot_product_attention(image, text, text))


@settings(max_examples=50, deadline=None)
@given(SIZES, st.integers(1, 3), st.integers(1, 4), SIZES, st.booleans(), st.integers(0, 2**32))
def test_multi_head_agrees_with_torch(tokens, heads, d_head, batch, masked, seed):
    torch.manual_seed(seed)
    width = heads * d_head
    theirs = torch.nn.MultiheadAttention(width, heads, bias=False, batch_first=True, dtype=torch.float64)
    w_query, w_key, w_value = (w.T for w in theirs.in_proj_weight.chunk(3))
    mine = MULTI["MultiHeadAttention"](width, heads).double()
    MULTI["set_weights"](mine, w_query, w_key, w_value, theirs.out_proj.weight.T)
    x = torch.randn(batch, tokens, width, dtype=torch.float64, requires_grad=True)
    mask = torch.ones(tokens, tokens).tril().bool() if masked else None
    expected, _ = theirs(x, x, x, attn_mask=None if mask is None else ~mask)  # its mask is True where nothing may be seen
    expect(mine(x, mask=mask), expected)
    weights = w_query, w_key, w_value, theirs.out_proj.weight.T
    came = MULTI["multi_head_attention"](x, x, x, *weights, heads, mask)
    expect(came, expected)
    for one, other in zip(*(torch.autograd.grad(y.square().sum(), [x, *theirs.parameters()]) for y in (came, expected))):
        expect(one, other, "gradient")


def test_one_head_and_identity_is_single_head_attention():
    x, identity = torch.randn(2, 5, 4, dtype=torch.float64), torch.eye(4, dtype=torch.float64)
    one = MULTI["multi_head_attention"](x, x, x, identity, identity, identity, identity, 1)
    expect(one, SINGLE["scaled_dot_product_attention"](x, x, x)[0])


@settings(max_examples=80, deadline=None)
@given(attention_inputs())
def test_general_form_with_dot_products_is_attention(inputs):
    query, key, value = (tensor.double() for tensor in inputs[:3])
    scale = query.shape[-1] ** -0.25  # half of the division in the query, half in the key
    came = SIMILARITY["attend"](query * scale, key * scale, value, SIMILARITY["dot_product_scores"])
    expect(came, F.scaled_dot_product_attention(query, key, value))


@settings(max_examples=50, deadline=None)
@given(*[SIZES] * 4, st.integers(0, 2**32))
def test_feed_forward_agrees_with_torch(batch, tokens, d_model, d_ff, seed):
    torch.manual_seed(seed)
    theirs = torch.nn.TransformerEncoderLayer(d_model, 1, d_ff, dropout=0.0, batch_first=True, dtype=torch.float64)
    weights = theirs.linear1.weight.T, theirs.linear1.bias, theirs.linear2.weight.T, theirs.linear2.bias
    mine = FORWARD["FeedForward"](d_model, d_ff).double()
    FORWARD["set_weights"](mine, *weights)
    x = torch.randn(batch, tokens, d_model, dtype=torch.float64)
    expected = theirs.linear2(torch.relu(theirs.linear1(x)))
    expect(mine(x), expected)
    expect(FORWARD["hidden_weights"](x, *weights[:2]) @ weights[2] + weights[3], expected)
    w, b = FORWARD["fold"](*weights)
    expect(x @ w + b, theirs.linear2(theirs.linear1(x)))
    assert FORWARD["parameter_count"](d_model, d_ff) == sum(p.numel() for p in mine.parameters())


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 500), st.integers(-100, 100), st.integers(1, 40))
def test_offset_is_one_rotation_from_everywhere(position, offset, pairs):
    there = max(position, position + offset, 0)
    table = PLACES["sinusoidal_encoding"](there + 1, 2 * pairs).double()
    if position + offset >= 0:
        rotation = PLACES["offset_rotation"](offset, 2 * pairs).double()
        # Rounded once to 32 bits each; what is left is that rounding.
        assert (table[position] @ rotation - table[position + offset]).abs().max() < 1e-6


@settings(max_examples=50, deadline=None)
@given(SIZES, st.integers(1, 3), st.integers(1, 4), SIZES, SIZES, st.booleans(), st.booleans(), st.integers(0, 2**32))
def test_encoder_layer_agrees_with_torch(tokens, heads, d_head, d_ff, batch, norm_first, masked, seed):
    torch.manual_seed(seed)
    width = heads * d_head
    theirs = torch.nn.TransformerEncoderLayer(width, heads, d_ff, dropout=0.0, batch_first=True, norm_first=norm_first, dtype=torch.float64)
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter)
    attention = theirs.self_attn
    torch.nn.init.zeros_(attention.in_proj_bias), torch.nn.init.zeros_(attention.out_proj.bias)
    mine = ENCODER["EncoderLayer"](width, heads, d_ff, norm_first=norm_first).double()
    weights = {
        **dict(zip(("w_query", "w_key", "w_value"), (w.T for w in attention.in_proj_weight.chunk(3)))),
        "w_output": attention.out_proj.weight.T,
        "w1": theirs.linear1.weight.T,
        "b1": theirs.linear1.bias,
        "w2": theirs.linear2.weight.T,
        "b2": theirs.linear2.bias,
        "gain1": theirs.norm1.weight,
        "bias1": theirs.norm1.bias,
        "gain2": theirs.norm2.weight,
        "bias2": theirs.norm2.bias,
    }
    ENCODER["set_weights"](mine, **weights)
    x = torch.randn(batch, tokens, width, dtype=torch.float64)
    mask = torch.ones(tokens, tokens).tril().bool() if masked else None
    expect(mine(x, mask), theirs(x, src_mask=None if mask is None else ~mask))


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 500), st.integers(1, 6), SIZES, st.sampled_from([10_000.0, 500_000.0, 3.0]), st.integers(0, 2**32))
def test_rotary_turns_and_keeps_lengths(start, pairs, tokens, theta, seed):
    x = torch.randn(2, tokens, 2 * pairs, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    turned = ROTARY["rotate"](x, start, theta)
    speeds = theta ** (-torch.arange(pairs, dtype=torch.float64) / pairs)
    expected = torch.view_as_complex(x.unflatten(-1, (-1, 2))) * torch.exp(1j * torch.arange(start, start + tokens)[:, None] * speeds)
    expect(turned, torch.view_as_real(expected).flatten(-2))
    expect(turned.norm(dim=-1), x.norm(dim=-1), "lengths")


@settings(max_examples=80, deadline=None)
@given(*[st.integers(0, 300)] * 3, SIZES, SIZES, st.integers(1, 5), st.integers(0, 2**32))
def test_rotary_attention_knows_distances_and_nothing_else(query_start, key_start, by, queries, keys, pairs, seed):
    source = torch.Generator().manual_seed(seed)
    query, key, value = (torch.randn(2, n, 2 * pairs, dtype=torch.float64, generator=source) for n in (queries, keys, keys))
    expected = ROTARY["rotary_attention"](query, key, value, query_start, key_start)
    expect(ROTARY["rotary_attention"](query, key, value, query_start + by, key_start + by), expected)
    # The same scores from halves: the columns move, and so does their partner.
    halves = [
        ROTARY["neighbours_to_halves"](ROTARY["rotate"](x, start).flatten(0, 1)).unflatten(0, (2, -1))
        for x, start in ((query, query_start), (key, key_start))
    ]
    expect(F.scaled_dot_product_attention(*halves, value), expected)


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 3), st.integers(1, 4), *[SIZES] * 4, st.booleans(), st.integers(0, 2**32))
def test_grouped_attention_agrees_with_torch(num_kv_heads, group, batch, queries, keys, d_head, masked, seed):
    source = torch.Generator().manual_seed(seed)
    sizes = ((num_kv_heads * group, queries), (num_kv_heads, keys), (num_kv_heads, keys))
    query, key, value = (torch.randn(batch, *size, d_head, dtype=torch.float64, generator=source) for size in sizes)
    mask = torch.rand(batch, queries, keys, generator=source) < 0.6 if masked else None
    if masked:
        mask[..., 0] = True
    expected = F.scaled_dot_product_attention(query, key, value, mask if mask is None else mask[:, None], enable_gqa=True)
    expect(GROUPED["grouped_attention"](query, key, value, mask), expected)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 4), SIZES, st.integers(0, 2**32))
def test_equal_heads_may_as_well_be_shared(num_kv_heads, group, d_head, tokens, seed):
    """Multi-head attention whose heads are equal within each group is grouped attention with their mean."""
    torch.manual_seed(seed)
    num_heads = num_kv_heads * group
    d_model = num_heads * d_head
    shared = [torch.randn(d_model, num_kv_heads, d_head, dtype=torch.float64) for _ in range(2)]
    w_key, w_value = (w.repeat_interleave(group, dim=1).flatten(1) for w in shared)
    w_query, w_output = torch.randn(2, d_model, d_model, dtype=torch.float64)
    pooled = [GROUPED["pool_heads"](w, num_heads, num_kv_heads) for w in (w_key, w_value)]
    mine = GROUPED["GroupedQueryAttention"](d_model, num_heads, num_kv_heads).double()
    GROUPED["set_weights"](mine, w_query, *pooled, w_output)
    x, mask = torch.randn(2, tokens, d_model, dtype=torch.float64), torch.ones(tokens, tokens).tril().bool()
    expect(mine(x, mask), MULTI["multi_head_attention"](x, x, x, w_query, w_key, w_value, w_output, num_heads, mask))


@settings(max_examples=80, deadline=None)
@given(st.lists(SIZES, min_size=1, max_size=4), SIZES, SIZES, st.integers(1, 3), st.integers(0, 2**32))
def test_a_text_in_pieces_is_the_whole_text(cuts, d_model, d_k, batch, seed):
    torch.manual_seed(seed)
    attention = CACHE["CachedAttention"](d_model, d_k).double()
    for _ in range(2):
        x = torch.randn(batch, sum(cuts), d_model, dtype=torch.float64)
        query, key, value = attention.to_query(x), attention.to_key(x), attention.to_value(x)
        expected = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        expect(torch.cat([attention(piece) for piece in x.split(cuts, dim=1)], dim=1), expected)
        CACHE["forget"](attention)
        expect(attention(x), expected)
        CACHE["forget"](attention)


@settings(max_examples=80, deadline=None)
@given(*[SIZES] * 5, st.integers(0, 2**32))
def test_patches_are_those_of_unfold_and_paste_undoes_cut(batch, channels, size, rows, columns, seed):
    images = torch.randn(batch, channels, rows * size, columns * size, generator=torch.Generator().manual_seed(seed))
    patches = PATCHES["cut"](images, size)
    expect(patches, F.unfold(images, size, stride=size).mT)
    expect(PATCHES["paste"](patches, size, (rows, columns)), images)
    other = (columns, rows)  # as many patches, laid out in another way
    expect(PATCHES["cut"](PATCHES["paste"](patches, size, other), size), patches)


def shares(old: int, new: int) -> torch.Tensor:
    """Return how much each new place takes from each old one, by the chapter's own words: the centres, and nothing beyond the outermost."""
    centres = ((torch.arange(new).double() + 0.5) * old / new - 0.5).clamp(0, old - 1)
    return (1 - (centres[:, None] - torch.arange(old)).abs()).clamp(min=0)


@settings(max_examples=80, deadline=None)
@given(*[SIZES] * 5, DTYPES, st.integers(0, 2**32))
def test_positions_are_stretched_along_each_axis_by_its_shares(rows, columns, new_rows, new_columns, d_model, dtype, seed):
    positions = torch.randn(1 + rows * columns, d_model, dtype=dtype, generator=torch.Generator().manual_seed(seed))
    matrix = torch.kron(shares(rows, new_rows), shares(columns, new_columns))
    came = PATCHES["stretch"](positions, (rows, columns), (new_rows, new_columns))
    expect(came, torch.cat([positions[:1], (matrix @ positions[1:].double()).to(dtype)]))
    assert torch.equal(PATCHES["stretch"](positions, (rows, columns), (rows, columns)), positions)


@settings(max_examples=60, deadline=None)
@given(*[SIZES] * 5, SIZES, SIZES, st.integers(0, 2**32))
def test_patch_embedding_is_a_convolution_with_a_row_in_front(batch, channels, size, rows, columns, new_rows, new_columns, seed):
    torch.manual_seed(seed)
    theirs = torch.nn.Conv2d(channels, 3, size, stride=size, dtype=torch.float64)
    mine = PATCHES["PatchEmbedding"](channels, size, 3, (rows, columns)).double()
    class_token, positions = torch.randn(3).double(), torch.randn(1 + rows * columns, 3).double()
    PATCHES["set_weights"](mine, theirs.weight.flatten(1).T, theirs.bias, class_token, positions)
    for grid in ((rows, columns), (new_rows, new_columns), (rows, columns)):
        images = torch.randn(batch, channels, grid[0] * size, grid[1] * size, dtype=torch.float64)
        tokens = torch.cat([class_token.expand(batch, 1, -1), theirs(images).flatten(2).mT], dim=1)
        expect(mine(images), tokens + PATCHES["stretch"](positions, (rows, columns), grid))


@settings(max_examples=80, deadline=None)
@given(SIZES, SIZES, st.sampled_from([0.25, 0.5, 1.0]), st.integers(0, 2**32))
def test_integers_are_those_of_torchs_own_rounding(rows, columns, share, seed):
    """With a share of the scale too: then numbers are clipped. None lies near the middle of two integers, where torch, which multiplies by 1 / scale, may decide otherwise."""
    generator = torch.Generator().manual_seed(seed)
    tenths = torch.randint(1, 5, (rows, columns), generator=generator) * (1 - 2 * torch.randint(2, (rows, columns), generator=generator))
    steps = torch.randint(-120, 121, (rows, columns), generator=generator) + tenths / 10
    steps[:, 0] = 127
    x = steps * torch.rand(rows, 1, generator=generator)
    one, many = INT8["scale_of"](x) * share, INT8["row_scales"](x) * share
    zeros = torch.zeros(rows, dtype=torch.int32)
    theirs = torch.fake_quantize_per_channel_affine(x, many.flatten(), zeros, 0, -127, 127)
    expect(INT8["dequantize"](INT8["quantize"](x, many), many), theirs)
    for scale in (one, many):
        moved = (INT8["dequantize"](INT8["quantize"](x, scale), scale) - x).abs()
        bound = INT8["error_bound"](x, scale)
        assert (moved <= bound * (1 + 1e-4)).all()
        beyond = x.abs() > 127.5 * scale
        expect(moved[beyond], bound[beyond])


@settings(max_examples=80, deadline=None)
@given(*[SIZES] * 4, DTYPES, st.booleans(), st.integers(0, 2**32))
def test_int8_linear_is_a_linear_layer_of_what_was_rounded(batch, tokens, d_in, d_out, dtype, has_bias, seed):
    torch.manual_seed(seed)
    x, weight, bias = torch.randn(batch, tokens, d_in).to(dtype), torch.randn(d_out, d_in).to(dtype), torch.randn(d_out).to(dtype)
    rounded = [INT8["dequantize"](INT8["quantize"](each, INT8["row_scales"](each)), INT8["row_scales"](each)) for each in (x, weight)]
    module = INT8["Int8Linear"](weight, bias if has_bias else None)
    expect(module(x), F.linear(*rounded, bias if has_bias else None))
    # Half a step of each factor, and the product of both: no output is farther from the layer that was not rounded.
    steps = [INT8["row_scales"](each) / 2 for each in (x, weight)]
    most = steps[0] * weight.abs().sum(-1) + steps[1].T * x.abs().sum(-1, keepdim=True) + d_in * steps[0] * steps[1].T
    assert ((F.linear(*rounded) - F.linear(x, weight)).abs() <= most * (1 + 1e-5) + 1e-6).all()


@settings(max_examples=80, deadline=None)
@given(*[SIZES] * 5, st.integers(0, 2**32))
def test_repaired_bugs_agree_with_torch(batch, heads, tokens, keys, d_head, seed):
    torch.manual_seed(seed)
    query, key = torch.randn(batch, heads, tokens, d_head).double(), torch.randn(batch, heads, keys, d_head).double()
    side_by_side = [HUNT["merge_heads"](x) for x in (query, key)]
    expect(side_by_side[0], torch.cat(query.unbind(1), -1))
    identity = torch.eye(keys).double().expand(batch, heads, -1, -1)
    expect(HUNT["attention_weights"](*side_by_side, heads), F.scaled_dot_product_attention(query, key, identity))
    query, key, value = query[0, 0], key[0, 0], torch.randn(keys, 3).double()
    mask = torch.rand(tokens, keys) < 0.5
    scores = HUNT["scaled_scores"](query, key)
    expect(HUNT["masked_softmax"](scores, mask) @ value, torch_attention(query, key, value, mask))
    mask[:, 0] = True
    expect(HUNT["attend"](query, key, value, mask), F.scaled_dot_product_attention(query, key, value, mask))
    look = torch.rand(keys, keys) < 0.5
    look |= torch.eye(keys).bool()
    for masks in ((), (look,)):
        expect(HUNT["attention_layer"](key, *masks), key + F.scaled_dot_product_attention(key, key, key, *masks))
    theirs = torch.nn.TransformerEncoderLayer(d_head, 1, 5, dropout=0.0, dtype=torch.float64)
    weights = theirs.linear1.weight.T, theirs.linear1.bias, theirs.linear2.weight.T, theirs.linear2.bias
    for smooth, activation in ((False, torch.nn.ReLU()), (True, torch.nn.GELU())):
        expect(HUNT["feed_forward"](key, *weights, smooth), theirs.linear2(activation(theirs.linear1(key))))


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 200), st.floats(1.0, 60.0), st.integers(0, 2**32))
def test_scores_in_16_bits_are_right_wherever_they_fit(queries, keys, d_k, size, seed):
    torch.manual_seed(seed)
    query, key = (torch.rand(n, d_k).mul(size).half() for n in (queries, keys))
    exact = query.double() @ key.double().T / d_k**0.5
    assert exact.max() < 65_504  # 60 times 60, 200 times, over the root of 200
    expect(HUNT["scaled_scores"](query, key), exact.half())


@pytest.mark.parametrize("bug", exercises.load("bug_hunt").handed_out.values())
def test_every_bug_is_found_by_the_test_that_stands_below_it(bug):
    hunt = exercises.load("bug_hunt")
    mistake = next(m for m in hunt.mistakes if m.name == bug)
    (cell,) = [c for c in hunt.answers if hunt.handed_out[c.id] == bug]
    (name,) = mistake.definitions
    test, right = HUNT[f"test_{cell.id.removeprefix('answer-')}"], HUNT[name]
    wrong, _ = run_here([Cell("bug", ANSWER, hunt.as_handed_out(c).source) if c is cell else c for c in hunt.code], {}, [])
    test(right)
    with pytest.raises((AssertionError, TypeError, RuntimeError, UnboundLocalError)):
        test(wrong[name])


@settings(max_examples=150, deadline=None)
@given(attention_inputs(), st.integers(1, 9))
def test_chunked_attention_of_long_sequences_agrees_with_torch(inputs, chunk):
    *tensors, mask = inputs
    query, key, value = (t.double() for t in tensors)  # scores of thousands, rounded in another order, are other weights in 32 bits
    expect(LONG["chunked_attention"](query, key, value, chunk, mask), torch_attention(query, key, value, mask))


@settings(max_examples=80, deadline=None)
@given(attention_inputs(), st.integers(1, 9))
def test_gradients_of_long_sequences_agree_with_torch(inputs, chunk):
    *tensors, mask = inputs
    if mask is not None:
        mask[..., 0] = True  # torch's own gradient is not a number where a query sees nothing
    mine, theirs = ([t.double().clone().requires_grad_() for t in tensors] for _ in range(2))
    output, expected = LONG["chunked_attention"](*mine, chunk, mask), F.scaled_dot_product_attention(*theirs, mask)
    for one, other in zip(torch.autograd.grad(output.square().sum(), mine), torch.autograd.grad(expected.square().sum(), theirs)):
        scale = max(1.0, other.abs().max().item())
        expect(one / scale, other / scale, "gradient")


@settings(max_examples=80, deadline=None)
@given(SIZES, st.integers(1, 150), SIZES, SIZES, st.integers(0, 160), st.booleans(), st.integers(0, 2**32))
def test_local_attention_of_long_sequences_is_attention_with_a_band(batch, words, d_k, d_v, window, causal, seed):
    torch.manual_seed(seed)
    query, key, value = (torch.randn(batch, words, width, dtype=torch.float64) for width in (d_k, d_k, d_v))
    band = torch.ones(words, words, dtype=torch.bool).triu(-window).tril(0 if causal else window)
    expect(LONG["local_attention"](query, key, value, window, causal), F.scaled_dot_product_attention(query, key, value, band))


@settings(max_examples=80, deadline=None)
@given(SIZES, st.integers(1, 30), SIZES, SIZES, st.booleans(), st.integers(0, 2**32))
def test_linear_attention_of_long_sequences_is_its_definition(batch, words, d_k, d_v, causal, seed):
    """As softmax attention is: with the logarithm of the similarities for scores."""
    torch.manual_seed(seed)
    query, key, value = (torch.randn(batch, words, width, dtype=torch.float64) for width in (d_k, d_k, d_v))
    similarities = torch.einsum("bqd,bkd->bqk", F.elu(query) + 1, F.elu(key) + 1)
    scores = similarities.log().masked_fill(torch.ones(words, words).triu(1).bool() if causal else torch.zeros(()).bool(), -math.inf)
    expect(LONG["linear_attention"](query, key, value, causal), scores.softmax(-1) @ value)


@settings(max_examples=40, deadline=None)
@given(SIZES, st.integers(1, 3), st.integers(1, 4), SIZES, SIZES, st.integers(1, 3), st.integers(0, 2**32))
def test_transformer_agrees_with_torch(tokens, heads, d_head, d_ff, batch, num_layers, seed):
    torch.manual_seed(seed)
    width = heads * d_head
    mine = CAPSTONE["Transformer"](11, tokens + 2, width, heads, d_ff, num_layers).double()
    layer = torch.nn.TransformerEncoderLayer(width, heads, d_ff, dropout=0.0, batch_first=True, norm_first=True, dtype=torch.float64)
    theirs = torch.nn.TransformerEncoder(layer, num_layers, enable_nested_tensor=False)
    for parameter in mine.parameters():
        torch.nn.init.normal_(parameter)
    with torch.no_grad():
        for one, other in zip(mine.layers, theirs.layers):
            attention = other.self_attn
            attention.in_proj_bias.zero_(), attention.out_proj.bias.zero_()
            attention.in_proj_weight.copy_(one.to_heads.weight), attention.out_proj.weight.copy_(one.to_output.weight)
            pairs = (
                (other.linear1, one.feed_forward[0]),
                (other.linear2, one.feed_forward[2]),
                (other.norm1, one.norm1),
                (other.norm2, one.norm2),
            )
            for their_part, my_part in pairs:
                their_part.load_state_dict(my_part.state_dict())
    text = torch.randint(11, (batch, tokens))
    hidden = torch.ones(tokens, tokens).triu(1).bool()
    expected = mine.to_logits(mine.norm(theirs(mine.words(text) + mine.positions.weight[:tokens], mask=hidden)))
    expect(mine(text), expected)


@settings(max_examples=60, deadline=None)
@given(SIZES, st.integers(2, 7), st.integers(2, 6), st.integers(1, 6), st.integers(0, 2**32))
def test_loss_of_the_next_token_by_its_definition(batch, tokens, vocabulary, begin, seed):
    torch.manual_seed(seed)
    begin = min(begin, tokens - 1)
    logits, text = torch.randn(batch, tokens, vocabulary, dtype=torch.float64) * 3, torch.randint(vocabulary, (batch, tokens))
    chances = logits.softmax(-1)
    losses = [-chances[row, place - 1, text[row, place]].log() for row in range(batch) for place in range(begin, tokens)]
    expect(CAPSTONE["next_token_loss"](logits, text, begin), torch.stack(losses).mean())


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 3), st.integers(1, 6), st.integers(0, 5), st.integers(0, 2**32))
def test_text_goes_on_with_the_largest_logit(batch, tokens, count, seed):
    torch.manual_seed(seed)
    model = CAPSTONE["Transformer"](7, 4, 6, 2, 5, 2)
    start = torch.randint(7, (batch, tokens))
    text = CAPSTONE["generate"](model, start, count)
    expect(text[:, :tokens].contiguous(), start, "beginning of the text")
    for end in range(tokens, tokens + count):
        expect(model(text[:, max(0, end - 4) : end])[:, -1].argmax(-1), text[:, end].contiguous(), "next token")


def test_shapes_in_signatures_are_enforced():
    """The words in the signatures are alive: a wrong shape is refused by them, not by luck."""
    with pytest.raises(Exception, match="scaled_dot_product_attention"):
        SINGLE["scaled_dot_product_attention"](torch.zeros(3, 4), torch.zeros(5, 6), torch.zeros(5, 4))
    with pytest.raises(Exception, match="padding_mask"):
        SINGLE["padding_mask"](torch.zeros(3), 4)
