"""Wrong answers that people write. Parsed, never imported; see autograder/exercise/known.py.

What is measured leaves the same fingerprint for all, and the first of several is named. So what fails
only the later tests of a check stands before what fails the earlier ones too.
"""
import math

import torch
from torch.nn import functional as F


class old_sums_kept_as_they_were:
    """The maximum was updated, but the sums made with the old one were left as they were."""

    fails = ["exact", "chunk_sizes", "scale", "stable", "mask", "blind_row", "batch", "dtype", "gradient", "memory"]
    hint = "What was found was divided by exp of the old maximum. By which number does it have to be multiplied when a larger one comes?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        query, key, value, given = query.to(dtype) / math.sqrt(query.shape[-1]), key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts = (scores - base).exp()
            total = total + parts.sum(dim=-1, keepdim=True)
            output = output + parts @ value[..., here, :]
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class output_not_put_right:
    """The sum of the weights was put right for the new maximum, the output was not."""

    fails = ["exact", "chunk_sizes", "scale", "stable", "mask", "blind_row", "batch", "dtype", "gradient", "memory"]
    hint = "Two things were made with the old maximum: the sum of the weights, and what else?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        query, key, value, given = query.to(dtype) / math.sqrt(query.shape[-1]), key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output + parts @ value[..., here, :]
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class sum_not_put_right:
    """The output was put right for the new maximum, the sum of the weights was not."""

    fails = ["exact", "chunk_sizes", "scale", "stable", "mask", "blind_row", "batch", "dtype", "gradient", "memory"]
    hint = "Two things were made with the old maximum: the output, and what else?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        query, key, value, given = query.to(dtype) / math.sqrt(query.shape[-1]), key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :]
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class chunks_averaged:
    """Softmax was taken in each chunk, and the outputs of the chunks were averaged evenly."""

    fails = ["exact", "chunk_sizes", "scale", "stable", "mask", "blind_row", "batch", "dtype", "half", "gradient", "memory"]
    hint = "One chunk has a very good match, the other none. Should they count alike?"

    def chunked_attention(query, key, value, chunk, mask=None):
        found = []
        for start in range(0, key.shape[-2], chunk):
            scores = query @ key[..., start : start + chunk, :].transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is not None:
                scores = scores.masked_fill(~mask.expand(*mask.shape[:-1], key.shape[-2])[..., start : start + chunk], -1e9)
            found.append(scores.softmax(dim=-1) @ value[..., start : start + chunk, :])
        return sum(found) / len(found)


