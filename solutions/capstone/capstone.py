# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: A transformer of your own
#     chapter: complexity
#     difficulty: hard
#     minutes: 120
#     forbidden: [transformer]
#     seconds: 30
# ---

# %% [markdown]
# # A transformer of your own
#
# You have written all the parts: heads, masks, positions, feed-forward networks, residuals and norms. Here you put them together into
# a small **causal transformer**, a model that is shown some words and guesses the next one. Then you train it, on one core and in
# seconds, until it recites a nursery rhyme and sorts digits that it has never seen.
#
# Write your answer where `not answered yet` stands, run the cell, then run the check below it.
# Where you are stuck, `hint("logits")` opens the first of three hints for that check. Hints cost nothing.
# Inside an answer you may write as you like; the names and what they take and return are fixed.
# Only the answer cells are handed in, so keep your helpers in them, also what you bring along from earlier exercises.
# Tensors that your functions are given may lie in memory in any order, as they do after `transpose`, and stay as they were.
#
# The transformer and its layers are yours to write here, so torch's own may not be taken. The parts may: attention, norms,
# embeddings, optimisers.

# %%
import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from check import check, hint

torch.set_num_threads(1)  # on tensors as small as these, several cores wait for each other longer than they compute

# %% [markdown]
# ## The model
#
# A word is a **token** here, a whole number from 0 to `vocabulary - 1`.
# `Transformer(vocabulary, length, d_model, num_heads, d_ff, num_layers)` takes texts of up to `length` tokens, equally long within
# a batch.
# After each token it returns one number for each word that could come next. These are the **logits**: softmax, which is yet to
# come, makes them probabilities.
#
# * A token becomes `d_model` numbers that say which word it is, and where it stands.
# * Then follow `num_layers` layers, one on top of the other: self-attention with `num_heads` heads, and a feed-forward network
#   with `d_ff` hidden units, both with residual connections and norms. Pre-norm or post-norm, learned positions or sinusoids, ReLU
#   or another bend: that is yours to choose.
# * What the model says after a token depends on that token, on those before it and on their order, and on nothing else: not on
#   later tokens, not on how many there are, not on the other texts of the batch.
# * Each layer has parameters of its own, $4 d_{\text{model}}^2 + 2 d_{\text{model}} d_{\text{ff}}$ or more, and every parameter is trained.
# * A model that is moved to another device, as by `model.to("cuda")`, reads texts that lie there: what it makes or keeps lies where they
#   do. The check `device` needs no GPU.
# * A fresh model is not sure of anything. If all words had the same probability, the loss would be $\log$ of their number; that of
#   a fresh model is within 1 of it.
#
# Example: 2 texts of 5 tokens and a vocabulary of 19 words give logits of shape (2, 5, 19).


