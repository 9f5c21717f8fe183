"""Wrong answers that people write. Parsed, never imported; see autograder/exercise/known.py."""
import math

import torch
from torch import nn


class softmax_over_first_axis:
    """The shares were taken along the first axis instead of the last."""

    fails = ["softmax", "stable", "nothing_to_see", "scale", "weights", "output", "batch", "mask", "blind_row", "dtype", "gradient", "module", "module_mask"]
    hint = "Which axis holds the keys of one query?"

    def softmax(scores):
        highest = scores.amax(dim=0, keepdim=True)
        parts = (scores - highest.masked_fill(highest == -math.inf, 0.0)).exp()
        total = parts.sum(dim=0, keepdim=True)
        return parts / total.masked_fill(total == 0, 1.0)


class softmax_over_queries:
    """The shares were taken along the queries, so each key gave out one whole instead of each query."""

    fails = ["softmax", "stable", "nothing_to_see", "scale", "weights", "output", "batch", "mask", "blind_row", "dtype", "gradient", "module", "module_mask"]
    hint = "A row is a query, a column is a key. Who spends its attention on whom, and which axis has to add up to 1?"

    def softmax(scores):
        highest = scores.amax(dim=-2, keepdim=True)
        parts = (scores - highest.masked_fill(highest == -math.inf, 0.0)).exp()
        total = parts.sum(dim=-2, keepdim=True)
        return parts / total.masked_fill(total == 0, 1.0)


class softmax_over_everything:
    """The whole matrix shared one 1, where each row has a 1 of its own."""

    fails = ["softmax", "stable", "nothing_to_see", "scale", "weights", "output", "batch", "mask", "blind_row", "dtype", "gradient", "module", "module_mask"]
    hint = "How many queries are there, and how much does each have to give?"

    def softmax(scores):
        highest = scores.max()
        parts = (scores - (0.0 if highest == -math.inf else highest)).exp()
        total = parts.sum()
        return parts / (1.0 if total == 0 else total)


class sums_without_their_axis:
    """The sums of the rows lost their axis, so they lined up with the keys instead of the rows."""

    fails = ["softmax", "stable", "nothing_to_see", "scale", "weights", "output", "batch", "mask", "blind_row", "dtype", "gradient", "module", "module_mask", "trains", "device"]
    hint = "A table of shape (rows, keys) is divided by sums of shape (rows,). With which of its axes does broadcasting match them?"

    def softmax(scores):
        parts = (scores - scores.amax(dim=-1, keepdim=True).clamp(min=-1e30)).exp()
        total = parts.sum(dim=-1)
        return parts / total.masked_fill(total == 0, 1.0)


class shares_without_exp:
    """The scores were divided by their sum as they are, and a negative score became a negative share."""

    fails = ["softmax", "stable", "nothing_to_see", "scale", "weights", "output", "batch", "mask", "blind_row", "dtype", "gradient", "module", "module_mask"]
    hint = "Shares are positive, scores need not be. What makes any number positive and keeps the order?"

    def softmax(scores):
        return scores / scores.sum(dim=-1, keepdim=True)


class one_row_forgotten:
    """The rows were taken out of a table one by one, and scores that are a single row had no table."""

    fails = ["softmax"]
    hint = "`*batch` may stand for no axis at all. Which axis does your code count on that a single row does not have?"

    def softmax(scores):
        return torch.stack([one_row(row) for row in scores.unbind(-2)], dim=-2)

    def one_row(scores):
        highest = scores.amax(dim=-1, keepdim=True)
        parts = (scores - highest.masked_fill(highest == -math.inf, 0.0)).exp()
        total = parts.sum(dim=-1, keepdim=True)
        return parts / total.masked_fill(total == 0, 1.0)


class powers_of_large_scores:
    """The power of e was taken of the scores as they are, and it overflowed."""

    fails = ["stable", "output", "mask"]
    hint = "Softmax sees differences only. What can be taken from every score of a row, so that no power exceeds 1?"

    def softmax(scores):
        parts = scores.exp()
        total = parts.sum(dim=-1, keepdim=True)
        return parts / total.masked_fill(total == 0, 1.0)


class shift_by_one_maximum:
    """One maximum was taken from the whole table, and rows far below it vanished."""

    fails = ["stable", "mask"]
    hint = "The second row lies thousands below the first. Whose largest score has to be taken from it?"

    def softmax(scores):
        parts = (scores - scores.max().clamp(min=torch.finfo(scores.dtype).min)).exp()
        total = parts.sum(dim=-1, keepdim=True)
        return parts / total.masked_fill(total == 0, 1.0)