class rest_left_out:
    """Only whole chunks were looked at, and the keys of the last, shorter one were left out."""

    fails = ["chunk_sizes"]
    hint = "How many chunks of three are there in seven keys, and how many keys are in them?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        query, key, value, given = query.to(dtype) / math.sqrt(query.shape[-1]), key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for number in range(keys // chunk):
            here = slice(number * chunk, (number + 1) * chunk)
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :]
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class filled_up_with_zeros:
    """The last chunk was filled up with zeros, which have a score of 0 and so a weight."""

    fails = ["chunk_sizes"]
    hint = "Which weight does a key of zeros get, and what would take it away?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        query, key, value, given = query.to(dtype) / math.sqrt(query.shape[-1]), key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        filling = -keys % chunk
        key, value = (F.pad(x, (0, 0, 0, filling)) for x in (key, value))
        mask = None if mask is None else F.pad(mask.expand(*mask.shape[:-1], keys), (0, filling))
        for start in range(0, keys + filling, chunk):
            here = slice(start, start + chunk)
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :]
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class no_scale:
    """The scores were not divided by the square root of d_k."""

    fails = ["scale"]
    hint = "A match of 4 with d_k = 4 is a score of 2. Where does your code look at d_k?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        query, key, value, given = query.to(dtype), key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :]
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class scaled_by_the_width:
    """The scores were divided by d_k, not by its square root."""

    fails = ["scale"]
    hint = "A match of 4 with d_k = 4 is a score of 2. By what was it divided?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        query, key, value, given = query.to(dtype) / query.shape[-1], key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :]
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class scaled_again_in_every_chunk:
    """The queries are scaled inside the loop, so those for the second chunk are scaled twice."""

    fails = ["scale"]
    hint = "How often has the query been divided when the third chunk comes?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        query, key, value, given = query.to(dtype), key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            query = query / math.sqrt(query.shape[-1])
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :]
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class maximum_begins_at_zero:
    """The maximum began at 0, so scores far below it all came to nothing."""

    fails = ["stable"]
    hint = "The scores are -1000 and -1001. Which one is the largest, and which one do you take off?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        query, key, value, given = query.to(dtype) / math.sqrt(query.shape[-1]), key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_zeros(*query.shape[:-1], 1)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :]
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class maximum_of_the_first_chunk:
    """The maximum of the first chunk was taken off the scores of all."""

    fails = ["stable", "mask"]
    hint = "What if a later chunk has a score that is a thousand larger?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        query, key, value, given = query.to(dtype) / math.sqrt(query.shape[-1]), key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -math.inf)
            higher = scores.detach().amax(dim=-1, keepdim=True) if start == 0 else highest
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), 1.0
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :]
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class no_maximum:
    """exp was taken of the scores as they are, without taking off a maximum."""

    fails = ["stable"]
    hint = "exp(1000) is too large for any float. Which number can be taken off a whole row without changing its weights?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        query, key, value, given = query.to(dtype) / math.sqrt(query.shape[-1]), key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = torch.zeros_like(higher)
            parts, shrink = (scores - base).exp(), 1.0
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :]
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class one_maximum_for_all_queries:
    """One maximum of the whole chunk was taken off the scores of every query."""

    fails = ["stable"]
    hint = "One query has scores near 0, another near 1000. What is left of the first one's parts?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        query, key, value, given = query.to(dtype) / math.sqrt(query.shape[-1]), key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax())
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :]
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class mask_inverted:
    """The keys that may be looked at were hidden, and the others seen."""

    fails = ["mask", "blind_row", "batch", "memory"]
    hint = "What does True mean in this mask?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        query, key, value, given = query.to(dtype) / math.sqrt(query.shape[-1]), key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(mask[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :]
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class hidden_scores_of_zero:
    """The scores of hidden keys were set to 0, which is a score like any other."""

    fails = ["mask", "blind_row", "batch"]
    hint = "What is exp(0)? For which score is exp 0?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        query, key, value, given = query.to(dtype) / math.sqrt(query.shape[-1]), key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], 0.0)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :]
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class maximum_of_the_hidden_too:
    """The maximum was taken over hidden keys too; their weights became 0 only afterwards."""

    fails = ["mask"]
    hint = "A hidden key has the score 1000, and those that are seen have 1 and 2. What are their powers of e when 1000 has been taken off?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        scaled, given = query.to(dtype) / math.sqrt(query.shape[-1]), query.dtype
        highest = scaled.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), scaled.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = scaled @ key[..., here, :].to(dtype).transpose(-2, -1)
            seen = 1.0 if mask is None else mask[..., here]
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            parts, shrink = (scores - higher).exp() * seen, (highest - higher).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :].to(dtype)
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class hidden_scores_of_minus_ten_thousand:
    """Hidden scores became -10,000, and their weights 0 afterwards. A score that is seen may be lower still."""

    fails = ["mask"]
    hint = "All scores that are seen are near -100,000. Which number is then the maximum of the row, and what is left of theirs?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        scaled, given = query.to(dtype) / math.sqrt(query.shape[-1]), query.dtype
        highest = scaled.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), scaled.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = scaled @ key[..., here, :].to(dtype).transpose(-2, -1)
            seen = 1.0 if mask is None else mask[..., here]
            scores = scores.where(torch.as_tensor(seen) > 0, -1e4)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            parts, shrink = (scores - higher).exp() * seen, (highest - higher).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :].to(dtype)
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class mask_turned_over_in_place:
    """The mask was turned over where it lies, and whoever handed it over finds it inverted."""

    fails = ["mask"]
    hint = "A second layer gets the same mask. What does `logical_not_` leave for it, and what would `~` leave?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        scaled, given = query.to(dtype) / math.sqrt(query.shape[-1]), query.dtype
        highest = scaled.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), scaled.new_zeros(*query.shape[:-1], value.shape[-1])
        hidden = None if mask is None else mask.logical_not_().expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = scaled @ key[..., here, :].to(dtype).transpose(-2, -1)
            if hidden is not None:
                scores = scores.masked_fill(hidden[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :].to(dtype)
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class column_cut_away:
    """A mask with one column for all keys was cut like the others, and nothing of it was left for the second chunk."""

    fails = ["mask"]
    hint = "Which columns does `mask[..., 2:4]` take from a mask with one column?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        query, key, value, given = query.to(dtype) / math.sqrt(query.shape[-1]), key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :]
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class infinity_minus_infinity:
    """A query that sees nothing of the first chunk has the maximum -inf, and -inf minus itself is not a number."""

    fails = ["mask", "blind_row", "batch", "gradient"]
    hint = "Which number could be taken off instead, as long as nothing has been seen?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        query, key, value, given = query.to(dtype) / math.sqrt(query.shape[-1]), key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :]
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class zero_by_zero:
    """The output of a query that sees nothing was divided by the sum of its weights, which is 0."""

    fails = ["blind_row", "gradient"]
    hint = "What is 0 / 0, and what should stand in its place?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        query, key, value, given = query.to(dtype) / math.sqrt(query.shape[-1]), key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :]
            highest = higher
        return (output / total).to(given)


class blind_query_gets_an_average:
    """Hidden scores are large negative numbers, so a query that sees nothing sees all keys alike."""

    fails = ["blind_row"]
    hint = "If all scores of a row are -1e9, what does softmax make of them?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        query, key, value, given = query.to(dtype) / math.sqrt(query.shape[-1]), key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -1e9)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :]
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class keys_on_the_first_axis:
    """The number of keys was taken from the first axis, which is the batch where there is one."""

    fails = ["batch", "device"]
    hint = "There may be axes before the last two. Which axis holds the keys, counted from the end?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = len(key), torch.promote_types(query.dtype, torch.float32)
        query, key, value, given = query.to(dtype) / math.sqrt(query.shape[-1]), key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :]
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class batch_flattened_by_view:
    """The axes before the last two were made one by `view`, which refuses tensors that were transposed."""

    fails = ["batch"]
    hint = "`view` moves no number. What does `reshape` do where the numbers don't lie in the order of the axes?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        batch = query.shape[:-2]
        query, key, value = (x.view(-1, *x.shape[-2:]) for x in (query, key, value))
        mask = None if mask is None else mask.expand(*batch, *mask.shape[-2:]).reshape(-1, *mask.shape[-2:])
        scaled, given = query.to(dtype) / math.sqrt(query.shape[-1]), query.dtype
        highest = scaled.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), scaled.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = scaled @ key[..., here, :].to(dtype).transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :].to(dtype)
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given).reshape(*batch, *output.shape[-2:])


