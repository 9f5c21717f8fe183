"""Wrong answers that people write. Parsed, never imported; see autograder/exercise/known.py."""
import torch


class lengths_divided_out:
    """The scores were cosines: query and key were brought to length 1 before they met."""

    fails = ["dot", "batch"]
    hint = "A cosine sees the direction only. Should a query that is ten times as long not score ten times as high?"

    from torch.nn import functional as F

    def dot_product_scores(query, key):
        return F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).transpose(-2, -1)


class divided_by_root_of_width:
    """The scores were divided by the square root of d_k, which belongs to a later chapter."""

    fails = ["dot"]
    hint = "Scaled attention does that, and says so in its name. What is asked for here is a dot product. What does the example in the text give?"

    def dot_product_scores(query, key):
        return query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5


class shares_instead_of_scores:
    """What came back were weights: softmax was taken of the scores already."""

    fails = ["dot", "batch"]
    hint = "Comparing is the first of three steps. Which of them have you done here, and which comes next?"

    def dot_product_scores(query, key):
        return torch.softmax(query @ key.transpose(-2, -1), dim=-1)


class products_not_added:
    """The numbers of a query and a key were multiplied, but the products were not added up."""

    fails = ["dot", "batch"]
    hint = "The score of a pair is one number. Which axis has to be summed away?"

    def dot_product_scores(query, key):
        return query[..., :, None, :] * key[..., None, :, :]


class row_for_each_key:
    """The table of dot products lies on its side: a row for each key, a column for each query."""

    fails = ["dot", "batch"]
    hint = "Each query reads along its own row. Which of the two stands on the left of the product?"

    def dot_product_scores(query, key):
        return key @ query.transpose(-2, -1)


class neighbours_only:
    """Query 0 met key 0, query 1 met key 1, and so on, where every query is to meet every key."""

    fails = ["dot", "batch", "gradient"]
    hint = "Two queries and three keys make how many pairs? What would a query with no key of its own number do?"

    def dot_product_scores(query, key):
        return (query * key).sum(dim=-1)


class row_for_each_key_where_sizes_agree:
    """Where there are as many keys as queries, the table lies on its side."""

    fails = ["dot"]
    hint = "The two shapes may be the same. Who stands in rows then?"

    def dot_product_scores(query, key):
        return key @ query.mT if query.shape == key.shape else query @ key.mT


class dot_products_in_32_bits:
    """The dot products were made in 32 bits, also where the inputs have 64."""

    fails = ["dot"]
    hint = "The scores have 64 bits again. How many digits had they on the way?"

    def dot_product_scores(query, key):
        return (query.float() @ key.float().mT).to(query.dtype)


class batch_flattened_by_view:
    """The axes before the last two were made one by `view`, which refuses tensors that were transposed."""

    fails = ["batch"]
    hint = "`view` moves no number. What does `reshape` do where the numbers do not lie in the order of the axes?"

    def dot_product_scores(query, key):
        scores = torch.bmm(query.view(-1, *query.shape[-2:]), key.view(-1, *key.shape[-2:]).mT)
        return scores.view(*query.shape[:-1], key.shape[-2])


class first_axes_swapped:
    """The axes 0 and 1 of the keys were swapped, which are the last two only where there is no batch."""

    fails = ["batch"]
    hint = "With a batch in front, the last two axes are no longer 0 and 1. How are they counted from the end?"

    def dot_product_scores(query, key):
        return query @ key.transpose(0, 1)


class all_axes_reversed:
    """All axes of the keys were put in reverse order, the batch among them."""

    fails = ["batch"]
    hint = "`key.T` turns two axes round, and so does `permute` with all of them when there are two. Which two should change places when there are four?"

    def dot_product_scores(query, key):
        return query @ key.permute(*reversed(range(key.ndim)))


