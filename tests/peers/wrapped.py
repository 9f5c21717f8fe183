"""Published modules behind the names of our exercises: what the world calls right, for the checks to accept."""

import math

import torch
from torch import nn
from torch.nn import functional as F


def grouped_attention_of_transformers(query, key, value, mask=None):
    from transformers.models.llama.modeling_llama import eager_attention_forward

    if query.shape[1] % key.shape[1]:
        raise ValueError("transformers' configuration refuses this")
    module = nn.Module().eval()
    module.num_key_value_groups = query.shape[1] // key.shape[1]
    added = None if mask is None else torch.zeros(mask.shape).masked_fill(~mask, -math.inf).unsqueeze(-3)
    return eager_attention_forward(module, query, key, value, added, query.shape[-1] ** -0.5)[0].transpose(1, 2)


def grouped_module_of_x_transformers(d_model, num_heads, num_kv_heads):
    from x_transformers.x_transformers import Attention

    return _OutputOnly(Attention(d_model, heads=num_heads, kv_heads=num_kv_heads, dim_head=d_model // num_heads))


class _OutputOnly(nn.Module):
    """x-transformers' attention with a mask where ours has one."""

    def __init__(self, inner: nn.Module):
        super().__init__()
        self.inner = inner

    def forward(self, x, mask=None):
        if mask is not None and mask.ndim == 3:
            mask = mask[:, None]
        return self.inner(x, attn_mask=mask)


def set_x_transformers(attention, w_query, w_key, w_value, w_output):
    """Write our matrices where x-transformers deals heads out in turn: head i of group g is its head i * groups + g."""
    inner = attention.inner
    groups, d_head = inner.kv_heads, w_query.shape[1] // inner.heads
    in_turn = torch.arange(inner.heads).reshape(groups, -1).T.flatten()
    w_query = w_query.unflatten(1, (-1, d_head))[:, in_turn].flatten(1)
    w_output = w_output.unflatten(0, (-1, d_head))[in_turn].flatten(0, 1)
    _copy((inner.to_q, inner.to_k, inner.to_v, inner.to_out), (w_query, w_key, w_value, w_output))


def at_least_two_pairs(rotate):
    """Return a turn for one pair too: both packages divide by d_k - 2, and the first pair is as fast at every width."""

    def turned(x, start=0, theta=10_000.0):
        return rotate(F.pad(x, (0, 2)), start, theta)[..., :2] if x.shape[-1] == 2 else rotate(x, start, theta)

    return turned


@at_least_two_pairs
def rotate_of_rotary_embedding_torch(x, start, theta):
    from rotary_embedding_torch import RotaryEmbedding

    return RotaryEmbedding(x.shape[-1], theta=theta).rotate_queries_or_keys(x.float(), offset=start).to(x.dtype)


@at_least_two_pairs
def rotate_of_x_transformers(x, start, theta):
    from x_transformers.x_transformers import RotaryEmbedding, apply_rotary_pos_emb

    angles, _ = RotaryEmbedding(x.shape[-1], base=theta)(torch.arange(start, start + x.shape[-2]))
    heads = x.float().reshape(1, -1, *x.shape[-2:])
    return apply_rotary_pos_emb(heads, angles).reshape(x.shape).to(x.dtype)


def places_of_positional_encodings(length, d_model):
    from positional_encodings.torch_encodings import PositionalEncoding1D

    return PositionalEncoding1D(d_model)(torch.zeros(1, length, d_model))[0]


def feed_forward_of_x_transformers(d_model, d_ff):
    from x_transformers.x_transformers import FeedForward

    return FeedForward(d_model, mult=d_ff / d_model, custom_activation=nn.ReLU())


def set_feed_forward(network, w1, b1, w2, b2):
    _copy((network.ff[0][0], network.ff[2]), (w1, w2), (b1, b2))


class TorchMultiHead(nn.MultiheadAttention):
    """torch's own module, whose mask is True where nothing may be seen, and whose blind rows are NaN."""

    def __init__(self, d_model, num_heads):
        if d_model % num_heads:
            raise ValueError("embed_dim must be divisible by num_heads")
        super().__init__(d_model, num_heads, bias=False, batch_first=True)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        hidden = None
        if mask is not None:
            hidden = ~mask if mask.ndim == 2 else ~mask.expand(len(query), *mask.shape[1:]).repeat_interleave(self.num_heads, dim=0)
        output, _ = super().forward(query, key, value, attn_mask=hidden)
        return output


def set_torch_multi_head(attention, w_query, w_key, w_value, w_output):
    with torch.no_grad():
        attention.in_proj_weight.copy_(torch.cat([w_query, w_key, w_value], dim=1).T)
        attention.out_proj.weight.copy_(w_output.T)


class SelfAttentionOfABook(nn.Module):
    """The head of *Build a Large Language Model (From Scratch)*, which reads one sentence and knows no mask."""

    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        from llms_from_scratch.ch03 import SelfAttention_v2

        self.inner = SelfAttention_v2(d_model, d_k)
        self.inner.W_value = nn.Linear(d_model, d_v, bias=False)  # the book's values are as wide as its keys

    def forward(self, x, mask=None):
        if mask is not None:
            raise ValueError("this head has no mask")
        sentences = x.reshape(-1, *x.shape[-2:])
        return torch.stack([self.inner(sentence) for sentence in sentences]).reshape(*x.shape[:-1], -1)


def set_self_attention_of_a_book(head, w_query, w_key, w_value):
    _copy((head.inner.W_query, head.inner.W_key, head.inner.W_value), (w_query, w_key, w_value))


class TorchEncoderLayer(nn.TransformerEncoderLayer):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
        super().__init__(d_model, num_heads, d_ff, 0.0, batch_first=True, norm_first=norm_first)
        # Ours drops what a sublayer returns, and nothing within it; its attention has no biases to train.
        self.dropout1.p = self.dropout2.p = dropout
        self.self_attn = nn.MultiheadAttention(d_model, num_heads, bias=False, batch_first=True)
        self.num_heads = num_heads

    def forward(self, x, mask=None):
        if mask is not None and mask.ndim == 3:
            mask = mask.repeat_interleave(self.num_heads, dim=0)
        return super().forward(x, src_mask=None if mask is None else ~mask)


def set_torch_encoder_layer(layer, w_query, w_key, w_value, w_output, w1, b1, w2, b2, gain1, bias1, gain2, bias2):
    set_torch_multi_head(layer.self_attn, w_query, w_key, w_value, w_output)
    _copy((layer.linear1, layer.linear2), (w1, w2), (b1, b2))
    with torch.no_grad():
        for norm, gain, bias in ((layer.norm1, gain1, bias1), (layer.norm2, gain2, bias2)):
            norm.weight.copy_(gain), norm.bias.copy_(bias)


def layer_norm_of_torch(x, gain, bias, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], gain, bias, eps)


def _copy(layers, matrices, biases=()):
    with torch.no_grad():
        for layer, matrix in zip(layers, matrices):
            layer.weight.copy_(matrix.T)
        for layer, bias in zip(layers, biases):
            layer.bias.copy_(bias)