class nothing_gives_nan:
    """A row with nothing to choose from was divided by its sum of zero, and not-a-number came out."""

    fails = ["nothing_to_see", "blind_row", "gradient"]
    hint = "What is -inf minus -inf, and 0 / 0? Which rows have to be kept from both?"

    def softmax(scores):
        parts = (scores - scores.amax(dim=-1, keepdim=True)).exp()
        return parts / parts.sum(dim=-1, keepdim=True)


class nothing_shared_evenly:
    """A row with nothing to choose from was given even shares instead of zeros."""

    fails = ["nothing_to_see", "blind_row"]
    hint = "All scores of the row are -inf, so all are alike. Does that make them worth looking at?"

    def softmax(scores):
        parts = (scores - scores.amax(dim=-1, keepdim=True)).exp()
        return (parts / parts.sum(dim=-1, keepdim=True)).nan_to_num(1 / scores.shape[-1])


class nan_mended_too_late:
    """Softmax returned not-a-number for a row of -inf, and only attention mended it."""

    fails = ["nothing_to_see"]
    hint = "Whoever calls softmax by itself finds the NaN again. Where does it arise, and where is it best kept out?"

    def softmax(scores):
        parts = (scores - scores.amax(dim=-1, keepdim=True)).exp()
        return parts / parts.sum(dim=-1, keepdim=True)

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = softmax(scores).nan_to_num(0.0)
        return weights @ value, weights


class no_scale:
    """The matches went into softmax undivided."""

    fails = ["scale"]
    hint = "A dot product of d_k terms grows with d_k. By what is it divided, so that softmax does not saturate?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = softmax(scores)
        return weights @ value, weights


class scale_by_d_k:
    """The matches were divided by d_k itself instead of its square root."""

    fails = ["scale"]
    hint = "The variance of a match is d_k. What is then its standard deviation, its usual size?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / query.shape[-1]
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = softmax(scores)
        return weights @ value, weights


class scale_multiplied:
    """The matches were multiplied by the square root of d_k where they should be divided by it."""

    fails = ["scale"]
    hint = "Matches grow with d_k. Does your scale undo that, or double it?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) * query.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = softmax(scores)
        return weights @ value, weights


class scale_after_softmax:
    """The weights were divided by the square root of d_k, after softmax instead of before."""

    fails = ["scale", "module"]
    hint = "What do the weights of a query add up to, once you have divided them? What should be divided instead?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = softmax(scores) / math.sqrt(query.shape[-1])
        return weights @ value, weights


class scale_by_d_v:
    """The matches were divided by the square root of the width of the values instead of the keys."""

    fails = ["scale", "weights", "output", "batch", "mask", "blind_row", "dtype", "gradient", "module", "module_mask"]
    hint = "Over which width does the dot product of a query and a key run?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(value.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = softmax(scores)
        return weights @ value, weights


class scores_returned:
    """What came second were the scores before softmax, not the weights after it."""

    fails = ["weights", "blind_row"]
    hint = "Scores come before softmax, weights after it. Which of the two averages the values?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        return softmax(scores) @ value, scores


class weights_not_divided:
    """The output was divided by the sum at the end, but the weights were returned without."""

    fails = ["weights"]
    hint = "Do the rows of your weights add up to 1, as those of the output's average do?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        parts = (scores - scores.amax(dim=-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)).exp()
        total = parts.sum(dim=-1, keepdim=True)
        return parts @ value / total.masked_fill(total == 0, 1.0), parts


class weights_in_more_bits:
    """Softmax was computed in 32 bits, and only the output went back to the dtype of the inputs; the weights kept 32."""

    fails = ["dtype"]
    hint = "Two things are returned. Which of them was brought back to the dtype of the inputs?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        wide = torch.promote_types(query.dtype, torch.float32)
        scores = query.to(wide) @ key.to(wide).transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = softmax(scores)
        return (weights @ value.to(wide)).to(query.dtype), weights


class weights_before_output:
    """The two results were returned the wrong way round: the weights first."""

    fails = ["scale", "weights", "output", "batch", "mask", "blind_row", "dtype", "gradient", "module", "module_mask", "trains", "device"]
    hint = "Output first, weights second. In which order does your last line return them?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = softmax(scores)
        return weights, weights @ value


