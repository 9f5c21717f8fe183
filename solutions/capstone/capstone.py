# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: A transformer of your own
#     chapter: 08_complexity
#     forbidden: [transformer]
#     seconds: 30
# ---

# %% [markdown]
# # A transformer of your own
#
# You have written all the parts: heads, masks, places, feed-forward networks, residuals and norms. Here you put them together into
# a small **causal transformer**, a model that is shown some words and guesses the next one. Then you train it, on one core and in
# seconds, until it recites a nursery rhyme and sorts digits that it has never seen.
#
# Write your answer where `not answered yet` stands, run the cell, then run the check below it.
# Inside an answer you may write as you like; the names and what they take and return are fixed.
# Only the answer cells are handed in, so keep your helpers in them, also what you bring along from earlier exercises.
#
# torch's whole transformers and their layers are yours to write here and may not be taken ready-made. Their parts may:
# attention, norms, embeddings, optimisers.

# %%
import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from check import check

torch.set_num_threads(1)  # on tensors as small as these, several cores wait for each other longer than they compute

# %% [markdown]
# ## The model
#
# A word is a **token** here, a whole number from 0 up to and without `vocabulary`.
# `Transformer(vocabulary, length, d_model, num_heads, d_ff, num_layers)` takes texts of up to `length` tokens, all equally long.
# After each token it returns one number for each word that could come next. These are the **logits**: softmax, which is yet to
# come, makes them probabilities.
#
# * A token becomes `d_model` numbers that say which word it is, and where it stands.
# * Then follow `num_layers` layers, one on top of the other: self-attention with `num_heads` heads, and a feed-forward network
#   with `d_ff` hidden units, both with residual connections and norms. Pre-norm or post-norm, learned places or sinusoids, ReLU
#   or another bend: that is yours to choose.
# * What the model says after a token depends on that token, on those before it and on their order, and on nothing else: not on
#   later tokens, not on how many there are, not on the other texts of the batch.
# * Each layer has parameters of its own, $4 d_{\text{model}}^2 + 2 d_{\text{model}} d_{\text{ff}}$ or more, and every parameter is trained.
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
        self.places = nn.Embedding(length, d_model)
        self.layers = nn.ModuleList(Layer(d_model, num_heads, d_ff) for _ in range(num_layers))
        self.norm = nn.LayerNorm(d_model)
        self.to_logits = nn.Linear(d_model, vocabulary)
        ### END SOLUTION

    def forward(self, tokens: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch tokens vocabulary"]:
        """Return the logits of the next token, after each token."""
        ### BEGIN SOLUTION
        x = self.words(tokens) + self.places.weight[: tokens.shape[1]]
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


# %% check="logits" points=1
check("logits")

# %% check="past" points=3
check("past")

# %% check="order" points=1
check("order")

# %% check="alone" points=1
check("alone")

# %% check="layers" points=2
check("layers")

# %% check="start" points=1
check("start")

# %% [markdown]
# ## The loss
#
# The logits after a token are a guess at the next one, so they are compared with the token one place further on.
# `next_token_loss` is the **cross-entropy**: the mean of $-\log p$, where $p$ is the probability that the model gave to the token
# that came. The mean is taken over all texts, and over their tokens from place `begin` on; places are counted from 0.
# Nothing stands before the token at place 0, so it is never guessed.
#
# What the model says after the last token of a text is compared with nothing.
#
# Example: where all words have the same logit, the loss is $\log$ of the number of words, whatever `begin` is.


# %% answer="loss"
def next_token_loss(
    logits: Float[Tensor, "batch tokens vocabulary"], tokens: Int[Tensor, "batch tokens"], begin: int = 1
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the tokens from place `begin` on, each guessed from those before it."""
    ### BEGIN SOLUTION
    guesses = logits[:, begin - 1 : -1]
    return F.cross_entropy(guesses.flatten(end_dim=1), tokens[:, begin:].flatten())
    ### END SOLUTION


# %% check="shift" points=2
check("shift")

# %% check="begin" points=1
check("begin")

# %% [markdown]
# ## The training
#
# `train` takes `steps` steps of descent. Each step takes some of the sequences, or all of them, finds the loss from place `begin`
# on, and changes the model a little. Optimiser, learning rate and size of the batch are yours to choose; sooner or later each
# sequence must have its turn.
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


# %% check="steps" points=2
check("steps")

# %% [markdown]
# ## The text
#
# `generate` goes on writing. It appends `count` tokens to each text, one after the other, and each time the one with the largest
# logit; the next guess then sees it too. This is called *greedy*. What comes back begins with `start`.
#
# A model sees `length` tokens at most. Where the text is longer, it is shown the last `length` of them.


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


# %% check="greedy" points=2
check("greedy")

# %% check="window" points=1
check("window")

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

# %% [markdown]
# ## Not by heart
#
# One text can be learnt by heart; what is learnt from many should hold for others too. Here a sequence is four digits in any
# order, a sign that says *now*, and the same digits in order:
#
# | place | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 |
# |---|---|---|---|---|---|---|---|---|---|
# | token | 3 | 1 | 4 | 1 | *now* | 1 | 1 | 3 | 4 |
#
# There are five digits, and *now* is token 5. The first five tokens can't be guessed, so the loss begins at place 5.
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
