"""What the errors say that learners of PyTorch meet first, in one plain sentence and with a question that leads on."""

from __future__ import annotations

import re

# A pattern of PyTorch's or Python's own words, and what it means; {0}, {1} are what its groups have found.
SENTENCES = [
    (
        r"mat1 and mat2 shapes cannot be multiplied \(\d+x(\d+) and (\d+)x\d+\)",
        "In a product of matrices, the first needs as many columns as the second has rows: here {0} and {1}. Which of them should be transposed?",
    ),
    (
        r"Expected size for first two dimensions of batch2 tensor to be: \[\d+, (\d+)\] but got: \[\d+, (\d+)\]",
        "In a product of matrices, the first needs as many columns as the second has rows: here {0} and {1}. Which two axes should `transpose` exchange?",
    ),
    (
        r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)",
        "Two tensors are lined up from their last axes, and in axis {2} one has {0} entries and the other {1}. Is an axis missing, such as that of the heads, or is one in the wrong place?",
    ),
    (
        r"view size is not compatible with input tensor's size and stride",
        "After a transpose the numbers lie in memory in another order, and `view` can't regroup them without a copy. Which method may copy?",
    ),
    (
        r"shape '(\[[^']*\])' is invalid for input of size (\d+)",
        "The shape {0} needs another number of entries than the {1} that are there. Multiply the sizes: which factor is wrong?",
    ),
    (
        r"torch\.return_types\.(max|min|sort|median|topk)",
        "Along an axis, `{0}` returns two tensors: the values and their places. Which of the two do you need?",
    ),
    (
        r"NoneType",
        "There is None where a tensor is needed. Does one of your functions end without `return`, or was no mask given?",
    ),
    (
        r"not enough values to unpack \(expected (\d+), got (\d+)\)|cannot unpack non-iterable (\w+)",
        "Several values are taken apart here, and fewer came back. What exactly does the function on the right return?",
    ),
    (
        r"too many values to unpack \(expected (\d+)",
        "{0} values are taken here, and more came back. How many axes does the tensor have, or how many things does the function return?",
    ),
    (
        r"same dtype, but got: (\w+) != (\w+)|expected scalar type (\w+) but found (\w+)|mat1 and mat2 must have the same dtype",
        "Two tensors hold numbers of different kinds, such as 32 and 64 bits. Which of them did you make without saying its `dtype`?",
    ),
    (
        r"Expected all tensors to be on the same device|is on (?:cpu|meta|cuda\S*), different from other tensors",
        "Two tensors lie on different devices. Which of them did you make without saying its `device`?",
    ),
    (
        r"Dimension out of range \(expected to be in range of \[(-?\d+), (\d+)\], but got (-?\d+)\)",
        "There is no axis {2}: the axes of this tensor are numbered from 0 to {1}. Which axis, counted from the end, do you mean?",
    ),
    (
        r"Boolean value of Tensor with more than one value is ambiguous",
        "A whole tensor stands where one yes or no is needed, as after `if`. Do you mean `is not None`, or should each entry decide for itself?",
    ),
    (
        r"cannot be converted to Scalar|only one element tensors can be converted",
        "A whole tensor stands where one number is needed. Which entry of it do you mean, or which function works on tensors?",
    ),
    (
        r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)",
        "Axis {1} has {2} entries, counted from 0, so there is no number {0}.",
    ),
    (
        r"masked_fill_? only supports boolean masks",
        "A mask must hold True and False, and this one holds numbers. Which comparison makes a mask of numbers?",
    ),
    (
        r"(\w+\(\)) (?:got an unexpected keyword argument|missing \d+ required positional|takes \d+ positional arguments? but|got multiple values for)",
        "{0} is called with other arguments than it takes. The names and their order are fixed: compare them with the line that you were given.",
    ),
    (
        r"cannot assign (?:module|parameters?) before Module\.__init__\(\) call|has no attribute '_(?:parameters|modules|buffers)'",
        "A module has to be set up before it can hold anything. What is the first line of its `__init__`?",
    ),
    (
        r"object has no attribute '(\w+)'",
        "There is no `{0}` here. Is it spelled as where it was made, and was it made before it is used?",
    ),
    (
        r"'(Tensor|builtin_function_or_method|tuple)' object is not (callable|subscriptable)",
        "A {0} is used here as if it were a function or a list. Is there a pair of parentheses too many or too few?",
    ),
    (
        r"subscript (\w) has size (\d+) for operand \d+ which does not broadcast with previously seen size (\d+)",
        "In `einsum`, the letter {0} stands for an axis of {1} entries in one tensor and of {2} in another. Which axes do you mean to be the same?",
    ),
    (
        r"a leaf Variable that requires grad is being used in an in-place operation|modified by an inplace operation",
        "Something that training needs is changed in place. Which line ends with `_(` or assigns to a part of a tensor?",
    ),
    (
        r"backward through the graph a second time",
        "A tensor is kept from an earlier step together with its history. Where do you need its numbers only?",
    ),
]
PATTERNS = [(re.compile(pattern), sentence) for pattern, sentence in SENTENCES]


def explained(error: str) -> str:
    """Return what an error means, in one plain sentence and a question; "" where its words are not known."""
    for pattern, sentence in PATTERNS:
        if found := pattern.search(error):
            return sentence.format(*(each or "" for each in found.groups()))
    return ""