class keys_averaged:
    """The keys were averaged instead of the values."""

    fails = ["scale", "output", "batch", "mask", "blind_row", "dtype", "gradient", "module", "module_mask", "trains", "device"]
    hint = "A key is what a word can be found by. What does the word give, once it is found?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = softmax(scores)
        return weights @ key, weights


class output_squeezed:
    """The axes of length 1 were squeezed out of the output, so a single query lost its row."""

    fails = ["output"]
    hint = "One query comes in as a table with one row. In what shape should its output go out?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = softmax(scores)
        return (weights @ value).squeeze(), weights


class attention_overflows:
    """Attention took powers of e of its own, without the shift that keeps them finite."""

    fails = ["output", "mask"]
    hint = "Your softmax knows what to do with scores of any size. Where does your attention go round it?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        parts = scores.exp()
        total = parts.sum(dim=-1, keepdim=True)
        weights = parts / total.masked_fill(total == 0, 1.0)
        return weights @ value, weights


class first_axes_swapped:
    """The axes 0 and 1 were swapped, which are the last two only where there is no batch."""

    fails = ["batch", "mask", "blind_row", "dtype", "gradient", "module", "module_mask", "trains", "device"]
    hint = "With a batch in front, the last two axes are no longer 0 and 1. How are they counted from the end?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(0, 1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = softmax(scores)
        return weights @ value, weights


class one_batch_axis:
    """One axis was foreseen before the last two, and no more than one."""

    fails = ["batch"]
    hint = "Heads will want an axis of their own beside the batch. Which product works on the last two axes, whatever comes before?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        alone = query.ndim == 2
        if alone:
            query, key, value = query[None], key[None], value[None]
        scores = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = softmax(scores)
        output = torch.bmm(weights, value)
        return (output[0], weights[0]) if alone else (output, weights)


class weights_left_flat:
    """The axes of the batch were folded into one and unfolded for the output, but not for the weights."""

    fails = ["batch"]
    hint = "Weights have the axes of the batch, then queries, then keys. Which axes have yours?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        batch = query.shape[:-2]
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = softmax(scores)
        return weights @ value, weights if len(batch) < 2 else weights.flatten(0, len(batch) - 1)


class mask_inverted:
    """The mask was read the other way round: what may be seen was hidden."""

    fails = ["mask", "blind_row", "module_mask"]
    hint = "Here True means: may look. Which scores are to become -inf?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(mask, -math.inf)
        weights = softmax(scores)
        return weights @ value, weights


class mask_transposed:
    """The mask was laid out as keys by queries, where a row is a query."""

    fails = ["mask", "blind_row", "dtype", "gradient", "module_mask", "device"]
    hint = "mask[1, 3] is about two words. Which of them looks, and which is looked at?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask.transpose(-2, -1), -math.inf)
        weights = softmax(scores)
        return weights @ value, weights


class mask_after_softmax:
    """The mask came after softmax, when the hidden keys had already taken their share."""

    fails = ["mask", "dtype", "module_mask"]
    hint = "What do the weights of a row add up to, once some of them are struck out? When would the others still get the whole?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        weights = softmax(scores)
        if mask is not None:
            weights = weights.masked_fill(~mask, 1e-9)
        return weights @ value, weights


class mask_multiplied:
    """The scores were multiplied by the mask, and a hidden key kept a score of 0."""

    fails = ["mask", "blind_row", "module_mask"]
    hint = "The power of e of 0 is 1. Which score has the power 0?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores * mask
        weights = softmax(scores)
        return weights @ value, weights


class mask_ignored:
    """The mask was taken and never used."""

    fails = ["mask", "blind_row", "module_mask"]
    hint = "Which line of yours would change if the mask changed?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        weights = softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]))
        return weights @ value, weights


class mask_of_the_same_shape:
    """The mask picked entries of the scores, which works only if it has all of their axes."""

    fails = ["mask", "device"]
    hint = "One mask may serve a whole batch. Which operation spreads it over the axes that it does not have?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores[~mask] = -math.inf
        weights = softmax(scores)
        return weights @ value, weights


class large_negative_number:
    """Hidden scores became -1e9, and a query that sees nothing looked everywhere alike."""

    fails = ["blind_row", "dtype"]
    hint = "If all scores of a row are -1e9, what are their differences, and so their shares?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        weights = softmax(scores)
        return weights @ value, weights


