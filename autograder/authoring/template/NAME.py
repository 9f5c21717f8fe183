# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   exercise:
#     title: TITLE
#     chapter: self_attention
#     difficulty: easy
#     minutes: 10
#     forbidden: []
# ---

# %% [markdown]
# # TITLE
#
# Say in two sentences what the learner writes and which chapter has the ideas.
#
# Write your answer where `not answered yet` stands, run the cell, then run the check below it.
# Where you are stuck, `hint("twice")` opens the first of three hints for that check. Hints cost nothing.
# Inside an answer you may write as you like; the names and what they take and return are fixed.
# Only the answer cells are handed in, so keep your helpers in them.

# %%
from jaxtyping import Float
from torch import Tensor

from check import check, hint

# %% [markdown]
# ## Twice
#
# State the contract: shapes, one worked number, one edge case. Not a recipe.
#
# * Example: twice $(1, 2)$ is $(2, 4)$.
# * Any number of axes is welcome, also none.
#
# ```shapes
# x [1 word, 2 numbers] {1 2} + x [1 word, 2 numbers] {1 2} = twice [1 word, 2 numbers] {2 4}
# ```


# %% answer="twice"
def twice(x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
    """Return every number twice as large."""
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. What is twice 3?
# 2. Point in a direction: what happens to one number happens to all of them at once.
# 3. Stop one step before the line: a number times a tensor multiplies every entry.

# %% check="twice" points=1
check("twice")
