# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: What a layer costs
#     chapter: complexity
#     difficulty: medium
#     minutes: 45
# ---

# %% [markdown]
# # What a layer costs
#
# What a program will cost can be worked out on paper, before it runs: how much it multiplies, how long its parts wait for each
# other, how much memory it holds. You write functions that predict; the checks then let torch do the work, measure, and compare.
# The chapter *complexity* has the idea.
#
# Write your answer where `not answered yet` stands, run the cell, then run the check below it.
# Where you are stuck, `hint("looking")` opens the first of three hints for that check. Hints cost nothing.
# Inside an answer you may write as you like; the names and what they take and return are fixed.
# Only the answer cells are handed in, so keep your helpers in them.
#
# All answers are whole numbers (`int`), and exact: a prediction that is nearly right is wrong here.

# %%
import math

from check import check, hint

FLOAT32 = 4  # bytes of one number

# %% [markdown]
# ## Three layers, four numbers
#
# A text has `n` words, two or more, and `d` numbers for each. Each of the three functions returns a tuple of four numbers,
# in this order:
#
# | number | what is counted |
# |---|---|
# | multiply-adds | in the products of matrices. Softmax, $\tanh$ and the scale are left out. |
# | rounds | products of matrices that must be made one after another, since each needs the result of the one before |
# | path | steps in which something said by the first word reaches the last |
# | bytes | what the layer holds at its peak, in float32, besides the words, its output and its matrices |
#
# The layers are those of the chapter:
#
# * **Attention** is the looking alone, with one head: the words as they are serve as queries, keys and values.
#   It holds one table of scores; the weights are written over the scores.
# * **Recurrence** is the plain one: in a first round all words go through a matrix of `d` by `d`, then one state after another
#   is made with a second one. The state before the first word is zero, and is multiplied like every other.
#   It holds one state.
# * **Convolution** makes each word from itself and the `k - 1` words before it, with a matrix of `d` by `d` for each place of the
#   window; `k` is two or more. Zeros stand before the first word, and are multiplied like words. It holds the `k - 1` words before.
#   All is counted for one layer, except the path: that is the number of such layers, without gaps, that it takes.
#
# Example: for 3 words of 5 numbers, attention costs `(90, 2, 1, 36)`.
#
# torch's counter counts multiplying and adding as two: a FLOP is half a multiply-add. The checks halve what it says.


# %% answer="costs"
def attention_cost(n: int, d: int) -> tuple[int, int, int, int]:
    """Return multiply-adds, rounds, path and bytes of attention."""
    ### BEGIN SOLUTION
    products = 2  # queries with keys, weights with values: the second waits for the first
    return products * n**2 * d, products, 1, FLOAT32 * n**2
    ### END SOLUTION


def recurrence_cost(n: int, d: int) -> tuple[int, int, int, int]:
    """Return multiply-adds, rounds, path and bytes of a plain recurrence."""
    ### BEGIN SOLUTION
    matrices = 2  # one for the word, one for the state before
    return matrices * n * d**2, 1 + n, n - 1, FLOAT32 * d
    ### END SOLUTION


def convolution_cost(n: int, d: int, k: int) -> tuple[int, int, int, int]:
    """Return multiply-adds, rounds, path and bytes of a convolution with windows of k words."""
    ### BEGIN SOLUTION
    before = k - 1
    return k * n * d**2, 1, math.ceil((n - 1) / before), FLOAT32 * before * d
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. In a text of 3 words of 5 numbers, how many pairs of a query and a key are there, and how many multiply-adds does
#    one pair take?
# 2. Nine pairs take 5 each for their scores. After softmax the weights average the values, which is a second product,
#    and just as much work. Nothing is projected here, and nothing is hidden by a mask.
# 3. Check your formula against the example, where looking takes 90. If it gives 45, a product is missing; if it gives
#    180, you have counted multiplying and adding apart. How does each factor change when there are twice as many words?

# %% check="looking" points=2
check("looking")

# %% check="matrices" points=2
check("matrices")