class mask_of_the_batch_by_its_size:
    """A mask with three axes was taken for one of the first axis wherever the sizes agree, also where it belongs to the second."""

    fails = ["batch"]
    hint = "The batch is 3 by 3, and the mask has the shape (3, queries, keys). Counted from the end, which axis of the batch is its first?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        scaled, given = query.to(dtype) / math.sqrt(query.shape[-1]), query.dtype
        highest = scaled.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), scaled.new_zeros(*query.shape[:-1], value.shape[-1])
        if mask is not None and mask.ndim == 3 and query.ndim == 4 and len(mask) == len(query):
            mask = mask[:, None]
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = scaled @ key[..., here, :].to(dtype).transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :].to(dtype)
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class digits_lost_on_the_way:
    """The output has the right dtype, but the sums were kept in 32 bits also where the inputs have 64."""

    fails = ["dtype"]
    hint = "A number of 64 bits was turned into one of 32 and back. What has it lost?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.float32
        query, key, value, given = query.to(dtype) / math.sqrt(query.shape[-1]), key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :]
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class sums_in_sixteen_bits:
    """The sums were kept in the 16 bits of the inputs, where 256 and 1 are 256."""

    fails = ["half"]
    hint = "How many keys does it take until the next one no longer counts? In what could the sums be kept instead?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], query.dtype
        query, key, value, given = query.to(dtype) / math.sqrt(query.shape[-1]), key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :]
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class sums_detached:
    """The sums of the chunks before were detached, so a gradient comes only through the last chunk."""

    fails = ["gradient"]
    hint = "Autograd follows what was computed. At which word does it lose the first chunk?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        query, key, value, given = query.to(dtype) / math.sqrt(query.shape[-1]), key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total.detach() * shrink + parts.sum(dim=-1, keepdim=True)
            output = output.detach() * shrink + parts @ value[..., here, :]
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class no_gradient_at_all:
    """Autograd was switched off for the whole function."""

    fails = ["gradient"]
    hint = "What is `torch.no_grad` for, and when may nothing be trained?"

    @torch.no_grad()
    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        query, key, value, given = query.to(dtype) / math.sqrt(query.shape[-1]), key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :]
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class not_a_number_put_right_too_late:
    """0 / 0 was made first and replaced by 0 afterwards: the output is right, the gradient is not a number."""

    fails = ["gradient"]
    hint = "The gradient goes back through what was computed, also where it was replaced. What does it meet there?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        query, key, value, given = query.to(dtype) / math.sqrt(query.shape[-1]), key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :]
            highest = higher
        return (output / total).nan_to_num(0.0).to(given)


class mask_made_a_table:
    """The mask of one row was made into a number for every query and every key before the first chunk."""

    fails = ["memory"]
    hint = "The same row holds for all queries. When does it have to be written out, and how much of it?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        query, key, value, given = query.to(dtype) / math.sqrt(query.shape[-1]), key.to(dtype), value.to(dtype), query.dtype
        highest = query.new_full((*query.shape[:-1], 1), -math.inf)
        total, output = torch.zeros_like(highest), query.new_zeros(*query.shape[:-1], value.shape[-1])
        if mask is not None:
            bias = query.new_zeros(*query.shape[:-1], keys).masked_fill(~mask, -math.inf)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = query @ key[..., here, :].transpose(-2, -1)
            if mask is not None:
                scores = scores + bias[..., here]
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :]
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(given)


class chunks_of_queries:
    """The queries were cut into chunks, not the keys: each chunk still has scores for all keys."""

    fails = ["memory"]
    hint = "There are 256 queries and 32768 keys. Which of the two makes the table large?"

    def chunked_attention(query, key, value, chunk, mask=None):
        dtype, found = torch.promote_types(query.dtype, torch.float32), []
        mask = None if mask is None else mask.expand(*mask.shape[:-2], query.shape[-2], mask.shape[-1])
        for start in range(0, query.shape[-2], chunk):
            here = slice(start, start + chunk)
            scores = query[..., here, :].to(dtype) @ key.to(dtype).transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is None:
                weights = scores.softmax(dim=-1)
            else:
                seen = mask[..., here, :]
                weights = scores.masked_fill(~seen, torch.finfo(dtype).min).softmax(dim=-1).masked_fill(~seen, 0.0)
            found.append(weights @ value.to(dtype))
        return torch.cat(found, dim=-2).to(query.dtype)


class the_whole_table:
    """The scores of all queries and all keys were made at once; the chunks were never used."""

    fails = ["memory"]
    hint = "How many numbers does `query @ key.mT` have? How many does it need to have at any moment?"

    def chunked_attention(query, key, value, chunk, mask=None):
        dtype = torch.promote_types(query.dtype, torch.float32)
        scores = query.to(dtype) @ key.to(dtype).transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is None:
            return (scores.softmax(dim=-1) @ value.to(dtype)).to(query.dtype)
        weights = scores.masked_fill(~mask, torch.finfo(dtype).min).softmax(dim=-1).masked_fill(~mask, 0.0)
        return (weights @ value.to(dtype)).to(query.dtype)


class window_to_both_sides_together:
    """`window` was taken for the whole width, so a word sees half of it to each side."""

    fails = ["window", "edges", "causal", "local_cost"]
    hint = "How many words does the middle one of five see with a window of 1, itself included?"

    def local_attention(query, key, value, window, causal=False):
        window = window // 2
        words, found = query.shape[-2], []
        block = max(window, 64)
        for start in range(0, words, block):
            stop = min(start + block, words)
            first, last = max(start - window, 0), min(stop + window, words)
            distance = torch.arange(first, last, device=query.device) - torch.arange(start, stop, device=query.device)[:, None]
            seen = (distance >= -window) & (distance <= (0 if causal else window))
            scores = query[..., start:stop, :] @ key[..., first:last, :].transpose(-2, -1) / math.sqrt(query.shape[-1])
            found.append(scores.masked_fill(~seen, -math.inf).softmax(dim=-1) @ value[..., first:last, :])
        return torch.cat(found, dim=-2)