class blind_output_only:
    """The output of a query that sees nothing was put to zero, but its weights still said that it looked."""

    fails = ["blind_row", "dtype"]
    hint = "The weights are handed out too. What should a reader of them find for a query that sees nothing?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is None:
            mask = torch.ones_like(scores, dtype=torch.bool)
        weights = softmax(scores.masked_fill(~mask, -1e9))
        return (weights @ value) * mask.any(-1, keepdim=True), weights


class single_precision:
    """The scores were turned into 32 bits, whatever the inputs had."""

    fails = ["dtype", "module"]
    hint = "Which call in your code fixes a type of its own?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query.float() @ key.float().transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = softmax(scores)
        return weights @ value.float(), weights


class weights_outside_the_graph:
    """The weights were cut off from autograd, so queries and keys could never learn."""

    fails = ["gradient", "trains"]
    hint = "Through which result does a gradient travel from the output back to the query, and what stands in its way?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        with torch.no_grad():
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            if mask is not None:
                scores = scores.masked_fill(~mask, -math.inf)
            weights = softmax(scores)
        return weights @ value, weights


class nan_in_the_gradient:
    """The not-a-number of a query that sees nothing was painted over in the output, but went on in the gradient."""

    fails = ["gradient"]
    hint = "Zero times not-a-number is not-a-number, and the gradient multiplies. Can the row be kept from 0 / 0 in the first place?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores + torch.zeros_like(mask, dtype=scores.dtype).masked_fill(~mask, -math.inf)
        parts = (scores - scores.amax(dim=-1, keepdim=True)).exp()
        weights = (parts / parts.sum(dim=-1, keepdim=True)).nan_to_num(0.0)
        return weights @ value, weights


class softmax_in_place:
    """The largest score was taken off in place, so the scores of whoever called changed too."""

    fails = ["softmax"]
    hint = "A name that ends in `_`, and `-=`, write into the tensor that came in. Who else holds that tensor?"

    def softmax(scores):
        highest = scores.detach().amax(dim=-1, keepdim=True)
        scores -= highest.masked_fill(highest == -math.inf, 0.0)
        parts = scores.exp()
        total = parts.sum(dim=-1, keepdim=True)
        return parts / total.masked_fill(total == 0, 1.0)


class softmax_by_view:
    """The rows were laid one below the other by `view`, which only works where they lie in memory that way already."""

    fails = ["softmax"]
    hint = "`view` never moves a number. Which of its relatives does, where it must?"

    def softmax(scores):
        rows = scores.view(-1, scores.shape[-1])
        highest = rows.amax(dim=-1, keepdim=True)
        parts = (rows - highest.masked_fill(highest == -math.inf, 0.0)).exp()
        total = parts.sum(dim=-1, keepdim=True)
        return (parts / total.masked_fill(total == 0, 1.0)).view(scores.shape)


class batches_folded_by_view:
    """The batch was folded by `view`, which only works where the inputs lie in memory one row after the other."""

    fails = ["batch"]
    hint = "`view` never moves a number. Which of its relatives does, where it must?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        batch = query.shape[:-2]
        flat = [each.view(-1, *each.shape[-2:]) for each in (query, key, value)]
        scores = torch.bmm(flat[0], flat[1].transpose(1, 2)).view(*batch, query.shape[-2], key.shape[-2]) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = softmax(scores)
        return weights @ value, weights


class hidden_by_twenty:
    """Hidden scores were set to -20 and their weights struck out afterwards, but some visible matches lie far below -20."""

    fails = ["mask"]
    hint = "A visible key may match as badly as it likes. Which score can nothing fall short of?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is None:
            weights = softmax(scores)
            return weights @ value, weights
        weights = softmax(scores.masked_fill(~mask, -20.0)) * mask
        total = weights.sum(dim=-1, keepdim=True)
        weights = weights / total.masked_fill(total == 0, 1.0)
        return weights @ value, weights


class hidden_by_ten_thousand:
    """Hidden scores were set to -10000 and their weights struck out afterwards, but a visible match may lie below even that."""

    fails = ["mask"]
    hint = "However far down a number lies, a match can lie below. Which score can nothing fall short of?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is None:
            weights = softmax(scores)
            return weights @ value, weights
        weights = softmax(torch.where(mask, scores, -1e4)) * mask
        total = weights.sum(dim=-1, keepdim=True)
        weights = weights / total.masked_fill(total == 0, 1.0)
        return weights @ value, weights


class minus_a_billion:
    """Hidden scores were set to -1e9, a number that 16 bits can't hold."""

    fails = ["dtype"]
    hint = "The lowest number of `float16` is -65504. Which score lies below all numbers, in every dtype?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is None:
            weights = softmax(scores)
            return weights @ value, weights
        weights = softmax(scores.masked_fill(~mask, -1e9)) * mask.any(dim=-1, keepdim=True)
        return weights @ value, weights