# %% [markdown] tags=["hints"]
# 1. How many multiply-adds does it take to bring one word of `d` numbers through one matrix of `d` by `d`?
# 2. It takes `d` for each of `d` new numbers. One step of the recurrence has two such matrices, for the word and for
#    the state before it. One window of the convolution has a matrix for each of its places.
# 3. The zeros before the first word are multiplied too, so every word costs the same, the first included. Find what one
#    word takes in each layer, and take it `n` times.

# %% check="rounds" points=2
check("rounds")

# %% [markdown] tags=["hints"]
# 1. If you had as many processors as you like, which of the products could all begin at the same moment?
# 2. In attention all the scores could, but the averages wait for the weights. In the recurrence all words go through
#    their matrix at once, and then each state waits for the one before. In the convolution nothing waits, since what
#    the places of a window give is only added up.
# 3. Count one for what can be done at once at the beginning, and one for each time that something has to wait. Only the
#    recurrence depends on the length of the text.

# %% check="path" points=2
check("path")

# %% [markdown] tags=["hints"]
# 1. Something moves on by one word at each step. How many steps lead it from the first of seven words to the last?
# 2. Six, which is what the recurrence takes. In attention the last word looks straight at the first. In a convolution
#    the window reaches back as many words as it holds *besides* the word itself, and that is how far one layer carries
#    something.
# 3. For the convolution, divide the number of those steps by the reach of one layer. Whatever is left over still takes
#    a layer of its own, so round up; `math.ceil` can do that.

# %% check="memory" points=2
check("memory")

# %% [markdown] tags=["hints"]
# 1. Which numbers must each layer still hold while it makes its next ones, apart from words, output and matrices?
# 2. Attention holds one table with a score for every pair of words; the weights are written over it. The recurrence
#    holds its latest state and none before it. The convolution holds the words in its window except the one that is
#    just coming in.
# 3. Count the numbers first, and multiply by `FLOAT32` at the end. A score is one number, however wide the words are,
#    while a word or a state is `d` of them.

# %% [markdown]
# ## A whole layer
#
# In a whole layer of attention every word goes through four matrices of `d` by `d`: it is projected to a query, a key and a
# value, and what was found is projected to the output. `num_heads` heads share the width between them, in equal parts.
#
# * Example: 3 words of 4 numbers, with 2 heads, take 264 multiply-adds.
# * `num_heads` divides `d`.


# %% answer="layer"
def layer_work(n: int, d: int, num_heads: int = 1) -> int:
    """Return the multiply-adds of a whole layer of attention: projections, looking, output."""
    ### BEGIN SOLUTION
    d_head = d // num_heads
    # Each head compares all words with all words, over its own share of the width.
    looking = num_heads * 2 * n**2 * d_head
    return looking + 4 * n * d**2
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. If `num_heads` heads share `d` numbers between them, how wide is one head, and what do all of them together cost?
# 2. As much looking as one head of the whole width. What comes on top is four projections.
# 3. A projection takes every word through a matrix of $d$ by $d$. How many multiply-adds is that for one word, for $n$
#    words, for four matrices?

# %% check="layer" points=2
check("layer")

# %% [markdown]
# ## From which length on
#
# `crossing` finds the shortest text for which attention (the looking alone) takes *more* multiply-adds than the plain recurrence.
# As many are not more.
#
# `layer_crossing` asks the same of a whole layer of attention, projections included, and of a recurrence with gates. That has
# `gates` pairs of matrices where the plain one has one pair: 3 in a GRU, 4 in an LSTM.
#
# * Example: from 129 words on, a layer of width 64 takes more than an LSTM.
# * Where attention takes more at every length, the answer is 1.


# %% answer="crossing"
def crossing(d: int) -> int:
    """Return the length from which on looking takes more multiply-adds than plain recurrence."""
    ### BEGIN SOLUTION
    return d + 1
    ### END SOLUTION


def layer_crossing(d: int, gates: int) -> int:
    """Return the length from which on a layer of attention takes more than a recurrence with gates."""
    ### BEGIN SOLUTION
    # The projections are as much work as two pairs of matrices; what the other pairs take, looking may take too.
    return max(1, (gates - 2) * d + 1)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Write down the multiply-adds of looking and of the plain recurrence, side by side. Which factors stand in both?
