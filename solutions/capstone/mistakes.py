"""Wrong answers that people write. Parsed, never imported; see autograder/exercise/known.py."""
import math

import torch
from torch import nn
from torch.nn import functional as F


class mask_in_the_first_layer_only:
    """Only the first layer has a mask; the ones above it look at everything."""

    fails = ["past", "rhyme", "sorting"]
    hint = "The first layer keeps the future out. What do the words tell each other in the second?"

    class Layer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff):
            super().__init__()
            self.num_heads = num_heads
            self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
            self.to_heads = nn.Linear(d_model, 3 * d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)
            self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

        def forward(self, x, masked):
            x = x + self.look(self.norm1(x), masked)
            return x + self.feed_forward(self.norm2(x))

        def look(self, x, masked):
            heads = [each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.to_heads(x).chunk(3, dim=-1)]
            return self.to_output(F.scaled_dot_product_attention(*heads, is_causal=masked).transpose(1, 2).flatten(start_dim=2))

    class Transformer(nn.Module):
        def __init__(self, vocabulary, length, d_model, num_heads, d_ff, num_layers):
            super().__init__()
            self.length = length
            self.words = nn.Embedding(vocabulary, d_model)
            self.positions = nn.Embedding(length, d_model)
            self.layers = nn.ModuleList(Layer(d_model, num_heads, d_ff) for _ in range(num_layers))
            self.norm = nn.LayerNorm(d_model)
            self.to_logits = nn.Linear(d_model, vocabulary)

        def forward(self, tokens):
            x = self.words(tokens) + self.positions.weight[: tokens.shape[1]]
            for layer in self.layers:
                x = layer(x, masked=layer is self.layers[0])
            return self.to_logits(self.norm(x))


class too_slow:
    """The training goes in the right direction, and is over before it has got there."""

    fails = ["rhyme", "sorting"]
    hint = "By how much did the loss fall in the first twenty steps? How long are the steps that your optimiser takes, and would another rate, or another optimiser, get further?"

    def train(model, sequences, steps, begin=1):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.003)
        losses = []
        for _ in range(steps):
            batch = sequences[torch.randperm(len(sequences))[:64]]
            loss = next_token_loss(model(batch), batch, begin)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses


class no_mask:
    """Each word looks at the words after it too, so the model is shown what it should guess."""

    fails = ["past", "rhyme", "sorting"]
    hint = "After *humpty* the model is to guess *dumpty*. Where does that word stand already while it trains?"

    class Layer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff):
            super().__init__()
            self.num_heads = num_heads
            self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
            self.to_heads = nn.Linear(d_model, 3 * d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)
            self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

        def forward(self, x):
            x = x + self.look(self.norm1(x))
            return x + self.feed_forward(self.norm2(x))

        def look(self, x):
            heads = [each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.to_heads(x).chunk(3, dim=-1)]
            return self.to_output(F.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(start_dim=2))


class mask_upside_down:
    """The mask lies the wrong way round: a word looks at itself and at what comes after it, and at nothing before."""

    fails = ["past", "order", "rhyme", "sorting"]
    hint = "Row 0 of the mask belongs to the first word. How many positions may it look at, and how many may the last word?"

    class Layer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff):
            super().__init__()
            self.num_heads = num_heads
            self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
            self.to_heads = nn.Linear(d_model, 3 * d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)
            self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

        def forward(self, x):
            x = x + self.look(self.norm1(x))
            return x + self.feed_forward(self.norm2(x))

        def look(self, x):
            heads = [each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.to_heads(x).chunk(3, dim=-1)]
            mask = x.new_ones(x.shape[1], x.shape[1]).triu().bool()
            return self.to_output(F.scaled_dot_product_attention(*heads, mask).transpose(1, 2).flatten(start_dim=2))


