"""Pictures of tensors: an author writes what is multiplied with what, and every shape is checked and drawn.

In a text cell, between ```shapes and ```, each line is a chain of tensors:

    query [1 query, 2 d_k] {1 2} @ key transposed [2 d_k, 3 keys] {3 0 1 / 0 1 1} = scores [1 query, 3 keys] {3 2 3}
    scores [1 query, 3 keys] -softmax-> weights [1 query, 3 keys]

In brackets stand the axes, in braces the numbers, if they are to be seen. Signs are `@`, `+`, `=`, the
comma (with a space on both sides) and arrows. Products and sums must fit, in axes and numbers; so must
what softmax makes of numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..errors import AuthorError
from ..kit.svg import grid, label, picture, shade, width_of
from .places import Place

FENCE = re.compile(r"^```shapes\n(.*?)^```$", re.DOTALL | re.MULTILINE)
TENSOR = re.compile(r"(?P<name>[^\[\]{}]+?) *\[(?P<axes>[^\]]*)\](?: *\{(?P<numbers>[^}]*)\})?")
AXIS = re.compile(r"(\d+) (\w+)")
BETWEEN = re.compile(r" +(@|\+|=|,|-(?:[^\[\]{}>]*-)?>) +")
EXAMPLE = "query [3 queries, 2 d_k] @ key transposed [2 d_k, 5 keys] = scores [3 queries, 5 keys]"
ROUNDING = 0.006  # numbers are written with two decimals

SIGNS = {"@": "times", "+": "plus", "=": "is", ",": "and"}
TERMS = {"@", "+"}
SMALL, SIGN = 11, 16  # sizes of words and signs
CELL, NUMBERED, STEP = 12, (33, 20), 6  # a cell, one that is large enough for its number, and what shows of a layer behind
GAP, EDGE, LINE = 7, 10, 14
SOFT, EDGES = "#57606a", "#5b7fa3"


class Misfit(Exception):
    """A line of shapes that can't be read, or doesn't fit; the text says how."""


@dataclass(frozen=True)
class Drawn:
    """One tensor as it is drawn: one, two or three axes, and its numbers if they are to be seen."""

    name: str
    axes: tuple[tuple[int, str], ...]
    numbers: np.ndarray | None

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(length for length, _ in self.axes)

    @property
    def layers(self) -> int:
        return self.shape[0] if len(self.axes) == 3 else 1

    @property
    def table(self) -> tuple[int, int]:
        """The rows and columns of one layer."""
        rows, columns = (1, *self.shape)[-2:]
        return rows, columns

    @property
    def cell(self) -> tuple[int, int]:
        return (CELL, CELL) if self.numbers is None else NUMBERED

    @property
    def labels(self) -> list[str]:
        first, *rest = [f"{length} {word}" for length, word in self.axes]
        return [first, *(f"× {axis}" for axis in rest)]

    @property
    def step(self) -> tuple[float, float]:
        """How far a layer lies from the one before: behind it, or beside it if there are numbers to read."""
        return (STEP, -STEP) if self.numbers is None else (self.table[1] * self.cell[0] + STEP, 0)

    @property
    def size(self) -> tuple[float, float]:
        """The width and height of the drawing without its words."""
        right, up = ((self.layers - 1) * abs(step) for step in self.step)
        return self.table[1] * self.cell[0] + right, self.table[0] * self.cell[1] + up

    @property
    def width(self) -> float:
        return max(self.size[0], *(width_of(text, SMALL) for text in (self.name, *self.labels)))


@dataclass(frozen=True)
class Chain:
    """One line: tensors, and the signs between them."""

    tensors: tuple[Drawn, ...]
    signs: tuple[str, ...]


def drawings(source: str) -> list[str]:
    """Return the pictures of a text cell as SVG, in order."""
    return [draw(block) for block in FENCE.findall(source)]


def with_pictures(source: str, files: Iterator[str]) -> str:
    """Return a text cell with a picture where its shapes stood; the next of `files` is the picture's."""
    return FENCE.sub(lambda found: f"![{described(found[1])}]({next(files)})", source)