class one_batch_axis:
    """One axis was foreseen before the last two, and no more than one."""

    fails = ["batch"]
    hint = "Heads will want an axis of their own beside the batch. Which product works on the last two axes, whatever comes before?"

    def dot_product_scores(query, key):
        if query.ndim == 2:
            return torch.mm(query, key.t())
        return torch.bmm(query, key.transpose(1, 2))


class single_query_squeezed:
    """Axes of length 1 were squeezed out of the dot products, so a single query lost its row."""

    fails = ["dot"]
    hint = "A table with one row is still a table. Which axis did you want to be rid of, and which ones went along?"

    def dot_product_scores(query, key):
        return torch.matmul(query, key.transpose(-2, -1)).squeeze()


class tanh_forgotten:
    """The additive scores were taken without tanh."""

    fails = ["additive", "widths", "batch"]
    hint = "Without tanh a score is one number from the query plus one from the key. Softmax sees differences only: which of the two does it see then?"

    def additive_scores(query, key, w_query, w_key, w):
        return ((query @ w_query)[..., :, None, :] + (key @ w_key)[..., None, :, :]) @ w


class additive_scores_in_32_bits:
    """The additive scores were made in 32 bits, also where the inputs have 64."""

    fails = ["additive"]
    hint = "The scores have 64 bits again. How many digits had they on the way?"

    def additive_scores(query, key, w_query, w_key, w):
        asked, offered, w = (query @ w_query).float(), (key @ w_key).float(), w.float()
        return (torch.tanh(asked[..., :, None, :] + offered[..., None, :, :]) @ w).to(query.dtype)


class tanh_of_the_whole:
    """tanh was taken last, of the score, where it belongs to each hidden number before w weighs them."""

    fails = ["additive", "widths", "batch"]
    hint = "A single tanh at the end lets no score exceed 1. How large may a score be when w is (5)?"

    def additive_scores(query, key, w_query, w_key, w):
        return torch.tanh(((query @ w_query)[..., :, None, :] + (key @ w_key)[..., None, :, :]) @ w)


class tanh_of_each_alone:
    """tanh was taken of the query's part and of the key's part, each alone, and their results were added."""

    fails = ["additive", "widths", "batch"]
    hint = "Then a query adds the same number to all its scores, and softmax can't see it. What has to be added before tanh?"

    def additive_scores(query, key, w_query, w_key, w):
        return (torch.tanh(query @ w_query)[..., :, None, :] + torch.tanh(key @ w_key)[..., None, :, :]) @ w


class hidden_numbers_unweighed:
    """The hidden numbers were added up without w."""

    fails = ["additive", "widths", "batch", "gradient"]
    hint = "Which of the five inputs does your code never use? What is it for?"

    def additive_scores(query, key, w_query, w_key, w):
        return torch.tanh((query @ w_query)[..., :, None, :] + (key @ w_key)[..., None, :, :]).sum(dim=-1)


class hidden_numbers_averaged:
    """The weighed hidden numbers were averaged, where a product with w adds them up."""

    fails = ["additive", "widths", "batch"]
    hint = "By what did a mean divide that a dot product does not?"

    def additive_scores(query, key, w_query, w_key, w):
        return (torch.tanh((query @ w_query)[..., :, None, :] + (key @ w_key)[..., None, :, :]) * w).mean(dim=-1)


class multiplied_before_tanh:
    """The query's part and the key's part were multiplied, where additive attention adds them."""

    fails = ["additive", "widths", "batch"]
    hint = "What gave additive attention its name?"

    def additive_scores(query, key, w_query, w_key, w):
        return torch.tanh((query @ w_query)[..., :, None, :] * (key @ w_key)[..., None, :, :]) @ w


class query_matrix_for_both:
    """The keys were projected by w_query too."""

    fails = ["additive", "widths", "batch", "gradient"]
    hint = "Which of the five inputs does your code never use? Whose is it?"

    def additive_scores(query, key, w_query, w_key, w):
        return torch.tanh((query @ w_query)[..., :, None, :] + (key @ w_query)[..., None, :, :]) @ w