class mask_hides_the_word_itself:
    """A word may not look at itself, so the first one looks at nothing, and softmax divides zero by zero."""

    fails = ["logits", "past", "order", "alone", "residual", "heads", "start", "steps", "greedy", "window", "rhyme", "sorting"]
    hint = "Which words may the first one look at? What is the sum of no powers at all?"

    class Layer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff):
            super().__init__()
            self.num_heads = num_heads
            self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
            self.to_heads = nn.Linear(d_model, 3 * d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)
            self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

        def forward(self, x):
            x = x + self.look(self.norm1(x))
            return x + self.feed_forward(self.norm2(x))

        def look(self, x):
            heads = [each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.to_heads(x).chunk(3, dim=-1)]
            query, key, value = heads
            scores = query @ key.mT / query.shape[-1] ** 0.5
            seen = x.new_ones(x.shape[1], x.shape[1]).tril(-1).bool()
            weights = scores.masked_fill(~seen, -math.inf).softmax(dim=-1)
            return self.to_output((weights @ value).transpose(1, 2).flatten(start_dim=2))


class heads_look_at_each_other:
    """The axes of heads and words were not swapped, so the heads of one word look at each other and words hear nothing of each other."""

    fails = ["past", "order", "rhyme", "sorting"]
    hint = "Attention mixes along the last axis but one. Do the words of a text stand there, or the heads of one word?"

    class Layer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff):
            super().__init__()
            self.num_heads = num_heads
            self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
            self.to_heads = nn.Linear(d_model, 3 * d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)
            self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

        def forward(self, x):
            x = x + self.look(self.norm1(x))
            return x + self.feed_forward(self.norm2(x))

        def look(self, x):
            heads = [each.unflatten(-1, (self.num_heads, -1)) for each in self.to_heads(x).chunk(3, dim=-1)]
            return self.to_output(F.scaled_dot_product_attention(*heads, is_causal=True).flatten(start_dim=2))


class texts_look_at_each_other:
    """Attention runs along the batch: a word looks at the words at its own position in the texts before."""

    fails = ["past", "order", "alone", "rhyme", "sorting"]
    hint = "Along which axis do the words of one text stand, and where does your attention expect them?"

    class Layer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff):
            super().__init__()
            self.num_heads = num_heads
            self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
            self.to_heads = nn.Linear(d_model, 3 * d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)
            self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

        def forward(self, x):
            x = x + self.look(self.norm1(x))
            return x + self.feed_forward(self.norm2(x))

        def look(self, x):
            heads = [each.transpose(0, 1).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.to_heads(x).chunk(3, dim=-1)]
            looked = F.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).flatten(start_dim=2)
            return self.to_output(looked.transpose(0, 1))


class norm_over_the_batch:
    """The norm, written by hand, takes its mean and its deviation over the texts of the batch too."""

    fails = ["alone"]
    hint = "Over which axes does your norm take the mean? What stands along the first of them?"

    class Layer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff):
            super().__init__()
            self.num_heads = num_heads
            self.to_heads = nn.Linear(d_model, 3 * d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)
            self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

        def forward(self, x):
            x = x + self.look(self.norm(x))
            return x + self.feed_forward(self.norm(x))

        def norm(self, x):
            centred = x - x.mean(dim=(0, 2), keepdim=True)
            return centred / (centred.square().mean(dim=(0, 2), keepdim=True) + 1e-5).sqrt()

        def look(self, x):
            heads = [each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.to_heads(x).chunk(3, dim=-1)]
            return self.to_output(F.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).flatten(start_dim=2))