# 2. Two products stand against two matrices, one $n$ is in both, and so is one $d$. Cross out what they share, and
#    compare the little that is left.
# 3. Find the length at which both sides are equal. Equal is not more, so your answer is the next one. Projections are
#    not counted in this function.

# %% check="crossing" points=1
check("crossing")

# %% check="gates" points=2
check("gates")

# %% [markdown] tags=["hints"]
# 1. A layer of attention has four projections, and each gate has a pair of matrices. How many gates are the projections
#    worth?
# 2. They are worth two. If the recurrence has more than that, looking has to make up for the rest, and looking grows
#    with the length of the text. If it doesn't, attention takes more at any length.
# 3. Divide both costs by what they share: $n + 2d$ then stands against `gates` times $d$. Take the first whole $n$ for
#    which the left side is larger. No text has fewer words than 1, so mind the case in which that $n$ would be smaller.

# %% [markdown]
# ## How many layers
#
# Convolutions with windows of `k` words are stacked until the last of `n` words hears of the first. Side by side, every window
# holds neighbours. `dilated` windows have gaps: their words stand 1 apart in the first layer, `k` in the second, `k * k` in the
# third, and so on.
#
# * Example: for 10 words and `k = 3` it takes 5 layers side by side, 3 with gaps.
# * A single word has heard of itself: no layer is needed.


# %% answer="layers"
def layers_needed(n: int, k: int, dilated: bool = False) -> int:
    """Return after how many layers of convolution the last word has heard of the first."""
    ### BEGIN SOLUTION
    layers, reach = 0, 1
    while reach < n:  # whole numbers: the logarithm of an exact power may be a hair too large
        reach = reach * k if dilated else reach + k - 1
        layers += 1
    return layers
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. After one layer with windows of $k$ words, how many words has the last one heard of, itself included? And after two?
# 2. Side by side each layer adds $k - 1$ words. With gaps each layer multiplies their number by $k$.
# 3. Begin with a reach of 1 and no layer, and widen the reach, layer by layer, as long as it is less than $n$. A
#    logarithm may be a hair off where $n$ is an exact power.

# %% check="layers" points=2
check("layers")

# %% [markdown]
# ## What fits
#
# Training keeps the table of weights of every head, in every layer, for every text of the batch, until the gradient has come
# back. `table_bytes` is the memory of all these tables. A number takes `number_bytes`: 4 in float32, 2 in half precision.
#
# `longest` is the greatest length of which the tables fit into `memory` bytes. A memory that is exactly full has room enough.
#
# * Example: for 7 texts of 5 words, 3 heads and 2 layers the tables take 4200 bytes.
# * Where not even the tables of one word fit, the length is 0.


# %% answer="tables"
def table_bytes(n: int, num_heads: int, num_layers: int, batch: int, number_bytes: int = FLOAT32) -> int:
    """Return the memory of all tables of weights."""
    ### BEGIN SOLUTION
    tables = batch * num_layers * num_heads
    return tables * n**2 * number_bytes
    ### END SOLUTION


def longest(memory: int, num_heads: int, num_layers: int, batch: int, number_bytes: int = FLOAT32) -> int:
    """Return the length of the longest texts of which all tables fit into the memory."""
    ### BEGIN SOLUTION
    pairs = memory // (batch * num_layers * num_heads * number_bytes)
    return math.isqrt(pairs)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. For two heads, three layers and five texts, how many tables of weights are kept at the same time, and how many
#    numbers are in one?
# 2. Each head of each layer has a table for each text, and in training all thirty are kept until the gradient has come
#    back. A table has a number for every pair of words, whether a mask hides it or not.
# 3. All the arguments are factors, and one of them counts twice, since words meet words. `number_bytes` says how large
#    a number is, and it is not always 4.

# %% check="tables" points=1
check("tables")

# %% check="longest" points=2
check("longest")

# %% [markdown] tags=["hints"]
# 1. If all tables share the memory evenly, for how many *pairs* of words is there room in each?
# 2. Go back the way that `table_bytes` came: share out the memory first, and take the root last. There is no room for a
#    part of a word, so round down. A memory that is exactly full is large enough.
# 3. A whole division gives the pairs, and `math.isqrt` their root, rounded down; both are exact, however large the
#    numbers are. Where there is no room for a single word, that gives 0 without more ado.