class window_one_too_narrow:
    """The last word on each side of the window was left out."""

    fails = ["window", "edges", "causal", "local_cost"]
    hint = "Is a word at a distance of exactly `window` near enough?"

    def local_attention(query, key, value, window, causal=False):
        words, found = query.shape[-2], []
        block = max(window, 64)
        for start in range(0, words, block):
            stop = min(start + block, words)
            first, last = max(start - window, 0), min(stop + window, words)
            distance = torch.arange(first, last, device=query.device) - torch.arange(start, stop, device=query.device)[:, None]
            seen = (distance > -max(window, 1)) & (distance < (1 if causal else max(window, 1)))
            scores = query[..., start:stop, :] @ key[..., first:last, :].transpose(-2, -1) / math.sqrt(query.shape[-1])
            found.append(scores.masked_fill(~seen, -math.inf).softmax(dim=-1) @ value[..., first:last, :])
        return torch.cat(found, dim=-2)


class window_goes_round:
    """The first word sees the last: the keys were rolled, and what falls off at one end comes in at the other."""

    fails = ["window", "edges", "causal"]
    hint = "What stands before the first word, and what does `torch.roll` put there?"

    def local_attention(query, key, value, window, causal=False):
        steps = range(-window, 1 if causal else window + 1)
        scores = torch.stack([(query * key.roll(-step, -2)).sum(-1) for step in steps], -1) / math.sqrt(query.shape[-1])
        weights = scores.softmax(-1)
        return sum(weights[..., n, None] * value.roll(-step, -2) for n, step in enumerate(steps))


class window_filled_up_with_zeros:
    """Keys of zeros were put before and after the text, and they got weights."""

    fails = ["window", "edges", "causal"]
    hint = "A key of zeros has the score 0. What does softmax make of it at the ends of the text?"

    def local_attention(query, key, value, window, causal=False):
        ahead = 0 if causal else window
        key, value = (F.pad(x, (0, 0, window, ahead)).unfold(-2, window + ahead + 1, 1) for x in (key, value))
        weights = (torch.einsum("...nd,...ndw->...nw", query, key) / math.sqrt(query.shape[-1])).softmax(-1)
        return torch.einsum("...nw,...ndw->...nd", weights, value)


class blocks_side_by_side:
    """The text was cut into blocks, and a word sees its own block: neighbours on either side of a cut don't see each other."""

    fails = ["window", "edges", "causal", "local_cost"]
    hint = "The windows of two neighbours overlap. Do your blocks?"

    def local_attention(query, key, value, window, causal=False):
        size = max(window, 1)
        found = []
        for q, k, v in zip(*(x.split(size, -2) for x in (query, key, value))):
            scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
            if causal:
                scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -math.inf)
            found.append(scores.softmax(-1) @ v)
        return torch.cat(found, -2)


class window_without_a_scale:
    """The scores in the window were not divided by the square root of d_k."""

    fails = ["window"]
    hint = "What are scores divided by in every attention of this course?"

    def local_attention(query, key, value, window, causal=False):
        words, found = query.shape[-2], []
        block = max(window, 64)
        for start in range(0, words, block):
            stop = min(start + block, words)
            first, last = max(start - window, 0), min(stop + window, words)
            distance = torch.arange(first, last, device=query.device) - torch.arange(start, stop, device=query.device)[:, None]
            seen = (distance >= -window) & (distance <= (0 if causal else window))
            scores = query[..., start:stop, :] @ key[..., first:last, :].transpose(-2, -1)
            found.append(scores.masked_fill(~seen, -math.inf).softmax(dim=-1) @ value[..., first:last, :])
        return torch.cat(found, dim=-2)


class window_cut_after_softmax:
    """Softmax was taken first, and the weights of words out of the window were set to 0 afterwards."""

    fails = ["window", "edges", "causal", "local_cost"]
    hint = "What do the weights that are left add up to?"

    def local_attention(query, key, value, window, causal=False):
        words, found = query.shape[-2], []
        block = max(window, 64)
        for start in range(0, words, block):
            stop = min(start + block, words)
            first, last = max(start - window, 0), min(stop + window, words)
            distance = torch.arange(first, last, device=query.device) - torch.arange(start, stop, device=query.device)[:, None]
            seen = (distance >= -window) & (distance <= (0 if causal else window))
            scores = query[..., start:stop, :] @ key[..., first:last, :].transpose(-2, -1) / math.sqrt(query.shape[-1])
            found.append((scores.softmax(dim=-1) * seen) @ value[..., first:last, :])
        return torch.cat(found, dim=-2)


class words_out_of_reach_at_minus_twenty:
    """The scores of words out of the window became -20, and a word that is near may have a lower one."""

    fails = ["window"]
    hint = "All near words have the score -50. Who gets the weight then, if those far away have -20?"

    def local_attention(query, key, value, window, causal=False):
        words, found = query.shape[-2], []
        block = max(window, 64)
        for start in range(0, words, block):
            stop = min(start + block, words)
            first, last = max(start - window, 0), min(stop + window, words)
            distance = torch.arange(first, last, device=query.device) - torch.arange(start, stop, device=query.device)[:, None]
            seen = (distance >= -window) & (distance <= (0 if causal else window))
            scores = query[..., start:stop, :] @ key[..., first:last, :].transpose(-2, -1) / math.sqrt(query.shape[-1])
            found.append(scores.masked_fill(~seen, -20.0).softmax(dim=-1) @ value[..., first:last, :])
        return torch.cat(found, dim=-2)