class mask_of_full_length:
    """The mask has the size of the longest text, and shorter texts don't fit it."""

    fails = ["logits", "past", "greedy", "window", "rhyme", "sorting", "device"]
    hint = "How many words does the text have that is just being read? Which part of the mask belongs to them?"

    class Layer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, length):
            super().__init__()
            self.num_heads = num_heads
            self.register_buffer("seen", torch.ones(length, length).tril().bool())
            self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
            self.to_heads = nn.Linear(d_model, 3 * d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)
            self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

        def forward(self, x):
            x = x + self.look(self.norm1(x))
            return x + self.feed_forward(self.norm2(x))

        def look(self, x):
            heads = [each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.to_heads(x).chunk(3, dim=-1)]
            scores = heads[0] @ heads[1].mT / heads[0].shape[-1] ** 0.5
            weights = scores.masked_fill(~self.seen, -math.inf).softmax(dim=-1)
            return self.to_output((weights @ heads[2]).transpose(1, 2).flatten(start_dim=2))

    class Transformer(nn.Module):
        def __init__(self, vocabulary, length, d_model, num_heads, d_ff, num_layers):
            super().__init__()
            self.length = length
            self.words = nn.Embedding(vocabulary, d_model)
            self.positions = nn.Embedding(length, d_model)
            self.layers = nn.ModuleList(Layer(d_model, num_heads, d_ff, length) for _ in range(num_layers))
            self.norm = nn.LayerNorm(d_model)
            self.to_logits = nn.Linear(d_model, vocabulary)

        def forward(self, tokens):
            x = self.words(tokens) + self.positions.weight[: tokens.shape[1]]
            for layer in self.layers:
                x = layer(x)
            return self.to_logits(self.norm(x))


class places_from_the_end:
    """A shorter text gets the last positions of the table, so a word's position depends on how long the text is."""

    fails = ["past", "rhyme", "sorting"]
    hint = "Which row of the table does the first word get in a text of 7 words, and which in a text of 4?"

    class Transformer(nn.Module):
        def __init__(self, vocabulary, length, d_model, num_heads, d_ff, num_layers):
            super().__init__()
            self.length = length
            self.words = nn.Embedding(vocabulary, d_model)
            self.positions = nn.Embedding(length, d_model)
            self.layers = nn.ModuleList(Layer(d_model, num_heads, d_ff) for _ in range(num_layers))
            self.norm = nn.LayerNorm(d_model)
            self.to_logits = nn.Linear(d_model, vocabulary)

        def forward(self, tokens):
            x = self.words(tokens) + self.positions.weight[-tokens.shape[1] :]
            for layer in self.layers:
                x = layer(x)
            return self.to_logits(self.norm(x))


class no_places:
    """Nothing says where a word stands, so a layer sees the words before as a bag."""

    fails = ["order", "rhyme", "sorting"]
    hint = "If *dumpty* and *humpty* change places, which number in your model changes?"

    class Transformer(nn.Module):
        def __init__(self, vocabulary, length, d_model, num_heads, d_ff, num_layers):
            super().__init__()
            self.length = length
            self.words = nn.Embedding(vocabulary, d_model)
            self.layers = nn.ModuleList(Layer(d_model, num_heads, d_ff) for _ in range(num_layers))
            self.norm = nn.LayerNorm(d_model)
            self.to_logits = nn.Linear(d_model, vocabulary)

        def forward(self, tokens):
            x = self.words(tokens)
            for layer in self.layers:
                x = layer(x)
            return self.to_logits(self.norm(x))


class places_along_the_batch:
    """The positions were added along the batch: each text has a position, and its words have none."""

    fails = ["order", "alone", "rhyme", "sorting"]
    hint = "Which axis of the embedded words counts the words of a text? Along which one did your table go?"

    class Transformer(nn.Module):
        def __init__(self, vocabulary, length, d_model, num_heads, d_ff, num_layers):
            super().__init__()
            self.length = length
            self.words = nn.Embedding(vocabulary, d_model)
            self.positions = nn.Embedding(length, d_model)
            self.layers = nn.ModuleList(Layer(d_model, num_heads, d_ff) for _ in range(num_layers))
            self.norm = nn.LayerNorm(d_model)
            self.to_logits = nn.Linear(d_model, vocabulary)

        def forward(self, tokens):
            x = self.words(tokens) + self.positions.weight[torch.arange(len(tokens)) % self.length][:, None]
            for layer in self.layers:
                x = layer(x)
            return self.to_logits(self.norm(x))