class stacked_in_the_wrong_order:
    """Query and key were joined in one order, their matrices in the other."""

    fails = ["additive", "widths", "batch"]
    hint = "The first numbers of the long vector meet the first rows of the stacked matrix. Whose numbers are first, and whose rows?"

    def additive_scores(query, key, w_query, w_key, w):
        every = [*torch.broadcast_shapes(query.shape[:-2], key.shape[:-2]), query.shape[-2], key.shape[-2], -1]
        joined = torch.cat([query[..., :, None, :].expand(every), key[..., None, :, :].expand(every)], dim=-1)
        return torch.tanh(joined @ torch.cat([w_key, w_query])) @ w


class neighbours_added:
    """Query 0 was added to key 0, query 1 to key 1, and so on, where every query is to meet every key."""

    fails = ["additive", "widths", "batch", "gradient"]
    hint = "Two queries and three keys make how many pairs? Which axis is still missing in each of the two?"

    def additive_scores(query, key, w_query, w_key, w):
        return torch.tanh(query @ w_query + key @ w_key) @ w


class additive_row_for_each_key:
    """The table of additive scores lies on its side: a row for each key, a column for each query."""

    fails = ["additive", "widths", "batch"]
    hint = "Each query reads along its own row. Which of the two should vary along the first axis of the pairs?"

    def additive_scores(query, key, w_query, w_key, w):
        return torch.tanh((query @ w_query)[..., None, :, :] + (key @ w_key)[..., :, None, :]) @ w


class additive_single_query_squeezed:
    """Axes of length 1 were squeezed out of the additive scores, so a single query lost its row."""

    fails = ["additive"]
    hint = "The product with a column leaves an axis of length 1 at the end. Which axis does `squeeze` take away when you name none?"

    def additive_scores(query, key, w_query, w_key, w):
        pairs = torch.tanh((query @ w_query)[..., :, None, :] + (key @ w_key)[..., None, :, :])
        return (pairs @ w.reshape(-1, 1)).squeeze()


class paired_before_projection:
    """Query and key were brought to one shape before their matrices had made them equally wide."""

    fails = ["widths"]
    hint = "Which of the two widths need not agree, and after which step do they?"

    def additive_scores(query, key, w_query, w_key, w):
        asking, offering = torch.broadcast_tensors(query[..., :, None, :], key[..., None, :, :])
        return torch.tanh(asking @ w_query + offering @ w_key) @ w


class pairs_counted_from_the_front:
    """The axes for the pairs were put in at places counted from the front, where a batch stands."""

    fails = ["batch"]
    hint = "`[:, None]` and `[None, :]` count from the first axis. What can stand in their brackets so that they count from the last?"

    def additive_scores(query, key, w_query, w_key, w):
        return torch.tanh((query @ w_query)[:, None] + (key @ w_key)[None, :]) @ w


class through_numpy:
    """The additive scores were computed in NumPy, and autograd could not follow."""

    fails = ["gradient"]
    hint = "`detach()` cuts a tensor off from what it was made of. How could the matrices be learnt then?"

    import numpy as np

    def additive_scores(query, key, w_query, w_key, w):
        query, key, w_query, w_key, w = (x.detach().numpy() for x in (query, key, w_query, w_key, w))
        pairs = (query @ w_query)[..., :, None, :] + (key @ w_key)[..., None, :, :]
        return torch.from_numpy(np.tanh(pairs) @ w)


class new_tensor_of_scores:
    """A new tensor was made of the dot products, and the way back to query and key was lost."""

    fails = ["dot", "gradient"]
    hint = "`torch.tensor(...)` copies numbers, not where they came from. How can the scores stay what they were computed as?"

    def dot_product_scores(query, key):
        return torch.tensor((query @ key.transpose(-2, -1)).tolist())