class window_of_minus_one_billion:
    """The scores of words out of the window became -1e9, a number that 16 bits don't have."""

    fails = ["window"]
    hint = "The smallest number of float16 is -65504. Which number lies below all others, in every dtype?"

    def local_attention(query, key, value, window, causal=False):
        words, found = query.shape[-2], []
        block = max(window, 64)
        for start in range(0, words, block):
            stop = min(start + block, words)
            first, last = max(start - window, 0), min(stop + window, words)
            distance = torch.arange(first, last, device=query.device) - torch.arange(start, stop, device=query.device)[:, None]
            seen = (distance >= -window) & (distance <= (0 if causal else window))
            scores = query[..., start:stop, :] @ key[..., first:last, :].transpose(-2, -1) / math.sqrt(query.shape[-1])
            found.append(scores.masked_fill(~seen, -1e9).softmax(dim=-1) @ value[..., first:last, :])
        return torch.cat(found, dim=-2)


class window_shared_out_again:
    """Softmax went over all words of a block; those out of the window were cleared afterwards, and the rest shared out again."""

    fails = ["window"]
    hint = "A word out of the window has the score 1000, and those within have 1 and 2. What has softmax left of theirs?"

    def local_attention(query, key, value, window, causal=False):
        words, found = query.shape[-2], []
        block = max(window, 64)
        for start in range(0, words, block):
            stop = min(start + block, words)
            first, last = max(start - window, 0), min(stop + window, words)
            distance = torch.arange(first, last, device=query.device) - torch.arange(start, stop, device=query.device)[:, None]
            seen = (distance >= -window) & (distance <= (0 if causal else window))
            scores = query[..., start:stop, :] @ key[..., first:last, :].transpose(-2, -1) / math.sqrt(query.shape[-1])
            weights = scores.softmax(dim=-1) * seen
            found.append(weights / weights.sum(dim=-1, keepdim=True) @ value[..., first:last, :])
        return torch.cat(found, dim=-2)


class window_scales_its_queries_in_place:
    """The queries were divided where they lie, and whoever handed them over finds them changed."""

    fails = ["window"]
    hint = "What is the difference between `query /= 2` and `query = query / 2` for whoever handed you the query?"

    def local_attention(query, key, value, window, causal=False):
        words, found = query.shape[-2], []
        query /= math.sqrt(query.shape[-1])
        block = max(window, 64)
        for start in range(0, words, block):
            stop = min(start + block, words)
            first, last = max(start - window, 0), min(stop + window, words)
            distance = torch.arange(first, last, device=query.device) - torch.arange(start, stop, device=query.device)[:, None]
            seen = (distance >= -window) & (distance <= (0 if causal else window))
            scores = query[..., start:stop, :] @ key[..., first:last, :].transpose(-2, -1)
            found.append(scores.masked_fill(~seen, -math.inf).softmax(dim=-1) @ value[..., first:last, :])
        return torch.cat(found, dim=-2)


class window_computed_in_32_bits:
    """Everything in the window was computed in 32 bits, also where the inputs have 64."""

    fails = ["window"]
    hint = "The output has 64 bits again. How many digits had the scores on the way?"

    def local_attention(query, key, value, window, causal=False):
        words, found = query.shape[-2], []
        block = max(window, 64)
        given = query.dtype
        query, key, value = query.float(), key.float(), value.float()
        for start in range(0, words, block):
            stop = min(start + block, words)
            first, last = max(start - window, 0), min(stop + window, words)
            distance = torch.arange(first, last, device=query.device) - torch.arange(start, stop, device=query.device)[:, None]
            seen = (distance >= -window) & (distance <= (0 if causal else window))
            scores = query[..., start:stop, :] @ key[..., first:last, :].transpose(-2, -1) / math.sqrt(query.shape[-1])
            found.append(scores.masked_fill(~seen, -math.inf).softmax(dim=-1) @ value[..., first:last, :])
        return torch.cat(found, dim=-2).to(given)


class window_without_a_gradient_for_its_keys:
    """The keys were cut off the graph, so what made them is never trained."""

    fails = ["window"]
    hint = "Query, key and value are all made by weights that learn. Which of the three gets no gradient?"

    def local_attention(query, key, value, window, causal=False):
        words, found = query.shape[-2], []
        block = max(window, 64)
        key = key.detach()
        for start in range(0, words, block):
            stop = min(start + block, words)
            first, last = max(start - window, 0), min(stop + window, words)
            distance = torch.arange(first, last, device=query.device) - torch.arange(start, stop, device=query.device)[:, None]
            seen = (distance >= -window) & (distance <= (0 if causal else window))
            scores = query[..., start:stop, :] @ key[..., first:last, :].transpose(-2, -1) / math.sqrt(query.shape[-1])
            found.append(scores.masked_fill(~seen, -math.inf).softmax(dim=-1) @ value[..., first:last, :])
        return torch.cat(found, dim=-2)


class window_flattened_by_view:
    """The batch was made one axis by `view`, which refuses tensors that were transposed."""

    fails = ["window"]
    hint = "`view` moves no number. What does `reshape` do where the numbers don't lie in the order of the axes?"

    def local_attention(query, key, value, window, causal=False):
        words, found = query.shape[-2], []
        block = max(window, 64)
        batch = query.shape[:-1]
        query, key, value = (x.view(-1, *x.shape[-2:]) for x in (query, key, value))
        for start in range(0, words, block):
            stop = min(start + block, words)
            first, last = max(start - window, 0), min(stop + window, words)
            distance = torch.arange(first, last, device=query.device) - torch.arange(start, stop, device=query.device)[:, None]
            seen = (distance >= -window) & (distance <= (0 if causal else window))
            scores = query[..., start:stop, :] @ key[..., first:last, :].transpose(-2, -1) / math.sqrt(query.shape[-1])
            found.append(scores.masked_fill(~seen, -math.inf).softmax(dim=-1) @ value[..., first:last, :])
        return torch.cat(found, dim=-2).reshape(*batch, -1)