class layers_are_one:
    """One layer was made and is used again and again."""

    fails = ["layers"]
    hint = "`[layer] * 3` is a list of three. Of three what?"

    class Transformer(nn.Module):
        def __init__(self, vocabulary, length, d_model, num_heads, d_ff, num_layers):
            super().__init__()
            self.length = length
            self.words = nn.Embedding(vocabulary, d_model)
            self.positions = nn.Embedding(length, d_model)
            self.layers = nn.ModuleList([Layer(d_model, num_heads, d_ff)] * num_layers)
            self.norm = nn.LayerNorm(d_model)
            self.to_logits = nn.Linear(d_model, vocabulary)

        def forward(self, tokens):
            x = self.words(tokens) + self.positions.weight[: tokens.shape[1]]
            for layer in self.layers:
                x = layer(x)
            return self.to_logits(self.norm(x))


class layers_in_a_list:
    """The layers lie in a plain list, where the module doesn't see them: they are used and never trained."""

    fails = ["layers", "sorting", "device"]
    hint = "How would `model.parameters()` come upon what lies in a list? Which container of `nn` is made for modules?"

    class Transformer(nn.Module):
        def __init__(self, vocabulary, length, d_model, num_heads, d_ff, num_layers):
            super().__init__()
            self.length = length
            self.words = nn.Embedding(vocabulary, d_model)
            self.positions = nn.Embedding(length, d_model)
            self.layers = [Layer(d_model, num_heads, d_ff) for _ in range(num_layers)]
            self.norm = nn.LayerNorm(d_model)
            self.to_logits = nn.Linear(d_model, vocabulary)

        def forward(self, tokens):
            x = self.words(tokens) + self.positions.weight[: tokens.shape[1]]
            for layer in self.layers:
                x = layer(x)
            return self.to_logits(self.norm(x))


class norm_is_not_used:
    """A norm was made, and the text never goes through it."""

    fails = ["layers"]
    hint = "Which of the parts in `__init__` does `forward` not mention?"

    class Transformer(nn.Module):
        def __init__(self, vocabulary, length, d_model, num_heads, d_ff, num_layers):
            super().__init__()
            self.length = length
            self.words = nn.Embedding(vocabulary, d_model)
            self.positions = nn.Embedding(length, d_model)
            self.layers = nn.ModuleList(Layer(d_model, num_heads, d_ff) for _ in range(num_layers))
            self.norm = nn.LayerNorm(d_model)
            self.to_logits = nn.Linear(d_model, vocabulary)

        def forward(self, tokens):
            x = self.words(tokens) + self.positions.weight[: tokens.shape[1]]
            for layer in self.layers:
                x = layer(x)
            return self.to_logits(x)


class no_way_past_attention:
    """There is no residual connection around attention: a layer hands on the average alone."""

    fails = ["residual"]
    hint = "Attention returns an average over all that a token may see. Where in it is the token itself, and what has to be added?"

    class Layer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff):
            super().__init__()
            self.num_heads = num_heads
            self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
            self.to_heads = nn.Linear(d_model, 3 * d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)
            self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

        def forward(self, x):
            x = self.look(self.norm1(x))
            return x + self.feed_forward(self.norm2(x))

        def look(self, x):
            heads = [each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.to_heads(x).chunk(3, dim=-1)]
            return self.to_output(F.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).flatten(start_dim=2))


class no_way_past_the_network:
    """There is no residual connection around the feed-forward network: a layer hands on what the hidden units make of a token, and no more."""

    fails = ["residual"]
    hint = "What the feed-forward network returns takes the place of what went in. Does it hold everything that the next layer needs, or should it be added?"

    class Layer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff):
            super().__init__()
            self.num_heads = num_heads
            self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
            self.to_heads = nn.Linear(d_model, 3 * d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)
            self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

        def forward(self, x):
            x = x + self.look(self.norm1(x))
            return self.feed_forward(self.norm2(x))

        def look(self, x):
            heads = [each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.to_heads(x).chunk(3, dim=-1)]
            return self.to_output(F.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).flatten(start_dim=2))