class minus_a_billion_added:
    """-1e9 was added to hidden scores, and a match that is better than a billion came through."""

    fails = ["mask"]
    hint = "Whatever a hidden key holds, it has no part in anything. What is left of its match when a number is added, and what when it is replaced?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is None:
            weights = softmax(scores)
            return weights @ value, weights
        weights = softmax(scores + (~mask).to(scores.dtype) * -1e9) * mask.any(dim=-1, keepdim=True)
        return weights @ value, weights


class mask_taken_for_padding:
    """A mask with as many rows as the batch has sentences was taken for one row a sentence."""

    fails = ["mask"]
    hint = "The last two axes of a mask are queries and keys, whatever their sizes. What can two equal sizes tell you?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            if mask.ndim == 2 and query.ndim == 3 and len(mask) == len(query):
                mask = mask[:, None]
            scores = scores.masked_fill(~mask, -math.inf)
        weights = softmax(scores)
        return weights @ value, weights


class mask_turned_in_place:
    """The mask was turned over in place, and whoever called was left with its opposite."""

    fails = ["mask", "module_mask"]
    hint = "The next layer is handed the same mask. What does it find in it?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not_(), -math.inf)
        weights = softmax(scores)
        return weights @ value, weights


class causal_without_a_mask:
    """Where queries and keys were equally many and no mask was given, the later keys were hidden."""

    fails = ["scale", "module", "module_mask", "device"]
    hint = "No mask means that a query may look everywhere. What do equal lengths say about that?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is None and query.shape[-2] == key.shape[-2]:
            mask = causal_mask(len(scores[-1]))
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = softmax(scores)
        return weights @ value, weights


class causal_without_itself:
    """A word was kept from looking at itself."""

    fails = ["causal"]
    hint = "What would the first word look at?"

    def causal_mask(length):
        return torch.ones(length, length, dtype=torch.bool).tril(diagonal=-1)


class causal_one_ahead:
    """The causal mask let a word look at the one after it as well."""

    fails = ["causal"]
    hint = "Which keys may the very first word see?"

    def causal_mask(length):
        return torch.ones(length, length, dtype=torch.bool).tril(diagonal=1)


class causal_upside_down:
    """The mask let words look ahead instead of back."""

    fails = ["causal"]
    hint = "Row = query, column = key. Which triangle lies before the query?"

    def causal_mask(length):
        return torch.ones(length, length, dtype=torch.bool).triu()


class causal_as_numbers:
    """The causal mask was made of numbers instead of booleans."""

    fails = ["causal"]
    hint = "A mask says yes or no. Which dtype does that?"

    def causal_mask(length):
        return torch.ones(length, length).tril()


class causal_hides:
    """The causal mask was True where looking is forbidden."""

    fails = ["causal"]
    hint = "Some libraries let True hide. What does True mean here?"

    def causal_mask(length):
        return torch.ones(length, length, dtype=torch.bool).triu(diagonal=1)


class padding_inverted:
    """The padding mask was True for the filling instead of the words."""

    fails = ["padding"]
    hint = "True means: may be looked at. Which places are those?"

    def padding_mask(lengths, max_length):
        return torch.arange(max_length, device=lengths.device) >= lengths[:, None, None]


class padding_without_query_axis:
    """The padding mask had no axis for the queries, so sentences would line up with queries."""

    fails = ["padding", "device"]
    hint = "Scores have the axes batch, queries, keys. What happens to a mask of shape (batch, keys) beside them?"

    def padding_mask(lengths, max_length):
        return torch.arange(max_length, device=lengths.device) < lengths[:, None]


class padding_for_the_queries:
    """The padding mask hid queries instead of keys: its words stand where the axis of the queries is."""

    fails = ["padding", "device"]
    hint = "Scores have the axes batch, queries, keys. Who must not be looked at, and which of the axes are they on?"

    def padding_mask(lengths, max_length):
        return (torch.arange(max_length, device=lengths.device) < lengths[:, None]).unsqueeze(-1)


class padding_one_too_long:
    """The first place of the filling counted as a word."""

    fails = ["padding"]
    hint = "Places are counted from 0. What is the place of the last word of a sentence of three words?"

    def padding_mask(lengths, max_length):
        return torch.arange(max_length, device=lengths.device) <= lengths[:, None, None]