class window_of_zero_is_no_window:
    """A window of 0 was taken for no window, since `not 0` is True."""

    fails = ["edges"]
    hint = "Which words does a word see that looks no step to either side?"

    def local_attention(query, key, value, window, causal=False):
        window = window or query.shape[-2]
        words, found = query.shape[-2], []
        block = max(window, 64)
        for start in range(0, words, block):
            stop = min(start + block, words)
            first, last = max(start - window, 0), min(stop + window, words)
            distance = torch.arange(first, last, device=query.device) - torch.arange(start, stop, device=query.device)[:, None]
            seen = (distance >= -window) & (distance <= (0 if causal else window))
            scores = query[..., start:stop, :] @ key[..., first:last, :].transpose(-2, -1) / math.sqrt(query.shape[-1])
            found.append(scores.masked_fill(~seen, -math.inf).softmax(dim=-1) @ value[..., first:last, :])
        return torch.cat(found, dim=-2)


class window_never_looks_back_only:
    """`causal` was taken and never used."""

    fails = ["causal"]
    hint = "With `causal`, how many words does the first word see?"

    def local_attention(query, key, value, window, causal=False):
        words, found = query.shape[-2], []
        block = max(window, 64)
        for start in range(0, words, block):
            stop = min(start + block, words)
            first, last = max(start - window, 0), min(stop + window, words)
            distance = torch.arange(first, last, device=query.device) - torch.arange(start, stop, device=query.device)[:, None]
            seen = (distance >= -window) & (distance <= window)
            scores = query[..., start:stop, :] @ key[..., first:last, :].transpose(-2, -1) / math.sqrt(query.shape[-1])
            found.append(scores.masked_fill(~seen, -math.inf).softmax(dim=-1) @ value[..., first:last, :])
        return torch.cat(found, dim=-2)


class band_on_the_whole_table:
    """All scores were made, and those out of the window were hidden."""

    fails = ["local_cost"]
    hint = "Of 4096 scores in a row 33 are used. How many were computed?"

    def local_attention(query, key, value, window, causal=False):
        places = torch.arange(query.shape[-2], device=query.device)
        distance = places - places[:, None]
        seen = (distance.abs() <= window) & ((distance <= 0) | (not causal))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        return scores.masked_fill(~seen, -math.inf).softmax(dim=-1) @ value


class block_meets_all_keys:
    """The queries were taken in blocks, which saves the memory, but each block was compared with all keys."""

    fails = ["local_cost"]
    hint = "A block holds 64 neighbouring words. Which keys can be near any of them?"

    def local_attention(query, key, value, window, causal=False):
        words, found = query.shape[-2], []
        block = max(window, 64)
        for start in range(0, words, block):
            stop = min(start + block, words)
            first, last = 0, words
            distance = torch.arange(first, last, device=query.device) - torch.arange(start, stop, device=query.device)[:, None]
            seen = (distance >= -window) & (distance <= (0 if causal else window))
            scores = query[..., start:stop, :] @ key[..., first:last, :].transpose(-2, -1) / math.sqrt(query.shape[-1])
            found.append(scores.masked_fill(~seen, -math.inf).softmax(dim=-1) @ value[..., first:last, :])
        return torch.cat(found, dim=-2)


class relu_for_the_features:
    """The features are those of ReLU, which are 0 for every negative number."""

    fails = ["features", "linear", "linear_causal", "linear_cost"]
    hint = "Can a feature be 0? What would a query divide by, all of whose features are?"

    def feature_map(x):
        return F.relu(x)


class features_flat_below_zero:
    """Negative numbers all have the feature 1."""

    fails = ["features"]
    hint = "What is the feature of -2, and is it less than that of -1?"

    def feature_map(x):
        return F.relu(x) + 1


class e_to_the_x_less_one_and_one_more:
    """The features were made by ELU and 1 on top: for -20 that is -1 and 1, since 32 bits hold no number so near to -1."""

    fails = ["features"]
    hint = "What is the feature of -20, and what is left of it once 1 was taken off and put on again?"

    def feature_map(x):
        return F.elu(x) + 1


class exp_thrown_away:
    """exp was taken of large positive numbers too and then not chosen, but its gradient is not a number."""

    fails = ["features"]
    hint = "exp(100) is too large for 32 bits, and `where` multiplies its gradient by 0. What is 0 times infinity?"

    def feature_map(x):
        return torch.where(x > 0, x + 1, x.exp())


class not_divided_by_the_similarities:
    """The sum of the similarities was left out, so the values were added and not averaged."""

    fails = ["linear", "linear_causal", "linear_cost"]
    hint = "Which two sums stand in the formula?"

    def linear_attention(query, key, value, causal=False):
        query, key = feature_map(query), feature_map(key)
        if not causal:
            return query @ (key.transpose(-2, -1) @ value)
        products = (key[..., :, None] * value[..., None, :]).cumsum(dim=-3)
        return torch.einsum("...qk,...qkv->...qv", query, products)


class one_millionth_below:
    """A small number was added to what is divided by, and small features are smaller than that."""

    fails = ["linear", "linear_causal"]
    hint = "If all features are a millionth of what they were, the shares stay as they are. How small may the sum of the similarities be?"

    def linear_attention(query, key, value, causal=False):
        query, key = feature_map(query), feature_map(key)
        if not causal:
            return (query @ (key.transpose(-2, -1) @ value) / (query @ key.sum(dim=-2)[..., None] + 1e-6))
        products = (key[..., :, None] * value[..., None, :]).cumsum(dim=-3)
        totals = key.cumsum(dim=-2)
        return (torch.einsum("...qk,...qkv->...qv", query, products) / ((query * totals).sum(dim=-1, keepdim=True) + 1e-6))