class as_wide_as_there_should_be_heads:
    """Heads and their width are exchanged: each head is `num_heads` wide, and there are as many as the width allows."""

    fails = ["heads"]
    hint = "In `(-1, self.num_heads)`, which of the two is the number of heads, and which is the width of each?"

    class Layer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff):
            super().__init__()
            self.num_heads = num_heads
            self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
            self.to_heads = nn.Linear(d_model, 3 * d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)
            self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

        def forward(self, x):
            x = x + self.look(self.norm1(x))
            return x + self.feed_forward(self.norm2(x))

        def look(self, x):
            heads = [each.unflatten(-1, (-1, self.num_heads)).transpose(1, 2) for each in self.to_heads(x).chunk(3, dim=-1)]
            return self.to_output(F.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).flatten(start_dim=2))


class one_head_only:
    """One head as wide as the model, however many were asked for."""

    fails = ["heads"]
    hint = "Which line of your layer uses the number of heads, and how many tables of weights are there for one text?"

    class Layer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff):
            super().__init__()
            self.num_heads = 1
            self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
            self.to_heads = nn.Linear(d_model, 3 * d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)
            self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

        def forward(self, x):
            x = x + self.look(self.norm1(x))
            return x + self.feed_forward(self.norm2(x))

        def look(self, x):
            heads = [each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.to_heads(x).chunk(3, dim=-1)]
            return self.to_output(F.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).flatten(start_dim=2))


class probabilities_for_logits:
    """The model returns probabilities, and the loss applies softmax to them once more."""

    fails = ["logits"]
    hint = "What is the largest probability that softmax makes of numbers between 0 and 1, if there are 23 of them?"

    class Transformer(nn.Module):
        def __init__(self, vocabulary, length, d_model, num_heads, d_ff, num_layers):
            super().__init__()
            self.length = length
            self.words = nn.Embedding(vocabulary, d_model)
            self.positions = nn.Embedding(length, d_model)
            self.layers = nn.ModuleList(Layer(d_model, num_heads, d_ff) for _ in range(num_layers))
            self.norm = nn.LayerNorm(d_model)
            self.to_logits = nn.Linear(d_model, vocabulary)

        def forward(self, tokens):
            x = self.words(tokens) + self.positions.weight[: tokens.shape[1]]
            for layer in self.layers:
                x = layer(x)
            return self.to_logits(self.norm(x)).softmax(dim=-1)


class last_guess_only:
    """The model returns the logits after the last word only."""

    fails = ["logits", "past", "order", "alone", "residual", "heads", "start", "steps", "greedy", "window", "rhyme", "sorting", "device"]
    hint = "A text of 7 words is 6 guesses to learn from. Where are the others?"

    class Transformer(nn.Module):
        def __init__(self, vocabulary, length, d_model, num_heads, d_ff, num_layers):
            super().__init__()
            self.length = length
            self.words = nn.Embedding(vocabulary, d_model)
            self.positions = nn.Embedding(length, d_model)
            self.layers = nn.ModuleList(Layer(d_model, num_heads, d_ff) for _ in range(num_layers))
            self.norm = nn.LayerNorm(d_model)
            self.to_logits = nn.Linear(d_model, vocabulary)

        def forward(self, tokens):
            x = self.words(tokens) + self.positions.weight[: tokens.shape[1]]
            for layer in self.layers:
                x = layer(x)
            return self.to_logits(self.norm(x))[:, -1]


class logits_of_the_width:
    """The model returns the words as its layers leave them, `d_model` numbers wide, and no logit for any word."""

    fails = ["logits", "past", "order", "alone", "residual", "heads", "start", "steps", "greedy", "window", "rhyme", "sorting", "device"]
    hint = "How many numbers come out after each word, and how many words are there to choose from?"

    class Transformer(nn.Module):
        def __init__(self, vocabulary, length, d_model, num_heads, d_ff, num_layers):
            super().__init__()
            self.length = length
            self.words = nn.Embedding(vocabulary, d_model)
            self.positions = nn.Embedding(length, d_model)
            self.layers = nn.ModuleList(Layer(d_model, num_heads, d_ff) for _ in range(num_layers))
            self.norm = nn.LayerNorm(d_model)

        def forward(self, tokens):
            x = self.words(tokens) + self.positions.weight[: tokens.shape[1]]
            for layer in self.layers:
                x = layer(x)
            return self.norm(x)