class matches_not_shared_out:
    """The values were added up by the matches as they are, and a row of matches need not add up to 1."""

    fails = ["average"]
    hint = "Matches of 1, 2 and 3 add up to 6. What must become of them before they are shares?"

    def weighted_average(matches, value):
        return matches @ value


class divided_by_number_of_keys:
    """The sum was divided by the number of keys, not by what the matches of the row add up to."""

    fails = ["average", "attend", "large_scores"]
    hint = "That is a mean in which every key counts as one. How much do the keys of this row count together?"

    def weighted_average(matches, value):
        return matches @ value / matches.shape[-1]


class shares_by_column:
    """The matches were divided by the sums of their columns, so each key gave out one whole instead of each query."""

    fails = ["average", "attend", "large_scores"]
    hint = "A row is a query, a column is a key. Whose shares have to add up to 1?"

    def weighted_average(matches, value):
        return matches / matches.sum(dim=-2, keepdim=True) @ value


class shares_of_the_whole_table:
    """The matches were divided by the sum of the whole table, where each row has a whole of its own."""

    fails = ["average", "attend", "large_scores"]
    hint = "How many queries are there, and how much does each have to share out?"

    def weighted_average(matches, value):
        return matches / matches.sum() @ value


class sums_without_their_axis:
    """The sums of the rows lost their axis, so they lined up with the keys instead of the rows."""

    fails = ["average", "attend", "large_scores", "gradient"]
    hint = "A table of shape (rows, keys) is divided by sums of shape (rows,). With which of its axes does broadcasting match them?"

    def weighted_average(matches, value):
        return matches / matches.sum(dim=-1) @ value


class softmax_of_matches:
    """Softmax was taken of the matches, which are to be divided by their sum as they are."""

    fails = ["average", "attend", "large_scores"]
    hint = "Softmax makes matches of scores and then shares of matches. Which of these two steps is left to do here, and what does a match of 0 get from each?"

    def weighted_average(matches, value):
        return torch.softmax(matches, dim=-1) @ value


class score_not_asked:
    """Dot products were compared, whatever score was given."""

    fails = ["attend", "large_scores"]
    hint = "Which of the four inputs does your code never use?"

    def attend(query, key, value, score):
        return weighted_average(torch.softmax(dot_product_scores(query, key), dim=-1), value)


class score_asked_backwards:
    """The score was asked with the key first and the query second."""

    fails = ["attend", "large_scores", "gradient"]
    hint = "Scores have a row for each vector of the first input. Who asks, and who is asked?"

    def attend(query, key, value, score):
        return weighted_average(torch.softmax(score(key, query), dim=-1), value)


class scores_shared_out:
    """The scores were divided by their sum without softmax."""

    fails = ["attend", "large_scores"]
    hint = "The shares add up to 1, but which key gets the largest when scores are negative? What does the power of e do to them first?"

    def attend(query, key, value, score):
        return weighted_average(score(query, key), value)


class softmax_over_queries:
    """Softmax ran along the queries, so each key gave out one whole instead of each query."""

    fails = ["attend", "large_scores"]
    hint = "A row is a query, a column is a key. Whose weights have to add up to 1?"

    def attend(query, key, value, score):
        return torch.softmax(score(query, key), dim=-2) @ value


class scaled_whatever_the_score:
    """The scores that the given function returned were divided by the square root of the width."""

    fails = ["attend"]
    hint = "Is the size of its scores not the business of whoever brings a score? What if there is no dot product in it?"

    def attend(query, key, value, score):
        scores = score(query, key) / query.shape[-1] ** 0.5
        return weighted_average(torch.softmax(scores, dim=-1), value)


class keys_averaged:
    """The keys were averaged instead of the values."""

    fails = ["attend", "large_scores", "gradient"]
    hint = "A key is what a word can be found by. What does the word give, once it is found?"

    def attend(query, key, value, score):
        return weighted_average(torch.softmax(score(query, key), dim=-1), key)