class padding_counts_lengths_down:
    """The lengths were counted down in place, so whoever called had none left."""

    fails = ["padding"]
    hint = "`-=` on a tensor changes that very tensor, and it is not yours. What else can be compared with the lengths?"

    def padding_mask(lengths, max_length):
        columns = []
        for _ in range(max_length):
            columns.append(lengths > 0)
            lengths -= 1
        return torch.stack(columns, dim=-1)[:, None]


class module_scale_by_d_model:
    """The head divided by the square root of d_model, the width of its input."""

    fails = ["module", "module_mask"]
    hint = "The matches are made of queries and keys. How wide are they, after the projection?"

    class SingleHeadAttention(nn.Module):
        def __init__(self, d_model, d_k, d_v):
            super().__init__()
            self.d_model = d_model
            self.to_query = nn.Linear(d_model, d_k, bias=False)
            self.to_key = nn.Linear(d_model, d_k, bias=False)
            self.to_value = nn.Linear(d_model, d_v, bias=False)

        def forward(self, x, mask=None):
            scores = self.to_query(x) @ self.to_key(x).transpose(-2, -1) / math.sqrt(self.d_model)
            if mask is not None:
                scores = scores.masked_fill(~mask, -math.inf)
            return softmax(scores) @ self.to_value(x)


class module_roles_mixed:
    """The projections were handed on in another order than query, key, value."""

    fails = ["module", "module_mask", "trains", "device"]
    hint = "In which order does your attention take its inputs, and in which does the head hand them on?"

    class SingleHeadAttention(nn.Module):
        def __init__(self, d_model, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_model, d_k, bias=False)
            self.to_key = nn.Linear(d_model, d_k, bias=False)
            self.to_value = nn.Linear(d_model, d_v, bias=False)

        def forward(self, x, mask=None):
            output, _ = scaled_dot_product_attention(self.to_query(x), self.to_value(x), self.to_key(x), mask)
            return output


class module_query_and_key_swapped:
    """Queries and keys changed places, so each word was found by what it asks."""

    fails = ["module", "module_mask"]
    hint = "Row = query, column = key. Which matrix makes the rows of the scores, and which the columns?"

    class SingleHeadAttention(nn.Module):
        def __init__(self, d_model, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_model, d_k, bias=False)
            self.to_key = nn.Linear(d_model, d_k, bias=False)
            self.to_value = nn.Linear(d_model, d_v, bias=False)

        def forward(self, x, mask=None):
            output, _ = scaled_dot_product_attention(self.to_key(x), self.to_query(x), self.to_value(x), mask)
            return output


class module_one_matrix_for_two:
    """One matrix made both the queries and the keys."""

    fails = ["module", "module_mask", "trains"]
    hint = "With one matrix for both, a word asks for exactly what it is found by. How many matrices does the head have?"

    class SingleHeadAttention(nn.Module):
        def __init__(self, d_model, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_model, d_k, bias=False)
            self.to_value = nn.Linear(d_model, d_v, bias=False)

        def forward(self, x, mask=None):
            query = self.to_query(x)
            return scaled_dot_product_attention(query, query, self.to_value(x), mask)[0]

    def set_weights(head, w_query, w_key, w_value):
        with torch.no_grad():
            head.to_query.weight.copy_(w_query.T)
            head.to_value.weight.copy_(w_value.T)


class module_packed_in_thirds:
    """The packed projection was cut into three equal parts, as if d_v were d_k."""

    fails = ["module", "module_mask", "device"]
    hint = "The packed matrix is d_k + d_k + d_v wide. Where does each part begin?"

    class SingleHeadAttention(nn.Module):
        def __init__(self, d_model, d_k, d_v):
            super().__init__()
            self.packed = nn.Linear(d_model, d_k + d_k + d_v, bias=False)

        def forward(self, x, mask=None):
            query, key, value = self.packed(x).chunk(3, dim=-1)
            return scaled_dot_product_attention(query, key, value, mask)[0]

    def set_weights(head, w_query, w_key, w_value):
        with torch.no_grad():
            head.packed.weight.copy_(torch.cat([w_query, w_key, w_value], dim=1).T)


class module_with_bias:
    """The projections added a bias, which this head does not have."""

    fails = ["module", "module_mask", "trains"]
    hint = "What does `nn.Linear` add to `x @ w` unless it is told not to?"

    class SingleHeadAttention(nn.Module):
        def __init__(self, d_model, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_model, d_k)
            self.to_key = nn.Linear(d_model, d_k)
            self.to_value = nn.Linear(d_model, d_v)

        def forward(self, x, mask=None):
            return scaled_dot_product_attention(self.to_query(x), self.to_key(x), self.to_value(x), mask)[0]