class loud_embedding:
    """The embedding serves a second time, as the last matrix, with numbers that are much too large for that."""

    fails = ["start"]
    hint = "The numbers of a word have variance 1. What is the dot product of a word of width 32 with itself, and how sure is softmax then?"

    class Transformer(nn.Module):
        def __init__(self, vocabulary, length, d_model, num_heads, d_ff, num_layers):
            super().__init__()
            self.length = length
            self.words = nn.Embedding(vocabulary, d_model)
            self.positions = nn.Embedding(length, d_model)
            self.layers = nn.ModuleList(Layer(d_model, num_heads, d_ff) for _ in range(num_layers))
            self.norm = nn.LayerNorm(d_model)

        def forward(self, tokens):
            x = self.words(tokens) + self.positions.weight[: tokens.shape[1]]
            for layer in self.layers:
                x = layer(x)
            return self.norm(x) @ self.words.weight.T


class not_shifted:
    """Logits and tokens are not shifted against each other as they should be: the guess after the last token counts, and that after the first does not."""

    fails = ["shift", "begin", "rhyme", "sorting"]
    hint = "The logits after *humpty* are to say *dumpty*. With which token does your loss compare them?"

    def next_token_loss(logits, tokens, begin=1):
        return F.cross_entropy(logits[:, begin:].flatten(end_dim=1), tokens[:, begin:].flatten())


class texts_mixed_up:
    """Logits were laid out text by text and tokens position by position, so guesses meet tokens of other texts."""

    fails = ["shift", "begin", "rhyme", "sorting"]
    hint = "In which order do the rows of the one and the entries of the other follow each other, once they are flat?"

    def next_token_loss(logits, tokens, begin=1):
        return F.cross_entropy(logits[:, begin - 1 : -1].flatten(end_dim=1), tokens[:, begin:].T.flatten())


class sum_of_losses:
    """The losses of all guesses were added up, and no mean was taken."""

    fails = ["shift", "begin"]
    hint = "If a batch is twice as large, how large should the loss be?"

    def next_token_loss(logits, tokens, begin=1):
        return F.cross_entropy(logits[:, begin - 1 : -1].flatten(end_dim=1), tokens[:, begin:].flatten(), reduction="sum")


class begin_one_late:
    """The token at position `begin` itself doesn't count; the first that does is the one after it."""

    fails = ["begin", "sorting"]
    hint = "After which token is the token at position 5 guessed? Where do its logits stand?"

    def next_token_loss(logits, tokens, begin=1):
        begin = max(begin, 2) if begin > 1 else 0
        return F.cross_entropy(logits[:, begin:-1].flatten(end_dim=1), tokens[:, begin + 1 :].flatten())


class begin_one_early:
    """The token before position `begin` counts too."""

    fails = ["begin"]
    hint = "After which token is the token at position 5 guessed? Is it the first that counts?"

    def next_token_loss(logits, tokens, begin=1):
        first = max(begin - 2, 0)
        return F.cross_entropy(logits[:, first:-1].flatten(end_dim=1), tokens[:, first + 1 :].flatten())


class no_step:
    """The gradient is found, and no step is taken."""

    fails = ["steps", "rhyme", "sorting"]
    hint = "`backward` finds in which direction each parameter should go. Who goes there?"

    def train(model, sequences, steps, begin=1):
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        losses = []
        for _ in range(steps):
            batch = sequences[torch.randperm(len(sequences))[:64]]
            loss = next_token_loss(model(batch), batch, begin)
            optimizer.zero_grad()
            loss.backward()
            losses.append(loss.item())
        return losses


class gradients_add_up:
    """The gradients of all steps so far were added up, for nobody set them back to zero."""

    fails = ["steps", "rhyme", "sorting"]
    hint = "`backward` adds to what is there. What is there at the second step?"

    def train(model, sequences, steps, begin=1):
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        losses = []
        for _ in range(steps):
            batch = sequences[torch.randperm(len(sequences))[:64]]
            loss = next_token_loss(model(batch), batch, begin)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses


class steps_too_large:
    """The learning rate is so large that each step undoes the one before."""

    fails = ["steps", "rhyme", "sorting"]
    hint = "What does the loss do from one step to the next? By how much does Adam change each number in one step?"

    def train(model, sequences, steps, begin=1):
        optimizer = torch.optim.AdamW(model.parameters(), lr=10.0)
        losses = []
        for _ in range(steps):
            batch = sequences[torch.randperm(len(sequences))[:64]]
            loss = next_token_loss(model(batch), batch, begin)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses


class first_batch_only:
    """A few sequences were learnt by heart, and most of the others never had their turn."""

    fails = ["sorting"]
    hint = "How many of the 400 sequences has the model ever been shown?"

    def train(model, sequences, steps, begin=1):
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        losses = []
        for _ in range(steps):
            batch = sequences[:8]
            loss = next_token_loss(model(batch), batch, begin)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses


class copy_is_trained:
    """A copy of the model was trained, and the one that was handed over has learnt nothing."""

    fails = ["steps", "rhyme", "sorting"]
    hint = "Which model do the optimiser's parameters belong to, and which one does the caller hold?"

    import copy

    def train(model, sequences, steps, begin=1):
        model = copy.deepcopy(model)
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        losses = []
        for _ in range(steps):
            batch = sequences[torch.randperm(len(sequences))[:64]]
            loss = next_token_loss(model(batch), batch, begin)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses


class without_gradients:
    """The loss was computed where no gradient is kept."""

    fails = ["steps", "rhyme", "sorting"]
    hint = "What does `backward` need to know that `no_grad` has thrown away?"

    def train(model, sequences, steps, begin=1):
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        losses = []
        for _ in range(steps):
            batch = sequences[torch.randperm(len(sequences))[:64]]
            with torch.no_grad():
                loss = next_token_loss(model(batch), batch, begin)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses


class begin_is_not_handed_on:
    """`train` takes `begin` and doesn't hand it on, so the model also learns to guess what can't be guessed."""

    fails = ["steps"]
    hint = "Where does `begin` go, after `train` was told it?"

    def train(model, sequences, steps, begin=1):
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        losses = []
        for _ in range(steps):
            batch = sequences[torch.randperm(len(sequences))[:64]]
            loss = next_token_loss(model(batch), batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses


class losses_are_tensors:
    """The losses were collected as tensors, and each holds on to all that it was computed from."""

    fails = ["steps"]
    hint = "What hangs on a tensor that has a gradient? How does a number come out of it?"

    def train(model, sequences, steps, begin=1):
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        losses = []
        for _ in range(steps):
            batch = sequences[torch.randperm(len(sequences))[:64]]
            loss = next_token_loss(model(batch), batch, begin)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss)
        return losses


class start_is_left_out:
    """Only the new tokens came back, without the text that they continue."""

    fails = ["greedy", "window"]
    hint = "With what does the text begin that a reader wants to see?"

    def generate(model, start, count):
        text = start
        with torch.no_grad():
            for _ in range(count):
                logits = model(text[:, -model.length :])
                text = torch.cat([text, logits[:, -1].argmax(dim=-1, keepdim=True)], dim=1)
        return text[:, start.shape[1] :]


class drawn_not_chosen:
    """The next token was drawn by its probability, where the most probable one is asked for."""

    fails = ["greedy", "window"]
    hint = "Would the same start give the same text again? Which token has the largest logit?"

    def generate(model, start, count):
        text = start
        with torch.no_grad():
            for _ in range(count):
                logits = model(text[:, -model.length :])
                text = torch.cat([text, torch.multinomial(logits[:, -1].softmax(dim=-1), 1)], dim=1)
        return text