class best_key_only:
    """The best key got everything, and the others nothing."""

    fails = ["attend", "gradient"]
    hint = "Softmax shares, it does not choose. What does the second best key get, and could a gradient tell which key would have been better?"

    from torch.nn import functional as F

    def attend(query, key, value, score):
        best = score(query, key).argmax(dim=-1)
        return weighted_average(F.one_hot(best, key.shape[-2]).to(value.dtype), value)


class weights_returned_too:
    """Two things were returned, output and weights, where the output alone was asked for."""

    fails = ["attend", "large_scores", "gradient"]
    hint = "What does your last line return, and what does the signature promise?"

    def attend(query, key, value, score):
        weights = torch.softmax(score(query, key), dim=-1)
        return weighted_average(weights, value), weights


class powers_too_small:
    """The powers of e were taken of the scores as they are, and those of -1000 are all 0."""

    fails = ["large_scores"]
    hint = "The average would have shared them out, but 0 / 0 is not a number. Which function takes the powers of differences only?"

    def attend(query, key, value, score):
        return weighted_average(score(query, key).exp(), value)


class middle_is_lowest:
    """The key in the middle scored lowest instead of highest."""

    fails = ["middle"]
    hint = "You have the right bend, upside down. Which of the three tensors can turn all scores round?"

    def prefer_the_middle():
        return torch.tensor([[1.0, 1.0]]), torch.tensor([[1.0, -1.0]]), -torch.ones(2)


class one_hidden_number:
    """There was a single hidden number, and one tanh only rises or only falls."""

    fails = ["middle"]
    hint = "One tanh is highest at an end, as a line is. What if one that rises and one that falls are added?"

    def prefer_the_middle():
        return torch.tensor([[1.0]]), torch.tensor([[1.0]]), torch.tensor([1.0])


class query_left_out:
    """The query was multiplied by zeros, and without it the score of the key 0 is 0, halfway between those of any two opposite keys."""

    fails = ["middle"]
    hint = "tanh(-k) is -tanh(k), so what one key wins its opposite loses. What can the query add to move the two tanh apart?"

    def prefer_the_middle():
        return torch.zeros(1, 2), torch.tensor([[2.0, -1.0]]), torch.ones(2)


class both_move_the_same_way:
    """Both tanh were moved by the query, but both rise with the key, so an end still scores highest."""

    fails = ["middle"]
    hint = "A hill has a side that rises and a side that falls. Which tensor decides whether a tanh falls?"

    def prefer_the_middle():
        return torch.tensor([[1.0, -1.0]]), torch.tensor([[1.0, 1.0]]), torch.ones(2)


class one_millionth_added:
    """A small number was added to the sum of each row, and matches may be smaller than that."""

    fails = ["average", "attend"]
    hint = "Matches a million times smaller are the same shares. How small may the sum of a row be?"

    def weighted_average(matches, value):
        return matches / (matches.sum(dim=-1, keepdim=True) + 1e-6) @ value


class sum_of_matches_detached:
    """The sum of each row was cut off the graph, as if it did not depend on the matches."""

    fails = ["gradient"]
    hint = "A larger match makes the sum larger too. Does the gradient hear of that?"

    def weighted_average(matches, value):
        return matches / matches.sum(dim=-1, keepdim=True).detach() @ value


class average_in_32_bits:
    """The average was made in 32 bits, also where the inputs have 64."""

    fails = ["average", "attend"]
    hint = "The output has 64 bits again. How many digits had the shares on the way?"

    def weighted_average(matches, value):
        matches, given = matches.float(), matches.dtype
        return (matches / matches.sum(dim=-1, keepdim=True) @ value.float()).to(given)


class weights_in_32_bits:
    """Softmax was taken in 32 bits, also where the scores have 64."""

    fails = ["attend"]
    hint = "The weights have 64 bits again. How many digits had they on the way?"

    def attend(query, key, value, score):
        scores = score(query, key)
        return weighted_average(torch.softmax(scores.float(), dim=-1).to(scores.dtype), value)