class module_for_batches_only:
    """The head counted on a batch, and one sentence by itself was too few axes."""

    fails = ["module"]
    hint = "x may be one sentence of shape (tokens, d_model). Which of your axis numbers count on an axis before it?"

    class SingleHeadAttention(nn.Module):
        def __init__(self, d_model, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_model, d_k, bias=False)
            self.to_key = nn.Linear(d_model, d_k, bias=False)
            self.to_value = nn.Linear(d_model, d_v, bias=False)

        def forward(self, x, mask=None):
            query, key, value = self.to_query(x), self.to_key(x), self.to_value(x)
            scores = torch.matmul(query, key.transpose(1, 2)) / math.sqrt(query.shape[-1])
            if mask is not None:
                scores = scores.masked_fill(~mask, -math.inf)
            return torch.matmul(softmax(scores), value)


class module_mask_not_passed_on:
    """The head took a mask and did not pass it on."""

    fails = ["module_mask"]
    hint = "Which call inside the head should know of the mask?"

    class SingleHeadAttention(nn.Module):
        def __init__(self, d_model, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_model, d_k, bias=False)
            self.to_key = nn.Linear(d_model, d_k, bias=False)
            self.to_value = nn.Linear(d_model, d_v, bias=False)

        def forward(self, x, mask=None):
            return scaled_dot_product_attention(self.to_query(x), self.to_key(x), self.to_value(x))[0]


class module_returns_both:
    """The head returned the output and the weights, where the output alone is asked for."""

    fails = ["module", "module_mask", "trains", "device"]
    hint = "The next layer takes one tensor. What does your attention return, and which part of it is the output?"

    class SingleHeadAttention(nn.Module):
        def __init__(self, d_model, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_model, d_k, bias=False)
            self.to_key = nn.Linear(d_model, d_k, bias=False)
            self.to_value = nn.Linear(d_model, d_v, bias=False)

        def forward(self, x, mask=None):
            return scaled_dot_product_attention(self.to_query(x), self.to_key(x), self.to_value(x), mask)


class module_plain_tensors:
    """The matrices were plain tensors, which a module does not find when it is trained."""

    fails = ["module", "trains", "device"]
    hint = "`parameters()` lists what an optimiser may change. What turns a tensor into something that it lists?"

    class SingleHeadAttention(nn.Module):
        def __init__(self, d_model, d_k, d_v):
            super().__init__()
            self.w_query = torch.randn(d_model, d_k, requires_grad=True)
            self.w_key = torch.randn(d_model, d_k, requires_grad=True)
            self.w_value = torch.randn(d_model, d_v, requires_grad=True)

        def forward(self, x, mask=None):
            return scaled_dot_product_attention(x @ self.w_query, x @ self.w_key, x @ self.w_value, mask)[0]

    def set_weights(head, w_query, w_key, w_value):
        with torch.no_grad():
            head.w_query.copy_(w_query)
            head.w_key.copy_(w_key)
            head.w_value.copy_(w_value)


class module_without_gradient:
    """The head computed without recording, so no gradient came back to its matrices."""

    fails = ["trains"]
    hint = "What does autograd record inside `torch.no_grad()`?"

    class SingleHeadAttention(nn.Module):
        def __init__(self, d_model, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_model, d_k, bias=False)
            self.to_key = nn.Linear(d_model, d_k, bias=False)
            self.to_value = nn.Linear(d_model, d_v, bias=False)

        @torch.no_grad()
        def forward(self, x, mask=None):
            return scaled_dot_product_attention(self.to_query(x), self.to_key(x), self.to_value(x), mask)[0]


class module_key_matrix_for_values:
    """Where keys and values are equally wide, the matrix of the keys made the values too."""

    fails = ["module"]
    hint = "There are three matrices, of whatever width. Which one says what a word has to give?"

    class SingleHeadAttention(nn.Module):
        def __init__(self, d_model, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_model, d_k, bias=False)
            self.to_key = nn.Linear(d_model, d_k, bias=False)
            self.to_value = nn.Linear(d_model, d_v, bias=False)

        def forward(self, x, mask=None):
            query, key = self.to_query(x), self.to_key(x)
            value = key if key.shape[-1] == len(self.to_value.weight) == x.shape[-1] else self.to_value(x)
            return scaled_dot_product_attention(query, key, value, mask)[0]