class always_looking_back_in_squares:
    """Whether to look back was decided by the numbers of queries and keys, which may agree without it."""

    fails = ["linear", "linear_cost"]
    hint = "As many queries as keys: who says whether the first one may look at the last?"

    def linear_attention(query, key, value, causal=False):
        causal = causal or query.shape[-2] == key.shape[-2]
        query, key = feature_map(query), feature_map(key)
        if not causal:
            return (query @ (key.transpose(-2, -1) @ value) / (query @ key.sum(dim=-2)[..., None]))
        products = (key[..., :, None] * value[..., None, :]).cumsum(dim=-3)
        totals = key.cumsum(dim=-2)
        return (torch.einsum("...qk,...qkv->...qv", query, products) / ((query * totals).sum(dim=-1, keepdim=True)))


class linear_in_32_bits:
    """Everything was computed in 32 bits, also where the inputs have 64."""

    fails = ["linear", "linear_causal"]
    hint = "The output has 64 bits again. How many digits had the sums on the way?"

    def linear_attention(query, key, value, causal=False):
        given = query.dtype
        query, key, value = query.float(), key.float(), value.float()
        query, key = feature_map(query), feature_map(key)
        if not causal:
            return (query @ (key.transpose(-2, -1) @ value) / (query @ key.sum(dim=-2)[..., None])).to(given)
        products = (key[..., :, None] * value[..., None, :]).cumsum(dim=-3)
        totals = key.cumsum(dim=-2)
        return (torch.einsum("...qk,...qkv->...qv", query, products) / ((query * totals).sum(dim=-1, keepdim=True))).to(given)


class sum_of_similarities_detached:
    """The sum below was cut off the graph, as if it did not depend on the keys."""

    fails = ["linear", "linear_causal"]
    hint = "A key that matches better makes the sum larger too. Does the gradient hear of that?"

    def linear_attention(query, key, value, causal=False):
        query, key = feature_map(query), feature_map(key)
        if not causal:
            return (query @ (key.transpose(-2, -1) @ value) / (query @ key.sum(dim=-2)[..., None]).detach())
        products = (key[..., :, None] * value[..., None, :]).cumsum(dim=-3)
        totals = key.cumsum(dim=-2)
        return (torch.einsum("...qk,...qkv->...qv", query, products) / ((query * totals).sum(dim=-1, keepdim=True).detach()))


class linear_flattened_by_view:
    """The batch was made one axis by `view`, which refuses tensors that were transposed."""

    fails = ["linear", "linear_causal"]
    hint = "`view` moves no number. What does `reshape` do where the numbers don't lie in the order of the axes?"

    def linear_attention(query, key, value, causal=False):
        batch = query.shape[:-1]
        query, key, value = (x.view(-1, *x.shape[-2:]) for x in (query, key, value))
        query, key = feature_map(query), feature_map(key)
        if not causal:
            return (query @ (key.transpose(-2, -1) @ value) / (query @ key.sum(dim=-2)[..., None])).reshape(*batch, -1)
        products = (key[..., :, None] * value[..., None, :]).cumsum(dim=-3)
        totals = key.cumsum(dim=-2)
        return (torch.einsum("...qk,...qkv->...qv", query, products) / ((query * totals).sum(dim=-1, keepdim=True))).reshape(*batch, -1)


class quotient_made_in_place:
    """The values were weighed where they lie, and whoever handed them over finds them changed."""

    fails = ["linear"]
    hint = "What is the difference between `value *= 2` and `value = value * 2` for whoever handed you the value?"

    def linear_attention(query, key, value, causal=False):
        query, key = feature_map(query), feature_map(key)
        if not causal:
            totals = key.sum(dim=-2)
            largest = value.detach().abs().amax(dim=(-2, -1), keepdim=True)
            value /= largest
            return query @ (key.transpose(-2, -1) @ value) / (query @ totals[..., None]) * largest
        products = (key[..., :, None] * value[..., None, :]).cumsum(dim=-3)
        totals = key.cumsum(dim=-2)
        return torch.einsum("...qk,...qkv->...qv", query, products) / (query * totals).sum(dim=-1, keepdim=True)


class features_of_the_keys_only:
    """The features were taken of the keys, and the queries were left as they are."""

    fails = ["linear", "linear_causal"]
    hint = "On which side of the dot product do features stand?"

    def linear_attention(query, key, value, causal=False):
        key = feature_map(key)
        if not causal:
            return query @ (key.transpose(-2, -1) @ value) / (query @ key.sum(dim=-2)[..., None])
        products = (key[..., :, None] * value[..., None, :]).cumsum(dim=-3)
        totals = key.cumsum(dim=-2)
        return torch.einsum("...qk,...qkv->...qv", query, products) / (query * totals).sum(dim=-1, keepdim=True)


class divided_by_the_sum_of_all:
    """With `causal`, the upper sum stops at the word that asks, but the lower one runs over all keys."""

    fails = ["linear_causal", "linear_cost"]
    hint = "The first word sees only itself, so its weight must be 1. By which sum is it divided?"

    def linear_attention(query, key, value, causal=False):
        query, key = feature_map(query), feature_map(key)
        if not causal:
            return query @ (key.transpose(-2, -1) @ value) / (query @ key.sum(dim=-2)[..., None])
        products = (key[..., :, None] * value[..., None, :]).cumsum(dim=-3)
        totals = key.sum(dim=-2, keepdim=True)
        return torch.einsum("...qk,...qkv->...qv", query, products) / (query * totals).sum(dim=-1, keepdim=True)