def check_shapes(place: Place) -> None:
    """Raise `AuthorError` for a line of shapes that can't be read or doesn't fit."""
    inside = False
    for number, line in place.numbered():
        line = line.removeprefix("#").strip()
        if line.startswith("```"):
            inside = line == "```shapes"
        elif inside:
            try:
                read_chain(line)
            except Misfit as misfit:
                raise AuthorError(f"{place.at(number)}: {misfit}") from None


def read_chain(line: str) -> Chain:
    """Return one line of shapes; raises `Misfit`."""
    parts = BETWEEN.split(line.strip())
    chain = Chain(tuple(map(_tensor, parts[::2])), tuple(parts[1::2]))
    for number, sign in enumerate(chain.signs):
        around, then = chain.tensors[number : number + 3], chain.signs[number + 1 : number + 2]
        if sign == "@":
            _check_widths(*around[:2])
        if sign in TERMS and then == ("=",) and not TERMS & set(chain.signs[:number][-1:]):  # the result of these two alone
            _check_result(sign, *around)
        if sign == "-softmax->":
            _check_numbers("softmax", around[1], _softmax(around[0].numbers), 0)
    return chain


def _tensor(text: str) -> Drawn:
    found = TENSOR.fullmatch(text)
    axes = [axis for part in (found["axes"].split(",") if found else []) if (axis := AXIS.fullmatch(part.strip()))]
    if not found or len(axes) != found["axes"].count(",") + 1 or len(axes) > 3:
        raise Misfit(f"{text!r} is no tensor of one to three axes; a line of shapes is like `{EXAMPLE}`")
    lengths = tuple((int(axis[1]), axis[2]) for axis in axes)
    return Drawn(found["name"], lengths, _numbers(found, tuple(length for length, _ in lengths)))


def _numbers(found: re.Match, shape: tuple[int, ...]) -> np.ndarray | None:
    if found["numbers"] is None:
        return None
    try:
        numbers = [float(number) for number in re.split(r"[\s/]+", found["numbers"].strip())]
    except ValueError as error:
        raise Misfit(f"{found['name']}: {error}") from None
    if len(numbers) != math.prod(shape):
        raise Misfit(f"{found['name']}: {len(numbers)} numbers for a shape of {' × '.join(map(str, shape))}")
    return np.reshape(numbers, shape)


def _check_widths(left: Drawn, right: Drawn) -> None:
    meets = right.axes[-2 if len(right.axes) > 1 else -1]
    if left.axes[-1] != meets:
        raise Misfit(f"{left.name} @ {right.name}: {_axis(left.axes[-1])} meet {_axis(meets)}")


def _check_result(sign: str, left: Drawn, right: Drawn, result: Drawn) -> None:
    """Raise `Misfit` unless a product or a sum has these axes and, if all are written, these numbers."""
    title, axes = f"{left.name} {sign} {right.name}", (*left.axes[:-1], right.axes[-1])
    if result.axes != axes:
        raise Misfit(f"{title} has the axes {', '.join(map(_axis, axes))}, not those of {result.name}")
    if left.numbers is not None and right.numbers is not None:
        is_product = sign == "@"
        terms = np.abs(right.numbers).sum(-2).max() if is_product else 1.0
        _check_numbers(title, result, left.numbers @ right.numbers if is_product else left.numbers + right.numbers, terms)


def _check_numbers(title: str, result: Drawn, expected: np.ndarray | None, terms: float) -> None:
    # The inputs are rounded too, so each term of a sum may be a little off.
    if expected is None or result.numbers is None or np.abs(expected - result.numbers).max() <= ROUNDING * (1 + terms):
        return
    raise Misfit(f"{title} is {np.round(expected, 2).tolist()}, and {result.name} has {result.numbers.tolist()}")