class module_folds_its_words_by_view:
    """The sentences were put below each other by `view`, which only works where the words lie in memory that way already."""

    fails = ["module", "module_mask"]
    hint = "`view` never moves a number. Does a projection need the batch folded at all?"

    class SingleHeadAttention(nn.Module):
        def __init__(self, d_model, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_model, d_k, bias=False)
            self.to_key = nn.Linear(d_model, d_k, bias=False)
            self.to_value = nn.Linear(d_model, d_v, bias=False)

        def forward(self, x, mask=None):
            rows = x.view(-1, x.shape[-1])
            query, key, value = (of(rows).view(*x.shape[:-1], -1) for of in (self.to_query, self.to_key, self.to_value))
            return scaled_dot_product_attention(query, key, value, mask)[0]


class module_shrinks_its_matrix:
    """The scale was put on the matrix of the queries itself, which shrank further with every call."""

    fails = ["module"]
    hint = "What is in `weight` after the first call, and what after the second?"

    class SingleHeadAttention(nn.Module):
        def __init__(self, d_model, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_model, d_k, bias=False)
            self.to_key = nn.Linear(d_model, d_k, bias=False)
            self.to_value = nn.Linear(d_model, d_v, bias=False)

        def forward(self, x, mask=None):
            self.to_query.weight.data /= math.sqrt(len(self.to_query.weight))
            scores = self.to_query(x) @ self.to_key(x).transpose(-2, -1)
            if mask is not None:
                scores = scores.masked_fill(~mask, -math.inf)
            return softmax(scores) @ self.to_value(x)


class module_keeps_its_first_mask:
    """The head kept the first mask that it was given, and used it for ever after."""

    fails = ["module_mask"]
    hint = "What does the head still know of an earlier call, and what should it?"

    class SingleHeadAttention(nn.Module):
        def __init__(self, d_model, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_model, d_k, bias=False)
            self.to_key = nn.Linear(d_model, d_k, bias=False)
            self.to_value = nn.Linear(d_model, d_v, bias=False)
            self.mask = None

        def forward(self, x, mask=None):
            self.mask = mask if self.mask is None else self.mask
            return scaled_dot_product_attention(self.to_query(x), self.to_key(x), self.to_value(x), self.mask)[0]


class module_cuts_off_its_words:
    """The words were detached, so whatever made them could never learn."""

    fails = ["trains"]
    hint = "Below this head there may be another layer. What does it learn from, if no gradient leaves the head?"

    class SingleHeadAttention(nn.Module):
        def __init__(self, d_model, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_model, d_k, bias=False)
            self.to_key = nn.Linear(d_model, d_k, bias=False)
            self.to_value = nn.Linear(d_model, d_v, bias=False)

        def forward(self, x, mask=None):
            x = x.detach()
            return scaled_dot_product_attention(self.to_query(x), self.to_key(x), self.to_value(x), mask)[0]


class hidden_scores_from_a_table_on_the_cpu:
    """What hides a score was added from a table of zeros that was made on the CPU."""

    fails = ["device"]
    hint = "`torch.zeros` was told a shape and a dtype. What was it not told?"

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores + torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, -math.inf)
        weights = softmax(scores)
        return weights @ value, weights


class places_on_the_cpu:
    """The places that are compared with the lengths were counted on the CPU."""

    fails = ["device"]
    hint = "Both sides of a comparison must lie on one device. Which side can say which one that is?"

    def padding_mask(lengths, max_length):
        return torch.arange(max_length) < lengths[:, None, None]


class scale_that_is_no_buffer:
    """The root of `d_k` was kept as a tensor in a plain attribute, which stays behind when the head is moved."""

    fails = ["device"]
    hint = "`head.to` moves parameters and buffers. Need the root be a tensor at all?"

    class SingleHeadAttention(nn.Module):
        def __init__(self, d_model, d_k, d_v):
            super().__init__()
            self.to_query = nn.Linear(d_model, d_k, bias=False)
            self.to_key = nn.Linear(d_model, d_k, bias=False)
            self.to_value = nn.Linear(d_model, d_v, bias=False)
            self.root = torch.tensor([float(d_k)]).sqrt()

        def forward(self, x, mask=None):
            query = self.to_query(x) / self.root * math.sqrt(self.to_query.out_features)
            output, _ = scaled_dot_product_attention(query, self.to_key(x), self.to_value(x), mask)
            return output