class features_added_up_first:
    """In the lower sum the features of the query and of the keys were each added up, and the two results multiplied."""

    fails = ["linear"]
    hint = "A dot product multiplies first and adds then. What does (1 + 2) times (3 + 4) contain that it does not?"

    def linear_attention(query, key, value, causal=False):
        query, key = feature_map(query), feature_map(key)
        if not causal:
            return query @ (key.transpose(-2, -1) @ value) / (query.sum(dim=-1, keepdim=True) * key.sum(dim=(-2, -1), keepdim=True))
        products = (key[..., :, None] * value[..., None, :]).cumsum(dim=-3)
        totals = key.cumsum(dim=-2)
        return torch.einsum("...qk,...qkv->...qv", query, products) / (query * totals).sum(dim=-1, keepdim=True)


class two_letters_for_one_axis:
    """With `causal`, einsum was given two letters for the axis of the features, so each feature met every other."""

    fails = ["linear_causal"]
    hint = "A letter that stands in both is multiplied and summed in step. What happens to two different letters?"

    def linear_attention(query, key, value, causal=False):
        query, key = feature_map(query), feature_map(key)
        if not causal:
            return query @ (key.transpose(-2, -1) @ value) / (query @ key.sum(dim=-2)[..., None])
        products = (key[..., :, None] * value[..., None, :]).cumsum(dim=-3)
        totals = key.cumsum(dim=-2)
        return torch.einsum("...qj,...qkv->...qv", query, products) / (query * totals).sum(dim=-1, keepdim=True)


class queries_by_keys_first:
    """The features of the queries were multiplied by those of the keys first, which makes the whole table."""

    fails = ["linear_cost"]
    hint = "A product of three matrices can be made in two orders. How large is what lies between, in each of them?"

    def linear_attention(query, key, value, causal=False):
        query, key = feature_map(query), feature_map(key)
        if not causal:
            similarities = query @ key.transpose(-2, -1)
            return similarities @ value / similarities.sum(dim=-1, keepdim=True)
        products = (key[..., :, None] * value[..., None, :]).cumsum(dim=-3)
        totals = key.cumsum(dim=-2)
        return torch.einsum("...qk,...qkv->...qv", query, products) / (query * totals).sum(dim=-1, keepdim=True)


class table_to_look_back:
    """With `causal`, the whole table of similarities was made and its upper half cleared."""

    fails = ["linear_cost"]
    hint = "From one word to the next, one key comes in addition. What could be kept instead of a row of the table?"

    def linear_attention(query, key, value, causal=False):
        query, key = feature_map(query), feature_map(key)
        if not causal:
            return query @ (key.transpose(-2, -1) @ value) / (query @ key.sum(dim=-2)[..., None])
        similarities = (query @ key.transpose(-2, -1)).tril()
        return similarities @ value / similarities.sum(dim=-1, keepdim=True)


class maximum_begins_on_the_cpu:
    """The running maximum began as a table of minus infinity on the CPU."""

    fails = ["device"]
    hint = "`torch.full` does not know where the queries lie. Who tells it?"

    def chunked_attention(query, key, value, chunk, mask=None):
        keys, dtype = key.shape[-2], torch.promote_types(query.dtype, torch.float32)
        scaled = query.to(dtype) / math.sqrt(query.shape[-1])
        highest = torch.full((*query.shape[:-1], 1), -math.inf, dtype=dtype)
        total, output = scaled.new_zeros(highest.shape), scaled.new_zeros(*query.shape[:-1], value.shape[-1])
        mask = None if mask is None else mask.expand(*mask.shape[:-1], keys)
        for start in range(0, keys, chunk):
            here = slice(start, start + chunk)
            scores = scaled @ key[..., here, :].to(dtype).transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here], -math.inf)
            higher = torch.maximum(highest, scores.detach().amax(dim=-1, keepdim=True))
            base = higher.masked_fill(higher == -math.inf, 0.0)
            parts, shrink = (scores - base).exp(), (highest - base).exp()
            total = total * shrink + parts.sum(dim=-1, keepdim=True)
            output = output * shrink + parts @ value[..., here, :].to(dtype)
            highest = higher
        return (output / total.masked_fill(total == 0, 1.0)).to(query.dtype)


class distances_on_the_cpu:
    """The distances between words were counted on the CPU."""

    fails = ["device"]
    hint = "`torch.arange` does not know where your words lie. Who tells it?"

    def local_attention(query, key, value, window, causal=False):
        words, found, block = query.shape[-2], [], max(window, 64)
        for start in range(0, words, block):
            stop = min(start + block, words)
            first, last = max(start - window, 0), min(stop + window, words)
            distance = torch.arange(first, last) - torch.arange(start, stop)[:, None]
            seen = (distance >= -window) & (distance <= (0 if causal else window))
            scores = query[..., start:stop, :] @ key[..., first:last, :].transpose(-2, -1) / math.sqrt(query.shape[-1])
            found.append(scores.masked_fill(~seen, -math.inf).softmax(dim=-1) @ value[..., first:last, :])
        return torch.cat(found, dim=-2)


class sums_begin_on_the_cpu:
    """The running sums of linear attention began with zeros on the CPU."""

    fails = ["device"]
    hint = "Nothing has been added yet, but zeros lie somewhere too. Where do yours?"

    def linear_attention(query, key, value, causal=False):
        query, key = feature_map(query), feature_map(key)
        if not causal:
            return query @ (key.transpose(-2, -1) @ value) / (query @ key.sum(dim=-2)[..., None])
        first = torch.zeros(*key.shape[:-2], 1, key.shape[-1], value.shape[-1], dtype=key.dtype)
        products = torch.cat([first, key[..., :, None] * value[..., None, :]], dim=-3).cumsum(dim=-3)[..., 1:, :, :]
        totals = key.cumsum(dim=-2)
        return torch.einsum("...qk,...qkv->...qv", query, products) / (query * totals).sum(dim=-1, keepdim=True)