# %% answer="model"
class Transformer(nn.Module):
    """A stack of layers that guesses, after each token, the next one."""

    def __init__(self, vocabulary: int, length: int, d_model: int, num_heads: int, d_ff: int, num_layers: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.length = length
        self.words = nn.Embedding(vocabulary, d_model)
        self.positions = nn.Embedding(length, d_model)
        self.layers = nn.ModuleList(Layer(d_model, num_heads, d_ff) for _ in range(num_layers))
        self.norm = nn.LayerNorm(d_model)
        self.to_logits = nn.Linear(d_model, vocabulary)
        ### END SOLUTION

    def forward(self, tokens: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch tokens vocabulary"]:
        """Return the logits of the next token, after each token."""
        ### BEGIN SOLUTION
        x = self.words(tokens) + self.positions.weight[: tokens.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return self.to_logits(self.norm(x))


class Layer(nn.Module):
    """Causal self-attention and a feed-forward network, each behind a norm and beside a residual connection."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int):
        super().__init__()
        self.num_heads = num_heads
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.to_heads = nn.Linear(d_model, 3 * d_model, bias=False)
        self.to_output = nn.Linear(d_model, d_model, bias=False)
        self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

    def forward(self, x: Float[Tensor, "batch tokens d_model"]) -> Float[Tensor, "batch tokens d_model"]:
        x = x + self.look(self.norm1(x))
        return x + self.feed_forward(self.norm2(x))

    def look(self, x: Float[Tensor, "batch tokens d_model"]) -> Float[Tensor, "batch tokens d_model"]:
        """Return what each token gathers from itself and the tokens before it."""
        heads = [each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.to_heads(x).chunk(3, dim=-1)]
        return self.to_output(F.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).flatten(start_dim=2))
        ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. For 2 texts of 5 tokens, what is the shape after the embedding, after each layer, and at the end?
# 2. It is (2, 5, `d_model`) from the embedding through all the layers, and (2, 5, `vocabulary`) at the end, without
#    softmax. Write the layer as a module of its own, in this cell; it is the encoder layer with a causal mask.
# 3. You need an embedding for the words, something for the positions, a list of layers that torch knows about, a last norm,
#    and an `nn.Linear` that leads to the vocabulary. A text may be shorter than `length`: take only as many positions as it
#    has tokens.

# %% check="logits" points=1
check("logits")

# %% check="past" points=2
check("past")

# %% [markdown] tags=["hints"]
# 1. Which positions may the query at position 2 look at, and does that hold in every layer?
# 2. At itself and at those before it, in each layer and each head. Attention mixes along the last axis but one, so the
#    tokens have to stand there, and the heads before them. Positions are counted from the beginning of the text.
# 3. `F.scaled_dot_product_attention` takes (batch, heads, tokens, width), and its `is_causal` hides what comes later. A
#    mask of your own is a lower triangle with its diagonal, with as many rows as this text has tokens.

# %% check="order" points=1
check("order")

# %% [markdown] tags=["hints"]
# 1. If the first two words change places, what changes for the last word, which looks at both?
# 2. Nothing, as long as a key doesn't know where it stands: a weighted average has no order. So each word has to bring
#    its position along into the first layer.
# 3. Add to each embedded word a row that belongs to its position: learned, from an embedding with `length` rows, or
#    sinusoids. The rows go along the axis of the tokens, and every text of the batch gets the same ones.

# %% check="alone" points=1
check("alone")

# %% [markdown] tags=["hints"]
# 1. Which axis of your tensors is the batch, and which of your steps mixes numbers along it?
# 2. None may. Attention mixes tokens of one text; norms, projections and the feed-forward network work on one token.
#    Look at the shapes right before attention and where the positions are added.
# 3. Attention gets (batch, heads, tokens, width), and the positions have the shape (tokens, `d_model`).
#    `nn.MultiheadAttention` takes the first axis for the tokens unless it is told `batch_first=True`.

# %% check="layers" points=2
check("layers")

# %% [markdown] tags=["hints"]
# 1. How many numbers do `model.parameters()` hold in models of one, two and three layers?
# 2. A module finds what is assigned to it, and what lies in a container of `nn`, but not what lies in a plain list.
#    `[layer] * 3` is one layer three times. And a part that `forward` doesn't use gets no gradient.
# 3. `nn.ModuleList` takes the layers; make a new one in each round of a comprehension. Then see that `forward` mentions
#    each part that `__init__` makes.

# %% check="residual" points=1
check("residual")

# %% [markdown] tags=["hints"]
# 1. Attention takes an average over many tokens. After a dozen layers of it, what is left of the one token whose position it is?
# 2. Nothing, unless the token itself is handed on beside the average. That is what residual connections are for, and there are two
#    of them in each layer.
# 3. Add what comes out of attention to what went in, and hand on the sum; then do the same with the feed-forward network. The norm
#    stands inside the sum (pre-norm) or behind it (post-norm).

# %% check="heads" points=1
check("heads")

# %% [markdown] tags=["hints"]
# 1. With 6 heads and a width of 12, how wide is each head, and how many tables of weights are there for each text?
# 2. Each head is `d_model // num_heads` wide and has a table of its own. Which of the two numbers do you divide by, and on which of
#    the new axes do the heads stand?
# 3. `x.unflatten(-1, (num_heads, -1))` makes `num_heads` parts of the last axis. Then exchange the axis of the heads with that of the
#    tokens, so that attention mixes tokens, in each head by itself.

# %% check="start" points=1
check("start")

# %% [markdown] tags=["hints"]
# 1. How far apart are the logits of a fresh model, and what does softmax make of such numbers?
# 2. They should be near 0, and differ by 1 or so. The numbers of a fresh `nn.Embedding` have variance 1, so a dot
#    product of `d_model` of them is large. Without a norm, what the layers add makes it larger still.
# 3. Let the last step be a norm and then an `nn.Linear`, whose fresh numbers are small. If you use the embedding a
#    second time there, begin with much smaller numbers in it.

# %% check="device" points=1
check("device")

# %% [markdown] tags=["hints"]
# 1. The text is on a GPU. Which tensors take part in your model that are neither tokens nor parameters?
# 2. Positions that `torch.arange` counts, and a mask that `torch.ones` makes, lie on the CPU, unless told otherwise. And a model that is moved
#    takes its parameters and buffers along, not a tensor that it merely keeps in an attribute.
# 3. `torch.arange` and `torch.ones` take `device=tokens.device`. Keep a table of sinusoids with `self.register_buffer`.

# %% [markdown]
# ## The loss
#
# The logits after a token are a guess at the next one, so they are compared with the token one position further on.
# `next_token_loss` is the **cross-entropy**: the mean of $-\log p$, where $p$ is the probability that the model gave to the token
# that came. The mean is taken over all texts, and over their tokens from position `begin` on; positions are counted from 0.
# Nothing stands before the token at position 0, so it is never guessed.
#
# What the model says after the last token of a text is compared with nothing.
#
# Example: where all words have the same logit, the loss is $\log$ of the number of words, whatever `begin` is.


# %% answer="loss"
def next_token_loss(
    logits: Float[Tensor, "batch tokens vocabulary"], tokens: Int[Tensor, "batch tokens"], begin: int = 1
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the tokens from position `begin` on, each guessed from those before it."""
    ### BEGIN SOLUTION
    guesses = logits[:, begin - 1 : -1]
    return F.cross_entropy(guesses.flatten(end_dim=1), tokens[:, begin:].flatten())
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. In *humpty dumpty sat*, which word should the logits after *humpty* name, and which those after *sat*?
# 2. They should name *dumpty*, and those after *sat* are compared with nothing. So logits and tokens are shifted by one
#    position against each other, within each text, and the loss is the mean over all guesses.
# 3. Leave out the logits after the last token, and the token that nobody guesses. `F.cross_entropy` wants a row of
#    logits for each token and takes the mean by itself, so make one axis of batch and positions, in both alike. `reshape`
#    and `flatten` also do that with what was transposed.

# %% check="shift" points=2
check("shift")

# %% check="begin" points=1
check("begin")

# %% [markdown] tags=["hints"]
# 1. A text has six tokens, and `begin` is 3. How many guesses count, and after which token is the first of them made?
# 2. Three count, those for the tokens at positions 3, 4 and 5. A guess stands one position before its token, so the first one
#    is made after token 2. The mean is taken over these three alone.
# 3. The tokens are cut at `begin`, and the logits one position earlier; where they end doesn't depend on `begin`. With
#    `begin=1` you get what you had for the check `shift`.

# %% [markdown]
# ## The training
#
# `train` makes `steps` steps of gradient descent. Each step takes some of the sequences, or all of them, finds the loss from
# position `begin` on, and changes the model a little. Optimiser, learning rate and size of the batch are yours to choose; sooner or
# later each sequence must have its turn.
#
# * The model that was handed over is the one that learns, and it can be trained again later.
# * What comes back is a list of plain numbers: the loss of each step, as it was before the model was changed.
# * The judge gives each call 30 seconds on one core. The largest one has 400 sequences of 9 tokens, a model with two layers of
#   width 32, and 200 steps; with batches of 64 that takes a second or two.


# %% answer="train"
def train(model: nn.Module, sequences: Int[Tensor, "count tokens"], steps: int, begin: int = 1) -> list[float]:
    """Train the model on the sequences; return the loss of each step."""
    ### BEGIN SOLUTION
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
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. What has to happen in one step, and in which order?
# 2. Choose a batch, find its loss from `begin` on, clear the old gradients, find the new ones, and let the optimiser
#    take its step. The optimiser is made once, before the loop, with the parameters of the model that was handed over.
# 3. AdamW with a rate of a few thousandths will do. `zero_grad` stands before `backward`, since earlier training may
#    have left a gradient, and `step` after it. Collect each loss as a plain number, by `.item()`.

# %% check="steps" points=2
check("steps")

# %% [markdown]
# ## The text
#
# `generate` goes on writing. It appends `count` tokens to each text, one after the other, and each time the one with the largest
# logit; the next guess then sees it too. This is called *greedy*. What comes back begins with `start`.
#
# A model sees `length` tokens at most. Where the text is longer, it is shown the last `length` of them.
# The model that comes in is always a `Transformer` of yours.


# %% answer="generate"
def generate(model: nn.Module, start: Int[Tensor, "batch tokens"], count: int) -> Int[Tensor, "batch more"]:
    """Return the texts with `count` more tokens, each the most probable one after those before it."""
    ### BEGIN SOLUTION
    text = start
    with torch.no_grad():
        for _ in range(count):
            logits = model(text[:, -model.length :])
            text = torch.cat([text, logits[:, -1].argmax(dim=-1, keepdim=True)], dim=1)
    return text
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. The model returns logits after each token of the text. Which of them are about the token that is yet to come?
# 2. Those after the last token. Choose the word with the largest logit, append it, and show the model the longer text;
#    do so `count` times. Nothing is drawn at random, and no gradient is needed.
# 3. Take the `argmax` at the last position, along the words, and keep that axis with length 1. Then `torch.cat` can put it
#    behind the text, along the axis of the tokens. Begin with `start` itself and return it all.

# %% check="greedy" points=2
check("greedy")

# %% check="window" points=1
check("window")

# %% [markdown] tags=["hints"]
# 1. The model reads 7 tokens and the text has 9. Which 7 does it need for the tenth?
# 2. The last 7. Cut only what the model is *shown*; the text that you return stays whole.
# 3. Let the model keep its `length` when it is made, and ask it here. A slice from minus that many on takes the last
#    ones, and takes all where there are fewer.

# %% [markdown]
# ## By heart
#
# Now all of it together. `recite()` trains a model on one text, a few steps at a time, and lets it speak after each round: it is
# given the first word and has to find the others. Watch where it gets stuck. The rhyme says *humpty dumpty* twice and
# *all the king's* twice, and goes on differently; what does a model need in order to know which time it is?

# %%
RHYME = """humpty dumpty sat on a wall humpty dumpty had a great fall
all the king's horses and all the king's men couldn't put humpty together again""".split()
WORDS = sorted(set(RHYME))


def recite(rounds: int = 6, steps: int = 4) -> None:
    """Train a small model on the rhyme, and print after each round what it says."""
    rhyme = torch.tensor([[WORDS.index(word) for word in RHYME]])
    model = Transformer(len(WORDS), len(RHYME), d_model=32, num_heads=4, d_ff=64, num_layers=2)
    for _ in range(rounds):
        loss = train(model, rhyme, steps)[-1]
        (said,) = generate(model, rhyme[:, :1], len(RHYME) - 1).tolist()
        print(f"loss {loss:.2f}:", " ".join(WORDS[token] for token in said))


# %% try="recite"
recite()

# %% check="rhyme" points=2
check("rhyme")

# %% [markdown] tags=["hints"]
# 1. What does the loss that `recite()` prints do: does it fall, does it lie still, or does it jump about?
# 2. If it is nearly 0 and the words are wrong, look at the future that the model may have seen, and at `generate`. If it
#    jumps, the steps are too large; if it falls too slowly, they are too small, or the optimiser is a plain one. Repair
#    first whatever fails above.
# 3. Adam and AdamW move each number by about the learning rate in a step. Try some rates between 0.001 and 0.01 and look
#    at the loss after 120 steps. It should be far below 1.

# %% [markdown]
# ## Not by heart
#
# One text can be learnt by heart; what is learnt from many should hold for others too. Here a sequence is four digits in any
# order, a sign that says *now*, and the same digits in order:
#
# | position | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 |
# |---|---|---|---|---|---|---|---|---|---|
# | token | 3 | 1 | 4 | 1 | *now* | 1 | 1 | 3 | 4 |
#
# There are five digits, and *now* is token 5. The first five tokens can't be guessed, so the loss begins at position 5.
# Of the 625 possible sequences the model trains on 400, and is asked about the others. Nobody tells it what "in order" means: the
# judge also uses an order of its own, drawn afresh, and the model has to find it in the data. It passes if at least half of the
# sequences come out right, from the first digit to the last. A training that works comes to nearly all.

# %%
NOW, DIGITS = 5, 4


def sort(rounds: int = 6, steps: int = 25) -> None:
    """Train a small model to sort, and print after each round how it sorts digits that it has not seen."""
    unsorted = torch.cartesian_prod(*[torch.arange(NOW)] * DIGITS)[torch.randperm(NOW**DIGITS)]
    now = torch.full((len(unsorted), 1), NOW)
    known, fresh = torch.cat([unsorted, now, unsorted.sort().values], dim=1).split([400, NOW**DIGITS - 400])
    model = Transformer(NOW + 1, known.shape[1], d_model=32, num_heads=2, d_ff=64, num_layers=2)
    for _ in range(rounds):
        loss = train(model, known, steps, begin=DIGITS + 1)[-1]
        said = generate(model, fresh[:, : DIGITS + 1], DIGITS)
        right = (said == fresh).all(dim=1).double().mean()
        print(f"loss {loss:.2f}: {right:.0%} right; {said[0, :DIGITS].tolist()} became {said[0, DIGITS + 1 :].tolist()}")


# %% try="sort"
sort()

# %% check="sorting" points=3
check("sorting")

# %% [markdown] tags=["hints"]
# 1. In 200 steps, how many of the 400 sequences does your model see, and how often each?
# 2. Each must have its turn many times, so a step that always takes the same few is not enough. The first five tokens
#    can't be guessed, so hand `begin` on to the loss. If the rhyme is learnt and this is not, look at how you choose the
#    batch.
# 3. `torch.randperm` puts the numbers of the sequences in a fresh order, and the first few dozen are a batch. With 64 in
#    each of 200 steps, each sequence has about 32 turns.