class shown_one_token:
    """The model is shown the newest token only and forgets what stands before it."""

    fails = ["greedy", "window"]
    hint = "After *humpty* comes *dumpty*, and after *dumpty* sometimes *sat* and sometimes *had*. What must the model see to know which?"

    def generate(model, start, count):
        text = start
        with torch.no_grad():
            for _ in range(count):
                logits = model(text[:, -1:])
                text = torch.cat([text, logits[:, -1].argmax(dim=-1, keepdim=True)], dim=1)
        return text


class text_outgrows_the_model:
    """The model was shown the whole text, also when it had become longer than the model can read."""

    fails = ["window"]
    hint = "How many positions does your model know, and which token is the least needed of those that stand before?"

    def generate(model, start, count):
        text = start
        with torch.no_grad():
            for _ in range(count):
                logits = model(text)
                text = torch.cat([text, logits[:, -1].argmax(dim=-1, keepdim=True)], dim=1)
        return text


class shown_the_beginning:
    """A text that is too long was cut at the end, so the model goes on guessing from the beginning."""

    fails = ["window"]
    hint = "Which tokens matter for the next one: the first or the last that fit?"

    def generate(model, start, count):
        text = start
        with torch.no_grad():
            for _ in range(count):
                logits = model(text[:, : model.length])
                text = torch.cat([text, logits[:, -1].argmax(dim=-1, keepdim=True)], dim=1)
        return text


class places_counted_on_the_cpu:
    """The positions whose vectors are looked up were counted on the CPU."""

    fails = ["device"]
    hint = "An embedding is asked where its table lies. Where does `torch.arange` count?"

    class Transformer(nn.Module):
        def __init__(self, vocabulary, length, d_model, num_heads, d_ff, num_layers):
            super().__init__()
            self.length = length
            self.words = nn.Embedding(vocabulary, d_model)
            self.positions = nn.Embedding(length, d_model)
            self.layers = nn.ModuleList(Layer(d_model, num_heads, d_ff) for _ in range(num_layers))
            self.norm = nn.LayerNorm(d_model)
            self.to_logits = nn.Linear(d_model, vocabulary)

        def forward(self, tokens):
            x = self.words(tokens) + self.positions(torch.arange(tokens.shape[1]))
            for layer in self.layers:
                x = layer(x)
            return self.to_logits(self.norm(x))


class sinusoids_that_are_no_buffer:
    """A table of sinusoids was kept in a plain attribute, which stays behind when the model is moved."""

    fails = ["device"]
    hint = "`model.to` moves parameters and buffers. How does a table become a buffer?"

    class Transformer(nn.Module):
        def __init__(self, vocabulary, length, d_model, num_heads, d_ff, num_layers):
            super().__init__()
            self.length = length
            self.words = nn.Embedding(vocabulary, d_model)
            angles = torch.arange(length)[:, None] * 10_000.0 ** (-torch.arange(0, d_model, 2) / d_model)
            self.positions = torch.cat([angles.sin(), angles.cos()], dim=1)
            self.layers = nn.ModuleList(Layer(d_model, num_heads, d_ff) for _ in range(num_layers))
            self.norm = nn.LayerNorm(d_model)
            self.to_logits = nn.Linear(d_model, vocabulary)

        def forward(self, tokens):
            x = self.words(tokens) + self.positions[: tokens.shape[1]]
            for layer in self.layers:
                x = layer(x)
            return self.to_logits(self.norm(x))


class mask_on_the_cpu:
    """The causal mask was made on the CPU."""

    fails = ["device"]
    hint = "`torch.ones` does not know where your words lie. Who tells it?"

    class Layer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff):
            super().__init__()
            self.num_heads = num_heads
            self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
            self.to_heads = nn.Linear(d_model, 3 * d_model, bias=False)
            self.to_output = nn.Linear(d_model, d_model, bias=False)
            self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

        def forward(self, x):
            x = x + self.look(self.norm1(x))
            return x + self.feed_forward(self.norm2(x))

        def look(self, x):
            query, key, value = (y.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for y in self.to_heads(x).chunk(3, dim=-1))
            mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            return self.to_output((weights @ value).transpose(1, 2).flatten(start_dim=2))