def _softmax(scores: np.ndarray | None) -> np.ndarray | None:
    if scores is None:
        return None
    parts = np.exp(scores - scores.max(-1, keepdims=True))
    return parts / parts.sum(-1, keepdims=True)


def _axis(axis: tuple[int, str]) -> str:
    return f"{axis[0]} {axis[1]}"


def described(block: str) -> str:
    """Return in words what a picture of shapes shows, for those who can't see it."""
    return ". ".join(_in_words(read_chain(line)) for line in block.strip().splitlines())


def _in_words(chain: Chain) -> str:
    parts = [f"{tensor.name} of {' by '.join(map(_axis, tensor.axes))}{_numbers_in_words(tensor)}" for tensor in chain.tensors]
    signs = [SIGNS.get(sign) or f"{_by(sign)}becomes" for sign in chain.signs]
    return " ".join(word for pair in zip(parts, [*signs, ""]) for word in pair if word)


def _by(sign: str) -> str:
    word = sign.strip("-> ")
    return f"by {word} " if word else ""


def _numbers_in_words(tensor: Drawn) -> str:
    if tensor.numbers is None:
        return ""
    rows = tensor.numbers.reshape(-1, tensor.shape[-1])
    return f" ({'; '.join(' '.join(f'{number:g}' for number in row) for row in rows)})"


def draw(block: str) -> str:
    """Return the picture of a block of shapes as SVG."""
    chains = [read_chain(line) for line in block.strip().splitlines()]
    parts: list[str] = []
    top: float = EDGE
    for chain in chains:
        height = max(tensor.size[1] for tensor in chain.tensors)
        parts += _chain(chain, top + LINE, height)
        top += LINE + height + LINE * max(len(tensor.labels) for tensor in chain.tensors) + EDGE
    return picture(2 * EDGE + max(map(_width, chains)), top, parts)


def _chain(chain: Chain, top: float, height: float) -> Iterator[str]:
    left: float = EDGE
    middle = top + height / 2
    for tensor, sign in zip(chain.tensors, [*chain.signs, ""]):
        yield from _tensor_at(tensor, left + tensor.width / 2, middle)
        left += tensor.width + GAP
        if sign:
            yield from _sign_at(sign, left + _sign_width(sign) / 2, middle)
            left += _sign_width(sign) + GAP


def _tensor_at(tensor: Drawn, centre: float, middle: float) -> Iterator[str]:
    width, height = tensor.size
    left, top = centre - width / 2, middle - height / 2
    yield label(centre, top - 4, tensor.name, SMALL, more=' font-weight="bold"')
    front = top + (tensor.layers - 1) * max(0, -tensor.step[1])
    for layer in reversed(range(tensor.layers)):
        yield from _layer(tensor, layer, left + layer * tensor.step[0], front + layer * tensor.step[1])
    for number, text in enumerate(tensor.labels, 1):
        yield label(centre, top + height + LINE * number - 2, text, SMALL, SOFT)


def _layer(tensor: Drawn, layer: int, left: float, top: float) -> Iterator[str]:
    (rows, columns), (width, height) = tensor.table, tensor.cell
    yield grid(left, top, (columns, rows), tensor.cell, shade(0.12), EDGES)
    if tensor.numbers is not None:
        for (row, column), number in np.ndenumerate(tensor.numbers.reshape(-1, rows, columns)[layer]):
            yield label(left + (column + 0.5) * width, top + (row + 0.5) * height + 4, f"{number:g}", SMALL)


def _sign_at(sign: str, centre: float, middle: float) -> Iterator[str]:
    if sign in SIGNS:
        yield label(centre, middle + 5, sign, SIGN)
        return
    yield label(centre, middle - 4, sign.strip("->"), SMALL, SOFT)
    yield label(centre, middle + 11, "→", SIGN)


def _sign_width(sign: str) -> float:
    return max(SIGN, width_of(sign.strip("->"), SMALL))


def _width(chain: Chain) -> float:
    return sum(tensor.width for tensor in chain.tensors) + sum(_sign_width(sign) + 2 * GAP for sign in chain.signs)
